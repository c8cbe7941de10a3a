"""An import for Apache Superset: datasets with the metrics of the database, charts, dashboards.

The charts are over the views themselves, so that whoever looks can ask on: by corpus, by policy, by
day. `ragdb dashboards export --for superset` packs the folder as Superset takes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import yaml

from tools.dashboards.panels import DASHBOARDS

URI = "postgresql+psycopg2://bi_reader@localhost:5432/ragdb"
# 90 days and today, which "last quarter" leaves out
LATELY = 'DATEADD(DATETIME("today"), -90, day) : DATEADD(DATETIME("today"), 1, day)'
TIME = {"day": 1, "bucket_at": 2, "created_at": 3}  # the first of them is the time of a view
TYPES = {"timestamp with time zone": "TIMESTAMP WITH TIME ZONE", "date": "DATE", "text": "TEXT",
         "boolean": "BOOLEAN", "bigint": "BIGINT", "integer": "INTEGER",
         "double precision": "DOUBLE PRECISION", "numeric": "NUMERIC"}  # fmt: skip
FORMATS = {"ratio": ".1%", "ms": ",.1f", "score": ".3f", "count": ",d"}
# joins that people would make by hand, each of which counts once
JOINED = {
    "retrievals_by_policy": (
        "agg_retrieval_day",
        "Retrievals by day with the policy of their slice.",
        "select a.*, p.policy_id, p.max_nodes, p.max_radius, p.is_with_siblings\n"
        "from bi.agg_retrieval_day a left join bi.dim_policy p using (policy_key)",
        (("policy_id", "text"), ("max_nodes", "integer"), ("max_radius", "integer"),
         ("is_with_siblings", "boolean")),
    ),
    "retrievals_by_error": (
        "agg_retrieval_day",
        "Failed retrievals by day with what their errors are.",
        "select a.*, e.error, e.error_class, e.meaning\n"
        "from bi.agg_retrieval_day a join bi.dim_error e using (error_code)",
        (("error", "text"), ("error_class", "text"), ("meaning", "text")),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A chart over a view: its kind (total, bars, line or table), metrics, and what splits them."""

    title: str
    kind: str
    view: str
    metrics: tuple[str, ...]
    by: tuple[str, ...] = ()
    width: int = 4


CHARTS: dict[str, list[Chart]] = {
    "operations": [
        Chart("Retrievals", "total", "agg_retrieval_day", ("retrievals",), width=3),
        Chart("Errors", "total", "agg_retrieval_day", ("error_ratio",), width=3),
        Chart("Mean latency in ms", "total", "agg_retrieval_day", ("mean_elapsed_ms",), width=3),
        Chart("Within 100 ms", "total", "agg_retrieval_day", ("within_100ms_ratio",), width=3),
        Chart("Retrievals by corpus", "bars", "agg_retrieval_day", ("retrievals",), ("corpus",), 6),
        Chart("Latency by mode", "line", "agg_retrieval_day", ("mean_elapsed_ms",),
              ("rank_mode",), 6),
        Chart("Failed by error", "table", "retrievals_by_error", ("retrievals",),
              ("error_code", "error"), 6),
        Chart("Answers by model", "table", "fact_answer", ("mean_answer_ms", "answer_tokens"),
              ("model",), 6),
    ],
    "quality": [
        Chart("Nothing found", "line", "agg_retrieval_day", ("zero_result_ratio",), ("corpus",), 6),
        Chart("Mean top score", "line", "agg_retrieval_day", ("mean_top_score",),
              ("rank_mode",), 6),
        Chart("Modes", "table", "agg_retrieval_day", ("retrievals", "zero_result_ratio",
              "fill_ratio"), ("retrieval_mode", "rank_mode"), 6),
        Chart("Good feedback", "line", "fact_feedback", ("good_feedback_ratio",), ("corpus",), 6),
    ],
    "evaluations": [
        Chart("Passed cases", "line", "dim_eval_run", ("passed_cases_ratio",), ("eval",), 6),
        Chart("Evaluations", "table", "dim_eval_run", ("passed_runs_ratio", "passed_cases_ratio",
              "passed_assertions_ratio"), ("rag", "eval"), 6),
    ],
    "admissibility": [
        Chart("Admissible", "line", "agg_retrieval_day", ("admissible_ratio",), ("corpus",), 6),
        Chart("Verified answers", "line", "fact_answer", ("verified_ratio", "abstained_ratio"),
              (), 6),
        Chart("Policies", "table", "retrievals_by_policy", ("retrievals", "admissible_ratio",
              "shortfall_ratio"), ("policy_key", "max_nodes"), 12),
    ],
}  # fmt: skip


