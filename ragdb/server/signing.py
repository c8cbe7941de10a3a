"""The secrets of signing keys that are kept outside of the database, and how a session gets them.

A line of the file, or of what the command prints, is `ID:HEX`. They go to the server in the
startup packet: a statement or its parameters would stand in logs and in pg_stat_activity.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragdb import files
from ragdb.client import connecting

FILE, COMMAND = "RAGDB_SIGNING_KEY_FILE", "RAGDB_SIGNING_KEY_COMMAND"
LINE = re.compile(r"[A-Za-z0-9_-]{1,64}:([0-9a-fA-F]{2}){32,128}")


class SigningKeyError(Exception):
    """The secrets cannot be had or sent: no such file, what is not ID:HEX, a pooler before it."""

    exit_code = 2
    hint = f"a line of {FILE}, or of what {COMMAND} prints, is ID:HEX with 32 to 128 bytes"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint or self.hint


def given(signing_key: str | None = None) -> str | None:
    """The keys as `ragdb.signing_key` takes them: those given, or those that the environment names.

    None where nothing names any. Raises SigningKeyError.
    """
    if signing_key is not None:
        return _joined(signing_key, "signing_key")
    if file := os.environ.get(FILE):
        return read(file)
    if command := os.environ.get(COMMAND):
        return _printed(command)
    return None


def read(file: str | os.PathLike[str]) -> str:
    """The keys in a file. Raises SigningKeyError, also where others may read it."""
    try:
        if Path(file).stat().st_mode & 0o077:
            raise SigningKeyError(f"{file} can be read by others; run chmod 600 on it")
        return _joined(Path(file).read_text("ascii"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise SigningKeyError(f"{file} cannot be read: {error}") from None


def create(file: str | os.PathLike[str], key_id: str) -> str:
    """Add a new key to a file that only its owner may read, and return all keys in it.

    A file that is there keeps its keys: they verify what they signed. Raises SigningKeyError.
    """
    kept = read(file) if Path(file).exists() else ""
    if key_id in [key.partition(":")[0] for key in kept.split(",")]:
        return kept
    line = _joined(f"{key_id}:{secrets.token_hex(32)}", "the key's id")
    files.append(Path(file), f"{line}\n")
    return ",".join(key for key in (line, kept) if key)


def with_keys(conninfo: str, signing_key: str | None = None, **parameters: Any) -> str:
    """A conninfo whose sessions are given the keys; `parameters` are those of the connection.

    Where there are keys, it connects once without them: PgBouncer writes a startup packet that it
    does not take, keys and all, into its log. Raises SigningKeyError, psycopg.OperationalError.
    """
    keys = given(signing_key)
    if keys is None:
        return conninfo
    named = {key: value for key, value in parameters.items() if isinstance(value, str | int)}
    with connecting.connect(conninfo, **named) as connection:
        if connecting.is_pooled(connection):
            raise SigningKeyError(
                "a pooler answers, and no key is sent through one",
                f"connect to the server itself, or without {FILE} and {COMMAND} (docs/poolers.md)",
            )
    options = conninfo_to_dict(conninfo).get("options") or os.environ.get("PGOPTIONS", "")
    return make_conninfo(conninfo, options=f"{options} -c ragdb.signing_key={keys}".strip())


def _printed(command: str) -> str:
    try:
        done = subprocess.run(
            shlex.split(command) or [command],  # of spaces alone there is no program
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=60,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise SigningKeyError(f"{COMMAND} cannot be run: {error}") from None
    if done.returncode:
        raise SigningKeyError(f"{COMMAND} ended with status {done.returncode}")
    return _joined(done.stdout.decode("ascii", "replace"), f"what {COMMAND} printed")


def _joined(text: str, where: str) -> str:
    """Never quotes what it refuses, which may be a part of a secret."""
    lines = [line.strip() for line in re.split(r"[\n,]", text)]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys or not all(LINE.fullmatch(key) for key in keys):
        raise SigningKeyError(f"{where} is not lines of ID:HEX")
    return ",".join(keys)
