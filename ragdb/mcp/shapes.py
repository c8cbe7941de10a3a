"""What the descriptions of tools are made of: titles, arguments, results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types

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
    writes: bool = False
    destroys: bool = False
    asks_others: bool = False

    def tool(self, name: str, record: bool) -> types.Tool:
        return types.Tool(
            name=name,
            title=self.title,
            description=self.description,
            input_schema=object_of(self.properties, self.required),
            output_schema=self.output,
            annotations=annotations_of(
                self.title,
                self.writes or (record and self.records),
                self.destroys,
                self.asks_others,
            ),
        )


def object_of(properties: Json, required: Sequence[str]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def annotations_of(
    title: str, writes: bool, destroys: bool = False, asks_others: bool = False
) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        title=title,
        read_only_hint=not writes,
        destructive_hint=destroys,
        idempotent_hint=not writes,
        open_world_hint=asks_others,
    )


def string(description: str, **more: Any) -> Json:
    return {"type": "string", "description": description, **more}


def count(default: int) -> Json:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": 10000,
        "description": f"Rows at most; {default} unless given.",
    }


PAGE = {
    "prefix": string("How names begin."),
    "after": string("Last seen."),
    "count": count(100),
}

K = {
    "type": "integer",
    "minimum": 1,
    "maximum": 1000,
    "description": f"Chunks to return; {RESULTS} unless given.",
}

AS_OF = {
    "type": "integer",
    "minimum": 0,
    "description": "Version of one corpus that keeps its history: searches it as it was then.",
}
SHARE: Json = {"type": "number", "minimum": 0, "maximum": 1}
QUERY = string("Question, or words.", minLength=1)
CORPUS = string("Name of the corpus.", minLength=1)
CHUNK = string("Id of the passage, from search or as chunk_id from another tool.", minLength=1)
MODE = string(
    "How to rank: by words (lexical), by meaning (semantic), by both (hybrid), or by a simple"
    " measure to compare with (reference). Leave it out for the best that the corpus has.",
    enum=["lexical", "semantic", "hybrid", "reference"],
)
CORPORA: Json = {
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
    "description": "Names of corpora; all that are served unless given.",
}
IDS: Json = {"type": "array", "items": {"type": "string"}, "minItems": 1}
MATCHING: Json = {
    "filter": {
        "type": "object",
        "description": "Conditions that all hold, on metadata or on fields such as source, title"
        ' and language: {"year": 2026}, {"year": {"gte": 2020}}, {"source": {"glob":'
        ' "docs/*"}}. Operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob. facets'
        " lists the values of a field.",
    },
    "syntax": string(
        'web has "phrases", +required and -excluded words; plain, the default, has only words.',
        enum=["plain", "web"],
    ),
}
PICKING: Json = {
    "min_score": {**SHARE, "description": "Least score."},
    "per_document": {**K, "description": "Passages of one document at most."},
    "collapse": {"type": "boolean", "description": "Leave out what nearly repeats a better one."},
    "diversity": {**SHARE, "description": "What likeness to better ones takes from a score."},
    "context": {
        "type": "integer",
        "minimum": 0,
        "maximum": 20,
        "description": "Neighbours of a passage on each side, as its context.",
    },
    "section": {"type": "boolean", "description": "The section of a passage as its context."},
    "typos": {
        "type": "boolean",
        "description": "Whether a near word stands for one that a corpus lacks; true unless given.",
    },
}
TRACE = string("Id of a recorded retrieval.", format="uuid")
NOTHING = string("Why nothing was found.")
WORD: Json = {"type": "string"}
ANCHOR: Json = {"type": ["string", "null"]}
LIST: Json = {"type": "array", "items": {"type": "object"}}


def result(optional: Json | None = None, **properties: Json) -> Json:
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
    }
