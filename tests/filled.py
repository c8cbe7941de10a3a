"""One server of each version is filled in a run, and every server of the tests begins as its copy.

To initialise and to migrate takes two seconds of a processor; to copy takes a twentieth of one.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import fasteners  # type: ignore[import-untyped]

from ragdb.server import embedded


class Filled:
    """What processes of a run tell each other in a folder of theirs: who has a filled server."""

    told: Path

    @contextmanager
    def copied(self, to: Path, version: int, fill: Callable[[str], None]) -> Iterator[str]:
        """The URI of a server on a copy. Where there is none to copy, one is filled beside it.

        Until the end of the block other processes may copy that, too.
        """
        told, ours = self.told / f"filled{version}", to.with_name(f"filled{version}")
        with self._alone(version):
            source = Path(told.read_text()) if told.exists() else ours
            # the process that filled it may be gone without having said so
            if not source.exists():
                source = ours
                fill(embedded.start(source, version))
                embedded.stop(source, version)
                told.write_text(str(source))
            # with its owner, who is another where root runs the tests
            subprocess.run(["cp", "-a", source, to], check=True)
        try:
            yield embedded.start(to, version)
        finally:
            with self._alone(version):
                if source == ours:
                    told.unlink()

    def _alone(self, version: int) -> fasteners.InterProcessLock:
        return fasteners.InterProcessLock(self.told / f"filled{version}.lock")
