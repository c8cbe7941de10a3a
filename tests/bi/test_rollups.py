"""The rollups equal a count of the traces, in whatever order and whenever the traces arrive."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.waiting import after_commit, outcome

# Counted from the traces, by another road than the refresh: by day and without its tables.
COUNTED = """
select date_trunc({grain}, t.created_at at time zone 'UTC') at time zone 'UTC', t.corpus_id, t.retrieval_mode,
  t.rank_mode, t.policy_id || '@' || t.policy_params_hash, t.retriever, t.rag, t.error_code, count(*)::bigint,
  sum((t.error_code is not null)::int)::bigint, sum((t.error_code is null and t.limit_returned = 0)::int)::bigint,
  sum(t.is_admissible::int)::bigint, sum(t.admissibility_shortfall::int)::bigint, sum(t.is_exact::int)::bigint,
  sum(case when t.error_code is null then t.limit_requested else 0 end)::bigint, sum(t.limit_returned)::bigint,
  sum(case when t.error_code is null then round(t.elapsed_ms * 1000) else 0 end)::bigint,
  sum((t.error_code is null and t.elapsed_ms <= 100)::int)::bigint,
  count(h.score)::bigint, coalesce(sum(round(h.score * 1000000)), 0)::bigint
from ragdb.retrieval_traces t left join ragdb.retrieval_hits h on h.trace_id = t.id and h.rank = 1
group by 1, 2, 3, 4, 5, 6, 7, 8
"""
ROLLED = """
select bucket_at, corpus_id, retrieval_mode, rank_mode, policy_key, retriever, rag, error_code, retrievals, errors, zero_results,
  admissible, shortfalls, exact_results, requested_hits, returned_hits, elapsed_us, within_100ms, scored, top_scores_ppm
