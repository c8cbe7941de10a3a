"""`ragdb feedback`: what people say of what was found, and the cases that it makes for evals."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.ids import chunk_id, trace_id, whole
from ragdb.cli.session import Corpus, Failure, InCorpus, Session, Since
from ragdb.client.counting import counted


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Record and list what people say of retrievals and answers.")
    app.add_typer(group, name="feedback", no_args_is_help=True)
    verb(group, "add")(add)
    verb(group, "ls")(ls)
    verb(group, "cases")(cases)


def add(
    session: Session,
    trace: Annotated[
        list[str],
        # a list, because what may be left out before a verdict is one
        typer.Argument(
            metavar="TRACE",
            help="Id of a trace, or how it begins. Default: that of the answer.",
            default_factory=list,
            show_default=False,
        ),
    ],
    verdict: Annotated[str, typer.Argument(metavar="good|bad", help="The verdict.")],
    chunk: Annotated[
        str | None, typer.Option(help="The hit that it is about: its id, or how it begins.")
    ] = None,
    answer: Annotated[str | None, typer.Option(help="Id of the answer that it is about.")] = None,
    comment: Annotated[str | None, typer.Option(help="What there is to add.")] = None,
) -> None:
    """Record a verdict on a retrieval, on one hit of it, or on an answer from it."""
    if len(trace) > 1 or not (trace or answer):
        raise Failure("give TRACE or --answer", hint="`ragdb trace ls` lists traces")
    about = whole(answer) if answer else None
    if answer and about is None:
        raise Failure(
            f"--answer is {answer[:80]!r}, which is not the id of an answer",
            hint="give all of it, as `ragdb ask --json` prints it",
        )
    with session.connect() as db:
        wanted = trace_id(db, trace[0]) if trace else None
        if chunk is not None and wanted is not None:
            chunk = chunk_id(db, db.get_trace(wanted).corpus, chunk)
        elif chunk is not None and about is not None:
            chunk = chunk_id(db, db.get_answer(about).corpus, chunk)
        made = db.record_feedback(verdict, wanted, about, chunk, comment, "ragdb")
    session.one({"feedback_id": made})


def ls(
    session: Session,
    corpus: InCorpus = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(help="Largest number of verdicts.")] = 20,
) -> None:
    """List the latest feedback, newest first."""
    from ragdb.cli.times import moment

    with session.connect() as db:
        session.rows(
            db.list_feedback(corpus, moment("--since", since), limit),
            "created_at corpus_name verdict query_text comment trace_id",
            empty="no feedback yet; give some with `ragdb feedback add TRACE good`",
        )


def cases(
    session: Session,
    corpus: Corpus,
    since: Since = None,
    after: Annotated[str, typer.Option(help="Only cases whose query comes after this.")] = "",
    limit: Annotated[int | None, typer.Option(help="Largest number of cases; else all.")] = None,
) -> None:
    """Print the cases that feedback makes, as JSONL for `ragdb eval import --queries`."""
    from ragdb.cli.times import moment

    with session.connect() as db:
        made = db.feedback_cases(corpus, moment("--since", since), after, limit)
    session.jsonl(
        [
            {"_id": case["name"], "text": case["query"], **{n: case[n] for n in ("tags", "labels")}}
            for case in made
        ],
    )
    if made:
        more = "import them with `ragdb eval import RAG EVAL --queries FILE`"
    else:
        more = "`ragdb feedback add TRACE good --chunk CHUNK` says what a case is made of"
    session.note(f"{counted(len(made), 'case')}; {more}")
