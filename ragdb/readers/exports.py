"""Conversations in a value of JSON: one list of messages, and what chat services export.

ChatGPT exports a list of conversations whose `mapping` is a tree of nodes: what is read is the
branch of its `current_node`, as its pages show it. Claude's have `chat_messages`, those of ShareGPT
`conversations`, others `messages`; Slack exports a list of messages a channel and day. All are told
by their shape alone, and every entry of a list must have it: other records stay records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ragdb.readers import channel
from ragdb.readers.document import ReadError, clean, one_line
from ragdb.readers.messages import (
    SESSION_KEYS,
    conversed,
    is_chat,
    is_role,
    is_talk,
    said_in,
)

# of a source in an answer of ChatGPT, as it is written now and was before
_CITATION = re.compile(
    "(?P<space> ?)(?P<mark>\ue200[^\ue200\ue201]*\ue201"
    "|\u3010[^\u3010\u3011\u2020]*\u2020[^\u3010\u3011]*\u3011)"
)
_MARKS = re.compile("[\ue200-\ue206]")  # around what is cited
IDS = (*SESSION_KEYS, "id", "_id", "uuid")


def found(value: Any) -> list[dict[str, Any]]:
    """The conversations of a file of JSON; none where it is something else.

    Each has `name` (what follows # in its uri, null for the file's own), `session`, `title`,
    `messages` and `own`, the text that its identity is the hash of, null for the file's; one that
    is broken has `reason` and `hint` instead, and a day of a channel `channel`, because its file
    alone does not say what people are called.
    """
    if isinstance(value, list):
        if is_talk(value):
            return [_entry({"messages": value})]
        if value and all(channel.is_message(one) for one in value):
            return [{"name": None, "channel": [channel.kept(one) for one in value]}]
        key = next((key for key in SHAPES if all(_has(one, key) for one in value)), None)
        return _listed(value, key) if value and key else []
    key = next((key for key in SHAPES if _has(value, key)), None)
    try:
        record = plain(value) if key else {}
    except ReadError:
        return []
    return [_entry(record)] if record.get("messages") else []


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record with its messages under `messages`, as a conversation of any shape is written.

    A record of no such shape stays as it is. Raises ReadError `malformed` for a broken one.
    """
    key = next((key for key in SHAPES if key in record), None)
    if key is None:
        return record
    about = {name: record[name] for name in (*IDS, "title") if record.get(name) is not None}
    if isinstance(record.get("name"), str):
        about.setdefault("title", record["name"])
    if key == "conversations" and "id" in about:
        # it numbers the records of a file, and another file has the same numbers
        about["number"] = about.pop("id")
    return about | {"messages": list(SHAPES[key](record[key], record))}


def has_conversation(record: dict[str, Any]) -> bool:
    """Tell whether a record is a conversation of one of the shapes, with a message."""
    try:
        return any(key in record for key in SHAPES) and bool(plain(record)["messages"])
    except ReadError:
        return False


def session_of(record: dict[str, Any]) -> str | None:
    """The name of the session that a record says; a list of messages may be named by its id."""
    keys = IDS if "messages" in record else SESSION_KEYS
    named = next((record[key] for key in keys if record.get(key) is not None), None)
    return None if named is None else clean(str(named))[0]


def _has(one: Any, key: str) -> bool:
    return isinstance(one, dict) and key in one


def _listed(records: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """The conversations of a list; none where not one of them is whole."""
    entries: list[dict[str, Any]] = []
    known: dict[str, str] = {}
    is_export = False
    for number, record in enumerate(records, 1):
        name = f"conversation-{number}"
        try:
            read = plain(record)
            is_export |= bool(read["messages"])
            session = session_of(read)
            name = session or str(read.get("number") or name)
            entry = _entry(read, name)
        except ReadError as error:
            named = session_of({**record, "messages": None})
            entries.append({"name": named or name, "reason": error.reason, "hint": error.hint})
            continue
        if known.setdefault(name, entry["own"]) != entry["own"]:
            reason = f"the id of conversation {number} has been used"
            hint = "give each conversation its own id"
            entries.append({"name": f"conversation-{number}", "reason": reason, "hint": hint})
        else:
            entries.append(entry)
    return entries if is_export else []


def _entry(record: dict[str, Any], name: str | None = None) -> dict[str, Any]:
    title = record.get("title")
    session = session_of(record)
    entry = {
        "name": name,
        "session": session,
        "title": one_line(title) if isinstance(title, str) else None,
        "messages": conversed(record["messages"], session),
    }
    own = None if name is None else json.dumps(entry, sort_keys=True, separators=(",", ":"))
    return entry | {"own": own}


def _chatgpt(nodes: Any, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages that its user saw, from the first to that of `current_node`."""
    if not isinstance(nodes, dict) or not all(isinstance(one, dict) for one in nodes.values()):
        _broken("its mapping is not an object of nodes")
    branch: dict[str, dict[str, Any]] = {}
    at = record.get("current_node")
    if nodes and at is None:
        _broken("it does not say its current_node")
    while at is not None:
        if not isinstance(at, str) or at not in nodes:
            _broken(f"its mapping does not have the node {str(at)[:80]}")
        if at in branch:
            _broken(f"its nodes lead in a circle at {at[:80]}")
        branch[at] = nodes[at]
        at = nodes[at].get("parent")
    for node in reversed(branch.values()):
        message = node.get("message")
        if message is None:
            continue
        about, author, content = (
            (message.get(key) or {} for key in ("metadata", "author", "content"))
            if isinstance(message, dict)
            else ({}, {}, None)
        )
        if not (isinstance(author, dict) and isinstance(content, dict) and isinstance(about, dict)):
            _broken("a message has no author or no content")
        if not is_role(author.get("role")):
            _broken("a message has no role")
        # a call of a tool says nothing to the user, and what is hidden was not seen
        if message.get("recipient") in (None, "all") and not about.get(
            "is_visually_hidden_from_conversation"
        ):
            text = said_in(content.get("parts") or content.get("text"))
            is_answer = author["role"] == "assistant"
            yield {
                "id": message.get("id"),
                "role": author["role"],
                "speaker": author.get("name"),
                "created_at": message.get("create_time"),
                "text": _cited(text, about.get("content_references")) if is_answer else text,
            }


def _cited(text: str, references: Any) -> str:
    """An answer as its page shows it: links for the marks of its sources, which are no letters."""
    shown = {
        one["matched_text"]: one["alt"]
        for one in (references if isinstance(references, list) else ())
        if isinstance(one, dict)
        and isinstance(one.get("matched_text"), str)
        and isinstance(one.get("alt"), str)
    }

    def link(mark: re.Match[str]) -> str:
        found = shown.get(mark["mark"])
        return mark["space"] + found if found else ""

    return _MARKS.sub("", _CITATION.sub(link, text))


def _claude(messages: Any, _: dict[str, Any]) -> Iterator[dict[str, Any]]:
    said = _objects(messages, "chat_messages")
    ids = {one["uuid"] for one in said if isinstance(one.get("uuid"), str)}
    parents = [_known(one.get("parent_message_uuid"), ids) for one in said]
    for one, parent in zip(said, parents, strict=True):
        if not is_role(one.get("sender")):
            _broken("a message has no sender")
        # the text says of a call that its block is not shown
        text = said_in(one.get("content"))
        if not text.strip():
            text = one["text"] if isinstance(one.get("text"), str) else ""
        message = {
            "id": one.get("uuid"),
            "role": one["sender"],
            "created_at": one.get("created_at"),
            "text": "\n\n".join([text, *_pasted(one.get("attachments"))]).strip(),
        }
        if any(parents):
            message["parent_id"] = parent
        yield message


def _known(id: Any, ids: set[str]) -> str | None:
    """An id that a message of the conversation has; null for any other."""
    return id if isinstance(id, str) and id in ids else None


def _pasted(attachments: Any) -> Iterator[str]:
    """What was pasted or attached as a text: the name of each file, then its text."""
    for one in attachments if isinstance(attachments, list) else ():
        if isinstance(one, dict) and isinstance(one.get("extracted_content"), str):
            yield from filter(None, (one.get("file_name"), one["extracted_content"]))


def _sharegpt(messages: Any, _: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for one in _objects(messages, "conversations"):
        if one.get("from") == "function_call":
            continue
        if not is_role(one.get("from")) or not isinstance(one.get("value"), str):
            _broken("a message has no from and value")
        yield {"role": one["from"], "content": one["value"]}


def _plain(messages: Any, _: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if messages != [] and not is_chat(messages):
        raise ReadError(
            "malformed", "a message has no role", 'write {"role": "user", "content": …}'
        )
    yield from messages


# what only a conversation of that shape has
SHAPES: dict[str, Callable[[Any, dict[str, Any]], Iterator[dict[str, Any]]]] = {
    "mapping": _chatgpt,
    "chat_messages": _claude,
    "conversations": _sharegpt,
    "messages": _plain,
}


def _objects(messages: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        _broken(f"its {name} is not a list of messages")
    return messages


def _broken(reason: str) -> NoReturn:
    raise ReadError("malformed", reason, "export it again, or take it out of the file")
