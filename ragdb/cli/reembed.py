"""`ragdb reembed`: change a corpus's embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Corpus, Failure, Session
from ragdb.cli.worker import Batch, Lease, drain

if TYPE_CHECKING:
    from ragdb.database import Database


def register(app: typer.Typer) -> None:
    verb(app, "reembed")(reembed)


def reembed(
    session: Session,
    corpus: Corpus,
    model: Annotated[str | None, typer.Option("--model", "-m", help="The new embedder.")] = None,
    cutover: Annotated[
        bool,
        typer.Option(
            "--cutover", help="Search with the new embedder once all chunks are embedded."
        ),
    ] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Search with the previous embedder again.")
    ] = False,
    drop: Annotated[
        str | None, typer.Option(metavar="NAME", help="Drop the embeddings of this embedder.")
    ] = None,
    questions: Annotated[
        int, typer.Option(help="Questions for comparing both embedders before the switch; 0: none.")
    ] = 200,
    lease: Lease = 60,
    batch: Batch = 512,
) -> int:
    """Change a corpus's embedder without downtime: fill a second space, then switch.

    If interrupted, run it again to continue. Once all chunks are embedded, both spaces answer the
    same questions (of the corpus's evals, else recorded ones, else its headings), and the
    differences are shown. Searches use the old space until --cutover, which is one transaction.
    The old space is kept for --rollback until you drop it.
    """
    if (model is None) == (not rollback and drop is None):
        raise Failure("nothing to do", hint="give --model NAME, --rollback or --drop NAME")
    from ragdb.models import embedders

    with session.connect() as db:
        if rollback:
            former = db.rollback_corpus(corpus)
            session.done(f"{corpus} is searched by {former} again", embedder=former)
            return 0
        if drop is not None:
            current = embedders.current(db.connection, corpus)
            spaces = [space.embedder for space in db.embedding_status(corpus)]
            if drop not in spaces and drop in embedders.embedders(db.connection):
                session.done(f"{corpus} has no embeddings by {drop}", dropped=None)
                return 0
            is_current = current is not None and current.name == drop
            use = ", by which it is searched" if is_current else ""
            session.confirm(f"drop all embeddings of {corpus} by {drop}{use}?")
            db.drop_space(corpus, drop)
            left = f": {corpus} is searched by words alone now" if is_current else ""
            said = f"dropped the embeddings of {corpus} by {drop}{left}"
            session.done(said, dropped=drop)
            return 0
        assert model is not None
        if model == embedders.MINILM["name"]:
            embedders.ensure_default(db.connection)
        embedders.need(db.connection, model)
        current = embedders.current(db.connection, corpus)
        if cutover and current is not None and current.name == model:
            # an earlier run was ended behind its switch, before it could say so
            session.done(f"{corpus} is searched by {model} already", embedder=model)
            return 0
        db.reembed_corpus(corpus, model)
        code = drain(session, db, corpus, model, "empty", lease, batch)
        if code == 0 and questions:
            _compare(session, db, corpus, model, questions)
        if code == 0 and cutover:
            db.cutover_corpus(corpus, model)
            session.done(f"{corpus} is searched by {model} now", embedder=model)
            return code
        if code == 0:
            session.note(f"ready: `ragdb reembed {corpus} --model {model} --cutover` switches")
        if session.format != "table":
            session.rows(db.embedding_status(corpus))
        return code


def _compare(session: Session, db: Database, corpus: str, model: str, count: int) -> None:
    """Show what the change would change; what cannot be compared is said and stops nothing."""
    from ragdb.errors import RagdbError
    from ragdb.models import embedders, encoders

    old, new = embedders.current(db.connection, corpus), embedders.embedders(db.connection)[model]
    asked = db.space_questions(corpus, count)
    if old is None or not asked:
        session.note("nothing to compare by: the corpus has no questions and no headings")
        return
    queries = [row.query for row in asked]
    try:
        before, after = (
            embedders.many(db.connection, embedder, queries) for embedder in (old, new)
        )
        rows = db.compare_spaces(corpus, model, queries, before, after)
    except (RagdbError, encoders.ProviderDown, encoders.InputRefused) as error:
        session.note(f"{old.name} and {new.name} cannot be compared: {error}")
        return
    of = {"eval": "questions of its evals", "trace": "recorded questions", "chunk": "headings"}
    shared = [row.overlap for row in rows if row.overlap is not None]
    if shared:
        session.note(
            f"{len(rows)} {of[asked[0].origin]}: {sum(shared) / len(shared):.0%} of the ten best"
            f" hybrid hits by {old.name} and by {new.name} are the same"
        )
    judged = [(row.current_ndcg, row.ndcg) for row in rows if row.ndcg is not None]
    if judged:
        was_ndcg, now_ndcg = (sum(values) / len(judged) for values in zip(*judged, strict=True))
        worse = sum(now < was - 1e-9 for was, now in judged)
        better = sum(now > was + 1e-9 for was, now in judged)
        session.note(
            f"nDCG@10 of the {len(judged)} labelled ones: {was_ndcg:.4f} by {old.name},"
            f" {now_ndcg:.4f} by {new.name} ({better} better, {worse} worse)"
        )
