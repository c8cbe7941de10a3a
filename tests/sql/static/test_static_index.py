"""One call keeps a corpus of a static embedder up: it builds the index of the vectors too."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from ragdb.database import Database
from ragdb.server import static
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.embedding import embed, make_corpus
from tests.waiting import is_waiting, until

TEXTS = {
    "fusion": "Both legs of a hybrid search run once, and their scores are joined by a weight.",
    "chunker": "The chunker cuts a text into paragraphs and sentences, and packs the words.",
    "http": "A request of HTTP carries a bearer token, which names a role of the database.",
}
OPTIMIZE = "select * from ragdb.optimize_corpus('docs')"
INDEXES = (
    "select count(*) from pg_index i join pg_class c on c.oid = i.indexrelid"
    " join pg_am a on a.oid = c.relam where a.amname = 'hnsw' and i.indisvalid"
)


def suffice(db: Connection, count: int) -> None:
    """As if so few chunks were worth an index."""
    db.execute(
        "create or replace function ragdb_internal.indexed_chunks() returns integer"
        f" language sql immutable parallel safe return {count}"
    )


def fill(db: Database, corpus: str = "docs") -> None:
    for source, text in TEXTS.items():
        db.put_text(corpus, source, text, title=source)


def indexed(db: Connection) -> dict[str, bool]:
    return dict(db.execute("select corpus, is_indexed from ragdb.embedding_status()").fetchall())


def indexes(db: Connection) -> int:
    found: tuple[int] = db.execute(INDEXES).fetchone()  # type: ignore[assignment]
    return found[0]


def test_to_optimize_a_corpus_indexes_its_vectors_once(loaded: Database, db: Connection) -> None:
    loaded.create_corpus("docs")
    fill(loaded)
    suffice(db, 4)
    db.execute(OPTIMIZE)
    assert (indexed(db), indexes(db)) == ({"docs": False}, 0)
    suffice(db, 3)
    for _ in range(2):
        db.execute(OPTIMIZE)
        assert (indexed(db), indexes(db)) == ({"docs": True}, 1)
    # there are fewer than ten to be found
    assert db.execute("select ef_search from ragdb.embedding_spaces").fetchall() == [(50,)]
    assert not loaded.index_space("docs")
    assert [hit.source for hit in loaded.search("docs", "bearer token", 1)] == ["http"]


def test_to_optimize_a_whole_indexes_each_of_its_parts(loaded: Database, db: Connection) -> None:
    loaded.create_corpus("docs")
    for part in ("one", "two", "empty"):
        loaded.create_corpus(part, part_of="docs")
    fill(loaded, "one")
    fill(loaded, "two")
    suffice(db, 3)
    db.execute(OPTIMIZE)
    assert indexed(db) == {"one": True, "two": True, "empty": False}
    assert indexes(db) == 2


def test_to_optimize_leaves_what_workers_embed_to_them(db: Connection) -> None:
    make_corpus(db, TEXTS)
    embed(db)
    suffice(db, 3)
    db.execute(OPTIMIZE)
    assert indexed(db) == {"docs": False}


@pytest.mark.parametrize(
    ("version", "processes"), [("0.8.1", "0"), (None, "0"), ("0.8.2", "7"), ("0.8.5", "7")]
)
def test_several_processes_build_an_index_only_where_pgvector_does_it_right(
    loaded: Database, db: Connection, version: str | None, processes: str
) -> None:
    loaded.create_corpus("docs")
    fill(loaded)
    suffice(db, 3)
    db.execute(
        "create or replace function ragdb_internal.pgvector_version() returns text"
        f" language sql stable parallel safe return {'null' if version is None else repr(version)}"
    )
    db.execute("set local max_parallel_maintenance_workers = 7")
    db.execute(OPTIMIZE)
    assert indexed(db) == {"docs": True}
    # to the end of the transaction, as all settings that a build needs
    assert db.execute("show max_parallel_maintenance_workers").fetchall() == [(processes,)]


@pytest.mark.parametrize("call", [OPTIMIZE, "select ragdb.index_space('docs')"])
def test_no_room_for_the_index_is_a_warning_and_what_was_optimized_stays(
    loaded: Database, db: Connection, call: str
) -> None:
    loaded.create_corpus("docs")
    fill(loaded)
    suffice(db, 3)
    db.execute("update ragdb.corpora set pivot = 1")
    with db.transaction(force_rollback=True):
        db.execute(
            "create or replace function ragdb_internal.measure_ef_search("
            "space ragdb.embedding_spaces, embedder ragdb.embedders) returns integer"
            " language plpgsql as $$ begin raise 'no space left' using errcode = '53100'; end $$"
        )
        said: list[tuple[str | None, str | None]] = []
        db.add_notice_handler(lambda d: said.append((d.message_primary, d.message_hint)))
        db.execute(call)
        assert said == [
            (
                'the vectors of corpus "docs" have no index: no space left',
                "when there is room: select ragdb.index_space('docs')",
            )
        ]
        assert (indexed(db), indexes(db)) == ({"docs": False}, 0)
        ((is_optimized,),) = db.execute("select pivot > 1 from ragdb.corpora").fetchall()
        assert is_optimized is (call == OPTIMIZE)
    db.execute(call)
    assert (indexed(db), indexes(db)) == ({"docs": True}, 1)


@pytest.mark.parametrize(
    ("chunks", "caches", "allowed", "used"),
    [
        (1000, "4GB", "64MB", "66387kB"),
        (3_000_000, "300MB", "64MB", "300MB"),
        (3_000_000, "300MB", "400MB", "400MB"),
        (30_000_000, "64GB", "64MB", "4GB"),
    ],
)
def test_a_build_takes_the_memory_that_the_graph_needs_and_no_more_than_there_is(
    loaded: Database, db: Connection, chunks: int, caches: str, allowed: str, used: str
) -> None:
    loaded.create_corpus("docs")
    fill(loaded)
    suffice(db, 3)
    db.execute("update ragdb.corpora set chunks = %s", (chunks,))
    db.execute(f"set local effective_cache_size = '{caches}'")
    db.execute(f"set local maintenance_work_mem = '{allowed}'")
    assert loaded.index_space("docs")
    assert db.execute("show maintenance_work_mem").fetchall() == [(used,)]


@contextmanager
def limited(pid: int, size: int) -> Iterator[None]:
    """A server process that may make no file, nor a piece of shared memory, larger than this."""
    server, is_root = psutil.Process(pid), os.geteuid() == 0

    def limit(most: int | str) -> None:
        subprocess.run(
            ["prlimit", f"--pid={pid}", f"--fsize={most}:unlimited"],
            check=True,
            user=server.uids().real if is_root else None,
            group=server.gids().real if is_root else None,
        )

    limit(size)
    yield
    limit("unlimited")


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs util-linux")
def test_one_process_builds_where_the_memory_that_several_share_is_too_small(
    loaded: Database, db: Connection
) -> None:
    loaded.create_corpus("docs")
    fill(loaded)
    suffice(db, 3)
    (table,) = db.execute(
        "select 'ragdb.' || ragdb_internal.space_table(space_id) from ragdb.embedding_spaces"
    ).fetchone()  # type: ignore[misc]
    db.execute(f"alter table {table} set (parallel_workers = 2)")
    said: list[str] = []
    db.add_notice_handler(lambda d: said.append(f"{d.message_primary} {d.message_hint}"))
    with limited(db.info.backend_pid, 40 * 2**20):  # bytes, less than they share at least
        db.execute(OPTIMIZE)
    assert (indexed(db), indexes(db)) == ({"docs": True}, 1)
    assert len(said) == 1
    assert said[0].startswith("one process builds the index, which takes longer: ")
    assert "--shm-size" in said[0]


@pytest.fixture
def committed(any_version: Server, bpe_folder: Path) -> Iterator[str]:
    """A database with a corpus of three chunks, which are worth an index."""
    with any_version.database() as database:
        dsn = any_version.dsn(database.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            made = Database(db)
            static.load(made, "small", str(bpe_folder))
            made.create_corpus("docs")
            fill(made)
            suffice(db, 3)
        yield dsn


def found(db: Connection) -> list[str]:
    return [hit.source for hit in Database(db).search("docs", "bearer token", 1)]


def test_a_search_does_not_wait_for_the_index(committed: str) -> None:
    with psycopg.connect(committed) as writer, psycopg.connect(committed) as reader:
        writer.execute(OPTIMIZE)
        assert indexed(writer) == {"docs": True}
        reader.execute("set lock_timeout = '1s'")
        assert (found(reader), indexed(reader)) == (["http"], {"docs": False})
        reader.commit()
        writer.commit()
        assert (found(reader), indexed(reader)) == (["http"], {"docs": True})


@OLDER_BY_NIGHT
def test_an_optimize_that_is_killed_leaves_the_corpus_as_it_was(committed: str) -> None:
    with (
        psycopg.connect(committed, autocommit=True) as db,
        psycopg.connect(committed) as holder,
        psycopg.connect(committed) as writer,
        ThreadPoolExecutor(1) as thread,
    ):
        db.execute("update ragdb.corpora set pivot = 1")
        # as a writer has it: the index waits for it, when all else is done
        (table,) = db.execute(
            "select format('ragdb.chunk_embeddings_%s', space_id) from ragdb.embedding_spaces"
        ).fetchone() or ("",)
        holder.execute(f"lock table {table} in row exclusive mode")
        killed = thread.submit(writer.execute, OPTIMIZE)
        until(lambda: is_waiting(db, writer))
        db.execute("select pg_terminate_backend(%s, 60000)", (writer.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            killed.result()
        holder.rollback()
        assert db.execute("select pivot from ragdb.corpora").fetchall() == [(1.0,)]
        assert (indexed(db), indexes(db), found(db)) == ({"docs": False}, 0, ["http"])
        Database(db).put_text("docs", "later", "What is put later is found.")
        db.execute(OPTIMIZE)
        assert (indexed(db), indexes(db), found(db)) == ({"docs": True}, 1, ["http"])
