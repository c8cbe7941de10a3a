"""The process in which third-party parsers run: `python -m ragdb.readers.child FAMILY`.

`sandbox` starts it. It reads requests on stdin and answers on stdout, both as a JSON header and a
body, and lives for many documents. It imports the readers of its family; after that it can open no
file and no socket, and it has limits of memory and of processor time a document: a hostile file
ends this process and nothing else. What it answers is JSON and not pickle, because it is as
untrusted as what it read.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import pkgutil
import resource
import sys
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any, BinaryIO

from ragdb.readers import frames, page, telling
from ragdb.readers.document import Content, ReadError
from ragdb.readers.formats import FORMATS, PLUG

_MAX_REQUEST = 2**32 - 1
_MAX_SERVED = 1000


def main(family: str) -> None:
    """Answer until stdin ends, or until a fresh process is better: parsers leak."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    # a reader that prints must not answer
    sys.stdout = sys.stderr
    readers = _load(family)
    _confine()
    frames.send(answers, {"status": "ready"}, b"")
    for served in range(1, _MAX_SERVED + 1):
        frame = frames.receive(requests, _MAX_REQUEST)
        if frame is None:
            return
        header, body = frame
        _limit(header["memory"], header["seconds"])
        telling.begin(_teller(answers) if header.get("tells") else None)
        status, answer = _answer(header, readers, body)
        last = status == "limits" or served == _MAX_SERVED
        frames.send(answers, {"status": status, "last": last}, answer)
        if last:
            return


def _teller(answers: BinaryIO) -> Callable[[float], None]:
    return lambda part: frames.send(answers, {"status": "told", "part": part}, b"")


def _load(family: str) -> dict[str, Callable[[Any], Content]]:
    """The readers of a family; one whose library is missing is missing."""
    if family.startswith(PLUG):
        from ragdb.readers import plugs

        return {family: plugs.load(family.removeprefix(PLUG))}
    found = {}
    for name, one in FORMATS.items():
        if one.reader is None or one.family != family:
            continue
        module, _, function = one.reader.partition(":")
        with contextlib.suppress(ImportError):
            found[name] = getattr(import_module(f"ragdb.readers.{module}"), function)
    return found


def _answer(
    header: dict[str, Any], readers: dict[str, Callable[[Any], Content]], body: bytes
) -> tuple[str, bytes]:
    reader = header["reader"]
    if reader not in readers:
        return "missing", reader.encode()
    try:
        if "page" in header:
            return "read", _page(body, header["page"])
        is_text = reader in FORMATS and FORMATS[reader].is_text
        content = readers[reader](body.decode() if is_text else body)
        return "read", json.dumps(
            {f.name: getattr(content, f.name) for f in fields(Content)}, ensure_ascii=False
        ).encode("utf-8", "surrogatepass")
    except ReadError as error:
        return "refused", json.dumps([error.code, error.reason, error.hint]).encode()
    except (MemoryError, RecursionError):
        return "limits", b""
    except BaseException as error:
        # whatever a parser raises on a hostile file is that file's failure; a panic of one in Rust
        # is not an Exception
        return "failed", type(error).__name__.encode()


def _page(body: bytes, asked: dict[str, Any]) -> bytes:
    """A picture of a page; what to look for on it stands before the file."""
    wanted = json.loads(body[: asked["wanted"]])
    return page.read(body[asked["wanted"] :], asked["number"], wanted, asked["is_drawn"])


def _confine() -> None:
    # what the parsers look up by themselves when they first need it
    import encodings
    import xml.dom.expatbuilder  # noqa: F401, mammoth imports it when it first reads

    import charset_normalizer  # noqa: F401

    for module in pkgutil.iter_modules(encodings.__path__):
        with contextlib.suppress(LookupError, ImportError):
            codecs.lookup(module.name)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def _limit(memory: int, seconds: int) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(usage.ru_utime + usage.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
