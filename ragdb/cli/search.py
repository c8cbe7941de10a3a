"""`ragdb search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.facets import print_facets
from ragdb.cli.hits import print_hit
from ragdb.cli.query import (
    Filter,
    Hits,
    MinScore,
    Mode,
    embedded,
    filter_of,
    printable,
    readable,
)
from ragdb.cli.servers import Servers, search_servers
from ragdb.cli.session import Failure, Session
from ragdb.cli.times import version

if TYPE_CHECKING:
    from ragdb.database import Database


LEAST_SHOWN = 0.0005  # of a score, which is shown to three decimals


def register(app: typer.Typer) -> None:
    verb(app, "search")(search)


def search(
    session: Session,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='Words, "a phrase", +required, -excluded.')
    ],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus", "-c", help="Corpus; repeat for several. Default: all you may read."
        ),
    ] = None,
    k: Hits = 10,
    mode: Mode = None,
    min_score: MinScore = 0.0,
    filter: Filter = None,
    syntax: Annotated[
        str,
        typer.Option(
            metavar="web|plain",
            help='What quotes and signs mean: web has "phrases", +required and -excluded words; '
            "plain takes them for words.",
        ),
    ] = "web",
    per_document: Annotated[
        int | None, typer.Option(metavar="N", help="Hits of one document at most.")
    ] = None,
    group: Annotated[
        int | None,
        typer.Option(metavar="N", help="Show documents (-k of them), each with N chunks."),
    ] = None,
    collapse: Annotated[
        bool, typer.Option("--collapse", help="Leave out what nearly repeats a better hit.")
    ] = False,
    diversity: Annotated[
        float, typer.Option(help="What likeness to better hits takes from a score, 0 to 1.")
    ] = 0.0,
    around: Annotated[
        int,
        typer.Option(
            "--context", metavar="N", help="Neighbours of a hit to show on each side, 0 to 20."
        ),
    ] = 0,
    section: Annotated[
        bool, typer.Option("--section", help="Show the section of a hit, or neighbours in it only.")
    ] = False,
    typos: Annotated[
        bool,
        typer.Option(
            "--typos/--no-typos", help="For a word that a corpus lacks, take one that is near."
        ),
    ] = True,
    rerank: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Reranker that orders the hits; see `ragdb reranker ls`."
        ),
    ] = None,
    facets: Annotated[
        str | None,
        typer.Option(
            metavar="FIELDS",
            help="In place of hits, count what matches by these fields: source,language,year.",
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION|TIME",
            help="Search a corpus that keeps its history as it was: a version or a time.",
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score is made up.")] = (
        False
    ),
    trace: Annotated[
        bool, typer.Option("--trace", help="Record the retrieval (one corpus) and print its id.")
    ] = False,
    server: Servers = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave out a --server that does not answer.")
    ] = False,
) -> int | None:
    """Search, and print ranked hits. Nothing is written unless --trace is given."""
    from ragdb.client.rows import record
    from ragdb.evidence.database import recorded

    printable(query)
    if rerank == "none":
        rerank = None
    conditions = filter_of(filter)
    if facets is not None and not server:
        _count(session, corpus, query, facets.split(","), conditions, syntax)
        return None
    if as_of is not None and (explain or trace or group is not None):
        raise Failure("--as-of shows hits as they were, without --explain, --trace and --group")
    if group is not None and (explain or trace or rerank or per_document or collapse or diversity):
        raise Failure("--group goes with --corpus, -k, --mode, --min-score, --filter and --syntax")
    how: dict[str, Any] = {
        "k": k,
        "mode": mode,
        "min_score": min_score,
        "filter": conditions,
        "syntax": syntax,
        "per_document": per_document,
        "collapse": collapse,
        "diversity": diversity,
        "context": around,
        "section": section,
        "typos": typos,
    }
    if partial and not server:
        raise Failure("--partial goes with --server")
    if server:
        how |= {"group": group, "rerank": rerank, "as_of": as_of, "explain": explain}
        how["trace"] = trace
        return search_servers(session, server, corpus, query, partial, facets, how)
    with session.connect() as db:
        names = corpus or readable(session, db)
        if group is not None:
            _grouped(session, db, names, query, group, how)
            return None
        if trace and len(names) != 1:
            raise Failure("--trace works with one corpus", hint=f"name one of {', '.join(names)}")
        if as_of is not None and len(names) != 1:
            raise Failure("--as-of works with one corpus", hint=f"name one of {', '.join(names)}")
        if rerank is not None:
            how["k"] = db.rerank_depth(k)
        how["query_embedding"] = embedded(session, db, names, query, mode)
        hits: Any
        trace_id = None
        if trace:
            hits = recorded(db, db.retrieve, names[0], query, **how, client="ragdb cli")
            trace_id = hits.trace_id
        else:
            at = version(db, names[0], "--as-of", as_of)
            hits = list(db.search(names, query, **how, as_of=at))
        if rerank is not None:
            hits = list(db.rerank(query, hits, rerank, k))
        found = len(hits)
        if session.format == "table" and rerank is None:
            hits = [hit for hit in hits if hit.lexical_score or hit.score >= LEAST_SHOWN]
        terms = [_terms(db, query, hit, how) if explain else [] for hit in hits]
        if session.format == "table":
            for hit, of_hit in zip(hits, terms, strict=True):
                print_hit(session, db, query, hit, len(names) > 1, syntax, as_of is not None)
                if of_hit:
                    session.rows(of_hit, _columns(of_hit))
                    session.out.print()
        elif explain:
            pairs = zip(hits, terms, strict=True)
            session.rows([{**record(hit), "terms": of_hit} for hit, of_hit in pairs])
        else:
            session.rows(hits)
        meant = db.did_you_mean([hits[0].corpus] if hits else names, query, syntax)
    if meant is not None:
        session.note(f"did you mean: {meant}")
    if not hits:
        session.note(f"nothing found in {', '.join(names)}")
    if found > len(hits):
        session.note(
            f"{found - len(hits)} not shown, with neither the words nor the meaning of the query;"
            " --json shows all"
        )
    if trace_id:
        session.note(f"trace {trace_id}")
    return None


def _count(
    session: Session,
    corpora: list[str] | None,
    query: str,
    fields: list[str],
    filter: Any,
    syntax: str,
) -> None:
    """Count what matches, by the values of fields."""
    names = [field.strip() for field in fields if field.strip()]
    with session.connect() as db:
        found = db.facets(corpora, query, names, filter, syntax=syntax)
        total = db.count_matches(corpora, query, filter, syntax)
        searched = corpora or readable(session, db)
    print_facets(session, found, names, total, searched)


def _grouped(
    session: Session,
    db: Database,
    corpora: list[str],
    query: str,
    chunks: int,
    how: dict[str, Any],
) -> None:
    """Print the documents that are found in a corpus."""
    from ragdb.cli.related import print_documents

    if len(corpora) != 1:
        raise Failure("--group works with one corpus", hint=f"name one of {', '.join(corpora)}")
    taken = ("k", "mode", "min_score", "filter", "syntax", "typos")
    found = db.search_documents(
        corpora[0],
        query,
        chunks_per_document=chunks,
        query_embedding=embedded(session, db, corpora, query, how["mode"]),
        **{name: how[name] for name in taken},
    )
    if session.format == "table":
        print_documents(session, db, query, found)
    else:
        session.rows(found)
    if not found:
        session.note(f"nothing found in {corpora[0]}")


def _terms(db: Database, query: str, hit: Any, how: dict[str, Any]) -> list[Any]:
    """How the score of a hit is made up: by term, and by the meaning where that counts."""
    if hit.mode == "lexical":
        return list(db.explain_search(hit.corpus, query, hit.chunk_id, syntax=how["syntax"]))
    same = {name: how[name] for name in ("query_embedding", "syntax", "typos")}
    return list(db.explain_score(hit.corpus, query, hit.chunk_id, hit.mode, **same))


def _columns(terms: list[Any]) -> list[str]:
    """What a table shows of terms: what they stand for only where one does."""
    from ragdb.client.rows import record

    names = list(record(terms[0]))
    return [n for n in names if n != "stands_for" or any(t.stands_for for t in terms)]
