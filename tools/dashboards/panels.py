"""What is shown where: the panels of tools/panels/*.sql, by dashboard."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tools.catalogue import ROOT

PANELS = ROOT / "tools/panels"
# The relations that have two grains: psql names one of them, and others read both.
GRAINED = {
    ":counts": "bi.agg_retrieval_",
    ":latencies": "bi.agg_latency_",
    ":top_scores": "bi.agg_top_score_",
}


@dataclass(frozen=True)
class Panel:
    """A query as a panel: its kind, its place's width (of 24) and height, and its options.

    In psql `bar` is the column that has a bar beside it. A series that is not `bucketed` has a
    point when something happened, not one for each hour or day.
    """

    report: str
    kind: str
    width: int = 12
    height: int = 8
    unit: str = "short"
    options: dict[str, Any] = field(default_factory=dict)
    stacked: bool = False
    highest: float | None = None
    bar: str | None = None
    bucketed: bool = True


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
        "Traffic of ragdb: its volume, latency and failures, and what waits.",
        [
            Panel("operations_totals", "stat", 24, 4, options=TOTALS),
            Panel("operations_traffic", "timeseries", stacked=True, bar="found"),
            Panel("operations_latency", "timeseries", unit="ms", bar="p95_ms"),
            Panel("operations_errors", "table", 8, 8, bar="retrievals"),
            Panel("operations_failures", "table", 16, 8),
            Panel("operations_corpora", "table", 24, 8, bar="retrievals"),
            Panel("operations_stages", "table", 8, 8, bar="p95_ms"),
            Panel("operations_backlog", "table", 8, 8, bar="waiting_chunks"),
            Panel("operations_ingest", "table", 8, 8, bar="documents"),
        ],
    ),
    "quality": (
        "Retrieval quality",
        "Whether retrievals find something, how well it matches, and what people say of it.",
        [
            Panel(
                "quality_zero_results", "timeseries", unit="percentunit", highest=1,
                bar="zero_result_ratio",
            ),
            Panel("quality_unanswered", "table", bar="retrievals"),
            Panel("quality_top_score", "timeseries", highest=1, bar="mean_top_score"),
            Panel("quality_scores", "barchart", options=BARS, bar="retrievals"),
            Panel(
                "quality_fill", "timeseries", unit="percentunit", highest=1, bar="fill_ratio"
            ),
            Panel("quality_modes", "table", bar="retrievals"),
            Panel("quality_sources", "table", bar="hits"),
            Panel("quality_feedback", "timeseries", stacked=True, bar="good"),
        ],
    ),
    "evaluations": (
        "Evaluations",
        "Results of the evaluations of contracts, run by run.",
        [
            Panel("evaluations_latest", "table", 24, 8, bar="passed_cases_ratio"),
            Panel(
                "evaluations_passed", "timeseries", unit="percentunit", highest=1,
                bar="passed_cases_ratio", bucketed=False,
            ),
            Panel("evaluations_metrics", "timeseries", bucketed=False),
            Panel("evaluations_failures", "table", 24, 8),
            Panel("evaluations_kinds", "table", bar="passed_assertions_ratio"),
            Panel("evaluations_cases", "table", bar="failed_runs"),
        ],
    ),
    "admissibility": (
        "Admissibility",
        "How many retrievals are admissible as evidence, and why the others are not.",
        [
            Panel("admissibility_totals", "stat", 24, 4, options=TOTALS),
            Panel("admissibility_traffic", "timeseries", stacked=True, bar="admissible"),
            Panel("admissibility_policies", "table", bar="retrievals"),
            Panel("admissibility_shortfalls", "table", 24, 8),
            Panel(
                "admissibility_answers", "timeseries", unit="percentunit", highest=1,
                bar="verified_ratio",
            ),
            Panel("admissibility_citations", "table", bar="citations"),
            Panel("admissibility_cost", "table", 24, 6, bar="answers"),
            Panel("admissibility_incidents", "table", 24, 8),
        ],
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Report:
    """A file of tools/panels/: its title, what it shows, and its query."""

    title: str
    description: str
    query: str


@cache
def report(name: str) -> Report:
    """Read tools/panels/NAME.sql, whose first line is a comment `-- Title: what it shows.`"""
    head, _, query = (PANELS / f"{name}.sql").read_text().partition("\n")
    first = re.fullmatch(r"-- (.+?): (.+)", head)
    assert first, f"{name}: the first line is not `-- Title: what it shows.`"
    return Report(first[1], first[2][0].upper() + first[2][1:], query.strip())


def with_both_grains(query: str, columns: dict[str, list[str]], grain: str) -> str:
    """The query over both grains, of which the value of `grain` leaves one.

    It names the columns that it uses, so that one that is gone is missed.
    """
    for ours, views in GRAINED.items():
        if ours not in query:
            continue
        words = set(re.findall(r"\w+", query))
        used = ", ".join(name for name in columns[f"{views[3:]}day"] if name in words)
        both = " union all ".join(
            f"select {used} from {views}{name} where {grain} = '{name}'" for name in ("hour", "day")
        )
        query = query.replace(ours, f"({both}) {views[3:].rstrip('_')}")
    return query
