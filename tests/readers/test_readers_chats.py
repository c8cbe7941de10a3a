"""What chat services export is read as conversations, by its shape and never by a guess."""

from __future__ import annotations

import csv
import io
import json
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ragdb.ingest.payload import to_conversation
from ragdb.readers import conversation
from ragdb.readers.document import ReadError
from ragdb.readers.read import read


def node(id: str, parent: str | None, role: str = "", text: Any = "", **more: Any) -> Any:
    """A node of a conversation as ChatGPT exports it."""
    message = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": more.pop("at", None),
        "content": {"content_type": "text", "parts": [text] if isinstance(text, str) else text},
        "recipient": "all",
        "metadata": {},
    } | more
    return {"id": id, "message": message if role else None, "parent": parent, "children": []}


def tree(id: str, current: str, *nodes: Any, **more: Any) -> dict[str, Any]:
    made = {"title": f"About {id}", "create_time": 1735689600.5, "current_node": current}
    return made | {"id": id, "mapping": {one["id"]: one for one in nodes}} | more


FUSES = tree(
    "fuses",
    "a2",
    node("root", None),
    node("sys", "root", "system", ""),
    node("q1", "sys", "user", "Which fuse does the saw need?", at=1735689600.5),
    node("a1", "q1", "assistant", "Ten amperes.", at=1735689601),
    # the answer was asked for again, and the second one is on the page
    node("a2", "q1", "assistant", "Sixteen amperes.", at=1735689602.25),
)
DRILL = tree(
    "drill",
    "d4",
    node("d1", None, "user", ["What is this?", {"asset_pointer": "file-service://x"}], at=2e9),
    node("d2", "d1", "assistant", "search(drill)", recipient="browser"),
    node("d3", "d2", "tool", "A drill.", author={"role": "tool", "name": "browser"}),
    node("d4", "d3", "assistant", "It is a drill.", at=2000000009),
)
CLAUDE: dict[str, Any] = {
    "uuid": "c-1",
    "name": "Descaling",
    "created_at": "2026-01-05T08:00:00.000000Z",
    "chat_messages": [
        {
            "uuid": "m-1",
            "sender": "human",
            "text": "How often?",
            "created_at": "2026-01-05T08:00:01.000000Z",
        },
        {
            "uuid": "m-2",
            "sender": "assistant",
            "text": "",
            "content": [{"type": "text", "text": "Every two months."}],
            "created_at": "2026-01-05T08:00:02.000000Z",
        },
    ],
}
SHAREGPT: dict[str, Any] = {
    "id": "7",
    "conversations": [
        {"from": "system", "value": "Be short."},
        {"from": "human", "value": "By whom?"},
        {"from": "gpt", "value": "By the volunteer."},
    ],
}
CHANNEL: list[dict[str, Any]] = [
    {"type": "message", "user": "U2", "ts": "1735689700.000200", "text": "Who has the key?"},
    {
        "user": "U1",
        "ts": "1735689600.000100",
        "text": "The lamp &amp; the fuse are gone.",
        "user_profile": {"display_name": "Ada"},
        "thread_ts": "1735689600.000100",
    },
    {
        "user": "U2",
        "ts": "1735689800.000300",
        "text": "I have it.",
        "thread_ts": "1735689600.000100",
    },
]


def read_as(value: Any, name: str = "conversations.json") -> list[dict[str, Any]]:
    documents = read(json.dumps(value).encode(), name)
    return [
        {"fault": one.fault.reason, "uri": f"{name}#{one.fragment}"}
        if one.fault
        else to_conversation(one, name)
        for one in documents
        if one.fault or one.messages is not None
    ]


def said(one: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(m["id"], m["parent_id"], m["role"], m["text"]) for m in one["messages"]]


def test_of_a_tree_the_branch_of_its_current_node_is_read_in_its_order() -> None:
    one, other = read_as([FUSES, DRILL])
    assert said(one) == [
        ("q1", None, "user", "Which fuse does the saw need?"),
        ("a2", "q1", "assistant", "Sixteen amperes."),
    ]
    assert said(other) == [
        ("d1", None, "user", "What is this?"),
        ("d3", "d1", "tool", "A drill."),
        ("d4", "d3", "assistant", "It is a drill."),
    ]
    assert [m.get("speaker") for m in other["messages"]] == [None, "browser", None]


def test_a_conversation_of_a_list_has_its_own_name_title_and_times() -> None:
    one, other = read_as([FUSES, DRILL])
    assert (one["uri"], one["session"], one["title"]) == (
        "conversations.json#fuses",
        "fuses",
        "About fuses",
    )
    assert (other["uri"], other["session"]) == ("conversations.json#drill", "drill")
    assert [m["created_at"] for m in one["messages"]] == [
        "2025-01-01T00:00:00.500000+00:00",
        "2025-01-01T00:00:02.250000+00:00",
    ]


