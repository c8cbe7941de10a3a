"""The front matter of a Markdown text in SQL says what the reader of files reads, or stays in the
text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragdb.readers import markdown
from ragdb.readers.document import ReadError
from tests.conftest import Connection

PLAIN = {
    "texts": "a: b c\nd: 'It''s'\ne: \"f: #g\"\nh: http://i.org\nj: 3D\nk: 10 Betten\nl: é\n",
    "numbers": "a: 1\nb: -1\nc: 1.50\nd: 0\ne: 1.2.3\nf: 2024-01-02\n",
    "others": "a: true\nb: False\nc: null\nd: ~\ne:\nf: no\ng: off\nh: {}\ni: []\n",
    "lists": "a: [b, \"c, d\", 'e', 1, true]\nf:\n  - g\n  - h: 1\n    i: 2\nj:\n- k\n-\n- - l\n",
    "mappings": "a:\n  b:\n    c: d\n\n  # e\n  f: g  # h\nKeys of words: i\ngröße: j\n",
    "several lines": "a: >-\n  b\n  c\nd: |\n  e\n  f\ng: >\n  h\n",
    "known": "title: A  B\nlang: de-AT\nid: 12\nmetadata:\n  x: 1\ny: 2\nx: 3\n",
    "title is a number": "title: 2024\nlanguage: ''\nlang: fr\n",
    "twice": "a: 1\na: 2\n",
}
# each is a number, refused, or a text that is not written as here
NOT_PLAIN = ["0x1F", "010", "1_000", "1:30", "+5", ".5", ".inf", "1e3", "*a", "&a b", "!!str b",
             "\"b\\n\"", "b: c", "@b", "=", "<<", "[b: c]", "[b", "{b: c}", "'b' # c", "b\n  c",
             "? b", "- b", "2024-01-02 10:00", "|+\n  b", "|\n  b\n\n  c"]  # fmt: skip


def stored(db: Connection, text: str) -> tuple[Any, ...]:
    row = db.execute(
        "select r.body, r.title, r.language, r.external_id, r.metadata"
        " from ragdb_internal.read_markdown(%s) r",
        [text],
    ).fetchone()
    assert row is not None
    return (*row,)


def read(text: str) -> tuple[Any, ...]:
    content = markdown.read(text)
    language = (content.language or "")[:2] or None
    return content.text, content.title, language, content.external_id, content.metadata


@pytest.mark.parametrize("matter", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("end", ["---\n", "...  \n"])
def test_plain_front_matter_is_read_and_leaves_the_text(
    any_db: Connection, matter: str, end: str
) -> None:
    text = f"---\n{matter}{end}\n# H\n\nWords.\n"
    if matter == PLAIN["lists"]:  # a list within a list on one line is not plain
        assert stored(any_db, text)[0] == text
        text = text.replace("- - l\n", "")
    assert stored(any_db, text) == read(text)


def test_line_ends_of_windows_and_of_old_macs_are_those_of_the_reader(any_db: Connection) -> None:
    text = "---\ntitle: T\ntags: [a]\nnote: |\n  b\n  c\n---\n# H\n\nWords [a](b.md).\n"
    for end in ("\r\n", "\r"):
        assert stored(any_db, text.replace("\n", end)) == read(text)


def test_the_mark_of_a_byte_order_is_not_of_the_text(any_db: Connection) -> None:
    """As the reader of files leaves it out: before a heading it hid the title."""
    texts = {"a.md": "# H\n\nWords.", "b.md": "---\ntitle: T\n---\nWords.", "c.txt": "Words."}
    for source, text in texts.items():
        any_db.execute("select from ragdb.put_text('c', %s, %s)", [source, "\ufeff" + text])
    any_db.execute(
        "select from ragdb.put_texts('c', array[%s], ids => '{d.md}')", ["\ufeff# H\n\nWords."]
    )
    rows = any_db.execute(
        "select d.title, c.text, c.start_offset from ragdb.documents d"
        " join ragdb.chunks c using (corpus_id, doc_no) order by d.source"
    ).fetchall()
    assert rows == [
        ("H", "# H\n\nWords.", 0), ("T", "Words.", 0), (None, "Words.", 0),
        ("H", "# H\n\nWords.", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("value", NOT_PLAIN)
def test_other_front_matter_stays_in_the_text(db: Connection, value: str) -> None:
    text = f"---\ntitle: T\na: {value}\n---\n# H\n\nWords.\n"
    assert stored(db, text) == (text, "T", None, None, {})


def test_metadata_that_is_not_a_mapping_stays_in_the_text(db: Connection) -> None:
    text = "---\nmetadata: 5\nlang: de\n---\nWords.\n"
    assert stored(db, text) == (text, None, "de", None, {})


LINES = ["a: b", "a: 1.0", "c:", "  - d", "- e", "  f: 'g'", "    h: [i, j]", "# k", "", "l: m # n",
         "o: >-", "  p", "  q: r", "s: t: u", "  -", "v"]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=8).map("\n".join))
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_lines_in_any_order_are_read_as_by_the_reader_or_not_at_all(
    db: Connection, matter: str
) -> None:
    text = f"---\nz: 1\n{matter}\n---\nWords.\n"
    found = stored(db, text)
    if found[0] != text:
        assert found == read(text)
    else:
        try:
            content = read(text)
        except ReadError:
            return
        assert content[0] == "Words.\n"


def test_what_the_call_says_wins(any_db: Connection) -> None:
    text = "---\ntitle: T\nid: doc-1\nteam: a\nyear: 2025\n---\nThe library is closed.\n"
    any_db.execute(
        "select from ragdb.put_text('c', 'a.md', %s, metadata => '{\"year\": 2026}')", [text]
    )
    any_db.execute("select from ragdb.put_texts('c', array[%s], ids => '{b.md}')", [text])
    rows = any_db.execute(
        "select d.source, d.title, d.external_id, d.metadata, c.text from ragdb.documents d"
        " join ragdb.chunks c using (corpus_id, doc_no) order by 1"
    ).fetchall()
    words = "The library is closed."
    assert rows == [
        ("a.md", "T", "doc-1", {"team": "a", "year": 2026}, words),
        ("b.md", "T", "b.md", {"team": "a", "year": 2025}, words),
    ]
    found = any_db.execute("""select source from ragdb.search('c', 'library', filter =>
        '{"year": {"gte": 2026}}')""").fetchall()
    assert found == [("a.md",)]
