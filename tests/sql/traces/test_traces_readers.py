"""A trace is read by the role that asked and by auditors: by no other reader of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Login, Server


@pytest.fixture(scope="module")
def filled(any_version: Server) -> Iterator[tuple[str, str]]:
    """A database and the id of a trace of `reader`, in a corpus that every reader may read."""
    with any_version.database() as database:
        dsn = any_version.dsn(database.dbname)
        with psycopg.connect(dsn, user="writer", autocommit=True) as writer:
            writer.execute("select ragdb.create_corpus('docs')")
            writer.execute("select ragdb.put_text('docs', 'a.md', 'tulips and daffodils')")
            writer.execute("select ragdb.create_corpus('closed', is_restricted => true)")
            writer.execute("select ragdb.put_text('closed', 'b.md', 'tulips of the vault')")
            writer.execute("select * from ragdb.retrieve('closed', 'tulips')")
        with psycopg.connect(dsn, user="reader", autocommit=True) as reader:
            found = reader.execute("select trace_id from ragdb.retrieve('docs', 'tulips')")
            ((trace,),) = found.fetchall()
        yield dsn, str(trace)


@pytest.fixture
def asked(any_version: Server, filled: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """DSN of a copy of it, and the trace."""
    dsn, trace = filled
    with any_version.copied(dsn) as copied:
        yield copied, trace


@pytest.fixture(scope="module")
def session(any_version: Server, filled: tuple[str, str]) -> Iterator[Callable[[str], Connection]]:
    """session(role) is the connection of a login to a copy of it, which all tests share."""
    with any_version.copied(filled[0]) as dsn, ExitStack() as stack:

        def connect(role: str) -> Connection:
            return stack.enter_context(psycopg.connect(dsn, user=role, autocommit=True))

        yield cache(connect)


READS = (
    "get_trace('{0}')",
    "find_trace('{0}')",
    "trace_hits('{0}')",
    "verify_trace('{0}')",
    "trace_reranks('{0}')",
    "provenance('{0}')",
    "trace_stages('{0}')",
    "replay('{0}')",
    "build_evidence_pack(trace_id => '{0}')",
    "promote_to_atom('{0}', array[]::text[], 'said')",
    "why_not('{0}', 'x')",
)


def ended(db: Connection, call: str) -> str:
    """The SQLSTATE of a call, of which nothing stays."""
    try:
        with db.transaction(force_rollback=True):
            db.execute(f"select * from ragdb.{call}").fetchall()
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return ""


def queries(db: Connection, view: str) -> set[Any]:
    return {row for (row,) in db.execute(f"select query_text from {view}").fetchall()}


@pytest.mark.parametrize("call", READS)
def test_another_reader_cannot_open_a_trace(
    session: Callable[[str], Connection], filled: tuple[str, str], call: str
) -> None:
    call = call.format(filled[1])
    for role in ("reader2", "writer", "admin"):
        assert ended(session(role), call) == "RG407"
    for role in ("reader", "auditor"):
        assert ended(session(role), call) != "RG407"


def test_a_superuser_who_acts_as_an_admin_has_its_own_traces(
    asked: tuple[str, str], login: Login
) -> None:
    dsn, _ = asked
    listed = "select t.query_text, count(h) from ragdb.list_traces() t, ragdb.trace_hits(t.id) h"
    listed += " group by 1"
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("select ragdb.retrieve('docs', 'daffodils')")
        with db.transaction(force_rollback=True):
            db.execute("create role clerk in role ragdb_admin")
            db.execute("set role ragdb_admin")
            assert db.execute(listed).fetchall() == [("daffodils", 1)]
            # nobody else who is an admin
            db.execute("set role clerk")
            assert db.execute(listed).fetchall() == []
    for role in ("admin", "writer"):
        assert ("daffodils", 1) not in login(dsn, role).execute(listed).fetchall()


def test_each_lists_their_own_and_an_auditor_all(asked: tuple[str, str], login: Login) -> None:
    dsn, _ = asked
    listed = "select query_text, corpus from ragdb.list_traces() order by corpus"
    assert login(dsn, "reader").execute(listed).fetchall() == [("tulips", "docs")]
    for role in ("reader2", "admin"):
        assert login(dsn, role).execute(listed).fetchall() == []
    assert login(dsn, "writer").execute(listed).fetchall() == [("tulips", "closed")]
    auditor = login(dsn, "auditor", autocommit=True)
    assert auditor.execute(listed).fetchall() == [("tulips", "closed"), ("tulips", "docs")]
    assert len(auditor.execute("select * from ragdb.list_traces('closed')").fetchall()) == 1
    # the text of what was found is not the auditor's
    assert ended(auditor, "search('closed', 'tulips')") == "RG404"
    hidden = auditor.execute("select id from ragdb.list_traces('closed')").fetchone()
    assert hidden is not None
    assert ended(auditor, f"trace_hits('{hidden[0]}')") == ""
    for call in ("replay", "replay_hits"):
        assert ended(auditor, f"{call}('{hidden[0]}')") == "RG407"
    assert ended(auditor, f"build_evidence_pack(trace_id => '{hidden[0]}')") == "RG407"


def test_a_personal_corpus_is_closed_to_auditors(asked: tuple[str, str], login: Login) -> None:
    dsn, _ = asked
    reader = login(dsn, "reader", autocommit=True)
    reader.execute("select ragdb.create_corpus('personal')")
    reader.execute("select ragdb.put_text('personal', 'c.md', 'my tulips')")
    row = reader.execute("select trace_id from ragdb.retrieve('personal', 'tulips')").fetchone()
    assert row is not None
    auditor = login(dsn, "auditor", autocommit=True)
    assert ended(auditor, f"get_trace('{row[0]}')") == "RG407"
    names = auditor.execute("select distinct corpus from ragdb.list_traces()").fetchall()
    assert ("personal",) not in names


@pytest.mark.parametrize("view", ["bi.fact_retrieval", "bi.retrieval_traces"])
def test_dashboards_count_what_others_asked_and_do_not_tell_it(
    asked: tuple[str, str], login: Login, view: str
) -> None:
    dsn, trace = asked
    key = "trace_id" if view == "bi.fact_retrieval" else "id"
    hash_of = f"select query_hash from {view} where {key} = '{trace}'"
    for role in ("bi_reader", "reader2", "admin"):
        other = login(dsn, role, autocommit=True)
        assert queries(other, view) == {None}
        assert other.execute(hash_of).fetchall() == [(None,)]
        counted = f"select count(*) from {view} where corpus = 'docs'"
        assert other.execute(counted).fetchall() == [(1,)]
    assert queries(login(dsn, "reader"), view) == {"tulips"}
    assert login(dsn, "auditor").execute(hash_of).fetchall()[0][0] is not None


GUESSED_BY = {
    "retrieval_traces": ("result_hash",),
    "traces_otel": ('"ragdb.result.hash"',),
    "fact_answer": ("pack_hash", "answer_hash"),
    "fact_gate": ("pack_hash",),
    "fact_citation": ("start_offset", "end_offset"),
}


@pytest.mark.by_day(1)
def test_no_hash_is_shown_by_which_a_guess_of_a_question_could_be_tried(
    asked: tuple[str, str], login: Login
) -> None:
    dsn, _ = asked
    login(dsn, "reader", autocommit=True).execute(
        "select ragdb.ask('docs', 'tulips and daffodils')"
    )
    for view, columns in GUESSED_BY.items():
        for column in columns:
            shown = f"select count(*), count({column}) from bi.{view} where {{}} = 'docs'"
            shown = shown.format('"gen_ai.data_source.id"' if view == "traces_otel" else "corpus")
            for role in ("bi_reader", "reader2", "writer", "admin"):
                rows, told = login(dsn, role).execute(shown).fetchall()[0]
                assert rows > 0
                assert told == 0, (view, column, role)
            assert login(dsn, "auditor").execute(shown).fetchall()[0][1] > 0


def test_an_auditor_may_be_a_login_of_a_bi_tool(asked: tuple[str, str]) -> None:
    dsn, _ = asked
    with psycopg.connect(dsn) as owner:
        owner.execute("grant ragdb_auditor to stranger")
        owner.execute("set role stranger")
        assert queries(owner, "bi.fact_retrieval") == {"tulips"}
        owner.rollback()


def test_the_traces_of_a_dropped_role_are_not_the_next_ones(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.put_text('docs', 'a.md', 'tulips')")
    any_db.execute("create role carol in role ragdb_reader")
    any_db.execute("set role carol")
    any_db.execute("select * from ragdb.retrieve('docs', 'tulips')")
    count = "select count(*) from ragdb.list_traces()"
    assert any_db.execute(count).fetchone() == (1,)
    any_db.execute("reset role")
    any_db.execute("drop role carol")
    any_db.execute("create role carol in role ragdb_reader")
    any_db.execute("create role caroline in role ragdb_reader")
    any_db.execute("set role carol")
    assert any_db.execute(count).fetchone() == (0,)
    any_db.execute("reset role")
    any_db.execute("select ragdb.bind_role('carol', 'caroline')")
    for role, found in (("carol", 0), ("caroline", 1)):
        any_db.execute(f"set role {role}")
        assert any_db.execute(count).fetchone() == (found,)
        any_db.execute("reset role")


def test_questions_to_compare_embedders_by_are_ones_own(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.put_text('docs', 'a.md', 'tulips')")
    any_db.execute("set role reader")
    any_db.execute("select * from ragdb.retrieve('docs', 'who sells tulips')")
    any_db.execute("reset role")
    questions = "select query from ragdb.space_questions('docs') where origin = 'trace'"
    any_db.execute("set role admin")
    assert any_db.execute(questions).fetchall() == []
    any_db.execute("reset role")
    any_db.execute("set role auditor")
    with pytest.raises(psycopg.Error, match="no admin right"), any_db.transaction():
        any_db.execute(questions)
