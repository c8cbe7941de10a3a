"""nDCG@10 of what a search does with quotes, signs, typos and chunks of one document.

The first table has a document in a chunk: questions as they are, with a pair of words quoted and a
word signed, and with two neighbouring letters of a word swapped. The second cuts documents by the
chunker and folds ten hits into their documents, with and without `per_document => 1`.

    python -m bench.search.quality [--results FILE] [SET …]
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psycopg

from bench.common import Connection, fill, parser, publish, records, server
from bench.hybrid.quality import documents, judgements, ndcg

SETS = ("beir_scifact", "cranfield", "rag_anthropic_docs", "squad_v1_dev")
CUT = ("beir_scifact", "cranfield", "rag_anthropic_docs")
Question = tuple[str, str]


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
    """The documents of ten hits, each once."""
    named = "".join(f", {name} => %({name})s" for name in how)
    rows = db.execute(
        "select substr(source, strpos(source, '#') + 1)"
        f" from ragdb.search(%(corpus)s, %(query)s{named}) order by rank",
        {"corpus": corpus, "query": query, **how},
    )
    return list(dict.fromkeys(row[0] for row in rows))


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
    flags.add_argument("sets", nargs="*", default=SETS)
    given = flags.parse_args()
    whole, cut = [], []
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        for name in given.sets:
            corpus = name.replace("_", "-")
            fill(db, corpus, documents(name))
            grades = judgements(name)
            asked = [
                (q["_id"], q["text"]) for q in records(name, "queries.jsonl") if q["_id"] in grades
            ]
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
                        (f"{corpus}-cut", f"c#{record['_id']}", text, record.get("title") or None),
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
        "lexical, nDCG@10, one seed.",
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
