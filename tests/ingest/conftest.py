"""What most tests of ingest begin with: a client, and a folder of three documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb


@pytest.fixture
def database(db: psycopg.Connection[Any]) -> ragdb.Database:
    return ragdb.Database(db)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# Alpha\n\nThe first letter.\n\nIt stands in front.\n")
    (folder / "b.txt").write_text("Beta comes after alpha.\n")
    (folder / "deep" / "c.md").write_text("# Gamma\n\nThe third letter. See [alpha](../a.md).\n")
    return folder
