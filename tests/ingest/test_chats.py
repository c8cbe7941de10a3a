"""Chats as they are exported become conversations."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.readers import conversation
from tests.conftest import Run

CHAT = [
    {"role": "system", "content": "You help at the desk."},
    {"role": "user", "content": "How often is the espresso machine descaled?"},
    {"role": "assistant", "content": [{"type": "text", "text": "Every two months."}]},
    {"role": "user", "content": "By whom?"},
    {"role": "assistant", "content": "By the volunteer of the day."},
]
SAID = [
    ("system", "You help at the desk."),
    ("user", "How often is the espresso machine descaled?"),
    ("assistant", "Every two months."),
    ("user", "By whom?"),
    ("assistant", "By the volunteer of the day."),
]


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in records).encode()


FILES = {
    "list.json": json.dumps(CHAT, indent=1).encode(),
    "marked.json": b"\xef\xbb\xbf" + json.dumps(CHAT).encode(),
    "packed.json.gz": gzip.compress(json.dumps(CHAT).encode()),
    "object.json": json.dumps({"model": "m", "messages": CHAT}).encode(),
    "flat.jsonl": lines(*CHAT),
    "tuning.jsonl": lines({"messages": CHAT}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_chat_becomes_turns_each_of_which_answers_the_one_before(
    run: Run, clone: str, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    result = run("ingest", tmp_path / name, "--corpus", "chat", "--json")
    assert result.exit_code == 0, result.output
    with psycopg.connect(clone) as db:
        turns = db.execute(
            "select t.role, c.text, t.depth from ragdb.turns t"
            " join ragdb.chunks c using (corpus_id, chunk_no) order by t.place"
        ).fetchall()
        sources = db.execute("select source from ragdb.list_documents('chat')").fetchall()
    assert turns == [(*one, depth) for depth, one in enumerate(SAID)]
    assert sources == [(name + "#line-1" * (name == "tuning.jsonl"),)]


def test_a_line_of_messages_is_a_conversation_with_its_own_title() -> None:
    two = [
        {"id": "a", "title": "Fuses", "messages": CHAT[1:3]},
        {"messages": CHAT[3:]},
    ]
    found = conversation.in_file(lines(*two), "tuning.jsonl", 10**6)
    assert [(one["uri"], one["session"], one.get("title")) for one in found] == [
        ("tuning.jsonl#a", "a", "Fuses"),
        ("tuning.jsonl#line-2", "tuning.jsonl#line-2", None),
    ]
    assert [len(one["messages"]) for one in found] == [2, 2]


def test_a_message_without_words_is_left_out_and_the_next_answers_the_one_before() -> None:
    chat = [
        CHAT[1],
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
        {"role": "assistant", "tool_calls": [{"id": "c2"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "two months"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
    ]
    (found,) = conversation.in_file(json.dumps(chat).encode(), "chat.json", 10**6)
    assert [(m["id"], m["parent_id"], m["role"]) for m in found["messages"]] == [
        ("1", None, "user"),
        ("2", "1", "tool"),
    ]


@pytest.mark.parametrize(
    ("written", "known"),
    [("human", "user"), ("AI", "assistant"), ("model", "assistant"), ("developer", "system")],
)
def test_the_roles_of_other_chats_are_those_of_the_database(written: str, known: str) -> None:
    chat = json.dumps([{"role": written, "content": "Hello."}]).encode()
    (found,) = conversation.in_file(chat, "chat.json", 10**6)
    assert [m["role"] for m in found["messages"]] == [known]


def test_a_time_in_seconds_is_a_time() -> None:
    chat = json.dumps([{"role": "user", "content": "Hello.", "created_at": 1735689600}]).encode()
    (found,) = conversation.in_file(chat, "chat.json", 10**6)
    assert found["messages"][0]["created_at"] == "2025-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("people.json", json.dumps([{"role": "manager", "content": "x"}]).encode()),
        ("people.jsonl", lines({"role": "manager", "text": "x"})),
        ("mixed.json", json.dumps([CHAT[1], {"name": "saw"}]).encode()),
        ("roles.json", json.dumps([{"role": "user"}, {"role": "system"}]).encode()),
        ("text.json", json.dumps({"messages": "role"}).encode()),
        ("broken.json", b'[{"role": "user", "content"'),
        ("chat.txt", json.dumps(CHAT).encode()),
    ],
)
def test_records_that_only_look_like_a_chat_are_not_one(name: str, data: bytes) -> None:
    assert conversation.in_file(data, name, 10**6) == []


def test_a_line_that_is_not_a_message_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_bytes(lines(CHAT[1], {"x": 1}))
    result = run("ingest", tmp_path / "chat.jsonl", "--corpus", "chat")
    assert result.exit_code == 4
    assert "line 2: it is not a message" in result.output


def test_a_chat_in_which_nothing_is_said_is_not_stored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": " "}]))
    result = run("ingest", tmp_path / "chat.json", "--corpus", "chat")
    assert result.exit_code == 4
    assert "no message has a text" in result.output


def test_a_list_with_what_is_not_a_message_is_named_by_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tuning.jsonl").write_bytes(lines({"messages": CHAT}, {"messages": [{"a": 1}]}))
    result = run("ingest", tmp_path / "tuning.jsonl", "--corpus", "chat")
    assert result.exit_code == 4
    assert "line 2: a message has no role" in result.output
