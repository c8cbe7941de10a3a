"""`ragdb ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.given import convert_rules, key_values, text
from ragdb.cli.ingested import advise, bar, each, show, summary
from ragdb.cli.session import INTERRUPTED, NOTHING, OK, PARTIAL, Failure, Session

if TYPE_CHECKING:
    from ragdb.database import Database
    from ragdb.ingest.report import Report
    from ragdb.ingest.source import Found

MAX_BYTES = 64 * 2**20


def register(app: typer.Typer) -> None:
    verb(app, "ingest")(ingest)


def ingest(
    session: Session,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Files, folders, URLs; - reads stdin."),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option("--corpus", "-c", help="Corpus; created if it does not exist.")
    ] = None,
    contract: Annotated[
        Path | None,
        typer.Option("--contract", help="Read exactly the sources of an applied contract."),
    ] = None,
    due: Annotated[
        bool,
        typer.Option(
            "--due", help="With --contract: only sources that are due by the corpus's refresh."
        ),
    ] = False,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Name of the sources in the corpus, in place of the folder's: handbook/2026."
            " Sources of that name from elsewhere are taken over; `.` keeps the name."
        ),
    ] = None,
    convert: Annotated[
        list[str] | None,
        typer.Option(
            metavar=".ENDING=COMMAND",
            help="Read what a command makes of files: '.pdf=ocrmypdf {in} {out}'.",
        ),
    ] = None,
    glob: Annotated[
        str | None, typer.Option(help="Read only these names from folders: '*.md', 'guide/*.html'.")
    ] = None,
    recursive: Annotated[bool, typer.Option(help="Read subfolders too.")] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be done and write nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write unchanged documents again.")
    ] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Remove sources of these folders that no longer exist."),
    ] = False,
    embed: Annotated[
        bool, typer.Option("--embed", help="Then run `ragdb embed` on the corpus.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running and ingest changes, until Ctrl-C.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes that read files.", show_default="by cores"),
    ] = None,
    blobs: Annotated[bool, typer.Option(help="Keep the original bytes of files.")] = True,
    name: Annotated[str | None, typer.Option(help="Name for stdin, such as notes.md.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of every document.")] = None,
    language: Annotated[str | None, typer.Option(help="Language code of every document.")] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Metadata of every document; a value may be JSON."),
    ] = None,
    allow_private: Annotated[
        bool,
        typer.Option("--allow-private", help="Also fetch from hosts outside the public internet."),
    ] = False,
    max_bytes: Annotated[
        int, typer.Option(min=1, help="Largest file or line of JSONL, in bytes.")
    ] = MAX_BYTES,
    text_config: Annotated[
        str | None,
        typer.Option(
            help="Text search configuration of a new corpus, such as german.",
            show_default="by the language of its documents",
        ),
    ] = None,
    strategy: Annotated[
        str, typer.Option(metavar="paragraph|window|semantic|page", help="Where documents are cut.")
    ] = "paragraph",
    max_tokens: Annotated[int, typer.Option(help="Largest chunk, in units.")] = 240,
    overlap: Annotated[int, typer.Option(help="Overlap with the previous chunk, in units.")] = 48,
    unit: Annotated[
        str, typer.Option(metavar="token|word|char", help="Unit of --max-tokens and --overlap.")
    ] = "token",
) -> int:
    """Read files into a corpus: text, source code, Markdown, HTML, PDF, office, data, mail.

    A file that cannot be read is reported; the others are still ingested (exit code 4). Files of
    other types in a folder are skipped. Unchanged documents are not written again. docs/ingest.md
    lists the types.
    """
    import functools
    import os

    options: dict[str, Any] = {
        "prefix": prefix,
        "convert": convert_rules(convert or []),
        "glob": glob,
        "recursive": recursive,
        "dry_run": dry_run,
        "force": force,
        "prune": prune,
        # what a name or a depth leaves out is not gone
        "tells_gone": not prune and glob is None and recursive,
        "blobs": blobs,
        "name": name,
        "title": text(title),
        "language": language,
        "metadata": key_values(metadata or []),
        "allow_private": allow_private,
        "max_bytes": max_bytes,
        "workers": workers or min(4, os.cpu_count() or 1),
        "text_config": text_config,
        "strategy": strategy,
        "max_tokens": max_tokens,
        "overlap": overlap,
        "unit": unit,
    }
    if contract is not None:
        if paths or corpus or watch:
            raise Failure("--contract cannot be combined with PATH, --corpus or --watch")
        if prefix not in (None, "."):
            raise Failure(
                "a contract names its sources", hint="--prefix . takes over what is there"
            )
        options["tells_gone"] = False
        del options["strategy"], options["max_tokens"], options["overlap"], options["unit"]
        return _ingest_contract(session, contract, options, embed, due)
    if due:
        raise Failure("--due needs --contract")
    if not paths or not corpus:
        given = f"ragdb ingest {' '.join(paths or ['docs/'])} --corpus {corpus or 'NAME'}"
        raise Failure("give PATH... and --corpus, or --contract FILE", hint=f"such as {given}")
    if watch and (session.format == "json" or any(p == "-" or "://" in p for p in paths)):
        raise Failure("only files and folders can be watched, and not as one document of JSON")
    work = functools.partial(_ingest_paths, session, paths, corpus, options, watch, embed)
    return session.outlive(work) if watch else work()


def _ingest_paths(
    session: Session, paths: list[str], corpus: str, given: dict[str, Any], watch: bool, embed: bool
) -> int:
    """One run, and under `watch` one more for what changes, until interrupted."""
    from ragdb.ingest.options import look
    from ragdb.ingest.watching import Watch

    options = dict(given)
    watched = Watch(paths, options) if watch else None
    with session.doing("looking for files"):
        found = look(paths, options)
    if found.failed and not found.sources:
        argument, error = found.failed[0]
        raise Failure(f"{argument}: {error.reason}", hint=error.hint)
    with session.doing("connecting to the database"):
        db = session.connect()
    with db:
        pruned = 0
        while True:
            report = _run(session, db, corpus, found, options)
            if report is None:
                return INTERRUPTED
            report.pruned += pruned
            show(session, report)
            if report.created:
                advise(session, db, corpus)
            if watched is None:
                break
            session.debug("watching")
            found, gone = watched.changed()
            options["tells_gone"] = False  # `found` is now what changed, not what there is
            if given["prune"]:
                pruned = watched.remove(db, corpus, gone)
    if not watch and not (report.documents or report.failed):
        read = "nothing was found that is read" if found.sources else "no file found"
        others = "; --convert '.ENDING=COMMAND {in}' reads other types"
        session.note(read + others * bool(report.skipped_types))
        return NOTHING
    unembedded = (
        embed and not options["dry_run"] and report.documents > 0 and _embed(session, {corpus})
    )
    return PARTIAL if report.failed or unembedded else OK


def _ingest_contract(
    session: Session, path: Path, options: dict[str, Any], embed: bool, due: bool
) -> int:
    """One run for each source of a contract in force, with its chunking."""
    from dataclasses import replace

    from ragdb.contracts import contract_file, declarations

    try:
        text = contract_file.text_of(path)
    except contract_file.ContractFileError as error:
        raise Failure(str(error)) from None
    reports = []
    with session.doing("connecting to the database"):
        db = session.connect()
    with db:
        declared = db.parse_contract(text, contract_file.name_of(path))
        wrong = [row for row in db.validate_contract(text) if row.severity == "error"]
        if wrong:
            line = f":{wrong[0].line}" if wrong[0].line else ""
            raise Failure(f"{path}{line}: {wrong[0].message}", hint=f"`ragdb check {path}` has all")
        if declarations.in_force(db, declared["contract"]) is None:
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
                    report = _run(session, db, source.corpus, found, {**options, **source.options})
                finally:
                    found.close()
                if report is None:
                    return INTERRUPTED
                if not options["dry_run"]:
                    db.record_reading(source.corpus, source.name, report.documents, report.failed)
                tell(report)
                reports.append(report)
    if due and not sources:
        session.note("no source is due")
        return OK
    unembedded = embed and not options["dry_run"] and _embed(session, {r.corpus for r in reports})
    if not found_any and not any(report.failed for report in reports):
        session.note("no source has a file")
        return NOTHING
    return PARTIAL if any(report.failed for report in reports) or unembedded else OK


def _run(
    session: Session, db: Database, corpus: str, found: Found, options: dict[str, Any]
) -> Report | None:
    """The report of one run; None if it was interrupted, in which case it is already shown."""
    import psycopg

    from ragdb.ingest.ingest import Run
    from ragdb.ingest.stopping import Signals

    with bar(session) as progress:
        # a polite kill ends like Ctrl-C: whole documents stay, workers go
        stop = Signals(db.connection, session.note)
        run = Run(db, corpus, found, {**options, "progress": progress, "stop": stop})
        try:
            with stop:
                return run.run()
        except KeyboardInterrupt:
            show(session, run.report)
            session.note("interrupted; whole documents stay")
            return None
        except psycopg.Error:
            # the error is shown after it
            if run.report.documents or run.report.failed:
                session.note(summary(run.report))
            raise


def _embed(session: Session, corpora: set[str]) -> bool:
    """Embed chunks without embedding; return whether some could not be embedded."""
    from ragdb.cli import embed

    return sum(embed.embed(session, corpus) for corpus in sorted(corpora)) > 0
