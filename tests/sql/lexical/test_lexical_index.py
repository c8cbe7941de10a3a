"""The lexical index is the same however its documents came."""

from __future__ import annotations

import string
from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document, text_document
from tests.sql.documents_twin import put as put_documents
from tests.sql.lexical_twin import Collection, lexemes, put, search

WORDS = [f"w{letter}" for letter in string.ascii_lowercase]


@pytest.fixture
def db(clone: str) -> Iterator[Connection]:
    """A database of the test's own: what other tests rolled back still fills the posting lists."""
    with psycopg.connect(clone) as connection:
        yield connection


def test_the_order_of_writing_changes_no_score(db: Connection) -> None:
    stored = [
        text_document(f"{n}.txt", f"alpha {WORDS[n % 7]} beta {WORDS[n % 5]} {'gamma ' * (n % 3)}")
        for n in range(60)
    ]
    results = []
    for order in (stored, stored[::-1]):
        db.execute("select ragdb.create_corpus('any')")
        put(db, "any", order, batch=7)
        results.append(
            [search(db, "any", q, 20) for q in ("gamma wa", "alpha beta", "wb wc gamma")]
        )
        db.execute("select ragdb.drop_corpus('any')")
    assert results[0] == results[1]


@pytest.mark.by_day(1)
@pytest.mark.parametrize("helpers", [0, 2])
def test_documents_put_at_once_are_indexed_as_those_put_one_after_another(
    db: Connection, helpers: int
) -> None:
    stored = [
        text_document(
            f"{n}.txt", f"{WORDS[n % 26]} {WORDS[n % 5]} {'gamma ' * (n % 3)}", title=f"t{n % 4}"
        )
        for n in range(700)
    ] + [text_document("bare.txt", "the")]
    # enough for several processes to share the work, then more than they may take for a range
    stored_late = [
        {**stored[17], "title": "new title"},
        *(text_document(f"late{n}.txt", f"{WORDS[n % 7]} beta") for n in range(600)),
    ]
    found = []
    for batch in (1000, 90):
        db.execute(f"set max_parallel_workers_per_gather = {helpers if batch > 90 else 0}")
        db.execute("select ragdb.create_corpus('any')")
        put(db, "any", stored, batch)
        put(db, "any", stored_late, batch)
        assert db.execute("select * from ragdb.check_corpus('any')").fetchall() == []
        twin = Collection.read(db, "any")
        found.append(
            (
                db.execute(
                    "select lexeme, df, max_impact from ragdb.lexemes order by 1"
                ).fetchall(),
                db.execute(
                    "select c.source, x.lexeme_count, array(select (l.lexeme, e[i + 1])::text"
                    "   from (select ragdb_internal.entries(x.impacts) as e) u"
                    "     cross join generate_series(1, cardinality(e), 2) i"
                    "     join ragdb.lexemes l on l.corpus_id = x.corpus_id"
                    "       and l.term_id = e[i]::integer order by 1)"
                    " from ragdb.chunk_lexemes x join ragdb.chunks c using (corpus_id, chunk_no)"
                    " order by 1"
                ).fetchall(),
            )
        )
        for query in ("wa gamma", "new title", "wb wc t1"):
            assert [f[0] for f in search(db, "any", query, 20)] == [
                e[0] for e in twin.search(lexemes(db, query), 20)
            ]
        db.execute("select ragdb.drop_corpus('any')")
    assert found[0] == found[1]
    assert ("bare.txt", 0) in {row[:2] for row in found[0][1]}


@pytest.mark.parametrize("is_import", [False, True])
def test_only_the_chunks_that_a_corpus_begins_with_set_its_pivot(
    db: Connection, is_import: bool
) -> None:
    """A repair leaves it, and an import brings it along: scores stay what they were."""
    db.execute("select ragdb.create_corpus('any', text_config => 'simple')")
    if is_import:
        db.execute("update ragdb.corpora set import_xid = pg_current_xact_id(), pivot = 50")
    put_documents(db, document("1.txt", [f"one two n{n}" for n in range(1000)]), corpus="any")

    def pivot() -> float:
        return float(db.execute("select pivot from ragdb.corpora").fetchall()[0][0])

    assert pivot() == (50 if is_import else 3)
    put_documents(db, document("2.txt", [f"one two three m{n}" for n in range(1000)]), corpus="any")
    db.execute("select ragdb.repair_corpus('any')")
    assert pivot() == (50 if is_import else 3)
    assert db.execute("select * from ragdb.check_corpus('any')").fetchall() == []
    db.rollback()  # an import that is not finished cannot be committed


def test_words_that_no_chunk_has_any_more_go_while_documents_are_replaced(db: Connection) -> None:
    """In a corpus that is too small for blocks, which drop them of a larger one."""
    db.execute("select ragdb.create_corpus('any')")
    most = 0
    for day in range(7):
        texts = [
            " ".join(f"id{day}n{number}" for number in range(50 * place, 50 * place + 50))
            for place in range(40)
        ]
        put(db, "any", [text_document(f"{n}.txt", text) for n, text in enumerate(texts)], batch=7)
        ((dead,),) = db.execute("select count(*) from ragdb.lexemes where df = 0").fetchall()
        most = max(most, dead)
    assert most <= 8192 + 2000
    assert len(search(db, "any", "id6n0", 20)) == 1
    assert search(db, "any", "id0n0", 20) == []
