"""A session over several files is derived from what is said, not from which file came first."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection
from tests.sql.conversations import conversation, message, put, uuid

# nobody says when
FILES: list[list[dict[str, Any]]] = [
    [message(1, text="error one"), message(2, [1], text="a plan")],
    [message(11, text="decision: yes"), message(12, [11], text="an error")],
    [message(5, text="What now? And then?"), message(6, [5], text="next step")],
]


def put_files(db: Connection, corpus: str, order: tuple[int, ...]) -> None:
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    for n in order:
        put(db, corpus, conversation(FILES[n], uri=f"{n}.jsonl"))


def derived(db: Connection, corpus: str) -> list[tuple[Any, ...]]:
    return db.execute(
        "select c.chunk_id, t.depth, t.sibling_order, t.phase, t.salience, t.homogeneity"
        " from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)"
        " join ragdb.corpora k using (corpus_id) where k.name = %s order by 1",
        (corpus,),
    ).fetchall()


@OLDER_BY_NIGHT
def test_the_order_of_the_files_of_a_session_does_not_count(any_db: Connection) -> None:
    found = []
    for n, order in enumerate(permutations(range(3))):
        put_files(any_db, f"chat{n}", order)
        found.append(derived(any_db, f"chat{n}"))
    assert all(one == found[0] for one in found)
    assert [row[2] for row in found[0]] == [0, 0, 1, 0, 2, 0]


@pytest.mark.parametrize("gone", [1, 11])
def test_nor_does_it_count_that_a_file_was_put_again(db: Connection, gone: int) -> None:
    put_files(db, "chat", (0, 1))
    n = gone // 10
    again = [message(3, text="broken again"), FILES[n][1] | {"parents": [uuid(3)]}]
    put(db, "chat", conversation(again, uri=f"{n}.jsonl"))
    db.execute("select ragdb.create_corpus('fresh')")
    put(db, "fresh", conversation(again, uri=f"{n}.jsonl"))
    put(db, "fresh", conversation(FILES[1 - n], uri=f"{1 - n}.jsonl"))
    assert derived(db, "chat") == derived(db, "fresh")


def test_the_latest_turn_of_a_session_is_the_same_too(db: Connection) -> None:
    for n, order in enumerate([(0, 1), (1, 0)]):
        put_files(db, f"chat{n}", order)
        latest = db.execute("select ragdb.resolve_from_session(%s, 's1')", (f"chat{n}",))
        assert latest.fetchall() == [(uuid(12),)]
