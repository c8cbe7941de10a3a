"""Conversations: JSONL of messages, or of trees of messages as OpenAssistant publishes them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from ragdb.client.rows import loads
from ragdb.readers.document import ReadError, clean, storable
from ragdb.readers.jsonl import lines, malformed

MEDIA_TYPE = "application/x-conversation+json"
SESSION_KEYS = ("session", "session_id", "conversation_id", "message_tree_id", "tree")
KEPT = ("phase", "salience", "feedback", "created_at", "parents")


def starts(stream: BinaryIO, max_line: int) -> bool:
    """Tell by its first record whether a JSONL file holds conversations."""
    try:
        _, first = next(_records(stream, max_line), (b"", {}))
    except ReadError:
        return False
    return is_conversation(first)


def is_conversation(record: dict[str, Any]) -> bool:
    """Tell whether a record is a message, or a tree of messages.

    >>> is_conversation({"id": "m1", "role": "user", "parent_id": None, "text": "Hi"})
    True
    >>> is_conversation({"_id": "d1", "title": "A", "text": "B"})
    False
    """
    if isinstance(record.get("prompt"), dict) and "message_tree_id" in record:
        return True
    return (
        isinstance(record.get("role"), str)
        and "text" in record
        and any(key in record for key in ("parent_id", "parents", *SESSION_KEYS))
    )


def read(stream: BinaryIO, uri: str, max_line: int) -> list[dict[str, Any]]:
    """The conversations of a JSONL file, as ``ragdb.put_conversations`` takes them.

    One dict a session, in the order of their first messages; its uri is ``uri#session``.
    ``doc_cid`` is the sha256 of the session's lines joined by newlines, so that it changes when
    any of its messages does. Raises ReadError `malformed`, naming the line.
    """
    own: dict[str, list[bytes]] = {}
    messages: dict[str, list[dict[str, Any]]] = {}
    for line, record in _records(stream, max_line):
        if isinstance(record.get("prompt"), dict):
            session = str(record.get("message_tree_id"))
            found = list(_walk(record["prompt"], None))
        else:
            session = str(next((record[k] for k in SESSION_KEYS if record.get(k) is not None), uri))
            found = [_message(record, record.get("parent_id"))]
        session = clean(session)[0]
        own.setdefault(session, []).append(line)
        messages.setdefault(session, []).extend(found)
    return [
        {
            "doc_cid": "sha256:" + hashlib.sha256(b"\n".join(own[session])).hexdigest(),
            "uri": f"{uri}#{session}",
            "session": session,
            "media_type": MEDIA_TYPE,
            "size_bytes": sum(map(len, own[session])),
            "messages": found,
        }
        for session, found in messages.items()
    ]


def _records(stream: BinaryIO, max_line: int) -> Iterator[tuple[bytes, dict[str, Any]]]:
    for number, line in lines(stream, max_line):
        if not line.strip():
            continue
        try:
            record = loads(line.decode())
        except (ValueError, RecursionError) as error:
            malformed(number, f"it is not JSON ({str(error)[:80]})", "correct or remove the line")
        if not isinstance(record, dict):
            malformed(number, "it is not an object", "write one message, or one tree, on a line")
        yield line, record


def _walk(node: dict[str, Any], parent: str | None) -> Iterator[dict[str, Any]]:
    """The messages of a tree, parents first, siblings by rank where the tree has ranks.

    Iterative, because a hostile tree may be deeper than the stack.
    """
    waiting = [(node, parent)]
    while waiting:
        node, parent = waiting.pop()
        message = _message(node, parent)
        yield message
        replies = [reply for reply in node.get("replies") or [] if isinstance(reply, dict)]
        # the last in comes out first; sorting keeps the file's order within a rank
        replies.sort(key=lambda r: r["rank"] if isinstance(r.get("rank"), int) else 1 << 30)
        waiting.extend((reply, message["id"]) for reply in reversed(replies))


def _message(record: dict[str, Any], parent: Any) -> dict[str, Any]:
    identity = next((record[k] for k in ("id", "_id", "message_id") if record.get(k)), None)
    message = {key: record[key] for key in KEPT if record.get(key) is not None}
    if "created_at" not in message and record.get("created_date") is not None:
        message["created_at"] = record["created_date"]
    message |= {
        "id": None if identity is None else str(identity),
        "parent_id": None if parent is None else str(parent),
        "role": record.get("role"),
        "text": record.get("text"),
    }
    return {key: storable(value) for key, value in message.items()}
