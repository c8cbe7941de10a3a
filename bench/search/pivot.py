"""What a pivot costs that is not the mean length of chunks: nDCG@10 by words, by how far it is off.

python -m bench.search.pivot [SET …]
"""

from __future__ import annotations

import random

import numpy as np
import psycopg

from bench.common import corpus_of, parser, publish, server
from bench.search.quality import SETS, mean, put

FACTORS = (0.75, 0.8, 0.87, 0.91, 1.0, 1.1, 1.15, 1.25, 1.33)
QUESTIONS = 500


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("sets", nargs="*", default=list(SETS))
    given = flags.parse_args()
    found = []
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        for name in given.sets:
            corpus = corpus_of(name)
            asked, grades = put(db, name, corpus)
            if len(asked) > QUESTIONS:
                asked = random.Random(1).sample(asked, QUESTIONS)
            cells = []
            for factor in FACTORS:
                for off in (
                    "select ragdb_internal.optimize(c, %s * c.lexeme_count / c.chunks)"
                    " from ragdb.corpora c where name = %s",
                    "update ragdb.corpora set pivot = %s::float8 * lexeme_count / chunks"
                    " where name = %s",
                ):
                    db.execute(off, (factor, corpus))
                cells.append(mean(db, corpus, asked, grades))
            found.append((name, len(asked), cells))
            print(name, len(asked), *(f"{cell:.4f}" for cell in cells), flush=True)
    gains = np.mean([np.array(cells) - cells[FACTORS.index(1)] for *_, cells in found], axis=0)
    publish(
        given.results,
        "How far the pivot may be off",
        "lexical, nDCG@10, by the pivot divided by the mean length of chunks.",
        [
            "| set | questions | " + " | ".join(map(str, FACTORS)) + " |",
            "|---" * (2 + len(FACTORS)) + "|",
            *(
                f"| {name} | {questions} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |"
                for name, questions, cells in found
            ),
            "| mean gain | | " + " | ".join(f"{gain:+.4f}" for gain in gains) + " |",
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
