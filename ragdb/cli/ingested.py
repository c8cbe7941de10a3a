"""What an ingest says: a bar while it runs, a line for each file, a summary."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ragdb.cli.session import Session
from ragdb.client.counting import counted
from ragdb.client.hints import by_verbs

if TYPE_CHECKING:
    from ragdb.database import Database
    from ragdb.ingest.report import Progress, Report


MANY = 30  # files; above this only what went wrong is listed


@contextlib.contextmanager
def bar(session: Session) -> Iterator[Callable[[Progress], None] | None]:
    if not session.progress:
        yield None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=session.err, transient=True) as bars:
        task = bars.add_task("reading", total=None)

        def show(progress: Progress) -> None:
            files = counted(progress.files_total, "file")
            chunks = counted(progress.chunks, "chunk")
            bars.update(
                task,
                total=progress.bytes_total,
                completed=progress.bytes,
                description=f"{progress.stage} {progress.files}/{files}, {chunks}",
            )

        yield show


@contextlib.contextmanager
def each(session: Session) -> Iterator[Callable[[Report], None]]:
    """Show the report of each source as it comes; in JSON all are one array, whatever fails."""
    if session.format != "json":
        yield functools.partial(show, session)
        return
    reports: list[Report] = []
    try:
        yield reports.append
    finally:
        session.rows(reports)


def show(session: Session, report: Report) -> None:
    if session.format == "json":
        session.one(report)
    elif session.format != "table":
        session.rows(report.files)
    else:
        # files of types that are not read are counted by type in the summary
        shown = [
            file
            for file in report.files
            if session.verbose
            or file.failed
            or (file.type is None and (file.reason or len(report.files) <= MANY))
        ]
        if shown:
            session.rows([_line(file) for file in shown])
        _reasons(session, report)
    session.note(summary(report))
    if report.text_config not in (None, "english"):
        session.note(
            f"  made with --text-config {report.text_config}, by the language of most documents"
        )
    if report.twice:
        first, files = report.twice[0], counted(len(report.twice), "file")
        session.note(
            f"  hint: the corpus has {files} of this under another name too: {first.uri} is"
            f" {first.other}, read from {first.root}; read one of the two folders, and take"
            " the other's documents out by `ragdb corpus delete`"
        )
    sys.stdout.flush()


def advise(session: Session, db: Database, corpus: str) -> None:
    """What a new corpus should be otherwise, as long as that costs little."""
    for row in db.advice():
        if row.subject == f"corpus {corpus}":
            session.note(f"  hint: {row.found}: `{row.fix}`")


def tell_waiting(session: Session, db: Database, corpora: Iterable[str]) -> None:
    """What a model outside the database has to embed, and by which command."""
    for space in (one for corpus in corpora for one in db.embedding_status(corpus)):
        if space.state != "current" or not space.backlog:
            continue
        chunks, do = counted(space.backlog, "chunk"), "waits" if space.backlog == 1 else "wait"
        waits = f"{chunks} of {space.corpus} {do} for an embedding by {space.embedder}"
        if space.provider is None:
            bind = f"`ragdb embedder bind {space.embedder} --provider PROVIDER`"
            session.note(f"  hint: {waits}, which is bound to no provider: {bind}")
        elif db.has_worker():
            session.note(f"  {waits}, which a worker makes")
        else:
            session.note(f"  hint: {waits}, and no worker runs: `ragdb embed {space.corpus}`")


def _line(file: Any) -> dict[str, Any]:
    about = [file.reason] if file.reason else []
    if file.pages:
        about.append(counted(file.pages, "page"))
        if file.pages_without_text:
            about.append(f"{file.pages_without_text} without text")
    if file.documents > 1:
        about.append(counted(file.documents, "document"))
    if file.empty and file.documents:
        about.append(f"{file.empty} empty")
    if file.failed and not file.reason:
        about.append(f"{file.failed} failed")
    if file.bad_characters:
        about.append(f"{counted(file.bad_characters, 'character')} replaced")
    if file.cut:
        about.append(f"{counted(file.cut, 'chunk')} indexed only up to character 65,536")
    return {
        "status": file.status,
        "source": file.uri,
        "chunks": file.chunks,
        "": ", ".join(about),
    }


def _reasons(session: Session, report: Report) -> None:
    """Why records failed, once for each file, and what to do: each hint once for all files."""
    failed: dict[str, list[str]] = {}
    for reason in report.reasons:
        # that of a whole file stands in its line
        if reason.first != [reason.uri]:
            names = [uri.removeprefix(reason.uri) for uri in reason.first]
            names += ["…"] * (reason.count > len(names))
            session.note(
                f"{reason.uri}: {reason.count} failed ({', '.join(names)}): {reason.reason}"
            )
        if reason.hint and reason.uri not in failed.setdefault(reason.hint, []):
            failed[reason.hint].append(reason.uri)
    listed = sum(reason.count for reason in report.reasons)
    if report.failed > listed:
        session.note(f"and {report.failed - listed} more failed")
    for hint, (first, *more) in failed.items():
        others = f" and {counted(len(more), 'other')}" if more else ""
        name = first if len(first) <= 80 else first[:79] + "…"
        session.note(f"  hint: {name}{others}: {by_verbs(hint)}")


def _types(report: Report) -> str:
    """How many files of which types were skipped, the commonest first, and how many others."""
    shown = [f"{count} {kind}" for kind, count in list(report.skipped_types.items())[:8]]
    others = report.skipped - sum(report.skipped_types.values())
    cut = ["…"] * (len(report.skipped_types) > 8)
    return ", ".join(shown + cut + [f"{others} for other reasons"] * (others > 0))


def summary(report: Report) -> str:
    parts = [
        f"{report.written} written"
        + (f", {report.replaced} of them replaced" * bool(report.replaced)),
        f"{report.unchanged} unchanged",
        f"{report.failed} failed",
    ]
    for count, what in (
        (report.empty, "empty"),
        (report.skipped, "skipped"),
        (report.pruned, "pruned"),
    ):
        if count:
            types = f": {_types(report)}" if what == "skipped" and report.skipped_types else ""
            parts.append(f"{count} {what}{types}")
    head = f"dry run of {report.corpus}" if report.dry_run else report.corpus
    chunks, tokens = counted(report.chunks, "chunk"), counted(report.tokens, "token")
    text = (
        f"{head}: {counted(report.documents, 'document')} ({', '.join(parts)}), "
        f"{chunks}, {tokens} in {report.seconds:.1f} s"
    )
    if report.not_pruned:
        left = ", ".join(report.not_pruned)
        text += f"; not pruned, because something there could not be read: {left}"
    if report.gone:
        text += f"; not found any more: {counted(report.gone, 'document')}, which --prune removes"
    return text
