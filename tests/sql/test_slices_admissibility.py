"""What is admissible can be proved, and what is not cannot be made to look so."""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid5

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.sql.conversations import chat, conversation, message, put, uuid

Connection = psycopg.Connection[Any]
FIELDS = (
    "slice_id",
    "anchor_chunk_id",
    "policy_id",
    "params_hash",
    "graph_snapshot_hash",
    "schema_version",
)


def messages() -> list[dict[str, Any]]:
    return [
        message(1, text="How are refunds paid?", salience=0.9),
        message(2, [1], text="Refunds are paid by card within two weeks.", salience=0.8),
        message(3, [2], text="And refunds of gifts?", salience=0.4),
        message(4, [3], text="Refunds of gifts are vouchers.", salience=0.6),
        message(5, [1], text="Shipping is another matter.", salience=0.2),
    ]


@pytest.fixture
def signed(db: Connection) -> Connection:
    """A conversation and a signing key."""
    chat(db, messages())
    db.execute("select ragdb.create_signing_key('k1')")
    return db


def one(db: Connection, query: str, *values: Any) -> dict[str, Any]:
    with db.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query, values).fetchone()
    assert row is not None
    return row


def export(db: Connection, anchor: int = 1) -> dict[str, Any]:
    return one(db, "select * from ragdb.export_slice('chat', %s)", uuid(anchor))


def verify(
    db: Connection, made: dict[str, Any], members: list[str] | None = None, corpus: str = "chat"
) -> tuple[bool, str | None]:
    row = one(
        db,
        f"select * from ragdb.verify_token(%s, %s{', %s' * 6}, %s)",
        corpus,
        made["admissibility_token"],
        *(made[field] for field in FIELDS),
        members,
    )
    return row["valid"], row["reason"]


def retrieve(db: Connection, query: str = "refunds", **arguments: Any) -> list[dict[str, Any]]:
    arguments = {"corpus": "chat", "query": query, "anchor": uuid(1)} | arguments
    names = ", ".join(f"{name} => %({name})s" for name in arguments)
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(f"select * from ragdb.retrieve_slice({names})", arguments).fetchall()


def packed(*fields: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(field)) + field for field in fields)


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
        ("update ragdb.chunks set content_hash = sha256('x') where chunk_no = 3", uuid(3)),
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

    signed.execute("update ragdb.signing_keys set created_at = '2031-01-10'")
    before, under = recorded("2031-01-09"), recorded("2031-01-11")
    signed.execute("set local ragdb.now = '2031-01-12'")
    signed.execute("select ragdb.revoke_signing_key('k1')")
    after = recorded("2031-01-13")
    macs = [
        one(signed, "select * from ragdb.get_trace(%s)", i)["trace_mac"]
        for i in (before, under, after)
    ]
    assert [mac is not None for mac in macs] == [True, True, False]
    assert [intact(signed, i) for i in (before, under, after)] == [{True}] * 3


def test_a_copy_without_the_key_cannot_speak_of_signatures_and_with_it_can(
    signed: Connection,
) -> None:
    made = export(signed)
    trace = retrieve(signed)[0]["trace_id"]
    kept = one(signed, "select * from ragdb.export_signing_keys()")
    signed.execute("delete from ragdb.signing_keys")
    assert (verify(signed, made)[1] or "").startswith("key_unknown")
    assert intact(signed, trace) == {True}
    # a key made in the copy is younger than the trace, and tells nothing of it either
    signed.execute("select pg_sleep(0.002); select ragdb.create_signing_key('copy')")
    assert intact(signed, trace) == {True}
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


def test_a_retrieval_under_a_slice_is_admissible_and_complete(signed: Connection) -> None:
    hits = retrieve(signed, k=2)
    assert len(hits) == 2
    trace = one(signed, "select * from ragdb.get_trace(%s)", hits[0]["trace_id"])
    assert trace["is_admissible"]
    assert trace["retrieval_mode"] == "slice"
    for field in (
        "slice_id",
        "policy_id",
        "policy_params_hash",
        "schema_version",
        "graph_snapshot_hash",
        "admissibility_token",
        "trace_mac",
    ):
        assert trace[field], field
    assert (trace["limit_requested"], trace["limit_returned"], trace["slice_chunk_count"]) == (
        2,
        2,
        5,
    )
    assert {
        r[0] for r in signed.execute("select is_intact from ragdb.verify_trace(%s)", (trace["id"],))
    } == {True}


