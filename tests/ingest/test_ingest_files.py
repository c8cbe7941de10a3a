"""`Database.ingest` with files, on a real database."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest

import ragdb
from ragdb.ingest import ingest as driver
from ragdb.ingest import payload, pool, reading, watching, writing
from ragdb.ingest.ingest import Run
from ragdb.ingest.options import IngestError, look
from ragdb.ingest.report import Failed, Report
from ragdb.ingest.source import Found, Source
from tests.waiting import until_it_waits

EXAMPLES = Path(__file__).parents[2] / "examples/tool-library/handbook"


def chunks(database: ragdb.Database) -> list[Any]:
    return database.connection.execute(
        """select c.chunk_id, c.source, c.text, c.start_offset, c.page, c.ordinal
           from ragdb.chunks c order by c.chunk_id"""
    ).fetchall()


def events(database: ragdb.Database) -> int:
    return len(database.events_after())


def statuses(report: Report) -> dict[str, str]:
    return {file.uri: file.status for file in report.files}


def test_a_folder_is_read_with_its_folders(database: ragdb.Database, folder: Path) -> None:
    report = database.ingest(folder, corpus="docs")
    assert report.created
    assert statuses(report) == {
        "docs/a.md": "ingested",
        "docs/b.txt": "ingested",
        "docs/deep/c.md": "ingested",
    }
    assert database.corpus_info("docs").documents == 3
    assert database.check_corpus("docs") == []


def test_the_samples_keep_pages_headings_and_titles(database: ragdb.Database) -> None:
    report = database.ingest(EXAMPLES, corpus="demo")
    assert (report.failed, report.written) == (0, 6)
    (hit, *_) = database.search("demo", "sparks grinder bucket of sand")
    assert (hit.source, hit.page, hit.title) == ("handbook/safety.pdf", 3, "Safety sheet")
    (hit, *_) = database.search("demo", "refund by card working days")
    assert hit.source == "handbook/returns.md"
    assert hit.heading == ["Returns and refunds", "Refunds"] or hit.heading[:1] == [hit.title]
    assert hit.metadata == {"audience": "members", "year": 2026}


def test_again_nothing_is_written_and_no_event_is_sent(
    database: ragdb.Database, folder: Path
) -> None:
    database.ingest(folder, corpus="docs")
    before = (chunks(database), events(database), database.corpus_info("docs").version)
    report = database.ingest(folder, corpus="docs")
    assert set(statuses(report).values()) == {"unchanged"}
    assert (report.written, report.unchanged) == (0, 3)
    assert (chunks(database), events(database)) == before[:2]


def test_a_changed_file_replaces_its_document(database: ragdb.Database, folder: Path) -> None:
    database.ingest(folder, corpus="docs")
    (folder / "b.txt").write_text("Beta has been rewritten.\n")
    report = database.ingest(folder, corpus="docs")
    assert statuses(report)["docs/b.txt"] == "replaced"
    assert (report.written, report.replaced) == (1, 1)
    texts = [row[2] for row in chunks(database) if row[1] == "docs/b.txt"]
    assert texts == ["Beta has been rewritten."]


def test_a_failing_file_does_not_stop_the_others(database: ragdb.Database, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    (folder / "broken.json").write_text("{")
    report = database.ingest(folder, corpus="docs")
    assert (report.written, report.failed) == (3, 2)
    assert sorted(failure.uri for failure in report.failures) == [
        "docs/broken.json",
        "docs/broken.pdf",
    ]
    assert all(failure.reason and failure.hint for failure in report.failures)


def test_a_file_over_the_limit_fails(database: ragdb.Database, folder: Path) -> None:
    with open(folder / "big.txt", "wb") as file:
        file.truncate(100 * 2**20)
    report = database.ingest(folder, corpus="docs")
    (failure,) = report.failures
    assert failure.uri == "docs/big.txt"
    assert "over the limit of 67108864" in failure.reason
    assert "--max-bytes" in str(failure.hint)


def test_the_document_that_the_database_refuses_is_named(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "b.txt").write_text("---\ntitle: " + "x" * 50 + "\n---\nBeta.\n")
    prepare = payload.to_payload

    def spoiled(document: Any, source: str, **how: Any) -> dict[str, Any]:
        ready = prepare(document, source, **how)
        return {**ready, "doc_cid": "no cid"} if source == "docs/b.txt" else ready

    monkeypatch.setattr(payload, "to_payload", spoiled)
    report = database.ingest(folder, corpus="docs")
    (failure,) = report.failures
    assert failure.uri == "docs/b.txt"
    assert "doc_cid" in failure.reason
    assert "RG412" in failure.reason
    assert report.written == 2


def test_a_missing_right_ends_the_run(database: ragdb.Database, folder: Path) -> None:
    database.ingest(folder, corpus="docs")
    database.connection.execute("set role reader")
    with pytest.raises(psycopg.Error) as caught:
        database.ingest(folder, corpus="docs", force=True)
    assert caught.value.sqlstate in ("RG401", "42501")


def test_a_corpus_is_not_made_for_documents_that_are_refused(
    database: ragdb.Database, tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({"_id": "x" * 600, "text": "A text."}) + "\n")
    report = database.ingest(path, corpus="new", prune=True)
    assert (report.failed, report.documents, report.created) == (1, 0, False)
    assert "new" not in {corpus.name for corpus in database.list_corpora()}
    path.write_text(path.read_text() + json.dumps({"_id": "y", "text": "A text."}) + "\n")
    report = database.ingest(path, corpus="new", prune=True)
    assert (report.failed, report.written, report.created) == (1, 1, True)
    assert not database.ingest(path, corpus="new", prune=True).created


def test_prune_removes_what_is_gone_and_keeps_what_cannot_be_read(
    database: ragdb.Database, folder: Path
) -> None:
    database.ingest(folder, corpus="docs")
    (folder / "a.md").unlink()
    (folder / "b.txt").write_bytes(b"")
    (folder / "deep" / "c.md").write_bytes(b"\0" * 99)
    report = database.ingest(folder, corpus="docs", prune=True)
    assert (report.pruned, report.skipped, report.failed) == (1, 1, 1)
    assert {row[1] for row in chunks(database)} == {"docs/b.txt", "docs/deep/c.md"}


@pytest.mark.parametrize("data", [b'[{"id": "a", "messages": [', b"", b"[]"])
def test_prune_keeps_the_chats_of_a_file_that_cannot_be_read(
    database: ragdb.Database, folder: Path, data: bytes
) -> None:
    """As of one that is being written."""
    said = [{"role": role, "content": role} for role in ("user", "assistant")]
    (folder / "chats.json").write_text(json.dumps([{"id": n, "messages": said} for n in "ab"]))
    database.ingest(folder, corpus="docs")
    (folder / "chats.json").write_bytes(data)
    (folder / "a.md").unlink()
    report = database.ingest(folder, corpus="docs", prune=True)
    assert (report.pruned, report.documents, len(report.not_pruned)) == (1, 2, 0)
    assert database.corpus_info("docs").documents == 4


def test_prune_takes_what_is_gone_beside_a_file_of_records_that_cannot_be_read(
    database: ragdb.Database, folder: Path
) -> None:
    (folder / "records.jsonl").write_bytes(records(3))
    database.ingest(folder, corpus="docs")
    (folder / "records.jsonl").write_bytes(b"{not json}\n" + records(1))
    (folder / "a.md").unlink()
    report = database.ingest(folder, corpus="docs", prune=True)
    assert (report.pruned, report.not_pruned) == (1, ["docs/records.jsonl#"])
    assert database.corpus_info("docs").documents == 5


def test_prune_leaves_a_tree_alone_of_which_a_folder_cannot_be_listed(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.ingest(folder, corpus="docs")
    (folder / "a.md").unlink()
    scandir = os.scandir

    def refused(path: Path) -> Any:
        if path.name == "deep":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("os.scandir", refused)
    report = database.ingest(folder, corpus="docs", prune=True)
    assert report.not_pruned == ["docs/"]
    assert [f.uri for f in report.failures] == ["docs/deep"]
    assert database.corpus_info("docs").documents == 3


def test_a_dry_run_counts_what_it_would_prune(database: ragdb.Database, folder: Path) -> None:
    assert database.ingest(folder, corpus="docs", prune=True, dry_run=True).pruned == 0
    database.ingest(folder, corpus="docs")
    before = chunks(database)
    (folder / "a.md").unlink()
    report = database.ingest(folder, corpus="docs", prune=True, dry_run=True)
    assert (report.pruned, report.written) == (1, 0)
    assert chunks(database) == before


def test_what_is_gone_from_a_folder_is_counted_and_stays(
    database: ragdb.Database, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.md").write_text("Delta.")
    database.ingest([folder, other], corpus="docs")
    (folder / "a.md").rename(folder / "z.md")
    (other / "d.md").unlink()
    # of the folder that is read alone, and not of a file of it
    told = [
        database.ingest(path, corpus="docs", tells_gone=True).gone
        for path in (folder / "b.txt", folder, folder)
    ]
    assert told == [0, 1, 1]
    assert len(database.known_sources("docs", ["docs/a.md", "docs/z.md"])) == 2
    assert database.ingest(folder, corpus="docs", prune=True).pruned == 1
    assert database.ingest(folder, corpus="docs", tells_gone=True).gone == 0


def test_prune_leaves_sources_of_other_folders(
    database: ragdb.Database, folder: Path, tmp_path: Path
) -> None:
    database.ingest(folder, corpus="docs")
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.md").write_text("Delta.")
    report = database.ingest(other, corpus="docs", prune=True)
    assert report.pruned == 0
    assert database.corpus_info("docs").documents == 4


def test_the_same_bytes_at_two_paths_are_two_documents(
    database: ragdb.Database, folder: Path
) -> None:
    (folder / "deep" / "copy.txt").write_bytes((folder / "b.txt").read_bytes())
    database.ingest(folder, corpus="docs")
    assert database.corpus_info("docs").documents == 4
    (folder / "b.txt").unlink()
    database.ingest(folder, corpus="docs", prune=True)
    assert database.corpus_info("docs").documents == 3
    (folder / "deep" / "copy.txt").unlink()
    database.ingest(folder, corpus="docs", prune=True)
    assert database.corpus_info("docs").documents == 2


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    database: ragdb.Database, folder: Path
) -> None:
    report = database.ingest(folder, corpus="docs", dry_run=True)
    assert (report.written, report.chunks, report.created) == (3, 3, True)
    assert database.list_corpora() == []
    database.ingest(folder, corpus="docs")
    (folder / "b.txt").write_text("Other.")
    report = database.ingest(folder, corpus="docs", dry_run=True)
    assert statuses(report)["docs/b.txt"] == "replaced"
    assert (report.written, report.unchanged) == (1, 2)
    assert "Other." not in [row[2] for row in chunks(database)]


def test_originals_are_kept_unless_asked_not_to(database: ragdb.Database, folder: Path) -> None:
    database.ingest(folder, corpus="docs")
    data = (folder / "a.md").read_bytes()
    blob = database.get_blob("sha256:" + hashlib.sha256(data).hexdigest())
    assert (blob.bytes, blob.media_type) == (data, "text/markdown")
    (folder / "a.md").write_text("Another text.")
    database.ingest(folder / "a.md", corpus="other", blobs=False)
    cid = "sha256:" + hashlib.sha256(b"Another text.").hexdigest()
    assert not database.connection.execute(
        "select from ragdb.blobs where cid = %s", (cid,)
    ).fetchall()


def test_title_language_and_metadata_can_be_given(database: ragdb.Database, folder: Path) -> None:
    database.ingest(
        folder / "b.txt", corpus="docs", title="Greek", language="el", metadata={"year": 2026}
    )
    (row,) = database.connection.execute(
        "select title, language, metadata, source from ragdb.documents"
    ).fetchall()
    assert row == ("Greek", "el", {"year": 2026}, "b.txt")


def test_metadata_given_is_stored_as_metadata_found_is(
    database: ragdb.Database, folder: Path
) -> None:
    given = {"a": float("nan"), "b": "lone \udcff", "c": 1}
    report = database.ingest(folder / "a.md", corpus="docs", metadata=given)
    assert report.failures == []
    (document,) = database.list_documents("docs")
    assert document.metadata == {"a": "nan", "b": "lone \ufffd", "c": 1}
    database.ingest(folder / "b.txt", corpus="docs", title="lone \udcff")
    assert [d.title for d in database.list_documents("docs") if d.source == "b.txt"] == [
        "lone \ufffd"
    ]
    nested: Any = 1
    for _ in range(100):
        nested = [nested]
    with pytest.raises(IngestError, match="nests deeper"):
        database.ingest(folder / "a.md", corpus="docs", metadata={"a": nested})


def test_chunking_can_be_given_and_cuts_again(database: ragdb.Database, folder: Path) -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(200))
    (folder / "b.txt").write_text(text)
    first = database.ingest(folder, corpus="docs")
    second = database.ingest(folder, corpus="docs", unit="word", max_tokens=20, overlap=0)
    assert second.chunks > first.chunks
    assert all(len(row[2].split()) <= 20 for row in chunks(database))
    with pytest.raises(IngestError, match="overlap"):
        database.ingest(folder, corpus="docs", max_tokens=10, overlap=10)


def test_an_option_that_is_none_is_refused(database: ragdb.Database, folder: Path) -> None:
    with pytest.raises(TypeError, match="recursiv"):
        database.ingest(folder, corpus="docs", recursiv=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("paths", [None, {"a.md": "its text"}, 3])
def test_what_is_no_path_is_refused_by_its_type(database: ragdb.Database, paths: Any) -> None:
    with pytest.raises(TypeError, match=f"paths is of type {type(paths).__name__}: give a path"):
        database.ingest(paths, corpus="docs")


@pytest.mark.parametrize("glob", ["../*", "/etc/*", "a/../../*"])
def test_a_glob_that_leaves_its_folder_is_refused(
    database: ragdb.Database, folder: Path, glob: str
) -> None:
    with pytest.raises(IngestError, match="leaves the folder"):
        database.ingest(folder, corpus="docs", glob=glob)


def test_the_bytes_of_an_upload_are_a_file_of_the_name_that_they_are_given(
    database: ragdb.Database,
) -> None:
    def uploaded(data: bytes, name: str = "faq/shipping.md", **options: Any) -> Report:
        report = database.ingest(data, corpus="uploads", name=name, **options)
        assert not report.failures
        return report

    assert uploaded(b"# Shipping\n\nWe ship to Norway.").written == 1
    assert uploaded(b"# Shipping\n\nWe ship to Norway.").unchanged == 1
    changed = b"# Shipping\n\nWe ship to Norway and Sweden."
    assert uploaded(changed).written == 1
    assert uploaded(b"Paid in a week.", "http://x/refunds.txt").written == 1
    records = b'{"_id": "a", "text": "One."}\n{"_id": "b", "text": "Two."}\n'
    assert uploaded(records, "tickets.jsonl").written == 2
    found = {row.source: row for row in database.list_documents("uploads")}
    assert set(found) == {
        "faq/shipping.md", "http://x/refunds.txt", "tickets.jsonl#a", "tickets.jsonl#b",
    }  # fmt: skip
    assert uploaded(changed, prefix="acme").files[0].uri == "acme/faq/shipping.md"
    kept = found["faq/shipping.md"]
    assert (kept.title, kept.media_type) == ("Shipping", "text/markdown")
    assert database.document_text("uploads", "faq/shipping.md") == changed.decode()
    assert database.get_blob(kept.doc_cid).bytes == changed

    (failure,) = database.ingest(bytes(9), corpus="uploads", name="a.md", max_bytes=8).failures
    assert "over the limit of 8" in failure.reason
    for given, options in ((b"x", {}), (io.BytesIO(b"x\ny"), {"name": "x.md"})):
        with pytest.raises(IngestError) as raised:
            database.ingest(given, corpus="uploads", **options)  # type: ignore[arg-type]
        assert 'name="notes.md"' in str(raised.value.hint)
        assert raised.value.__notes__ == [f"hint: {raised.value.hint}"]


def test_a_link_out_of_the_folder_is_skipped_and_reported(
    database: ragdb.Database, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("Not yours.")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    os.mkfifo(folder / "pipe.md")
    report = database.ingest(folder, corpus="docs")
    assert (report.skipped, report.failed, report.written) == (2, 0, 3)
    assert statuses(report)["docs/link.md"] == "skipped"
    assert "Not yours." not in [row[2] for row in chunks(database)]


def test_a_word_of_a_megabyte_is_one_chunk_and_does_no_harm(
    database: ragdb.Database, folder: Path
) -> None:
    (folder / "long.txt").write_text("x" * 2**20 + " needle")
    report = database.ingest(folder, corpus="docs")
    assert (report.failed, report.cut) == (0, 1)
    (hit,) = database.search("docs", "needle")
    assert hit.source == "docs/long.txt"


def test_nul_and_bad_bytes_become_replacement_characters_and_are_counted(
    database: ragdb.Database, folder: Path
) -> None:
    (folder / "nul.txt").write_bytes("zwölf NUL\0 bytes\n".encode() * 3)
    report = database.ingest(folder, corpus="docs")
    (file,) = [file for file in report.files if file.uri == "docs/nul.txt"]
    assert (file.status, file.bad_characters) == ("ingested", 3)


def test_characters_that_a_file_writes_as_escapes_and_no_text_has_are_replaced(
    database: ragdb.Database, folder: Path
) -> None:
    notebook = {"cells": [{"cell_type": "code", "source": "print('\ud83d\0')"}]}
    (folder / "half.json").write_text('{"half \\ud83d": {"word": "saw \\ud83d\\u0000"}}')
    (folder / "half.ipynb").write_text(json.dumps(notebook))
    (folder / "half.rst").write_text(".. |x| unicode:: 0xd800\n\nSaw |x| there\n")
    report = database.ingest(folder, corpus="docs")
    assert (report.written, report.failed) == (6, 0)
    found = {row[1]: row[2] for row in chunks(database) if row[1].startswith("docs/half")}
    assert found == {
        "docs/half.json": "# half \ufffd\n\nhalf \ufffd.word: saw \ufffd\ufffd",
        "docs/half.ipynb": "```\nprint('\ufffd\ufffd')\n```",
        "docs/half.rst": "Saw \ufffd there",
    }
    bad = {file.uri: file.bad_characters for file in report.files if file.bad_characters}
    assert bad == {"docs/half.json": 3, "docs/half.ipynb": 2, "docs/half.rst": 1}


def records(count: int) -> bytes:
    return b"".join(
        json.dumps({"_id": f"r{n}", "title": f"Record {n}", "text": f"It is number {n}."}).encode()
        + b"\n"
        for n in range(count)
    )


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_records_are_documents_with_their_own_ids(
    database: ragdb.Database, tmp_path: Path, name: str
) -> None:
    data = records(30) + b'{"_id": "empty", "title": "", "text": ""}\n'
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    report = database.ingest(tmp_path / name, corpus="records")
    (file,) = report.files
    assert (file.documents, file.written, file.empty, file.failed) == (30, 30, 1, 0)
    (hit,) = database.search("records", "seven +7", k=1) or database.search("records", "7", k=1)
    assert (hit.chunk_id, hit.source, hit.title) == ("r7", f"{name}#r7", "Record 7")
    assert database.ingest(tmp_path / name, corpus="records").written == 0


def test_a_malformed_line_is_named_and_what_came_before_stays(
    database: ragdb.Database, tmp_path: Path
) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(records(3) + b"{not json}\n" + records(1).replace(b"r0", b"r9"))
    report = database.ingest(path, corpus="records", prune=True)
    assert (report.written, report.failed) == (3, 1)
    assert report.failures[0].uri == "corpus.jsonl"
    assert "line 4" in report.failures[0].reason
    assert report.not_pruned == ["corpus.jsonl#"]


def test_a_file_of_records_that_vanishes_is_a_file_that_failed(
    database: ragdb.Database, tmp_path: Path
) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(records(3))
    found = look(path, {})
    path.unlink()
    report = Run(database, "records", found, {}).run()
    assert (report.failed, report.failures[0].uri) == (1, "corpus.jsonl")


def test_records_that_are_gone_are_pruned(database: ragdb.Database, tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(records(5))
    database.ingest(path, corpus="records")
    path.write_bytes(records(3))
    assert database.ingest(path, corpus="records", prune=True).pruned == 2
    assert database.corpus_info("records").documents == 3


@pytest.mark.parametrize("way", ["folder", "file", "watch"])
def test_a_file_that_became_chats_loses_its_document_and_gets_it_back_for_them(
    database: ragdb.Database, folder: Path, way: str
) -> None:
    said = [{"role": role, "content": role} for role in ("user", "assistant")]
    chats = [{"id": f"{n}", "messages": said} for n in range(2)]
    file = folder / "talk.json"
    file.write_text('{"title": "One"}')
    (folder / "talk.json.md").write_text("Beside.")
    path = file if way == "file" else folder
    database.ingest(folder, corpus="docs", prefix="docs")
    watch = watching.Watch([str(path)], {"prefix": "docs"})

    def pruned(content: Any, **how: Any) -> int:
        file.write_text(json.dumps(content))
        options = {"prefix": "docs", "prune": True, **how}
        found = watch.changed(interval=0.01)[0] if way == "watch" else look(path, options)
        return Run(database, "docs", found, options).run().pruned

    def left() -> set[str]:
        return {row.source for row in database.list_documents("docs")} - beside

    beside = {f"docs/{name}" for name in ("a.md", "b.txt", "deep/c.md", "talk.json.md")}
    assert pruned(chats, dry_run=True) == 1
    assert left() == {"docs/talk.json"}
    assert pruned([*chats, {"id": "2", "messages": said}]) == 1
    assert left() == {f"docs/talk.json#{n}" for n in range(3)}
    assert pruned({"title": "One"}) == 3
    assert left() == {"docs/talk.json"}


def test_workers_change_nothing(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        (folder / f"f{n}.md").write_text(f"# File {n}\n\nIts text has the word w{n}.\n")
    (folder / "records.jsonl").write_bytes(records(200))
    (folder / "torn.jsonl").write_bytes(records(3).replace(b"r", b"t") + b"{not json}\n")
    one = database.ingest(folder, corpus="docs", workers=1)
    alone = chunks(database)
    database.drop_corpus("docs")
    monkeypatch.setattr(driver, "POOL_BYTES", 0)
    monkeypatch.setattr(reading, "SLAB_BYTES", 1000)
    two = database.ingest(folder, corpus="docs", workers=2)
    assert chunks(database) == alone
    assert [(f.uri, f.status, f.chunks) for f in two.files] == [
        (f.uri, f.status, f.chunks) for f in one.files
    ]
    assert two.failures == one.failures
    assert [f.uri for f in one.failures] == ["docs/torn.jsonl"]


def kill_on_b(task: reading.Task, tell: Any) -> reading.Outcome:
    if task.source.uri == "docs/b.txt":
        os._exit(9)
    return reading.read(task)


def test_a_file_that_kills_its_reader_is_a_file_that_failed(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "POOL_BYTES", 0)
    monkeypatch.setattr(pool.Pool, "work", staticmethod(kill_on_b))
    report = database.ingest(folder, corpus="docs", workers=2)
    assert report.failures == [
        Failed("docs/b.txt", "reading it killed the process that read it", None)
    ]
    assert report.written == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_an_unforeseen_exception_is_the_failure_of_its_file_alone(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(driver, "POOL_BYTES", 0)
    monkeypatch.setattr(pool.Pool, "work", staticmethod(stumble_on_b))
    report = database.ingest(folder, corpus="docs", workers=workers)
    assert [(f.uri, f.reason) for f in report.failures] == [
        ("docs/b.txt", "reading it failed (ZeroDivisionError)")
    ]
    assert report.written == 2


def stumble_on_b(task: reading.Task, tell: Any) -> reading.Outcome:
    given = payload.to_payload

    def stumble(document: Any, uri: str, **more: Any) -> Any:
        return 1 // 0 if uri == "docs/b.txt" else given(document, uri, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(payload, "to_payload", stumble)
        return reading.read(task, tell)


def test_what_the_system_refuses_to_a_reader_is_not_called_a_broken_file(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("ragdb.readers.read.read", refused)
    (failure, *_) = database.ingest(folder / "b.txt", corpus="docs").failures
    assert failure.reason == "it cannot be read (too many open files)"
    assert "save it again" not in (failure.hint or "")


def test_an_unforeseen_exception_is_the_failure_of_its_record_alone(
    database: ragdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "r.jsonl"
    records.write_text("".join(f'{{"id": "{n}", "text": "text {n}"}}\n' for n in range(3)))
    given = payload.to_payload

    def stumble(document: Any, *more: Any, **options: Any) -> Any:
        return 1 // 0 if document.text == "text 1" else given(document, *more, **options)

    monkeypatch.setattr(payload, "to_payload", stumble)
    report = database.ingest(records, corpus="docs")
    assert [(f.uri, f.reason) for f in report.failures] == [
        ("r.jsonl#1", "reading it failed (ZeroDivisionError)")
    ]
    assert report.written == 2


def test_an_unforeseen_exception_at_the_records_of_a_file_ends_that_file_alone(
    database: ragdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r.jsonl").write_text('{"id": "1", "text": "one"}\n')
    (tmp_path / "z.txt").write_text("the last")

    def stumble(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("ragdb.readers.read.read_jsonl", stumble)
    report = database.ingest(tmp_path, corpus="docs")
    assert [f.reason for f in report.failures] == ["reading it failed (ZeroDivisionError)"]
    assert report.written == 1


def test_an_interrupt_leaves_whole_documents_and_a_settled_report(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "FIRST_DOCUMENTS", 1)
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 1)
    put = database.put_documents
    calls = []

    def interrupted(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return put(*args)

    monkeypatch.setattr(database, "put_documents", interrupted)
    run = Run(database, "docs", look(folder, {}), {})
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert (run.report.written, run.report.documents) == (2, 2)
    assert [file.status for file in run.report.files] == ["ingested", "ingested", "unread"]
    assert database.check_corpus("docs") == []
    monkeypatch.undo()
    assert database.ingest(folder, corpus="docs").written == 1


def test_a_run_that_ends_in_its_first_batch_leaves_a_corpus_that_the_next_one_fills(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "AT_ONCE_BYTES", 0)  # as of a batch that takes long
    monkeypatch.setattr(database, "put_documents", interrupted)
    with pytest.raises(KeyboardInterrupt):
        database.ingest(folder, corpus="docs")
    monkeypatch.undo()
    assert [(row.name, row.documents) for row in database.list_corpora()] == [("docs", 0)]
    assert database.check_corpus("docs") == []
    assert database.search("docs", "letter") == []
    assert database.ingest(folder, corpus="docs").written == 3
    database.ingest(folder, corpus="twin")
    settings = "text_config", "chunks", "documents", "history", "record_query_text"
    one, other = database.corpus_info("docs"), database.corpus_info("twin")
    assert [getattr(one, name) for name in settings] == [getattr(other, name) for name in settings]


def test_a_file_of_no_records_is_empty(database: ragdb.Database, tmp_path: Path) -> None:
    for name, text in (("none.jsonl", ""), ("blank.jsonl", "\n\n"), ("void.jsonl", '{"text": ""}')):
        (tmp_path / name).write_text(text)
    report = database.ingest(tmp_path, corpus="docs")
    assert [file.status for file in report.files] == ["empty"] * 3


def test_a_batch_is_tried_again_after_a_deadlock(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = database.put_documents
    calls = []

    def unlucky(*args: Any) -> Any:
        calls.append(args)
        if len(calls) < 3:
            raise psycopg.errors.DeadlockDetected
        return put(*args)

    monkeypatch.setattr(database, "put_documents", unlucky)
    assert database.ingest(folder, corpus="docs").written == 3


def test_whoever_makes_a_corpus_does_not_wait_for_the_first_batch_of_another(
    clone: str, tmp_path: Path
) -> None:
    for n in range(40):
        (tmp_path / f"{n}.txt").write_text(f"Der Motor {n} und das Getriebe. " * 500)
    with (
        psycopg.connect(clone) as holder,
        ragdb.connect(clone) as first,
        psycopg.connect(clone, autocommit=True, options="-c lock_timeout=2s") as other,
        ThreadPoolExecutor(1) as pool,
    ):
        holder.execute("lock table ragdb.documents in share mode")  # its writer waits there
        try:
            run = pool.submit(first.ingest, tmp_path, corpus="docs", workers=1)
            until_it_waits(other, first.connection)
            other.execute("select ragdb.create_corpus('other')")
            info = other.execute("select documents, text_config from ragdb.corpus_info('docs')")
            assert info.fetchall() == [(0, "german")]
        finally:
            holder.rollback()
        report = run.result(120)
        assert (report.created, report.text_config, report.documents) == (True, "german", 40)


def test_a_run_inside_a_transaction_of_the_caller_is_part_of_it(clone: str, folder: Path) -> None:
    with psycopg.connect(clone) as connection:
        database = ragdb.Database(connection)
        database.list_corpora()
        assert database.ingest(folder, corpus="docs").written == 3
        connection.rollback()
        assert database.list_corpora() == []


def test_an_ingest_makes_the_partitions_of_traces_ahead(clone: str, folder: Path) -> None:
    ahead = "select count(*) from pg_inherits where inhparent = 'ragdb.retrieval_traces'::regclass"
    with ragdb.connect(clone) as database:
        database.ingest(folder, corpus="docs")
        connection = database.connection
        (before,) = connection.execute(ahead).fetchone() or (0,)
        connection.execute(
            "do $$ declare t text; begin for t in select inhrelid::regclass from pg_inherits"
            " where inhparent in ('ragdb.retrieval_traces'::regclass,"
            " 'ragdb.retrieval_hits'::regclass) loop execute 'drop table ' || t;"
            " end loop; end $$"
        )
        connection.commit()
        database.ingest(folder, corpus="docs")
        assert connection.execute(ahead).fetchone() == (before,)
        assert before >= 5


def test_a_watch_tells_new_changed_and_gone(database: ragdb.Database, folder: Path) -> None:
    database.ingest(folder, corpus="docs")
    watch = watching.Watch([str(folder)], {})
    (folder / "new.md").write_text("New.")
    (folder / "b.txt").write_text("Beta is longer than it was.")
    (folder / "a.md").unlink()
    found, gone = watch.changed(interval=0.01)
    assert [source.uri for source in found.sources] == ["docs/b.txt", "docs/new.md"]
    assert [source.uri for source in gone] == ["docs/a.md"]
    watch.remove(database, "docs", gone)
    Run(database, "docs", found, {}).run()
    assert {row[1] for row in chunks(database)} == {"docs/b.txt", "docs/deep/c.md", "docs/new.md"}


def test_a_watch_removes_records_and_chats_with_their_files(
    database: ragdb.Database, folder: Path
) -> None:
    said = [{"role": role, "content": role} for role in ("user", "assistant")]
    names = ("chats.json", "records.jsonl", "said.jsonl")
    (folder / "chats.json").write_text(json.dumps([{"id": n, "messages": said} for n in "ab"]))
    (folder / "records.jsonl").write_bytes(records(2))
    (folder / "said.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))
    assert database.ingest(folder, corpus="docs").documents == 8
    watch = watching.Watch([str(folder)], {})
    for name in names:
        (folder / name).unlink()
    _, gone = watch.changed(interval=0.01)
    assert watch.remove(database, "docs", gone) == 5
    assert {row[1] for row in chunks(database)} == {"docs/a.md", "docs/b.txt", "docs/deep/c.md"}


def test_a_watch_removes_records_and_chats_that_their_files_lost(
    run: Any, folder: Path, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"role": role, "content": role} for role in ("user", "assistant")]

    def write(kept: int) -> None:
        (folder / "records.jsonl").write_bytes(records(kept))
        chats = [{"id": f"{n}", "messages": said} for n in range(kept)]
        (folder / "chats.json").write_text(json.dumps(chats))

    left: list[list[str]] = []
    changes: list[Callable[[], object]] = [
        lambda: write(1),
        # what cannot be read has lost nothing
        lambda: (folder / "records.jsonl").write_text("no JSON\n"),
        (folder / "a.md").unlink,
    ]
    changed = watching.Watch.changed

    def change(watch: watching.Watch) -> tuple[Found, list[Source]]:
        with ragdb.connect(clone) as db:
            left.append([row.source for row in db.list_documents("docs")])
        if not changes:
            raise KeyboardInterrupt
        changes.pop(0)()
        return changed(watch, 0.01)

    monkeypatch.setattr(watching.Watch, "changed", change)
    write(2)
    told = run("ingest", folder, "-c", "docs", "--watch", "--prune")
    assert told.exit_code == 130, told.output
    files = ["docs/a.md", "docs/b.txt", "docs/deep/c.md"]
    first = [f"docs/{name}#{n}" for name, n in (("chats.json", 0), ("records.jsonl", "r0"))]
    second = [f"docs/{name}#{n}" for name, n in (("chats.json", 1), ("records.jsonl", "r1"))]
    assert [sorted(there) for there in left] == [
        sorted([*files, *first, *second]), sorted([*files, *first]),
        sorted([*files, *first]), sorted([*files[1:], *first]),
    ]  # fmt: skip


def test_a_watch_of_many_files_rests_four_times_as_long_as_it_looks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, rests = [0.0], []

    def looked(*given: Any) -> Found:
        now[0] += 3
        return look(*given)

    def slept(seconds: float) -> None:
        now[0] += seconds
        rests.append(seconds)
        if len(rests) == 2:
            (folder / "new.md").write_text("New.")

    monkeypatch.setattr("ragdb.ingest.watching.look", looked)
    monkeypatch.setattr(watching, "time", Mock(sleep=slept, perf_counter=lambda: now[0]))
    found, _ = watching.Watch([str(folder)], {}).changed()
    assert [source.uri for source in found.sources] == ["docs/new.md"]
    assert rests == [12, 12]


def test_a_watch_keeps_what_is_in_a_folder_that_went_away(
    database: ragdb.Database, folder: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.md"
    alone.write_text("Alone.")
    watch = watching.Watch([str(folder), str(alone)], {})
    folder.rename(tmp_path / "unmounted")
    alone.write_text("Alone, and changed.")
    found, gone = watch.changed(interval=0.01)
    assert ([source.uri for source in found.sources], gone) == (["alone.md"], [])
    (tmp_path / "unmounted").rename(folder)
    (folder / "b.txt").unlink()
    alone.unlink()  # a file that was named is in no folder
    found, gone = watch.changed(interval=0.01)
    assert (found.sources, [source.uri for source in gone]) == ([], ["docs/b.txt"])


def test_a_watch_keeps_what_is_in_a_folder_that_cannot_be_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watching.Watch([str(folder)], {})
    for name in ("a.md", "deep/c.md"):
        (folder / name).unlink()

    def hiding(*given: Any) -> Found:
        return replace(look(*given), hidden=["docs/deep/"])

    monkeypatch.setattr(watching, "look", hiding)
    _, gone = watch.changed(interval=0.01)
    assert [source.uri for source in gone] == ["docs/a.md"]


def test_a_watch_keeps_a_file_that_was_named_and_went_away(folder: Path) -> None:
    one, other = folder / "a.md", folder / "b.txt"
    watch = watching.Watch([str(one), str(other)], {})
    one.unlink()
    other.write_text("Beta is longer than it was.")
    found, gone = watch.changed(interval=0.01)
    assert ([source.uri for source in found.sources], gone) == (["b.txt"], [])


def test_a_watch_counts_what_it_removes_and_a_dry_one_takes_it_back(
    database: ragdb.Database, folder: Path
) -> None:
    (folder / "records.jsonl").write_text('{"id": "r1", "text": "Delta."}\n')
    names = {"docs/a.md", "docs/b.txt", "docs/records.jsonl"}
    gone = [source for source in look(folder, {}).sources if source.uri in names]
    assert watching.Watch([str(folder)], {}).remove(database, "docs", gone) == 0
    database.ingest(folder, corpus="docs")
    for dry_run, left in ((True, 4), (False, 1)):
        watch = watching.Watch([str(folder)], {"dry_run": dry_run})
        assert watch.remove(database, "docs", gone) == 3
        assert database.corpus_info("docs").documents == left


def test_a_watch_leaves_what_another_folder_took_over(
    database: ragdb.Database, folder: Path, tmp_path: Path
) -> None:
    (folder / "records.jsonl").write_text('{"id": "r1", "text": "Delta."}\n')
    named: dict[str, Any] = {"prefix": "docs"}
    database.ingest(folder, corpus="docs", **named)
    watch = watching.Watch([str(folder)], named)
    database.ingest(shutil.copytree(folder, tmp_path / "new"), corpus="docs", **named)
    before = {row[1] for row in chunks(database)}
    for name in ("a.md", "records.jsonl"):
        (folder / name).unlink()
    _, gone = watch.changed(interval=0.01)
    assert len(gone) == 2
    assert watch.remove(database, "docs", gone) == 0
    assert {row[1] for row in chunks(database)} == before


def test_records_with_ids_of_others_are_refused_all_at_once(
    database: ragdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    put = database.put_documents

    def counted(*given: Any) -> Any:
        calls.append(given)
        return put(*given)

    monkeypatch.setattr(database, "put_documents", counted)
    for name, size in (("de", 60), ("en", 90), ("ru", 60)):
        (tmp_path / name).mkdir()
        lines = [json.dumps({"_id": f"d{n}", "text": f"{name} {n}"}) for n in range(size)]
        (tmp_path / name / "corpus.jsonl").write_text("\n".join(lines))
    tried = database.ingest(tmp_path, corpus="docs", prefix="x", dry_run=True)
    assert (tried.documents, tried.failed) == (90, 120)
    calls.clear()
    report = database.ingest(tmp_path, corpus="docs", prefix="x")
    assert (report.documents, report.written, report.failed) == (90, 90, 120)
    assert len(calls) == 3
    assert len(report.failures) == 120
    assert [(r.uri, r.count, r.first) for r in report.reasons] == [
        (uri, 60, [f"{uri}#d{n}" for n in range(3)])
        for uri in ("x/en/corpus.jsonl", "x/ru/corpus.jsonl")
    ]
    assert {r.reason for r in report.reasons} == {
        "another document of the corpus has its id (RG409)"
    }
    assert "the _id of a record" in str(report.reasons[0].hint)


def test_a_report_is_shown_in_a_line_with_what_failed(
    database: ragdb.Database, folder: Path
) -> None:
    (folder / "bad.json").write_text("{")
    report = database.ingest(folder, corpus="docs")
    shown = repr(report)
    assert shown.startswith(
        "Report('docs', documents=3, written=3, unchanged=0, failed=1, skipped=0, chunks=3, "
        "reasons=['docs/bad.json: it is not JSON ("
    )
    assert len(shown) < 300


def test_a_language_is_a_code_whatever_the_type_of_file(
    database: ragdb.Database, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("Eins.\n")
    (tmp_path / "b.jsonl").write_text('{"_id": "b", "text": "Zwei."}\n')
    database.ingest(tmp_path, corpus="docs", language="German")
    assert {row.language for row in database.list_documents("docs")} == {"de"}
    with pytest.raises(IngestError, match="'klingon' is not a language"):
        database.ingest(tmp_path, corpus="docs", language="klingon")
