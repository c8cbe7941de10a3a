"""Conversations of a file of JSONL or JSON, each a document.

A line of JSONL is a message, a list of them, a tree as OpenAssistant has them, or a conversation as
services export it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from ragdb.client.rows import loads
from ragdb.readers import channel, exports
from ragdb.readers.document import Document, ReadError, one_line
from ragdb.readers.jsonl import lines, malformed
from ragdb.readers.messages import (
    PARENT_KEYS,
    SESSION_KEYS,
    SILENT,
    conversed,
    is_chat,
    is_talk,
    role_in_talk,
)

MEDIA_TYPE = "application/x-conversation+json"
SAYING = SILENT | {"text", "messages", "prompt"}


def starts(stream: BinaryIO, max_line: int) -> bool:
    """Tell whether a JSONL file holds conversations: by its first record, or where that may be one
    of many with a role and a text, by the first that is not of its kind."""
    roles = set()
    try:
        for _, _, record in _records(stream, max_line):
            if is_conversation(record):
                return True
            if not is_chat([record]):
                return False
            roles.add(role_in_talk(record))
            if len(roles) > 1:
                return True
    except ReadError:
        pass
    return False


def is_conversation(record: dict[str, Any]) -> bool:
    """Tell whether a record is a message, a list of messages, or a tree of them.

    >>> is_conversation({"id": "m1", "role": "user", "parent_id": None, "text": "Hi"})
    True
    >>> is_conversation({"messages": [{"role": "user", "content": "Hi"}]})
    True
    >>> is_conversation({"_id": "d1", "title": "A", "text": "B"})
    False
    >>> is_conversation({"role": "user", "text": "an answer of a survey"})
    False
    """
    if isinstance(record.get("prompt"), dict) and "message_tree_id" in record:
        return True
    if exports.has_conversation(record) or is_talk([record]):
        return True
    return (
        isinstance(record.get("role"), str)
        and "text" in record
        and any(key in record for key in (*PARENT_KEYS, *SESSION_KEYS))
    )


def read(stream: BinaryIO, max_line: int) -> list[Document]:
    """The conversations of a JSONL file, one a session, in the order of their first messages.

    That of messages that name no session is the file's. Its bytes are the session's lines joined by
    newlines, so that its identity changes when any of its messages does. Raises ReadError
    `malformed`, naming the line.
    """
    # by its place and its session: its lines, the title of the first, and what is said
    found: dict[tuple[str | None, str | None], tuple[list[bytes], Any, list[dict[str, Any]]]] = {}
    for number, line, given in _records(stream, max_line):
        try:
            record = exports.plain(given)
        except ReadError as error:
            malformed(number, error.reason, error.hint)
        if not SAYING & record.keys():
            malformed(number, "it is not a message", 'write {"role": "user", "content": …}')
        is_list = "messages" in record
        session = exports.session_of(record)
        place = f"line-{number}" if is_list and session is None else session
        own, _, said = found.setdefault((place, session), ([], record.get("title"), []))
        own.append(line)
        said.extend(record["messages"] if is_list else [record])
    return [
        _document(
            b"\n".join(own),
            fragment=place,
            session=session,
            title=title if isinstance(title, str) else None,
            messages=conversed(said, session),
        )
        for (place, session), (own, title, said) in found.items()
    ]


def of_json(
    found: tuple[Mapping[str, Any], ...], data: bytes, name: str, names: channel.Names
) -> list[Document]:
    """The conversations that a file of JSON has, as `exports.found` tells them."""
    return [
        _of_channel(one["channel"], data, name, names)
        if "channel" in one
        else _document(
            data if one.get("own") is None else one["own"].encode(),
            fragment=one["name"],
            session=one.get("session"),
            title=one.get("title"),
            messages=one.get("messages", ()),
            fault=ReadError("malformed", one["reason"], one["hint"]) if "reason" in one else None,
        )
        for one in found
    ]


def _of_channel(said: Any, data: bytes, name: str, names: channel.Names) -> Document:
    return _document(
        data,
        title=None,
        messages=conversed(list(channel.messages(said, names))),
        session=channel.session_of(name),
        joins=tuple(channel.joins(said)),
    )


def _document(data: bytes, *, title: str | None, messages: Any, **about: Any) -> Document:
    return Document(
        text="",
        title=one_line(title),
        messages=tuple(messages),
        data=data,
        media_type=MEDIA_TYPE,
        **about,
    )


def _records(stream: BinaryIO, max_line: int) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    for number, line in lines(stream, max_line):
        if not line.strip():
            continue
        try:
            record = loads(line.decode())
        except ValueError as error:
            malformed(number, f"it is not JSON ({str(error)[:80]})", "correct or remove the line")
        if not isinstance(record, dict):
            malformed(number, "it is not an object", "write one message, or one tree, on a line")
        yield number, line, record
