"""The limits of ragdb are one list, which others keep."""

from __future__ import annotations

import re
from pathlib import Path

import ragdb
from tests.conftest import Connection


def test_every_limit_has_a_value(db: Connection) -> None:
    found = db.execute("select to_jsonb(ragdb_internal.limits())").fetchone()
    assert found is not None
    assert all(isinstance(value, int) and value > 0 for value in found[0].values())


def test_python_warns_of_a_text_where_the_index_cuts_it(db: Connection) -> None:
    sources = "".join(file.read_text() for file in Path(ragdb.__file__).parent.rglob("*.py"))
    (indexed,) = re.findall(r"^INDEXED = ([0-9_]+)  # characters", sources, re.MULTILINE)
    row = db.execute("select (ragdb_internal.limits()).indexed_characters").fetchone()
    assert row == (int(indexed),)
