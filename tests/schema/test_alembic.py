"""What Alembic is asked for and does not do here: it answers in one sentence."""

from __future__ import annotations

import psycopg
import pytest
from alembic.config import main

from tests.schema.conftest import ROOT
from tests.schema.facts import facts

# the others of a kind by night
CASES = {
    "downgrade base": "migrations of ragdb go up only",
    "check": "alembic has nothing to compare with",
    "upgrade head --sql": "--sql makes no script",
}
BY_NIGHT = {
    "downgrade -1": "migrations of ragdb go up only",
    "downgrade head:base --sql": "--sql makes no script",
}


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        *CASES.items(),
        *(pytest.param(*case, marks=pytest.mark.nightly) for case in BY_NIGHT.items()),
    ],
)
def test_alembic_says_in_one_sentence_what_it_does_not_do(
    clone: str,
    untouched: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    asked: str,
    said: str,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)
    with pytest.raises(SystemExit) as ended:
        main(asked.split())
    assert ended.value.code not in (None, 0)
    (line,) = "".join(capfd.readouterr()).strip().splitlines()
    assert said in line
    with psycopg.connect(clone) as connection:
        assert facts(connection) == untouched
