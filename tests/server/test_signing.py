"""Signing keys that are kept in a file."""

from __future__ import annotations

from pathlib import Path

from ragdb.server import signing


def test_a_key_is_added_below_a_line_that_lacks_its_end(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    first = signing.create(file, "first")
    file.write_text(f"# the first\n{first}")
    both = signing.create(file, "second")
    assert both.split(",")[1] == first
    assert sorted(signing.read(file).split(",")) == sorted(both.split(","))
    assert "\n\n" not in file.read_text()
