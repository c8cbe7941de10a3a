"""What Prometheus is told equals a count of the rows, is bounded, and says nothing of a query."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from ragdb.client.calling import Reals
from tests.conftest import Connection
from tests.embedding import ENCODER, make_corpus, make_embedder, put

SECRET = "zanzibar"


def samples(db: Connection) -> dict[tuple[str, ...], float]:
    """Values by the name of the sample and the values of its labels."""
    return {
        (name + suffix, *(f"{k}={v}" for k, v in sorted(labels.items()))): value
        for name, suffix, labels, value in db.execute(
            "select name, suffix, labels, value from ragdb.metrics()"
        ).fetchall()
    }


@pytest.fixture
def asked(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('docs'), ragdb.create_corpus('closed')")
    db.execute("select ragdb.restrict_corpus('closed')")
    put(db, {"a": "refunds take days", "b": "a bicycle"}, "docs")
    put(db, {"c": f"{SECRET} spice"}, "closed")
    for query in ("refunds", "bicycle", SECRET):
        db.execute("select from ragdb.retrieve('docs', %s)", (query,))
    db.execute("select ragdb.record_failure('docs', %s, 'RG415', 12)", (SECRET,))
    db.execute("select ragdb.refresh_rollups()")
    return db


def test_the_samples_are_what_the_rows_say(asked: Connection) -> None:
    found = samples(asked)
    assert found["ragdb_corpus_documents", "corpus=docs"] == 2
    assert found["ragdb_corpus_chunks", "corpus=docs"] == 2
    labels = ("corpus=docs", "error=", "rank_mode=lexical", "retrieval_mode=global")
    assert found[("ragdb_retrievals_total", *labels)] == 3
    (failed,) = (v for k, v in found.items() if "error=RG415" in k)
    assert failed == 1
    assert found["ragdb_retrievals_without_hits_total", "corpus=docs"] == 1
    ((elapsed, quick, returned),) = asked.execute(
        "select sum(elapsed_ms) / 1000, count(*) filter (where elapsed_ms <= 30), count(*)"
        " from ragdb.retrieval_traces where error_code is null"
    ).fetchall()
    name, of = "ragdb_retrieval_duration_seconds", ("corpus=docs", "rank_mode=lexical")
    assert found[(f"{name}_count", *of)] == returned == 3
    assert found[(f"{name}_sum", *of)] == pytest.approx(elapsed, abs=1e-5)
    assert found[(f"{name}_bucket", "corpus=docs", "le=0.03", "rank_mode=lexical")] == quick
    assert found[(f"{name}_bucket", "corpus=docs", "le=+Inf", "rank_mode=lexical")] == returned


def test_the_buckets_of_a_histogram_are_in_order_and_add_up(asked: Connection) -> None:
    buckets = defaultdict(list)
    for labels, value in asked.execute(
        "select labels, value from ragdb.metrics() where suffix = '_bucket'"
    ).fetchall():
        buckets[labels["corpus"]].append((labels["le"], value))
    (found,) = buckets.values()
    assert [le for le, _ in found] == ["0.01", "0.03", "0.1", "0.3", "1", "3", "+Inf"]
    values = [value for _, value in found]
    assert values == sorted(values)


def test_no_sample_has_anything_of_a_query_or_a_document(asked: Connection) -> None:
    rows = asked.execute("select m::text, labels from ragdb.metrics() m").fetchall()
    assert SECRET not in json.dumps(rows)
    keys = {key for _, labels in rows for key in labels}
    assert keys == {*("corpus", "retrieval_mode", "rank_mode", "error", "le", "queue", "state")}


@pytest.mark.parametrize(
    ("role", "sees"),
    [("bi_reader", {"docs"}), ("reader", {"docs"}), ("auditor", {"docs", "closed"})],
)
def test_a_role_is_told_of_the_corpora_that_it_sees_in_bi(
    asked: Connection, role: str, sees: set[str]
) -> None:
    asked.execute(f"set role {role}")
    named = {k[1] for k in samples(asked) if k[0] == "ragdb_corpus_documents"}
    assert named - {"corpus=system"} == {f"corpus={name}" for name in sees}
    in_bi = {row[0] for row in asked.execute("select corpus from bi.readable_corpora()")}
    assert named == {f"corpus={name}" for name in in_bi}


def test_corpora_beyond_two_hundred_are_told_together(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('c' || n) from generate_series(1, 230) n")
    put(db, {"a": "one"}, "c229")
    put(db, {"a": "one", "b": "two"}, "c230")
    found = {k[1]: v for k, v in samples(db).items() if k[0] == "ragdb_corpus_documents"}
    assert len(found) == 201
    assert found["corpus=(other)"] == 3
    assert "corpus=c1" in found


def test_a_long_queue_is_counted_up_to_a_bound(db: Connection) -> None:
    make_embedder(db)
    db.execute("select ragdb.create_corpus('docs')")
    put(db, {"a": "one", "b": "two"}, "docs")
    db.execute("select ragdb.embed_corpus('docs', 'hash')")
    waiting: Any = ("ragdb_jobs", "queue=embedding", "state=waiting")
    assert samples(db)[waiting] == 2
    db.execute(
        "insert into ragdb.embedding_jobs (corpus_id, space_id, input_hash, chunk_nos, due_at,"
        " created_at) select corpus_id, space_id, sha256(n::text::bytea), '{1}', now(), now()"
        " from ragdb.embedding_spaces, generate_series(1, 12000) n"
    )
    found = samples(db)
    assert found["ragdb_jobs", "queue=embedding", "state=failed"] == 0
    assert found[waiting] == 10002  # jobs up to the bound, and chunks that are none yet


def test_a_chunk_that_has_its_embedding_waits_for_nothing(db: Connection) -> None:
    make_corpus(db, {"a": "one", "b": "two"})
    waiting = ("ragdb_jobs", "queue=embedding", "state=waiting")
    assert samples(db)[waiting] == 2
    db.execute(
        "select ragdb.put_embeddings('docs', array[chunk_id], %s)"
        " from ragdb.list_chunks('docs') limit 1",
        (Reals(ENCODER.encode(["one"])),),
    )
    assert samples(db)[waiting] == 1
