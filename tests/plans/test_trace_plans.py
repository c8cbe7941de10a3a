"""Lists of traces read few rows, whatever the planner believes of how long retrievals take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server

# a second apart; eight of the oldest took three seconds, the others from 5 to 55 ms; every third is
# of a slice, which has five of them, each with a query of its own
FILL = """
insert into ragdb.retrieval_traces (corpus_id, id, created_at, corpus, retrieval_mode, rank_mode,
    limit_requested, limit_returned, corpus_version, is_exact, elapsed_ms, caller, caller_oid,
    trace_hash, query_hash, slice_id, policy_params_hash)
  select k.corpus_id, ragdb_internal.uuid7(t.at),
    ragdb_internal.uuid_time(ragdb_internal.uuid7(t.at)), k.name, 'global', 'lexical', 10, 1, 1,
    true, case when n <= 8 then 3000 else 5 + n %% 1000 / 20.0 end, t.role, t.role::regrole::oid,
    sha256(n::text::bytea), 'query ' || n, case when n %% 3 = 0 then 'slice ' || n / 15 end, 'p'
  from ragdb.corpora k, generate_series(%s::integer, %s::integer) n, lateral (
    select date_trunc('month', now()) + n * interval '1 second' as at,
      case when n %% 2 = 0 then 'ragdb_reader' else 'ragdb_writer' end as role) t
  where k.name = 'docs'
"""
READ = """
select sum(pg_stat_get_xact_tuples_returned(r.oid))::integer from (
  select c.oid from pg_class c where c.relname ~ '^retrieval_traces' and c.relkind = 'r'
  union all
  select i.indexrelid from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relname ~ '^retrieval_traces') r
"""


@pytest.fixture(scope="module", params=[1000, 30_000])
def asked(server18: Server, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A corpus of 30,000 traces, of which the planner has seen the first or all."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as db,
    ):
        db.execute("select ragdb.create_corpus('docs')")
        db.execute("set role ragdb_owner")
        db.execute(FILL, (1, request.param))
        db.execute("analyze ragdb.retrieval_traces")
        db.execute(FILL, (request.param + 1, 30_000))
        db.execute("reset role")
        yield db


def rows_read(db: Connection) -> int:
    ((read,),) = db.execute(READ).fetchall()
    return int(read)


@pytest.mark.parametrize(
    ("role", "given", "found", "most"),
    [
        # those that were slow, wherever they are
        ("ragdb_auditor", "min_elapsed_ms => 2000", 8, 1000),
        ("ragdb_auditor", "min_elapsed_ms => 2000, mode => 'lexical', outcome => 'found'", 8, 1000),
        ("ragdb_auditor", "min_elapsed_ms => 3600000", 0, 1000),
        ("ragdb_reader", "min_elapsed_ms => 2000", 4, 1000),
        # half of them: as many as are counted, and then the latest
        ("ragdb_auditor", "min_elapsed_ms => 30", 50, 12_000),
        ("ragdb_reader", "min_elapsed_ms => 30", 50, 12_000),
        ("ragdb_reader", "", 50, 1000),
        # of a login that acts as admin, who has recorded none either
        ("ragdb_admin", "", 0, 1000),
    ],
)
def test_a_list_of_traces_reads_few(
    asked: Connection, role: str, given: str, found: int, most: int
) -> None:
    statement = f"select id, elapsed_ms, caller from ragdb.list_traces({given})"
    with asked.transaction(force_rollback=True):
        asked.execute(f"set local role {role}")
        # what other transactions have read may not have been reported yet
        before = rows_read(asked)
        rows: list[Any] = asked.execute(statement).fetchall()
        read = rows_read(asked) - before
    assert len(rows) == found
    assert read <= most
    assert role == "ragdb_auditor" or {caller for _, _, caller in rows} <= {role}


def test_a_cited_retrieval_is_found_among_those_of_its_slice(asked: Connection) -> None:
    with asked.transaction(force_rollback=True):
        asked.execute("set local role ragdb_auditor")
        before = rows_read(asked)
        replayed = asked.execute(
            "select t.query_hash from ragdb.replay_cited('docs', 'slice 5', 'query 81', 'p') r"
            " cross join ragdb.get_trace(r.trace_id) t"
        ).fetchall()
        read = rows_read(asked) - before
    assert replayed == [("query 81",)]
    assert read <= 100


@pytest.mark.parametrize(
    ("traces", "is_vacuumed"), [(60, False), (2000, True)], ids=["empty", "amid the first"]
)
def test_a_trace_is_looked_up_by_its_id_whatever_the_planner_knows(
    any_clone: str, traces: int, is_vacuumed: bool
) -> None:
    """Each index that begins with the corpus looked as good as the key, and one was read whole."""
    with (
        psycopg.connect(any_clone, autocommit=True) as db,
        psycopg.connect(any_clone, autocommit=True) as other,
    ):
        db.execute("select ragdb.create_corpus('docs')")
        other.execute("analyze ragdb.retrieval_traces")
        with db.transaction():
            db.execute("set local role ragdb_owner")
            db.execute(FILL, (1, traces))
            if is_vacuumed:
                other.execute("vacuum (analyze, truncate off) ragdb.retrieval_traces")
        ((found,),) = db.execute(
            "select id from ragdb.retrieval_traces order by id offset 30 limit 1"
        ).fetchall()
        with db.transaction():
            before = rows_read(db)
            db.execute("select ragdb.record_feedback('good', %s)", (found,))
            read = rows_read(db) - before
    assert 0 < read <= 3
