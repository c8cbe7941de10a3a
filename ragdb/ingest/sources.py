"""Find what is to be read: files, folders, URLs and standard input.

Names come from the command line and contents from anybody, so a folder is never left: each step
of a path is opened without following links, and only regular files are read.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from io import BufferedReader
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO

from ragdb.readers import read as readers
from ragdb.readers.document import ReadError
from ragdb.readers.read import MAX_BYTES

# github://owner:repository@revision is no secret
_PASSWORD = re.compile(r"^((?!github:)[^/]*://[^/?#@:]*:)[^/?#]*@")
_MAX_GLOB = 1024
_MAX_STARS = 16
_MAX_DEPTH = 256
# beside hidden ones: what tools put into folders
_IGNORED_FOLDERS = frozenset({"CVS", "_darcs", "__pycache__", "node_modules"})
_SECRETS = (
    *(".env", ".env.*", "*.env", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd"),
    *(".git-credentials", "credentials", "credentials.json", "secrets.y*ml", "secrets.json"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx"),
    *("*.jks", "*.keystore", "*.kdbx", "*.ppk"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read. `uri` names it in the corpus."""

    uri: str
    # the folder that may not be left and the way from it; None for what is no file
    root: Path | None = None
    below: str = ""
    size: int | None = None
    # what the uris of all sources of the same argument begin with; empty for a single file
    prefix: str = ""
    # what its giver says that it is
    media_type: str | None = None

    @property
    def path(self) -> Path | None:
        """Where a file lies, for messages: opening goes through `open`."""
        return self.root / self.below if self.root else None

    @property
    def is_url(self) -> bool:
        """Whether it is fetched (`ragdb.fetch`) and not opened."""
        return self.root is None and "://" in self.uri

    def open(self) -> BinaryIO:
        """Open a file for reading; raises ReadError `unreadable` or `not_a_file`."""
        if self.root is None:
            raise ValueError(f"{self.uri} is no file")
        return _open_below(self.root, self.below)

    def read(self, max_bytes: int = MAX_BYTES) -> bytes:
        """The bytes of a file or of standard input.

        Raises ReadError: `too_large` for more than `max_bytes`, also when the file grew since it
        was found.
        """
        if self.root is None:
            data = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with self.open() as file:
                size = os.fstat(file.fileno()).st_size
                data = b"" if size > max_bytes else file.read(max_bytes + 1)
            if size > max_bytes:
                raise too_large(size, max_bytes)
        if len(data) > max_bytes:
            raise too_large(len(data), max_bytes)
        return data


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in a folder that is not read on purpose, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A folder that cannot be listed, or a file that cannot be looked at, and why."""

    uri: str
    error: ReadError


@dataclass(slots=True)
class Found:
    """What the arguments mean: sources in the order of their uris, and what failed by name."""

    sources: list[Source] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[tuple[str, ReadError]] = field(default_factory=list)
    # uris of what lies in a folder and cannot be looked into: files may be behind it
    hidden: list[str] = field(default_factory=list)
    # where contents wait that were fetched to be found
    folder: TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Remove what was fetched."""
        if self.folder is not None:
            self.folder.cleanup()


def find(
    arguments: Iterable[str | os.PathLike[str]],
    *,
    glob: str | None = None,
    recursive: bool = True,
    stdin_name: str = "stdin",
) -> Found:
    """Expand paths, URLs and `-` into sources, each once, in the same order on every machine.

    The uri of a file in a folder begins with the folder's name, that of a single file is its name.
    Hidden files and folders are passed over without a word; links out of the folder, secrets and
    what is no regular file are reported as skipped, or failed where an argument names them. A glob
    without `/` is held against names, one with it against paths below the folder (`**` is any
    number of folders). Raises ValueError for a glob that is too long, absolute or has `..`.
    """
    pattern = check_glob(glob) if glob is not None else None
    found = Found()
    by_uri: dict[str, Source] = {}
    for given in arguments:
        argument = os.fspath(given)
        try:
            for item in _expand(argument, pattern, recursive, stdin_name):
                if isinstance(item, Skipped):
                    found.skipped.append(item)
                elif isinstance(item, Unread):
                    found.failed.append((item.uri, item.error))
                    found.hidden.append(item.uri)
                elif by_uri.setdefault(item.uri, item).path != item.path:
                    found.failed.append((item.uri, _ambiguous(item.uri)))
        except ReadError as error:
            found.failed.append((_PASSWORD.sub(r"\1***@", argument), error))
    found.sources = sorted(by_uri.values(), key=lambda source: source.uri.encode())
    found.skipped.sort(key=lambda skipped: skipped.uri)
    return found


def too_large(size: int, max_bytes: int) -> ReadError:
    """The refusal of a source over the limit."""
    return ReadError(
        "too_large",
        f"it has {size} bytes or more, over the limit of {max_bytes}",
        "raise the limit with --max-bytes, or split it",
    )


def secret_in_url() -> ReadError:
    """The refusal of a URL that names who asks."""
    return ReadError(
        "bad_url",
        "it has a user name or password in it",
        "a URL is stored and shown: leave it out",
    )


def _ambiguous(uri: str) -> ReadError:
    """The refusal of the second of two files with one name."""
    return ReadError(
        "ambiguous",
        f'two files would be the source "{uri}", and the first is',
        "rename one, ingest the folder above both, or use two corpora",
    )


