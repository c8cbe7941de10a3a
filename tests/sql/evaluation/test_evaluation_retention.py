"""Old runs are dropped on record, but baselines and the latest of each eval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.processor import spent
from tests.refusal import refused
from tests.sql.evaluation.test_evaluation_runs import REFUNDS, contract, run
from tests.waiting import after_commit

YEARS = (2019, 2020, 2021, 2022)
DROP = "select * from ragdb.drop_eval_runs_before('2022-01-01', 'the project ended')"


def in_years(db: Connection) -> dict[int, Any]:
    """The run of an eval in each of some years."""
    made = {}
    for year in YEARS:
        pin(db, year)
        made[year] = run(db, contract(REFUNDS))["run_id"]
    return made


def pin(db: Connection, year: int) -> None:
    db.execute("select set_config('ragdb.now', %s, false)", (f"{year}-06-01 00:00:00+00",))


def findings(db: Connection) -> set[tuple[str, str]]:
    return set(db.execute("select finding, kind from ragdb.verify_ledger()").fetchall())


def left(db: Connection) -> set[Any]:
    return {run_id for (run_id,) in db.execute("select run_id from ragdb.eval_runs").fetchall()}


@pytest.fixture
def any_db(any_version: Server) -> Iterator[Connection]:
    with any_version.rolled_back() as db:
        db.execute("select ragdb.create_corpus('docs')")
        yield db


def test_old_runs_go_with_what_hangs_from_them_and_an_act_names_each(any_db: Connection) -> None:
    db = any_db
    runs = in_years(db)
    db.execute("select ragdb.bless_run(%s)", (runs[2020],))
    db.execute("select ragdb.seal_ledger()")
    db.execute("set local role admin")
    assert db.execute(DROP).fetchall() == [("docs", 2)]
    assert db.execute(DROP).fetchall() == []
    db.execute("reset role")
    assert left(db) == {runs[2020], runs[2022]}
    for table in ("eval_case_results", "eval_assert_results", "eval_metrics"):
        rows = db.execute(f"select distinct run_id from ragdb.{table}".encode()).fetchall()
        assert {run_id for (run_id,) in rows} <= left(db), table
    db.execute("select ragdb.seal_ledger()")
    # the clock was pinned: that alone is found
    assert {finding for finding, _ in findings(db)} <= {"late", "ahead"}
    ((acted, reason),) = db.execute(
        "select entries, reason from ragdb.list_ledger_acts() where act = 'erasure'"
    ).fetchall()
    assert {e.partition("/")[2] for e in acted} == {str(runs[2019]), str(runs[2021])}
    assert reason == "runs of evals before 2022-01-01: the project ended"
    # the fence: without the act they are missing
    db.execute("alter table ragdb.ledger_acts disable trigger user")
    db.execute("delete from ragdb.ledger_acts")
    assert ("row_missing", "run") in findings(db)


def test_the_latest_run_of_an_eval_stays_however_old_it_is(db: Connection) -> None:
    runs = in_years(db)
    pin(db, 2026)
    dropped = db.execute("select * from ragdb.drop_eval_runs_before('2026-01-01')").fetchall()
    assert dropped == [("docs", 3)]
    assert left(db) == {runs[2022]}


def test_the_latest_run_of_each_eval_of_a_rag_stays(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    text = contract(REFUNDS) + "  ragEval name=W mode=contract\n" + REFUNDS
    pin(db, 2018)
    other = run(db, text, eval="W")["run_id"]
    for year in (2019, 2020):
        pin(db, year)
        latest = run(db, eval="V")["run_id"]
    pin(db, 2026)
    assert db.execute(DROP).fetchall() == [("docs", 1)]
    assert left(db) == {other, latest}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("null", "before is null"),
        ("'2100-01-01'", "before is in the future"),
        ("'2020-01-01', repeat('x', 10001)", "the reason has 10001 characters"),
    ],
)
def test_what_is_no_past_day_is_refused(db: Connection, given: str, said: str) -> None:
    error = refused(db, f"select ragdb.drop_eval_runs_before({given})")
    assert (error.sqlstate, error.diag.message_primary) == ("RG400", said)


def test_of_a_drop_and_a_blessing_at_once_the_first_wins(clone: str) -> None:
    with psycopg.connect(clone) as blessing, psycopg.connect(clone) as dropping:
        blessing.execute("select ragdb.create_corpus('docs')")
        runs = in_years(blessing)
        blessing.commit()
        bless = "select ragdb.bless_run(%s)"
        blessing.execute(bless, (runs[2019],))
        dropped = after_commit(blessing, dropping, lambda: dropping.execute(DROP).fetchall())
        assert dropped == [("docs", 2)]
        dropping.rollback()
        # the other way round
        dropping.execute(DROP)
        with pytest.raises(psycopg.DatabaseError) as raised:
            after_commit(dropping, blessing, lambda: blessing.execute(bless, (runs[2020],)))
        assert raised.value.sqlstate == "RG443"
        blessing.rollback()
        assert left(blessing) == {runs[2019], runs[2022]}


def test_who_does_not_see_a_baseline_yet_begins_again(clone: str) -> None:
    with psycopg.connect(clone) as blessing, psycopg.connect(clone) as dropping:
        blessing.execute("select ragdb.create_corpus('docs')")
        runs = in_years(blessing)
        blessing.commit()
        dropping.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        dropping.execute("select from ragdb.corpora")
        blessing.execute("select ragdb.bless_run(%s)", (runs[2019],))
        blessing.commit()
        error = refused(dropping, DROP)
        assert (error.sqlstate, error.diag.message_hint) == ("40001", "repeat the transaction")
        dropping.rollback()
        assert dropping.execute(DROP).fetchall() == [("docs", 2)]


def test_old_runs_of_one_eval_are_not_compared_each_with_each(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    run(db, contract(REFUNDS))
    columns = {
        column: column
        for (column,) in db.execute(
            "select attname from pg_attribute where attrelid = 'ragdb.eval_runs'::regclass"
            " and attnum > 0 and not attisdropped"
        ).fetchall()
    } | {
        "run_id": "gen_random_uuid()",
        "created_at": "timestamptz '2021-12-01' - n * interval '1 hour'",
    }

    def took(runs: int) -> float:
        db.execute(
            f"insert into ragdb.eval_runs ({', '.join(columns)}) select"
            f" {', '.join(columns.values())} from ("
            "select * from ragdb.eval_runs order by created_at desc limit 1) r,"
            f" generate_series(1, {runs}) n".encode()
        )
        db.execute("analyze ragdb.eval_runs")
        before = spent(db)
        assert db.execute(DROP).fetchall() == [("docs", runs)]
        return spent(db) - before

    few = took(500)
    assert took(8000) < 16 * few + 0.5
