"""What a hit shows, and how hits of several corpora are ordered."""

from __future__ import annotations

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import put, search


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
