"""What a hit shows, and how hits of several corpora are ordered."""

from __future__ import annotations

import itertools

import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import put, search


def test_a_hit_says_where_it_stands(docs: Connection) -> None:
    hit = docs.execute("select * from ragdb.search('docs', 'rain', 1)").fetchone()
    stored = docs.execute(
        "select c.chunk_id, d.doc_cid, c.source, d.title, c.heading, c.page, c.start_offset,"
        " c.end_offset, c.text, jsonb_build_object('uri', c.source), encode(c.content_hash, 'hex'),"
        " d.metadata"
        " from ragdb.chunks c join ragdb.documents d using (corpus_id, doc_no)"
        " join ragdb.corpora p using (corpus_id) where p.name = 'docs' and c.source = 'weather.txt'"
    ).fetchone()
    assert hit is not None
    assert stored is not None
    assert (hit[0], hit[1]) == (1, "docs")
    assert (*hit[2:12], *hit[19:21]) == stored
    assert hit[12] == hit[13]
    assert (hit[14], hit[15], hit[16]) == (None, 1, None)


def test_a_chunk_is_cited_by_its_source_unless_it_has_a_citation(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs', history => '1 day')")
    one, other = text_document("a.txt", "refund policy"), text_document("b.txt", "a refund")
    other["chunks"][0]["citation"] = {"locator": "7"}
    put(db, "docs", [one, other])
    then = db.execute("select version from ragdb.corpus_info('docs')").fetchone()
    put(db, "docs", [text_document("c.txt", "another")])
    cited = [("a.txt", {"uri": "a.txt"}), ("b.txt", {"locator": "7"})]
    found = (
        "select source, citation from ragdb.search('docs', 'refund', mode => %s, as_of => %s)"
        " order by 1"
    )
    assert then is not None
    for mode, as_of in itertools.product(("lexical", "reference"), (None, then[0])):
        assert db.execute(found, (mode, as_of)).fetchall() == cited
    slice = "select source, citation from ragdb.search_slice('docs', 'refund', anchor => %s)"
    for source, citation in cited:
        anchor = db.execute("select chunk_id from ragdb.chunks where source = %s", (source,))
        assert db.execute(slice, anchor.fetchone()).fetchall() == [(source, citation)]


def test_several_corpora_are_one_ranking(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('more')")
    put(docs, "more", [text_document("m.txt", "Rain and order"), text_document("n.txt", "Snow")])
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


@pytest.mark.by_day(1)
@pytest.mark.parametrize("corpora", [["docs"], ["docs", "more"]])
@pytest.mark.parametrize(("asked", "exact"), [("ticket", []), ("ticket 777", ["777"])])
def test_of_many_chunks_that_tie_few_are_read(
    db: Connection, asked: str, exact: list[str], corpora: list[str]
) -> None:
    ids = dict[str, str]()
    for corpus in corpora:
        db.execute("select ragdb.create_corpus(%s)", (corpus,))
        texts = (f"Ticket {n} is open." if n < 1_200 else "A lift is closed." for n in range(1_500))
        uris = (f"{n}" if corpus == "docs" else f"{n}.md" for n in range(1_500))
        put(db, corpus, map(text_document, uris, texts))
        db.execute("select ragdb.optimize_corpus(%s)", (corpus,))
        listed = "select chunk_id, source from ragdb.list_chunks(%s, count => 1500)"
        ids |= dict(db.execute(listed, (corpus,)).fetchall())

    def read() -> int:
        ((rows,),) = db.execute(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables"
            " where schemaname = 'ragdb' and relname = 'chunks'"
        )
        return int(rows)

    tied = [source for _, source in sorted(ids.items()) if int(source.split(".")[0]) < 1_200]
    best = [name for n in exact for name in (n, f"{n}.md") if name in tied]
    before = read()
    hits = db.execute(
        "select source from ragdb.search(%s::text[], %s, 7, mode => 'lexical')", (corpora, asked)
    ).fetchall()
    first = sorted(best, key=tied.index) + [t for t in tied if t not in best]
    assert [source for (source,) in hits] == first[:7]
    assert read() - before < 100
