"""Which files one process of a parallel run takes: they share what is long in the making."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

# the beginnings of their paths, the longest group first
TOGETHER = {
    # a served site, a browser, the process that `ragdb serve` is forked from
    "served": ("tests/studio/", "tests/http/", "tests/peers/"),
    # sentence-transformers, whose import takes six seconds
    "models": ("tests/models/", "tests/mcp/", "tests/cli/test_cli_verbs.py"),
    # databases made in each of the three ways
    "ways": (
        "tests/schema/test_dump.py",
        "tests/schema/test_slices_restore.py",
        "tests/schema/test_three_ways.py",
    ),
    # a database with traffic
    "reports": ("tests/bi/",),
    # a server that is installed as users have it
    "killed": (
        "tests/ingest/test_crash.py",
        "tests/ledger/test_ledger_crash.py",
        "tests/server/test_kills.py",
        "tests/server/test_lost_server.py",
        "tests/server/test_revival.py",
    ),
}
GROUPS = list(TOGETHER)


def group(node: str) -> str | None:
    """The group of a test, by its id."""
    return next((name for name, begins in TOGETHER.items() if node.startswith(begins)), None)


def rank(item: pytest.Item) -> int:
    """What a run begins with: groups, and files marked `long`, which would end the run alone."""
    of = group(item.nodeid)
    if of is not None:
        return GROUPS.index(of)
    return len(GROUPS) + (item.get_closest_marker("long") is None)


def spread(config: pytest.Config) -> None:
    """Begin the collection in each process of a run at another file.

    To compile the tests takes as long as to import them. What one process has compiled the others
    read, unless all of them come to a file at once.
    """
    process = getattr(config, "workerinput", None)
    if process is None or config.args_source is not config.ArgsSource.TESTPATHS:
        return
    files = sorted(map(str, Path(__file__).parent.rglob("test_*.py")))
    number = int(process["workerid"].removeprefix("gw"))
    begin = len(files) * number // process["workercount"]
    config.args = files[begin:] + files[:begin]


def scheduler(config: pytest.Config, log: Any) -> Any:
    """What gives a process one file after the other, and a group at once."""
    from xdist.scheduler import LoadFileScheduling

    found = LoadFileScheduling(config, log)
    by_file = found._split_scope
    found._split_scope = lambda node: group(node) or by_file(node)
    return found
