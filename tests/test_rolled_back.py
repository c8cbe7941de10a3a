"""What one test leaves behind, another does not meet."""

from __future__ import annotations

from tests.conftest import Connection, Server


def told(db: Connection) -> float:
    """How many corpora the planner believes there are; -1 before it was told."""
    ((found,),) = db.execute(
        "select reltuples from pg_class where oid = 'ragdb.corpora'::regclass"
    ).fetchall()
    return float(found)


def test_what_an_analyze_counts_does_not_outlive_its_test(any_version: Server) -> None:
    with any_version.rolled_back() as db:
        assert told(db) == -1
        db.execute("select ragdb.create_corpus('docs')")
        db.execute("analyze ragdb.corpora")
        assert told(db) == 1
    with any_version.rolled_back() as db:
        assert told(db) == -1
