"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from ragdb import files


def test_what_a_full_disk_does_not_take_leaves_nothing_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, new = tmp_path / "kept", tmp_path / "key.pem"
    kept.write_text("old")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left") as failed:
        files.replace(kept, b"new")
    assert failed.value.filename == str(kept)
    with pytest.raises(OSError, match="No space left") as failed:
        files.create(new, b"key")
    assert failed.value.filename == str(new)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("kept", "old")]


@pytest.mark.parametrize("to", ["there", "/dev/null"])
def test_a_link_that_is_written_to_stays_a_link(tmp_path: Path, to: str) -> None:
    (tmp_path / "there").write_text("old")
    link = tmp_path / "link"
    link.symlink_to(to)
    files.replace(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "there").read_text() == ("new" if to == "there" else "old")
    assert {file.name for file in tmp_path.iterdir()} == {"link", "there"}


def test_only_drafts_that_nobody_writes_any_more_are_cleared(tmp_path: Path) -> None:
    old, fresh, other = (tmp_path / name for name in (".a.0a1b2c3d", ".a.4e5f6a7b", ".ab.0a1b2c3d"))
    for file in (old, fresh, other):
        file.write_text("draft")
    for file in (old, other):
        os.utime(file, (0, 0))
    files.replace(tmp_path / "a", b"whole")
    assert {file.name for file in tmp_path.iterdir()} == {"a", fresh.name, other.name}


def test_a_new_file_takes_the_place_of_none(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    files.create(key, b"first")
    with pytest.raises(FileExistsError):
        files.create(key, b"second")
    assert (key.read_bytes(), key.stat().st_mode & 0o777) == (b"first", 0o600)
