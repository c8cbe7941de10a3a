"""The step of the build that puts the extension's script into the wheel: see pyproject.toml.

The build has the source tree and setuptools, and nothing else that is ours to import.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[1]
# what an installation finds under other names
NAMES = {
    "ragdb.sql": "sql",
    "ragdb.migrations": "migrations",
    "ragdb.migrations.versions": "migrations.versions",
}


class BuildPy(build_py):
    """Copies the package, and writes the script beside the control file."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # `make extension` writes it into the source tree
            return
        sys.path.insert(0, str(ROOT))
        for installed, here in NAMES.items():
            sys.modules[installed] = importlib.import_module(here)
        extension = importlib.import_module("extension")
        target = Path(self.build_lib) / "ragdb/extension" / extension.path().name
        target.write_text(extension.script(), "utf-8")
