"""A program of the user's that makes one file of another, as OCR does: `--convert`.

It runs with limits of memory, processor time and written bytes, in an empty folder, with nothing of
the environment but a path: no passwords, no keys. What it makes is as untrusted as what it read,
and goes to a reader like any other file. Unlike a reader it may open files and start processes,
because programs do.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from ragdb.files import NO_ROOM
from ragdb.readers import formats, gz, plugs
from ragdb.readers.document import ReadError
from ragdb.readers.sandbox import starting

_MEMORY = 4 * 2**30
_SECONDS = 600
_BYTES_PER_SECOND = 50_000
_MAX_OUTPUT = 256 * 2**20
_OUT = re.compile(r"\{out(\.[A-Za-z0-9]{1,10})?\}")
_ENDING = re.compile(r"\.[a-z0-9]{1,16}")
# in a process of its own, because nothing may run between fork and exec in one with threads
_LIMITED = f"""
import os, resource as r, sys
seconds = int(sys.argv[1])
r.setrlimit(r.RLIMIT_CORE, (0, 0))
r.setrlimit(r.RLIMIT_CPU, (seconds, seconds))
r.setrlimit(r.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
r.setrlimit(r.RLIMIT_FSIZE, ({_MAX_OUTPUT}, {_MAX_OUTPUT}))
os.execvp(sys.argv[2], sys.argv[2:])
"""
_HINT = "write --convert '.pdf=ocrmypdf {in} {out}'; without {out} its output is the text"


def rules(given: Iterable[str]) -> dict[str, str]:
    """The commands by ending. Raises ValueError for what is not `.ending=command {in}`.

    >>> rules([".pdf=ocrmypdf {in} {out}"])
    {'.pdf': 'ocrmypdf {in} {out}'}
    """
    found: dict[str, str] = {}
    for rule in given:
        ending, equals, command = rule.partition("=")
        ending = ending.strip().lower()
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if not equals or not _ENDING.fullmatch(ending) or not any("{in}" in w for w in words):
            raise ValueError(f"{rule[:200]!r} does not say how to convert a file; {_HINT}")
        found[ending] = command.strip()
    return found


def command_for(name: str, commands: Mapping[str, str] | None) -> str | None:
    """The command for a file of that name: one for packed files, or one for what is packed."""
    commands = commands or {}
    return commands.get(PurePosixPath(name.lower()).suffix) or commands.get(formats.ending(name))


def given_to(
    commands: Mapping[str, str], data: bytes, name: str, max_bytes: int
) -> tuple[bytes, str]:
    """A file as its command gets it, and its name: unpacked, unless the command is for `.gz`.

    Raises ReadError as `gz.unpack` does.
    """
    if ".gz" in commands or not name.lower().endswith(".gz") or not data.startswith(gz.MAGIC):
        return data, name
    return gz.unpack(data, max_bytes), name[:-3]


def identity(command: str) -> list[Any]:
    """What a command makes files by, as far as it can be seen: itself, and the files it names.

    A program that is installed anew has another time, also where only what it imports is another.
    """
    found: list[Any] = [command]
    for word in shlex.split(command):
        if path := shutil.which(word) or (word if os.path.isfile(word) else None):
            state = os.stat(path)
            found.append((path, state.st_size, state.st_mtime_ns))
    return found


def convert(command: str, data: bytes, name: str) -> tuple[bytes, str]:
    """What a command makes of a file, and its name, whose ending says the type.

    `{in}` is the file, `{out}` the file to be made, which ends like it; `{out.txt}` ends otherwise.
    Without it, what the command prints is a text. A file of a type that nothing reads gets a name
    without an ending: its bytes say what it is. Raises ReadError `not_converted`, or `limits`.
    """
    base = PurePosixPath(name.lower())
    seconds = _SECONDS + len(data) // _BYTES_PER_SECOND
    out = _OUT.search(command)
    ending = (out[1] or base.suffix) if out else ".txt"
    with TemporaryDirectory(prefix="ragdb-convert-") as folder:
        source, made = Path(folder, f"in{base.suffix}"), Path(folder, f"out{ending}")
        try:
            source.write_bytes(data)
        except OSError as error:
            said = f"{folder} cannot be written to: {error.strerror}"
            raise ReadError("not_converted", said, NO_ROOM) from None
        words = [
            _OUT.sub(str(made), word).replace("{in}", str(source)) for word in shlex.split(command)
        ]
        printed = Path(folder, "printed")
        _run(words, folder, printed, seconds)
        result = made if out else printed
        try:
            size = result.stat().st_size
            if result.is_symlink() or size > _MAX_OUTPUT:
                raise ReadError("limits", f"{words[0][:80]} made {size} bytes of it", "split it")
            content = result.read_bytes()
        except OSError:
            content = b""
    if not content:
        raise ReadError("not_converted", f"{words[0][:80]} made nothing of it", "try it by hand")
    return content, f"converted{ending if _is_read(ending) else ''}"


def _is_read(ending: str) -> bool:
    return ending in formats.BY_ENDING or ending in plugs.endings()


def not_read(command: str, error: ReadError) -> ReadError:
    """Why what a command made is of no use, and what to write instead."""
    made = f"what {shlex.split(command)[0][:80]} made of it is not read: {error.reason}"
    return ReadError("not_converted", made, "{out.txt} or {out.pdf} asks for a type that is read")


def _run(words: list[str], folder: str, printed: Path, seconds: int) -> None:
    if shutil.which(words[0]) is None:
        raise ReadError(
            "not_converted", f"{words[0][:80]} is not installed", "install it, or give its path"
        )
    complaints = Path(folder, "complaints")
    with printed.open("wb") as out, complaints.open("wb") as err:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _LIMITED, str(seconds), *words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=starting()
                | {
                    "PATH": os.environ.get("PATH", os.defpath),
                    "HOME": folder,
                    "TMPDIR": folder,
                    "LANG": "C.UTF-8",
                },
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ReadError(
                "not_converted", f"{words[0][:80]} cannot be run", str(error)[:80]
            ) from None
        code = None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(2 * seconds)
        finally:  # an interrupt too
            # what it started goes with it
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code is None or code in (-signal.SIGXCPU, -signal.SIGXFSZ, -signal.SIGKILL):
        raise ReadError(
            "limits", f"{words[0][:80]} did not end within {seconds} s and its limits", "split it"
        )
    if code:
        with complaints.open("rb") as file:
            said = " ".join(file.read(4096).decode("utf-8", "replace").split())
        said = "".join(c for c in said if c.isprintable())[-200:]
        why = f": {said}" if said else ", and did not say why"
        raise ReadError(
            "not_converted", f"{words[0][:80]} failed ({code}){why}", "try the command by hand"
        )