def test_a_slice_is_a_boundary_at_any_size(signed: Connection) -> None:
    put(
        signed,
        "chat",
        conversation([message(n, text=f"refunds refunds {n}") for n in range(50, 90)], "s2"),
    )
    policy = '{"max_radius": 1, "include_siblings": false}'
    made = one(signed, "select * from ragdb.export_slice('chat', %s, %s)", uuid(1), policy)
    found = {
        hit["chunk_id"] for hit in retrieve(signed, anchor=None, slice_id=made["slice_id"], k=100)
    }
    assert found <= set(made["chunk_ids"])
    everywhere = signed.execute(
        "select chunk_id from ragdb.search_global('chat', 'refunds', k => 100)"
    ).fetchall()
    assert len(everywhere) > len(found)


def test_turn_fields_filter_inside_the_slice(signed: Connection) -> None:
    for given, expected in (
        ('{"role": "assistant"}', {uuid(2), uuid(4)}),
        ('{"min_salience": 0.7}', {uuid(1), uuid(2)}),
        ('{"session": "s1", "role": "user"}', {uuid(1), uuid(3)}),
        ('{"phase": "planning"}', set()),
    ):
        for call in ("search_slice('chat', 'refunds', anchor => %s, k => 9, filter => %s)",):
            rows = signed.execute(f"select chunk_id from ragdb.{call}", (uuid(1), given)).fetchall()
            assert {r[0] for r in rows} == expected
        rows = signed.execute(
            "select chunk_id from ragdb.search_global('chat', 'refunds', filter => %s)", (given,)
        ).fetchall()
        assert {r[0] for r in rows} == expected
    for bad in ('{"role": 1}', '{"min_salience": 2}'):
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute(
                "select * from ragdb.search_global('chat', 'refunds', filter => %s)", (bad,)
            )
        assert caught.value.sqlstate == "RG410"


CLAIM = """
    insert into ragdb.retrieval_traces
    select (jsonb_populate_record(t, %s)).* from ragdb.get_trace(%s) t
"""


@pytest.mark.parametrize(
    "lie",
    [
        {"admissibility_token": "rgt1.k1.1.9999999999." + "0" * 64},
        {"slice_id": "0" * 64},
        {"graph_snapshot_hash": "0" * 64},
        {"anchor_chunk_id": uuid(2)},
        {"corpus": "twin"},
        {"policy_id": "other"},
    ],
    ids=lambda lie: next(iter(lie)),
)
def test_an_insert_may_not_claim_to_be_admissible(signed: Connection, lie: dict[str, Any]) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    fresh = {"id": "01a20074-0000-7000-8000-000000000001"}
    signed.execute(CLAIM, (Jsonb(fresh), trace))  # the truth may be told again
    fresh["id"] = "01a20074-0000-7000-8000-000000000002"
    with pytest.raises(psycopg.DatabaseError) as caught:
        signed.execute(CLAIM, (Jsonb(fresh | lie), trace))
    assert caught.value.sqlstate == "RG436"


def test_an_incomplete_slice_is_never_admissible(signed: Connection) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    for gap in (
        "slice_id",
        "anchor_chunk_id",
        "policy_id",
        "schema_version",
        "admissibility_token",
    ):
        with pytest.raises(psycopg.DatabaseError), signed.transaction():
            signed.execute(CLAIM, (Jsonb({gap: None}), trace))


def test_a_stored_slice_whose_evidence_changed_is_not_retrieved_from(signed: Connection) -> None:
    made = export(signed)
    edited = messages()
    edited[3]["text"] = "Refunds of gifts are cash."
    put(signed, "chat", conversation(edited))
    with pytest.raises(psycopg.DatabaseError, match="not what it was") as caught:
        retrieve(signed, anchor=None, slice_id=made["slice_id"])
    assert caught.value.sqlstate == "RG436"
    assert uuid(4) in (caught.value.diag.message_detail or "")


# ── replay ──


def replay(db: Connection, trace: Any) -> dict[str, Any]:
    return one(db, "select * from ragdb.replay(%s)", trace)