def test_a_message_without_a_time_has_that_of_the_one_before() -> None:
    _, other = read_as([FUSES, DRILL])
    assert [m["created_at"] for m in other["messages"]] == [
        "2033-05-18T03:33:20+00:00",
        "2033-05-18T03:33:20+00:00",
        "2033-05-18T03:33:29+00:00",
    ]


def test_what_the_user_did_not_see_is_left_out() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = node("h", None, "user", "My profile", metadata=hidden), node("q", "h", "user", "Hi")
    (one,) = read_as([tree("hidden", "q", *nodes)])
    assert said(one) == [("q", None, "user", "Hi")]


def test_an_export_of_claude_is_conversations() -> None:
    (one,) = read_as([CLAUDE])
    assert (one["uri"], one["session"], one["title"]) == (
        "conversations.json#c-1",
        "c-1",
        "Descaling",
    )
    assert said(one) == [
        ("m-1", None, "human", "How often?"),
        ("m-2", "m-1", "assistant", "Every two months."),
    ]
    assert one["messages"][1]["created_at"] == "2026-01-05T08:00:02.000000Z"


def test_the_numbers_of_sharegpt_name_conversations_within_their_file() -> None:
    (one,) = read_as([SHAREGPT], "a.json")
    assert (one["uri"], one["session"]) == ("a.json#7", "a.json#7")
    assert said(one) == [
        ("1", None, "system", "Be short."),
        ("2", "1", "human", "By whom?"),
        ("3", "2", "gpt", "By the volunteer."),
    ]
    lines = json.dumps(SHAREGPT).encode() + b"\n"
    (line,) = [to_conversation(one, "a.jsonl") for one in read(lines, "a.jsonl")]
    assert (line["uri"], said(line)) == ("a.jsonl#line-1", said(one))


def test_a_list_of_lists_of_messages_is_conversations() -> None:
    chat = {"messages": [{"role": "user", "content": "Hello."}], "title": "First"}
    one, other = read_as([chat, {**chat, "id": "b"}])
    assert [(c["uri"], c["session"], c["title"]) for c in (one, other)] == [
        ("conversations.json#conversation-1", "conversations.json#conversation-1", "First"),
        ("conversations.json#b", "b", "First"),
    ]


def test_a_channel_is_one_conversation_by_its_times_with_its_speakers_and_threads() -> None:
    (one,) = read_as(CHANNEL, "2025-01-01.json")
    assert one["uri"] == one["session"] == "2025-01-01.json"
    assert said(one) == [
        ("1735689600.000100", None, "user", "The lamp & the fuse are gone."),
        ("1735689700.000200", "1735689600.000100", "user", "Who has the key?"),
        ("1735689800.000300", "1735689600.000100", "user", "I have it."),
    ]
    assert [m["speaker"] for m in one["messages"]] == ["Ada", "U2", "U2"]
    assert one["messages"][0]["created_at"] == "2025-01-01T00:00:00.000100+00:00"


@pytest.mark.parametrize("one", [FUSES, CLAUDE, SHAREGPT])
def test_one_conversation_alone_is_its_file(one: dict[str, Any]) -> None:
    (alone,) = read_as(one, "one.json")
    (listed,) = read_as([one], "one.json")
    assert alone["uri"] == "one.json"
    assert said(alone) == said(listed)


BROKEN = {
    "its mapping does not have the node gone": {**FUSES, "current_node": "gone"},
    "it does not say its current_node": {**FUSES, "current_node": None},
    "its mapping is not an object of nodes": {**FUSES, "mapping": [1]},
    "a message has no role": tree("fuses", "q", node("q", None, "narrator", "Once")),
    "its nodes lead in a circle at q": tree("fuses", "q", node("q", "q", "user", "Hi")),
    "a message has no author or no content": tree(
        "fuses", "q", {"message": {"author": "me"}, "parent": None, "id": "q"}
    ),
}


@pytest.mark.parametrize("reason", BROKEN)
def test_a_broken_conversation_is_named_and_the_others_are_read(reason: str) -> None:
    one, other = read_as([BROKEN[reason], DRILL])
    assert one == {"fault": reason, "uri": "conversations.json#fuses"}
    assert other["session"] == "drill"


def test_an_id_that_two_conversations_have_is_named_and_a_repetition_is_the_same() -> None:
    more = deepcopy(CLAUDE)
    more["chat_messages"][0]["text"] = "How seldom?"
    one, again, other = read_as([CLAUDE, CLAUDE, more])
    assert one == again
    assert other["fault"] == "the id of conversation 3 has been used"


def test_a_conversation_that_goes_on_is_another_and_a_new_field_is_not() -> None:
    more = deepcopy(CLAUDE)
    (one,) = read_as([CLAUDE])
    more["updated_at"] = "2026-02-01T00:00:00Z"
    assert [c["doc_cid"] for c in read_as([more])] == [one["doc_cid"]]
    more["chat_messages"].append({"uuid": "m-3", "sender": "human", "text": "Thanks."})
    assert [c["doc_cid"] for c in read_as([more])] != [one["doc_cid"]]


