"""Search by blocks returns what BM25 by brute force returns."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import Collection, encoded, lexemes, put, search
from tests.sql.made_corpus import FewDocuments


@pytest.fixture
def db(clone: str) -> Iterator[Connection]:
    """A database of the test's own: what other tests rolled back still fills the posting lists."""
    with psycopg.connect(clone) as connection:
        yield connection


@pytest.mark.parametrize("questions", [1, pytest.param(4, marks=pytest.mark.nightly)])
def test_the_pruned_ranking_of_a_large_corpus_is_exact(db: Connection, questions: int) -> None:
    # given enough postings that search prunes, with skewed frequencies and near duplicates
    chance = random.Random(7)
    weights = [1 / (rank + 2) for rank in range(400)]
    vocabulary = [encoded(n) for n in range(400)]

    def text(low: int, high: int) -> str:
        return " ".join(chance.choices(vocabulary, weights, k=chance.randint(low, high)))

    stored = [text(5, 40) for _ in range(1800)]
    stored += stored[:200] * 2
    db.execute("select ragdb.create_corpus('large', text_config => 'simple')")
    put(db, "large", (text_document(f"{n}.txt", t) for n, t in enumerate(stored[:1100])))
    # so that there is more than one block of 2,048 chunks
    db.execute(
        "update ragdb.corpora set next_chunk_no = next_chunk_no + 140001 where name = 'large'"
    )
    put(db, "large", (text_document(f"{n}.txt", t) for n, t in enumerate(stored[1100:], 1100)))

    def check() -> None:
        twin = Collection.read(db, "large")
        for size, k in [(1, 10), (2, 1), (3, 10), (5, 30), (8, 10), (14, 10), (40, 10), (3, 1000)]:
            for _ in range(questions):
                query = text(size, size)
                expected = twin.search(lexemes(db, query, "simple"), k)
                found = search(db, "large", query, k)
                assert [f[0] for f in found] == [e[0] for e in expected], query

    # then questions, long ones and single frequent words agree at every depth
    check()
    # and by the blocks of frequent lexemes
    db.execute("select ragdb.optimize_corpus('large')")
    blocks = db.execute(
        "select block_no, count(*) from ragdb.term_blocks group by 1 order by 1"
    ).fetchall()
    assert [number for number, _ in blocks] == [0, 551, 555]  # the last unit is not whole
    assert min(terms for _, terms in blocks) > 20
    check()
    # and with documents that these blocks do not know, know wrongly, or know though they are gone
    put(db, "large", (text_document(f"{n}.txt", text(5, 40)) for n in range(0, 120, 2)))
    put(db, "large", (text_document(f"new{n}.txt", text(5, 40)) for n in range(150)))
    gone = [f"{n}.txt" for n in range(1, 120, 2)]
    db.execute("select ragdb.delete_sources('large', %s)", (gone,))
    check()
    # and when every chunk was indexed anew
    db.execute("select ragdb.repair_corpus('large')")
    assert db.execute("select * from ragdb.check_corpus('large')").fetchall() == []
    check()


def faults(db: Connection, corpus: str = "made") -> list[str]:
    found = db.execute('select "check" from ragdb.check_corpus(%s)', (corpus,)).fetchall()
    # the ids of made chunks are made up
    return [name for (name,) in found if not name.startswith("chunks whose id")]


def state(db: Connection) -> tuple[Any, ...]:
    return (
        db.execute(
            "select last_chunk_no, stale_chunks, gone_chunks from ragdb.block_states"
        ).fetchone()
        or ()
    )


def test_a_block_is_made_when_its_last_chunk_comes(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300, longest=5)
    for numbers, last in (
        (range(1_500, 2_048), None),
        (range(2_048, 2_049), 2_048),
        (range(3_600, 4_149), 4_096),
        (range(7_700, 8_249), 8_192),
        (range(12_000, 12_249), 8_192),
        (range(12_249, 12_349), 12_288),
    ):
        made.add(len(numbers), np.array(numbers))
        assert state(db) == ((last, [], 0) if last else ())
        for words in (1, 3, 8):
            made.agrees(made.question(words))
    assert faults(db) == []


