"""Ids that carry their time."""

from __future__ import annotations

from tests.conftest import Connection


def test_a_uuid_of_version_7_carries_its_time_and_sorts_by_it(db: Connection) -> None:
    rows = db.execute(
        "select ragdb_internal.uuid7(t), t"
        " from generate_series('2026-01-02 03:04:05.000001+00'::timestamptz,"
        " '2026-01-02 03:04:05.003+00', '1 microsecond') t"
    ).fetchall()
    assert [one.version for one, _ in rows] == [7] * len(rows)
    assert {one.variant for one, _ in rows} == {"specified in RFC 4122"}
    assert all(one.int >> 80 == int(at.timestamp() * 1000) for one, at in rows)
    assert [one for one, _ in rows] == sorted(one for one, _ in rows)
    assert len({one.int & (1 << 62) - 1 for one, _ in rows}) == len(rows)
