"""Reads the public surface of ragdb from PostgreSQL's catalogue: functions, their rows, errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import class_row, dict_row

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Argument:
    name: str
    type: str
    default: str | None
    """As SQL, without a cast; None where it must be given."""


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class Function:
    name: str
    arguments: list[Argument]
    columns: list[Column]
    """The columns of a row; empty for a scalar."""
    row_type: str | None
    """The composite type that the rows have, when it has a name of its own."""
    returns: str
    returns_set: bool
    is_procedure: bool
    comment: str
    chapter: str
    """The file of sql/ that defines it."""


@dataclass(frozen=True)
class ErrorCode:
    sqlstate: str
    name: str
    wire_word: str
    http_status: int
    meaning: str


FUNCTIONS = """
select p.oid, p.proname as name, p.prokind = 'p' as is_procedure,
  p.proretset and p.prorows <> 1 as returns_set,
  coalesce(obj_description(p.oid, 'pg_proc'), '') as comment,
  format_type(p.prorettype, null) as returns, t.typrelid, t.typname,
  p.proargnames as names, p.proargmodes::text[] as modes, p.pronargs,
  (select array_agg(format_type(a, null) order by n)
    from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality x (a, n)
  ) as types,
  (select array_agg(pg_get_function_arg_default(p.oid, n) order by n)
    from generate_series(1, p.pronargs) n) as defaults
from pg_proc p join pg_type t on t.oid = p.prorettype
where p.pronamespace = 'ragdb'::regnamespace
  and p.prorettype <> 'trigger'::regtype
order by p.proname, p.pronargs, p.oid
"""

# A table says of its rows which columns may be null. Of other rows, those may whose name some table
# of ours has, and none as not null.
NULLABLE = """
select a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'ragdb'::regnamespace and c.relkind in ('r', 'p')
  and a.attnum > 0 and not a.attisdropped
group by a.attname having not bool_or(a.attnotnull)
"""

# What the tables do not tell, such as that a row is a citation or a problem of the whole answer.
NULLABLE_OF = {
    "check_citations": {"code", "message", "chunk_id", "start_offset", "end_offset"},
    # a refusal made nothing, and what was done has no reason
    "promote_to_atom": {"atom_id", "reason"},
    "propose": {"proposal_id", "reason"},
    "decide_proposal": {"detail"},
    # what is open was not decided, and a redacted text is gone
    "list_proposals": {"text", "decided_at", "decided_by", "decision_reason"},
    "list_atoms": {"text"},
    # the meaning has no word, and of a chunk without an embedding no value
    "explain_score": {"lexeme", "stands_for", "df", "tf", "value"},
    "explain_scores": {"lexeme", "stands_for", "df", "tf", "value"},
    # a chunk that does not rank, where nothing does
    "explain_missing": {"rank", "score", "last_score"},
    "get_slice": {"anchor_source", "policy"},
    # a conversation may not say who spoke, or when
    "list_turns": {"speaker", "said_at"},
    # a corpus that is searched by words alone
    "corpus_info": {"embedder"},
    # what was refused has no place, what was admitted no reason, and what is gone no text
    "slice_graph": {
        *("place", "distance", "priority", "reason", "detail", "is_unchanged", "source"),
        *("session_id", "role", "phase", "salience", "text"),
    },
    # on one side only, or gone
    "replay_hits": {
        *("change", "recorded_rank", "replayed_rank", "recorded_score", "replayed_score"),
        *("is_unchanged", "source", "text", "as_of"),
    },
    # what is recorded has no text, and its question is the trace's
    "recorded_answer": {"trace_id", "query", "model"},
    "recorded_gate": {"trace_id", "query", "rank_mode"},
    "unanswered_question": {"trace_id"},
    "list_citations": {"code", "chunk_id", "start_offset", "end_offset", "text"},
    # the verdict of all is of no metric
    "compare_runs": {
        *("metric", "baseline_mean", "run_mean", "difference", "low", "high", "p", "p_holm"),
        *("smallest_effect", "detail"),
    },
    # an eval without a gate, or without a run
    "list_eval_cases": {"k", "min_score", "policy"},
    "list_evals": {"metric", "last_run", "last_status", "last_at", "baseline"},
    # on the last row of a page alone
    "events_after": {"next"},
    "job_status": {"corpus", "oldest_at"},
    # a time at which nothing was asked
    "traffic": {"mean_top_score", "p50_ms", "p95_ms"},
    # of a retrieval as a whole
    "list_feedback": {"answer_id", "chunk_id"},
}

ATTRIBUTES = """
select a.attname, format_type(a.atttypid, null),
  case when c.relkind in ('r', 'p') then not a.attnotnull end
