"""Corpora of any size, written straight into the tables, and BM25 over them by brute force.

Documents and chunks come by COPY; the database indexes them by what indexes every chunk. What a
search must return is worked out here from the words that were drawn, in float64 by numpy.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.conftest import Connection

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

K1, B = 1.2, 0.75


def word(number: int) -> str:
    """A word of letters that the configuration `simple` keeps as it is."""
    letters = ""
    while number or not letters:
        number, letter = divmod(number, 26)
        letters = chr(ord("a") + letter) + letters
    return f"q{letters}"


class Made:
    """A corpus `made` of chunks of random words, few of them frequent, and its twin."""

    def __init__(
        self,
        db: Connection,
        *,
        name: str = "made",
        vocabulary: int = 2_000,
        longest: int = 12,
        chunks_per_document: int = 1,
        seed: int = 1,
    ) -> None:
        self.db, self.name, self.longest = db, name, longest
        self.chunks_per_document = chunks_per_document
        self.rng = np.random.default_rng(seed)
        self.words = [word(n) for n in range(vocabulary)]
        self.terms = {w: n for n, w in enumerate(self.words)}
        shares = 1 / (np.arange(vocabulary) + 3.0)
        self.shares = shares / shares.sum()
        # by place: id and number of a chunk, its length, whether it is there
        self.ids: list[str] = []
        self.places_of: dict[str, int] = {}
        self.numbers = np.empty(0, np.int64)
        self.lengths = np.empty(0, np.int64)
        self.alive = np.empty(0, bool)
        # an entry for each word of a chunk
        self.places = np.empty(0, np.int64)
        self.entries = np.empty(0, np.int64)
        self.frequencies = np.empty(0, np.int64)
        db.execute("discard plans")  # those that tests before made over empty tables
        db.execute("select ragdb.create_corpus(%s, text_config => 'simple')", (name,))
        self.corpus_id: int = self.value("corpus_id")

    def value(self, column: str) -> Any:
        ((found,),) = self.db.execute(
            f"select {column} from ragdb.corpora where name = %s".encode(), (self.name,)
        ).fetchall()
        return found

    # what is there

    def draw(self, count: int) -> list[list[str]]:
        """The words of so many chunks."""
        lengths = self.rng.integers(1, self.longest + 1, count)
        drawn = self.rng.choice(len(self.words), int(lengths.sum()), p=self.shares)
        ends = np.cumsum(lengths)
        return [
            [self.words[t] for t in drawn[end - length : end]]
            for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
        ]

    def learn(self, ids: Sequence[str], numbers: Ints, texts: Sequence[Sequence[str]]) -> None:
        """Note chunks that the database has."""
        first = len(self.ids)
        lengths = np.array([len(text) for text in texts], np.int64)
        terms = np.array(
            [self.terms.setdefault(w, len(self.terms)) for text in texts for w in text], np.int64
        )
        keys = np.repeat(np.arange(first, first + len(texts)), lengths) << 32 | terms
        keys, frequencies = np.unique(keys, return_counts=True)
        self.ids += ids
        self.places_of |= {chunk: place for place, chunk in enumerate(ids, first)}
        self.numbers = np.concatenate([self.numbers, numbers])
        self.lengths = np.concatenate([self.lengths, lengths])
        self.alive = np.concatenate([self.alive, np.ones(len(texts), bool)])
        self.places = np.concatenate([self.places, keys >> 32])
        self.entries = np.concatenate([self.entries, keys & 0xFFFFFFFF])
        self.frequencies = np.concatenate([self.frequencies, frequencies])
        self.settle()

    def forget(self, places: Iterable[int]) -> None:
        """Note that chunks are gone."""
        self.alive[list(places)] = False
        kept = self.alive[self.places]
        self.places, self.entries = self.places[kept], self.entries[kept]
        self.frequencies = self.frequencies[kept]
        self.settle()

    def settle(self) -> None:
        order = np.argsort(self.entries, kind="stable")
        self.places, self.entries = self.places[order], self.entries[order]
        self.frequencies = self.frequencies[order]
        self.starts = np.searchsorted(self.entries, np.arange(len(self.terms) + 1))

    # writing

    def add(self, texts: Sequence[Sequence[str]] | int, numbers: Ints | None = None) -> list[str]:
        """Write chunks, under the next numbers or the given ones, and return their ids."""
        if isinstance(texts, int):
            texts = self.draw(texts)
        first: int = self.value("next_chunk_no")
        if numbers is None:
            numbers = np.arange(first, first + len(texts))
        doc: int = self.value("next_doc_no")
        size = self.chunks_per_document
        ids = [f"{self.name}:{n:010}" for n in numbers.tolist()]
        with (
            self.db.cursor() as cursor,
            cursor.copy(
                "copy ragdb.documents (corpus_id, doc_no, doc_cid, media_type, metadata, chunking,"
                " source_name, source, name, size_bytes, chunks, tokens, event_id, created_at,"
                " updated_at) from stdin"
            ) as copy,
        ):
            for at in range(0, len(texts), size):
                chunks = len(texts[at : at + size])
                number = doc + at // size
                digest = hashlib.sha256(f"{self.name}/{number}".encode()).hexdigest()
                copy.write_row(
                    (self.corpus_id, number, f"sha256:{digest}", "text/plain",
                     f'{{"n": {number}}}', "{}", "", f"{number:010}.txt",
                     f"source {number:010}.txt", 1, chunks, chunks,
                     f"00000000-0000-0000-0000-{number:012}", "2026-01-01", "2026-01-01")
                )  # fmt: skip
        self.db.execute(
            "insert into ragdb.document_sources (corpus_id, uri, doc_no, seen_at)"
            " select d.corpus_id, d.source, d.doc_no, d.created_at from ragdb.documents d"
            " where d.corpus_id = %s and d.doc_no >= %s",
            (self.corpus_id, doc),
        )
        with (
            self.db.cursor() as cursor,
            cursor.copy(
                "copy ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source,"
                " start_offset, end_offset, token_count, content_hash, text) from stdin"
            ) as copy,
        ):
            for at, (number, chunk) in enumerate(zip(numbers.tolist(), texts, strict=True)):
                text = " ".join(chunk)
                copy.write_row(
                    (self.corpus_id, number, doc + at // size, at % size, ids[at],
                     f"{doc + at // size:010}.txt", 0, len(text), 1,
                     hashlib.sha256(text.encode()).digest(), text)
                )  # fmt: skip
        self.db.execute(
            "update ragdb.corpora set documents = documents + %s, token_count = token_count + %s,"
            " size_bytes = size_bytes + %s, next_doc_no = %s, next_chunk_no = %s"
            " where corpus_id = %s",
            (
                -(-len(texts) // size),
                len(texts),
                -(-len(texts) // size),
                doc - (-len(texts) // size),
                int(numbers.max()) + 1,
                self.corpus_id,
            ),
        )
        self.db.execute(
            "select ragdb_internal.index_chunks(%s, %s, %s, null)",
            (self.corpus_id, numbers.tolist(), not self.ids),
        )
        self.learn(ids, numbers, texts)
        return ids

    def rewrite(self, places: Sequence[int], texts: Sequence[Sequence[str]]) -> None:
        """Give chunks other words under their numbers, as a new title of their document does."""
        numbers = self.numbers[list(places)]
        for number, text in zip(numbers.tolist(), texts, strict=True):
            self.db.execute(
                "update ragdb.chunks set text = t, end_offset = length(t),"
                " content_hash = ragdb_internal.content_hash(t) from (select %s::text) n (t)"
                " where corpus_id = %s and chunk_no = %s",
                (" ".join(text), self.corpus_id, number),
            )
        for call in ("unindex_chunks(%s, %s)", "index_chunks(%s, %s, false, null)"):
            self.db.execute(
                f"select ragdb_internal.{call}".encode(), (self.corpus_id, numbers.tolist())
            )
        ids = [self.ids[place] for place in places]
        self.forget(places)
        self.learn(ids, numbers, texts)

    def move(self, numbers: Ints) -> None:
        """Give every chunk, in the order of their places, another number."""
        for table in ("chunks", "chunk_lexemes"):
            self.db.execute(
                f"update ragdb.{table} set chunk_no = -chunk_no where corpus_id = %s".encode(),
                (self.corpus_id,),
            )
            self.db.execute(
                f"update ragdb.{table} x set chunk_no = n.new"
                " from unnest(%s::integer[], %s::integer[]) n (old, new)"
                " where x.corpus_id = %s and x.chunk_no = -n.old".encode(),
                (self.numbers.tolist(), numbers.tolist(), self.corpus_id),
            )
        self.db.execute(
            "update ragdb.lexemes l set chunk_nos = m.chunk_nos from ("
            "  select x.term_id, string_agg(int4send(n.new), '' order by n.new) as chunk_nos"
            "  from ragdb.lexemes x"
            "    cross join unnest(ragdb_internal.listed_numbers(x.chunk_nos)) o (old)"
            "    join unnest(%s::integer[], %s::integer[]) n (old, new) using (old)"
            "  where x.corpus_id = %s group by x.term_id) m"
            " where l.corpus_id = %s and l.term_id = m.term_id",
            (self.numbers.tolist(), numbers.tolist(), self.corpus_id, self.corpus_id),
        )
        self.numbers = numbers
        self.db.execute(
            "update ragdb.corpora set next_chunk_no = %s where corpus_id = %s",
            (int(numbers.max()) + 1, self.corpus_id),
        )
        self.db.execute("delete from ragdb.block_states where corpus_id = %s", (self.corpus_id,))

    def embed(self, dims: int = 8, m: int = 8) -> None:
        """Give every chunk a random vector of a space that is current."""
        self.vectors = self.rng.normal(size=(len(self.ids), dims)).astype(np.float32)
        self.db.execute("select ragdb.create_embedder('made', %s)", (dims,))
        ((space,),) = self.db.execute(
            "select ragdb.embed_corpus(%s, 'made', %s, %s)", (self.name, m, 4 * m)
        ).fetchall()
        with (
            self.db.cursor() as cursor,
            cursor.copy(
                "copy ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)"
                " from stdin"
            ) as copy,
        ):
            for place, number in enumerate(self.numbers.tolist()):
                if self.alive[place]:
                    vector = ",".join(map(repr, self.vectors[place].tolist()))
                    digest = hashlib.sha256(self.ids[place].encode()).digest()
                    copy.write_row((space, self.corpus_id, number, digest, f"[{vector}]"))
        self.db.execute(
            "update ragdb.embedding_spaces s set queued_to = c.next_chunk_no - 1"
            " from ragdb.corpora c where c.corpus_id = s.corpus_id and s.space_id = %s",
            (space,),
        )

    def optimize(self) -> None:
        self.db.execute("select ragdb.optimize_corpus(%s)", (self.name,))

    def make_blocks(self) -> None:
        """Make all blocks and nothing else."""
        self.db.execute(
            "select ragdb_internal.build_blocks(c) from ragdb.corpora c where c.corpus_id = %s",
            (self.corpus_id,),
        )

    # asking

    def question(self, size: int) -> list[str]:
        """So many words, frequent ones less often than chunks have them, and few unknown ones."""
        drawn = self.rng.choice(len(self.words), size, p=np.sqrt(self.shares) / np.sqrt(
            self.shares).sum())  # fmt: skip
        return [
            "unknownword" if self.rng.random() < 0.03 else self.words[t] for t in drawn.tolist()
        ]

    def best(
        self, words: Sequence[str], k: int, among: Callable[[Ints], Any] | None = None
    ) -> list[tuple[str, float, float]]:
        """(chunk id, score, BM25) of the k best, by brute force, of the numbers among allows."""
        scores, most = self.scores(words)
        if among is not None:
            scores[~among(self.numbers)] = 0
        return [
            (self.ids[place], float(scores[place]) / most, float(scores[place]))
            for place in self.ranked(scores, k)
        ]

    def scores(self, words: Sequence[str]) -> tuple[Floats, float]:
        """The BM25 of every chunk, and the most that the question can reach."""
        chunks = int(self.alive.sum())
        pivot: float = self.value("pivot")
        norms = K1 * (1 - B + B * self.lengths / pivot)
        scores = np.zeros(len(self.ids))
        asked = 0.0
        for asked_word, times in sorted(Counter(words).items()):
            term = self.terms.get(asked_word)
            low, high = self.starts[term : term + 2] if term is not None else (0, 0)
            df = int(high - low)
            weight = times * math.log(1 + (chunks - df + 0.5) / (df + 0.5))
            asked += weight
            places, frequencies = self.places[low:high], self.frequencies[low:high]
            scores[places] += weight * (K1 + 1) * frequencies / (frequencies + norms[places])
        return scores, asked * (K1 + 1)

    def similarities(self, vector: Floats) -> Floats:
        """The similarity of every chunk to a vector, rounded to 1e-6; -1 for what is gone."""
        vectors = self.vectors.astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
        cosines = np.clip(vectors @ vector / lengths, 0, 1)
        return np.where(self.alive[: len(vectors)], np.round(cosines, 6), -1)

    def reaching(self, scores: Floats, k: int, over: float = 0) -> list[int]:
        """Places of the k best of those over a score, and of all that tie with the last."""
        found = np.flatnonzero(scores > over)
        if len(found) > k:
            kth = np.partition(scores[found], -k)[-k]
            found = found[scores[found] >= kth - 1e-9]
        return found.tolist()

    def ranked(self, scores: Floats, k: int, over: float = 0) -> list[int]:
        """Places of the k best of those over a score: by score, then chunk id."""
        return sorted(
            self.reaching(scores, k, over),
            key=lambda place: (-round(float(scores[place]), 11), self.ids[place].encode()),
        )[:k]

    def agrees(
        self,
        words: Sequence[str],
        k: int = 10,
        among: Callable[[Ints], Any] | None = None,
        **more: Any,
    ) -> None:
        """Assert that a lexical search returns what brute force returns."""
        named = "".join(f", {name} => %({name})s" for name in more)
        found = self.db.execute(
            "select chunk_id, score, bm25 from ragdb.search(%(corpus)s, %(query)s, %(k)s,"
            f" mode => 'lexical', typos => false{named})".encode(),
            {"corpus": self.name, "query": " ".join(words), "k": k, **more},
        ).fetchall()
        expected = self.best(words, k, among)
        assert [hit for hit, *_ in found] == [hit for hit, *_ in expected], words
        for column in (1, 2):
            assert [row[column] for row in found] == pytest.approx(
                [row[column] for row in expected], rel=1e-9
            )

    def agrees_by_both(
        self,
        words: Sequence[str],
        k: int = 10,
        among: Callable[[Ints], Any] | None = None,
        **more: Any,
    ) -> None:
        """Assert that searches by meaning and by both return what brute force does.

        Similarities differ from the server's in the last digit, and with it what ties.
        """
        vector: Floats = self.rng.normal(size=(self.vectors.shape[1],))
        near = self.similarities(vector)
        lexical, most = self.scores(words)
        if among is not None:
            near[~among(self.numbers)] = -1
            lexical[~among(self.numbers)] = 0
        near_depth, worded_depth = min(1000, max(25, 5 * k // 2)), min(1000, max(42, 21 * k // 5))
        candidates = {
            *self.reaching(near, near_depth, -1),
            *self.reaching(lexical, worded_depth),
        }
        both = {place: (lexical[place] / most + near[place]) / 2 for place in candidates}
        nearest = {place: near[place] for place in self.ranked(near, k, -1)}
        named = "".join(f", {name} => %({name})s" for name in more)
        for mode, scores in (("semantic", nearest), ("hybrid", both)):
            found = self.db.execute(
                "select chunk_id, score from ragdb.search(%(corpus)s, %(query)s, %(k)s,"
                " mode => %(mode)s, query_embedding => %(vector)s, typos => false"
                f"{named})".encode(),
                {
                    "corpus": self.name,
                    "query": " ".join(words),
                    "k": k,
                    "mode": mode,
                    "vector": vector.tolist(),
                    **more,
                },
            ).fetchall()
            best = sorted(scores.values(), reverse=True)[:k]
            assert [score for _, score in found] == pytest.approx(best, abs=3e-6)
            own = near if mode == "semantic" else both
            assert [own[self.places_of[chunk]] for chunk, _ in found] == pytest.approx(
                best, abs=3e-6
            )


class FewDocuments(Made):
    """A corpus whose documents cost little: what asks of chunks alone."""

    def __init__(self, db: Connection, **how: Any) -> None:
        super().__init__(db, chunks_per_document=25, **how)
