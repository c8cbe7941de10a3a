"""Eight writers, who put, replace, delete and optimize, and a server that is killed with -9.

Each writer has sources of its own, so what it was acknowledged last says what there is: that, or
what it had asked for when the server died.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.server import embedded
from tests.documents import document
from tests.ingest.test_crash import kill

WRITERS, SOURCES, CHUNKS = 8, 40, 6
Texts = list[str] | None
Kill = Callable[[Path], None]


def texts(uri: str, edition: int) -> list[str]:
    """Words of every chunk, so that some are in blocks, of some chunks, and of one."""
    return [
        f"common even{n % 2} word{(edition * 7 + n) % 90} {uri.replace('/', '')}e{edition}c{n}"
        for n in range(CHUNKS)
    ]


class Writer:
    """One that writes until the server is gone."""

    def __init__(self, number: int) -> None:
        self.number, self.random = number, random.Random(number)
        self.acknowledged: dict[str, Texts] = {}
        self.asked: dict[str, Texts] = {}
        self.edition, self.commits = 0, 0

    def write(self, dsn: str) -> None:
        # what a killed server leaves of a connection
        gone = suppress(psycopg.OperationalError, psycopg.InterfaceError)
        with gone, psycopg.connect(dsn, autocommit=True) as db:
            while True:
                self.step(db)

    def prepare(self, db: psycopg.Connection[Any]) -> None:
        """What it needs beside the corpus, before anything is killed."""

    def held(self, db: psycopg.Connection[Any]) -> dict[str, list[str]]:
        """What there is of its own."""
        return dict(
            db.execute(
                "select s.uri, array_agg(c.text order by c.ordinal) from ragdb.document_sources s"
                " join ragdb.chunks c using (corpus_id, doc_no)"
                " where starts_with(s.uri, %s) group by s.uri",
                (f"w{self.number}/",),
            ).fetchall()
        )

    def step(self, db: psycopg.Connection[Any]) -> None:
        some = self.random.sample(range(SOURCES), 3)
        uris = [f"w{self.number}/{n}" for n in some]
        chance = self.random.random()
        self.edition += 1
        if chance < 0.05:
            db.execute("select ragdb.optimize_corpus('docs')")
            return
        if chance < 0.25:
            self.asked = dict.fromkeys(uris)
            db.execute("select ragdb.delete_sources('docs', %s)", (uris,))
        else:
            self.asked = {uri: texts(uri, self.edition) for uri in uris}
            put = [document(uri, said or ()) for uri, said in self.asked.items()]
            db.execute("select from ragdb.put_documents('docs', %s)", (json.dumps(put),))
        self.acknowledged |= self.asked
        self.asked = {}
        self.commits += 1


def wrong(writer: Writer, own: dict[str, list[str]]) -> list[str]:
    """What a writer was acknowledged and is not there; what came of its last call is noted."""
    before = {uri: said for uri, said in writer.acknowledged.items() if said is not None}
    after = {
        u: said for u, said in (writer.acknowledged | writer.asked).items() if said is not None
    }
    if own == after:
        writer.acknowledged |= writer.asked
    elif own != before:
        return [f"writer {writer.number}: {sorted(before.keys() ^ own.keys())[:5]}"]
    writer.asked = {}
    return []


def hits(db: psycopg.Connection[Any]) -> list[Any]:
    asked = ["common", "even1 word7", "word12 word13 word14", "common word80", '"common even0"']
    return [
        db.execute("select chunk_id, score from ragdb.search('docs', %s, 20)", (query,)).fetchall()
        for query in asked
    ]


@pytest.mark.nightly
def test_eight_writers_lose_nothing_and_their_index_is_that_of_a_rebuild(killable: Path) -> None:
    survive(killable, kills=200)


def survive(
    folder: Path, kills: int, kind: type[Writer] = Writer, ways: Sequence[Kill] = (kill,)
) -> int:
    """Kill the server so often, hold what it keeps each time, and return how much was committed."""
    dsn = embedded.dsn(folder)
    writers, chance = [kind(n) for n in range(WRITERS)], random.Random(kills)
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        for writer in writers:
            writer.prepare(db)
    for number in range(kills):
        before = sum(writer.commits for writer in writers)
        threads = [threading.Thread(target=writer.write, args=(dsn,)) for writer in writers]
        for thread in threads:
            thread.start()
        # so much is committed, and then it dies in the middle of something
        wanted = before + chance.randint(1, 40)
        while sum(writer.commits for writer in writers) < wanted:
            assert any(thread.is_alive() for thread in threads)
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.05))
        chance.choice(ways)(folder)
        for thread in threads:
            thread.join(120)
        embedded.start(folder)
        with psycopg.connect(dsn) as db:
            db.execute("set role ragdb_owner")
            assert [line for writer in writers for line in wrong(writer, writer.held(db))] == []
            if number % 10 == 9 or number == kills - 1:
                assert db.execute("select * from ragdb.check_corpus('docs')").fetchall() == []
                found = hits(db)
                db.execute("select ragdb.repair_corpus('docs')")
                assert hits(db) == found
                db.rollback()
    return sum(writer.commits for writer in writers)
