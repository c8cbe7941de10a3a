"""Folders whose files are edited, copied, renamed and removed, and what a corpus has of them."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb

NAMES = ["a.md", "b.md", "sub/a.md", "sub/c.txt", "LICENSE.txt", "z.md"]
TEXTS = [
    "# Loans\n\nA kite is lent for a week.\n",
    "# Loans\n\nA kite is lent for a week.\n\n# Fees\n\nA late kite costs a coin.\n",
    "Grinders spark.\n",
    "---\nid: rules\n---\n\nWear goggles.\n",
]
RECORDS = TEXTS[3:]


def step(folder: Path, chance: random.Random) -> None:
    """Edit, copy, rename or remove a file."""
    here = sorted(p for p in folder.rglob("*") if p.is_file())
    there = folder / chance.choice(NAMES)
    there.parent.mkdir(exist_ok=True)
    act = chance.choice(["edit", "edit", "copy", "rename", "remove"])
    if act == "edit" or not here:
        there.write_text(chance.choice(TEXTS))
    elif act == "copy" and (one := chance.choice(here)) != there:
        shutil.copy(one, there)
    elif act == "rename":
        chance.choice(here).replace(there)
    elif act == "remove" and len(here) > 1:
        chance.choice(here).unlink()


def expected(folder: Path) -> list[tuple[str, list[str]]]:
    """Bytes and names of documents: one for each file, and one for all copies of a record."""
    found: dict[tuple[bytes, str | None], list[str]] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            data, name = path.read_bytes(), f"docs/{path.relative_to(folder).as_posix()}"
            found.setdefault((data, None if data.decode() in RECORDS else name), []).append(name)
    return sorted(
        ("sha256:" + hashlib.sha256(data).hexdigest(), sorted(names))
        for (data, _), names in found.items()
    )


@pytest.mark.by_day(1)
@pytest.mark.parametrize("seed", range(4))
def test_what_a_folder_holds_is_what_is_found_under_each_name(
    db: psycopg.Connection[Any], tmp_path: Path, seed: int
) -> None:
    database, chance = ragdb.Database(db), random.Random(seed)
    folder = tmp_path / "docs"
    folder.mkdir()
    for _ in range(8):
        for _ in range(chance.randint(1, 3)):
            step(folder, chance)
        report = database.ingest(folder, corpus="docs", prune=True)
        assert report.failed == 0
        documents = database.list_documents("docs")
        wanted = expected(folder)
        assert sorted((row.doc_cid, row.sources) for row in documents) == wanted
        assert database.check_corpus("docs") == []
        assert {hit.source for hit in database.search("docs", "kite", k=50)} == {
            row.source
            for row in documents
            if "kite" in (database.document_text("docs", row.source) or "")
        }
        for row in documents:
            asked = {"source": row.source}
            assert {hit.source for hit in database.search("docs", "kite", filter=asked)} <= {
                row.source
            }
            original = (folder / row.source.removeprefix("docs/")).read_bytes()
            assert database.get_blob(row.doc_cid).bytes == original
        again = database.ingest(folder, corpus="docs", prune=True)
        assert (again.written, again.pruned) == (0, 0)