def test_a_conversation_without_a_message_is_empty_beside_others() -> None:
    documents = read(json.dumps([CLAUDE, {**CLAUDE, "chat_messages": []}]).encode(), "a.json")
    assert [one.is_empty for one in documents] == [False, True]


# of a survey, or prompts: each has a role, and none is said to another
ANSWERS = [{"id": 1, "role": "user", "text": "Fine."}, {"id": 2, "role": "user", "text": "Dear."}]


@pytest.mark.parametrize(
    "value",
    [
        [{"name": "Ada", "role": "user"}, {"name": "Bo", "role": "admin"}],
        [{"name": "Ada", "role": "user"}, {"name": "Bo", "role": "user", "text": "her bio"}],
        [{"title": "Fuses", "role": "user", "content": "a page"}],
        ANSWERS,
        [{"id": 1, "role": "developer", "text": "Fine.", "created_at": "2025-01-01T00:00:00Z"}],
        [{"role": "manager", "content": "x"}, {"role": "user", "content": "y"}],
        [{"mapping": {"a": "b"}, "title": "columns"}],
        [{"mapping": {"a": {"b": 1}}, "current_node": "a", "id": 1}],
        [{"conversations": 12, "day": "Monday"}],
        [{"conversations": [{"from": "London", "value": "Paris"}]}],
        [{"from": "human", "value": "a"}],
        [{"messages": 3}, {"messages": 4}],
        [{"chat_messages": [{"sender": "Ada", "text": "x"}]}],
        [FUSES, {"title": "a record"}],
        [{"user": "ada", "ts": 12, "text": "a row"}],
        [{"user": "ada", "ts": "1735689600.000100", "text": 5}],
        [{"ts": "1735689600.000100", "text": "nobody"}],
        [*CHANNEL, {"user": "ada"}],
        {"mapping": {"role": "user"}, "title": "settings"},
        {"messages": "role"},
    ],
)
def test_records_stay_records(value: Any) -> None:
    assert read_as(value) == []
    (document,) = read(json.dumps(value).encode(), "records.json")
    assert document.text


@pytest.mark.parametrize(
    "more",
    [
        {"role": "assistant", "text": "Thank you."},
        {"role": "user", "text": "Why?", "parent_id": 1},
        {"role": "user", "text": "Why?", "session": "s"},
        {"role": "user", "text": "Why?", "speaker": "Ada"},
        {"role": "user", "content": "Why?"},
    ],
)
def test_texts_of_one_role_are_a_chat_where_a_message_shows_it(more: dict[str, Any]) -> None:
    (one,) = read_as([*ANSWERS, more])
    assert [text for *_, text in said(one)] == ["Fine.", "Dear.", more.get("text", "Why?")]
    lines = "\n".join(map(json.dumps, [*ANSWERS, more])).encode()
    assert {d.media_type for d in read(lines, "chat.jsonl")} == {conversation.MEDIA_TYPE}


def test_lines_of_one_role_are_records() -> None:
    lines = "\n".join(map(json.dumps, ANSWERS)).encode()
    assert [(d.text, d.metadata) for d in read(lines, "answers.jsonl")] == [
        ("Fine.", {"role": "user"}),
        ("Dear.", {"role": "user"}),
    ]


@pytest.mark.shared
def test_no_record_of_the_shared_collections_is_taken_for_a_chat(shared: Path) -> None:
    data = shared / "data"
    tables = [list(csv.DictReader(io.StringIO(one.read_text()))) for one in data.rglob("*.csv")]
    tables += [json.loads(one.read_text()) for one in data.rglob("*.json")]
    for file in data.rglob("*.jsonl"):
        if "conv_oasst" not in str(file):
            with file.open() as stream:
                tables.append([json.loads(line) for line in islice(stream, 200)])
    assert len(tables) > 10
    for table in tables:
        assert read_as(table) == []
        if isinstance(table, list):
            # a column of that name makes no message of a row: only of who says a text
            assert read_as([{**row, "role": "author"} for row in table]) == []
            rows = [{**row, "title": row.get("title", ""), "role": "user"} for row in table]
            assert read_as(rows) == []


def test_a_part_that_is_no_text_says_nothing() -> None:
    parts = [5, None, ["x"], {"text": 3}, "Hello.", {"text": "Bye."}]
    (one,) = read_as([{"role": "user", "content": parts}])
    assert said(one) == [("1", None, "user", "Hello.\n\nBye.")]


def test_a_chat_in_which_nothing_is_said_is_blank() -> None:
    silent = {**CLAUDE, "chat_messages": [{"sender": "human", "text": " "}]}
    with pytest.raises(ReadError, match="no message has a text"):
        read(json.dumps([silent]).encode(), "a.json")
