"""BM25 by brute force in float64, over the lexemes that the database cuts."""

from __future__ import annotations

import json
import math
import string
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.conftest import Connection
from tests.documents import text_document

# A few texts that questions of words can be asked of.
TEXTS = {
    "order.txt": "The purchase order was paid in full.",
    "reverse.txt": "In order to purchase, paid orders come first.",
    "refund.txt": "A refund of the order takes nine days.",
    "weather.txt": "Rain in the afternoon.",
    "state.txt": "A state of the art system with user_id and C++.",
}


def encoded(number: int) -> str:
    """A word of letters that no analysis changes."""
    word = "q"
    while number:
        number, letter = divmod(number, 26)
        word += string.ascii_lowercase[letter]
    return word + "q"


def put(db: Connection, corpus: str, documents: Iterable[dict[str, Any]], batch: int = 500) -> None:
    waiting = list(documents)
    for start in range(0, len(waiting), batch):
        db.execute(
            "select ragdb.put_documents(%s, %s)",
            (corpus, json.dumps(waiting[start : start + batch])),
        )


def lexemes(db: Connection, text: str, config: str = "english") -> dict[str, int]:
    return dict(
        db.execute(
            "select u.lexeme, cardinality(u.positions)"
            " from unnest(ragdb_internal.lexemes(%s, %s)) u",
            (text, config),
        ).fetchall()
    )


@dataclass
class Collection:
    """The chunks of a corpus as term frequencies, by chunk id."""

    chunks: dict[str, dict[str, int]]
    pivot: float
    k1: float = 1.2
    b: float = 0.75
    lengths: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.lengths = {chunk: sum(terms.values()) for chunk, terms in self.chunks.items()}

    @classmethod
    def read(cls, db: Connection, corpus: str) -> Collection:
        """Every chunk of a corpus, cut anew."""
        found = db.execute(
            """
            select c.chunk_id, u.lexeme, cardinality(u.positions), p.pivot, p.k1, p.b
            from ragdb.corpora p
              join ragdb.chunks c using (corpus_id)
              join ragdb.documents d using (corpus_id, doc_no)
              left join unnest(ragdb_internal.lexemes(
                ragdb_internal.searched_text(d.title, c.heading, c.text), p.text_config)) u on true
            where p.name = %s
            """,
            (corpus,),
        ).fetchall()
        chunks: dict[str, dict[str, int]] = {}
        for chunk, lexeme, frequency, *_ in found:
            terms = chunks.setdefault(chunk, {})
            if lexeme is not None:
                terms[lexeme] = frequency
        _, _, _, pivot, k1, b = found[0] if found else (None, None, None, 1.0, 1.2, 0.75)
        return cls(chunks, pivot, k1, b)

    @cached_property
    def df(self) -> Counter[str]:
        return Counter(term for terms in self.chunks.values() for term in terms)

    @cached_property
    def postings(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for chunk, terms in self.chunks.items():
            for term in terms:
                found.setdefault(term, []).append(chunk)
        return found

    def idf(self, term: str) -> float:
        return math.log(1 + (len(self.chunks) - self.df[term] + 0.5) / (self.df[term] + 0.5))

    def impact(self, chunk: str, term: str) -> float:
        tf = self.chunks[chunk].get(term, 0)
        norm = self.k1 * (1 - self.b + self.b * self.lengths[chunk] / self.pivot)
        return (self.k1 + 1) * tf / (tf + norm) if tf else 0.0

    def search(
        self,
        query: Mapping[str, int],
        k: int = 10,
        statistics: Collection | None = None,
        synonyms: Mapping[str, Iterable[Iterable[str]]] | None = None,
    ) -> list[tuple[str, float, float]]:
        """(chunk id, score, BM25) of the k best: score descending, then chunk id by its bytes.

        Of a word and its synonyms, each some lexemes, what scores most in a chunk counts there.
        """
        source = statistics or self
        weights = {
            t: query[t] * source.idf(t) for t in sorted(query, key=lambda term: term.encode())
        }
        asked = sum(weights.values()) * (self.k1 + 1)
        means = {
            t: [
                {t: weight},
                *(
                    {o: 0.7 * query[t] * min(source.idf(o), source.idf(t)) / len(others)
                     for o in others if o != t}
                    for others in map(set, (synonyms or {}).get(t, ()))
                ),
            ]
            for t, weight in weights.items()
        }  # fmt: skip
        candidates = {
            c for each in means.values() for m in each for t in m for c in self.postings.get(t, ())
        }
        scores = {
            c: sum(
                max(sum(w * self.impact(c, o) for o, w in m.items()) for m in each)
                for each in means.values()
            )
            for c in candidates
        }
        ranked = sorted(scores.items(), key=lambda s: (-round(s[1], 11), s[0].encode()))
        return [(c, s / asked, s) for c, s in ranked[:k]]


def search(db: Connection, corpus: str, query: str, k: int = 10, **more: Any) -> list[Any]:
    """(chunk id, score, BM25) of ragdb.search, in its order."""
    names = "".join(f", {name} => %({name})s" for name in more)
    return db.execute(
        f"select chunk_id, score, bm25 from ragdb.search(%(corpus)s, %(query)s, %(k)s{names})",
        {"corpus": corpus, "query": query, "k": k, **more},
    ).fetchall()


def make_docs(db: Connection) -> None:
    """Corpus docs of these texts."""
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", (text_document(uri, text) for uri, text in TEXTS.items()))
