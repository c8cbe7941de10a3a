"""`ragdb ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.given import convert_rules, key_values, text
from ragdb.cli.ingest_contract import ingest_contract
from ragdb.cli.ingest_runs import embed_all, run
from ragdb.cli.ingested import advise, show, tell_waiting
from ragdb.cli.session import INTERRUPTED, NOTHING, OK, PARTIAL, Failure, Session
from ragdb.readers.limits import MAX_BYTES


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
        from ragdb.ingest.options import CHUNKING

        cut = {name: options.pop(name) for name in CHUNKING}
        if paths or corpus or watch or glob or name or not recursive or cut != CHUNKING:
            raise Failure(
                "--contract cannot be combined with PATH, --corpus, --watch, --glob, --name,"
                " --no-recursive, --strategy, --max-tokens, --overlap or --unit",
                hint="a contract says what is read into which corpus, and how it is cut",
            )
        if prefix not in (None, "."):
            raise Failure(
                "a contract names its sources", hint="--prefix . takes over what is there"
            )
        options["tells_gone"] = False
        return ingest_contract(session, contract, options, embed, due)
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
            report = run(session, db, corpus, found, options)
            if report is None:
                return INTERRUPTED
            report.pruned += pruned
            show(session, report)
            if report.created:
                advise(session, db, corpus)
            if report.documents and not (embed or options["dry_run"]):
                tell_waiting(session, db, [corpus])
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
        embed and not options["dry_run"] and report.documents > 0 and embed_all(session, {corpus})
    )
    return PARTIAL if report.failed or unembedded else OK
