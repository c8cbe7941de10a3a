"""What is refused of the header of an export, before anything is made of it.

What an import makes is tested with whole files, in tests/python/test_portable.py.
"""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection

HEADER: dict[str, Any] = {
    "format": "ragdb-corpus/2",
    "corpus": {
        "name": "copy",
        "title": None,
        "text_config": "english",
        "k1": 1.2,
        "b": 0.75,
        "pivot": 100,
        "record_query_text": "full",
        "is_restricted": True,
    },
    "embedder": None,
    "counts": {},
    "digest": "",
}


def test_a_sound_header_makes_a_corpus_of_its_settings(db: Connection) -> None:
    assert db.execute("select ragdb.import_corpus(%s)", (json.dumps(HEADER),)).fetchone() == (
        "copy",
    )
    row = db.execute("select title, pivot, privilege from ragdb.corpus_info('copy')").fetchone()
    assert row == (None, 100, "admin")
    assert db.execute("select privilege from ragdb.corpus_grants").fetchall() == [("admin",)]


@pytest.mark.parametrize(("role", "bound"), [("reader", None), ("writer", "hash")])
def test_an_import_binds_an_embedder_that_is_there_only_for_who_may_bind_it(
    db: Connection, role: str, bound: str | None
) -> None:
    db.execute("select ragdb.create_embedder('theirs', 3)")
    embedder = db.execute("select to_jsonb(e) from ragdb.list_embedders() e").fetchone()
    assert embedder is not None
    given = embedder[0] | {"m": 16, "ef_construction": 128, "provider": "hash"}
    header = HEADER | {"embedder": given | {"provider_model": "hash-v1"}}
    db.execute(f"set role {role}")
    db.execute("select ragdb.import_corpus(%s, 'personal')", (json.dumps(header),))
    assert db.execute("select provider from ragdb.list_embedders()").fetchall() == [(bound,)]


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("header", "counts", []),
        ("header", "digest", None),
        ("header", "embedder", "hash"),
        *(("corpus", field, {}) for field in HEADER["corpus"]),
        *(("corpus", field, None) for field in HEADER["corpus"] if field != "title"),
        ("embedder", "dims", "256"),
        *(("embedder", "dims", value) for value in (1e30, -1e30, 1.5)),
        *(("corpus", field, 1e300) for field in ("k1", "b", "pivot")),
    ],
)
def test_a_field_of_another_type_is_refused_by_its_name(
    db: Connection, part: str, field: str, value: Any
) -> None:
    header = json.loads(json.dumps(HEADER))
    if part == "embedder":
        header["embedder"] = {"name": "e", "model": "m", "revision": None}
    (header if part == "header" else header[part])[field] = value
    with pytest.raises(psycopg.Error, match=f'no right "{field}"') as raised:
        db.execute("select ragdb.import_corpus(%s)", (json.dumps(header),))
    assert raised.value.sqlstate == "RG455"
    assert raised.value.diag.message_hint


def test_whole_numbers_of_an_embedder_may_be_written_with_a_point(db: Connection) -> None:
    embedder = {"name": "e", "dims": 3.0, "model": "m", "metric": "cosine", "max_tokens": 512.0}
    embedder |= {"query_prefix": "", "passage_prefix": "", "m": 16.0, "ef_construction": 64.0}
    db.execute("select ragdb.import_corpus(%s)", (json.dumps(HEADER | {"embedder": embedder}),))
    made = db.execute("select dims, max_tokens from ragdb.list_embedders()").fetchall()
    assert made == [(3, 512)]


@pytest.mark.parametrize("field", ["k1", "b", "pivot"])
def test_a_number_smaller_than_a_double_can_be_is_refused(db: Connection, field: str) -> None:
    header = json.dumps(HEADER | {"corpus": HEADER["corpus"] | {field: "small"}})
    with pytest.raises(psycopg.Error, match=f'no right "{field}"') as raised:
        db.execute("select ragdb.import_corpus(%s)", (header.replace('"small"', "1e-400"),))
    assert raised.value.sqlstate == "RG455"


@pytest.mark.parametrize("header", [None, {}, [], {**HEADER, "format": "tar"}])
def test_what_is_not_an_export_is_refused(db: Connection, header: Any) -> None:
    with pytest.raises(psycopg.Error, match="its format is") as raised:
        db.execute("select ragdb.import_corpus(%s)", (json.dumps(header),))
    assert raised.value.sqlstate == "RG455"


def test_an_export_of_another_format_is_not_said_to_be_damaged(db: Connection) -> None:
    header = HEADER | {"format": "ragdb-corpus/1", "made_by": "ragdb 0.1.0"}
    with pytest.raises(psycopg.Error) as raised:
        db.execute("select ragdb.import_corpus(%s)", (json.dumps(header),))
    assert raised.value.sqlstate == "RG455"
    said = raised.value.diag
    assert said.message_primary == (
        'this export has the format "ragdb-corpus/1", and this database takes "ragdb-corpus/2"'
    )
    assert said.message_detail == 'it was made by "ragdb 0.1.0"; what its digest covers is other'
    assert "export the corpus again" in str(said.message_hint)


def test_a_header_of_a_million_bytes_is_refused(db: Connection) -> None:
    header = {**HEADER, "more": "x" * 1_000_000}
    with pytest.raises(psycopg.Error, match="over a million bytes") as raised:
        db.execute("select ragdb.import_corpus(%s)", (json.dumps(header),))
    assert raised.value.sqlstate == "RG455"
