"""A map puts chunks that mean alike near each other, the same each time, and only for who may."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragdb import errors
from tests.conftest import Connection
from tests.embedding import embed, make_embedder, one, put

GROUPS, EACH = 3, 12


def points(db: Connection, count: int = 2000) -> list[tuple[str, float, float]]:
    query = "select source, x, y from ragdb.map_corpus('docs', %s)"
    return db.execute(query, (count,)).fetchall()


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    chance = random.Random(1)
    make_embedder(any_db)
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, {f"{g}/{n}.md": f"{g} {n}" for g in range(GROUPS) for n in range(EACH)})
    any_db.execute("select ragdb.embed_corpus('docs', 'hash')")

    def near(texts: Sequence[str]) -> Any:
        """Around one corner of the space for each group."""
        found = []
        for text in texts:
            group = int(text.split("\n")[-1].split()[0])
            point = [chance.gauss(0, 0.1) for _ in range(64)]
            point[group] += 1
            found.append(point)
        return np.array(found)

    embed(any_db, near)
    return any_db


def test_groups_stand_apart(docs: Connection) -> None:
    placed = points(docs)
    assert len(placed) == GROUPS * EACH
    assert max(max(abs(x), abs(y)) for _, x, y in placed) == 1

    def distance(a: tuple[str, float, float], b: tuple[str, float, float]) -> float:
        return math.dist(a[1:], b[1:])

    alike = [distance(a, b) for a in placed for b in placed if a != b and a[0][0] == b[0][0]]
    other = [distance(a, b) for a in placed for b in placed if a[0][0] != b[0][0]]
    assert max(alike) < min(other)


def test_it_is_the_same_each_time_and_as_large_as_asked(docs: Connection) -> None:
    assert points(docs) == points(docs)
    some = points(docs, 9)
    assert 5 <= len(some) <= 9
    assert {source[0] for source, _, _ in some} == {"0", "1", "2"}


def test_named_chunks_are_drawn_too_and_move_no_other(docs: Connection) -> None:
    listed = "select chunk_id, source from ragdb.list_chunks('docs', count => 100)"
    ids = {source: id for id, source in docs.execute(listed)}
    some = points(docs, 9)
    drawn, absent = some[0][0], sorted(ids.keys() - {source for source, _, _ in some})[::9]
    named = [ids[source] for source in (drawn, *absent)]
    query = "select source, x, y from ragdb.map_corpus('docs', 9, chunk_ids => %s)"
    found = docs.execute(query, ([*named, named[0], "nosuch"],)).fetchall()
    more = [point for point in found if point[0] in absent]
    assert [point for point in found if point not in more] == some
    assert [source for source, _, _ in more] == absent
    for source, *place in more:  # they stand by their group
        nearest = min(some, key=lambda point: math.dist(point[1:], place))
        assert nearest[0][0] == source[0]


@pytest.mark.parametrize("ids", [[None], [["a"]], ["a"] * 1001])
def test_what_is_not_a_list_of_chunks_is_refused(docs: Connection, ids: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="chunk_ids is not a list of ids"):
        docs.execute("select ragdb.map_corpus('docs', chunk_ids => %s::text[])", (ids,))


def test_without_embeddings_there_is_nothing_to_draw(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    assert points(any_db) == []


def test_alike_chunks_alone_stand_in_the_middle(any_db: Connection) -> None:
    make_embedder(any_db)
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, {"a.md": "a", "b.md": "b"})
    any_db.execute("select ragdb.embed_corpus('docs', 'hash')")
    embed(any_db, lambda texts: np.array([[1.0] + [0.0] * 63 for _ in texts]))
    assert [(x, y) for _, x, y in points(any_db)] == [(0, 0), (0, 0)]


def test_it_is_of_a_corpus_that_the_role_may_read(docs: Connection) -> None:
    docs.execute("select ragdb.restrict_corpus('docs')")
    docs.execute("set role reader")
    with pytest.raises(errors.CorpusNotFound):
        one(docs, "select count(*) from ragdb.map_corpus('docs')")


def test_a_question_stands_where_its_embedding_does(docs: Connection) -> None:
    def places(query: str) -> list[tuple[str | None, float, float]]:
        asked = "select source, x, y from ragdb.map_corpus('docs', query => %s)"
        return docs.execute(asked, (query,)).fetchall()

    like = one(docs, "select chunk_id from ragdb.list_chunks('docs') where source = '2/5.md'")
    numbers = one(
        docs, "select ragdb_internal.numbers(embedding) from ragdb.chunk_embeddings k"
        " join ragdb.chunks c using (corpus_id, chunk_no) where c.chunk_id = %s", like
    )  # fmt: skip
    for query, embedding in (("same", numbers), ("far", [40 * number for number in numbers])):
        docs.execute("select ragdb.put_query_embedding('docs', %s, %s)", (query, embedding))
    *chunks, same = places("same")
    assert chunks == points(docs)  # the map is that of the corpus
    assert same[0] is None
    assert same[1:] == pytest.approx(next(p[1:] for p in chunks if p[0] == "2/5.md"), abs=1e-4)
    *chunks, far = places("far")
    assert max(abs(far[1]), abs(far[2])) == 1  # at the edge, and the others stay
    assert chunks == points(docs)
    assert places("never embedded") == points(docs)
