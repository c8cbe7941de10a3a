"""Types README's commands as a newcomer does, and prints how long each takes.

    python -m tools.first_hour [--keep FOLDER]

A folder of its own holds the checkout, a new virtual environment without torch, a new HOME, and the
data of the embedded server. Everything comes from README.md: the commands of "First result", its
Python, its SQL, and `ragdb init` on a database of one's own. It needs the package index.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
# what is made here and belongs to nobody's checkout
LEFT_OUT = (".*", "build", "dist", "*.egg-info", "__pycache__", "ragdb--*.sql")


class Failed(Exception):
    """A command of README ended otherwise than with 0."""


@dataclass
class Newcomer:
    """A shell in a checkout, with nothing set that a new machine would not have."""

    home: Path
    steps: list[tuple[str, float, str]] = field(default_factory=list)
    exit_code: int = 0
    superuser: str = ""

    def __post_init__(self) -> None:
        self.checkout = self.home / "checkout"
        self.bin = self.home / "venv/bin"
        self.environment = {
            "HOME": str(self.home / "home"),
            "RAGDB_HOME": str(self.home / "data"),
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "PIP_QUIET": "1",
            # where the index is, and how it is reached, is the machine's
            **{k: v for k, v in os.environ.items() if re.match(r"(?i)PIP_.*INDEX|.*_PROXY$", k)},
        }

    def types(self, name: str, *command: str, accepted: int = 0) -> str:
        began = time.monotonic()
        done = subprocess.run(
            command,
            cwd=self.checkout,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.steps.append((name, time.monotonic() - began, done.stdout))
        self.exit_code = done.returncode
        if done.returncode not in (0, accepted):
            raise Failed(f"{name}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout


def first_hour(home: Path) -> list[tuple[str, float, str]]:
    """Each step with its seconds and what it printed. Raises Failed."""
    new = Newcomer(home)
    (home / "home").mkdir()
    shutil.copytree(ROOT, new.checkout, ignore=shutil.ignore_patterns(*LEFT_OUT))
    new.types("python -m venv", sys.executable, "-m", "venv", str(home / "venv"))
    try:
        for kind, text in BLOCK.findall((ROOT / "README.md").read_text()):
            if kind == "python":
                new.types("the Python of README", "python", "-c", text)
            elif kind == "sql":
                new.types("the SQL of README", "ragdb", "psql", "--", "-c", text)
            elif kind == "console":
                for line in re.findall(r"^\$ (.*)", text, re.M):
                    _command(new, line)
    finally:
        if (new.bin / "ragdb").exists():
            new.environment.pop("RAGDB_DATABASE_URL", None)
            new.types("ragdb down", "ragdb", "down")
    return new.steps


def _command(new: Newcomer, line: str) -> None:
    if line == "make demo":  # what it does first is to install torch
        return
    if line.startswith("export RAGDB_DATABASE_URL="):
        new.environment["RAGDB_DATABASE_URL"] = _own_database(new)
        return
    if line != "ragdb init":
        new.types(line, "sh", "-c", line)
        return
    said = new.types(line, "sh", "-c", line, accepted=3)
    if new.exit_code:  # and says what a DBA must run
        for statement in re.findall(r"^[a-z][^:\n]*;$", said, re.M):
            new.types(
                f"(a DBA) {statement}", "ragdb", "psql", "-d", new.superuser, "--", "-c", statement
            )
        new.types(line, "sh", "-c", line)


def _own_database(new: Newcomer) -> str:
    """A database of a login's own, who is nobody special, on the server that runs anyway."""
    where = new.types("ragdb up", "ragdb", "up").strip()
    server = re.sub(r"ragdb@(.*)/ragdb\?", r"postgres@\1/postgres?", where)
    for statement in ("create role me login", "create database db owner me"):
        new.types(f"(a DBA) {statement}", "ragdb", "psql", "-d", server, "--", "-c", statement)
    new.superuser = server.replace("/postgres?", "/db?")
    return new.superuser.replace("postgres@", "me@")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="folder to work in, which stays; must be new")
    chosen = parser.parse_args().keep
    home = chosen or Path(tempfile.mkdtemp(prefix="ragdb-first-"))
    home.mkdir(exist_ok=chosen is None, parents=True)
    home.chmod(0o755)  # as root, the server runs as another user
    try:
        steps = first_hour(home)
    finally:
        if chosen is None:
            shutil.rmtree(home)
    for name, seconds, _ in steps:
        print(f"{seconds:7.1f} s  {name}")
    print(f"{sum(seconds for _, seconds, _ in steps):7.1f} s  in all")


if __name__ == "__main__":
    main()
