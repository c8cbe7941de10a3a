"""Who read, exported, granted or was refused what is written down, for auditors."""

from __future__ import annotations

import hashlib
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection, Login
from tests.waiting import until

EVENTS = "select kind, role, session_role, corpus, what from ragdb.list_access_events() order by id"


@pytest.fixture
def vault(any_db: Connection) -> Connection:
    any_db.execute("set role writer")
    any_db.execute("select ragdb.create_corpus('vault', is_restricted => true)")
    any_db.execute("select ragdb.put_text('vault', 'a.md', 'tulips of the vault')")
    any_db.execute("select ragdb.grant_corpus('vault', 'reader', 'read')")
    any_db.execute("reset role")
    return any_db


def kinds(db: Connection) -> list[str]:
    db.execute("reset role")
    return [row[0] for row in db.execute(EVENTS)]


def as_role(db: Connection, role: str, call: str) -> None:
    db.execute(f"set role {role}")
    db.execute(f"select * from ragdb.{call}").fetchall()
    db.execute("reset role")


def sqlstate(db: Connection, role: str, call: str) -> str | None:
    try:
        with db.transaction():
            db.execute(f"set local role {role}")
            db.execute(f"select * from ragdb.{call}").fetchall()
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_what_changes_a_right_is_an_event(vault: Connection) -> None:
    as_role(vault, "writer", "revoke_corpus('vault', 'reader')")
    as_role(vault, "writer", "record_reads('vault', 'on')")
    as_role(vault, "admin", "unrestrict_corpus('vault')")
    as_role(vault, "admin", "restrict_corpus('vault')")
    as_role(vault, "admin", "set_quota('reader', 100)")
    as_role(vault, "owner", "export_signing_keys()")
    assert vault.execute(EVENTS).fetchall() == [
        ("grant", "writer", "postgres", "vault", 'admin to "writer"'),
        ("grant", "writer", "postgres", "vault", 'read to "reader"'),
        ("revoke", "writer", "postgres", "vault", 'from "reader"'),
        ("record_reads", "writer", "postgres", "vault", "on"),
        ("unrestrict", "admin", "postgres", "vault", "1 grants removed"),
        ("restrict", "admin", "postgres", "vault", ""),
        (
            "set_quota",
            "admin",
            "postgres",
            None,
            '"reader": 100 bytes, any failures, any calls, any chunks',
        ),
        ("export_keys", "owner", "postgres", None, ""),
    ]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("search('vault', 'tulips')", "search"),
        ("retrieve('vault', 'tulips')", "retrieve"),
        ("list_documents('vault')", "list_documents"),
        ("get_source('vault', 'a.md')", "get_source"),
        (
            'rag_query(\'{"params": {"corpus": "vault"}, "input": {"query": "tulips"}}\')',
            "rag_query",
        ),
    ],
)
def test_a_read_is_an_event_where_an_admin_said_so(vault: Connection, call: str, what: str) -> None:
    as_role(vault, "reader", call)
    assert "read" not in kinds(vault)
    as_role(vault, "writer", "record_reads('vault', 'on')")
    as_role(vault, "reader", call)
    found = {row for row in vault.execute(EVENTS).fetchall() if row[0] == "read"}
    assert found == {("read", "reader", "postgres", "vault", what)}


def answered(db: Connection) -> tuple[str, str]:
    """A retrieval of the reader, and an answer from it."""
    db.execute("set role reader")
    ((trace,),) = db.execute("select trace_id from ragdb.retrieve('vault', 'tulips')").fetchall()
    ((pack,),) = db.execute("select ragdb.build_evidence_pack(%s)", (trace,)).fetchall()
    cited = {"source_id": "a.md", "chunk_id": pack["chunks"][0]["chunk_id"]}
    output = {"answer": "Tulips of the vault.", "citations": [cited | {"quote": "of the vault"}]}
    ((answer,),) = db.execute(
        "select answer_id from ragdb.record_answer(%s, %s)", (Jsonb(output), Jsonb(pack))
    ).fetchall()
    db.execute("reset role")
    return trace, answer


def test_what_a_trace_or_an_answer_shows_of_a_corpus_is_a_read(vault: Connection) -> None:
    trace, answer = answered(vault)
    calls = {
        "build_evidence_pack": f"build_evidence_pack('{trace}')",
        "list_citations": f"list_citations('{answer}')",
        "replay_hits": f"replay_hits('{trace}')",
    }
    for call in calls.values():
        as_role(vault, "reader", call)
    assert "read" not in kinds(vault)
    as_role(vault, "writer", "record_reads('vault', 'on')")
    for name, call in calls.items():
        as_role(vault, "reader", call)
        last = vault.execute(EVENTS).fetchall()[-1]
        assert last == ("read", "reader", "postgres", "vault", name)


