"""A plain question is plain: quotes and signs act only in syntax web."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.lexical_twin import search


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ('what is a "purchase zeppelin" order', "what is a purchase zeppelin order"),
        ("order -refund", "order refund"),
        ("what does the -order flag do", "what does the order flag do"),
        ("+nosuchword order", "nosuchword order"),
        ('order -"purchase order"', "order purchase order"),
        ('"-order" rain', "order rain"),
        ('order "unclosed', "order unclosed"),
    ],
)
def test_quotes_and_signs_of_a_question_rank_like_other_words(
    docs: Connection, asked: str, same: str
) -> None:
    expected = search(docs, "docs", same)
    assert expected
    assert search(docs, "docs", asked) == expected


@pytest.mark.parametrize("query", ['"', '"" +', '+ - "'])
def test_a_question_of_signs_alone_finds_nothing(docs: Connection, query: str) -> None:
    assert search(docs, "docs", query) == []


WEB = "select source from ragdb.search('docs', %s, syntax => 'web')"


def test_a_phrase_that_empties_the_result_says_so(docs: Connection) -> None:
    said: list[tuple[str | None, str | None]] = []
    docs.add_notice_handler(lambda d: said.append((d.message_primary, d.message_hint)))
    assert docs.execute(WEB, ('"order purchase"',)).fetchall() == []
    (primary, hint) = said.pop()
    assert '"order purchase"' in (primary or "")
    assert "plain" in (hint or "")
    assert docs.execute(WEB, ('"purchase order"',)).fetchall()
    assert docs.execute(WEB, ('"zeppelin hovercraft"',)).fetchall() == []
    assert said == []


@pytest.mark.parametrize(
    ("query", "left_out"),
    [
        ('"of the order"', {"of the order": '"of", "the"'}),
        ('rain -"an order"', {"an order": '"an"'}),
        ('"to be or not"', {"to be or not": '"to", "be", "or", "not"'}),
        ('"state of the art" system "user_id"', {}),
        ('"order" of the "rain', {}),
        ('"the order" "a refund"', {"the order": '"the"', "a refund": '"a"'}),
    ],
)
def test_what_is_left_out_of_a_phrase_is_said(
    docs: Connection, query: str, left_out: dict[str, str]
) -> None:
    said: list[str | None] = []
    docs.add_notice_handler(lambda d: said.append(d.message_primary))
    docs.execute(WEB, (query,))
    assert said == [
        f'the phrase "{phrase}" is looked for without {words}' for phrase, words in left_out.items()
    ]
    said.clear()
    docs.execute("select from ragdb.search('docs', %s)", (query,))
    assert not any("is looked for without" in str(text) for text in said)


@pytest.mark.parametrize(
    ("query", "is_wordless"), [("?!", True), ("of the", True), ("zeppelin", False)]
)
def test_a_query_without_a_word_to_search_for_is_called_that(
    docs: Connection, query: str, is_wordless: bool
) -> None:
    said: list[str | None] = []
    docs.add_notice_handler(lambda d: said.append(d.message_primary))
    assert docs.execute("select from ragdb.search('docs', %s)", (query,)).fetchall() == []
    assert said == [f'the query "{query}" has no word to search for'] * is_wordless


def test_a_syntax_that_is_not_known_is_refused(docs: Connection) -> None:
    for call in (
        "select * from ragdb.search('docs', 'order', syntax => %s)",
        "select * from ragdb.explain_search('docs', 'order', 'x', syntax => %s)",
    ):
        for syntax in ("boolean", None):
            with pytest.raises(psycopg.DatabaseError) as caught, docs.transaction():
                docs.execute(call, (syntax,))
            assert caught.value.sqlstate == "RG400"


def test_a_trace_keeps_the_syntax_and_its_replay_is_exact(docs: Connection) -> None:
    for syntax, expected in (("web", {"syntax": "web"}), ("plain", None)):
        hits = docs.execute(
            "select chunk_id from ragdb.retrieve('docs', 'order -refund', syntax => %s)", (syntax,)
        ).fetchall()
        (ranking, verdict) = docs.execute(
            "select t.ranking, r.verdict from ragdb.last_trace_id() i,"
            " ragdb.get_trace(i) t, ragdb.replay(i) r"
        ).fetchone() or (None, None)
        assert ranking == expected
        assert verdict == "exact"
        assert len(hits) == (2 if syntax == "web" else 3)


def test_why_not_asks_again_in_the_syntax_of_the_trace(docs: Connection) -> None:
    (refund,) = docs.execute(
        "select chunk_id from ragdb.search('docs', 'order') where source = 'refund.txt'"
    ).fetchone() or ("",)
    docs.execute("select from ragdb.retrieve('docs', 'order -refund', syntax => 'web')")
    found = docs.execute("select step from ragdb.why_not(ragdb.last_trace_id(), %s)", (refund,))
    assert found.fetchone() == ("ranking",)


def test_explain_and_highlight_read_a_query_as_the_search_did(docs: Connection) -> None:
    (chunk,) = docs.execute(
        "select chunk_id from ragdb.search('docs', 'order') where source = 'refund.txt'"
    ).fetchone() or ("",)
    terms = (
        "select array_agg(lexeme order by lexeme)"
        " from ragdb.explain_search('docs', 'order -refund', %s, syntax => %s)"
    )
    assert docs.execute(terms, (chunk, "web")).fetchone() == (["order"],)
    assert docs.execute(terms, (chunk, "plain")).fetchone() == (["order", "refund"],)
    marked = "select ragdb.highlight('docs', %s, 'rain -refund', syntax => %s)"
    (web,) = docs.execute(marked, (chunk, "web")).fetchone() or ("",)
    (plain,) = docs.execute(marked, (chunk, "plain")).fetchone() or ("",)
    assert "**" not in web
    assert "**" in plain
