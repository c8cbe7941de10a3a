"""A trace says how long each leg of its search took, and its hash says so too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Connection
from tests.embedding import ENCODER, embed, make_corpus, one

TEXTS = {"a.md": "refunds take fourteen days", "b.md": "bicycles are parked behind the library"}


@pytest.fixture
def docs(db: Connection) -> Connection:
    make_corpus(db, TEXTS)
    embed(db)
    return db


def stages(db: Connection, call: str, *values: Any) -> tuple[dict[str, float] | None, float]:
    """The stages of a retrieval and how long it took in all, as its trace says."""
    trace = one(db, f"select trace_id from {call} limit 1", *values)
    ((found, elapsed),) = db.execute(
        "select t.stages, t.elapsed_ms from ragdb.get_trace(%s) t", (trace,)
    ).fetchall()
    return found, elapsed


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("lexical", {"lexical"}),
        ("semantic", {"semantic"}),
        ("hybrid", {"semantic", "lexical", "fuse"}),
        ("reference", None),
    ],
)
def test_each_leg_that_ran_is_recorded(
    docs: Connection, mode: str, expected: set[str] | None
) -> None:
    vector = [float(x) for x in ENCODER.encode(["refunds"])[0]]
    call = "ragdb.retrieve('docs', 'refunds', mode => %s, query_embedding => %s)"
    found, elapsed = stages(docs, call, mode, None if mode in ("lexical", "reference") else vector)
    assert (set(found) if found else None) == expected
    # parts of the whole, each by itself
    assert sum((found or {}).values()) <= elapsed
    assert all(ms > 0 for ms in (found or {}).values())
    ((trace,),) = docs.execute("select id from ragdb.list_traces(null, null, 1)").fetchall()
    named = docs.execute("select stage, elapsed_ms from ragdb.trace_stages(%s)", (trace,))
    order = [name for name in ("embed", "semantic", "lexical", "fuse") if name in (found or {})]
    assert [row[0] for row in named.fetchall()] == [*order, "search"]
    facts = docs.execute("select stage, part_of from bi.fact_stage").fetchall()
    assert set(facts) == {("retrieve", None), *((name, "retrieve") for name in order)}
    checked = docs.execute("select is_intact from ragdb.verify_trace(%s)", (trace,)).fetchall()
    assert False not in {row[0] for row in checked}


def test_a_changed_stage_is_noticed(docs: Connection) -> None:
    found, _ = stages(docs, "ragdb.retrieve('docs', 'refunds', mode => 'lexical')")
    assert found is not None
    ((trace,),) = docs.execute("select id from ragdb.list_traces(null, null, 1)").fetchall()
    with docs.transaction(force_rollback=True):
        docs.execute(
            "do $$ declare p text; begin for p in select inhrelid::regclass::text from pg_inherits"
            " where inhparent = 'ragdb.retrieval_traces'::regclass loop"
            " execute format('alter table %s disable trigger all', p); end loop; end $$"
        )
        docs.execute("""update ragdb.retrieval_traces set stages = '{"lexical": 0}'""")
        checked = docs.execute("select is_intact from ragdb.verify_trace(%s)", (trace,)).fetchall()
        assert False in {row[0] for row in checked}


def test_a_search_after_a_retrieval_notes_nothing(docs: Connection) -> None:
    with docs.transaction():
        stages(docs, "ragdb.retrieve('docs', 'refunds', mode => 'lexical')")
        assert one(docs, "select current_setting('ragdb.stages', true)") == ""
        docs.execute("select from ragdb.search('docs', 'refunds', mode => 'lexical')")
        assert one(docs, "select current_setting('ragdb.stages', true)") == ""


def test_a_slice_is_timed_too(docs: Connection) -> None:
    ((anchor,),) = docs.execute(
        "select chunk_id from ragdb.list_chunks('docs') where source = 'a.md'"
    ).fetchall()
    docs.execute("select ragdb.create_signing_key('k')")
    call = "ragdb.retrieve_slice('docs', 'refunds', anchor => %s, mode => 'lexical')"
    found, _ = stages(docs, call, anchor)
    assert found is not None
    assert set(found) == {"lexical"}


def test_a_retrieval_says_what_came_of_it(docs: Connection) -> None:
    trace = one(docs, "select trace_id from ragdb.retrieve('docs', 'refunds', mode => 'lexical')")
    docs.execute(
        "select ragdb.record_answer(ragdb.answer_from_evidence('refunds', p), p)"
        " from ragdb.build_evidence_pack(%s) p",
        (trace,),
    )
    told = docs.execute("select stage, detail from ragdb.trace_stages(%s)", (trace,)).fetchall()
    assert told[-2:] == [("search", "1 hit"), ("answer", "1 valid citation")]
