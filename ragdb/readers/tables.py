"""Tables as text whose every part is readable by itself.

A data file (CSV, a sheet) gives a paragraph a row, in which each cell has the name of its column.
A table inside a document stays a Markdown table, and one that is long has its header again and
again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

# characters of a table below one header: well below a chunk of the default size
_PART = 600
_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_COUNT = re.compile(r"[0-9]{1,4}")
_YEAR = re.compile(r"(?:1[5-9]|2[01])[0-9]{2}")
_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?")


def records(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A paragraph for each row below the first, which names the columns.

    What stands alone in its row above the header is a paragraph of its own. Without a header (a
    number stands in the first row that is no name) columns are named by their places.

    >>> list(records([["name", "age"], ["Ann", "5"], ["Bob", ""]]))
    ['name: Ann\\nage: 5', 'name: Bob']
    """
    rest = iter(rows)
    header: list[str] | None = None
    for row in rest:
        cells = [_cell(cell) for cell in row]
        filled = [cell for cell in cells if cell]
        if len(filled) == 1 and len(cells) > 1:
            yield filled[0]
        elif filled:
            header = cells
            break
    if header is None:
        return
    below = [_cell(cell) for cell in next(rest, ())]
    rest = chain([below], rest)
    if not _are_names(header, below):
        rest, header = chain([header], rest), []
    names = [" ".join(name.split()) for name in header]
    is_empty = True
    for row in rest:
        lines = [
            f"{(names[n] if n < len(names) else '') or f'column {n + 1}'}: {cell}"
            for n, cell in enumerate(map(_cell, row))
            if cell
        ]
        if lines:
            is_empty = False
            yield "\n".join(lines)
    if is_empty and header:
        yield "\n".join(filter(None, names))


def _are_names(first: Sequence[str], below: Sequence[str]) -> bool:
    """Whether the first row names the columns: it has no numbers, or years or counts as headings.

    >>> _are_names(["Land", "2023", "2024"], ["Peru", "5", "6"])
    True
    >>> _are_names(["Ann", "1984", "2001"], ["Bob", "1985", "2003"])
    False
    """
    numbers = [n for n, cell in enumerate(first) if _NUMBER.fullmatch(cell)]
    if not numbers:
        return True
    if not all(_COUNT.fullmatch(first[n]) for n in numbers):
        return False
    said = [int(first[n]) for n in numbers]
    are_years = all(_YEAR.fullmatch(first[n]) for n in numbers)
    if len(said) > 2 and all(after - before == 1 for before, after in pairwise(said)):
        # one that begins at 1 stands beside a name: a matrix may begin so too
        return are_years or said[0] == 0 or (said[0] == 1 and len(numbers) < len(first))
    is_year = [n < len(below) and _YEAR.fullmatch(below[n]) is not None for n in numbers]
    is_in_order = sorted(set(said)) in (said, said[::-1])
    return are_years and is_in_order and len(said) > 1 and not all(is_year)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its first row the header, which is repeated where the table is long."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    lines = [
        "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in row)
        + " |" * (1 + width - len(row))
        for row in rows
    ]  # fmt: skip
    return "\n".join(_repeated([lines[0], "|" + " --- |" * width], lines[1:]))


def with_headers(text: str) -> str:
    """A Markdown text in which the header of each long table is repeated."""
    if "|" not in text:
        return text
    lines = text.split("\n")
    made: list[str] = []
    n = 0
    while n < len(lines):
        end = n
        if n + 1 < len(lines) and "|" in lines[n] and _is_rule(lines[n + 1]):
            end = n + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            made += _repeated(lines[n : n + 2], lines[n + 2 : end])
        else:
            made.append(lines[n])
        n = max(end, n + 1)
    return "\n".join(made)


def _repeated(header: list[str], rows: Sequence[str]) -> Iterator[str]:
    yield from header
    size = 0
    for row in rows:
        # a header longer than its rows would only be noise
        if size and size + len(row) > max(_PART, 2 * sum(map(len, header))):
            yield ""
            yield from header
            size = 0
        yield row
        size += len(row) + 1


def _is_rule(line: str) -> bool:
    return "|" in line and len(line) < 10_000 and _RULE.fullmatch(line.strip()) is not None


def _cell(value: str) -> str:
    """A cell without empty lines, which would part it."""
    value = value.strip()
    return re.sub(r"\n\s*\n+", "\n", value) if "\n" in value else value
