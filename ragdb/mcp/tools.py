"""The tools, prompts and resources of a server: those that are always there, then contracts'.

Tools call functions of the database and nothing else. They run in read-only transactions unless
retrievals are recorded or corpora may be changed, and under the rights of the role that the server
connects as. Tools of contracts are looked up with each request: one that is applied is served at
once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import jsonschema
import mcp_types as types
from mcp import MCPError

from ragdb.client.calling import instead
from ragdb.client.counting import counted
from ragdb.client.hints import VERBS, spoken
from ragdb.client.rows import dumps, held, record
from ragdb.mcp.bound import BOUND, MANY, described
from ragdb.mcp.builtin import document_id, fetch
from ragdb.mcp.catalogue import BUILTIN
from ragdb.mcp.changes import CHANGES
from ragdb.mcp.federated import PEERS
from ragdb.mcp.ids import own
from ragdb.mcp.reading import LISTED
from ragdb.mcp.served import Json, Served, ToolError
from ragdb.mcp.shapes import Builtin, annotations_of, object_of

_SHOWN = 80  # characters of a value that is refused
FORMATS = jsonschema.FormatChecker(["uuid"])


# the package checks no times by itself
@FORMATS.checks("date-time", raises=ValueError)
def _is_time(value: object) -> bool:
    if isinstance(value, str):
        datetime.fromisoformat(value)
        return value[4:8:3] == "--"  # not that of a week, which PostgreSQL does not know
    return True


class Tools(Served):
    """What is served, as the protocol lists and calls it."""

    def always(self) -> dict[str, Builtin]:
        """The built-in tools by name."""
        offered = BUILTIN | CHANGES if self.write else BUILTIN
        return offered | PEERS if self.ask_peers else offered

    def listed(self) -> list[types.Tool]:
        """The built-in tools, then one for each retrieve node, or two for many of them."""
        tools = [tool.tool(name, self.record) for name, tool in self.always().items()]
        with self.database() as db:
            bound = self.tools_of_contracts(db)
        if len(bound) > MANY:
            return [*tools, *(tool.tool(name, self.record) for name, tool in BOUND.items())]
        for row in bound:
            title = row.title or row.name
            tools.append(
                types.Tool(
                    name=row.name,
                    title=row.title,
                    description=described(row),
                    input_schema=row.input_schema,
                    output_schema=row.output_schema,
                    annotations=annotations_of(title, self.record),
                )
            )
        return tools

    def call(self, name: str, arguments: Json) -> Json:
        """Call a tool. Raises ToolError, MCPError for one that is not there."""
        check_held(arguments)
        builtin = (self.always() | BOUND).get(name)
        if builtin is None:
            return self.bound(name, arguments)
        schema = object_of(builtin.properties, builtin.required)
        arguments = without_nulls(arguments, schema)
        check_names(arguments, builtin.properties, builtin.required)
        try:
            jsonschema.validate(arguments, schema, format_checker=FORMATS)
        except jsonschema.ValidationError as error:
            at = "".join(f"{part}: " for part in error.absolute_path)
            raise ToolError(f"{at}{_wrong(error)[:200]}") from None
        for named in ("corpus", "part_of"):
            if named in arguments:
                self.check(arguments[named])
        return builtin.call(self, own(self, arguments))

    def spoken(self, text: str) -> str:
        """What the database said, with what a model calls for a function, else a verb."""
        tools = {name: name for name in self.always()}
        return spoken(text, VERBS | tools | {"list_tools": "tools/list", "get_chunk": "fetch"})

    def prompts(self, after: str) -> types.ListPromptsResult:
        """Those behind one by name; where there are more, the cursor is the last one's name."""
        with self.database() as db:
            bound = [
                row
                for row in self.tools_of_contracts(db)
                if row.kind == "prompt" and row.name > after
            ]
        found = [
            types.Prompt(
                name=row.name,
                title=row.title,
                description=row.description,
                arguments=[
                    types.PromptArgument(
                        name=name,
                        description=schema.get("description"),
                        required=name in row.input_schema["required"],
                    )
                    for name, schema in row.input_schema["properties"].items()
                ],
            )
            for row in bound[:LISTED]
        ]
        cursor = found[-1].name if len(bound) > LISTED else None
        return types.ListPromptsResult(prompts=found, next_cursor=cursor)

    def prompt(self, name: str, arguments: Json) -> types.GetPromptResult:
        """The query, and evidence in which no document can forge another's beginning."""
        check_held(arguments)
        with self.database() as db:
            bound = [
                row
                for row in self.tools_of_contracts(db)
                if (row.name, row.kind) == (name, "prompt")
            ]
        if not bound:
            raise MCPError(types.INVALID_PARAMS, f"unknown prompt {name[:80]!r}")
        (found,) = bound
        made = self.bound(name, arguments)
        (field,) = made.keys() - {"provenance"}
        query = found.query if found.query_param is None else arguments[found.query_param]
        with self.database() as db:
            pack = db.build_evidence_pack(
                chunk_ids=[chunk["id"] for chunk in made[field]],
                corpus=found.corpus,
                max_context=made["provenance"].get("max_context"),
                unit="char",
            )
        text = f"{query}\n\n{pack['canonical_text']}"
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(
            description=found.description,
            messages=[types.PromptMessage(role="user", content=content)],
        )

    def resources(self, after: str) -> types.ListResourcesResult:
        """Corpora behind one by name; where there are more, the cursor is the last one's name."""
        listed, is_last = self.page("", after, LISTED)
        found = [
            types.Resource(
                uri=f"ragdb://corpus/{row.name}",
                name=row.name,
                title=row.title,
                description=", ".join(
                    (counted(row.documents, "document"), counted(row.chunks, "chunk"))
                ),
                mime_type="application/json",
            )
            for row in listed
        ]
        cursor = None if is_last else found[-1].name
        return types.ListResourcesResult(resources=found, next_cursor=cursor)

    def resource(self, uri: str) -> types.TextResourceContents:
        """A corpus with its first documents, or one of its chunks or documents."""
        start = "ragdb://corpus/"
        corpus, _, inside = uri.removeprefix(start).partition("/")
        if not uri.startswith(start) or not corpus:
            raise MCPError(types.INVALID_PARAMS, f"unknown resource {uri[:80]!r}")
        self.check(corpus)
        if inside:
            text = fetch(self, {"id": f"{corpus}/{unquote(inside)}"})["text"]
            return types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        with self.database() as db:
            about = record(db.corpus_info(corpus))
            documents = [
                {"id": document_id(corpus, row), "title": row.title, "source": row.source}
                for row in db.list_documents(corpus)
            ]
        text = dumps({**about, "first_documents": documents}, indent=2)
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)


