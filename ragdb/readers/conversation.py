"""Conversations: JSONL of messages, or of trees of messages as OpenAssistant publishes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

MEDIA_TYPE = "application/x-conversation+json"
SESSION_KEYS = ("session", "session_id", "conversation_id", "message_tree_id", "tree")
KEPT = ("phase", "salience", "feedback", "created_at", "parents")


def is_conversation(record: Any) -> bool:
    """Tell by its first record whether a JSONL file holds messages or trees of messages.

    >>> is_conversation({"id": "m1", "role": "user", "parent_id": None, "text": "Hi"})
    True
    >>> is_conversation({"_id": "d1", "title": "A", "text": "B"})
    False
    """
    if not isinstance(record, dict):
        return False
    if isinstance(record.get("prompt"), dict) and "message_tree_id" in record:
        return True
    return (
        isinstance(record.get("role"), str)
        and "text" in record
        and any(key in record for key in ("parent_id", "parents", *SESSION_KEYS))
    )


def conversations(
    records: Iterator[tuple[bytes, dict[str, Any]]], uri: str
) -> list[dict[str, Any]]:
    """Group the records of a file into the conversations that ``ragdb.put_conversations`` takes.

    Args:
        records: The lines of the file with what each parses to, in the file's order.
        uri: Source of the file; a conversation is ``uri#session``.

    Returns:
        One dict a session, in the order of their first messages. ``doc_cid`` is the sha256 of the
        session's lines joined by newlines, so that it changes when any of its messages does.
    """
    lines: dict[str, list[bytes]] = {}
    messages: dict[str, list[dict[str, Any]]] = {}
    for line, record in records:
        if isinstance(record.get("prompt"), dict):
            session = str(record["message_tree_id"])
            found = list(_walk(record["prompt"], None))
        else:
            session = str(next((record[k] for k in SESSION_KEYS if record.get(k) is not None), uri))
            found = [_message(record, record.get("parent_id"))]
        lines.setdefault(session, []).append(line)
        messages.setdefault(session, []).extend(found)
    return [
        {
            "doc_cid": "sha256:" + hashlib.sha256(b"\n".join(lines[session])).hexdigest(),
            "uri": f"{uri}#{session}",
            "session": session,
            "media_type": MEDIA_TYPE,
            "size_bytes": sum(map(len, lines[session])),
            "messages": found,
        }
        for session, found in messages.items()
    ]


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
        # the last in goes out first; Python's sort keeps the file's order within a rank
        replies.sort(
            key=lambda reply: reply["rank"] if isinstance(reply.get("rank"), int) else 1 << 30
        )
        waiting.extend((reply, message["id"]) for reply in reversed(replies))


def _message(record: dict[str, Any], parent: Any) -> dict[str, Any]:
    identity = next(
        (record[k] for k in ("id", "_id", "message_id") if record.get(k) is not None), None
    )
    message = {key: record[key] for key in KEPT if record.get(key) is not None}
    if "created_at" not in message and record.get("created_date") is not None:
        message["created_at"] = record["created_date"]
    return message | {
        "id": None if identity is None else str(identity),
        "parent_id": None if parent is None else str(parent),
        "role": record.get("role"),
        "text": record.get("text"),
    }


def parse(data: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The records of a JSONL file with their lines; blank lines are skipped.

    Raises:
        ValueError: A line is not a JSON object; the message names the line.
    """
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise ValueError(f"line {number} is not a JSON object")
        yield line, record
