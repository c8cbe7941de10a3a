"""What courtesy and misspelt words change of what `ragdb ask` answers.

Each collection is asked its own questions and those of others, drawn by seed, plainly, with
courtesy around them, and with one or two letters wrong. Counted: questions that are answered.
Courtesy is drawn for each question; a word that is misspelt has six letters or more, of which one
is left out, doubled with another, changed or swapped with the next.

    python -m bench.evidence.wording [--seed N] [--questions N] [SET …]
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import psycopg

from bench.common import Connection, corpus_of, fill, parser, publish, server
from bench.evidence.gate import CONFIGS, own_documents, questions
from ragdb.database import Database
from ragdb.server import static

SETS = ("squad_v1_dev", "rag_anthropic_docs", "cranfield", "xquad/de", "xquad/ru")
COURTESY = {
    "english": (
        "Could you please tell me {}",
        "Hi, I would like to know {}",
        "Please explain {}",
        "{} Thanks!",
    ),
    "german": ("Können Sie mir bitte sagen, {}", "Hallo, ich möchte wissen, {}", "{} Danke!"),
    "russian": ("Скажите, пожалуйста, {}", "Здравствуйте! Я хочу знать, {}", "{} Спасибо!"),
}
ASKS = re.compile(
    r"(what|how|why|when|where|who|which|do|does|is|are|can|was|wie|wer|wann|wo|warum|welche[rs]?"
    r"|что|кто|как|когда|где|почему|сколько|какой|какая|какие)\b",
    re.IGNORECASE,
)
Wording = Callable[[str, random.Random], str]


def polite(config: str) -> Wording:
    """A question behind or before courtesy; the word that asks then begins with a small letter."""

    def worded(question: str, rng: random.Random) -> str:
        frame = rng.choice(COURTESY[config])
        if not frame.startswith("{") and ASKS.match(question):
            question = question[0].lower() + question[1:]
        return frame.format(question)

    return worded


def misspelt(count: int) -> Wording:
    """A question with a wrong letter in so many of its words, or in all that are long enough."""

    def worded(question: str, rng: random.Random) -> str:
        words = question.split()
        long = [n for n, word in enumerate(words) if len(word) > 5 and word.isalpha()]
        for n in rng.sample(long, min(count, len(long))):
            words[n] = mistyped(words[n], rng)
        return " ".join(words)

    return worded


def mistyped(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    other = rng.choice(word)
    return rng.choice(
        [
            before + after,
            before + other + letter + after,
            before + other + after,
            before + after[0] + letter + after[1:],
        ]
    )


def answered(db: Connection, corpus: str, mode: str, asked: list[str], worded: Wording) -> int:
    rng = random.Random(7)
    rows = (
        db.execute(
            "select (ragdb.ask(%s, %s, rank_mode => %s, record => false)).status",
            (corpus, worded(question, rng), mode),
        ).fetchone()
        for question in asked
    )
    return sum(row == ("answered",) for row in rows)


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--questions", type=int, default=100)
    flags.add_argument("sets", nargs="*", default=SETS, help="those that are asked")
    given = flags.parse_args()
    rng = random.Random(given.seed)
    asked = {name: questions(name, rng, given.questions) for name in SETS}
    table = []
    with server() as own_server, psycopg.connect(own_server.database(), autocommit=True) as db:
        static.load(Database(db))
        for name in given.sets:
            corpus = corpus_of(name)
            config = CONFIGS.get(name, "english")
            fill(db, corpus, own_documents(name), text_config=config)
            own, other = asked[name]
            if not other:
                others = [q for n in SETS if n != name and n not in CONFIGS for q in asked[n][0]]
                other = rng.sample(others, given.questions)
            # the packaged model knows few words of Russian
            for mode in ("lexical", "hybrid") if config == "english" else ("lexical",):
                cells = [name, mode]
                for worded in (lambda q, _: q, polite(config), misspelt(1), misspelt(2)):
                    cells += [
                        str(answered(db, corpus, mode, half, worded)) for half in (own, other)
                    ]
                table.append(f"| {' | '.join(cells)} |")
                print(table[-1], flush=True)
    publish(
        given.results,
        "Courtesy and misspelt words",
        f"{given.questions} questions of a collection and as many of others (seed {given.seed});"
        " how many are answered.",
        [
            "| set | mode | plain: own | others | with courtesy: own | others"
            " | one word misspelt: own | others | two: own | others |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *table,
        ],
        own_server.version,
    )


if __name__ == "__main__":
    main()