def _id(*parts: str) -> str:
    return str(uuid5(NAMESPACE_URL, "ragdb/superset/" + "/".join(parts)))


def _time(columns: Iterable[str]) -> str | None:
    return min((name for name in columns if name in TIME), key=TIME.__getitem__, default=None)


def _dataset(
    name: str, shows: str, columns: list[Any], metrics: list[Any], sql: str | None
) -> dict[str, Any]:
    return {
        "table_name": name,
        "main_dttm_col": _time(column for column, _, _ in columns),
        "description": shows,
        "schema": "bi",
        "sql": sql,
        "uuid": _id("dataset", name),
        "database_uuid": _id("database"),
        "metrics": [
            {
                "metric_name": metric,
                "verbose_name": title,
                "expression": expression,
                "description": definition,
                "d3format": FORMATS[unit],
            }
            for metric, title, unit, _, expression, definition in metrics
        ],
        "columns": [
            {
                "column_name": column,
                "type": TYPES[kind],
                "is_dttm": kind in ("date", "timestamp with time zone"),
                "groupby": True,
                "filterable": True,
                "description": means,
            }
            for column, kind, means in columns
        ],
        "version": "1.0.0",
    }


def _chart(chart: Chart, columns: dict[str, list[Any]]) -> dict[str, Any]:
    names = [name for name, _, _ in columns[chart.view]]
    time = _time(names)
    assert time is not None
    kind = {"total": "big_number_total", "bars": "echarts_timeseries_bar",
            "line": "echarts_timeseries_line", "table": "table"}[chart.kind]  # fmt: skip
    filters = [{"col": time, "op": "TEMPORAL_RANGE", "val": LATELY}]
    if "is_internal" in names:
        filters.append({"col": "is_internal", "op": "IS FALSE"})
    metrics, by = list(chart.metrics), list(chart.by)
    params: dict[str, Any] = {
        "viz_type": kind,
        "adhoc_filters": [
            {"expressionType": "SIMPLE", "clause": "WHERE", "subject": f["col"],
             "operator": f["op"], "comparator": f.get("val")}
            for f in filters
        ],
        "groupby": by,
        "row_limit": 1000,
    }  # fmt: skip
    query: dict[str, Any] = {"filters": filters, "metrics": metrics, "columns": by,
                             "row_limit": 1000, "orderby": [], "extras": {}}  # fmt: skip
    if chart.kind == "total":
        params["metric"] = metrics[0]
    elif chart.kind == "table":
        params |= {"query_mode": "aggregate", "metrics": metrics, "all_columns": []}
        query["orderby"] = [[metrics[0], False]]
    else:
        params |= {
            "metrics": metrics,
            "x_axis": time,
            "time_grain_sqla": "P1D",
            "show_legend": True,
            "stack": "Stack" if chart.kind == "bars" else None,
            "markerEnabled": True,  # a first day has no line yet
        }
        axis = {
            "columnType": "BASE_AXIS",
            "sqlExpression": time,
            "label": time,
            "expressionType": "SQL",
            "timeGrain": "P1D",
        }
        query |= {"columns": [axis, *by], "series_columns": by}
    context = {
        "datasource": {"id": 0, "type": "table"},
        "force": False,
        "queries": [query],
        "form_data": params,
        "result_format": "json",
        "result_type": "full",
    }
    return {
        "slice_name": chart.title,
        "viz_type": kind,
        "params": params,
        "query_context": json.dumps(context, sort_keys=True),
        "uuid": _id("chart", chart.title),
        "dataset_uuid": _id("dataset", chart.view),
        "version": "1.0.0",
    }


def _place(
    name: str, kind: str, parents: list[str], children: list[str], meta: dict[str, Any]
) -> dict[str, Any]:
    return {"id": name, "type": kind, "parents": parents, "children": children, "meta": meta}


