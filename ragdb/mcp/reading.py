"""The tools that count, list, and answer: nothing of theirs changes a corpus."""

from __future__ import annotations

from typing import Any

from ragdb.client.counting import some
from ragdb.client.notices import heard
from ragdb.client.rows import record
from ragdb.evidence import asking as evidence_asking
from ragdb.mcp.builtin import CLIENT, document_id
from ragdb.mcp.served import MOST, Json, Served, ToolError

LISTED = 100  # corpora, or words with synonyms, unless more are asked for
# what lists show: a model has to read all of it, and what is left out is shown one by one
DOCUMENT = (
    "source", "title", "language", "media_type", "external_id", "pages", "chunks",
    "metadata", "updated_at",
)  # fmt: skip
CORPUS = (
    "name", "title", "documents", "chunks", "tokens", "language_majority", "updated_at", "part_of",
    "parts", "moved_to",
)  # fmt: skip
TRACE = (
    "id", "created_at", "corpus", "retriever", "rag", "retrieval_mode", "rank_mode", "query_text",
    "slice_id", "is_admissible", "limit_returned", "elapsed_ms", "error_code", "client",
)  # fmt: skip
RUN = (
    "run_id", "created_at", "corpus", "rag", "eval", "retriever", "rank_mode", "label", "metric",
    "threshold", "metric_value", "cases", "passed_cases", "assertions", "passed_assertions",
    "stale_labels", "status", "reasons",
)  # fmt: skip


def brief(row: Any, names: tuple[str, ...]) -> Json:
    """Some fields of a row, without those that are null or empty."""
    found = record(row)
    return {name: found[name] for name in names if found[name] not in (None, {}, [])}


def facets(served: Served, arguments: Json) -> Json:
    how = {key: value for key, value in arguments.items() if key != "corpora"}
    how = {"query": None, **how}
    names = served.named(arguments)
    if not names:
        return {"facets": []}
    with served.database() as db, heard(db.connection) as notes:
        counted = {"facets": [record(row) for row in db.facets(names, **how)]}
    return {**counted, "note": "\n".join(notes)} if notes else counted


def count_matches(served: Served, arguments: Json) -> Json:
    how = {"query": None} | {key: one for key, one in arguments.items() if key != "corpora"}
    names = served.named(arguments)
    if not names:
        return {"documents": 0, "chunks": 0}
    with served.database() as db, heard(db.connection) as notes:
        counted = record(db.count_matches(names, **how))
    return {**counted, "note": "\n".join(notes)} if notes else counted


def list_corpora(served: Served, arguments: Json) -> Json:
    prefix, after = arguments.get("prefix", ""), arguments.get("after", "")
    most = arguments.get("count", LISTED)
    listed, is_last = served.page(prefix, after, most)
    more: Json = {}
    if not is_last:
        more["note"] = "There are more: give the last name as after, or a prefix."
    elif prefix and not after and not listed:
        more["note"] = f"No name of a corpus begins with {prefix[:80]!r}."
    return {"corpora": [brief(row, CORPUS) for row in listed], **more}


def list_documents(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        listed = db.list_documents(**arguments)
    corpus, prefix = arguments["corpus"], arguments.get("prefix")
    more: Json = {}
    if not listed and prefix and "after" not in arguments:
        more["note"] = f"No source begins with {prefix[:80]!r}; search finds documents by words."
    found = [{"id": document_id(corpus, row), **brief(row, DOCUMENT)} for row in listed]
    return {"documents": found, **more}


class Calls:
    """The database, each call of which is a transaction of its own; `notes` are what it said."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.notes: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **how: Any) -> Any:
            with self.served.database() as db, heard(db.connection) as notes:
                found = getattr(db, name)(*args, **how)
            self.notes |= dict.fromkeys(notes)
            return found

        return call


def _asked_corpus(served: Served, db: Any, arguments: Json) -> str:
    """The corpus that is named, that a retriever or rag of a contract searches, or the only one."""
    corpus: str | None = arguments.get("corpus")
    if corpus is not None:
        return corpus
    retriever, rag = arguments.get("retriever"), arguments.get("rag")
    named = retriever or rag
    if named is None:
        names = served.names()
        if len(names) != 1:
            known = f": {some(names)}" if names else ""
            raise ToolError(f"there are {len(names)} corpora{known}; give corpus, retriever or rag")
        return names[0]
    found: str = db.ask_retriever(None, retriever, rag).corpus
    try:
        served.check(found)
    except ToolError:  # without the name of a corpus that is not served
        raise ToolError(f"{named[:80]!r} is not served here") from None
    return found


def ask(served: Served, arguments: Json) -> Json:
    db: Any = Calls(served)
    corpus, rank_mode = _asked_corpus(served, db, arguments), arguments.get("rank_mode")
    more: Json = {}

    def embed(text: str) -> list[float] | None:
        vector, note = served.embedded_or_words([corpus], text, rank_mode)
        more.update(note)
        return vector

    named = {"corpus", "question"}
    asking: Any = {key: value for key, value in arguments.items() if key not in named}
    asking |= {"embed": embed, "client": CLIENT, "record": served.record}
    try:
        made = evidence_asking.ask(db, corpus, arguments["question"], asking).as_json()
    except ValueError as error:
        raise ToolError(str(error)) from None
    if db.notes:
        more.setdefault("note", "\n".join(db.notes))
    return {**made, **more}


def build_pack(served: Served, arguments: Json) -> Json:
    if ("trace_id" in arguments) == ("chunk_ids" in arguments and "corpus" in arguments):
        raise ToolError("give trace_id, or chunk_ids with corpus")
    with served.database() as db:
        if "trace_id" in arguments:
            served.trace(db, arguments["trace_id"])
        made: Json = db.build_evidence_pack(**arguments)
    return made


def resolve_anchor(served: Served, arguments: Json) -> Json:
    vector = None
    if "query" in arguments:
        vector = served.embedded([arguments["corpus"]], arguments["query"])
    with served.database() as db:
        found = db.resolve_anchor(**arguments, query_embedding=vector)
    if found:
        return record(found[0])
    nothing = "No conversation is there whose latest turn it could be; give query or chunk_id."
    return {"anchor": None, "resolved_by": None, "note": nothing}


def list_traces(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        listed = [brief(row, TRACE) for row in db.list_traces(**arguments)]
    return {"traces": [row for row in listed if served.serves(row["corpus"])]}


def list_eval_runs(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        listed = [brief(row, RUN) for row in db.list_eval_runs(**arguments)]
    return {"runs": [row for row in listed if served.serves(row["corpus"])]}


def eval_report(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        run = db.get_eval_run(arguments["run_id"])
        served.check(run.corpus)
        return {"report": db.eval_report(run.run_id, arguments.get("format", "md"))}


def list_promoted(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        return {
            "atoms": [record(row) for row in db.list_atoms(**arguments)],
            "proposals": [record(row) for row in db.list_proposals(**arguments)],
        }


def list_synonyms(served: Served, arguments: Json) -> Json:
    most = arguments.get("count", LISTED)
    how = {"count": min(most + 1, MOST)}
    with served.database() as db:
        listed = db.list_synonyms(**{**arguments, **how})
    more: Json = {}
    if len(listed) > most:
        more["note"] = "There are more: give the last word as after, or a prefix."
    return {"synonyms": [record(row) for row in listed[:most]], **more}
