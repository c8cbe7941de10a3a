"""A corpus with history answers as it did: the same hits, slices and replays, whatever changed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.sql.history.edits import Edited, Found

SLICE = ("slice_id", "chunk_ids", "selection_order", "distances", "edge_count",
         "graph_snapshot_hash")  # fmt: skip


@dataclass
class Past:
    """What was asked after each edit, and what was answered then."""

    corpus: Edited
    asked: list[tuple[int, dict[str, Any], Found]] = field(default_factory=list)
    slices: list[tuple[int, dict[str, Any], list[Any]]] = field(default_factory=list)
    traces: list[Any] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)


def begun(db: Connection, seed: int) -> Edited:
    edited = Edited(db, seed)
    edited.create()
    for _ in range(4):
        edited.put()
    edited.talk()
    edited.embed()
    return edited


def lived(db: Connection, seed: int, edits: int, searches: int, traces: int) -> Past:
    past = Past(begun(db, seed))
    edited, chance = past.corpus, random.Random(seed)
    db.execute("select * from ragdb.keep_history('docs', '1 day')")
    asker = Edited(db, seed + 1)  # its questions do not disturb the edits
    for _ in range(edits):
        edited.step()
        version = edited.version()
        past.versions.append(version)
        for _ in range(searches):
            question = asker.question()
            past.asked.append((version, question, asker.ask(question)))
        around = {
            "anchor": chance.choice(edited.chunk_ids()),
            "policy": json.dumps(
                {"max_nodes": chance.choice([3, 8, 20]), "max_radius": chance.choice([1, 2, 10])}
            ),
        }
        past.slices.append((version, around, built(asker, around)))
        for n in range(traces):
            function, more = ("retrieve_slice", around) if n % 3 == 2 else ("retrieve", {})
            try:
                found = asker.call(function, **more, **asker.question())
            except psycopg.Error:
                continue  # such as a filter that a slice does not take
            if found:
                past.traces.append(found[0]["trace_id"])
    return past


def built(edited: Edited, around: dict[str, Any], as_of: int | None = None) -> list[Any]:
    (row,) = edited.call("build_slice", **around, sign=False, as_of=as_of)
    return [row[name] for name in SLICE]


def verdicts(past: Past) -> Counter[tuple[str, str | None]]:
    return Counter(
        tuple(past.corpus.db.execute(
            "select verdict, cause from ragdb.replay(%s)", (trace,)).fetchone() or ())
        for trace in past.traces
    )  # fmt: skip


def check_rebuilt(past: Past, db: Connection, seed: int, versions: int) -> None:
    """Another database gets the same edits, without history, and is asked after each."""
    rebuilt = begun(db, seed)
    asker, there = Edited(db, seed + 2), Edited(past.corpus.db, seed)
    for version in past.versions[:versions]:
        rebuilt.step()
        for _ in range(3):
            question = asker.question()
            assert there.ask(question, version) == asker.ask(question), (version, question)


@pytest.fixture(scope="module")
def past(fresh: Callable[[], Connection]) -> Past:
    return lived(fresh(), seed=5, edits=18, searches=2, traces=4)


def test_a_search_as_of_a_version_finds_what_was_found_then(past: Past) -> None:
    assert past.asked
    for version, question, found in past.asked:
        assert past.corpus.ask(question, version) == found, (version, question)


def test_a_slice_as_of_a_version_is_the_slice_of_then(past: Past) -> None:
    assert past.slices
    for version, around, found in past.slices:
        assert built(past.corpus, around, version) == found, (version, around)


def test_every_trace_replays_exactly_whatever_changed_since(past: Past) -> None:
    assert verdicts(past) == {("exact", None): len(past.traces)}
    assert len(past.traces) > 40


def test_the_hits_of_a_replay_are_beside_those_of_its_version(past: Past) -> None:
    db = past.corpus.db
    today = past.corpus.version()
    hits = "select * from ragdb.replay_hits(%s)"
    compared = 0
    for trace in past.traces[::5]:
        ((then,),) = db.execute("select (ragdb.get_trace(%s)).corpus_version", (trace,)).fetchall()
        with db.cursor(row_factory=dict_row) as cursor:
            for row in cursor.execute(hits, (trace,)):
                assert row["as_of"] == (None if then == today else then)
                assert (row["change"], row["is_unchanged"]) == ("same", True)
                assert row["text"] is not None
                compared += 1
    assert compared > 20


def test_a_version_equals_a_database_rebuilt_to_it(
    past: Past, fresh: Callable[[], Connection]
) -> None:
    check_rebuilt(past, fresh(), seed=5, versions=8)


def test_without_its_history_the_same_traces_drift(past: Past) -> None:
    db = past.corpus.db
    with db.transaction(force_rollback=True):
        db.execute("select ragdb.drop_history('docs')")
        found = verdicts(past)
        assert db.execute("select count(*) from ragdb.past_rows").fetchone() == (0,)
    assert found[("exact", None)] < len(past.traces) / 2
    assert found[("drifted", "corpus_changed")] + found[("drifted", "config_changed")] > 10


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [11, 12])
def test_two_hundred_edits_and_five_hundred_traces(
    seed: int, fresh: Callable[[], Connection]
) -> None:
    past = lived(fresh(), seed, edits=200, searches=2, traces=4)
    assert len(past.traces) >= 500
    assert verdicts(past) == {("exact", None): len(past.traces)}
    for version, question, found in past.asked:
        assert past.corpus.ask(question, version) == found, (version, question)
    for version, around, found_slice in past.slices:
        assert built(past.corpus, around, version) == found_slice, (version, around)
    check_rebuilt(past, fresh(), seed, versions=50)
