"""Documents and their chunks in pages, their versions, and where a chunk says a quote."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import one, put


def rows(db: Connection, query: str, *values: Any) -> list[Any]:
    return db.execute(query, values).fetchall()


def long(text: str = "part") -> dict[str, Any]:
    texts = [f"{text} {n} of it" for n in range(7)]
    chunks = [
        {"text": one, "start": 100 * n, "end": 100 * n + len(one), "tokens": 4}
        for n, one in enumerate(texts)
    ]
    return text_document("long.txt", " ".join(texts)) | {"chunks": chunks}


def test_chunks_come_in_pages(docs: Connection) -> None:
    docs.execute("select count(*) from ragdb.put_documents('docs', %s)", (Jsonb([long()]),))
    call = "select ordinal from ragdb.document_chunks('docs', 'long.txt', %s, %s)"
    assert [n for (n,) in rows(docs, call, 0, None)] == list(range(7))
    assert [n for (n,) in rows(docs, call, 2, 3)] == [2, 3, 4]
    assert [n for (n,) in rows(docs, call, 5, 2**31 - 1)] == [5, 6]
    assert rows(docs, call, 7, 3) == []
    for first, count in ((-1, 1), (None, 1), (0, 0)):
        with pytest.raises(psycopg.Error, match="first is") as caught, docs.transaction():
            docs.execute(call, (first, count))
        assert caught.value.sqlstate == "RG400"


def test_a_document_has_the_versions_that_were_put(docs: Connection) -> None:
    for text in ("part", "piece", "part"):
        docs.execute("select count(*) from ragdb.put_documents('docs', %s)", (Jsonb([long(text)]),))
    put(docs, {"other.txt": "something else"})
    call = "select doc_cid, is_current, chunks from ragdb.document_versions('docs', 'long.txt'%s)"
    first, second = long()["doc_cid"], long("piece")["doc_cid"]
    assert rows(docs, call.replace("%s", "")) == [
        (first, True, 7),
        (second, False, 7),
        (first, False, 7),
    ]
    assert len(rows(docs, call.replace("%s", ", 1"))) == 1


def test_sources_that_begin_so_are_found_wherever_they_stand(docs: Connection) -> None:
    sources = ["a/1", "a/2", "b", "b/1", "b/%", "b0", "c"]
    put(docs, {source: f"text of {source}" for source in sources})
    call = "select source from ragdb.list_documents('docs', %s, %s, 10)"
    assert [s for (s,) in rows(docs, call, "b", "")] == ["b", "b/%", "b/1", "b0"]
    assert [s for (s,) in rows(docs, call, "b/", "b/%")] == ["b/1"]
    assert rows(docs, call, "b/_", "") == []


@pytest.mark.parametrize(
    ("quote", "method", "place"),
    [
        ("deposit is refunded", "exact", (4, 23)),
        ("THE  “deposit”", "approximate", (0, 11)),
        ("deposit  IS\nrefunded", "normalised", (4, 23)),
        ("deposit is kept", None, None),
    ],
)
def test_a_quote_is_located(
    docs: Connection, quote: str, method: str | None, place: tuple[int, int] | None
) -> None:
    put(docs, {"a.txt": "The deposit is refunded in full."})
    chunk = one(docs, "select chunk_id from ragdb.list_chunks('docs')")
    call = "select method, start_offset, end_offset from ragdb.locate_quote('docs', %s, %s)"
    expected = [(method, *place)] if place else []
    assert rows(docs, call, chunk, quote) == expected
