"""`ragdb demo`: the main job on the sample documents, with the commands that do it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from ragdb.cli.app import Session, verb

CORPUS = "demo"
QUESTIONS = (
    "when is a deposit refunded",
    "how far do sparks fly from an angle grinder",
    '"riving knife" guard',
    "why are there no opening hours on Mondays",
)


def register(app: typer.Typer) -> None:
    verb(app, "demo")(demo)


def demo(
    session: Session,
    keep: Annotated[
        bool, typer.Option("--keep", help="Do not drop the corpus at the end.")
    ] = False,
    traffic: Annotated[
        bool,
        typer.Option("--traffic", help="Ask many queries, so that dashboards show something."),
    ] = False,
    queries: Annotated[int, typer.Option(min=1, help="How many, with --traffic.")] = 400,
) -> None:
    """Ingest sample documents and a conversation, search, prove a retrieval, show the status.

    With --traffic it goes on to ask as people and programs do: some queries find nothing, some
    fail, some are made under a slice, and an evaluation runs. The corpus is kept.
    """
    from importlib.resources import as_file, files

    from ragdb.cli.ingest import ingest
    from ragdb.cli.search import search, trace_replay, trace_show
    from ragdb.cli.server import status
    from ragdb.cli.slice import keys_create, slice_search, slice_verify

    for sample in ("handbook", "desk"):
        with as_file(files("ragdb.examples") / "tool-library" / sample) as folder:
            _say(session, f"ragdb ingest {_shown(folder)} --corpus {CORPUS}")
            ingest(session, [str(folder)], CORPUS)
    for question in QUESTIONS:
        _say(session, f"ragdb search {_quoted(question)} --corpus {CORPUS} -k 2")
        search(session, question, [CORPUS], k=2)
    question = "what does a late power tool cost"
    _say(session, f"ragdb search {_quoted(question)} --corpus {CORPUS} -k 3 --trace")
    search(session, question, [CORPUS], k=3, trace=True)
    with session.connect() as db:
        trace = db.list_traces(CORPUS, None, 1)[0].id
    _say(session, f"ragdb trace show {trace}")
    trace_show(session, str(trace))
    with session.connect() as db:
        has_key = any(key.state == "active" for key in db.list_signing_keys())
    if not has_key:
        _say(session, "ragdb keys create")
        keys_create(session)
    question = "is the deposit refunded when a guard is cracked"
    _say(session, f"ragdb slice search {_quoted(question)} --corpus {CORPUS} -k 3 --trace")
    slice_search(session, question, CORPUS, k=3, trace=True)
    with session.connect() as db:
        trace = db.list_traces(CORPUS, None, 1)[0].id
    _say(session, f"ragdb slice verify {trace}")
    slice_verify(session, str(trace))
    _say(session, f"ragdb trace replay {trace}")
    trace_replay(session, str(trace))
    _say(session, "ragdb status")
    status(session)
    if traffic:
        _traffic(session, queries)
    elif not keep:
        with session.connect() as db:
            db.drop_corpus(CORPUS)
        session.note(f"the corpus {CORPUS} was dropped; --keep leaves it")


def _traffic(session: Session, queries: int) -> None:
    from ragdb import settings, traffic

    _say(session, f"ragdb demo --traffic --queries {queries}")
    with session.connect() as db:
        came = traffic.run(db, settings.connection(session.dsn).conninfo, CORPUS, queries)
    for what, count in came.items():
        session.out.print(f"{count:6} {what}", markup=False)
    session.note(
        f"the corpus {CORPUS} is kept: `ragdb dashboards export DIR` writes what shows its traces,"
        f" `ragdb corpus drop {CORPUS}` removes it"
    )


def _say(session: Session, command: str) -> None:
    session.out.print(f"\n$ {command}", style="bold green", markup=False, soft_wrap=True)


def _shown(folder: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(folder.relative_to(Path.cwd()))
    return str(folder)


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
