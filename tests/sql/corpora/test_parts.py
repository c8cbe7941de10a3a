"""Parts of a corpus rank as the corpus in one piece: the same chunks, ids, order and scores.

The corpus in one piece is made first, asked, and dropped; then parts of one of the same name are
given the same documents, so that also the ids of chunks, by which what ties is ordered, are equal.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb import errors
from ragdb.client.calling import Reals
from tests.embedding import ENCODER, document, embed, make_embedder, one

Connection = psycopg.Connection[Any]
PARTS = ["part-0", "part-1", "part-2"]
SHOWN = (
    "rank, chunk_id, source, score, lexical_score, semantic_score, lexical_rank, semantic_rank, "
    "bm25, coverage, text, mode, is_exact"
)
WORDS = [
    f"{a}{b}{c}"
    for a in ("br", "cl", "dr", "fl", "gr", "pl", "sm", "tr")
    for b in ("a", "e", "i", "o", "u")
    for c in ("bb", "ckle", "dd", "mp", "nd", "rt", "zz")
]


def part_of(uri: str) -> str:
    return PARTS[zlib.crc32(uri.encode()) % len(PARTS)]


class Collection:
    """Documents that come, change and go at random, the same for every corpus."""

    def __init__(self, db: Connection, documents: int = 120, seed: int = 7) -> None:
        self.db, self.documents = db, documents
        self.rng = random.Random(seed)

    def text(self) -> str:
        # few words are frequent, and some texts are equal, so that scores tie
        if self.rng.random() < 0.1:
            return f"{WORDS[0]} {WORDS[3]}"
        places = [int(len(WORDS) * self.rng.random() ** 3) for _ in range(self.rng.randint(2, 30))]
        return " ".join(WORDS[place] for place in places)

    def made(self, number: int) -> dict[str, Any]:
        made = document(f"doc-{number}", self.text(), metadata={"half": number % 2})
        first = made["chunks"][0]
        more = self.text()
        start = first["end"] + 2
        made["chunks"] += [{**first, "text": more, "start": start, "end": start + len(more)}]
        return made

    def write(self, divided: bool, *optimized: str) -> None:
        """Three batches of upserts and deletes; what is optimized is so before the last."""
        for batch in range(3):
            numbers = (
                list(range(self.documents))
                if batch == 0
                else self.rng.sample(range(self.documents + 20), self.documents // 8)
            )
            documents = [self.made(number) for number in numbers]
            gone = [f"doc-{number}" for number in self.rng.sample(range(self.documents), 5)]
            for corpus in PARTS if divided else ["whole"]:
                self.db.execute(
                    "select count(*) from ragdb.put_documents(%s, %s)",
                    (
                        corpus,
                        Jsonb([d for d in documents if not divided or part_of(d["uri"]) == corpus]),
                    ),
                )
                self.db.execute(
                    "select ragdb.delete_sources(%s, %s)",
                    (corpus, [uri for uri in gone if not divided or part_of(uri) == corpus]),
                )
            embed(self.db)
            for corpus in optimized if batch == 1 else ():
                self.db.execute("select ragdb.optimize_corpus(%s)", (corpus,))


def questions(count: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(3)
    for number in range(count):
        words = [rng.choice(WORDS) for _ in range(rng.randint(1, 5))]
        if number % 5 == 0:
            words[0] += "x"  # nobody has it: what was meant is looked for
        how: dict[str, Any] = {"query": " ".join(words), "k": rng.choice([3, 10, 30])}
        how["mode"] = ["lexical", "semantic", "hybrid", "hybrid"][number % 4]
        if number % 8 == 3:
            how["fusion"] = "rrf"
        if number % 3 == 0:
            how["filter"] = Jsonb({"half": number % 2})
        if number % 7 == 0:
            how.update(query=f"+{words[-1]} {how['query']} -{WORDS[1]}", syntax="web")
        if number % 11 == 0:
            how.update(per_document=1, collapse=True)
        if how["mode"] != "lexical":
            how["query_embedding"] = Reals(ENCODER.encode([" ".join(words)]))
        yield how


def ask(db: Connection, how: dict[str, Any], corpus: str = "whole") -> list[Any]:
    named = "".join(f", {key} => %({key})s" for key in how)
    return db.execute(
        f"select {SHOWN} from ragdb.search(%(corpus)s{named}) order by rank",
        {"corpus": corpus, **how},
    ).fetchall()


def make_parts(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('whole')")
    db.execute("select ragdb.embed_corpus('whole', 'hash')")
    for part in PARTS:
        db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))


COUNTED = (
    "select * from ragdb.count_matches('whole', %s)",
    "select * from ragdb.facets('whole', %s, '{half,source}')",
)


def test_parts_rank_as_the_corpus_in_one_piece(db: Connection) -> None:
    make_embedder(db)
    db.execute("select ragdb.create_corpus('whole')")
    db.execute("select ragdb.embed_corpus('whole', 'hash')")
    synonyms = "select ragdb.add_synonyms('whole', %s)"
    db.execute(synonyms, ([WORDS[2], WORDS[9]],))
    Collection(db).write(False, "whole")
    asked = list(questions(40))
    expected = [ask(db, how) for how in asked]
    counted = [db.execute(query, (how["query"],)).fetchall() for query in COUNTED for how in asked]
    db.execute("select ragdb.drop_corpus('whole')")

    make_parts(db)
    db.execute(synonyms, ([WORDS[2], WORDS[9]],))
    # a part that is optimized alone keeps the pivot of all
    Collection(db).write(True, "whole", *PARTS)
    db.execute("select ragdb.sync_statistics('whole')")
    for how, hits in zip(asked, expected, strict=True):
        assert ask(db, how) == hits, how
    assert counted == [
        db.execute(query, (how["query"],)).fetchall() for query in COUNTED for how in asked
    ]
    assert sum(len(hits) for hits in expected) > 200
