"""`ragdb eval`: run the cases of a contract, report, compare, import labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli import queries as given
from ragdb.cli.app import TEXT, verb
from ragdb.cli.ids import run_id
from ragdb.cli.session import DATABASE, NEGATIVE, NOTHING, OK, Failure, Session, Since
from ragdb.cli.text import clean
from ragdb.client.counting import counted
from ragdb.client.hints import by_verbs

if TYPE_CHECKING:
    from uuid import UUID

    from ragdb.client._generated.rows import EvalRuns
    from ragdb.database import Database

REPORTS = ("table", "json", "csv", "tap", "junit", "md", "html")
VERDICTS = {
    "regressed": NEGATIVE,
    "stale_labels": NEGATIVE,
    "incomparable": DATABASE,
    "no_baseline": NOTHING,
}

Rag = Annotated[str, typer.Argument(metavar="RAG", help="A rag of an applied contract.")]
Eval = Annotated[str | None, typer.Argument(metavar="EVAL", help="Its eval, if it has several.")]
RunId = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of a run, or how it begins, as in `ragdb eval ls`.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only cases with one of these tags; repeatable.")
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Run, report and compare evaluations, import labels.")
    app.add_typer(group, name="eval", no_args_is_help=True)
    verb(group, "run", formats=REPORTS)(run)
    verb(group, "report", formats=REPORTS)(report)
    verb(group, "ls")(ls)
    verb(group, "cases")(cases)
    verb(group, "diff")(diff)
    verb(group, "bless")(bless)
    verb(group, "import")(import_)
    verb(group, "export", formats=TEXT)(export)
    verb(group, "challenge")(challenge)


def run(
    session: Session,
    rag: Rag,
    eval: Eval = None,
    tag: Tags = None,
    label: Annotated[str | None, typer.Option(help="Label of the run.")] = None,
) -> int:
    """Run an eval and print its report. Exit code 1 if it failed, 5 if nothing ran."""
    from ragdb.models.rerank import for_eval

    with session.connect() as db:
        _embed_queries(db, rag, eval, tag)
        done = db.run_eval(rag, eval, tag, label, for_eval(db, rag, eval, tag))
        session.verdict = _code(done)
        print(_report(db, done.run_id, session.format), end="")
    session.note(f"run {done.run_id}: {done.status} in {done.elapsed_ms / 1000:.1f} s")
    return _code(done)


def report(session: Session, run: RunId) -> int:
    """Print the report of a run and exit with its exit code.

    With --format html it is one page with the runs before it, to keep, send or print.
    """
    with session.connect() as db:
        found = db.get_eval_run(run_id(db, run))
        session.verdict = _code(found)
        print(_report(db, found.run_id, session.format), end="")
    return _code(found)


def ls(
    session: Session,
    rag: Annotated[str | None, typer.Argument(metavar="RAG", help="Only runs of this rag.")] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(help="Largest number of runs.")] = 20,
) -> None:
    """List the latest runs."""
    from ragdb.cli.times import moment

    with session.connect() as db:
        rows = db.list_eval_runs(rag, None, limit, moment("--since", since))
    columns = "run_id created_at rag eval status passed_cases cases label"
    session.rows(rows, columns, empty="no runs yet; start one with `ragdb eval run RAG`")


def cases(
    session: Session,
    rag: Rag,
    eval: Eval = None,
    after: Annotated[int, typer.Option(help="Only cases after this case_no.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Largest number of cases; else all.")] = None,
) -> None:
    """List the cases of an eval: those of its contract, imported ones, questions asked."""
    with session.connect() as db:
        rows = db.list_eval_cases(rag, eval, after, limit)
    columns = "case_no name origin query tags expected asserts labels"
    session.rows(rows, columns, empty="no cases; a contract declares them as ragCase")


def diff(
    session: Session,
    run: RunId,
    with_run: Annotated[
        str | None, typer.Argument(metavar="BASELINE", help="Run to compare it with.")
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="Name of the baseline to compare it with.")
    ] = "main",
    seed: Annotated[str, typer.Option(help="Seed of all random choices.")] = "ragdb",
    resamples: Annotated[
        int, typer.Option(help="Resamples for significance tests, 100 to 100000.")
    ] = 10000,
    tolerance: Annotated[float, typer.Option(help="Smaller differences count as noise.")] = 0.01,
) -> int:
    """Compare a run with another or with the baseline of its eval. Exit code 1 if it is worse."""
    with session.connect() as db:
        found = db.get_eval_run(run_id(db, run))
        other: Any = (
            run_id(db, with_run) if with_run else db.baseline_run(found.rag, found.eval, baseline)
        )
        rows = db.compare_runs(other, found.run_id, seed, resamples, tolerance)
    shown = [
        "metric",
        "verdict",
        "baseline_mean",
        "run_mean",
        "difference",
        "low",
        "high",
        "p_holm",
    ]
    session.rows(rows[1:] if session.format == "table" else rows, [*shown, "detail"])
    verdict = rows[0].verdict
    session.note(verdict + (f": {by_verbs(rows[0].detail)}" if rows[0].detail else ""))
    return VERDICTS.get(verdict, OK)


def bless(
    session: Session,
    run: RunId,
    name: Annotated[str, typer.Option(help="Name of the baseline.")] = "main",
    reason: Annotated[str | None, typer.Option(help="Reason for the choice.")] = None,
) -> None:
    """Make a run the baseline for later runs."""
    with session.connect() as db:
        db.bless_run(run_id(db, run), name, reason)
    session.done(f"{run} is the baseline {name}", run_id=run, baseline=name)


def import_(
    session: Session,
    rag: Rag,
    eval: Annotated[str, typer.Argument(metavar="EVAL", help="Its eval.")],
    queries: Annotated[
        Path,
        typer.Option(
            help="JSONL with _id, text and optional tags, labels and asserts, or CSV or TSV "
            "with id and text."
        ),
    ],
    qrels: Annotated[
        Path | None, typer.Option(help="Judgements: BEIR's TSV or TREC's four columns.")
    ] = None,
    judged: Annotated[
        bool, typer.Option("--judged", help="Import only queries that have a label.")
    ] = False,
) -> None:
    """Import queries and labels as the cases of an eval. They replace earlier imported cases.

    A record may contain labels of spans, {"source", "start", "end", "grade"}, and what is asserted,
    {"kind", "value", "required"}. What `ragdb eval cases --format ndjson` prints is read too,
    without the cases of the contract.
    """
    labels = given.judgements(qrels) if qrels else {}
    cases = list(given.cases(queries, labels))
    if judged:
        cases = [case for case in cases if case["labels"]]
    unknown = labels.keys() - {case["name"] for case in cases}
    if unknown and not judged:
        session.note(f"{qrels} has {counted(len(unknown), 'query')} not in {queries}")
    if not cases:
        raise Failure(
            f"{queries} has no query{' with a label' * judged}",
            detail="nothing was imported; the cases imported before stay",
            hint="in psql, select ragdb.import_eval('RAG', 'EVAL', '[]') takes them away",
        )
    with session.connect() as db:
        session.one(db.import_eval(rag, eval, cases))


def export(
    session: Session,
    run: RunId,
    what: Annotated[str, typer.Option(metavar="run|qrels", help="What to write.")] = "run",
) -> None:
    """Print a run, or the imported labels of its eval, in a format of TREC."""
    with session.connect() as db:
        for line in db.export_trec(run_id(db, run), what):
            print(clean(line))


def challenge(session: Session, rag: Rag, eval: Eval = None, tag: Tags = None) -> int:
    """Run an eval with broken retrievers. Print which ones it catches and which cases catch none.

    Exit code 1 if one goes unnoticed.
    """
    from ragdb.models.rerank import for_eval

    with session.connect() as db:
        _embed_queries(db, rag, eval, tag)
        rows = db.challenge_eval(rag, eval, tag, for_eval(db, rag, eval, tag))
    session.rows(rows)
    broken = [row for row in rows if row.subject == "retriever" and row.applies]
    caught = sum(row.caught for row in broken)
    idle = counted(sum(row.subject == "case" for row in rows), "case", "catch")
    session.note(f"{caught} of {counted(len(broken), 'broken retriever')} caught; {idle} none")
    return NOTHING if not broken else OK if caught == len(broken) else NEGATIVE


def _report(db: Database, id: UUID, format: str) -> str:
    if format != "html":
        return db.eval_report(id, format)
    from ragdb.cli.serve import need_server

    need_server()
    from ragdb.studio import reports

    return reports.of_run(db, id)


def _code(found: EvalRuns) -> int:
    return {"passed": OK, "failed": NEGATIVE, "empty": NOTHING}[found.status]


def _embed_queries(db: Database, rag: str, eval: str | None, tags: list[str] | None) -> None:
    """Give the database the embeddings that a run by meaning needs."""
    from ragdb.models import embedders

    model = None
    for row in db.eval_queries(rag, eval, tags):
        model = model or embedders.current(db.connection, row.corpus)
        if model is not None:
            vector = embedders.query(model, row.query)
            db.put_query_embedding(row.corpus, row.query, vector, model.name)