def test_an_unchanged_corpus_replays_exactly(signed: Connection) -> None:
    under_slice = retrieve(signed)[0]["trace_id"]
    everywhere = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds of gifts')")[
        "trace_id"
    ]
    for trace in (under_slice, everywhere):
        assert (replay(signed, trace)["verdict"], replay(signed, trace)["cause"]) == ("exact", None)


def test_an_edit_makes_a_replay_drift_and_is_named(signed: Connection) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    edited = messages()
    edited[3]["text"] = "Refunds of gifts are cash."
    put(signed, "chat", conversation(edited))
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("drifted", "corpus_changed")
    assert found["changed_chunk_ids"] == [uuid(4)]
    assert uuid(4) in found["detail"]


def test_new_statistics_are_told_from_new_hits(signed: Connection) -> None:
    trace = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    put(signed, "chat", conversation([message(20, text="Nothing to do with it.")], "s2"))
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("same_order", "corpus_changed")


def test_another_ranking_is_a_cause_of_its_own(signed: Connection) -> None:
    trace = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    signed.execute("select ragdb.optimize_corpus('chat')")
    assert replay(signed, trace)["cause"] == "config_changed"


def test_a_query_that_was_not_kept_is_not_replayable(signed: Connection) -> None:
    signed.execute("update ragdb.corpora set record_query_text = 'hash'")
    trace = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("not_replayable", "query_text_not_kept")


def test_a_tampered_trace_is_found(signed: Connection) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    partition = one(
        signed,
        "select tableoid::regclass::text as name from ragdb.retrieval_traces where id = %s",
        trace,
    )["name"]
    signed.execute(f"alter table {partition} disable trigger user")
    # an owner without the key edits a column and makes the hash fit again
    signed.execute(
        "update ragdb.retrieval_traces set client = 'someone else' where id = %s", (trace,)
    )
    signed.execute(
        "update ragdb.retrieval_traces t set trace_hash ="
        " ragdb_internal.trace_hash(t, array(select h from ragdb.trace_hits(t.id) h)) where id = %s",
        (trace,),
    )
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("drifted", "trace_tampered")
    assert "trace_mac" in found["detail"]
    signed.execute("update ragdb.retrieval_traces set trace_mac = null where id = %s", (trace,))
    assert "trace_mac" in replay(signed, trace)["detail"]


def test_why_not_names_the_step(signed: Connection) -> None:
    put(signed, "chat", conversation([message(20, text="Refunds elsewhere.")], "s2"))
    trace = retrieve(signed, k=1, filter='{"role": "user"}')[0]["trace_id"]
    steps = {
        uuid(20): "slice",
        uuid(5): "ranking",
        uuid(2): "filter",
        uuid(1): "hit",
        uuid(3): "limit",
        "nobody": "corpus",
    }
    found = {
        i: one(signed, "select step from ragdb.why_not(%s, %s)", trace, i)["step"] for i in steps
    }
    assert found == steps


# ── promotion ──


def promote(
    db: Connection, trace: Any, chunks: list[str], sufficiency: str = "default"
) -> dict[str, Any]:
    return one(
        db,
        "select * from ragdb.promote_to_atom(%s, %s, 'Refunds are paid.', %s)",
        trace,
        chunks,
        sufficiency,
    )


def test_an_admissible_retrieval_is_promoted_and_found_on_its_plane(signed: Connection) -> None:
    hits = retrieve(signed)
    made = promote(signed, hits[0]["trace_id"], [h["chunk_id"] for h in hits])
    assert made["code"] == "PROMOTED"
    proposed = one(
        signed, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [made["atom_id"]]
    )
    assert proposed["code"] == "PROPOSED"
    planes = {
        r[0] for r in signed.execute("select plane from ragdb.search_dual('chat', 'refunds', 10)")
    }
    assert planes == {"raw", "atom", "proposal"}
    assert signed.execute("select * from ragdb.list_incidents('chat')").fetchall() == []


def test_an_atom_is_a_text_that_rests_on_a_list_of_chunks(signed: Connection) -> None:
    hits = retrieve(signed)
    ids = [h["chunk_id"] for h in hits]
    for chunks, text in (([*ids, None], "So."), ([ids[:1], ids[1:2]], "So."), (ids, "\n\t")):
        with pytest.raises(psycopg.Error) as caught, signed.transaction():
            signed.execute(
                "select * from ragdb.promote_to_atom(%s, %s, %s)",
                (hits[0]["trace_id"], chunks, text),
            )
        assert caught.value.sqlstate == "RG400"
    for k in (None, 0, 1001):
        with pytest.raises(psycopg.Error) as caught, signed.transaction():
            signed.execute("select * from ragdb.search_dual('chat', 'refunds', %s)", (k,))
        assert caught.value.sqlstate == "RG400"


