"""A day of a channel, as Slack exports it: what its people saw, by time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragdb.readers.document import one_line

# by a message, or by what says that one was changed or deleted
_HELD = {"text", "files", "attachments", "blocks", "subtype"}
_LONGEST = 80  # characters of a name, as Slack has them: a text may have one a million times
_SECONDS = re.compile(r"1\d{9}(\.\d{1,6})?")  # since 1970, from 2001 to 2033
# the only letters that are escaped, so that < begins a mark: of who, where, all or an address
_ESCAPED = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_MARK = re.compile(r"<(?P<of>[@#!]|[a-z]{3,6}:)(?P<what>[^<>|]+)(\|(?P<label>[^<>]*))?>")
_BARE = ("mailto:", "tel:")  # shown without it
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json(\.gz)?", re.IGNORECASE)


@dataclass(frozen=True)
class Names:
    """The names of people and of channels by their ids."""

    people: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)


def is_message(one: Any) -> bool:
    """Tell whether a record is a message of a channel: who, when and what."""
    if not isinstance(one, dict) or not isinstance(one.get("ts"), str | int | float):
        return False
    names = (one.get(key) for key in ("user", "username", "bot_id"))
    is_said = isinstance(one.get("text"), str) and any(isinstance(name, str) for name in names)
    # some are of nobody, and some have files alone; a record of a log may be a message, too
    is_held = one.get("type") == "message" and bool(_HELD & one.keys())
    return bool(_SECONDS.fullmatch(str(one["ts"]))) and (is_said or is_held)


def named(value: Any) -> Iterator[tuple[str, str]]:
    """The ids and names of a list of people or of channels, as an export has them."""
    for one in _objects(value):
        if isinstance(one.get("id"), str):
            name = _profiled(one.get("profile")) or _first_of(one.get("real_name"), one.get("name"))
            if shown := _shown(name):
                yield one["id"], shown


def kept(one: dict[str, Any]) -> dict[str, Any]:
    """What of a message is read: when, who, what, of which thread, and when that was answered."""
    # where a person says something, what is attached is the preview of a link
    texts = (one.get("text"), _blocks(one.get("blocks")), _attached(one.get("attachments")))
    profile = one.get("bot_profile")
    bot = profile.get("name") if isinstance(profile, dict) else None
    return {
        "at": str(one["ts"]),
        "user": _first_of(one.get("user")),
        "name": _profiled(one.get("user_profile")),
        "username": _first_of(one.get("username")),
        "bot": _first_of(bot, one.get("user"), one.get("bot_id")),
        "text": next((text for text in texts if isinstance(text, str) and text.strip()), ""),
        "thread": str(one.get("thread_ts")),
        "replies": [
            str(reply["ts"])
            for reply in _objects(one.get("replies"))
            if _SECONDS.fullmatch(str(reply.get("ts")))
        ],
    }


def messages(said: Sequence[Mapping[str, Any]], names: Names) -> Iterator[dict[str, Any]]:
    """The messages of a day by their times, from what is `kept` of each.

    Each is called by its time, so that it keeps its id where another is deleted. One of a thread
    answers the one that began it, another the one before it in the channel. Of a thread that began
    on another day see `joins`.
    """
    first: dict[str, str | None] = {}
    before = None
    known: set[tuple[str, str | None, str]] = set()
    times: Counter[str] = Counter()
    today = {one["at"] for one in said}
    people = {one["user"]: one["name"] for one in said if one["user"] and one["name"]}
    people |= names.people
    for one in sorted(said, key=lambda one: float(one["at"])):
        at, thread = one["at"], one["thread"]
        text = _read(one["text"], Names(people, names.channels))
        speaker = _first_of(one["name"], one["username"], people.get(one["user"]), one["bot"])
        began = first.get(thread)
        is_of_another_day = bool(_SECONDS.fullmatch(thread)) and thread not in today
        answers = None if is_of_another_day else began or before
        if not text.strip() or (at, speaker, text) in known:
            first.setdefault(at, answers)
            continue
        known.add((at, speaker, text))
        times[at] += 1
        id = at if times[at] == 1 else f"{at}-{times[at]}"
        yield {
            "id": id,
            "parent_id": answers,
            "role": "user",
            "speaker": speaker,
            "created_at": float(at),
            "text": text,
        }
        first.setdefault(at, id)
        before = before if began or is_of_another_day else id


def joins(said: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What began a thread on one day and what answers it on another, by their ids.

    Either day says so: whichever of them comes later knows of both.
    """
    today = {one["at"] for one in said}
    given = [(one["thread"], one["at"]) for one in said if _SECONDS.fullmatch(one["thread"])]
    given += [(one["at"], reply) for one in said for reply in one["replies"]]
    return sorted(
        {
            (began, reply)
            for began, reply in given
            if (began in today) != (reply in today) and float(began) < float(reply)
        }
    )


