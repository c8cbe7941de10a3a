"""Contracts: the line syntax, its JSON twin, and the way back.

A line is a node: `node key=value key="quoted value"`. Lines indented deeper than one are its
children; `#` at the start of a word begins a comment. The JSON twin of a node is
`{"node", "line", "column", "keys", "columns", "children"}`; `columns` says where each key stands.

A bare value is a number or a boolean where JSON would write it the same way (`8`, `0.72`, `true`),
else a text; a quoted one is a text, with the escapes of JSON. What it means is for
`ragdb.validate_contract` to say, in the database.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragdb.client.rows import loads

if TYPE_CHECKING:
    from ragdb.ingest.sources import Found, Source

Json = dict[str, Any]
MAX_BYTES = 64 * 2**20
MAX_DEPTH = 16

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,15})?")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True)
class Problem:
    """Something wrong with the text of a contract; line and column count from 1."""

    line: int
    column: int
    message: str
    hint: str | None = None


class ContractSyntaxError(ValueError):
    """The text of a contract cannot be read; `problems` has all that is wrong with it."""

    def __init__(self, problems: Sequence[Problem], text: str, name: str) -> None:
        self.problems = list(problems)
        lines = text.split("\n")
        super().__init__(
            "\n".join(
                show(name, p.line, p.column, p.message, p.hint, lines[p.line - 1])
                for p in self.problems
            )
        )


def show(
    name: str, line: int, column: int, message: str, hint: str | None = None, text: str = ""
) -> str:
    """A problem with its line and a caret below the column."""
    shown = text.removesuffix("\r").replace("\t", " ")
    # a line of any length: what stands around the column
    start = max(0, column - 81)
    caret = " " * (column - 1 - start) + "^"
    body = f"{name}:{line}:{column}: {message}\n  {shown[start : start + 160]}\n  {caret}"
    return f"{body}\n  hint: {hint}" if hint else body


@dataclass
class _Node:
    indent: int
    twin: Json


@dataclass
class _Line:
    """One line on its way into a node."""

    number: int
    text: str
    problems: list[Problem]
    keys: Json = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)

    def wrong(self, at: int, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(self.number, at + 1, message, hint))

    def read(self, indent: int) -> Json | None:
        """The node of the line; None where it has no name that can be read."""
        name = _WORD.match(self.text, indent)
        if not name or self.text[name.end() : name.end() + 1] not in ("", " ", "\t"):
            self.wrong(indent, "a line begins with the name of a node", "such as corpus or rag")
            return None
        at = name.end()
        while (at := self._skip(at)) < len(self.text):
            at = self._pair(at)
        return {
            "node": name.group(),
            "line": self.number,
            "column": indent + 1,
            "keys": self.keys,
            "columns": self.columns,
            "children": [],
        }

    def _skip(self, at: int) -> int:
        """The next word that is no comment, or the end."""
        while at < len(self.text) and self.text[at] in " \t":
            at += 1
        return len(self.text) if self.text[at : at + 1] == "#" else at

    def _bare_end(self, at: int) -> int:
        while at < len(self.text) and self.text[at] not in " \t":
            at += 1
        return at

    def _pair(self, at: int) -> int:
        key = _WORD.match(self.text, at)
        if not key or self.text[key.end() : key.end() + 1] != "=":
            shown = self.text[at : self._bare_end(at)]
            self.wrong(at, f"{_quoted(shown)} is not key=value", 'write key=value or key="value"')
            quote = self.text.find('"', at, self._bare_end(at))
            return self._quoted(quote)[0] if quote >= 0 else self._bare_end(at)
        start = key.end() + 1
        if self.text[start : start + 1] == '"':
            end, value = self._quoted(start)
        else:
            end = self._bare_end(start)
            value = self._bare(start, self.text[start:end])
        if key.group() in self.keys:
            first = self.columns[key.group()]
            self.wrong(at, f"key {key.group()} is given twice", f"the first is at column {first}")
        else:
            self.keys[key.group()] = value
            self.columns[key.group()] = at + 1
        return end

    def _bare(self, at: int, raw: str) -> Any:
        if not raw:
            self.wrong(at, "a value is missing after =", 'an empty text is ""')
        elif '"' in raw:
            self.wrong(at + raw.index('"'), "a quote inside a bare value", "quote the whole value")
        return _bare_value(raw)

    def _quoted(self, at: int) -> tuple[int, str]:
        """Where a quoted value ends, and what it is."""
        end = at + 1
        while end < len(self.text) and self.text[end] != '"':
            if self.text[end] == "\\":
                escape = _ESCAPE.match(self.text, end)
                if escape is None:
                    self.wrong(end, "an unknown escape", r"escapes are those of JSON: \" \\ \n \t")
                elif escape.group() == "\\u0000":
                    self.wrong(end, "a text cannot contain NUL")
                end = escape.end() if escape else end + 2
            else:
                end += 1
        if end >= len(self.text):
            self.wrong(at, "a quoted value does not end on its line", 'end it with "')
            return len(self.text), ""
        if self.text[end + 1 : end + 2] not in ("", " ", "\t"):
            self.wrong(end + 1, "a space is missing after a quoted value")
        try:
            value: str = json.loads(self.text[at : end + 1], strict=False)
            value.encode()
        except UnicodeEncodeError:
            self.wrong(at, "half of a surrogate pair", r"write both halves, \ud83d\ude00")
            return end + 1, ""
        except ValueError:
            return end + 1, ""  # an escape that is reported already
        return end + 1, value


def _bare_value(raw: str) -> Any:
    if raw in ("true", "false"):
        return raw == "true"
    if _NUMBER.fullmatch(raw):
        number = float(raw) if "." in raw else int(raw)
        # 0.50 stays a text, so that nothing is lost; the database reads it as a number too
        if json.dumps(number) == raw:
            return number
    return raw


def _quoted(text: str) -> str:
    return json.dumps(text if len(text) <= 40 else text[:39] + "…", ensure_ascii=False)


def parse(text: str, name: str = "contract") -> list[Json]:
    """The nodes of a contract in the line syntax. Raises ContractSyntaxError with every problem."""
    problems: list[Problem] = []
    roots: list[Json] = []
    open_nodes: list[_Node] = []
    for number, written in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = _Line(number, written.removesuffix("\r"), problems)
        bad = _CONTROL.search(line.text)
        if bad:
            line.wrong(bad.start(), "a control character", r"write it as an escape, such as \n")
            continue
        indent = len(line.text) - len(line.text.lstrip(" "))
        rest = line.text[indent:].lstrip("\t ")
        if not rest or rest.startswith("#"):
            continue
        if line.text[indent] == "\t":
            line.wrong(indent, "a tab in the indentation", "indent by spaces")
            continue
        while open_nodes and open_nodes[-1].indent >= indent:
            closed = open_nodes.pop()
            if closed.indent > indent and (not open_nodes or open_nodes[-1].indent < indent):
                line.wrong(indent, "the indentation is of no line above", "align it with one")
        if len(open_nodes) >= MAX_DEPTH:
            line.wrong(indent, f"deeper than {MAX_DEPTH} levels")
            continue
        if not open_nodes and indent and not roots:
            line.wrong(indent, "the first node is indented", "begin it at column 1")
        node = line.read(indent)
        if node is None:
            # its children are children of something
            node = {"children": []}
        (open_nodes[-1].twin["children"] if open_nodes else roots).append(node)
        open_nodes.append(_Node(indent, node))
    if problems:
        problems.sort(key=lambda p: (p.line, p.column))
        raise ContractSyntaxError(problems, text.removeprefix("\ufeff"), name)
    return roots


def write(nodes: Sequence[Json]) -> str:
    """Nodes in the line syntax: what `parse` makes the same nodes of, but for places."""
    return "".join(f"{line}\n" for line in _lines(nodes, 0))


def _lines(nodes: Sequence[Json], depth: int) -> Iterator[str]:
    for node in nodes:
        # jsonb keeps no order of keys
        columns = node.get("columns") or {}
        keys = sorted(node["keys"].items(), key=lambda pair: columns.get(pair[0], 0))
        pairs = (f" {key}={_written(value)}" for key, value in keys)
        yield "  " * depth + node["node"] + "".join(pairs)
        yield from _lines(node.get("children") or [], depth + 1)


def _written(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    is_bare = (
        value != ""
        and not re.search(r'[\s"#]', value)
        and not _CONTROL.search(value)
        and isinstance(_bare_value(value), str)
    )
    return value if is_bare else json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def contract(nodes: list[Json], name: str) -> Json:
    """The contract of some nodes, as `ragdb.validate_contract` and `apply_contract` take it."""
    return {"contract": name, "nodes": nodes}


def name_of(path: Path) -> str:
    """A contract is named after its file."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._") or "contract"
    return name[:128]


