"""Text from documents reaches a terminal without its control characters."""

from __future__ import annotations

import re

# escape sequences whole (CSI, OSC and the rest), then what is left of C0, C1 and the bidi overrides
ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Text that cannot move a terminal's cursor, colour it or turn its line around."""
    # a lone surrogate of an undecodable argument or file name cannot be printed
    text = text.encode("utf-8", "replace").decode()
    return CONTROLS.sub("", ESCAPES.sub("", text))


_FENCED = re.compile(r"(```.*?(?:```|$))", re.DOTALL)
# code, which stays; a link or a picture; emphasis by stars, which are no other signs
_MARKUP = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|!?\[(?P<link>[^\]\[]{0,300})\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?: \"[^\"\n]*\")?\)"
    r"|(?<![\w*\\])(?P<stars>\*{1,3})(?!\s)(?P<strong>[^*]+)(?<!\s)(?P=stars)(?![\w*])"
)
# a line that goes on with a sentence, rather than an item or a row
_WRAPPED = re.compile(r"(?<=\S)\s*\n\s*(?!\s|[-*+] |[0-9]{1,3}[.)] |\||\Z)")


def unmarked(text: str) -> str:
    """What a document says, without the signs of Markdown for links and emphasis.

    A sentence is one line; an item, a row and a line of code have their own.

    >>> unmarked("See [the plan](plan.md) for the **router** in `a*b*c`, 2 * 3 * 4 and *.md.")
    'See the plan for the router in `a*b*c`, 2 * 3 * 4 and *.md.'
    """
    parts = _FENCED.split(text)
    for n in range(0, len(parts), 2):
        part = re.sub(r"(?<=\S)[ \t]+", " ", _WRAPPED.sub(" ", _without_signs(parts[n])))
        parts[n] = re.sub(r"\n[ \t]*(?=\n)", "", part)
    return "".join(parts).strip()


def _without_signs(text: str) -> str:
    def said(found: re.Match[str]) -> str:
        inner = found["strong"] if found["link"] is None else found["link"]
        return found["code"] or inner

    shorter = _MARKUP.sub(said, text)
    # a link may be emphasised, and what a link says too
    return text if shorter == text else _without_signs(shorter)


def server_version(number: int) -> str:
    """libpq's number of a server's version as people write it."""
    return f"{number // 10000}.{number % 10000}"