def test_what_is_not_admissible_is_refused_with_an_incident(signed: Connection) -> None:
    hits = retrieve(signed)
    trace, ids = hits[0]["trace_id"], [h["chunk_id"] for h in hits]
    everywhere = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    refusals = [
        (promote(signed, everywhere, ids), "NOT_ADMISSIBLE"),
        (promote(signed, trace, [*ids, uuid(5)]), "CHUNK_NOT_RETRIEVED"),
        (promote(signed, trace, ids[:2]), "INSUFFICIENT_EVIDENCE"),
        (promote(signed, trace, ids, "strict"), "INSUFFICIENT_EVIDENCE"),
    ]
    signed.execute("set local ragdb.now = '2099-01-01'")
    refusals.append((promote(signed, trace, ids), "TOKEN_INVALID"))
    for row, code in refusals:
        assert (row["code"], row["atom_id"]) == (code, None)
        assert row["reason"]
    assert len(signed.execute("select from ragdb.list_incidents('chat')").fetchall()) == len(
        refusals
    )
    assert signed.execute("select from ragdb.semantic_atoms").fetchall() == []


def test_a_proposal_of_unknown_or_mixed_atoms_is_refused(signed: Connection) -> None:
    hits = retrieve(signed)
    first = promote(signed, hits[0]["trace_id"], [h["chunk_id"] for h in hits])["atom_id"]
    other = retrieve(signed, anchor=uuid(2))
    second = promote(signed, other[0]["trace_id"], [h["chunk_id"] for h in other])["atom_id"]
    for atoms, code in (
        ([first, second], "SLICES_MIXED"),
        (["00000000-0000-0000-0000-000000000000"], "ATOM_UNKNOWN"),
    ):
        row = one(signed, "select * from ragdb.propose('chat', %s, 'So.')", atoms)
        assert (row["code"], row["proposal_id"]) == (code, None)


def proposal(db: Connection) -> Any:
    hits = retrieve(db)
    atom = promote(db, hits[0]["trace_id"], [h["chunk_id"] for h in hits])["atom_id"]
    return one(db, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [atom])[
        "proposal_id"
    ]


def decide(db: Connection, which: Any, status: str) -> tuple[str, str | None]:
    row = one(db, "select * from ragdb.decide_proposal('chat', %s, %s, 'read it')", which, status)
    return row["code"], row["detail"]


def test_a_proposal_is_decided_once_and_by_a_role(signed: Connection) -> None:
    first, second = proposal(signed), proposal(signed)
    assert decide(signed, first, "accepted") == ("ACCEPTED", None)
    assert decide(signed, first, "rejected")[0] == "ALREADY_DECIDED"
    assert decide(signed, second, "rejected") == ("REJECTED", None)
    assert decide(signed, UUID(int=7), "accepted")[0] == "PROPOSAL_UNKNOWN"
    rows = signed.execute(
        "select proposal_id, status, decided_by = current_user, decision_reason"
        " from ragdb.list_proposals('chat') where decided_at is not null order by 2"
    ).fetchall()
    assert rows == [
        (first, "accepted", True, "read it"),
        (second, "rejected", True, "read it"),
    ]
    found = signed.execute(
        "select id from ragdb.search_dual('chat', 'refunds work') where plane = 'proposal'"
    ).fetchall()
    assert found == [(str(first),)]
    with pytest.raises(psycopg.DatabaseError) as caught:
        decide(signed, second, "open")
    assert caught.value.sqlstate == "RG400"


def test_a_proposal_whose_evidence_changed_is_not_accepted(signed: Connection) -> None:
    which = proposal(signed)
    edited = messages()
    edited[1]["text"] = "Refunds are never paid."
    put(signed, "chat", conversation(edited))
    code, detail = decide(signed, which, "accepted")
    assert code == "EVIDENCE_CHANGED"
    assert detail is not None
    assert uuid(2) in detail
    incident = one(signed, "select * from ragdb.list_incidents('chat')")
    assert incident["kind"] == "content_hash_mismatch"
    assert one(signed, "select * from ragdb.list_proposals('chat')")["status"] == "open"
    assert decide(signed, which, "rejected") == ("REJECTED", None)


