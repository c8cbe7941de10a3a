"""A source belongs to where it came from, and a folder is read for what it has to say."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import ragdb
from ragdb.errors import AlreadyExists
from ragdb.ingest import origins, sources
from ragdb.ingest.options import IngestError
from ragdb.ingest.report import Report
from ragdb.ingest.source import Source

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def projects(tmp_path: Path) -> tuple[Path, Path]:
    """Two projects, each with its own docs/index.md."""
    made = []
    for name in ("A", "B"):
        folder = tmp_path / name / "docs"
        folder.mkdir(parents=True)
        (folder / "index.md").write_text(f"# Project {name}\n\nThe manual of {name}.\n")
        (folder / f"only-{name}.md").write_text(f"Only {name} has this.\n")
        made.append(folder)
    return made[0], made[1]


def found(database: ragdb.Database) -> dict[str, str]:
    """The text at each source."""
    return {
        row.source: str(database.document_text("docs", row.doc_cid))
        for row in database.list_documents("docs")
    }


def statuses(report: Report) -> dict[str, str]:
    return {file.uri: file.status for file in report.files}


def test_another_folder_of_the_same_name_is_refused_and_nothing_is_written(
    database: ragdb.Database, projects: tuple[Path, Path]
) -> None:
    database.ingest(projects[0], corpus="docs")
    before = found(database)
    with pytest.raises(IngestError, match="docs/index\\.md in corpus docs came from") as raised:
        database.ingest(projects[1], corpus="docs", prune=True)
    assert str(projects[0]) in str(raised.value)
    assert "--prefix NAME" in str(raised.value.hint)
    assert found(database) == before


@pytest.mark.parametrize("what", ["docs", "docs/index.md"])
def test_what_lies_in_a_new_place_takes_over_under_the_names_that_it_had(
    database: ragdb.Database, projects: tuple[Path, Path], what: str
) -> None:
    first, second = (project.parent / what for project in projects)
    database.ingest(first, corpus="docs")
    with pytest.raises(IngestError) as raised:
        database.ingest(second, corpus="docs")
    assert str(raised.value.hint).endswith("it takes over: --prefix .")
    report = database.ingest(second, corpus="docs", prefix=".")
    index = "index.md" if what.endswith(".md") else "docs/index.md"
    assert statuses(report)[index] == "replaced"
    assert found(database)[index].startswith("# Project B")
    # and from then on it belongs there
    assert set(statuses(database.ingest(second, corpus="docs")).values()) == {"unchanged"}
    with pytest.raises(IngestError):
        database.ingest(first, corpus="docs")


def test_a_prefix_keeps_two_folders_apart_and_prune_touches_its_own(
    database: ragdb.Database, projects: tuple[Path, Path]
) -> None:
    database.ingest(projects[0], corpus="docs")
    database.ingest(projects[1], corpus="docs", prefix="b/docs")
    assert found(database).keys() == {
        "docs/index.md", "docs/only-A.md", "b/docs/index.md", "b/docs/only-B.md",
    }  # fmt: skip
    (projects[1] / "only-B.md").unlink()
    report = database.ingest(projects[1], corpus="docs", prefix="b/docs", prune=True)
    assert report.pruned == 1
    assert found(database).keys() == {"docs/index.md", "docs/only-A.md", "b/docs/index.md"}


def test_prune_leaves_what_another_folder_brought_under_the_same_name(
    database: ragdb.Database, projects: tuple[Path, Path]
) -> None:
    database.ingest(projects[0], corpus="docs")
    report = database.ingest(projects[1], corpus="docs", prefix="docs", prune=True)
    assert statuses(report) == {"docs/index.md": "replaced", "docs/only-B.md": "ingested"}
    assert (report.replaced, report.pruned) == (1, 0)
    assert found(database).keys() == {"docs/index.md", "docs/only-A.md", "docs/only-B.md"}
    assert "manual of B" in found(database)["docs/index.md"]
    # what was taken over belongs to the other folder now
    with pytest.raises(IngestError):
        database.ingest(projects[0], corpus="docs")


def test_a_source_keeps_where_it_came_from(
    database: ragdb.Database, projects: tuple[Path, Path]
) -> None:
    database.ingest([projects[0], projects[1] / "only-B.md"], corpus="docs")
    rows = database.known_sources("docs", ["docs/index.md", "only-B.md", "none.md"])
    assert {row.uri: row.root for row in rows} == {
        "docs/index.md": str(projects[0]),
        "only-B.md": str(projects[1]),
    }


def test_the_records_of_another_file_of_the_same_name_are_refused(
    database: ragdb.Database, tmp_path: Path
) -> None:
    for name in ("A", "B"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "faq.jsonl").write_text(f'{{"_id": "1", "text": "Text of {name}."}}')
    database.ingest(tmp_path / "A" / "faq.jsonl", corpus="docs")
    with pytest.raises(IngestError, match="faq\\.jsonl#1"):
        database.ingest(tmp_path / "B" / "faq.jsonl", corpus="docs")
    assert found(database) == {"faq.jsonl#1": "Text of A."}


def test_the_database_refuses_a_source_from_another_root_too(database: ragdb.Database) -> None:
    def put(root: str | None, text: str, **more: Any) -> None:
        document = {
            "doc_cid": "sha256:" + text * 64, "uri": "a.md", "media_type": "text/plain",
            "size_bytes": 1, "chunking": {"chunker": "own"}, "root": root,
            "chunks": [{"text": text, "start": 0, "end": 1, "tokens": 1}],
        }  # fmt: skip
        database.put_documents("docs", [{**document, **more}])

    database.create_corpus("docs")
    put(None, "1")
    put("/a", "2")  # nobody said where the first came from
    put(None, "3")  # and nobody says now
    with (
        pytest.raises(AlreadyExists, match='came from "/a", not from "/b"'),
        database.connection.transaction(),
    ):
        put("/b", "4")
    put("/b", "4", adopt=True)
    (row,) = database.known_sources("docs", ["a.md"])
    assert (row.root, row.doc_cid[-1]) == ("/b", "4")


@pytest.mark.parametrize(
    "prefix", ["", "/abs", "a//b", "a/../b", "a/.", "..", "a\nb", "http://x", "x" * 201]
)
def test_a_prefix_is_a_path_of_names(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix"):
        sources.find([tmp_path], prefix=prefix)


def test_what_is_not_read_is_skipped_in_a_folder_and_counted_by_type(
    database: ragdb.Database, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.md").write_text("# Site\n\nWelcome.\n")
    (folder / "conf.py").write_text("project = 'site'\n")
    for name in ("favicon.ico", "a.png", "b.png", "program", "video.ts"):
        (folder / name).write_bytes(PNG)
    (folder / "__init__.py").write_bytes(b"")
    (folder / "redirect.html").write_text("<script>go()</script>")
    report = database.ingest(folder, corpus="docs")
    assert (report.written, report.failed, report.skipped) == (2, 0, 7)
    assert report.skipped_types == {".png": 2, ".ico": 1, "without an ending": 1, ".ts": 1}
    assert found(database).keys() == {"site/index.md", "site/conf.py"}


@pytest.mark.parametrize("name", ["favicon.ico", "empty.md", "program"])
def test_what_was_named_fails_where_it_is_not_read(
    database: ragdb.Database, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"" if name.endswith(".md") else PNG)
    report = database.ingest(tmp_path / name, corpus="docs")
    assert (report.failed, report.skipped) == (1, 0)
    assert report.failures[0].hint


@pytest.mark.parametrize(
    ("runs", "twice"),
    [
        ([["."], ["sub"]], ["sub/b.md"]),
        ([["sub"], ["."]], ["top/sub/b.md"]),
        ([[".", "sub"]], ["sub/b.md", "top/sub/b.md"]),
        ([["."], ["sub/b.md"]], ["b.md"]),
        ([["sub/b.md"], ["."]], ["top/sub/b.md"]),
        ([["sub/b.md"], ["sub"]], ["sub/b.md"]),
        ([["."], ["."]], []),
        ([["sub"], ["a.md"], ["other"]], []),
    ],
)
def test_a_file_that_a_corpus_has_under_two_names_is_told(
    database: ragdb.Database, tmp_path: Path, runs: list[list[str]], twice: list[str]
) -> None:
    top = tmp_path / "top"
    for name in ("sub", "other/sub"):
        (top / name).mkdir(parents=True)
    (top / "a.md").write_text("Alpha.")
    (top / "same.md").symlink_to("a.md")
    (top / "sub/b.md").write_text("Beta.")
    (top / "other/sub/b.md").write_text("Gamma.")
    for paths in runs:
        report = database.ingest([top / path for path in paths], corpus="docs")
    assert [one.uri for one in report.twice] == twice
    names = {one.other for one in report.twice} | {one.uri for one in report.twice}
    assert names <= {row.source for row in database.list_documents("docs")}
    assert {one.root for one in report.twice} <= {str(top), str(top / "sub")}


@pytest.mark.nightly
def test_to_look_for_files_that_are_there_twice_takes_no_more_memory_for_more_files(
    database: ragdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origins, "_AT_ONCE", 100)
    database.create_corpus("docs")
    files = [
        Source(f"docs/{n}.md", tmp_path, f"{n}.md", 1, "docs/", str(tmp_path), is_named=False)
        for n in range(4000)
    ]
    peaks = []
    for count in (100, 400, 4000):
        tracemalloc.start()
        assert origins.twice(database, "docs", files[:count]) == []
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 2 * peaks[1]


def test_a_folder_that_is_read_under_a_name_of_its_own_is_wanted_twice(
    database: ragdb.Database, projects: tuple[Path, Path]
) -> None:
    database.ingest(projects[0].parent, corpus="docs")
    assert database.ingest(projects[0], corpus="docs", prefix="again").twice == []
