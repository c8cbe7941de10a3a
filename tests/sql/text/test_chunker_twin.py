"""The chunker in SQL and the one in Python: the same boundaries for every text."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragdb.ingest.chunker import STRATEGIES, chunk
from tests.chunked import limits, texts
from tests.conftest import Connection
from tests.processor import spent


def in_sql(
    db: Connection, text: str, strategy: str, max_tokens: int, overlap: int, unit: str
) -> Sequence[tuple[object, ...]]:
    return db.execute(
        "select ordinal, start_offset, end_offset, token_count, content"
        " from ragdb_internal.chunk_text(%s, %s, %s, %s, %s)",
        (text, strategy, max_tokens, overlap, unit),
    ).fetchall()


def in_python(
    text: str, strategy: str, max_tokens: int, overlap: int, unit: str
) -> Sequence[tuple[object, ...]]:
    chunks = chunk(text, strategy=strategy, max_tokens=max_tokens, overlap=overlap, unit=unit)
    return [(n, c.start, c.end, c.tokens, text[c.start : c.end]) for n, c in enumerate(chunks)]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts,
    limits,
    st.sampled_from(STRATEGIES),
    st.sampled_from(["token", "words", "char", "tokens"]),
)
def test_both_chunkers_cut_every_text_at_the_same_places(
    any_db: Connection, text: str, limit: tuple[int, int], strategy: str, unit: str
) -> None:
    assert in_sql(any_db, text, strategy, *limit, unit) == in_python(text, strategy, *limit, unit)


def test_both_chunkers_cut_a_long_text_at_the_same_places_in_linear_time(db: Connection) -> None:
    paragraph = (
        "Grüße aus Köln. " * 30
        + "\n\n# 見出し\n\n本文です。もう一つ。\n\n```\n"
        + "x = 1\n" * 40
        + "```\n\n"
    )
    took = []
    for times in (80, 640):
        text = paragraph * times
        before = spent(db)
        found = in_sql(db, text, "semantic", 240, 48, "token")
        took.append(spent(db) - before)
        assert found == in_python(text, "semantic", 240, 48, "token")
    # a square would be 64 times as long
    assert took[1] < 24 * took[0]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((None, "paragraph", 240, 48, "token"), "text is null"),
        (("a", "sentence", 240, 48, "token"), "strategy is"),
        (("a", None, 240, 48, "token"), "strategy is null"),
        (("a", "paragraph", 0, 0, "token"), "max_tokens is 0"),
        (("a", "paragraph", 1_000_001, 0, "token"), "max_tokens is 1000001"),
        (("a", "paragraph", None, 0, "token"), "max_tokens is null"),
        (("a", "paragraph", 10, 10, "token"), "overlap is 10, not 0 to 9"),
        (("a", "paragraph", 10, -1, "token"), "overlap is -1"),
        (("a", "paragraph", 10, None, "token"), "overlap is null"),
        (("a", "paragraph", 10, 1, "byte"), "unit is"),
        (("a", "paragraph", 10, 1, "tokenss"), "unit is"),
        (("a", "paragraph", 10, 1, None), "unit is null"),
    ],
)
def test_an_argument_out_of_range_is_refused(
    db: Connection, arguments: tuple[object, ...], problem: str
) -> None:
    with pytest.raises(psycopg.DatabaseError, match=problem) as raised:
        db.execute("select ragdb_internal.chunk_text(%s, %s, %s, %s, %s)", arguments)
    assert raised.value.sqlstate == "RG400"
    assert raised.value.diag.message_detail
    assert raised.value.diag.message_hint