def test_a_failed_retrieval_under_a_slice_is_recorded_as_one(signed: Connection) -> None:
    fields = (
        "retrieval_mode, slice_id, anchor_chunk_id, policy_id, policy_params_hash, is_admissible"
    )
    for asked, expected in (
        ("anchor => 'gone'", ("slice", None, "gone", None, None, False)),
        ("slice_id => 'gone'", ("slice", "gone", None, None, None, False)),
        (
            "anchor => 'gone', policy => '{}'",
            ("slice", None, "gone", "slice_policy_v1", "02005444cae1117d", False),
        ),
        ("anchor => 'gone', policy => '{\"x\": 1}'", ("slice", None, "gone", None, None, False)),
        ("k => 5", ("global", None, None, None, None, False)),
    ):
        trace = one(
            signed, f"select ragdb.record_failure('chat', 'refunds', 'RG434', 2, {asked}) as id"
        )["id"]
        row = signed.execute(f"select {fields} from ragdb.get_trace(%s)", (trace,)).fetchone()
        assert row == expected
    trace = one(
        signed, "select ragdb.record_failure('chat', 'q', 'RG434', 2, anchor => 'x') as id"
    )["id"]
    assert replay(signed, trace)["cause"] == "failed_retrieval"


def test_a_reader_keeps_no_slice_by_a_policy_of_its_own(signed: Connection) -> None:
    own = Jsonb({"max_nodes": 9999})
    call = "select * from ragdb.retrieve_slice('chat', 'refunds', anchor => %s, policy => %s)"
    signed.execute("set role reader")
    for statement in (call, "select * from ragdb.export_slice('chat', %s, %s)"):
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute(statement, (uuid(1), own))
        assert caught.value.sqlstate == "RG431"
    assert signed.execute("select from ragdb.list_policies()").fetchall() == []
    assert signed.execute(call.replace("retrieve", "search"), (uuid(1), own)).fetchall()
    signed.execute("set role admin")
    signed.execute("select ragdb.register_policy(%s)", (own,))
    signed.execute("set role reader")
    assert signed.execute(call, (uuid(1), own)).fetchall()


ROLES = [
    ("reader", "select * from ragdb.register_policy('{}')", "42501"),
    ("writer", "select * from ragdb.register_policy('{}')", "42501"),
    ("reader", "select ragdb.create_signing_key()", "42501"),
    ("writer", "select * from ragdb.export_signing_keys()", "42501"),
    ("admin", "select secret from ragdb.signing_keys", "42501"),
    ("admin", "select * from ragdb.slices", "42501"),
    ("writer", "insert into ragdb.semantic_atoms default values", "42501"),
    ("writer", "delete from ragdb.admissibility_incidents", "42501"),
    ("admin", "insert into ragdb.retrieval_traces default values", "42501"),
    ("stranger", "select * from ragdb.build_slice('chat', 'x')", "42501"),
]


@pytest.mark.parametrize(("role", "statement", "sqlstate"), ROLES)
def test_a_role_reaches_only_what_it_may(
    signed: Connection, role: str, statement: str, sqlstate: str
) -> None:
    signed.execute(f"set role {role}")
    with pytest.raises(psycopg.DatabaseError) as caught:
        signed.execute(statement)
    assert caught.value.sqlstate == sqlstate


def test_a_reader_builds_retrieves_and_replays_but_does_not_promote(signed: Connection) -> None:
    signed.execute("set role reader")
    hits = retrieve(signed)
    assert verify(signed, export(signed)) == (True, None)
    assert replay(signed, hits[0]["trace_id"])["verdict"] == "exact"
    with pytest.raises(psycopg.DatabaseError) as caught:
        promote(signed, hits[0]["trace_id"], [h["chunk_id"] for h in hits])
    assert caught.value.sqlstate == "RG401"


