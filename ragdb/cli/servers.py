"""What verbs share that ask several servers for the parts of one corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.facets import print_facets
from ragdb.cli.session import PARTIAL, Failure, Session

if TYPE_CHECKING:
    from ragdb.servers import servers


Servers = Annotated[
    list[str] | None,
    typer.Option(
        "--server", metavar="DSN", help="Server that has parts of the corpus; name all of them."
    ),
]
TAKEN = (
    "k", "mode", "min_score", "filter", "syntax", "per_document", "context", "section", "typos",
)  # fmt: skip


def several(session: Session, dsns: list[str]) -> servers.Servers:
    """Connections to the servers of a verb, which say what they have to say. Raises Failure."""
    from ragdb.server import settings
    from ragdb.servers.servers import Servers
    from ragdb.version import __version__

    if session.dsn is not None:
        raise Failure("--server takes the place of --dsn", hint="name each database by --server")
    try:
        return Servers(
            [settings.given(dsn, "--server").conninfo for dsn in dsns],
            on_notice=session.on_notice,
            application_name=f"ragdb/{__version__} {session.verb}",
        )
    except ValueError as error:
        raise Failure(str(error)) from None


def search_servers(
    session: Session,
    dsns: list[str],
    corpora: list[str] | None,
    query: str,
    partial: bool,
    facets: str | None,
    how: dict[str, Any],
) -> int | None:
    """Print what several servers find in a corpus; the exit code is 4 where one is missing."""
    from ragdb.cli.hits import print_hit

    if corpora is None or len(corpora) != 1:
        raise Failure("--server searches one corpus", hint="name it by --corpus")
    given = sorted(name for name, value in how.items() if name not in TAKEN and value)
    if given:
        flags = ", ".join("--" + name.replace("_", "-") for name in given)
        raise Failure(
            f"{flags}: not over several servers",
            hint="what needs the texts of two hits, or a trace, is done by one server",
        )
    with several(session, dsns) as servers:
        if facets is not None:
            fields = [field.strip() for field in facets.split(",") if field.strip()]
            narrow = {name: how[name] for name in ("filter", "syntax")}
            found = servers.facets(corpora[0], query, fields, **narrow)
            total = servers.count_matches(corpora[0], query, **narrow)
            print_facets(session, found, fields, total, corpora)
            return None
        asked = {name: how[name] for name in TAKEN}
        hits = servers.search(corpora[0], query, partial=partial, **asked)
        if session.format == "table":
            for hit in hits:
                print_hit(session, servers.database(hit.server), query, hit, True, how["syntax"])
        else:
            session.rows(hits)
    for name, why in hits.missing.items():
        session.note(f"without {name}, which did not answer: {why}")
    if not hits:
        session.note(f"nothing found in {corpora[0]}")
    return PARTIAL if hits.missing else None
