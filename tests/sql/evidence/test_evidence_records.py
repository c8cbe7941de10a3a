"""Gates and answers are recorded without their texts, and nobody can change the records."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragdb.errors import InvalidEvaluation
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.sql.conversations import chat, uuid
from tests.sql.evidence.test_evidence_packs import messages, scalar
from tests.sql.traces.test_traces_partitions import CHANGES, pin

QUESTION = "How are refunds paid to bikers?"


def fill(db: Connection) -> None:
    chat(db, messages())


@pytest.fixture
def asked(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with any_version.rolled_back(any_filled) as db:
        yield db


def retrieved(db: Connection, query: str = QUESTION) -> dict[str, Any]:
    db.execute("select from ragdb.retrieve('chat', %s)", (query,))
    pack: dict[str, Any] = scalar(db, "select ragdb.build_evidence_pack(ragdb.last_trace_id())")
    return pack


def stored(db: Connection, table: str) -> list[dict[str, Any]]:
    with db.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        return cursor.execute(
            f"select * from ragdb.{table} order by created_at".encode()
        ).fetchall()


def record(db: Connection, output: Any, pack: Any, **more: Any) -> list[dict[str, Any]]:
    names = "".join(f", {name} => %({name})s" for name in more)
    with db.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        return cursor.execute(
            f"select * from ragdb.record_answer(%(output)s, %(pack)s{names})".encode(),
            {"output": json.dumps(output), "pack": json.dumps(pack)} | more,
        ).fetchall()


def test_a_gate_leaves_what_it_was_decided_by(asked: Connection) -> None:
    pack = retrieved(asked)
    said = scalar(
        asked,
        "select ragdb.record_gate(%s, %s, min_score => 0.01, min_coverage => 0.3,"
        " client => 'test')",
        QUESTION,
        json.dumps(pack),
    )
    (row,) = stored(asked, "evidence_gates")
    assert said.pop("gate_id") == str(row["id"])
    assert said == scalar(
        asked,
        "select ragdb.rag_enough_context_gate(%s, %s, min_score => 0.01, min_coverage => 0.3)",
        QUESTION,
        json.dumps(pack),
    )
    assert str(row["trace_id"]) == pack["trace_id"]
    assert row["query_hash"] == hashlib.sha256(QUESTION.encode()).hexdigest()
    assert row["pack_hash"] == hashlib.sha256(pack["canonical_text"].encode()).hexdigest()
    assert (row["min_chunks"], row["min_score"], row["min_coverage"]) == (1, 0.01, 0.3)
    assert (row["chunks"], row["terms"]) == (len(pack["chunks"]), 3)
    assert row["best_score"] == max(c["score"] for c in pack["chunks"])
    # of three chunks, and fifty that have no term, two have refund and paid, none biker
    known, missing = 2 * math.log(1 + 51.5 / 2.5), math.log(1 + 53.5 / 0.5)
    assert row["coverage"] == pytest.approx(known / (known + missing))
    assert row["is_enough"] is True
    assert row["missing_terms"] == ["biker"]
    assert row["client"] == "test"


@pytest.mark.parametrize(("kept", "has_hash"), [("hash", True), ("none", False)])
def test_a_corpus_that_keeps_no_questions_keeps_none_here(
    asked: Connection, kept: str, has_hash: bool
) -> None:
    asked.execute("update ragdb.corpora set record_query_text = %s", (kept,))
    pack = retrieved(asked)
    asked.execute("select ragdb.record_gate(%s, %s)", (QUESTION, json.dumps(pack)))
    record(asked, {"answer": "Refunds.", "citations": []}, pack)
    (gate,), (answer,) = stored(asked, "evidence_gates"), stored(asked, "evidence_answers")
    assert gate["missing_terms"] is None
    assert (gate["query_hash"] is not None) is has_hash
    assert (answer["answer_hash"] is not None) is has_hash


def test_an_answer_leaves_what_its_citations_came_to(asked: Connection) -> None:
    pack = retrieved(asked)
    output = {
        "answer": "Card. 7 days.",
        "citations": [
            {"chunk_id": uuid(2), "quote": "refunds are  paid", "start": 3},
            {"chunk_id": "the model's own words", "source_id": "secret"},
            {"chunk_id": uuid(2), "answer_start": 6, "answer_end": 13},
        ],
    }
    rows = record(asked, output, pack, task="answer", model="m", attempt=2)
    checked = asked.execute(
        "select citation, code, is_advisory, message, source_id, chunk_id, method, start_offset,"
        " end_offset, similarity from ragdb.check_citations(%s, %s)",
        (json.dumps(output), json.dumps(pack)),
    ).fetchall()
    assert [tuple(row.values())[1:] for row in rows] == checked
    (answer,) = stored(asked, "evidence_answers")
    assert {row["answer_id"] for row in rows} == {answer["id"]}
    assert answer["answer_hash"] == hashlib.sha256(b"Card. 7 days.").hexdigest()
    assert (answer["citations"], answer["problems"], answer["is_verified"]) == (3, 2, False)
    assert (answer["task"], answer["model"], answer["attempt"]) == ("answer", "m", 2)
    assert [
        (r["row_no"], r["citation"], r["code"], r["chunk_id"], r["method"], r["start_offset"])
        for r in stored(asked, "answer_citations")
    ] == [
        (1, 0, "OFFSETS_CORRECTED", uuid(2), "normalised", 0),
        (2, 0, None, uuid(2), "normalised", 0),
        (3, 1, "CITE_UNKNOWN", None, None, None),
        (4, 2, "NUMBER_UNSUPPORTED", uuid(2), None, None),
    ]
    everything = str(stored(asked, "evidence_answers")) + str(stored(asked, "answer_citations"))
    for text in ("own words", "secret", "Card", "paid"):
        assert text not in everything


def test_no_answer_is_an_answer_on_record(asked: Connection) -> None:
    assert record(asked, {"insufficient_evidence": True}, retrieved(asked)) == []
    (answer,) = stored(asked, "evidence_answers")
    assert (answer["is_insufficient"], answer["is_verified"]) == (True, True)
    assert (answer["citations"], answer["answer_hash"]) == (0, None)


def test_chunks_that_were_packed_by_id_are_of_their_corpus(asked: Connection) -> None:
    pack = scalar(
        asked, "select ragdb.build_evidence_pack(corpus => 'chat', chunk_ids => %s)", [uuid(2)]
    )
    assert record(asked, {"answer": "x [1]"}, pack)[0]["code"] is None
    (answer,) = stored(asked, "evidence_answers")
    assert answer["trace_id"] is None


def test_a_pack_of_two_retrievals_is_held_to_both(asked: Connection) -> None:
    first, second = retrieved(asked, "refunds"), retrieved(asked, "shipping")
    assert {c["chunk_id"] for c in first["chunks"]} == {uuid(1), uuid(2)}
    (shipping,) = second["chunks"]
    pack = {
        "sha256": first["sha256"],
        "canonical_text": first["canonical_text"],
        "chunks": [
            *({**c, "trace_id": first["trace_id"]} for c in first["chunks"]),
            {**shipping, "trace_id": second["trace_id"]},
        ],
    }
    output = {"answer": "x", "citations": [{"chunk_id": uuid(n)} for n in (1, 2, 3)]}
    assert [row["code"] for row in record(asked, output, pack)] == [None] * 3
    # held to one of them, what the other found was not retrieved
    held = record(asked, output, pack, trace_id=second["trace_id"])
    assert [row["code"] for row in held] == ["CITE_NOT_RETRIEVED"] * 2 + [None]


@pytest.mark.parametrize("table", ["evidence_gates", "evidence_answers", "answer_citations"])
def test_what_is_recorded_cannot_be_changed(asked: Connection, table: str) -> None:
    pack = retrieved(asked)
    asked.execute("select ragdb.record_gate(%s, %s)", (QUESTION, json.dumps(pack)))
    record(asked, {"answer": "x [1]"}, pack)
    for change in CHANGES:
        with pytest.raises(psycopg.DatabaseError) as caught, asked.transaction():
            asked.execute(change.format(table=table).encode())
        assert caught.value.sqlstate == "RG414", change


@OLDER_BY_NIGHT
def test_gates_and_answers_go_with_their_month(asked: Connection) -> None:
    for month in ("2020-01-15", "2020-02-15"):
        pin(asked, f"{month} 12:00:00+00")
        pack = retrieved(asked)
        asked.execute("select ragdb.record_gate(%s, %s)", (QUESTION, json.dumps(pack)))
        record(asked, {"answer": "x [1]"}, pack)
    pin(asked, "2020-03-15 12:00:00+00")
    assert scalar(asked, "select traces from ragdb.drop_traces_before('2020-02-01')") == 1
    for table in ("retrieval_traces", "evidence_gates", "evidence_answers", "answer_citations"):
        assert [row["created_at"].month for row in stored(asked, table)] == [2], table


def test_after_an_upgrade_the_first_record_makes_the_partitions(asked: Connection) -> None:
    pack = retrieved(asked)
    for table in ("evidence_gates", "evidence_answers", "answer_citations"):
        rows = asked.execute(
            "select inhrelid::regclass::text from pg_inherits where inhparent = %s::regclass",
            (f"ragdb.{table}",),
        ).fetchall()
        for (partition,) in rows:
            asked.execute(f"drop table {partition}".encode())
    record(asked, {"answer": "x [1]"}, pack)
    (answer,) = stored(asked, "evidence_answers")
    assert answer["is_verified"]


def test_the_hash_of_a_pack_is_that_of_its_text(asked: Connection) -> None:
    pack = retrieved(asked)
    for wrong in (
        {"sha256": "0" * 64},
        {"canonical_text": pack["canonical_text"] + "."},
        {"canonical_text": None},
    ):
        with pytest.raises(psycopg.Error) as caught, asked.transaction():
            scalar(asked, "select ragdb.record_gate('refunds', %s)", json.dumps(pack | wrong))
        assert caught.value.sqlstate == "RG460"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("record_gate('q', %(pack)s, client => repeat('x', 201))", "RG413"),
        ("record_gate('q', %(pack)s, min_score => 2)", "RG400"),
        ("record_gate('q', '{\"chunks\": []}')", "RG460"),
        ('record_gate(\'q\', \'{"chunks": [], "corpus": "chat"}\')', "RG460"),
        ('record_gate(\'q\', \'{"chunks": [], "corpus": "none"}\')', "RG404"),
        ('record_gate(\'q\', \'{"chunks": [], "trace_id": "x"}\')', "RG460"),
        ("record_answer('{}', %(pack)s, attempt => 0)", "RG400"),
        ("record_answer('{}', %(pack)s, model => repeat('x', 201))", "RG413"),
        ("record_answer('[]', %(pack)s)", "RG460"),
        ("record_answer('{}', %(pack)s, trace_id => gen_random_uuid())", "RG407"),
    ],
)
def test_what_cannot_be_recorded_is_refused(asked: Connection, call: str, code: str) -> None:
    pack = json.dumps(retrieved(asked))
    with pytest.raises(psycopg.Error) as caught:
        asked.execute(f"select ragdb.{call}".encode(), {"pack": pack})
    assert caught.value.sqlstate == code


def test_nothing_is_recorded_where_nothing_may_be_written_or_read(asked: Connection) -> None:
    pack = json.dumps(retrieved(asked))
    asked.execute("select ragdb.grant_corpus('chat', 'reader', 'read')")
    calls = (
        "select ragdb.record_gate('refunds', %(pack)s)",
        "select ragdb.record_answer('{}', %(pack)s)",
    )
    for call in calls:
        asked.execute("set role reader2")
        with pytest.raises(psycopg.Error) as caught, asked.transaction():
            asked.execute(call, {"pack": pack})
        assert caught.value.sqlstate == "RG407"
        asked.execute("reset role")
        with asked.transaction(force_rollback=True):
            asked.execute("set transaction read only")
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), asked.transaction():
                asked.execute(call, {"pack": pack})


@pytest.mark.parametrize(
    ("plan", "problems"),
    [
        ({"needs_retrieval": True, "queries": ["a"], "reason": "r"}, []),
        ({"needs_retrieval": False}, []),
        ({"needs_retrieval": False, "queries": []}, []),
        ([], ["plan: no object"]),
        (None, ["plan: no object"]),
        ({"needs_retrieval": "yes"}, ["needs_retrieval: no boolean"]),
        ({"needs_retrieval": True}, ["queries: none"]),
        ({"needs_retrieval": True, "queries": "a"}, ["queries: no array"]),
        ({"needs_retrieval": True, "queries": ["a", 1]}, ["queries: one is not a text"]),
        ({"needs_retrieval": True, "queries": ["a", [["b"]]]}, ["queries: one is not a text"]),
        (
            {"needs_retrieval": True, "queries": ["\n"], "reason": 1},
            ["queries: one is empty or longer than 10000 characters", "reason: no text"],
        ),
        (
            {"needs_retrieval": True, "queries": ["x" * 10001]},
            ["queries: one is empty or longer than 10000 characters"],
        ),
        ({"needs_retrieval": True, "queries": ["x"] * 17}, ["queries: more than 16"]),
    ],
)
def test_the_plan_of_a_model_is_looked_at(
    any_db: Connection, plan: Any, problems: list[str]
) -> None:
    found = scalar(any_db, "select ragdb.validate_query_plan(%s)", json.dumps(plan))
    assert found == problems


def test_the_plan_that_needs_no_model_is_sound(db: Connection) -> None:
    for question in ("Hello!", "How are refunds paid and who pays?"):
        query = "select ragdb.validate_query_plan(ragdb.rag_query_plan(%s))"
        assert scalar(db, query, question) == []


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(["A one", " ", "\n", ".", ", ", "[1]", "[2]", "[3]", "[1, 2]", "[", "\t"]),
        max_size=9,
    ).map("".join)
)
def test_spans_and_checks_read_markers_alike(server18: Any, answer: str) -> None:
    """Where the spans of an answer contract can be made, check_citations grounds the same."""
    with server18.rolled_back() as db:
        spans = None
        with contextlib.suppress(InvalidEvaluation), db.transaction():
            spans = scalar(db, "select ragdb.inline_spans(%s, '{a,b,c}')", answer)
        chunks = [{"source_id": "s", "chunk_id": c, "text": "A one"} for c in "abc"]
        rows = db.execute(
            "select code, chunk_id from ragdb.check_citations(%s, %s, min_coverage => 0)",
            (json.dumps({"answer": answer}), json.dumps({"chunks": chunks})),
        ).fetchall()
        found = [row for row in rows if row[0] != "OVER_CITED"]
    if spans is None:
        assert "SPAN_INVALID" in {code for code, _ in found}
    else:
        assert {code for code, _ in found} <= {None}
        assert {c for span in spans for c in span["chunkIds"]} == {c for _, c in found}


def test_an_answer_without_the_citations_it_needs_is_recorded_as_unproved(
    asked: Connection,
) -> None:
    pack = retrieved(asked)
    rows = record(asked, {"answer": "Refunds.", "citations": []}, pack, require_citations=True)
    assert [(r["code"], r["is_advisory"]) for r in rows] == [("CITATION_REQUIRED", False)]
    (answer,) = stored(asked, "evidence_answers")
    assert (answer["problems"], answer["is_verified"]) == (1, False)
