"""Writes dashboards/ for Grafana and dbt out of reports/*.sql: `make dashboards`.

A report and its panel are one text: psql's variables become Grafana's macros.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import yaml

from tools.catalogue import ROOT, scratch_database

REPORTS = ROOT / "reports"
# what psql calls it, and what Grafana puts there; sqlstring quotes whatever a page's address says
MACROS = {
    ":'since'": "$__timeFrom()",
    ":'until'": "$__timeTo()",
    ":'grain'": "${grain:sqlstring}",
    ":corpora": "${corpus:sqlstring}",
}
VARIABLES = {
    "corpus": "select corpus from bi.dim_corpus order by corpus",
    "grain": "select case when $__timeTo()::timestamptz - $__timeFrom()::timestamptz"
    " > interval '7 days' then 'day' else 'hour' end",
}
DATASOURCE = {"type": "grafana-postgresql-datasource", "uid": "${datasource}"}
UNITS = {"_ratio": "percentunit", "_ms": "ms", "_bytes": "bytes"}


@dataclass(frozen=True)
class Panel:
    """A report as a panel: its kind, its place's width (of 24) and height, and its options."""

    report: str
    kind: str
    width: int = 12
    height: int = 8
    unit: str = "short"
    options: dict[str, Any] = field(default_factory=dict)
    stacked: bool = False
    highest: float | None = None


TOTALS = {
    "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": "/.*/"},
    "textMode": "value_and_name",
    "colorMode": "none",
    "graphMode": "none",
}
BARS = {"xField": "score", "legend": {"showLegend": False}}

DASHBOARDS: dict[str, tuple[str, str, list[Panel]]] = {
    "operations": (
        "Operations",
        "Traffic of ragdb: its volume, latency and failures.",
        [
            Panel("operations_totals", "stat", 24, 4, options=TOTALS),
            Panel("operations_traffic", "timeseries", stacked=True),
            Panel("operations_latency", "timeseries", unit="ms"),
            Panel("operations_errors", "table", 8, 8),
            Panel("operations_failures", "table", 16, 8),
            Panel("operations_corpora", "table", 24, 8),
        ],
    ),
    "quality": (
        "Retrieval quality",
        "Whether retrievals find something, how well it matches, and from which sources.",
        [
            Panel("quality_zero_results", "timeseries", unit="percentunit", highest=1),
            Panel("quality_unanswered", "table"),
            Panel("quality_top_score", "timeseries", highest=1),
            Panel("quality_scores", "barchart", options=BARS),
            Panel("quality_fill", "timeseries", unit="percentunit", highest=1),
            Panel("quality_modes", "table"),
            Panel("quality_sources", "table", 24, 8),
        ],
    ),
    "evaluations": (
        "Evaluations",
        "Results of the evaluations of contracts, run by run.",
        [
            Panel("evaluations_latest", "table", 24, 8),
            Panel("evaluations_passed", "timeseries", unit="percentunit", highest=1),
            Panel("evaluations_metrics", "timeseries"),
            Panel("evaluations_failures", "table", 24, 8),
            Panel("evaluations_kinds", "table"),
            Panel("evaluations_cases", "table"),
        ],
    ),
    "admissibility": (
        "Admissibility",
        "How many retrievals are admissible as evidence, and why the others are not.",
        [
            Panel("admissibility_totals", "stat", 24, 4, options=TOTALS),
            Panel("admissibility_traffic", "timeseries", stacked=True),
            Panel("admissibility_policies", "table"),
            Panel("admissibility_shortfalls", "table", 24, 8),
            Panel("admissibility_answers", "timeseries", unit="percentunit", highest=1),
            Panel("admissibility_citations", "table"),
            Panel("admissibility_incidents", "table", 24, 8),
        ],
    ),
}


@dataclass(frozen=True)
class Report:
    """A file of reports/: its title, what it shows, and its query."""

    title: str
    description: str
    query: str


def report(name: str) -> Report:
    """Read reports/NAME.sql, whose first line is a comment `-- Title: what it shows.`"""
    head, _, query = (REPORTS / f"{name}.sql").read_text().partition("\\ir arguments.psql\n")
    first = re.match(r"-- (.+?): (.+)\n", head)
    assert first, f"{name}: the first line is no `-- Title: what it shows.`"
    shown = first[2][0].upper() + first[2][1:]
    return Report(first[1], shown, query.strip().rstrip(";"))


def macros(query: str) -> str:
    """The query as Grafana gets it."""
    for ours, theirs in MACROS.items():
        query = query.replace(ours, theirs)
    return query


