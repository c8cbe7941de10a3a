"""A test run that is ended by a signal leaves no server and no folder behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests import watcher

# what is in a server does not matter here
RUN = """
import time
from tests.conftest import Server

Server.fill = lambda uri: None

def test_it_waits(server18):
    time.sleep(600)
"""


@pytest.fixture
def base() -> Iterator[Path]:
    found = Path(tempfile.mkdtemp(dir=watcher.base(), prefix="run-"))
    found.chmod(0o711)
    yield found
    shutil.rmtree(found, ignore_errors=True)


def processes(base: Path) -> list[str]:
    """Those whose command line names a folder: servers, and who watches them."""
    lines = [" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])]
    return [line for line in lines if str(base) in line]


def wait_until(what: str, seconds: float, *, base: Path, running: bool) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        up = bool(list(base.glob("*/pg18/postmaster.pid")))
        if up if running else not (list(base.iterdir()) or processes(base)):
            return
        time.sleep(0.1)
    raise AssertionError(f"{what}: {list(base.iterdir())}, {processes(base)}")


BY_DAY = [(signal.SIGTERM, 0), (signal.SIGKILL, 2)]
BY_NIGHT = [(signal.SIGINT, 0), (signal.SIGKILL, 0), (signal.SIGTERM, 2), (signal.SIGINT, 2)]


@pytest.mark.by_day(1)
@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize(
    ("number", "workers"),
    [*BY_DAY, *(pytest.param(*case, marks=pytest.mark.nightly) for case in BY_NIGHT)],
)
def test_a_run_that_is_ended_leaves_nothing_behind(
    tmp_path: Path, base: Path, number: signal.Signals, workers: int
) -> None:
    (tmp_path / "test_run.py").write_text(RUN)
    run = subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest"),
            *("-p", "xdist", "-n", str(workers)),
            *("-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)),
        ],
        cwd=watcher.ROOT,
        # the plugins that are installed take seconds to import
        env=os.environ | {"RAGDB_TEST_HOME": str(base), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until("no server came", 120, base=base, running=True)
        run.send_signal(number)
        run.wait(120)
        wait_until("left behind", 60, base=base, running=False)
    finally:
        run.kill()
        run.wait()
