"""Markers such as [1] in an answer, read as grounding spans."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conftest import Connection


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("A one [1]. B two [2][3].", [(0, 5, ["a"]), (11, 16, ["b", "c"])]),
        ("A [1, 2] B [2].", [(0, 1, ["a", "b"]), (9, 10, ["b"])]),
        ("Refunds are allowed [1].", [(0, 19, ["a"])]),
        ("none", []),
    ],
)
def test_inline_markers_become_spans(any_db: Connection, text: str, spans: Any) -> None:
    ((found,),) = any_db.execute("select ragdb.inline_spans(%s, '{a,b,c}')", (text,)).fetchall()
    assert [(s["start"], s["end"], s["chunkIds"]) for s in found] == spans


@pytest.mark.parametrize("text", ["[1] lead", "A [9]."])
def test_a_marker_of_nothing_is_refused(any_db: Connection, text: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        any_db.execute("select ragdb.inline_spans(%s, '{a}')", (text,))
    assert caught.value.sqlstate == "RG442"


def test_a_list_that_does_not_begin_at_1_has_a_first_chunk_all_the_same(
    any_db: Connection,
) -> None:
    ((found,),) = any_db.execute(
        "select ragdb.inline_spans('A one [1]. B two [2].', '[0:1]={a,b}')"
    ).fetchall()
    assert [s["chunkIds"] for s in found] == [["a"], ["b"]]
