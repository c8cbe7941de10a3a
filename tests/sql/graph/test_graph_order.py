"""A session over several files is derived from what is said, not from which file came first."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import permutations
from random import Random
from typing import Any

import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.graph.test_graph_growth import rows_touched

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


def at(minute: int) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)).isoformat()


def put_day(db: Connection, day: int, messages: list[dict[str, Any]]) -> None:
    put(db, "chat", conversation(messages, uri=f"{day}.json"))


def join(db: Connection, verb: str, parent: str, child: str) -> None:
    edge = {"parent": parent, "child": child, "edge_type": "reply"}
    db.execute(f"select ragdb.{verb}_edges('chat', %s)".encode(), (json.dumps([edge]),))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_derived_of_a_file_and_what_follows_is_what_all_would_come_to(
    db: Connection, seed: int
) -> None:
    """Days of a session come, change and go, and are joined, at any times."""
    random = Random(seed)
    db.execute("select ragdb.create_corpus('chat')")
    days: dict[int, list[dict[str, Any]]] = {}
    joined: set[tuple[str, str]] = set()
    for _ in range(25):
        day = random.randrange(5)
        days[day] = [
            message(
                100 * day + n,
                [100 * day + random.randrange(1, n)] if n > 1 and random.random() < 0.6 else [],
                text=random.choice(["an error", "a plan", "decision: yes", "What now?"]),
                created_at=at(1000 * random.randrange(3) + 40 * day + random.randrange(90)),
            )
            for n in range(1, random.randrange(2, 9))
        ]
        put_day(db, day, days[day])
        there = {one["id"]: day for day, said in days.items() for one in said}
        joined = {(a, b) for a, b in joined if a in there and b in there}
        ids = sorted(there)
        # from a day to a later one, so that there is no cycle
        a, b = sorted(random.choices(ids, k=2), key=lambda id: (there[id], id))
        if there[a] < there[b]:
            join(db, "add", a, b)
            joined.add((a, b))
        if joined and random.random() < 0.4:
            a, b = random.choice(sorted(joined))
            joined.discard((a, b))
            join(db, "remove", a, b)
        if random.random() < 0.2:
            day = random.choice(sorted(days))
            db.execute("select ragdb.delete_source('chat', %s)", (f"{day}.json",))
            gone = {one["id"] for one in days.pop(day)}
            joined = {(a, b) for a, b in joined if not {a, b} & gone}
        found = derived(db, "chat")
        db.execute(
            "select ragdb_internal.derive_turns(corpus_id, '{s1}') from ragdb.corpora"
            " where name = 'chat'"
        )
        assert found == derived(db, "chat")


def test_what_a_day_that_comes_last_touches_does_not_grow_with_the_session(
    db: Connection,
) -> None:
    touched, removed = [], []
    db.execute("select ragdb.create_corpus('chat')")
    for day in range(33):
        said = [
            message(1000 * day + n, [1000 * day + n - 1] if n > 1 else [], created_at=at(day))
            for n in range(1, 21)
        ]
        before = rows_touched(db)
        put_day(db, day, said)
        if day:
            join(db, "add", uuid(1), uuid(1000 * day + 1))
        after = rows_touched(db)
        touched.append(after[0] - before[0])
        if day in (8, 32):
            db.execute("select ragdb.delete_source('chat', %s)", (f"{day}.json",))
            removed.append(rows_touched(db)[0] - after[0])
    # versions of rows that this transaction has written stay until its end
    assert touched[32] < 2 * touched[8], touched
    assert removed[1] < 2 * removed[0], removed