from ragdb.retrieval_rollups where grain = {grain}
"""
HISTOGRAMS = """
select corpus_id, grain, bucket_at, rank_mode, measure, bin, retrievals from ragdb.histogram_rollups
"""


def rows(db: Connection, query: str, **values: str) -> list[str]:
    for name, value in values.items():
        query = query.replace(f"{{{name}}}", f"'{value}'")
    return sorted(map(str, db.execute(query.encode()).fetchall()))


def agrees(db: Connection) -> int:
    """Assert that hours and days are what a count says; return the number of rows."""
    found = 0
    for grain in ("hour", "day"):
        counted = rows(db, COUNTED, grain=grain)
        assert rows(db, ROLLED, grain=grain) == counted
        found += len(counted)
    for grain in ("hour", "day"):
        ((latencies,),) = db.execute(
            "select coalesce(sum(retrievals), 0) from ragdb.histogram_rollups"
            " where measure = 'latency' and grain = %s", (grain,)
        ).fetchall()  # fmt: skip
        ((returned,),) = db.execute(
            "select count(*) from ragdb.retrieval_traces where error_code is null"
        ).fetchall()
        assert latencies == returned
    return found


def ask(db: Connection, at: str, what: str = "fox", corpus: str = "docs", **how: Any) -> None:
    db.execute("select set_config('ragdb.now', %s, true)", (at,))
    if what == "failed":
        db.execute("select ragdb.record_failure(%s, 'q', '57014', 31)", (corpus,))
    else:
        db.execute("select * from ragdb.retrieve(%s, %s)", (corpus, what))


NOW = "select set_config('ragdb.now', '2031-05-01 00:00:00+00', true)"


def fill(db: Connection) -> None:
    db.execute(NOW)
    for name in ("docs", "other"):
        db.execute("select ragdb.create_corpus(%s)", (name,))
        db.execute("select * from ragdb.put_text(%s, 'a.txt', 'A fox and a dog.')", (name,))


@pytest.fixture
def docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """The superuser there at that time, rolled back after."""
    with any_version.rolled_back(any_filled) as db:
        db.execute(NOW)
        yield db


def test_a_refresh_counts_what_came_and_no_more(docs: Connection) -> None:
    for at in ("2031-05-01 10:00:00+00", "2031-05-01 10:59:59.999+00", "2031-05-01 11:00:00+00"):
        ask(docs, at)
    ask(docs, "2031-05-01 11:10:00+00", "nothing")
    ask(docs, "2031-05-02 00:00:00+00", "failed")
    ask(docs, "2031-05-02 00:00:00+00", corpus="other")
    assert docs.execute("select ragdb.refresh_rollups()").fetchall() == [(4,)]
    assert agrees(docs) == 7
    assert docs.execute("select ragdb.refresh_rollups()").fetchall() == [(0,)]
    before = rows(docs, "select * from ragdb.retrieval_rollups")
    ask(docs, "2031-05-02 00:30:00+00")
    assert docs.execute("select ragdb.refresh_rollups()").fetchall() == [(1,)]
    agrees(docs)
    after = rows(docs, "select * from ragdb.retrieval_rollups")
    # the hours and the day that nothing came for were left alone, times of counting included
    assert len(set(before) & set(after)) == len(before) - 2


def test_late_traces_are_counted(docs: Connection) -> None:
    ask(docs, "2031-05-03 10:00:00+00")
    docs.execute("select ragdb.refresh_rollups()")
    for at in ("2031-05-01 23:59:00+00", "2031-05-03 09:00:00+00", "2029-01-01 00:00:00+00"):
        ask(docs, at)
    assert docs.execute("select ragdb.refresh_rollups()").fetchall() == [(3,)]
    agrees(docs)


def test_random_traffic_refreshed_at_random_is_what_a_recount_says(docs: Connection) -> None:
    chance = random.Random(7)
    for _ in range(60):
        at = f"2031-0{chance.randint(4, 6)}-{chance.randint(1, 28):02} {chance.randint(0, 23):02}:30:00+00"
        ask(
            docs,
            at,
            chance.choice(("fox", "nothing", "failed", "dog")),
            chance.choice(("docs", "other")),
        )
        if chance.random() < 0.15:
            docs.execute("select ragdb.refresh_rollups()")
    docs.execute("select ragdb.refresh_rollups()")
    assert agrees(docs) > 60
    tables = (ROLLED.replace("where grain = {grain}", ""), HISTOGRAMS)
    incremental = [rows(docs, table) for table in tables]
    docs.execute("select ragdb.refresh_rollups(recount => true)")
    assert [rows(docs, table) for table in tables] == incremental


def test_a_recount_mends_what_was_spoilt(docs: Connection) -> None:
    for day in range(1, 6):
        ask(docs, f"2031-05-0{day} 10:00:00+00")
    docs.execute("select ragdb.refresh_rollups()")
    docs.execute("update ragdb.retrieval_rollups set retrievals = retrievals + 1")
    docs.execute("delete from ragdb.histogram_rollups where bucket_at > '2031-05-03'")
    with pytest.raises(AssertionError):
        agrees(docs)
    docs.execute("select ragdb.refresh_rollups(recount => true)")
    agrees(docs)


def test_maintain_refreshes(docs: Connection) -> None:
    ask(docs, "2031-05-01 10:00:00+00")
    docs.execute("set role writer")
    docs.execute("select ragdb.maintain()")
    docs.execute("reset role")
    assert agrees(docs) == 2
    assert docs.execute("select count(*) from ragdb.trace_marks").fetchall() == [(0,)]


def test_a_trace_that_is_committed_after_a_refresh_is_in_the_next(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db, psycopg.connect(clone) as late:
        db.execute("select ragdb.create_corpus('docs')")
        late.execute("select * from ragdb.retrieve('docs', 'fox')")  # recorded, not committed
        db.execute("select * from ragdb.retrieve('docs', 'dog')")
        db.execute("select ragdb.refresh_rollups()")
        assert agrees(db) == 2
        late.commit()
        with pytest.raises(AssertionError):
            agrees(db)
        db.execute("select ragdb.refresh_rollups()")
        assert agrees(db) == 2


def test_two_that_refresh_at_once_count_each_trace_once(clone: str) -> None:
    with psycopg.connect(clone) as one, psycopg.connect(clone, autocommit=True) as two:
        two.execute("alter function ragdb.maintain() set lock_timeout = '100ms'")
        two.execute("select ragdb.create_corpus('docs')")
        two.execute("select * from ragdb.retrieve('docs', 'dog')")
        assert one.execute("select ragdb.refresh_rollups()").fetchall() == [(1,)]
        two.execute("select * from ragdb.retrieve('docs', 'fox')")
        # maintain does not wait for the one that holds the lock, and loses nothing
        assert two.execute("select ragdb.maintain()").fetchall() == []
        one.commit()
        assert two.execute("select ragdb.refresh_rollups()").fetchall() == [(1,)]
        assert agrees(two) == 2


def test_counts_outlive_the_traces(docs: Connection) -> None:
    for at in ("2031-05-01 10:00:00+00", "2031-05-31 10:00:00+00", "2031-06-01 10:00:00+00"):
        ask(docs, at)
    docs.execute("select set_config('ragdb.now', '2031-07-01 00:00:00+00', true)")
    docs.execute("select * from ragdb.drop_traces_before('2031-06-01')")
    ((left,),) = docs.execute("select count(*) from ragdb.retrieval_traces").fetchall()
    assert left == 1
    kept = rows(docs, "select * from bi.agg_retrieval_day")
    assert len(kept) == 3
    docs.execute("select ragdb.refresh_rollups(recount => true)")
    assert docs.execute("select sum(retrievals) from bi.agg_retrieval_day").fetchall() == [(3,)]


@pytest.fixture
def ended(clone: str) -> str:
    """A database with a counted trace in the partition of a month that ended long ago."""
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        ask(db, "2020-01-15 10:00:00+00", "failed")
        db.execute("select ragdb.maintain()")
    return clone


DROP = "select from ragdb.drop_traces_before('2020-02-01')"


def test_counts_outlive_traces_that_go_while_another_is_to_count_again(ended: str) -> None:
    with psycopg.connect(ended) as one, psycopg.connect(ended) as two:
        one.execute(DROP)
        recount = "select ragdb.refresh_rollups(recount => true)"
        assert after_commit(one, two, lambda: outcome(two, recount)) is None
        found = two.execute("select sum(retrievals) from bi.agg_retrieval_day")
        assert found.fetchall() == [(1,)]


def test_who_drops_traces_waits_for_who_has_written_one_and_counts_it(ended: str) -> None:
    with psycopg.connect(ended) as one, psycopg.connect(ended) as two:
        ask(one, "2020-01-16 10:00:00+00", "failed")
        hits = "lock table ragdb.retrieval_hits in row exclusive mode"  # as a retrieval goes on
        dropped = after_commit(
            one, two, lambda: outcome(two, DROP), before=lambda: one.execute(hits)
        )
        assert dropped is None
        found = two.execute("select sum(retrievals) from bi.agg_retrieval_day")
        assert found.fetchall() == [(2,)]


def test_who_maintains_and_who_drops_traces_wait_for_each_other(ended: str) -> None:
    with psycopg.connect(ended) as one, psycopg.connect(ended) as two:
        ask(one, "2020-02-15 10:00:00+00", "failed")
        one.commit()
        one.execute("select ragdb.refresh_rollups()")  # as upkeep begins that finds months due
        one.execute("select set_config('ragdb.now', '2040-01-01 00:00:00+00', true)")
        upkeep = "select ragdb.maintain()"
        dropped = after_commit(
            one, two, lambda: outcome(two, DROP), before=lambda: one.execute(upkeep)
        )
        assert dropped is None


def test_who_makes_partitions_for_rows_waits_for_who_has_written_a_trace(ended: str) -> None:
    with psycopg.connect(ended) as one, psycopg.connect(ended) as two:
        ask(one, "2019-05-15 10:00:00+00", "failed")  # no partition has its month
        one.commit()
        ask(one, "2020-01-16 10:00:00+00", "failed")
        answers = "lock table ragdb.evidence_answers in row exclusive mode"  # as ragdb.ask goes on
        upkeep = "select ragdb.maintain()"
        made = after_commit(
            one, two, lambda: outcome(two, upkeep), before=lambda: one.execute(answers)
        )
        assert made is None


def test_a_latency_is_in_its_bin(any_db: Connection) -> None:
    for elapsed in (0, 0.001, 0.03, 0.5, 1, 1.0001, 9.9, 10, 3000, 1e9):
        ((bin_no,),) = any_db.execute(
            "select ragdb_internal.latency_bin(%s)", (float(elapsed),)
        ).fetchall()
        lower, upper = 2 ** (bin_no / 4), 2 ** ((bin_no + 1) / 4)
        assert elapsed < upper or bin_no == 80
        assert elapsed >= lower * (1 - 1e-12) or bin_no == -20


def test_the_percentiles_of_the_dashboard_are_near_the_true_ones(clone: str) -> None:
    import statistics

    from tests.bi.conftest import expanded, sent

    (latency,) = (one for one in sent() if one.name == "operations Latency")
    chance = random.Random(3)
    times = sorted(chance.lognormvariate(3, 0.8) for _ in range(4000))
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('demo')")
        db.execute(
            "insert into ragdb.retrieval_traces (corpus_id, id, created_at, corpus, retrieval_mode, rank_mode,"
            " limit_requested, limit_returned, corpus_version, is_exact, elapsed_ms, caller,"
            " caller_oid, trace_hash)"
            " select 1, gen_random_uuid(), date_trunc('hour', now()), 'demo', 'global', 'lexical', 1, 0, 1, true, t, 'x', 10, ''"
            " from unnest(%s::float8[]) t",
            (times,),
        )
        db.execute("select ragdb.refresh_rollups(recount => true)")
        ((_, p50, p95, p99),) = db.execute(expanded(latency.sql).encode()).fetchall()
    cuts = statistics.quantiles(times, n=100)
    for shown, true in ((p50, cuts[49]), (p95, cuts[94]), (p99, cuts[98])):
        assert abs(float(shown) / true - 1) < 0.03


def test_a_null_is_refused(any_db: Connection) -> None:
    with pytest.raises(psycopg.DatabaseError) as caught:
        any_db.execute("select ragdb.refresh_rollups(null)")
    assert caught.value.sqlstate == "RG400"


def test_traffic_is_what_was_recorded_with_the_hours_in_which_nothing_was(docs: Connection) -> None:
    for at, what in (("00:10", "fox"), ("00:40", "absent"), ("03:05", "fox")):
        ask(docs, f"2031-05-01 {at}+00", what)
    ask(docs, "2031-05-01 03:06+00", "failed")
    docs.execute("select ragdb.refresh_rollups()")
    found = docs.execute(
        "select extract(hour from bucket_at at time zone 'UTC')::integer, found, nothing_found,"
        " failed, p50_ms is null from ragdb.traffic('2031-05-01 00:30+00', '2031-05-01 05:00+00')"
    ).fetchall()
    assert found == [
        (0, 1, 1, 0, False),
        (1, 0, 0, 0, True),
        (2, 0, 0, 0, True),
        (3, 1, 0, 1, False),
        (4, 0, 0, 0, True),
    ]
    days = docs.execute(
        "select grain, sum(found)::integer, count(*) from ragdb.traffic('2031-04-25', '2031-05-08')"
        " group by grain"
    ).fetchall()
    assert days == [("day", 2, 13)]


def test_traffic_of_ten_years_has_all_their_days(docs: Connection) -> None:
    traffic = "select count(*) from ragdb.traffic('2016-01-01 00:00+00', '2026-01-01 00:00+00')"
    assert docs.execute(traffic).fetchone() == ((date(2026, 1, 1) - date(2016, 1, 1)).days,)


@pytest.mark.parametrize(
    "span",
    [
        *("null, now()", "now(), now()", "'-infinity', now()", "now(), 'infinity'"),
        *("'2016-01-01', '2026-01-02'", "'0001-01-01', '294276-01-01'"),
    ],
)
def test_traffic_wants_a_span(docs: Connection, span: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        docs.execute(f"select ragdb.traffic({span})")
    assert raised.value.sqlstate == "RG400"
