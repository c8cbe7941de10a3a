"""Find what is to be read: files, folders, URLs and standard input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ragdb.ingest.folders import is_secret, printable, uri_of, walk
from ragdb.ingest.globs import check_glob
from ragdb.ingest.opening import unreadable
from ragdb.ingest.source import Found, Skipped, Source, Unread
from ragdb.readers import formats
from ragdb.readers.document import ReadError

# github://owner:repository@revision is not a secret
_PASSWORD = re.compile(r"^((?!github:)[^/]*://[^/?#@:]*:)[^/?#]*@")


def find(
    arguments: Iterable[str | os.PathLike[str] | bytes],
    *,
    glob: str | None = None,
    recursive: bool = True,
    name: str = "stdin",
    prefix: str | None = None,
) -> Found:
    """Expand paths, URLs and `-` into sources, each once, in the same order on every machine.

    Bytes are a file that the caller has read; they, and standard input, are called `name`.

    The uri of a file in a folder begins with the folder's name, that of a single file is its name;
    `prefix` stands for the folder's name, and before that of a file; `.` leaves names as they are.
    With one, a source takes over what is there under its name. A URL keeps its own name.
    Hidden files and folders are passed over without a word. Links out of the folder, secrets and
    what is not a regular file are reported as skipped, or as failed where an argument names them.
    A glob without `/` is compared with names, one with it with paths below the folder (`**` is any
    number of folders). Raises ValueError for a glob that is too long, absolute or has
    `..`, and for a prefix that is not a path of names.
    """
    adopts = prefix is not None
    prefix = _checked(prefix) if prefix is not None and prefix != "." else None
    pattern = check_glob(glob) if glob is not None else None
    found = Found()
    by_uri: dict[str, Source] = {}
    for given in arguments:
        data = given if isinstance(given, bytes) else None
        argument = "-" if isinstance(given, bytes) else os.fspath(given)
        try:
            for item in _expand(argument, pattern, recursive, name, prefix, data):
                if isinstance(item, Skipped):
                    found.skipped.append(item)
                elif isinstance(item, Unread):
                    found.failed.append((item.uri, item.error))
                    found.hidden.append(item.uri)
                elif (
                    first := by_uri.setdefault(item.uri, item)
                ) is not item and first.path != item.path:
                    found.failed.append((item.uri, _ambiguous(item.uri)))
        except ReadError as error:
            found.failed.append((_PASSWORD.sub(r"\1***@", argument), error))
    found.sources = sorted(by_uri.values(), key=lambda source: source.uri.encode())
    if adopts:
        found.sources = [replace(source, adopts=True) for source in found.sources]
    found.skipped.sort(key=lambda skipped: skipped.uri)
    return found


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


def _expand(
    argument: str,
    glob: str | None,
    recursive: bool,
    name: str,
    prefix: str | None,
    data: bytes | None,
) -> Iterator[Source | Skipped | Unread]:
    if argument == "-":
        uri = f"{prefix}/{uri_of(name)}" if prefix else uri_of(name)
        yield Source(uri, size=None if data is None else len(data), data=data)
        return
    if "://" in argument:
        if _PASSWORD.match(argument):
            raise secret_in_url()
        if printable(argument) != argument:
            raise ReadError("bad_url", "it is not UTF-8", "encode such bytes, as in %FF")
        yield Source(argument.split("#")[0])
        return
    if not argument:
        # which pathlib takes for the folder that one is in
        raise ReadError("unreadable", "it is an empty path", "give . for the current folder")
    try:
        root = Path(argument).resolve(strict=True)
    except FileNotFoundError as error:
        if os.path.isdir(argument):
            why = "the current folder was deleted"
            raise ReadError("unreadable", why, "go to one that is there") from None
        if os.path.exists(argument):  # as /dev/stdin and <(command) are, which lead to no file
            raise ReadError("not_a_file", "it is not a regular file", "give - for stdin") from None
        hint = None
        if argument.startswith("~"):
            hint = (
                "write the path of the home folder for ~: only a shell reads it, and not in quotes"
            )
        elif "*" in str(error.filename):
            hint = "leave its quotes out, or give the folder and --glob"
        raise unreadable(error, hint) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise unreadable(error) from None
    if root.is_dir():
        yield from walk(root, glob, recursive, prefix)
        return
    yield _file(root, prefix)


def _file(root: Path, prefix: str | None) -> Source:
    if is_secret(root.name):
        raise ReadError("secret", "its name suggests a secret", "rename it if it is not one")
    uri = f"{prefix}/{uri_of(root.name)}" if prefix else uri_of(root.name)
    records = f"{uri}#" if formats.may_have_records(root.name) else ""
    try:
        size = root.stat().st_size
    except OSError as error:  # it has just gone
        raise unreadable(error) from None
    folder = printable(str(root.parent))
    return Source(uri, root.parent, root.name, size, records, folder)


def _checked(prefix: str) -> str:
    names = prefix.strip("/").split("/")
    is_printable = all(name.isprintable() and name not in ("", ".", "..") for name in names)
    if len(prefix) > 200 or not is_printable or prefix.startswith("/") or "://" in prefix:
        raise ValueError(f"the prefix {prefix[:80]!r} is not a name, or names parted by /")
    return "/".join(map(uri_of, names))
