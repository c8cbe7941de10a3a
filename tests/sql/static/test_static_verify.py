"""ragdb.verify makes again what a static embedder made, and says what differs."""

from __future__ import annotations

from typing import Any

import pytest

from ragdb.database import Database
from tests.sql.static.test_static_corpora import TEXTS, fill

CHECKS = "{embedders,embeddings}"


def found(db: Database) -> list[tuple[Any, ...]]:
    return db.connection.execute(
        'select v."check", v.severity, v.finding from ragdb.verify(checks => %s) v', (CHECKS,)
    ).fetchall()


EDITS = {
    "the vector of a piece": (
        "update ragdb.static_pieces set embedding = embedding + embedding"
        " where piece = (select min(piece) from ragdb.static_pieces where piece like ' %')",
        ("embedders", "error", "its pieces are not those of its digest"),
    ),
    "the rank of a piece": (
        "update ragdb.static_pieces set rank = rank + 1",
        ("embedders", "error", "its pieces are not those of its digest"),
    ),
    "the longest piece": (
        "update ragdb.static_models set longest = longest + 1",
        ("embedders", "error", "its pieces are not those of its digest"),
    ),
    "what stands between digits": (
        "update ragdb.static_models set splits_digits = not splits_digits",
        ("embedders", "error", "its pieces are not those of its digest"),
    ),
    "the vector of a chunk": (
        "update ragdb.chunk_embeddings e set half = (select o.half from ragdb.chunk_embeddings o"
        " where o.chunk_no = 2 and o.space_id = e.space_id) where chunk_no = 1",
        ("embeddings", "warning", "not what embedder small makes of the text: 1 embedding"),
    ),
    "the text under a vector": (
        "alter table ragdb.documents disable trigger embeddings_follow_titles;"
        " update ragdb.documents set title = 'Another' where doc_no = 1",
        ("embeddings", "warning", "not what embedder small makes of the text: 1 embedding"),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_was_edited_of_an_embedder_or_an_embedding_is_found(
    loaded: Database, name: str
) -> None:
    fill(loaded)
    assert found(loaded) == []
    edit, finding = EDITS[name]
    loaded.connection.execute(edit)
    assert finding in found(loaded)


def test_a_word_that_is_kept_with_another_vector_is_found(loaded: Database) -> None:
    fill(loaded)
    db = loaded.connection
    (word,) = db.execute("select min(word) from ragdb.static_words").fetchone() or ("",)
    db.execute(
        "update ragdb.static_words set embedding = embedding + embedding where word = %s", (word,)
    )
    said = [finding for check, _, finding in found(loaded) if check == "embedders"]
    assert said == ["kept with another vector than that of its pieces: 1 word"]


def test_steps_of_one_row_find_the_same(loaded: Database) -> None:
    fill(loaded)
    fill(loaded, "more")
    loaded.connection.execute(
        "update ragdb.chunk_embeddings set half = half + half where chunk_no > 1"
    )
    state, looked, said = None, {"embedders": 0, "embeddings": 0}, 0
    while True:
        step = loaded.verify_step(state, 1, False, ["embedders", "embeddings"])
        looked[step.check] += step.looked
        said += len(step.findings)
        state = step.next_state
        if state is None:
            break
    assert looked["embeddings"] == 2 * len(TEXTS)
    assert said == 2 * (len(TEXTS) - 1)
