"""From a clone to the first hybrid hit: seconds by step, and what it takes on the disk.

A clone of this repository, an environment of its own, an embedded server of its own, and no cache
of pip, all of which go afterwards. pip reads the index that the machine is set up with.

    python -m bench.serve.fresh
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.common import ROOT, folder, parser, publish
from ragdb.server import embedded

QUESTION = "how long do refunds take"


def stored(place: Path) -> int:
    """Bytes of the files under a folder."""
    return sum(f.stat().st_size for f in place.rglob("*") if f.is_file() and not f.is_symlink())


def main() -> None:
    given = parser(__doc__).parse_args()
    table: list[str] = []
    total = 0.0
    with folder() as home:
        clone, data = home / "clone", home / "data"
        data.mkdir(mode=0o755)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RAGDB_")}
        environment |= {"RAGDB_HOME": str(data), "HOME": str(home), "PIP_NO_CACHE_DIR": "1"}

        def step(name: str, command: Sequence[str], place: Path = clone) -> str:
            nonlocal total
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run(
                command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            took = time.perf_counter() - started
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            total += took
            table.append(f"| `{name}` | {took:.1f} | {spent:.1f} |")
            print(table[-1], flush=True)
            return done.stdout

        ragdb = str(clone / ".venv/bin/ragdb")
        ask = [ragdb, "search", QUESTION, "--corpus", "docs", "--json"]
        try:
            step("git clone", ["git", "clone", "-q", str(ROOT), str(clone)], home)
            step("python -m venv .venv", [sys.executable, "-m", "venv", ".venv"])
            pip = [str(clone / ".venv/bin/pip"), "install", "-q"]
            step("pip install '.[static]'", [*pip, ".[static]"])
            step("ragdb init", [ragdb, "init"])
            step("ragdb ingest examples --corpus docs", [ragdb, "ingest", "examples", "-c", "docs"])
            hits = json.loads(step(f'ragdb search "{QUESTION}" --corpus docs', ask))
            first = total
            if hits[0]["mode"] != "hybrid":
                raise SystemExit(f"the first hit is {hits[0]['mode']}")
            step("the same again", ask)
            sizes = f"{stored(clone / '.venv') / 1e6:,.0f} MB installed"
            sizes += f", {stored(data) / 1e6:,.0f} MB of the server's data"
        finally:
            embedded.stop(data / "pg18")
    publish(
        given.results,
        "The first hybrid hit on a fresh machine",
        "no cache of pip; processor seconds are of the commands, not of the server.",
        [
            "| step | s | processor s |",
            "|---|---|---|",
            *table,
            "",
            f"From the clone to the first hit {first:.0f} s; {sizes}.",
        ],
        "18",
    )


if __name__ == "__main__":
    main()