def test_an_export_is_an_event_without_being_asked_for(vault: Connection) -> None:
    as_role(vault, "reader", "export_corpus('vault')")
    as_role(vault, "reader", "export_documents('vault')")
    assert kinds(vault) == ["grant", "grant", "export", "export"]


def test_the_original_of_a_recorded_document_is_a_read(vault: Connection) -> None:
    as_role(vault, "writer", "record_reads('vault', 'on')")
    (cid,) = vault.execute("select doc_cid from ragdb.list_documents('vault')").fetchone() or ("",)
    before = kinds(vault).count("read")
    vault.execute(
        "insert into ragdb.blobs (cid, bytes, size) values (%s, 'x', 1)",
        (cid,),
    )
    vault.execute(
        "insert into ragdb.corpus_blobs (corpus_id, cid, media_type, brought_by, brought_at)"
        " select corpus_id, %s, 'text/plain', 'writer', now() from ragdb.corpora"
        " where name = 'vault'",
        (cid,),
    )
    as_role(vault, "reader", f"get_blob('{cid}')")
    assert kinds(vault).count("read") == before + 1


def test_a_refusal_is_recorded_by_the_client_and_tells_nothing(vault: Connection) -> None:
    assert sqlstate(vault, "reader2", "search('vault', 'tulips')") == "RG404"
    assert kinds(vault) == ["grant", "grant"]
    for corpus in ("vault", "nowhere"):
        as_role(vault, "reader2", f"record_refusal('{corpus}', 'RG404')")
    assert vault.execute(EVENTS).fetchall()[2:] == [
        ("refused", "reader2", "postgres", "vault", "RG404")
    ]


@pytest.mark.parametrize(("role", "corpus"), [("writer", "vault"), ("reader", "personal")])
def test_no_refusal_is_recorded_where_nobody_can_be_refused(
    vault: Connection, role: str, corpus: str
) -> None:
    as_role(vault, "writer", "create_corpus('personal')")
    before = kinds(vault)
    as_role(vault, role, f"record_refusal('{corpus}', 'RG401')")
    assert kinds(vault) == before


def test_events_are_listed_from_a_time_on(vault: Connection) -> None:
    vault.execute("select set_config('ragdb.now', '2100-01-01 10:00:00+00', true)")
    as_role(vault, "writer", "revoke_corpus('vault', 'reader')")
    since = "select kind from ragdb.list_access_events(since => %s)"
    assert vault.execute(since, ("2100-01-01 10:00:00+00",)).fetchall() == [("revoke",)]
    assert vault.execute(since, ("2100-01-01 10:00:01+00",)).fetchall() == []


def test_events_of_access_to_one_corpus_are_those_of_no_other(any_db: Connection) -> None:
    for name in ("first", "second"):
        any_db.execute("select ragdb.create_corpus(%s, is_restricted => true)", (name,))
    listed = "select corpus from ragdb.list_access_events(%s)"
    assert any_db.execute(listed, ("first",)).fetchall() == [("first",)]
    assert any_db.execute(listed, (None,)).fetchall() == [("second",), ("first",)]


def test_a_refusal_is_in_the_log_of_the_server_whatever_the_client_does(
    any_version: Any, any_clone: str, login: Login
) -> None:
    writer = login(any_clone, "writer", autocommit=True)
    writer.execute("select ragdb.create_corpus('vault-of-logs', is_restricted => true)")
    reader = login(any_clone, "reader", autocommit=True)
    for corpus in ("no-such-corpus", "vault-of-logs"):
        with pytest.raises(psycopg.Error):
            reader.execute("select * from ragdb.search(%s, 'tulips')", (corpus,))

    def refused() -> list[str]:
        logs = "".join(
            path.read_text(errors="replace") for path in Path(any_version.folder).rglob("*.log")
        )
        return [
            line for line in logs.splitlines() if "ragdb access" in line and '"refused"' in line
        ]

    # the server's collector writes lines in their order, but a little later
    until(lambda: any('"vault-of-logs"' in line for line in refused()))
    lines = refused()
    assert any('"vault-of-logs"' in line and '"reader"' in line for line in lines)
    assert not any("no-such-corpus" in line for line in lines)


