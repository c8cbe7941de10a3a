"""A file that is stored as it would be read is not read again, and anything else is."""

from __future__ import annotations

import ast
import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import ragdb
from ragdb.ingest import readings
from ragdb.ingest.ingest import Run
from ragdb.ingest.options import look
from ragdb.ingest.report import Report
from ragdb.portable import exporter, importer
from ragdb.readers import plugs, read
from tests.documents import document

DOCS = ["docs/a.md", "docs/b.txt", "docs/deep/c.md"]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that a reader gets, in order; of one read by lines its size."""
    names: list[str] = []
    given, given_lines = read.read, read.read_jsonl

    def reading(data: bytes, name: str, *more: Any, **options: Any) -> Any:
        names.append(name)
        return given(data, name, *more, **options)

    def reading_lines(stream: Any, **options: Any) -> Any:
        names.append(f"{os.fstat(stream.fileno()).st_size} bytes")
        return given_lines(stream, **options)

    monkeypatch.setattr(read, "read", reading)
    monkeypatch.setattr(read, "read_jsonl", reading_lines)
    return names


def again(database: ragdb.Database, reads: list[str], path: Path, **options: Any) -> Report:
    """What a further ingest comes to; `reads` are those of it alone."""
    reads.clear()
    return database.ingest(path, corpus="docs", **options)


def held(database: ragdb.Database) -> tuple[int, int, list[Any]]:
    """What may not change where nothing changes: events, version, and documents with their rows."""
    rows = database.connection.execute(
        "select d, s from ragdb.documents d join ragdb.document_sources s"
        " using (corpus_id, doc_no) order by s.uri"
    ).fetchall()
    return len(database.events_after()), database.corpus_info("docs").version, rows


def stored(database: ragdb.Database) -> list[Any]:
    """The sources of the corpus, each with the identity of its document."""
    return database.connection.execute(
        "select s.uri, d.doc_cid from ragdb.document_sources s"
        " join ragdb.documents d using (corpus_id, doc_no) order by s.uri"
    ).fetchall()


def test_files_that_are_as_they_were_are_not_read_again(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    first = database.ingest(folder, corpus="docs")
    assert sorted(reads) == DOCS
    before = held(database)
    report = again(database, reads, folder, prune=True)
    assert reads == []
    assert (report.unchanged, report.written, report.pruned) == (3, 0, 0)
    assert (report.chunks, report.tokens) == (first.chunks, first.tokens)
    assert [file.doc_cid for file in report.files] == [file.doc_cid for file in first.files]
    assert held(database) == before


def test_bytes_decide_and_not_times(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    database.ingest(folder, corpus="docs")
    at = (folder / "b.txt").stat()
    os.utime(folder / "a.md")
    (folder / "b.txt").write_text("Beta comes after omega.\n")
    os.utime(folder / "b.txt", ns=(at.st_atime_ns, at.st_mtime_ns))
    assert (folder / "b.txt").stat().st_size == at.st_size
    report = again(database, reads, folder)
    assert reads == ["docs/b.txt"]
    assert (report.written, report.replaced, report.unchanged) == (1, 1, 2)
    again(database, reads, folder)
    assert reads == []


@pytest.mark.by_day(3)
@pytest.mark.parametrize(
    "option",
    [
        {"title": "Other"},
        {"language": "de"},
        {"metadata": {"year": 2026}},
        {"max_tokens": 100},
        {"overlap": 0},
        {"unit": "word"},
        {"strategy": "window"},
        {"media_type": "text/plain"},
        {"source_name": "law"},
        {"max_bytes": 1000},
        {"force": True},
    ],
    ids=lambda option: next(iter(option)),
)
def test_another_option_reads_again(
    database: ragdb.Database, folder: Path, reads: list[str], option: dict[str, Any]
) -> None:
    database.ingest(folder, corpus="docs")
    again(database, reads, folder, **option)
    assert sorted(reads) == DOCS
    again(database, reads, folder, **{**option, "force": False})
    assert reads == []
    again(database, reads, folder)
    assert sorted(reads) == ([] if "force" in option else DOCS)


def test_options_that_shape_no_document_read_nothing_again(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    database.ingest(folder, corpus="docs")
    again(database, reads, folder, workers=2, glob="*", blobs=False, allow_private=True)
    assert reads == []


@pytest.mark.parametrize("what", ["version", "platform", "files"])
def test_other_readers_read_again_once(
    database: ragdb.Database,
    folder: Path,
    reads: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    what: str,
) -> None:
    """Another version of a library or of Python, and other modules of ours."""
    database.ingest(folder, corpus="docs")
    before = held(database)
    (tmp_path / "other.py").write_text("pass")
    other: dict[str, Any] = {
        "version": lambda library: "99" if library == "pypdfium2" else "1",
        "platform": Mock(python_version=lambda: "9.9.9"),
        "files": lambda package: tmp_path,
    }
    monkeypatch.setattr(readings, what, other[what])
    readings.readers.cache_clear()
    try:
        report = again(database, reads, folder)
        assert sorted(reads) == DOCS
        assert (report.unchanged, report.written) == (3, 0)
        again(database, reads, folder)
        assert reads == []
        # what is known of files is no part of what is kept of documents
        assert held(database) == before
    finally:
        readings.readers.cache_clear()


def test_every_library_that_readers_import_counts() -> None:
    imported = {"lxml", "cobble", "mdurl"}  # by python-pptx, mammoth and markdown-it-py
    for module in Path(read.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    of = packages_distributions()
    others = imported - set(sys.stdlib_module_names) - {"ragdb"}
    assert {of[name][0] for name in others} == set(readings.LIBRARIES)


def put(database: ragdb.Database, uri: str, data: bytes, **fields: Any) -> None:
    given = document(uri, ["Another text."], data=data, **fields)
    database.connection.execute("select ragdb.put_documents('docs', %s)", (json.dumps([given]),))


def put_anew(database: ragdb.Database, path: Path) -> None:
    database.delete_source("docs", "docs/a.md")
    put(database, "docs/a.md", path.read_bytes())


OTHER_DOORS: dict[str, Callable[[ragdb.Database, Path], Any]] = {
    "put_text": lambda db, at: db.put_text("docs", "docs/a.md", "Another text."),
    # the same bytes, with another title and text
    "put_documents": lambda db, at: put(db, "docs/a.md", at.read_bytes(), title="Other"),
    "delete_source": lambda db, at: db.delete_source("docs", "docs/a.md"),
    "delete_source, put_documents": put_anew,
    "erase_source": lambda db, at: db.erase_source("docs", "docs/a.md", reason="asked"),
    "a source of a contract": lambda db, at: put(
        db, "docs/a.md", at.read_bytes(), source_name="law"
    ),
}


@pytest.mark.parametrize("door", OTHER_DOORS)
def test_what_came_by_another_door_is_read_again(
    database: ragdb.Database, folder: Path, reads: list[str], door: str
) -> None:
    database.ingest(folder, corpus="docs")
    texts = [chunk.text for chunk in database.document_chunks("docs", "docs/a.md")]
    OTHER_DOORS[door](database, folder / "a.md")
    report = again(database, reads, folder)
    assert reads == ["docs/a.md"]
    assert (report.written, report.unchanged) == (1, 2)
    assert [chunk.text for chunk in database.document_chunks("docs", "docs/a.md")] == texts


def test_a_corpus_that_was_dropped_is_read_again(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    database.ingest(folder, corpus="docs")
    database.drop_corpus("docs")
    assert database.connection.execute("select from ragdb.document_readings").fetchall() == []
    database.create_corpus("docs")
    assert again(database, reads, folder).written == 3
    assert sorted(reads) == DOCS


def test_an_export_has_no_readings_and_what_it_makes_is_read_again(
    clone: str, folder: Path, reads: list[str], tmp_path: Path
) -> None:
    with ragdb.connect(clone) as database:
        database.ingest(folder, corpus="docs")
        exporter.write(database, "docs", tmp_path / "known.gz")
        database.connection.execute("delete from ragdb.document_readings")
        exporter.write(database, "docs", tmp_path / "unknown.gz")
        assert (tmp_path / "known.gz").read_bytes() == (tmp_path / "unknown.gz").read_bytes()
        database.drop_corpus("docs")
        importer.read(database, tmp_path / "known.gz")
        report = again(database, reads, folder)
        assert sorted(reads) == DOCS
        assert (report.unchanged, report.written) == (3, 0)
        again(database, reads, folder)
        assert reads == []


def test_a_source_that_is_taken_over_is_read_again(
    database: ragdb.Database, folder: Path, reads: list[str], tmp_path: Path
) -> None:
    database.ingest(folder, corpus="docs")
    moved = tmp_path / "moved"
    moved.mkdir()
    folder.rename(moved / "docs")
    again(database, reads, moved / "docs", prefix=".")
    assert sorted(reads) == DOCS
    roots = {row.root for row in database.known_sources("docs", DOCS)}
    assert roots == {str(moved / "docs")}


def test_a_text_that_was_put_gets_its_folder_with_one_event_and_the_same_chunks(
    database: ragdb.Database, folder: Path
) -> None:
    for name in DOCS:
        database.put_text("docs", name, (folder.parent / name).read_text())
    assert database.ingest(folder, corpus="docs").unchanged == 3
    told = database.connection.execute(
        "select source, count(*), count(distinct chunks_hash), count(distinct document_hash)"
        " from ragdb.events where corpus = 'docs' group by source order by source"
    ).fetchall()
    assert told == [(name, 2, 1, 2) for name in DOCS]
    assert {row.root for row in database.known_sources("docs", DOCS)} == {str(folder)}
    given = held(database)
    assert database.ingest(folder, corpus="docs").unchanged == 3
    assert held(database) == given


def test_a_second_source_of_a_document_that_is_taken_over_is_read_again(
    database: ragdb.Database, reads: list[str], tmp_path: Path
) -> None:
    one, two = tmp_path / "one" / "docs", tmp_path / "two" / "docs"
    for path in (one / "a.md", two / "b.md"):
        path.parent.mkdir(parents=True)
        path.write_text("---\nid: same\n---\nThe same text.\n")
        again(database, reads, path.parent)
    again(database, reads, one)
    (two / "b.md").rename(one / "b.md")
    again(database, reads, one, prefix=".")
    assert {row.root for row in database.known_sources("docs", ["docs/b.md"])} == {str(one)}


def test_a_file_of_another_type_by_who_gives_it_is_read_again(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    """As a resource of an MCP server is."""
    database.ingest(folder, corpus="docs")
    found = look(folder, {})
    found.sources = [replace(source, media_type="text/html") for source in found.sources]
    reads.clear()
    Run(database, "docs", found, {}).run()
    assert sorted(reads) == DOCS


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder with files that hold several documents, or one that is a conversation."""
    folder = tmp_path / "docs"
    folder.mkdir()
    lines = [
        {"_id": "1", "text": "One\0."},
        {"_id": "2", "text": ""},
        {"_id": "3", "text": "Three."},
    ]
    (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    mail = b"From a@b Mon Jan  1 00:00:00 2024\nSubject: %s\n\nA mail about %s.\n\n"
    (folder / "mail.mbox").write_bytes(mail % (b"One", b"one") + mail % (b"Two", b"two"))
    said = [
        {"role": role, "content": role, "speaker": name}
        for role, name in (("user", "Ann"), ("assistant", "Bob"))
    ]
    (folder / "chat.json").write_text(json.dumps({"messages": said}))
    (folder / "chats.json").write_text(json.dumps([{"id": n, "messages": said} for n in "ab"]))
    (folder / "said.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
    return folder


MANY = ["docs/chat.json", "docs/chats.json", "docs/mail.mbox", "docs/said.jsonl", "91 bytes"]


def test_records_and_chats_that_are_as_they_were_are_not_read_again(
    database: ragdb.Database, many: Path, reads: list[str]
) -> None:
    first = database.ingest(many, corpus="docs")
    assert sorted(reads) == sorted(MANY)
    before = held(database)
    report = again(database, reads, many, prune=True)
    assert reads == []
    assert (report.documents, report.unchanged, report.pruned, report.empty) == (8, 8, 0, 1)
    told = [replace(file, status="", written=0) for file in report.files]
    assert told == [replace(file, status="", written=0) for file in first.files]
    assert held(database) == before
    alone = again(database, reads, many / "records.jsonl", prefix="docs", prune=True)
    assert (alone.unchanged, alone.pruned) == (2, 0)


OF_MANY: dict[str, Callable[[ragdb.Database, Path], Any]] = {
    "delete_source": lambda db, at: db.delete_source("docs", "docs/records.jsonl#3"),
    "delete_document": lambda db, at: db.delete_document("docs", "docs/records.jsonl#1"),
    "erase_source": lambda db, at: db.erase_source("docs", "docs/records.jsonl#1", reason="asked"),
    "put_text": lambda db, at: db.put_text("docs", "docs/records.jsonl#1", "Other."),
    "delete_source of a chat": lambda db, at: db.delete_source("docs", "docs/chats.json#a"),
    "erase_speaker": lambda db, at: db.erase_speaker("docs", "Ann", "docs/said.jsonl"),
    "delete_source of a file": lambda db, at: db.delete_source("docs", "docs/chat.json"),
    "delete_source of a mail": lambda db, at: db.prune_sources("docs", "docs/mail.mbox#", []),
}


@pytest.mark.by_day(3)
@pytest.mark.parametrize("door", OF_MANY)
def test_records_and_chats_that_changed_by_another_door_are_read_again(
    database: ragdb.Database, many: Path, reads: list[str], door: str
) -> None:
    database.ingest(many, corpus="docs")
    before = stored(database)
    OF_MANY[door](database, many)
    assert stored(database) != before
    report = again(database, reads, many)
    assert len(reads) == 1
    assert report.failed == 0
    assert stored(database) == before
    again(database, reads, many)
    assert reads == []


def test_a_file_of_which_a_record_was_taken_out_is_read_until_that_is_pruned(
    database: ragdb.Database, many: Path, reads: list[str]
) -> None:
    database.ingest(many, corpus="docs")
    (many / "records.jsonl").write_text('{"_id": "1", "text": "One."}\n')
    for _ in range(2):
        assert again(database, reads, many, tells_gone=True).gone == 1
        assert reads == ["29 bytes"]
    assert again(database, reads, many, prune=True).pruned == 1
    again(database, reads, many)
    assert reads == ["29 bytes"]
    assert again(database, reads, many, tells_gone=True).gone == 0
    assert reads == []


def test_a_file_of_records_that_was_renamed_leaves_none_under_its_old_name(
    database: ragdb.Database, many: Path, reads: list[str]
) -> None:
    database.ingest(many, corpus="docs")
    (many / "records.jsonl").rename(many / "renamed.jsonl")
    report = again(database, reads, many, prune=True)
    assert (report.pruned, report.documents, reads) == (0, 8, ["91 bytes"])
    assert [uri for uri, _ in stored(database) if "records" in uri] == []


def test_a_file_of_records_is_known_in_each_corpus_for_itself(
    database: ragdb.Database, many: Path, reads: list[str]
) -> None:
    database.ingest(many, corpus="docs")
    database.create_corpus("other")
    reads.clear()
    assert database.ingest(many, corpus="other").written == 8
    assert sorted(reads) == sorted(MANY)


def test_a_file_of_records_that_is_longer_than_a_batch_is_known(
    database: ragdb.Database, tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragdb.ingest.reading.SLAB_BYTES", 100)
    monkeypatch.setattr("ragdb.ingest.ingest.FIRST_DOCUMENTS", 3)
    monkeypatch.setattr("ragdb.ingest.ingest.BATCH_DOCUMENTS", 4)
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(f'{{"_id": "{n}", "text": "Record {n}."}}\n' for n in range(20)))
    database.ingest(path, corpus="docs")
    assert again(database, reads, path).unchanged == 20
    assert reads == []


def test_a_record_that_was_put_by_another_while_its_file_was_read_is_read_again(
    database: ragdb.Database, many: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = database.note_readings

    def later(*given: Any) -> int:
        database.put_text("docs", "docs/records.jsonl#1", "Other.")
        return note(*given)

    monkeypatch.setattr(database, "note_readings", later)
    database.ingest(many / "records.jsonl", corpus="docs", prefix="docs")
    monkeypatch.undo()
    assert database.ingest(many / "records.jsonl", corpus="docs", prefix="docs").replaced == 1


def test_a_file_of_which_something_failed_is_read_each_time(
    database: ragdb.Database, many: Path, reads: list[str]
) -> None:
    with (many / "records.jsonl").open("a") as file:
        file.write("no JSON\n")
    (many / "broken.json").write_text("{")
    (many / "empty.txt").write_text("")
    (many / "program.bin").write_bytes(b"\0\1")
    now = "2024-01-01T00:00:00Z"
    # the reader tells of the first, the database of the second
    senders = (("a", "nobody", now), ("b", "human", "soon"), ("c", "human", now))
    chats = [
        {"uuid": name, "chat_messages": [{"sender": sender, "text": name, "created_at": at}]}
        for name, sender, at in senders
    ]
    (many / "chats.json").write_text(json.dumps(chats))
    database.ingest(many, corpus="docs")
    first = again(database, reads, many)
    second = again(database, reads, many)
    failed = [f"docs/{n}" for n in ("broken.json", "chats.json", "empty.txt", "program.bin")]
    assert sorted(reads) == sorted([*failed, "99 bytes"])
    assert second.files == first.files
    assert (second.unchanged, second.failed) == (7, 4)
    assert second.failures == first.failures


def test_what_was_found_in_a_file_is_told_again(
    database: ragdb.Database, tmp_path: Path, reads: list[str]
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"A bad \0 character.\f" + b"x" * 70_000 + b"\n\f\fThe end.")
    (folder / "b.txt").write_text("Page one.\fPage two.")
    first = database.ingest(folder, corpus="docs", unit="char", max_tokens=80_000, overlap=0)
    one, two = first.files
    assert (one.bad_characters, one.cut, two.pages) == (1, 1, 2)
    second = again(database, reads, folder, unit="char", max_tokens=80_000, overlap=0)
    assert reads == []
    told = [replace(file, status="", written=0) for file in second.files]
    assert told == [replace(file, status="", written=0) for file in first.files]


def test_a_file_that_a_command_converts_is_read_again_where_command_or_program_is_another(
    database: ragdb.Database,
    folder: Path,
    reads: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script, program = tmp_path / "convert.sh", tmp_path / "bin" / "shown"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    for path in (script, program):
        path.write_text('#!/bin/sh\ncat "$1"\n')
        path.chmod(0o755)
    by_script, by_program = ({".md": f"{how} {{in}}"} for how in (f"sh {script}", "shown"))
    database.ingest(folder, corpus="docs")
    assert len(database.list_documents("docs")) == 3
    for convert, path in ((by_script, script), (by_program, program)):
        for times in (2, 0):
            report = again(database, reads, folder, convert=convert)
            assert (report.failed, report.documents, len(reads)) == (0, 3, times)
        path.write_text('#!/bin/sh\ncat "$1" # another\n')
        for times in (2, 0):
            again(database, reads, folder, convert=convert)
            assert len(reads) == times
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))  # as it is installed anew
        assert (again(database, reads, folder, convert=convert).failed, len(reads)) == (0, 2)
    # one that cannot be found any more reads nothing
    program.unlink()
    assert again(database, reads, folder, convert=by_program).failed == 2
    # and the text that the command made is not taken for that of the file
    assert again(database, reads, folder).written == 2


def test_a_file_that_a_reader_of_another_package_reads_is_read_each_time(
    database: ragdb.Database,
    folder: Path,
    reads: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "b.txt").rename(folder / "b.drawing")
    database.ingest(folder / "b.drawing", corpus="docs", media_type="text/plain")
    again(database, reads, folder / "b.drawing", media_type="text/plain")
    assert reads == []
    monkeypatch.setattr(plugs, "endings", lambda: {".drawing": Mock()})
    again(database, reads, folder / "b.drawing", media_type="text/plain")
    assert reads == ["b.drawing"]


def test_a_file_that_cannot_be_opened_any_more_fails_and_stays(
    database: ragdb.Database, folder: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database.ingest(folder, corpus="docs")
    monkeypatch.setattr("ragdb.ingest.source.open_below", Mock(side_effect=OSError(13, "Denied")))
    report = again(database, reads, folder, prune=True)
    assert (report.failed, report.pruned, report.documents) == (3, 0, 0)


def test_a_file_over_the_limit_of_today_fails(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    database.ingest(folder, corpus="docs")
    report = again(database, reads, folder, max_bytes=30)
    assert (report.failed, report.unchanged) == (2, 1)


def test_a_file_over_the_limit_is_not_hashed(
    database: ragdb.Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.ingest(folder, corpus="docs")
    monkeypatch.setattr("hashlib.file_digest", Mock(side_effect=AssertionError))
    assert database.ingest(folder, corpus="docs", max_bytes=1).failed == 3


def test_standard_input_is_read_each_time(
    database: ragdb.Database, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for written in (1, 0):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"A text.")))
        report = again(database, reads, Path("-"))
        assert (reads, report.written, report.unchanged) == (["stdin"], written, 1 - written)


def test_a_dry_run_notes_nothing_and_knows_what_is_noted(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    database.create_corpus("docs")
    again(database, reads, folder, dry_run=True)
    assert database.connection.execute("select from ragdb.document_readings").fetchall() == []
    database.ingest(folder, corpus="docs")
    report = again(database, reads, folder, dry_run=True)
    assert (reads, report.unchanged) == ([], 3)


def test_originals_put_since_are_the_corpus_s_from_the_next_ingest_on(
    database: ragdb.Database, folder: Path, reads: list[str]
) -> None:
    database.ingest(folder, corpus="docs", blobs=False)
    cid = database.put_blob((folder / "b.txt").read_bytes(), "text/plain")
    brought = []
    for dry_run in (True, False):
        again(database, reads, folder, dry_run=dry_run)
        assert reads == []
        rows = database.connection.execute("select cid from ragdb.corpus_blobs").fetchall()
        brought.append(rows)
    assert brought == [[], [(cid,)]]


def test_the_bar_counts_files_that_are_not_read(database: ragdb.Database, folder: Path) -> None:
    database.ingest(folder, corpus="docs")
    told: list[Any] = []
    database.ingest(folder, corpus="docs", progress=told.append)
    assert (told[-1].files, told[-1].bytes) == (3, told[-1].bytes_total)
