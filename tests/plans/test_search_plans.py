"""Search uses the index and keys, whatever the planner believes about the tables."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.embedding import make_corpus
from tests.sql.lexical_twin import document, put

Connection = psycopg.Connection[Any]

SETTINGS = ("plan_cache_mode = force_generic_plan", "enable_seqscan = off", "jit = off")


@pytest.fixture(params=["no statistics", "analyzed empty", "analyzed full"])
def filled(db: Connection, request: pytest.FixtureRequest) -> Connection:
    """400 chunks, with what the planner may know of them."""
    tables = "ragdb.chunks, ragdb.documents, ragdb.lexemes, ragdb.chunk_lexemes"
    if request.param == "analyzed empty":
        db.execute(f"analyze {tables}")
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", (document(f"{n}.txt", f"word{n % 90} common {n}") for n in range(400)))
    if request.param == "analyzed full":
        db.execute(f"analyze {tables}")
    for setting in SETTINGS:
        db.execute(f"set local {setting}")
    return db


def plan(db: Connection, statement: str) -> str:
    (found,) = db.execute(f"explain (format json, costs off) {statement}").fetchone() or ([],)
    return json.dumps(found)


def token(db: Connection, lexeme: str) -> str:
    (found,) = db.execute(
        "select ragdb_internal.token(l.corpus_id, l.term_id) from ragdb.lexemes l"
        " join ragdb.corpora c using (corpus_id) where c.name = 'docs' and l.lexeme = %s",
        (lexeme,),
    ).fetchone() or ("",)
    return str(found)


def test_candidates_come_from_the_gin_index(filled: Connection) -> None:
    found = plan(
        filled,
        f"select * from ragdb_internal.candidates('{token(filled, 'word7')}'::tsquery,"
        " ragdb_internal.sparse('1:1'), 10)",
    )
    assert "chunk_lexemes_by_lexeme" in found
    assert "Seq Scan" not in found


def test_given_chunks_are_found_by_key(filled: Connection) -> None:
    found = plan(
        filled,
        "select * from ragdb_internal.candidates_among(1, array[1, 2, 3], null,"
        " ragdb_internal.sparse('1:1'), 10)",
    )
    assert "chunk_lexemes_chunk_is_unique" in found
    assert "Seq Scan" not in found


def test_candidates_are_one_plan_with_the_scores(filled: Connection) -> None:
    # not inlined, there would be a function scan, and no index under it
    found = plan(
        filled,
        "select * from ragdb_internal.candidates('1.1'::tsquery, ragdb_internal.sparse('1:1'), 10)",
    )
    assert "Function Scan" not in found


def rows_read(db: Connection) -> int:
    """Rows that this transaction has read of ragdb.chunks, by the table or an index."""
    (read,) = db.execute(
        "select sum(pg_stat_get_xact_tuples_returned(r.oid)) from ("
        "select 'ragdb.chunks'::regclass as oid union all"
        " select indexrelid from pg_index where indrelid = 'ragdb.chunks'::regclass) r"
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
    lacking = (
        "select ragdb_internal.shortfall("
        "jsonb_populate_record(null::ragdb.slices, jsonb_build_object("
        "'corpus_id', c.corpus_id, 'chunk_ids', array(select h.chunk_id from ragdb.chunks h"
        " where h.corpus_id = c.corpus_id order by h.chunk_no limit 5))), 'semantic')"
        " from ragdb.corpora c where c.name = 'docs'"
    )
    before = rows_read(db)
    ((said,),) = db.execute(lacking).fetchall()
    assert said.startswith("5 of 5 admitted chunks have no embedding by hash: ")
    assert rows_read(db) - before <= 4 * 5


def test_a_corpus_has_its_own_posting_lists(clone: str) -> None:
    with psycopg.connect(clone) as db:
        # given a word in two corpora
        for name, count in (("small", 3), ("large", 300)):
            db.execute("select ragdb.create_corpus(%s)", (name,))
            put(db, name, (document(f"{n}.txt", "apple pear") for n in range(count)))
        # then the index gives the small corpus its own chunks and looks at no other
        (found,) = db.execute(
            "select ragdb_internal.token(l.corpus_id, l.term_id) from ragdb.lexemes l"
            " join ragdb.corpora c using (corpus_id) where c.name = 'small' and l.lexeme = 'appl'"
        ).fetchone() or ("",)
        db.execute("set local enable_seqscan = off")
        (explained,) = db.execute(
            "explain (analyze, format json, timing off) select from ragdb.chunk_lexemes"
            f" where lexemes @@ '{found}'::tsquery"
        ).fetchone() or ([],)
        assert explained[0]["Plan"]["Actual Rows"] == 3
        assert explained[0]["Plan"]["Plans"][0]["Actual Rows"] == 3
