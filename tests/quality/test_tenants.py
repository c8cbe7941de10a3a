"""What the calls of a tenant tell of another: nothing, whatever is called with whatever is theirs.

Two databases differ by the other tenant alone, or by what another reader asked. Every function and
view that a role may use is called in both, with the ids and names of the other beside its own. An
answer that differs tells of the other; so does one that has its word. A function that is new is
called by itself; one that is not called, or may differ, is named here with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import chain, groupby, islice
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection, Server
from tests.quality.tenants import Tenant, ask, text_of

NOW = "set ragdb.now to '2026-11-20 {}:00+00'"
ONE, OTHER = "tulipwood", "xylotheca"
ASKED = "whistleblower"
NOBODY = str(UUID(int=9))
# what is given where neither tenant says anything
ANY: dict[str, Any] = {
    "text": "x",
    "integer": 1,
    "bigint": 1,
    "double precision": 0.5,
    "boolean": True,
    "jsonb": Jsonb({}),
    "bytea": b"a" * 32,
    "uuid": NOBODY,
    "interval": "1 min",
    "date": "2026-01-01",
    "timestamp with time zone": "2026-01-01",
    "text[]": ["x"],
    "integer[]": [1],
    "uuid[]": [NOBODY],
    "bytea[]": [b"a" * 32],
    "real[]": [0.6, 0.8, 0.0],
    "double precision[]": [0.6, 0.8, 0.0],
}
NOT_CALLED = {
    "embed_query",  # waits for a worker, in transactions of its own
    "claim_embed_jobs",  # any writer may be the worker, as docs/http.md says
}
# what may be another answer, and never one with a word of the other
DIFFERS = {
    # names of corpora and of what contracts declare are theirs who had them first
    *("create_corpus", "put_text", "put_texts", "apply_contract"),
    *("job_status", "advice"),  # count the texts that wait for a worker
    "reembed_corpus",  # returns the number of a space, which are given in turn
}
KNOWN = {"writer": DIFFERS}
# how much was asked and found, by whom, and which chunks were found: not what was asked
COUNTS = {
    *("list_answers", "get_answer", "list_citations", "list_gates"),
    *("metrics", "traffic", "advice", "job_status"),
    *("bi.agg_retrieval_hour", "bi.agg_retrieval_day", "bi.agg_latency_hour"),
    *("bi.agg_latency_day", "bi.agg_top_score_hour", "bi.agg_top_score_day"),
    *("bi.retrieval_traces", "bi.fact_retrieval", "bi.fact_retrieved_chunk", "bi.traces_otel"),
    *("bi.fact_answer", "bi.fact_citation", "bi.fact_gate", "bi.fact_feedback", "bi.fact_stage"),
}
# by day every sixteenth call of a function, and by night all
STEPS = [16, pytest.param(1, marks=pytest.mark.nightly)]
# how long something took or has waited
TIMES = {"elapsed_ms", "ms", "oldest_ms", "waited_ms"}
SECRET = re.compile(r"rgs_\w+|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
COLUMNS = """
  select p.proname, p.prokind = 'p', p.pronargs - p.pronargdefaults,
    array(select p.proargnames[i] from generate_series(1, p.pronargs) i),
    array(select format_type(t, null) from unnest(p.proargtypes) with ordinality a (t, n)
      order by n)
  from pg_proc p
  where p.pronamespace = 'ragdb'::regnamespace and p.prorettype <> 'trigger'::regtype
    and has_function_privilege(%s, p.oid, 'execute')
  order by 1, 5
"""
VIEWS = """
  select c.oid::regclass::text from pg_class c
  where c.relnamespace in ('ragdb'::regnamespace, 'bi'::regnamespace)
    and c.relkind in ('r', 'p', 'v', 'm') and has_table_privilege(%s, c.oid, 'select')