from pg_attribute a join pg_class c on c.oid = a.attrelid
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped order by a.attnum
"""


def functions(connection: psycopg.Connection[Any]) -> list[Function]:
    """Every public function, by name and number of arguments."""
    nullable = {name for (name,) in connection.execute(NULLABLE)}
    nullable |= {"bm25", "coverage"}  # of a hit that the lexical leg did not find
    nullable |= {"context"}  # of a hit where none was asked for
    nullable |= {"drift", "language_majority"}  # of a corpus without chunks
    nullable |= {"parts", "stale_parts"}  # of a corpus in one piece
    nullable |= {"moved_to"}  # of a corpus that is here
    nullable -= {"k"}  # null of a declared case only
    chapters = _chapters()

    def columns(found: Any) -> list[Column]:
        return [
            Column(name, kind, name in nullable if may_be_null is None else may_be_null)
            for name, kind, may_be_null in found
        ]

    found = []
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(FUNCTIONS).fetchall()
    for row in rows:
        names, types = row["names"] or [], row["types"] or []
        modes = row["modes"] or ["i"] * len(names)
        # the catalogue's argument modes: i in, o out, b inout, t a column of `returns table`
        out = [
            (n, t, n in NULLABLE_OF.get(row["name"], ()) or None)
            for n, t, m in zip(names, types, modes, strict=True)
            if m in "obt"
        ]
        given = [(n, t) for n, t, m in zip(names, types, modes, strict=True) if m in "ib"]
        composite = row["typrelid"] != 0
        if composite:
            may_be_null = NULLABLE_OF.get(row["typname"], ())
            out = [
                (n, t, null if null is not None else n in may_be_null or None)
                for n, t, null in connection.execute(ATTRIBUTES, (row["typrelid"],)).fetchall()
            ]
        found.append(
            Function(
                name=row["name"],
                arguments=[
                    Argument(n, t, d and re.sub(r"::[a-z ]+(\[\])?$", "", d))
                    for (n, t), d in zip(given, row["defaults"] or [], strict=True)
                ],
                columns=columns(out) if composite or len(out) > 1 else [],
                row_type=row["typname"] if composite else None,
                returns=out[0][1] if len(out) == 1 else row["returns"],
                returns_set=row["returns_set"],
                is_procedure=row["is_procedure"],
                comment=row["comment"],
                chapter=chapters.get(row["name"], ""),
            )
        )
    return found


def error_codes(connection: psycopg.Connection[Any]) -> list[ErrorCode]:
    """Every SQLSTATE of class RG."""
    with connection.cursor(row_factory=class_row(ErrorCode)) as cursor:
        return cursor.execute("select * from ragdb.error_codes() order by sqlstate").fetchall()


def _chapters() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted((ROOT / "sql").glob("*/*.sql")):
        for name in re.findall(
            r"^create or replace (?:function|procedure) ragdb\.(\w+)", file.read_text(), re.M
        ):
            found.setdefault(name, file.parent.name)
    return found


@contextmanager
def scratch_database() -> Iterator[psycopg.Connection[Any]]:
    """A database of the embedded server with the schema of this checkout, dropped afterwards."""
    from ragdb.server import embedded, migrate

    # of this process alone: others may be generating too
    uri, name = embedded.start(), f"ragdb_generate_{os.getpid()}"
    with psycopg.connect(uri, autocommit=True) as admin:
        admin.execute(
            f"create database {name} template template0 encoding 'UTF8' "
            "locale_provider builtin builtin_locale 'C.UTF-8' locale 'C'"
        )
        try:
            dsn = make_conninfo(uri, dbname=name)
            migrate.migrate(dsn)
            with psycopg.connect(dsn) as connection:
                yield connection
        finally:
            admin.execute(f"drop database {name} with (force)")


def formatted(source: str) -> str:
    """Python source with the imports it uses, in order, as `ruff format` leaves it."""
    for command in (["check", "--fix-only", "--select", "F401,I"], ["format"]):
        source = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", "x.py", "-"],
            input=source,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
    return source
