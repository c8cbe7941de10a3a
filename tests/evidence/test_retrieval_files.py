"""Files are found by their words, and nothing that may hold a secret is ever opened."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ragdb.evidence import files
from ragdb.evidence.files import KeywordContextRetriever
from ragdb.evidence.retrieval import EmptyRetriever, RetrievalQuery, Retriever

ROOT = Path(__file__).parents[2]
# the first file that is read as this would import the module of it
codecs.lookup("utf-8-sig")


def test_the_example_of_the_seed_runs() -> None:
    from pathlib import Path

    from ragdb.evidence.files import KeywordContextRetriever
    from ragdb.evidence.retrieval import RetrievalQuery

    r = KeywordContextRetriever(Path(".").resolve(), budget_chars=8000)
    chunks = r.retrieve(RetrievalQuery(query="contract spec", top_k=4))
    assert isinstance(chunks, tuple)


class Watch:
    """`with watch:` notes every path that this process opens or lists, by whatever way."""

    def __init__(self) -> None:
        self.is_on = False
        self.opened: list[str] = []
        self.listed: list[str] = []
        sys.addaudithook(self.see)

    def __enter__(self) -> None:
        self.opened, self.listed, self.is_on = [], [], True

    def __exit__(self, *_: object) -> None:
        self.is_on = False

    def see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in ("open", "os.scandir", "os.listdir"):
            paths = self.opened if event == "open" else self.listed
            if isinstance(arguments[0], str | bytes | os.PathLike):
                paths.append(os.fsdecode(arguments[0]))

    def touched(self, folder: Path) -> set[str]:
        """What was opened or listed, below a folder."""
        root = folder.resolve()
        return {Path(p).relative_to(root).as_posix() for p in (*self.opened, *self.listed)}


WATCH = Watch()


@pytest.mark.nightly
def test_this_repository_is_read_within_the_budget() -> None:
    retriever = KeywordContextRetriever(ROOT, budget_chars=3000)
    with WATCH:
        chunks = retriever.retrieve(RetrievalQuery("evidence pack retrieval", top_k=4))
    assert len(chunks) == 4
    assert sum(len(c.text.encode()) for c in chunks) <= 3000
    assert [c.score for c in chunks] == sorted((c.score for c in chunks), reverse=True)
    assert all(0 < c.score <= 1 for c in chunks)
    assert chunks == retriever.retrieve(RetrievalQuery("evidence pack retrieval", top_k=4))
    assert "docs/evidence.md" in WATCH.touched(ROOT)
    denied = {".git", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"}
    for path in WATCH.touched(ROOT):
        assert not denied & set(path.split("/")), path


TRAPS = [
    ".env", ".env.production", "deploy.env", ".git/config", ".git/HEAD", ".venv/lib/x.py",
    "node_modules/x/index.js", "__pycache__/x.py", "build/x.md", "dist/x.md", "ragdb/id_rsa",
    "ragdb/server.pem", "docs/my-secret-notes.md", "docs/secrets/notes.md", "sql/credentials.json",
    "sql/.pgpass", "venv/x.md", ".tox/x.md",
]  # fmt: skip


def test_traps_in_a_copy_of_parts_of_this_repository_are_never_opened(tmp_path: Path) -> None:
    query = "evidence pack retrieval contract"
    copies = tmp_path / "one", tmp_path / "two"
    parts = ["ragdb/evidence", "sql/evidence", "docs"]
    for copy, listed in zip(copies, (parts, parts[::-1]), strict=True):
        for part in listed:
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for trap in TRAPS:
            path = copy / trap
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(query + "\n" + query)
    for budget, count in ((8000, 4), (100, 50), (1_000_000, 1000)):
        found = []
        for copy in copies:
            with WATCH:
                retriever = KeywordContextRetriever(copy, budget)
                found.append(retriever.retrieve(RetrievalQuery(query, count)))
            touched = WATCH.touched(copy)
            assert "docs/evidence.md" in touched
            assert not touched & set(TRAPS)
            for name in touched:
                assert not set(name.split("/")) & {"secrets", ".git", ".venv", "build"}, name
        assert found[0] == found[1]
        assert 0 < len(found[0]) <= count
        assert sum(len(chunk.text.encode()) for chunk in found[0]) <= budget


def test_what_may_hold_a_secret_is_never_opened(tmp_path: Path) -> None:
    secret = [
        ".env", ".env.local", "prod.env", "sub/.git", "id_rsa", "id_ed25519.pub", "key.pem",
        "server.key", "my-secret.txt", "SECRETS.md", "credentials.json", ".netrc", ".pgpass",
        "vault.kdbx", ".git/config", ".venv/x.py", "node_modules/x.js", "__pycache__/x.py",
        "dist/x.py", "build/x.py", ".tox/x.py", "pkg.egg-info/x", "secrets/x.txt", ".ssh/config",
    ]  # fmt: skip
    for name in [*secret, "open.txt", "sub/also.txt"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("password token\n")
    outside = tmp_path.parent / "outside.txt"
    outside.write_text("password token\n")
    (tmp_path / "link.txt").symlink_to(outside)
    (tmp_path / "linked").symlink_to(tmp_path.parent)
    os.mkfifo(tmp_path / "pipe.txt")
    with WATCH:
        chunks = KeywordContextRetriever(tmp_path).retrieve(RetrievalQuery("password", top_k=50))
    assert [c.chunk_id for c in chunks] == ["open.txt", "sub/also.txt"]
    assert WATCH.touched(tmp_path) == {
        ".",
        "sub",
        "open.txt",
        "sub/also.txt",
    }


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("word")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert files._preview(tmp_path / "link") is None


def test_files_rank_by_path_and_first_line_then_body_then_path(tmp_path: Path) -> None:
    files = {
        "b.txt": "alpha beta\nx",
        "a.txt": "alpha beta\nx",
        "alpha_beta.txt": "y\nz",
        "body.txt": "x\nalpha beta",
        "one.txt": "alpha\nbeta",
        "none.txt": "gamma",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    chunks = KeywordContextRetriever(tmp_path).retrieve(RetrievalQuery("Alpha, beta!", top_k=9))
    assert [c.source_id for c in chunks] == [
        "a.txt",
        "b.txt",
        "alpha_beta.txt",
        "one.txt",
        "body.txt",
    ]
    assert chunks[0].score == 1


def test_binary_files_are_skipped_and_long_ones_previewed(tmp_path: Path) -> None:
    (tmp_path / "nul.bin").write_bytes(b"word\0")
    (tmp_path / "latin.txt").write_bytes("wörd word".encode("latin-1"))
    # the 128 KiB end inside a character
    (tmp_path / "long.txt").write_bytes(b"word " + "é".encode() * 80000 + b" hidden")
    retriever = KeywordContextRetriever(tmp_path, budget_chars=10)
    (chunk,) = retriever.retrieve(RetrievalQuery("word hidden"))
    assert chunk.text == "word éé"
    assert len(chunk.text.encode()) <= 10
    assert chunk.score < 1
    assert retriever.retrieve(RetrievalQuery("hidden")) == ()


def test_what_small_files_leave_of_the_budget_goes_to_the_others(tmp_path: Path) -> None:
    for name, words in {"a": 1, "b": 9, "c": 99}.items():
        (tmp_path / name).write_text("word " * words)
    chunks = KeywordContextRetriever(tmp_path, budget_chars=90).retrieve(RetrievalQuery("word"))
    assert {chunk.source_id: len(chunk.text) for chunk in chunks} == {"a": 5, "b": 42, "c": 43}


def test_a_query_without_words_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word")
    assert KeywordContextRetriever(tmp_path).retrieve(RetrievalQuery("?!")) == ()


def test_arguments_out_of_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="budget_chars is 0"):
        KeywordContextRetriever(tmp_path, budget_chars=0)
    with pytest.raises(NotADirectoryError):
        KeywordContextRetriever(tmp_path / "none")
    with pytest.raises(ValueError, match="top_k is 0"):
        RetrievalQuery("x", top_k=0)


def test_every_retriever_is_one(tmp_path: Path) -> None:
    assert isinstance(EmptyRetriever(), Retriever)
    assert isinstance(KeywordContextRetriever(tmp_path), Retriever)
    assert EmptyRetriever().retrieve(RetrievalQuery("x")) == ()
