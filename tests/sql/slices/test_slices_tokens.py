"""What is admissible can be proved: fingerprints, tokens and the keys that sign them."""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.sql.conversations import chat, message, uuid
from tests.sql.signed_slices import FIELDS, export, messages, one, packed, retrieve, verify


def test_a_token_is_a_mac_of_what_it_says(signed: Connection) -> None:
    made = export(signed)
    secret = one(signed, "select secret from ragdb.export_signing_keys()")["secret"]
    version, key_id, issued, expires, digest = made["admissibility_token"].split(".")
    policy = one(signed, "select canonical from ragdb.slice_policies")["canonical"]
    fields = packed(
        *(
            b"rgt1",
            b"k1",
            b"admissible slice",
            one(signed, "select id from ragdb.origin()")["id"].bytes,
            b"chat",
            made["slice_id"].encode(),
            made["anchor_chunk_id"].encode(),
            made["policy_id"].encode(),
            hashlib.sha256(policy.encode()).digest(),
            made["graph_snapshot_hash"].encode(),
            b"1.0.0",
            struct.pack(">q", int(issued)),
            struct.pack(">q", int(expires)),
        )
    )
    assert (version, key_id) == ("rgt1", "k1")
    assert int(expires) - int(issued) == 30 * 86400
    assert digest == hmac.new(bytes.fromhex(secret), fields, hashlib.sha256).hexdigest()


def fingerprints(made: dict[str, Any], said: list[dict[str, Any]]) -> tuple[str, str]:
    """The slice id and snapshot hash of a slice, computed from the messages."""
    texts = {m["id"]: m["text"] for m in said}
    contents = b"".join(
        packed(i.encode(), hashlib.sha256(texts[i].encode()).digest()) for i in made["chunk_ids"]
    )
    edges = sorted(
        (p, m["id"]) for m in said for p in m["parents"] if {p, m["id"]} <= set(made["chunk_ids"])
    )
    joined = b"".join(packed(p.encode(), c.encode(), b"reply") for p, c in edges)
    version = made["schema_version"].encode()
    slice_id = packed(b"ragdb-slice-1", b"chat", made["anchor_chunk_id"].encode()) + packed(
        made["policy_id"].encode(), made["params_hash"].encode(), contents, joined, version
    )
    snapshot = packed(b"ragdb-snapshot-1", contents, struct.pack(">i", len(edges)), version)
    return hashlib.sha256(slice_id).hexdigest(), hashlib.sha256(snapshot).hexdigest()


def test_a_slice_id_covers_members_contents_and_edges(signed: Connection) -> None:
    made = export(signed)
    assert made["edge_count"] == 4
    assert (made["slice_id"], made["graph_snapshot_hash"]) == fingerprints(made, messages())


def test_a_slice_id_covers_the_edges_of_a_hub(db: Connection) -> None:
    # more answers than are read of one turn, some of them to each other
    said = [message(1), *(message(n, [1, n - 1] if n % 5 == 3 else [1]) for n in range(2, 302))]
    chat(db, said)
    made = one(db, "select * from ragdb.build_slice('chat', %s, %s, false)", uuid(250), Jsonb({}))
    assert len(made["chunk_ids"]) == 256
    assert made["edge_count"] > 255
    assert (made["slice_id"], made["graph_snapshot_hash"]) == fingerprints(made, said)


def test_a_fresh_token_verifies_with_and_without_its_members(signed: Connection) -> None:
    made = export(signed)
    assert verify(signed, made) == (True, None)
    assert verify(signed, made, made["chunk_ids"]) == (True, None)


def replaced(token: str, part: int, value: str) -> str:
    parts = token.split(".")
    parts[part] = value
    return ".".join(parts)


