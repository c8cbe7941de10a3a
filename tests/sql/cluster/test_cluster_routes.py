"""Each public function is routed or refused, and a wrapper does what its function does.

There is no Citus here: the one node of this router is its own database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from ragdb.cli.main import app
from ragdb.errors import NotRouted
from tests.conftest import Connection, Server
from tests.embedding import embed, make_embedder, one, put
from tests.sql.corpora.test_parts import make_parts
from tests.sql.corpora.test_parts_doors import PART, REFUSAL, WHOLE

NODE = """
create function ragdb_at.at_1(node integer, what text, arguments text[]) returns setof record
language plpgsql as $$ begin return query execute 'select ' || what using arguments, node; end $$;
grant execute on all functions in schema ragdb_at to ragdb_reader, bi_reader;
insert into ragdb_at.members (node) values (1);
"""
# the columns of rows whatever their type is called: PL/pgSQL wants one where an argument has the
# name of a column
SIGNATURES = """
select p.proname || '(' || pg_get_function_arguments(p.oid) || ')',
  array(select a.attname::text || ' ' || format_type(a.atttypid, null)
    from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0
    union all select p.proargnames[n] || ' ' || format_type(x, null)
    from unnest(p.proallargtypes) with ordinality x (x, n) where p.proargmodes[n] = 't'),
  case when t.typrelid = 0 then nullif(t.typname, 'record') end, p.proretset,
  array(select a.grantee::regrole::text from aclexplode(p.proacl) a where a.grantee <> p.proowner
    order by 1)
from pg_proc p join pg_type t on t.oid = p.prorettype
where p.pronamespace = %s::regnamespace and p.prorettype <> 'trigger'::regtype
  and (p.prokind = 'f' or p.proname = 'embed_query')
  and (%s or obj_description(p.oid) like 'At the router: %%')
