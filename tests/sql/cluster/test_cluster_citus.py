"""A router of three databases, with Citus.

RAGDB_TEST_CITUS_URL names the superusers of four servers that have Citus, pgvector, logins without
a password from each other and max_prepared_transactions: the router, then the nodes, with blanks
between them. Without it these tests are skipped. They make a database and two roles of their own.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.errors import CorpusNotFound, InvalidDocument, NotRouted
from ragdb.server import migrate, prepare, roles
from tests.embedding import embed, make_embedder, one, put
from tests.sql.cluster.test_cluster_routes import wrong_calls
from tests.sql.corpora.test_parts import WORDS, make_parts

pytestmark = pytest.mark.nightly

DATABASE = "ragdb_cluster_tests"
TENANTS = ("ragdb_tenant_a", "ragdb_tenant_b")
CORPORA = [f"corpus-{n}" for n in range(12)]
SHOWN = "rank, chunk_id, source, score, text"


class Routed(psycopg.Connection[Any]):
    """A connection whose calls of functions go through the router."""

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> psycopg.Cursor[Any]:
        return super().execute(query.replace(" ragdb.", " ragdb_at."), *args, **kwargs)


@dataclass
class Cluster:
    servers: list[str]

    def dsn(self, place: int = 0, **more: Any) -> str:
        return make_conninfo(self.servers[place], dbname=DATABASE, **more)

    def address(self, place: int) -> list[str]:
        named = conninfo_to_dict(self.servers[place])
        return [str(named["host"]), "--port", str(named.get("port", 5432))]

    def run(self, *arguments: str) -> str:
        done = CliRunner().invoke(app, ["cluster", *arguments, "--yes", "--dsn", self.dsn()])
        assert done.exit_code in (0, 1), done.output
        return done.output

    @contextmanager
    def connect(self, **more: Any) -> Iterator[Routed]:
        with Routed.connect(self.dsn(**more), autocommit=True) as connection:
            yield connection

    @contextmanager
    def down(self, place: int) -> Iterator[None]:
        """A node that lets nobody in, as one that is not there."""
        with psycopg.connect(self.servers[place], autocommit=True) as server:
            server.execute(f"alter database {DATABASE} allow_connections false")
            server.execute(
                "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = %s",
                (DATABASE,),
            )
            try:
                yield
            finally:
                server.execute(f"alter database {DATABASE} allow_connections true")


def drop(servers: list[str]) -> None:
    for dsn in servers:
        with psycopg.connect(dsn, autocommit=True) as server:
            server.execute(f"drop database if exists {DATABASE} with (force)")
            for tenant in TENANTS:
                server.execute(f"drop role if exists {tenant}")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A router and two nodes; the third server waits."""
    servers = os.environ.get("RAGDB_TEST_CITUS_URL", "").split()
    if len(servers) != 4:
        pytest.skip("RAGDB_TEST_CITUS_URL does not name four servers with Citus")
    drop(servers)
    made = Cluster(servers)
    for place, dsn in enumerate(servers):
        with psycopg.connect(dsn, autocommit=True) as server:
            roles.create_roles(server)
            server.execute(f"create database {DATABASE} template template0 owner ragdb_owner")
        with psycopg.connect(made.dsn(place)) as server:
            prepare.prepare(server)
        migrate.migrate(made.dsn(place))
        with psycopg.connect(made.dsn(place), autocommit=True) as server:
            server.execute("create extension citus")
    made.run("init", *made.address(0))
    for place in (1, 2):
        made.run("add-node", *made.address(place))
    with psycopg.connect(made.dsn(), autocommit=True) as server:
        for tenant in TENANTS:
            server.execute(f"create role {tenant} login in role ragdb_writer")
    yield made
    drop(servers)


