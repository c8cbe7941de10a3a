"""A database of an older major version of PostgreSQL in a newer one, whose stemmers differ in a few words."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from ragdb.server import migrate, postgres
from tests.schema.conftest import Ways

TEXT = "Two rooms were added to the house."


def advised(connection: psycopg.Connection) -> list[tuple[str, bool, str]]:
    return connection.execute("select subject, is_fault, fix from ragdb.advice()").fetchall()


def replayed(connection: psycopg.Connection, trace: tuple[UUID] | None) -> tuple[str, str | None]:
    (said,) = connection.execute("select verdict, cause from ragdb.replay(%s)", trace).fetchall()
    return said


def found(connection: psycopg.Connection, query: str) -> list[str]:
    return [
        source
        for (source,) in connection.execute(
            "select source from ragdb.search('docs', %s, mode => 'lexical', typos => false)",
            (query,),
        )
    ]


def test_words_that_another_version_stems_otherwise_are_found_again_once_that_is_repaired(
    request: pytest.FixtureRequest, ways: Ways, tmp_path: Path
) -> None:
    servers = [request.getfixturevalue(f"server{version}") for version in (16, 18)]
    with ExitStack() as stack:
        before, after = (
            ways.database(server, way, stack)
            for server, way in zip(servers, ("migrate", "empty"), strict=True)
        )
        with psycopg.connect(before) as old:
            old.execute("select ragdb.create_corpus('docs')")
            old.execute("select ragdb.create_corpus('empty')")
            old.execute("select ragdb.put_text('docs', 'house.txt', %s)", (TEXT,))
            old.execute("select ragdb.add_synonyms('docs', '{added,appended}')")
            assert found(old, "added") == found(old, "appended") == ["house.txt"]
            assert advised(old) == []
            recorded = old.execute("select (ragdb.retrieve('docs', 'added')).trace_id").fetchone()
        restore(before, after, tmp_path / "dump")
        migrate.migrate(after, force=True)
        with psycopg.connect(after, autocommit=True) as new:
            assert found(new, "added") == []
            # nobody is said to have edited rows or the index
            assert replayed(new, recorded) == ("drifted", "config_changed")
            told = [("corpus docs", False, "ragdb repair docs")]
            assert advised(new) == told
            # what is written now is stemmed by the new one, and says nothing of the rest
            new.execute("select ragdb.create_corpus('later')")
            for corpus in ("docs", "empty", "later"):
                new.execute("select ragdb.put_text(%s, 'later.txt', 'Another text.')", (corpus,))
            assert advised(new) == [*told, ("corpus empty", False, "ragdb repair empty")]
            for corpus in ("docs", "empty"):
                new.execute("select ragdb.repair_corpus(%s)", (corpus,))
            assert found(new, "added") == found(new, "appended") == ["house.txt"]
            assert advised(new) == []
            assert replayed(new, recorded) == ("same_order", "config_changed")
            assert new.execute("select * from ragdb.check_corpus('docs')").fetchall() == []
            said = new.execute("select place from ragdb.verify() where severity <> 'note'")
            assert said.fetchall() == []


def restore(before: str, after: str, dump: Path) -> None:
    subprocess.run([postgres.binary("pg_dump", 18), "-Fc", "-f", dump, "-d", before], check=True)
    subprocess.run(
        [postgres.binary("pg_restore", 18), "--single-transaction", "-d", after, dump], check=True
    )
