"""How the tools that change corpora describe themselves. A server has them with --write alone."""

from __future__ import annotations

from functools import partial

from ragdb.mcp import writing
from ragdb.mcp.shapes import CORPUS, IDS, TRACE, Builtin, result, string

REASON = string("Why, for the record.", minLength=1)
TEXT = string("The statement, in words of its evidence.", minLength=1)
NUMBER = {"type": "integer"}
ATOMS = {**IDS, "items": string("Id of a statement.", format="uuid"), "description": "Statements."}

TURNS = {
    "type": "array",
    "maxItems": 10000,
    "items": {
        "type": "object",
        "properties": {
            "id": string("Id of its own in the session; sent again, it is written once."),
            "text": string("What is said."),
            "role": string("Who says it.", enum=["user", "assistant", "system", "tool"]),
            "speaker": string("Name of who says it.", maxLength=200),
            "parent_id": string("Id of the turn that it answers."),
            "parents": {"type": "array", "description": "Ids, or objects of id and edge_type."},
            "created_at": string("When it was said; now unless given."),
            "phase": string("What it is for, such as planning; derived unless given."),
            "salience": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["id", "text"],
    },
}
EDGES = {
    "type": "array",
    "minItems": 1,
    "maxItems": 10000,
    "items": {
        "type": "object",
        "properties": {
            "parent": string("Chunk id that it leaves."),
            "child": string("Chunk id that it leads to."),
            "edge_type": string(
                "reference unless given.", enum=["reply", "branch", "reference", "default"]
            ),
        },
        "required": ["parent", "child"],
        "additionalProperties": False,
    },
}

CHANGE = partial(Builtin, writes=True)
CHANGES: dict[str, Builtin] = {
    "create_corpus": CHANGE(
        "Create a corpus",
        "Creates an empty corpus.",
        {
            "corpus": CORPUS,
            "title": string("Its title."),
            "text_config": string("Text configuration, such as english; english unless given."),
            "is_restricted": {"type": "boolean", "description": "For the caller and admins alone."},
            "part_of": string("The corpus that it becomes a part of, which is searched as one."),
        },
        ("corpus",),
        writing.create_corpus,
        result(name={"type": "string"}),
    ),
    "drop_corpus": CHANGE(
        "Drop a corpus",
        "Drops a corpus with its documents and what was derived from them. It cannot be undone.",
        {"corpus": CORPUS, "reason": REASON},
        ("corpus",),
        writing.drop_corpus,
        result(dropped={"type": "string"}),
        destroys=True,
    ),
    "delete_document": CHANGE(
        "Delete a document",
        "Deletes a document by the id that list_documents gave, and what was derived from it. It"
        " cannot be undone.",
        {
            "id": string("Id of a document.", minLength=1),
            "derived": string(
                "Whether statements lose their text, or go too.", enum=["redact", "erase"]
            ),
            "reason": REASON,
        },
        ("id",),
        writing.delete_document,
        result(documents_deleted=NUMBER, chunks_deleted=NUMBER),
        destroys=True,
    ),
    "put_text": CHANGE(
        "Put a text",
        "Stores a text as the document of a source, cut into passages, in the place of what the"
        " source had. A conversation is not replaced: append_turns adds to it.",
        {
            "corpus": CORPUS,
            "source": string("Name of the document, such as notes/today.md.", minLength=1),
            "text": string("Plain, or Markdown where the source ends in .md; it may be empty."),
            "title": string("Its title."),
            "language": string("Code of its language, such as de."),
            "metadata": {"type": "object", "description": "What filters read."},
        },
        ("corpus", "source", "text"),
        writing.put_text,
        result(doc_cid={"type": "string"}, chunks_indexed=NUMBER),
        destroys=True,
    ),
    "append_turns": CHANGE(
        "Append turns",
        "Appends turns to a session, which begins with its first. A turn that is there already is"
        " not written again.",
        {
            "corpus": CORPUS,
            "session": string("Name of the session.", minLength=1),
            "turns": TURNS,
            "document": {
                "type": "object",
                "description": "title, language and metadata of a session that is new.",
            },
        },
        ("corpus", "session", "turns"),
        writing.append_turns,
        result(turns={"type": "array", "items": {"type": "object"}}),
    ),
    "add_edges": CHANGE(
        "Add edges",
        "Joins passages and turns of a corpus, across sessions and documents.",
        {"corpus": CORPUS, "edges": EDGES},
        ("corpus", "edges"),
        writing.add_edges,
        result(added=NUMBER),
    ),
    "remove_edges": CHANGE(
        "Remove edges",
        "Takes away edges that were added.",
        {"corpus": CORPUS, "edges": EDGES},
        ("corpus", "edges"),
        writing.remove_edges,
        result(removed=NUMBER),
        destroys=True,
    ),
    "add_synonyms": CHANGE(
        "Add synonyms",
        "Makes words synonyms in a corpus.",
        {"corpus": CORPUS, "words": {**IDS, "minItems": 2, "maxItems": 50}},
        ("corpus", "words"),
        writing.add_synonyms,
        result(added=NUMBER),
    ),
    "remove_synonyms": CHANGE(
        "Remove synonyms",
        "Takes a word out of the synonyms of a corpus.",
        {"corpus": CORPUS, "word": string("The word.", minLength=1)},
        ("corpus", "word"),
        writing.remove_synonyms,
        result(removed=NUMBER),
        destroys=True,
    ),
    "promote": CHANGE(
        "Promote a statement",
        "Makes a statement out of hits of an admissible retrieval, which search_slice records. A"
        " refusal is an incident.",
        {
            "trace_id": TRACE,
            "chunk_ids": {**IDS, "description": "Hits that say it."},
            "text": TEXT,
            "sufficiency": string(
                "How much evidence it takes.", enum=["default", "lenient", "strict"]
            ),
        },
        ("trace_id", "chunk_ids", "text"),
        writing.promote,
        result(atom_id={"type": "string"}, code={"type": "string"}),
    ),
    "propose": CHANGE(
        "Propose a conclusion",
        "Stores a conclusion that rests on statements of one slice.",
        {"corpus": CORPUS, "atom_ids": ATOMS, "text": TEXT},
        ("corpus", "atom_ids", "text"),
        writing.propose,
        result(proposal_id={"type": "string"}, code={"type": "string"}),
    ),
    "decide_proposal": CHANGE(
        "Decide a conclusion",
        "Accepts or rejects an open conclusion, once.",
        {
            "corpus": CORPUS,
            "proposal_id": string("The conclusion.", format="uuid"),
            "decision": string("What is decided.", enum=["accepted", "rejected"]),
            "reason": REASON,
        },
        ("corpus", "proposal_id", "decision"),
        writing.decide_proposal,
        result(code={"type": "string"}),
    ),
    "record_feedback": CHANGE(
        "Record feedback",
        "Records what a person said of a recorded retrieval, of one hit of it or of an answer.",
        {
            "verdict": string("What the person thinks.", enum=["good", "bad"]),
            "trace_id": TRACE,
            "chunk_id": string("The hit, where it is about one.", minLength=1),
            "answer_id": string(
                "The answer, where it is about one; it may stand in for trace_id.", format="uuid"
            ),
            "comment": string("What the person added.", maxLength=4000),
        },
        ("verdict",),
        writing.record_feedback,
        result(feedback_id={"type": "string"}),
    ),
}
