"""Chats as they are exported become conversations."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.ingest.payload import to_conversation
from ragdb.readers.document import ReadError
from ragdb.readers.messages import ROLES
from ragdb.readers.read import read
from tests.conftest import Connection, Run

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


def found(data: bytes, name: str) -> list[dict[str, Any]]:
    """The conversations that a file is read as."""
    documents = read(data, name)
    return [to_conversation(one, name) for one in documents if one.messages is not None]


FILES = {
    "list.json": json.dumps(CHAT, indent=1).encode(),
    "marked.json": b"\xef\xbb\xbf" + json.dumps(CHAT).encode(),
    "packed.json.gz": gzip.compress(json.dumps(CHAT).encode()),
    "object.json": json.dumps({"model": "m", "messages": CHAT}).encode(),
    "flat.jsonl": lines(*CHAT),
    "tuning.jsonl": lines({"messages": CHAT}),
}


@pytest.mark.by_day(2)
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


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", FILES)
def test_a_chat_that_is_its_whole_file_keeps_the_original(
    run: Run, clone: str, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    kept = [] if name.endswith(".jsonl") else [FILES[name]]
    for flag, blobs in (("--no-blobs", []), ("--force", kept)):
        assert run("ingest", tmp_path / name, "--corpus", "chat", flag).exit_code == 0
        with psycopg.connect(clone) as db:
            assert [bytes for (bytes,) in db.execute("select bytes from ragdb.blobs")] == blobs


def test_a_line_of_messages_is_a_conversation_with_its_own_title() -> None:
    two = [
        {"id": "a", "title": "Fuses", "messages": CHAT[1:3]},
        {"messages": CHAT[3:]},
    ]
    read_as = found(lines(*two), "tuning.jsonl")
    assert [(one["uri"], one["session"], one["title"]) for one in read_as] == [
        ("tuning.jsonl#a", "a", "Fuses"),
        ("tuning.jsonl#line-2", "tuning.jsonl#line-2", None),
    ]
    assert [len(one["messages"]) for one in read_as] == [2, 2]


def test_a_message_without_words_is_left_out_and_the_next_answers_the_one_before() -> None:
    chat = [
        CHAT[1],
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
        {"role": "assistant", "tool_calls": [{"id": "c2"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "two months"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
    ]
    (one,) = found(json.dumps(chat).encode(), "chat.json")
    assert [(m["id"], m["parent_id"], m["role"]) for m in one["messages"]] == [
        ("1", None, "user"),
        ("2", "1", "tool"),
    ]


@pytest.mark.parametrize("written", sorted(ROLES))
def test_the_roles_of_other_chats_are_those_of_the_database(db: Connection, written: str) -> None:
    chat = json.dumps([{"role": written.title(), "content": "Hello."}]).encode()
    (one,) = found(chat, "chat.json")
    (role,) = (message["role"] for message in one["messages"])
    known = db.execute("select ragdb_internal.turn_role(%s)", (role,)).fetchall()
    assert known == [(ROLES[written],)]


def test_a_time_in_seconds_is_a_time() -> None:
    chat = json.dumps([{"role": "user", "content": "Hello.", "created_at": 1735689600}]).encode()
    (one,) = found(chat, "chat.json")
    assert one["messages"][0]["created_at"] == "2025-01-01T00:00:00+00:00"


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
    with contextlib.suppress(ReadError):
        assert found(data, name) == []


def test_replies_that_are_not_a_list_are_none() -> None:
    tree = {"message_tree_id": "t", "prompt": {"message_id": "m", "text": "Hi", "replies": 5}}
    (document,) = read(json.dumps(tree).encode(), "a.jsonl")
    assert [message["text"] for message in document.messages or ()] == ["Hi"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"x": 1}', "line 2: it is not a message"),
        (b"[]", "line 2"),
        (b"{", "line 2"),
        (b'{"role": "user", "session": "a", "id": "1", "text": "x", "salience": NaN}', "line 2"),
    ],
)
def test_a_line_that_is_not_a_message_is_named(
    run: Run, tmp_path: Path, line: bytes, said: str
) -> None:
    (tmp_path / "chat.jsonl").write_bytes(lines(CHAT[1]) + line + b"\n")
    result = run("ingest", tmp_path / "chat.jsonl", "--corpus", "chat")
    assert result.exit_code == 4
    assert said in result.output


def test_a_list_with_what_is_not_a_message_is_named_by_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tuning.jsonl").write_bytes(lines({"messages": CHAT}, {"messages": [{"a": 1}]}))
    result = run("ingest", tmp_path / "tuning.jsonl", "--corpus", "chat")
    assert result.exit_code == 4
    assert "line 2: a message has no role" in result.output


def export(*talks: tuple[str, list[str]]) -> str:
    """An export of conversations, each with what is said in turn."""
    return json.dumps(
        [
            {
                "uuid": name,
                "name": f"About {name}",
                "chat_messages": [
                    {"uuid": f"{name}-{n}", "sender": ("human", "assistant")[n % 2], "text": text}
                    for n, text in enumerate(texts)
                ],
            }
            for name, texts in talks
        ]
    )


def report(run: Run, file: Path, exit_code: int = 0) -> Any:
    result = run("ingest", file, "--corpus", "chat", "--json")
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)


def test_an_export_read_again_doubles_nothing_and_grows_by_what_is_new(
    run: Run, clone: str, tmp_path: Path
) -> None:
    file = tmp_path / "conversations.json"
    file.write_text(export(("fuse", ["Which fuse?", "Ten amperes."]), ("tea", ["When is tea?"])))
    assert report(run, file)["written"] == 2
    assert report(run, file)["written"] == 0
    file.write_text(
        export(("tea", ["When is tea?", "At four."]), ("fuse", ["Which fuse?", "Ten amperes."]))
    )
    grown = report(run, file)
    assert (grown["written"], grown["replaced"], grown["unchanged"]) == (1, 1, 1)
    with psycopg.connect(clone) as db:
        assert db.execute(
            "select source, title, chunks from ragdb.list_documents('chat') order by source"
        ).fetchall() == [
            ("conversations.json#fuse", "About fuse", 2),
            ("conversations.json#tea", "About tea", 2),
        ]


def test_a_broken_conversation_of_an_export_fails_and_the_rest_is_stored(
    run: Run, clone: str, tmp_path: Path
) -> None:
    talks = json.loads(export(("fuse", ["Which fuse?"]), ("tea", ["When is tea?"])))
    talks[0]["chat_messages"][0]["sender"] = "nobody"
    talks[1]["chat_messages"].append({"sender": "human", "text": "Soon?", "created_at": "soon"})
    talks += json.loads(export(("key", ["Who has the key?"])))
    (tmp_path / "conversations.json").write_text(json.dumps(talks))
    failed = report(run, tmp_path / "conversations.json", 4)
    assert [(one["uri"], one["reason"].split(":")[-1].strip()) for one in failed["failures"]] == [
        ("conversations.json#fuse", "a message has no sender"),
        ("conversations.json#tea", "created_at is not a time (RG412)"),
    ]
    with psycopg.connect(clone) as db:
        sources = db.execute("select source from ragdb.list_documents('chat')").fetchall()
    assert sources == [("conversations.json#key",)]


def test_more_conversations_than_one_call_takes_are_stored(run: Run, tmp_path: Path) -> None:
    talks = [(f"talk-{n}", [f"Word {n}"]) for n in range(1001)]
    (tmp_path / "conversations.json").write_text(export(*talks))
    stored = report(run, tmp_path / "conversations.json")
    assert (stored["written"], stored["failed"]) == (1001, 0)


def test_a_chat_makes_a_corpus_of_its_language(run: Run, tmp_path: Path) -> None:
    asked = {"user": "U1", "ts": "1735689600.000100", "text": "Wer hat den Schlüssel der Halle?"}
    for day in ("2025-01-01.json", "2025-01-02.json"):
        (tmp_path / day).write_text(json.dumps([asked]))
    # it is put before them
    (tmp_path / "a.md").write_text("This is what the members of the hall have to know.\n")
    assert run("ingest", tmp_path, "--corpus", "kanal").exit_code == 0
    made = json.loads(run("corpus", "show", "kanal", "--json").stdout)
    assert made["text_config"] == "german"


def rotated(*texts: str, minute: int, **more: Any) -> bytes:
    """Lines of a session without ids, one a minute."""
    said = [
        {"session": "desk", "role": ("user", "assistant")[n % 2], "content": text}
        | {"timestamp": f"2026-01-05T08:{minute + n:02d}:00Z"}
        | more
        for n, text in enumerate(texts)
    ]
    return lines(*said)


@pytest.mark.parametrize("is_at_once", [True, False])
def test_a_session_goes_on_in_the_next_file_where_its_times_say_so(
    run: Run, clone: str, tmp_path: Path, is_at_once: bool
) -> None:
    (tmp_path / "log").mkdir()
    files = {
        "desk.2.jsonl": rotated("Which fuse?", "Ten amperes.", minute=30),
        "desk.1.jsonl": rotated("When is tea?", "At four.", "Thanks.", minute=10),
    }
    for name, data in files.items():
        (tmp_path / "log" / name).write_bytes(data)
        if not is_at_once:
            report(run, tmp_path / "log")
    report(run, tmp_path / "log")
    # what is said in both is refused: nobody can say which file has it
    twice = files["desk.1.jsonl"] + rotated("Which fuse?", "Twelve.", minute=30)
    (tmp_path / "log/desk.1.jsonl").write_bytes(twice)
    (failure,) = report(run, tmp_path / "log", 4)["failures"]
    assert failure["reason"] == "another document of the corpus has a message of it (RG409)"
    # these messages have no ids
    assert "without one by when it was said, by whom and what" in failure["hint"]
    with psycopg.connect(clone) as db:
        assert db.execute(
            "select t.session_id, c.text from ragdb.turns t"
            " join ragdb.chunks c using (corpus_id, chunk_no) order by t.created_at"
        ).fetchall() == [
            ("desk", text)
            for text in ("When is tea?", "At four.", "Thanks.", "Which fuse?", "Ten amperes.")
        ]


def test_a_log_that_was_renamed_when_it_was_rotated_is_read_under_its_new_name(
    run: Run, clone: str, tmp_path: Path
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "desk.jsonl").write_bytes(rotated("When is tea?", "At four.", minute=10))
    report(run, folder)
    (folder / "desk.jsonl").rename(folder / "desk.1.jsonl")
    (folder / "desk.jsonl").write_bytes(rotated("Which fuse?", "Ten amperes.", minute=30))
    report(run, folder)
    with psycopg.connect(clone) as db:
        assert db.execute(
            "select d.source, c.text from ragdb.turns t join ragdb.chunks c"
            " using (corpus_id, chunk_no) join ragdb.documents d using (corpus_id, doc_no)"
            " order by t.created_at"
        ).fetchall() == [
            ("log/desk.1.jsonl#desk", "When is tea?"),
            ("log/desk.1.jsonl#desk", "At four."),
            ("log/desk.jsonl#desk", "Which fuse?"),
            ("log/desk.jsonl#desk", "Ten amperes."),
        ]


def test_a_session_goes_on_in_the_next_file_within_the_moment_in_which_the_first_ends(
    run: Run, clone: str, tmp_path: Path
) -> None:
    """Programs say much in a second, and a log is rotated between any two lines."""
    (tmp_path / "log").mkdir()
    first, last = rotated("Which fuse?", minute=30), rotated("Which?", "Ten.", minute=30)
    (tmp_path / "log/desk.1.jsonl").write_bytes(first)
    (tmp_path / "log/desk.jsonl").write_bytes(last)
    report(run, tmp_path / "log")
    with psycopg.connect(clone) as db:
        texts = db.execute("select text from ragdb.chunks order by text").fetchall()
    assert texts == [("Ten.",), ("Which fuse?",), ("Which?",)]


@pytest.mark.parametrize("at_once", [1, 1000])
def test_a_log_is_read_under_its_new_name_also_where_the_files_are_of_two_transactions(
    run: Run, clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    for most in ("FIRST_DOCUMENTS", "BATCH_DOCUMENTS"):
        monkeypatch.setattr(f"ragdb.ingest.ingest.{most}", at_once)
    folder = tmp_path / "log"
    folder.mkdir()
    day = [rotated("When is tea?", *said, minute=10) for said in ([], ["At four."])]
    last = [rotated("Which fuse?", *said, minute=30) for said in ([], ["Ten amperes."])]
    (folder / "desk.1.jsonl").write_bytes(day[0])
    (folder / "desk.jsonl").write_bytes(last[0])
    report(run, folder)
    # it said more before it was rotated
    (folder / "desk.2.jsonl").write_bytes(day[1])
    (folder / "desk.1.jsonl").write_bytes(last[1])
    (folder / "desk.jsonl").write_bytes(rotated("Where is the lamp?", minute=50))
    report(run, folder)
    with psycopg.connect(clone) as db:
        texts = db.execute(
            "select c.text from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)"
            " order by t.created_at"
        ).fetchall()
    assert [text for (text,) in texts] == [
        *("When is tea?", "At four.", "Which fuse?", "Ten amperes.", "Where is the lamp?")
    ]


@pytest.mark.parametrize("time", ["soon", "x" * 600, {"at": 1}])
def test_what_is_no_time_is_told_as_such_where_messages_have_no_ids(
    run: Run, tmp_path: Path, time: Any
) -> None:
    message = {"session": "s", "role": "user", "content": "Which fuse?", "created_at": time}
    (tmp_path / "log.jsonl").write_bytes(lines(message))
    (failure,) = report(run, tmp_path / "log.jsonl", 4)["failures"]
    assert failure["reason"].endswith("created_at is not a time (RG412)")
