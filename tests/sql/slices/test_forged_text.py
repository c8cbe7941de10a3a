"""A forged text of a chunk is noticed by everything that verifies, and refused by the table.

The forger is the owner of the tables or a superuser, without the signing key. He changes a text
alone, or its hash with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.conversations import uuid
from tests.sql.signed_slices import export, messages, one, promote, replay, retrieve, verify

FORGED = "Refunds are never paid."
GUARD = "chunks_content_hash_is_of_the_text"
ROLES = ["ragdb_owner", "postgres"]
WAYS = ["text", "text and hash"]


@contextmanager
def acting(db: Connection, role: str) -> Iterator[None]:
    db.execute(f"set local role {role}")
    yield
    db.execute("set local role none")


def forge(db: Connection, role: str, way: str, chunk: str = uuid(2)) -> None:
    """Change a text past all functions; the guard goes first where it would refuse."""
    with acting(db, role):
        if way == "text":
            db.execute(f"alter table ragdb.chunks drop constraint if exists {GUARD}")
            db.execute("update ragdb.chunks set text = %s where chunk_id = %s", (FORGED, chunk))
        else:
            db.execute(
                "update ragdb.chunks set text = %s, content_hash = sha256(%s) where chunk_id = %s",
                (FORGED, FORGED.encode(), chunk),
            )


def rows(db: Connection, trace: Any, subject: str) -> dict[str, bool]:
    return dict(
        db.execute(
            "select field, is_intact from ragdb.verify_trace(%s) where subject = %s",
            (trace, subject),
        ).fetchall()
    )


def cited(db: Connection, pack: dict[str, Any], quote: str) -> set[str | None]:
    output = {"answer": quote, "citations": [{"chunk_id": uuid(2), "quote": quote}]}
    return {
        code
        for (code,) in db.execute(
            "select code from ragdb.check_citations(%s, %s)",
            (json.dumps(output), json.dumps(pack)),
        )
    }


def pack_of(db: Connection, trace: Any) -> dict[str, Any]:
    pack: dict[str, Any] = one(db, "select ragdb.build_evidence_pack(%s) as p", trace)["p"]
    return pack


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", WAYS)
def test_what_verifies_reads_the_text(signed: Connection, role: str, way: str) -> None:
    made = export(signed)
    hits = retrieve(signed)
    trace, ids = hits[0]["trace_id"], [h["chunk_id"] for h in hits]
    before = pack_of(signed, trace)
    quote = messages()[1]["text"]
    # the control: as long as nobody forges, all of it holds
    assert verify(signed, made) == (True, None)
    assert verify(signed, made, made["chunk_ids"]) == (True, None)
    assert replay(signed, trace)["verdict"] == "exact"
    assert rows(signed, trace, "evidence") == {"evidence": True}
    assert cited(signed, before, quote) == {None}
    members = "select chunk_id, is_unchanged from ragdb.slice_members('chat', %s)"
    assert all(r[1] for r in signed.execute(members, (made["slice_id"],)))

    forge(signed, role, way)

    for members_given in (None, made["chunk_ids"]):
        is_valid, reason = verify(signed, made, members_given)
        assert not is_valid
        assert reason is not None
        assert reason.startswith("evidence:")
    assert dict(signed.execute(members, (made["slice_id"],)).fetchall())[uuid(2)] is False
    again = replay(signed, trace)
    assert (again["verdict"], again["changed_chunk_ids"]) == ("drifted", [uuid(2)])
    # the record is what was recorded; what it rests on is not
    assert all(rows(signed, trace, "record").values())
    assert rows(signed, trace, "evidence") == {"evidence": False}
    reason = one(signed, "select * from ragdb.why_not(%s, %s)", trace, uuid(2))["reason"]
    assert "changed" in reason
    refused = promote(signed, trace, ids)
    assert (refused["code"], refused["atom_id"]) == ("TOKEN_INVALID", None)
    assert "CITE_STALE" in cited(signed, before, quote)
    assert "CITE_STALE" in cited(signed, before, FORGED)
    after = pack_of(signed, trace)
    assert uuid(2) not in [c["chunk_id"] for c in after["chunks"]]
    assert {"chunk_id": uuid(2), "reason": "changed"}.items() <= after["omitted"][-1].items()


@pytest.mark.parametrize("way", WAYS)
def test_a_hash_that_is_handed_out_is_of_the_text_beside_it(signed: Connection, way: str) -> None:
    forge(signed, "postgres", way)
    for hit in retrieve(signed, query="refunds paid"):
        assert hit["content_hash"] == hashlib.sha256(hit["text"].encode()).hexdigest()
    for call in (
        f"ragdb.get_chunk('chat', '{uuid(2)}')",
        f"ragdb.get_turn('chat', '{uuid(2)}')",
        "ragdb.search('chat', 'refunds')",
    ):
        for text, hashed in signed.execute(f"select text, content_hash from {call}").fetchall():
            assert hashed == hashlib.sha256(text.encode()).hexdigest()
    pack = one(
        signed,
        "select ragdb.build_evidence_pack(corpus => 'chat', chunk_ids => %s) as p",
        [uuid(2)],
    )["p"]
    assert pack["chunks"][0]["content_hash"] == hashlib.sha256(FORGED.encode()).hexdigest()


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("triggers", ["origin", "replica"])
def test_a_row_whose_text_and_hash_differ_is_refused(
    signed: Connection, role: str, triggers: str
) -> None:
    signed.execute(f"set local session_replication_role = {triggers}")
    for change in ("text = 'x'", "content_hash = '\\x00'"):
        with (
            pytest.raises(psycopg.errors.CheckViolation) as caught,
            signed.transaction(),
            acting(signed, role),
        ):
            signed.execute(f"update ragdb.chunks set {change} where chunk_id = %s", (uuid(2),))
        assert caught.value.diag.constraint_name == GUARD
    # the control: both together, and canonical white space
    signed.execute(
        "update ragdb.chunks set text = %s, content_hash = %s where chunk_id = %s",
        (" \ta\r\nb\rc\n", hashlib.sha256(b"a\nb\nc").digest(), uuid(2)),
    )
