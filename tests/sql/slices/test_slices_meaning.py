"""Slices searched by meaning: what is ranked, recorded, short of evidence, replayed and derived."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.sql.conversations import uuid
from tests.sql.embedded_chat import VECTORS, Vector, cosine, embed
from tests.sql.signed_slices import one, replay

QUERY: Vector = [0.28, 0.96, 0.0]


def retrieve(db: Connection, **arguments: Any) -> list[dict[str, Any]]:
    arguments = {
        "corpus": "chat",
        "query": "refunds",
        "anchor": uuid(1),
        "query_embedding": QUERY,
    } | arguments
    names = ", ".join(f"{name} => %({name})s" for name in arguments)
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(f"select * from ragdb.retrieve_slice({names})", arguments).fetchall()


def trace_of(db: Connection, hits: list[dict[str, Any]]) -> dict[str, Any]:
    return one(db, "select * from ragdb.get_trace(%s)", hits[0]["trace_id"])


def test_a_slice_is_ranked_by_cosine_and_the_trace_says_how(embedded: Connection) -> None:
    hits = retrieve(embedded, mode="semantic", min_semantic=0.1, k=5)
    expected = {uuid(n): round(max(0.0, cosine(v, QUERY)), 6) for n, v in VECTORS.items()}
    assert {h["chunk_id"]: h["score"] for h in hits} == pytest.approx(
        {i: s for i, s in expected.items() if s >= 0.1}
    )
    assert [h["score"] for h in hits] == sorted((h["score"] for h in hits), reverse=True)
    trace = trace_of(embedded, hits)
    assert (trace["rank_mode"], trace["embedding_model"]) == ("semantic", "three")
    assert trace["query_embedding_hash"] == hashlib.sha256(struct.pack(">3f", *QUERY)).hexdigest()
    assert trace["ranking"] == {
        "fusion": "convex",
        "lexical_weight": 0.5,
        "min_lexical": 0,
        "min_semantic": 0.1,
    }
    assert (trace["is_admissible"], trace["is_exact"]) == (True, True)
    assert replay(embedded, trace["id"])["verdict"] == "exact"


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, "hybrid"),
        ({"mode": "lexical"}, "lexical"),
        ({"mode": "reference"}, "reference"),
        ({"query_embedding": None}, "lexical"),
        ({"fusion": "rrf", "lexical_weight": 0.3}, "hybrid"),
    ],
    ids=str,
)
def test_the_mode_that_ranked_is_recorded_and_replayed(
    embedded: Connection, given: dict[str, Any], mode: str
) -> None:
    hits = retrieve(embedded, **given)
    trace = trace_of(embedded, hits)
    assert trace["rank_mode"] == mode
    assert {h["mode"] for h in hits} == {mode}
    assert (trace["ranking"] is not None) == (mode == "hybrid")
    assert replay(embedded, trace["id"])["verdict"] == "exact"


def test_a_kept_query_needs_no_embedding(embedded: Connection) -> None:
    embedded.execute("select ragdb.put_query_embedding('chat', 'refunds', %s::float8[])", (QUERY,))
    kept = retrieve(embedded, query_embedding=None)
    given = retrieve(embedded)
    assert [(h["chunk_id"], h["score"]) for h in kept] == [
        (h["chunk_id"], h["score"]) for h in given
    ]
    assert trace_of(embedded, kept)["rank_mode"] == "hybrid"


def test_a_member_without_an_embedding_is_a_shortfall(queued: Connection) -> None:
    embed(queued, only={1, 2, 3})
    for mode in ("semantic", "hybrid"):
        hits = retrieve(queued, mode=mode)
        trace = trace_of(queued, hits)
        assert (trace["is_admissible"], trace["admissibility_shortfall"]) == (False, True)
        assert trace["shortfall_reason"] == (
            f"2 of 5 admitted chunks have no embedding by three: {uuid(4)}, {uuid(5)}"
        )
        refused = one(
            queued,
            "select * from ragdb.promote_to_atom(%s, %s, 'So.', 'lenient')",
            trace["id"],
            [hits[0]["chunk_id"]],
        )
        assert refused["code"] == "NOT_ADMISSIBLE"
    # words can be looked for in all of them, and fewer chunks than k are not a shortfall
    trace = trace_of(queued, retrieve(queued, mode="lexical", k=50))
    assert (trace["is_admissible"], trace["shortfall_reason"]) == (True, None)


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_a_member_that_the_index_lacks_is_a_shortfall(embedded: Connection, mode: str) -> None:
    embedded.execute(
        "delete from ragdb.chunk_lexemes x using ragdb.chunks c"
        " where (c.corpus_id, c.chunk_no) = (x.corpus_id, x.chunk_no) and c.chunk_id = %s",
        (uuid(2),),
    )
    trace = trace_of(embedded, retrieve(embedded, mode=mode))
    assert (trace["is_admissible"], trace["admissibility_shortfall"]) == (False, True)
    assert trace["shortfall_reason"] == (
        f"1 of 5 admitted chunks are not in the lexical index: {uuid(2)}"
    )
    # the reference ranking reads texts
    trace = trace_of(embedded, retrieve(embedded, mode="reference"))
    assert (trace["is_admissible"], trace["shortfall_reason"]) == (True, None)


def test_a_replay_says_that_the_embedder_changed(embedded: Connection) -> None:
    trace = retrieve(embedded)[0]["trace_id"]
    words = retrieve(embedded, mode="lexical")[0]["trace_id"]
    embedded.execute("select ragdb.create_embedder('four', 4)")
    embedded.execute("select ragdb.reembed_corpus('chat', 'four')")
    embedded.execute("select ragdb.cutover_corpus('chat', 'four', force => true)")
    found = replay(embedded, trace)
    assert (found["verdict"], found["cause"]) == ("drifted", "embedder_changed")
    assert "three" in found["detail"]
    assert "four" in found["detail"]
    assert replay(embedded, words)["verdict"] == "exact"


def test_a_query_whose_embedding_is_gone_is_not_replayable(embedded: Connection) -> None:
    trace = retrieve(embedded)[0]["trace_id"]
    embedded.execute("delete from ragdb.query_embeddings")
    found = replay(embedded, trace)
    assert (found["verdict"], found["cause"]) == ("not_replayable", "query_embedding_not_kept")
    step = one(embedded, "select * from ragdb.why_not(%s, %s)", trace, "x")["step"]
    assert step == "corpus"


def test_an_embedding_that_is_not_that_of_its_hash_is_not_taken_for_it(
    embedded: Connection,
) -> None:
    trace = retrieve(embedded)[0]["trace_id"]
    embedded.execute("update ragdb.query_embeddings set embedding = '[0, 0, 1]'")
    found = replay(embedded, trace)
    assert (found["verdict"], found["cause"]) == ("not_replayable", "query_embedding_not_kept")


def test_a_global_search_by_meaning_replays_with_its_arguments(embedded: Connection) -> None:
    made = one(
        embedded,
        "select trace_id from ragdb.retrieve('chat', 'refunds', query_embedding => %s::float8[],"
        " fusion => 'rrf', lexical_weight => 0.2, min_semantic => 0.5)",
        QUERY,
    )
    assert replay(embedded, made["trace_id"])["verdict"] == "exact"


def test_why_not_knows_the_floors_of_the_legs(embedded: Connection) -> None:
    hits = retrieve(embedded, mode="semantic", min_semantic=0.9)
    assert [h["chunk_id"] for h in hits] == [uuid(3), uuid(2)]
    found = one(embedded, "select * from ragdb.why_not(%s, %s)", hits[0]["trace_id"], uuid(1))
    assert found["step"] == "min_score"
    assert "semantic 0.28" in found["reason"]


def test_an_anchor_is_found_by_meaning(embedded: Connection) -> None:
    found = one(
        embedded,
        "select * from ragdb.resolve_anchor('chat', query => 'xyzzy', query_embedding => %s)",
        VECTORS[4],
    )
    assert (found["anchor"], found["resolved_by"]) == (uuid(4), "query")
    nearest = one(
        embedded,
        "select ragdb.resolve_from_query('chat', 'refunds', 'semantic', %s) as id",
        VECTORS[5],
    )
    assert nearest["id"] == uuid(5)


def test_both_planes_are_searched_by_meaning(embedded: Connection) -> None:
    rows = embedded.execute(
        "select plane, id from ragdb.search_dual('chat', 'xyzzy', 2, 'semantic',"
        " query_embedding => %s)",
        (VECTORS[4],),
    ).fetchall()
    assert rows == [("raw", uuid(4)), ("raw", uuid(3))]


def test_search_global_filters_turns_by_meaning_too(embedded: Connection) -> None:
    rows = embedded.execute(
        "select chunk_id, role from ragdb.search_global('chat', 'x', mode => 'semantic',"
        """ query_embedding => %s, filter => '{"role": "assistant"}', min_semantic => 0.1)""",
        (QUERY,),
    ).fetchall()
    assert rows == [(uuid(2), "assistant"), (uuid(4), "assistant")]
