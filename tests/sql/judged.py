"""How well the searches of a shared collection find what its judges found."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import Qrel, ScoredDoc, nDCG

from tests.conftest import Connection


def records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def ndcg(db: Connection, corpus: str, data: Path, step: int = 1) -> float:
    """nDCG@10 over every step-th question that was judged."""
    with (data / "qrels.tsv").open() as lines:
        judged = [
            Qrel(row["query-id"], row["corpus-id"], int(row["score"]))
            for row in csv.DictReader(lines, delimiter="\t")
        ]
    questions = {r["_id"]: r["text"] for r in records(data / "queries.jsonl")}
    asked = sorted({q.query_id for q in judged})[::step]
    run = [
        ScoredDoc(query, source, -float(rank))
        for query in asked
        for rank, source in db.execute(
            "select rank, source from ragdb.search(%s, %s, 10)", (corpus, questions[query])
        )
    ]
    some = set(asked)
    measured = ir_measures.calc_aggregate(
        [nDCG @ 10], [q for q in judged if q.query_id in some], run
    )
    return float(measured[nDCG @ 10])
