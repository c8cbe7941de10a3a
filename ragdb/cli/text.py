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


def server_version(number: int) -> str:
    """libpq's number of a server's version as people write it."""
    return f"{number // 10000}.{number % 10000}"
