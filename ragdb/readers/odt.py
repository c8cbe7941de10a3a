"""ODT, converted to HTML and read as that."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from xml.etree.ElementTree import Element

from ragdb.readers import html, xml
from ragdb.readers.archive import Parts
from ragdb.readers.document import Content, ReadError, one_line

_MAX_DEPTH = 200
# what an element of the text becomes; the text of every other one is kept
_TAGS = {"p": "p", "list": "ul", "list-item": "li", "table": "table", "table-row": "tr",
         "table-cell": "td"}  # fmt: skip
_GONE = frozenset(
    {"tracked-changes", "annotation", "sequence-decls", "forms", "note-citation"}
    | {"image", "object", "object-ole", "desc"}  # of a frame, which may hold text, too
)
_SPACES = {"s": " ", "tab": " ", "line-break": "<br>"}


def read(data: bytes) -> Content:
    """Title and language are those of its properties."""
    parts = Parts(data)
    if b"encryption-data" in parts.read("META-INF/manifest.xml"):
        raise ReadError("encrypted", "it is encrypted", "save it without a password")
    source = parts.read("content.xml")
    if not source:
        raise ReadError("corrupt", "it has no content.xml", "save it again")
    body = next((e for e in xml.parse(source).iter() if xml.name(e) == "body"), None)
    if body is None:
        raise ReadError("corrupt", "it has no body", "save it again")
    made: list[str] = []
    _write(body, made, 0)
    content = html.read(f"<body>{''.join(made)}</body>")
    about = parts.read("meta.xml")
    facts = {xml.name(e): e.text for e in xml.parse(about).iter()} if about else {}
    return replace(
        content,
        title=one_line(facts.get("title")) or content.title,
        language=facts.get("language"),
    )


def _write(element: Element, made: list[str], depth: int, *, in_note: bool = False) -> None:
    if depth > _MAX_DEPTH:
        raise ReadError("malformed", f"its elements nest deeper than {_MAX_DEPTH}", "flatten it")
    called = xml.name(element)
    if called in _GONE or (called == "title" and "svg" in element.tag):  # of a picture
        return
    if called in _SPACES:
        made.append(_SPACES[called])
        return
    facts = {key.rpartition("}")[2]: value for key, value in element.items()}
    opening, closing = "", ""
    if called == "h":
        level = facts.get("outline-level", "1")
        tag = f"h{min(int(level), 6) if level.isdecimal() and level != '0' else 1}"
        opening, closing = f"<{tag}>", f"</{tag}>"
    elif called == "a" and "href" in facts:
        opening, closing = f'<a href="{escape(facts["href"])}">', "</a>"
    elif called == "note":
        opening, closing = " (", ")"
    elif in_note and called == "p":  # a note stays in the sentence that it is to
        opening = "" if "".join(made[-3:]).endswith("(") else " "
    elif called in _TAGS:
        opening, closing = f"<{_TAGS[called]}>", f"</{_TAGS[called]}>"
    made.append(opening + escape(element.text or ""))
    for child in element:
        _write(child, made, depth + 1, in_note=in_note or called == "note")
        made.append(escape(child.tail or ""))
    made.append(closing)
