"""Many chunks are embedded by parallel workers, to the same vectors, and verified by them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.database import Database
from ragdb.server import static
from tests.conftest import OLDER_BY_NIGHT
from tests.documents import text_document
from tests.sql.lexical_twin import put

WORDS = ["chunk", "word", "legibility", "incomprehensible", "Ünïcode", "role_name", "検索", "a"]
STORED = """
  select array_agg((chunk_no, input_hash, half)::text order by chunk_no),
    (select array_agg((w.word, w.embedding)::text order by w.word) from ragdb.static_words w)
  from ragdb.chunk_embeddings"""


def documents(count: int) -> list[dict[str, Any]]:
    draw = random.Random(3)
    return [
        text_document(f"{n}.txt", " ".join(draw.choices(WORDS, k=n % 9)) + f" number{n % 200}")
        for n in range(count)
    ]


def stored(db: psycopg.Connection[Any], count: int, workers: int) -> Any:
    db.execute("delete from ragdb.static_words")
    db.execute(f"set max_parallel_workers_per_gather = {workers}")
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", documents(count), count)
    found = db.execute(STORED).fetchall()
    db.execute("select ragdb.drop_corpus('docs')")
    return found


@OLDER_BY_NIGHT
def test_workers_embed_as_one_process_does(
    any_db: psycopg.Connection[Any], bpe_folder: Path
) -> None:
    static.load(Database(any_db), "small", str(bpe_folder))
    ((alone, words),) = stored(any_db, 600, 0)
    assert len(alone) == 600
    assert words
    assert stored(any_db, 600, 2) == [(alone, words)]
    assert stored(any_db, 600, 1) == [(alone, words)]


def test_only_many_chunks_are_shared_among_workers(clone: str, bpe_folder: Path) -> None:
    asked = []
    with psycopg.connect(clone, autocommit=True) as db:
        static.load(Database(db), "small", str(bpe_folder))
        for count in (499, 500, 1600):
            put_documents = documents(count)
            db.execute("select ragdb.create_corpus(%s)", (f"c{count}",))
            db.execute("set max_parallel_workers_per_gather = 0")
            put(db, f"c{count}", put_documents, count)
            space = f"c.name = 'c{count}'"
            db.execute("set max_parallel_workers_per_gather = 2")
            before = launched(db)
            db.execute(
                "select count(*) from ragdb.embedding_spaces s join ragdb.corpora c"
                " using (corpus_id) cross join lateral ragdb_internal.shared_embeddings(s,"
                " ragdb_internal.static_model(s.embedder_id), array(select h.chunk_no"
                f" from ragdb.chunks h where h.corpus_id = c.corpus_id)) where {space}".encode()
            )
            asked.append(launched(db) - before)
    assert asked == [0, 2, 2]


@pytest.mark.nightly
def test_many_chunks_are_embedded_without_temporary_files(clone: str, bpe_folder: Path) -> None:
    wrote = []
    with psycopg.connect(clone, autocommit=True) as db:
        door = Database(db)
        for workers in (0, 2):
            db.execute("select ragdb.create_corpus(%s)", (f"by{workers}",))
            put(db, f"by{workers}", documents(1600), 1600)
        static.load(door, "small", str(bpe_folder))
        db.execute("set work_mem = '128kB'")
        for workers in (0, 2):
            db.execute(f"set max_parallel_workers_per_gather = {workers}")
            before = temporary(db)
            door.embed_corpus(f"by{workers}", "small")
            wrote.append(temporary(db) - before)
    assert wrote == [0, 0]


def test_many_words_and_embeddings_are_verified_by_workers(clone: str, bpe_folder: Path) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        door = Database(db)
        static.load(door, "small", str(bpe_folder))
        db.execute("select ragdb.create_corpus('docs')")
        put(db, "docs", [text_document(f"{n}.txt", f"number{n}") for n in range(600)], 600)
        ((words,),) = db.execute("select count(*) from ragdb.static_words").fetchall()
        assert words == 600
        db.execute("set max_parallel_workers_per_gather = 2")

        def verified(check: str, most: int) -> tuple[int, list[str]]:
            before, state, said = launched(db), None, []
            while True:
                step = door.verify_step(state, most, False, [check])
                said += [finding["finding"] for finding in step.findings]
                state = step.next_state
                if state is None:
                    return launched(db) - before, said

        for check in ("embedders", "embeddings"):
            assert verified(check, 1000) == (2, [])
            assert verified(check, 499) == (0, [])
        # of the last third, which a worker may have
        db.execute(
            "update ragdb.static_words set embedding = embedding + embedding"
            " where word = (select max(word) from ragdb.static_words)"
        )
        db.execute(
            "update ragdb.chunk_embeddings e set half = (select o.half from ragdb.chunk_embeddings"
            " o where o.chunk_no = 1) where chunk_no in (2, 600)"
        )
        wrong = "kept with another vector than that of its pieces: 1 word"
        assert verified("embedders", 1000) == (2, [wrong])
        assert verified("embeddings", 1000) == (
            2,
            ["not what embedder small makes of the text: 2 embeddings"],
        )


def launched(db: psycopg.Connection[Any]) -> int:
    db.execute("select pg_stat_force_next_flush()")
    ((count,),) = db.execute(
        "select parallel_workers_to_launch from pg_stat_database where datname = current_database()"
    ).fetchall()
    return int(count)


def temporary(db: psycopg.Connection[Any]) -> int:
    """Bytes of temporary files that the sessions of a database have written."""
    db.execute("select pg_stat_force_next_flush()")
    ((count,),) = db.execute(
        "select temp_bytes from pg_stat_database where datname = current_database()"
    ).fetchall()
    return int(count)
