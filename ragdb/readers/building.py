"""Builds the text of a document block by block, with its headings, links and pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ragdb.readers.document import Content, one_line


@dataclass(slots=True)
class Builder:
    """A text under construction: blocks are parted by an empty line."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    path: list[tuple[int, str]] = field(default_factory=list)
    headings: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)
    pages: list[tuple[int, int]] = field(default_factory=list)
    replaced: int = 0

    def block(self, text: str) -> int:
        """Add a block and return where it begins; one without text is left out."""
        text = text.strip("\n")
        if not text.strip():
            return self.size
        if self.parts:
            self.parts.append("\n\n")
            self.size += 2
        begin = self.size
        self.parts.append(text)
        self.size += len(text)
        return begin

    def heading(self, level: int, name: str | None) -> None:
        """Add a heading of a level from 1, as Markdown writes it."""
        name = one_line(name)
        if name is None:
            return
        self.path = [*((up, of) for up, of in self.path if up < level), (level, name)]
        begin = self.block(f"{'#' * min(level, 6)} {name}")
        self.headings.append((begin, tuple(of for _, of in self.path)))

    def page(self, number: int) -> None:
        """What follows is on a page."""
        self.pages.append((self.size + 2 if self.parts else 0, number))

    def add(self, content: Content) -> None:
        """Add the text of another content, with its headings below the present one."""
        text = content.text.rstrip("\n")
        lead = len(text) - len(text.lstrip("\n"))
        if not text.strip():
            return
        begin = self.block(text) - lead
        above = tuple(of for _, of in self.path)
        self.headings += ((begin + at, (*above, *path)) for at, path in content.headings)
        self.links += ((begin + at, target) for at, target in content.links)
        self.replaced += content.replaced

    def content(self, **about: Any) -> Content:
        """What was built, with title, language and metadata."""
        return Content(
            text="".join(self.parts),
            headings=tuple(self.headings),
            links=tuple(self.links),
            pages=tuple(self.pages),
            replaced=self.replaced,
            **about,
        )
