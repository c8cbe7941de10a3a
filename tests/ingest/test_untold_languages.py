"""A document that names no language has that which its text is in, through every door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb
from ragdb.ingest.languages import BEGINNING
from ragdb.models.worker import Worker

TEXTS = {
    "de": "Der Vertrag endet nach zwei Jahren, und die Schlüssel sind beim Hausmeister.",
    "fr": "Le contrat prend fin après deux ans et les clés sont chez le gardien.",
    # what only words tell, or only letters
    "fi": "Missä kaupungissa hän asui ja mitä hän teki siellä?",
    "kk": "Қатысушылар: Әсел Қуанышева. Кілттер күзетшіде сақталады.",
    "ja": "契約は二年で終わります。鍵は管理人が持っています。",
}
SHORT = "Berlin 42"  # tells nothing: it has the language of its corpus


def languages(database: ragdb.Database, corpus: str) -> dict[str, str | None]:
    return {row.source: row.language for row in database.list_documents(corpus)}


def test_an_ingest_sends_as_much_of_a_text_as_its_language_is_told_by(
    db: psycopg.Connection[Any],
) -> None:
    longer = "a" * (2 * BEGINNING)
    assert db.execute("select length(ragdb_internal.first_words(%s))", (longer,)).fetchall() == [
        (BEGINNING,)
    ]
    ((said,),) = db.execute("select obj_description('ragdb.guess_languages'::regproc)").fetchall()
    assert f"by the first {BEGINNING} characters" in said


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Each text as a file, as a record and as a conversation; and those that name a language."""
    (folder := tmp_path / "files").mkdir()
    records: list[dict[str, Any]] = []
    for code, text in TEXTS.items():
        (folder / f"{code}.txt").write_text(text)
        records.append({"_id": code, "text": text})
        said = [{"role": "user", "content": text}, {"role": "assistant", "content": "42"}]
        (folder / f"{code}.json").write_text(json.dumps({"model": "m", "messages": said}))
    records.append({"_id": "named", "text": TEXTS["de"], "language": "nl"})
    (folder / "records.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (folder / "named.md").write_text(f"---\nlanguage: nl\n---\n{TEXTS['de']}\n")
    (folder / "short.txt").write_text(SHORT)
    return folder


def stored() -> dict[str, str | None]:
    """What the files above are in."""
    told: dict[str, str | None] = {
        name.format(code): code
        for code in TEXTS
        for name in ("files/{}.txt", "files/{}.json", "files/records.jsonl#{}")
    }
    return told | {
        "files/records.jsonl#named": "nl",
        "files/named.md": "nl",
        "files/short.txt": "en",
    }


def test_a_document_that_names_no_language_has_that_of_its_text(
    database: ragdb.Database, files: Path
) -> None:
    assert not database.ingest(files, corpus="docs", dry_run=True).failures
    assert not database.ingest(files, corpus="docs").failures
    assert languages(database, "docs") == stored()


def test_a_language_that_is_given_is_that_of_every_document(
    database: ragdb.Database, files: Path
) -> None:
    database.ingest(files, corpus="docs", language="sv")
    assert set(languages(database, "docs").values()) == {"sv"}


def test_what_is_read_again_has_the_same_language_and_is_not_written(
    database: ragdb.Database, files: Path
) -> None:
    database.ingest(files, corpus="docs")
    events = len(database.events_after())
    assert database.ingest(files, corpus="docs").written == 0
    # the records are read again
    (files / "records.jsonl").write_text((files / "records.jsonl").read_text() + "\n")
    assert database.ingest(files, corpus="docs").written == 0
    with (files / "records.jsonl").open("a") as more:
        more.write(json.dumps({"_id": "more", "text": TEXTS["fr"]}) + "\n")
    assert database.ingest(files, corpus="docs").written == 1
    assert len(database.events_after()) == events + 1
    assert languages(database, "docs") == stored() | {"files/records.jsonl#more": "fr"}


def test_every_door_tells_the_same_language(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as connection:
        database = ragdb.Database(connection)
        database.put_texts("docs", list(TEXTS.values()), ids=[f"texts/{code}" for code in TEXTS])
        for code, text in TEXTS.items():
            database.put_text("docs", f"text/{code}", text)
            cid = database.put_blob(f"{text}\n".encode(), "text/plain", "docs")
            asked = {"doc_cid": cid, "source": f"blob/{code}"}
            database.rag_ingest({"params": {"corpus": "docs"}, "input": asked})
        Worker(clone).run(until="empty")
        assert languages(database, "docs") == {
            f"{door}/{code}": code for door in ("text", "texts", "blob") for code in TEXTS
        }
