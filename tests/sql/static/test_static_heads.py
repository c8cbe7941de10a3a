"""What a title and a heading path give to the embedding of a chunk, against a twin."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from ragdb.database import Database
from ragdb.server import static
from tests.conftest import OLDER_BY_NIGHT
from tests.documents import text_document
from tests.sql.lexical_twin import put
from tests.sql.static.conftest import PROSE
from tests.static_twin import Twin

# without a head, with one no word of which is known, shorter and longer than most texts
TITLES = ["", "检索", "Chunker", "The life of a question", PROSE[3], "word " * 40]
HEADINGS: list[list[str]] = [[], ["Paths"], ["Paths", "Words of both legs"], ["", "检索"]]
TEXTS = ["检索 模型", "a", "word", "No.", "The life of a question", *PROSE[5:30], " ".join(PROSE)]


def documents() -> list[dict[str, Any]]:
    draw, made = random.Random(11), []
    for n, title in enumerate(TITLES * 3):
        texts = draw.sample(TEXTS, 9)
        chunks, at = [], 0
        for text in texts:
            heading = draw.choice(HEADINGS)
            chunks.append(
                {"text": text, "start": at, "end": at + len(text), "tokens": 1, "heading": heading}
            )
            at += len(text)
        made.append(text_document(f"{n}.txt", "".join(texts), title=title, chunks=chunks))
    return made


@OLDER_BY_NIGHT
def test_a_head_is_made_a_third_as_long_as_its_text(
    any_db: psycopg.Connection[Any], bpe_folder: Path, small_twin: Twin
) -> None:
    static.load(Database(any_db), "small", str(bpe_folder))
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, "docs", documents())
    found = any_db.execute(
        "select d.title, c.heading, c.text, e.half::real[] from ragdb.chunks c"
        " join ragdb.documents d using (corpus_id, doc_no)"
        " join ragdb.chunk_embeddings e using (corpus_id, chunk_no)"
    ).fetchall()
    assert len(found) == 9 * 3 * len(TITLES)
    for title, heading, text, half in found:
        head = "\n".join([title or "", *(heading or [])])
        expected = small_twin.chunk(head, text)
        np.testing.assert_allclose(half, expected, atol=1e-5, err_msg=ascii((head, text)))


def test_a_prefix_of_passages_is_of_the_text(
    db: psycopg.Connection[Any], bpe_folder: Path, small_twin: Twin
) -> None:
    static.load(Database(db), "small", str(bpe_folder))
    db.execute("update ragdb.embedders set passage_prefix = 'passage: ' where name = 'small'")
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", [text_document("a", "Words of a text.", title="Both legs")])
    ((half,),) = db.execute("select half::real[] from ragdb.chunk_embeddings").fetchall()
    expected = small_twin.chunk("Both legs", "passage: Words of a text.")
    np.testing.assert_allclose(half, expected, atol=1e-5)
