"""A twin of the parser of contracts (sql/contracts/text.sql) in Python, which calls no SQL.

It is an oracle for tests: it reads a text character by character, and finds the same problems at
the same places.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
MAX_DEPTH = 16
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,15})?")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True)
class Problem:
    """Something wrong with the text of a contract; line and column count from 1."""

    line: int
    column: int
    message: str
    hint: str | None = None


class ContractSyntaxError(ValueError):
    """The text of a contract cannot be read; `problems` has all that is wrong with it."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems


@dataclass
class _Node:
    indent: int
    twin: Json


@dataclass
class _Line:
    """One line on its way into a node."""

    number: int
    text: str
    problems: list[Problem]
    keys: Json = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)

    def wrong(self, at: int, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(self.number, at + 1, message, hint))

    def read(self, indent: int) -> Json | None:
        """The node of the line; None where it has no name that can be read."""
        name = _WORD.match(self.text, indent)
        if not name or self.text[name.end() : name.end() + 1] not in ("", " ", "\t"):
            self.wrong(indent, "a line begins with the name of a node", "such as corpus or rag")
            return None
        at = name.end()
        while (at := self._skip(at)) < len(self.text):
            at = self._pair(at)
        return {
            "node": name.group(),
            "line": self.number,
            "column": indent + 1,
            "keys": self.keys,
            "columns": self.columns,
            "children": [],
        }

    def _skip(self, at: int) -> int:
        """The next word that is not a comment, or the end."""
        while at < len(self.text) and self.text[at] in " \t":
            at += 1
        return len(self.text) if self.text[at : at + 1] == "#" else at

    def _bare_end(self, at: int) -> int:
        while at < len(self.text) and self.text[at] not in " \t":
            at += 1
        return at

    def _pair(self, at: int) -> int:
        key = _WORD.match(self.text, at)
        if not key or self.text[key.end() : key.end() + 1] != "=":
            shown = self.text[at : self._bare_end(at)]
            self.wrong(at, f"{_quoted(shown)} is not key=value", 'write key=value or key="value"')
            quote = self.text.find('"', at, self._bare_end(at))
            return self._quoted(quote)[0] if quote >= 0 else self._bare_end(at)
        start = key.end() + 1
        if self.text[start : start + 1] == '"':
            end, value = self._quoted(start)
        else:
            end = self._bare_end(start)
            value = self._bare(start, self.text[start:end])
        if key.group() in self.keys:
            first = self.columns[key.group()]
            self.wrong(at, f"key {key.group()} is given twice", f"the first is at column {first}")
        else:
            self.keys[key.group()] = value
            self.columns[key.group()] = at + 1
        return end

    def _bare(self, at: int, raw: str) -> Any:
        if not raw:
            self.wrong(at, "a value is missing after =", 'an empty text is ""')
        elif '"' in raw:
            self.wrong(at + raw.index('"'), "a quote inside a bare value", "quote the whole value")
        return _bare_value(raw)

    def _quoted(self, at: int) -> tuple[int, str]:
        """Where a quoted value ends, and what it is."""
        end = at + 1
        while end < len(self.text) and self.text[end] != '"':
            if self.text[end] == "\\":
                escape = _ESCAPE.match(self.text, end)
                if escape is None:
                    self.wrong(end, "an unknown escape", r"escapes are those of JSON: \" \\ \n \t")
                elif escape.group() == "\\u0000":
                    self.wrong(end, "a text cannot contain NUL")
                end = escape.end() if escape else end + 2
            else:
                end += 1
        if end >= len(self.text):
            self.wrong(at, "a quoted value does not end on its line", 'end it with "')
            return len(self.text), ""
        if self.text[end + 1 : end + 2] not in ("", " ", "\t"):
            self.wrong(end + 1, "a space is missing after a quoted value")
        try:
            value: str = json.loads(self.text[at : end + 1], strict=False)
            value.encode()
        except UnicodeEncodeError:
            self.wrong(at, "half of a surrogate pair", r"write both halves, \ud83d\ude00")
            return end + 1, ""
        except ValueError:
            return end + 1, ""  # an escape that is reported already
        return end + 1, value


def _bare_value(raw: str) -> Any:
    if raw in ("true", "false"):
        return raw == "true"
    if _NUMBER.fullmatch(raw):
        number = float(raw) if "." in raw else int(raw)
        # 0.50 stays a text, so that nothing is lost; the database reads it as a number too
        if json.dumps(number) == raw:
            return number
    return raw


def _quoted(text: str) -> str:
    return json.dumps(text if len(text) <= 40 else text[:39] + "…", ensure_ascii=False)


def parse(text: str) -> list[Json]:
    """The nodes of a contract in the line syntax. Raises ContractSyntaxError with every problem."""
    problems: list[Problem] = []
    roots: list[Json] = []
    open_nodes: list[_Node] = []
    for number, written in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = _Line(number, written.removesuffix("\r"), problems)
        bad = _CONTROL.search(line.text)
        if bad:
            line.wrong(bad.start(), "a control character", r"write it as an escape, such as \n")
            continue
        indent = len(line.text) - len(line.text.lstrip(" "))
        rest = line.text[indent:].lstrip("\t ")
        if not rest or rest.startswith("#"):
            continue
        if line.text[indent] == "\t":
            line.wrong(indent, "a tab in the indentation", "indent by spaces")
            continue
        while open_nodes and open_nodes[-1].indent >= indent:
            closed = open_nodes.pop()
            if closed.indent > indent and (not open_nodes or open_nodes[-1].indent < indent):
                line.wrong(indent, "the indentation is of no line above", "align it with one")
        if len(open_nodes) >= MAX_DEPTH:
            line.wrong(indent, f"deeper than {MAX_DEPTH} levels")
            continue
        if not open_nodes and indent and not roots:
            line.wrong(indent, "the first node is indented", "begin it at column 1")
        node = line.read(indent)
        if node is None:
            # its children are children of something
            node = {"children": []}
        (open_nodes[-1].twin["children"] if open_nodes else roots).append(node)
        open_nodes.append(_Node(indent, node))
    if problems:
        problems.sort(key=lambda p: (p.line, p.column))
        raise ContractSyntaxError(problems)
    return roots
