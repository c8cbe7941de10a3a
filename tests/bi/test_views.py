"""The views of schema bi have plain columns with correct values, and exactly the right rows."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.conftest import Connection

# Each lists what breaks the rule.
RULES = {
    "no column is json, a vector, bytes or an array": """
      select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        join pg_type t on t.oid = a.atttypid
      where c.relnamespace = 'bi'::regnamespace
        and t.typname not in ('text', 'int4', 'int8', 'float8', 'numeric', 'bool', 'timestamptz', 'date')""",
    "there are only views, and they are security barriers of the owner": """
      select c.relname::text from pg_class c where c.relnamespace = 'bi'::regnamespace
        and (c.relkind <> 'v' or c.reloptions is distinct from '{security_barrier=true}' or c.relowner <> 'ragdb_owner'::regrole)""",
    "an id is text or bigint": """
      select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'bi'::regnamespace and a.attname ~ '(^|[_.])id$' and a.atttypid::regtype not in ('text', 'bigint')""",
    "_at is a timestamptz, and a timestamptz is _at": """
      select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'bi'::regnamespace and (a.attname ~ '_at$') <> (a.atttypid = 'timestamptz'::regtype)""",
    "_ms, _ratio and _score are floats": """
      select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'bi'::regnamespace and a.attname ~ '_(ms|ratio|score)$' and a.atttypid <> 'float8'::regtype""",
    "is_ is a boolean, and a boolean is_": """
      select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'bi'::regnamespace and (a.attname ~ '(^|[.])is_') <> (a.atttypid = 'boolean'::regtype)
        -- that name is the table's
        and (c.relname, a.attname) <> ('retrieval_traces', 'admissibility_shortfall')""",
    "all have a comment that is a sentence": """
      select c.relname || coalesce('.' || a.attname, '') from pg_class c
        left join pg_attribute a on a.attrelid = c.oid and a.attnum >= 0
      where c.relnamespace = 'bi'::regnamespace and coalesce(col_description(c.oid, a.attnum), '') !~ '^[A-Z1-9_a-z].*[.]$'
        or c.relnamespace = 'bi'::regnamespace and coalesce(obj_description(c.oid, 'pg_class'), '') !~ '^[A-Z].*[.]$'""",
}

BREACHES = {
    "no column is json, a vector, bytes or an array": "create view bi.v as select '{}'::jsonb as x",
    "there are only views, and they are security barriers of the owner": "create view bi.v as select 1 as x",
    "an id is text or bigint": "create view bi.v as select gen_random_uuid() as thing_id",
    "_at is a timestamptz, and a timestamptz is _at": "create view bi.v as select now() as day",
    "_ms, _ratio and _score are floats": "create view bi.v as select 1 as elapsed_ms",
    "is_ is a boolean, and a boolean is_": "create view bi.v as select true as admissible",
    "all have a comment that is a sentence": "create view bi.v as select 1 as x",
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(any_db: Connection, rule: str) -> None:
    assert any_db.execute(RULES[rule].encode()).fetchall() == []


@pytest.mark.parametrize("rule", RULES)
def test_a_breach_is_seen(any_db: Connection, rule: str) -> None:
    any_db.execute("set role ragdb_owner")
    any_db.execute(BREACHES[rule].encode())
    assert any_db.execute(RULES[rule].encode()).fetchall() != []


def test_the_views_of_the_specification_are_there(any_db: Connection) -> None:
    views = {n for (n,) in any_db.execute("select viewname from pg_views where schemaname = 'bi'")}
    assert views >= {
        "retrieval_traces", "fact_retrieval", "fact_retrieved_chunk", "fact_citation", "fact_assertion",
        "fact_eval_metric", "fact_run_metric", "dim_error", "dim_corpus", "dim_source", "dim_policy", "dim_embedding_model",
        "dim_case", "dim_date", "agg_retrieval_day", "agg_retrieval_hour", "metric_definitions",
        "traces_otel",
    }  # fmt: skip


# ---- every row, once ----------------------------------------------------------------------------

BASES = {
    "retrieval_traces": "retrieval_traces",
    "fact_retrieval": "retrieval_traces",
    "traces_otel": "retrieval_traces",
    "fact_retrieved_chunk": "retrieval_hits",
    "fact_gate": "evidence_gates",
    "fact_answer": "evidence_answers",
    "fact_citation": "answer_citations",
    "fact_case_result": "eval_case_results",
    "fact_assertion": "eval_assert_results",
    "fact_eval_metric": "eval_metrics where case_no > 0",
    "fact_run_metric": "eval_metrics where case_no = 0",
    "fact_feedback": "evidence_feedback",
    "fact_ingest_job": "ingest_jobs",
    "agg_embedding_backlog": "embedding_spaces where state <> 'retired'",
    "fact_incident": "admissibility_incidents",
    "dim_eval_run": "eval_runs",
    "dim_corpus": "corpora",
    "dim_source": "documents",
    "dim_policy": "slice_policies",
    "dim_embedding_model": "embedders",
}


@pytest.mark.parametrize("view", BASES)
def test_a_fact_has_as_many_rows_as_its_table(owner: Connection, view: str) -> None:
    ((rows,),) = owner.execute(f"select count(*) from bi.{view}").fetchall()
    ((base,),) = owner.execute(f"select count(*) from ragdb.{BASES[view]}").fetchall()
    assert rows == base > 0


@pytest.mark.parametrize(
    ("fact", "column", "dimension"),
    [
        ("fact_retrieval", "corpus_id", "dim_corpus"),
        ("fact_retrieved_chunk", "trace_id", "fact_retrieval"),
        ("fact_retrieved_chunk", "source_id", "dim_source"),
        ("fact_retrieval", "policy_key", "dim_policy"),
        ("agg_retrieval_hour", "policy_key", "dim_policy"),
        ("agg_retrieval_day", "policy_key", "dim_policy"),
        ("fact_retrieval", "error_code", "dim_error"),
        ("agg_retrieval_day", "error_code", "dim_error"),
        ("fact_feedback", "trace_id", "fact_retrieval"),
        ("fact_feedback", "answer_id", "fact_answer"),
        ("fact_stage", "trace_id", "fact_retrieval"),
        ("fact_retrieval", "embedding_model", "dim_embedding_model"),
        ("fact_answer", "trace_id", "fact_retrieval"),
        ("fact_gate", "trace_id", "fact_retrieval"),
        ("fact_citation", "answer_id", "fact_answer"),
        ("fact_citation", "source_id", "dim_source"),
        ("fact_case_result", "trace_id", "fact_retrieval"),
        ("fact_case_result", "case_id", "dim_case"),
        ("fact_assertion", "case_id", "dim_case"),
        ("fact_assertion", "run_id", "dim_eval_run"),
        ("fact_eval_metric", "case_id", "dim_case"),
        ("fact_eval_metric", "run_id", "dim_eval_run"),
    ],
)
def test_a_key_joins_its_dimension_once(
    owner: Connection, fact: str, column: str, dimension: str
) -> None:
    where = " and ".join(f"f.{name} is not null" for name in column.split(", "))
    ((keys,),) = owner.execute(f"select count(*) from bi.{fact} f where {where}").fetchall()
    ((joined,),) = owner.execute(
        f"select count(*) from bi.{fact} join bi.{dimension} using ({column})"
    ).fetchall()
    assert joined == keys > 0


def test_every_fact_and_count_has_a_day_that_joins_the_calendar(owner: Connection) -> None:
    views = owner.execute(
        "select viewname from pg_views where schemaname = 'bi' and viewname <> 'agg_embedding_backlog'"
        " and (viewname ~ '^(fact|agg)_' or viewname = 'dim_eval_run')"
    ).fetchall()
    assert len(views) > 18
    for (view,) in views:
        counts = owner.execute(
            f"select (select count(*) from bi.{view}),"
            f" (select count(*) from bi.{view} join bi.dim_date using (day))"
        ).fetchall()
        assert counts[0][0] == counts[0][1] > 0, view


def test_a_view_has_one_grain(owner: Connection) -> None:
    """Counts by the hour and by the day are two views, which say the same in sum."""
    assert not owner.execute(
        "select from information_schema.columns where table_schema = 'bi' and column_name = 'grain'"
    ).fetchall()
    for view in ("agg_retrieval", "agg_latency", "agg_top_score"):
        hours, days = (
            owner.execute(f"select sum(retrievals) from bi.{view}_{grain}").fetchall()
            for grain in ("hour", "day")
        )
        assert hours == days
        assert hours[0][0] > 0


def test_a_bin_is_labelled_for_people(owner: Connection) -> None:
    for view, end in (("agg_latency_day", "ms"), ("agg_top_score_day", "score")):
        rows = owner.execute(
            f"select distinct bin_no, bin, lower_{end}, upper_{end} from bi.{view} order by bin_no"
        ).fetchall()
        assert len({name for _, name, _, _ in rows}) == len(rows) > 3
        for _, name, lower, upper in rows:
            first, second = (float(part.removesuffix(" ms")) for part in name.split(" to "))
            assert first == pytest.approx(lower, rel=0.06, abs=0.006)
            assert second == pytest.approx(upper, rel=0.06, abs=0.006)
            assert name.endswith(" ms") == (end == "ms")


def test_the_corpora_of_ragdb_itself_are_marked(any_db: Connection) -> None:
    any_db.execute("set role owner")
    any_db.execute("select ragdb.create_corpus('system')")
    any_db.execute("select * from ragdb.put_text('system', 'a.txt', 'A fox.')")
    any_db.execute("select * from ragdb.put_text('docs', 'a.txt', 'A fox.')")
    for corpus in ("system", "docs"):
        any_db.execute("select * from ragdb.retrieve(%s, 'fox')", (corpus,))
    any_db.execute("select ragdb.refresh_rollups()")
    for view in ("dim_corpus", "fact_retrieval", "fact_retrieved_chunk", "agg_retrieval_hour",
                 "agg_retrieval_day", "agg_latency_day"):  # fmt: skip
        marked = any_db.execute(
            f"select distinct corpus, is_internal from bi.{view}"
            " where corpus in ('system', 'docs') order by 1"
        ).fetchall()
        assert marked == [("docs", False), ("system", True)], view


def test_a_code_of_postgresql_has_a_name_even_before_it_is_counted(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    for code in ("57014", "22P02", "42883", "AB123", "RG404"):
        any_db.execute("select ragdb.record_failure('docs', 'q', %s, 31)", (code,))
    named = "select error_code, error, error_class, is_ours from bi.fact_retrieval join bi.dim_error using (error_code) order by 1"
    expected = [
        ("22P02", "invalid_text_representation", "data", False),
        ("42883", "SQLSTATE 42883", "syntax or access rule", False),
        ("57014", "query_canceled", "operator intervention", False),
        ("AB123", "SQLSTATE AB123", "other", False),
        ("RG404", "CorpusNotFound", "ragdb", True),
    ]
    for role in ("postgres", "bi_reader"):
        any_db.execute(f"set role {role}")
        assert any_db.execute(named).fetchall() == expected
    any_db.execute("reset role")
    any_db.execute("select ragdb.refresh_rollups()")
    assert any_db.execute(named).fetchall() == expected


def test_a_hit_is_current_until_its_chunk_changes(owner: Connection) -> None:
    before = owner.execute(
        "select count(*) filter (where is_current), count(*) from bi.fact_retrieved_chunk where corpus = 'demo'"
    ).fetchall()[0]
    assert before[0] == before[1]
    owner.execute(
        "select ragdb.delete_source('demo', source) from bi.dim_source where source like '%lending%'"
    )
    after = owner.execute(
        "select count(*) filter (where is_current), count(*), count(*) filter (where source is null)"
        " from bi.fact_retrieved_chunk where corpus = 'demo'"
    ).fetchall()[0]
    assert after[0] < before[0]
    assert after[1:] == (before[1], before[0] - after[0])


def test_a_span_names_its_documents_as_its_hits(owner: Connection) -> None:
    ((trace_id, documents, inferred),) = owner.execute(
        'select "ragdb.trace.id", "gen_ai.retrieval.documents"::jsonb, "retrieval.documents"::jsonb'
        ' from bi.traces_otel where "error.type" is null and trace_id is not null'
        ' and "gen_ai.retrieval.documents" is not null limit 1'
    ).fetchall()
    hits = owner.execute(
        "select chunk_id, score from bi.fact_retrieved_chunk where trace_id = %s order by rank",
        (trace_id,),
    ).fetchall()
    assert [(d["id"], d["score"]) for d in documents] == hits
    assert [(d["document.id"], d["document.score"]) for d in inferred] == hits


def test_the_calendar_is_the_one_of_iso_8601(any_db: Connection) -> None:
    any_db.execute("set local timezone = 'Pacific/Kiritimati'")
    rows = any_db.execute(
        "select day, year, quarter, month, day_of_month, iso_year, iso_week, iso_weekday, is_weekend from bi.dim_date"
    ).fetchall()
    assert len(rows) in (730, 731)
    for day, year, quarter, month, day_of_month, iso_year, week, weekday, is_weekend in rows:
        assert (year, month, day_of_month) == (day.year, day.month, day.day)
        assert tuple(day.isocalendar()) == (iso_year, week, weekday)
        assert quarter == (day.month + 2) // 3
        assert is_weekend == (weekday > 5)


# ---- who sees what ------------------------------------------------------------------------------


def corpora(db: Connection, role: str) -> set[str]:
    db.execute(f"set role {role}")
    found = {name for (name,) in db.execute("select corpus from bi.dim_corpus").fetchall()}
    seen = {name for (name,) in db.execute("select distinct corpus from bi.fact_retrieval")}
    db.execute("reset role")
    assert seen <= found
    return found


def test_a_chunk_of_a_part_is_counted_once(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('manuals')")
    for part in ("manuals-1", "manuals-2"):
        any_db.execute("select ragdb.create_corpus(%s, part_of => 'manuals')", (part,))
        any_db.execute("select * from ragdb.put_text(%s, 'a.txt', 'A fox and a dog.')", (part,))
    any_db.execute("select * from ragdb.sync_statistics('manuals')")
    counted = any_db.execute(
        "select (select sum(documents) from bi.dim_corpus where corpus ~ '^manuals'),"
        " (select sum(chunks) from bi.dim_corpus where corpus ~ '^manuals'),"
        " (select sum(value) from ragdb.metrics()"
        "  where name = 'ragdb_corpus_chunks' and labels ->> 'corpus' ~ '^manuals')"
    ).fetchall()
    assert counted == [(2, 2, 2)]


@pytest.fixture
def three(any_db: Connection) -> Connection:
    """An open corpus, one granted to a writer, one personal, each with a retrieval."""
    for role, name in (("writer", "open"), ("writer", "closed"), ("reader", "personal")):
        any_db.execute(f"set role {role}")
        any_db.execute("select ragdb.create_corpus(%s)", (name,))
        any_db.execute("select * from ragdb.put_text(%s, 'a.txt', 'A fox and a dog.')", (name,))
        any_db.execute("select * from ragdb.retrieve(%s, 'fox')", (name,))
    any_db.execute("set role admin")
    any_db.execute("select ragdb.grant_corpus('closed', 'writer', 'write')")
    any_db.execute("reset role")
    any_db.execute("select ragdb.refresh_rollups()")
    return any_db


@pytest.mark.parametrize(
    ("role", "seen"),
    [
        ("bi_reader", {"open"}),
        ("reader", {"open"}),
        ("writer", {"open", "closed"}),
        ("admin", {"open", "closed"}),
        ("postgres", {"open", "closed"}),
    ],
)
def test_a_role_sees_what_it_may_read_and_nobody_a_personal_corpus(
    three: Connection, role: str, seen: set[str]
) -> None:
    assert corpora(three, role) == seen


def test_no_view_tells_of_a_corpus_that_is_hidden(three: Connection) -> None:
    views = [v for (v,) in three.execute("select viewname from pg_views where schemaname = 'bi'")]
    ids = dict(three.execute("select name, corpus_id from ragdb.corpora").fetchall())
    three.execute("set role bi_reader")
    told = 0
    for view in views:
        if view in (
            "dim_policy",
            "dim_embedding_model",
            "dim_date",
            "dim_error",
            "metric_definitions",
        ):
            continue
        rows = three.execute(f"select v::text from bi.{view} v").fetchall()
        told += len(rows)
        for (row,) in rows:
            assert "closed" not in row, view
            assert "personal" not in row, view
        columns = three.execute(f"select * from bi.{view} limit 0").description or []
        if "corpus_id" in {column.name for column in columns}:
            found = three.execute(f"select distinct corpus_id from bi.{view}").fetchall()
            assert set(found) <= {(ids["open"],)}
    assert told > 8


def test_a_grant_to_bi_reader_shows_a_closed_corpus(three: Connection) -> None:
    three.execute("set role admin")
    three.execute("select ragdb.grant_corpus('closed', 'bi_reader', 'read')")
    assert corpora(three, "bi_reader") == {"open", "closed"}


def test_a_condition_does_not_see_hidden_rows(three: Connection) -> None:
    """A cheap function that tells what it is given is run after the barrier, not before."""
    three.execute(
        "create function public.tell(text) returns boolean cost 0.0001 language plpgsql as"
        " $$ begin raise notice '%', $1; return true; end $$"
    )
    told: list[str] = []
    three.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
    three.execute("set role bi_reader")
    three.execute(
        "select count(*) from bi.fact_retrieval where public.tell(query_hash || corpus_id)"
    )
    three.execute("select count(*) from bi.fact_retrieved_chunk where public.tell(chunk_id)")
    assert len(told) == 2


def test_the_text_of_queries_is_shown_only_where_the_corpus_keeps_it(three: Connection) -> None:
    three.execute("update ragdb.corpora set record_query_text = 'hash' where name = 'open'")
    three.execute("set role bi_reader")
    for view, column in (
        ("fact_retrieval", "query_text"),
        ("retrieval_traces", "query_text"),
        ("traces_otel", '"input.value"'),
        ("traces_otel", '"gen_ai.retrieval.query.text"'),
    ):
        assert three.execute(f"select {column} from bi.{view}").fetchall() == [(None,)]
    three.execute("reset role")
    three.execute("update ragdb.corpora set record_query_text = 'full' where name = 'open'")
    three.execute("set role bi_reader")
    assert three.execute("select query_text from bi.fact_retrieval").fetchall() == [(None,)]
    three.execute("reset role")
    three.execute("grant ragdb_auditor to bi_reader")
    three.execute("set role bi_reader")
    shown = "select query_text from bi.fact_retrieval where corpus = 'open'"
    assert three.execute(shown).fetchall() == [("fox",)]


def test_bi_reader_logs_in_to_read_and_has_half_a_minute(
    clone: str, login: Callable[..., Connection]
) -> None:
    reader = login(clone, "bi_reader")
    for name, value in (
        ("default_transaction_read_only", "on"),
        ("statement_timeout", "30s"),
        ("search_path", "bi, pg_catalog"),
    ):
        assert reader.execute(f"show {name}").fetchall() == [(value,)]
    # the server of the tests has it off for all
    assert reader.execute(
        "select 'jit=off' = any (rolconfig) from pg_roles where rolname = current_user"
    ).fetchall() == [(True,)]
    assert reader.execute("select count(*) from fact_retrieval").fetchall() == [(0,)]
    reader.rollback()
    for statement in (
        "select count(*) from ragdb.retrieval_traces",
        "select * from ragdb.list_corpora()",
        "select * from ragdb.search('docs', 'x')",
        "select * from ragdb.retrieval_rollups",
        "set transaction read write; delete from bi.dim_policy",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(statement.encode())
        reader.rollback()


def test_a_member_of_bi_reader_sees_the_same(three: Connection) -> None:
    three.execute("create role metabase login in role bi_reader")
    assert corpora(three, "metabase") == {"open"}


def test_a_session_of_bi_reader_only_reads_and_has_limits(clone: str) -> None:
    with psycopg.connect(clone, user="bi_reader", autocommit=True) as reader:
        shown = [
            reader.execute(f"show {name}").fetchone()
            for name in ("statement_timeout", "idle_in_transaction_session_timeout")
        ]
        assert shown == [("30s",), ("1min",)]
        # found without its schema
        assert reader.execute("select count(*) from dim_corpus").rowcount == 1
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            reader.execute("create temporary table mine (a int)")
