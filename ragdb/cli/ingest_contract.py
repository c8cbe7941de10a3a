"""`ragdb ingest --contract`: one run for each source of a contract in force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragdb.cli.ingest_runs import embed_all, run
from ragdb.cli.ingested import each, tell_waiting
from ragdb.cli.session import INTERRUPTED, NOTHING, OK, PARTIAL, Failure, Session


def ingest_contract(
    session: Session, path: Path, options: dict[str, Any], embed: bool, due: bool
) -> int:
    """One run for each source of a contract in force, with its chunking."""
    import contextlib
    from dataclasses import replace

    from ragdb.cli import ingest_kept
    from ragdb.client.corpora import is_there
    from ragdb.contracts import contract_file, declarations
    from ragdb.errors import RagdbError
    from ragdb.ingest.options import IngestError, as_stored

    try:
        text = contract_file.text_of(path)
    except contract_file.ContractFileError as error:
        raise Failure(str(error)) from None
    as_stored(options)  # what is wrong with them is wrong for every source
    reports = []
    empty: set[tuple[str, str]] = set()
    refused: list[tuple[str, Exception]] = []
    with session.doing("connecting to the database"):
        db = session.connect()
    with db:
        declared = db.parse_contract(text, contract_file.name_of(path))
        wrong = [row for row in db.validate_contract(text) if row.severity == "error"]
        if wrong:
            line = f":{wrong[0].line}" if wrong[0].line else ""
            raise Failure(f"{path}{line}: {wrong[0].message}", hint=f"`ragdb check {path}` has all")
        forced = declarations.in_force(db, declared["contract"])
        if forced is None:
            raise Failure(f"{path} is not in force", hint=f"ragdb apply {path}")
        if not declarations.are_in_force(db, declared):
            raise Failure(
                f"the sources of {path} are not those in force: it was changed since",
                hint=f"ragdb apply {path}",
            )
        found_any = False
        sources = declarations.declared_sources(declared)
        if due:
            old = declarations.due(db, declared["contract"])
            sources = [source for source in sources if (source.corpus, source.name) in old]
        limits = {name: options[name] for name in ("allow_private", "max_bytes")}
        with each(session) as tell:
            for source, found in declarations.find_each(sources, path.parent, **limits):
                found_any = found_any or bool(found.sources)
                if options["prefix"]:
                    found.sources = [replace(one, adopts=True) for one in found.sources]
                try:
                    report = run(session, db, source.corpus, found, {**options, **source.options})
                except (IngestError, RagdbError) as error:  # of this source, and not of others
                    refused.append((source.name, error))
                    if not options["dry_run"]:
                        with contextlib.suppress(RagdbError):
                            db.record_reading(source.corpus, source.name, 0, 1)
                    continue
                finally:
                    found.close()
                if report is None:
                    _tell(session, refused)
                    return INTERRUPTED
                if not options["dry_run"]:
                    db.record_reading(source.corpus, source.name, report.documents, report.failed)
                tell(report)
                reports.append(report)
                if options["prune"] and not (found.sources or found.failed):
                    ingest_kept.tell_without_a_file(session, db, source)
                    empty.add((source.corpus, source.name))
        if not (embed or options["dry_run"]):
            tell_waiting(session, db, sorted({report.corpus for report in reports}))
        if options["prune"]:
            for corpus in forced.corpora:
                if is_there(db, corpus):  # a dry run makes none
                    ingest_kept.tell_unnamed(session, db, forced.name, corpus, empty)
    if due and not sources:
        session.note("no source is due")
        return OK
    unembedded = (
        embed and not options["dry_run"] and embed_all(session, {r.corpus for r in reports})
    )
    if refused:
        _tell(session, refused[1:])
        raise refused[0][1]
    if not found_any and not any(report.failed for report in reports):
        session.note("no source has a file")
        return NOTHING
    return PARTIAL if any(report.failed for report in reports) or unembedded else OK


def _tell(session: Session, refused: list[tuple[str, Exception]]) -> None:
    """Say which sources were refused, why, and what to do."""
    from ragdb.cli.app import explain

    for name, refusal in refused:
        failure = explain(refusal)
        hint = f"\n  hint: {failure.hint}" if failure and failure.hint else ""
        session.note(f"source {name}: {failure or refusal}{hint}")
