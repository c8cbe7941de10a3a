"""Eight sessions at random end as if their transactions had come one after the other.

Whoever writes a corpus raises its version, so the versions that a transaction saw say where it
stands in that order: the model is a dictionary that lives through it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel

from tests.conftest import Connection

WORDS = ["alpha", "beta", "gamma", "delta", "kappa", "lambda", "sigma", "omega"]
LEVELS = (IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE)
VERSION = "select version from ragdb.corpus_info('docs')"


@dataclass(frozen=True)
class Ended:
    """What a committed transaction asked and was answered, and the versions before and after."""

    before: int
    after: int
    calls: tuple[tuple[str, str, str, Any], ...]


@dataclass
class Model:
    """A corpus as dictionaries: texts by source, turns by session and id."""

    texts: dict[str, str] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)

    def answer(self, call: str, key: str, text: str) -> Any:
        everything = [*self.texts.values(), *self.turns.values()]
        if call == "put":
            self.texts[key] = text
        elif call == "append":
            self.turns[key] = text
        elif call == "delete":
            gone = self.texts.pop(key, None)
            return (int(gone is not None),) * 2
        elif call == "search":
            return sorted(t for t in everything if key in t.split())
        elif call == "count":
            sessions = {turn.partition("-")[0] for turn in self.turns}
            return len(self.texts) + len(sessions), len(everything)
        return None


def ask(db: Connection, call: str, key: str, text: str) -> Any:
    if call == "put":
        db.execute("select ragdb.put_text('docs', %s, %s)", (key, text))
    elif call == "append":
        turns = json.dumps([{"id": key, "text": text}])
        session = key.partition("-")[0]
        db.execute("select ragdb.append_turns('docs', %s, %s)", (session, turns))
    elif call == "delete":
        return db.execute("select * from ragdb.delete_sources('docs', %s)", ([key],)).fetchone()
    elif call == "search":
        found = "select text from ragdb.search('docs', %s, k => 1000, mode => 'lexical')"
        return sorted(text for (text,) in db.execute(found, (key,)).fetchall())
    elif call == "count":
        return db.execute("select documents, chunks from ragdb.corpus_info('docs')").fetchone()
    return None


def drawn(chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """The calls of one transaction."""
    for _ in range(chance.randint(1, 3)):
        call = chance.choice(("put", "put", "append", "delete", "search", "search", "count"))
        if call == "append":
            n = chance.randrange(30)
            yield call, f"s{n % 3}-{n}", f"turn {WORDS[n % len(WORDS)]} {n}"
        elif call == "search":
            yield call, chance.choice(WORDS), ""
        else:
            text = " ".join(chance.choices(WORDS, k=chance.randint(1, 6)))
            yield call, f"u{chance.randrange(12)}", text


def session(dsn: str, seed: int) -> tuple[list[Ended], set[str | None]]:
    """What one session commits, and the SQLSTATEs of what it does not."""
    chance, ended, failed = random.Random(seed), [], set()
    with psycopg.connect(dsn) as db:
        for _ in range(60):
            db.isolation_level = chance.choice(LEVELS)
            try:
                ((before,),) = db.execute(VERSION).fetchall()
                calls = tuple((*call, ask(db, *call)) for call in drawn(chance))
                ((after,),) = db.execute(VERSION).fetchall()
                if chance.random() < 0.1:
                    db.rollback()
                    continue
                db.commit()
                ended.append(Ended(before, after, calls))
            except psycopg.Error as error:
                db.rollback()
                failed.add(error.sqlstate)
    return ended, failed


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("history", [None, "9 years"])
def test_sessions_at_random_end_as_if_one_had_come_after_the_other(
    clone: str, seed: int, history: str | None
) -> None:
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs', history => %s)", (history,))
        ((version,),) = db.execute(VERSION).fetchall()
    with ThreadPoolExecutor(8) as threads:
        sessions = list(threads.map(session, [clone] * 8, range(8 * seed, 8 * seed + 8)))
    assert set().union(*(failed for _, failed in sessions)) <= {"40001"}
    ended = [e for committed, _ in sessions for e in committed]
    writers = {e.after: e for e in ended if e.after > e.before}
    # each writer saw what the one before it left
    assert sorted(writers) == list(range(version + 1, version + 1 + len(writers)))
    assert all(e.before == after - 1 for after, e in writers.items())
    model = Model()
    for now in range(version, version + 1 + len(writers)):
        for read in (e for e in ended if e.before == e.after == now):
            assert [model.answer(*call[:3]) for call in read.calls] == [c[3] for c in read.calls]
        if now + 1 in writers:
            calls = writers[now + 1].calls
            assert [model.answer(*call[:3]) for call in calls] == [call[3] for call in calls]
    with psycopg.connect(clone) as db:
        for call in ("count", *WORDS):
            asked = ("count", "", "") if call == "count" else ("search", call, "")
            assert ask(db, *asked) == model.answer(*asked)
        assert db.execute("select * from ragdb.check_corpus('docs', true)").fetchall() == []
