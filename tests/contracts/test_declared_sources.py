"""The sources that a contract declares: what is read from where, into which corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragdb.contracts.declarations import DeclaredSource, declared_sources


def node(kind: str, children: list[dict[str, Any]] | None = None, **keys: Any) -> dict[str, Any]:
    return {"node": kind, "keys": keys, "children": children or []}


def test_a_source_belongs_to_the_corpus_that_it_names() -> None:
    below = [
        node("source", name="own", uri="a.md"),
        node("source", name="moved", corpus="Other", uri="b.md"),
        node("chunking", corpus="Other", maxTokens=99),
        {"node": "chunking"},
    ]
    found = {"nodes": [node("corpus", below, name="Docs"), node("corpus", name="Other")]}
    assert [(s.name, s.corpus, s.options.get("max_tokens")) for s in declared_sources(found)] == [
        ("own", "docs", None),
        ("moved", "other", 99),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("docs/a.md", "docs/sub/b.md", "-"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    return tmp_path


def names(folder: Path, uri: str) -> list[str]:
    (source,) = declared_sources({"nodes": [node("source", name="s", corpus="c", uri=uri)]})
    return [one.uri for one in source.find(folder).sources]


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("docs", ["docs/a.md", "docs/sub/b.md"]),
        ("docs/", ["docs/a.md", "docs/sub/b.md"]),
        ("././docs//sub/.", ["docs/sub/b.md"]),
        ("docs//*.md", ["docs/a.md"]),
        ("docs/./a.md", ["docs/a.md"]),
        (".", ["-", "docs/a.md", "docs/sub/b.md"]),
        ("./", ["-", "docs/a.md", "docs/sub/b.md"]),
        ("docs/**", ["docs/a.md", "docs/sub/b.md"]),
        ("docs/**/", ["docs/a.md", "docs/sub/b.md"]),
        ("**", ["-", "docs/a.md", "docs/sub/b.md"]),
        ("docs/*", ["docs/a.md"]),
    ],
)
def test_documents_are_named_by_their_path_however_it_is_written(
    folder: Path, uri: str, found: list[str]
) -> None:
    assert names(folder, uri) == found


def test_a_file_called_by_a_hyphen_is_not_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    found = DeclaredSource("s", "c", "local", "-", {}).find(Path())
    assert [one.path for one in found.sources] == [folder / "-"]


@pytest.mark.parametrize("uri", ["out", "out/*.md", "docs/out.md"])
def test_a_link_out_of_the_folder_of_a_contract_is_not_followed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, uri: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.md").write_text("a secret")
    (folder / "out").symlink_to(elsewhere)
    (folder / "docs/out.md").symlink_to(elsewhere / "secret.md")
    found = DeclaredSource("s", "c", "local", uri, {}).find(folder)
    assert (found.sources, [error.code for _, error in found.failed]) == ([], ["outside"])
    (folder / "in").symlink_to(folder / "docs")
    assert len(DeclaredSource("s", "c", "local", "in/*.md", {}).find(folder).sources) == 1


@pytest.mark.parametrize(
    "uri",
    [
        *(".", "docs", "docs/", "./docs", "doc", "docs/a.md", "docs/*", "docs/*.md", "docs/**"),
        *("*", "**", "*.md", "**/*.md", "docs/**/b.*", "d*/a.md", "docs/s?b/*", "docs/[ab]*"),
    ],
)
def test_a_source_names_what_it_reads_and_nothing_else(folder: Path, uri: str) -> None:
    for name in ("docs/a#b.md", "docs/c#d#e.jsonl", "docs2/a.md", "top.md", "docs.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"text of {name}")
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    found = declared_sources({"nodes": [node("source", name="s", corpus="c", uri=uri)]})[0]
    read = {one.uri for one in found.find(folder).sources}
    assert {name for name in files if found.names(name)} == read
    # a file may hold many documents
    assert {name for name in files if found.names(f"{name}#7")} == read
    assert not DeclaredSource("s", "c", "http", "docs", {}).names("docs")