def _position(title: str, charts: list[Chart]) -> dict[str, Any]:
    """Where each chart stands: rows of 12 columns."""
    rows: list[list[Chart]] = [[]]
    for chart in charts:
        if sum(c.width for c in rows[-1]) + chart.width > 12:
            rows.append([])
        rows[-1].append(chart)
    found: dict[str, Any] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"id": "ROOT_ID", "type": "ROOT", "children": ["GRID_ID"]},
        "HEADER_ID": {"id": "HEADER_ID", "type": "HEADER", "meta": {"text": title}},
        "GRID_ID": {"id": "GRID_ID", "type": "GRID", "parents": ["ROOT_ID"],
                    "children": [f"ROW-{n}" for n in range(len(rows))]},
    }  # fmt: skip
    for n, row in enumerate(rows):
        parents = ["ROOT_ID", "GRID_ID"]
        names = [f"CHART-{_id('chart', chart.title)[:8]}" for chart in row]
        meta: dict[str, Any] = {"background": "BACKGROUND_TRANSPARENT"}
        found[f"ROW-{n}"] = _place(f"ROW-{n}", "ROW", parents, names, meta)
        for chart, name in zip(row, names, strict=True):
            height = 24 if chart.kind == "total" else 50
            meta = {"uuid": _id("chart", chart.title), "sliceName": chart.title}
            meta |= {"chartId": 0, "width": chart.width, "height": height}
            found[name] = _place(name, "CHART", [*parents, f"ROW-{n}"], [], meta)
    return found


def _number_charts(position: dict[str, Any]) -> None:
    """Give each chart a number, which Superset replaces as it imports them."""
    places = [place for place in position.values()
              if isinstance(place, dict) and place["type"] == "CHART"]  # fmt: skip
    for number, place in enumerate(places, 1):
        place["meta"]["chartId"] = number


def _dashboard(uid: str) -> dict[str, Any]:
    title, shows, _ = DASHBOARDS[uid]
    position = _position(f"ragdb: {title}", CHARTS[uid])
    _number_charts(position)
    return {
        "dashboard_title": f"ragdb: {title}",
        "description": shows,
        "slug": f"ragdb-{uid}",
        "uuid": _id("dashboard", uid),
        "position": position,
        "metadata": {"refresh_frequency": 300, "color_scheme": "", "cross_filters_enabled": True},
        "published": True,
        "version": "1.0.0",
    }


def files(found: Iterable[tuple[Any, ...]], metrics: list[Any]) -> dict[str, str]:
    """The folder superset/."""
    columns: dict[str, list[Any]] = {}
    shown: dict[str, str] = {}
    for view, shows, column, kind, means in found:
        columns.setdefault(view, []).append((column, kind, means))
        shown[view] = shows
    queries: dict[str, tuple[str, str | None]] = {view: (view, None) for view in columns}
    for name, (base, says, sql, more) in JOINED.items():
        columns[name] = columns[base] + [(column, kind, "") for column, kind in more]
        shown[name], queries[name] = says, (base, sql)
    made: dict[str, Any] = {
        "metadata.yaml": {"version": "1.0.0", "type": "Dashboard",
                          "timestamp": "2026-01-01T00:00:00+00:00"},
        "databases/ragdb.yaml": {
            "database_name": "ragdb", "sqlalchemy_uri": URI, "expose_in_sqllab": True,
            "allow_dml": False, "extra": {"allows_virtual_table_explore": True},
            "uuid": _id("database"), "version": "1.0.0"},
    }  # fmt: skip
    used = {chart.view for charts in CHARTS.values() for chart in charts}
    for view in sorted(used):
        base, query = queries[view]
        of = [metric for metric in metrics if metric[3] == base]
        made[f"datasets/ragdb/{view}.yaml"] = _dataset(view, shown[view], columns[view], of, query)
    for uid, charts in CHARTS.items():
        made[f"dashboards/{uid}.yaml"] = _dashboard(uid)
        for chart in charts:
            made[f"charts/{chart.title.lower().replace(' ', '_')}.yaml"] = _chart(chart, columns)
    return {
        f"superset/{name}": yaml.safe_dump(text, sort_keys=False, allow_unicode=True, width=100)
        for name, text in made.items()
    }
