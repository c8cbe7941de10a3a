"""Messages of conversations, as `ragdb.put_conversations` takes them, from how chats write them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from ragdb.readers.document import one_line, storable

PARENT_KEYS = ("parent_id", "parents")
SESSION_KEYS = ("session", "session_id", "conversation_id", "message_tree_id", "tree")
KEPT = ("phase", "salience", "feedback", "created_at", "parents")
SILENT = {"content", "tool_calls", "function_call"}  # a message with one of these needs no text
# as chats are exported, and as the database knows them (ragdb_internal.turn_role)
ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
}
_LONGEST = 200  # characters of the name of who speaks


def is_role(given: Any) -> bool:
    """Tell whether a role is one that chats have."""
    return isinstance(given, str) and given.lower() in ROLES


def is_chat(messages: Any) -> bool:
    """Tell whether these are messages as chats are exported: a role, what was said, no title.

    >>> is_chat([{"role": "user", "content": "Hi"}])
    True
    >>> is_chat([{"role": "user", "name": "Ada"}, {"role": "user", "name": "Bo"}])
    False
    """
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(
            isinstance(m, dict)
            and is_role(m.get("role"))
            and bool((SILENT | {"text"}) & m.keys())
            and "title" not in m
            for m in messages
        )
    )


def role_in_talk(message: dict[str, Any]) -> str | None:
    """The role of a message as the database knows it; null where it alone shows that it is of a
    talk: how chats write what is said, who speaks, what is answered, in which session."""
    keys = {*SILENT, "speaker", *PARENT_KEYS, *SESSION_KEYS}
    return None if keys & message.keys() else ROLES[message["role"].lower()]


def is_talk(messages: Any) -> bool:
    """Tell whether these are messages that belong together, and not records that have a role.

    Prompts, answers of a survey and rows about people may have one, and a text. So there are two
    roles, or a message shows it.

    >>> is_talk([{"role": "user", "text": "Fine."}, {"role": "user", "text": "Too dear."}])
    False
    >>> is_talk([{"role": "user", "text": "Hi"}, {"role": "assistant", "text": "Ho"}])
    True
    >>> is_talk([{"role": "user", "content": "Hi"}])
    True
    """
    if not is_chat(messages):
        return False
    roles = {role_in_talk(message) for message in messages}
    return None in roles or len(roles) > 1


def conversed(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of a conversation; where none has a parent, each follows the one before.

    One without a time has that of the one before where others have times: they are an order.
    """
    messages = [found for one in said for found in _messages(one)]
    for number, message in enumerate(messages, 1):
        message["id"] = message["id"] or str(number)
    if not any(key in one for one in said for key in (*PARENT_KEYS, "prompt")):
        for before, message in pairwise(messages):
            message["parent_id"] = before["id"]
    last = next((one["created_at"] for one in messages if "created_at" in one), None)
    for message in messages if last is not None else ():
        last = message.setdefault("created_at", last)
    return messages


def said_in(content: Any) -> str:
    """The text of a content: a text, or a list of parts, of which pictures and calls have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [one.get("text") if isinstance(one, dict) else one for one in parts]
    return "\n\n".join(one for one in texts if isinstance(one, str))


def _messages(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a record: a tree has many, and one that says nothing, as a call, has none."""
    if isinstance(record.get("prompt"), dict):
        yield from _walk(record["prompt"], None)
    elif "text" in record or not SILENT & record.keys() or said_in(record.get("content")).strip():
        yield _message(record, record.get("parent_id"))


def _walk(node: dict[str, Any], parent: str | None) -> Iterator[dict[str, Any]]:
    """The messages of a tree, parents first, siblings by rank where the tree has ranks.

    Iterative, because a hostile tree may be deeper than the stack.
    """
    waiting = [(node, parent)]
    while waiting:
        node, parent = waiting.pop()
        message = _message(node, parent)
        yield message
        given = node.get("replies")
        listed = given if isinstance(given, list) else []
        replies = [reply for reply in listed if isinstance(reply, dict)]
        # the last in comes out first; sorting keeps the file's order within a rank
        replies.sort(key=lambda r: r["rank"] if isinstance(r.get("rank"), int) else 1 << 30)
        waiting.extend((reply, message["id"]) for reply in reversed(replies))


def _message(record: dict[str, Any], parent: Any) -> dict[str, Any]:
    identity = next((record[k] for k in ("id", "_id", "message_id") if record.get(k)), None)
    message = {key: record[key] for key in KEPT if record.get(key) is not None}
    if "created_at" not in message and record.get("created_date") is not None:
        message["created_at"] = record["created_date"]
    if isinstance(message.get("created_at"), int | float):
        # seconds since 1970; what cannot be one is left for the database to refuse
        with contextlib.suppress(ValueError, OverflowError, OSError):
            message["created_at"] = datetime.fromtimestamp(message["created_at"], UTC).isoformat()
    speaker = next((record[k] for k in ("speaker", "name") if record.get(k)), None)
    if isinstance(speaker, str) and (named := one_line(speaker)):
        message["speaker"] = named[:_LONGEST]
    message |= {
        "id": None if identity is None else str(identity),
        "parent_id": None if parent is None else str(parent),
        "role": record.get("role"),
        "text": record["text"] if "text" in record else said_in(record.get("content")),
    }
    return {key: storable(value) for key, value in message.items()}
