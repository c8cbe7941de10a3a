"""A number of things is written by the helper that knows one from many."""

from __future__ import annotations

import re
from pathlib import Path

from ragdb.client.counting import counted
from tests.conftest import Connection

ROOT = Path(__file__).resolve().parents[1]
THINGS = (
    "blobs|cases|changes|chunks|citations|documents|entries|errors|files|hits|queries|rows"
    "|runs|sources|tokens|turns|warnings"
)
# a number that is written before its things; one in capitals is a limit
WRITTEN = re.compile(rf"\{{(?!_?[A-Z])[^{{}}]*\}} (?:{THINGS})\b(?!/)")
IN_PAGES = re.compile(rf"\}}\}} (?:{THINGS})\b")


def test_one_thing_is_one_and_more_are_many(any_db: Connection) -> None:
    things = [(1, "document"), (0, "chunk"), (2, "entry"), (1, "entry"), (3, "corpus"), (2, "byte")]
    words = ["1 document", "0 chunks", "2 entries", "1 entry", "3 corpora", "2 bytes"]
    assert [counted(*one) for one in things] == words
    said = [
        any_db.execute("select ragdb_internal.counted(%s, %s)", one).fetchone() for one in things
    ]
    assert said == [(word,) for word in words]


def test_no_sentence_writes_many_for_one() -> None:
    found = []
    for path in sorted((ROOT / "ragdb").rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for part in re.findall(r"""f"(?:[^"\\]|\\.)*\"""", line):
                if WRITTEN.search(part) and "counted(" not in part:
                    found.append(f"{path.relative_to(ROOT)}:{number}: {part}")
    for path in sorted((ROOT / "ragdb/studio/templates").glob("*.html")):
        found += [f"{path.relative_to(ROOT)}: {one}" for one in IN_PAGES.findall(path.read_text())]
    assert found == []