def session_of(name: str) -> str | None:
    """The channel of a day's file, which is its folder; null where it has no folder.

    >>> session_of("export/general/2025-01-01.json")
    'export/general'
    """
    folder, _, file = name.rpartition("/")
    return folder if folder and is_day(file) else None


def is_day(name: str) -> bool:
    """Tell whether a file has the name of a day of a channel."""
    return bool(_DAY.fullmatch(name))


def _profiled(profile: Any) -> str | None:
    """The name of a profile that Slack shows."""
    if not isinstance(profile, dict):
        return None
    return _shown(_first_of(profile.get("display_name"), profile.get("real_name")))


def _shown(name: str | None) -> str | None:
    """A name as a text has it."""
    return ((one_line(name) or "")[:_LONGEST].strip()) or None


def _first_of(*given: Any) -> str | None:
    return next((name for name in given if name and isinstance(name, str)), None)


def _attached(attachments: Any) -> str:
    """What a program says in a channel where it says so in attachments alone."""
    texts: list[Any] = []
    for one in _objects(attachments):
        fields = (_labelled(field) for field in _objects(one.get("fields")))
        said = [one.get("pretext"), one.get("title"), one.get("text"), *fields]
        said.append(_blocks(one.get("blocks")))
        texts += (
            said if any(isinstance(text, str) and text for text in said) else [one.get("fallback")]
        )
    return _joined(texts)


def _labelled(field: dict[str, Any]) -> str:
    """A field of an attachment, with its label where it has one."""
    return ": ".join(text for key in ("title", "value") if (text := _first_of(field.get(key))))


def _blocks(blocks: Any) -> str:
    """What a program says in blocks: their headers, sections, fields and remarks."""
    texts: list[Any] = []
    for block in _objects(blocks):
        held = [block.get("text"), *_objects(block.get("fields")), *_objects(block.get("elements"))]
        texts += [one.get("text") for one in held if isinstance(one, dict)]
    return _joined(texts)


def _objects(given: Any) -> list[dict[str, Any]]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _joined(texts: list[Any]) -> str:
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _read(text: str, names: Names) -> str:
    """A text as it is shown: names for ids, labels for marks, no letter escaped.

    >>> names = Names({"U1": "Ada"}, {"C1": "news"})
    >>> _read("<@U1>: see <https://a.example|the page> in <#C1> &lt;soon&gt;", names)
    '@Ada: see the page (https://a.example) in #news <soon>'
    """

    def shown(mark: re.Match[str]) -> str:
        of, what, label = mark["of"], mark["what"], mark["label"]
        if of == "@":
            return "@" + (names.people.get(what) or label or what)
        if of == "#":
            return "#" + (label or names.channels.get(what) or what)
        if of == "!":
            return label or "@" + what
        address = what if of in _BARE else of + what
        return address if label in (None, "", address) else f"{label} ({address})"

    text = _MARK.sub(shown, text)
    for written, meant in _ESCAPED:
        text = text.replace(written, meant)
    return text
