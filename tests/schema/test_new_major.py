"""A database of an older major version of PostgreSQL in a newer one, whose stemmers differ in a few words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from ragdb.server import embedded, migrate, postgres
from tests.schema.conftest import Ways
from tests.sql.conversations import chat, message
from tests.sql.signed_slices import one, retrieve
from tests.watcher import watched_folder

TEXT = "Two rooms were added to the house."
REPAIR = ("corpus docs", False, "ragdb repair docs")


def advised(connection: psycopg.Connection) -> list[tuple[str, bool, str]]:
    return connection.execute("select subject, is_fault, fix from ragdb.advice()").fetchall()


def replayed(connection: psycopg.Connection, trace: UUID) -> tuple[str, str | None]:
    (said,) = connection.execute("select verdict, cause from ragdb.replay(%s)", (trace,)).fetchall()
    return said


def found(connection: psycopg.Connection, query: str) -> list[str]:
    return [
        source
        for (source,) in connection.execute(
            "select source from ragdb.search('docs', %s, mode => 'lexical', typos => false)",
            (query,),
        )
    ]


def stated(connection: psycopg.Connection) -> set[str]:
    """Which planes of statements have one that is found by what the text of each has."""
    return {
        plane
        for (plane,) in connection.execute(
            "select plane from ragdb.search_dual('chat', 'added') where plane <> 'raw'"
        )
    }


def errors(connection: psycopg.Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "select place, finding from ragdb.verify() where severity <> 'note'"
    ).fetchall()


def state_it(connection: psycopg.Connection) -> None:
    """Promote what a conversation says, and propose what it means."""
    chat(connection, [message(1, text=TEXT), message(2, [1], text="How large are they?")])
    connection.execute("select ragdb.create_signing_key('k1')")
    (hit,) = retrieve(connection, "rooms")
    promote = "select * from ragdb.promote_to_atom(%s, %s, %s, 'lenient')"
    made = one(connection, promote, hit["trace_id"], [hit["chunk_id"]], TEXT)
    assert made["code"] == "PROMOTED", made
    text = "The house has more rooms since they were added."
    one(connection, "select * from ragdb.propose('chat', %s, %s)", [made["atom_id"]], text)
    assert stated(connection) == {"atom", "proposal"}


def filled(dsn: str) -> UUID:
    """Id of a trace of a database that is filled."""
    with psycopg.connect(dsn) as old:
        old.execute("select ragdb.create_corpus('docs')")
        old.execute("select ragdb.create_corpus('empty')")
        old.execute("select ragdb.put_text('docs', 'house.txt', %s)", (TEXT,))
        old.execute("select ragdb.add_synonyms('docs', '{added,appended}')")
        assert found(old, "added") == found(old, "appended") == ["house.txt"]
        state_it(old)
        assert advised(old) == []
        (hit,) = old.execute("select trace_id from ragdb.retrieve('docs', 'added')").fetchall()
        return UUID(str(hit[0]))


def dumped(request: pytest.FixtureRequest, ways: Ways, stack: ExitStack) -> tuple[UUID, str]:
    before, after = (
        ways.database(request.getfixturevalue(f"server{version}"), way, stack)
        for version, way in ((16, "migrate"), (18, "empty"))
    )
    trace = filled(before)
    dump: Path = request.getfixturevalue("tmp_path") / "dump"
    subprocess.run([postgres.binary("pg_dump", 18), "-Fc", "-f", dump, "-d", before], check=True)
    subprocess.run(
        [postgres.binary("pg_restore", 18), "--single-transaction", "-d", after, dump], check=True
    )
    return trace, after


def upgraded(request: pytest.FixtureRequest, ways: Ways, stack: ExitStack) -> tuple[UUID, str]:
    home = stack.enter_context(watched_folder())
    old, new, work = home / "16", home / "18", home / "work"
    dsn = embedded.start(old, 16)
    migrate.migrate(dsn)
    trace = filled(dsn)
    embedded.stop(old)
    postgres.initialise(new, 18)
    work.mkdir()
    os.chown(work, new.stat().st_uid, -1)
    done = postgres.run(
        work, 18, "pg_upgrade", "-U", "postgres", "-d", str(old), "-D", str(new),
        "-b", str(postgres.programs(16)), "-B", str(postgres.programs(18)),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    stack.callback(embedded.stop, new)
    return trace, embedded.start(new)


@pytest.mark.nightly
@pytest.mark.parametrize("moved", [dumped, pytest.param(upgraded, marks=pytest.mark.nightly)])
def test_words_that_another_version_stems_otherwise_are_found_again_once_that_is_repaired(
    request: pytest.FixtureRequest,
    ways: Ways,
    moved: Callable[[pytest.FixtureRequest, Ways, ExitStack], tuple[UUID, str]],
) -> None:
    with ExitStack() as stack:
        trace, dsn = moved(request, ways, stack)
        migrate.migrate(dsn, force=True)
        new = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        assert found(new, "added") == []
        assert stated(new) == set()
        assert advised(new) == [("corpus chat", False, "ragdb repair chat"), REPAIR]
        assert errors(new) == []
        new.execute("select ragdb.repair_corpus('chat')")
        assert stated(new) == {"atom", "proposal"}
        assert advised(new) == [REPAIR]
        assert any("stemmed" in said for said in migrate.advice(dsn))
        # nobody is said to have edited rows or the index
        assert replayed(new, trace) == ("drifted", "config_changed")
        # what is written now is stemmed by the new one, and says nothing of the rest
        new.execute("select ragdb.create_corpus('later')")
        for corpus in ("docs", "empty", "later"):
            new.execute("select ragdb.put_text(%s, 'later.txt', 'Another text.')", (corpus,))
        assert advised(new) == [REPAIR, ("corpus empty", False, "ragdb repair empty")]
        for corpus in ("docs", "empty"):
            new.execute("select ragdb.repair_corpus(%s)", (corpus,))
        assert found(new, "added") == found(new, "appended") == ["house.txt"]
        assert advised(new) == []
        assert list(migrate.advice(dsn)) == []
        assert replayed(new, trace) == ("same_order", "config_changed")
        assert new.execute("select * from ragdb.check_corpus('docs')").fetchall() == []
        assert errors(new) == []
