"""What is looked up by its id is found by its key, after a vacuum as before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import document
from tests.plans import matrix
from tests.sql.conversations import conversation, message
from tests.sql.conversations import put as put_conversations

# most documents are short: to the planner all are
DOCUMENTS, CHUNKS, TURNS, ASKED, SLICES = 400, 600, 200, 50, 10


@pytest.fixture(scope="module")
def vacuumed(server18: Server) -> Iterator[Connection]:
    """Chunks and turns whose tables were just vacuumed: an index is read without its table."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as db,
    ):
        db.execute("select ragdb.create_corpus('c')")
        db.execute("select ragdb.create_signing_key('k1')")
        short = [document(f"{n}.md", [f"short {n}"]) for n in range(DOCUMENTS)]
        long = document("a.md", [f"common w{n}" for n in range(CHUNKS)])
        matrix.put(db, "c", [long, *short])
        said = [message(n, [n - 1] if n else []) for n in range(TURNS)]
        put_conversations(db, "c", conversation(said))
        for n in range(SLICES):
            anchor = str(UUID(int=10 * n))
            db.execute("select from ragdb.retrieve_slice('c', 'text', anchor => %s)", (anchor,))
        matrix.analyze(db, "vacuum (analyze)")
        yield db


@pytest.fixture(scope="module")
def embedded(vacuumed: Connection) -> Connection:
    """That corpus, embedded by its client but for the newest chunk."""
    db = vacuumed
    db.execute("select ragdb.create_embedder('e', 3)")
    db.execute("select ragdb.bind_embedder('e', 'hash', 'hash-v1')")
    db.execute("select ragdb.embed_corpus('c', 'e')")
    ((ids,),) = db.execute(
        "select array_agg(chunk_id) from ragdb.chunks"
        " where chunk_no < (select max(chunk_no) from ragdb.chunks)"
    ).fetchall()
    given = [0.6, 0.8, 0.0] * len(ids)
    db.execute("select ragdb.put_embeddings('c', %s, %s::float8[])", (ids, given))
    return db


def read_by(db: Connection, statement: str, *given: object) -> tuple[dict[str, int], list[Any]]:
    """Rows read of each table and by each index, and what a statement returns."""
    with db.transaction():
        before = matrix.counts(db)
        found = db.execute(statement, given).fetchall()
        after = matrix.counts(db)
    return {name: rows - before[name][0] for name, (rows, _) in after.items()}, found


@pytest.mark.parametrize(
    "call",
    [
        "list_chunks('c', chunk_ids => %s)",
        "search('c', 'common', 5, chunk_ids => %s)",
        "get_edges('c', %s)",
        "list_turns('c', %s)",
        "corpora_with_chunks(%s)",
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
    read, found = read_by(vacuumed, f"select * from ragdb.{call}", ids)
    assert found
    assert {name: count for name, count in read.items() if count > 5 * ASKED} == {}


def test_documents_are_verified_by_keys_after_a_vacuum(vacuumed: Connection) -> None:
    """The index of a document has the numbers of its chunks: all were read for each parent."""
    read, _ = read_by(vacuumed, "select * from ragdb.verify(checks => array['documents'])")
    chunks = DOCUMENTS + CHUNKS + TURNS
    assert read["ragdb.chunks_ordinal_is_unique_per_document"] >= chunks
    assert {name: count for name, count in read.items() if count > 3 * chunks} == {}


def test_the_end_of_a_session_is_one_turn_after_a_vacuum(vacuumed: Connection) -> None:
    ((session,),) = vacuumed.execute("select distinct session_id from ragdb.turns").fetchall()
    read, found = read_by(vacuumed, "select ragdb.resolve_from_session('c', %s)", session)
    assert found
    assert sum(count for name, count in read.items() if "chunks" in name) == 1


def test_the_turns_that_an_atom_rests_on_are_found_by_key_after_a_vacuum(
    vacuumed: Connection,
) -> None:
    ids = [
        found
        for (found,) in vacuumed.execute(
            "select chunk_id from ragdb.turns join ragdb.chunks using (corpus_id, chunk_no) limit 2"
        ).fetchall()
    ]
    read, ((missing,),) = read_by(
        vacuumed, "select ragdb_internal.insufficiency(1, %s::text[], 'strict')", ids
    )
    assert missing == "insufficient turns: 5 required, 2 found"
    assert {name: count for name, count in read.items() if count > 10} == {}


@pytest.mark.parametrize("call", ["slice_members('c', %s)", "replay(%s)"])
def test_the_members_of_a_slice_are_looked_up_by_key_after_a_vacuum(
    vacuumed: Connection, call: str
) -> None:
    column = "id" if "replay" in call else "slice_id"
    ((given,),) = vacuumed.execute(
        f"select {column} from ragdb.retrieval_traces where slice_id is not null limit 1"
    ).fetchall()
    read, found = read_by(vacuumed, f"select * from ragdb.{call}", given)
    assert found
    assert {name: count for name, count in read.items() if count > 250} == {}


def test_the_anchors_of_slices_are_looked_up_by_key_after_a_vacuum(vacuumed: Connection) -> None:
    read, found = read_by(vacuumed, "select * from ragdb.list_slices('c')")
    assert len(found) == SLICES
    assert {name: count for name, count in read.items() if count > 2 * SLICES} == {}


def test_embeddings_of_a_client_are_stored_by_the_keys_of_their_chunks(
    embedded: Connection,
) -> None:
    """Each call counted all chunks for whether one was still without, and looked through all."""
    ids = [found for (found,) in embedded.execute(
        "select chunk_id from ragdb.chunks where source = 'a.md' limit %s", (ASKED,)
    ).fetchall()]  # fmt: skip
    read, found = read_by(
        embedded, "select ragdb.put_embeddings('c', %s, %s::float8[])", ids, [0.6, 0.8, 0.0] * ASKED
    )
    assert found == [(ASKED,)]
    assert {name: count for name, count in read.items() if count > 3 * ASKED} == {}


def test_a_page_of_embeddings_is_read_by_key_where_nobody_analyzed_them(
    embedded: Connection,
) -> None:
    """All that were behind the page were sorted, for each page."""
    read, found = read_by(
        embedded, "select ordinals from ragdb.export_embeddings('c', count => %s)", ASKED
    )
    assert len(found[0][0]) == ASKED
    assert {name: count for name, count in read.items() if count > 2 * ASKED} == {}


def test_the_latest_turn_is_found_by_key_by_a_plan_that_is_kept(vacuumed: Connection) -> None:
    with vacuumed.transaction():
        vacuumed.execute("set local plan_cache_mode = force_generic_plan")
        read, found = read_by(vacuumed, "select * from ragdb.resolve_temporal('c')")
    assert len(found) == 1
    assert sum(read.values()) < 20
