"""What is noted of how files were read: for whom it holds, and until when."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Login
from tests.documents import document

READING = "0" * 64


def put(db: Connection, *documents: dict[str, Any], corpus: str = "docs") -> list[dict[str, Any]]:
    """Put documents, and return how they are noted as read."""
    rows = db.execute(
        "select doc_cid, ingest_event_id::text from ragdb.put_documents(%s, %s)",
        (corpus, json.dumps(documents)),
    ).fetchall()
    return [
        {"uri": one["uri"], "doc_cid": cid, "event_id": event, "reading": READING}
        for one, (cid, event) in zip(documents, rows, strict=True)
    ]


def note(db: Connection, *readings: dict[str, Any]) -> int:
    row = db.execute("select ragdb.note_readings('docs', %s)", (json.dumps(readings),)).fetchone()
    assert row is not None
    return int(row[0])


def unchanged(db: Connection, *readings: dict[str, Any]) -> list[str]:
    asked = [{name: one[name] for name in ("uri", "doc_cid", "reading")} for one in readings]
    rows = db.execute("select uri from ragdb.unchanged_sources('docs', %s)", (json.dumps(asked),))
    return [uri for (uri,) in rows]


@pytest.fixture
def db(any_db: Connection) -> Connection:
    any_db.execute("select ragdb.create_corpus('docs')")
    return any_db


def test_sources_that_were_read_so_are_returned_in_the_order_given(db: Connection) -> None:
    a, b, c = put(db, *(document(f"{name}.md", [name]) for name in "abc"))
    assert note(db, a, c) == 2
    assert unchanged(db, c, b, a) == ["c.md", "a.md"]
    assert unchanged(db, {**a, "reading": "f" * 64}, {**c, "doc_cid": b["doc_cid"]}) == []
    assert unchanged(db) == []


def test_numbers_are_returned_as_they_were_noted(db: Connection) -> None:
    (one,) = put(db, document("a.md", ["one", "two"], pages=9))
    note(db, {**one, "pages_without_text": 1, "bad_characters": 2, "cut": None})
    rows = db.execute("select * from ragdb.unchanged_sources('docs', %s)", (json.dumps([one]),))
    assert rows.fetchall() == [("a.md", one["doc_cid"], False, 1, 2, 2, 9, 1, 2, 0, 0)]


def test_a_document_with_another_event_by_now_is_passed_over(db: Connection) -> None:
    (old,) = put(db, document("a.md", ["one"], data=b"1"))
    (new,) = put(db, document("a.md", ["one"], data=b"1", title="New"))
    assert note(db, old) == 0
    # nor are other bytes read as it
    assert note(db, {**new, "doc_cid": "sha256:" + "0" * 64}) == 0
    assert note(db, new) == 1
    put(db, document("a.md", ["one"], data=b"1", title="Newer"))
    assert unchanged(db, new) == []


def test_a_document_at_two_sources_is_known_at_the_one_that_was_noted(db: Connection) -> None:
    both = put(db, *(document(f"{n}.md", ["one"], data=b"1", external_id="1") for n in "ab"))
    assert {one["event_id"] for one in both} == {both[0]["event_id"]}
    both[1]["reading"] = "1" * 64
    assert note(db, *both) == 1
    assert unchanged(db, *both) == ["a.md"]
    db.execute("select ragdb.delete_source('docs', 'b.md')")
    assert unchanged(db, *both) == []


def records(db: Connection, *uris: str, file: str = "a.jsonl") -> dict[str, Any]:
    """Put documents at some sources, and return how their file is noted as read."""
    put_records = put(db, *(document(uri, [uri, "more"]) for uri in uris))
    last = max(one["event_id"] for one in put_records)
    cid = "sha256:" + "a" * 64
    return {**put_records[0], "uri": file, "doc_cid": cid, "event_id": last, "documents": len(uris)}


def test_a_file_of_records_is_known_with_all_of_them(db: Connection) -> None:
    others = [document(uri, [uri]) for uri in ("a.json", 'a.jsonl"', "a.jsonl$1", "b.jsonl#1")]
    put(db, *others)
    noted = records(db, "a.jsonl#1", "a.jsonl#\U0010ffff", "a.jsonl#")
    assert note(db, {**noted, "empty": 4, "bad_characters": 3}) == 1
    rows = db.execute("select * from ragdb.unchanged_sources('docs', %s)", (json.dumps([noted]),))
    assert rows.fetchall() == [("a.jsonl", None, True, 3, 6, 11, None, 0, 3, 0, 4)]
    assert unchanged(db, {**noted, "doc_cid": "sha256:" + "b" * 64}) == []
    assert unchanged(db, {**noted, "reading": "f" * 64}) == []
    assert unchanged(db, {**noted, "uri": "a.json"}) == []


@pytest.mark.parametrize(
    "change",
    [
        "delete_source('docs', 'a.jsonl#1')",
        "delete_source('docs', 'a.jsonl#3')",
        "delete_document('docs', 'a.jsonl#2')",
        "erase_source('docs', 'a.jsonl#2', reason => 'asked')",
        "prune_sources('docs', 'a.jsonl#', '{a.jsonl#1,a.jsonl#3}')",
        "put_text('docs', 'a.jsonl#2', 'Other.')",
        "put_text('docs', 'a.jsonl#4', 'A fourth.')",
        "put_text('docs', 'a.jsonl', 'The file itself.')",
    ],
)
def test_a_file_of_records_of_which_one_changed_is_not_known(db: Connection, change: str) -> None:
    noted = records(db, "a.jsonl#1", "a.jsonl#2", "a.jsonl#3")
    assert note(db, noted) == 1
    assert unchanged(db, noted) == ["a.jsonl"]
    db.execute(f"select ragdb.{change}")
    assert unchanged(db, noted) == []


def test_a_record_that_went_and_came_again_is_read_again(db: Connection) -> None:
    noted = records(db, "a.jsonl#1", "a.jsonl#2")
    note(db, noted)
    db.execute("select ragdb.delete_source('docs', 'a.jsonl#2')")
    again = records(db, "a.jsonl#1", "a.jsonl#2")
    assert unchanged(db, noted) == []
    assert note(db, noted) == 0
    assert note(db, again) == 1
    assert unchanged(db, again) == ["a.jsonl"]


def test_records_that_are_fewer_or_more_than_were_read_are_not_noted(db: Connection) -> None:
    noted = records(db, "a.jsonl#1", "a.jsonl#2")
    assert note(db, {**noted, "documents": 1}) == note(db, {**noted, "documents": 3}) == 0
    assert note(db, {**noted, "uri": "b.jsonl"}) == 0


def test_a_file_and_a_record_of_it_that_have_the_same_bytes_are_told_apart(db: Connection) -> None:
    """A file of one line that does not end has its bytes."""
    noted = records(db, "a.jsonl#1")
    found = db.execute("select doc_cid from ragdb.get_document('docs', 'a.jsonl#1')").fetchall()
    noted["doc_cid"] = cid = found[0][0]
    assert note(db, noted) == 1
    rows = db.execute("select * from ragdb.unchanged_sources('docs', %s)", (json.dumps([noted]),))
    assert [row[:4] for row in rows] == [("a.jsonl", cid, True, 1)]


def test_noting_is_no_change_of_the_corpus_nor_of_its_past(db: Connection) -> None:
    db.execute("select ragdb.keep_history('docs', '1 day')")
    (one,) = put(db, document("a.md", ["one"]))
    state = (
        "select (select c from ragdb.corpora c where name = 'docs'),"
        " (select count(*) from ragdb.past_rows), (select count(*) from ragdb.corpus_versions),"
        " (select count(*) from ragdb.events), (select count(*) from ragdb.recorded_states)"
    )
    before = db.execute(state).fetchall()
    assert note(db, one) == 1
    assert note(db, {**one, "cut": 1}) == 1
    assert unchanged(db, one) == ["a.md"]
    assert db.execute(state).fetchall() == before


def test_who_asks_brings_the_bytes_that_he_has_put(db: Connection) -> None:
    (one,) = put(db, document("a.md", ["one"], data=b"bytes"))
    (other,) = put(db, document("b.md", ["other"], data=b"others"))
    note(db, one)
    for data in (b"bytes", b"others"):
        db.execute("select ragdb.put_blob(%s, 'text/plain')", (data,))
    assert unchanged(db, one, other) == ["a.md"]
    assert db.execute("select cid from ragdb.corpus_blobs").fetchall() == [(one["doc_cid"],)]


def test_only_who_may_write_asks_or_notes(clone: str, login: Login) -> None:
    with psycopg.connect(clone, autocommit=True) as admin:
        admin.execute("select ragdb.create_corpus('docs')")
        (one,) = put(admin, document("a.md", ["one"]))
        assert note(admin, one) == 1
        admin.execute("select ragdb.restrict_corpus('docs')")
        admin.execute("select ragdb.grant_corpus('docs', 'reader', 'read')")
    for role, code in (("reader", "RG401"), ("reader2", "RG404")):
        for call in (note, unchanged):
            with login(clone, role) as db, pytest.raises(psycopg.Error) as caught:
                call(db, one)
            assert caught.value.sqlstate == code


def test_nothing_is_noted_while_another_writes_and_nobody_waits(clone: str) -> None:
    with psycopg.connect(clone) as one, psycopg.connect(clone) as two:
        one.execute("select ragdb.create_corpus('docs')")
        (noted,) = put(one, document("a.md", ["one"]))
        one.commit()
        put(one, document("b.md", ["two"]))
        two.execute("set statement_timeout = '20s'")
        assert note(two, noted) == 0
        two.commit()
        one.rollback()
        assert note(two, noted) == 1


@pytest.mark.parametrize(
    ("readings", "said"),
    [
        ("null", "readings is not an array"),
        ('{"uri": "a"}', "readings is not an array"),
        ("[1]", "reading 0: it must be an object"),
        ('[{"uri": "a"}]', 'reading 0: "doc_cid" must be sha256: and 64 hex digits'),
        ([{"reading": "x"}], 'reading 0: "reading" must be 64 hex digits'),
        ([{}, {"event_id": "x"}], 'reading 1: "event_id" must be the id of an event'),
        ([{"cut": -1}], 'reading 0: "cut" must be a whole number of at most 9 digits'),
        ([{"text": "x"}], 'reading 0: "text" is not a field of a reading'),
    ],
)
@pytest.mark.parametrize("function", ["note_readings", "unchanged_sources"])
def test_what_is_no_reading_is_refused(
    db: Connection, function: str, readings: str | list[dict[str, Any]], said: str
) -> None:
    whole = {"uri": "a.md", "doc_cid": "sha256:" + "0" * 64, "reading": READING}
    if not isinstance(readings, str):
        readings = json.dumps([{**whole, **one} for one in readings])
    with pytest.raises(psycopg.Error, match="reading") as caught:
        db.execute(f"select ragdb.{function}('docs', %s)", (readings,))
    assert caught.value.sqlstate == "RG412"
    assert caught.value.diag.message_primary == said
    assert caught.value.diag.message_hint
