"""What is looked up by its id is found by its key, after a vacuum as before."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import document
from tests.plans import matrix
from tests.sql.conversations import conversation, message
from tests.sql.conversations import put as put_conversations

CHUNKS, TURNS, ASKED = 600, 200, 50


@pytest.fixture(scope="module")
def vacuumed(server18: Server) -> Iterator[Connection]:
    """Chunks and turns whose tables were just vacuumed: an index is read without its table."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as db,
    ):
        db.execute("select ragdb.create_corpus('c')")
        matrix.put(db, "c", [document("a.md", [f"common w{n}" for n in range(CHUNKS)])])
        said = [message(n, [n - 1] if n else []) for n in range(TURNS)]
        put_conversations(db, "c", conversation(said))
        db.execute("vacuum (analyze)")
        yield db


@pytest.mark.parametrize(
    "call",
    [
        "list_chunks('c', chunk_ids => %s)",
        "search('c', 'common', 5, chunk_ids => %s)",
        "get_edges('c', %s)",
        "list_turns('c', %s)",
    ],
)
def test_many_ids_are_looked_up_by_key_after_a_vacuum(vacuumed: Connection, call: str) -> None:
    """The index of the numbers has the ids, too: a corpus of it was read for each."""
    kind = "turns" if "list_turns" in call else "chunks"
    ids = [
        found
        for (found,) in vacuumed.execute(
            f"select c.chunk_id from ragdb.{kind} join ragdb.chunks c using (corpus_id, chunk_no)"
            " order by chunk_no limit %s",
            (ASKED,),
        ).fetchall()
    ]
    with vacuumed.transaction():
        before = matrix.counts(vacuumed)
        found = vacuumed.execute(f"select * from ragdb.{call}", (ids,)).fetchall()
        after = matrix.counts(vacuumed)
    read = {name: rows - before[name][0] for name, (rows, _) in after.items()}
    assert found
    assert {name: count for name, count in read.items() if count > 5 * ASKED} == {}
