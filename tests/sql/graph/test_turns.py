"""Who said a turn, and when, is read back as the conversation says it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from ragdb import errors
from tests.conftest import Connection
from tests.sql.conversations import chat, conversation, message, put, uuid

TALK = [
    message(1, speaker="Ada", created_at="2026-01-05T08:00:00Z"),
    message(2, [1], created_at="2026-01-05T08:01:00Z"),
    message(3, [2], speaker="Ada", created_at="2026-01-05T08:02:00Z"),
]
ADA = "Ada"


def turns(db: Connection, *ids: int) -> list[Any]:
    return db.execute(
        "select chunk_id, role, speaker, said_at from ragdb.list_turns('chat', %s)",
        ([uuid(n) for n in ids],),
    ).fetchall()


def test_turns_are_listed_with_role_speaker_and_time_in_the_order_given(db: Connection) -> None:
    chat(db, TALK)
    assert turns(db, 3, 2, 9) == [
        (uuid(3), "user", ADA, datetime(2026, 1, 5, 8, 2, tzinfo=UTC)),
        (uuid(2), "assistant", None, datetime(2026, 1, 5, 8, 1, tzinfo=UTC)),
    ]


def test_a_turn_without_a_time_has_none(db: Connection) -> None:
    chat(db, [message(1), message(2, [1])])
    assert [row[3] for row in turns(db, 1, 2)] == [None, None]


def test_a_turn_is_found_by_the_name_of_its_speaker_and_shows_it(db: Connection) -> None:
    chat(db, TALK)
    found = db.execute("select chunk_id, heading from ragdb.search('chat', 'Ada')").fetchall()
    assert sorted(found) == [(uuid(1), [ADA]), (uuid(3), [ADA])]


def test_an_appended_turn_keeps_its_speaker(db: Connection) -> None:
    chat(db, TALK)
    more = '[{"id": "4", "role": "user", "speaker": "Bo", "text": "a word more"}]'
    db.execute("select ragdb.append_turns('chat', 's1', %s)", (more,))
    rows = db.execute(
        "select l.speaker, c.heading from ragdb.search('chat', 'word') c,"
        " ragdb.list_turns('chat', array[c.chunk_id]) l"
    ).fetchall()
    assert rows == [("Bo", ["Bo"])]
    assert db.execute("select * from ragdb.check_corpus('chat')").fetchall() == []


@pytest.mark.parametrize("speaker", ["", " ", 3, "x" * 201])
def test_a_speaker_that_is_not_a_name_is_refused(db: Connection, speaker: Any) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    with pytest.raises(errors.InvalidDocument, match="speaker is not a name"):
        put(db, "chat", conversation([message(1, speaker=speaker)]))


@pytest.mark.parametrize("ids", ["null", "array[null]", "array[array['a']]"])
def test_what_is_not_a_list_of_ids_is_refused(db: Connection, ids: str) -> None:
    chat(db, TALK)
    with pytest.raises(errors.InvalidArgument, match="chunk_ids is not a list of ids"):
        db.execute(f"select ragdb.list_turns('chat', {ids}::text[])")


@pytest.mark.parametrize("field", ["said_at", "metadata"])
def test_a_turn_is_appended_with_no_field_that_nothing_reads(db: Connection, field: str) -> None:
    chat(db, TALK)
    turn = {"id": "1", "role": "user", "text": "What of the time?", field: "2026-01-05T08:00:00Z"}
    wrong = f'turn 2: "{field}" is not a field of a turn'
    with pytest.raises(errors.InvalidDocument, match=wrong), db.transaction():
        db.execute("select ragdb.append_turns('chat', 's', %s)", (Jsonb([message(9), turn]),))
    del turn[field]
    whole: dict[str, Any] = {
        "parents": [],
        "created_at": None,
        "phase": None,
        "salience": 0.5,
        "speaker": "Ada",
    }
    db.execute(
        "select ragdb.append_turns('chat', 's', %s)",
        (Jsonb([turn | whole, message(8) | {"parent_id": "1", "feedback": 1}]),),
    )