def check_glob(glob: str) -> str:
    """Return the glob, or raise ValueError for one that is too long or leaves its folder."""
    if not glob or len(glob) > _MAX_GLOB or glob.count("*") > _MAX_STARS:
        raise ValueError(f"a glob has 1 to {_MAX_GLOB} characters and up to {_MAX_STARS} stars")
    if glob.startswith(("/", "~")) or ".." in PurePosixPath(glob).parts:
        raise ValueError(f"the glob {glob!r} leaves the folder")
    return glob


def matches(below: str, glob: str | None) -> bool:
    """Whether a path below a folder matches; in time linear in the path but for the stars."""
    if glob is None:
        return True
    if "/" not in glob:
        return fnmatchcase(below.rpartition("/")[2], glob)
    names, patterns = below.split("/"), glob.split("/")

    @cache
    def match(i: int, j: int) -> bool:
        if j == len(patterns):
            return i == len(names)
        if patterns[j] == "**":
            return match(i, j + 1) or (i < len(names) and match(i + 1, j))
        return i < len(names) and fnmatchcase(names[i], patterns[j]) and match(i + 1, j + 1)

    return match(0, 0)


def _expand(
    argument: str, glob: str | None, recursive: bool, stdin_name: str
) -> Iterator[Source | Skipped | Unread]:
    if argument == "-":
        yield Source(stdin_name)
        return
    if "://" in argument:
        if _PASSWORD.match(argument):
            raise secret_in_url()
        yield Source(argument.split("#")[0])
        return
    if not argument:
        # which pathlib takes for the folder that one is in
        raise ReadError("unreadable", "it is an empty path", "give . for the folder you are in")
    try:
        root = Path(argument).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise _unreadable(error) from None
    if root.is_dir():
        yield from _walk(root, glob, recursive)
        return
    if _is_secret(root.name):
        raise ReadError("secret", "its name is that of a secret", "rename it if it is none")
    prefix = f"{root.name}#" if readers.is_jsonl(root.name) else ""
    size = root.stat().st_size
    yield Source(_uri(root.name), root.parent, root.name, size, prefix)


def _walk(root: Path, glob: str | None, recursive: bool) -> Iterator[Source | Skipped | Unread]:
    prefix = f"{_uri(root.name)}/" if root.name else ""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            yield Unread(prefix + _shown(folder), _unreadable(error))
            continue
        for entry in entries:
            below = posixpath.join(folder, entry.name)
            if entry.name.startswith(".") or entry.name in _IGNORED_FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False):
                if recursive and below.count("/") < _MAX_DEPTH:
                    folders.append(below)
                elif recursive:
                    reason = f"it is a folder inside {_MAX_DEPTH} others"
                    yield Skipped(prefix + _shown(below), reason)
                continue
            if not matches(below, glob):
                continue
            yield _entry(root, below, entry, prefix)


def _entry(
    root: Path, below: str, entry: os.DirEntry[str], prefix: str
) -> Source | Skipped | Unread:
    shown = prefix + _shown(below)
    try:
        if _is_secret(entry.name):
            return Skipped(shown, "its name is that of a secret")
        uri = prefix + _uri(below)
        if entry.is_symlink():
            return _link(root, below, uri, prefix)
        status = entry.stat(follow_symlinks=False)
    except ReadError as error:
        return Skipped(shown, error.reason)
    except OSError as error:
        return Unread(shown, _unreadable(error))
    if not stat.S_ISREG(status.st_mode):
        return Skipped(uri, "it is no regular file")
    return Source(uri, root, below, status.st_size, prefix)


def _link(root: Path, below: str, uri: str, prefix: str) -> Source | Skipped:
    """A link to a file of the folder is that file under another name."""
    try:
        target = (root / below).resolve(strict=True)
    except (OSError, RuntimeError):
        return Skipped(uri, "it is a link to nothing, or to itself")
    if not target.is_relative_to(root):
        return Skipped(uri, "it is a link out of the folder")
    if not target.is_file():
        return Skipped(uri, "it is a link to a folder, whose files are read at their own place")
    way = target.relative_to(root).as_posix()
    if _is_secret(target.name) or any(part.startswith(".") for part in way.split("/")):
        return Skipped(uri, "it is a link to a hidden file")
    return Source(uri, root, way, target.stat().st_size, prefix)


def _open_below(root: Path, below: str) -> BinaryIO:
    """Open a file step by step, so that no part of its path can become a link meanwhile."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    *folders, name = below.split("/")
    try:
        at = os.open(root, flags | os.O_DIRECTORY)
        try:
            for folder in folders:
                inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=at)
                os.close(at)
                at = inner
            # not blocking: opening a FIFO would wait for its writer
            descriptor = os.open(name, flags | os.O_NONBLOCK, dir_fd=at)
        finally:
            os.close(at)
    except OSError as error:
        raise _unreadable(error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ReadError("not_a_file", "it is no regular file", "give a file or a folder")
    return BufferedReader(os.fdopen(descriptor, "rb", buffering=0))


def _uri(path: str) -> str:
    """The path as part of a uri: NFC, so that it is the same on every file system."""
    uri = unicodedata.normalize("NFC", path)
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in uri):
        raise ReadError(
            "bad_name", "its name is not UTF-8, or has control characters", "rename the file"
        )
    return uri


def _shown(path: str) -> str:
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in path)


def _is_secret(name: str) -> bool:
    return any(fnmatchcase(name.lower(), pattern) for pattern in _SECRETS)


def _unreadable(error: Exception) -> ReadError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "bad path"
    return ReadError("unreadable", f"it cannot be read ({reason.lower()})", "check path and rights")
