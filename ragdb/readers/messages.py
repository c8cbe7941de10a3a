"""Messages of conversations, as `ragdb.put_conversations` takes them, from how chats write them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, pairwise
from typing import Any

from ragdb.readers.document import one_line, storable

PARENT_KEYS = ("parent_id", "parents")
SESSION_KEYS = ("session", "session_id", "conversation_id", "message_tree_id", "tree")
KEPT = ("phase", "salience", "feedback", "parents")
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
_IDS = ("id", "_id", "message_id")
_SAID_AT = ("created_at", "created_date")
# of one that is something else nothing is kept
_MAYBE_SAID_AT = ("create_time", "createdAt", "timestamp")
_COUNT = re.compile(r"\d{9,19}(\.\d+)?")
_SOONEST = 1e11  # a greater count is not of seconds: that of seconds would be the year 5138
_LATER = 1e8  # a smaller count may be of the seconds of a recording: it would be of 1973 or before
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d?:\d\d(:\d\d(\.\d{1,9})?)?( ?[AP]M)?( ?(Z|UTC|[+-]\d\d(:?\d\d)?))?)?",
    re.IGNORECASE,
)


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


def conversed(said: list[dict[str, Any]], session: str | None = None) -> list[dict[str, Any]]:
    """The messages of a conversation; where none has a parent, each follows the one before.

    One without a time has that of the one before where others have times: they are an order.
    """
    messages = _spoken(list(_once([found for one in said for found in _messages(one)])))
    last = next((one["created_at"] for one in messages if "created_at" in one), None)
    for message in messages if last is not None else ():
        last = message.setdefault("created_at", last)
    taken = {message["id"] for message in messages}
    free: dict[str, Iterator[str]] = {}
    for message in messages:
        if message["id"] is None:
            # another file may go on with a session that has a name, and would count from 1 again
            name = "" if session is None else _name(message)
            names = free.setdefault(name, _names(name))
            message["id"] = next(id for id in names if id not in taken)
    if not any(key in one for one in said for key in (*PARENT_KEYS, "prompt")):
        for before, message in pairwise(messages):
            message["parent_id"] = before["id"]
    return messages


def _name(message: dict[str, Any]) -> str:
    """What a message without an id is called by: when it was said, by whom and what.

    Its time alone is that of others where much is said in a second. Empty where it has none.
    """
    if "created_at" not in message:
        return ""
    said = json.dumps([message.get(key) for key in ("created_at", "role", "speaker", "text")])
    return hashlib.sha256(said.encode()).hexdigest()


def _names(name: str) -> Iterator[str]:
    """What messages of one name are called; those of none by their number."""
    if name:
        yield name
    yield from (f"{name}-{number}" if name else str(number) for number in count(2 if name else 1))


def said_in(content: Any) -> str:
    """The text of a content: a text, or a list of parts, of which pictures and calls have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = content.get("parts", [content])
    texts = [one.get("text") if isinstance(one, dict) else one for one in _listed(content)]
    texts = [one.get("value") if isinstance(one, dict) else one for one in texts]
    return "\n\n".join(one for one in texts if isinstance(one, str))


def _once(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Messages, each once that was written several times under its id."""
    known: dict[str, dict[str, Any]] = {}
    for message in messages:
        first = known.setdefault(message["id"], message) if message["id"] else message
        if first is message or first != message:
            yield message


def _spoken(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages that say something, as a call of a tool does not.

    Who answers one that says nothing answers what that one answered.
    """
    spoken = [message for message in messages if not _is_silent(message)]
    silent: dict[str | None, str | None] = {
        message["id"]: next(filter(None, _answers(message)), None)
        for message in messages
        if message["id"] is not None and _is_silent(message)
    }

    def answered(id: str | None) -> str | None:
        met: set[str | None] = set()
        while id in silent and id not in met:
            met.add(id)
            id = silent[id]
        found = None if id in silent else id
        silent.update(dict.fromkeys(met, found))  # none is passed twice, however many answer it
        return found

    for message in spoken if silent else ():
        message["parent_id"] = answered(message["parent_id"])
        if isinstance(message.get("parents"), list):
            message["parents"] = [
                {**one, "id": id} if isinstance(one, dict) else id
                for one in message["parents"]
                if (id := answered(_id_in(one))) is not None
            ]
    return spoken


def _is_silent(message: dict[str, Any]) -> bool:
    text = message["text"]
    return text is None or (isinstance(text, str) and not text.strip())


def _answers(message: dict[str, Any]) -> Iterator[str | None]:
    """The ids of what a message answers."""
    yield message["parent_id"]
    yield from map(_id_in, _listed(message.get("parents")))


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


def _id_in(given: Any) -> str | None:
    """The id that a message gives, or that an object with one has, as a text; null for none."""
    if isinstance(given, dict):
        given = given.get("id")
    return None if given is None or given == "" else str(given)


def _messages(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a record: a tree has many."""
    if isinstance(record.get("prompt"), dict):
        yield from _walk(record["prompt"], None)
    else:
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
        replies = [reply for reply in _listed(node.get("replies")) if isinstance(reply, dict)]
        # the last in comes out first; sorting keeps the file's order within a rank
        replies.sort(key=lambda r: r["rank"] if isinstance(r.get("rank"), int) else 1 << 30)
        waiting.extend((reply, message["id"]) for reply in reversed(replies))


def _message(record: dict[str, Any], parent: Any) -> dict[str, Any]:
    message = {key: record[key] for key in KEPT if record.get(key) is not None}
    if (said_at := _said_at(record)) is not None:
        message["created_at"] = said_at
    speaker = next((record[k] for k in ("speaker", "name") if record.get(k)), None)
    if isinstance(speaker, str) and (named := one_line(speaker)):
        message["speaker"] = named[:_LONGEST]
    text = record.get("text")
    message |= {
        "id": next((id for key in _IDS if (id := _id_in(record.get(key))) is not None), None),
        "parent_id": _id_in(parent),
        "role": record.get("role"),
        "text": said_in(record.get("content")) if text is None else text,
    }
    return {key: storable(value) for key, value in message.items()}


def _said_at(record: dict[str, Any]) -> Any:
    """When a message was said, null where it does not tell.

    What is called its time and cannot be one is left for the database to refuse.
    """
    given = next((record[k] for k in _SAID_AT if record.get(k) not in (None, "")), None)
    if given is not None:
        return _time(given)
    for key in _MAYBE_SAID_AT:
        given = record.get(key)
        made = _time(given)
        is_small = isinstance(given, int | float) and abs(given) < _LATER
        if not is_small and isinstance(made, str) and _TIME.fullmatch(made):
            return made
    return None


def _time(given: Any) -> Any:
    """A time from a count since 1970, of seconds or of thousandths of these; else what is given."""
    since = float(given) if isinstance(given, str) and _COUNT.fullmatch(given) else given
    if not isinstance(since, int | float) or isinstance(since, bool):
        return given
    while _SOONEST <= abs(since) < _SOONEST**2:
        since /= 1000
    with contextlib.suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(since, UTC).isoformat()
    return given
