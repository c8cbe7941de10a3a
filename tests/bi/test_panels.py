"""Every panel and variable of the dashboards runs as bi_reader and shows something."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.server import postgres
from tests.bi.conftest import ROOT, Sent, expanded, sent
from tests.conftest import Connection
from tools.dashboards.panels import DASHBOARDS, report

ALL = sent()
PANELS = {spec.report: spec for _, _, panels in DASHBOARDS.values() for spec in panels}
REPORTS = sorted(
    path for path in (ROOT / "reports").glob("*_*.sql") if path.name != "eval_report.sql"
)


def label(value: Any) -> str:
    return value.name if isinstance(value, Sent | Path) else str(value)


@pytest.mark.parametrize("days", [1, 90])
@pytest.mark.parametrize("one", ALL, ids=label)
def test_it_runs_as_bi_reader_and_has_rows(reader: Connection, one: Sent, days: int) -> None:
    found = reader.execute(expanded(one.sql, days).encode())
    assert found.description is not None
    columns = {column.name: column.type_code for column in found.description}
    rows = found.fetchall()
    assert rows, "nothing to show"
    assert all(any(value is not None for value in row) for row in rows)
    if one.format == "time_series":
        first, *rest = columns
        assert (first, columns[first]) == ("time", psycopg.adapters.types["timestamptz"].oid)
        times = [row[0] for row in rows]
        assert times == sorted(times)
        text = psycopg.adapters.types["text"].oid
        assert [name for name in rest if columns[name] == text] in ([], ["metric"])
        assert len({(row[0], row[1]) if "metric" in columns else row[0] for row in rows}) == len(
            rows
        )
    if one.kind == "variable":
        assert len(columns) == 1


def test_it_runs_on_the_oldest_server_too(busy16: str) -> None:
    with psycopg.connect(busy16, user="bi_reader") as connection:
        for one in ALL:
            assert connection.execute(expanded(one.sql).encode()).fetchall(), one.name


@pytest.mark.parametrize("path", REPORTS, ids=label)
def test_a_report_runs_alone_in_psql_and_says_what_the_panel_says(busy: str, path: Path) -> None:
    done = psql(busy, "--csv", "-f", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) >= 2
    narrowed = psql(
        busy, "--csv", "-v", "since=2020-01-01", "-v", "until=2020-02-01", "-v", "corpus=demo",
        "-f", str(path),
    )  # fmt: skip
    assert (narrowed.returncode, narrowed.stderr) == (0, "")
    header, *rows = csv.reader(narrowed.stdout.splitlines())
    if (
        PANELS[path.stem].kind == "timeseries"
        and PANELS[path.stem].bucketed
        and ("metric" not in header)
    ):
        # every day of the month is shown, and that nothing is known of it; then they are drawn
        days, drawn = rows[:31], rows[31:]
        assert [row[0][:10] for row in days] == [f"2020-01-{day:02}" for day in range(1, 32)]
        assert {value for row in days for value in row[1:]} == {"·"}
        assert {value for row in drawn[1:] for value in row} == {"·" * 31}
    else:
        # an evaluation's latest run is its latest, and a corpus is there, whatever the time
        assert path.stem.endswith(
            ("_totals", "_latest", "_failures", "_corpora", "_backlog", "_ingest")
        ) or not any(row[0][:1].isdigit() for row in rows)


def psql(dsn: str, *args: str) -> subprocess.CompletedProcess[str]:
    as_reader = psycopg.conninfo.make_conninfo(dsn, user="bi_reader")
    return subprocess.run(
        [str(postgres.binary("psql")), "-X", "-d", as_reader, *args],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_every_report_is_a_panel_and_every_panel_a_report() -> None:
    assert sorted(PANELS) == [path.stem for path in REPORTS]
    queries = (ROOT / "tools/panels").glob("*.sql")
    assert sorted(PANELS) == sorted(path.stem for path in queries)


def test_all_reports_are_rounded_titled_and_drawn(busy: str) -> None:
    done = psql(busy, "-f", str(ROOT / "reports/all.sql"))
    assert (done.returncode, done.stderr) == (0, "")
    for title, shows, panels in DASHBOARDS.values():
        assert f"════ {title}. {shows}" in done.stdout
        for spec in panels:
            assert report(spec.report).title + ": " in done.stdout
    assert not re.search(r"\d\.\d{4}", done.stdout), "more digits than anybody reads"
    # six days of which nothing is known, where the traffic went on over a midnight
    for drawn in ("█", "······", " % ", " ms "):
        assert drawn in done.stdout


@pytest.mark.parametrize(
    ("value", "highest", "bar"),
    [
        (10, 10, "█" * 8), (5, 10, "████"), (0, 10, ""), (-1, 10, ""), (1e-9, 10, "▏"),
        (1e300, 10, "█" * 8), (7, 16, "███▌"), (None, 10, None), (1, 0, None), (1, None, None),
        (float("inf"), 10, "█" * 8),
    ],
)  # fmt: skip
def test_a_bar_is_as_long_as_its_value(
    reader: Connection, value: float | None, highest: float | None, bar: str | None
) -> None:
    assert reader.execute("select bi.bar(%s, %s, 8)", (value, highest)).fetchall() == [(bar,)]


@pytest.mark.parametrize(
    ("points", "drawn"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"), ([None, 3, None], "·█·"), ([0, 0], "▁▁"),
        ([None], "·"), ([-1, 1], "▁█"), ([], None),
    ],
)  # fmt: skip
def test_a_sparkline_has_a_character_for_each_point(
    reader: Connection, points: list[float | None], drawn: str | None
) -> None:
    found = reader.execute("select bi.sparkline(%s::float8[])", (points,)).fetchall()
    assert found == [(drawn,)]


def test_the_checked_in_files_are_current(owner: Connection) -> None:
    from tools.generate_dashboards import files

    made = files(owner)
    assert len(made) > 40
    for path, text in made.items():
        assert path.read_text() == text, f"{path.name}: run `make dashboards`"


@pytest.mark.parametrize("path", sorted((ROOT / "dashboards/grafana").glob("*.json")), ids=label)
def test_a_dashboard_is_whole(path: Path) -> None:
    dashboard = json.loads(path.read_text())
    assert dashboard["uid"] == f"ragdb-{path.stem}"
    assert dashboard["title"]
    assert dashboard["description"]
    assert dashboard["schemaVersion"] >= 39
    panels = dashboard["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert {panel["datasource"]["uid"]} == {"${datasource}"}
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, "two panels in one place"
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_values_of_variables_are_quoted_whatever_they_are() -> None:
    """Grafana takes a variable from the address of the page, so nobody may leave its quotes to us."""
    for one in ALL:
        left = one.sql.replace("${corpus:sqlstring}", "").replace("${grain:sqlstring}", "")
        assert "${" not in left


def test_a_metric_is_computed_as_it_is_defined(owner: Connection) -> None:
    defined = dict(owner.execute("select metric, expression from bi.metric_definitions").fetchall())
    assert len(defined) > 10
    used = 0
    for one in ALL:
        if "bi.agg_retrieval_" not in one.sql:
            continue
        text = " ".join(one.sql.split())
        for metric, expression in defined.items():
            if f" as {metric}" in text and metric != "retrievals":
                # under a policy every retrieval is under a slice
                every = expression.replace(" filter (where retrieval_mode = 'slice')", "")
                assert f"{expression} as {metric}" in text or f"{every} as {metric}" in text, (
                    one.name
                )
                used += 1
    assert used > 10


def test_every_metric_can_be_computed(reader: Connection) -> None:
    rows = reader.execute(
        "select metric, relation, expression from bi.metric_definitions"
    ).fetchall()
    assert rows
    for metric, relation, expression in rows:
        ((value,),) = reader.execute(f"select {expression} from bi.{relation}").fetchall()
        assert value is not None or metric == "answer_tokens", metric  # the demo asks no model
        if metric.endswith("_ratio"):
            assert 0 <= value <= 1, metric


# ---- a column that is gone ----------------------------------------------------------------------


def uses(owner: Connection) -> dict[tuple[str, str], list[Sent]]:
    """Which panels read which columns of bi, by what PostgreSQL says a view over the query needs."""
    found: dict[tuple[str, str], list[Sent]] = {}
    for one in ALL:
        with owner.transaction(force_rollback=True):
            owner.execute(f"create temp view panel as {expanded(one.sql)}".encode())
            for used in owner.execute(
                "select distinct c.relname, a.attname from pg_depend d"
                " join pg_rewrite r on r.oid = d.objid join pg_class c on c.oid = d.refobjid"
                " join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid"
                " where r.ev_class = 'pg_temp.panel'::regclass"
                " and c.relnamespace = 'bi'::regnamespace"
            ).fetchall():
                found.setdefault(used, []).append(one)
    return found


def broken(owner: Connection, panels: list[Sent], view: str, column: str) -> list[str]:
    """The panels that fail when a column of a view has another name."""
    names = []
    with owner.transaction(force_rollback=True):
        owner.execute(f'alter view bi.{view} rename column "{column}" to gone')
        for one in panels:
            try:
                with owner.transaction(force_rollback=True):
                    owner.execute(f"explain {expanded(one.sql)}".encode())
            except psycopg.errors.UndefinedColumn:
                names.append(one.name)
    return names


def test_a_used_column_that_is_gone_breaks_the_panels_that_use_it(owner: Connection) -> None:
    found = uses(owner)
    assert len(found) > 60
    for (view, column), panels in found.items():
        assert broken(owner, panels, view, column), f"bi.{view}.{column} can go unseen"


def test_an_unused_column_that_is_gone_breaks_nothing(owner: Connection) -> None:
    used = uses(owner)
    unused = ("fact_retrieval", "otel_span_id")
    assert unused not in used
    assert broken(owner, ALL, *unused) == []
