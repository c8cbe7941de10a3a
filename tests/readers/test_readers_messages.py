"""Messages as chats write them: what says nothing is left out, and all else is kept."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import pytest

from ragdb.readers import conversation
from ragdb.readers.read import read
from tests.readers.test_readers_chats import CHANNEL, CLAUDE, node, read_as, said, tree

ASKED: dict[str, Any] = {"id": 1, "role": "user", "content": "What is six by seven?"}
CALL: dict[str, Any] = {"id": 2, "role": "assistant", "content": None, "tool_calls": [{}]}
FOUND: dict[str, Any] = {"id": 3, "role": "tool", "content": "42"}


def uuid(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012d}"


def claude(n: int, text: str = "", **more: Any) -> dict[str, Any]:
    sender = "human" if n % 2 else "assistant"
    return {"uuid": uuid(n), "sender": sender, "text": text} | more


@pytest.mark.parametrize(
    "silent",
    [
        CALL | {"parent_id": 1},
        CALL | {"parents": [{"id": 1, "edge_type": "reply"}]},
        {"id": 2, "role": "assistant", "text": " ", "parent_id": 1},
        {"id": 2, "role": "assistant", "text": None, "parent_id": 1},
    ],
)
@pytest.mark.parametrize("field", ["parent_id", "parents"])
def test_who_answers_what_is_left_out_answers_what_that_answered(
    silent: dict[str, Any], field: str
) -> None:
    answer = FOUND | {field: 2 if field == "parent_id" else [{"id": 2, "edge_type": "branch"}]}
    (one,) = read_as([ASKED, silent, answer])
    first, last = one["messages"]
    assert (first["id"], first["parent_id"], last["id"]) == ("1", None, "3")
    if field == "parent_id":
        assert last["parent_id"] == "1"
    else:
        assert last["parents"] == [{"id": "1", "edge_type": "branch"}]


def test_who_answers_what_answered_nothing_and_is_left_out_begins_anew() -> None:
    (one,) = read_as([CALL, FOUND | {"parent_id": 2, "parents": [2]}])
    assert said(one) == [("3", None, "tool", "42")]
    assert one["messages"][0]["parents"] == []


def test_what_says_nothing_and_has_no_id_is_answered_by_nobody() -> None:
    nameless = {"role": "assistant", "content": "", "parent_id": 1}
    (one,) = read_as([ASKED, nameless, FOUND])
    assert [parent for _, parent, *_ in said(one)] == [None, None]


def test_what_is_left_out_and_leads_in_a_circle_answers_nothing() -> None:
    other = CALL | {"id": 4, "parent_id": 2}
    (one,) = read_as([CALL | {"parent_id": 4}, other, FOUND | {"parent_id": 4}])
    assert said(one) == [("3", None, "tool", "42")]


def test_an_id_of_0_is_an_id_and_an_empty_parent_is_none() -> None:
    (one,) = read_as([ASKED | {"id": 0, "parent_id": ""}, FOUND | {"id": 1, "parent_id": 0}])
    assert [(i, parent) for i, parent, *_ in said(one)] == [("0", None), ("1", "0")]


def test_a_message_without_an_id_gets_none_that_another_has() -> None:
    (one,) = read_as([ASKED | {"id": "2"}, {"role": "assistant", "content": "42"}, FOUND])
    assert [i for i, *_ in said(one)] == ["2", "1", "3"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (1735689600, "2025-01-01T00:00:00+00:00"),
        (1735689600.25, "2025-01-01T00:00:00.250000+00:00"),
        (1735689600250, "2025-01-01T00:00:00.250000+00:00"),
        (1735689600250000, "2025-01-01T00:00:00.250000+00:00"),
        ("1735689600", "2025-01-01T00:00:00+00:00"),
        ("1735689600.25", "2025-01-01T00:00:00.250000+00:00"),
        ("1735689600250", "2025-01-01T00:00:00.250000+00:00"),
        ("2025-01-01T01:00:00+0100", "2025-01-01T01:00:00+0100"),
        ("", None),
        # the database refuses it, and says which
        ("soon", "soon"),
        (10**30, 10**30),
        (True, True),
    ],
)
def test_a_time_is_a_text_or_a_count_of_seconds_or_less_since_1970(given: Any, found: Any) -> None:
    (one,) = read_as([ASKED | {"created_at": given}, FOUND])
    assert one["messages"][0].get("created_at") == found


@pytest.mark.parametrize(
    "field", ["created_at", "created_date", "create_time", "createdAt", "timestamp"]
)
def test_a_time_has_the_names_that_chats_give_it(field: str) -> None:
    (one,) = read_as([ASKED | {field: "2025-01-01T00:00:00Z"}, FOUND])
    assert one["messages"][0]["created_at"] == "2025-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "given", ["yesterday", {"day": 1}, 12.5, 0, "2025-Q1", "2025-01-15, 3:04 PM", "2025-1-5 at 3"]
)
def test_what_is_called_a_time_and_is_none_is_not_kept(given: Any) -> None:
    """It may be of a recording, or be written so that the database would refuse it."""
    (one,) = read_as([ASKED | {"timestamp": given}, FOUND])
    assert all("created_at" not in message for message in one["messages"])


@pytest.mark.parametrize("given", ["2025-01-15 3:04 PM", "2025-01-15", "2025-01-15T03:04:05.5+01"])
def test_a_time_may_be_written_in_other_ways(given: str) -> None:
    (one,) = read_as([ASKED | {"timestamp": given}, FOUND])
    assert one["messages"][0]["created_at"] == given


def test_what_was_pasted_as_a_file_is_said() -> None:
    pasted = {"file_name": "paste.txt", "extracted_content": "The pump holds 12 bar."}
    empty = {"file_name": "a.png", "extracted_content": None}
    messages = [
        claude(1, attachments=[pasted, empty]),
        claude(2, "Noted."),
        claude(3, "And this?", attachments=[pasted]),
    ]
    (one,) = read_as([CLAUDE | {"chat_messages": messages}])
    assert [text for *_, text in said(one)] == [
        "paste.txt\n\nThe pump holds 12 bar.",
        "Noted.",
        "And this?\n\npaste.txt\n\nThe pump holds 12 bar.",
    ]


def test_an_answer_that_was_asked_for_again_stands_beside_the_first() -> None:
    messages = [
        claude(1, "Which?", parent_message_uuid=uuid(0)),
        claude(2, "This one.", parent_message_uuid=uuid(1)),
        claude(4, "No, that one.", parent_message_uuid=uuid(1)),
        claude(5, "Thanks.", parent_message_uuid=uuid(4)),
    ]
    (one,) = read_as([CLAUDE | {"chat_messages": messages}])
    assert [(i[-1], parent and parent[-1]) for i, parent, *_ in said(one)] == [
        ("1", None),
        ("2", "1"),
        ("4", "1"),
        ("5", "4"),
    ]


@pytest.mark.parametrize("parent", [None, {"uuid": 1}, uuid(7)])
def test_messages_that_know_no_parent_follow_each_other(parent: Any) -> None:
    messages = [claude(n, "So.", parent_message_uuid=parent) for n in (1, 2)]
    (one,) = read_as([CLAUDE | {"chat_messages": messages}])
    assert [(i[-1], before and before[-1]) for i, before, *_ in said(one)] == [
        ("1", None),
        ("2", "1"),
    ]


def test_records_of_a_log_are_not_messages_of_a_channel() -> None:
    log = [{"type": "message", "ts": 1735689600 + n, "msg": "up"} for n in (0, 1)]
    (document,) = read(json.dumps(log).encode(), "log.json")
    assert "msg: up" in document.text


def test_a_message_of_a_channel_that_was_exported_twice_is_one() -> None:
    (one,) = read_as([*CHANNEL, *CHANNEL], "2025-01-01.json")
    assert said(one) == said(read_as(CHANNEL, "2025-01-01.json")[0])


def test_what_programs_say_in_a_channel_is_said() -> None:
    at = "1735689600.000100"
    built = {"bot_id": "B1", "username": "CI", "text": "", "ts": at}
    attached = [{"text": "Build 12 &amp; 13 failed."}, {"fallback": "See the log."}, {"id": 3}]
    began = {"type": "message", "subtype": "huddle_thread", "text": "A huddle began.", "ts": at}
    file = {"type": "message", "user": "U1", "ts": at, "files": [{"name": "plan.pdf"}]}
    (one,) = read_as([built | {"attachments": attached}, began, file], "2025-01-01.json")
    assert [(m.get("speaker"), m["text"]) for m in one["messages"]] == [
        ("CI", "Build 12 & 13 failed.\n\nSee the log."),
        (None, "A huddle began."),
    ]


def test_a_message_of_a_channel_is_read_as_it_is_shown() -> None:
    marked = (
        "<@U1> and <@U3|bo> and <@U9>: <!here> <!subteam^S1|@staff> <#C1|tools> <#C2>"
        " <https://a.example/?x=1&amp;y=2|the page> <https://a.example> <mailto:a@b.c|a@b.c>"
        " if a &lt;b&gt; &lt;@U1&gt; 2 <3 <https://a.example|https://a.example>"
    )
    asked = {"user": "U2", "ts": "1735689500.000100", "text": marked}
    (one,) = read_as([*CHANNEL, asked], "2025-01-01.json")
    first = one["messages"][0]
    assert first["text"] == (
        "@Ada and @bo and @U9: @here @staff #tools #C2"
        " the page (https://a.example/?x=1&y=2) https://a.example a@b.c"
        " if a <b> <@U1> 2 <3 https://a.example"
    )
    # who has a name in one message of a day has it in all of them
    again = {"user": "U1", "ts": "1735689900.000400", "text": "Thank you."}
    (one,) = read_as([*CHANNEL, again], "2025-01-01.json")
    assert [m["speaker"] for m in one["messages"]] == ["Ada", "U2", "U2", "Ada"]


def test_lines_may_say_nothing_too() -> None:
    lines = [one | {"session": "s"} for one in (ASKED, CALL | {"parent_id": 1}, FOUND)]
    lines[2]["parent_id"] = 2
    data = "\n".join(map(json.dumps, lines)).encode()
    (document,) = conversation.read(io.BytesIO(data), 1 << 20)
    assert document.messages is not None
    assert [(m["id"], m["parent_id"]) for m in document.messages] == [("1", None), ("3", "1")]


@pytest.mark.parametrize(
    "content",
    [
        {"type": "text", "text": "Hello."},
        {"content_type": "text", "parts": ["Hello."]},
        [{"type": "text", "text": {"value": "Hello.", "annotations": []}}],
        [{"type": "image_file", "image_file": {}}, {"type": "output_text", "text": "Hello."}],
    ],
)
def test_what_is_said_is_found_in_every_form_of_a_content(content: Any) -> None:
    (one,) = read_as([ASKED | {"content": content}, FOUND])
    assert [text for *_, text in said(one)] == ["Hello.", "42"]


def test_a_message_that_was_written_twice_is_one_and_another_of_its_id_is_not() -> None:
    (one,) = read_as([ASKED, FOUND, FOUND, FOUND | {"content": "43"}])
    assert [(i, text) for i, _, _, text in said(one)] == [
        ("1", "What is six by seven?"),
        ("3", "42"),
        # the database refuses it, and says which
        ("3", "43"),
    ]
    # without ids these are said twice
    nameless = {"role": "user", "content": "Again!"}
    (one,) = read_as([nameless, nameless, FOUND])
    assert len(one["messages"]) == 3


def test_a_message_without_an_id_of_a_named_session_is_called_by_what_it_says_and_when() -> None:
    """Another file may go on with the session, and would count from 1 again."""
    nameless = {"role": "user", "content": "Again!", "timestamp": 1735689600}
    answer = nameless | {"role": "assistant"}
    at = "2025-01-01T00:00:00+00:00"
    asked, answered, more = (
        hashlib.sha256(json.dumps([at, *who_and_what]).encode()).hexdigest()
        for who_and_what in (
            ["user", None, "Again!"],
            ["assistant", None, "Again!"],
            ["user", None, "So?"],
        )
    )
    chat = [nameless, answer, nameless, ASKED, {"role": "user", "content": "So?"}]
    (one,) = read_as([{"session": "s", "messages": chat}])
    assert [(i, parent) for i, parent, *_ in said(one)] == [
        (asked, None),
        (answered, asked),
        (f"{asked}-2", answered),
        ("1", f"{asked}-2"),
        (more, "1"),
    ]
    for named in ({"session": "s"}, {}):
        data = "\n".join(json.dumps(record | named) for record in chat[:2]).encode()
        (document,) = conversation.read(io.BytesIO(data), 1 << 20)
        assert document.messages is not None
        ids = [message["id"] for message in document.messages]
        assert ids == ([asked, answered] if named else ["1", "2"])
    # where nobody says when, they are counted
    (one,) = read_as([{"session": "s", "messages": [{"role": "user", "content": "Hi"}]}])
    assert [i for i, *_ in said(one)] == ["1"]


def test_what_is_deleted_from_a_channel_leaves_the_ids_of_the_others() -> None:
    (whole,) = read_as(CHANNEL, "2025-01-01.json")
    (less,) = read_as([CHANNEL[0], CHANNEL[2]], "2025-01-01.json")
    assert [i for i, *_ in said(less)] == [i for i, *_ in said(whole)][1:]
    # two of one moment are two
    (twice,) = read_as([CHANNEL[0], {**CHANNEL[0], "text": "Who has it?"}], "2025-01-01.json")
    assert [(i, text) for i, _, _, text in said(twice)] == [
        ("1735689700.000200", "Who has the key?"),
        ("1735689700.000200-2", "Who has it?"),
    ]


def cite(of: str) -> str:
    return f"\ue200cite\ue202{of}\ue201"


def test_a_source_that_chatgpt_cites_is_shown_and_no_mark_of_it() -> None:
    found = "It holds \ue20312 bar\ue204 " + cite("turn0search1") + cite("turn0search2") + "."
    references = [
        {"matched_text": cite("turn0search1"), "alt": "([Pumps](https://a.example))"},
        {"matched_text": cite("turn0search2"), "alt": None},
        {"matched_text": "bar", "alt": "foo"},
        {"matched_text": 5},
        "x",
    ]
    nodes = [
        node("q", None, "user", "How much does 【1†x】 hold?"),
        node("a", "q", "assistant", found, metadata={"content_references": references}),
        node("b", "a", "assistant", "So says 【11†source】 the page 【4:0†a.pdf】."),
        node("c", "b", "assistant", [{"content_type": "audio_transcription", "text": "Yes."}]),
    ]
    (one,) = read_as([tree("pump", "c", *nodes)])
    assert [text for *_, text in said(one)] == [
        "How much does 【1†x】 hold?",
        "It holds 12 bar ([Pumps](https://a.example)).",
        "So says the page.",
        "Yes.",
    ]


def test_what_claude_said_between_calls_is_read_and_not_that_its_blocks_are_not_shown() -> None:
    content = [
        {"type": "text", "text": "I look it up."},
        {"type": "thinking", "thinking": "Hm."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "12"}]},
        {"type": "text", "text": "It holds 12 bar."},
    ]
    blank = "```\nThis block is not supported on your current device yet.\n```"
    text = f"I look it up.\n{blank}\nIt holds 12 bar."
    messages = [claude(1, "How much?", content=[]), claude(2, text, content=content)]
    (one,) = read_as([CLAUDE | {"chat_messages": messages}])
    assert [text for *_, text in said(one)] == ["How much?", "I look it up.\n\nIt holds 12 bar."]


def test_what_programs_say_in_blocks_and_fields_of_a_channel_is_said() -> None:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Build 12"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "It failed for <@U1>."}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "*Branch*: main"}]},
        {"type": "actions", "elements": [{"type": "button", "text": {"text": "Again"}}]},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "in 3 min"}, 5]},
        "x",
    ]
    attached = {
        "pretext": "Deployed",
        "title": "Release 3",
        "text": "to production",
        "fields": [{"title": "By", "value": "Ada"}, {"value": "late"}, 7],
        "fallback": "Release 3",
    }
    by: dict[str, Any] = {"bot_id": "B1", "bot_profile": {"name": "CI"}, "type": "message"}
    messages = [
        by | {"ts": "1735689600.000100", "text": "", "blocks": blocks},
        by | {"ts": "1735689601.000100", "text": "", "attachments": [attached]},
        by
        | {
            "ts": "1735689602.000100",
            "text": "",
            "attachments": [{"fallback": "[no preview available]", "blocks": blocks[:1]}],
        },
        # a link is shown with a preview, which nobody said
        by | {"ts": "1735689603.000100", "text": "See this.", "attachments": [attached]},
    ]
    (one,) = read_as([*messages, *CHANNEL], "2025-01-01.json")
    assert [m["text"] for m in one["messages"] if m["speaker"] == "CI"] == [
        "Build 12\n\nIt failed for @Ada.\n\n*Branch*: main\n\nin 3 min",
        "Deployed\n\nRelease 3\n\nto production\n\nBy: Ada\n\nlate",
        "Build 12",
        "See this.",
    ]
