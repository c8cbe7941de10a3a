"""Where a number of the design changes, below it, at it and above it, search is brute force."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.sql.made_corpus import FewDocuments, Made

# (words, k)
QUESTIONS = [(1, 10), (2, 1), (3, 10), (4, 30), (6, 10), (9, 100), (16, 10), (33, 3)]
WIDTHS = "2000 2001 2048 2049 63488 63489 64000 64001 128000 128001 192001"
# more beside each of them, and where the same comes a second time
BY_NIGHT = "2004 2005 4000 4001 63500 63999 64004 64005 126976 126977 127500 190465 192000"


def asked_anew(made: Made) -> Made:
    """It, with questions that are drawn alike whichever test has asked before."""
    made.rng = np.random.default_rng(5)
    return made


@pytest.fixture(scope="module")
def once_wide(server18: Server) -> Iterator[Made]:
    """2,000 chunks, to be spread over any range of numbers."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as connection,
    ):
        made = FewDocuments(connection)
        made.add(2_000)
        yield made


@pytest.fixture
def wide(once_wide: Made) -> Made:
    return asked_anew(once_wide)


def spread(made: Made, last: int) -> None:
    made.move(1 + np.arange(2_000) * (last - 1) // 1_999)


# Around 500, 512 and 1,000 groups (bits come in pieces of 500), and around 15,872 and 16,000 groups
# a block of one, two and three blocks
@pytest.mark.by_day(3)
@pytest.mark.parametrize(
    "last",
    [
        *map(int, WIDTHS.split()),
        *(pytest.param(int(last), marks=pytest.mark.nightly) for last in BY_NIGHT.split()),
    ],
)
def test_blocks_of_every_width_rank_as_by_brute_force(wide: Made, last: int) -> None:
    spread(wide, last)
    wide.optimize()
    for words, k in QUESTIONS:
        wide.agrees(wide.question(words), k)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("last", [700_000, 7_872_512, 7_872_513, 8_000_000])
def test_many_blocks_rank_as_by_brute_force(wide: Made, last: int) -> None:
    spread(wide, last)
    wide.make_blocks()
    for words, k in QUESTIONS:
        wide.agrees(wide.question(words), k)


def agrees_among_two_thirds(made: Made, question: list[str], k: int) -> None:
    named = [n for n in made.ids if int(n[-10:]) % 3]
    made.agrees(question, k, lambda numbers: numbers % 3 > 0, chunk_ids=named)


def has_blocks(made: Made) -> bool:
    return bool(made.db.execute("select from ragdb.block_states").fetchall())


def test_the_first_blocks_come_with_2000_chunks(db: Connection) -> None:
    made = FewDocuments(db)
    for chunks in (1_999, 2_000, 2_001):
        made.add(chunks - len(made.ids))
        made.optimize()
        assert has_blocks(made) is (chunks >= 2_000)
        for words, k in QUESTIONS:
            made.agrees(made.question(words), k)


def test_a_lexeme_of_64_chunks_has_blocks_and_one_of_400_is_pruned(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300)
    texts = made.draw(2_500)
    counts = (63, 64, 65, 399, 400, 401, 402)
    for count in counts:
        for place in made.rng.permutation(len(texts))[:count].tolist():
            texts[place] = [*texts[place], f"in{count}"]
    made.add(texts)
    for step in range(2):
        for count in counts:
            for k in (1, 10, 70):
                made.agrees([f"in{count}"], k)
                made.agrees([f"in{count}", *made.question(3)], k)
        if step == 0:
            made.optimize()
    assert db.execute(
        "select lexeme, in_blocks from ragdb.lexemes"
        " where lexeme in ('in63', 'in64', 'in65') order by 1"
    ).fetchall() == [("in63", False), ("in64", True), ("in65", True)]


def test_a_thousand_stale_chunks_are_looked_at_and_one_more_renews_the_blocks(
    db: Connection,
) -> None:
    made = FewDocuments(db)
    made.add(2_200)
    made.optimize()
    for stale in (1, 999, 1_000, 1_001):
        ((known,),) = db.execute("select cardinality(stale_chunks) from ragdb.block_states")
        numbers = np.arange(known, stale) + 1
        places = [made.places_of[f"made:{n:010}"] for n in numbers.tolist()]
        made.rewrite(places, made.draw(len(places)))
        ((left,),) = db.execute("select cardinality(stale_chunks) from ragdb.block_states")
        assert left == (stale if stale <= 1_000 else 0)
        for words, k in QUESTIONS:
            made.agrees(made.question(words), k)
            agrees_among_two_thirds(made, made.question(words), k)


def test_some_2047_chunks_newer_than_the_blocks_are_looked_at(db: Connection) -> None:
    made = FewDocuments(db)
    made.add(2_000)
    made.optimize()
    newer = 0
    for chunks in (1, 2_047, 2_048, 2_304):
        made.add(chunks - newer)
        newer = chunks
        for words, k in QUESTIONS:
            made.agrees(made.question(words), k)
            agrees_among_two_thirds(made, made.question(words), k)


@pytest.mark.parametrize("optimized", [False, True])
def test_questions_of_any_number_of_words_rank_as_by_brute_force(
    db: Connection, optimized: bool
) -> None:
    made = FewDocuments(db, vocabulary=3_000)
    made.add(2_100)
    if optimized:
        made.optimize()
    for words in (1, 2, 15, 16, 17, 31, 32, 33, 64, 255, 256, 257, 1_000, 4_000):
        made.agrees(made.question(words), 10)


@pytest.mark.parametrize("optimized", [False, True])
def test_every_k_ranks_as_by_brute_force(db: Connection, optimized: bool) -> None:
    made = FewDocuments(db, vocabulary=200)
    made.add(2_100)
    if optimized:
        made.optimize()
    for k in (1, 2, 3, 9, 10, 11, 399, 400, 401, 999, 1_000):
        for words in (1, 3, 7):
            made.agrees(made.question(words), k)


@pytest.mark.parametrize("optimized", [False, True])
def test_ties_of_as_many_chunks_as_are_fetched_go_by_id(db: Connection, optimized: bool) -> None:
    made = FewDocuments(db, longest=4)
    texts = made.draw(2_000)
    # 2 k + 32 chunks are fetched, and then eight times as many
    for tied in (41, 42, 43, 335, 336, 337):
        texts += [[f"same{tied}", "others"]] * tied
    made.add(texts)
    if optimized:
        made.optimize()
    for tied in (41, 42, 43, 335, 336, 337):
        for question in (["others", f"same{tied}"], ["others"]):
            made.agrees(question, 5)
            made.agrees(question, tied)


@pytest.fixture(scope="module")
def once_filtered(server18: Server) -> Iterator[Made]:
    """20,002 chunks, each a document with a number, of vectors of four."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as connection,
    ):
        made = Made(connection, longest=6)
        made.add(20_002)
        made.embed(dims=4)
        yield made


@pytest.fixture
def filtered(once_filtered: Made) -> Made:
    return asked_anew(once_filtered)


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "chunks",
    [
        *(1, 5_000, 5_001, 20_000, 20_001),
        *(pytest.param(n, marks=pytest.mark.nightly) for n in (4_999, 19_999)),
    ],
)
def test_a_filter_that_leaves_any_number_of_chunks_ranks_as_by_brute_force(
    filtered: Made, chunks: int
) -> None:
    among = {f"made:{n:010}" for n in range(1, chunks + 1)}
    for words, k in [(1, 10), (3, 1), (4, 10), (6, 100)]:
        question = filtered.question(words)
        below = {"filter": f'{{"n": {{"lte": {chunks}}}}}'}
        filtered.agrees(question, k, lambda numbers: numbers <= chunks, **below)
        filtered.agrees(question, k, lambda numbers: numbers <= chunks, chunk_ids=list(among))
        filtered.agrees_by_both(question, k, lambda numbers: numbers <= chunks, **below)


def test_of_many_listed_chunks_few_are_looked_at(filtered: Made) -> None:
    def read() -> int:
        ((rows,),) = filtered.db.execute(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables"
            " where schemaname = 'ragdb' and relname = 'chunk_lexemes'"
        )
        return int(rows)

    question = " ".join(filtered.words[100:103])  # neither rare nor frequent
    for listed, least, most in ((500, 500, 600), (501, 10, 250), (5_000, 10, 250)):
        with filtered.db.transaction():
            before = read()
            filtered.db.execute(
                "select from ragdb.search('made', %s, filter => %s)",
                (question, f'{{"n": {{"lte": {listed}}}}}'),
            )
            assert (listed, least <= read() - before <= most) == (listed, True)


@pytest.mark.parametrize("k", [1, 9, 10, 11, 399, 400, 401, 1_000])
def test_legs_of_every_depth_rank_as_by_brute_force(filtered: Made, k: int) -> None:
    filtered.agrees_by_both(filtered.question(3), k)


def test_a_hybrid_search_lists_what_a_filter_leaves_where_its_legs_look_for_many(
    filtered: Made,
) -> None:
    """For 100 hits they look for 748: three times the root of that many times 20,002 is 11,604."""
    db = filtered.db
    with db.transaction(force_rollback=True):
        assert db.execute("select ragdb.index_space('made')").fetchone() == (True,)
        found = [
            db.execute(
                "select bool_and(is_exact) from ragdb.search('made', 'x', 100, mode => 'hybrid',"
                " query_embedding => %s, filter => %s)",
                (filtered.rng.normal(size=4).tolist(), f'{{"n": {{"lte": {chunks}}}}}'),
            ).fetchone()
            for chunks in (10_000, 13_000)
        ]
    assert found == [(True,), (False,)]


@pytest.mark.nightly
@pytest.mark.parametrize("chunks", [9_999, 10_000, pytest.param(20_002, marks=pytest.mark.nightly)])
def test_an_index_over_vectors_comes_with_10000_chunks(filtered: Made, chunks: int) -> None:
    db = filtered.db
    with db.transaction(force_rollback=True):
        db.execute("delete from ragdb.chunks where chunk_no > %s", (chunks,))
        db.execute("update ragdb.corpora set chunks = %s", (chunks,))
        made = db.execute("select ragdb.index_space('made')").fetchone()
        assert made == (chunks >= 10_000,)
        vector = filtered.rng.normal(size=4)
        near = filtered.similarities(vector)[:chunks]
        # chunks that are named, such as those of a slice, are all looked at
        for among, is_named in ((None, False), (1_000, False), (7_500, False), (7_500, True)):
            found = db.execute(
                "select chunk_id, score, is_exact from ragdb.search('made', 'x', 10,"
                " mode => 'semantic', query_embedding => %s, filter => %s, chunk_ids => %s)",
                (
                    vector.tolist(),
                    f'{{"n": {{"lte": {among}}}}}' if among and not is_named else None,
                    filtered.ids[:among] if is_named else None,
                ),
            ).fetchall()
            walked = chunks >= 10_000 and among != 1_000 and not is_named
            assert {row[2] for row in found} == {not walked}
            best = np.sort(near[:among])[::-1][:10]
            assert [row[1] for row in found] == pytest.approx(best, abs=2e-6)


@pytest.mark.parametrize(
    "believed",
    [
        *(0, 10_000_000),
        *(pytest.param(n, marks=pytest.mark.nightly) for n in (100_000, 1_000_000)),
    ],
)
def test_blocks_are_made_in_one_pass_however_large_the_planner_takes_the_corpus_for(
    any_db: Connection, believed: int
) -> None:
    made = FewDocuments(any_db)
    made.add(3_000)
    any_db.execute(
        "update pg_class set reltuples = %s, relpages = 1 + pg_relation_size(oid) / 8192"
        " where oid in ('ragdb.chunk_lexemes'::regclass, 'ragdb.chunks'::regclass)",
        (believed,),
    )

    def fetched() -> int:
        ((rows,),) = any_db.execute(
            "select sum(idx_tup_fetch) from pg_stat_xact_user_tables"
            " where relname in ('lexemes', 'chunk_lexemes')"
        ).fetchall()
        return int(rows)

    before = fetched()
    made.optimize()
    assert fetched() - before < 50_000


@pytest.mark.nightly
def test_a_filter_against_the_question_is_listed_once_many_were_looked_at(db: Connection) -> None:
    """All 14,000 chunks that rank before the best of the 6,000 have to be passed over."""
    made = Made(db)
    made.add([["asked", "of", "other", "things", "as", "well"]] * 6_000)
    made.add([["asked", "asked"]] * 14_000)
    db.execute(
        "update ragdb.documents set metadata ="
        " jsonb_build_object('kind', case when doc_no > 6000 then 'many' else 'few' end)"
    )
    made.optimize()

    def read() -> int:
        ((rows,),) = db.execute(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables"
            " where schemaname = 'ragdb' and relname = 'documents'"
        )
        return int(rows)

    before = read()
    hits = db.execute(
        "select source from ragdb.search('made', 'asked', filter => '{\"kind\": \"few\"}')"
    )
    assert [int(source[:10]) <= 6_000 for (source,) in hits] == [True] * 10
    assert read() - before < 6_600
