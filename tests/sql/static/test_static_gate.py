"""Floors of the gate in modes that compare embeddings."""

from __future__ import annotations

from typing import Any

from ragdb.database import Database
from tests.sql.evidence.test_gate_floors import ANSWERED, PROSE, fill, floors, weighed


def test_a_floor_holds_for_its_mode_embedder_and_weight(loaded: Database) -> None:
    db = loaded.connection
    db.execute("select ragdb.create_corpus('docs')")
    fill(db, PROSE)
    measured = floors(db)
    assert set(measured) == {"lexical", "semantic", "hybrid"}
    for mode, floor in measured.items():
        verdict = weighed(db, ANSWERED[0], mode=mode)
        assert (verdict["min_score"], verdict["rank_mode"]) == (floor, mode)
    others: tuple[dict[str, Any], ...] = ({"lexical_weight": 0.9}, {"fusion": "rrf"})
    for how in others:
        verdict = weighed(db, ANSWERED[0], mode="hybrid", **how)
        assert (verdict["min_score"], verdict["min_score_by"]) == (0, "none")


def test_a_floor_of_another_embedder_does_not_count(loaded: Database) -> None:
    db = loaded.connection
    db.execute("select ragdb.create_corpus('docs')")
    fill(db, PROSE)
    by_static = floors(db)
    db.execute("select ragdb.create_embedder('other', 4)")
    db.execute("select ragdb.reembed_corpus('docs', 'other')")
    db.execute("select ragdb.cutover_corpus('docs', 'other', true)")
    how: dict[str, Any] = {"mode": "semantic", "query_embedding": [1.0, 0.0, 0.0, 0.0]}
    assert weighed(db, ANSWERED[0], **how)["min_score_by"] == "none"
    db.execute("select ragdb.calibrate_gate('docs')")
    assert floors(db) == {"lexical": by_static["lexical"]}
    for question, _ in db.execute("select * from ragdb.gate_questions('docs')").fetchall():
        vector = [float(ord(c) % 7) for c in question[:4]]
        db.execute("select ragdb.put_query_embedding('docs', %s, %s)", (question, vector))
    db.execute("select ragdb.calibrate_gate('docs')")
    assert set(floors(db)) == {"lexical", "semantic", "hybrid"}
    assert weighed(db, ANSWERED[0], **how)["min_score_by"] == "corpus"
    db.execute("select ragdb.rollback_corpus('docs')")
    db.execute("set constraints all immediate")
    assert floors(db) == by_static
