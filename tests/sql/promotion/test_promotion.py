"""What is known rests on what was admissible, or is refused with an incident."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.conversations import conversation, put, uuid
from tests.sql.signed_slices import messages, one, promote, retrieve


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


def test_a_refusal_says_what_less_evidence_is_enough_for(signed: Connection) -> None:
    hits = retrieve(signed)
    short = [hits[0]["chunk_id"]]
    refused = promote(signed, hits[0]["trace_id"], short)
    assert refused["reason"] == (
        "insufficient turns: 3 required, 1 found; it is enough for sufficiency lenient"
    )


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
