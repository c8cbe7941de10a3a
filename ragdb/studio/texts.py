"""Texts of chunks as a page shows them: lines that flow, code as it is, and marked words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import uuid4

from markupsafe import Markup, escape

MARKUP = re.compile(r"<[^>]*>")
FULL_LINE = 50  # characters, from which on a line was broken for want of room
# how a line begins that goes on from the one before, as no line of a quotation does
PROSE = re.compile(r"[^\W\d]|&(?!gt;)|<")
# a heading, a comment or a row of a table ends with its line
WHOLE = re.compile(r"\s*(#|//|--|\|)")
FENCE = re.compile(r"\s*(?:```|~~~)\s*(\S*)")
INDENTED = re.compile(r" {4}|\t")


def flowing(text: str) -> str:
    """A text without the breaks at the ends of its lines, for a page as wide as it is.

    A break stays after a short line, before what begins as a list, a table or a heading does, after
    what ends with its line, and in code.
    """
    lines = str(text).split("\n")
    bare = [MARKUP.sub("", line) for line in lines]
    code = _code(bare)
    joined = lines[0]
    for n in range(1, len(lines)):
        goes_on = len(bare[n - 1]) >= FULL_LINE and not WHOLE.match(bare[n - 1])
        is_joined = goes_on and not code[n] and PROSE.match(lines[n])
        joined += (" " if is_joined else "\n") + lines[n]
    return Markup(joined) if isinstance(text, Markup) else joined


def _code(lines: Sequence[str]) -> list[bool]:
    """Which lines are code: those within fences; all where others are indented as code is."""
    fences = [FENCE.match(line) for line in lines]
    languages = [fence[1] for fence in fences if fence]
    # a text may begin within a fence: its first one names no language then, and ends it
    is_in = bool(languages) and not languages[0] and all(languages[1:2])
    code = []
    for fence in fences:
        code.append(is_in or fence is not None)
        is_in ^= fence is not None
    loose = (line for line, is_code in zip(lines, code, strict=True) if not is_code)
    return [True] * len(lines) if any(map(INDENTED.match, loose)) else code


class Marks:
    """Marks of `ragdb.highlight` that no text can contain, because nobody knows them before."""

    def __init__(self) -> None:
        self.start, self.end = f"[{uuid4().hex}", f"{uuid4().hex}]"

    def snippet(self, text: str, width: int = 320) -> Markup:
        """The text from shortly before its first mark on, with its marked words in <mark>."""
        first = max(0, text.find(self.start) - width // 3)
        first = text.rfind(" ", 0, first) + 1 if first else 0
        parts: list[Markup] = [Markup("… ")] if first else []
        left, at = width, first
        while at < len(text) and left > 0:
            begins = text.find(self.start, at)
            plain = text[at : begins if begins >= 0 else len(text)]
            parts.append(escape(plain[:left]))
            left -= len(plain)
            if begins < 0 or left <= 0:
                at = len(text) if left >= 0 and begins < 0 else at
                break
            ends = text.index(self.end, begins)
            word = text[begins + len(self.start) : ends]
            parts.append(Markup("<mark>{}</mark>").format(word))
            left -= len(word)
            at = ends + len(self.end)
        if at < len(text):
            parts.append(Markup(" …"))
        return Markup("").join(parts)