# ── conversations ──


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ([message(1), message(1)], "two turns"),
        ([message(1, [1])], "itself"),
        ([message(1, [7])], "not in the conversation"),
        ([message(1), message(2, [3]), message(3, [2])], "cycle"),
        ([message(1) | {"text": "  "}], "blank"),
        ([message(1) | {"text": None}], "text"),
        ([message(1) | {"salience": 1.5}], "salience"),
        ([message(1) | {"created_at": "yesterday evening"}], "created_at"),
        ([message(1) | {"created_at": "infinity"}], "created_at"),
        ([message(1) | {"created_at": 1700000000}], "created_at"),
        ([message(1) | {"id": None}], "id"),
        ([message(1) | {"parents": "x"}], "parents"),
        (["hello"], "object"),
    ],
)
def test_a_conversation_that_contradicts_itself_is_refused_whole(
    db: Connection, bad: Any, says: str
) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    with pytest.raises(psycopg.DatabaseError, match=says) as caught, db.transaction():
        put(db, "chat", conversation([message(101)], "good"), conversation(bad, "bad"))
    assert caught.value.sqlstate == "RG412"
    assert db.execute("select count(*) from ragdb.turns").fetchone() == (0,)


def test_ids_that_are_no_uuids_become_the_same_uuids_everywhere(any_db: Connection) -> None:
    chat(
        any_db,
        [
            {"id": "m1", "role": "prompter", "text": "Hi"},
            {"id": "m2", "parent_id": "m1", "role": "robot", "phase": "joy", "text": "Ho"},
        ],
    )
    rows = any_db.execute(
        "select c.chunk_id, t.role, t.phase"
        " from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no) order by ordinal"
    ).fetchall()
    space = UUID("5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10")
    ids = [str(uuid5(space, packed(b"chat", b"s1", m).decode())) for m in (b"m1", b"m2")]
    assert rows == [(ids[0], "user", "exploration"), (ids[1], "user", "exploration")]


def test_a_time_without_a_zone_means_the_same_in_every_session(db: Connection) -> None:
    db.execute("set local timezone = 'Asia/Tokyo'")
    chat(db, [message(1, created_at="2026-01-01T00:00:00")])
    row = db.execute("select created_at = '2026-01-01 00:00:00+00' from ragdb.turns").fetchone()
    assert row == (True,)


def test_what_a_conversation_does_not_say_is_derived(db: Connection) -> None:
    chat(
        db,
        [
            message(1, role="user", text="Why? And how?", created_at="2026-01-01T00:00:00Z"),
            message(
                2,
                [1],
                text="There is an error: the build failed.",
                created_at="2026-01-01T00:30:00Z",
            ),
            message(3, [1], text="We decided to wait.", created_at="2026-01-01T00:10:00Z"),
            message(
                4,
                [2],
                text="See ```x``` and\n```py\nprint()\n```\n![chart](a.png)",
                created_at="2026-01-01T01:00:00Z",
                feedback=1,
            ),
        ],
    )
    rows = db.execute(
        "select c.chunk_id, t.phase, t.depth, t.sibling_order,"
        " round(t.temporal::numeric, 3)::float8, t.complexity,"
        " round(t.salience::numeric, 3)::float8"
        " from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no) order by 1"
    ).fetchall()
    assert rows == [
        (uuid(1), "exploration", 0, 0, 0.0, 1.0, 0.5),
        (uuid(2), "debugging", 1, 1, 0.5, 1.0, 0.6),
        (uuid(3), "synthesis", 1, 0, 0.167, 1.0, 0.6),
        (uuid(4), "consolidation", 2, 0, 1.0, 3.0, 0.95),
    ]


def test_anchors_are_resolved_in_turn(signed: Connection) -> None:
    def resolve(**given: str | None) -> tuple[Any, ...] | None:
        names = ", ".join(f"{name} => %({name})s" for name in given)
        row: tuple[Any, ...] | None = signed.execute(
            f"select * from ragdb.resolve_anchor('chat'{', ' if names else ''}{names})", given
        ).fetchone()
        return row

    everything = {"chunk_id": uuid(3), "session": "s1", "query": "shipping"}
    assert resolve(**everything) == (uuid(3), "explicit")
    assert resolve(**everything | {"chunk_id": "nobody"}) == (uuid(5), "session")
    assert resolve(session="none", query="shipping") == (uuid(5), "semantic")
    assert resolve(query="zebra") == (uuid(5), "temporal")
    signed.execute("select ragdb.create_corpus('empty')")
    assert signed.execute("select * from ragdb.resolve_anchor('empty')").fetchall() == []