def test_optimizing_writes_what_is_new_and_leaves_the_rest(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300, longest=5)
    made.add(10_100)
    made.add(40)
    assert made.value("pivot") == made.lengths[:10_100].mean()

    def rows(table: str, below: str = "true") -> set[Any]:
        return set(db.execute(f"select ctid, xmin, cmin from ragdb.{table} where {below}".encode()))

    chunks, blocks = rows("chunk_lexemes"), rows("term_blocks")
    made.optimize()
    assert rows("chunk_lexemes") == chunks
    assert rows("term_blocks", "block_no < 2") == blocks
    assert state(db) == (10_140, [], 0)
    assert faults(db) == []
    # a mean that is over 25 % off moves the pivot, and every score with it
    for more, moves in ((300, False), (600, True)):
        made.add([["qb"] * 15] * more)
        made.optimize()
        assert (made.value("pivot") == made.lengths.mean()) == moves
    assert rows("chunk_lexemes").isdisjoint(chunks)
    assert faults(db) == []
    made.agrees(made.question(4))


def test_a_part_of_a_block_is_made_again_when_it_is_whole(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300, longest=5)
    # fewer than 2,000 chunks have all blocks made anew
    for first, last, step in (
        (1, 2_100, 1),
        (2_104, 4_000, 4),
        (4_004, 5_000, 4),
        (5_004, 8_300, 4),
    ):
        numbers = np.arange(first, last + 1, step)
        made.add(len(numbers), numbers)
        made.optimize()
        assert state(db)[0] == last
        assert faults(db) == []
        for words in (1, 3, 8):
            made.agrees(made.question(words))


def test_blocks_that_lie_side_by_side_become_one(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=60, longest=1)

    def blocks() -> list[int]:
        ((numbers,),) = db.execute("select block_nos from ragdb.block_states").fetchall()
        stored = db.execute("select distinct block_no from ragdb.term_blocks order by 1").fetchall()
        assert numbers == [number for (number,) in stored]
        return list(numbers)

    def check() -> None:
        assert faults(db) == []
        for words in (1, 2, 3, 8):
            made.agrees(made.question(words))

    def pairs(count: int) -> list[list[str]]:
        """Chunks of two words, so that the mean length, and with it the pivot, stays."""
        return [[*a, *b] for a, b in zip(made.draw(count), made.draw(count), strict=True)]

    def add(first: int, last: int) -> None:
        """A chunk at every fortieth number."""
        numbers = np.arange(first + 20, last, 40)
        made.add(pairs(len(numbers)), numbers)

    add(3, 8_003)
    made.optimize()
    for first in range(8_003, 56_003, 8_000):
        add(first, first + 8_000)
    check()
    assert blocks() == [0, 62, 93, 124, 156, 187]
    add(56_003, 68_000)
    assert blocks() == [0, 240]
    check()
    for first in range(68_003, 84_003, 8_000):
        add(first, first + 8_000)
    made.optimize()
    assert blocks() == [0, 240, 265, 296, 328]
    check()
    # what is indexed again takes its block apart, until the next time
    made.rewrite([5, 900], pairs(2))
    check()
    made.optimize()
    assert blocks() == [0, 240, 265, 296, 328]
    check()
    # a few that are a small part of all do not wait for as many
    add(84_003, 136_000)
    add(136_003, 144_000)
    assert blocks() == [0, 240, 480, 531]
    made.optimize()
    assert blocks() == [0, 240, 480, 562]
    check()


def test_rows_that_complete_a_block_are_merged_as_they_are_made(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300, longest=5)
    for first, last, blocks in (
        (1, 2_060, [0]),
        (50_001, 51_000, [0, 8]),
        (60_001, 62_000, [0, 240]),
        (65_001, 66_100, [0, 240, 242]),
    ):
        made.add(last - first + 1, np.arange(first, last + 1))
        assert db.execute("select block_nos from ragdb.block_states").fetchall() == [(blocks,)]
        stored = db.execute("select distinct block_no from ragdb.term_blocks order by 1")
        assert [number for (number,) in stored] == blocks
        for words in (1, 3, 8):
            made.agrees(made.question(words))
    assert faults(db) == []


