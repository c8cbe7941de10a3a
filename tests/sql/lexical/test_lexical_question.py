"""What the words of a question weigh, and by whose statistics."""

from __future__ import annotations

import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import Collection, lexemes, put, search


def test_a_word_that_the_corpus_lacks_lowers_the_score(docs: Connection) -> None:
    ((_, known, bm25),) = search(docs, "docs", "rain")
    ((_, less, same),) = search(docs, "docs", "rain zeppelin")
    assert bm25 == same
    assert 0 < less < known <= 1


def test_coverage_is_the_share_of_idf_matched(docs: Connection) -> None:
    twin = Collection.read(docs, "docs")
    (coverage,) = docs.execute(
        "select coverage from ragdb.search('docs', 'rain zeppelin')"
    ).fetchone() or (0,)
    assert coverage == pytest.approx(twin.idf("rain") / (twin.idf("rain") + twin.idf("zeppelin")))


def test_statistics_come_from_the_corpus_named(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('tenant')")
    put(docs, "tenant", [text_document("t.txt", "order and rain"), text_document("u.txt", "order")])
    tenant, wide = Collection.read(docs, "tenant"), Collection.read(docs, "docs")
    expected = tenant.search(lexemes(docs, "order rain zeppelin"), 10, wide)
    got = search(docs, "tenant", "order rain zeppelin", 10, statistics="docs")
    assert [g[0] for g in got] == [e[0] for e in expected]
    assert [g[1] for g in got] == pytest.approx([e[1] for e in expected], rel=1e-9)


def test_another_corpus_moves_no_score(docs: Connection) -> None:
    before = search(docs, "docs", "rain order")
    docs.execute("select ragdb.create_corpus('other')")
    put(docs, "other", (text_document(f"{n}.txt", "rain rain order") for n in range(20)))
    assert search(docs, "docs", "rain order") == before
