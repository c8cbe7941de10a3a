"""Walk a folder without ever leaving it.

Names come from the command line and contents from anybody: each step of a path is opened without
following links, and only regular files are read.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import unicodedata
from collections.abc import Iterator
from fnmatch import translate
from pathlib import Path

from ragdb.ingest import beside
from ragdb.ingest.globs import matches
from ragdb.ingest.opening import unreadable
from ragdb.ingest.source import Skipped, Source, Unread
from ragdb.readers.document import ReadError

_MAX_DEPTH = 256

# beside hidden ones: what tools put into folders
_IGNORED_FOLDERS = frozenset({"CVS", "_darcs", "__pycache__", "node_modules"})

_SECRET_NAMES = (
    *(".env", ".env.*", "*.env", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd"),
    *(".git-credentials", "credentials", "credentials.json", "secrets.y*ml", "secrets.json"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx"),
    *(
        "*.tfstate",
        "*.tfvars",
        "kubeconfig",
        "*.kubeconfig",
        "service?account*.json",
        "client_secret*.json",
    ),
    *("*.jks", "*.keystore", "*.kdbx", "*.ppk"),
)
_SECRET = re.compile("|".join(map(translate, _SECRET_NAMES)))


def walk(
    root: Path, glob: str | None, recursive: bool, named: str | None = None
) -> Iterator[Source | Skipped | Unread]:
    """What lies in a folder; the uris begin with its name, or with the one that it is given."""
    name = named or uri_of(root.name)
    prefix = f"{name}/" if name else ""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            yield Unread(prefix + printable(folder), unreadable(error))
            continue
        is_export = any(e.name in beside.INDEXES for e in entries) and beside.is_export(
            root, folder
        )
        for entry in entries:
            below = posixpath.join(folder, entry.name)
            if entry.name.startswith(".") or entry.name in _IGNORED_FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False):
                if recursive and below.count("/") < _MAX_DEPTH:
                    folders.append(below)
                elif recursive:
                    reason = f"it is a folder inside {_MAX_DEPTH} others"
                    yield Skipped(prefix + printable(below), reason)
                continue
            if not matches(below, glob):
                continue
            if is_export and entry.name in beside.INDEXES:
                reason = "it is of an export of Slack, and only says what its ids mean"
                yield Skipped(prefix + printable(below), reason)
                continue
            yield _entry(root, below, entry, prefix)


def _entry(
    root: Path, below: str, entry: os.DirEntry[str], prefix: str
) -> Source | Skipped | Unread:
    shown = prefix + printable(below)
    try:
        if is_secret(entry.name):
            return Skipped(shown, "its name suggests a secret")
        uri = prefix + uri_of(below)
        if entry.is_symlink():
            return _link(root, below, uri, prefix)
        status = entry.stat(follow_symlinks=False)
    except ReadError as error:
        return Skipped(shown, error.reason)
    except OSError as error:
        return Unread(shown, unreadable(error))
    if not stat.S_ISREG(status.st_mode):
        return Skipped(uri, "it is not a regular file")
    return _source(uri, root, below, status.st_size, prefix)


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
    if is_secret(target.name) or any(part.startswith(".") for part in way.split("/")):
        return Skipped(uri, "it is a link to a hidden file")
    return _source(uri, root, way, target.stat().st_size, prefix)


def _source(uri: str, root: Path, below: str, size: int, prefix: str) -> Source:
    return Source(uri, root, below, size, prefix, printable(str(root)), is_named=False)


def uri_of(path: str) -> str:
    """The path as part of a uri: NFC, so that it is the same on every file system."""
    uri = unicodedata.normalize("NFC", path)
    if printable(uri) != uri:
        raise ReadError(
            "bad_name", "its name is not UTF-8, or has control characters", "rename the file"
        )
    return uri


def printable(path: str) -> str:
    """The path as a text can have it."""
    if path.isprintable():
        return path
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in path)


def is_secret(name: str) -> bool:
    return _SECRET.match(name.lower()) is not None
