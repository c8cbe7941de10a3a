"""AsciiDoc, rewritten as Markdown: titles, blocks, lists, tables, links; directives are left out.

There is no AsciiDoc library for Python that is kept well and free to use here, so this knows the
everyday syntax of its language description and keeps the rest as it is written.
"""

from __future__ import annotations

import re

from ragdb.readers import markdown, tables
from ragdb.readers.document import Content

_TITLE = re.compile(r"(={1,6})[ \t]+(\S.*)")
_ATTRIBUTE = re.compile(r":!?([\w-]+)!?:(?:[ \t]+(.*))?")
_STYLE = re.compile(r"\[(?:\[[^\]]*\]|[^\]]*)\]")
_SOURCE = re.compile(r"\[(?:source)?%?\w*,[ \t]*([\w+-]+)")
_COLUMNS = re.compile(r"\bcols=\"?([^\"\]]+)")
_DIRECTIVE = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif|toc)::.*")
_IMAGE = re.compile(r"(?:image|video|audio)::?[^\[\s]*\[([^\]]*)\]")
_LISTED = re.compile(r"([*.]{1,5})[ \t]+(\S.*)")
_LINKS = (
    (re.compile(r"(?:link:)?((?:https?|ftp)://[^\s\[\]<>]+)\[([^\]\n]+)\]"), r"[\2](\1)"),
    (re.compile(r"(?:link|xref):([^\s\[\]]+)\[([^\]\n]*)\]"), r"[\2](\1)"),
    (re.compile(r"<<([^,>\n]+),[ \t]*([^>\n]+)>>"), r"\2"),
    (re.compile(r"<<([^>\n]+)>>"), r"\1"),
    (re.compile(r"\b(?:kbd|btn|footnote|menu|pass|stem):\w*\[([^\]\n]*)\]"), r"(\1)"),
)
_MAX_FILLED = 200  # characters of an attribute, and attributes of a line
_VERBATIM = ("----", "....", "```", "++++")
_FRAMES = ("====", "****", "____", "--")


def read(text: str) -> Content:
    """The title is that of level 0; attributes that the text defines are filled in."""
    attributes: dict[str, str] = {}
    made: list[str] = []
    language = ""
    columns = ""
    lines = iter(text.split("\n"))
    for line in lines:
        bare = line.rstrip()
        if bare.startswith("////") and not bare.strip("/"):
            _until(lines, bare)
        elif bare.startswith("//"):
            continue
        elif bare in ("|===", "!===", ",===", ":==="):
            made += ["", _table(_until(lines, bare), columns, bare[0]), ""]
            columns = ""
        elif bare[:4] in _VERBATIM or bare.startswith("```"):
            inside = _until(lines, "```" if bare.startswith("```") else bare)
            if not bare.startswith("+"):
                name = language or bare[3:].strip() if bare.startswith("```") else language
                made += ["", f"```{name}", *inside, "```", ""]
            language = ""
        elif bare[:4] in _FRAMES and not bare.strip(bare[:1]):
            made.append("")
        elif match := _ATTRIBUTE.fullmatch(bare):
            attributes[match[1]] = match[2] or ""
        elif _STYLE.fullmatch(bare):
            source, cols = _SOURCE.match(bare), _COLUMNS.search(bare)
            language = source[1] if source else ""
            columns = cols[1] if cols else ""
        elif _DIRECTIVE.fullmatch(bare) or bare in ("'''", "<<<", "+"):
            made.append("")
        else:
            made.append(_prose(bare, attributes))
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(made)).strip("\n")
    return markdown.parse(body, language=attributes.get("lang") or None)


def _prose(line: str, attributes: dict[str, str]) -> str:
    if "{" in line:
        line = re.sub(
            r"\{([\w-]+)\}",
            lambda match: attributes.get(match[1], match[0])[:_MAX_FILLED],
            line,
            count=_MAX_FILLED,
        )
    if title := _TITLE.fullmatch(line):
        return f"\n{'#' * len(title[1])} {title[2]}\n"
    if line.startswith(".") and re.match(r"\.[^\s.]", line):
        return f"\n**{line[1:]}**\n"
    if listed := _LISTED.fullmatch(line):
        mark = "1." if listed[1][0] == "." else "-"
        line = f"{'   ' * (len(listed[1]) - 1)}{mark} {listed[2]}"
    line = _IMAGE.sub(r"\1", line)
    for pattern, form in _LINKS:
        line = pattern.sub(form, line)
    return line


def _until(lines: object, end: str) -> list[str]:
    """The lines up to one that is `end`, or all that are left."""
    found = []
    for line in lines:  # type: ignore[attr-defined]
        if line.rstrip() == end:
            break
        found.append(line)
    return found


def _table(lines: list[str], columns: str, sign: str) -> str:
    sign = {"!": "!", ",": ",", ":": ":"}.get(sign, "|")
    rows: list[list[str]] = []
    for line in lines:
        # 2+|, .3+|, a|, h|: what a cell spans and how it looks
        cells = re.split(r"(?:(?<=\s)|^)(?:[\d.]+[+*])?[<^>.]*[a-z]?" + re.escape(sign), line)
        if sign == "|" and not line.lstrip().startswith("|") and len(cells) == 1:
            if rows and line.strip():
                rows[-1][-1] = f"{rows[-1][-1]} {line.strip()}"
            continue
        rows.append([cell.strip() for cell in (cells[1:] if sign == "|" else cells)])
    width = sum(
        int(match[1]) if (match := re.match(r"(\d+)\*", one.strip())) else 1
        for one in re.split("[,;]", columns)
    ) if columns else max((len(rows[0]) if rows else 0), 1)  # fmt: skip
    cells = [cell for row in rows for cell in row]
    if any(len(row) != width for row in rows):
        rows = [cells[n : n + width] for n in range(0, len(cells), width)]
    return tables.markdown(rows)
