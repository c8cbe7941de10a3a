"""What tests start ends with them, also where a signal ends the run without its fixtures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.forked import Forked

RUN = """
import os, time
from tests.forked import Forked

process = Forked("serve", "--port", "0", env=dict(os.environ))
print(process.pid, process.stderr.readline(), flush=True)
time.sleep(600)
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)]
)
def test_a_server_of_a_run_that_is_killed_ends_with_it(clone: str, how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUN],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "RAGDB_DATABASE_URL": clone},
        text=True,
    ) as run:
        assert run.stdout is not None
        pid, said = run.stdout.readline().split(" ", 1)
        assert "listening on" in said
        server = psutil.Process(int(pid))
        run.send_signal(how)
        server.wait(120)


def test_what_goes_on_behind_its_block_is_killed(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that timed out waited for good for what it had started."""
    monkeypatch.setattr(Forked, "patience", 1)
    started = Forked("serve", "--port", "0", env={**os.environ, "RAGDB_DATABASE_URL": clone})
    with pytest.raises(subprocess.TimeoutExpired), started:
        assert "listening on" in started.stderr.readline()
    assert started.returncode == -signal.SIGKILL
