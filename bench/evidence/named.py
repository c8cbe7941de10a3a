"""How often `ragdb ask` answers what is asked of another thing or year than its evidence speaks of.

Each collection is asked questions of its own that have a name (a capital within) or a number of two
digits or more, and the same with that name from another question of the collection, or the number
moved by some. Counted: questions of its own that are answered, and those of them whose first
citation is in a paragraph that answers; and the changed ones that are answered. Some of these a
collection still answers, where "the API" takes the place of "Claude" or both are right.

    python -m bench.evidence.named [--seed N] [--questions N] [SET …]
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import psycopg

from bench.common import Connection, corpus_of, fill, parser, publish, records, server
from bench.evidence.gate import CONFIGS, own_documents, questions
from bench.hybrid.quality import judgements
from ragdb.database import Database
from ragdb.server import static

SETS = ("squad_v1_dev", "rag_anthropic_docs", "xquad/de", "xquad/ru")
WORD = r"[A-ZÄÖÜА-Я][\w.'’-]*\w"
NAME = re.compile(rf"(?<=[\w,;] ){WORD}(?: {WORD})*")
NUMBER = re.compile(r"(?<![\w.,-])\d\d+(?![\w.,-]*\d)")
Change = Callable[[str], str]


def renamed(asked: list[str], rng: random.Random) -> Change:
    """Another name, of which no word is in the question."""

    def change(question: str) -> str:
        name = rng.choice(list(NAME.finditer(question)))
        words = set(re.findall(r"\w+", question))
        while True:
            other = rng.choice(list(NAME.finditer(rng.choice(asked))))
            if not words & set(re.findall(r"\w+", other.group())):
                return question[: name.start()] + other.group() + question[name.end() :]

    return change


def moved(rng: random.Random) -> Change:
    """Another number of as many digits, or nearly."""

    def change(question: str) -> str:
        return NUMBER.sub(
            lambda number: str(int(number.group()) + rng.choice([-7, -3, -2, 2, 3, 7, 10, 20])),
            question,
            count=1,
        )

    return change


def answers(db: Connection, corpus: str, mode: str, asked: list[str]) -> list[str | None]:
    """Texts of the chunks that the first citations are of; None for what is not answered."""
    rows = (
        db.execute(
            # materialized, because a plan without statistics asked once a chunk
            "with t as materialized ("
            "select ragdb.ask(%(c)s, %(q)s, rank_mode => %(m)s, record => false) as a)"
            " select h.text from t join ragdb.corpora c on c.name = %(c)s"
            " join ragdb.chunks h on h.corpus_id = c.corpus_id"
            " and h.chunk_id = (t.a).citations #>> '{0,chunk_id}'"
            " where (t.a).status = 'answered'",
            {"c": corpus, "q": question, "m": mode},
        ).fetchone()
        for question in asked
    )
    return [row and row[0].strip() for row in rows]


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--questions", type=int, default=100)
    flags.add_argument("sets", nargs="*", default=SETS, help="those that are asked")
    given = flags.parse_args()
    table = []
    with server() as own_server, psycopg.connect(own_server.database(), autocommit=True) as db:
        static.load(Database(db))
        for name in given.sets:
            rng = random.Random(given.seed)
            corpus, config = corpus_of(name), CONFIGS.get(name, "english")
            fill(db, corpus, own_documents(name), text_config=config)
            texts = {record["_id"]: record["text"].strip() for record in records(name)}
            grades = judgements(name)
            gold = {
                query["text"]: {texts[d] for d, grade in grades[query["_id"]].items() if grade}
                for query in records(name, "queries.jsonl")
            }
            own = questions(name, rng, 400 if name.startswith("xquad") else len(gold))[0]
            named = [q for q in own if NAME.search(q)]
            counted = [q for q in own if NUMBER.search(q)][: given.questions]
            changes = {
                "names": (named[: given.questions], renamed(named, rng)),
                "numbers": (counted, moved(rng)),
            }
            # the packaged model knows few words of other languages
            for mode in ("lexical", "hybrid") if config == "english" else ("lexical",):
                cells = [name, mode]
                for asked, change in changes.values():
                    found = answers(db, corpus, mode, asked)
                    right = sum(text in gold[q] for q, text in zip(asked, found, strict=True))
                    other = answers(db, corpus, mode, [change(q) for q in asked])
                    cells += [
                        str(len(asked)),
                        f"{sum(map(bool, found))}, {right} right",
                        str(sum(map(bool, other))),
                    ]
                table.append(f"| {' | '.join(cells)} |")
                print(table[-1], flush=True)
    publish(
        given.results,
        "Another name, another number",
        f"Up to {given.questions} questions of each kind (seed {given.seed}); those answered.",
        [
            "| set | mode | with a name | answered | with another name"
            " | with a number | answered | with another number |",
            "|---|---|---|---|---|---|---|---|",
            *table,
        ],
        own_server.version,
    )


if __name__ == "__main__":
    main()