order by 1
"""


def wrong_calls(router: Connection) -> dict[str, int | str]:
    """What the calls of the test of parts came to through a router, where it is not the same."""
    chunk = one(
        router, "select chunk_id from ragdb_at.list_chunks('part-1', '{\"source\": \"c\"}')"
    )
    refused = "select name from ragdb_internal.routes() where route = 'refused'"

    def called(name: str, arguments: str) -> int | str:
        call = f"ragdb_at.{name}({arguments})".replace(":chunk", f"'{chunk}'")
        try:
            with router.transaction(force_rollback=True):
                return len(router.execute(f"select * from {call}").fetchall())
        except psycopg.Error as error:
            hint = error.diag.message_hint or ""
            return f"{error.sqlstate} {'list_parts' in hint} {error.diag.message_primary}"

    wrong = {}
    passed_over = {name for (name,) in router.execute(refused)} | {"calibrate_gate"}
    expected = {n: (a, (r,)) for n, (a, r) in WHOLE.items()}
    expected |= {n: (a, (REFUSAL,)) for n, a in PART.items()}
    for name in expected.keys() - passed_over:
        arguments, rows = expected[name]
        arguments = arguments.replace("ragdb.", "ragdb_at.")
        found = called(name, arguments)
        if not {found, str(found)[:5]} & set(rows):
            wrong[name] = found
    return wrong


@pytest.fixture(scope="module")
def routed(module_clone: str) -> str:
    """DSN of a database that is a router, and its own node."""
    with psycopg.connect(module_clone) as db:
        for part in ("tables", "lookups", "calls", "evidence"):
            db.execute(one(db, f"select ragdb_internal.router_{part}()"))
        db.execute(NODE)
        # the second time as at an upgrade, which has them dropped first
        for _ in range(2):
            assert one(db, "select ragdb_internal.make_wrappers()") > 300
    return module_clone


@pytest.fixture
def router(server18: Server, routed: str) -> Iterator[Connection]:
    with server18.rolled_back(routed) as connection:
        yield connection


def test_each_public_function_is_routed_or_refused(db: Connection) -> None:
    routes = "select function from ragdb.cluster_routes() where route is null"
    assert db.execute(routes).fetchall() == []
    known = {"corpus", "find", "each", "latest", "sum", "all", "some", "space", "last", "here"}
    found = db.execute("select * from ragdb.cluster_routes()").fetchall()
    assert {route for _, route, _ in found} == known | {"refused"}
    assert all(detail for _, route, detail in found if route in ("here", "all", "refused"))
    # a new function without a line is seen, and one of a corpus needs none
    db.execute("create function ragdb.brand_new(x integer) returns void return null")
    db.execute("create function ragdb.brand_new_too(corpus text) returns void return null")
    assert db.execute(routes).fetchall() == [("brand_new(x integer)",)]


def test_no_line_names_what_is_not_there(db: Connection) -> None:
    lines = "select string_to_table(names, ' ') from ragdb_internal.route_lines()"
    named = [name for (name,) in db.execute(lines)]
    functions = "select proname::text from pg_proc where pronamespace = 'ragdb'::regnamespace"
    there = {name for (name,) in db.execute(functions)}
    assert set(named) <= there
    assert len(named) == len(set(named))


def test_a_wrapper_has_the_signature_and_the_grants_of_its_function(router: Connection) -> None:
    router.execute("set local search_path = pg_catalog")
    functions = router.execute(SIGNATURES, ("ragdb", True)).fetchall()
    wrappers = router.execute(SIGNATURES, ("ragdb_at", False)).fetchall()
    assert [f[0] for f in functions] == [w[0] for w in wrappers]
    for function, wrapper in zip(functions, wrappers, strict=True):
        assert function == wrapper, function[0]


def test_wrappers_do_what_their_functions_do(router: Connection) -> None:
    make_embedder(router)
    make_parts(router)
    router.execute("insert into ragdb_at.placement select name, 1 from ragdb.corpora")
    put(router, {"a": "red apple", "b": "green pear"}, "part-0")
    put(router, {"c": "red plum", "d": "yellow wine"}, "part-1")
    put(router, {"e": "a red apple tree"}, "part-2")
    embed(router)
    router.execute("select ragdb.optimize_corpus('whole')")
    assert (wrong := wrong_calls(router)) == {}, "\n".join(f"{n}: {w}" for n, w in wrong.items())
    hits = "select * from {}.search('whole', 'red apple', mode => 'lexical')"
    ranked = router.execute(hits.format("ragdb")).fetchall()
    assert router.execute(hits.format("ragdb_at")).fetchall() == ranked != []


def test_a_corpus_is_placed_where_the_fewest_are_and_nothing_says_so(router: Connection) -> None:
    router.execute("insert into ragdb_at.members (node) values (2), (3)")
    place = "select ragdb_at.place(%s, %s)"
    found = [one(router, place, name, None) for name in ("a", "b", "c", "d", "a")]
    assert found == [1, 2, 3, 1, 1]
    assert one(router, place, "part", "c") == 3
    router.execute("update ragdb_at.members set is_isolated = node = 2")
    assert one(router, place, "e", None) == 3 - 2
    with pytest.raises(NotRouted, match="several nodes"), router.transaction():
        router.execute("select ragdb_at.search(array['a', 'b'], 'x')")
    router.execute("set local role reader")
    # what is there and what is not look alike, and a reader makes nothing
    assert one(router, "select ragdb_at.node_of('nowhere')") == 1
    for statement in ("select from ragdb_at.placement", "select ragdb_at.place('mine')"):
        with pytest.raises(psycopg.Error, match=r"denied|may not create"), router.transaction():
            router.execute(statement)


def test_a_number_arrives_as_it_was_given_in_any_session(router: Connection) -> None:
    router.execute("set local extra_float_digits = -10")
    router.execute("select ragdb_at.create_corpus('exact', k1 => 1.234567891234567)")
    assert one(router, "select k1 = 1.234567891234567 from ragdb.corpora where name = 'exact'")


def test_a_page_of_corpora_is_of_all_nodes(router: Connection) -> None:
    router.execute(NODE.replace("at_1", "at_2").replace("(1)", "(2)"))
    # each node has a copy of what is at the other, as after a move
    for n in range(6):
        router.execute("select ragdb.create_corpus(%s)", (f"c{n}",))
        router.execute("insert into ragdb_at.placement values (%s, %s)", (f"c{n}", 1 + n % 2))
    seen: list[str] = []
    page = "select name from ragdb_at.list_corpora('c', after => %s, count => 4)"
    while found := router.execute(page, (seen[-1] if seen else "",)).fetchall():
        seen += [name for (name,) in found]
        assert len(found) == 4 or len(seen) == 6
    assert seen == [f"c{n}" for n in range(6)]
    assert len(router.execute("select from ragdb_at.list_corpora()").fetchall()) == 6


def test_a_page_of_contracts_is_of_all_nodes(router: Connection) -> None:
    router.execute(NODE.replace("at_1", "at_2").replace("(1)", "(2)"))
    # both nodes are this database here, so each row is there twice
    for n in range(6):
        text = f"corpus name=c{n}\n  source name=s{n} uri=s.md\n"
        router.execute("select ragdb.apply_contract(%s, %s)", (text, f"k{n}"))
    for listed, name in (("list_contracts", "name"), ("list_sources", "contract")):
        page = f"select {name} from ragdb_at.{listed}(after => 'k1', count => 4)"
        assert [found for (found,) in router.execute(page)] == ["k2", "k2", "k3", "k3"]
        everyone = f"select {name} from ragdb_at.{listed}()"
        assert len(router.execute(everyone).fetchall()) == 12


def test_a_page_of_the_latest_is_of_all_nodes(router: Connection) -> None:
    router.execute(NODE.replace("at_1", "at_2").replace("(1)", "(2)"))
    # both nodes are this database here, so each trace is there twice
    router.execute("select ragdb.put_text('c', 'a.txt', 'red apple')")
    for _ in range(3):
        router.execute("select from ragdb.retrieve('c', 'apple', 1)")
        router.execute("select ragdb.record_feedback('good', ragdb.last_trace_id())")
    made = [id for (id,) in router.execute("select id from ragdb.list_traces()")]
    page = "select id from ragdb_at.list_traces(count => 3, before => %s)"
    newest, *others = [id for (id,) in router.execute(page, (None,))]
    assert [newest, *others] == [made[0], made[0], made[1]]
    assert [id for (id,) in router.execute(page, (made[1],))] == [made[2]] * 2
    said = "select trace_id, feedback_id from ragdb_at.list_feedback(count => 2, before => %s)"
    first = router.execute(said, (None,)).fetchall()
    assert [id for id, _ in first] == [made[0]] * 2
    assert [id for id, _ in router.execute(said, (first[-1][1],))] == [made[1]] * 2


def test_the_counts_of_all_nodes_are_added_up(router: Connection) -> None:
    router.execute(NODE.replace("at_1", "at_2").replace("(1)", "(2)"))
    router.execute("select ragdb.create_corpus('c' || n) from generate_series(1, 3) n")
    router.execute("select ragdb.put_text('c1', 'a.txt', 'red apple')")
    counted = "select corpora, documents, chunks from ragdb_at.count_corpora()"
    # both nodes are this database here
    assert router.execute(counted).fetchall() == [(6, 2, 2)]


def test_what_is_refused_says_why(router: Connection) -> None:
    with pytest.raises(NotRouted, match="metrics is not done") as raised, router.transaction():
        router.execute("select * from ragdb_at.metrics()")
    assert raised.value.diag.message_detail == "its figures are of one node"
    with pytest.raises(NotRouted, match="without a corpus"), router.transaction():
        router.execute("select ragdb_at.put_blob('\\x00', 'text/plain')")


def test_without_citus_there_is_no_router(db: Connection) -> None:
    for call in (
        "select ragdb.cluster_init('localhost')",
        "select * from ragdb.cluster_status()",
        "call ragdb.cluster_add_node('localhost')",
        "select ragdb.cluster_isolate(1)",
        "select ragdb.cluster_remove_node(1)",
    ):
        with pytest.raises(NotRouted, match="has no Citus"), db.transaction():
            db.execute(call)


def test_a_doctor_of_a_router_asks_the_nodes_and_sends_to_each_for_its_ledger(
    routed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doctor() -> tuple[int, dict[str, Any]]:
        done = CliRunner().invoke(app, ["doctor", "--dsn", routed, "--json"])
        return done.exit_code, {row["check"]: row for row in json.loads(done.stdout)}

    monkeypatch.setenv("RAGDB_ROUTER", "1")
    code, checks = doctor()
    assert code == 0, checks
    assert checks["evidence"]["ok"]
    assert (checks["ledger"]["ok"], "cluster status" in checks["ledger"]["fix"]) == (None, True)
    # what is wrong at a node is found through the router
    with psycopg.connect(routed, autocommit=True) as node:
        node.execute("alter function ragdb.list_corpora volatile")
        code, checks = doctor()
        node.execute("alter function ragdb.list_corpora stable")
    assert code == 1
    assert {name for name, row in checks.items() if row["ok"] is False} == {"verify code"}
