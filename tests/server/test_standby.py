"""A physical standby searches and reads traces; it refuses to record them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner, Result

import ragdb
from ragdb.cli.main import app
from ragdb.ledger import LedgerError, online
from ragdb.ledger.notes import Checkpoint
from ragdb.server import embedded, postgres
from tests.documents import document
from tests.mcp.test_mcp_server import call
from tests.refusal import refused
from tests.waiting import until

TEXTS = {
    "refunds": "Refunds are paid within fourteen days of the return.",
    "shipping": "Shipping takes three days; the refund of a return takes longer.",
}
QUERIES = ["refund", "return of a refund", '"three days" -fourteen', "zebra"]


@pytest.fixture(scope="module")
def pair(any_version: Any) -> Iterator[tuple[str, str]]:
    """DSN of a database with a corpus and a trace, and of the same database on a hot standby."""
    with any_version.database() as database, running_standby(any_version) as standby:
        primary = any_version.dsn(database.dbname)
        with psycopg.connect(primary) as db:
            db.execute("select ragdb.create_corpus('docs')")
            for name, text in TEXTS.items():
                db.execute("select ragdb.put_text('docs', %s, %s)", (f"docs/{name}.md", text))
            db.execute("select ragdb.retrieve('docs', 'refund')")
        yield primary, make_conninfo(standby, dbname=database.dbname)


@contextmanager
def running_standby(primary: Any, name: str = "standby") -> Iterator[str]:
    """URI of the superuser on a hot standby of a server."""
    folder = primary.folder.with_name(f"{name}{primary.version}")
    try:
        subprocess.run(
            [
                postgres.binary("pg_basebackup", primary.version),
                *("--dbname", primary.uri, "--pgdata", str(folder)),
                *("--write-recovery-conf", "--checkpoint", "fast"),
            ],
            check=True,
            capture_output=True,
        )
        # the primary's socket is in its data folder, and its lock file is copied
        for lock in folder.glob(".s.PGSQL.*"):
            lock.unlink()
        owner = primary.folder.stat()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
        yield embedded.start(folder, primary.version)
    finally:
        embedded.stop(folder, primary.version)
        shutil.rmtree(folder, ignore_errors=True)


def catch_up(primary: str, standby: str) -> None:
    with psycopg.connect(primary) as db:
        (position,) = db.execute("select pg_current_wal_flush_lsn()").fetchall()[0]
    # in the database that is there from the beginning
    standby = make_conninfo(standby, dbname="postgres")
    reached = "select from pg_last_wal_replay_lsn() l where l >= %s"
    with psycopg.connect(standby, autocommit=True) as db:
        until(lambda: db.execute(reached, (position,)).fetchall())


def on(pair: tuple[str, str], *verb: str) -> Result:
    """How a verb ended on a standby that has caught up."""
    catch_up(*pair)
    return CliRunner().invoke(app, verb, env={"RAGDB_DATABASE_URL": pair[1]})


def answers(dsn: str, statement: str, role: str = "reader") -> list[list[bytes | None]]:
    """What a role is answered, in the bytes of the binary protocol."""
    with psycopg.connect(dsn, user=role) as db:
        cursor = db.cursor(binary=True)
        found = []
        for query in QUERIES:
            cursor.execute(statement, (query,))
            result = cursor.pgresult
            assert result is not None
            found.append(
                [
                    result.get_value(row, column)
                    for row in range(result.ntuples)
                    for column in range(result.nfields)
                ]
            )
    return found


@pytest.mark.by_day(1)
def test_a_standby_gives_the_same_bytes_and_refuses_to_record(pair: tuple[str, str]) -> None:
    primary, standby = pair
    catch_up(primary, standby)
    search = "select * from ragdb.search('docs', %s)"
    expected = answers(primary, search)
    assert [len(values) > 0 for values in expected] == [True, True, True, False]
    assert answers(standby, search) == expected
    with psycopg.connect(standby, user="reader") as db:
        assert db.execute("select pg_is_in_recovery()").fetchall() == [(True,)]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as caught:
            db.execute("select ragdb.retrieve('docs', 'refund')")
    assert "standby" in str(caught.value.diag.message_detail)
    assert "ragdb.search()" in str(caught.value.diag.message_hint)
    listed = "select l.*, v.* from ragdb.list_traces() l, ragdb.verify_trace(l.id) v where %s <> ''"
    assert len(answers(primary, listed, "auditor")[0]) > 0
    assert answers(standby, listed, "auditor") == answers(primary, listed, "auditor")


@pytest.mark.parametrize("flags", [{}, {"record": True}, {"write": True}], ids=str)
def test_mcp_of_a_standby_reads_and_says_that_it_takes_no_writes(
    pair: tuple[str, str], flags: dict[str, bool]
) -> None:
    primary, standby = pair
    catch_up(primary, standby)
    assert call(standby, "list_corpora", {}, **flags)["corpora"][0]["name"] == "docs"
    found = call(standby, "search", {"query": "refund"}, **flags)
    if "record" in flags:
        assert "takes no writes" in found
    else:
        assert found == call(primary, "search", {"query": "refund"}, **flags)
    if "write" in flags:
        assert "takes no writes" in call(standby, "create_corpus", {"corpus": "new"}, **flags)


def test_a_write_on_a_standby_says_what_writes_and_where(pair: tuple[str, str]) -> None:
    primary, standby = pair
    catch_up(primary, standby)

    async def asked() -> None:
        async with await ragdb.aconnect(standby) as db:
            await db.put_text("docs", "new.md", "New.")

    def write() -> None:
        with ragdb.connect(standby) as db:
            db.create_corpus("new")

    for name, action in (("create_corpus", write), ("put_text", lambda: asyncio.run(asked()))):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as caught:
            action()
        said = caught.value
        assert str(said).splitlines()[0] == f"{name} writes, and this server is a standby"
        assert said.diag.message_primary == f"{name} writes, and this server is a standby"
        assert "primary" in str(said.diag.message_hint)
        assert said.sqlstate == said.diag.sqlstate == "25006"
    with ragdb.connect(primary, options="-c default_transaction_read_only=on") as db:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as caught:
            db.create_corpus("new")
        assert str(caught.value).startswith("create_corpus writes, and this transaction is read-")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as caught:
            db.retrieve("docs", "refund")
        assert "ragdb.search()" in str(caught.value.diag.message_hint)


@pytest.mark.parametrize(
    "verb",
    [
        ("ingest", "README.md", "-c", "docs"),
        ("corpus", "create", "new"),
        ("worker",),
        ("embed",),
        ("init", "--force"),
        ("studio",),
    ],
    ids=" ".join,
)
def test_a_verb_that_writes_refuses_a_standby_in_a_line(
    pair: tuple[str, str], verb: tuple[str, ...]
) -> None:
    ended = on(pair, *verb)
    assert ended.exit_code == 3, ended
    said, _, hint = ended.stderr.splitlines()
    assert said.startswith("ragdb: ")
    assert said.endswith(", and this server is a standby (25006)")
    assert "on the primary" in hint


def test_a_standby_erases_nothing_of_a_caller(pair: tuple[str, str]) -> None:
    with psycopg.connect(pair[1]) as db:
        said = refused(db, "select ragdb.erase_caller('anna')")
    assert said.diag.message_primary == "erase_caller writes, and this server is a standby"
    assert said.diag.message_hint == "run it on the primary"


@pytest.mark.by_day(1)
def test_maintain_of_a_standby_is_refused_where_nothing_is_due(pair: tuple[str, str]) -> None:
    with psycopg.connect(pair[0], autocommit=True) as db:
        db.execute("select ragdb.maintain()")
    ended = on(pair, "maintain")
    assert (ended.exit_code, "this server is a standby" in ended.stderr) == (3, True), ended


def test_init_of_a_standby_leaves_the_manual_to_the_primary(pair: tuple[str, str]) -> None:
    ended = on(pair, "init")
    assert ended.exit_code == 0, ended
    assert ended.stderr.splitlines() == [
        "the schema is current",
        "this server is a standby: what its primary loads comes here too",
    ]


def test_a_standby_follows_what_is_ingested(pair: tuple[str, str]) -> None:
    primary, standby = pair
    with psycopg.connect(primary) as db:
        db.execute("select ragdb.put_text('docs', 'docs/zoo.md', 'A zebra is no refund.')")
    catch_up(primary, standby)
    search = "select * from ragdb.search('docs', %s)"
    assert answers(primary, search)[-1]
    assert answers(standby, search) == answers(primary, search)


@pytest.mark.nightly
def test_a_standby_finds_by_blocks_lists_and_edits_what_the_primary_finds(
    pair: tuple[str, str],
) -> None:
    """5,000 chunks are in blocks; some are put after them, some replaced and some deleted."""
    primary, standby = pair

    def put(db: psycopg.Connection[Any], numbers: range, edition: int) -> None:
        # words of all chunks, of a tenth, of a hundredth, and of one
        texts = (
            f"common tenth{n % 10} hundredth{n % 100} only{n}e{edition} edition{edition}"
            for n in numbers
        )
        texts_of = {f"many/{n}.md": text for n, text in zip(numbers, texts, strict=True)}
        documents = [document(uri, [text]) for uri, text in texts_of.items()]
        db.execute("select from ragdb.put_documents('many', %s)", (json.dumps(documents),))

    with psycopg.connect(primary) as db:
        db.execute("select ragdb.create_corpus('many')")
        put(db, range(5000), 0)
        db.execute("select ragdb.optimize_corpus('many')")
        put(db, range(200, 260), 1)
        put(db, range(5000, 5100), 1)
        sources = [f"many/{n}.md" for n in range(300, 340)]
        db.execute("select ragdb.delete_sources('many', %s)", (sources,))
        blocks = db.execute("select count(*) from ragdb.term_blocks").fetchall()
    assert blocks[0][0] > 0
    catch_up(primary, standby)
    asked = [
        *("common", "tenth3 hundredth23", "common edition1", "only210e1 common", "only310e0"),
        *('"common tenth7"', "+hundredth5 edition1", "tenth1 -hundredth11"),
    ]

    def found(dsn: str) -> list[Any]:
        search = "select chunk_id, score from ragdb.search('many', %s, 50)"
        with psycopg.connect(dsn, user="reader") as db:
            return [db.execute(search, (query,)).fetchall() for query in asked]

    assert found(standby) == found(primary)
    assert [len(rows) > 0 for rows in found(primary)] == [n != 4 for n in range(len(asked))]


@pytest.mark.nightly
def test_what_was_replicated_is_verified_after_a_promotion_and_the_rest_is_missing(
    server18: Any,
) -> None:
    """Traces, tokens, replays are rows like others; what only the lost primary had is unknown."""
    retrieve = "select trace_id from ragdb.retrieve_slice('docs', 'refund', anchor => %s)"
    with server18.database() as database, running_standby(server18, "promoted") as promoted:
        primary, standby = (
            make_conninfo(u, dbname=database.dbname) for u in (server18.uri, promoted)
        )
        with psycopg.connect(primary, autocommit=True) as db:
            db.execute("select ragdb.create_signing_key('k1')")
            db.execute("select ragdb.create_corpus('docs')")
            for name, text in TEXTS.items():
                db.execute("select ragdb.put_text('docs', %s, %s)", (f"docs/{name}.md", text))
            ((anchor,),) = db.execute(
                "select chunk_id from ragdb.search('docs', 'refund', 1)"
            ).fetchall()
            kept = {row[0] for row in db.execute(retrieve, (anchor,))}
            db.execute("select ragdb.seal_ledger()")
            ((early,),) = db.execute("select ragdb.ledger_checkpoint()").fetchall()
            catch_up(primary, standby)
            assert wrong(standby) == []
            with psycopg.connect(standby, autocommit=True) as other:
                other.execute("alter system set primary_conninfo = ''")
                other.execute("select pg_reload_conf()")
                until(lambda: not other.execute("select from pg_stat_wal_receiver").fetchall())
            lost = {row[0] for row in db.execute(retrieve, (anchor,))}
            db.execute("select ragdb.seal_ledger()")
            ((late,),) = db.execute("select ragdb.ledger_checkpoint()").fetchall()
        with psycopg.connect(standby, autocommit=True) as db:
            before = verdicts(db, kept)
            db.execute("select pg_promote(true, 600)")
            assert db.execute("select pg_is_in_recovery()").fetchall() == [(False,)]
            assert verdicts(db, kept) == before
            assert all(verdict == (True, True, True) for verdict in before.values())
            assert wrong(standby) == []
            # what was lost with the primary is told by a checkpoint of it that was kept elsewhere
            assert follows(standby, early) is None
            assert "an old backup was restored" in (follows(standby, late) or "")
            for trace in lost:
                with pytest.raises(psycopg.DatabaseError) as caught:
                    db.execute("select ragdb.verify_trace(%s)", (trace,))
                assert caught.value.sqlstate == "RG407"
            again = {row[0] for row in db.execute(retrieve, (anchor,))}
            assert all(v == (True, True, True) for v in verdicts(db, again).values())
            db.execute("select ragdb.seal_ledger()")
            assert wrong(standby) == []
            assert "does not begin with" in (follows(standby, late) or "")


def wrong(dsn: str) -> list[Any]:
    """The errors of ragdb.verify, and what the ledger finds."""
    with psycopg.connect(dsn) as db:
        found = db.execute("select * from ragdb.verify() where severity = 'error'").fetchall()
        return found + db.execute("select * from ragdb.verify_ledger()").fetchall()


def follows(dsn: str, kept: str) -> str | None:
    """Why a ledger does not begin with a checkpoint that was kept, or None."""
    with ragdb.connect(dsn) as client:
        try:
            now = Checkpoint.of(client.ledger_checkpoint())
            online.follow(client, Checkpoint.of(kept), now)
        except LedgerError as error:
            return f"{error} {getattr(error, 'hint', '')}"
    return None


def verdicts(db: Any, traces: set[Any]) -> dict[Any, tuple[bool, bool, bool]]:
    """Whether each trace is intact, its token is valid, and its replay gives the same."""
    found = {}
    for trace in traces:
        ((intact,),) = db.execute(
            "select bool_and(is_intact) from ragdb.verify_trace(%s)", (trace,)
        )
        ((valid,),) = db.execute(
            "select v.valid from ragdb.get_trace(%s) t, ragdb.verify_token(t.corpus,"
            " t.admissibility_token, t.slice_id, t.anchor_chunk_id, t.policy_id,"
            " t.policy_params_hash, t.graph_snapshot_hash, t.schema_version) v",
            (trace,),
        )
        ((same,),) = db.execute("select verdict = 'exact' from ragdb.replay(%s)", (trace,))
        found[trace] = (intact, valid, same)
    return found
