"""The reference ranking: Jaccard of word sets, as in the golden vectors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import put


@pytest.mark.shared
def test_the_golden_retrievals_come_out(db: Connection, golden: Any) -> None:
    for n, case in enumerate(golden["retrieve"]):
        db.execute("select ragdb.create_corpus(%s)", (f"golden-{n}",))
        put(db, f"golden-{n}", (text_document(c["id"], c["text"]) for c in case["chunks"]))
        hits = db.execute(
            "select source, score, lexical_score, bm25"
            " from ragdb.search(%s, %s, 10, mode => 'reference')",
            (f"golden-{n}", case["query"]),
        ).fetchall()
        # equal scores go by chunk id, which begins with the id given
        assert [(h[0], h[1]) for h in hits] == [
            (e["id"], pytest.approx(e["s"], abs=1e-12)) for e in case["expect"]
        ]
        assert all(h[2:] == (None, None) for h in hits)


def test_the_reference_ranking_obeys_filters_and_floor(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(
        db,
        "docs",
        (text_document(f"{n}.txt", f"refund policy {n}", metadata={"n": n % 2}) for n in range(6)),
    )
    search = "select source, score from ragdb.search('docs', 'refund policy 3', {}, 'reference'{})"
    narrow = """, min_score => 0.6, filter => '{"n": 1}'"""
    assert db.execute(search.format(10, narrow)).fetchall() == [("3.txt", 1.0)]
    # the best of six
    assert db.execute(search.format(1, "")).fetchall() == [("3.txt", 1.0)]