FORGERIES: list[tuple[str, Callable[[dict[str, Any]], dict[str, Any]], str]] = [
    *(
        (field, lambda made, field=field: made | {field: made[field] + "0"}, "signature|policy")
        for field in FIELDS
    ),
    (
        "truncated",
        lambda m: m | {"admissibility_token": m["admissibility_token"][:-2]},
        "malformed",
    ),
    ("empty", lambda m: m | {"admissibility_token": ""}, "malformed"),
    ("null", lambda m: m | {"admissibility_token": None}, "malformed"),
    (
        "upper case",
        lambda m: m | {"admissibility_token": m["admissibility_token"].upper()},
        "malformed",
    ),
    (
        "last digit",
        lambda m: (
            m
            | {
                "admissibility_token": m["admissibility_token"][:-1]
                + ("0" if m["admissibility_token"][-1] != "0" else "1")
            }
        ),
        "signature",
    ),
    (
        "longer life",
        lambda m: m | {"admissibility_token": replaced(m["admissibility_token"], 3, "9999999999")},
        "signature",
    ),
    (
        "another key",
        lambda m: m | {"admissibility_token": replaced(m["admissibility_token"], 1, "k2")},
        "key_unknown",
    ),
]


@pytest.mark.parametrize(
    ("forge", "why"), [f[1:] for f in FORGERIES], ids=[f[0] for f in FORGERIES]
)
def test_a_forged_token_fails(
    signed: Connection, forge: Callable[[dict[str, Any]], dict[str, Any]], why: str
) -> None:
    valid, reason = verify(signed, forge(export(signed)))
    assert not valid
    assert reason is not None
    assert any(reason.startswith(w) for w in why.split("|")), reason


def test_a_rekeyed_token_fails(signed: Connection) -> None:
    made = export(signed)
    signed.execute("select ragdb.import_signing_key('k2', %s, 'verify_only')", ("ab" * 32,))
    forged = replaced(made["admissibility_token"], 1, "k2")
    valid, reason = verify(signed, made | {"admissibility_token": forged})
    assert (valid, (reason or "")[:9]) == (False, "signature")


def test_an_expired_token_fails(signed: Connection) -> None:
    made = export(signed)
    signed.execute("set local ragdb.now = '2099-01-01'")
    valid, reason = verify(signed, made)
    assert (valid, (reason or "")[:7]) == (False, "expired")


def test_a_token_of_another_corpus_fails(signed: Connection) -> None:
    made = export(signed)
    chat(signed, messages(), "twin")
    assert verify(signed, made, corpus="twin")[0] is False


EVIDENCE: dict[str, Callable[[list[str]], list[str]]] = {
    "added": lambda ids: [*ids, uuid(9)],
    "removed": lambda ids: ids[:-1],
    "swapped": lambda ids: [*ids[:-1], uuid(9)],
    "reordered": lambda ids: ids[::-1],
    "repeated": lambda ids: [ids[0], *ids],
    "none": lambda ids: [],
}


@pytest.mark.parametrize("change", EVIDENCE)
def test_a_valid_token_does_not_cover_other_members(signed: Connection, change: str) -> None:
    made = export(signed)
    valid, reason = verify(signed, made, EVIDENCE[change](made["chunk_ids"]))
    assert not valid
    assert (reason or "").startswith("evidence")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            "update ragdb.chunks set text = 'x', content_hash = sha256('x') where chunk_no = 3",
            uuid(3),
        ),
        ("update ragdb.chunks set chunk_id = 'other' where chunk_no = 3", uuid(3)),
        ("delete from ragdb.chunks where chunk_no = 4", uuid(4)),
        ("delete from ragdb.edges where child_no = 4", "edges"),
        ("update ragdb.edges set edge_type = 'branch' where child_no = 4", "edges"),
    ],
)
def test_a_valid_token_does_not_cover_changed_rows(
    signed: Connection, change: str, named: str
) -> None:
    made = export(signed)
    signed.execute(change)
    valid, reason = verify(signed, made)
    assert not valid
    assert named in (reason or "")


@pytest.mark.parametrize("change", ["policy = policy || '{\"max_nodes\": 9}'", "sha256 = '\\x00'"])
def test_a_policy_whose_row_was_edited_is_none(signed: Connection, change: str) -> None:
    policy = Jsonb(
        one(signed, 'select * from ragdb.register_policy(\'{"version": "w", "max_nodes": 2}\')')
    )
    made = one(signed, "select * from ragdb.export_slice('chat', %s, %s)", uuid(1), policy)
    assert verify(signed, made) == (True, None)
    signed.execute("alter table ragdb.slice_policies disable trigger user")
    signed.execute(f"update ragdb.slice_policies set {change}")
    valid, reason = verify(signed, made)
    assert not valid
    assert (reason or "").startswith("policy_unknown")
    for call, values in (
        ("build_slice('chat', %s, %s)", (uuid(1), policy)),
        ("retrieve_slice('chat', 'refunds', %s)", (made["slice_id"],)),
    ):
        with pytest.raises(psycopg.Error) as caught, signed.transaction():
            signed.execute(f"select * from ragdb.{call}", values)
        assert caught.value.sqlstate == "RG431"


