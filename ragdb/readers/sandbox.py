"""Runs a reader in a child process, so that no file can take the caller down."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, cast

from ragdb.readers import frames
from ragdb.readers.document import Content, ReadError, clean, storable, unforeseen
from ragdb.readers.formats import FORMATS, family
from ragdb.readers.page import Page, parsed

Tell = Callable[[float], None]

# what a document may cost: so much, and more for each byte of it
_MEMORY = 512 * 1024 * 1024
_MEMORY_PER_BYTE = 32
_SECONDS = 10
_BYTES_PER_SECOND = 1_000_000
_MAX_ANSWER = 1024 * 1024 * 1024
_STARTING = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
# readers in Python, character by character
_SLOW = {"rst": 20, "yaml": 4, "rtf": 8, "pptx": 4}


def starting() -> dict[str, str]:
    """What of the environment Python itself may need to start."""
    return {name: os.environ[name] for name in _STARTING if name in os.environ}


class _Child:
    """One child process, which reads one document of its family at a time."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.is_fresh = True
        self.is_ready = False
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", "ragdb.readers.child", family],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # nothing else of the environment: it holds passwords and keys
            env=starting()
            | {
                "PATH": os.defpath,
                "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),
            },
            start_new_session=True,
        )
        self.input = cast(BinaryIO, self.process.stdin)
        self.output = cast(BinaryIO, self.process.stdout)

    def ask(
        self, header: dict[str, Any], body: bytes, tell: Tell | None = None
    ) -> tuple[dict[str, Any], bytes] | None:
        """The child's answer, or None when it died or its time was up."""
        # processor time is limited in the child; this is for one that sleeps
        timer = threading.Timer(3 * header["seconds"] + 30, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            frames.send(self.input, header, body)
            while True:
                answer = frames.receive(self.output, _MAX_ANSWER)
                if answer is not None and answer[0].get("status") == "ready":
                    self.is_ready = True
                    continue
                if tell is None or answer is None or answer[0].get("status") != "told":
                    return answer
                tell(min(max(float(answer[0]["part"]), 0.0), 1.0))
        except (OSError, ValueError):
            return None
        finally:
            timer.cancel()

    def close(self) -> None:
        self.process.kill()
        for stream in (self.input, self.output):
            with contextlib.suppress(OSError):
                stream.close()
        self.process.wait()


class _Pool:
    """Children that wait for work: as many as threads have read at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._pid = os.getpid()

    def take(self, family: str = "") -> _Child:
        with self._lock:
            if self._pid != os.getpid():  # after a fork the pipes are the parent's
                self._idle, self._pid = [], os.getpid()
            # the last one, so that one child serves one thread
            for n in range(len(self._idle) - 1, -1, -1):
                if self._idle[n].family == family:
                    return self._idle.pop(n)
        return _Child(family)

    def give_back(self, child: _Child) -> None:
        with self._lock:
            self._idle.append(child)

    def close(self) -> None:
        with self._lock:
            if self._pid == os.getpid():
                for child in self._idle:
                    child.close()
            self._idle = []


_pool = _Pool()
atexit.register(_pool.close)


def draw(data: bytes, number: int, wanted: Sequence[str], is_drawn: bool = True) -> Page:
    """A page of a PDF, from 1, as a picture, and where on it some words stand.

    Raises ReadError: `corrupt`, `no_page`, `limits`.
    """
    sought = json.dumps(list(wanted)).encode()
    asked = {"number": number, "wanted": len(sought), "is_drawn": is_drawn}
    return parsed(_read("pdf", sought + data, {"page": asked}))


def read(reader: str, data: bytes, tell: Tell | None = None) -> Content:
    """What a reader makes of the bytes, read by a child process; `tell` hears which part is read.

    Raises ReadError: the reader's own, `limits` for a document that needs too much memory or time,
    `corrupt` for one that breaks its parser, `missing_extra` where its library is not installed,
    `unstarted` where there is no child.
    """
    return _content(json.loads(_read(reader, data, {"tells": tell is not None}, tell)))


def _read(reader: str, data: bytes, more: dict[str, Any], tell: Tell | None = None) -> bytes:
    memory = _MEMORY + _MEMORY_PER_BYTE * len(data)
    seconds = _SECONDS + _SLOW.get(reader, 1) * len(data) // _BYTES_PER_SECOND
    request = {"reader": reader, "memory": memory, "seconds": seconds, **more}
    status, answer, was_fresh = _ask(request, data, tell)
    if status == "limits" and not was_fresh:
        # it may have been what earlier documents left behind, or the child was dead already
        status, answer, _ = _ask(request, data, tell)
    if status == "read":
        return answer
    if status == "refused":
        raise ReadError(*json.loads(answer))
    if status == "missing":
        extra = FORMATS[reader].extra
        raise ReadError(
            "missing_extra",
            f"files of this type need the extra {extra}",
            f"pip install 'ragdb-postgres[{extra}]'",
        )
    if status == "failed":
        raise unforeseen(answer.decode())
    if status == "unstarted":
        raise ReadError(
            "unstarted",
            f"the process that reads it did not start (exit code {answer.decode()})",
            f"`env -i {sys.executable} -m ragdb.readers.child` shows why",
        )
    raise ReadError(
        "limits",
        f"it could not be read within {seconds} s and {memory // 2**20} MiB",
        "split the document, or convert it to text yourself",
    )


def _ask(request: dict[str, Any], data: bytes, tell: Tell | None = None) -> tuple[str, bytes, bool]:
    """Status, answer, and whether the child had read nothing before."""
    child = _pool.take(family(request["reader"]))
    was_fresh, child.is_fresh = child.is_fresh, False
    try:
        answered = child.ask(request, data, tell)
    except BaseException:
        child.close()  # Ctrl-C in the middle of an answer
        raise
    if answered is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(1)
        child.close()
        if not child.is_ready:
            return "unstarted", str(child.process.returncode).encode(), was_fresh
        return "limits", b"", was_fresh
    header, answer = answered
    if header["last"]:
        child.close()
    else:
        _pool.give_back(child)
    return header["status"], answer, was_fresh


def _content(answer: dict[str, Any]) -> Content:
    """What a child answers, without the characters that no text in the database has.

    Files write them as escapes, and a child is not trusted to leave them out.
    """
    text, replaced = clean(answer["text"])
    kept = {name: storable(value) for name, value in answer.items() if name != "text"}
    return Content(
        text=text,
        title=kept["title"],
        language=kept["language"],
        metadata=kept["metadata"],
        external_id=kept["external_id"],
        pages=tuple((offset, page) for offset, page in kept["pages"]),
        headings=tuple((offset, tuple(path)) for offset, path in kept["headings"]),
        links=tuple((offset, target) for offset, target in kept["links"]),
        replaced=kept["replaced"] + replaced,
        pages_without_text=kept["pages_without_text"],
        conversations=tuple(kept["conversations"]),
    )