def read(path: Path) -> tuple[Json, str]:
    """The contract in a file, in either form, and its text.

    The hash of each prompt file, found beside the contract, is put into its rag node.
    Raises ContractSyntaxError, OSError.
    """
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        text = error.object.decode(errors="replace")
        problem = Problem(line, column, "not UTF-8", "save the file as UTF-8")
        raise ContractSyntaxError([problem], text, str(path)) from None
    if path.suffix == ".json":
        found = _from_json(text, path)
    else:
        found = contract(parse(text, str(path)), name_of(path))
    for node in _all(found.get("nodes"), MAX_DEPTH):
        _hash_prompt(node, path)
    return found, text


def _from_json(text: str, path: Path) -> Json:
    try:
        found = loads(text)
    except RecursionError:
        raise ContractSyntaxError([Problem(1, 1, "nested too deeply")], text, str(path)) from None
    except json.JSONDecodeError as error:
        problem = Problem(error.lineno, error.colno, f"not JSON: {error.msg}")
        raise ContractSyntaxError([problem], text, str(path)) from None
    except ValueError as error:
        raise ContractSyntaxError([Problem(1, 1, str(error))], text, str(path)) from None
    if isinstance(found, list):
        found = {"nodes": found}
    if not isinstance(found, dict):
        problem = Problem(1, 1, "not an object", '{"contract": "name", "nodes": […]}')
        raise ContractSyntaxError([problem], text, str(path))
    return {"contract": name_of(path), **found}


