"""What `ragdb ingest --contract --prune` leaves, and what removes it."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from typing import TYPE_CHECKING

from ragdb.cli.session import Session
from ragdb.client.counting import counted
from ragdb.contracts.declarations import DeclaredSource, Kept, read_by_contracts
from ragdb.ingest.source import CONTRACT_SOURCE

if TYPE_CHECKING:
    from ragdb.database import Database


def tell_without_a_file(session: Session, db: Database, source: DeclaredSource) -> None:
    """Say which documents stay of a source that finds nothing, why, and what removes them."""
    origin = f"{CONTRACT_SOURCE}{source.name}"
    kept = db.prune_sources(source.corpus, "", [], origin, dry_run=True).documents_deleted
    if kept:
        session.note(
            f"source {source.name}: {source.uri} has no file, and {counted(kept, 'document')} of it"
            f" stay{'s' * (kept == 1)}, because its disk may just not be mounted\n  hint: select"
            f" {_pruned(source.corpus, '', source.name)} removes what is left"
        )


def tell_unnamed(
    session: Session,
    db: Database,
    contract: str,
    corpus: str,
    told: Collection[tuple[str, str]],
) -> None:
    """Say which documents no source names any more, and what removes them.

    They were read when the contract had other sources. Of those that are told nothing more is said.
    """
    for name, kept in sorted(read_by_contracts(db, contract, corpus).items()):
        if kept.unnamed and (corpus, name) not in told:
            session.note(
                f"source {name}: no source of a contract in force names"
                f" {counted(len(kept.unnamed), 'document')} that it read, which"
                f" stay{'s' * (len(kept.unnamed) == 1)}\n  hint: select"
                f" {_removed(corpus, name, kept)} removes what is left"
            )


def _removed(corpus: str, name: str, kept: Kept) -> str:
    """The call that removes what is unnamed: by its folder where nothing there is named."""
    folder = posixpath.commonpath([posixpath.dirname(uri) for uri in kept.unnamed])
    folder = f"{folder}/" if folder else ""
    if not any(uri.startswith(folder) for uri in kept.named):
        return _pruned(corpus, folder, name)
    uris = ", ".join(map(_quoted, kept.unnamed))
    return f"ragdb.delete_sources({_quoted(corpus)}, array[{uris}])"


def _pruned(corpus: str, folder: str, name: str) -> str:
    """The call that removes what a source has read below a folder."""
    given = map(_quoted, (corpus, folder, "{}", f"{CONTRACT_SOURCE}{name}"))
    return f"ragdb.prune_sources({', '.join(given)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
