"""`ragdb ask` and `ragdb pack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import NEGATIVE, OK, Session, verb

if TYPE_CHECKING:
    from ragdb.client import Database

Corpus = Annotated[str, typer.Argument(metavar="CORPUS", help="Its name.")]
Question = Annotated[str, typer.Argument(metavar="QUESTION", help="In words.")]
Count = Annotated[int, typer.Option("--k", "-k", min=1, max=1000, help="At most so many chunks.")]
Context = Annotated[
    int | None,
    typer.Option(metavar="TOKENS", min=1, help="Most that the evidence may hold. Default: all."),
]


def register(app: typer.Typer) -> None:
    verb(app, "ask")(ask)
    verb(app, "pack")(pack)


def ask(
    session: Session,
    corpus: Corpus,
    question: Question,
    k: Count = 8,
    max_context: Context = None,
    sentences: Annotated[int, typer.Option(min=1, max=20, help="Of the answer, at most.")] = 2,
) -> int:
    """Answer a question in the words of a corpus, with sources. Exit 1 when it does not say.

    The answer is sentences of the corpus; no language model has part in it. Its citations are
    checked before it is printed, and the retrieval is recorded.
    """
    from ragdb.cli import output

    with session.connect() as db:
        evidence = _evidence(db, corpus, question, k, max_context)
        gate = db.rag_enough_context_gate(question, evidence)
        answer = db.answer_from_evidence(question, evidence, sentences)
        checks = db.check_citations(answer, evidence, require_citations=True)
    wrong = [row for row in checks if row.code is not None and not row.is_advisory]
    if session.format != "table":
        output.one(
            session,
            {
                **answer,
                "trace_id": evidence["trace_id"],
                "evidence_hash": evidence["hash"],
                "gate": gate,
                "problems": [f"{row.code}: {row.message}" for row in wrong],
            },
        )
    elif answer["insufficient_evidence"]:
        session.note(f"the corpus does not say; recorded as trace {evidence['trace_id']}")
    else:
        _print(session, answer, evidence)
        if not gate["enough"]:
            missing = ", ".join(gate["missing_terms"])
            session.note(f"the evidence lacks some of the question's terms: {missing}")
        session.note(f"citations checked; recorded as trace {evidence['trace_id']}")
    for row in wrong:
        session.note(f"citation {row.citation}: {row.code}: {row.message}")
    return NEGATIVE if wrong or answer["insufficient_evidence"] else OK


def pack(
    session: Session,
    corpus: Corpus,
    question: Question,
    k: Count = 8,
    max_context: Context = None,
) -> int:
    """Print the evidence for a question as one text. Exit 1 when there is none."""
    from ragdb.cli import output

    with session.connect() as db:
        evidence = _evidence(db, corpus, question, k, max_context)
    if session.format != "table":
        output.one(session, evidence)
    else:
        print(output.clean(evidence["canonical_text"]))
        session.note(
            f"{len(evidence['chunks'])} chunks, {len(evidence['omitted'])} omitted,"
            f" hash {evidence['hash']}, trace {evidence['trace_id']}"
        )
    return OK if evidence["chunks"] else NEGATIVE


def _evidence(
    db: Database, corpus: str, question: str, k: int, max_context: int | None
) -> dict[str, Any]:
    db.retrieve(corpus, question, k, client="ragdb ask")
    made: dict[str, Any] = db.build_evidence_pack(db.last_trace_id(), max_context=max_context)
    return {**made, "query": question}


def _print(session: Session, answer: dict[str, Any], evidence: dict[str, Any]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from ragdb.cli.output import clean

    chunks = {chunk["chunk_id"]: chunk for chunk in evidence["chunks"]}
    numbers: dict[str, int] = {}
    for citation in answer["citations"]:
        number = numbers.setdefault(citation["chunk_id"], len(numbers) + 1)
        sentence = " ".join(citation["quote"].split())
        session.out.print(Text.assemble(clean(sentence), (f" [{number}]", "cyan")))
    session.out.print()
    for chunk_id, number in numbers.items():
        chunk = chunks[chunk_id]
        place = clean(chunk["source_id"])
        if "page" in chunk:
            place += f", page {chunk['page']}"
        path = " › ".join(dict.fromkeys([*filter(None, [chunk.get("title")]), *chunk["heading"]]))
        session.out.print(Text.assemble((f"[{number}] ", "cyan"), (place, "bold")), soft_wrap=True)
        if path:
            session.out.print(Padding(Text(clean(path), style="dim"), (0, 0, 0, 4), expand=False))
