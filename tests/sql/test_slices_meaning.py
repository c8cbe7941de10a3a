"""Slices searched by meaning: what is ranked, recorded, short of evidence, replayed and derived."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.sql.conversations import conversation, message, put, uuid

Connection = psycopg.Connection[Any]
Vector = list[float]

VECTORS: dict[int, Vector] = {
    1: [1.0, 0.0, 0.0],
    2: [0.6, 0.8, 0.0],
    3: [0.0, 1.0, 0.0],
    4: [0.0, 0.6, 0.8],
    5: [-1.0, 0.0, 0.0],
}
QUERY: Vector = [0.28, 0.96, 0.0]


def messages() -> list[dict[str, Any]]:
    return [
        message(1, text="How are refunds paid?", salience=0.9),
        message(2, [1], text="Refunds are paid by card."),
        message(3, [2], text="And refunds of gifts?"),
        message(4, [3], text="Gifts become vouchers."),
        message(5, [1], text="Shipping is another matter."),
    ]


def cosine(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def one(db: Connection, query: str, *values: Any) -> dict[str, Any]:
    with db.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query, values).fetchone()
    assert row is not None
    return row


def embed(db: Connection, only: set[int] | None = None) -> None:
    """Have the queue's claims answered with VECTORS; those of other messages fail."""
    claimed = db.execute("select * from ragdb.claim_embeddings('test')").fetchall()
    for space, _, _, input_hash, attempt, text in claimed:
        n = next(
            i for i, m in enumerate(messages(), 1) if m["text"] == text or f"\n{m['text']}" in text
        )
        if only is None or n in only:
            db.execute(
                "select ragdb.complete_embeddings(%s, %s, %s::integer[], %s::real[])",
                (space, [input_hash], [attempt], VECTORS[n]),
            )


@pytest.fixture
def queued(db: Connection) -> Connection:
    """A conversation in a corpus with an embedder, a signing key, and no embedding yet."""
    db.execute("select ragdb.create_corpus('chat')")
    put(db, "chat", conversation(messages()))
    db.execute("select ragdb.create_embedder('three', 3)")
    db.execute("select ragdb.embed_corpus('chat', 'three')")
    db.execute("select ragdb.create_signing_key('k1')")
    return db


@pytest.fixture
def embedded(queued: Connection) -> Connection:
    embed(queued)
    return queued


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


def replay(db: Connection, trace: Any) -> dict[str, Any]:
    return one(db, "select * from ragdb.replay(%s)", trace)


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
    # words can be looked for in all of them, and fewer chunks than k are no shortfall
    trace = trace_of(queued, retrieve(queued, mode="lexical", k=50))
    assert (trace["is_admissible"], trace["shortfall_reason"]) == (True, None)


def test_a_slice_is_looked_at_whole_however_large_it_is(embedded: Connection) -> None:
    embedded.execute("update ragdb.embedding_spaces set is_indexed = true")
    embedded.execute("update ragdb.corpora set chunks = 20000 where name = 'chat'")

    def is_exact(chunks: int) -> Any:
        return one(
            embedded,
            "select bool_and(n.is_exact) as is_exact"
            " from ragdb.corpora c, ragdb.embedding_spaces s,"
            " ragdb_internal.nearest(c, s, ragdb_internal.pgvector(%s::real[]), 2,"
            " array(select generate_series(1, %s))) n where c.name = 'chat'",
            QUERY,
            chunks,
        )["is_exact"]

    assert (is_exact(10_000), is_exact(10_001)) == (True, False)


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
    assert (found["anchor"], found["resolved_by"]) == (uuid(4), "semantic")
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


# ── what follows from the embeddings of turns ──


def derived(db: Connection) -> dict[str, tuple[float, float]]:
    rows = db.execute(
        "select c.chunk_id, t.homogeneity::float8, t.salience::float8"
        " from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)"
    ).fetchall()
    return {i: (homogeneity, salience) for i, homogeneity, salience in rows}


