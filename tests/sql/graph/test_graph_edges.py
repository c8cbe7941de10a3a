"""Appended turns and added edges: what they join, what is refused, and what stays."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.embedding import one
from tests.embedding import put as put_texts
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.graph.test_graph_growth import append

TURN = "select ragdb.turn_id('chat', %s, %s)"


@pytest.fixture
def talk(db: Connection) -> Connection:
    """A corpus with a document and two sessions: s1 put, s2 appended."""
    db.execute("select ragdb.create_corpus('chat')")
    put_texts(db, {"guide.md": "Refunds are paid in 14 days."}, "chat")
    put(db, "chat", conversation([message(1), message(2, [1])]))
    append(db, "chat", [message(11), message(12, [11])], "s2")
    return db


def guide(db: Connection) -> str:
    ((chunk,),) = db.execute(
        "select chunk_id from ragdb.document_chunks('chat', 'guide.md')"
    ).fetchall()
    return str(chunk)


def edge(parent: str, child: str, edge_type: str = "reference") -> dict[str, str]:
    return {"parent": parent, "child": child, "edge_type": edge_type}


def add(db: Connection, *edges: dict[str, str], function: str = "add_edges") -> int:
    ((count,),) = db.execute(
        f"select ragdb.{function}('chat', %s)", (json.dumps(edges),)
    ).fetchall()
    return int(count)


def parents(db: Connection, chunk: str) -> list[tuple[Any, ...]]:
    return db.execute(
        "select parent_id, edge_type, is_added from ragdb.get_parents('chat', %s)", (chunk,)
    ).fetchall()


def depths(db: Connection) -> dict[str, int]:
    rows = db.execute(
        "select c.chunk_id, t.depth from ragdb.turns t join ragdb.chunks c using"
        " (corpus_id, chunk_no)"
    ).fetchall()
    return dict(rows)


def refused(db: Connection, sqlstate: str, says: str, call: Any) -> None:
    with pytest.raises(psycopg.DatabaseError) as caught, db.transaction():
        call()
    found = caught.value.diag
    assert caught.value.sqlstate == sqlstate
    assert says in f"{found.message_primary} {found.message_detail}"


def state(db: Connection) -> list[Any]:
    return db.execute(
        "select (select count(*) from ragdb.turns), (select count(*) from ragdb.edges),"
        " (select count(*) from ragdb.events), (select version from ragdb.corpora"
        " where name = 'chat')"
    ).fetchall()


def test_a_turn_that_comes_again_is_written_once(talk: Connection) -> None:
    before = state(talk)
    assert append(talk, "chat", [message(12, [11]), message(11)], "s2") == [
        (uuid(12), True),
        (uuid(11), True),
    ]
    assert state(talk) == before
    # the one that is new is written, the other is not
    found = append(talk, "chat", [message(12, [11]), message(13, [12])], "s2")
    assert found == [(uuid(12), True), (uuid(13), False)]


@pytest.mark.parametrize(
    ("turns", "sqlstate", "says"),
    [
        ([message(12, [11]) | {"text": "no"}], "RG409", "another text"),
        ([message(12, [11]) | {"role": "user"}], "RG409", "role is assistant"),
        ([message(12, [11]) | {"speaker": "Ann"}], "RG409", "it came without speaker"),
        ([message(12, [11]) | {"feedback": 1}], "RG409", "it came without feedback"),
        ([message(12, [11]) | {"created_at": "2026-03-02T09:30Z"}], "RG409", "it was said at 20"),
        ([message(13), message(12)], "RG409", "another"),
        ([message(12, [11]) | {"parent_id": uuid(1)}], "RG409", "does not have the parent"),
        (
            [message(12) | {"parents": [{"id": uuid(11), "edge_type": "branch"}]}],
            "RG409",
            "does not have the parent",
        ),
        ([message(2, [1])], "RG409", 'session "s1" has it'),
        ([message(13, [7])], "RG412", "not in the conversation"),
        ([message(13, [1])], "RG412", "not in the conversation"),
        ([message(13, [13])], "RG412", "itself"),
        ([message(13), message(13)], "RG412", "two turns"),
        ([message(13, [14]), message(14, [13])], "RG412", "cycle"),
        ([message(13) | {"text": " "}], "RG412", "blank"),
        ({"id": "m1"}, "RG412", "turns is not an array"),
        (["hello"], "RG412", "object"),
    ],
)
def test_a_batch_with_a_turn_that_cannot_be_is_refused_whole(
    talk: Connection, turns: Any, sqlstate: str, says: str
) -> None:
    before = state(talk)
    if says == "another":
        turns[1]["text"] = "otherwise"
    refused(talk, sqlstate, says, lambda: append(talk, "chat", turns, "s2"))
    assert state(talk) == before


@pytest.mark.parametrize(
    ("field", "first", "then", "says"),
    [
        ("speaker", "Ann", "Bob", 'its speaker is "Ann"'),
        ("phase", "planning", "synthesis", 'its phase is "planning"'),
        ("salience", 0.25, 0.5, 'its salience is "0.25"'),
        ("feedback", 1, -1, 'its feedback is "1"'),
        ("created_at", "2026-03-02T09:30Z", "2026-03-02T09:31Z", "2026-03-02T09:30:00+00:00"),
    ],
)
def test_a_turn_that_comes_again_with_another_field_is_refused(
    talk: Connection, field: str, first: Any, then: Any, says: str
) -> None:
    turn = message(13, [12])
    append(talk, "chat", [turn | {field: first}], "s2")
    # sent again it is there, also without the field
    assert append(talk, "chat", [turn | {field: first}], "s2") == [(uuid(13), True)]
    assert append(talk, "chat", [turn], "s2") == [(uuid(13), True)]
    refused(talk, "RG409", says, lambda: append(talk, "chat", [turn | {field: then}], "s2"))


def test_what_was_appended_stays_when_the_file_is_put_again(talk: Connection) -> None:
    append(talk, "chat", [message(3, [2])])
    put(talk, "chat", conversation([message(1), message(2, [1]), message(4, [2])]))
    assert depths(talk) == {
        uuid(1): 0,
        uuid(2): 1,
        uuid(3): 2,
        uuid(4): 2,
        uuid(11): 0,
        uuid(12): 1,
    }
    assert parents(talk, uuid(3)) == [(uuid(2), "reply", True)]
    # and a file that brings an appended turn is told so
    again = conversation([message(1), message(2, [1]), message(3, [2])])
    refused(talk, "RG409", "chunk id", lambda: put(talk, "chat", again))


@pytest.mark.parametrize(
    "call",
    [
        "put_text('chat', 'session:s2', 'a note')",
        "put_text('chat', 'chat.jsonl#s1', 'a note')",
        "put_texts('chat', '{one,two}', ids => '{other,session:s2}')",
        "put_document('chat', 'sha256:' || repeat('0', 64), 'session:s2', '[]', '{}')",
        "put_document('chat', 'sha256:' || repeat('0', 64), 'session:s2', '[]', '{}',"
        " force => true)",
    ],
)
def test_a_text_does_not_take_the_place_of_a_conversation(talk: Connection, call: str) -> None:
    says = 'of corpus "chat" is a conversation'
    refused(talk, "RG409", says, lambda: talk.execute(f"select from ragdb.{call}"))
    assert {depths(talk)[uuid(n)] for n in (1, 11)} == {0}
    append(talk, "chat", [message(13, [12])], "s2")
    talk.execute("select ragdb.delete_document('chat', 'session:s2')")
    talk.execute("select from ragdb.put_text('chat', 'session:s2', 'a note')")


@pytest.mark.parametrize("force", [False, True])
def test_no_text_passes_for_a_conversation(talk: Connection, force: bool) -> None:
    call = (
        "select from ragdb.put_document('chat', 'sha256:' || repeat('0', 64), 'session:s2', '[]',"
        """ '{"chunker": "turns/1"}', force => %s)"""
    )
    says = "its chunker is turns/1"
    refused(talk, "RG412", says, lambda: talk.execute(call, (force,)))
    assert {depths(talk)[uuid(n)] for n in (1, 11)} == {0}


def test_a_file_is_what_it_says_now_be_it_a_conversation_or_not(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('chat')")
    plain = {"uri": "chat.json", "root": "/chats", "doc_cid": "sha256:" + "0" * 64,
             "media_type": "text/plain", "size_bytes": 0, "chunking": {}, "chunks": []}  # fmt: skip
    talk = conversation([message(1)], uri="chat.json", root="/chats")

    def put_plain(**more: Any) -> None:
        any_db.execute("select ragdb.put_documents('chat', %s)", (json.dumps([plain | more]),))

    put(any_db, "chat", talk)
    put_plain()
    assert depths(any_db) == {}
    put(any_db, "chat", talk)
    assert depths(any_db) == {uuid(1): 0}
    refused(any_db, "RG409", "is a conversation", lambda: put_plain(root=None))
    put_plain(root="/elsewhere", adopt=True)
    assert depths(any_db) == {}


def test_edges_join_sessions_and_documents(talk: Connection) -> None:
    page = guide(talk)
    assert (
        add(talk, edge(page, uuid(2)), edge(uuid(2), uuid(11), "branch"), edge(uuid(1), page)) == 3
    )
    assert add(talk, edge(page, uuid(2))) == 0
    assert parents(talk, uuid(2)) == [(uuid(1), "reply", False), (page, "reference", True)]
    children = talk.execute("select child_id from ragdb.get_children('chat', %s)", (uuid(1),))
    assert {child for (child,) in children} == {uuid(2), page}
    ((salience, spread),) = talk.execute(
        "select (select salience from ragdb.get_turn('chat', %s)), (select min(e.child_salience)"
        " from ragdb.edges e join ragdb.chunks c on c.chunk_no = e.child_no"
        " where c.chunk_id = %s)",
        (uuid(2), uuid(2)),
    ).fetchall()
    # one reference more: salience is half and a twentieth, and so say the edges
    assert (salience, spread) == pytest.approx((0.55, 0.55))
    # a session's depths are its own
    assert depths(talk)[uuid(11)] == 0
    found = talk.execute(
        "select chunk_ids from ragdb.build_slice('chat', %s, sign => false)", (page,)
    ).fetchone()
    assert found == (sorted([page, uuid(1), uuid(2), uuid(11), uuid(12)]),)
    edges = talk.execute(
        "select parent_id, child_id, edge_type from ragdb.get_edges('chat', %s)", (found[0],)
    ).fetchall()
    assert len(edges) == 5
    assert edges == sorted(edges)


def test_a_page_has_all_edges_of_its_last_parent(talk: Connection) -> None:
    add(talk, edge(uuid(1), uuid(12)), edge(uuid(1), uuid(12), "branch"))
    paged = "select parent_id, edge_type from ragdb.get_parents('chat', %s, %s, 1)"
    first = [(uuid(1), "branch"), (uuid(1), "reference")]
    assert talk.execute(paged, (uuid(12), "")).fetchall() == first
    assert talk.execute(paged, (uuid(12), uuid(1))).fetchall() == [(uuid(11), "reply")]


def test_parents_come_by_pages_without_a_gap(talk: Connection) -> None:
    first, twice, third, last = (uuid(n) for n in (1, 2, 11, 12))
    add(talk, *(edge(parent, guide(talk)) for parent in (first, twice, third, last)))
    add(talk, edge(twice, guide(talk), "default"))

    def page(*arguments: Any) -> list[str]:
        listed = f"select parent_id from ragdb.get_parents('chat'{', %s' * (len(arguments) + 1)})"
        return [parent for (parent,) in talk.execute(listed, (guide(talk), *arguments)).fetchall()]

    assert page() == [first, twice, twice, third, last]
    assert page("", 2) == [first, twice, twice]
    assert page(twice, 2) == [third, last]
    assert page(third, 2) == [last]
    assert page(last, 2) == []
    for wrong in ("count => 0", "after => null"):
        call = f"select ragdb.get_parents('chat', '{uuid(2)}', {wrong})"
        refused(talk, "RG400", "", lambda call=call: talk.execute(call))


def test_the_last_child_of_a_page_is_not_on_the_next(talk: Connection) -> None:
    page = "select child_id from ragdb.get_children('chat', %s, %s)"
    assert talk.execute(page, (uuid(1), "")).fetchall() == [(uuid(2),)]
    assert talk.execute(page, (uuid(1), uuid(2))).fetchall() == []


def test_conversations_put_at_once_may_call_their_turns_alike(talk: Connection) -> None:
    said = [
        {"id": "1", "role": "user", "text": "Hello."},
        {"id": "2", "parent_id": "1", "role": "assistant", "text": "Good morning."},
    ]
    put(talk, "chat", *(conversation(said, name, doc_cid=f"sha256:{name * 64}") for name in "ab"))
    for session in "ab":
        first, second = (one(talk, TURN, session, said_id) for said_id in "12")
        assert parents(talk, second) == [(first, "reply", False)]


def test_added_edges_stay_with_their_chunks_and_go_when_told(talk: Connection) -> None:
    page = guide(talk)
    add(talk, edge(page, uuid(2), "default"), edge(uuid(11), uuid(1)))
    put_texts(talk, {"other.md": "Another page."}, "chat")
    talk.execute("select ragdb.put_text('chat', 'guide.md', 'Refunds are paid in 14 days.', 'New')")
    put(talk, "chat", conversation([message(1), message(2, [1]), message(3, [2])]))
    assert parents(talk, uuid(2)) == [(uuid(1), "reply", False), (guide(talk), "default", True)]
    assert parents(talk, uuid(1)) == [(uuid(11), "reference", True)]
    assert add(talk, edge(uuid(11), uuid(1)), function="remove_edges") == 1
    assert parents(talk, uuid(1)) == []
    # what a conversation says is not taken away
    assert add(talk, edge(uuid(1), uuid(2), "reply"), function="remove_edges") == 0


def test_a_reply_that_is_added_moves_what_is_below(talk: Connection) -> None:
    append(talk, "chat", [message(13, [12]), message(14), message(15, [14])], "s2")
    assert add(talk, edge(uuid(13), uuid(14), "reply")) == 1
    assert [depths(talk)[uuid(n)] for n in range(11, 16)] == [0, 1, 2, 3, 4]
    refused(talk, "RG412", "cycle", lambda: add(talk, edge(uuid(15), uuid(11), "reply")))
    # across sessions too
    add(talk, edge(uuid(15), uuid(1), "reply"))
    refused(talk, "RG412", "cycle", lambda: add(talk, edge(uuid(2), uuid(11), "branch")))
    assert add(talk, edge(uuid(15), uuid(11))) == 1
    assert add(talk, edge(uuid(13), uuid(14), "reply"), function="remove_edges") == 1
    assert [depths(talk)[uuid(n)] for n in range(11, 16)] == [0, 1, 2, 0, 1]
    # a conversation that closes the circle is refused too
    append(talk, "chat", [message(3), message(4)])
    add(talk, edge(uuid(3), uuid(4), "reply"))
    log = conversation([message(3, [4]), message(4)], uri="session:s1")
    refused(talk, "RG412", "cycle", lambda: put(talk, "chat", log))
    # one that leads through another session too
    put(talk, "chat", conversation([message(1), message(2, [1]), message(5), message(6)]))
    add(talk, edge(uuid(5), uuid(11), "reply"), edge(uuid(11), uuid(6), "branch"))
    log = conversation([message(1), message(2, [1]), message(5, [6]), message(6)])
    refused(talk, "RG412", "cycle", lambda: put(talk, "chat", log))
    log["messages"][2]["parents"] = [{"id": uuid(6), "edge_type": "reference"}]
    put(talk, "chat", log)


@pytest.mark.parametrize(
    ("edges", "sqlstate", "says"),
    [
        ([edge(uuid(1), uuid(99))], "RG406", "has no chunk"),
        ([edge(uuid(1), "guide")], "RG406", "has no chunk"),
        ([edge(uuid(1), uuid(1))], "RG412", "position 0"),
        ([edge(uuid(1), uuid(2), "mentions")], "RG412", "position 0"),
        ([{"parent": uuid(1)}], "RG412", "position 0"),
        ([edge(uuid(1), uuid(2)) | {"weight": 1}], "RG412", "position 0"),
        ([edge(uuid(11), uuid(1)), "x"], "RG412", "position 1"),
        ({"parent": uuid(1)}, "RG412", "array"),
    ],
)
def test_edges_that_join_nothing_are_refused_whole(
    talk: Connection, edges: Any, sqlstate: str, says: str
) -> None:
    before = state(talk)
    call = "select ragdb.add_edges('chat', %s)"
    refused(talk, sqlstate, says, lambda: talk.execute(call, (json.dumps(edges),)))
    assert state(talk) == before


def test_who_may_not_write_neither_appends_nor_joins(talk: Connection) -> None:
    talk.execute("select ragdb.restrict_corpus('chat')")
    talk.execute("create role passer in role ragdb_writer")
    talk.execute("create role looker in role ragdb_reader")
    talk.execute("select ragdb.grant_corpus('chat', 'looker', 'read')")
    append_call = lambda: append(talk, "chat", [message(13)], "s2")  # noqa: E731
    for role, sqlstate in (("passer", "RG404"), ("looker", "RG401")):
        talk.execute(f"set local role {role}")
        refused(talk, sqlstate, "", append_call)
        refused(talk, sqlstate, "", lambda: add(talk, edge(uuid(1), uuid(11))))
    assert parents(talk, uuid(2)) == [(uuid(1), "reply", False)]
    talk.execute("set local role passer")
    refused(talk, "RG404", "", lambda: parents(talk, uuid(2)))
