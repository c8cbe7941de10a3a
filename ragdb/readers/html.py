"""HTML, converted to Markdown and read as that.

Hidden elements, scripts, images and what leads about a site are left out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urljoin

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

from ragdb.readers import markdown, tables
from ragdb.readers.document import Content, ReadError, clean, newlines, one_line

_BODY = re.compile(r"<body[\s>]", re.I)
_MAX_HEAD = 262_144
# a link of a heading to itself, as Sphinx and MkDocs make it
_ITSELF = re.compile(r' ?\[[¶#§\u200b]\]\(<?#\S{0,300}(?: "[^"\n]{0,300}")?\)$', re.MULTILINE)
# by itself the library leaves out forms, and headers outside of sections: whole pages are forms
_TEXT = ConversionOptions(
    skip_images=True,
    extract_metadata=False,
    preprocessing=PreprocessingOptions(remove_forms=False, remove_navigation=False),
    exclude_selectors=["nav", "header[role=banner]", "select", "datalist"],
)
_HEAD = ConversionOptions(skip_images=True)
_MARK = re.compile(
    r"(<!--|-->|</?(?:header|main|section|article|ul|ol|a|script|style)\b)\s*>?", re.IGNORECASE
)
_UNREAD = {"<!--": "-->", "<script": "</script", "<style": "</style"}
_MENU = 3  # links


def read(html: str) -> Content:
    """Title, language and base are those of the head."""
    body = _BODY.search(html)
    head = convert(html[: min(body.end() if body else _MAX_HEAD, _MAX_HEAD)], _HEAD).metadata
    result = convert(_without_menus(html), _TEXT)
    if any(str(warning.kind) == "depth_limit_exceeded" for warning in result.warnings):
        raise ReadError("malformed", "its elements are nested too deeply", "flatten the HTML")
    text, replaced = clean(tables.with_headers(_ITSELF.sub("", newlines(result.content or ""))))
    about = head.document if head else None
    content = markdown.parse(
        text,
        title=one_line(about.title) if about else None,
        language=about.language if about else None,
    )
    if about and about.base_href:
        base = about.base_href
        links = tuple((offset, _joined(base, target)) for offset, target in content.links)
        content = replace(content, links=links)
    return replace(content, replaced=replaced)


def _joined(base: str, target: str) -> str:
    """A link by the base of its page; as it is written where they make no address."""
    try:
        return urljoin(base, target)
    except ValueError:
        return target


def _without_menus(html: str) -> str:
    """The page without the lists of links in its headers outside of sections."""
    kept, begin, sections, lists, links = [0], 0, 0, 0, 0
    menus: list[int] | None = None  # where those of a header begin and end
    until = ""
    for match in _MARK.finditer(html):
        mark = match[1].lower()
        name, step = mark.strip("</"), -1 if mark.startswith("</") else 1
        if until:
            until = until if mark != until else ""
        elif mark in _UNREAD:
            until = _UNREAD[mark]
        elif name in ("main", "section", "article"):
            sections = max(sections + step, 0)
        elif name == "header" and not sections:
            kept += (menus or []) if step < 0 else []
            menus, lists = None if step < 0 else [], 0
        elif menus is not None and name == "a":
            links += step > 0
        elif menus is not None and name in ("ul", "ol"):
            if step > 0 and not lists:
                begin, links = match.start(), 0
            lists = max(lists + step, 0)
            if step < 0 and not lists and links >= _MENU:
                menus += [begin, match.end()]
    kept.append(len(html))
    return "".join(html[a:b] for a, b in zip(kept[::2], kept[1::2], strict=True))
