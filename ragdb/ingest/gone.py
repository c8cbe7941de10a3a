"""Documents of folders and JSONL files whose sources a run did not come across."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ragdb.ingest import origins
from ragdb.ingest.report import Report
from ragdb.ingest.source import Found
from ragdb.readers import formats

if TYPE_CHECKING:
    from ragdb.client.client import Client


def settle(
    db: Client, corpus: str, found: Found, report: Report, seen: Collection[str], *, prune: bool
) -> None:
    """Remove them, or count what would go: in a dry run, and where nobody wants them removed."""
    is_told = report.dry_run or not prune
    lost = _of_files_of_records(db, corpus, found, seen, is_told=is_told)
    # the names of what a contract finds in its own folder begin with nothing
    below = {(s.prefix, s.origin) for s in found.sources if s.prefix or not s.is_named}
    for prefix, origin in sorted(below, key=str):
        # what lies in a folder that cannot be looked at is not gone
        if any(uri.startswith(prefix) for uri in found.hidden):
            if prune:
                report.not_pruned.append(prefix or ".")
            continue
        keep = [uri for uri in seen if uri.startswith(prefix)]
        gone = db.prune_sources(corpus, prefix, keep, origin, dry_run=is_told).documents_deleted
        if prune:
            report.pruned += gone
            report.not_pruned += [
                f"{file.uri}#"
                for file in report.files
                if file.failed
                and formats.has_records(file.uri)
                and f"{file.uri}#".startswith(prefix)
            ]
        else:
            report.gone += gone
    if prune:
        report.pruned += lost
    else:
        report.gone += lost


def _of_files_of_records(
    db: Client, corpus: str, found: Found, seen: Collection[str], *, is_told: bool
) -> int:
    """Remove the documents that files were before they held records; returns how many went.

    Of a folder they are among its sources that nothing was read as.
    """
    came = {s.uri: s.origin for s in found.sources if s.prefix == f"{s.uri}#"}
    for uri in came.keys() & seen:
        del came[uri]
    gone = origins.still(db, corpus, came)
    if not gone:
        return 0
    with db.connection.transaction(force_rollback=is_told):
        return db.delete_sources(corpus, gone).documents_deleted
