"""A day of a channel, as Slack exports it: what its people saw, by time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

_HELD = {"text", "files", "attachments", "blocks"}  # by a message
_SECONDS = re.compile(r"1\d{9}(\.\d{1,6})?")  # since 1970, from 2001 to 2033
# the only letters that are escaped, so that < begins a mark: of who, where, all or an address
_ESCAPED = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_MARK = re.compile(r"<(?P<of>[@#!]|[a-z]{3,6}:)(?P<what>[^<>|]+)(\|(?P<label>[^<>]*))?>")
_BARE = ("mailto:", "tel:")  # shown without it


def is_message(one: Any) -> bool:
    """Tell whether a record is a message of a channel: who, when and what."""
    if not isinstance(one, dict) or not isinstance(one.get("ts"), str | int | float):
        return False
    names = (one.get(key) for key in ("user", "username", "bot_id"))
    is_said = isinstance(one.get("text"), str) and any(isinstance(name, str) for name in names)
    # some are of nobody, and some have files alone; a record of a log may be a message, too
    is_held = one.get("type") == "message" and bool(_HELD & one.keys())
    return bool(_SECONDS.fullmatch(str(one["ts"]))) and (is_said or is_held)


def messages(said: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages of a channel by their times.

    Each is called by its time, so that it keeps its id where another is deleted. One of a thread
    answers the one that began it, another the one before it in the channel.
    """
    first: dict[str, str] = {}
    before = None
    known: set[tuple[str, str | None, str]] = set()
    times: Counter[str] = Counter()
    people = {one["user"]: name for one in said if _user(one) and (name := _shown(one))}
    for one in sorted(said, key=lambda one: float(one["ts"])):
        at = str(one["ts"])
        began = first.get(str(one.get("thread_ts")))
        text = one.get("text")
        if not isinstance(text, str) or not text.strip():
            text = _attached(one.get("attachments"))
        text = _read(text, people)
        others = (one.get("username"), people.get(_user(one)), _user(one), one.get("bot_id"))
        speaker = _shown(one) or _first_of(*others)
        if not text.strip() or (at, speaker, text) in known:
            continue
        known.add((at, speaker, text))
        times[at] += 1
        id = at if times[at] == 1 else f"{at}-{times[at]}"
        yield {
            "id": id,
            "parent_id": began or before,
            "role": "user",
            "speaker": speaker,
            "created_at": float(one["ts"]),
            "text": text,
        }
        first.setdefault(at, id)
        before = before if began else id


def _user(one: dict[str, Any]) -> str:
    """The id of who wrote; empty for nobody."""
    user = one.get("user")
    return user if isinstance(user, str) else ""


def _shown(one: dict[str, Any]) -> str | None:
    """The name that a message shows of who wrote it."""
    profile = one.get("user_profile")
    if not isinstance(profile, dict):
        return None
    return _first_of(profile.get("display_name"), profile.get("real_name"))


def _first_of(*given: Any) -> str | None:
    return next((name for name in given if name and isinstance(name, str)), None)


def _attached(attachments: Any) -> str:
    """What a program says in a channel where it says so in attachments alone."""
    found = attachments if isinstance(attachments, list) else []
    texts = [one.get("text") or one.get("fallback") for one in found if isinstance(one, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _read(text: str, people: dict[str, str]) -> str:
    """A text as it is shown: names for ids, labels for marks, no letter escaped.

    >>> _read("<@U1>: see <https://a.example|the page> in <#C1|news> &lt;soon&gt;", {"U1": "Ada"})
    '@Ada: see the page (https://a.example) in #news <soon>'
    """

    def shown(mark: re.Match[str]) -> str:
        of, what, label = mark["of"], mark["what"], mark["label"]
        if of == "@":
            return "@" + (people.get(what) or label or what)
        if of == "#":
            return "#" + (label or what)
        if of == "!":
            return label or "@" + what
        address = what if of in _BARE else of + what
        return address if label in (None, "", address) else f"{label} ({address})"

    text = _MARK.sub(shown, text)
    for written, meant in _ESCAPED:
        text = text.replace(written, meant)
    return text
