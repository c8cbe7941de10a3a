"""A retriever over the files of a folder, without a database."""

from __future__ import annotations

import codecs
import fnmatch
import heapq
import os
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from ragdb.evidence.retrieval import RetrievalQuery, RetrievedChunk

PREVIEW = 128 * 1024
"""Bytes of a file that are looked at."""

DENIED_FOLDERS = (
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "env", "dist", "build", "node_modules",
    ".tox", ".nox", ".eggs", "*.egg-info", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".cache", ".hypothesis", ".idea", ".ssh", ".gnupg", ".aws", ".kube", "*secret*",
)  # fmt: skip

SECRET_FILES = (
    ".git", ".env", ".env.*", "*.env", "*secret*", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.gpg", "credentials*",
    ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd",
)  # fmt: skip


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in patterns)


def _keywords(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


class KeywordContextRetriever:
    """Finds files of a folder by their words, without a database.

    Files rank by how many words of the query their path and first line have, then their first
    128 KiB, then by path. Links are not followed; folders of tools and files that may hold secrets
    are never opened, nor read are binary files. A chunk is a file, or its beginning where its share
    of the budget (`budget_chars`, in bytes of UTF-8) is smaller. The shares are equal, and what
    small files leave of theirs goes to the others.
    """

    def __init__(self, repo_path: str | PathLike[str], budget_chars: int = 8000) -> None:
        if budget_chars < 1:
            raise ValueError(f"budget_chars is {budget_chars}, not 1 or more")
        self.root = Path(repo_path).resolve()
        if not self.root.is_dir():
            raise NotADirectoryError(f"{self.root} is not a folder")
        self.budget = budget_chars

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        asked = _keywords(query.query)
        best = heapq.nsmallest(query.top_k, self._ranked(asked)) if asked else []
        most = len(asked) * (len(asked) + 2)
        chunks = []
        texts = [text.encode() for *_, text in best]
        shares = _shares([len(text) for text in texts], self.budget)
        for (head, body, path, _), text, share in zip(best, texts, shares, strict=True):
            excerpt = text[:share].decode(errors="ignore")
            if excerpt:
                score = (-head * (len(asked) + 1) - body) / most
                chunks.append(RetrievedChunk(path, path, excerpt, score))
        return tuple(chunks)

    def _ranked(self, asked: set[str]) -> Iterator[tuple[int, int, str, str]]:
        for path in self._files(self.root):
            text = _preview(path)
            if text is None:
                continue
            name = path.relative_to(self.root).as_posix()
            head = len(asked & _keywords(f"{name}\n{text.partition(chr(10))[0]}"))
            body = len(asked & _keywords(text))
            if head or body:
                yield -head, -body, name, text

    def _files(self, folder: Path) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # unreadable, or gone since it was listed
            return
        for entry in entries:
            if not _is_text(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _matches(entry.name, DENIED_FOLDERS):
                    yield from self._files(Path(entry.path))
            elif entry.is_file(follow_symlinks=False) and not _matches(entry.name, SECRET_FILES):
                yield Path(entry.path)


def _shares(sizes: list[int], budget: int) -> list[int]:
    """How much of a budget each size gets.

    >>> _shares([100, 1, 100], 21)
    [10, 1, 10]
    """
    shares = list(sizes)
    places = sorted(range(len(sizes)), key=sizes.__getitem__)  # the small ones leave some
    for done, place in enumerate(places):
        shares[place] = min(sizes[place], budget // (len(sizes) - done))
        budget -= shares[place]
    return shares


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return False
    return True


def _preview(path: Path) -> str | None:
    """The beginning of a text file; None for a binary one, or one that cannot be read."""
    try:
        # a file that a link or a pipe has taken the place of is not opened
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(PREVIEW)
    except OSError:
        return None
    if b"\0" in data:
        return None
    try:
        # a character that the end of the preview cuts is not an error
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data, len(data) < PREVIEW)
    except UnicodeDecodeError:
        return None
