"""How the tools that are always there describe themselves: titles, arguments, results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from ragdb.mcp import builtin
from ragdb.mcp.builtin import RESULTS
from ragdb.mcp.served import Json, Served


@dataclass(frozen=True)
class Builtin:
    """A tool that is always there."""

    title: str
    description: str
    properties: Json
    required: tuple[str, ...]
    call: Callable[[Served, Json], Json]
    output: Json
    records: bool = False

    def tool(self, name: str, record: bool) -> types.Tool:
        return types.Tool(
            name=name,
            title=self.title,
            description=self.description,
            input_schema=object_of(self.properties, self.required),
            output_schema=self.output,
            annotations=annotations_of(self.title, record and self.records),
        )


def object_of(properties: Json, required: Sequence[str]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def annotations_of(title: str, writes: bool) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        title=title,
        read_only_hint=not writes,
        destructive_hint=False,
        idempotent_hint=not writes,
        open_world_hint=False,
    )


def _string(description: str, **more: Any) -> Json:
    return {"type": "string", "description": description, **more}


_K = {
    "type": "integer",
    "minimum": 1,
    "maximum": 1000,
    "description": f"Chunks to return; {RESULTS} unless given.",
}

_TRACE = _string("Id of a recorded retrieval.", format="uuid")
_LIST: Json = {"type": "array", "items": {"type": "object"}}


def _result(optional: Json | None = None, **properties: Json) -> Json:
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
    }


BUILTIN: dict[str, Builtin] = {
    "search": Builtin(
        "Search",
        "Finds passages of the corpora for a query, best first: id, title, url, how each begins.",
        {"query": _string("Question, or words.", minLength=1)},
        ("query",),
        builtin.search,
        _result(
            {"note": _string("What the search had to do without.")},
            results={
                "type": "array",
                "items": _result(
                    id={"type": "string"}, title={"type": "string"}, url={"type": "string"}
                ),
            },
        ),
        records=True,
    ),
    "fetch": Builtin(
        "Fetch",
        "Returns a passage in full by the id that search gave, with where it stands and the ids of"
        " its document and neighbours; or a whole document by its id.",
        {"id": _string("An id of search, or one in the metadata of fetch.", minLength=1)},
        ("id",),
        builtin.fetch,
        _result(
            id={"type": "string"},
            title={"type": "string"},
            text={"type": "string"},
            url={"type": "string"},
            metadata={"type": "object"},
        ),
    ),
    "search_slice": Builtin(
        "Search a slice",
        "Searches only what a policy admits around an anchor: the fingerprinted slice of a"
        " conversation or of documents. Provenance says which slice, policy and snapshot.",
        {
            "corpus": _string("Name of the corpus.", minLength=1),
            "query": _string("Question, or words.", minLength=1),
            "anchor": _string("Chunk to build the slice around; else the best hit of the query."),
            "policy": {
                "type": "object",
                "description": 'In full, or by reference {"policy_id": …}; else the default.',
            },
            "slice_id": _string("A stored slice, in place of anchor and policy."),
            "k": _K,
            "mode": _string("How to rank.", enum=["lexical", "semantic", "hybrid", "reference"]),
        },
        ("corpus", "query"),
        builtin.search_slice,
        _result(chunks=_LIST, provenance={"type": "object"}),
        records=True,
    ),
    "list_corpora": Builtin(
        "List corpora",
        "Lists the corpora that can be searched, with their sizes and languages.",
        {},
        (),
        builtin.list_corpora,
        _result(corpora=_LIST),
    ),
    "get_trace": Builtin(
        "Show a recorded retrieval",
        "Returns everything that was recorded of a retrieval: query, settings, hashes, hits.",
        {"trace_id": _TRACE},
        ("trace_id",),
        builtin.get_trace,
        _result(trace={"type": "object"}, hits=_LIST),
    ),
    "replay_trace": Builtin(
        "Replay a recorded retrieval",
        "Runs a recorded retrieval again and says whether it gives the same, and if not, why.",
        {"trace_id": _TRACE},
        ("trace_id",),
        builtin.replay_trace,
        _result(verdict={"type": "string"}),
    ),
    "validate_citations": Builtin(
        "Check citations",
        "Checks that what an answer cites was retrieved and says it: unknown or missing citations,"
        " quotes and numbers that the cited chunk has not. Proves reference, location and lexical"
        " support, not that a chunk implies a sentence.",
        {
            "output": {
                "type": "object",
                "description": 'The answer: {"answer", "citations": [{"source_id", "chunk_id",'
                ' "quote"}]}.',
            },
            "evidence": {"type": "object", "description": "An evidence pack."},
            "trace_id": _TRACE,
            "corpus": _string("Corpus of chunk_ids."),
            "chunk_ids": {"type": "array", "items": {"type": "string"}, "description": "Evidence."},
            "require_citations": {
                "type": "boolean",
                "description": "Whether there must be a citation; true unless given.",
            },
        },
        ("output",),
        builtin.validate_citations,
        _result(valid={"type": "boolean"}, problems={"type": "array"}, checks=_LIST),
    ),
}
