"""`ragdb dashboards export` and `ragdb demo --traffic`, as a user types them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import yaml

from ragdb import connect
from tests.bi.conftest import ROOT
from tests.forked import run_forked


def ragdb(*args: str, dsn: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"RAGDB_DATABASE_URL": dsn} if dsn else {})}
    return run_forked(*args, env=environment, timeout=120)


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def checked_in() -> dict[str, bytes]:
    """What is in dashboards/ and reports/, by its name in an export."""
    suffixes = {".json", ".yaml", ".yml", ".sql", ".psql"}
    return {
        ("reports/" if folder == "reports" else "") + path.relative_to(ROOT / folder).as_posix():
            path.read_bytes()
        for folder in ("dashboards", "reports")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes
    }  # fmt: skip


def test_what_is_exported_is_what_is_checked_in(tmp_path: Path) -> None:
    done = ragdb("dashboards", "export", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    written = below(tmp_path / "out")
    assert {str(tmp_path / "out" / name) for name in written} == set(done.stdout.splitlines())
    expected = checked_in()
    packed = {name for name in expected if name.startswith("superset/")}
    assert written == (expected.keys() - packed) | {"superset/ragdb.zip"}
    for name in expected.keys() - packed:
        assert (tmp_path / "out" / name).read_bytes() == expected[name], name
    with zipfile.ZipFile(tmp_path / "out/superset/ragdb.zip") as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {name.replace("superset/", "ragdb/", 1): expected[name] for name in packed}


def test_one_is_exported_alone_for_a_database_of_ones_own(tmp_path: Path) -> None:
    folders = {"grafana": {"grafana", "provisioning"}, "superset": {"superset"},
               "metabase": {"metabase"}, "dbt": {"dbt"}, "psql": {"reports"}}  # fmt: skip
    uri = "postgresql+psycopg2://me@db.example.org/rag"
    for which, parts in folders.items():
        out = tmp_path / which
        done = ragdb("dashboards", "export", str(out), "--for", which, "--uri", uri)
        assert done.returncode == 0, done.stderr
        assert {path.name for path in out.iterdir()} == parts
    with zipfile.ZipFile(tmp_path / "superset/superset/ragdb.zip") as archive:
        database = yaml.safe_load(archive.read("ragdb/databases/ragdb.yaml"))
    assert database["sqlalchemy_uri"] == uri
    refused = ragdb("dashboards", "export", str(tmp_path), "--for", "excel")
    assert refused.returncode == 2
    assert "metabase" in refused.stderr
    for wrong in ("nonsense", "mysql://me@host/db", "postgresql://me@host:x/db", f"{uri} #", ""):
        refused = ragdb("dashboards", "export", str(tmp_path / "no"), "--uri", wrong)
        assert refused.returncode == 2, wrong
        assert "--uri" in refused.stderr


def test_alerts_ask_what_bi_reader_may_and_stand_beside_their_dashboards(busy: str) -> None:
    rules = yaml.safe_load((ROOT / "dashboards/provisioning/alerting/ragdb.yaml").read_text())
    (group,) = rules["groups"]
    boards = {
        json.loads(p.read_text())["uid"] for p in (ROOT / "dashboards/grafana").glob("*.json")
    }
    assert len(group["rules"]) > 6
    with psycopg.connect(busy, user="bi_reader") as reader:
        for rule in group["rules"]:
            query, threshold = rule["data"]
            assert threshold["refId"] == rule["condition"]
            rows = reader.execute(query["model"]["rawSql"]).fetchall()
            assert all(isinstance(value, float | int | Decimal) for (value,) in rows), rule["uid"]
            assert rows, rule["uid"]
            assert rule["annotations"]["__dashboardUid__"] in boards


def test_panels_lead_to_studio() -> None:
    paths = list((ROOT / "dashboards/grafana").glob("*.json"))
    assert paths
    for path in paths:
        board = json.loads(path.read_text())
        assert "studio" in {variable["name"] for variable in board["templating"]["list"]}
        links = [
            link["url"]
            for panel in board["panels"]
            for override in panel["fieldConfig"]["overrides"]
            for wanted in override["properties"]
            if wanted["id"] == "links"
            for link in wanted["value"]
        ]
        assert any(link.startswith("${studio}/studio/traces/") for link in links)
        # what a cell holds does not change where the link leads
        assert all("${__value.raw:percentencode}" in link for link in links)


def test_questions_of_metabase_run_and_have_rows(busy: str) -> None:
    boards = json.loads((ROOT / "dashboards/metabase/dashboards.json").read_text())
    with psycopg.connect(busy, user="bi_reader") as reader:
        for board in boards:
            for card in board["cards"]:
                native = card["dataset_query"]["native"]
                query = re.sub(r"\[\[.*?\]\]", "", native["query"])
                values = {"since": "'2020-01-01'", "until": "'2100-01-01'", "grain": "'day'"}
                for name in native["template-tags"]:
                    query = query.replace(f"{{{{{name}}}}}", values.get(name, ""))
                assert "{{" not in query
                assert reader.execute(query.encode()).fetchall(), card["name"]


def test_dbt_tests_hold_on_real_rows(busy: str) -> None:
    (source,) = yaml.safe_load((ROOT / "dashboards/dbt/sources.yml").read_text())["sources"]
    exposures = yaml.safe_load((ROOT / "dashboards/dbt/exposures.yml").read_text())["exposures"]
    names = {table["name"] for table in source["tables"]}
    for exposure in exposures:
        used = {
            of.removeprefix("source('ragdb', '").removesuffix("')") for of in exposure["depends_on"]
        }
        assert used
        assert used <= names
    held = 0
    with psycopg.connect(busy, user="bi_reader") as reader:
        for table in source["tables"]:
            for column in table["columns"]:
                for test in column.get("data_tests", ()):
                    query = breaches(table["name"], column["name"], test)
                    assert reader.execute(query.encode()).fetchall() == [], (query, test)
                    held += 1
    assert held > 80


def breaches(view: str, column: str, test: Any) -> str:
    """What dbt asks for a test: the rows that break it."""
    match test:
        case "unique":
            return (f"select {column} from bi.{view} where {column} is not null"
                    f" group by {column} having count(*) > 1")  # fmt: skip
        case "not_null":
            return f"select from bi.{view} where {column} is null"
        case {"accepted_values": {"arguments": {"values": values}}}:
            listed = ", ".join(f"'{value}'" for value in values)
            return f"select {column} from bi.{view} where {column} not in ({listed})"
        case {"relationships": {"arguments": {"to": to, "field": field}}}:
            target = to.removeprefix("source('ragdb', '").removesuffix("')")
            return (f"select {column} from bi.{view} where {column} is not null"
                    f" and {column} not in (select {field} from bi.{target})")  # fmt: skip
    raise AssertionError(test)


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
    done = ragdb("demo", "--traffic", "--queries", "30", dsn=clone)
    assert done.returncode == 0, done.stderr
    assert "fell short" in done.stdout
    again = ragdb("demo", "--traffic", "--queries", "10", dsn=clone)
    assert again.returncode == 0, again.stderr
    with psycopg.connect(clone, user="bi_reader") as reader:
        ((retrievals, errors, zero_results, admissible, shortfalls),) = reader.execute(
            "select sum(retrievals), sum(errors), sum(zero_results), sum(admissible), sum(shortfalls)"
            " from agg_retrieval_day where corpus = 'demo'"
        ).fetchall()
        ((traces,),) = reader.execute(
            "select count(*) from fact_retrieval where corpus = 'demo'"
        ).fetchall()
    assert retrievals == traces > 40
    assert min(errors, zero_results, admissible) > 0
    # two a run, and the slice of the demo itself, which no worker has embedded yet
    assert shortfalls == 5
