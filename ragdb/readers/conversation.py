"""Conversations: messages, lists of them as chats are exported, trees as OpenAssistant has them.

JSONL has any of these, one on a line. A JSON file is one list of messages, or an object with one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, BinaryIO

from ragdb.client.rows import loads
from ragdb.readers import encoding, formats, gz
from ragdb.readers.document import ReadError, clean, one_line, storable
from ragdb.readers.jsonl import lines, malformed

MEDIA_TYPE = "application/x-conversation+json"
SESSION_KEYS = ("session", "session_id", "conversation_id", "message_tree_id", "tree")
PARENT_KEYS = ("parent_id", "parents")
KEPT = ("phase", "salience", "feedback", "created_at", "parents")
SILENT = {"content", "tool_calls", "function_call"}  # a message with one of these needs no text
SAYING = SILENT | {"text", "messages", "prompt"}
# as chats are exported, and as the database knows them
ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def in_file(data: bytes, uri: str, max_bytes: int) -> list[dict[str, Any]]:
    """The conversations of a file, as ``ragdb.put_conversations`` takes them; none of another.

    Raises ReadError `malformed`, naming the line, and `blank` where nothing is said in any.
    """
    kind = formats.BY_ENDING.get(formats.ending(uri))
    if kind == "jsonl" and starts(io.BytesIO(data), max_bytes):
        found = read(io.BytesIO(data), uri, max_bytes)
    else:
        found = _read_json(data, uri, max_bytes) if kind == "json" else []
    said = [one for one in found if one["messages"]]
    if found and not said:
        raise ReadError("blank", "no message has a text", "remove it, or write something into it")
    return said


def starts(stream: BinaryIO, max_line: int) -> bool:
    """Tell by its first record whether a JSONL file holds conversations."""
    try:
        _, _, first = next(_records(stream, max_line), (0, b"", {}))
    except ReadError:
        return False
    return is_conversation(first)


def is_conversation(record: dict[str, Any]) -> bool:
    """Tell whether a record is a message, a list of messages, or a tree of them.

    >>> is_conversation({"id": "m1", "role": "user", "parent_id": None, "text": "Hi"})
    True
    >>> is_conversation({"messages": [{"role": "user", "content": "Hi"}]})
    True
    >>> is_conversation({"_id": "d1", "title": "A", "text": "B"})
    False
    """
    if isinstance(record.get("prompt"), dict) and "message_tree_id" in record:
        return True
    if _is_chat(record.get("messages")) or _is_chat([record]):
        return True
    return (
        isinstance(record.get("role"), str)
        and "text" in record
        and any(key in record for key in (*PARENT_KEYS, *SESSION_KEYS))
    )


def read(stream: BinaryIO, uri: str, max_line: int) -> list[dict[str, Any]]:
    """The conversations of a JSONL file, one dict a session, in the order of their first messages.

    Its uri is ``uri#session``; that of messages that name no session is the file's. ``doc_cid`` is
    the sha256 of the session's lines joined by newlines, so that it changes when any of its
    messages does. Raises ReadError `malformed`, naming the line.
    """
    own: dict[str, list[bytes]] = {}
    records: dict[str, list[dict[str, Any]]] = {}
    for number, line, record in _records(stream, max_line):
        is_list = isinstance(record.get("messages"), list)
        if is_list and not _is_chat(record["messages"]):
            malformed(number, "a message has no role", 'write {"role": "user", "content": …}')
        if not SAYING & record.keys():
            malformed(number, "it is not a message", 'write {"role": "user", "content": …}')
        session = _session(record, f"{uri}#line-{number}" if is_list else uri)
        own.setdefault(session, []).append(line)
        records.setdefault(session, []).append(record)
    return [
        _conversation(uri, session, b"\n".join(own[session]), found)
        for session, found in records.items()
    ]


def _read_json(data: bytes, uri: str, max_bytes: int) -> list[dict[str, Any]]:
    """The conversation of a JSON file; the uri is the file's. None in a file of something else."""
    text = gz.unpack(data, max_bytes) if data.startswith(gz.MAGIC) else data
    if b'"role"' not in text:  # far quicker than to read it twice
        return []
    try:
        value = loads(encoding.decode(text)[0])
    except (ValueError, RecursionError, ReadError):
        return []
    record = {"messages": value} if isinstance(value, list) else value
    if not isinstance(record, dict) or not _is_chat(record.get("messages")):
        return []
    return [_conversation(uri, _session(record, uri), data, [record]) | {"uri": uri}]


