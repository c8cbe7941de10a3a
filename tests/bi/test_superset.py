"""Superset imports our export, renders each chart, and its totals are those of the base tables."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.bi.test_export import ragdb

CONFIG = """
SECRET_KEY = "{folder}"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
WTF_CSRF_ENABLED = TALISMAN_ENABLED = RATELIMIT_ENABLED = False
PREVENT_UNSAFE_DB_CONNECTIONS = False
"""


@pytest.fixture(scope="module")
def superset() -> Path:
    """The Python of an environment with apache-superset, which needs older libraries than we do."""
    found = os.environ.get("RAGDB_SUPERSET")
    if found is None:
        pytest.skip("RAGDB_SUPERSET names no Python with apache-superset")
    return Path(found)


@pytest.fixture(scope="module")
def shown(superset: Path, busy: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the charts of the imported dashboards show."""
    folder = tmp_path_factory.mktemp("superset")
    (folder / "config.py").write_text(CONFIG.format(folder=folder))
    of = conninfo_to_dict(busy)
    uri = f"postgresql+psycopg2://bi_reader@/{of['dbname']}?host={of['host']}&port={of['port']}"
    done = ragdb("dashboards", "export", str(folder), "--for", "superset", "--uri", uri)
    assert done.returncode == 0, done.stderr
    env = os.environ | {"SUPERSET_CONFIG_PATH": str(folder / "config.py"), "FLASK_APP": "superset"}
    commands: tuple[list[Path | str], ...] = (
        [superset.parent / "superset", "db", "upgrade"],
        [superset.parent / "superset", "init"],
        [
            superset,
            Path(__file__).with_name("superset_charts.py"),
            folder / "superset/ragdb.zip",
            "x",
        ],
    )
    for command in commands:
        made = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
        assert made.returncode == 0, made.stderr[-20_000:]
    (line,) = (line for line in made.stdout.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


@pytest.mark.nightly
def test_the_dashboards_are_there_and_no_chart_is_empty(shown: Any) -> None:
    assert {title: len(charts) for title, charts in shown["dashboards"].items()} == {
        "ragdb: Operations": 8, "ragdb: Retrieval quality": 4, "ragdb: Evaluations": 2,
        "ragdb: Admissibility": 3,
    }  # fmt: skip
    assert len(shown["charts"]) == 17
    for title, rows in shown["charts"].items():
        assert rows, title
        assert all(any(value is not None for value in row.values()) for row in rows), title


@pytest.mark.nightly
def test_the_totals_are_those_of_the_base_tables(shown: Any, busy: str) -> None:
    with psycopg.connect(busy) as db:
        truth = db.execute(
            "select count(*), count(policy_id), count(error_code),"
            " count(error_code)::float8 / count(*) from ragdb.retrieval_traces"
        ).fetchone()
        modes = db.execute(
            "select retrieval_mode, rank_mode, count(*) from ragdb.retrieval_traces group by 1, 2"
        ).fetchall()
    assert truth is not None
    retrievals, under_policy, errors, error_ratio = truth
    charts = shown["charts"]
    assert charts["Retrievals"] == [{"retrievals": retrievals}]
    assert charts["Errors"] == [{"error_ratio": pytest.approx(error_ratio)}]
    by_policy = {row["policy_key"]: row["retrievals"] for row in charts["Policies"]}
    assert sum(by_policy.values()) == retrievals
    assert sum(n for policy, n in by_policy.items() if policy) == under_policy > 0
    assert sum(row["retrievals"] for row in charts["Failed by error"]) == errors > 0
    assert {(r["retrieval_mode"], r["rank_mode"], r["retrievals"]) for r in charts["Modes"]} == set(
        modes
    )
