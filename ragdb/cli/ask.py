"""`ragdb ask` and `ragdb pack`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ragdb.cli.app import explain, verb
from ragdb.cli.query import (
    AnswerModel,
    AskedCorpus,
    Endpoint,
    Filter,
    asked,
    filter_of,
)
from ragdb.cli.session import NEGATIVE, OK, Failure, Session
from ragdb.client.counting import counted

if TYPE_CHECKING:
    from ragdb.database import Database
    from ragdb.evidence.answers import Answer, Task
    from ragdb.evidence.database import Embed
    from ragdb.evidence.tasks import Mode, TaskContract

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in words.")]
Count = Annotated[int, typer.Option("-k", min=1, max=1000, help="Largest number of chunks.")]
Context = Annotated[
    int | None,
    typer.Option(metavar="TOKENS", min=1, help="Largest size of the evidence. Default: no limit."),
]
Record = Annotated[
    bool, typer.Option("--record/--no-record", help="Record what is asked; a standby cannot.")
]
Rerank = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Reranker that orders the chunks; see `ragdb reranker ls`."),
]


def register(app: typer.Typer) -> None:
    verb(app, "ask")(ask)
    verb(app, "pack")(pack)


def ask(
    session: Session,
    question: Question,
    corpus: AskedCorpus = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, max=1000, help="Largest number of chunks. Default: 8."),
    ] = None,
    max_context: Context = None,
    rerank: Rerank = None,
    min_score: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Least best score to answer. Default: the floor of the corpus."
        ),
    ] = None,
    filter: Filter = None,
    sentences: Annotated[
        int, typer.Option(min=1, max=20, help="Most sentences of the answer.")
    ] = 2,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="off|auto|on|required",
            help="Whether chunks are retrieved. Default: what --rag, --retriever or --contract"
            " says, else auto, which looks nothing up for a greeting or arithmetic.",
        ),
    ] = None,
    rank_mode: Annotated[
        str | None,
        typer.Option(
            metavar="lexical|semantic|hybrid|reference",
            help="Ranking mode, that of `ragdb search --mode`.",
        ),
    ] = None,
    retriever: Annotated[
        str | None, typer.Option(metavar="NAME", help="A retriever of a contract to search by.")
    ] = None,
    rag: Annotated[
        str | None, typer.Option(metavar="NAME", help="A rag of a contract to search by.")
    ] = None,
    contract: Annotated[
        str | None, typer.Option(metavar="FILE", help="A task's contract.json (version 2).")
    ] = None,
    model: AnswerModel = None,
    endpoint: Endpoint = None,
    record: Record = True,
) -> int:
    """Answer a question from a corpus, with sources. Exit code 1 if the corpus has no answer.

    The answer consists of sentences of the corpus, unless --model names a model that writes it.
    Nothing is answered if the best chunk scores less than questions that the corpus answers do.
    Citations are checked before they are printed. Retrieval, gate and answer are recorded
    unless --no-record says otherwise.
    """
    from ragdb.evidence.answers import PROVES

    if endpoint is not None and model is None:
        raise Failure("--endpoint without --model", hint="name the model that answers with --model")
    with _signed(record), session.connect() as db:
        if corpus is None and (retriever is not None or rag is not None):
            corpus = db.ask_retriever(None, retriever, rag).corpus
        corpus = asked(session, db, corpus)
        if retriever is None and rag is None and contract is None:
            mode = mode or "auto"  # nobody brings evidence here, so nothing is passed over
        try:
            answer = db.ask(
                corpus,
                question,
                k=k,
                max_context=max_context,
                min_score=min_score,
                rerank=rerank,
                filter=filter_of(filter),
                sentences=sentences,
                mode=cast("Mode | None", mode),
                rank_mode=rank_mode,
                retriever=retriever,
                rag=rag,
                contract=_contract(contract),
                model=model_of(model, endpoint),
                embed=_embed(session, db, corpus, rank_mode),
                client="ragdb ask",
                record=record,
            )
        except UnicodeError:
            raise
        except ValueError as error:
            raise Failure(str(error)) from None
        # courtesy, which the corpus lacks too, is not looked up
        queries = db.rag_query_plan(question)["queries"]
        meant = db.did_you_mean([corpus], queries[0]) if queries else None
    summary = answer.trace_summary
    if session.format != "table":
        session.one(answer.as_json())
    elif answer.problems:
        session.note(f"no answer: nothing that {model or 'the corpus'} returned could be verified")
    elif not answer.is_answered:
        skipped = "nothing was looked up: " if summary.get("retrieval_skipped") else ""
        session.note(f"{skipped}{answer.reason}{_recorded(summary)}")
    else:
        _print(session, answer)
        session.note(f"citations checked{_recorded(summary)}")
        session.note(f"what that proves: {PROVES}")
    if meant is not None:
        session.note(f"did you mean: {meant}")
    for problem in answer.problems:
        session.note(problem)
    return OK if answer.is_answered else NEGATIVE


def pack(
    session: Session,
    question: Question,
    corpus: AskedCorpus = None,
    k: Count = 8,
    max_context: Context = None,
    rerank: Rerank = None,
    filter: Filter = None,
    record: Record = True,
) -> int:
    """Print the evidence for a question as one text. Exit code 1 if there is none."""
    from ragdb.cli import text
    from ragdb.evidence.database import CorpusRetriever
    from ragdb.evidence.retrieval import RetrievalQuery

    with _signed(record), session.connect() as db:
        corpus = asked(session, db, corpus)
        retriever = CorpusRetriever(
            db,
            corpus,
            embed=_embed(session, db, corpus, None),
            client="ragdb pack",
            rerank=rerank,
            filter=filter_of(filter),
            record=record,
        )
        found = [chunk.chunk_id for chunk in retriever.retrieve(RetrievalQuery(question, k))]
        by: dict[str, Any] = {"trace_id": retriever.trace_id}
        if not record:
            by = {"chunk_ids": found, "corpus": corpus}
        made: dict[str, Any] = db.build_evidence_pack(**by, max_context=max_context)
    evidence = {**made, "query": question}
    if session.format != "table":
        session.one(evidence)
    else:
        print(text.clean(evidence["canonical_text"]))
        where = f", trace {retriever.trace_id}" if record else ""
        session.note(
            f"{counted(len(evidence['chunks']), 'chunk')}, {len(evidence['omitted'])} omitted,"
            f" hash {evidence['hash']}{where}"
        )
    return OK if evidence["chunks"] else NEGATIVE


@contextmanager
def _signed(record: bool) -> Iterator[None]:
    """What is recorded is signed. Raises Failure, which says what works without the key."""
    from ragdb.errors import NoSigningKey

    try:
        yield
    except NoSigningKey as error:
        failure = explain(error)
        if failure is None or not record:
            raise
        failure.hint = f"{failure.hint}; --no-record asks without it, and without a record"
        raise failure from None


def _embed(session: Session, db: Database, corpus: str, rank_mode: str | None) -> Embed:
    from ragdb.cli.query import embedded, printable

    def embed(text: str) -> list[float] | None:
        printable(text)
        return embedded(session, db, [corpus], text, rank_mode)

    return embed


def _contract(path: str | None) -> TaskContract | None:
    from ragdb.evidence.tasks import ContractError, TaskContract

    if path is None:
        return None
    try:
        return TaskContract.load(path)
    except ContractError as error:
        raise Failure(
            f"{path} is not the contract.json of a task",
            detail="; ".join(error.problems),
            hint="a contract that `ragdb apply` takes is asked by --rag NAME",
        ) from None


def model_of(name: str | None, endpoint: str | None) -> Task | None:
    from ragdb.models.chat import OpenAIModel

    if name is None:
        return None
    try:
        return OpenAIModel(name, endpoint)
    except ValueError as error:
        raise Failure(str(error), hint="--endpoint URL names another endpoint") from None


def _recorded(summary: dict[str, Any]) -> str:
    traces = summary.get("trace_ids", [])
    return f"; recorded as trace {', '.join(traces)}" if traces else ""


def _print(session: Session, answer: Answer) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from ragdb.cli.text import clean, unmarked

    given = answer.output
    chunks = {p.chunk.chunk_id: p.chunk for p in answer.pack.chunks} if answer.pack else {}
    numbers: dict[str, int] = {}
    citations = [c for c in given.get("citations") or [] if c.get("chunk_id") in chunks]
    for citation in citations:
        numbers.setdefault(citation["chunk_id"], len(numbers) + 1)
    if citations and all("answer_start" in citation for citation in citations):
        for citation in citations:
            sentence = unmarked(clean(str(citation.get("quote", ""))))
            session.out.print(
                Text.assemble(sentence, (f" [{numbers[citation['chunk_id']]}]", "cyan"))
            )
    else:
        marks = "".join(f" [{number}]" for number in numbers.values())
        session.out.print(Text.assemble(clean(str(given.get("answer", ""))), (marks, "cyan")))
    session.out.print()
    for chunk_id, number in numbers.items():
        chunk = chunks[chunk_id]
        place = clean(chunk.source_id)
        if chunk.metadata.get("page") is not None:
            place += f", page {chunk.metadata['page']}"
        names = [*filter(None, [chunk.metadata.get("title")]), *chunk.metadata.get("heading", [])]
        path = " › ".join(dict.fromkeys(names))
        session.out.print(Text.assemble((f"[{number}] ", "cyan"), (place, "bold")), soft_wrap=True)
        if path:
            session.out.print(Padding(Text(clean(path), style="dim"), (0, 0, 0, 4), expand=False))