def _is_chat(messages: Any) -> bool:
    """Tell whether these are messages as chats are exported: a role and what was said."""
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(m, dict) and str(m.get("role")).lower() in ROLES for m in messages)
        and any("content" in m or "text" in m for m in messages)
    )


def _session(record: dict[str, Any], otherwise: str) -> str:
    """The name of the session of a record; a list of messages may be named by its id."""
    keys = SESSION_KEYS if "messages" not in record else (*SESSION_KEYS, "id", "_id")
    named = next((record[key] for key in keys if record.get(key) is not None), otherwise)
    return clean(str(named))[0]


def _conversation(
    uri: str, session: str, data: bytes, records: list[dict[str, Any]]
) -> dict[str, Any]:
    """A conversation of its records; where no message has a parent, each follows the one before."""
    said = [
        one
        for record in records
        for one in (record["messages"] if isinstance(record.get("messages"), list) else [record])
    ]
    messages = [found for one in said for found in _messages(one)]
    for number, message in enumerate(messages, 1):
        message["id"] = message["id"] or str(number)
    if not any(key in one for one in said for key in (*PARENT_KEYS, "prompt")):
        for before, message in pairwise(messages):
            message["parent_id"] = before["id"]
    conversation = {
        "doc_cid": "sha256:" + hashlib.sha256(data).hexdigest(),
        "uri": session if session.split("#line-")[0] == uri else f"{uri}#{session}",
        "session": session,
        "media_type": MEDIA_TYPE,
        "size_bytes": len(data),
        "messages": messages,
    }
    title = records[0].get("title")
    return conversation | ({"title": one_line(title)} if isinstance(title, str) else {})


def _messages(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a record: a tree has many, and one that says nothing, as a call, has none."""
    if isinstance(record.get("prompt"), dict):
        yield from _walk(record["prompt"], None)
    elif "text" in record or not SILENT & record.keys() or _said(record.get("content")).strip():
        yield _message(record, record.get("parent_id"))


def _records(stream: BinaryIO, max_line: int) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    for number, line in lines(stream, max_line):
        if not line.strip():
            continue
        try:
            record = loads(line.decode())
        except (ValueError, RecursionError) as error:
            malformed(number, f"it is not JSON ({str(error)[:80]})", "correct or remove the line")
        if not isinstance(record, dict):
            malformed(number, "it is not an object", "write one message, or one tree, on a line")
        yield number, line, record


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
    if isinstance(message.get("created_at"), int | float):
        # seconds since 1970; what cannot be one is left for the database to refuse
        with contextlib.suppress(ValueError, OverflowError, OSError):
            message["created_at"] = datetime.fromtimestamp(message["created_at"], UTC).isoformat()
    role = record.get("role")
    message |= {
        "id": None if identity is None else str(identity),
        "parent_id": None if parent is None else str(parent),
        "role": ROLES.get(role.lower(), role) if isinstance(role, str) else role,
        "text": record["text"] if "text" in record else _said(record.get("content")),
    }
    return {key: storable(value) for key, value in message.items()}


def _said(content: Any) -> str:
    """The text of a content: a text, or a list of parts, of which pictures and calls have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [one if isinstance(one, str) else one.get("text") for one in parts if one]
    return "\n\n".join(one for one in texts if isinstance(one, str))