PARENTS = {2: 1, 3: 2, 4: 3, 5: 1}


def twin(base: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Homogeneity and salience as the specification words them, from those without novelty."""
    found = {}
    for n, vector in VECTORS.items():
        parent = PARENTS.get(n)
        homogeneity = 1.0 if parent is None else max(0.0, cosine(vector, VECTORS[parent]))
        before = [cosine(vector, VECTORS[m]) for m in range(1, n)][-10:]
        novelty = 0.1
        if before:
            novelty = min(0.1, max(0.0, (1 - sum(before) / len(before)) * 0.1))
        salience = 0.9 if n == 1 else min(1.0, base[uuid(n)][1] + novelty)
        found[uuid(n)] = (homogeneity, salience)
    return found


def test_turns_are_derived_from_embeddings_when_their_session_has_them_all(
    queued: Connection,
) -> None:
    base = derived(queued)
    assert {h for i, (h, _) in base.items() if i != uuid(1)} == {0.5}
    embed(queued, only={1, 2, 3, 4})
    assert derived(queued) == base
    queued.execute("update ragdb.embedding_jobs set due_at = clock_timestamp()")
    embed(queued, only={5})
    found, expected = derived(queued), twin(base)
    for turn, values in expected.items():
        assert found[turn] == pytest.approx(values, abs=1e-6), turn
    edges = queued.execute(
        "select c.chunk_id, e.child_salience::float8"
        " from ragdb.edges e join ragdb.chunks c on c.chunk_no = e.child_no"
    ).fetchall()
    assert dict(edges) == {i: s for i, (_, s) in found.items() if i != uuid(1)}


def test_novelty_looks_back_at_ten_turns(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('long')")
    turns = [
        message(n, [n - 1] if n > 1 else [], text=f"Turn {n}", role="tool") for n in range(1, 14)
    ]
    put(db, "long", conversation(turns))
    db.execute("select ragdb.create_embedder('three', 3)")
    db.execute("select ragdb.embed_corpus('long', 'three')")
    claimed = db.execute("select * from ragdb.claim_embeddings('test')").fetchall()
    places = [int(c[5].rsplit(" ", 1)[1]) for c in claimed]
    # turns 1 and 2 point elsewhere; the last, alike all others, must not see them
    vectors = [x for n in places for x in ([0.0, 0.0, 1.0] if n < 3 else [1.0, 0.0, 0.0])]
    db.execute(
        "select ragdb.complete_embeddings(%s, %s, %s::integer[], %s::real[])",
        (claimed[0][0], [c[3] for c in claimed], [c[4] for c in claimed], vectors),
    )
    found = derived(db)
    assert found[uuid(13)][1] == pytest.approx(0.5)
    assert found[uuid(12)][1] == pytest.approx(0.5 + 0.1 / 10)
    assert found[uuid(3)] == pytest.approx((0.0, 0.6))


def test_an_equal_input_completes_a_session_too(embedded: Connection) -> None:
    # the embedding is copied, and no completion ever comes
    put(embedded, "chat", conversation([message(9, text="How are refunds paid?")], "s2"))
    assert embedded.execute("select * from ragdb.claim_embeddings('test')").fetchall() == []
    assert derived(embedded)[uuid(9)] == pytest.approx((1.0, 0.6))


def test_an_edited_turn_is_compared_again_when_it_is_embedded(embedded: Connection) -> None:
    before = derived(embedded)
    edited = messages()
    edited[2]["text"] = "Shipping is another matter."
    put(embedded, "chat", conversation(edited))
    after = derived(embedded)
    # its new text is that of turn 5, whose embedding is copied
    assert after[uuid(3)][0] == pytest.approx(max(0.0, cosine(VECTORS[5], VECTORS[2])), abs=1e-6)
    assert after[uuid(2)] == before[uuid(2)]
