"""What Alembic is asked for and does not do here: it answers in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys

import psycopg
import pytest

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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        *CASES.items(),
        *(pytest.param(*case, marks=pytest.mark.nightly) for case in BY_NIGHT.items()),
    ],
)
def test_alembic_says_in_one_sentence_what_it_does_not_do(
    clone: str, untouched: list[str], asked: str, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alembic", *asked.split()],
        cwd=ROOT,
        env=os.environ | {"RAGDB_DATABASE_URL": clone},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    (line,) = (done.stdout + done.stderr).strip().splitlines()
    assert said in line
    with psycopg.connect(clone) as connection:
        assert facts(connection) == untouched