@pytest.mark.nightly
def test_the_chunks_of_a_word_that_became_frequent_come_into_the_blocks_of_before(
    db: Connection,
) -> None:
    made = FewDocuments(db, vocabulary=500)

    def listed() -> np.ndarray[Any, np.dtype[np.int64]]:
        """The chunks that the dictionary lists for words that are in blocks."""
        return np.array(
            db.execute(
                "select unnest(ragdb_internal.listed_numbers(chunk_nos))"
                " from ragdb.lexemes where in_blocks"
            ).fetchall(),
            np.int64,
        )

    def rows(block: int) -> int:
        ((count,),) = db.execute(
            "select count(*) from ragdb.term_blocks where block_no = %s", (block,)
        ).fetchall()
        return int(count)

    def add(first: int, last: int) -> None:
        """A chunk at every fourth number."""
        numbers = np.arange(first, last + 1, 4)
        made.add(len(numbers), numbers)

    def check() -> None:
        assert faults(db) == []
        for words in (1, 1, 1, 2, 3, 8):
            made.agrees(made.question(words))

    add(1, 4_200)
    add(50_001, 55_000)
    assert listed().max() <= 4_096
    assert len(listed()) > 500
    before = rows(0)
    # the block that is made of all has them
    add(55_501, 62_000)
    assert listed().size == 0
    assert rows(0) > before + 50
    check()
    # as the widest block has that was there already; what is after both stays listed
    made.rewrite([5, 900, 1_500], made.draw(3))
    add(62_001, 66_500)
    assert len(listed()) > 50
    before = rows(0)
    add(117_001, 124_000)
    assert listed().size == 0
    assert rows(0) > before + 10
    check()
    # and the last ones, which are not merged yet, once the corpus is optimized
    add(124_001, 128_500)
    add(128_501, 133_000)
    assert len(listed()) > 10
    made.optimize()
    assert listed().size == 0
    check()


