"""On another server every oid is another's: rights wait until the owner binds the roles by name."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ragdb.server import postgres
from tests.conftest import Connection, Login, Server


@pytest.fixture
def people(server16: Server, server18: Server) -> Iterator[None]:
    """carol and dave on both servers."""
    with (
        psycopg.connect(server16.uri, autocommit=True) as old,
        psycopg.connect(server18.uri, autocommit=True) as new,
    ):
        for db in (old, new):
            for role in ("carol", "dave"):
                db.execute(f"create role {role} login in role ragdb_reader")
        try:
            yield
        finally:
            for db in (old, new):
                for role in ("carol", "dave"):
                    db.execute(f"drop role {role}")


def says(db: Connection, call: str) -> str:
    try:
        db.execute(f"select * from ragdb.{call}").fetchall()
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return ""


def test_rights_of_a_restored_copy_wait_for_the_owner(
    server16: Server, server18: Server, people: None, login: Login, tmp_path: Path
) -> None:
    with server16.database() as source, server18.database(None) as target:
        before, after = server16.dsn(source.dbname), server18.dsn(target.dbname)
        with psycopg.connect(before, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('docs', is_restricted => true)")
            db.execute("select ragdb.put_text('docs', 'a.md', 'tulips')")
            db.execute("select ragdb.grant_corpus('docs', 'carol', 'read')")
            db.execute("set role carol")
            db.execute("select ragdb.create_corpus('personal')")
            db.execute("select ragdb.put_text('personal', 'b.md', 'my tulips')")
            db.execute("select * from ragdb.retrieve('docs', 'tulips')")
        dump = tmp_path / "dump"
        subprocess.run([postgres.binary("pg_dump"), "-Fc", "-f", dump, "-d", before], check=True)
        subprocess.run([postgres.binary("pg_restore"), "-e", "-d", after, dump], check=True)
        with psycopg.connect(after, autocommit=True) as owner:
            # the worst that another server can do: what was carol's oid is dave's
            for table, column in (("corpora", "personal_oid"), ("corpus_grants", "role_oid")):
                owner.execute(
                    f"update ragdb.{table} set {column} = 'dave'::regrole where {column} in"
                    f" (select {column} from ragdb.{table} where {column} is not null)"
                )
            carol, dave = (login(after, role, autocommit=True) for role in ("carol", "dave"))
            for call in (
                "corpus_info('docs')",
                "search('docs', 'tulips')",
                "corpus_info('personal')",
            ):
                assert says(carol, call) == says(dave, call) == "RG404"
            assert carol.execute("select * from ragdb.list_traces()").fetchall() == []
            with pytest.raises(psycopg.Error) as caught:
                carol.execute("select ragdb.corpus_info('docs')")
            assert "bind_role" in (caught.value.diag.message_hint or "")
            bind = "select ragdb.bind_role(role) from ragdb.dead_roles() where name_is_taken"
            admin = login(after, "admin", autocommit=True)
            with pytest.raises(psycopg.Error) as caught:
                admin.execute(bind)
            assert caught.value.sqlstate == "RG401"
            owner.execute(bind)
            assert owner.execute("select * from ragdb.dead_roles()").fetchall() == []
            for call in ("search('docs', 'tulips')", "corpus_info('personal')"):
                assert (says(carol, call), says(dave, call)) == ("", "RG404")
            rows = carol.execute("select query_text from ragdb.list_traces()").fetchall()
            assert rows == [("tulips",)]
            assert dave.execute("select * from ragdb.list_traces()").fetchall() == []
            verified = (
                "select bool_and(v.is_intact) from ragdb.list_traces() t,"
                " ragdb.verify_trace(t.id) v"
            )
            assert carol.execute(verified).fetchone() == (True,)
