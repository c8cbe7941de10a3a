"""What a slice refused, and why: the policy that gives in to the reason admits it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.sql.conversations import chat, conversation, message, put, uuid
from tests.sql.signed_slices import build, export, messages, one


def graph(db: Connection, **given: Any) -> list[dict[str, Any]]:
    named = ", ".join(f"{name} => %({name})s" for name in given)
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(f"select * from ragdb.slice_graph('chat', {named})", given).fetchall()


@pytest.fixture
def tree(db: Connection) -> Connection:
    """1 has the children 2 to 9, of falling salience; 2 begins a chain to 15."""
    fields = {n: {"salience": 1 - n / 20, "phase": "planning"} for n in range(1, 16)}
    children = [message(n, [1] if n > 1 else [], **fields[n]) for n in range(1, 10)]
    chain = [message(n, [2 if n == 10 else n - 1], **fields[n]) for n in range(10, 16)]
    chat(db, children + chain)
    return db


def refusals(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["chunk_id"]: row["reason"] for row in rows if not row["is_admitted"]}


GENEROUS = {"max_nodes": 1000, "max_radius": 100, "max_siblings_per_node": 1000}


@pytest.mark.parametrize(
    ("policy", "anchor", "reasons"),
    [
        ({"max_radius": 1, "include_siblings": False}, 2, {1: None, 3: "depth", 11: "depth"}),
        ({"max_nodes": 3}, 1, {4: "score", 9: "score"}),
        ({"max_nodes": 2, "include_siblings": False}, 15, {13: "budget"}),
        ({"max_radius": 0, "max_siblings_per_node": 2}, 3, {1: "depth", 7: "policy"}),
        ({"max_radius": 3}, 1, {12: "depth"}),
        # siblings of the farthest, and of the one that fills the slice: near enough, not asked for
        ({"max_radius": 1, "max_siblings_per_node": 2}, 10, {1: "depth", 3: "policy"}),
        ({"max_nodes": 2, "max_siblings_per_node": 2}, 10, {1: "budget", 3: "policy"}),
    ],
)
def test_each_refusal_has_its_reason(
    tree: Connection, policy: dict[str, Any], anchor: int, reasons: dict[int, str | None]
) -> None:
    rows = graph(tree, anchor=uuid(anchor), policy=json.dumps(policy))
    made = build(tree, uuid(anchor), policy)
    admitted = [row["chunk_id"] for row in rows if row["is_admitted"]]
    assert admitted == made["selection_order"]
    assert [row["distance"] for row in rows if row["is_admitted"]] == made["distances"]
    refused = refusals(rows)
    for n, reason in reasons.items():
        assert refused.get(uuid(n)) == reason, n
    assert not refused.keys() & set(admitted)
    assert all(row["detail"] for row in rows if not row["is_admitted"])
    # where the budget, the depth or the siblings were why, they let it in
    wide = build(tree, uuid(anchor), policy | GENEROUS | {"include_siblings": True})
    assert refused.keys() <= set(wide["selection_order"])
    gives = {"score": "max_nodes", "budget": "max_nodes", "depth": "max_radius"}
    for chunk, reason in refused.items():
        if reason in gives:
            field = gives[reason]
            yields = build(tree, uuid(anchor), policy | {field: GENEROUS[field]})
            assert chunk in yields["selection_order"], (chunk, reason)


def test_edges_are_those_between_what_is_shown(tree: Connection) -> None:
    rows = graph(tree, anchor=uuid(1), policy=json.dumps({"max_radius": 2}), refused=1)
    shown = {row["chunk_id"] for row in rows}
    parent = {uuid(n): uuid(1) for n in range(2, 10)} | {uuid(10): uuid(2)}
    parent |= {uuid(n): uuid(n - 1) for n in range(11, 16)}
    for row in rows:
        expected = [p for c, p in parent.items() if c == row["chunk_id"] and p in shown]
        assert row["parents"] == expected
        assert row["edge_types"] == ["reply"] * len(expected)
    assert sum(not row["is_admitted"] for row in rows) == 1


def test_a_stored_slice_is_shown_as_it_was_taken(signed: Connection) -> None:
    made = export(signed)
    edited = [*messages()[:4], message(6, [4], text="Thank you.")]
    edited[1]["text"] = "Refunds are paid in cash."
    put(signed, "chat", conversation(edited))
    rows = graph(signed, slice_id=made["slice_id"])
    members = {row["chunk_id"]: row for row in rows if row["is_admitted"]}
    assert list(members) == made["selection_order"]
    state = {n: (members[uuid(n)]["is_unchanged"], members[uuid(n)]["source"]) for n in (1, 2, 5)}
    assert state[1] == (True, "chat.jsonl#s1")
    assert state[2] == (False, "chat.jsonl#s1")
    assert state[5] == (False, None)  # gone
    assert refusals(rows) == {uuid(6): "changed"}
    found = one(signed, "select * from ragdb.get_slice('chat', %s)", made["slice_id"])
    assert found["is_unchanged"] is False
    assert found["chunk_ids"] == made["selection_order"]
    assert found["policy"]["max_nodes"] == 256


def test_stored_slices_are_listed_in_pages_without_a_gap(tree: Connection) -> None:
    one(tree, "select ragdb.create_signing_key('k')")
    for n in range(1, 8):
        export(tree, n)
    # some of them stored in the same moment
    tree.execute("update ragdb.slices set created_at = date_trunc('day', created_at)"
                 " where anchor_chunk_id > %s", (uuid(3),))  # fmt: skip
    rows = tree.execute("select slice_id from ragdb.list_slices('chat')").fetchall()
    assert len(rows) == 7
    found: list[Any] = []
    while page := tree.execute(
        "select slice_id from ragdb.list_slices('chat', count => 3, before => %s)",
        (found[-1][0] if found else None,),
    ).fetchall():
        found += page
    assert found == rows


def test_stored_slices_are_listed_from_a_time_on(tree: Connection) -> None:
    tree.execute("set local ragdb.now = '2019-12-31 00:00:00+00'")
    one(tree, "select ragdb.create_signing_key('k')")
    for day in (1, 3):
        tree.execute("select set_config('ragdb.now', %s, true)", (f"2020-01-0{day} 00:00:00+00",))
        export(tree, day)

    def anchors(since: str | None) -> list[str]:
        listed = "select anchor_chunk_id from ragdb.list_slices('chat', %s)"
        return [anchor for (anchor,) in tree.execute(listed, (since,)).fetchall()]

    assert anchors(None) == [uuid(3), uuid(1)]
    assert anchors("2020-01-02 00:00:00+00") == [uuid(3)]
    assert anchors("2020-01-03 00:00:00+00") == [uuid(3)]
