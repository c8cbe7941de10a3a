"""How fresh the sources of contracts are: what is due, and what a reading changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.refusal import refused

TEXT = """corpus name=docs refresh=1d
  source name=a uri=a.md
  source name=b kind=http uri=https://host/b.html
corpus name=old
  source name=c uri=c.md
"""


@pytest.fixture
def sources(db: Connection) -> Connection:
    db.execute("select * from ragdb.apply_contract(%s, %s)", (TEXT, "c"))
    return db


def listed(db: Connection) -> dict[str, tuple[Any, ...]]:
    query = "select name, documents, failed, read_at is null, is_due from ragdb.list_sources()"
    return {name: tuple(row) for name, *row in db.execute(query).fetchall()}


def test_a_source_that_was_never_read_is_due(sources: Connection) -> None:
    assert listed(sources) == dict.fromkeys("abc", (None, None, True, True))


def test_a_source_is_due_again_when_its_reading_is_as_old_as_refresh(sources: Connection) -> None:
    for corpus, name in (("docs", "a"), ("old", "c")):
        sources.execute("select ragdb.record_reading(%s, %s, 3)", (corpus, name))
    assert listed(sources)["a"] == listed(sources)["c"] == (3, 0, False, False)
    sources.execute("update ragdb.source_readings set read_at = read_at - interval '1 day'")
    found = listed(sources)
    assert found["a"][-1] is True
    # a corpus without refresh takes any age
    assert found["c"][-1] is False


def test_a_reading_of_failures_alone_leaves_a_source_as_old_as_it_was(sources: Connection) -> None:
    sources.execute("select ragdb.record_reading('docs', 'a', 0, 2)")
    assert listed(sources)["a"] == (0, 2, True, True)


def test_sources_are_listed_by_pages_of_contracts_and_those_due_alone(
    sources: Connection,
) -> None:
    for n in range(3):
        text = f"corpus name=more{n}\n  source name=y uri=y.md\n  source name=x uri=x.md\n"
        sources.execute("select ragdb.apply_contract(%s, %s)", (text, f"d{n}"))

    def listed(arguments: str) -> list[str]:
        found = sources.execute(
            f"select contract || '/' || name from ragdb.list_sources({arguments})"
        )
        return [name for (name,) in found.fetchall()]

    others = [f"d{n}/{name}" for n in range(3) for name in "xy"]
    assert listed("") == ["c/a", "c/b", "c/c", *others]
    assert listed("prefix => 'd'") == listed("after => 'c'") == others
    # a page has all sources of its last contract
    assert listed("count => 4") == ["c/a", "c/b", "c/c", *others[:2]]
    assert listed("after => 'd0', count => 1") == others[2:4]
    assert listed("prefix => 'd', after => 'd2'") == []
    sources.execute("select ragdb.record_reading('docs', 'a', 3)")
    sources.execute("select ragdb.record_reading('more0', unnest(array['x', 'y']), 1)")
    assert listed("true, count => 3") == ["c/b", "c/c", *others[2:4]]
    assert refused(sources, "select ragdb.list_sources(count => 0)").sqlstate == "RG400"
    assert refused(sources, "select ragdb.list_sources(after => null)").sqlstate == "RG400"


def refreshed(db: Connection, written: str) -> Any:
    text = TEXT.replace("refresh=1d", f'refresh="{written}"')
    db.execute("select * from ragdb.apply_contract(%s, 'r')", (text,))
    return db.execute("select refresh from ragdb.list_sources() where name = 'a'").fetchall()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("90s", timedelta(seconds=90)),
        (" 5 m ", timedelta(minutes=5)),
        ("1 hour", timedelta(hours=1)),
        ("2 days", timedelta(days=2)),
        ("3w", timedelta(weeks=3)),
    ],
)
def test_refresh_is_a_number_of_units(db: Connection, written: str, meant: timedelta) -> None:
    assert refreshed(db, written) == [(meant,)]


# the server reads ms as milliseconds, and the others not at all
@pytest.mark.parametrize("written", ["5ss", "5ms", "5hs", "5ds", "5ws", "5\u00a0h", "h", "5"])
def test_refresh_in_no_unit_is_refused(db: Connection, written: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        refreshed(db, written)
    assert caught.value.sqlstate == "RG440"


@pytest.mark.parametrize("arguments", ["'', 1", "null, 1", "'a', -1", "'a', null", "'a', 1, -1"])
def test_a_reading_that_cannot_be_is_refused(sources: Connection, arguments: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        sources.execute(f"select ragdb.record_reading('docs', {arguments})")
    assert caught.value.sqlstate == "RG400"
