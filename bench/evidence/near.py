"""How often `ragdb ask` answers what pages say, and refuses what they nearly say.

The shared manuals, read as `ragdb ingest` reads them, and the paragraphs of squad_v1_dev are asked
questions that were written by hand, half of which they do not answer: those are asked of another
thing, version, number or year. Counted: right and wrong answers, and refusals, of both halves.

    python -m bench.evidence.near [--show]
"""

from __future__ import annotations

import re
from collections import Counter

import psycopg

from bench.common import DATA, document, fill, parser, publish, records, server
from ragdb.database import Database
from ragdb.server import static

# questions, and a pattern of what is right; none where nothing is
ASKED: dict[str, tuple[tuple[str, str | None], ...]] = {
    "docs": (
        ("Who created Django REST Framework?", "Tom Christie"),
        ("Who developed STRIDE?", "Microsoft"),
        ("Who created scrypt?", "Colin Percival"),
        ("What is the maximum password length of bcrypt?", "72 bytes"),
        ("How many iterations of PBKDF2-HMAC-SHA512 should I use?", "220,000"),
        ("How much entropy must a session ID have?", "64.bits"),
        ("Who developed GraphQL?", "Facebook"),
        ("Which browsers do not support HSTS?", "Opera Mini"),
        ("In which Kubernetes version were Pod Security Policies removed?", r"1\.25"),
        ("Which port does the web server in the Rust book listen on?", "7878"),
        ("What is the default floating-point type in Rust?", "f64"),
        ("How often is a new Rust edition released?", "three years"),
        ("How often is there a new stable release of Rust?", "(six|6) weeks"),
        ("How do I disable the OpenAPI schema in FastAPI?", "openapi_url=None"),
        ("Which FastAPI version dropped support for Python 3.9?", r"0\.129"),
        ("Does Hypercorn support HTTP/2?", "compatible with HTTP/2"),
        (
            "What should the X-XSS-Protection header be set to?",
            "X-XSS-Protection: 0|Do not set this header",
        ),
        ("Who wrote the Rust book?", "Klabnik"),
        ("What is clippy?", "collection of lints"),
        ("How long should the Django SECRET_KEY be?", "50 characters"),
        ("When was Web SQL Database deprecated?", "2010"),
        ("What is Uvicorn built on?", "uvloop and httptools"),
        ("Who created Hypercorn?", None),
        ("Who created Django?", None),
        ("Who invented Argon2?", None),
        ("What is the maximum password length of scrypt?", None),
        ("How many iterations of PBKDF2-HMAC-MD5 should I use?", None),
        ("How much entropy must a refresh token have?", None),
        ("Who developed gRPC?", None),
        ("Which browsers do not support WebSockets?", None),
        ("In which Kubernetes version was dockershim removed?", None),
        ("Which port does Daphne listen on?", None),
        ("What is the default complex number type in Rust?", None),
        ("How often is a new Python version released?", None),
        ("How often is there a new stable release of Django?", None),
        ("How do I disable the OpenAPI schema in Flask?", None),
        ("Which FastAPI version dropped support for Python 3.11?", None),
        ("Does Hypercorn support HTTP/3?", None),
        ("What does cargo bench measure?", None),
        ("Who wrote the Go book?", None),
        ("What is the default port of Hypercorn?", None),
        ("How long should the Laravel APP_KEY be?", None),
        ("When was IndexedDB deprecated?", None),
        ("When was Rust 2.0 released?", None),
    ),
    "squad": (
        ("Who was the first president of the University of Chicago?", "William Rainey Harper"),
        ("In what year was Harvard renamed Harvard College?", "1639"),
        (
            "How often does the General Conference of the United Methodist Church meet?",
            "four years",
        ),
        ("Where will the 2016 General Conference be?", "Portland"),
        ("Who is viewed as the first modern geologist?", "James Hutton"),
        ("How many people were in the settlement at Sullivan Bay?", "402"),
        ("When was the University of Chicago incorporated?", "1890"),
        ("Which ship carried the printing press to Harvard?", "John of London"),
        ("Who was the first president of Harvard University?", None),
        ("In what year was Yale renamed Yale College?", None),
        ("How often does the General Conference of the Lutheran Church meet?", None),
        ("Where will the 2020 General Conference be?", None),
        ("Who is viewed as the first modern chemist?", None),
        ("How many people were in the settlement at Botany Bay?", None),
        ("When was the University of Michigan incorporated?", None),
        ("Which ship carried the printing press to Yale?", None),
    ),
}


def outcome(right: str | None, status: str, answer: str) -> str:
    """What an answer, or that there is none, comes to."""
    if status != "answered":
        return "refused, rightly" if right is None else "refused, wrongly"
    return "right" if right and re.search(right, answer, re.IGNORECASE) else "wrong"


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--show", action="store_true", help="print what is not right")
    given = flags.parse_args()
    table = []
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        base = Database(db)
        static.load(base)
        base.ingest(DATA / "docs", corpus="docs")
        fill(
            db,
            "squad",
            (document(r["_id"], r["text"], title=r["title"]) for r in records("squad_v1_dev")),
        )
        for corpus, asked in ASKED.items():
            for is_answered in (True, False):
                counts: Counter[str] = Counter()
                for question, right in asked:
                    if (right is not None) is is_answered:
                        said = base.ask(corpus, question, record=False)
                        came = outcome(right, said.status, said.text)
                        counts[came] += 1
                        if given.show and came in ("wrong", "refused, wrongly"):
                            print(f"{came}: {question} {said.text or said.reason}")
                refused = counts["refused, rightly"] + counts["refused, wrongly"]
                row = (
                    corpus,
                    "says it" if is_answered else "does not",
                    counts.total(),
                    counts["right"],
                    counts["wrong"],
                    refused,
                )
                table.append(f"| {' | '.join(map(str, row))} |")
                print(table[-1], flush=True)
    publish(
        given.results,
        "What pages nearly say",
        "Questions written by hand, all defaults.",
        [
            "| corpus | which | questions | right | wrong | refused |",
            "|---|---|---|---|---|---|",
            *table,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
