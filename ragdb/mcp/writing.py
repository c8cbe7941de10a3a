"""The tools that change corpora, which a server has with --write alone."""

from __future__ import annotations

from typing import Any

from ragdb.client.client import Client
from ragdb.client.rows import record
from ragdb.mcp.builtin import CLIENT
from ragdb.mcp.served import Json, Served, ToolError


def create_corpus(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        db.create_corpus(**arguments)
        return record(db.corpus_info(arguments["corpus"]))


def drop_corpus(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        db.drop_corpus(**arguments)
    return {"dropped": arguments["corpus"]}


def delete_document(served: Served, arguments: Json) -> Json:
    corpus, _, own = arguments["id"].partition("/")
    served.check(corpus)
    cid, _, source = own.partition("/")
    more = {key: value for key, value in arguments.items() if key != "id"}
    # one snapshot for the look and the deletion
    with served.database() as db:
        if source and db.get_document(corpus, source).doc_cid != cid:
            raise ToolError(f"{source!r} is another document now: list_documents has its id")
        return record(db.delete_document(corpus, source or cid, **more))


def put_text(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        # the function makes a corpus that is not there; a misspelt one would be open to all
        db.corpus_info(arguments["corpus"])
        return record(db.put_text(**arguments))


def append_turns(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        return {"turns": [record(row) for row in db.append_turns(**arguments)]}


def add_edges(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        return {"added": db.add_edges(**arguments)}


def remove_edges(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        return {"removed": db.remove_edges(**arguments)}


def add_synonyms(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        return {"added": db.add_synonyms(**arguments)}


def remove_synonyms(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        return {"removed": db.remove_synonyms(**arguments)}


def promote(served: Served, arguments: Json) -> Json:
    with served.changing() as db:
        served.trace(db, arguments["trace_id"])
        row = db.promote_to_atom(**arguments)
    return _settled(row, "PROMOTED")


def propose(served: Served, arguments: Json) -> Json:
    return _settled(_run(served, lambda db: db.propose(**arguments)), "PROPOSED")


def decide_proposal(served: Served, arguments: Json) -> Json:
    row = _run(served, lambda db: db.decide_proposal(**arguments))
    return _settled(row, arguments["decision"].upper())


def record_feedback(served: Served, arguments: Json) -> Json:
    if not arguments.keys() & {"trace_id", "answer_id"}:
        raise ToolError("give trace_id or answer_id")
    with served.changing() as db:
        if "trace_id" in arguments:
            served.trace(db, arguments["trace_id"])
        else:
            served.check(db.get_answer(arguments["answer_id"]).corpus)
        return {"feedback_id": str(db.record_feedback(**arguments, client=CLIENT))}


def _run(served: Served, call: Any) -> Any:
    db: Client
    with served.changing() as db:
        return call(db)


def _settled(row: Any, done: str) -> Json:
    """What a function decided: a refusal is an error that a model sees, and its incident stays."""
    found = record(row)
    if found["code"] != done:
        how = "; search_slice records one that is" if found["code"] == "NOT_ADMISSIBLE" else ""
        raise ToolError(f"{found['code']}: {found.get('reason') or found.get('detail')}{how}")
    return found
