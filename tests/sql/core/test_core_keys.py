"""Keys outside the database, the log of what was done with them, and what a forger can do."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.conversations import uuid
from tests.sql.signed_slices import export, one, retrieve, verify

SECRET = "5e" * 32


def mac_row(db: Connection, trace: Any) -> tuple[bool | None, str]:
    row = one(db, "select * from ragdb.verify_trace(%s) where field = 'trace_mac'", trace)
    return row["is_intact"], row["recomputed"]


def recorded(db: Connection) -> Any:
    return one(db, "select trace_id from ragdb.retrieve('chat', 'refunds', k => 1)")["trace_id"]


def unprotected(db: Connection, edit: str, *values: Any) -> None:
    """An edit of traces by somebody who owns them, and has no key."""
    for (name,) in db.execute(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = 'ragdb.retrieval_traces'::regclass"
    ).fetchall():
        db.execute(f"alter table ragdb.{name} disable trigger all")
    db.execute(edit, values)


def give(db: Connection, keys: str) -> None:
    db.execute("select set_config('ragdb.signing_key', %s, true)", (keys,))


@pytest.fixture
def outside(signed: Connection) -> Connection:
    """A conversation whose key is outside, and a session that was given it."""
    give(signed, f"out:{SECRET}")
    signed.execute("select ragdb.register_signing_key('out')")
    return signed


# ── M2: what a forger without a key can do ──────────────────────────────────────────────────────


def test_a_made_up_signature_is_wrong_also_before_the_first_key(signed: Connection) -> None:
    trace = recorded(signed)
    assert mac_row(signed, trace) == (True, "signed by key k1")
    unprotected(
        signed,
        "update ragdb.retrieval_traces set trace_mac = sha256('made up') where id = %s", trace,
    )  # fmt: skip
    assert mac_row(signed, trace) == (False, "none of the keys of this database made it")
    # the same under a key that looks younger than the trace
    signed.execute("update ragdb.signing_keys set created_at = now() + interval '1 day'")
    assert mac_row(signed, trace)[0] is not True


def test_a_signature_is_held_to_the_keys_of_its_time_first(signed: Connection) -> None:
    trace = recorded(signed)
    signed.execute("set local track_functions = 'all'")

    def secrets_tried() -> int:
        counted = (
            "select coalesce(sum(calls), 0)::integer as calls from pg_stat_xact_user_functions"
            " where schemaname = 'ragdb_internal' and funcname = 'origin_bytes'"
        )
        before = one(signed, counted)["calls"]
        assert mac_row(signed, trace) == (True, "signed by key k1")
        return int(one(signed, counted)["calls"] - before)

    tried = secrets_tried()
    signed.execute("set local ragdb.now = '2099-01-01'")
    for key in ("k2", "k3", "k4"):
        signed.execute("select ragdb.create_signing_key(%s)", (key,))
    assert secrets_tried() == tried == 1


def test_a_key_made_younger_does_not_excuse_a_missing_signature(signed: Connection) -> None:
    trace = recorded(signed)
    signed.execute("update ragdb.signing_keys set created_at = now() + interval '1 day'")
    unprotected(signed, "update ragdb.retrieval_traces set trace_mac = null where id = %s", trace)
    assert (
        mac_row(signed, trace)
        == (
            False,
            "it is not signed, and the keys are not what they were:"
            " an event of a key is not what was recorded: k1",
        )
        or "keys are not what they were" in mac_row(signed, trace)[1]
    )
    assert mac_row(signed, trace)[0] is False


@pytest.mark.parametrize(
    "edit",
    [
        "delete from ragdb.signing_keys",
        "update ragdb.signing_keys set state = 'verify_only', active_until = created_at",
        "update ragdb.signing_keys set not_after = created_at",
    ],
)
def test_a_key_that_was_tampered_with_excuses_nothing(signed: Connection, edit: str) -> None:
    trace = recorded(signed)
    signed.execute(edit)
    unprotected(signed, "update ragdb.retrieval_traces set trace_mac = null where id = %s", trace)
    intact, problem = mac_row(signed, trace)
    assert (intact, "the keys are not what they were" in problem) == (False, True)


def test_a_secret_that_was_replaced_signs_nothing(signed: Connection) -> None:
    made = export(signed)
    signed.execute("update ragdb.signing_secrets set secret = sha256('mine')")
    assert (verify(signed, made)[1] or "").startswith("key_absent")
    with pytest.raises(psycopg.Error) as caught, signed.transaction():
        retrieve(signed)
    assert caught.value.sqlstate == "RG433"
    found = signed.execute("select finding from ragdb_internal.key_findings()").fetchall()
    assert ("a secret is not that of its key",) in found


def test_a_signature_by_a_key_that_had_ended_is_wrong(signed: Connection) -> None:
    signed.execute("set local ragdb.now = '2031-01-10'")
    signed.execute("select ragdb.create_signing_key('k2')")
    signed.execute("set local ragdb.now = '2031-02-10'")
    late = recorded(signed)
    assert mac_row(signed, late) == (True, "signed by key k2")
    forged = (
        "update ragdb.retrieval_traces t set trace_mac = ragdb_internal.trace_mac(t.trace_hash,"
        " (select s.secret from ragdb.signing_secrets s where s.key_id = 'k1')) where id = %s"
    )
    unprotected(signed, forged, late)
    assert mac_row(signed, late) == (False, "key k1 had stopped to sign a day before it")


# ── keys outside ────────────────────────────────────────────────────────────────────────────────


def test_a_key_outside_signs_and_leaves_no_secret(outside: Connection) -> None:
    made, trace = export(outside), recorded(outside)
    assert made["admissibility_token"].startswith("rgt1.out.")
    assert verify(outside, made) == (True, None)
    assert mac_row(outside, trace) == (True, "signed by key out")
    tables = outside.execute(
        "select c.oid::regclass::text from pg_class c where c.relkind = 'r'"
        " and c.relnamespace = 'ragdb'::regnamespace"
    ).fetchall()
    for (table,) in tables:
        (found,) = outside.execute(
            f"select count(*) from {table} t where t::text like %s", (f"%{SECRET}%",)
        ).fetchone() or (None,)
        assert found == 0, table
    assert outside.execute("select key_id from ragdb.export_signing_keys()").fetchall() == [("k1",)]


def test_a_session_without_the_key_signs_nothing_and_checks_nothing(outside: Connection) -> None:
    made, trace = export(outside), recorded(outside)
    give(outside, "")
    for call in (
        "select * from ragdb.retrieve('chat', 'refunds')",
        f"select * from ragdb.export_slice('chat', '{uuid(1)}')",
    ):
        with pytest.raises(psycopg.Error) as caught, outside.transaction():
            outside.execute(call)
        assert caught.value.sqlstate == "RG433"
        assert "RAGDB_SIGNING_KEY_FILE" in (caught.value.diag.message_hint or "")
    assert (verify(outside, made)[1] or "").startswith("key_absent")
    assert mac_row(outside, trace) == (None, "not checked: the secret of key out is not at hand")
    # and a search, which is recorded nowhere, needs none
    assert outside.execute("select from ragdb.search('chat', 'refunds')").fetchall()


@pytest.mark.parametrize(
    "given", ["out:" + "5f" * 32, "out:zz", "out", ":", ",,", "other:" + SECRET]
)
def test_a_wrong_secret_is_refused(outside: Connection, given: str) -> None:
    give(outside, given)
    with pytest.raises(psycopg.Error) as caught:
        outside.execute("select * from ragdb.retrieve('chat', 'refunds')")
    assert caught.value.sqlstate == "RG433"


def test_whoever_owns_the_tables_and_not_the_key_forges_no_key(outside: Connection) -> None:
    trace = recorded(outside)
    # another secret under the same id, with a commitment to it
    outside.execute(
        "update ragdb.signing_keys k set commitment = ragdb_internal.key_commitment("
        "k.key_id, k.created_at, sha256('mine')) where key_id = 'out'"
    )
    give(outside, "out:" + hashlib.sha256(b"mine").hexdigest())
    assert mac_row(outside, trace)[0] is False
    give(outside, f"out:{SECRET}")
    with pytest.raises(psycopg.Error) as caught, outside.transaction():
        recorded(outside)
    assert caught.value.sqlstate == "RG433"
    assert "its row was changed" in (caught.value.diag.message_detail or "")


def test_only_a_signer_puts_a_key_inside_in_place_of_one_outside(outside: Connection) -> None:
    outside.execute("set local role admin")
    with pytest.raises(psycopg.Error) as caught, outside.transaction():
        outside.execute("select ragdb.create_signing_key('mine')")
    assert caught.value.sqlstate == "RG401"
    for call in ("export_signing_keys()", "register_signing_key('mine')",
                 f"import_signing_key('mine', '{SECRET}')"):  # fmt: skip
        with pytest.raises(psycopg.Error) as caught, outside.transaction():
            outside.execute(f"select ragdb.{call}")
        assert caught.value.sqlstate == "42501"
    outside.execute("reset role")
    outside.execute("grant ragdb_signer to admin")
    outside.execute("set local role admin")
    outside.execute("select ragdb.create_signing_key('mine')")


# ── compromise ──────────────────────────────────────────────────────────────────────────────────


def test_what_a_compromised_key_signed_since_is_not_to_be_trusted(signed: Connection) -> None:
    def at(time: str) -> Any:
        signed.execute(f"set local ragdb.now = '{time}'")
        return recorded(signed)

    before, after = at("2031-01-09"), at("2031-01-11")
    made = export(signed)
    signed.execute("set local ragdb.now = '2031-01-12'")
    signed.execute("select ragdb.report_key_compromise('k1', '2031-01-10')")
    assert mac_row(signed, before) == (True, "signed by key k1")
    assert mac_row(signed, after) == (
        False, "not to be trusted: key k1 is reported compromised",
    )  # fmt: skip
    assert verify(signed, made)[1] == 'key_revoked: key "k1" is reported compromised'
    # a later report can only move the time back, and an import cannot take it back
    signed.execute("select ragdb.report_key_compromise('k1', '2031-01-11 12:00')")
    kept = one(signed, "select * from ragdb.export_signing_keys()")
    signed.execute(
        "select ragdb.import_signing_key(%(key_id)s, %(secret)s, 'active', %(created_at)s)", kept
    )
    assert mac_row(signed, after)[0] is False
    signed.execute("select ragdb.report_key_compromise('k1')")
    assert mac_row(signed, before)[0] is False
    kinds = [k for (k,) in signed.execute("select kind from ragdb.list_key_events()").fetchall()]
    assert kinds == ["created", "compromised", "compromised", "imported", "compromised"]


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("report_key_compromise('k9')", "RG432"),
        ("report_key_compromise(null)", "RG432"),
        ("report_key_compromise('k1', 'infinity')", "RG400"),
        (f"import_signing_key('k9', '{'ab' * 32}', created_at => '-infinity')", "RG400"),
        (f"import_signing_key('k9', '{'ab' * 32}', not_after => 'infinity')", "RG400"),
        ("register_signing_key('k9')", "RG400"),
        ("register_signing_key('a b')", "RG400"),
    ],
)
def test_a_call_that_cannot_be_is_refused(signed: Connection, call: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        signed.execute(f"select ragdb.{call}")
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint


@pytest.mark.parametrize("since", [None, "-infinity", "0044-03-15 BC"])
def test_a_key_that_was_always_compromised_is_so_since_it_was_made(
    signed: Connection, since: str | None
) -> None:
    signed.execute("set timezone = 'America/New_York'")
    signed.execute("select ragdb.report_key_compromise('k1', %s)", (since,))
    for listed in ("list_signing_keys", "list_key_events"):
        times = signed.execute(
            f"select date_trunc('milliseconds', created_at), compromised_since"
            f" from ragdb.{listed}() where state = 'revoked'".encode()
        ).fetchall()
        assert [made for made, _ in times] == [told for _, told in times] != []


# ── the log of keys ─────────────────────────────────────────────────────────────────────────────


def test_events_of_keys_are_a_chain_that_nobody_edits(signed: Connection) -> None:
    signed.execute("select ragdb.create_signing_key('k2')")
    signed.execute("select ragdb.revoke_signing_key('k1')")
    rows = signed.execute(
        "select event_no, kind, key_id, role from ragdb.list_key_events()"
    ).fetchall()
    assert [row[:3] for row in rows] == [
        (1, "created", "k1"), (2, "retired", "k1"), (3, "created", "k2"), (4, "revoked", "k1"),
    ]  # fmt: skip
    assert {row[3] for row in rows} == {"postgres"}
    assert signed.execute("select * from ragdb_internal.key_findings()").fetchall() == []
    for edit in ("update ragdb.key_events set role = 'x'", "delete from ragdb.key_events",
                 "truncate ragdb.key_events"):  # fmt: skip
        with pytest.raises(psycopg.Error) as caught, signed.transaction():
            signed.execute(edit)
        assert caught.value.sqlstate == "RG414"
    for edit in (
        "update ragdb.key_events set role = 'x' where event_no = 2",
        "delete from ragdb.key_events where event_no = 1",
        "delete from ragdb.key_events where event_no = 3",
        "update ragdb.key_events e set role = 'x', hash = ragdb_internal.key_event_hash("
        "row(e.event_no, e.kind, e.at, 'x', e.key_id, e.commitment, e.is_inside, e.state,"
        " e.created_at, e.active_until, e.not_after, e.compromised_since, e.previous, null, null"
        ")::ragdb.key_events) where event_no = 4",
    ):
        with signed.transaction(force_rollback=True):
            signed.execute("alter table ragdb.key_events disable trigger all")
            assert signed.execute(edit).rowcount == 1
            assert signed.execute("select * from ragdb_internal.key_findings()").fetchall(), edit


def test_an_event_of_a_key_whose_secret_is_here_is_signed(signed: Connection) -> None:
    signed.execute("select ragdb.create_signing_key('k2')")
    signed.execute("select ragdb.revoke_signing_key('k1')")
    signed.execute("alter table ragdb.key_events disable trigger all")
    for number in range(1, 5):
        with signed.transaction(force_rollback=True):
            signed.execute("update ragdb.key_events set mac = null where event_no = %s", (number,))
            assert [detail.split()[1] for (detail,) in signed.execute(
                "select detail from ragdb_internal.key_findings()")] == [str(number)]  # fmt: skip


def test_what_was_done_with_a_key_in_a_copy_without_its_secret_is_not_signed(
    signed: Connection,
) -> None:
    kept = one(signed, "select * from ragdb.export_signing_keys()")
    signed.execute("delete from ragdb.signing_secrets")
    signed.execute("select ragdb.revoke_signing_key('k1')")
    found = "select * from ragdb_internal.key_findings()"
    assert signed.execute(found).fetchall() == []
    signed.execute(
        "select ragdb.import_signing_key(%(key_id)s, %(secret)s, %(state)s, %(created_at)s)", kept
    )
    assert signed.execute(found).fetchall() == []


# ── attack 21 ───────────────────────────────────────────────────────────────────────────────────


def test_what_another_database_signed_with_the_same_key_is_refused(signed: Connection) -> None:
    made, trace = export(signed), recorded(signed)
    assert verify(signed, made) == (True, None)
    signed.execute(
        "update ragdb.settings set value = jsonb_set(value, '{id}', to_jsonb(gen_random_uuid()))"
        " where key = 'origin'"
    )
    assert (verify(signed, made)[1] or "").startswith("signature")
    assert mac_row(signed, trace)[0] is False


def test_the_session_s_secret_is_not_shown(outside: Connection) -> None:
    (shown,) = outside.execute(
        "select count(*) from pg_settings where setting like %s", (f"%{SECRET}%",)
    ).fetchone() or (None,)
    assert shown == 0
