"""What a search may ask for."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import put, search


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ("'docs', null", "RG400"),
        ("'docs', ''", "RG400"),
        (r"'docs', E' \t\n'", "RG400"),
        ("'docs', 'a', 0", "RG400"),
        ("'docs', 'a', 1001", "RG400"),
        ("'docs', 'a', null", "RG400"),
        ("'docs', 'a', min_score => -0.1", "RG400"),
        ("'docs', 'a', min_score => 'NaN'", "RG400"),
        ("'docs', 'a', min_score => null", "RG400"),
        ("'docs', 'a', mode => 'magic'", "RG400"),
        ("'docs', 'a', mode => 'semantic'", "RG415"),
        ("'docs', 'a', mode => 'hybrid'", "RG415"),
        ("'docs', 'a', chunk_ids => array['x', null]", "RG400"),
        ("'{}'::text[], 'a'", "RG400"),
        ("array['docs', null], 'a'", "RG400"),
        ("'nowhere', 'a'", "RG404"),
        ("array['docs', 'nowhere'], 'a'", "RG404"),
        ("'docs', 'a', statistics => 'nowhere'", "RG404"),
    ],
)
def test_an_argument_out_of_range_is_an_error(docs: Connection, arguments: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        docs.execute(f"select * from ragdb.search({arguments})")
    assert caught.value.sqlstate == state
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint


def test_min_score_is_a_floor(docs: Connection) -> None:
    everything = search(docs, "docs", "purchase order refund")
    floor = everything[1][1]
    assert search(docs, "docs", "purchase order refund", min_score=floor) == everything[:2]


def test_search_works_in_a_read_only_transaction(clone: str) -> None:
    with psycopg.connect(clone) as connection:
        connection.execute("select ragdb.create_corpus('docs')")
        put(connection, "docs", [text_document("a.txt", "rain")])
    with psycopg.connect(clone, options="-c default_transaction_read_only=on") as connection:
        assert len(search(connection, "docs", "rain")) == 1