def test_an_old_key_verifies_until_it_is_revoked(signed: Connection) -> None:
    made = export(signed)
    signed.execute("select ragdb.create_signing_key('k2')")
    assert export(signed)["admissibility_token"].startswith("rgt1.k2.")
    assert verify(signed, made) == (True, None)
    signed.execute("select ragdb.revoke_signing_key('k1')")
    assert verify(signed, made)[1] == 'key_revoked: key "k1" verifies nothing any more'


def intact(db: Connection, trace: Any) -> set[bool]:
    return {r[0] for r in db.execute("select is_intact from ragdb.verify_trace(%s)", (trace,))}


def test_a_trace_of_a_time_without_an_active_key_needs_no_signature(signed: Connection) -> None:
    def recorded(at: str) -> Any:
        signed.execute(f"set local ragdb.now = '{at}'")
        row = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")
        return row["trace_id"]

    signed.execute("select ragdb.revoke_signing_key('k1')")
    before = recorded("2031-01-09")
    signed.execute("set local ragdb.now = '2031-01-10'")
    signed.execute("select ragdb.create_signing_key('k2')")
    under = recorded("2031-01-11")
    signed.execute("set local ragdb.now = '2031-01-12'")
    signed.execute("select ragdb.revoke_signing_key('k2')")
    after = recorded("2031-01-13")
    macs = [
        one(signed, "select * from ragdb.get_trace(%s)", i)["trace_mac"]
        for i in (before, under, after)
    ]
    assert [mac is not None for mac in macs] == [False, True, False]
    assert [intact(signed, i) for i in (before, under, after)] == [{True}] * 3


def test_a_copy_without_the_key_cannot_speak_of_signatures_and_with_it_can(
    signed: Connection,
) -> None:
    made = export(signed)
    trace = retrieve(signed)[0]["trace_id"]
    kept = one(signed, "select * from ragdb.export_signing_keys()")
    signed.execute("delete from ragdb.signing_secrets")
    assert (verify(signed, made)[1] or "").startswith("key_absent")
    assert intact(signed, trace) == {True, None}
    # a key made in the copy is younger than the trace, and tells nothing of it either
    signed.execute("select pg_sleep(0.002); select ragdb.create_signing_key('copy')")
    assert intact(signed, trace) == {True, None}
    signed.execute(
        "select ragdb.import_signing_key(%(key_id)s, %(secret)s, 'verify_only', %(created_at)s)",
        kept,
    )
    assert verify(signed, made) == (True, None)
    assert intact(signed, trace) == {True}
    assert export(signed)["admissibility_token"].startswith("rgt1.copy.")


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("create_signing_key('a b')", "RG400"),
        ("create_signing_key('k1')", "RG409"),
        ("revoke_signing_key('k9')", "RG432"),
        ("revoke_signing_key(null)", "RG432"),
        ("import_signing_key('k2', 'abcd')", "RG400"),
        ("import_signing_key('k2', repeat('ab', 32), 'asleep')", "RG400"),
        ("import_signing_key(null, repeat('ab', 32))", "RG400"),
        ("import_signing_key('k1', repeat('ab', 32))", "RG409"),
    ],
)
def test_a_key_that_cannot_be_is_refused(signed: Connection, call: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.DatabaseError) as caught:
        signed.execute(f"select ragdb.{call}")
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint


def test_nothing_is_signed_without_a_key(db: Connection) -> None:
    chat(db, messages())
    for call in (
        "build_slice('chat', %s)",
        "export_slice('chat', %s)",
        "retrieve_slice('chat', 'refunds', anchor => %s)",
    ):
        with pytest.raises(psycopg.DatabaseError) as caught, db.transaction():
            db.execute(f"select * from ragdb.{call}", (uuid(1),))
        assert caught.value.sqlstate == "RG433"
        assert "create_signing_key" in (caught.value.diag.message_hint or "")
    assert (
        one(db, "select * from ragdb.build_slice('chat', %s, sign => false)", uuid(1))[
            "admissibility_token"
        ]
        is None
    )
