"""Writes dashboards/ and reports/ out of tools/panels/*.sql and schema bi: `make dashboards`.

A report for psql and a panel of Grafana or Metabase are one text: psql's variables become what each
calls its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from tools.catalogue import ROOT, scratch_database
from tools.dashboards import dbt, grafana, metabase, psql, superset

# Everything of schema bi, with the comments of the database.
COLUMNS = """
select c.relname, obj_description(c.oid, 'pg_class'), a.attname,
  format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where c.relnamespace = 'bi'::regnamespace and c.relkind = 'v' order by c.relname, a.attnum
"""
METRICS = "select metric, title, unit, relation, expression, definition from bi.metric_definitions"


def files(connection: psycopg.Connection[Any]) -> dict[Path, str]:
    """All that is generated, by its path."""
    found: list[Any] = connection.execute(COLUMNS).fetchall()
    columns: dict[str, list[str]] = {}
    for view, _, column, _, _ in found:
        columns.setdefault(view, []).append(column)
    made = (
        grafana.files(columns)
        | superset.files(found, connection.execute(METRICS).fetchall())
        | metabase.files(columns)
        | {"dbt/sources.yml": dbt.sources(found), "dbt/exposures.yml": dbt.exposures(columns)}
    )
    return {ROOT / "dashboards" / name: text for name, text in made.items()} | {
        ROOT / "reports" / name: text for name, text in psql.files(connection).items()
    }


def main() -> None:
    with scratch_database() as connection:
        for path, text in files(connection).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
