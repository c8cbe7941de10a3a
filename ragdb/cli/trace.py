"""`ragdb trace`: list, show, verify, replay and explain recorded retrievals."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.hits import print_recorded
from ragdb.cli.ids import chunk_id, trace_id
from ragdb.cli.session import NEGATIVE, OK, Failure, InCorpus, Session, Since
from ragdb.cli.tail import trace_tail

if TYPE_CHECKING:
    from ragdb.database import Database

Trace = Annotated[str, typer.Argument(metavar="TRACE", help="Id of a trace, or how it begins.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List and show recorded retrievals.")
    app.add_typer(group, name="trace", no_args_is_help=True)
    verb(group, "ls")(trace_ls)
    verb(group, "show")(trace_show)
    verb(group, "verify")(trace_verify)
    verb(group, "replay")(trace_replay)
    verb(group, "why-not")(trace_why_not)
    verb(group, "tail", formats=("table", "ndjson"))(trace_tail)


def trace_ls(
    session: Session,
    corpus: InCorpus = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(help="Largest number of traces.")] = 20,
) -> None:
    """List recorded retrievals, newest first."""
    from ragdb.cli.times import moment

    with session.connect() as db:
        session.rows(
            db.list_traces(corpus, moment("--since", since), limit),
            "id created_at corpus rank_mode limit_returned elapsed_ms query_text",
            empty="no traces yet; record one with `ragdb search --trace`",
        )


def trace_show(session: Session, trace: Trace) -> None:
    """Show one recorded retrieval with its hits."""
    from ragdb.client.rows import record

    with session.connect() as db:
        wanted = trace_id(db, trace)
        found = db.get_trace(wanted)
        shown, recorded = record(found), db.trace_hits(wanted)
        hits = [record(hit) for hit in recorded]
        reranks = {row.chunk_id: row for row in db.trace_reranks(wanted)}
        chunks = _chunks(db, found.corpus, [hit.chunk_id for hit in recorded])
    for hit in hits if reranks else []:
        row = reranks[hit["chunk_id"]]
        hit |= {
            "reranker": row.model,
            "rerank_rank": row.rank,
            "rerank_score": row.score,
            "is_returned": row.is_returned,
        }
    if session.format in ("json", "ndjson"):
        session.one({**shown, "hits": hits})
        return
    if session.format == "csv":
        session.rows(hits)
        return
    session.one({name: value for name, value in shown.items() if value is not None})
    session.out.print()
    for one in recorded:
        print_recorded(session, one, chunks.get(one.chunk_id), reranks.get(one.chunk_id))


def _chunks(db: Database, corpus: str, ids: list[str]) -> dict[str, Any]:
    """The chunks of a corpus, as far as they are there and may be read."""
    from ragdb.errors import CorpusNotFound

    with contextlib.suppress(CorpusNotFound):
        listed = db.list_chunks(corpus, None, ids, count=len(ids)) if ids else []
        return {chunk.chunk_id: chunk for chunk in listed}
    return {}


def trace_verify(
    session: Session,
    trace: Annotated[
        str | None,
        typer.Argument(
            metavar="TRACE", help="Id of a trace, or how it begins.", show_default=False
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Every trace, hit and reranking of the database.")
    ] = False,
) -> int:
    """Recompute the hashes and signatures of one trace, or of all. Exit code 1 if any differs."""
    from ragdb.cli.verify import run

    if (trace is None) != all_:
        raise Failure("give the id of a trace, or --all", hint="`ragdb trace ls` lists them")
    with session.connect() as db:
        if trace is None:
            return run(session, db, checks=["traces", "hits", "reranks"])
        fields: Any = db.verify_trace(trace_id(db, trace))
        session.rows(fields)
    return NEGATIVE if any(field.is_intact is False for field in fields) else OK


def trace_replay(session: Session, trace: Trace) -> int:
    """Run a recorded retrieval again and print what has changed. Exit code 1 unless it is exact."""
    with session.connect() as db:
        replayed: Any = db.replay(trace_id(db, trace))
        session.one(replayed)
    return OK if replayed.verdict == "exact" else NEGATIVE


def trace_why_not(
    session: Session,
    trace: Trace,
    chunk: Annotated[str, typer.Argument(metavar="CHUNK", help="Id of a chunk, or how it begins.")],
) -> None:
    """Print at which step of a recorded retrieval a chunk was dropped."""
    from ragdb.errors import ChunkNotFound

    with session.connect() as db:
        wanted = trace_id(db, trace)
        # what is gone may be asked for too, by its whole id
        with contextlib.suppress(ChunkNotFound):
            chunk = chunk_id(db, db.get_trace(wanted).corpus, chunk)
        session.one(db.why_not(wanted, chunk))
