"""Signing keys that are kept in a file."""

from __future__ import annotations

import resource
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragdb.server import signing


def test_a_key_is_added_below_a_line_that_lacks_its_end(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    first = signing.create(file, "first")
    file.write_text(f"# the first\n{first}")
    both = signing.create(file, "second")
    assert both.split(",")[1] == first
    assert sorted(signing.read(file).split(",")) == sorted(both.split(","))
    assert "\n\n" not in file.read_text()
    # one that is there signed something already
    assert signing.create(file, "first") == signing.read(file)
    assert len(signing.read(file).split(",")) == 2


def test_a_session_with_a_key_keeps_its_other_options(
    clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = signing.create(tmp_path / "keys", "outside")
    shown = "select current_setting('work_mem'), current_setting('ragdb.signing_key')"
    for dsn in (make_conninfo(clone, options="-c work_mem=7MB"), clone):
        with psycopg.connect(signing.with_keys(dsn, key)) as db:
            assert db.execute(shown).fetchone() == ("7MB", key)
        monkeypatch.setenv("PGOPTIONS", "-c work_mem=7MB")


def test_a_key_for_which_there_is_no_room_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    signing.create(file, "first")
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # half a line fits, as on a disk that is full then
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            signing.create(file, "second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    assert len(signing.create(file, "second").split(",")) == 2
