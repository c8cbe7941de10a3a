"""`ragdb dashboards export` and `ragdb demo --traffic`, as a user types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import yaml

from ragdb import connect
from tests.bi.conftest import ROOT


def ragdb(*args: str, dsn: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from ragdb.cli.main import main; main()", *args],
        capture_output=True,
        text=True,
        env=os.environ | ({"RAGDB_DATABASE_URL": dsn} if dsn else {}),
        timeout=120,
    )


def test_what_is_exported_is_what_is_checked_in(tmp_path: Path) -> None:
    done = ragdb("dashboards", "export", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    written = {Path(line) for line in done.stdout.splitlines()}
    assert written == {path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    for folder, suffixes in (
        ("dashboards", {".json", ".yaml", ".yml"}),
        ("reports", {".sql", ".psql"}),
    ):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes:
                below = "" if folder == "dashboards" else "reports"
                copy = tmp_path / "out" / below / path.relative_to(ROOT / folder)
                assert copy.read_text() == path.read_text()
                written.discard(copy)
    assert written == set()


def test_files_that_are_there_are_kept_unless_forced(tmp_path: Path) -> None:
    kept = tmp_path / "grafana/operations.json"
    kept.parent.mkdir()
    kept.write_text("mine")
    done = ragdb("dashboards", "export", str(tmp_path))
    assert done.returncode == 2
    assert str(kept) in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]
    assert ragdb("dashboards", "export", str(tmp_path), "--force").returncode == 0
    assert json.loads(kept.read_text())["uid"] == "ragdb-operations"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = ragdb("dashboards", "export", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_provisioning_names_what_the_dashboards_use() -> None:
    folder = ROOT / "dashboards/provisioning"
    (source,) = yaml.safe_load((folder / "datasources/ragdb.yaml").read_text())["datasources"]
    (provider,) = yaml.safe_load((folder / "dashboards/ragdb.yaml").read_text())["providers"]
    assert provider["type"] == "file"
    assert source["user"] == "bi_reader"
    for path in (ROOT / "dashboards/grafana").glob("*.json"):
        (variable,) = (
            v
            for v in json.loads(path.read_text())["templating"]["list"]
            if v["name"] == "datasource"
        )
        assert variable["query"] == source["type"]
        assert variable["current"]["value"] == source["uid"]


def test_the_demo_with_traffic_leaves_traces_to_look_at(clone: str) -> None:
    with connect(clone) as db:
        # the demo embeds by what the corpus has, and this needs no model
        db.create_corpus("demo")
        db.create_embedder("words", 256)
        db.bind_embedder("words", "hash", "hash-v1")
        db.embed_corpus("demo", "words")
    done = ragdb("demo", "--traffic", "--queries", "60", dsn=clone)
    assert done.returncode == 0, done.stderr
    assert "fell short" in done.stdout
    again = ragdb("demo", "--traffic", "--queries", "30", dsn=clone)
    assert again.returncode == 0, again.stderr
    with psycopg.connect(clone, user="bi_reader") as reader:
        ((retrievals, errors, zero_results, admissible, shortfalls),) = reader.execute(
            "select sum(retrievals), sum(errors), sum(zero_results), sum(admissible), sum(shortfalls)"
            " from agg_retrieval_day where corpus = 'demo'"
        ).fetchall()
        ((traces,),) = reader.execute(
            "select count(*) from fact_retrieval where corpus = 'demo'"
        ).fetchall()
    assert retrievals == traces > 100
    assert min(errors, zero_results, admissible) > 0
    # two a run, and the slice of the demo itself, which no worker has embedded yet
    assert shortfalls == 5
