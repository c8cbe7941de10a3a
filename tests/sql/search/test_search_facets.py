"""Facets and counts are exact over everything that matches."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import text_document
from tests.embedding import one as read
from tests.sql.lexical_twin import put

WORDS = ["bean", "coffee", "water", "kettle"]
Doc = dict[str, Any]


def made(n: int) -> Doc:
    metadata: dict[str, Any] = {"year": 2000 + n % 3, "tags": [f"t{n % 2}", f"t{n % 5}"]}
    if n % 4 == 0:
        metadata["team"] = "red"
    text = " ".join(WORDS[i] for i in range(4) if n >> i & 1) or "nothing"
    return {"uri": f"d{n}", "text": text, "metadata": metadata, "language": ["en", "de"][n % 2]}


DOCS = [made(n) for n in range(40)]


def fill(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(
        db,
        "docs",
        [
            text_document(d["uri"], d["text"], metadata=d["metadata"], language=d["language"])
            for d in DOCS
        ],
    )


@pytest.fixture
def docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with any_version.rolled_back(any_filled) as db:
        yield db


def expected(fields: list[str], matches: Callable[[Doc], bool]) -> dict[str, Counter[str]]:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for doc in filter(matches, DOCS):
        flat = {"source": doc["uri"], "language": doc["language"], **doc["metadata"]}
        for field in fields:
            value = flat.get(field)
            values = value if isinstance(value, list) else [] if value is None else [value]
            for one in {json.dumps(v) for v in values}:
                counted[field][one] += 1
    return counted


def counted(db: Connection, query: str | None, fields: list[str], **how: Any) -> Any:
    named = "".join(f", {name} => %({name})s" for name in how)
    rows = db.execute(
        "select field, value, documents, chunks"
        f" from ragdb.facets('docs', %(query)s, %(fields)s{named})",
        {"query": query, "fields": fields, **how},
    ).fetchall()
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for field, value, documents, chunks in rows:
        assert documents == chunks  # a document of these has one chunk
        found[field][json.dumps(value)] = documents
    return found


CASES: list[tuple[str | None, dict[str, Any], Callable[[Doc], bool]]] = [
    (None, {}, lambda d: True),
    ("bean", {}, lambda d: "bean" in d["text"]),
    ("bean kettle", {}, lambda d: "bean" in d["text"] or "kettle" in d["text"]),
    ("bean -kettle", {}, lambda d: "bean" in d["text"] or "kettle" in d["text"]),
    (
        "bean -kettle",
        {"syntax": "web"},
        lambda d: "bean" in d["text"] and "kettle" not in d["text"],
    ),
    ('+"coffee water" kettle', {"syntax": "web"}, lambda d: "coffee water" in d["text"]),
    ("nosuchword", {}, lambda d: False),
    (
        "water",
        {"filter": json.dumps({"tags": "t1"})},
        lambda d: "water" in d["text"] and "t1" in d["metadata"]["tags"],
    ),
    (None, {"filter": json.dumps({"year": 2001})}, lambda d: d["metadata"]["year"] == 2001),
]
FIELDS = ["language", "year", "tags", "team", "source", "nosuchfield"]


@pytest.mark.parametrize(("query", "how", "matches"), CASES)
def test_facets_count_what_matches(
    docs: Connection, query: str | None, how: dict[str, Any], matches: Callable[[Doc], bool]
) -> None:
    assert counted(docs, query, FIELDS, **how) == expected(FIELDS, matches)
    named = "".join(f", {name} => %({name})s" for name in how)
    total = sum(map(matches, DOCS))
    assert docs.execute(
        f"select * from ragdb.count_matches('docs', %(query)s{named})", {"query": query, **how}
    ).fetchone() == (total, total)


def test_facets_count_what_a_search_returns(docs: Connection) -> None:
    (hits,) = docs.execute(
        'select array_agg(source order by source collate "C") from ragdb.search('
        "'docs', 'bean \"kettle', k => 1000)"
    ).fetchone() or ([],)
    found = counted(docs, 'bean "kettle', ["source"])
    assert sorted(json.loads(value) for value in found["source"]) == hits


def test_pages_are_counted_by_chunk_and_values_are_cut_in_order(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    chunks = [
        {"text": f"bean {n}", "start": 10 * n, "end": 10 * n + 6, "tokens": 2, "page": page}
        for n, page in enumerate([1, 1, 2, 3])
    ]
    put(db, "docs", [{**text_document("a", "x"), "chunks": chunks, "pages": 3}])
    rows = "select value, documents, chunks from ragdb.facets('docs', 'bean', '{page}', null, %s)"
    assert db.execute(rows, (9,)).fetchall() == [(1, 1, 2), (2, 1, 1), (3, 1, 1)]
    assert db.execute(rows, (1,)).fetchall() == [(1, 1, 2)]


def test_a_key_of_the_metadata_is_named_as_in_a_filter(docs: Connection) -> None:
    put(docs, "docs", [text_document("x", "kettle", title="Kettles", metadata={"title": "Tea"})])
    rows = "select field, value, documents from ragdb.facets('docs', 'kettle', %s)"
    fields = ["metadata.title", "title", "metadata.team"]
    assert docs.execute(rows, (fields,)).fetchall() == [
        ("metadata.title", "Tea", 1),
        ("title", "Kettles", 1),
        ("metadata.team", "red", sum(n % 4 == 0 for n in range(40) if n & 8)),
    ]


def test_several_corpora_are_counted_together(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('more'), ragdb.create_corpus('rest')")
    put(docs, "more", [text_document("m", "coffee", language="en")])
    put(docs, "rest", [text_document("r", "coffee", language="en")])
    facets = "select value, documents from ragdb.facets(%s::text[], 'coffee', '{language}')"
    alone = dict(docs.execute(facets, (["docs"],)).fetchall())
    both = dict(docs.execute(facets, (["docs", "more", "docs"],)).fetchall())
    assert both == alone | {"en": alone["en"] + 1}
    assert dict(docs.execute(facets, (None,)).fetchall())["en"] == alone["en"] + 2
    count = "select documents from ragdb.count_matches(%s::text[], 'coffee')"
    counts = [docs.execute(count, (c,)).fetchone() for c in (["docs"], ["docs", "more"], None)]
    assert counts == [(sum(alone.values()) + n,) for n in (0, 1, 2)]
    with pytest.raises(psycopg.Error) as refused:
        docs.execute(facets, (["docs", "nosuch"],))
    assert refused.value.sqlstate == "RG404"


def test_many_words_are_counted(docs: Connection) -> None:
    query = " ".join([f"w{n}" for n in range(300)] + WORDS)
    found = docs.execute("select chunks from ragdb.count_matches('docs', %s)", (query,)).fetchone()
    assert found == (sum(d["text"] != "nothing" for d in DOCS),)


def test_no_corpus_means_all_that_one_may_read(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('more', text_config => 'simple')")
    put(docs, "more", [text_document("m", "bean")])
    for call in ("null, 'bean'", "query => 'bean'", "null::text[], 'bean'"):
        names = f"select array_agg(distinct corpus) from ragdb.search({call}, k => 100)"
        assert docs.execute(names.encode()).fetchone() == (["docs", "more"],)
    assert docs.execute("select chunks from ragdb.count_matches(null, 'bean')").fetchone() == (21,)
    all_sources = "select sum(chunks) from ragdb.facets(null, 'bean', '{source}')"
    assert docs.execute(all_sources).fetchone() == (21,)


def test_all_that_one_may_read_is_not_all_that_there_is(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('secret', text_config => 'simple')")
    put(docs, "secret", [text_document("m", "bean")])
    docs.execute("select ragdb.grant_corpus('secret', 'ragdb_admin', 'admin')")
    docs.execute("create role somebody login in role ragdb_reader")
    docs.execute("set local session authorization somebody")
    assert docs.execute("select chunks from ragdb.count_matches(null, 'bean')").fetchone() == (20,)
    names = "select array_agg(distinct corpus) from ragdb.search(query => 'bean', k => 100)"
    assert docs.execute(names).fetchone() == (["docs"],)


@pytest.mark.parametrize(
    "call",
    ["facets('docs', '', '{a}')", "facets('docs', 'a', null)", "facets('docs', 'a', '{}')",
     "facets('docs', 'a', '{a,null}')", "facets('docs', 'a', '{a}', most_values => 0)",
     "facets('docs', 'a', '{a}', syntax => 'x')", "count_matches('docs', 'a', syntax => null)",
     "search('{}'::text[], 'a')", "search(query => null)"],
)  # fmt: skip
def test_what_cannot_be_counted_is_refused(docs: Connection, call: str) -> None:
    with pytest.raises(psycopg.DatabaseError) as caught:
        docs.execute(f"select * from ragdb.{call}".encode())
    assert caught.value.sqlstate == "RG400"


def test_ties_come_in_the_order_of_numbers_and_bytes_and_a_field_named_twice_counts_once(
    docs: Connection,
) -> None:
    docs.execute("select ragdb.create_corpus('more', text_config => 'simple')")
    values = ["b", 10, True, "B", 9.5, "10", ["b", "b", None], {"a": 1}]
    put(
        docs, "more", [text_document(f"m{n}", "x", metadata={"v": v}) for n, v in enumerate(values)]
    )
    rows = docs.execute("select value, chunks from ragdb.facets('more', 'x', '{v,page,v}')")
    assert rows.fetchall() == [("b", 2)] + [(v, 1) for v in (9.5, 10, "10", "B")] + [
        (None, 1),
        (True, 1),
        ({"a": 1}, 1),
    ]


@pytest.mark.parametrize(
    ("query", "fields", "unknown"),
    [
        (None, ["nosuch"], ["nosuch"]),
        ("bean", ["source", "nosuch", "yeer"], ["nosuch", "yeer"]),
        # documents have it, though none that matches
        ("nosuchword", ["team", "source", "page"], []),
    ],
)
def test_a_field_that_no_document_has_is_called_that(
    docs: Connection, query: str | None, fields: list[str], unknown: list[str]
) -> None:
    said: list[tuple[str | None, str | None]] = []
    docs.add_notice_handler(lambda d: said.append((d.message_primary, d.message_hint)))
    docs.execute("select from ragdb.facets('docs', %s, %s)", (query, fields))
    assert [primary for primary, _ in said] == [f'no document has "{name}"' for name in unknown]
    assert all("title" in (hint or "") for _, hint in said)


def test_no_word_is_looked_for_in_a_corpus_without_chunks(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('empty' || n) from generate_series(1, 40) n")
    docs.execute("set local track_functions = 'all'")
    asked = """
        select coalesce(sum(calls), 0) from pg_stat_xact_user_functions
        where schemaname = 'ragdb_internal' and funcname in ('question', 'count_sql')
        """
    before = read(docs, asked)
    assert read(docs, "select chunks from ragdb.count_matches(null, 'bean')") == 20
    assert read(docs, "select count(*) from ragdb.facets(null, 'bean', '{source}')") == 20
    assert read(docs, "select count(*) from ragdb.facets(null, null, '{source}')") == 40
    assert 0 < read(docs, asked) - before < 20
    # a filter that cannot be is refused all the same
    with pytest.raises(psycopg.Error, match="filter"), docs.transaction():
        docs.execute("select ragdb.count_matches('empty1', 'bean', '[]')")
