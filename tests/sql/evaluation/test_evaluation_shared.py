"""Evals over the shared collections: figures of ir-measures, labels that survive re-chunking."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.embedding import put

pytestmark = pytest.mark.shared
measures: Any = ir_measures  # untyped

CONTRACT = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK={k}
rag name=A retriever=R
  ragEval name=V metric={metric} threshold=0.3 mode=contract
"""


@pytest.fixture(autouse=True)
def _planned_anew(db: Connection) -> None:
    """Plans that tests before made over empty tables are not for a thousand documents."""
    db.execute("discard plans")


def prepare(db: Connection, metric: str, k: int) -> None:
    db.execute(
        "select * from ragdb.apply_contract(%s, %s)", (CONTRACT.format(metric=metric, k=k), "c")
    )


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(db: Connection) -> Any:
    row = db.execute("select run_id, stale_labels, status from ragdb.run_eval('A')").fetchone()
    assert row is not None
    return row


def metrics(db: Connection, run_id: Any) -> dict[str, float]:
    rows = db.execute(
        "select metric, value from ragdb.eval_metrics(%s) where case_no = 0", (run_id,)
    )
    return dict(rows.fetchall())


# by day a made one: test_rank_metrics_equal_ir_measures
@pytest.mark.nightly
@pytest.mark.parametrize("collection", ["cranfield", "beir_scifact"])
def test_a_collection_scores_what_ir_measures_says(
    db: Connection, shared: Path, collection: str
) -> None:
    folder = shared / "data" / collection
    prepare(db, "ndcg@10", 100)
    documents = records(folder / "corpus.jsonl")
    put(db, {d["_id"]: f"{d.get('title', '')} {d['text']}".strip() or "-" for d in documents})
    cases = {
        q["_id"]: {"name": q["_id"], "query": q["text"], "labels": []}
        for q in records(folder / "queries.jsonl")
    }
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, source, grade = line.split("\t")
        cases[query]["labels"].append({"source": source, "grade": int(grade)})
    judged = [case for case in cases.values() if case["labels"]]
    db.execute("select * from ragdb.import_eval('A', 'V', %s)", (Jsonb(judged),))
    run_id, stale, status = run(db)
    assert (stale, status) == (0, "passed")
    lines = {}
    for what in ("run", "qrels"):
        rows = db.execute("select ragdb.export_trec(%s, %s)", (run_id, what)).fetchall()
        lines[what] = "\n".join(line for (line,) in rows)
    wanted = {
        "ndcg@10": measures.nDCG @ 10,
        "recall@10": measures.R @ 10,
        "mrr": measures.RR,
        "map": measures.AP,
    }
    theirs = measures.calc_aggregate(
        list(wanted.values()),
        list(measures.read_trec_qrels(lines["qrels"])),
        list(measures.read_trec_run(lines["run"])),
    )
    ours = metrics(db, run_id)
    for name, measure in wanted.items():
        assert ours[name] == pytest.approx(theirs[measure], abs=1e-9)


@pytest.mark.nightly
def test_790_spans_survive_five_chunkings(db: Connection, shared: Path) -> None:
    folder = shared / "data/rag_chunking_eval"
    prepare(db, "recall@10", 10)

    def chunk(max_tokens: int, overlap: int) -> None:
        for file in sorted((folder / "corpora").glob("*.md")):
            db.execute(
                "select * from ragdb.put_text('docs', %s, %s, max_tokens => %s, overlap => %s)",
                (file.name, file.read_text(), max_tokens, overlap),
            )

    chunk(200, 0)
    cases = [
        {
            "name": q["_id"],
            "query": q["text"],
            "labels": [
                {"source": q["corpus"], "start": r["start_index"], "end": r["end_index"]}
                for r in q["references"]
            ],
        }
        for q in records(folder / "questions.jsonl")
    ]
    imported = db.execute("select * from ragdb.import_eval('A', 'V', %s)", (Jsonb(cases),))
    assert imported.fetchone() == (472, 790, 0)
    for max_tokens, overlap in ((200, 0), (100, 20), (240, 48), (400, 0), (800, 100)):
        db.execute("select ragdb.prune_sources('docs', '', '{}')")
        chunk(max_tokens, overlap)
        run_id, stale, _ = run(db)
        assert stale == 0
        assert metrics(db, run_id)["recall@10"] > 0.5


@pytest.mark.nightly
def test_a_contract_of_forty_cases_over_real_documents_passes_and_can_fail(
    db: Connection, shared: Path
) -> None:
    folder = shared / "data/docs/owasp_cheatsheets"
    files = {}
    for file in sorted(folder.rglob("*.md")):
        title = file.read_text().lstrip().split("\n")[0].lstrip("# ").strip()
        if title.isascii() and '"' not in title and len(title.split()) > 2:
            files[file.name] = (title, file.read_text()[:4_000])  # or they take long to cut
    text = CONTRACT.format(metric="hitRate", k=3) + "  grounding requireCitations=true\n"
    db.execute("select ragdb.create_corpus('docs')")
    bodies = [body for _, body in files.values()]
    db.execute("select * from ragdb.put_texts('docs', %s, ids => %s)", (bodies, list(files)))
    cases = 0
    evaluated = []
    for name, (title, _) in files.items():
        hits = db.execute(
            "select source, score, content_hash, text from ragdb.search('docs', %s, 4)", (title,)
        ).fetchall()
        scores = [hit[1] for hit in hits]
        # a threshold between the third and the fourth
        apart = len(hits) == 4 and scores[0] > scores[1] and scores[2] - scores[3] > 0.002
        if apart and hits[0][0] == name and cases < 45:
            cases += 1
            between = (scores[2] + scores[3]) / 2
            (word, *_) = re.findall(r"[A-Za-z]{4,}", hits[0][3])
            low, high = scores[0] * 0.9, min(1, scores[0] * 1.1)
            evaluated.append(
                f'    ragCase name="{name}" query="{title}" topK=4 chunkCount=3'
                f" minScore={between:.6f}\n"
                f'      ragAssert kind=topSourceEq value="{name}" required=true\n'
                f"      ragAssert kind=topScoreGte threshold={low:.3f} required=true\n"
                f"      ragAssert kind=scoreLte threshold={high:.3f} quantifier=all required=true\n"
                f"      ragAssert kind=chunkHash value={hits[0][2]} required=true\n"
                f"      ragAssert kind=contains value={word} required=true\n"
                f"      ragAssert kind=citesRequired required=true\n"
            )
    head, grounding = text.rsplit("  grounding", 1)
    text = head + "".join(evaluated) + "  grounding" + grounding
    db.execute("select * from ragdb.apply_contract(%s, %s)", (text, "c"))
    assert cases >= 40
    row = db.execute("select status, assertions, reasons from ragdb.run_eval('A')").fetchone()
    assert row is not None
    assert row[1] >= 120
    broken = db.execute(
        "select name, applies, caught from ragdb.challenge_eval('A') where subject = 'retriever'"
    ).fetchall()
    assert row[0] == "passed", row
    assert [name for name, applies, caught in broken if not (applies and caught)] == []
    assert len(broken) == 19
