"""What a reader returns, and how it fails."""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MAX_DEPTH = 32


class ReadError(Exception):
    """One source that cannot be read: a stable code, the reason and what to do about it."""

    def __init__(self, code: str, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint

    def __reduce__(self) -> tuple[type[ReadError], tuple[str, str, str]]:
        # an exception is pickled, on its way to another process, as its class and `args`
        return type(self), (self.code, self.reason, self.hint)


def unforeseen(error: str) -> ReadError:
    """For an exception, by its class, that is no ReadError: the failure of that source alone."""
    return ReadError("corrupt", f"reading it failed ({error[:80]})", "save it again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a format yields. Offsets count characters (code points) of `text`."""

    text: str
    title: str | None = None
    language: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    external_id: str | None = None
    # (offset, page number from 1), one for each page
    pages: tuple[tuple[int, int], ...] = ()
    # (offset, path): the path holds from that offset to the next
    headings: tuple[tuple[int, tuple[str, ...]], ...] = ()
    # (offset, target as written)
    links: tuple[tuple[int, str], ...] = ()
    # NUL and lone surrogates that became U+FFFD
    replaced: int = 0
    pages_without_text: int = 0
    # what `exports.found` says of a file of chats, which has no other text
    conversations: tuple[Mapping[str, Any], ...] = ()

    def page_at(self, offset: int) -> int | None:
        """The page of a character; None where the format has no pages."""
        n = bisect_right(self.pages, (offset, math.inf))
        return self.pages[n - 1][1] if n else None

    def heading_of(self, start: int, end: int) -> tuple[str, ...]:
        """The deepest heading path, outermost first, that a passage stands under.

        A quarter of it may stand elsewhere: it begins with words of the passage before.
        """
        n = bisect_right(self.headings, start, key=lambda entry: entry[0])
        under: Counter[tuple[str, ...]] = Counter()
        begun = start
        while begun < end:
            path = self.headings[n - 1][1] if n else ()
            following = min(end, self.headings[n][0] if n < len(self.headings) else end)
            for depth in range(1, len(path) + 1):
                under[path[:depth]] += following - begun
            begun, n = following, n + 1
        shared = (path for path, length in under.items() if 4 * length >= 3 * (end - start))
        return max(shared, key=len, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(Content):
    """One document: a file, or one line of a JSONL file."""

    # the bytes that `cid` names
    data: bytes = field(repr=False)
    media_type: str
    # which part of its file: the record's id, or its line; None for a whole file
    fragment: str | None = None
    # of a conversation, whose text they are: its messages as `ragdb.put_conversations` takes them
    messages: tuple[Mapping[str, Any], ...] | None = None
    # the name of a conversation; None for that of its place
    session: str | None = None
    # ids of messages of the session, one here and one in another file: an answer comes second
    joins: tuple[tuple[str, str], ...] = ()
    # why this part of its file is not read, which holds for no other
    fault: ReadError | None = None

    @property
    def cid(self) -> str:
        return "sha256:" + hashlib.sha256(self.data).hexdigest()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search, as in an empty record."""
        return not self.messages and not self.text.strip()


def clean(text: str) -> tuple[str, int]:
    """Replace what PostgreSQL cannot store, NUL and lone surrogates, and count it."""
    return _UNSTORABLE.subn("\ufffd", text)


def without_form_feeds(text: str) -> str:
    """A form feed becomes a line end: it means a page to a printer, and nothing to a reader."""
    return text.replace("\f", "\n") if "\f" in text else text


def newlines(text: str) -> str:
    """CRLF and CR become LF, so that a checkout's line ends change no offset and no chunk."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def one_line(text: str | None) -> str | None:
    """A title: one line, at most 1,000 characters, None when nothing is left."""
    return " ".join(clean(text)[0].split())[:1000] or None if text else None


def storable(value: Any, depth: int = 0) -> Any:
    """The value as jsonb can hold it: dates as ISO text, NaN and the infinities as text."""
    if depth > _MAX_DEPTH:
        raise ReadError(
            "malformed", f"its metadata nests deeper than {_MAX_DEPTH}", "flatten the metadata"
        )
    if isinstance(value, str):
        return clean(value)[0]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {clean(str(k))[0]: storable(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [storable(v, depth + 1) for v in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if str(value) == object.__repr__(value):  # the place where it lies in memory
        raise ReadError(
            "malformed",
            f"its metadata has a value of type {type(value).__name__}, which is no text",
            "give texts, numbers, lists or mappings",
        )
    return clean(str(value))[0]
