"""Reports for psql: titled, rounded, with units, bars and sparklines, and with gaps shown."""

from __future__ import annotations

import textwrap
from typing import Any

import psycopg

from tools.dashboards.panels import DASHBOARDS, GRAINED, Panel, Report, report

VALUES = {
    ":'since'": "now()",
    ":'until'": "now()",
    ":'grain'": "'day'",
    ":corpora": "''",
    **{name: f"{views}day" for name, views in GRAINED.items()},
}
HEAD = """\
-- {title}: {shows}
--   psql -f reports/{name}.sql
-- Written from tools/panels/{name}.sql by `make dashboards`.
\\ir arguments.psql
\\pset title '{heading}'
"""


def columns(connection: psycopg.Connection[Any], found: Report) -> dict[str, str]:
    """The columns of a report with their types."""
    query = found.query
    for name, value in VALUES.items():
        query = query.replace(name, value)
    described = connection.execute(query.encode()).description or []
    types = psycopg.adapters.types
    return {c.name: getattr(types.get(c.type_code), "name", "text") for c in described}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _shown(name: str, kind: str) -> str:
    """A column as people read it: its unit in its name, rounded, a time to the minute."""
    title, value = name.replace("_", " "), f"r.{_quoted(name)}"
    if name.endswith("_ratio"):
        title, value = f"{title.removesuffix(' ratio')} %", f"round((100 * {value})::numeric, 1)"
    elif name.endswith("_ms"):
        value = f"round({value}::numeric, 1)"
    elif name.endswith("_bytes"):
        title, value = f"{title.removesuffix('bytes')}kB", f"round({value} / 1000.0, 1)"
    elif kind in ("float8", "float4"):
        value = f"round({value}::numeric, 3)"
    elif kind == "timestamptz":
        title = title.removesuffix(" at")
        value = f"to_char({value} at time zone 'UTC', 'YYYY-MM-DD HH24:MI')"
    return f"{value} as {_quoted(title)}"


def _rows(found: Report, kinds: dict[str, str], has_gaps: bool) -> str:
    """The rows of a report as r; with gaps, one for each hour or day."""
    query = textwrap.indent(found.query, "  ")
    if not has_gaps:
        return f"with r as (\n{query})\n"
    names = "".join(f", m.{_quoted(name)}" for name in list(kinds)[1:])
    return (
        f"with m as (\n{query}),\n"
        "r as (\n"
        f'  select t.at as "time"{names}\n'
        "  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),\n"
        "      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval,"
        " 'UTC') t (at)\n"
        '    left join m on m."time" = t.at)\n'
    )


def _sparklines(kinds: dict[str, str]) -> str:
    """What draws each number of a series over time: once for all, or for each metric."""
    by = "metric" if "metric" in kinds else None
    numbers = [name for name, kind in kinds.items() if kind not in ("text", "timestamptz")]
    cells = [
        f'bi.sparkline(array_agg(r.{_quoted(name)}::float8 order by r."time"))'
        f" as {_quoted(name.replace('_', ' '))}"
        for name in numbers
    ]
    if by is None:
        return f"select {', '.join(cells)} from r;\n"
    return f"select r.{by}, {', '.join(cells)} from r group by r.{by} order by r.{by};\n"


def psql_report(connection: psycopg.Connection[Any], spec: Panel) -> str:
    """reports/NAME.sql."""
    found = report(spec.report)
    kinds = columns(connection, found)
    shown = [_shown(name, kind) for name, kind in kinds.items()]
    if spec.bar is not None:
        value = f"r.{_quoted(spec.bar)}::float8"
        highest = "1" if spec.bar.endswith("_ratio") else f"max({value}) over ()"
        shown.append(f"bi.bar({value}, {highest}) as {_quoted('▏' + spec.bar.replace('_', ' '))}")
    is_series = spec.kind == "timeseries"
    has_gaps = is_series and spec.bucketed and "metric" not in kinds
    rows = _rows(found, kinds, has_gaps)
    head = HEAD.format(
        title=found.title,
        shows=found.description[0].lower() + found.description[1:],
        name=spec.report,
        heading=f"{found.title}: {found.description}".replace("'", "''"),
    )
    text = head + rows + "select " + ",\n  ".join(shown) + "\nfrom r"
    text += ' order by r."time";\n' if has_gaps else ";\n"
    if is_series:
        text += "\\pset title\n" + rows + _sparklines(kinds)
    return text


def files(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """The reports by name, and one that has them all."""
    made = {}
    whole = (
        "-- All reports, one after the other:\n--   psql -f reports/all.sql\n"
        "-- Written by `make dashboards`.\n\\ir arguments.psql\n"
    )
    for title, shows, panels in DASHBOARDS.values():
        whole += f"\n\\echo '════ {title}. {shows}'\n\\echo\n"
        for spec in panels:
            made[f"{spec.report}.sql"] = psql_report(connection, spec)
            whole += f"\\ir {spec.report}.sql\n"
    return made | {"all.sql": whole}
