"""Documents are written by keys, whatever the planner believes of the tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document
from tests.plans import matrix
from tests.sql.conversations import conversation, message
from tests.sql.conversations import put as put_conversations
from tests.sql.documents_twin import put

TABLES = (
    "ragdb.lexemes, ragdb.chunks, ragdb.documents, ragdb.chunk_lexemes, ragdb.edges,"
    " ragdb.block_states, ragdb.term_blocks, ragdb.document_sources, ragdb.events"
)
DOCUMENTS, CHUNKS, WORDS = 10, 60, 5


def fill(db: Connection, corpus: str, prefix: str = "w") -> None:
    """Chunks that follow each other, each of words that no other chunk has."""
    documents = [
        document(
            f"{n}.md",
            [
                " ".join(f"{prefix}{n}x{chunk}x{word}" for word in range(WORDS))
                for chunk in range(CHUNKS)
            ],
        )
        for n in range(DOCUMENTS)
    ]
    put(db, *documents, corpus=corpus)


@contextmanager
def kept_from_analyzing(db: Connection, tables: str) -> Iterator[None]:
    """So that the statistics of tables stay as they are while they are written."""
    with db.transaction(force_rollback=True):
        db.execute(f"lock table {tables} in share update exclusive mode")
        yield


def rows_read(db: Connection) -> dict[str, int]:
    """Rows that this transaction has read of each table and by each index."""
    return dict(
        db.execute(
            "select r.oid::regclass::text, pg_stat_get_xact_tuples_returned(r.oid) from ("
            f"select unnest('{{{TABLES}}}'::regclass[]) as oid union all"
            f" select indexrelid from pg_index where indrelid = any ('{{{TABLES}}}'::regclass[])) r"
        ).fetchall()
    )


@contextmanager
def reading(db: Connection) -> Iterator[dict[str, int]]:
    """The same of the statements of a block, once it has ended."""
    before, read = rows_read(db), dict[str, int]()
    yield read
    read.update((name, count - before[name]) for name, count in rows_read(db).items())


@pytest.mark.parametrize("of", ["nothing", "a put that was rolled back", "another corpus"])
def test_documents_are_put_by_keys(clone: str, of: str) -> None:
    """What was analyzed last has no live row, or none of the corpus that is written."""
    # in a database of its own: an index keeps what other tests have rolled back
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('c')")
        if of == "another corpus":
            db.execute("select ragdb.create_corpus('other')")
            fill(db, "other")
        elif of == "a put that was rolled back":
            db.execute("savepoint s")
            fill(db, "c")
            db.execute("rollback to s")
        db.execute(f"analyze {TABLES}")
        with reading(db) as read:
            fill(db, "c")
    written = DOCUMENTS * CHUNKS * WORDS
    assert {name: count for name, count in read.items() if count > 5 * written} == {}


def test_words_that_chunks_lose_are_found_by_key_in_tables_never_analyzed(clone: str) -> None:
    """Rows that a plan keeps to look through them again and again are not counted: scans are."""
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('c')")
        fill(db, "c")
        db.commit()
        db.execute("select ragdb.prune_sources('c', '', array['0.md'])")
        ((scans,),) = db.execute(
            "select pg_stat_get_xact_numscans("
            "'ragdb.lexemes_term_id_is_unique_per_corpus'::regclass)"
        ).fetchall()
    assert scans == (DOCUMENTS - 1) * CHUNKS * WORDS


@pytest.mark.nightly
def test_spellings_are_looked_up_by_key_in_a_dictionary_that_outgrew_its_statistics(
    clone: str,
) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        matrix.make(db, "dead", matrix.Size(700, 40), matrix.Size(10, 4))
        with db.transaction(), reading(db) as read:
            db.execute("select from ragdb.search('large', 'misspeltword', 5)")
    assert read["ragdb.lexemes_are_unique_per_corpus"] > 0
    assert read["ragdb.lexemes_term_id_is_unique_per_corpus"] == 0


@pytest.mark.parametrize("of", ["nothing", "a put that was rolled back"])
def test_the_lexical_index_is_changed_by_keys(clone: str, of: str) -> None:
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('c')")
        if of != "nothing":
            db.execute("savepoint s")
            fill(db, "c")
            db.execute("rollback to s")
        db.execute(f"analyze {TABLES}")
        fill(db, "c")
        with reading(db) as read:
            fill(db, "c", "v")
            db.execute("select ragdb.delete_document('c', '3.md')")
            db.execute("select ragdb.optimize_corpus('c')")
    written = DOCUMENTS * CHUNKS * WORDS
    index = {name: count for name, count in read.items() if re.search("lexemes|block", name)}
    assert index["ragdb.lexemes_are_unique_per_corpus"] > 0
    assert {name: count for name, count in index.items() if count > 20 * written} == {}


def test_who_fills_tables_that_looked_empty_has_them_analyzed_and_nobody_waits(clone: str) -> None:
    with (
        psycopg.connect(clone) as db,
        psycopg.connect(clone) as other,
        psycopg.connect(clone, autocommit=True) as admin,
    ):
        for corpus in "cd":
            admin.execute("select ragdb.create_corpus(%s)", (corpus,))
        with admin.transaction(force_rollback=True):
            fill(admin, "c")
        admin.execute(f"analyze {TABLES}")
        other.execute("set lock_timeout = '20s'")
        # none has committed when the other begins
        fill(db, "c")
        fill(other, "d")
        db.commit()
        other.commit()
        known: dict[str, float] = dict(
            admin.execute(
                "select relname, reltuples from pg_class where relname = any (%s)",
                (["chunks", "documents", "lexemes", "chunk_lexemes", "edges"],),
            ).fetchall()
        )
    # ten documents are not worth it
    assert known.pop("documents") == 0
    assert min(known.values()) > 500


def test_a_table_that_another_analyzes_is_neither_waited_for_nor_spoken_of(clone: str) -> None:
    told: list[str] = []
    with psycopg.connect(clone) as other, psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('c')")
        db.execute("savepoint s")
        fill(db, "c")
        db.execute("rollback to s")
        db.execute(f"analyze {TABLES}")
        db.commit()
        other.execute(f"lock table {TABLES} in share update exclusive mode")
        db.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        db.execute("set local lock_timeout = '5s'")
        fill(db, "c")
    assert told == []


@pytest.mark.parametrize("before", ["a load that was rolled back", "a few rows of another"])
def test_what_vacuums_amid_a_load_does_not_take_its_tables_for_empty(
    clone: str, before: str
) -> None:
    """It counts no row of a transaction that goes on; who reads next would read a corpus for each
    look-up by key, until autovacuum comes again."""
    with (
        psycopg.connect(clone, autocommit=True) as admin,
        psycopg.connect(clone) as db,
    ):
        for corpus in "cd":
            admin.execute("select ragdb.create_corpus(%s)", (corpus,))
        # to the planner as many rows as are written next
        with admin.transaction(force_rollback=before == "a load that was rolled back"):
            fill(admin, "c")
        if before == "a few rows of another":
            # else what is counted already is added to what analyze finds
            admin.execute("select pg_stat_force_next_flush()")
            admin.execute(f"analyze {TABLES}")
            admin.execute("select ragdb.prune_sources('c', '', array['0.md'])")
            put(admin, document("0.md", ["one of few"]), corpus="c")
        admin.execute("select pg_stat_force_next_flush()")
        fill(db, "d")
        # as autovacuum does, it passes over what is locked
        admin.execute(f"vacuum (skip_locked, analyze) {TABLES}")
        db.commit()
        known: dict[str, float] = dict(
            admin.execute(
                "select relname, reltuples from pg_class where relname = any (%s)",
                (["chunks", "lexemes", "chunk_lexemes", "edges"],),
            ).fetchall()
        )
    assert min(known.values()) > 500, known


def test_events_are_written_by_keys_after_a_vacuum_in_the_middle_of_a_put(clone: str) -> None:
    """It sees no live row of a transaction that goes on, and says that its tables have none."""
    documents = 400
    given = [document(f"{n}.md", [f"text {n}"]) for n in range(documents)]
    with (
        psycopg.connect(clone, autocommit=True) as admin,
        psycopg.connect(clone) as db,
    ):
        admin.execute("select ragdb.create_corpus('c')")
        with kept_from_analyzing(admin, "ragdb.documents"):
            put(db, *given, corpus="c")
        admin.execute("vacuum ragdb.documents")
        with reading(db) as read:
            db.execute(
                "select ragdb_internal.write_events(c, array(select generate_series(1, %s)))"
                " from ragdb.corpora c where c.name = 'c'",
                (documents,),
            )
    assert read["ragdb.documents_number_is_unique_per_corpus"] >= 2 * documents
    assert {name: count for name, count in read.items() if count > 5 * documents} == {}


def test_a_conversation_is_exported_by_keys_after_a_vacuum_in_the_middle_of_a_put(
    clone: str,
) -> None:
    """Each message has its parents, and a plan kept for all documents could read all for each."""
    tables, turns = "ragdb.chunks, ragdb.turns, ragdb.edges, ragdb.documents", 400
    said = [message(n, [n - 1] if n else []) for n in range(turns)]
    with (
        psycopg.connect(clone, autocommit=True) as admin,
        psycopg.connect(clone) as db,
    ):
        admin.execute("select ragdb.create_corpus('c')")
        with kept_from_analyzing(admin, tables):
            put_conversations(db, "c", conversation(said))
        admin.execute(f"vacuum {tables}")
        with reading(db) as read:
            db.execute("select from ragdb.export_documents('c')")
    assert read["ragdb.edges_by_child"] >= turns - 1
    assert {name: count for name, count in read.items() if count > 5 * turns} == {}


def test_a_corpus_that_was_dropped_is_not_read_when_it_is_loaded_again(clone: str) -> None:
    """Its dead rows are in every index, and the statistics of a vacuum in its put say: none."""
    documents = 1000
    given = [document(f"{n}.md", [f"text {n}"]) for n in range(documents)]

    def pages(db: Connection) -> int:
        # not rows: those that are dead are stepped over and not counted
        return int(
            db.execute(
                "select sum(pg_stat_get_xact_blocks_fetched(indexrelid)) from pg_index"
                " where indrelid = 'ragdb.document_sources'::regclass"
            ).fetchall()[0][0]
        )

    with (
        psycopg.connect(clone, autocommit=True) as admin,
        psycopg.connect(clone) as db,
    ):
        admin.execute("select ragdb.create_corpus('c')")
        with kept_from_analyzing(admin, "ragdb.documents, ragdb.document_sources"):
            put(db, *given, corpus="c")
        admin.execute("vacuum ragdb.documents, ragdb.document_sources")
        db.commit()
        db.execute("select ragdb.drop_corpus('c')")
        db.execute("select ragdb.create_corpus('c')")
        db.commit()
        before = pages(db)
        put(db, *given, corpus="c")
        assert 0 < pages(db) - before < 12 * documents


def test_a_load_leaves_statistics_of_what_it_wrote(any_clone: str) -> None:
    with psycopg.connect(any_clone) as db:
        db.execute("select ragdb.create_corpus('c')")
        fill(db, "c")
        db.execute("select from ragdb.optimize_corpus('c')")
        known: dict[str, float] = dict(
            db.execute(
                "select oid::regclass::text, reltuples from pg_class"
                " where oid = any (%s::regclass[])",
                (["ragdb.chunks", "ragdb.chunk_lexemes", "ragdb.lexemes", "ragdb.documents"],),
            ).fetchall()
        )
    # a table of ten documents needs none
    assert known == {
        "ragdb.chunks": DOCUMENTS * CHUNKS,
        "ragdb.chunk_lexemes": DOCUMENTS * CHUNKS,
        "ragdb.lexemes": DOCUMENTS * CHUNKS * WORDS,
        "ragdb.documents": -1,
    }


def test_blocks_are_made_by_keys_after_a_vacuum_in_the_middle_of_a_put(clone: str) -> None:
    """As events are: it says that the dictionary is empty, and its indexes cost the same then."""
    chunks = 512
    with (
        psycopg.connect(clone, autocommit=True) as admin,
        psycopg.connect(clone) as db,
    ):
        admin.execute("select ragdb.create_corpus('c')")
        words = [
            " ".join(f"common{n % 7} own{n}x{word}" for word in range(WORDS)) for n in range(chunks)
        ]
        with kept_from_analyzing(admin, "ragdb.lexemes"):
            put(db, document("a.md", words), corpus="c")
        admin.execute("vacuum ragdb.lexemes")
        with reading(db) as read:
            db.execute(
                "select ragdb_internal.cover_chunks(c.corpus_id, %s) from ragdb.corpora c"
                " where c.name = 'c'",
                (chunks,),
            )
    assert read["ragdb.lexemes_term_id_is_unique_per_corpus"] > 0
    assert {name: count for name, count in read.items() if count > 20 * chunks * WORDS} == {}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("is_analyzed", [False, True])
def test_plans_that_a_session_kept_look_up_by_key_in_what_others_loaded(
    any_clone: str, is_analyzed: bool
) -> None:
    """A session that puts little keeps its plans, and made them when the tables were empty."""
    with psycopg.connect(any_clone) as db, psycopg.connect(any_clone, autocommit=True) as other:
        if is_analyzed:
            matrix.analyze(other)
        other.execute("select ragdb.create_corpus('c')")
        for n in range(3):
            put(db, matrix.one("c", n), corpus="c")
            db.commit()
        put(other, *(matrix.one("c", n) for n in range(3, 1000)), corpus="c")
        with reading(db) as read:
            put(db, matrix.one("c", 1, 1), corpus="c")
    assert read["ragdb.documents_number_is_unique_per_corpus"] > 0
    assert {name: count for name, count in read.items() if count > 200} == {}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("writer", ["put_documents", "append_turns"])
def test_a_session_that_filled_empty_tables_keeps_no_plan_that_reads_a_corpus(
    any_clone: str, writer: str
) -> None:
    """Of tables analyzed with 200 rows each index looks as good as the key, and plans are kept."""
    each, calls = 20, 40

    def given(n: int) -> Sequence[dict[str, Any]]:
        if writer == "put_documents":
            return [document(f"{i}.md", [f"text {i}"]) for i in range(n * each, (n + 1) * each)]
        return [message(i + 1, [i] if i else []) for i in range(n * each, (n + 1) * each)]

    session = "'s', " if writer == "append_turns" else ""
    with psycopg.connect(any_clone) as db:
        db.execute("select ragdb.create_corpus('c')")
        matrix.analyze(db)
        for n in range(calls):
            with reading(db) as read:
                db.execute(f"select from ragdb.{writer}('c', {session}%s)", (json.dumps(given(n)),))
            db.execute("select pg_stat_force_next_flush()")
            db.commit()
    # the last call; before, it read the corpus for each row
    assert 0 < sum(read.values()) < 100 * each, read


def test_links_to_a_document_are_found_by_their_target_after_a_vacuum(clone: str) -> None:
    """Where all rows are visible, the key looks as good, which has the target behind the chunk."""
    chunks = 4000
    # an entry that is looked at in an index and is not the one is not counted as returned
    sql = "select pg_stat_get_xact_blocks_fetched(%s::regclass)"
    key = ("ragdb.document_links_are_unique",)
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('c')")
        texts = [f"w{chunk}" for chunk in range(chunks)]
        to = [(n, f"other/{n}.md") for n in range(chunks)]
        put(db, document("from.md", texts, links=to), corpus="c")
        db.execute("vacuum analyze ragdb.document_links")
        with db.transaction():
            ((before,),) = db.execute(sql, key).fetchall()
            put(db, document("to.md", ["text"]), corpus="c")
            ((after,),) = db.execute(sql, key).fetchall()
    assert after - before < 10


@pytest.mark.parametrize("analyzed", ["never", "when they were empty"])
def test_a_blob_is_put_by_keys_however_many_are_there(any_clone: str, analyzed: str) -> None:
    """All those of the corpus were read for each that was put."""
    read = (
        "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer"
        " from pg_stat_xact_user_tables where relname in ('blobs', 'blob_uploads', 'corpus_blobs')"
    )
    # in a database of its own: of tables with pages that others have rolled back, indexes are read
    with psycopg.connect(any_clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        if analyzed != "never":
            db.execute("analyze ragdb.blobs, ragdb.blob_uploads, ragdb.corpus_blobs")

        def put(n: int) -> int:
            call = "select ragdb.put_blob(%s, 'text/plain', 'docs')"
            db.execute(call, (str(n).encode(),), prepare=True)
            return int(db.execute(read).fetchone()[0])  # type: ignore[index]

        counts = [put(n) for n in range(200)]
    assert counts[-1] - counts[-2] <= counts[20] - counts[19] <= 10


def test_blobs_are_listed_by_keys_after_a_vacuum_in_the_middle_of_a_load(clone: str) -> None:
    """All of them were read for each that was listed."""
    tables, blobs = ("blobs", "blob_uploads", "corpus_blobs"), 400
    read = (
        "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer"
        " from pg_stat_xact_user_tables where relname = any (%s)"
    )
    with (
        psycopg.connect(clone, autocommit=True) as admin,
        psycopg.connect(clone) as db,
    ):
        admin.execute("select ragdb.create_corpus('docs')")
        db.execute(
            "select count(ragdb.put_blob(convert_to(n::text, 'UTF8'), 'text/plain', 'docs'))"
            f" from generate_series(1, {blobs}) n"
        )
        admin.execute(f"vacuum (truncate off) ragdb.{', ragdb.'.join(tables)}")
        ((before,),) = db.execute(read, (list(tables),)).fetchall()
        assert len(db.execute("select from ragdb.list_blobs('', 1000)").fetchall()) == blobs
        ((after,),) = db.execute(read, (list(tables),)).fetchall()
    assert blobs < after - before <= 4 * blobs
