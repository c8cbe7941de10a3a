"""The process in which third-party parsers run: `python -m ragdb.readers.child`, run by `sandbox`.

It reads requests on stdin and answers on stdout, both as a JSON header and a body, and lives for
many documents. After its imports it can open no file and no socket, and it has limits of memory and
of processor time a document: a hostile file ends this process and nothing else. What it answers is
JSON and not pickle, because it is as untrusted as what it read.
"""

from __future__ import annotations

import codecs
import json
import resource
import sys
import xml.dom.expatbuilder  # noqa: F401, mammoth imports it when it first reads
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from ragdb.readers import docx, frames, html, markdown, pdf
from ragdb.readers.document import Content, ReadError

READERS: dict[str, Callable[[Any], Content]] = {
    "markdown": markdown.read,
    "html": html.read,
    "docx": docx.read,
    "pdf": pdf.read,
}
_MAX_REQUEST = 2**32 - 1
_MAX_SERVED = 1000
_TEXT = frozenset({"markdown", "html"})


def main() -> None:
    """Answer until stdin ends, or until a fresh process is better: parsers leak."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    _confine()
    for served in range(1, _MAX_SERVED + 1):
        frame = frames.receive(requests, _MAX_REQUEST)
        if frame is None:
            return
        header, body = frame
        _limit(header["memory"], header["seconds"])
        status, answer = _answer(header["reader"], body)
        last = status == "limits" or served == _MAX_SERVED
        frames.send(answers, {"status": status, "last": last}, answer)
        if last:
            return


def _answer(reader: str, body: bytes) -> tuple[str, bytes]:
    try:
        content = READERS[reader](body.decode() if reader in _TEXT else body)
        return "read", json.dumps(
            {f.name: getattr(content, f.name) for f in fields(Content)}, ensure_ascii=False
        ).encode()
    except ReadError as error:
        return "refused", json.dumps([error.code, error.reason, error.hint]).encode()
    except (MemoryError, RecursionError):
        return "limits", b""
    except Exception as error:
        # whatever a parser raises on a hostile file is that file's failure
        return "failed", type(error).__name__.encode()


def _confine() -> None:
    # what the parsers look up by themselves when they first need it
    for encoding in ("utf-8", "utf-16-le", "latin-1", "ascii", "cp437"):
        codecs.lookup(encoding)
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
    main()
