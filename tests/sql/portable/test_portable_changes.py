"""Which changes of a corpus that leaves go into the next page."""

from __future__ import annotations

import pytest

from tests.conftest import Connection


@pytest.mark.parametrize(
    ("version", "count", "keys"),
    [
        (4, 9, []),
        (5, 9, ["d 1"]),
        (6, 9, ["d 1", "d 2", "s a.md"]),
        (7, 9, ["d 1", "d 2", "d 3", "s a.md"]),
        (7, 2, ["d 1", "d 2"]),
    ],
)
def test_a_page_has_what_changed_up_to_its_version_and_nothing_newer(
    db: Connection, version: int, count: int, keys: list[str]
) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    ((corpus_id,),) = db.execute(
        "select corpus_id from ragdb.corpora where name = 'docs'"
    ).fetchall()
    # given changes, of which a writer that commits while the page is made made the newest
    db.cursor().executemany(
        "insert into ragdb.move_changes (corpus_id, key, version) values (%s, %s, %s)",
        [
            (corpus_id, key, at)
            for key, at in (("d 1", 5), ("d 2", 6), ("s a.md", 6), ("d 2", 7), ("d 3", 7))
        ],
    )
    ((found,),) = db.execute(
        "select ragdb_internal.next_changes(%s, %s, %s)", (corpus_id, version, count)
    ).fetchall()
    assert found == keys
