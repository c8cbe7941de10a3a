"""Search uses the index and keys, whatever the planner believes about the tables."""

from __future__ import annotations

import json

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import make_corpus
from tests.sql.lexical_twin import put

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SETTINGS = ("plan_cache_mode = force_generic_plan", "enable_seqscan = off", "jit = off")


@pytest.fixture(params=["no statistics", "analyzed empty", "analyzed full"])
def filled(db: Connection, request: pytest.FixtureRequest) -> Connection:
    """400 chunks, with what the planner may know of them."""
    tables = "ragdb.chunks, ragdb.documents, ragdb.lexemes, ragdb.chunk_lexemes"
    if request.param == "analyzed empty":
        db.execute(f"analyze {tables}")
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", (text_document(f"{n}.txt", f"word{n % 90} common {n}") for n in range(400)))
    if request.param == "analyzed full":
        db.execute(f"analyze {tables}")
    for setting in SETTINGS:
        db.execute(f"set local {setting}")
    return db


def plan(db: Connection, statement: str) -> str:
    (found,) = db.execute(f"explain (format json, costs off) {statement}").fetchone() or ([],)
    return json.dumps(found)


def test_given_chunks_and_newer_ones_are_found_by_key(filled: Connection) -> None:
    found = plan(
        filled,
        "select * from ragdb_internal.candidates_among(1, array[1, 2, 3], 390,"
        " ragdb_internal.sparse('1:1'), null, null, 10)",
    )
    assert found.count("chunk_lexemes_chunk_is_unique") == 2
    assert "Seq Scan" not in found
    # not inlined, there would be a function scan, and no index under it
    assert "Function Scan" not in found


def test_blocks_are_found_by_key(filled: Connection) -> None:
    for function in (
        "block_sums(1, array[row(1, 1.5, 2.5, true)]::ragdb_internal.question_term[])",
        "groups_holding(1, array[1], array[1])",
    ):
        found = plan(filled, f"select ragdb_internal.{function}")
        assert "Seq Scan" not in found


def rows_read(db: Connection, table: str = "chunks") -> int:
    """Rows that this transaction has read of a table, by the table or an index."""
    (read,) = db.execute(
        "select sum(pg_stat_get_xact_tuples_returned(r.oid)) from ("
        f"select 'ragdb.{table}'::regclass as oid union all"
        f" select indexrelid from pg_index where indrelid = 'ragdb.{table}'::regclass) r"
    ).fetchone() or (0,)
    return int(read)


def test_a_search_among_some_chunks_reads_no_others(db: Connection) -> None:
    make_corpus(db, {f"{n}.txt": f"common {n}" for n in range(400)})
    db.execute("analyze ragdb.chunks, ragdb.documents")
    for setting in SETTINGS:
        db.execute(f"set local {setting}")
    ids = "array(select chunk_id from ragdb.chunks where ordinal = 0 order by chunk_no limit 5)"
    for condition in ("null", '\'{"language": "en"}\''):
        ((some,),) = db.execute(f"select {ids}").fetchall()
        before = rows_read(db)
        found = db.execute(
            "select chunk_id from ragdb.search('docs', 'common', 9, mode => 'lexical',"
            f" chunk_ids => %s, filter => {condition})",
            (some,),
        ).fetchall()
        assert {chunk for (chunk,) in found} == set(some)
        # by its id, for the filter, and for the result
        assert rows_read(db) - before <= 4 * len(some)


def test_what_a_slice_lacks_is_looked_up_by_key(db: Connection) -> None:
    make_corpus(db, {f"{n}.txt": f"text {n}" for n in range(400)})
    db.execute("analyze ragdb.chunks")
    for setting in SETTINGS:
        db.execute(f"set local {setting}")
    ((slice,),) = db.execute(
        "select jsonb_build_object('corpus_id', c.corpus_id, 'chunk_ids', array("
        "select h.chunk_id from ragdb.chunks h where h.corpus_id = c.corpus_id limit 5))"
        " from ragdb.corpora c where c.name = 'docs'"
    ).fetchall()
    before = rows_read(db)
    ((said,),) = db.execute(
        "select ragdb_internal.shortfall("
        "jsonb_populate_record(null::ragdb.slices, %s), 'semantic')",
        (Jsonb(slice),),
    ).fetchall()
    assert said.startswith("5 of 5 admitted chunks have no embedding by hash: ")
    assert rows_read(db) - before <= 3 * 5


def test_a_corpus_has_its_own_posting_lists(clone: str) -> None:
    with psycopg.connect(clone) as db:
        # given a word in two corpora, in each of them frequent
        for name, count in (("small", 70), ("large", 300)):
            db.execute("select ragdb.create_corpus(%s)", (name,))
            put(db, name, (text_document(f"{n}.txt", f"apple pear {n % 5}") for n in range(count)))
        # then a search of the small one looks at its own chunks and at no others
        before = rows_read(db, "chunk_lexemes")
        found = db.execute("select chunk_id from ragdb.search('small', 'apple', 100)").fetchall()
        assert len(found) == 70
        assert rows_read(db, "chunk_lexemes") - before <= 2 * 70


def test_a_word_that_a_corpus_lacks_is_looked_up_by_key(any_clone: str) -> None:
    with psycopg.connect(any_clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        words = [f"inv{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS[::3]]
        put(db, "docs", (text_document(f"{n}.txt", " ".join(words[n::60])) for n in range(60)))
        db.execute("vacuum analyze ragdb.lexemes")
        with db.transaction():
            before = rows_read(db, "lexemes")
            db.execute("select from ragdb.search('docs', 'invoqhorn')")
            assert rows_read(db, "lexemes") - before < 300 < len(words)
