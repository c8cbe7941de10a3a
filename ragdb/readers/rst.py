"""reStructuredText: section titles, known by their underlines, and hyperlinks."""

from __future__ import annotations

import re

from ragdb.readers.document import Content, one_line

_ADORNMENT = re.compile(r"^([!-/:-@[-`{-~])\1*[ \t]*$")
_SECTION = re.compile(
    r"^(?:(?P<over>([!-/:-@[-`{-~])\2{2,})[ \t]*\n[ \t]*)?"
    r"(?P<title>\S[^\n]*)\n(?P<under>([!-/:-@[-`{-~])\5{2,})[ \t]*$",
    re.MULTILINE,
)
_LINK = re.compile(r"`[^`<\n]*<([^<>\s]+)>`__?|^\.\. _[^:\n]+:[ \t]+(\S+)$", re.MULTILINE)


def read(text: str) -> Content:
    """Levels are the order in which the text first uses a style; the first section is the title."""
    styles: list[tuple[str, bool]] = []
    path: list[str] = []
    headings: list[tuple[int, tuple[str, ...]]] = []
    for match in _SECTION.finditer(text):
        title, under, over = match["title"].rstrip(), match["under"], match["over"]
        name = one_line(title)
        if name is None or _ADORNMENT.match(title) or len(under) < len(title):
            continue
        if over is not None and over != under:
            over = None
        style = (under[0], over is not None)
        if style not in styles:
            styles.append(style)
        path = [*path[: styles.index(style)], name]
        start = match.start() if over is not None else match.start("title")
        headings.append((start, tuple(path)))
    return Content(
        text=text,
        title=headings[0][1][0] if headings else None,
        headings=tuple(headings),
        links=tuple((m.start(), m[1] or m[2]) for m in _LINK.finditer(text)),
    )
