"""Floors of the gate in modes that compare embeddings."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from ragdb.client.calling import Reals
from ragdb.database import Database
from ragdb.errors import ModeNotAvailable
from tests.conftest import Connection
from tests.embedding import ENCODER, embed, make_embedder
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
    assert floors(db) == {"lexical": by_static["lexical"], "semantic": None, "hybrid": None}
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


def searched(db: Connection, mode: str) -> dict[str, float]:
    """The best scores of the questions of the gate, by a search for each that has an embedding."""
    best = {}
    for (question,) in db.execute("select question from ragdb.gate_questions('docs')").fetchall():
        with contextlib.suppress(ModeNotAvailable), db.transaction():
            row = db.execute(
                "select score from ragdb.search('docs', %s, 1, mode => %s)", (question, mode)
            ).fetchone()
            best[question] = row[0] if row else 0.0
    return best


def measured(db: Connection, mode: str) -> dict[str, float]:
    return dict(
        db.execute(
            "select q.question, s.score from ragdb.gate_questions('docs') q"
            " join ragdb.corpora c on c.name = 'docs' cross join lateral"
            " ragdb_internal.best_scores(c, array[q.question]) s where s.mode = %s",
            (mode,),
        ).fetchall()
    )


@pytest.mark.by_day(1)
@pytest.mark.parametrize("parts", [0, 2])
def test_a_corpus_is_measured_by_what_searches_score(loaded: Database, parts: int) -> None:
    db = loaded.connection
    db.execute("select ragdb.create_corpus('docs')")
    names = [f"part-{n}" for n in range(parts)] or ["docs"]
    for n, name in enumerate(names):
        if parts:
            db.execute("select ragdb.create_corpus(%s, part_of => 'docs')", (name,))
        # the first piece has no word
        fill(db, [f"{n} {'-' * 300}", *PROSE[n :: len(names)]], name)
    for mode in ("lexical", "semantic", "hybrid"):
        assert measured(db, mode) == pytest.approx(searched(db, mode), abs=1e-9)
    assert len(measured(db, "semantic")) < len(measured(db, "lexical"))


@pytest.mark.nightly
def test_what_a_model_outside_embeds_is_measured_by_what_searches_score(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    make_embedder(db)
    db.execute("select ragdb.embed_corpus('docs', 'hash')")
    fill(db, PROSE)
    embed(db)
    asked = [
        q for (q,) in db.execute("select question from ragdb.gate_questions('docs')").fetchall()
    ]
    # each is nearest to a chunk that has few of its words or none
    for question, vector in zip(asked, ENCODER.encode(PROSE), strict=False):
        db.execute("select ragdb.put_query_embedding('docs', %s, %s)", (question, Reals(vector)))
    for mode in ("lexical", "semantic", "hybrid"):
        assert measured(db, mode) == pytest.approx(searched(db, mode), abs=1e-9)
