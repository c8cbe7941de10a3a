"""Edges join chunks that are there, and go with them."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection
from tests.embedding import put
from tests.sql.test_two_at_once import second

EDGES = "select parent_no, child_no from ragdb.edges order by 1, 2"
ADD = (
    "insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)"
    " select c.corpus_id, n.parent_no, n.child_no, 'reply' from ragdb.corpora c"
    " cross join (values {}) n (parent_no, child_no) where c.name = 'docs'"
)
DROP = "delete from ragdb.chunks where chunk_no = 2"


def fill(db: Connection) -> None:
    """A corpus with chunks 1, 2 and 3 and no edge."""
    db.execute("select ragdb.create_corpus('docs')")
    put(db, {"a": "one", "b": "two", "c": "three"})


@pytest.fixture
def three(db: Connection) -> Connection:
    fill(db)
    return db


def add(db: Connection, *joined: tuple[int, int]) -> None:
    db.execute(ADD.format(", ".join(map(str, joined))).encode())


@pytest.mark.parametrize("pair", [(4, 1), (1, 4), (5, 4)])
def test_an_edge_of_a_chunk_that_is_not_there_is_refused(
    three: Connection, pair: tuple[int, int]
) -> None:
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="which does not exist"):
        add(three, (1, 2), pair)


def test_the_edges_of_a_chunk_go_with_it_and_no_others(three: Connection) -> None:
    add(three, (1, 2), (2, 3), (3, 1))
    three.execute(DROP)
    assert three.execute(EDGES).fetchall() == [(3, 1)]
    three.execute("delete from ragdb.chunks")
    assert three.execute(EDGES).fetchall() == []


# neither takes the lock of the corpus, as every function that writes does
@OLDER_BY_NIGHT
def test_of_an_edge_and_the_end_of_its_chunk_at_once_the_second_sees_the_first(
    any_clone: str,
) -> None:
    with psycopg.connect(any_clone, autocommit=True) as db:
        fill(db)
        assert second(any_clone, ADD.format("(1, 2), (1, 3)"), DROP) is None
        assert db.execute(EDGES).fetchall() == [(1, 3)]
        late = ADD.format("(1, 3)")
        assert second(any_clone, "delete from ragdb.chunks where chunk_no = 3", late) == "23503"
        assert db.execute(EDGES).fetchall() == []
