"""`ragdb demo`: shows the features of ragdb on the sample documents, with their commands."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from ragdb.cli.app import TEXT, verb
from ragdb.cli.session import Failure, Session
from ragdb.client.corpora import is_there

CORPUS = "demo"
CONTRACT = "desk"


def register(app: typer.Typer) -> None:
    verb(app, "demo", formats=TEXT)(demo)


def demo(
    session: Session,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the corpus at the end.")] = False,
    traffic: Annotated[
        bool,
        typer.Option("--traffic", help="Run many queries, to fill the dashboards."),
    ] = False,
    queries: Annotated[int, typer.Option(min=1, help="Number of queries with --traffic.")] = 400,
) -> None:
    """Ingest sample documents and a conversation, search them every way, evaluate a contract.

    With --traffic it then runs many queries: some find nothing, some fail and some search a slice.
    An evaluation runs too, and the corpus is kept. A corpus that existed before is always kept.
    """
    from importlib.resources import as_file, files

    from ragdb.cli import contract, embed, eval
    from ragdb.cli.ingest import ingest
    from ragdb.cli.keys import create as keys_create
    from ragdb.cli.search import search
    from ragdb.cli.server import status
    from ragdb.cli.slice import slice_search, slice_verify
    from ragdb.cli.trace import trace_replay, trace_show
    from ragdb.contracts import declarations

    with session.connect() as db:
        keep = keep or traffic or is_there(db, CORPUS)
        other = declarations.in_force(db, CONTRACT)
        if other is not None and CORPUS not in other.corpora:
            raise Failure(
                f"a contract {CONTRACT} is in force here, which the demo would replace",
                hint="run it in a database of its own: ragdb demo --dsn DSN",
            )

    _step(session, "Read Markdown, HTML, text, Word, a PDF and a conversation.")
    samples = files("ragdb.examples") / "tool-library"
    for sample in ("handbook", "desk"):
        with as_file(samples / sample) as folder:
            _say(session, f"ragdb ingest {_shown(folder)} --corpus {CORPUS}")
            ingest(session, [str(folder)], CORPUS)

    with session.connect() as db:
        is_embedded = bool(db.embedding_status(CORPUS))
    missing = None if is_embedded else _missing()
    if is_embedded:
        _step(session, "The database embedded them itself as they came: no model runs beside it.")
    elif missing:
        from ragdb.server import static

        _step(session, "Embedding, and search by meaning, are left out:")
        session.out.print(static.HINT, markup=False)
    else:
        _step(session, "Embed them, on this machine.")
        _say(session, f"ragdb embed {CORPUS}")
        embed.embed(session, CORPUS)

    _step(session, "Search by words: exact BM25. A hit names its source and page.")
    question = "how far do sparks fly from an angle grinder"
    _say(session, f"ragdb search {_quoted(question)} --corpus {CORPUS} -k 1 --mode lexical")
    search(session, question, [CORPUS], k=1, mode="lexical")

    if not missing:
        _step(session, "Search by meaning: the best answer says 'refunded', and never 'money'.")
        question = "how do I get my money back"
        _say(session, f"ragdb search {_quoted(question)} --corpus {CORPUS} -k 1 --mode semantic")
        search(session, question, [CORPUS], k=1, mode="semantic")

    mode = "lexical" if missing else "hybrid"
    how = "" if missing else " by both,"
    _step(session, f"Search{how} on record: hashes in the trace show any later change.")
    question = "what does a late power tool cost"
    _say(session, f"ragdb search {_quoted(question)} --corpus {CORPUS} -k 2 --mode {mode} --trace")
    search(session, question, [CORPUS], k=2, mode=mode, trace=True)
    trace = _last_trace(session)
    _say(session, f"ragdb trace show {trace}")
    trace_show(session, trace)

    _step(
        session,
        "Search a slice: what a policy admits around a turn, signed. The signature holds, and the"
        " search repeats exactly.",
    )
    with session.connect() as db:
        has_key = any(key.state == "active" for key in db.list_signing_keys())
    if not has_key:
        _say(session, "ragdb keys create")
        keys_create(session)
    question = "is the deposit refunded when a guard is cracked"
    _say(
        session,
        f"ragdb slice search {_quoted(question)} --corpus {CORPUS} -k 2 --mode {mode} --trace",
    )
    slice_search(session, question, CORPUS, k=2, mode=mode, trace=True)
    trace = _last_trace(session)
    _say(session, f"ragdb slice verify {trace}")
    slice_verify(session, trace)
    _say(session, f"ragdb trace replay {trace}")
    trace_replay(session, trace)

    _step(
        session,
        "Evaluate a contract. The handbook has no answer for one case, so the run fails (exit 1).",
    )
    with as_file(samples / f"{CONTRACT}.kern") as file:
        _say(session, f"ragdb apply {_shown(file)}")
        contract.apply(session, [file])
    _say(session, "ragdb eval run Desk")
    eval.run(session, "Desk")

    _step(session, "All of it is in one database.")
    _say(session, "ragdb status")
    status(session)
    if traffic:
        _traffic(session, queries)
    elif keep:
        session.note(
            f"the corpus {CORPUS} is kept: `ragdb search 'trailer' --corpus {CORPUS}`, or"
            " `ragdb studio`"
        )
    else:
        with session.connect() as db:
            db.withdraw_contract(CONTRACT)
            db.drop_corpus(CORPUS)
        session.note(
            f"the corpus {CORPUS} was dropped; `ragdb demo --traffic` keeps it with traces, slices"
            " and evals, and `ragdb studio` shows them in a browser"
        )


def _missing() -> str | None:
    """Why nothing can be embedded here; None if it can."""
    from ragdb.errors import EmbedderNotFound
    from ragdb.models import local

    try:
        local.model_folder(local.PACKAGED)
    except EmbedderNotFound as error:
        return str(error)
    return None


def _last_trace(session: Session) -> str:
    with session.connect() as db:
        return str(db.list_traces(CORPUS, None, 1)[0].id)


def _traffic(session: Session, queries: int) -> None:
    from ragdb.cli import traffic

    _say(session, f"ragdb demo --traffic --queries {queries}")
    with session.connect() as db:
        came = traffic.run(db, session.target.conninfo, CORPUS, queries)
    for what, count in came.items():
        session.out.print(f"{count:6} {what}", markup=False)
    session.note(
        f"the corpus {CORPUS} is kept: `ragdb studio` shows it in a browser, `ragdb dashboards"
        f" export DIR` writes what shows its traces, `ragdb corpus drop {CORPUS}` removes it"
    )


def _step(session: Session, what: str) -> None:
    session.out.print(f"\n{what}", style="bold", markup=False)


def _say(session: Session, command: str) -> None:
    session.out.print(f"$ {command}", style="bold green", markup=False, soft_wrap=True)


def _shown(folder: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(folder.relative_to(Path.cwd()))
    return str(folder)


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
