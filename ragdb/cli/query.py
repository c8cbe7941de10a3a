"""What the verbs that ask a question share: flags, the query, its embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.session import Failure, Session
from ragdb.client.corpora import searched
from ragdb.client.counting import some

if TYPE_CHECKING:
    from ragdb.database import Database


AskedCorpus = Annotated[
    str | None,
    typer.Option("--corpus", "-c", help="The corpus. Default: the only one that you may read."),
]

Hits = Annotated[int, typer.Option("-k", help="Hits to return, 1 to 1000.")]

Mode = Annotated[
    str | None,
    typer.Option(metavar="lexical|semantic|hybrid|reference", help="Ranking mode."),
]

Filter = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="Metadata filter, as in ragdb.search(filter => …)."),
]

MinScore = Annotated[float, typer.Option(help="Minimum score, 0 to 1.")]

AnswerModel = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Model that answers; its citations are checked."),
]

Endpoint = Annotated[
    str | None,
    typer.Option(metavar="URL", help="OpenAI-compatible endpoint. Default: OPENAI_BASE_URL."),
]

AllowPrivate = Annotated[
    bool, typer.Option("--allow-private", help="Let peers be at http URLs and in your own network.")
]


def readable(session: Session, db: Database) -> list[str]:
    """Every corpus that the caller may read, as `searched` has them. Raises Failure."""
    names = searched(db.list_corpora())
    if not names:
        raise Failure(
            "there is no corpus to search", hint="create one with `ragdb ingest PATH --corpus NAME`"
        )
    if names == ["system"]:
        session.note(
            "there is no corpus but the manual, which is taken;"
            " `ragdb ingest PATH --corpus NAME` makes one"
        )
    return names


def asked(session: Session, db: Database, corpus: str | None) -> str:
    """The corpus of a verb: the one it is told, or else the only one that the caller may read."""
    if corpus is not None:
        return corpus
    names = readable(session, db)
    if len(names) > 1:
        raise Failure(
            f"there are {len(names)} corpora, and this takes one",
            hint=f"add --corpus with one of {some(names)}",
        )
    return names[0]


def embedded(
    session: Session, db: Database, corpora: list[str], query: str, mode: str | None
) -> list[float] | None:
    """The embedding of the query, where the search needs one of a model outside the database."""
    from ragdb.errors import EmbedderMismatch, EmbedderNotFound, InvalidEmbedding
    from ragdb.models import asking, embedders, encoders

    try:
        embedder = db.query_embedder(corpora, mode)
        # what is kept or a worker makes need not be made, and no model need be loaded
        if (
            embedder is None
            or asking.is_kept(db, corpora, query)
            or asking.is_made(db, corpora, query)
        ):
            return None
        return embedders.numbers(embedder, query)
    except (
        encoders.ProviderDown,
        encoders.InputRefused,
        EmbedderNotFound,
        EmbedderMismatch,
        InvalidEmbedding,
    ) as error:
        if mode is not None:
            raise Failure(
                f"the query cannot be embedded: {error}",
                hint="use --mode lexical, which needs no embedding",
            ) from error
        session.note(f"the query cannot be embedded: {error}")
        return None


def filter_of(text: str | None) -> Any:
    """The filter of a search. Raises Failure."""
    return None if text is None else parsed(text)


def parsed(text: str, what: str = "--filter") -> Any:
    """The JSON of an argument. Raises Failure."""
    from ragdb.client.rows import NotHeld, loads

    try:
        return loads(text)
    except NotHeld as error:
        raise Failure(f"{what}: {error}") from None
    except ValueError as error:
        raise Failure(
            f"{what} is not JSON: {error}", hint="""quote it for the shell: '{"name": 1}'"""
        ) from None


def printable(text: str) -> None:
    """Refuse a query that is not valid UTF-8. Raises Failure."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Failure(
            "the query is not valid UTF-8", hint="check the terminal's encoding"
        ) from None
