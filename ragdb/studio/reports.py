"""Reports as one HTML file: of a run of an eval, and of what was asked and found.

A file has its style in itself and asks for nothing; its policy allows only that style.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any
from uuid import UUID

from markupsafe import Markup
from psycopg.errors import InsufficientPrivilege

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient, Client
from ragdb.studio import runs
from ragdb.studio.charts import Series
from ragdb.studio.pages import environment
from ragdb.version import __version__

COLUMNS = 6


def paper(template: str, **values: Any) -> str:
    """A report as a page that needs nothing beside itself."""
    style = files("ragdb.studio").joinpath("assets/studio.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        environment()
        .get_template(template)
        .render(
            style=Markup(style),
            policy=f"default-src 'none'; style-src 'sha256-{digest}'",
            made_at=datetime.now(UTC),
            version=__version__,
            **values,
        )
    )


def of_run(db: Client, id: UUID) -> str:
    """The report of a run, beside the runs before it."""
    run = db.get_eval_run(id)
    chosen = runs.until(db.list_eval_runs(run.rag, run.eval, 1000), run, COLUMNS)
    sheets = [runs.load_now(db, one) for one in chosen]
    other = runs.compared_with(chosen, db.baseline_run(run.rag, run.eval))
    return _of_run(sheets, other, db.compare_runs(other, id) if other else [])


async def of_served_run(db: AsyncClient, run: rows.EvalRuns) -> str:
    """The same for a browser."""
    chosen = runs.until(await db.list_eval_runs(run.rag, run.eval, 1000), run, COLUMNS)
    sheets = [await runs.load(db, one) for one in chosen]
    other = runs.compared_with(chosen, await db.baseline_run(run.rag, run.eval))
    compared = await db.compare_runs(other, run.run_id) if other else []
    return _of_run(sheets, other, compared)


def _of_run(
    sheets: Sequence[runs.Sheet], other: UUID | None, compared: Sequence[rows.CompareRunsRow]
) -> str:
    past = [sheet.share for sheet in reversed(sheets)]
    names = [f"{sheet.run.created_at:%Y-%m-%d %H:%M}" for sheet in reversed(sheets)]
    passed = Series("passed", "first", [s.run.passed_cases for s in reversed(sheets)])
    failed = Series("failed", "third", [s.run.cases - s.run.passed_cases for s in reversed(sheets)])
    return paper(
        "report_run.html",
        sheet=sheets[0],
        sheets=sheets,
        lines=runs.lines(sheets),
        history=[passed, failed],
        names=names,
        past=past,
        other=other,
        verdict=compared[0] if compared else None,
        metrics=compared[1:],
        most=runs.widest(compared),
    )


def of_use(db: Client, since: datetime, until: datetime, corpus: str | None) -> str:
    """The report of what was asked between two times, of one corpus or of all but the manual."""

    def counts(name: str) -> bool:
        return name == corpus if corpus else name != "system"

    ledger = None
    with suppress(InsufficientPrivilege), db.connection.transaction():
        ledger = db.ledger_status()  # for admins and auditors
    corpora = db.list_corpora() if corpus is None else db.list_corpora(corpus, count=1)
    answers = [row for row in db.list_answers(corpus, since, 10000) if row.created_at < until]
    gates = [row for row in db.list_gates(corpus, since, 10000) if row.created_at < until]
    unanswered = [row for row in db.list_unanswered(corpus, since, 50) if row.last_at < until]
    return paper(
        "report_use.html",
        corpus=corpus,
        since=since,
        until=until,
        corpora=[row for row in corpora if counts(row.name)],
        answers=_answers(
            [row for row in answers if counts(row.corpus)],
            [row for row in gates if counts(row.corpus)],
        ),
        unanswered=[row for row in unanswered if counts(row.corpus)],
        ledger=ledger,
        **traffic(db.traffic(since, until, corpus)),
    )


def _answers(
    answers: Sequence[rows.RecordedAnswer], gates: Sequence[rows.RecordedGate]
) -> dict[str, int]:
    abstained = sum(row.is_insufficient for row in answers)
    hold = sum(row.is_verified for row in answers if not row.is_insufficient)
    return {
        "answers": len(answers),
        "citations hold": hold,
        "a citation is wrong": len(answers) - abstained - hold,
        "abstained": abstained,
        "gates": len(gates),
        "enough evidence": sum(row.is_enough for row in gates),
    }


def traffic(buckets: Sequence[rows.TrafficRow]) -> dict[str, Any]:
    """The charts of retrievals over time, and their sums."""
    hourly = bool(buckets) and buckets[0].grain == "hour"
    form = "%Y-%m-%d %H:00" if hourly else "%Y-%m-%d"

    def series(name: str, ink: str, field: str) -> Series:
        return Series(name, ink, [getattr(row, field) for row in buckets])

    asked = [row.found + row.nothing_found + row.failed for row in buckets]
    sums = {
        name: sum(getattr(row, name) for row in buckets)
        for name in ("found", "nothing_found", "failed", "under_slice", "admissible", "shortfalls")
    }
    return {
        "names": [row.bucket_at.strftime(form) for row in buckets],
        "asked": sum(asked),
        "busiest": max(asked, default=0),
        "busiest_slices": max((row.under_slice for row in buckets), default=0),
        "sums": sums,
        "asked_by": [
            series("found", "first", "found"),
            series("nothing found", "second", "nothing_found"),
            series("failed", "third", "failed"),
        ],
        "latency": [series("p50", "first", "p50_ms"), series("p95", "second", "p95_ms")],
        "scores": [series("mean first score", "first", "mean_top_score")],
        "slices": [
            series("admissible", "first", "admissible"),
            Series("not admissible", "second", [r.under_slice - r.admissible for r in buckets]),
        ],
    }
