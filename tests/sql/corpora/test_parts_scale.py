"""Eight parts of real manuals rank as the manuals in one piece, after edits too."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import ENCODER, claim, complete, make_embedder
from tests.sql.corpora.test_parts import ask

pytestmark = [pytest.mark.nightly, pytest.mark.shared]

CHUNKS = int(os.environ.get("RAGDB_TEST_PARTS_CHUNKS", "40000"))  # of the 207,712 that there are
QUESTIONS = 300
PARTS = [f"part-{n}" for n in range(8)]
# a corpus of 10,000 chunks or more keeps a pivot that is nearly the mean: parts are given it
PIVOT = "select pivot from ragdb.corpus_info('whole')"
OPTIMIZE = "select ragdb.optimize_corpus('whole', %s)"


def manuals(folder: Path) -> Iterator[dict[str, Any]]:
    """A document for each file, of as many chunks as it has there."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt") as lines:
        records = itertools.islice(map(json.loads, lines), CHUNKS)
        for number, (uri, found) in enumerate(
            itertools.groupby(records, lambda record: record["_id"].split("#")[0])
        ):
            texts = [record["text"] for record in found if record["text"].strip()]
            if not texts:
                continue
            yield manual(uri, texts, {"half": number % 2})


def manual(uri: str, texts: list[str], metadata: dict[str, Any]) -> dict[str, Any]:
    made = text_document(uri, "\n".join(texts), metadata=metadata)
    (first,), made["chunks"], start = made["chunks"], [], 0
    for text in texts:
        end = start + len(text)
        made["chunks"].append({**first, "text": text, "start": start, "end": end})
        start = end + 1
    return made


def write(
    homes: dict[str, Connection], documents: list[dict[str, Any]], optimize: Callable[[], object]
) -> None:
    """Load, optimize, then edit at random and take away, always the same; each corpus in its home.

    Homes work at once.
    """
    rng = random.Random(5)
    dbs = list(dict.fromkeys(homes.values()))

    def each(act: Callable[[str, list[dict[str, Any]]], object], of: list[dict[str, Any]]) -> None:
        def at(db: Connection) -> None:
            for number, (corpus, home) in enumerate(homes.items()):
                if home is not db:
                    continue
                own = [d for d in of if zlib.crc32(d["uri"].encode()) % len(homes) == number]
                for start in range(0, len(own), 200):
                    act(corpus, own[start : start + 200])

        with ThreadPoolExecutor(len(dbs)) as threads:
            list(threads.map(at, dbs))

    def put(corpus: str, own: list[dict[str, Any]]) -> None:
        homes[corpus].execute(
            "select count(*) from ragdb.put_documents(%s, %s)", (corpus, Jsonb(own))
        )

    def delete(corpus: str, own: list[dict[str, Any]]) -> None:
        sources = [d["uri"] for d in own]
        homes[corpus].execute("select ragdb.delete_sources(%s, %s)", (corpus, sources))

    each(put, documents)
    for db in dbs:
        db.execute("vacuum analyze")
    optimize()
    edited = []
    for one, other in zip(rng.sample(documents, 200), rng.sample(documents, 200), strict=True):
        texts = [chunk["text"] for chunk in other["chunks"]]
        edited.append(manual(one["uri"], texts, one["metadata"]))
    each(put, edited)
    each(delete, rng.sample(documents, 100))
    for db in dbs:
        while rows := claim(db, count=1000):
            complete(db, rows)


def questions(folder: Path) -> Iterator[dict[str, Any]]:
    lines = (folder / "queries.jsonl").read_text().splitlines()
    for number, line in enumerate(random.Random(9).sample(lines, QUESTIONS)):
        query = json.loads(line)["text"]
        how: dict[str, Any] = {"query": query, "k": [10, 5, 40][number % 3]}
        how["mode"] = ["lexical", "semantic", "hybrid"][number % 3]
        if number % 6 == 5:
            how["fusion"] = "rrf"
        if number % 4 == 0:
            how["filter"] = Jsonb({"half": 1})
        if how["mode"] != "lexical":
            how["query_embedding"] = Reals(ENCODER.encode([query]))
        yield how


def test_eight_parts_of_manuals_rank_as_the_manuals_in_one_piece(clone: str, shared: Path) -> None:
    folder = shared / "data/scale_tech_docs"
    documents, asked = list(manuals(folder)), list(questions(folder))
    with psycopg.connect(clone, autocommit=True) as db:
        make_embedder(db)
        db.execute("select ragdb.create_corpus('whole')")
        db.execute("select ragdb.embed_corpus('whole', 'hash')")
        write({"whole": db}, documents, lambda: db.execute(OPTIMIZE, (None,)))
        pivot = db.execute(PIVOT).fetchall()[0]
        expected = [ask(db, how) for how in asked]
        db.execute("select ragdb.drop_corpus('whole')")

        db.execute("select ragdb.create_corpus('whole')")
        db.execute("select ragdb.embed_corpus('whole', 'hash')")
        for part in PARTS:
            db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))
        write(dict.fromkeys(PARTS, db), documents, lambda: db.execute(OPTIMIZE, pivot))
        db.execute("select ragdb.sync_statistics('whole')")
        for how, hits in zip(asked, expected, strict=True):
            assert ask(db, how) == hits, how["query"]
    assert sum(len(hits) for hits in expected) > 10 * QUESTIONS
