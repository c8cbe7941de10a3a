"""`ragdb search` and `ragdb trace`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import NEGATIVE, OK, Failure, Session, verb

if TYPE_CHECKING:
    from uuid import UUID

    from rich.text import Text

    from ragdb.database import Database

Trace = Annotated[str, typer.Argument(metavar="TRACE", help="Its id.")]
Hits = Annotated[int, typer.Option("-k", help="Hits to return, 1 to 1000.")]
Mode = Annotated[
    str | None,
    typer.Option(metavar="lexical|semantic|hybrid|reference", help="How to rank."),
]
MinScore = Annotated[float, typer.Option(help="Least score, 0 to 1.")]
BAR = 12
SHOWN = 500  # characters of a chunk
# what `ragdb.highlight` puts around a word here; neither ever reaches a terminal
START, STOP = "\x01", "\x02"


def register(app: typer.Typer) -> None:
    verb(app, "search")(search)
    group = typer.Typer(help="List and show recorded retrievals.")
    app.add_typer(group, name="trace", no_args_is_help=True)
    verb(group, "ls")(trace_ls)
    verb(group, "show")(trace_show)
    verb(group, "replay")(trace_replay)
    verb(group, "why-not")(trace_why_not)


def search(
    session: Session,
    query: Annotated[str, typer.Argument(help='Words, "a phrase", +required, -excluded.')],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus", "-c", help="Corpus; again for several. Default: all you may read."
        ),
    ] = None,
    k: Hits = 10,
    mode: Mode = None,
    min_score: MinScore = 0.0,
    filter: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Metadata filter, as in ragdb.search(filter => …)."),
    ] = None,
    rerank: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Have a reranker order the hits: `ragdb reranker ls`."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = (
        False
    ),
    trace: Annotated[
        bool, typer.Option("--trace", help="Record the retrieval (one corpus) and print its id.")
    ] = False,
) -> None:
    """Search, and print ranked hits. Nothing is written unless --trace is given."""
    from ragdb.cli import output
    from ragdb.client.rows import record
    from ragdb.evidence.retrieval import recorded

    printable(query)
    if rerank == "none":
        rerank = None
    if explain and mode not in (None, "lexical"):
        raise Failure(f"--explain explains lexical scores, not mode {mode}")
    how: dict[str, Any] = {
        "k": k,
        "mode": mode or ("lexical" if explain else None),
        "min_score": min_score,
        "filter": parsed(filter) if filter is not None else None,
    }
    with session.connect() as db:
        names = corpus or _readable(db)
        if trace and len(names) != 1:
            raise Failure("--trace records one corpus", hint=f"name one of {', '.join(names)}")
        if rerank is not None:
            how["k"] = db.rerank_depth(k)
        if not explain:
            how["query_embedding"] = embedded(session, db, names, query, mode)
        hits: list[Any]
        trace_id = None
        if trace:
            hits = recorded(db, db.retrieve, names[0], query, **how, client="ragdb cli")
            trace_id = db.last_trace_id()
        else:
            hits = list(db.search(names, query, **how))
        if rerank is not None:
            hits = list(db.rerank(query, hits, rerank, k))
        terms = [_terms(db, query, hit) if explain else [] for hit in hits]
        if session.format == "table":
            for hit, of_hit in zip(hits, terms, strict=True):
                _print(session, db, query, hit, len(names) > 1)
                if of_hit:
                    output.rows(session, of_hit)
                    session.out.print()
        elif explain:
            pairs = zip(hits, terms, strict=True)
            output.rows(session, [{**record(hit), "terms": of_hit} for hit, of_hit in pairs])
        else:
            output.rows(session, hits)
    if not hits:
        session.note(f"nothing found in {', '.join(names)}")
    if trace_id:
        session.note(f"trace {trace_id}")


def embedded(
    session: Session, db: Database, corpora: list[str], query: str, mode: str | None
) -> list[float] | None:
    """The embedding of the query, where the mode can use one."""
    if mode in ("lexical", "reference"):
        return None
    from ragdb.errors import EmbedderMismatch, EmbedderNotFound, InvalidEmbedding
    from ragdb.models import embed

    try:
        return embed.for_query(db.connection, corpora, query)
    except (
        embed.ProviderDown,
        embed.InputRefused,
        EmbedderNotFound,
        EmbedderMismatch,
        InvalidEmbedding,
    ) as error:
        if mode is not None:
            raise Failure(
                f"the query cannot be embedded: {error}", hint="--mode lexical needs no embedding"
            ) from error
        session.note(f"searching by words alone: the query cannot be embedded: {error}")
        return None


def _terms(db: Database, query: str, hit: Any) -> list[Any]:
    """How the score of a hit came about, by term."""
    return list(db.explain_search(hit.corpus, query, hit.chunk_id))


def _readable(db: Database) -> list[str]:
    """Every corpus that the caller may read; the manual only where there is nothing else."""
    names = [corpus.name for corpus in db.list_corpora()]
    if not names:
        raise Failure(
            "there is no corpus to search", hint="`ragdb ingest PATH --corpus NAME` makes one"
        )
    return [name for name in names if name != "system"] or names


def parsed(text: str, what: str = "--filter") -> Any:
    """The JSON of an argument. Raises Failure."""
    import json

    try:
        return json.loads(text)
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


def _print(session: Session, db: Database, query: str, hit: Any, name_corpus: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from ragdb.cli.output import clean

    full = round(hit.score * BAR)
    place = [f"{hit.corpus}: {hit.source}" if name_corpus else hit.source]
    if hit.page is not None:
        place.append(f"page {hit.page}")
    heading = [hit.title, *hit.heading] if hit.title else list(hit.heading)
    # a document often begins with its title as a heading
    path = [h for n, h in enumerate(heading) if n == 0 or h != heading[n - 1]]
    head = Text.assemble(
        (f"{hit.rank:>3}  ", "bold"),
        f"{hit.score:.3f} ",
        ("█" * full, "cyan"),
        ("░" * (BAR - full), "dim"),
        "  ",
        (clean(", ".join(place)), "bold"),
    )
    if hasattr(hit, "rerank_score"):
        head.append(f"  reranked {hit.rerank_score:.4g}, was {hit.retrieval_rank}", "dim")
    session.out.print(head, soft_wrap=True)
    if path:
        session.out.print(
            Padding(Text(clean(" › ".join(path)), style="dim"), (0, 0, 0, 5), expand=False)
        )
    session.out.print(Padding(_marked(db, query, hit), (0, 0, 1, 5), expand=False))


def _marked(db: Database, query: str, hit: Any) -> Text:
    """The chunk's text as one paragraph, from a little before the first match, matches in bold."""
    import re

    from rich.text import Text

    from ragdb.cli.output import clean

    marked = db.highlight(hit.corpus, hit.chunk_id, query, START, STOP)
    plain, bold = "", []
    for part in re.split(f"([{START}{STOP}])", marked):
        if part == START:
            bold.append([len(plain), len(plain)])
        elif part == STOP:
            bold[-1][1] = len(plain)
        else:
            # one space for each run of white space, also where a run is cut by a mark
            words = clean(re.sub(r"\s+", " ", part))
            plain += words[1:] if plain.endswith(" ") and words.startswith(" ") else words
    shown = Text(plain)
    for begin, end in bold:
        shown.stylize("bold yellow", begin, end)
    if len(plain) <= SHOWN:
        return shown
    begin = max(0, min((bold[0][0] if bold else 0) - SHOWN // 4, len(plain) - SHOWN))
    begin = plain.rfind(" ", 0, begin) + 1
    cut = shown[begin : begin + SHOWN]
    before = "… " if begin else ""
    after = " …" if begin + SHOWN < len(plain) else ""
    return Text.assemble((before, "dim"), cut, (after, "dim"))


def trace_ls(
    session: Session,
    corpus: Annotated[str | None, typer.Option("--corpus", "-c", help="Only this corpus.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only after this time, such as 2026-03-01.")
    ] = None,
    limit: Annotated[int, typer.Option(help="At most so many, the newest.")] = 20,
) -> None:
    """List recorded retrievals, newest first."""
    from datetime import datetime

    from ragdb.cli import output

    after = None
    if since is not None:
        try:
            after = datetime.fromisoformat(since).astimezone()
        except ValueError:
            raise Failure(
                f"--since {since!r} is no time", hint="such as 2026-03-01T12:00"
            ) from None
    with session.connect() as db:
        output.rows(
            session,
            db.list_traces(corpus, after, limit),
            [
                "id",
                "created_at",
                "corpus",
                "rank_mode",
                "limit_returned",
                "elapsed_ms",
                "query_text",
            ],
            empty="no trace yet: `ragdb search --trace` records one",
        )


def trace_show(session: Session, trace: Trace) -> None:
    """Show one recorded retrieval with its hits."""
    from ragdb.cli import output
    from ragdb.client.rows import record

    wanted = trace_id(trace)
    with session.connect() as db:
        shown = record(db.get_trace(wanted))
        hits = [record(hit) for hit in db.trace_hits(wanted)]
        reranks = {row.chunk_id: row for row in db.trace_reranks(wanted)}
    for hit in hits if reranks else []:
        row = reranks[hit["chunk_id"]]
        hit |= {
            "reranker": row.model,
            "rerank_rank": row.rank,
            "rerank_score": row.score,
            "is_returned": row.is_returned,
        }
    if session.format in ("json", "ndjson"):
        output.one(session, {**shown, "hits": hits})
        return
    if session.format == "csv":
        output.rows(session, hits)
        return
    output.one(session, {name: value for name, value in shown.items() if value is not None})
    session.out.print()
    shown_columns = ["rank", "score", "chunk_id", "content_hash"]
    if reranks:
        shown_columns[2:] = ["rerank_rank", "rerank_score", "is_returned", "reranker", "chunk_id"]
    output.rows(session, hits, shown_columns)


def trace_replay(session: Session, trace: Trace) -> int:
    """Run a recorded retrieval again and say what has changed. Exit 1 unless it is exact."""
    from ragdb.cli import output

    with session.connect() as db:
        replayed: Any = db.replay(trace_id(trace))
        output.one(session, replayed)
    return OK if replayed.verdict == "exact" else NEGATIVE


def trace_why_not(
    session: Session,
    trace: Trace,
    chunk: Annotated[str, typer.Argument(metavar="CHUNK", help="Id of a chunk.")],
) -> None:
    """Say at which step of a recorded retrieval a chunk fell out."""
    from ragdb.cli import output

    with session.connect() as db:
        output.one(session, db.why_not(trace_id(trace), chunk))


def trace_id(text: str) -> UUID:
    """The id of a trace as a UUID."""
    from uuid import UUID

    try:
        return UUID(text)
    except ValueError:
        raise Failure(f"{text!r} is no trace id", hint="`ragdb trace ls` lists them") from None
