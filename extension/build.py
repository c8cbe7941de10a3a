"""The step of the build that puts the extension's script into the wheel: see pyproject.toml.

The build has the source tree and setuptools, and nothing else that is ours to import.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[1]


class BuildPy(build_py):  # type: ignore[misc]
    """Copies the package, and writes the script beside the control file."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # `make extension` writes it into the source tree
            return
        sys.path.insert(0, str(ROOT))
        extension = importlib.import_module("ragdb.extension")
        target = Path(self.build_lib) / "ragdb/extension" / extension.path().name
        target.write_text(extension.script(), "utf-8")
