"""MDX: Markdown without its imports, exports, comments and the tags of components."""

from __future__ import annotations

import re

from ragdb.readers import frontmatter, markdown
from ragdb.readers.document import Content
from ragdb.readers.fields import fields

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_MODULE = re.compile(r"^(?:import|export)[ {*][^\n]*(?:\n(?![ \t]*\n)[^\n]*)*", re.MULTILINE)
# components begin with a capital letter; what HTML knows stays
_TAG = re.compile(r"</?(?:[A-Z][\w.]*|>)(?:[^<>{}\"']|\"[^\"]*\"|'[^']*'|\{[^{}]*\})*/?>?")


def read(text: str) -> Content:
    """Front matter, headings and links as in Markdown; what tags enclose stays."""
    matter, body = frontmatter.split(text)
    title, language, external_id, metadata = fields(matter, ("id",))
    made: list[str] = []
    at = 0
    for fence in _FENCE.finditer(body):
        made += [_prose(body[at : fence.start()]), fence.group()]
        at = fence.end()
    made.append(_prose(body[at:]))
    plain = re.sub(r"\n{3,}", "\n\n", "".join(made)).strip("\n")
    return markdown.parse(
        plain, title=title, language=language, external_id=external_id, metadata=metadata
    )


def _without_comments(text: str) -> str:
    """The text without what stands between {/* and */}; in time linear in the text."""
    made: list[str] = []
    at = 0
    while (begin := text.find("{/*", at)) >= 0 and (end := text.find("*/}", begin)) >= 0:
        made.append(text[at:begin])
        at = end + 3
    return "".join([*made, text[at:]])


def _prose(text: str) -> str:
    text = _without_comments(_MODULE.sub("", text))
    return re.sub(r"^[ \t]+$", "", _TAG.sub("", text), flags=re.MULTILINE)