def _all(nodes: Any, depth: int) -> Iterator[Json]:
    for node in nodes if isinstance(nodes, list) and depth else []:
        if isinstance(node, dict):
            yield node
            yield from _all(node.get("children"), depth - 1)


def _hash_prompt(node: Json, path: Path) -> None:
    keys = node.get("keys")
    prompt = keys.get("prompt") if isinstance(keys, dict) else None
    if node.get("node") != "rag" or not isinstance(prompt, str):
        return
    file = path.parent / prompt
    if file.is_file():
        node["prompt_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()


def missing_prompts(found: Json) -> list[Json]:
    """The rag nodes whose prompt is no file beside the contract."""
    return [
        node
        for node in _all(found.get("nodes"), MAX_DEPTH)
        if node.get("node") == "rag"
        and isinstance(node.get("keys"), dict)
        and isinstance(node["keys"].get("prompt"), str)
        and "prompt_sha256" not in node
    ]


# ── sources ─────────────────────────────────────────────────────────────────────────────────────

MEDIA = {
    "markdown": "text/markdown",
    "text": "text/plain",
    "html": "text/html",
    "rst": "text/x-rst",
    "pdf": "application/pdf",
}


@dataclass(frozen=True)
class DeclaredSource:
    """A source node: what is read from where, into which corpus, cut how."""

    name: str
    corpus: str
    kind: str
    uri: str
    options: Json
    """Those of `ragdb.ingest`: source_name, media_type and the chunking."""
    resource: str = ""
    """Of kind mcp: address or glob of its resources; `uri` is the server."""

    def find(
        self, folder: Path, *, allow_private: bool = False, max_bytes: int = MAX_BYTES
    ) -> Found:
        """What the source is now; local files are named by their way from the contract's folder.

        Resources of MCP servers are read at once: close what is found.
        """
        from importlib.util import find_spec

        from ragdb.ingest import sources
        from ragdb.readers.document import ReadError

        if self.kind == "mcp":
            if find_spec("mcp") is None:
                error = ReadError(
                    "missing_extra", "sources of kind mcp need mcp", "pip install 'ragdb[mcp]'"
                )
                return sources.Found(failed=[(self.resource, error)])
            from ragdb.ingest import mcp_sources

            return mcp_sources.find(
                self.uri, self.resource, allow_private=allow_private, max_bytes=max_bytes
            )
        if self.kind == "s3" and re.search(r"[*?\[]", self.uri):
            return sources.find(_remote(self.uri))
        if self.kind != "local":
            return sources.find([self.uri])
        parts = self.uri.split("/")
        fixed = next((i for i, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
        base, glob = "/".join(parts[:fixed]), "/".join(parts[fixed:])
        found = sources.find([folder / base], glob=glob or None, recursive="/" in glob or not glob)
        found.sources = [_named(source, base, bool(glob)) for source in found.sources]
        found.sources.sort(key=lambda source: source.uri.encode())
        found.hidden = [f"{base}/{uri.partition('/')[2]}" for uri in found.hidden]
        return found


def _named(source: Source, base: str, below: bool) -> Source:
    """A local source under the name that it has from the contract's folder."""
    way = Path(source.below).as_posix()
    if below or (source.prefix and not source.prefix.endswith("#")):
        uri = f"{base}/{way}" if base else way
        return replace(source, uri=uri, prefix=f"{base}/" if base else "")
    return replace(source, uri=base, prefix=f"{base}#" if source.prefix else "")


def _remote(glob: str) -> list[str]:
    """What a glob of a remote store means now, by fsspec."""
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        return [glob]  # reading it says what to install
    system, path = fsspec.core.url_to_fs(glob)
    scheme = glob.partition("://")[0]
    return [f"{scheme}://{name}" for name in sorted(system.glob(path))]


def declared_sources(found: Json) -> list[DeclaredSource]:
    """The sources of a sound contract, in its order."""
    nodes: list[tuple[str, Json]] = []
    for node in found["nodes"]:
        if node["node"] == "corpus":
            name = str(node["keys"]["name"])
            nodes += [(name, child) for child in node.get("children") or []]
        elif node["node"] in ("source", "chunking"):
            nodes.append((str(node["keys"]["corpus"]), node))
    chunkings = {
        (corpus, str(node["keys"].get("source", ""))): node["keys"]
        for corpus, node in nodes
        if node["node"] == "chunking"
    }
    declared = []
    for corpus, node in nodes:
        if node["node"] != "source":
            continue
        keys = node["keys"]
        name = str(keys["name"])
        chunking = chunkings.get((corpus, name)) or chunkings.get((corpus, "")) or {}
        options: Json = {"source_name": name}
        if "media" in keys:
            media = str(keys["media"])
            options["media_type"] = MEDIA.get(media.lower(), media)
        for key, option, read_as in (
            ("strategy", "strategy", str),
            ("maxTokens", "max_tokens", int),
            ("overlap", "overlap", int),
            ("unit", "unit", str),
        ):
            if key in chunking:
                options[option] = read_as(chunking[key])
        if "unit" in options:
            options["unit"] = options["unit"].removesuffix("s")
        uri = str(keys.get("uri", ""))
        kind = str(keys.get("kind", "local"))
        uri = re.sub(r"^(\./+)+", "", uri) if kind == "local" else uri
        declared.append(
            DeclaredSource(name, _slug(corpus), kind, uri, options, str(keys.get("resource", "")))
        )
    return declared


def _slug(name: str) -> str:
    lower = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)
    return re.sub(r"[^a-z0-9-]+", "-", lower)[:64]
