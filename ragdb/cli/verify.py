"""`ragdb verify`, and what `ragdb doctor`, `trace verify` and `backup verify` show of it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import INTERRUPTED, NEGATIVE, OK, Failure, Session
from ragdb.client.counting import counted

if TYPE_CHECKING:
    from ragdb.client.client import Client

SHOWN = 5  # findings of a check in `ragdb doctor`

STEP = 4000  # rows, as ragdb.verify_step has it
Batch = Annotated[int, typer.Option("--batch", help="Rows looked at in one step.", hidden=True)]


def register(app: typer.Typer) -> None:
    verb(app, "verify")(verify)
    group = typer.Typer(help="Verify backups.")
    app.add_typer(group, name="backup", no_args_is_help=True)
    verb(group, "verify")(backup_verify)


def verify(
    session: Session,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the checks that read all rows.")
    ] = False,
    check: Annotated[
        list[str] | None, typer.Option("--check", help="Only this check; may be repeated.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="STATE", help="Go on where an interrupted run stopped."),
    ] = None,
    batch: Batch = STEP,
) -> int:
    """Verify all evidence and what guards it. Exit code 1 if anything is not what it was.

    Functions, triggers, rights, keys, versions, pgvector, policies, documents, chunks, originals,
    slices, traces, hits, rerankings, atoms, proposals, decisions, incidents, erasures, the ledger,
    history, static embedders, their embeddings, contracts, recorded states, edges, turns, and what
    peers signed. An interrupted run prints the state that --resume takes.
    """
    with session.connect() as db:
        return run(session, db, quick=quick, checks=check, state=_state(resume), batch=batch)


def backup_verify(
    session: Session,
    dump: Annotated[
        Path, typer.Argument(metavar="DUMP|DIR", help="Output of pg_dump -Fc, -Ft or -Fd.")
    ],
) -> int:
    """Restore a dump beside the database, verify it, and drop the restored copy again.

    The copy is a scratch database of the embedded server, or of the server that --dsn names, where
    the role must be allowed to create databases. Restoring runs the SQL of the dump: verify dumps
    of your own.
    """
    from ragdb.client.client import Client
    from ragdb.server import backup, signing

    found: list[dict[str, Any]] = []
    with backup.restored(dump, session.dsn and session.target.conninfo, session.note) as copy:
        session.note("restored; verifying what was restored")
        with Client(backup.connect(copy)) as db:
            # by the functions of the dump, which is all that can tell of themselves
            code = run(session, db, checks=["code", "triggers", "rights"], found=found)
        backup.reload(copy)
        with Client(backup.connect(signing.with_keys(copy))) as db:
            names = [row.check for row in db.verification_checks()]
            rest = [name for name in names if name not in ("code", "triggers", "rights")]
            code = max(code, run(session, db, checks=rest, found=found))
    _close(session, found)
    return code


def run(
    session: Session,
    db: Client,
    *,
    quick: bool = False,
    checks: Sequence[str] | None = None,
    state: Any = None,
    batch: int = STEP,
    found: list[dict[str, Any]] | None = None,
) -> int:
    """Do all steps, print each finding as it comes, and return the exit code.

    Findings are also put into `found`, whose owner prints what is not for people.
    """
    kept: list[dict[str, Any]] = [] if found is None else found
    looked: dict[str, int] = {}
    worst = OK
    is_sound = True
    try:
        for check, count, findings, after in steps(
            db, quick=quick, checks=checks, state=state, batch=batch
        ):
            looked[check] = looked.get(check, 0) + count
            for finding in findings:
                is_sound &= finding["severity"] == "note"
                if finding["severity"] == "error":
                    worst = session.verdict = NEGATIVE
                show(session, finding, kept)
            _progress(session, check, looked[check], done=not after or after["check"] != check)
            state = after
    except KeyboardInterrupt:
        if found is None:
            _close(session, kept)
        how = f"; go on with: ragdb verify --resume '{json.dumps(state)}'" if state else ""
        session.note(f"interrupted{how}")
        return INTERRUPTED
    if found is None:
        _close(session, kept)
        if is_sound:
            session.note(f"all is what it was: {counted(sum(looked.values()), 'row')} looked at")
    return worst


def steps(
    db: Client,
    *,
    quick: bool = False,
    checks: Sequence[str] | None = None,
    state: Any = None,
    batch: int = STEP,
) -> Iterator[tuple[str, int, list[dict[str, Any]], Any]]:
    """Each step as its check, the rows that it looked at, its findings, and the state after it."""
    while True:
        step = db.verify_step(state, batch, quick, checks)
        yield step.check, step.looked, step.findings, step.next_state
        state = step.next_state
        if state is None:
            return


def for_doctor(db: Client, deep: bool, show: Callable[[dict[str, Any]], None]) -> None:
    """The quick form of `ragdb verify`, or with `deep` all of it, but for its notes.

    One change can have thousands of findings: of each check the first few stand for all.
    """
    counted: Counter[tuple[str, bool | None]] = Counter()
    for finding in (f for f in _findings(db, deep) if f["severity"] != "note"):
        ok = False if finding["severity"] == "error" else None
        counted[finding["check"], ok] += 1
        if counted[finding["check"], ok] <= SHOWN:
            check, found = f"verify {finding['check']}", f"{finding['place']}: {finding['finding']}"
            show({"check": check, "ok": ok, "found": found, "fix": finding["advice"]})
    for (name, ok), count in counted.items():
        if count > SHOWN:
            found, fix = f"and {count - SHOWN} more", f"ragdb verify --check {name} lists them"
            show({"check": f"verify {name}", "ok": ok, "found": found, "fix": fix})
    if not any(ok is False for _, ok in counted):
        found = "no row is wrong" if deep else "what guards it is as installed"
        show({"check": "evidence", "ok": True, "found": found, "fix": ""})


def _findings(db: Client, deep: bool) -> Iterator[dict[str, Any]]:
    """What is found step by step, or by a router, which takes no steps, at all nodes."""
    from ragdb.client.calling import is_routed

    if is_routed(db.connection):
        yield from map(asdict, db.verify(not deep))
        return
    for _, _, findings, _ in steps(db, quick=not deep):
        yield from findings


def show(session: Session, finding: dict[str, Any], kept: list[dict[str, Any]]) -> None:
    """Print a finding for people at once; keep it for the other formats."""
    from ragdb.cli import text
    from ragdb.client.rows import dumps

    if session.format == "table":
        kept.append({})
        line = f"{finding['severity']:<8}{finding['check']}: {finding['place']}"
        session.out.print(text.clean(f"{line}: {finding['finding']}"), markup=False)
        if finding["advice"]:
            session.out.print(text.clean(f"        {finding['advice']}"), markup=False)
    elif session.format == "ndjson":
        kept.append({})
        print(dumps(finding))
    else:
        kept.append(finding)


def _close(session: Session, kept: list[dict[str, Any]]) -> None:
    if session.format in ("json", "csv"):
        session.rows(kept, "check severity place finding advice")


def _progress(session: Session, check: str, looked: int, *, done: bool) -> None:
    if session.progress:
        end = "\n" if done else "\r"
        print(f"  {check}: {looked} looked at", end=end, file=sys.stderr, flush=True)


def _state(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise Failure(
            "--resume is not a state", hint="give what an interrupted `ragdb verify` printed"
        ) from None
