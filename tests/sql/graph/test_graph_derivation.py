"""What turns come to is derived again when they are embedded."""

from __future__ import annotations

import pytest

from tests.conftest import Connection
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.embedded_chat import VECTORS, cosine, embed, messages


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


def test_turns_are_derived_from_what_is_embedded_of_those_that_they_compare(
    queued: Connection,
) -> None:
    base = derived(queued)
    assert {h for i, (h, _) in base.items() if i != uuid(1)} == {0.5}
    embed(queued, only={1, 2, 3, 4})
    found, expected = derived(queued), twin(base)
    assert found.pop(uuid(5)) == base[uuid(5)]
    assert found == {turn: pytest.approx(expected[turn], abs=1e-6) for turn in found}
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