def test_what_must_be_recorded_is_not_read_where_nothing_can_be_written(
    any_clone: str, login: Login
) -> None:
    writer = login(any_clone, "writer", autocommit=True)
    writer.execute("select ragdb.create_corpus('vault', is_restricted => true)")
    writer.execute("select ragdb.put_text('vault', 'a.md', 'tulips')")
    search = "select * from ragdb.search('vault', 'tulips')"
    for mode in ("on", "required"):
        writer.execute("select ragdb.record_reads('vault', %s)", (mode,))
        with writer.transaction():
            writer.execute("set transaction read only")
            if mode == "on":
                assert writer.execute(search).fetchall()
            else:
                with pytest.raises(psycopg.Error) as caught, writer.transaction():
                    writer.execute(search)
                assert caught.value.sqlstate == "RG471"
    auditor = login(any_clone, "auditor", autocommit=True)
    assert [row[0] for row in auditor.execute(EVENTS)] == ["grant", "record_reads", "record_reads"]
    writer.execute(search)
    assert [row[0] for row in auditor.execute(EVENTS)][-1] == "read"


def test_events_are_append_only_and_dropped_by_day(vault: Connection) -> None:
    for change in (
        "update ragdb.access_events set role = 'x'",
        "delete from ragdb.access_events",
        "truncate ragdb.access_events",
    ):
        vault.execute("set local session_replication_role = replica")
        with pytest.raises(psycopg.Error) as caught, vault.transaction():
            vault.execute(change)
        vault.execute("set local session_replication_role = origin")
        assert caught.value.sqlstate == "RG414"
    assert sqlstate(vault, "writer", "drop_access_events_before(current_date)") == "42501"
    as_role(vault, "admin", "drop_access_events_before('2020-01-01')")
    assert kinds(vault) == ["grant", "grant", "drop_events"]
    vault.execute("set local ragdb.now = '2020-01-01 12:00+00'")
    as_role(vault, "admin", "grant_corpus('vault', 'reader2', 'read')")
    vault.execute("reset ragdb.now")
    assert kinds(vault) == ["grant", "grant", "grant", "drop_events"]
    as_role(vault, "admin", "drop_access_events_before('2020-01-02')")
    assert kinds(vault) == ["grant", "grant", "drop_events", "drop_events"]
    with pytest.raises(psycopg.Error) as caught, vault.transaction():
        vault.execute("delete from ragdb.access_events")
    assert caught.value.sqlstate == "RG414"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("2020-01-02", "before is in the future"),
        ("infinity", "before is in the future"),
        (None, "before is null"),
    ],
)
def test_events_of_a_day_that_has_not_ended_are_never_dropped(
    vault: Connection, before: str | None, said: str
) -> None:
    vault.execute("set local ragdb.now = '2020-01-01 23:59:59+00'")
    with pytest.raises(psycopg.Error) as caught, vault.transaction():
        vault.execute("select ragdb.drop_access_events_before(%s::date)", (before,))
    assert (caught.value.sqlstate, caught.value.diag.message_primary) == ("RG400", said)
    assert kinds(vault) == ["grant", "grant"]


@pytest.mark.parametrize("day", ["-infinity", "4713-01-01 BC"])
def test_the_act_of_dropping_events_before_any_day_can_be_read(vault: Connection, day: str) -> None:
    vault.execute("select ragdb.drop_access_events_before(%s)", (day,))
    acts = vault.execute("select to_at from ragdb.list_ledger_acts(1)").fetchall()
    assert acts == [(datetime(1970, 1, 1, tzinfo=UTC),)]


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ("access_events", "ragdb.drop_access_events_before()"),
        ("slice_policies", "ragdb.register_policy()"),
        ("key_events", "another row"),
        ("retrieval_traces", "ragdb.drop_traces_before()"),
    ],
)
def test_a_refused_change_says_what_can_be_done_with_this_table(
    vault: Connection, table: str, hint: str
) -> None:
    with pytest.raises(psycopg.Error) as caught, vault.transaction():
        vault.execute(f"truncate ragdb.{table} cascade")
    assert caught.value.sqlstate == "RG414"
    assert hint in (caught.value.diag.message_hint or "")
    traces = "traces" in f"{caught.value.diag.message_detail}{caught.value.diag.message_hint}"
    assert traces == (table == "retrieval_traces")


def test_the_hash_of_an_event_is_that_of_an_independent_twin(vault: Connection) -> None:
    row = vault.execute("select * from ragdb.list_access_events()").fetchone()
    assert row is not None
    id_, at, kind, role, oid, session, corpus_id, corpus, what, event_hash = row
    micros = (at - datetime(2000, 1, 1, tzinfo=UTC)).total_seconds() * 1e6
    fields = [
        b"ragdb.access/1",
        id_.bytes,
        struct.pack(">q", round(micros)),
        kind.encode(),
        role.encode(),
        struct.pack(">I", oid),
        session.encode(),
        struct.pack(">i", corpus_id),
        corpus.encode(),
        what.encode(),
    ]
    packed = b"".join(struct.pack(">i", len(f)) + f for f in fields)
    assert event_hash == hashlib.sha256(packed).digest()
