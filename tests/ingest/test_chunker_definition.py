"""The chunker against a slow, literal reading of docs/chunker.md."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ragdb.ingest.chunker import STRATEGIES, chunk
from tests.chunked import limits, texts

C = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
P = "、。」』】）〉》！？，．：；”’"
WORD = re.compile(f"[{C}][{P}]*|[^{C} \\t\\n\\r\\f\\v]+")
SENTENCE = re.compile(
    r"""(?:[.!?。！？।॥؟۔\u037e]|[\u0386-\u03ff\u1f00-\u1fff];)["'”’»)}」』】）》〉\]]*$"""
)
PARAGRAPH = re.compile(r"\n[ \t\r\f\v]*\n|\r[ \t\f\v]*\r|\f")

strategies = st.sampled_from(STRATEGIES)
units = st.sampled_from(["token", "word", "char"])


def as_defined(
    text: str, strategy: str, max_tokens: int, overlap: int, unit: str
) -> list[tuple[int, int, int]]:
    """docs/chunker.md, sentence by sentence, in quadratic time."""
    spans = [match.span() for match in WORD.finditer(text)]
    n = len(spans)
    if n == 0:
        return []
    words = [text[start:end] for start, end in spans]
    gaps = [text[(spans[i - 1][1] if i else 0) : spans[i][0]] for i in range(n)]
    line_end = [any(c in gap for c in "\n\r\f") for gap in gaps]
    first_of_line = [i == 0 or line_end[i] for i in range(n)]

    fenced = [False] * n
    markers = [i for i in range(n) if first_of_line[i] and words[i].startswith(("```", "~~~"))]
    at = 0
    while at < len(markers):
        opening = markers[at]
        closings = [
            j for j in range(at + 1, len(markers)) if words[markers[j]][:3] == words[opening][:3]
        ]
        if not closings:
            at += 1
            continue
        last = markers[closings[0]]
        while last + 1 < n and not line_end[last + 1]:
            last += 1
        for i in range(opening + 1, last + 1):
            fenced[i] = True
        at = closings[0] + 1

    def level_of(i: int) -> int:
        if strategy == "window":
            return 0
        if strategy == "page" and "\f" in gaps[i]:
            return 5
        if fenced[i]:
            return -1 if line_end[i] else -2
        if first_of_line[i] and re.fullmatch("#{1,6}", words[i]):
            return 4
        if PARAGRAPH.search(gaps[i]):
            return 3
        if i and SENTENCE.search(words[i - 1][-8:]):
            return 2
        return 1 if line_end[i] else 0

    level = [level_of(i) for i in range(n)]

    in_heading_line = [False] * n
    for i in range(n):
        if level[i] == 4:
            in_heading_line[i] = True
            for j in range(i + 1, n):
                if line_end[j]:
                    break
                in_heading_line[j] = True
    sections = [0]
    for i in range(1, n):
        if strategy == "semantic" and level[i] == 4 and not all(in_heading_line[sections[-1] : i]):
            sections.append(i)
        if strategy == "page" and level[i] == 5:
            sections.append(i)

    def size(i: int, j: int) -> int:
        if i == j:
            return 0
        if unit == "word":
            return j - i
        length = spans[j - 1][1] - spans[i][0]
        return length if unit == "char" else (length + 3) // 4

    chunks: list[tuple[int, int]] = []
    for lo, hi in zip(sections, [*sections[1:], n], strict=True):
        packed = []
        end = limit = hi
        while True:
            first = limit - 1
            while first > lo and size(first - 1, end) <= max_tokens:
                first -= 1
            if first == lo:
                packed.append((lo, end))
                break
            room = max_tokens - size(limit, end)
            fits = [c for c in range(first, limit) if 4 * size(c, limit) >= room]
            cut = max(fits, key=lambda c: (level[c], -c)) if fits else None
            if cut is None or level[cut] < 0:
                cut = max(range(first, limit), key=lambda c: (level[c], -c))
            packed.append((cut, end))
            previous_end, end, limit = end, cut, cut
            if level[cut] < 3:
                k = cut + 1
                while (
                    k < previous_end and size(cut, k) <= overlap and size(cut - 1, k) <= max_tokens
                ):
                    if level[k] >= level[cut]:
                        end = k
                    k += 1
        chunks += reversed(packed)
    return [
        (spans[i][0], spans[j - 1][1], (spans[j - 1][1] - spans[i][0] + 3) // 4) for i, j in chunks
    ]


@settings(max_examples=250)
@given(texts, strategies, limits, units)
def test_chunks_are_those_of_the_definition(
    text: str, strategy: str, limit: tuple[int, int], unit: str
) -> None:
    max_tokens, overlap = limit

    chunks = chunk(text, strategy=strategy, max_tokens=max_tokens, overlap=overlap, unit=unit)

    expected = as_defined(text, strategy, max_tokens, overlap, unit)
    assert [(c.start, c.end, c.tokens) for c in chunks] == expected
