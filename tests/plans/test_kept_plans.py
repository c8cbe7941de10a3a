"""A session that goes on in tables that were analyzed while empty reads no more than it began with.

Plans are kept, and those of empty tables look through them. Where autovacuum is off, nobody but who
writes has them made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection
from tests.documents import document
from tests.plans import matrix

READ = """
  select coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::integer from pg_class c
  where c.relkind in ('r', 'i') and c.relnamespace = 'ragdb'::regnamespace and c.relname ~ %s
"""


@pytest.fixture
def session(any_clone: str) -> Iterator[Connection]:
    with psycopg.connect(any_clone) as db:
        db.execute("select ragdb.create_corpus('c')")
        db.execute("select ragdb.maintain()")
        matrix.analyze(db)
        yield db


def read_by_last(db: Connection, tables: str, calls: int, call: Callable[[int], object]) -> int:
    """The rows of tables, a pattern, that the last of some calls reads."""
    for n in range(calls):
        before = db.execute(READ, (tables,)).fetchall()[0][0]
        call(n)
        after = db.execute(READ, (tables,)).fetchall()[0][0]
        # counted at once: no test waits for PostgreSQL to count what was written
        db.execute("select pg_stat_force_next_flush()")
        db.commit()
    return int(after - before)


def put(db: Connection, *numbers: int) -> None:
    matrix.put(db, "c", [document(f"{n}.md", [f"common w{n}"]) for n in numbers])


@pytest.mark.nightly
@OLDER_BY_NIGHT
def test_a_session_that_records_much_reads_its_traces_by_key(session: Connection) -> None:
    put(session, *range(5))

    def ask(n: int) -> None:
        session.execute("select from ragdb.retrieve('c', 'common', 3, mode => 'lexical')")
        session.execute("select ragdb.record_feedback('good', ragdb.last_trace_id())")

    # of the 200 behind the 400th one in eight looks, by its random id: that none does is 2.5e-12
    assert read_by_last(session, "^retrieval_(traces|hits)", 600, ask) < 100


@pytest.mark.nightly
@OLDER_BY_NIGHT
def test_a_session_that_runs_an_eval_often_reads_the_results_of_its_run(
    session: Connection,
) -> None:
    put(session, *range(20))
    text = matrix.CONTRACT.format(corpus="c")
    for n in range(20):
        text += f'    ragCase name=q{n} query="w{n}" topK=2 sources={n}.md\n'
    session.execute("select from ragdb.apply_contract(%s, 'c')", (text,))

    def run(n: int) -> None:
        session.execute("select from ragdb.run_eval('A')")

    # 20 of each are written, and read by some statements; once each read all of 25 runs
    assert read_by_last(session, "^eval_(case|assert)_results", 25, run) < 50 * 40


@OLDER_BY_NIGHT
def test_a_report_of_a_run_that_is_newer_than_statistics_reads_each_result_once(
    session: Connection,
) -> None:
    """The planner, which knows of one run, takes any other for one row: it read all for each."""
    cases = 40
    put(session, *range(cases))
    text = matrix.CONTRACT.format(corpus="c")
    for n in range(cases):
        text += f'    ragCase name=q{n} query="w{n}" topK=2 sources={n}.md\n'
    session.execute("select from ragdb.apply_contract(%s, 'c')", (text,))
    session.execute("select from ragdb.run_eval('A')")
    matrix.analyze(session)
    ((run,),) = session.execute("select run_id from ragdb.run_eval('A')").fetchall()

    def report(n: int) -> None:
        session.execute("select ragdb.eval_report(%s, 'junit')", (run,))

    # a case has two assertions
    read = read_by_last(session, "^eval_assert_results", 1, report)
    assert 2 * cases <= read < 5 * cases


@pytest.mark.by_day(1)
def test_a_case_that_is_added_reads_the_labels_of_each_case_once(session: Connection) -> None:
    put(session, 1)
    matrix.contracted(session, "c")

    def add(n: int) -> None:
        session.execute("select ragdb.add_eval_case('A', 'V', %s, '1.md')", (f"question {n}",))

    assert 0 < read_by_last(session, "^eval_labels", 40, add) < 4 * 40


def test_a_state_that_is_recorded_again_reads_the_last_of_it(session: Connection) -> None:
    def add(n: int) -> None:
        session.execute("select ragdb.add_synonyms('c', %s)", ([f"word{n}", "common"],))

    assert read_by_last(session, "^recorded_states", 30, add) < 10


@pytest.mark.by_day(1)
def test_a_put_of_a_corpus_with_history_reads_its_version(session: Connection) -> None:
    session.execute("select ragdb.keep_history('c', '1 year')")
    # the version before is looked for in the table, which is empty to the planner
    read = read_by_last(session, "^corpus_versions", 60, lambda n: put(session, n))
    assert 0 < read < 100


def test_a_new_document_is_no_copy_of_any_by_looking_at_all(session: Connection) -> None:
    matrix.embedder(session)
    session.execute("select ragdb.embed_corpus('c', 'e')")
    put(session, *range(500))
    session.commit()
    assert read_by_last(session, "^documents_number", 1, lambda n: put(session, 1000)) < 50
