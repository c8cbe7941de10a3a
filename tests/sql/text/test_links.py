"""The links of a Markdown text in SQL are those that the reader of files has, and lead where they
lead."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragdb.ingest import links
from ragdb.readers import markdown
from tests.conftest import Connection
from tests.processor import spent

ROOT = Path(__file__).parents[3]


def found(db: Connection, text: str) -> list[tuple[int, str]]:
    return db.execute(
        "select start_offset, target from ragdb_internal.markdown_links(%s)", [text]
    ).fetchall()


def read(text: str) -> list[tuple[int, str]]:
    links = markdown.parse(text).links
    return sorted((place, to) for place, to in links if not to.startswith("mailto:"))


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_a_file_has_the_links_that_its_reader_finds(db: Connection, path: Path) -> None:
    text = path.read_text("utf-8")
    assert found(db, text) == read(text)


CASES = {
    "inline": "[a](b.md) [c](<d.md> 'e') [f]( g.md ) [h](i.md\n\"j\") [k](l(m).md) [n](o\\)p.md)",
    "empty": "[a]() ![b](c.png) [ ] [d] a[0](e)",
    "image": "[![a](b.png)](c.md)",
    "nested": "[a [b] c](d.md) [e [f](g.md) h](i.md)",
    "escaped": "\\[a](b) `[c](d)` <!-- [e](f) --> [g](h&amp;i)",
    "backticks": "``[a](b.md)` c\n\n```[d](e.md)`` f",
    "code": "    [a](b)\n\n```\n[c](d)\n```\n- e\n\n    [f](g)",
    "labels": "[a][b] [b][] [B] [c][d] [e\nf]\n\n[b]: <g.md> 'h'\n[d]: i.md\n[d]: j.md"
    "\n[e f]: k.md",
    "quoted": "> [a\n> b][c]\n> d\n\n[c]: e.md",
    "addresses": "<http://a.org/b> <c@d.org> <a href='e.md'>f</a>",
    "html": "<div>\n<a class=b href=\"c.md\">d</a> [e](f)\n</div>\n\n[g](h)",
    "blocks": "# A [b](c.md)\n- d [e](f.md)\n  * g [h](i.md)\n\n| j |\n|---|\n| [k](l.md) |"
    "\n> [m](n.md)",
    "tabs": "a\tb [c](d.md)\t[e](f.md)\t\t\n\tg [h](i.md)\n\n-\t[j](k.md)\n\n\t[l](m.md)\t\n"
    "\t- [n](o.md)\n\n|\t|[p](q.md)|\n|--|--|\n|r\t|[s](t.md)|\n\n#\t[u](v.md)\t",
    "lines": "one [a](b.md)\ntwo three [c\nd](e.md)\n*[f](g.md)*",
}  # fmt: skip


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_a_link_is_one_where_commonmark_has_one(any_db: Connection, text: str) -> None:
    assert sorted(found(any_db, text)) == read(text)


PIECES = [
    "[a](b.md)",
    "[c",
    "]",
    "](d.md)",
    "!",
    "`",
    "\\",
    "\n",
    "\n\n",
    " x ",
    "<b>",
    "**",
    "x\t",
]


@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_pieces_in_any_order_have_the_links_that_the_reader_finds(
    db: Connection, text: str
) -> None:
    assert sorted(found(db, text)) == read(text)


URIS = [
    "a.md",
    "x/y/a.md",
    "f.jsonl#3",
    "x/f.jsonl#a/b",
    "http://a.org/x/y.html?q#f",
    "http://a.org",
]
WRITTEN = [
    "b.md", "./b.md", "../b.md", "../../b.md", "../../../../b.md", "/b.md", "//h.org/b", "a.md",
    "https://h.org/b?c#d", "mailto:x", "b%20c.md", "%C3%A4.md", "100%.md", "?q", "#f", "", "b.html",
    "b.htm#x", "d/", "..", "b.md?x=1#y", "x/../y.md", "/", "b\nc.md", " b.md ", "z?u#v",
]  # fmt: skip


@pytest.mark.parametrize("uri", URIS)
def test_a_link_leads_where_that_of_a_file_leads(any_db: Connection, uri: str) -> None:
    expected = {written: links.targets(uri, written) for written in WRITTEN}
    targets = {
        written: tuple(row[0] for row in any_db.execute(
            "select ragdb_internal.link_targets(%s, %s)", (uri, written)
        ))
        for written in WRITTEN
    }  # fmt: skip
    assert targets == expected


@given(st.text("aé€😀%4c", max_size=6).map(quote) | st.text("%C3A9E28204F0", max_size=12))
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_path_is_decoded_where_it_is_utf_8(db: Connection, path: str) -> None:
    row = db.execute("select ragdb_internal.unquoted(%s)", [path]).fetchone()
    decoded = unquote(path, errors="strict") if is_utf_8(path) else None
    if decoded is not None and "\0" not in decoded:
        assert row == (decoded,)


def is_utf_8(path: str) -> bool:
    try:
        unquote(path, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def test_bytes_that_are_no_text_stay_as_they_are_written(any_db: Connection) -> None:
    for written in ("%ff.md", "%00.md", "%C3.md", "%C3%28", "%E0%80%80", "%ED%A0%80", "%F5%80"):
        row = any_db.execute("select ragdb_internal.unquoted(%s)", [written]).fetchone()
        assert row == (written.replace("%28", "("),)


@pytest.mark.parametrize("written", ["?page=2", "?", "?a#b"])
def test_a_text_with_a_link_to_its_own_query_is_stored(any_db: Connection, written: str) -> None:
    text = f"See [the next page]({written}) and [b](b.md)."
    any_db.execute("select from ragdb.put_text('c', 'docs/a.md', %s)", [text])
    rows = any_db.execute("select target from ragdb.document_links").fetchall()
    assert rows == [("docs/b.md",)]


LONG = {
    "tabs": "<a " + "\t " * 20000 + ">",
    "one run of backticks": "`" * 4000 + "a" * 40000 + "]",
    "many runs of backticks": "".join("`" * n + "a" for n in range(1, 250)) + "]",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_line_takes_no_longer_than_its_characters(db: Connection, text: str) -> None:
    before = spent(db)
    assert found(db, text) == []
    assert spent(db) - before < 2


def test_the_links_of_texts_are_edges(any_db: Connection) -> None:
    text = "# A\n\nSee [b](b.md#x) and [the page](https://h.org/p)."
    any_db.execute("select from ragdb.put_text('c', 'docs/a.md', %s)", [text])
    any_db.execute(
        "select from ragdb.put_texts('c', array['# B\n\nBack to [a](a.md).', 'x [b](docs/b.md)'],"
        " ids => '{docs/b.md,c.txt}')"
    )
    edges = any_db.execute(
        "select p.citation_uri, c.citation_uri, e.edge_type from ragdb.edges e"
        " join lateral (select d.source as citation_uri from ragdb.chunks k join ragdb.documents d"
        "  using (corpus_id, doc_no) where (k.corpus_id, k.chunk_no) = (e.corpus_id, e.parent_no))"
        "  p on true"
        " join lateral (select d.source as citation_uri from ragdb.chunks k join ragdb.documents d"
        "  using (corpus_id, doc_no) where (k.corpus_id, k.chunk_no) = (e.corpus_id, e.child_no))"
        "  c on true order by 1"
    ).fetchall()
    assert edges == [
        ("docs/a.md", "docs/b.md", "reference"), ("docs/b.md", "docs/a.md", "reference"),
    ]  # fmt: skip
