"""Dashboards and alert rules for Grafana."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tools.dashboards.panels import DASHBOARDS, Panel, report, with_both_grains

# what psql calls it, and what Grafana puts there; sqlstring quotes whatever a page's address says
MACROS = {
    ":'since'": "$__timeFrom()",
    ":'until'": "$__timeTo()",
    ":'grain'": "${grain:sqlstring}",
    ":corpora": "${corpus:sqlstring}",
}
VARIABLES = {
    "corpus": "select corpus from bi.dim_corpus where not is_internal order by corpus",
    "grain": "select case when $__timeTo()::timestamptz - $__timeFrom()::timestamptz"
    " > interval '7 days' then 'day' else 'hour' end",
}
DATASOURCE = {"type": "grafana-postgresql-datasource", "uid": "${datasource}"}
UNITS = {"_ratio": "percentunit", "_ms": "ms", "_bytes": "bytes"}
# where a value leads in ragdb studio
LINKS = {
    "trace_id": ("Open the trace in Studio", "traces/${__value.raw:percentencode}"),
    "query": ("Ask it in Studio", "search?q=${__value.raw:percentencode}"),
    "query_text": ("Ask it in Studio", "search?q=${__value.raw:percentencode}"),
    "corpus": ("Search it in Studio", "search?corpus=${__value.raw:percentencode}"),
}
Columns = dict[str, list[str]]


def macros(query: str, columns: Columns) -> str:
    """The query as Grafana gets it."""
    query = with_both_grains(query, columns, MACROS[":'grain'"])
    for ours, theirs in MACROS.items():
        query = query.replace(ours, theirs)
    return query


def _overrides() -> list[dict[str, Any]]:
    units = [
        {
            "matcher": {"id": "byRegexp", "options": f"/{ending}$/"},
            "properties": [{"id": "unit", "value": unit}],
        }
        for ending, unit in UNITS.items()
    ]
    links = [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [
                {
                    "id": "links",
                    "value": [
                        {"title": title, "url": f"${{studio}}/studio/{path}", "targetBlank": True}
                    ],
                }
            ],
        }
        for name, (title, path) in LINKS.items()
    ]
    return units + links


def panel(number: int, spec: Panel, place: dict[str, int], columns: Columns) -> dict[str, Any]:
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
    return {
        "id": number,
        "type": spec.kind,
        "title": found.title,
        "description": found.description,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": _overrides()},
        "options": spec.options,
        "targets": [
            {
                "refId": "A",
                "datasource": DATASOURCE,
                "editorMode": "code",
                "rawQuery": True,
                "format": "time_series" if spec.kind == "timeseries" else "table",
                "rawSql": macros(found.query, columns),
            }
        ],
    }


def dashboard(uid: str, columns: Columns) -> dict[str, Any]:
    """A dashboard as Grafana stores it."""
    title, description, specs = DASHBOARDS[uid]
    panels: list[dict[str, Any]] = []
    x = y = row = 0
    for number, spec in enumerate(specs, 1):
        if x + spec.width > 24:
            x, y, row = 0, y + row, 0
        place = {"x": x, "y": y, "w": spec.width, "h": spec.height}
        panels.append(panel(number, spec, place, columns))
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
        "templating": {
            "list": [_datasource(), _studio(), *(_variable(name) for name in VARIABLES)]
        },
        "annotations": {"list": []},
        "links": [
            {"type": "dashboards", "title": "ragdb", "tags": ["ragdb"], "asDropdown": True,
             "includeVars": True, "keepTime": True},
            {"type": "link", "title": "Studio", "url": "${studio}/studio/", "targetBlank": True},
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


def _studio() -> dict[str, Any]:
    address = "http://127.0.0.1:8000"
    return {
        "name": "studio",
        "type": "textbox",
        "label": "Address of ragdb serve",
        "query": address,
        "current": {"text": address, "value": address},
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


# ---- alerts -------------------------------------------------------------------------------------

LATELY = "where not is_internal and bucket_at >= now() - interval '1 hour'"
# name, what is wrong, its value now, the value that it may have, for how long, and the dashboard
ALERTS = (
    ("errors", "More than 5 % of the retrievals of the last hour failed.",
     "select coalesce(sum(errors)::float8 / nullif(sum(retrievals), 0), 0) as value"
     f" from bi.agg_retrieval_hour {LATELY}", 0.05, "10m", "operations"),
    ("slow", "More than 5 % of the retrievals of the last hour took over a second.",
     "select coalesce(1 - sum(within_1000ms)::float8 / nullif(sum(retrievals) - sum(errors), 0), 0)"
     f" as value from bi.agg_retrieval_hour {LATELY} and rank_mode <> 'reference'", 0.05, "10m",
     "operations"),
    ("zero-results", "More than 30 % of the retrievals of the last hour found nothing.",
     "select coalesce(sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0), 0)"
     f" as value from bi.agg_retrieval_hour {LATELY}", 0.3, "30m", "quality"),
    ("shortfalls", "Searches under a slice could not look at every admitted chunk.",
     f"select coalesce(sum(shortfalls), 0)::float8 as value from bi.agg_retrieval_hour {LATELY}",
     0, "10m", "admissibility"),
    ("backlog", "A chunk has waited for its embedding for more than an hour.",
     "select coalesce(max(oldest_ms), 0) / 60000 as value from bi.agg_embedding_backlog", 60,
     "5m", "operations"),
    ("ingest", "Documents could not be read.",
     "select count(*)::float8 as value from bi.fact_ingest_job where state = 'failed'", 0, "5m",
     "operations"),
    ("bad-feedback", "More than half of the verdicts of the last day are bad.",
     "select coalesce(avg(case when is_good then 0 else 1 end), 0)::float8 as value"
     " from bi.fact_feedback where is_latest and created_at >= now() - interval '1 day'", 0.5,
     "30m", "quality"),
    ("failed-evals", "The latest run of an evaluation failed.",
     "select count(*)::float8 as value from bi.dim_eval_run where is_latest and not is_passed", 0,
     "5m", "evaluations"),
    ("stale-counts", "ragdb maintain has not counted retrievals for an hour.",
     "select coalesce(extract(epoch from now() - max(refreshed_at)) / 60, 0)::float8 as value"
     " from bi.agg_retrieval_day having exists (select from bi.fact_retrieval f"
     " where f.created_at >= now() - interval '1 hour')", 60, "15m", "operations"),
)  # fmt: skip


def _rule(name: str, wrong: str, query: str, most: float, time: str, uid: str) -> dict[str, Any]:
    expression = {
        "refId": "C",
        "datasourceUid": "__expr__",
        "model": {
            "refId": "C",
            "type": "threshold",
            "expression": "A",
            "conditions": [{"evaluator": {"type": "gt", "params": [most]}}],
        },
    }
    asked = {
        "refId": "A",
        "relativeTimeRange": {"from": 3600, "to": 0},
        "datasourceUid": "ragdb",
        "model": {
            "refId": "A",
            "format": "table",
            "rawQuery": True,
            "editorMode": "code",
            "rawSql": query,
        },
    }
    return {
        "uid": f"ragdb-{name}",
        "title": f"ragdb: {name.replace('-', ' ')}",
        "condition": "C",
        "data": [asked, expression],
        "for": time,
        "noDataState": "OK",
        "execErrState": "Error",
        "annotations": {"summary": wrong, "__dashboardUid__": f"ragdb-{uid}", "__panelId__": "1"},
        "labels": {"product": "ragdb"},
    }


def alerts() -> str:
    """provisioning/alerting/ragdb.yaml."""
    group = {
        "orgId": 1,
        "name": "ragdb",
        "folder": "ragdb",
        "interval": "1m",
        "rules": [_rule(*alert) for alert in ALERTS],
    }
    return "# Generated by `make dashboards`. Do not edit.\n" + yaml.safe_dump(
        {"apiVersion": 1, "groups": [group]}, sort_keys=False, width=100
    )


def files(columns: Columns) -> dict[str, str]:
    made = {
        f"grafana/{uid}.json": json.dumps(dashboard(uid, columns), indent=2) + "\n"
        for uid in DASHBOARDS
    }
    return made | {"provisioning/alerting/ragdb.yaml": alerts()}