@pytest.fixture(scope="module")
def filled(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Twelve corpora on three nodes, the third of which came later, and what they hold."""
    chance = random.Random(3)
    texts = {
        corpus: {
            f"{corpus}-{n}": " ".join(chance.choices(WORDS[:60], k=chance.randint(3, 30)))
            for n in range(40)
        }
        for corpus in CORPORA
    }
    with cluster.connect() as db:
        for place, corpus in enumerate(CORPORA):
            if place == 6:
                cluster.run("add-node", *cluster.address(3))
            db.execute("select ragdb.create_corpus(%s)", (corpus,))
            put(db, texts[corpus], corpus)
    return texts


Filled = dict[str, dict[str, str]]


def placed(cluster: Cluster) -> dict[str, int]:
    with psycopg.connect(cluster.dsn()) as db:
        return dict(db.execute("select * from ragdb.cluster_corpora()").fetchall())


def test_a_node_that_is_added_takes_the_corpora_that_are_made(
    cluster: Cluster, filled: Filled
) -> None:
    nodes = [node for corpus, node in placed(cluster).items() if corpus in filled]
    assert sorted(nodes.count(node) for node in set(nodes)) == [4, 4, 4]
    with cluster.connect() as db:
        listed = db.execute("select name, chunks from ragdb.list_corpora()").fetchall()
    assert sorted((name, chunks) for name, chunks in listed if name in filled) == sorted(
        (corpus, 40) for corpus in filled
    )


def test_hits_are_those_of_one_database(cluster: Cluster, filled: Filled, clone: str) -> None:
    chance = random.Random(5)
    search = f"select {SHOWN} from ragdb.search(%s, %s)"
    with cluster.connect() as db, psycopg.connect(clone, autocommit=True) as alone:
        for corpus, texts in filled.items():
            alone.execute("select ragdb.create_corpus(%s)", (corpus,))
            put(alone, texts, corpus)
            for _ in range(10):
                asked = (corpus, " ".join(chance.sample(WORDS[:60], 3)))
                expected = alone.execute(search, asked).fetchall()
                assert db.execute(search, asked).fetchall() == expected != []


def test_every_function_of_a_corpus_answers_through_the_router(
    cluster: Cluster, filled: Filled
) -> None:
    with cluster.connect() as db:
        make_embedder(db)
        make_parts(db)
        assert len({placed(cluster)[name] for name in ("whole", "part-0", "part-1")}) == 1
        put(db, {"a": "red apple", "b": "green pear"}, "part-0")
        put(db, {"c": "red plum", "d": "yellow wine"}, "part-1")
        put(db, {"e": "a red apple tree"}, "part-2")
        embed(db)
        db.execute("select ragdb.optimize_corpus('whole')")
        with contextlib.suppress(psycopg.errors.DuplicateObject):
            db.execute("create role reader in role ragdb_reader")
        assert (wrong := wrong_calls(db)) == {}, "\n".join(f"{n}: {w}" for n, w in wrong.items())
        for name in ("part-0", "part-1", "part-2", "whole"):
            db.execute("select ragdb.drop_corpus(%s)", (name,))


def test_a_transaction_of_two_nodes_is_whole_or_not_at_all(
    cluster: Cluster, filled: Filled
) -> None:
    nodes = placed(cluster)
    first = CORPORA[0]
    other = next(corpus for corpus in CORPORA if nodes[corpus] != nodes[first])
    found = "select count(*) from ragdb.search(%s, 'zebra')"
    with cluster.connect() as db:
        for is_kept in (False, True):
            with db.transaction(force_rollback=not is_kept):
                for corpus in (first, other):
                    put(db, {"z": "zebra"}, corpus)
                    assert one(db, found, corpus) == 1
                recorded = db.execute("select trace_id from ragdb.retrieve(%s, 'zebra')", (other,))
                trace = recorded.fetchone()
                assert trace is not None
                assert one(db, "select ragdb.last_trace_id()") == trace[0]
            assert [one(db, found, corpus) for corpus in (first, other)] == [is_kept, is_kept]
            seen = one(db, "select count(*) from ragdb.list_traces() where id = %s", *trace)
            assert seen == is_kept
        # an error at one node takes back what was written at the other
        db.execute("begin")
        put(db, {"y": "yak"}, first)
        with pytest.raises(InvalidDocument):
            db.execute("select ragdb.put_documents(%s, '[{}]')", (other,))
        db.execute("commit")
        assert one(db, "select count(*) from ragdb.search(%s, 'yak')", first) == 0
        for corpus in (first, other):
            db.execute("select ragdb.delete_source(%s, 'z')", (corpus,))


def test_a_trace_is_found_and_replayed_at_its_node(cluster: Cluster, filled: Filled) -> None:
    with ragdb.connect(cluster.dsn(options="-cragdb.router=on")) as db:
        for corpus in CORPORA[:4]:
            hits = db.retrieve(corpus, WORDS[0], k=2)
            assert db.get_trace(hits.trace_id).query_text == WORDS[0]
            assert [hit.chunk_id for hit in db.trace_hits(hits.trace_id)] == [
                hit.chunk_id for hit in hits
            ]
            assert db.replay(hits.trace_id).verdict == "exact"
            answer = db.ask(corpus, f"What is {WORDS[0]}?")
            assert answer.trace_id is None or db.get_trace(answer.trace_id)
        nothing = db.retrieve(CORPORA[1], "xylophone")
        assert not nothing
        assert db.get_trace(nothing.trace_id).corpus == CORPORA[1]
        with pytest.raises(NotRouted, match="several nodes"):
            db.search(CORPORA, WORDS[0])


def test_a_node_that_is_down_takes_along_its_own_corpora_alone(
    cluster: Cluster, filled: Filled
) -> None:
    nodes = placed(cluster)
    gone = nodes[CORPORA[0]]
    host, _, port = cluster.address(gone)
    search = f"select count(*) from ragdb.search(%s, '{WORDS[0]} {WORDS[1]}')"
    with cluster.connect() as db:
        before = {corpus: one(db, search, corpus) for corpus in CORPORA}
    with cluster.down(gone), cluster.connect() as db:
        for corpus in CORPORA:
            if nodes[corpus] != gone:
                assert one(db, search, corpus) == before[corpus]
                continue
            with pytest.raises(psycopg.Error, match=f"{host}:{port}"):
                one(db, search, corpus)
        rows = db.execute("select node, is_up from ragdb.cluster_status()".replace(
            " ragdb.", "\nragdb.")).fetchall()  # fmt: skip
        assert {node for node, is_up in rows if not is_up} == {gone}
    with cluster.connect() as db:
        assert {corpus: one(db, search, corpus) for corpus in CORPORA} == before


def test_two_tenants_do_not_see_each_other(cluster: Cluster, filled: Filled) -> None:
    for tenant in TENANTS:
        with cluster.connect(user=tenant) as db:
            name = tenant.replace("_", "-")
            db.execute("select ragdb.create_corpus(%s, is_restricted => true)", (name,))
            put(db, {"s": f"the secret of {tenant}"}, name)
            one(db, "select trace_id from ragdb.retrieve(%s, 'secret')", name)
    for tenant, other in (TENANTS, TENANTS[::-1]):
        with cluster.connect(user=tenant) as db:
            names = {name for (name,) in db.execute("select name from ragdb.list_corpora()")}
            assert names >= {tenant.replace("_", "-")}
            assert other.replace("_", "-") not in names
            with pytest.raises(CorpusNotFound) as hidden:
                db.execute("select ragdb.search(%s, 'secret')", (other.replace("_", "-"),))
            with pytest.raises(CorpusNotFound) as absent:
                db.execute("select ragdb.search('ragdb-tenant-x', 'secret')")
            assert (hidden.value.diag.message_detail, hidden.value.diag.message_hint) == (
                absent.value.diag.message_detail, absent.value.diag.message_hint)  # fmt: skip
            # who asked is who asked, at the node too
            traces = db.execute("select caller, corpus from ragdb.list_traces()").fetchall()
            assert traces == [(tenant, tenant.replace("_", "-"))]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute("select ragdb.set_quota('public', 1)")


def test_what_all_nodes_have_is_written_to_all(cluster: Cluster, filled: Filled) -> None:
    known = "select count(*) from ragdb.embedders where name = 'everywhere'"
    with cluster.connect() as db:
        with db.transaction(force_rollback=True):
            db.execute("select ragdb.create_embedder('everywhere', 3)")
        for is_made in (False, True):
            if is_made:
                db.execute("select ragdb.create_embedder('everywhere', 3)")
            for place in range(4):
                with psycopg.connect(cluster.dsn(place)) as node:
                    assert one(node, known) == is_made
        with cluster.down(1), pytest.raises(psycopg.Error):
            db.execute("select ragdb.create_embedder('nowhere', 3)")
    for place in range(4):
        with psycopg.connect(cluster.dsn(place)) as node:
            assert one(node, known.replace("everywhere", "nowhere")) == 0


def test_a_corpus_moves_while_it_is_searched_and_written(cluster: Cluster, filled: Filled) -> None:
    nodes = placed(cluster)
    corpus = CORPORA[11]
    to = next(node for node in (1, 2, 3) if node != nodes[corpus])
    written: list[str] = []
    refused: list[str] = []
    stop = threading.Event()

    def write() -> None:
        with cluster.connect() as db:
            number = 0
            while not stop.is_set():
                try:
                    put(db, {f"w{number}": f"walrus {number}"}, corpus)
                    written.append(f"w{number}")
                    number += 1
                    one(db, "select count(*) from ragdb.search(%s, 'walrus')", corpus)
                except psycopg.Error as error:
                    refused.append(error.sqlstate or "")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(written) < 3:
            stop.wait(0.05)
        cluster.run("move", corpus, str(to))
        count = len(written)
        while len(written) < count + 3:
            stop.wait(0.05)
    finally:
        stop.set()
        writer.join()
    assert placed(cluster)[corpus] == to
    # between the closing of the old one and the word of the router the old one says where it went
    assert set(refused) <= {"RG456"}
    expected = sorted([*filled[corpus], *written])
    with cluster.connect() as db:
        listed = db.execute("select source from ragdb.list_documents(%s, count => 1000)", (corpus,))
        assert sorted(uri for (uri,) in listed) == expected
        rows = db.execute("select name from ragdb.list_corpora()").fetchall()
        assert rows.count((corpus,)) == 1


def test_a_node_goes_when_it_has_no_corpora(cluster: Cluster, filled: Filled) -> None:
    last = 3
    cluster.run("isolate", str(last))
    with cluster.connect() as db:
        db.execute("select ragdb.create_corpus('elsewhere')")
    assert placed(cluster)["elsewhere"] != last
    with psycopg.connect(cluster.dsn()) as db, pytest.raises(NotRouted, match=r"has \d+ corpora"):
        db.execute("select ragdb.cluster_remove_node(%s)", (last,))
    for corpus, node in placed(cluster).items():
        if node == last:
            with cluster.connect() as db:
                db.execute("select ragdb.drop_corpus(%s)", (corpus,))
    cluster.run("remove-node", str(last))
    assert last not in placed(cluster).values()
    with cluster.connect() as db:
        assert db.execute("select name from ragdb.list_corpora()").fetchall()
    # the database is as it was, and comes back
    cluster.run("add-node", *cluster.address(3))
