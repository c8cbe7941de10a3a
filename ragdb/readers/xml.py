"""XML of any vocabulary: what its elements say, with titles as headings.

Entities that a file declares itself are refused, whatever they stand for: they are how a small
file becomes a large one, or reads others.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ragdb.readers import html
from ragdb.readers.building import Builder
from ragdb.readers.document import Content, ReadError, one_line

_MAX_DEPTH = 200
_TITLES = frozenset({"title", "heading", "head"})
# elements in which feeds write HTML
_MARKED = frozenset({"description", "content", "encoded", "summary"})
_TAG = re.compile(r"</[a-zA-Z][a-zA-Z0-9]*>|<(?:br|p|img)\b")


def parse(data: bytes) -> Element:
    """The root of XML. Raises ReadError `malformed`."""
    try:
        root: Element = fromstring(data)
    except DefusedXmlException:
        raise ReadError(
            "malformed", "it declares entities of its own", "write out what they stand for"
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        raise ReadError("malformed", f"it is not XML ({str(error)[:80]})", "correct it") from None
    return root


def name(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def read(data: bytes) -> Content:
    """An element with text alone is a line `name: text`, one with text and elements a paragraph."""
    root = parse(data)
    built = Builder()
    lines: list[str] = []

    def flush() -> None:
        built.block("\n".join(lines))
        lines.clear()

    # beginning and end of each element, without recursion: files may be deeper than the stack
    waiting: list[tuple[Element, int, bool]] = [(root, 0, True)]
    while waiting:
        element, depth, begins = waiting.pop()
        if not begins:
            flush()
            continue
        if depth > _MAX_DEPTH:
            raise ReadError(
                "malformed", f"its elements nest deeper than {_MAX_DEPTH}", "flatten it"
            )
        called = name(element)
        said = " ".join(f"{key.rpartition('}')[2]}={value}" for key, value in element.items())
        children = [child for child in element if isinstance(child.tag, str)]
        mixed = (element.text or "").strip() or any((c.tail or "").strip() for c in children)
        if not children or mixed:
            text = " ".join(" ".join(element.itertext()).split())
            if called in _TITLES and text and not said:
                flush()
                built.heading(max(depth, 1), text)
            elif not children and called in _MARKED and (marked := _marked(element.text or "")):
                flush()
                built.add(marked)
            elif mixed and children:
                flush()
                built.block(text)
            elif text or said:
                lines.append(f"{called}: {' '.join(filter(None, (said, text)))}")
            continue
        flush()
        if said:
            lines.append(f"{called}: {said}")
        waiting.append((element, depth, False))
        waiting.extend((child, depth + 1, True) for child in reversed(children))
    flush()
    title = next((e.text for e in root.iter() if name(e) == "title" and e.text), None)
    return built.content(title=one_line(title))


def _marked(text: str) -> Content | None:
    """The HTML that a feed writes in an element; null where it is none, or cannot be read."""
    try:
        return html.read(text) if _TAG.search(text) else None
    except ReadError:
        return None
