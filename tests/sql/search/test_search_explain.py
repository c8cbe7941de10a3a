"""Why a chunk has its score, and which of its words match."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.lexical_twin import Collection, search


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
        with pytest.raises(psycopg.Error, match="has no chunk") as caught, docs.transaction():
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
    ((chunk, *_),) = search(docs, "docs", '"purchase order"', syntax="web")
    (marked,) = docs.execute(
        "select ragdb.highlight('docs', %s, %s, '[', ']', 'web')", (chunk, query)
    ).fetchone() or ("",)
    assert marked == expected


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        # a word in a run of letters, and not the run
        ("维护合同于三月到期。退货！", "维护合同 退货", "[维护合同]于三月到期。[退货]！"),
        (
            "商品は購入後３０日以内に返品できます",
            "30日 返品",
            "商品は購入後[３０]日以内に[返品]できます",
        ),
        ("สัญญาบำรุงรักษาสิ้นสุดวันที่ 5", "บำรุงรักษา", "สัญญา[บำรุงรักษา]สิ้นสุดวันที่ 5"),
        ("제주도까지의 배송비는 무료", "배송비", "제주도까지의 [배송비]는 무료"),
        (
            "Der Preis 价格 of A5号机 is 5.",
            "价格 号机 preis",
            "Der [Preis] [价格] of A5[号机] is 5.",
        ),
        ("百 点", "百点 点", "百 [点]"),
        ("L'İstanbul'a — ÉTÉ", "istanbul", "L'[İstanbul]'a — ÉTÉ"),
    ],
)
def test_highlight_marks_words_in_every_script(
    any_db: Connection, text: str, query: str, expected: str
) -> None:
    any_db.execute("select ragdb.put_text('scripts', 'a', %s)", (text,))
    row = any_db.execute(
        "select ragdb.highlight('scripts', chunk_id, %s, '[', ']')"
        " from ragdb.list_chunks('scripts')",
        (query,),
    ).fetchone()
    assert row == (expected,)


def test_several_chunks_are_marked_as_each_alone(docs: Connection) -> None:
    ids = [row[0] for row in docs.execute("select chunk_id from ragdb.list_chunks('docs')")]
    assert len(ids) > 1
    query = "select * from ragdb.highlight_chunks('docs', %s, 'purchase order', '[', ']')"
    alone = (
        "select i, ragdb.highlight('docs', i, 'purchase order', '[', ']') from unnest(%s::text[]) i"
    )
    marked = docs.execute(query, ([*ids, ids[0]],)).fetchall()
    assert sorted(marked) == sorted(docs.execute(alone, (ids,)).fetchall())
    assert any("[" in text for _, text in marked)
    for wrong in (["nowhere"], [None], [ids[:1], ids[1:2]]):
        with pytest.raises(psycopg.Error, match=r"has no chunk|not a list"), docs.transaction():
            docs.execute(query, (wrong,))
