"""nDCG@10 by words, by static meaning and by both, and how much of it the weight decides.

Every document is one chunk of a corpus whose embedder is the packaged static one; nothing runs
beside the database. The queries of each collection are cut into halves by a seed: the weight that
is best on the first halves of the English collections is chosen there and shown on the second.
`--library` adds the library's own vectors, fused by the same weight.

    python -m bench.hybrid.static [--seed N] [--library] [SET …]
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import psycopg

from bench.common import Connection, corpus_of, fill, parser, publish, records, server
from bench.hybrid.quality import documents, judgements, ndcg
from ragdb.database import Database
from ragdb.errors import ModeNotAvailable
from ragdb.server import static

SETS = {
    "beir_scifact": ("english", 300),
    "cranfield": ("english", 225),
    "rag_anthropic_docs": ("english", 100),
    "squad_v1_dev": ("english", 1000),
    "xquad/en": ("english", 400),
    "xquad/de": ("german", 400),
    "xquad/ru": ("russian", 400),
    "xquad/zh": ("simple", 400),
}
WEIGHTS = (0.6, 0.65, 0.7, 0.75, 0.8)


def library(texts: list[str]) -> Any:
    """The embeddings that the package itself makes, without importing its dependencies."""
    import json
    import struct

    from tokenizers import Tokenizer

    from ragdb.models.static import PACKAGE, _folder

    folder = _folder(PACKAGE)
    cut = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    raw = (folder / "weights/l2_supercat_256.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    tensor = json.loads(raw[8 : 8 + length])["embedding.weight"]
    start, end = (8 + length + n for n in tensor["data_offsets"])
    vectors = np.frombuffer(raw[start:end], "<f2").reshape(tensor["shape"]).astype(np.float32)
    found = np.stack([vectors[cut.encode(text).ids].mean(axis=0) for text in texts])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def own_way(name: str, asked: list[Any], words: list[dict[str, float]], weight: float) -> Any:
    """nDCG@10 by the library's vectors alone, and fused with the scores by words."""
    rows = list(documents(name))
    ids = [row["uri"].split("#", 1)[1] for row in rows]
    texts = [
        "\n".join(filter(None, [row.get("title"), *(c["text"] for c in row["chunks"])]))
        for row in rows
    ]
    near = np.maximum(library([q["text"] for q in asked]) @ library(texts).T, 0)
    grades = judgements(name)
    alone, both = [], []
    for query, scores, lexical in zip(asked, near, words, strict=True):
        fused = {
            d: weight * lexical.get(d, 0) + (1 - weight) * float(s)
            for d, s in zip(ids, scores, strict=True)
        }
        by_meaning = [ids[n] for n in np.argsort(-scores, kind="stable")[:10]]
        alone.append(ndcg(by_meaning, grades[query["_id"]]))
        best = sorted(fused, key=lambda d: (-fused[d], d))[:10]
        both.append(ndcg(best, grades[query["_id"]]))
    return alone, both


def gains(
    db: Connection,
    corpus: str,
    asked: list[Any],
    grades: dict[str, dict[str, float]],
    mode: str | None,
    weight: float | None = None,
) -> tuple[Any, int]:
    """nDCG@10 of each query, and how many were searched by words though nobody asked for that."""
    found, by_words = [], 0
    for query in asked:
        try:
            hits = db.execute(
                "select substr(source, 14), mode from ragdb.search(%s, %s, 10, mode => %s,"
                " lexical_weight => %s) order by rank",
                (corpus, query["text"], mode, weight),
            ).fetchall()
        except ModeNotAvailable:  # by meaning alone, and no word is known
            hits = []
        by_words += mode is None and bool(hits) and hits[0][1] == "lexical"
        found.append(ndcg([hit[0] for hit in hits], grades[query["_id"]]))
    return np.array(found), by_words


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("sets", nargs="*", default=list(SETS))
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--library", action="store_true")
    given = flags.parse_args()
    table, halves, own_table = [], {}, []
    gained: list[Any] = []  # of each query of an English collection
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        door = Database(db)
        static.load(door)
        for name in given.sets:
            config, most = SETS[name]
            corpus = corpus_of(name)
            fill(db, corpus, documents(name), text_config=config)
            grades = judgements(name)
            asked = [q for q in records(name, "queries.jsonl") if q["_id"] in grades][:most]
            of = (db, corpus, asked, grades)
            lexical, _ = gains(*of, "lexical")
            hybrid, by_words = gains(*of, None)
            cells = [name, f"{len(asked)}", f"{lexical.mean():.4f}"]
            if config == "english":
                semantic, _ = gains(*of, "semantic")
                cells.append(f"{np.mean(semantic):.4f}")
                gained.append(hybrid - lexical)
                order = list(range(len(asked)))
                random.Random(given.seed).shuffle(order)
                first, second = order[: len(order) // 2], order[len(order) // 2 :]
                by_weight = {w: gains(*of, None, w)[0] - lexical for w in WEIGHTS}
                halves[name] = {
                    w: (g[first].mean(), g[second].mean()) for w, g in by_weight.items()
                }
                if given.library:
                    words: list[dict[str, float]] = [
                        dict(
                            db.execute(
                                "select substr(source, 14), score from ragdb.search(%s, %s, 1000,"
                                " mode => 'lexical')",
                                (corpus, query["text"]),
                            ).fetchall()
                        )
                        for query in asked
                    ]
                    alone, both = own_way(name, asked, words, 0.75)
                    own_table.append(
                        f"| {name} | {np.mean(semantic):.4f} | {np.mean(alone):.4f}"
                        f" | {hybrid.mean():.4f} | {np.mean(both):.4f} |"
                    )
                    print(own_table[-1], flush=True)
            else:
                cells.append("")
            cells += [
                f"{hybrid.mean():.4f}",
                f"{hybrid.mean() - lexical.mean():+.4f}",
                f"{by_words}",
            ]
            table.append(f"| {' | '.join(cells)} |")
            print(table[-1], flush=True)
    lines = [
        "| set | queries | lexical | static | hybrid | gain | by words only |",
        "|---|---|---|---|---|---|---|",
        *table,
    ]
    if halves:
        error = math.sqrt(sum(g.var() / len(g) for g in gained)) / len(gained)
        mean = {
            w: [float(np.mean([h[w][n] for h in halves.values()])) for n in (0, 1)] for w in WEIGHTS
        }
        chosen = max(WEIGHTS, key=lambda w: mean[w][0])
        lines += [
            "",
            f"Mean gain over the English collections {np.mean([g.mean() for g in gained]):+.4f},"
            f" standard error {error:.4f}.",
            "",
            f"Weight of words chosen on one half of the queries (seed {given.seed}): {chosen};"
            f" mean gain there {mean[chosen][0]:+.4f}, on the other half {mean[chosen][1]:+.4f}."
            f" By weight, on the other half: "
            + ", ".join(f"{w}: {mean[w][1]:+.4f}" for w in WEIGHTS),
        ]
    if own_table:
        lines += [
            "",
            "| set | static | the library's own | hybrid | hybrid by the library's own |",
            "|---|---|---|---|---|",
            *own_table,
        ]
    publish(
        given.results,
        "Static embeddings",
        "The packaged static embedder, one chunk a document, nDCG@10, default settings.",
        lines,
        own.version,
    )


if __name__ == "__main__":
    main()
