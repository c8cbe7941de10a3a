"""The headings and the title of a Markdown text in SQL are those that the reader of files has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragdb.ingest.payload import to_payload
from ragdb.readers import frontmatter, markdown
from ragdb.readers.read import read
from tests.conftest import Connection

ROOT = Path(__file__).parents[3]
FILES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md")),
         ROOT / "tests/data/sample.md"]  # fmt: skip


def headings(db: Connection, text: str) -> list[tuple[int, tuple[str, ...]]]:
    rows = db.execute(
        "select start_offset, path from unnest(ragdb_internal.markdown_headings(%s))", [text]
    )
    return [(offset, tuple(path)) for offset, path in rows]


def read_as_a_file(text: str) -> list[tuple[int, tuple[str, ...]]]:
    body = frontmatter.split(text)[1]
    begin = len(text) - len(body)
    return [(begin + at, path) for at, path in markdown.parse(body).headings]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_has_the_headings_that_its_reader_finds(db: Connection, path: Path) -> None:
    text = path.read_text("utf-8")
    expected = read_as_a_file(text)
    assert expected
    assert headings(db, text) == expected


CASES = {
    "levels": "# A\n### B\n## C\n# D\n#### E",
    "closed": "# A #\n##  B  ## \n# C#\n# #\n#\n#D\n####### E",
    "indented": "   # A\n    # code\n\t# code",
    "underlined": "One\n===\n\nTwo\nlines\n---\n\n===\n\n---\n# A\n---",
    "fences": "```\n# a\n```\n~~~py\n# b\n```\n~~~\n# C\n````\n```\n# d\n````\n# E\n```\n# f",
    "fence_in_list": "1. one\n   ```sh\n   # a\n   ```\n2. two\n\n# B\n- ```\n  # c\n  ```\n# D",
    "unclosed_in_list": "- ```\n  # a\nend\n\n# B",
    "lists": "- # a\n  # b\n\n  # c\n\n# D\n1. x\ny\n===\n\ntext\n1984. a year\n---",
    "rules": "text\n\n***\n# A\n- - -\n# B",
    "quotations": "> # a\n# B\n> c\nd\n===\n\n# E",
    "html": "<!-- # a\n# b -->\n# C\n<div>\n# d\n\n# E\n<pre>\n\n# f\n</pre>\n# G\na <b>\n# H",
    "tags": "<span>\n# a\n\n# B <a name='x'></a>\n# <br>C",
    "marks": "# *A* **b** __c__ _d_ snake_case a*b ***e***\n# `*x*` ``y`` \\*z\\* \\`",
    "links": "# [a](b) ![c](d(e)f) [g][h] [i] [J] <http://k.org>\n\n[h]: /x\n[j]: /y",
    "badge": "# X [![b][c]][d]\n\n[c]: /c\n[d]: /d",
    "entities": "# a &amp; b &lt;c&gt; &quot;d&quot;",
    "attributes": "# A { #anchor .x }\n## B {:.y}\n## C {z}",
    "front_matter": "---\n# comment\ntitle: T\nx: y\n---\n# A\n---\nb: c\n---\n",
    "no_front_matter": "---\n\n# A\n\n---\nb",
    "table": "| a | b |\n|---|---|\n| c | d |\n\n# E",
    "label": "[a]: /x\n---\n\n# B",
    "comments": "# A <!-- x --> B <!-- y --> C",
    "backticks": "# A ``*b*` c\n# ``` *d* ``e` f",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_a_heading_is_one_where_commonmark_has_one(any_db: Connection, text: str) -> None:
    assert headings(any_db, text) == read_as_a_file(text)


def test_line_ends_of_windows_end_lines(db: Connection) -> None:
    assert headings(db, "# A\r\n\r\nB\r\n---\r\n```\r\n# c\r\n```\r\n") == [
        (0, ("A",)),
        (7, ("A", "B")),
    ]


# what the two take for headings in any order of these lines; not lists within paragraphs, which
# CommonMark follows more closely
LINES = ["", "text", "# One", "## Two ##", "#no", "===", "---", "***", "> quote", "```", "~~~ x",
         "    # code", "<div>", "<!--", "-->", "# `a*b` *c* [d](e)"]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=12).map("\n".join))
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_lines_in_any_order_have_the_headings_that_the_reader_finds(
    db: Connection, text: str
) -> None:
    if not frontmatter.split(text)[0]:
        assert headings(db, text) == read_as_a_file(text)


@pytest.mark.parametrize(
    ("text", "title"),
    [("# A\n# B", "A"), ("## A\n# B", "B"), ("## A", None), ("", None),
     ("---\ntitle: T\n---\n# A", "T"), ("---\nx: 1\ntitle: \"T: 'u'\"\n---\n# A", "T: 'u'"),
     ("---\ntitle: 'T'\n---\n", "T"), ("---\nx: 1\n---\n# A", "A"),
     ("---\ntitle:\n---\n# A", "A"), ("---\ntitle: a # b\n---\n# A", "a")],
)  # fmt: skip
def test_the_title_is_that_of_the_front_matter_or_the_first_heading(
    db: Connection, text: str, title: str | None
) -> None:
    assert db.execute(
        "select r.title from ragdb_internal.read_markdown(%s) r", [text]
    ).fetchone() == (title,)


@pytest.mark.parametrize("strategy", ["paragraph", "semantic"])
def test_a_text_that_is_put_is_stored_as_the_file_that_is_ingested(
    any_db: Connection, strategy: str
) -> None:
    for path in [*FILES[:5], FILES[-1]]:
        (document,) = read(path.read_bytes(), path.name)
        expected = to_payload(document, path.name, strategy=strategy, max_tokens=100, overlap=20)
        told = any_db.execute(
            "select l.language from ragdb.guess_languages(array[%s]) l", [document.text]
        ).fetchall()
        assert told  # which `ragdb ingest` asks for, where the file names none
        any_db.execute(
            "select from ragdb.put_text('c', %s, %s, strategy => %s, max_tokens => 100,"
            " overlap => 20)",
            (path.name, path.read_text("utf-8"), strategy),
        )
        stored = any_db.execute(
            "select text, heading, title, media_type, language, metadata from ragdb.chunks"
            " join ragdb.documents using (corpus_id, doc_no)"
            " where documents.source = %s order by ordinal",
            [path.name],
        ).fetchall()
        assert stored == [
            (chunk["text"], list(chunk["heading"]), document.title, "text/markdown",
             document.language or told[0][0], document.metadata)
            for chunk in expected["chunks"]
        ]  # fmt: skip
        links = any_db.execute(
            "select ordinal, target from ragdb.document_links join ragdb.chunks"
            " using (corpus_id, chunk_no) join ragdb.documents using (corpus_id, doc_no)"
            " where documents.source = %s order by 1, 2",
            [path.name],
        ).fetchall()
        assert links == sorted((link["chunk"], link["target"]) for link in expected["links"])


def test_only_a_markdown_text_has_headings(db: Connection) -> None:
    for source, media_type, stored, heading in (
        ("a.md", None, "text/markdown", ["A"]), ("B.MARKDOWN", None, "text/markdown", ["A"]),
        ("c", "text/markdown", "text/markdown", ["A"]), ("d.md", "text/plain", "text/plain", []),
        ("e.txt", None, "text/plain", []), ("amd", None, "text/plain", []),
    ):  # fmt: skip
        db.execute(
            "select from ragdb.put_text('c', %s, %s, media_type => %s)",
            (source, "# A\n\nb", media_type),
        )
        assert db.execute(
            "select media_type, title, heading from ragdb.documents"
            " join ragdb.chunks using (corpus_id, doc_no) where documents.source = %s",
            [source],
        ).fetchall() == [(stored, heading[0] if heading else None, heading)]


def test_the_front_matter_names_the_language(db: Connection) -> None:
    for source, matter, named, language, config in (
        ("a.md", "lang: de-AT", None, "de", "german"),
        ("b.md", "language: 'zh'", None, "zh", "english"),
        ("c.md", "language: Français", None, "en", "english"),
        ("d.md", "lang: de", "fr", "fr", "french"), ("e.txt", "lang: de", None, "en", "english"),
    ):  # fmt: skip
        corpus = source[0]
        db.execute(
            "select from ragdb.put_text(%s, %s, %s, language => %s)",
            (corpus, source, f"---\n{matter}\n---\nBerlin\n", named),
        )
        assert db.execute(
            "select d.language, c.text_config from ragdb.documents d"
            " join ragdb.corpora c using (corpus_id) where c.name = %s",
            [corpus],
        ).fetchall() == [(language, config)]


def test_a_title_that_is_given_stands(db: Connection) -> None:
    db.execute("select from ragdb.put_text('c', 'a.md', E'# A\\n\\nb', title => 'T')")
    found = db.execute("select title, heading from ragdb.search('c', 'b')").fetchall()
    assert found == [("T", ["A"])]
