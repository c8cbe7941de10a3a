"""How often `ragdb ask` answers "What is X?", in several words, by a sentence that says it.

The shared manuals (Markdown) are read as `ragdb ingest` reads them. Asked is what the first line of
a paragraph says that it is a thing, such as "A salt is a random text". Counted, by a pattern of the
text that knows nothing of lexemes: questions whose evidence has such a sentence of X, and those
whose first citation is one.

    python -m bench.evidence.meanings [--seed N] [--questions N]
"""

from __future__ import annotations

import itertools
import random
import re

import psycopg

from bench.common import DATA, parser, publish, server
from ragdb.database import Database
from ragdb.server import static

SAYS = re.compile(
    r"(?m)^(?:(?:An?|The) )?\**([A-Za-z][\w-]*(?: [a-z][\w-]*){0,2})\** (?:\([^)]*\) )?"
    r"(?:is|are) (?:an?|the|one) [^\n]{20,}"
)
# what begins a sentence and is no thing
NONE = re.compile(
    r"\b(?:this|it|there|that|here|these|those|what|which|he|she|they|we|you|one|another|following"
    r"|next|first|second|result|goal|problem|example|main|only|other|idea|purpose|if|all|note|reason"
    r"|answer|output|most|below|above|each|as|when|but|and|or|because|however|also|imagine|suppose"
    r"|whenever|not|let|now|key)\b"
)


# what each of the manuals is about
FIELDS = {"fastapi": "FastAPI", "owasp_cheatsheets": "security", "rust_book": "Rust"}
FORMS = (
    "What {be} {thing}?",
    "What {be} {thing} in {field}?",
    "What {do} {thing} mean in {field}?",
    "Can you explain what {thing} {be}?",
    "Explain {thing}.",
    "What {be} {thing} and how {do} it work?",
    "What {be} {thing} in the context of {field}?",
    "{thing}?",
)


def things() -> dict[str, str]:
    """What the manuals say that it is something, and the field of the one that says it first."""
    named: dict[str, str] = {}
    for folder, field in FIELDS.items():
        for path in sorted((DATA / "docs" / folder).rglob("*.md")):
            for found in SAYS.finditer(path.read_text("utf-8")):
                named.setdefault(found[1].lower(), field)
    return {name: named[name] for name in sorted(named) if len(name) > 3 and not NONE.search(name)}


def question(form: str, thing: str, field: str) -> str:
    many = thing.endswith("s") and not thing.endswith("ss")
    be, do = ("are", "do") if many else ("is", "does")
    return form.format(thing=thing, field=field, be=be, do=do)


def said(thing: str) -> re.Pattern[str]:
    """Finds a sentence, an item or a row that says what a thing is."""
    return re.compile(
        r"(?:^|\n|[.!?]\s+|[-*|] )\W{0,3}(?:(?:An?|The) )?\W{0,3}"
        + re.escape(thing)
        + r"\W{0,3}(?: ?\([^)]*\))?,?(?: (?:is|are|means|refers|describes)\b|[*`]*:| [|—–-] )",
        re.IGNORECASE,
    )


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--questions", type=int, default=150)
    given = flags.parse_args()
    every = things()
    asked = random.Random(given.seed).sample(list(every), min(given.questions, len(every)))
    table = []
    with server() as own, psycopg.connect(own.database(), autocommit=True) as connection:
        static.load(Database(connection))
        db = Database(connection)
        db.ingest(DATA / "docs", corpus="docs")
        for form, mode in itertools.product(FORMS, ("lexical", "hybrid")):
            answered = has = quoted = 0
            for thing in asked:
                answer = db.ask("docs", question(form, thing, every[thing]), rank_mode=mode)
                texts = [c.chunk.text for c in answer.pack.chunks] if answer.pack else []
                answered += answer.status == "answered"
                has += any(said(thing).search(text) for text in texts)
                quoted += bool(answer.citations and said(thing).match(answer.citations[0]["quote"]))
            shown = question(form, "X", "Y")
            table.append(f"| {shown} | {mode} | {len(asked)} | {answered} | {has} | {quoted} |")
            print(table[-1], flush=True)
    publish(
        given.results,
        "What is X?",
        f"{len(asked)} things of {len(every)} that the shared manuals say what they are of"
        f" (seed {given.seed}).",
        [
            "| asked | mode | questions | answered | evidence says it | first citation says it |",
            "|---|---|---|---|---|---|",
            *table,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
