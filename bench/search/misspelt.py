"""What misspelt words are mended to: what was meant, another word of the corpus, or no word of it.

Words of the chunks of each collection are drawn by a seed, and each gets one error behind its first
letter, of the kinds that Pollock and Zamora counted in 1984: 34 of 93 lack a letter, 27 have one
more (half of these the one before it again), 19 have a wrong one, and in 13 two are swapped.
Letters are those of the word. An error that makes a word of the corpus is no misspelling there.
Counted too: words that ragdb.did_you_mean suggests, those that chunks write, and what was meant.

    python -m bench.search.misspelt [--seed N] [--words N] [--results FILE] [SET …]
"""

from __future__ import annotations

import random
from collections import Counter

import psycopg

from bench.common import Connection, corpus_of, fill, parser, publish, server
from bench.hybrid.quality import documents
from bench.search.quality import SETS

DRAWN = ("squad_v1_dev", "rag_anthropic_docs", "cranfield", "beir_scifact", "xquad/de",
         "xquad/ru", "xquad/tr", "xquad/ar")  # fmt: skip
KINDS = {"left out": 34, "put in": 27, "wrong": 19, "swapped": 13}
WORDS = """
    select distinct w.word
    from ragdb.corpora p join ragdb.chunks c using (corpus_id)
      cross join lateral unnest(ragdb_internal.all_words(lower(ragdb_internal.plain(
        ragdb_internal.searched_text(ragdb_internal.title(c.corpus_id, c.doc_no),
          c.heading, c.text)) collate "C"))) w (word)
    where p.name = %s"""
MENDED = """
    select w, m.lexeme, (select e.edits from ragdb_internal.edits(w, 1, length(w)) e)
    from ragdb.corpora p cross join unnest(%s::text[]) w
      cross join lateral ragdb_internal.meant_words(
        p, w, ragdb_internal.letter_lexemes(array[w], p.text_config)) m
    where p.name = %s"""


def misspelt(word: str, rng: random.Random) -> str:
    """A word with one error, of its own letters."""
    (kind,) = rng.choices(list(KINDS), list(KINDS.values()))
    at = rng.randrange(1, len(word))
    before, behind, letter = word[:at], word[at + 1 :], word[at]
    if kind == "left out":
        return before + behind
    if kind == "put in":
        return before + (before[-1] if rng.random() < 0.5 else rng.choice(word)) + word[at:]
    if kind == "wrong":
        return before + rng.choice(word) + behind
    return before + behind[:1] + letter + behind[1:]


def small(word: str) -> str:
    """A word in small letters; a capital I with a dot is i."""
    return word.casefold().replace("i\u0307", "i")


def shares(db: Connection, corpus: str, count: int, rng: random.Random) -> Counter[str]:
    """How many of so many misspelt words are mended to what."""

    def lexemes(words: list[str]) -> dict[str, str | None]:
        rows = db.execute(
            "select ragdb_internal.letter_lexemes(%s, p.text_config)"
            " from ragdb.corpora p where p.name = %s",
            (words, corpus),
        ).fetchall()
        return dict(zip(words, rows[0][0], strict=True))

    known = lexemes(
        sorted(w for (w,) in db.execute(WORDS, (corpus,)) if w.isalpha() and 3 < len(w) <= 32)
    )
    words = [word for word, lexeme in known.items() if lexeme]
    typed: dict[str, str] = {}
    for word in rng.sample(words, min(count, len(words))):
        typed.setdefault(misspelt(word, rng), word)
    had = set(known.values())
    lacked = [w for w, lexeme in lexemes(list(typed)).items() if lexeme not in had]
    found = Counter(drawn=len(lacked))
    for word, lexeme, edits in db.execute(MENDED, (lacked, corpus)):
        if lexeme == known[typed[word]]:
            found["meant"] += 1
        elif any(known.get(edit) == lexeme for edit in edits):
            found["other"] += 1
        else:
            found["no word"] += 1
    written = {small(w) for (w,) in db.execute(WORDS, (corpus,))}
    for word in lacked:
        for (said,) in db.execute("select ragdb.did_you_mean(%s, %s)", (corpus, word)):
            found["suggested"] += said is not None
            found["written"] += said is not None and small(said) in written
            found["right"] += said is not None and small(said) == small(typed[word])
    return found


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--words", type=int, default=2000, help="of a collection, at most")
    flags.add_argument("sets", nargs="*", default=DRAWN)
    given = flags.parse_args()
    table = []
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        for name in given.sets:
            fill(db, corpus_of(name), documents(name), text_config=SETS[name])
            found = shares(db, corpus_of(name), given.words, random.Random(given.seed))
            mended = found["meant"] + found["other"] + found["no word"]
            cells = [f"{100 * found[to] / mended:.1f}" for to in ("meant", "other", "no word")]
            cells += [str(found[what]) for what in ("suggested", "written", "right")]
            table.append(f"| {name} | {found['drawn']} | {mended} | {' | '.join(cells)} |")
            print(table[-1], flush=True)
    publish(
        given.results,
        "Misspelt words",
        "words of chunks with one error, of which the mended ones in percent.",
        [
            "| set | misspelt | mended | to what was meant | to another word of a chunk"
            " | to a lexeme by what is no word of a chunk"
            " | suggested | written in a chunk | what was meant |",
            "|---|---|---|---|---|---|---|---|---|",
            *table,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
