"""Each promise of docs/chunker.md, tested separately."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragdb.ingest.chunker import STRATEGIES, chunk

texts = st.text(st.sampled_from("abc日本。. \t\n\r\f#`~!?)\u00a0é🙂"), max_size=400) | st.text(
    max_size=200
)
limits = st.integers(1, 60).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m - 1)))
strategies = st.sampled_from(STRATEGIES)
SPACE = " \t\n\r\f\v"


def paragraphs(*sizes: int) -> str:
    """Paragraphs of that many words, each word of its own."""
    return "\n\n".join(
        " ".join(f"p{p}w{w}" for w in range(size)) + "." for p, size in enumerate(sizes)
    )


@given(texts, strategies, limits)
def test_every_word_is_in_a_chunk_and_no_chunk_begins_or_ends_in_white_space(
    text: str, strategy: str, limit: tuple[int, int]
) -> None:
    chunks = chunk(text, strategy=strategy, max_tokens=limit[0], overlap=limit[1], unit="char")

    covered = bytearray(len(text))
    for c in chunks:
        assert text[c.start] not in SPACE
        assert text[c.end - 1] not in SPACE
        covered[c.start : c.end] = b"\x01" * (c.end - c.start)
    assert all(covered[i] or text[i] in SPACE for i in range(len(text)))


@given(texts, strategies, limits)
def test_chunks_are_in_order_and_none_lies_inside_another(
    text: str, strategy: str, limit: tuple[int, int]
) -> None:
    chunks = chunk(text, strategy=strategy, max_tokens=limit[0], overlap=limit[1], unit="word")

    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end


@given(texts, strategies, limits)
def test_no_chunk_exceeds_max_tokens_unless_it_is_one_word(
    text: str, strategy: str, limit: tuple[int, int]
) -> None:
    chunks = chunk(text, strategy=strategy, max_tokens=limit[0], overlap=limit[1], unit="char")

    for c in chunks:
        words = re.split(f"[{SPACE}]+", text[c.start : c.end])
        assert c.end - c.start <= limit[0] or len(words) == 1


@given(texts, strategies, limits)
@example("one two three four five six seven eight nine ten", "window", (4, 3))
def test_neighbours_share_at_most_the_overlap(
    text: str, strategy: str, limit: tuple[int, int]
) -> None:
    chunks = chunk(text, strategy=strategy, max_tokens=limit[0], overlap=limit[1], unit="char")

    for before, after in pairwise(chunks):
        assert before.end - after.start <= limit[1]


def test_a_window_shares_exactly_the_overlap_in_words() -> None:
    text = " ".join(f"w{n}" for n in range(100))

    chunks = chunk(text, strategy="window", max_tokens=10, overlap=3, unit="words")

    assert len(chunks) == 14  # of 10 words, each 7 after the one before
    for before, after in pairwise(chunks):
        assert len(text[after.start : before.end].split()) == 3


def test_paragraphs_that_fit_are_kept_whole() -> None:
    text = paragraphs(30, 40, 50, 20)

    chunks = chunk(text, max_tokens=60, overlap=10, unit="word")

    boundaries = {0, *(i + 2 for i in range(len(text)) if text.startswith("\n\n", i))}
    assert all(c.start in boundaries for c in chunks)


def test_a_paragraph_on_top_changes_one_chunk() -> None:
    text = paragraphs(*(20 + n * 7 % 50 for n in range(40)))
    added = "A new paragraph that nobody has read before.\n\n"

    before = [text[c.start : c.end] for c in chunk(text)]
    longer = added + text
    after = [longer[c.start : c.end] for c in chunk(longer)]

    assert len(before) > 10
    assert len(set(after) - set(before)) == 1


def test_a_semantic_chunk_begins_with_its_heading() -> None:
    text = "# A\n\nalpha beta.\n\n## B\n\ngamma.\n\n## C\n\ndelta.\n"

    chunks = chunk(text, strategy="semantic")

    assert [text[c.start : c.end] for c in chunks] == [
        "# A\n\nalpha beta.",
        "## B\n\ngamma.",
        "## C\n\ndelta.",
    ]


@pytest.mark.parametrize("strategy", ["paragraph", "semantic"])
@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_code_fence_that_fits_is_never_cut(strategy: str, fence: str) -> None:
    code = f"{fence}python\n# not a heading\n\nx = 1. \n\ny = 2\n{fence}"
    text = f"{paragraphs(9, 8)}\n\n{code}\n\n{paragraphs(7, 9)}"

    chunks = chunk(text, strategy=strategy, max_tokens=20, overlap=5, unit="word")

    assert any(code in text[c.start : c.end] for c in chunks)


def test_a_page_chunk_lies_on_one_page() -> None:
    text = "\f".join(paragraphs(25, 30) for _ in range(5))

    chunks = chunk(text, strategy="page", max_tokens=40, overlap=10, unit="word")

    assert len(chunks) == 10
    assert all("\f" not in text[c.start : c.end] for c in chunks)


@pytest.mark.parametrize("text", ["", " \n\t\r\f\v ", "\n"])
def test_a_text_without_a_word_has_no_chunk(text: str) -> None:
    assert chunk(text) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"max_tokens": 10, "overlap": 10}, "overlap is 10"),
        ({"max_tokens": 10, "overlap": 11}, "overlap is 11"),
        ({"overlap": -1}, "overlap is -1"),
        ({"max_tokens": 0, "overlap": 0}, "max_tokens is 0"),
        ({"max_tokens": 1_000_001}, "max_tokens is 1000001"),
        ({"strategy": "magic"}, "strategy is 'magic'"),
        ({"unit": "byte"}, "unit is 'byte'"),
    ],
)
def test_an_argument_out_of_range_is_refused_by_name(
    arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        chunk("text", **arguments)  # type: ignore[arg-type]


@pytest.mark.by_day(3)
@pytest.mark.parametrize(
    "text",
    ["x", " ", "\n", "```\n", ". ", "日", "# ", "\r", ".", "# x\n", "```\n~~~\n"],
    ids=repr,
)
def test_a_megabyte_of_anything_takes_seconds_not_minutes(text: str) -> None:
    long = text * (1_000_000 // len(text))
    began = time.process_time()

    chunk(long, strategy="semantic")

    assert time.process_time() - began < 10