def test_a_merged_block_says_what_those_say_that_it_is_made_of(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=3_000)  # of a few groups, and of most
    for size in (4_200, 5_000, 6_000):
        made.add(size)

    def scores() -> dict[tuple[int, int], float]:
        found = {}
        for term, block, weight, row in db.execute(
            "select term_id, block_no, weight, coalesce(scores, dense_scores::sparsevec)::text"
            " from ragdb.term_blocks"
        ):
            for entry in row.strip("{").partition("}")[0].split(","):
                place, _, value = entry.partition(":")
                found[term, 64 * block + int(place)] = float(value) / weight
        return found

    # and the chunks that the dictionary lists, each group with the most that one of them scores
    before = scores()
    for term, number, impacts in db.execute(
        "select l.term_id, x.chunk_no, x.impacts::text"
        " from ragdb.lexemes l, unnest(ragdb_internal.listed_numbers(l.chunk_nos)) n"
        "   join ragdb.chunk_lexemes x on x.chunk_no = n where l.in_blocks"
    ):
        impact = re.search(rf"[{{,]{term}:([^,}}]+)", impacts)
        key = (term, (number - 1) // 4 + 1)
        before[key] = max(before.get(key, 0), float(impact[1])) if impact else 0
    db.execute("select ragdb_internal.merge_many(%s, 3)", (made.corpus_id,))
    assert db.execute("select block_nos from ragdb.block_states").fetchall() == [([0],)]
    after = scores()
    assert after.keys() == before.keys()
    # a row may be rounded up to halves, which are a thousandth apart
    ratios = np.array([after[key] / before[key] for key in after])
    assert (ratios > 1 - 1e-6).all()
    assert (ratios < 1.0015).all()
    assert (abs(ratios - 1) < 1e-6).sum() > 1_000
    assert (ratios > 1.0001).sum() > 1_000


def test_no_score_is_less_in_halves_than_it_was(db: Connection) -> None:
    given = np.exp(np.random.default_rng(5).uniform(-7, 5, 4_096)).astype(np.float32)
    given[::3] = 0

    def stored(scores: np.ndarray) -> tuple[str | None, str | None]:
        ((sparse, dense),) = db.execute(
            "select s.scores::text, s.dense_scores::text"
            " from ragdb_internal.stored(%s::real[]::vector::sparsevec) s",
            (scores.tolist(),),
        ).fetchall()
        return sparse, dense

    sparse, dense = stored(given)
    assert sparse is None
    halves = np.array(json.loads(dense or ""), np.float32)
    assert (halves.astype(np.float16) == halves).all()
    assert (halves >= given).all()
    assert (halves <= 1.0015 * given).all()
    # few groups have it; one scores too little for a half
    for change in (
        np.where(np.arange(4_096) % 4 == 0, given, 0),
        np.where(given == 0, 1e-9, given),
    ):
        sparse, dense = stored(change)
        assert dense is None
        assert (sparse or "").count(":") == (change > 0).sum()


@pytest.mark.parametrize("size", [900, 5_000])
def test_what_is_demanded_is_found_as_by_the_texts(db: Connection, size: int) -> None:
    made = FewDocuments(db, vocabulary=50, longest=20)
    texts = made.draw(size)
    made.add(texts)
    made.add([["qseldom", "qb", "qc"]])
    texts.append(["qseldom", "qb", "qc"])
    joined = [f" {' '.join(text)} " for text in texts]
    # what ranks, what is demanded and what is not wanted, by the places of drawn words; 4 is seldom
    shapes = ["2 / 01 /", "/ 012 /", "2 / 0 1 /", "012 / / 3", "01 / / 23", "3 / 0 12 /",
        "1 / 40 /", "/ 4 12 / 0", "3 / 01 12 /"]  # fmt: skip
    for n in range(36):
        words = [*made.question(4), "qseldom"]
        ranks, demands, unwanted = (
            [" ".join(words[int(place)] for place in clause) for clause in part.split()]
            for part in shapes[n % len(shapes)].split("/")
        )
        query = " ".join(
            [*ranks, *(f'+"{clause}"' for clause in demands), *(f'-"{c}"' for c in unwanted)]
        )
        scores, most = made.scores(" ".join(ranks + demands).split())
        for place, text in enumerate(joined):
            if any(f" {clause} " not in text for clause in demands) or any(
                f" {clause} " in text for clause in unwanted
            ):
                scores[place] = 0
        k = int(made.rng.integers(1, 30))
        found = db.execute(
            "select chunk_id, score from ragdb.search('made', %s, %s, mode => 'lexical',"
            " syntax => 'web', typos => false)",
            (query, k),
        ).fetchall()
        best = made.ranked(scores, k)
        assert [hit for hit, _ in found] == [made.ids[place] for place in best], query
        assert [score for _, score in found] == pytest.approx(
            [scores[place] / most for place in best]
        )


def test_blocks_of_chunks_that_are_gone_are_made_anew(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300)
    made.add(5_000)
    made.optimize()
    before = db.execute("select sum(pg_column_size(b)) from ragdb.term_blocks b").fetchone()
    gone = list(range(0, 5_000, 2))
    db.execute(
        "select ragdb_internal.unindex_chunks(%s, %s)",
        (made.corpus_id, made.numbers[gone].tolist()),
    )
    made.forget(gone)
    assert state(db)[2] == 2_500
    for words in (1, 3, 8):
        made.agrees(made.question(words))
    made.optimize()
    after = db.execute("select sum(pg_column_size(b)) from ragdb.term_blocks b").fetchone()
    assert after is not None
    assert before is not None
    assert after[0] < 0.8 * before[0]
    assert state(db)[2] == 0
    for words in (1, 3, 8):
        made.agrees(made.question(words))


class Swept(FewDocuments):
    """A corpus whose chunks go while writers come."""

    def put(self, first: int, last: int, step: int = 20) -> None:
        numbers = np.arange(first, last + 1, step)
        self.add(len(numbers), numbers)

    def take(self, places: range) -> None:
        self.db.execute(
            "select ragdb_internal.unindex_chunks(%s, %s)",
            (self.corpus_id, self.numbers[places].tolist()),
        )
        self.forget(places)

    def check(self, gone_chunks: int, swept_to: int | None) -> None:
        told = self.db.execute("select gone_chunks, swept_to from ragdb.block_states").fetchall()
        assert told == [(gone_chunks, swept_to)]
        for words in (1, 3, 8):
            self.agrees(self.question(words))

    def known(self) -> dict[int, int]:
        """How many groups the rows of each block know."""
        return dict(
            self.db.execute(
                "select block_no, sum(regexp_count(coalesce(scores, dense_scores::sparsevec)::text,"
                " ':'))::integer from ragdb.term_blocks group by 1"
            ).fetchall()
        )

    def dead(self) -> int:
        ((count,),) = self.db.execute("select count(*) from ragdb.lexemes where df = 0").fetchall()
        return int(count)


def test_writers_make_blocks_anew_where_half_as_many_chunks_went_as_there_are(
    db: Connection,
) -> None:
    made = Swept(db, vocabulary=300, longest=5)
    made.add(
        [[*text, f"once{n}"] for n, text in enumerate(made.draw(3_000))],
        np.arange(1, 60_000, 20),
    )
    made.put(60_001, 120_000)
    made.put(180_001, 240_000)
    made.take(range(2_300))
    made.put(240_001, 246_000)
    made.check(2_300, None)
    assert made.dead() == 2_300
    before = made.known()
    assert sorted(before) == [0, 240, 703, 720]
    # numbers up to 61,440 at first
    made.take(range(2_300, 2_900))
    made.take(range(8_400, 9_000))
    made.put(246_001, 246_020)
    made.check(0, 61_440)
    assert made.dead() == 0
    known = made.known()
    assert sorted(known) == [226, 240, 703, 720]
    assert known[226] < before[0] / 10
    assert known[240] == before[240]
    # then up to 122,880, when a fourth of an eighth went
    made.take(range(3_000, 3_100))
    made.put(246_021, 246_040)
    made.check(100, 61_440)
    made.take(range(3_100, 3_300))
    made.put(246_041, 246_060)
    made.check(300, 122_880)
    known = made.known()
    assert sorted(known) == [226, 257, 703, 720]
    assert known[257] < before[240]
    assert known[720] == before[720]
    with db.transaction(force_rollback=True):
        # optimizing does the rest at once
        made.optimize()
        made.check(0, None)
    # where no chunk is left none is looked for; and again, as chunks went meanwhile
    made.take(range(3_300, 8_400))
    made.put(246_061, 246_080)
    made.check(5_400, None)
    assert sorted(made.known()) == [226, 257, 937]
    made.put(246_081, 246_100)
    made.check(0, 61_440)


def test_writers_make_whole_blocks_anew_that_hold_4096_chunks(db: Connection) -> None:
    made = Swept(db, vocabulary=300, longest=5)
    for first in (1, 2_049, 4_097, 6_145):
        made.put(first, first + 2_047, 1)
    made.put(8_193, 12_288, 1)
    before = made.known()
    assert sorted(before) == [0, 8, 16, 24, 32]
    # the 4096th that is left is number 7,096
    made.take(range(0, 6_000, 2))
    made.put(12_289, 12_289, 1)
    made.check(3_000, None)
    made.take(range(10_000, 12_000))
    made.put(12_290, 12_290, 1)
    made.check(0, 8_192)
    known = made.known()
    assert sorted(known) == [0, 32]
    assert known[0] < before[0] + before[8] + before[16] + before[24]
    assert known[32] == before[32]
    made.take(range(6_000, 7_000))
    made.put(12_291, 12_291, 1)
    made.check(1_000, None)
    known = made.known()
    assert sorted(known) == [0, 32]
    assert known[32] < before[32]


@pytest.mark.by_day(1)
@pytest.mark.parametrize("weights", [1, 50, 5_000])
def test_a_search_ends_whatever_the_weights_have_become(db: Connection, weights: int) -> None:
    # blocks that were made when the words weighed otherwise
    made = FewDocuments(db, vocabulary=300)
    made.add(4_200)
    made.add([["qb", "qc"]] * weights)
    db.execute("set local statement_timeout = '120s'")
    for size, k in itertools.product((1, 2, 5, 9), (1, 10, 100)):
        made.agrees(made.question(size), k)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("rounds", [5, pytest.param(15, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("most", [1.02, 1.09, 1.3])
def test_scores_that_weigh_more_or_less_than_words_do_now_still_bound_theirs(
    db: Connection, most: float, rounds: int
) -> None:
    # words beyond a limit are multiplied, and the others taken as they are
    made = FewDocuments(db, vocabulary=60)
    made.add(5_120)  # a block
    made.optimize()
    db.execute("select setseed(0.5)")
    db.execute(
        "update ragdb.term_blocks b set weight = b.weight * f.factor,"
        " (scores, dense_scores) = (select r.scores, r.dense_scores"
        "   from ragdb_internal.rescaled(b.scores, b.dense_scores, f.factor) r)"
        " from (select term_id, block_no, power(%s, 2 * random() - 1) as factor"
        "   from ragdb.term_blocks) f where f.term_id = b.term_id and f.block_no = b.block_no",
        (most,),
    )
    groups = (made.numbers - 1) // 4
    for size, k in itertools.product((1, 2, 3, 4, 5, 9) * rounds, (1, 2, 10)):
        words = [word for word in made.question(size) if word in made.terms] or ["qb"]
        words += words[: int(made.rng.integers(0, 3))]
        made.agrees(words, k)
        bounds = np.zeros(1_280)
        for word, times in Counter(words).items():
            highest = np.zeros(1_280)
            np.maximum.at(highest, groups, made.scores([word] * times)[0])
            bounds += highest
        ((sums, short, lack),) = db.execute(
            "select s.sums[1]::real[], s.short, s.lack from ragdb.corpora c"
            " cross join lateral ragdb_internal.question(c, c, %s) q"
            " cross join lateral ragdb_internal.block_sums(c.corpus_id, q.terms) s",
            (" ".join(words),),
        ).fetchall()
        found = short * np.array(sums)
        assert (found >= bounds * (1 - 1e-6)).all(), words
        assert (np.array(sums) + lack >= bounds * (1 - 1e-6)).all(), words
        assert (found <= bounds * most**2 * (1 + 1e-6)).all(), words


def test_demands_of_frequent_words_are_met_as_by_reading_every_text(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=40, longest=10)
    texts = [*made.draw(4_700), ["qc", "rare", "qb"], ["rare", "qb", "qc"]]
    made.add(texts)
    places = [3, 77, 4_001, 4_650]
    for place, text in zip(places, made.draw(4), strict=True):
        texts.append(text)
        made.rewrite([place], [text])
        texts[place] = []
    assert state(db)[1] == [4, 78, 4_002]

    def allowed(demand: Any) -> set[int]:
        return {int(made.numbers[n]) for n, text in enumerate(texts) if text and demand(text)}

    def has(*words: str) -> Any:
        return lambda text: any(tuple(text[n : n + len(words)]) == words for n in range(len(text)))

    def among(found: set[int]) -> Any:
        return lambda numbers: np.isin(numbers, list(found))

    a, b, c, d = made.words[:4]
    for query, ranking, demand in [
        (f"+{a} {b}", [a, b], lambda t: a in t),
        (f"+{a} +{b} {c}", [a, b, c], lambda t: a in t and b in t),
        (f"-{a} {b} {c}", [b, c], lambda t: a not in t),
        (f"-{a} -{b} {c} {d}", [c, d], lambda t: a not in t and b not in t),
        (f'"{a} {b}" {c}', [a, b, c], has(a, b)),
        (f'-"{a} {b}" {a} {c}', [a, c], lambda t: not has(a, b)(t)),
        (f'+{d} "{b} {a}" -{c}', [d, b, a], lambda t: d in t and has(b, a)(t) and c not in t),
        (f'"rare {b}" {c}', ["rare", b, c], has("rare", b)),
        (f"+rare {c}", ["rare", c], lambda t: "rare" in t),
    ]:  # fmt: skip
        found = allowed(demand)
        for k in (3, 40, 1_000):
            expected = made.best(ranking, k, among(found))
            rows = db.execute(
                "select chunk_id, bm25 from ragdb.search('made', %s, %s, mode => 'lexical',"
                " typos => false, syntax => 'web')",
                (query, k),
            ).fetchall()
            assert [row[0] for row in rows] == [row[0] for row in expected], (query, k)
            assert [row[1] for row in rows] == pytest.approx([row[2] for row in expected])
        scores, _ = made.scores(ranking)
        hits = db.execute(
            "select sum(chunks) from ragdb.facets('made', %s, '{media_type}', syntax => 'web')",
            (query,),
        ).fetchone()
        matching = [n for n in found if scores[made.numbers == n].max() > 0]
        assert (hits or (0,))[0] == (len(matching) or None)


def test_a_list_and_a_block_that_lack_a_chunk_are_found_and_repaired(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300, longest=5)
    made.add([*made.draw(700), ["seldom"]], np.arange(1, 2_102, 3))
    assert faults(db) == []
    for damage, name in [
        (
            "update ragdb.lexemes set chunk_nos = '\\x00000007' where lexeme = 'seldom'",
            "lexemes with a",
        ),
        ("update ragdb.lexemes set chunk_nos = '' where lexeme = 'seldom'", "lexemes with a"),
        ("delete from ragdb.term_blocks where term_id % 7 = 1", "words of chunks that blocks"),
        ("update ragdb.chunk_lexemes set word_order = 'x' where chunk_no = 7", "chunks that are i"),
        ("update ragdb.block_states set last_chunk_no = 2101", "words of chunks that blocks"),
    ]:
        db.execute(damage.encode())
        assert [fault for fault in faults(db) if fault.startswith(name)], damage
        db.execute("select ragdb.repair_corpus('made')")
        assert faults(db) == [], damage
        made.agrees(["seldom", *made.question(3)])


def test_as_many_words_are_lacking_as_the_block_that_is_gone_had(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300, longest=5)
    texts = made.draw(4_200)
    # rare at first, hence listed, and frequent in the block from chunk 2,049 to 4,096
    for place in [*range(5), *range(2_100, 4_200, 2)]:
        texts[place].append("late")
    made.add(texts[:2_100])
    made.add(texts[2_100:])
    assert faults(db) == []
    often = made.words[0]
    for word, block, covered in [
        ("late", 8, range(2_048, 4_096)),
        (often, 8, range(2_048, 4_096)),
        (often, 0, range(2_048)),
    ]:
        db.execute("savepoint whole")
        gone = db.execute(
            "delete from ragdb.term_blocks b using ragdb.lexemes l"
            " where l.lexeme = %s and b.term_id = l.term_id and b.block_no = %s",
            (word, block),
        )
        assert gone.rowcount == 1
        found = db.execute(
            "select found from ragdb.check_corpus('made')"
            " where \"check\" = 'words of chunks that blocks lack'"
        ).fetchall()
        assert found == [(str(sum(word in texts[place] for place in covered)),)]
        db.execute("rollback to savepoint whole")


@pytest.mark.nightly
def test_the_index_of_a_first_load_is_small(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=20_000, longest=60)
    for _ in range(4):
        made.add(2_500)
        db.commit()
    made.optimize()
    ((size, postings),) = db.execute(
        "select (select sum(pg_total_relation_size(t)) from unnest("
        "'{ragdb.chunk_lexemes, ragdb.lexemes, ragdb.term_blocks}'::regclass[]) t),"
        " (select sum(df) from ragdb.lexemes)"
    ).fetchall()
    assert size / postings < 36  # bytes


@pytest.mark.parametrize("k", [10, 40])
def test_where_the_best_groups_stand_out_few_more_than_k_are_wanted(
    db: psycopg.Connection[Any], k: int
) -> None:
    # half of the groups have a frequent word, and as many a rare one beside it
    drawn = np.random.default_rng(5).exponential(size=15_360)
    sums = np.minimum(0.3 * drawn + np.repeat([0.1, 6], 7_680), 8).round(4)
    (found,) = db.execute(
        "select w.need, (select sum(bit_count(b)) from unnest(w.bits) b)"
        " from ragdb_internal.wanted_need(array[%s::real[]::vector], null, 0, 12, %s) w",
        (sums.tolist(), k),
    ).fetchall()
    need, groups = float(found[0]), int(found[1])
    assert groups == (sums.astype("f4") > np.float32(need)).sum()
    assert 1.2 * k <= groups <= 8 * k + 60


def test_set_bits_are_found_wherever_they_are(db: psycopg.Connection[Any]) -> None:
    for bits, places in (
        ("", []),
        ("0", []),
        ("1", [1]),
        ("0110", [2, 3]),
        ("1" * 700, list(range(1, 701))),
        ("0" * 15_359 + "1", [15_360]),
        (("0" * 499 + "1") * 3 + "00", [500, 1000, 1500]),
    ):
        found = db.execute("select place from ragdb_internal.set_bits(%s::bit varying)", (bits,))
        assert [place for (place,) in found] == places, bits
