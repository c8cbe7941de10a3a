"""The syntax of queries, and the arguments of search."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.lexical_twin import Collection, document, lexemes, put, search

Connection = psycopg.Connection[Any]

TEXTS = {
    "order.txt": "The purchase order was paid in full.",
    "reverse.txt": "In order to purchase, paid orders come first.",
    "refund.txt": "A refund of the order takes nine days.",
    "weather.txt": "Rain in the afternoon.",
    "state.txt": "A state of the art system with user_id and C++.",
}


@pytest.fixture
def docs(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", (document(uri, text) for uri, text in TEXTS.items()))
    return db


def found(db: Connection, query: str, **more: Any) -> set[str]:
    names = "".join(f", {name} => %({name})s" for name in more)
    statement = f"select source from ragdb.search('docs', %(query)s, 10{names})"
    return {row[0] for row in db.execute(statement, {"query": query, **more}).fetchall()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("order", {"order.txt", "reverse.txt", "refund.txt"}),
        ('"purchase order"', {"order.txt"}),
        ('"purchase orders"', {"order.txt"}),
        ('order -"purchase order"', {"reverse.txt", "refund.txt"}),
        ("order -refund", {"order.txt", "reverse.txt"}),
        ("rain +order", {"order.txt", "reverse.txt", "refund.txt"}),
        ("+rain +order", set()),
        ("+nosuchword order", set()),
        ("order -nosuchword", {"order.txt", "reverse.txt", "refund.txt"}),
        ('"nosuchword order"', set()),
        ('"state of the art"', {"state.txt"}),
        ('"state art"', set()),
        ("+user_id", {"state.txt"}),
        ("-order", set()),
        ('"" order', {"order.txt", "reverse.txt", "refund.txt"}),
        ('order "unclosed', {"order.txt", "reverse.txt", "refund.txt"}),
        ("+1 order -2", {"order.txt", "reverse.txt", "refund.txt"}),
        ("the of and", set()),
        ("& | ! ( ) : * ' \\ <-> rain", {"weather.txt"}),
    ],
)
def test_a_query_finds(docs: Connection, query: str, expected: set[str]) -> None:
    assert found(docs, query) == expected


def test_a_clause_changes_which_chunks_rank_and_no_score(docs: Connection) -> None:
    plain = {chunk: score for chunk, score, _ in search(docs, "docs", "purchase order")}
    for chunk, score, _ in search(docs, "docs", '"purchase order"'):
        assert score == plain[chunk]


def test_a_word_that_the_corpus_lacks_lowers_the_score(docs: Connection) -> None:
    ((_, known, bm25),) = search(docs, "docs", "rain")
    ((_, less, same),) = search(docs, "docs", "rain zeppelin")
    assert bm25 == same
    assert 0 < less < known <= 1


def test_coverage_is_the_share_of_idf_matched(docs: Connection) -> None:
    twin = Collection.read(docs, "docs")
    (coverage,) = docs.execute(
        "select coverage from ragdb.search('docs', 'rain zeppelin')"
    ).fetchone() or (0,)
    assert coverage == pytest.approx(twin.idf("rain") / (twin.idf("rain") + twin.idf("zeppelin")))


def test_min_score_is_a_floor(docs: Connection) -> None:
    everything = search(docs, "docs", "purchase order refund")
    floor = everything[1][1]
    assert search(docs, "docs", "purchase order refund", min_score=floor) == everything[:2]


def test_a_hit_says_where_it_stands(docs: Connection) -> None:
    hit = docs.execute("select * from ragdb.search('docs', 'rain', 1)").fetchone()
    stored = docs.execute(
        "select c.chunk_id, d.doc_cid, c.source, d.title, c.heading, c.page, c.start_offset,"
        " c.end_offset, c.text, c.citation, encode(c.content_hash, 'hex'), d.metadata"
        " from ragdb.chunks c join ragdb.documents d using (corpus_id, doc_no)"
        " join ragdb.corpora p using (corpus_id) where p.name = 'docs' and c.source = 'weather.txt'"
    ).fetchone()
    assert hit is not None
    assert stored is not None
    assert (hit[0], hit[1]) == (1, "docs")
    assert (*hit[2:12], *hit[19:21]) == stored
    assert hit[12] == hit[13]
    assert (hit[14], hit[15], hit[16]) == (None, 1, None)


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ("'docs', null", "RG400"),
        ("'docs', ''", "RG400"),
        (r"'docs', E' \t\n'", "RG400"),
        ("'docs', 'a', 0", "RG400"),
        ("'docs', 'a', 1001", "RG400"),
        ("'docs', 'a', null", "RG400"),
        ("'docs', 'a', min_score => -0.1", "RG400"),
        ("'docs', 'a', min_score => 'NaN'", "RG400"),
        ("'docs', 'a', min_score => null", "RG400"),
        ("'docs', 'a', mode => 'magic'", "RG400"),
        ("'docs', 'a', mode => 'semantic'", "RG415"),
        ("'docs', 'a', mode => 'hybrid'", "RG415"),
        ("'docs', 'a', chunk_ids => array['x', null]", "RG400"),
        ("null::text, 'a'", "RG400"),
        ("null::text[], 'a'", "RG400"),
        ("'{}'::text[], 'a'", "RG400"),
        ("array['docs', null], 'a'", "RG400"),
        ("'nowhere', 'a'", "RG404"),
        ("array['docs', 'nowhere'], 'a'", "RG404"),
        ("'docs', 'a', statistics => 'nowhere'", "RG404"),
    ],
)
def test_an_argument_out_of_range_is_an_error(docs: Connection, arguments: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        docs.execute(f"select * from ragdb.search({arguments})")
    assert caught.value.sqlstate == state
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint


def test_several_corpora_are_one_ranking(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('more')")
    put(docs, "more", [document("m.txt", "Rain and order"), document("n.txt", "Snow")])
    query = "rain order"
    apart = [
        (score, chunk, name)
        for name in ("docs", "more")
        for chunk, score, _ in search(docs, name, query)
    ]
    together = docs.execute(
        "select score, chunk_id, corpus from ragdb.search(array['more', 'docs', 'more'], %s)",
        (query,),
    ).fetchall()
    assert together == sorted(apart, key=lambda h: (-h[0], h[1], h[2]))


def test_statistics_come_from_the_corpus_named(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('tenant')")
    put(docs, "tenant", [document("t.txt", "order and rain"), document("u.txt", "order")])
    tenant, wide = Collection.read(docs, "tenant"), Collection.read(docs, "docs")
    expected = tenant.search(lexemes(docs, "order rain zeppelin"), 10, wide)
    got = search(docs, "tenant", "order rain zeppelin", 10, statistics="docs")
    assert [g[0] for g in got] == [e[0] for e in expected]
    assert [g[1] for g in got] == pytest.approx([e[1] for e in expected], rel=1e-9)


def test_another_corpus_moves_no_score(docs: Connection) -> None:
    before = search(docs, "docs", "rain order")
    docs.execute("select ragdb.create_corpus('other')")
    put(docs, "other", (document(f"{n}.txt", "rain rain order") for n in range(20)))
    assert search(docs, "docs", "rain order") == before


def test_search_works_in_a_read_only_transaction(clone: str) -> None:
    with psycopg.connect(clone) as connection:
        connection.execute("select ragdb.create_corpus('docs')")
        put(connection, "docs", [document("a.txt", "rain")])
    with psycopg.connect(clone, options="-c default_transaction_read_only=on") as connection:
        assert len(search(connection, "docs", "rain")) == 1


def test_explain_adds_up_to_the_score(docs: Connection) -> None:
    twin = Collection.read(docs, "docs")
    query = "the purchase order order zeppelin"
    chunk, _, bm25 = search(docs, "docs", query)[0]
    rows = docs.execute(
        "select lexeme, df, query_frequency, idf, tf, impact, contribution, share"
        " from ragdb.explain_search('docs', %s, %s)",
        (query, chunk),
    ).fetchall()
    assert {row[0] for row in rows} == {"purchas", "order", "zeppelin"}
    for lexeme, df, frequency, idf, tf, impact, contribution, share in rows:
        assert df == twin.df[lexeme]
        assert frequency == (2 if lexeme == "order" else 1)
        assert idf == pytest.approx(twin.idf(lexeme), rel=1e-12)
        assert tf == twin.chunks[chunk].get(lexeme, 0)
        assert impact == pytest.approx(twin.impact(chunk, lexeme), rel=1e-12)
        assert contribution == pytest.approx(frequency * idf * impact, rel=1e-12)
        assert share == pytest.approx(contribution / bm25, rel=1e-9)
    assert sum(row[6] for row in rows) == pytest.approx(bm25, rel=1e-12)


def test_explain_and_highlight_refuse_an_unknown_chunk(docs: Connection) -> None:
    for call in ("explain_search('docs', 'a', 'x')", "highlight('docs', 'x', 'a')"):
        with pytest.raises(psycopg.Error, match="does not exist") as caught, docs.transaction():
            docs.execute(f"select ragdb.{call}")
        assert caught.value.sqlstate == "RG406"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("orders payment paid", "The purchase [order] was [paid] in full."),
        ('"purchase order" -full', "The [purchase] [order] was paid in full."),
        ("the", "The purchase order was paid in full."),
    ],
)
def test_highlight_marks_the_words_that_match(docs: Connection, query: str, expected: str) -> None:
    ((chunk, *_),) = search(docs, "docs", '"purchase order"')
    (marked,) = docs.execute(
        "select ragdb.highlight('docs', %s, %s, '[', ']')", (chunk, query)
    ).fetchone() or ("",)
    assert marked == expected
