"""What `ragdb ingest --contract --prune` leaves, and what removes it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from psycopg.sql import quote

from ragdb.cli.session import Session
from ragdb.client.counting import counted
from ragdb.contracts.declarations import DeclaredSource, Kept, read_by_contracts
from ragdb.ingest.source import CONTRACT_SOURCE

if TYPE_CHECKING:
    from ragdb.database import Database

_MOST = 100  # places that a statement names


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
            statement, is_all = _removed(corpus, name, kept)
            session.note(
                f"source {name}: no source of a contract in force names"
                f" {counted(len(kept.unnamed), 'document')} that it read, which"
                f" stay{'s' * (len(kept.unnamed) == 1)}\n  hint: select {statement} removes"
                f" {'what is left' if is_all else 'the first of them, and the next run tells more'}"
            )


def _removed(corpus: str, name: str, kept: Kept) -> tuple[str, bool]:
    """The calls that remove what is unnamed, and whether they remove all of it.

    They go by folders and files of records where nothing there is named.
    """
    named = {start for uri in kept.named for start in _starts(uri)}
    places: dict[str, list[str]] = {}
    for uri in kept.unnamed:
        place = next((start for start in _starts(uri) if start not in named), uri)
        places.setdefault(place, []).append(uri)
    some = [places[place] for place in sorted(places)[:_MOST]]
    calls = [_pruned(corpus, _start_of(uris), name) for uris in some if len(uris) > 1]
    if alone := ", ".join(_quoted(uris[0]) for uris in some if len(uris) == 1):
        calls.append(f"ragdb.delete_sources({_quoted(corpus)}, array[{alone}])")
    return ", ".join(calls), len(places) <= _MOST


def _starts(uri: str) -> Iterator[str]:
    """What a uri begins with, and others too: its folders, and the file that it is a part of."""
    yield ""
    yield from (uri[: mark.end()] for mark in re.finditer("[/#]", uri))


def _start_of(uris: list[str]) -> str:
    """The longest with which all of some uris begin."""
    starts = reversed(list(_starts(uris[0])))
    return next(start for start in starts if all(uri.startswith(start) for uri in uris))


def _pruned(corpus: str, folder: str, name: str) -> str:
    """The call that removes what a source has read below a folder."""
    given = map(_quoted, (corpus, folder, "{}", f"{CONTRACT_SOURCE}{name}"))
    return f"ragdb.prune_sources({', '.join(given)})"


def _quoted(text: str) -> str:
    return quote(text).strip()  # before an E it has a space
