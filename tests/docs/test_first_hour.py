"""README's commands in a new environment: the built package, its dependencies, no torch."""

from __future__ import annotations

import pytest

from tests.watcher import watched_folder
from tools.first_hour import first_hour


@pytest.mark.nightly
def test_what_readme_says_works_on_a_new_machine() -> None:
    with watched_folder() as home:
        newcomer = home / "newcomer"
        newcomer.mkdir(mode=0o755)
        steps = first_hour(newcomer)
    for name, seconds, _ in steps:
        print(f"{seconds:7.1f} s  {name}")
    said = {name: printed for name, _, printed in steps}
    assert " written" in said["ragdb ingest ./docs --corpus docs"]
    (searched,) = [printed for name, printed in said.items() if name.startswith("ragdb search")]
    assert ".md" in searched
    assert "docs/" in said["the Python of README"]
    assert "docs/" in said["the SQL of README"]
    assert "the schema was installed" in said["ragdb init"]
