"""The panels as questions, in the form of the API of Metabase, and where each stands."""

from __future__ import annotations

import json
from typing import Any

from tools.dashboards.panels import DASHBOARDS, Panel, report, with_both_grains

# what psql calls it, and what Metabase puts there: a value, never a piece of SQL
TAGS = {
    ":'since'": "{{since}}",
    ":'until'": "{{until}}",
    ":'grain'": "{{grain}}",
}
CORPORA = "in (:corpora)"
# without a corpus, all but those of ragdb itself
ANY_CORPUS = (
    "in (select corpus from bi.dim_corpus where not is_internal [[and corpus = {{corpus}}]])"
)
DISPLAYS = {"stat": "table", "timeseries": "line", "barchart": "bar", "table": "table"}


def _query(spec: Panel, columns: dict[str, list[str]]) -> str:
    query = with_both_grains(report(spec.report).query, columns, TAGS[":'grain'"])
    query = query.replace(CORPORA, ANY_CORPUS)
    for ours, theirs in TAGS.items():
        cast = "::timestamptz" if ours in (":'since'", ":'until'") else ""
        query = query.replace(f"{ours}::timestamptz", ours).replace(ours, theirs + cast)
    return query


def _tag(name: str, query: str) -> dict[str, Any]:
    kind, default = {
        "since": ("date", None), "until": ("date", None),
        "grain": ("text", "day"), "corpus": ("text", None),
    }[name]  # fmt: skip
    tag: dict[str, Any] = {"id": name, "name": name, "display-name": name.title(), "type": kind}
    if name != "corpus":
        tag["required"] = True
    if name == "since":
        return tag | {"default": "2026-01-01"}
    if name == "until":
        return tag | {"default": "2100-01-01"}
    return tag | ({"default": default} if default else {})


def _card(spec: Panel, columns: dict[str, list[str]]) -> dict[str, Any]:
    found, query = report(spec.report), _query(spec, columns)
    tags = [name for name in ("since", "until", "grain", "corpus") if f"{{{{{name}}}}}" in query]
    settings: dict[str, Any] = {}
    if spec.stacked:
        settings["stackable.stack_type"] = "stacked"
    return {
        "name": found.title,
        "description": found.description,
        "display": "bar" if spec.stacked else DISPLAYS[spec.kind],
        "visualization_settings": settings,
        "dataset_query": {
            "type": "native",
            "native": {"query": query, "template-tags": {t: _tag(t, query) for t in tags}},
        },
    }


def files(columns: dict[str, list[str]]) -> dict[str, str]:
    """metabase/dashboards.json: a dashboard each, with the bodies of POST /api/card."""
    made = []
    for title, shows, specs in DASHBOARDS.values():
        cards, x, y = [], 0, 0
        for spec in specs:
            if x + spec.width > 24:
                x, y = 0, y + 8
            cards.append(
                _card(spec, columns)
                | {"place": {"col": x, "row": y, "size_x": spec.width, "size_y": spec.height}}
            )
            x += spec.width
        made.append({"name": f"ragdb: {title}", "description": shows, "cards": cards})
    return {"metabase/dashboards.json": json.dumps(made, indent=1, ensure_ascii=False) + "\n"}
