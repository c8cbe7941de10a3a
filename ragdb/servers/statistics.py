"""What servers count of the parts of a corpus, exchanged and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from ragdb.client.counting import counted
from ragdb.errors import InvalidArgument

if TYPE_CHECKING:
    from ragdb.client._generated.rows import SyncStatisticsRow
    from ragdb.database import Database

T = TypeVar("T")


class Of(Protocol):
    """Calls something of some servers at once, and returns what each answers."""

    def __call__(self, dbs: dict[str, Database], call: Callable[[Database], T]) -> dict[str, T]: ...


def exchange(dbs: dict[str, Database], of: Of, corpus: str) -> dict[str, SyncStatisticsRow]:
    """Have each server count its parts and tell the others, in the transaction that is open there.

    Raises InvalidArgument for a part that is on two servers.
    """
    # in one order, by whoever does it: each holds the lock of the whole from here on
    synced = {name: dbs[name].sync_statistics(corpus) for name in sorted(dbs)}
    counted = of(dbs, lambda db: db.part_statistics(corpus))
    own = {s: [row for row in rows if not row.is_elsewhere] for s, rows in counted.items()}
    homes = homes_of(corpus, {server: [row.part for row in rows] for server, rows in own.items()})
    digests = {row.part: row.digest for rows in own.values() for row in rows}
    known = {s: {r.part: r.digest for r in rows} for s, rows in counted.items()}
    told = {
        server: [part for part in homes if known[server].get(part) != digests[part]]
        for server in dbs
    }
    asked = {part for parts in told.values() for part in parts}
    for part in sorted(asked):  # one at a time: a part may have millions of words
        (row,) = (r for r in dbs[homes[part]].part_statistics(corpus, [part]) if r.part == part)
        given = (row.version, row.chunks, row.lexeme_count, row.lexemes, row.dfs, row.synced_at)
        takers = {server: db for server, db in dbs.items() if part in told[server]}
        of(takers, lambda db: db.put_part_statistics(corpus, part, *given))  # noqa: B023
    for server, parts in known.items():
        for part in parts.keys() - homes.keys():
            dbs[server].drop_part_statistics(corpus, part)
    return synced


def homes_of(corpus: str, parts: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The server of each part, by the parts of each. Raises InvalidArgument for one that has two.

    So a primary and its standby are not taken for two servers: all that is found would be doubled.
    """
    homes: dict[str, str] = {}
    for server, names in parts.items():
        for name in names:
            if name in homes:
                raise InvalidArgument(
                    f"part {name} of {corpus} is on {homes[name]} and on {server}; a primary and"
                    " its standby are one server: host=a,b"
                )
            homes[name] = server
    return homes


def parts_of(db: Database, corpus: str) -> list[str]:
    """The parts of a corpus that a server has."""
    return [part.name for part in db.list_parts(corpus) if not part.is_elsewhere]


def differing(told: Mapping[str, Mapping[str, str]]) -> str:
    """In what servers differ, for people."""
    whats: Iterable[str] = next(iter(told.values()))
    return "; ".join(
        f"{what}: {', '.join(f'{server} has {of[what]}' for server, of in told.items())}"
        for what in whats
        if len({of[what] for of in told.values()}) > 1
    )


def ranked_by(db: Database, corpus: str) -> dict[str, str]:
    """What a digest is made of, for people."""
    info, embedder = db.corpus_info(corpus), db.corpus_embedder(corpus)
    return {
        "text_config": info.text_config,
        "k1": str(info.k1),
        "b": str(info.b),
        "pivot": f"{info.pivot:.12g}",
        "embedder": embedder.name if embedder else "none",
        "synonyms": f"{len(db.list_synonyms(corpus))}",
        "parts": ", ".join(
            f"{part.name} of {counted(part.chunks_synced, 'chunk')}"
            for part in db.list_parts(corpus)
        ),
    }
