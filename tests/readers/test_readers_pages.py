"""A page of a PDF as a picture, drawn by a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragdb.readers import sandbox
from ragdb.readers.document import ReadError
from tools.make_examples import pdf

PDF = (Path(__file__).parents[2] / "examples/tool-library/handbook/safety.pdf").read_bytes()


def test_words_are_found_where_they_stand() -> None:
    page = sandbox.draw(PDF, 3, ["Grinders", "hold the\ngrinder with", "giraffes"], False)
    assert (page.width, page.pages, page.png) == (1000, 4, b"")
    by = {n: [place[1:] for place in page.places if place[0] == n] for n in range(3)}
    assert len(by[0]) == 1  # the heading: a word alone is found as it begins
    assert len(by[1]) == 1
    assert by[2] == []
    for x, y, width, height in (*by[0], *by[1]):
        assert 0 <= x < x + width <= page.width
        assert 0 <= y < y + height <= page.height


def test_a_word_that_a_line_end_parts_is_found() -> None:
    data = pdf([("Words", "This encap-\n\nsulates it and has --no-\n\nblobs too.")], "Words")
    said = ["This encapsulates it", "has --no-blobs too", "encapsulates", "encap sulate-s"]
    page = sandbox.draw(data, 1, said, False)
    assert [place[0] for place in page.places] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("data", "number", "code"),
    [(PDF, 5, "no_page"), (PDF, 0, "no_page"), (PDF[:200], 1, "corrupt"), (b"", 1, "corrupt")],
)
def test_what_cannot_be_drawn_is_refused(data: bytes, number: int, code: str) -> None:
    with pytest.raises(ReadError) as caught:
        sandbox.draw(data, number, [])
    assert caught.value.code == code


def test_a_page_of_any_size_makes_a_picture_that_is_not_huge() -> None:
    long = PDF.replace(b"MediaBox [0 0 595 842]", b"MediaBox [0 0 5 14000]")
    assert long != PDF
    page = sandbox.draw(long, 1, [])
    assert (page.width, page.height) == (1, 3000)
    assert page.png.startswith(b"\x89PNG")
