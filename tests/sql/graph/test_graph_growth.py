"""A conversation that grows is what one put of it is."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.embedded_chat import VECTORS

TURN = (
    "select c.chunk_id, t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order,"
    " t.homogeneity, t.complexity, t.created_at, t.place, a.chunk_id,"
    " (ragdb.get_turn(%(corpus)s, c.chunk_id)).temporal, encode(c.content_hash, 'hex'),"
    " c.start_offset, c.end_offset, c.token_count, c.text"
    " from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)"
    " join ragdb.corpora o using (corpus_id)"
    " left join ragdb.chunks a on a.corpus_id = t.corpus_id and a.chunk_no = t.answers_no"
    " where o.name = %(corpus)s order by 1"
)
EDGES = (
    "select p.chunk_id, k.chunk_id, e.edge_type, e.child_salience from ragdb.edges e"
    " join ragdb.chunks p on p.corpus_id = e.corpus_id and p.chunk_no = e.parent_no"
    " join ragdb.chunks k on k.corpus_id = e.corpus_id and k.chunk_no = e.child_no"
    " join ragdb.corpora o on o.corpus_id = e.corpus_id where o.name = %(corpus)s order by 1, 2, 3"
)
WORDS = (
    "There is an error in a.py.",
    "Why? And how?",
    "We decided to wait.",
    "The plan: first, then the next step.",
    "Refunds are paid in 14 days.",
    "See ```x``` and\n```py\nprint()\n```\n![chart](a.png)",
    "Shipping is free.",
)


def stream(count: int, seed: int) -> list[dict[str, Any]]:
    """Turns as of a channel: answers to none, one or several before, in minutes, of any type."""
    chance = random.Random(seed)
    turns = []
    for n in range(1, count + 1):
        before = range(max(1, n - 20), n)
        answered = chance.sample(before, min(len(before), chance.choice((0, 1, 1, 1, 2, 3))))
        turns.append(
            message(n, text=f"{chance.choice(WORDS)} {n % 50}")
            | {
                "parents": [
                    {
                        "id": uuid(p),
                        "edge_type": chance.choice(("reply", "reply", "branch", "reference")),
                    }
                    for p in answered
                ],
                "created_at": f"2026-01-{1 + n // 1440:02}T{n // 60 % 24:02}:{n // 3 * 3 % 60:02}Z",
            }
            | ({"feedback": chance.choice((-1, 1))} if n % 9 == 0 else {})
            | ({"salience": 0.25} if n % 31 == 0 else {})
        )
    return turns


def append(
    db: Connection, corpus: str, turns: Sequence[dict[str, Any]], session: str = "s1"
) -> Any:
    return db.execute(
        "select turn_id, was_duplicate from ragdb.append_turns(%s, %s, %s)",
        (corpus, session, json.dumps(turns)),
    ).fetchall()


def batches(turns: Sequence[dict[str, Any]], seed: int) -> Iterator[Sequence[dict[str, Any]]]:
    chance = random.Random(seed)
    first = 0
    while first < len(turns):
        last = first + chance.choice((1, 2, 3, 10, 40))
        yield turns[first:last]
        first = last


def made(db: Connection, turns: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Everything that a session comes to, with the slices around some of its turns."""
    anchors = [turn["id"] for turn in turns[:: max(1, len(turns) // 12)]]
    return {
        "turns": db.execute(TURN, {"corpus": "chat"}).fetchall(),
        "edges": db.execute(EDGES, {"corpus": "chat"}).fetchall(),
        "slices": slices(db, "chat", anchors),
        "wrong": db.execute("select * from ragdb.check_corpus('chat')").fetchall(),
    }


@pytest.mark.parametrize("act", ["deleted", "of another session", "a text"])
def test_what_is_left_of_a_session_is_what_it_would_be_without_what_went(
    any_db: Connection, act: str
) -> None:
    first = [message(1, text="An error."), message(2, [1], text="The plan: step one.")]
    # the reply of the one that goes becomes a root, and the first phase is not a new one
    more = [message(3, text="An error again."), message(4, [3], text="Fix it.")]
    any_db.execute("select ragdb.create_corpus('chat')")
    append(any_db, "chat", more)
    alone = any_db.execute(TURN, {"corpus": "chat"}).fetchall()
    any_db.execute("select ragdb.delete_source('chat', 'session:s1')")
    put(any_db, "chat", conversation(first))
    append(any_db, "chat", [more[0] | {"parents": [uuid(2)]}, more[1]])
    if act == "deleted":
        any_db.execute("select ragdb.delete_source('chat', 'chat.jsonl#s1')")
    elif act == "a text":
        text = text_document("chat.jsonl#s1", "Of a kite.", adopt=True)
        any_db.execute("select ragdb.put_documents('chat', %s)", (json.dumps([text]),))
    else:
        put(any_db, "chat", conversation([message(5)]) | {"session": "s2"})
    left = any_db.execute(TURN, {"corpus": "chat"}).fetchall()
    left = [row for row in left if row[0] in (uuid(3), uuid(4))]
    assert [row[4:9] for row in left] == [row[4:9] for row in alone]
    assert [row[11] for row in left] == [row[11] for row in alone] == [None, uuid(3)]


def embed(db: Connection, ids: Sequence[str]) -> None:
    """Give turns one of five vectors each, by their number."""
    vectors = [x for i in ids for x in VECTORS[int(i[-4:], 16) * 7 % 5 + 1]]
    db.execute("select ragdb.put_embeddings('chat', %s, %s)", (list(ids), vectors))


def begin(db: Connection, embedded: bool) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    if embedded:
        db.execute("select ragdb.create_embedder('three', 3)")
        db.execute("select ragdb.embed_corpus('chat', 'three')")


def as_one_put(db: Connection, turns: Sequence[dict[str, Any]], embedded: bool) -> dict[str, Any]:
    """What one put of all turns comes to; nothing of it stays."""
    with db.transaction(force_rollback=True):
        begin(db, embedded)
        put(db, "chat", conversation(turns))
        if embedded:
            embed(db, [turn["id"] for turn in turns])
        return made(db, turns)


def slices(db: Connection, corpus: str, anchors: Sequence[str]) -> list[Any]:
    return db.execute(
        "select anchor_chunk_id, chunk_ids, selection_order, distances, edge_count,"
        " slice_id, graph_snapshot_hash from ragdb.build_slices(%s, %s, sign => false)",
        (corpus, list(anchors)),
    ).fetchall()


@pytest.fixture
def own(clone: str) -> Iterator[Connection]:
    """A database of the test's own: each append is a transaction, and rows that go are swept."""
    with psycopg.connect(clone, autocommit=True) as db:
        yield db


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("count", "by_one", "embedded"),
    [
        pytest.param(40, True, True, id="one by one, embedded"),
        pytest.param(200, False, False, id="in batches"),
        *(
            pytest.param(*how, marks=pytest.mark.nightly)
            for how in (
                (300, True, True), (300, True, False), (2000, False, True),
                (10000, True, False), (10000, False, False),
            )
        ),
    ],
)  # fmt: skip
def test_turns_that_are_appended_come_to_what_one_put_does(
    own: Connection, count: int, by_one: bool, embedded: bool
) -> None:
    db = own
    turns = stream(count, 7)
    expected = as_one_put(db, turns, embedded)
    begin(db, embedded)
    waiting: list[str] = []
    for n, batch in enumerate([[t] for t in turns] if by_one else batches(turns, 11)):
        assert append(db, "chat", batch) == [(turn["id"], False) for turn in batch]
        waiting += [turn["id"] for turn in batch]
        if embedded and n % 3 == 2:
            # a worker comes when it comes, and not in order
            embed(db, waiting[::-1])
            waiting = []
    if embedded:
        embed(db, waiting)
    assert made(db, turns) == expected
    assert expected["wrong"] == []


def test_turns_that_come_late_take_their_place(db: Connection) -> None:
    turns = stream(20, 3)
    # no two of one time: those stand in the order of their places
    roots = [
        turn | {"parents": [], "created_at": f"2026-01-01T00:00:{n:02}Z"}
        for n, turn in enumerate(turns)
    ]
    begin(db, embedded=False)
    put(db, "chat", conversation(roots))
    by_id = {row[0]: row[1:9] for row in db.execute(TURN, {"corpus": "chat"})}
    db.execute("select ragdb.drop_corpus('chat')")
    begin(db, embedded=False)
    for turn in random.Random(5).sample(roots, len(roots)):
        append(db, "chat", [turn])
    assert {row[0]: row[1:9] for row in db.execute(TURN, {"corpus": "chat"})} == by_id


def twin(turns: Sequence[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Depth and sibling order as the specification words them, by a walk of our own."""
    parents = {
        t["id"]: sorted(p["id"] for p in t["parents"] if p["edge_type"] in ("reply", "branch"))
        for t in turns
    }
    depths: dict[str, int] = {}
    for turn in turns:
        depths[turn["id"]] = min((depths[p] + 1 for p in parents[turn["id"]]), default=0)
    siblings: dict[str | None, int] = {}
    found = {}
    for turn in turns:
        first = parents[turn["id"]][0] if parents[turn["id"]] else None
        found[turn["id"]] = (depths[turn["id"]], siblings.get(first, 0))
        siblings[first] = siblings.get(first, 0) + 1
    return found


def rows_touched(db: Connection) -> tuple[int, int]:
    """Rows and index entries that this transaction has read, and rows that it has written."""
    (found,) = db.execute(
        "select sum(pg_stat_get_xact_tuples_returned(c.oid)), sum("
        "pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid)"
        " + pg_stat_get_xact_tuples_deleted(c.oid)) from pg_class c"
        " left join pg_index i on i.indexrelid = c.oid where coalesce(i.indrelid, c.oid) = any ("
        "'{ragdb.turns,ragdb.edges,ragdb.chunks,ragdb.documents,ragdb.document_sources,"
        "ragdb.events,ragdb.corpora}'::regclass[])"
    ).fetchall()
    return int(found[0]), int(found[1])


@pytest.mark.parametrize(
    "statistics",
    [
        "of another corpus",
        *(pytest.param(s, marks=pytest.mark.nightly) for s in ("none", "of all")),
    ],
)
def test_what_an_append_touches_does_not_grow_with_the_session(
    own: Connection, statistics: str
) -> None:
    with own.transaction():  # whose rows are counted
        check_touched(own, statistics)


def check_touched(db: Connection, statistics: str) -> None:
    turns = stream(820, 13)
    analyze = "analyze ragdb.chunks, ragdb.turns, ragdb.edges, ragdb.documents"
    if statistics == "of another corpus":
        db.execute("select ragdb.create_corpus('other')")
        others = [turn | {"id": f"o{turn['id']}", "parents": []} for turn in turns[:300]]
        put(db, "other", conversation(others))
        db.execute(analyze)
    begin(db, embedded=False)
    touched = []
    done = 0
    for size in (400, 800):
        append(db, "chat", turns[done:size])
        if statistics == "of all":
            db.execute(analyze)
        before = rows_touched(db)
        append(db, "chat", turns[size : size + 10])
        after = rows_touched(db)
        done = size + 10
        touched.append((after[0] - before[0], after[1] - before[1]))
    (read, written), (later_read, later_written) = touched
    # ten turns, each with what stands around it and with its words
    assert read < 10 * 80
    assert later_read < 1.4 * read
    assert later_written < 1.5 * written


@pytest.mark.nightly
def test_what_an_append_touches_is_the_same_up_to_a_hundred_thousand_turns(
    clone: str, capsys: pytest.CaptureFixture[str]
) -> None:
    begin_of_time = datetime(2026, 1, 1, tzinfo=UTC)
    turns = [
        turn | {"created_at": (begin_of_time + timedelta(seconds=20 * n)).isoformat()}
        for n, turn in enumerate(stream(100_100, 13))
    ]
    touched: dict[int, tuple[float, float]] = {}
    with psycopg.connect(clone) as db:
        begin(db, embedded=False)
        done = 0
        for size in (100, 1_000, 10_000, 100_000):
            while done < size:
                batch = turns[done : min(size, done + 5000)]
                append(db, "chat", batch)
                db.commit()
                done += len(batch)
            db.execute("analyze ragdb.chunks, ragdb.turns, ragdb.edges, ragdb.documents")
            db.commit()
            figures = []
            for turn in turns[size : size + 20]:
                before = rows_touched(db)
                clock = time.perf_counter()
                append(db, "chat", [turn])
                elapsed = 1000 * (time.perf_counter() - clock)
                after = rows_touched(db)
                figures.append((after[0] - before[0], after[1] - before[1], elapsed))
                # a transaction each, so that rows which are gone are swept
                db.commit()
            done = size + 20
            read, written, elapsed = (statistics.median(one) for one in zip(*figures, strict=True))
            touched[size] = (read, written)
            with capsys.disabled():
                print(f"\n{size} turns: {read} rows read, {written} written, {elapsed:.1f} ms")
    # where a session is small, its tables are read whole
    read, written = touched.pop(1_000)
    for size in (10_000, 100_000):
        assert touched[size][0] < 1.3 * read
        assert touched[size][1] < 1.5 * written


@pytest.mark.nightly
def test_trees_of_messages_grow_as_they_are_put(db: Connection, shared: Path) -> None:
    trees: dict[str, list[dict[str, Any]]] = {}
    lines = (shared / "data/conv_oasst_trees/messages.jsonl").read_text().splitlines()
    for n, line in enumerate(map(json.loads, lines)):
        trees.setdefault(line["tree"], []).append(
            {
                "id": line["_id"],
                "role": line["role"],
                "text": line["text"],
                "parent_id": line["parent_id"],
                "created_at": f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z",
            }
        )
    assert len(trees) == 100
    turns = [turn for tree in trees.values() for turn in tree]
    with db.transaction(force_rollback=True):
        begin(db, embedded=False)
        for tree, said in trees.items():
            put(db, "chat", conversation(said, tree))
        expected = made(db, turns)
    begin(db, embedded=False)
    for tree, said in trees.items():
        for batch in batches(said, len(said)):
            append(db, "chat", batch, tree)
    assert made(db, turns) == expected


def test_turns_that_answer_several_stand_by_the_fewest_steps(db: Connection) -> None:
    turns = stream(150, 23)
    assert max(len(turn["parents"]) for turn in turns) == 3
    begin(db, embedded=False)
    for batch in batches(turns, 2):
        append(db, "chat", batch)
    with db.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            "select c.chunk_id, t.depth, t.sibling_order from ragdb.turns t"
            " join ragdb.chunks c using (corpus_id, chunk_no)"
        ).fetchall()
    assert {r["chunk_id"]: (r["depth"], r["sibling_order"]) for r in rows} == twin(turns)