def without_nulls(value: Any, schema: Json) -> Any:
    """What is given, without the null that clients send for what is optional."""
    if isinstance(value, list) and "items" in schema:
        return [without_nulls(one, schema["items"]) for one in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    optional = schema["properties"].keys() - set(schema.get("required", ()))
    return {
        name: without_nulls(one, schema["properties"].get(name, {}))
        for name, one in value.items()
        if one is not None or name not in optional
    }


def _wrong(error: jsonschema.ValidationError) -> str:
    """What is wrong, of a value as the client wrote it, which may be long."""
    shown = dumps(error.instance)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…: it"
    said = error.message.replace(repr(error.instance), shown, 1)
    limited = error.validator in ("minItems", "maxItems", "maxLength")
    return f"{said}: {error.validator} is {error.validator_value}" if limited else said


def check_names(arguments: Json, known: Mapping[str, Any], required: Sequence[str]) -> None:
    """Refuse an argument that a tool does not take. Raises ToolError with those that it takes."""
    unknown = next((name for name in arguments if name not in known), None)
    if unknown is not None:
        # one that is missing was meant, rather than one whose name is alike
        missing = [name for name in required if name not in arguments]
        lacks = f"{' and '.join(missing)} must be given; " if missing else ""
        others = f"there are {', '.join(known)}" if missing else instead(unknown, known)
        raise ToolError(f"there is no argument {unknown[:80]!r}; {lacks}{others}")


def check_held(arguments: Json) -> None:
    """Refuse arguments that the database cannot hold. Raises ToolError."""
    try:
        held(arguments)
    except ValueError as error:
        raise ToolError(f"the database cannot hold these arguments: {error}") from None