def panel(number: int, spec: Panel, place: dict[str, int]) -> dict[str, Any]:
    """A panel of a dashboard."""
    found = report(spec.report)
    custom: dict[str, Any] = {}
    if spec.kind == "timeseries":
        custom = {"fillOpacity": 20, "lineWidth": 1, "showPoints": "auto"}
    if spec.stacked:
        custom |= {"drawStyle": "bars", "fillOpacity": 80, "stacking": {"mode": "normal"}}
    defaults: dict[str, Any] = {"unit": spec.unit, "custom": custom}
    if spec.highest is not None:
        defaults |= {"min": 0, "max": spec.highest}
    overrides = [
        {
            "matcher": {"id": "byRegexp", "options": f"/{ending}$/"},
            "properties": [{"id": "unit", "value": unit}],
        }
        for ending, unit in UNITS.items()
    ]
    return {
        "id": number,
        "type": spec.kind,
        "title": found.title,
        "description": found.description,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": overrides},
        "options": spec.options,
        "targets": [
            {
                "refId": "A",
                "datasource": DATASOURCE,
                "editorMode": "code",
                "rawQuery": True,
                "format": "time_series" if spec.kind == "timeseries" else "table",
                "rawSql": macros(found.query),
            }
        ],
    }


def dashboard(uid: str) -> dict[str, Any]:
    """A dashboard as Grafana stores it."""
    title, description, specs = DASHBOARDS[uid]
    panels: list[dict[str, Any]] = []
    x = y = row = 0
    for number, spec in enumerate(specs, 1):
        if x + spec.width > 24:
            x, y, row = 0, y + row, 0
        place = {"x": x, "y": y, "w": spec.width, "h": spec.height}
        panels.append(panel(number, spec, place))
        x, row = x + spec.width, max(row, spec.height)
    return {
        "uid": f"ragdb-{uid}",
        "title": f"ragdb: {title}",
        "description": description,
        "tags": ["ragdb"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "time": {"from": "now-24h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [_datasource(), *(_variable(name) for name in VARIABLES)]},
        "annotations": {"list": []},
        "links": [
            {"type": "dashboards", "title": "ragdb", "tags": ["ragdb"], "asDropdown": True,
             "includeVars": True, "keepTime": True}
        ],
        "panels": panels,
    }  # fmt: skip


def _datasource() -> dict[str, Any]:
    return {
        "name": "datasource",
        "type": "datasource",
        "label": "Database",
        "query": "grafana-postgresql-datasource",
        "current": {"text": "ragdb", "value": "ragdb"},
    }


def _variable(name: str) -> dict[str, Any]:
    found = {
        "name": name,
        "type": "query",
        "datasource": DATASOURCE,
        "query": VARIABLES[name],
        "definition": VARIABLES[name],
        "sort": 0,
    }
    if name == "corpus":
        return found | {
            "label": "Corpus",
            "refresh": 1,  # when the dashboard is opened
            "multi": True,
            "includeAll": True,
            "current": {"text": ["All"], "value": ["$__all"]},
        }
    return found | {"hide": 2, "refresh": 2}  # never shown; when the time range changes


# Everything of schema bi as sources of dbt, with the comments of the database.
COLUMNS = """
select c.relname, obj_description(c.oid, 'pg_class'), a.attname,
  format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where c.relnamespace = 'bi'::regnamespace and c.relkind = 'v' order by c.relname, a.attnum
"""


def sources(connection: psycopg.Connection[Any]) -> str:
    """dashboards/dbt/sources.yml."""
    tables: dict[str, dict[str, Any]] = {}
    for view, shows, column, kind, means in connection.execute(COLUMNS):
        table = tables.setdefault(view, {"name": view, "description": shows, "columns": []})
        table["columns"].append({"name": column, "data_type": kind, "description": means})
    document = {
        "version": 2,
        "sources": [
            {
                "name": "ragdb",
                "schema": "bi",
                "description": "Retrievals, evaluations and corpora of ragdb.",
                "tables": list(tables.values()),
            }
        ],
    }
    return "# Generated by `make dashboards`. Do not edit.\n" + yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, width=100
    )


def files(connection: psycopg.Connection[Any]) -> dict[Path, str]:
    """All that is generated, by its path."""
    folder = ROOT / "dashboards"
    return {
        **{
            folder / f"grafana/{uid}.json": json.dumps(dashboard(uid), indent=2) + "\n"
            for uid in DASHBOARDS
        },
        folder / "dbt/sources.yml": sources(connection),
    }


def main() -> None:
    with scratch_database() as connection:
        for path, text in files(connection).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
