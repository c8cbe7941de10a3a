"""`tools.screenshots` finds each page that it is to show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import run_forked


@pytest.mark.nightly
def test_each_page_with_an_id_is_found_where_a_list_links_to_it(
    clone: str, packaged: None, tmp_path: Path
) -> None:
    environment = {**os.environ, "RAGDB_DATABASE_URL": clone}
    made = run_forked("demo", "--traffic", "--queries", "150", env=environment, timeout=300)
    assert made.returncode == 0, made.stderr
    tool = [sys.executable, "-m", "tools.screenshots", str(tmp_path), "why"]
    done = subprocess.run(tool, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "no " not in done.stdout  # a page to which nothing links
    assert "400" not in done.stdout
    assert (tmp_path / "why-dark-360.png").is_file()
