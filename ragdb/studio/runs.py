"""Runs of evals as they are drawn: a run with all its cases, and cases by runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from ragdb.client._generated import rows
    from ragdb.client.client import AsyncClient, Client

Key = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A case of one run with what was tested of it."""

    of: rows.EvalCaseResults
    tests: list[rows.EvalAssertResults]
    metrics: dict[str, float]

    @property
    def key(self) -> Key:
        return self.of.kind, self.of.name

    @property
    def wrong(self) -> list[rows.EvalAssertResults]:
        return [test for test in self.tests if not test.passed]


@dataclass(frozen=True)
class Sheet:
    """A run with all its cases."""

    run: rows.EvalRuns
    cases: list[Case]
    metrics: dict[str, float]

    @property
    def share(self) -> float | None:
        return self.run.passed_cases / self.run.cases if self.run.cases else None


@dataclass(frozen=True)
class Line:
    """A case over several runs; None where a run did not have it."""

    name: str
    query: str
    cells: list[Case | None]

    @property
    def differs(self) -> bool:
        return len({cell and cell.of.status for cell in self.cells}) > 1


def sheet(
    run: rows.EvalRuns,
    cases: Sequence[rows.EvalCaseResults],
    tests: Sequence[rows.EvalAssertResults],
    metrics: Sequence[rows.EvalMetrics],
) -> Sheet:
    tested: dict[int, list[rows.EvalAssertResults]] = defaultdict(list)
    measured: dict[int, dict[str, float]] = defaultdict(dict)
    for test in tests:
        tested[test.case_no].append(test)
    for metric in metrics:
        measured[metric.case_no][metric.metric] = metric.value
    drawn = [Case(case, tested[case.case_no], measured[case.case_no]) for case in cases]
    return Sheet(run, drawn, measured[0])  # 0 is the run as a whole


async def load(db: AsyncClient, run: rows.EvalRuns) -> Sheet:
    id = run.run_id
    return sheet(
        run,
        await db.eval_case_results(id),
        await db.eval_assert_results(id),
        await db.eval_metrics(id),
    )


def load_now(db: Client, run: rows.EvalRuns) -> Sheet:
    id = run.run_id
    return sheet(run, db.eval_case_results(id), db.eval_assert_results(id), db.eval_metrics(id))


def lines(sheets: Sequence[Sheet]) -> list[Line]:
    """Cases by runs, in the order of the newest run, which is the first."""
    by_run = [{case.key: case for case in one.cases} for one in sheets]
    keys = dict.fromkeys(key for cases in by_run for key in cases)
    found = []
    for key in keys:
        cells = [cases.get(key) for cases in by_run]
        known = next(cell for cell in cells if cell is not None)
        found.append(Line(known.of.name, known.of.query, cells))
    return found


def until(listed: Sequence[rows.EvalRuns], run: rows.EvalRuns, count: int) -> list[rows.EvalRuns]:
    """A run, also one that is not listed, and those before it, newest first.

    Runs have ids in the order of time.
    """
    return [run, *(one for one in listed if str(one.run_id) < str(run.run_id))][:count]


def compared_with(chosen: Sequence[rows.EvalRuns], baseline: UUID | None) -> UUID | None:
    """What the first run is compared with: the baseline, or else the run before it."""
    if baseline not in (None, chosen[0].run_id):
        return baseline
    return chosen[1].run_id if len(chosen) > 1 else None


def widest(compared: Sequence[rows.CompareRunsRow]) -> float:
    """The farthest bound of some intervals from zero, to draw them all alike."""
    bounds = [abs(b) for row in compared for b in (row.low, row.high) if b is not None]
    return max(bounds, default=0) or 1
