"""`ragdb verify` finds rows of shared corpora that do not say what was signed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Server
from tests.peers.nodes import Node, introduce


@pytest.fixture(scope="module")
def bob(server18: Server) -> Iterator[Node]:
    """A database that has one source of a peer, one in conflict, one erased and one of its own."""
    with server18.database() as a, server18.database() as b:
        ann, bob = (Node(n, server18.dsn(d.dbname)) for n, d in (("ann", a), ("bob", b)))
        introduce(ann, bob)
        ann.db.create_corpus("docs")
        for uri in ("kept", "fought", "gone"):
            ann.put("docs", uri, f"The first {uri}.")
        ann.publish("docs")
        bob.pull(ann, "docs")
        for node in (ann, bob):
            node.put("docs", "fought", f"The second of {node.name}.")
            node.publish("docs")
        ann.db.delete_source("docs", "gone")
        ann.publish("docs")
        bob.put("docs", "own", "The text of Bob.")
        bob.publish("docs")
        bob.pull(ann, "docs")
        ann.pull(bob, "docs")
        for node in (ann, bob):
            assert found(node) == []
        yield bob
        for node in (ann, bob):
            node.db.connection.close()


def found(node: Node) -> list[Any]:
    """Each place and its finding, which are the same in steps of one row."""
    rows = node.db.connection.execute(
        "select place, finding from ragdb.verify(checks => '{peers}')"
    ).fetchall()
    in_steps: list[tuple[str, str]] = []
    state = None
    while True:
        [step] = node.db.connection.execute(
            "select findings, next_state from ragdb.verify_step(%s, 1, checks => '{peers}')",
            [state and psycopg.types.json.Jsonb(state)],
        ).fetchall()
        in_steps += [(finding["place"], finding["finding"]) for finding in step[0]]
        state = step[1]
        if state is None:
            assert in_steps == rows
            return rows


SIGNED = "its row is not what was signed"
KEPT = "where source = 'kept'"
EVENTS, DOCUMENTS, CONFLICTS = (
    f"ragdb.shared_{name}" for name in ("events", "documents", "conflicts")
)
EDITS = {
    # statement: a part of a finding
    f"update {EVENTS} set author = sha256('x') {KEPT}": SIGNED,
    f"update {EVENTS} set source = 'other' {KEPT}": SIGNED,
    f"update {EVENTS} set body_hash = sha256('x') {KEPT}": SIGNED,
    f"update {EVENTS} set seq = 77 {KEPT}": SIGNED,
    f"update {EVENTS} set lamport = 77 {KEPT}": SIGNED,
    f"update {EVENTS} set hash = sha256('x') {KEPT}": SIGNED,
    f"update {EVENTS} set replaces = array[sha256('x')] {KEPT}": SIGNED,
    f"update {EVENTS} set kind = 'rag.document.erased' {KEPT}": SIGNED,
    f"update {EVENTS} set event = event || ' ' {KEPT}": SIGNED,
    f"update {EVENTS} set event = 'no JSON' {KEPT}": SIGNED,
    f"update {EVENTS} set is_head = false {KEPT}": "no event replaces it",
    f"update {EVENTS} set is_head = true where not is_head": "another event replaces it",
    f"update {EVENTS} set position = 77 {KEPT}": "before it is missing",
    f"delete from {EVENTS} {KEPT}": "before it is missing",
    f"delete from {EVENTS} where position = 1": "before it is missing",
    f"delete from {EVENTS} where position = (select max(position) from {EVENTS})": "its events",
    f"delete from {EVENTS}": "its events",
    "update ragdb.shared_corpora set lamport = 77": "its events",
    "update ragdb.shared_corpora set last_position = 77": "its events",
    "update ragdb.shared_corpora set feed = gen_random_uuid()": SIGNED,
    f"delete from {DOCUMENTS} {KEPT}": "is not said",
    f"update {DOCUMENTS} set source = 'other' {KEPT}": "is not said",
    f"update {DOCUMENTS} set hash = sha256('x') {KEPT}": "another event decides",
    f"update {DOCUMENTS} d set hash = (select hash from {EVENTS} e where not is_head"
    " and e.source = d.source) where source = 'fought'": "another event decides",
    f"update {DOCUMENTS} set state = 'erased' {KEPT}": "it is not erased",
    f"update {DOCUMENTS} set state = 'present' where source = 'gone'": "it is erased",
    f"update {DOCUMENTS} set state = 'waiting' {KEPT}": "waits for a document that is here",
    f"update {CONFLICTS} set body = body || ' '": "does not keep the document",
    f"update {CONFLICTS} set loser = sha256('x')": "no event",
    f"update {CONFLICTS} set winner = sha256('x')": "no event",
    f"update {CONFLICTS} set source = 'kept'": "no event",
    f"delete from {CONFLICTS}": "was not taken is not kept",
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_row_that_was_edited_is_found(bob: Node, edit: str) -> None:
    connection = bob.db.connection
    with connection.transaction(force_rollback=True):
        connection.execute("set local session_replication_role = replica")
        assert connection.execute(edit.encode()).rowcount > 0
        assert EDITS[edit] in "\n".join(finding for _, finding in found(bob))


def test_a_text_that_is_made_out_to_be_the_signed_one_is_found(bob: Node) -> None:
    connection = bob.db.connection
    with connection.transaction(force_rollback=True):
        bob.put("docs", "kept", "Forged.")
        assert found(bob) == [], "what is changed here is said to be so"
        connection.execute(
            "update ragdb.shared_documents s set event_id = d.event_id from ragdb.documents d"
            " where d.corpus_id = s.corpus_id and d.source = 'kept' and s.source = 'kept'"
        )
        assert [finding for _, finding in found(bob)] == [
            "what is here is not the document that was signed"
        ]


def test_a_corpus_that_was_edited_is_pulled_anew_as_the_advice_says(server18: Server) -> None:
    with server18.database() as a, server18.database() as b:
        ann, bob = (Node(n, server18.dsn(d.dbname)) for n, d in (("ann", a), ("bob", b)))
        introduce(ann, bob)
        ann.put("docs", "kept", "The first.")
        ann.publish("docs")
        bob.pull(ann, "docs")
        bob.put("docs", "kept", "Forged.")
        bob.db.connection.execute(
            "update ragdb.shared_documents s set event_id = d.event_id from ragdb.documents d"
            " where d.corpus_id = s.corpus_id"
        )
        advice = "select advice from ragdb.verify(checks => '{peers}')"
        [[said]] = bob.db.connection.execute(advice).fetchall()
        assert "ragdb corpus drop" in said
        bob.db.drop_corpus("docs")
        bob.pull(ann, "docs")
        assert bob.text("docs", "kept") == "The first."
        assert found(bob) == []
        for node in (ann, bob):
            node.db.connection.close()
