"""Programs of a server that looks for extensions beside them alone.

Other checkouts run the same programs, so a test must not put its extension there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import pytest

from ragdb.server import postgres
from tests.watcher import watched_folder

LOOKS_ELSEWHERE = 18  # the first version that has extension_control_path


@contextmanager
def own_programs(version: int) -> Iterator[None]:
    """Have this process run programs of its own, where the version needs them."""
    if version >= LOOKS_ELSEWHERE:
        yield
        return
    usual = postgres.programs
    # not in memory: programs may not run there on every machine
    with watched_folder(Path(tempfile.gettempdir())) as home, pytest.MonkeyPatch.context() as patch:
        copy = _copied(usual(version), home)

        @wraps(usual.__wrapped__)
        def programs(of: int) -> Path:
            return copy if of == version else usual(of)

        patch.setattr(postgres, "programs", programs)
        yield


def _copied(bin: Path, home: Path) -> Path:
    """A copy of a folder of programs, laid out as the wheel is, with links to what they read."""
    installed, wheel = bin.parent, bin.parents[1]
    copy = home / installed.relative_to(wheel.parent)
    shutil.copytree(bin, copy / "bin")
    (copy / "lib").symlink_to(installed / "lib")
    shutil.copytree(installed / "share", copy / "share", copy_function=os.symlink)
    libraries = wheel.with_name(f"{wheel.name}.libs")
    if libraries.exists():
        (home / libraries.name).symlink_to(libraries)
    return copy / "bin"
