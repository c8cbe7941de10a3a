"""nDCG@10 of what a search does with quotes, signs, typos and chunks of one document.

The first table has a document in a chunk: questions as they are, with a pair of words quoted and a
word signed, and with two neighbouring letters of a word swapped. The second cuts documents by the
chunker and folds ten hits into their documents, with and without `per_document => 1`. It takes
every shared collection with judgements; those of rag_chunking_eval are spans, so that there a
chunk that shares a character with one is right. Of many questions some are drawn by a seed.

    python -m bench.search.quality [--static] [--questions N] [--results FILE] [SET …]
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psycopg

from bench.common import DATA, Connection, corpus_of, fill, parser, publish, records, server
from bench.hybrid.quality import documents, judgements, ndcg
from ragdb.database import Database
from ragdb.server import static

SETS = {
    "beir_scifact": "english",
    "cranfield": "english",
    "rag_anthropic_docs": "english",
    "squad_v1_dev": "english",
    "rag_chunking_eval": "english",
    "xquad/en": "english",
    "xquad/de": "german",
    "xquad/ru": "russian",
    "xquad/tr": "turkish",
    "xquad/ar": "arabic",
    "xquad/hi": "hindi",
    "xquad/th": "simple",
    "xquad/zh": "simple",
    "scale_tech_docs": "english",
}
CUT = ("beir_scifact", "cranfield", "rag_anthropic_docs")
SPANS = "rag_chunking_eval"
Question = tuple[str, str]
Grades = dict[str, dict[str, float]]


def signed(text: str, rng: random.Random) -> str:
    """A question that quotes two of its words and has a sign before another."""
    words = text.split()
    at = rng.randrange(max(1, len(words) - 1))
    words[at : at + 2] = [f'"{" ".join(words[at : at + 2])}"']
    other = rng.randrange(len(words))
    if other != at:
        words[other] = rng.choice("+-") + words[other]
    return " ".join(words)


def swapped(text: str, rng: random.Random) -> str:
    """A question with two neighbouring letters of a word swapped."""
    words = text.split()
    places = [
        (n, i)
        for n, word in enumerate(words)
        if len(word) >= 4 and word.isalpha()
        for i in range(1, len(word) - 1)
        if word[i] != word[i + 1]
    ]
    if places:
        n, i = rng.choice(places)
        word = words[n]
        words[n] = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    return " ".join(words)


def found(db: Connection, corpus: str, query: str, **how: Any) -> list[str]:
    """The documents of ten hits, each once; their chunks where spans are judged."""
    named = "".join(f", {name} => %({name})s" for name in how)
    name = "chunk_id" if corpus == SPANS.replace("_", "-") else "substr(source, 14)"
    rows = db.execute(
        f"select {name} from ragdb.search(%(corpus)s, %(query)s{named}) order by rank",
        {"corpus": corpus, "query": query, **how},
    )
    return list(dict.fromkeys(row[0] for row in rows))


def put_spans(db: Connection, corpus: str) -> tuple[list[Question], Grades]:
    """The questions about documents that the chunker cuts, and the chunks that are right."""
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    for path in sorted((DATA / SPANS / "corpora").iterdir()):
        db.execute("select from ragdb.put_text(%s, %s, %s)", (corpus, path.name, path.read_text()))
    db.execute("select ragdb.optimize_corpus(%s)", (corpus,))
    chunks = db.execute(
        "select c.source, c.chunk_id, c.start_offset, c.end_offset from ragdb.chunks c"
        " join ragdb.corpora p using (corpus_id) where p.name = %s",
        (corpus,),
    ).fetchall()
    asked, grades = [], {}
    for question in records(SPANS, "questions.jsonl"):
        spans = [(r["start_index"], r["end_index"]) for r in question["references"]]
        asked.append((question["_id"], question["text"]))
        grades[question["_id"]] = {
            chunk_id: 1.0
            for source, chunk_id, start, end in chunks
            if source == question["corpus"] and any(a < end and start < b for a, b in spans)
        }
    return asked, grades


def put(db: Connection, name: str, corpus: str) -> tuple[list[Question], Grades]:
    """A corpus of a collection with a document in a chunk; its questions, and what is right."""
    if name == SPANS:
        return put_spans(db, corpus)
    fill(db, corpus, documents(name), text_config=SETS[name])
    grades = judgements(name)
    return [
        (q["_id"], q["text"]) for q in records(name, "queries.jsonl") if q["_id"] in grades
    ], grades


def mean(
    db: Connection,
    corpus: str,
    asked: Sequence[Question],
    grades: dict[str, dict[str, float]],
    change: Callable[[str, random.Random], str] = lambda text, _: text,
    **how: Any,
) -> float:
    rng = random.Random(1)
    return float(
        np.mean([ndcg(found(db, corpus, change(text, rng), **how), grades[q]) for q, text in asked])
    )


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("sets", nargs="*", default=list(SETS))
    flags.add_argument("--questions", type=int, default=1000, help="of a collection, at most")
    flags.add_argument("--static", action="store_true", help="hybrid, by the static embedder")
    given = flags.parse_args()
    whole, cut = [], []
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        if given.static:
            static.load(Database(db))
        for name in given.sets:
            corpus = corpus_of(name)
            asked, grades = put(db, name, corpus)
            if len(asked) > given.questions:
                asked = random.Random(1).sample(asked, given.questions)
            cells = [
                mean(db, corpus, asked, grades),
                mean(db, corpus, asked, grades, syntax="web"),
                mean(db, corpus, asked, grades, signed),
                mean(db, corpus, asked, grades, signed, syntax="web"),
                mean(db, corpus, asked, grades, swapped, typos=False),
                mean(db, corpus, asked, grades, swapped),
                mean(db, corpus, asked, grades, typos=False),
            ]
            values = " | ".join(f"{cell:.4f}" for cell in cells)
            whole.append(f"| {name} | {len(asked)} | {values} |")
            print(whole[-1], flush=True)
            if name not in CUT:
                continue
            db.execute("select ragdb.create_corpus(%s)", (f"{corpus}-cut",))
            for record in records(name):
                text = record["text"] if record["text"].strip() else record.get("title", "")
                if text.strip():
                    db.execute(
                        "select from ragdb.put_text(%s, %s, %s, title => %s)",
                        (
                            f"{corpus}-cut",
                            f"corpus.jsonl#{record['_id']}",
                            text,
                            record.get("title") or None,
                        ),
                    )
            db.execute("select ragdb.optimize_corpus(%s)", (f"{corpus}-cut",))
            ((chunks,),) = db.execute(
                "select chunks from ragdb.list_corpora() where name = %s", (f"{corpus}-cut",)
            ).fetchall()
            cells = [
                mean(db, f"{corpus}-cut", asked, grades),
                mean(db, f"{corpus}-cut", asked, grades, per_document=1),
                mean(db, f"{corpus}-cut", asked, grades, per_document=1, collapse=True),
                mean(db, f"{corpus}-cut", asked, grades, k=40),
            ]
            values = " | ".join(f"{cell:.4f}" for cell in cells)
            cut.append(f"| {name} | {chunks} | {values} |")
            print(cut[-1], flush=True)
    publish(
        given.results,
        "What questions look like",
        f"{'hybrid by the static embedder' if given.static else 'lexical'}, nDCG@10, one seed.",
        [
            "| set | questions | plain | web | with quotes and signs: plain | the same: web"
            " | two letters swapped: typos off | the same: typos on | as they are: typos off |",
            "|---|---|---|---|---|---|---|---|---|",
            *whole,
            "",
            "| set, cut into chunks | chunks | ten hits | per_document 1 | and collapse"
            " | forty hits folded |",
            "|---|---|---|---|---|---|",
            *cut,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