"""


@dataclass(frozen=True)
class Call:
    statement: str
    function: str
    given: dict[str, Any]


@dataclass
class Worlds:
    """Two databases, of which the first has the other, too."""

    server: Server
    names: tuple[str, str]
    one: Tenant
    theirs: dict[str, Any]  # arguments by their names
    said: list[tuple[str, dict[str, Any]]]
    words: re.Pattern[str]
    known: dict[str, set[str]]

    def connect(self, database: str, role: str) -> Connection:
        db = psycopg.connect(self.server.dsn(database), user=role)
        db.execute(NOW.format("13:00"))
        db.execute("set statement_timeout = '30s'")
        db.commit()
        return db


@pytest.fixture(scope="module")
def base(server18: Server) -> Iterator[tuple[str, Tenant]]:
    """A database with the one tenant."""
    one = Tenant("writer", "garden", ONE, 1000)
    with server18.database() as database:
        with at(server18, database.dbname, "10:00") as admin:
            admin.execute("select ragdb.create_signing_key('k1')")
            for model in (one.model, "model-2000"):
                admin.execute("select ragdb.create_embedder(%s, 3)", (model,))
                admin.execute("select ragdb.bind_embedder(%s, 'hash', 'x')", (model,))
            one.share(admin)
            for reader in ("reader", "reader2"):
                admin.execute("select ragdb.grant_corpus('garden', %s, 'read')", (reader,))
        with at(server18, database.dbname, "10:00", one.role) as db:
            one.fill(db)
        yield database.dbname, one


@contextmanager
def copies(server: Server, base: str, differ: Callable[[str], Any]) -> Iterator[Any]:
    """Two copies, of which the first is made to differ; with what that returned."""
    with server.database(base) as first, server.database(base) as second:
        made = differ(first.dbname)
        for copy in (first, second):
            with at(server, copy.dbname, "12:00") as admin:
                admin.execute("select ragdb.refresh_rollups()")
        yield (first.dbname, second.dbname), made


@pytest.fixture(scope="module")
def worlds(server18: Server, base: tuple[str, Tenant]) -> Iterator[Worlds]:
    """With another tenant, and without."""
    other = Tenant("writer2", "vault", OTHER, 2000)

    def fill(database: str) -> None:
        with at(server18, database, "11:00") as admin:
            other.share(admin)
        with at(server18, database, "11:00", other.role) as db:
            other.fill(db)

    with copies(server18, base[0], fill) as (names, _):
        words = re.compile(rf"{OTHER}|vault")
        theirs, said = other.arguments(), other.said()
        yield Worlds(server18, names, base[1], theirs, said, words, KNOWN)


@pytest.fixture(scope="module")
def questions(server18: Server, base: tuple[str, Tenant]) -> Iterator[Worlds]:
    """With what another reader asked the same corpus, and without."""

    def asked(database: str) -> Any:
        with at(server18, database, "11:00", "reader2") as db:
            return ask(db, base[1], ASKED)

    with copies(server18, base[0], asked) as (names, theirs):
        known = dict.fromkeys(("reader", "bi_reader"), COUNTS)
        yield Worlds(server18, names, base[1], theirs, [], re.compile(ASKED), known)


def at(server: Server, database: str, time: str, role: str = "admin") -> Connection:
    db = psycopg.connect(server.dsn(database), user=role, autocommit=True)
    db.execute(NOW.format(time))
    return db


def fits(value: Any, kind: str) -> bool:
    if isinstance(value, Jsonb):
        return kind == "jsonb"
    if isinstance(value, list):
        return kind.endswith("[]")
    return kind in {
        bytes: ("bytea",),
        str: ("text", "uuid"),
        UUID: ("uuid",),
        int: ("integer", "bigint"),
    }.get(type(value), ())


def calls(worlds: Worlds, role: str) -> Iterator[Call]:
    """Each function with what is of the one and what is of the other, in all parts."""
    sides = {"one": worlds.one.arguments(), "other": worlds.theirs}
    with worlds.connect(worlds.names[0], "postgres") as db:
        functions = db.execute(COLUMNS, (role,)).fetchall()
        views = db.execute(VIEWS, (role,)).fetchall()
    for (view,) in views:
        yield Call(f"select * from {view}", view, {})
    called = {name for name, *_ in functions} - NOT_CALLED
    for function, given in worlds.said:
        if function in called:
            yield made(function, given)
    for function, is_procedure, required, names, kinds in functions:
        if function in NOT_CALLED:
            continue
        of = ["one" if name in ("corpus", "corpora") else "other" for name in names]
        mixtures = [
            ["other"] * len(names),
            of,
            [{"one": "other", "other": "one"}[side] for side in of],
            *(
                ["other" if at == i else "one" for at in range(len(names))]
                for i in range(len(names))
            ),
        ]
        seen = set()
        for mixture in mixtures:
            for most in (required, len(names)):
                given = {}
                for i, (name, kind) in enumerate(zip(names[:most], kinds, strict=False)):
                    value = sides[mixture[i]].get(name)
                    if value is not None and fits(value, kind):
                        given[name] = value
                    elif i < required:
                        given[name] = ANY[kind]
                if (text := text_of(given)) not in seen:
                    seen.add(text)
                    types = dict(zip(names, kinds, strict=True))
                    yield made(function, given, types, is_procedure)


def made(
    function: str,
    given: dict[str, Any],
    kinds: dict[str, str] | None = None,
    is_procedure: bool = False,
) -> Call:
    listed = ", ".join(
        f'"{name}" => %({name})s' + (f"::{kinds[name]}" if kinds else "") for name in given
    )
    verb = "call" if is_procedure else "select * from"
    return Call(f"{verb} ragdb.{function}({listed})", function, given)


def shown(value: Any, column: str = "") -> Any:
    """A value without what no two calls have in common."""
    if column in TIMES or isinstance(value, datetime | date | timedelta):
        return "time"
    if isinstance(value, dict):
        return {key: shown(part, key) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
    return SECRET.sub("id", str(value)) if isinstance(value, str | UUID) else value


def said(told: psycopg.errors.Diagnostic) -> tuple[str | None, ...]:
    """What an error or a notice says, with the functions that it comes from."""
    return (
        *(told.severity, told.sqlstate, told.message_primary, told.message_detail),
        *(told.message_hint, told.context),
    )


class Asker:
    """A role in a database: what it is told."""

    def __init__(self, db: Connection, name: str) -> None:
        self.db, self.name = db, name
        self.notices: list[Any] = []
        # who asks for it is sent lines of the log, too
        db.execute("set client_min_messages = log")
        db.commit()
        db.add_notice_handler(lambda d: self.notices.append(said(d)))

    def ask(self, call: Call, *, commit: bool = False) -> str:
        self.notices.clear()
        try:
            cursor = self.db.execute(call.statement.encode(), call.given)
            columns = [column.name for column in cursor.description or ()]
            rows = cursor.fetchall() if columns else []
            told = sorted(
                repr([shown(part, name) for part, name in zip(row, columns, strict=True)])
                for row in rows
            )
            answer = repr((told, shown(self.notices)))
            if commit:
                self.db.commit()
        except psycopg.Error as error:
            answer = repr(said(error.diag))
        self.db.rollback()
        return re.sub(rf"\b{self.name}\b", "here", answer)


def by_function(made: Iterable[Call], step: int) -> Iterator[tuple[str, Iterator[Call]]]:
    """Each function with its calls, or with every second or third of them."""
    for function, of_one in groupby(made, lambda call: call.function):
        yield function, islice(of_one, 0, None, step)


def leaks(
    worlds: Worlds, role: str, step: int = 1, only: Collection[str] = ()
) -> tuple[int, list[str]]:
    """How many calls were made, of all functions or of some, and what they told."""
    found, count = [], 0
    with ExitStack() as stack:
        askers = [
            Asker(stack.enter_context(worlds.connect(name, role)), name) for name in worlds.names
        ]
        asked = (of_one for _, of_one in by_function(calls(worlds, role), step))
        for call in chain.from_iterable(asked):
            if only and call.function not in only:
                continue
            count += 1
            answer, without = (asker.ask(call) for asker in askers)
            given = text_of(call.given)
            words = set(worlds.words.findall(answer)) - set(worlds.words.findall(given))
            if words or (answer != without and call.function not in worlds.known.get(role, ())):
                found.append(f"{call.function} {given[:300]}\n{answer}\n{without}")
    return count, found


@pytest.mark.by_day(1)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("role", "least"), [("reader", 900), ("writer", 900), ("bi_reader", 20)])
def test_no_answer_tells_of_another_tenant(
    worlds: Worlds, role: str, least: int, step: int
) -> None:
    count, found = leaks(worlds, role, step)
    assert found == [], "\n\n".join(found)
    assert count > least / step


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("role", "least"), [("reader", 400), ("bi_reader", 20)])
def test_no_answer_tells_what_another_reader_asked(
    questions: Worlds, role: str, least: int, step: int
) -> None:
    count, found = leaks(questions, role, step)
    assert found == [], "\n\n".join(found)
    assert count > least / step


def test_a_function_that_tells_is_found(worlds: Worlds) -> None:
    """The control: by a word, by a number, by an error, each of which its rows would not show."""
    careless = {
        "tells": "select source from ragdb.documents order by 1",
        "counts": "select count(*)::text from ragdb.chunks",
        "raises": "select (1 / count(*))::text from ragdb.corpora where name = 'vault'",
    }
    for name in worlds.names:
        with worlds.connect(name, "postgres") as db:
            for function, body in careless.items():
                db.execute(
                    f"create function ragdb.{function}() returns setof text language sql stable"
                    f" security definer as $${body}$$;"
                    f"grant execute on function ragdb.{function} to ragdb_reader"
                )
    try:
        _, found = leaks(worlds, "reader", only=careless)
        assert {line.split()[0] for line in found} == set(careless)
    finally:
        for name in worlds.names:
            with worlds.connect(name, "postgres") as db:
                for function in careless:
                    db.execute(f"drop function ragdb.{function}()")


def held(owner: Connection, worlds: Worlds) -> dict[str, Any]:
    """A hash of what the other has in each table."""
    corpora = (
        "(select c.corpus_id from ragdb.corpora c"
        " where c.name like 'vault%' or c.personal_of = 'writer2')"
    )
    tables = owner.execute(
        "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = 'ragdb'::regnamespace and c.relkind in ('r', 'p')"
        " and not c.relispartition and a.attname = 'corpus_id'"
    ).fetchall()
    kept = {table: f"t.corpus_id in {corpora}" for (table,) in tables} | {
        "blob_uploads": "t.role = 'writer2'",
        "contracts": f"t.contract like '{OTHER}%'",
        "contract_nodes": f"t.contract like '{OTHER}%'",
        "embedders": f"t.name = '{worlds.theirs['name']}'",
    }
    hashes = " union all ".join(
        f"select '{table}', md5(string_agg(t::text, '|' order by t::text))"
        f" from ragdb.{table} t where {which}"
        for table, which in kept.items()
    )
    return {table: found for table, found in owner.execute(hashes.encode()) if found}


@pytest.mark.parametrize("step", STEPS)
def test_no_call_changes_what_another_tenant_has(
    worlds: Worlds, server18: Server, step: int
) -> None:
    with server18.database(worlds.names[0]) as copy, ExitStack() as stack:
        owner = stack.enter_context(psycopg.connect(server18.dsn(copy.dbname), autocommit=True))
        before = held(owner, worlds)
        assert len(before) > 40
        for role in ("reader", "writer"):
            asker = Asker(stack.enter_context(worlds.connect(copy.dbname, role)), copy.dbname)
            # what is dropped last was there for the others
            listed = sorted(calls(worlds, role), key=lambda call: call.function[:5] == "drop_")
            asked: list[str] = []
            for function, of_one in by_function(listed, step):
                asked.append(function)
                for call in of_one:
                    asker.ask(call, commit=True)
                if len(asked) == 12:  # to look takes as long as several calls
                    assert held(owner, worlds) == before, f"one of {asked} of {role}"
                    asked.clear()
            assert held(owner, worlds) == before, f"one of {asked} of {role}"
