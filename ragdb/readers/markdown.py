"""Markdown: the text as it is written, with the headings and links that it marks.

`ragdb.put_text` finds the same in SQL (sql/text/markdown.sql, links.sql).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import unescape
from itertools import accumulate, chain

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, autolink, html_inline, link
from markdown_it.token import Token

from ragdb.readers import frontmatter
from ragdb.readers.document import Content, one_line
from ragdb.readers.fields import fields
from ragdb.readers.telling import tell

# `# Title { #anchor .class }`, as MkDocs, Pandoc and kramdown write it
_ATTRIBUTES = re.compile(r"\s*\{\s*[#.:][^{}]*\}\s*$")
_ANCHOR = re.compile(r"""<a\s[^>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)
# what a link may begin or end with, and what hides one
_MARK = re.compile(r"[\\`\[\]!<]")
# inline parsing of one block is quadratic at worst: a longer one has no links of its own
_MAX_INLINE = 50_000
# where each step of parsing begins and ends, as part of the whole
_BLOCKS, _INLINE, _TAKEN = (0.0, 0.25), (0.25, 0.75), (0.75, 1.0)


def read(text: str) -> Content:
    """Front matter gives title, language, id and metadata; the first H1 is the title otherwise."""
    matter, body = frontmatter.split(text)
    title, language, external_id, metadata = fields(matter, ("id",))
    return parse(body, title=title, language=language, external_id=external_id, metadata=metadata)


def parse(
    text: str,
    *,
    title: str | None = None,
    language: str | None = None,
    external_id: str | None = None,
    metadata: dict[str, object] | None = None,
) -> Content:
    """Headings and links of a Markdown text without front matter."""
    lines = text.split("\n")
    starts = list(accumulate(map(len, lines), lambda offset, size: offset + size + 1, initial=0))
    headings: list[tuple[int, tuple[str, ...]]] = []
    links: list[tuple[int, str]] = []
    path: list[tuple[int, str]] = []
    first_h1 = None
    tokens = _parser().parse(text)
    block: Sequence[int] = (0, 1)
    for n, token in enumerate(tokens):
        tell(n, len(tokens), *_TAKEN)
        block = token.map or block
        if token.type == "inline":
            links += _links(token, block, lines, starts)
        elif token.type == "html_block":
            offset = starts[block[0]]
            end = starts[block[1]]
            links += (
                (match.start(), unescape(_target(match)))
                for match in _ANCHOR.finditer(text, offset, end)
            )
        elif token.type == "heading_open" and token.level == 0:
            name = one_line(_ATTRIBUTES.sub("", _plain(tokens[n + 1])))
            if name is None:
                continue
            level = int(token.tag[1])
            path = [*((up, of) for up, of in path if up < level), (level, name)]
            headings.append((starts[block[0]], tuple(name for _, name in path)))
            if level == 1 and first_h1 is None:
                first_h1 = name
    return Content(
        text=text,
        title=title or first_h1,
        language=language,
        external_id=external_id,
        metadata=metadata or {},
        headings=tuple(headings),
        links=tuple(links),
    )


@cache
def _parser() -> MarkdownIt:
    parser = _placing(MarkdownIt("commonmark").enable("table"))
    parser.core.ruler.at("inline", _inline)
    parser.block.ruler.before("table", "told", _told)
    return parser


@cache
def _finder() -> MarkdownIt:
    """Finds the links of a block and knows no marks that can be neither in them nor around them."""
    parser = _placing(MarkdownIt("commonmark"))
    parser.inline.ruler.at("text", _passed_over)
    parser.inline.ruler.disable(["newline", "emphasis", "entity"])
    parser.inline.ruler2.disable(["balance_pairs", "emphasis", "fragments_join"])
    return parser


def _passed_over(state: StateInline, silent: bool) -> bool:
    """The text up to what may be a link, or keep one from being read."""
    found = _MARK.search(state.src, state.pos, state.posMax)
    end = found.start() if found else state.posMax
    if end == state.pos:
        return False
    state.pos = end
    return True


def _placing(parser: MarkdownIt) -> MarkdownIt:
    for name, rule in (("link", link), ("autolink", autolink), ("html_inline", html_inline)):
        parser.inline.ruler.at(name, _placed(rule))
    return parser


def _placed(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The rule, noting in its first token where in the block it was found."""

    def placed(state: StateInline, silent: bool) -> bool:
        at, before = state.pos, len(state.tokens)
        found = rule(state, silent)
        if found and not silent:
            for token in state.tokens[before:]:
                if token.type in ("link_open", "html_inline"):
                    token.meta["at"] = at
                    break
        return found

    return placed


def _told(state: StateBlock, line: int, _end: int, _silent: bool) -> bool:
    """A rule that takes no block, and sees where each begins."""
    tell(line, len(state.bMarks), *_BLOCKS)
    return False


def _inline(state: StateCore) -> None:
    """Parse only what can hold a link or is a title; most blocks are neither."""
    title = False
    for n, token in enumerate(state.tokens):
        tell(n, len(state.tokens), *_INLINE)
        if (
            token.type == "inline"
            and (title or "[" in token.content or "<" in token.content)
            and len(token.content) <= _MAX_INLINE
        ):
            children: list[Token] = []
            parser = state.md if title else _finder()
            parser.inline.parse(token.content, parser, state.env, children)
            token.children = children
        title = token.type == "heading_open"


def _links(
    inline: Token, block: Sequence[int], lines: list[str], starts: list[int]
) -> Iterator[tuple[int, str]]:
    for token in inline.children or ():
        target = None
        if token.type == "link_open":
            target = token.attrGet("href")
        elif token.type == "html_inline" and (match := _ANCHOR.match(token.content)):
            target = unescape(_target(match))
        if target:
            yield _offset(inline.content, token.meta["at"], block, lines, starts), str(target)


def _offset(
    content: str, at: int, block: Sequence[int], lines: list[str], starts: list[int]
) -> int:
    """Where a character of a block's content is in the text.

    A content line is a source line less what marks its block: indentation, `>`, `#`, `|`.
    """
    number = block[0] + content.count("\n", 0, at)
    begin = content.rfind("\n", 0, at) + 1
    end = content.find("\n", at)
    column = lines[number].find(content[begin : end if end >= 0 else len(content)].strip())
    indent = len(content[begin:at]) - len(content[begin:at].lstrip())
    return starts[number] + (max(column, 0) + at - begin - indent if column >= 0 else 0)


def _plain(inline: Token) -> str:
    return "".join(
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in chain.from_iterable(
            token.children if token.type == "image" and token.children else (token,)
            for token in inline.children or ()
        )
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    )


def _target(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group), "")
