"""The chunker `para-sent/1`: the twin of `ragdb_internal.chunk_text`.

docs/chunker.md defines it.

Every loop over words is a regular expression, a bisection or a slice: Python code runs once per
line, sentence and chunk, which is what makes several MB/s possible.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

NAME = "para-sent/1"
STRATEGIES = ("paragraph", "semantic", "page", "window")
UNITS = {"token": 4, "tokens": 4, "word": 1, "words": 1, "char": 1, "chars": 1}
MAX_TOKENS = 1_000_000

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SPACED_WORD = re.compile(r"[^ \t\n\r\f\v]+")
_WORD = re.compile(
    f"[{_UNSPACED}][、。」』】）〉》！？，．：；”’]*|[^{_UNSPACED} \\t\\n\\r\\f\\v]+"
)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# from the first line end of a gap to the word after it
_LINE_GAP = re.compile(r"[\n\r\f][ \t\n\r\f\v]*")
_PARAGRAPH = re.compile(r"\n[ \t\r\f\v]*\n|\r[ \t\f\v]*\r|\f")
_MARK = r"[.!?。！？।॥؟۔\u037e]"
_GREEK_QUESTION = r"[\u0386-\u03ff\u1f00-\u1fff];"
_ASKS_IN_GREEK = re.compile(_GREEK_QUESTION)
_CLOSING = r"""["'”’»)}」』】）》〉\]]*"""
_HEADINGS = frozenset("#" * n for n in range(1, 7))
_FENCES = ("```", "~~~")

# levels are kept in a bytearray, so they are counted from the lowest, -2
_FENCED_WORD, _FENCED_LINE, _WORD_LEVEL = 0, 1, 2
_LINE, _SENTENCE, _PARA, _HEADING, _PAGE = 3, 4, 5, 6, 7


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text[start:end]` and its number of tokens."""

    start: int
    end: int
    tokens: int


def chunk(
    text: str,
    *,
    strategy: str = "paragraph",
    max_tokens: int = 240,
    overlap: int = 48,
    unit: str = "token",
    tell: Callable[[float], None] | None = None,
) -> list[Chunk]:
    """Cut a text into chunks, in the order of the text.

    `max_tokens` (1 to 1,000,000) and `overlap` (0 to max_tokens - 1) are in `unit`: token, word or
    char. A token is four characters, rounded up. `tell` hears which part of the work is done.
    Raises ValueError for an argument out of range.
    """
    check(strategy, max_tokens, overlap, unit)
    starts, ends = _words(text)
    if not starts:
        return []
    if tell:
        tell(0.3)
    words = len(starts)
    closings = array("l", chain((0,), ends))
    if unit.startswith("word"):
        measure = _Measure(range(words + 1), range(words + 1), 1)
    else:
        measure = _Measure(starts, closings, UNITS[unit])

    if strategy == "window":
        levels, lines = bytearray([_WORD_LEVEL]) * words, [0]
    else:
        levels, lines = _levels(text, starts, ends, strategy == "page")
    if tell:
        tell(0.7)
    bounds = [*_sections(levels, lines, strategy), words]
    ranges = [
        (start, end)
        for lo, hi in pairwise(bounds)
        for start, end in reversed(_pack(lo, hi, levels, measure, max_tokens, overlap))
    ]
    return [
        Chunk(starts[first], closings[end], -((starts[first] - closings[end]) // 4))
        for first, end in ranges
    ]


def check(strategy: str, max_tokens: int, overlap: int, unit: str) -> None:
    """Raise ValueError, naming the argument, when the chunker cannot be run with these."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy is {str(strategy)[:80]!r}, not one of {', '.join(STRATEGIES)}")
    if unit not in UNITS:
        raise ValueError(f"unit is {unit[:80]!r}, not one of token, word, char")
    if not 1 <= max_tokens <= MAX_TOKENS:
        raise ValueError(f"max_tokens is {max_tokens}, not 1 to {MAX_TOKENS}")
    if not 0 <= overlap < max_tokens:
        raise ValueError(
            f"overlap is {overlap}, not 0 to {max_tokens - 1};"
            " give a smaller overlap, or larger max_tokens"
        )


@dataclass(frozen=True, slots=True)
class _Measure:
    """The size of words i … j-1: (closings[j] - openings[i]) / scale, rounded up; 0 if i = j."""

    openings: Sequence[int]
    closings: Sequence[int]
    scale: int

    def size(self, i: int, j: int) -> int:
        return -((self.openings[i] - self.closings[j]) // self.scale) if i < j else 0

    def first_within(self, end: int, limit: int) -> int:
        """The smallest i whose words i … end-1 are within the limit."""
        return bisect_left(self.openings, self.closings[end] - limit * self.scale, 0, end)

    def last_reaching(self, end: int, least: int) -> int:
        """The largest i whose words i … end-1 have at least that size."""
        distance = (least - 1) * self.scale + 1
        return bisect_right(self.openings, self.closings[end] - distance, 0, end) - 1

    def last_within(self, start: int, limit: int) -> int:
        """The largest j for which words start … j-1 are within the limit."""
        return bisect_right(self.closings, self.openings[start] + limit * self.scale, start) - 1


def _words(text: str) -> tuple[array[int], array[int]]:
    pattern = _WORD if _HAS_UNSPACED.search(text) else _SPACED_WORD
    spans = array("l", chain.from_iterable(match.span() for match in pattern.finditer(text)))
    return spans[::2], spans[1::2]


def _levels(
    text: str, starts: array[int], ends: array[int], pages: bool
) -> tuple[bytearray, list[int]]:
    """The level of the break before each word, and the words that begin a line."""
    words = len(starts)
    levels = bytearray([_WORD_LEVEL]) * words
    lines: list[int] = [0]
    gaps: list[str] = [""]
    for match in _LINE_GAP.finditer(text):
        word = bisect_left(starts, match.end(), lines[-1])
        if word == words:
            break
        if word == 0:
            gaps[0] = match.group()
        else:
            lines.append(word)
            gaps.append(match.group())

    word = 0
    for match in _sentence_ends(text):
        mark, end = match.span()
        # the word that the mark is in: what closes a sentence may go on into the next word
        word = bisect_right(ends, mark, word)
        if word + 1 >= words:
            break
        if ends[word] <= end and ends[word] - mark <= 8:
            levels[word + 1] = _SENTENCE

    for first, last in _fences(text, starts, lines):
        levels[first:last] = bytes(last - first)  # zeros: inside a line of a fence
    for word, gap in zip(lines, gaps, strict=True):
        if pages and "\f" in gap:
            levels[word] = _PAGE
        elif levels[word] == _FENCED_WORD:
            levels[word] = _FENCED_LINE
        elif text.startswith("#", starts[word]) and text[starts[word] : ends[word]] in _HEADINGS:
            levels[word] = _HEADING
        elif _PARAGRAPH.search(gap):
            levels[word] = _PARA
        elif levels[word] == _WORD_LEVEL and gap:
            levels[word] = _LINE
    return levels, lines


def _sentence_ends(text: str) -> Iterator[re.Match[str]]:
    """What may end a sentence, by a pattern of no more than the text has: it takes less time."""
    is_greek = ";" in text and _ASKS_IN_GREEK.search(text)
    mark = f"(?:{_MARK}|{_GREEK_QUESTION})" if is_greek else _MARK
    after = "" if _HAS_UNSPACED.search(text) else r"(?=[ \t\n\r\f\v])"
    return re.finditer(mark + _CLOSING + after, text)


def _fences(text: str, starts: array[int], lines: list[int]) -> Iterator[tuple[int, int]]:
    """Ranges of words inside code fences."""
    markers = [
        (line, text[starts[word] : starts[word] + 3])
        for line, word in enumerate(lines)
        if text.startswith(_FENCES, starts[word])
    ]
    following: dict[str, int] = {}
    closer: list[int | None] = [None] * len(markers)
    for n in range(len(markers) - 1, -1, -1):
        closer[n] = following.get(markers[n][1])
        following[markers[n][1]] = n
    n = 0
    while n < len(markers):
        close = closer[n]
        if close is None:
            n += 1
            continue
        after = markers[close][0] + 1
        yield (
            lines[markers[n][0]] + 1,
            lines[after] if after < len(lines) else len(starts),
        )
        n = close + 1


def _sections(levels: bytearray, lines: list[int], strategy: str) -> Iterator[int]:
    """The first word of each section."""
    yield 0
    if strategy == "page":
        yield from (word for word in lines[1:] if levels[word] == _PAGE)
    if strategy != "semantic":
        return
    # a heading directly below a heading stays with it
    follows = 0
    for n, word in enumerate(lines):
        if levels[word] != _HEADING:
            continue
        if word != follows:
            yield word
        follows = lines[n + 1] if n + 1 < len(lines) else len(levels)


def _pack(
    lo: int, hi: int, levels: bytearray, measure: _Measure, max_tokens: int, overlap: int
) -> list[tuple[int, int]]:
    """Ranges of words, last first."""
    packed = []
    end = limit = hi
    while True:
        first = max(lo, min(limit - 1, measure.first_within(end, max_tokens)))
        if first == lo:
            packed.append((lo, end))
            return packed
        least = -((measure.size(limit, end) - max_tokens) // 4)
        last = measure.last_reaching(limit, least) + 1 if least > 0 else limit
        eligible = levels[first : min(last, limit)]
        level = max(eligible, default=_FENCED_LINE)
        if level <= _FENCED_LINE:
            eligible = levels[first:limit]
            level = max(eligible)
        cut = first + eligible.index(level)
        packed.append((cut, end))
        previous_end, end, limit = end, cut, cut
        if level < _PARA:
            shared = min(
                measure.last_within(cut, overlap),
                measure.last_within(cut - 1, max_tokens),
                previous_end - 1,
            )
            end = next((k for k in range(shared, cut, -1) if levels[k] >= level), cut)
