"""Times as they are typed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ragdb.cli.session import Failure
from ragdb.cli.times import moment


@pytest.mark.parametrize(
    ("typed", "ago"), [("7d", timedelta(days=7)), ("36h", timedelta(hours=36)), ("0d", timedelta())]
)
def test_a_time_may_be_so_long_ago(typed: str, ago: timedelta) -> None:
    found = moment("--since", typed)
    assert found is not None
    assert abs(datetime.now(UTC) - ago - found) < timedelta(minutes=1)


def test_a_time_is_that_of_the_zone_that_it_names() -> None:
    assert moment("--since", "2026-03-01T12:00+02:00") == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert moment("--since", None) is None


@pytest.mark.parametrize(
    "typed", ["yesterday", "7", "7 d", "-1d", "999999d", "d", "٧d", "", "0001-01-01T00:00+14:00"]
)
def test_what_is_no_time_is_refused_with_how_to_write_one(typed: str) -> None:
    with pytest.raises(Failure) as refused:
        moment("--since", typed)
    assert "7d" in str(refused.value.hint)
