"""Documents and chunks are read as they were put."""

from __future__ import annotations

import hashlib

import pytest

from tests.conftest import Connection
from tests.documents import CHUNKING, document
from tests.refusal import refused
from tests.sql.documents_twin import chunk_ids, put


def test_reading_returns_what_was_put(docs: Connection) -> None:
    one = document(
        "docs/a.md",
        ["one", "two"],
        headings=[["A"], ["A", "B"]],
        title="Title",
        language="de",
        metadata={"year": 2020},
        pages=3,
    )
    one["chunks"][1] |= {"page": 2, "citation": {"locator": "§ 7", "law": "BGB"}}
    put(docs, one, document("docs/empty.md", []))
    columns = (
        "source, sources, title, language, metadata, chunking, size_bytes, pages, chunks, tokens"
    )
    row = docs.execute(f"select {columns} from ragdb.get_document('docs', %s)", (one["doc_cid"],))
    assert row.fetchone() == (
        "docs/a.md",
        ["docs/a.md"],
        "Title",
        "de",
        {"year": 2020},
        CHUNKING,
        one["size_bytes"],
        3,
        2,
        2,
    )
    chunks = docs.execute(
        "select chunk_id, ordinal, source, heading, page, start_offset, end_offset, tokens, text,"
        " citation, content_hash, metadata from ragdb.document_chunks('docs', %s)",
        (one["doc_cid"],),
    ).fetchall()
    ids = chunk_ids("docs", "docs/a.md", one)
    cited = [{"uri": "docs/a.md"}, {"locator": "§ 7", "law": "BGB"}]
    year = {"year": 2020}
    sha = [hashlib.sha256(text).hexdigest() for text in (b"one", b"two")]
    assert chunks == [
        (ids[0], 0, "docs/a.md", ["A"], None, 0, 3, 1, "one", cited[0], sha[0], year),
        (ids[1], 1, "docs/a.md", ["A", "B"], 2, 5, 8, 1, "two", cited[1], sha[1], year),
    ]
    alone = docs.execute("select ordinal from ragdb.get_chunk('docs', %s)", (ids[1],)).fetchall()
    assert alone == [(1,)]
    listed = "select source from ragdb.list_documents('docs', 'docs/', %s, %s)"
    assert docs.execute(listed, ("", 1)).fetchall() == [("docs/a.md",)]
    assert docs.execute(listed, ("docs/a.md", 1)).fetchall() == [("docs/empty.md",)]


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("list_documents('docs', count => 0)", "RG400"),
        ("list_documents('docs', count => 10001)", "RG400"),
        ("list_documents('docs', prefix => null)", "RG400"),
    ],
)
def test_a_page_out_of_range_is_refused(docs: Connection, call: str, sqlstate: str) -> None:
    assert refused(docs, f"select ragdb.{call}").sqlstate == sqlstate
