"""A dump holds everything: of a migrated and of an extension-installed database, on one version and to a newer."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.server import migrate, postgres
from tests.conftest import Server
from tests.schema.conftest import Ways
from tests.schema.facts import difference, facts
from tests.schema.fill import MONTHS, answers, fill, rows

# by day each way once, and each version
BY_DAY = [(18, 18, "extension"), (16, 18, "migrate")]
BY_NIGHT = [(18, 18, "migrate"), (16, 16, "extension"), (16, 16, "migrate"), (16, 18, "extension")]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("source", "target", "way"),
    [*BY_DAY, *(pytest.param(*case, marks=pytest.mark.nightly) for case in BY_NIGHT)],
)
def test_what_is_dumped_and_restored_is_the_same(
    request: pytest.FixtureRequest, ways: Ways, tmp_path: Path, source: int, target: int, way: str
) -> None:
    old: Server = request.getfixturevalue(f"server{source}")
    new: Server = request.getfixturevalue(f"server{target}")
    with ExitStack() as stack:
        before = ways.database(old, way, stack)
        with psycopg.connect(before) as connection:
            fill(connection)
        after = ways.database(new, "empty", stack)
        if way == "extension":
            ways.offer_extension(new)
        dump = tmp_path / "dump"
        subprocess.run(
            [postgres.binary("pg_dump", target), "-Fc", "-f", dump, "-d", before], check=True
        )
        subprocess.run(
            [postgres.binary("pg_restore", target), "--single-transaction", "-d", after, dump],
            check=True,
        )
        with psycopg.connect(before) as one, psycopg.connect(after) as other:
            page = one.execute("select source, next from ragdb.events_after()").fetchall()
            filled = rows(one)
            assert len([table for table, (count, _) in filled.items() if count]) > 12
            for month in MONTHS:
                assert filled[f"retrieval_traces_{month[:7].replace('-', '_')}"][0] == 1
            assert rows(other) == filled
            if source == target:
                assert difference(facts(other), facts(one)) == ""
                # so all of it is verified
                changes = other.execute("select * from ragdb_internal.code_changes()")
                assert changes.fetchall() == []
            assert answers(other) == answers(one)
        migrate.migrate(after, force=True)
        with psycopg.connect(after) as other:
            assert rows(other) == filled
            # the restored database goes on
            other.execute("select * from ragdb.put_text('docs', 'c.txt', 'One more.')")
            # and who followed the events of the other one goes on here
            came = other.execute(
                "select source from ragdb.events_after(%s)", (Jsonb(page[-1][1]),)
            ).fetchall()
            assert came == [("c.txt",)]
            other.execute("select * from ragdb.retrieve('docs', 'one more')")
            other.execute("select ragdb.drop_corpus('docs')")


# by day each is shown beside another claim: the facts in test_upgrade, the rows above
@pytest.mark.nightly
def test_migrating_again_keeps_all_facts_the_rows_the_partitions_and_their_triggers(
    any_version: Server, ways: Ways
) -> None:
    with ExitStack() as stack:
        dsn = ways.database(any_version, "migrate", stack)
        with psycopg.connect(dsn) as connection:
            fill(connection)
            before = facts(connection), rows(connection), answers(connection)
        assert not migrate.migrate(dsn)
        assert migrate.migrate(dsn, force=True)
        with psycopg.connect(dsn) as connection:
            assert difference(before[0], facts(connection)) == ""
            assert (rows(connection), answers(connection)) == before[1:]
