"""Which files a command finds, and which it never opens."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from ragdb.ingest import links
from ragdb.ingest.globs import check_glob, matches
from ragdb.ingest.reading import read, tasks
from ragdb.ingest.source import Source
from ragdb.ingest.sources import find
from ragdb.readers.document import ReadError


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name in ("b.md", "a.md", "sub/c.md", "sub/deep/d.txt", "Z.md", "é.md"):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, encoding="utf-8")
    return root


def uris(*arguments: str | Path, **options: object) -> list[str]:
    found = find(arguments, **options)  # type: ignore[arg-type]
    assert found.failed == []
    return [source.uri for source in found.sources]


def test_a_folder_gives_its_files_in_byte_order_named_from_its_parent(docs: Path) -> None:
    assert uris(docs) == [
        "docs/Z.md",
        "docs/a.md",
        "docs/b.md",
        "docs/sub/c.md",
        "docs/sub/deep/d.txt",
        "docs/é.md",
    ]


def test_names_do_not_depend_on_how_the_folder_is_written(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absolute = uris(docs)

    monkeypatch.chdir(docs)
    assert uris(".") == absolute
    monkeypatch.chdir(docs / "sub")
    assert uris("../../docs/") == absolute


def test_a_single_file_is_named_by_its_name(docs: Path) -> None:
    assert uris(docs / "sub" / "c.md") == ["c.md"]


def test_without_recursion_folders_in_the_folder_are_left_out(docs: Path) -> None:
    assert uris(docs, recursive=False) == ["docs/Z.md", "docs/a.md", "docs/b.md", "docs/é.md"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.txt", ["docs/sub/deep/d.txt"]),
        ("[ab].md", ["docs/a.md", "docs/b.md"]),
        ("sub/*.md", ["docs/sub/c.md"]),
        ("sub/**", ["docs/sub/c.md", "docs/sub/deep/d.txt"]),
        ("**/?.txt", ["docs/sub/deep/d.txt"]),
        ("sub/*", ["docs/sub/c.md"]),
        ("A.md", []),
    ],
)
def test_a_glob_is_held_against_names_or_paths(docs: Path, glob: str, expected: list[str]) -> None:
    assert uris(docs, glob=glob) == expected


@pytest.mark.parametrize(
    "glob", ["../*.md", "/etc/*", "a/../../*", "~/x", "", "*" * 17, "x" * 1025]
)
def test_a_glob_that_leaves_or_is_too_long_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match="glob"):
        check_glob(glob)


def test_a_glob_of_many_stars_is_matched_in_time() -> None:
    assert not matches("/".join("a" * 50 for _ in range(40)), "**/a*a*a*a*a*a*/**/b*b")
    assert not matches("a" * 200, "*a*a*a*a*a*a*a*a*b")


def test_hidden_files_and_the_folders_of_tools_are_passed_over(docs: Path) -> None:
    for name in (".git/config.md", ".hidden.md", "node_modules/x.md", "sub/.venv/y.md"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text("x")

    found = find([docs])

    assert len(found.sources) == 6
    assert found.skipped == []


@pytest.mark.parametrize("name", ["server.pem", "id_rsa", "id_ed25519.pub", "prod.env", "a.KEY"])
def test_a_secret_is_reported_and_never_read(docs: Path, name: str) -> None:
    (docs / name).write_text("secret")

    in_folder = find([docs])
    named = find([docs / name])

    assert [(s.uri, "secret" in s.reason) for s in in_folder.skipped] == [(f"docs/{name}", True)]
    assert [(error.code) for _, error in named.failed] == ["secret"]


def test_links_stay_in_the_folder(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("outside")
    (docs / "out.md").symlink_to(tmp_path / "outside.md")
    (docs / "out").symlink_to(tmp_path)
    (docs / "in.md").symlink_to(docs / "a.md")
    (docs / "loop").symlink_to(docs)
    (docs / "self").symlink_to(docs / "self")
    (docs / "nothing").symlink_to(docs / "missing")
    (docs / ".secret.md").write_text("hidden")
    (docs / "hidden.md").symlink_to(docs / ".secret.md")
    (docs / ".git").mkdir()
    (docs / ".git" / "config.md").write_text("hidden")
    (docs / "config.md").symlink_to(docs / ".git" / "config.md")

    found = find([docs])

    assert {s.uri for s in found.skipped} == {
        f"docs/{name}"
        for name in ("out.md", "out", "loop", "self", "nothing", "hidden.md", "config.md")
    }
    [linked] = [s for s in found.sources if s.uri == "docs/in.md"]
    assert linked.read() == b"a.md"


def test_a_file_that_becomes_a_link_is_not_opened(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("outside")
    [source] = [s for s in find([docs]).sources if s.uri == "docs/sub/c.md"]

    (docs / "sub" / "c.md").unlink()
    (docs / "sub" / "c.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(ReadError) as as_file:
        source.read()
    (docs / "sub").rename(tmp_path / "moved")
    (docs / "sub").symlink_to(tmp_path / "moved")
    with pytest.raises(ReadError) as as_folder:
        source.read()

    assert as_file.value.code == as_folder.value.code == "unreadable"


def test_a_pipe_is_not_waited_for(docs: Path) -> None:
    os.mkfifo(docs / "pipe.md")

    found = find([docs])
    [named] = find([docs / "pipe.md"]).sources

    assert [s.uri for s in found.skipped] == ["docs/pipe.md"]
    with pytest.raises(ReadError) as raised:
        named.read()
    assert raised.value.code == "not_a_file"


def test_a_device_is_refused() -> None:
    [source] = find(["/dev/null"]).sources

    with pytest.raises(ReadError) as raised:
        source.read()
    assert raised.value.code == "not_a_file"


def test_a_sparse_file_over_the_limit_costs_nothing(docs: Path) -> None:
    with (docs / "big.md").open("wb") as file:
        file.truncate(2**40)
    [source] = find([docs], glob="big.md").sources

    with pytest.raises(ReadError) as raised:
        source.read(max_bytes=1000)
    assert raised.value.code == "too_large"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names themselves")
def test_a_name_that_cannot_be_stored_is_reported(docs: Path) -> None:
    Path(os.fsdecode(os.fsencode(docs) + b"/bad\xff.md")).write_text("x")
    (docs / "new\nline.md").write_text("x")

    found = find([docs])

    assert [s.uri for s in found.skipped] == ["docs/bad\ufffd.md", "docs/new\ufffdline.md"]


def test_names_are_the_same_on_systems_that_decompose_them(docs: Path) -> None:
    (docs / "o\u0308.md").write_text("x")

    assert "docs/ö.md" in uris(docs)


def test_a_missing_path_fails_and_the_others_go_on(docs: Path) -> None:
    found = find([docs / "missing", docs / "a.md"])

    assert [error.code for _, error in found.failed] == ["unreadable"]
    assert [source.uri for source in found.sources] == ["a.md"]


def test_a_file_that_goes_while_it_is_looked_at_fails_alone(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = docs / "gone.md"
    gone.touch()
    look = Path.is_dir

    def takes_it_away(path: Path) -> bool:
        gone.unlink(missing_ok=True)
        return look(path)

    monkeypatch.setattr(Path, "is_dir", takes_it_away)
    ((name, error),) = find([str(gone)]).failed
    assert (name, error.code) == (str(gone), "unreadable")


def test_a_pattern_that_no_shell_expanded_is_answered_with_the_flag(tmp_path: Path) -> None:
    ((_, error),) = find([str(tmp_path / "*.md")]).failed
    assert error.hint == "leave its quotes out, or give the folder and --glob"


@pytest.mark.parametrize(("given", "is_told"), [("~/docs", True), ("~me", True), ("a~", False)])
def test_a_tilde_that_no_shell_has_read_is_told(given: str, is_told: bool) -> None:
    ((_, error),) = find([given]).failed
    told = "write the path of the home folder for ~: only a shell reads it, and not in quotes"
    assert (error.hint == told) is is_told


@pytest.mark.parametrize("path", [".", "..", "./"])
def test_a_folder_that_was_deleted_meanwhile_is_named_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    ((_, error),) = find([path]).failed
    assert error.reason == "the current folder was deleted"
    assert error.hint == "go to one that is there"


def test_a_pipe_that_a_shell_names_leads_to_stdin() -> None:
    read, write = os.pipe()
    try:
        ((_, error),) = find([f"/dev/fd/{read}"]).failed
    finally:
        os.close(read)
        os.close(write)
    assert (error.reason, error.hint) == ("it is not a regular file", "give - for stdin")


def test_an_empty_path_is_no_folder(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs)

    found = find([""])

    assert [error.reason for _, error in found.failed] == ["it is an empty path"]
    assert found.sources == []


def test_two_files_of_one_name_are_refused_and_one_given_twice_is_one(
    docs: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("other")

    found = find([docs / "a.md", tmp_path / "a.md", docs / "a.md"])

    assert [error.code for _, error in found.failed] == ["ambiguous"]
    assert len(found.sources) == 1


def test_two_names_of_a_folder_that_are_one_in_nfc_do_not_hide_the_files_after_them(
    docs: Path,
) -> None:
    (docs / "e\u0301.md").write_text("the same name, decomposed")

    found = find([docs])

    assert [(uri, error.code) for uri, error in found.failed] == [("docs/é.md", "ambiguous")]
    assert [s.uri for s in found.sources] == [
        *("docs/Z.md", "docs/a.md", "docs/b.md", "docs/sub/c.md"),
        *("docs/sub/deep/d.txt", "docs/é.md"),
    ]


def test_a_folder_that_cannot_be_listed_fails_and_the_others_go_on(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refused(folder: Path) -> object:
        if folder.name == "sub":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr("os.scandir", refused)
    found = find([docs])

    assert [(uri, error.code) for uri, error in found.failed] == [("docs/sub", "unreadable")]
    assert found.hidden == ["docs/sub"]
    assert len(found.sources) == 4


def test_folders_too_deep_to_be_read_are_reported(tmp_path: Path) -> None:
    (tmp_path / "docs" / "/".join("d" * 258)).mkdir(parents=True)

    found = find([tmp_path / "docs"])

    assert [(s.uri, s.reason) for s in found.skipped] == [
        ("docs/" + "/".join("d" * 257), "it is a folder inside 256 others")
    ]


def test_standard_input_and_urls_are_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"piped")))

    found = find(["-", "https://example.org/a.html#x"], name="notes.md")

    assert [(s.uri, s.is_url) for s in found.sources] == [
        ("https://example.org/a.html", True),
        ("notes.md", False),
    ]
    assert Source("notes.md").read() == b"piped"


@pytest.mark.parametrize("argument", ["https://example.org/\udcff", "s3://bucket/\udcff", "-"])
def test_an_address_or_a_name_of_standard_input_that_is_not_utf_8_fails_alone(
    docs: Path, argument: str
) -> None:
    found = find([argument, docs / "a.md"], name="\udcff.txt")
    assert [(name, "not UTF-8" in error.reason) for name, error in found.failed] == [
        (argument, True)
    ]
    assert [source.uri for source in found.sources] == ["a.md"]


@pytest.mark.parametrize("scheme", ["http", "ftp", "sftp"])
def test_a_password_in_a_url_is_neither_stored_nor_shown(scheme: str) -> None:
    found = find([f"{scheme}://me:p@ss@example.org/a.html"])

    assert [(uri, error.code) for uri, error in found.failed] == [
        (f"{scheme}://me:***@example.org/a.html", "bad_url")
    ]
    assert found.sources == []
    no_secrets = ["abfs://container@account/x.md", "sftp://me@example.org/x.md"]
    assert [source.uri for source in find(no_secrets).sources] == no_secrets


@pytest.mark.parametrize(
    ("uri", "written", "targets"),
    [
        ("docs/a/x.md", "y.md", ("docs/a/y.md",)),
        ("docs/a/x.md", "../b/y.md?v=1#part", ("docs/b/y.md",)),
        ("docs/a/x.md", "/b.md", ("docs/b.md",)),
        ("docs/a/x.md", "two%20words.md", ("docs/a/two words.md",)),
        ("docs/a/x.md", "y.html#h", ("docs/a/y.html", "docs/a/y.md")),
        ("docs/a/x.md", "#part", ()),
        ("docs/a/x.md", "../../../etc/passwd", ()),
        ("docs/a/x.md", "mailto:a@b.c", ()),
        ("docs/a/x.md", "javascript:alert(1)", ()),
        ("docs/a/x.md", "https://e.org/p?q=1#f", ("https://e.org/p?q=1",)),
        ("x.md", "y.md", ("y.md",)),
        ("x.md", "/y.md", ("y.md",)),
        ("set/c.jsonl#d1", "y.md", ("set/y.md",)),
        ("https://e.org/d/p.html", "../q.html#f", ("https://e.org/q.html",)),
        ("https://e.org/d/p.html", "ftp://e.org/x", ()),
        ("https://e.org/d/p.html", "//[x", ()),
        ("docs/a/x.md", "http://[x#f", ()),
    ],
)
def test_a_link_means_a_uri(uri: str, written: str, targets: tuple[str, ...]) -> None:
    assert links.targets(uri, written) == targets


@pytest.mark.parametrize("uri", ["a.txt", "a.jsonl"])
def test_a_file_that_breaks_off_while_it_is_read_is_a_file_that_failed(uri: str) -> None:
    """The memory of a process can be opened, and has nothing at its start."""
    source = Source(uri, Path(f"/proc/{os.getpid()}"), "mem")
    ((task, is_last),) = tasks(source, {})
    outcome = read(task)
    assert (is_last, outcome.documents) == (True, [])
    assert outcome.failures[0].reason == "it cannot be read (input/output error)"
