"""Rows of the past are held to the ledger: each version has a hash over what it changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.sql.ledger.conftest import findings

CHANGED = [("row_changed", "version", "1/2")]
ATTACKS = {
    "a text with its hash": (
        "update ragdb.past_rows set was = was || jsonb_build_object('text', 'Lead.',"
        " 'content_hash', sha256('Lead.')) where kind = 'chunk' and until = 2",
        CHANGED,
    ),
    "the title of a document": (
        'update ragdb.past_rows set was = was || \'{"title": "Gold"}\''
        " where kind = 'document' and until = 2",
        CHANGED,
    ),
    "where it was found": (
        "update ragdb.past_rows set key = 'z.md' where kind = 'source' and until = 3",
        [("row_changed", "version", "1/3")],
    ),
    "a row less": (
        "delete from ragdb.past_rows where kind = 'document' and until = 2",
        CHANGED,
    ),
    "a row more": (
        "insert into ragdb.past_rows select corpus_id, kind, '77', until, was"
        " from ragdb.past_rows where kind = 'chunk' and until = 2 limit 1",
        CHANGED,
    ),
    "erased without an act": (
        "update ragdb.past_rows set was = null, erased_hash ="
        " ragdb_internal.past_row_hash(kind, key, was) where kind = 'document' and until = 2",
        CHANGED,
    ),
    "the settings of then": (
        "update ragdb.corpus_versions set before = before || '{\"k1\": 2}' where version = 2",
        CHANGED,
    ),
    "the time of a version": (
        "update ragdb.corpus_versions set began_at = began_at - interval '1 second'"
        " where version = 2",
        CHANGED,
    ),
    "a version with its rows": (
        "delete from ragdb.past_rows where until = 2;"
        " delete from ragdb.corpus_versions where version = 2",
        [("row_missing", "version", "1/2")],
    ),
    "a version that there never was": (
        "insert into ragdb.past_rows select corpus_id, kind, key, 99, was from ragdb.past_rows"
        " where kind = 'chunk' and until = 2 limit 1",
        [("orphan", "past row", "1/99")],
    ),
}


@pytest.fixture(scope="module")
def lived(any_version: Server) -> Iterator[str]:
    """A corpus of three versions, sealed."""
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('old', history => '10 days')")
            put(db, "a.md", "# Metals\n\nCopper bends.\n\n# Woods\n\nOak does not.", "Materials")
            put(db, "a.md", "# Metals\n\nSteel does not bend.", "Materials")
            db.execute("select ragdb.delete_source('old', 'a.md')")
            db.execute("select ragdb.seal_ledger()")
        yield dsn


@pytest.fixture
def old(any_version: Server, lived: str) -> Iterator[Connection]:
    with any_version.rolled_back(lived) as db:
        assert findings(db) == []
        yield db


def put(db: Connection, uri: str, text: str, title: str) -> None:
    db.execute("select ragdb.put_text('old', %s, %s, title => %s)", (uri, text, title))


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_row_of_the_past_that_is_changed_is_found(old: Connection, attack: str) -> None:
    statement, expected = ATTACKS[attack]
    old.execute(statement.encode())
    assert findings(old) == expected


@pytest.mark.parametrize(
    "change",
    [
        "ragdb.erase_source('old', 'a.md', 'on request')",
        "ragdb.drop_history('old')",
        "ragdb.drop_corpus('old')",
        "ragdb.keep_history('old', '20 days')",
        "ragdb.put_text('old', 'b.md', 'Another.')",
    ],
)
def test_what_is_done_to_history_on_purpose_is_not_found(old: Connection, change: str) -> None:
    old.execute(f"select {change}".encode())
    assert findings(old) == []
    old.execute("select ragdb.seal_ledger()")
    assert findings(old) == []


def test_history_that_went_by_its_age_is_not_found_and_its_beginning_is_recorded(
    old: Connection,
) -> None:
    ((began,),) = old.execute(
        "select began_at from ragdb.corpus_versions where version = 2"
    ).fetchall()
    assert isinstance(began, datetime)
    later = began + timedelta(days=10, microseconds=1)
    old.execute("select set_config('ragdb.now', %s, true)", (str(later),))
    while old.execute("select ragdb_internal.sweep_history(2)").fetchone() != (0,):
        assert findings(old) == []
    assert old.execute("select version from ragdb.corpus_versions").fetchall() == [(3,)]
    states = "select place from ragdb.verify(checks => '{states}')"
    assert (findings(old), old.execute(states).fetchall()) == ([], [])
    old.execute("update ragdb.corpora set history_from = 3")
    assert old.execute(states).fetchall() == [("settings of corpus old",)]


BESIDE_AN_ERASURE = {
    "a row of another source": "set was = was || '{\"title\": \"Gold\"}' where kind = 'document'"
    " and was is not null",
    "another source erased too": "set was = null, erased_hash ="
    " ragdb_internal.past_row_hash(kind, key, was) where kind = 'chunk' and was is not null",
    "what was erased made up": "set was = jsonb_build_object('title', 'Gold'), erased_hash = null"
    " where kind = 'document' and erased_hash is not null",
    "the hash of what was erased": "set erased_hash = sha256('') where erased_hash is not null",
    "that it was erased": "set erased_hash = null where erased_hash is not null",
    "two hashes swapped": "set erased_hash = (select o.erased_hash from ragdb.past_rows o"
    " where o.until = p.until and o.kind <> p.kind and o.erased_hash is not null limit 1)"
    " where erased_hash is not null",
}


@pytest.fixture(scope="module")
def erased(any_version: Server) -> Iterator[str]:
    """A corpus whose second version changed two sources, of which one is erased, sealed."""
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('old', history => '10 days')")
            for text in ("Kim lives in Rome.", "Kim has moved."):
                with db.transaction():
                    for uri in ("kim.md", "lee.md"):
                        put(db, uri, text, uri)
            db.execute("select ragdb.seal_ledger()")
            db.execute("select ragdb.erase_source('old', 'kim.md', 'on request')")
            db.execute("select ragdb.seal_ledger()")
            assert findings(db) == []
        yield dsn


@pytest.mark.parametrize("edit", BESIDE_AN_ERASURE)
def test_an_erasure_excuses_the_rows_that_it_erased_and_no_other(
    any_version: Server, erased: str, edit: str
) -> None:
    with any_version.rolled_back(erased) as db:
        statement = f"update ragdb.past_rows p {BESIDE_AN_ERASURE[edit]}"
        assert db.execute(statement.encode()).rowcount > 0
        found = findings(db)
        assert found
        assert {(finding, kind) for finding, kind, _ in found} == {("row_changed", "version")}


@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        ("set erased_hash = sha256('') where kind = 'source' and was is null",
         "it is said to be erased, and no act says so"),
        ("set was = 'null' where kind = 'source' and was is null and erased_hash is null",
         "it is not a row"),
    ],
)  # fmt: skip
def test_a_source_that_was_not_there_is_not_made_an_erased_one(
    any_version: Server, erased: str, edit: str, finding: str
) -> None:
    with any_version.rolled_back(erased) as db:
        said = "select finding, place from ragdb.verify(checks => '{history}')"
        assert db.execute(said).fetchall() == []
        db.execute(f"update ragdb.past_rows {edit}".encode())
        found = db.execute(said).fetchall()
        assert found
        assert set(found) == {(finding, place) for _, place in found}
        assert "source lee.md of corpus old until version 1" in {place for _, place in found}


def test_the_act_of_each_row_is_found_by_the_index(any_version: Server, erased: str) -> None:
    """Few acts, of which one may name all that a source had, would be read whole for each row."""
    read = "select seq_scan from pg_stat_xact_user_tables where relname = 'ledger_acts'"
    with any_version.rolled_back(erased) as db:
        db.execute("analyze ragdb.ledger_acts")
        before = db.execute(read).fetchone()
        db.execute("select from ragdb.verify(checks => '{documents,history}')")
        assert db.execute(read).fetchone() == before


def test_a_row_that_was_erased_is_gone_and_hashes_as_it_did(
    any_version: Server, erased: str
) -> None:
    with any_version.rolled_back(erased) as db:
        rows = db.execute("select * from ragdb.past_rows where erased_hash is not null").fetchall()
        assert rows
        assert "Rome" not in str(rows)
        assert "lee.md" not in str(rows)
