"""What put_documents refuses, with its place, having written nothing."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document


def without(field: str) -> dict[str, Any]:
    one = document("a.md", ["one"])
    del one[field]
    return one


def with_chunk(**fields: Any) -> dict[str, Any]:
    one = document("a.md", ["fine", "one"])
    one["chunks"][1].update(fields)
    return one


GOOD = document("good.md", ["good"])


BAD: list[tuple[Any, str, str]] = [
    (None, "RG412", "not an array"),
    ({}, "RG412", "not an array"),
    ([GOOD, 7], "RG412", "document 1: it must be an object"),
    ([GOOD, without("doc_cid")], "RG412", 'document 1: "doc_cid"'),
    ([{**GOOD, "doc_cid": "sha256:" + "A" * 64}], "RG412", '"doc_cid"'),
    ([{**GOOD, "doc_cid": GOOD["doc_cid"] + "\n"}], "RG412", '"doc_cid"'),
    ([{**GOOD, "doc_cid": 7}], "RG412", '"doc_cid"'),
    ([without("uri")], "RG412", '"uri"'),
    ([{**GOOD, "uri": ""}], "RG412", '"uri"'),
    ([{**GOOD, "uri": "ü" * 1001}], "RG412", '"uri"'),
    ([{**GOOD, "source_name": 1}], "RG412", '"source_name"'),
    ([{**GOOD, "title": ["x"]}], "RG412", '"title"'),
    ([{**GOOD, "title": "x" * 10001}], "RG412", '"title"'),
    ([{**GOOD, "language": ""}], "RG412", '"language"'),
    ([GOOD, {**GOOD, "language": "e n"}], "RG412", 'document 1: "language" is "e n", which is not'),
    ([without("media_type")], "RG412", '"media_type"'),
    ([{**GOOD, "metadata": []}], "RG412", '"metadata"'),
    ([{**GOOD, "external_id": ""}], "RG412", '"external_id"'),
    ([{**GOOD, "external_id": 7}], "RG412", '"external_id"'),
    ([without("size_bytes")], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": -1}], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": 1.5}], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": 1e300}], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": "7"}], "RG412", '"size_bytes"'),
    ([{**GOOD, "pages": -1}], "RG412", '"pages"'),
    ([{**GOOD, "etag": {}}], "RG412", '"etag"'),
    ([without("chunking")], "RG412", '"chunking"'),
    ([{**GOOD, "chunking": "para-sent/1"}], "RG412", '"chunking"'),
    (
        [GOOD, document("talk", chunking={"chunker": "turns/1"})],
        "RG412",
        "document 1: its chunker is turns/1, which is that of conversations",
    ),
    ([without("chunks")], "RG412", '"chunks"'),
    ([{**GOOD, "chunks": {}}], "RG412", '"chunks"'),
    ([{**GOOD, "links": {}}], "RG412", '"links"'),
    ([{**GOOD, "titel": "x"}], "RG412", '"titel" is not a field of a document'),
    ([GOOD, {**GOOD, "uri": "b.md", "chunks": [7]}], "RG412", "chunk 0 of document 1: it must be"),
    ([with_chunk(text=None)], "RG412", 'chunk 1 of document 0: "text"'),
    ([with_chunk(text=" \n")], "RG412", '"text"'),
    ([with_chunk(start=-1)], "RG412", '"start"'),
    ([with_chunk(start=None)], "RG412", '"start"'),
    ([with_chunk(end=5.5)], "RG412", '"end"'),
    ([with_chunk(end=1e12)], "RG412", '"end"'),
    ([with_chunk(start=9, end=6)], "RG412", '"end" minus "start" must be the length of "text", 3'),
    ([with_chunk(text="four")], "RG412", "length"),
    ([with_chunk(tokens=None)], "RG412", '"tokens"'),
    ([with_chunk(page=0)], "RG412", '"page"'),
    ([with_chunk(heading="A")], "RG412", '"heading"'),
    ([with_chunk(heading=[None])], "RG412", '"heading"'),
    ([with_chunk(citation="§ 7")], "RG412", '"citation" must be an object of at most 4000 bytes'),
    ([with_chunk(citation={"locator": "7" * 4000})], "RG412", '"citation"'),
    ([with_chunk(citation={"locator": " "})], "RG412", '"citation" must have a "uri"'),
    ([with_chunk(citation={"locator": 7})], "RG412", '"citation"'),
    ([with_chunk(citation={"uri": None, "locator": "7"})], "RG412", '"citation"'),
    ([with_chunk(id="x")], "RG412", '"id" is that of a turn'),
    ([with_chunk(id=7)], "RG412", '"id"'),
    ([with_chunk(titel="x")], "RG412", '"titel" is not a field of a chunk'),
    ([{**GOOD, "links": [{"chunk": 1, "target": "x"}]}], "RG412", "link 0 of document 0"),
    ([{**GOOD, "links": [{"chunk": 0}]}], "RG412", "link 0 of document 0"),
    ([{**GOOD, "links": ["x"]}], "RG412", "link 0 of document 0"),
    ([GOOD, GOOD], "RG409", "documents 0 and 1 have the same uri"),
    (
        [document("x", ["1"], external_id="x"), document("y", ["2"], external_id="x")],
        "RG409",
        'external_id "x"',
    ),
    (
        [document("x", ["1", "2"], external_id="x"), document("y", ["2"], external_id="x#2")],
        "RG409",
        'chunk id "x#2"',
    ),
    ([{}] * 10001, "RG413", "10001 documents"),
]


@pytest.mark.parametrize(("documents", "sqlstate", "problem"), BAD)
def test_a_bad_document_is_refused_with_its_place_and_nothing_is_written(
    docs: Connection, documents: Any, sqlstate: str, problem: str
) -> None:
    value = None if documents is None else json.dumps(documents)
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute("select ragdb.put_documents('docs', %s)", (value,))
    assert raised.value.sqlstate == sqlstate
    assert problem in str(raised.value.diag.message_primary)
    assert raised.value.diag.message_detail
    assert raised.value.diag.message_hint
    assert docs.execute("select documents, chunks, version from ragdb.corpora").fetchone() == (
        0,
        0,
        0,
    )
