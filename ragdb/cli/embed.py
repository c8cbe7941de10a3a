"""`ragdb embed`, `embedder`, `worker`, `reembed`, `reranker`: models and what they have to do."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import PARTIAL, Corpus, Failure, Session, verb

if TYPE_CHECKING:
    from ragdb.database import Database
    from ragdb.models.worker import Done, Worker

Model = Annotated[
    str, typer.Option("--model", "-m", help="Embedder, as `ragdb embedder ls` has it.")
]
Lease = Annotated[float, typer.Option(help="Seconds that a claim outlives a killed worker.")]
Batch = Annotated[int, typer.Option(help="Inputs to a claim, 1 to 10000.")]


def register(app: typer.Typer) -> None:
    verb(app, "embed")(embed)
    verb(app, "worker")(worker)
    verb(app, "reembed")(reembed)
    group = typer.Typer(help="List embedders, and bind them to what runs them.")
    app.add_typer(group, name="embedder", no_args_is_help=True)
    verb(group, "ls")(embedder_ls)
    verb(group, "bind")(embedder_bind)
    group = typer.Typer(help="List rerankers, and say where they lie.")
    app.add_typer(group, name="reranker", no_args_is_help=True)
    verb(group, "ls")(reranker_ls)
    verb(group, "bind")(reranker_bind)


def embed(
    session: Session,
    corpus: Annotated[
        str | None,
        typer.Argument(metavar="CORPUS", help="Corpus; without one, all that have embeddings."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Embedder of a corpus that has none: all-MiniLM-L6-v2."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Do what is due now; wait for nothing.")
    ] = False,
    lease: Lease = 60,
    batch: Batch = 512,
) -> int:
    """Embed every chunk that has no embedding, and build the index of large corpora.

    What failed is tried again with growing pauses, and a provider that does not answer for about a
    minute is given up until the next run; see `ragdb embed --once` for cron. Exit code 4 when some
    chunks could not be embedded.
    """
    from ragdb.models import embed as models

    with session.connect() as db:
        if model is not None and corpus is None:
            raise Failure("--model belongs to one corpus", hint="ragdb embed CORPUS --model NAME")
        if corpus is not None:
            current = models.current(db.connection, corpus)
            if model is None:
                model = current.name if current else models.ensure_default(db.connection)
            elif model == models.MINILM["name"]:
                models.ensure_default(db.connection)
            db.embed_corpus(corpus, model)
        return _drain(session, db, corpus, model, "idle" if once else "empty", lease, batch)


def worker(
    session: Session,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", "-c", help="Only this one, not all you may write."),
    ] = None,
    lease: Lease = 60,
    batch: Batch = 512,
) -> None:
    """Embed chunks and queries, and read blobs to be ingested, as they come, until interrupted."""
    with session.connect() as db, _stoppable(session, db, corpus, None, lease, batch) as at_work:
        session.note(f"worker {at_work.name} waits for work; interrupt to stop")
        _report(session, at_work.run())


def reembed(
    session: Session,
    corpus: Corpus,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The embedder to change to.")
    ] = None,
    cutover: Annotated[
        bool, typer.Option("--cutover", help="Search by the new embedder once all is embedded.")
    ] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Search by the embedder before this one again.")
    ] = False,
    drop: Annotated[
        str | None, typer.Option(metavar="NAME", help="Drop the embeddings by this embedder.")
    ] = None,
    questions: Annotated[
        int, typer.Option(help="Questions to compare both embedders by before the switch; 0: none.")
    ] = 200,
    lease: Lease = 60,
    batch: Batch = 512,
) -> int:
    """Change a corpus's embedder without downtime: fill a second space, then switch.

    Interrupted, it goes on where it stopped. Once all is embedded, both spaces answer the same
    questions (those of the corpus's evals, else recorded ones, else its headings), and how the
    answers differ is shown. Searches use the old space until --cutover, which is one transaction;
    the old space is kept for --rollback until it is dropped.
    """
    if (model is None) == (not rollback and drop is None):
        raise Failure("say what to do", hint="give --model NAME, --rollback, or --drop NAME")
    from ragdb.models import embed as models

    with session.connect() as db:
        if rollback:
            session.note(f"{corpus} is searched by {db.rollback_corpus(corpus)} again")
            return 0
        if drop is not None:
            current = models.current(db.connection, corpus)
            is_current = current is not None and current.name == drop
            use = ", by which it is searched" if is_current else ""
            session.confirm(f"drop all embeddings of {corpus} by {drop}{use}?")
            db.drop_space(corpus, drop)
            left = f": {corpus} is searched by words alone now" if is_current else ""
            session.note(f"dropped the embeddings of {corpus} by {drop}{left}")
            return 0
        assert model is not None
        if model == models.MINILM["name"]:
            models.ensure_default(db.connection)
        db.reembed_corpus(corpus, model)
        code = _drain(session, db, corpus, model, "empty", lease, batch)
        if code == 0 and questions:
            _compare(session, db, corpus, model, questions)
        if code == 0 and cutover:
            db.cutover_corpus(corpus, model)
            session.note(f"{corpus} is searched by {model} now")
        elif code == 0:
            session.note(f"ready: `ragdb reembed {corpus} --model {model} --cutover` switches")
        return code


def _compare(session: Session, db: Database, corpus: str, model: str, count: int) -> None:
    """Show what the change would change; what cannot be compared is said and stops nothing."""
    from ragdb.errors import RagdbError
    from ragdb.models import embed as models

    old, new = models.current(db.connection, corpus), models.embedders(db.connection)[model]
    asked = db.space_questions(corpus, count)
    if old is None or not asked:
        session.note("nothing to compare by: the corpus has no questions and no headings")
        return
    queries = [row.query for row in asked]
    try:
        before, after = (
            models.load(embedder).encode([embedder.query_prefix + query for query in queries])
            for embedder in (old, new)
        )
        rows = db.compare_spaces(
            corpus, model, queries, before.ravel().tolist(), after.ravel().tolist()
        )
    except (RagdbError, models.ProviderDown, models.InputRefused) as error:
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


def embedder_ls(session: Session) -> None:
    """List the embedders, and who runs them."""
    from ragdb.cli import output

    with session.connect() as db:
        output.rows(
            session,
            db.list_embedders(),
            [
                "name",
                "provider",
                "provider_model",
                "dims",
                "metric",
                "max_tokens",
                "weights_sha256",
            ],
            empty="no embedder yet: `ragdb embed CORPUS` makes the default one",
        )


def embedder_bind(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name that contracts and corpora use.")],
    provider: Annotated[str, typer.Option(metavar="sentence-transformers|openai|hash")],
    source: Annotated[
        str | None,
        typer.Option(help="What it calls the model: packaged, a folder, a hub or endpoint name."),
    ] = None,
    dims: Annotated[int | None, typer.Option(help="Width, for a new embedder.")] = None,
    metric: Annotated[str, typer.Option(metavar="cosine|ip|l2")] = "cosine",
    max_tokens: Annotated[int, typer.Option(help="Tokens of an input that it reads.")] = 256,
    query_prefix: Annotated[str, typer.Option(help="Put before a query.")] = "",
    passage_prefix: Annotated[str, typer.Option(help="Put before a chunk.")] = "",
    weights_sha256: Annotated[
        str | None, typer.Option(help="Digest of model.safetensors, checked on loading.")
    ] = None,
) -> None:
    """Say who runs an embedder, making the embedder when there is none of that name.

    An endpoint's address and key are the worker's OPENAI_BASE_URL and OPENAI_API_KEY.
    """
    from ragdb.models import embed as models

    with session.connect() as db:
        if name not in models.embedders(db.connection):
            if dims is None:
                raise Failure(f"embedder {name} is new", hint="give its width: --dims N")
            db.create_embedder(
                name,
                dims,
                metric=metric,
                max_tokens=max_tokens,
                query_prefix=query_prefix,
                passage_prefix=passage_prefix,
                weights_sha256=weights_sha256,
            )
        db.bind_embedder(name, provider, source or ("hash-v1" if provider == "hash" else name))
    session.note(f"{name} is run by {provider}")


def reranker_ls(session: Session) -> None:
    """List the rerankers, and where they lie."""
    from ragdb.cli import output

    with session.connect() as db:
        output.rows(
            session,
            db.list_rerankers(),
            ["name", "source", "revision", "max_tokens", "weights_sha256"],
            empty="no reranker yet: `ragdb reranker bind NAME --source FOLDER` makes one",
        )


def reranker_bind(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name that contracts and traces use.")],
    source: Annotated[str, typer.Option(help="A folder, or a name on the hub.")],
    revision: Annotated[str | None, typer.Option(help="Revision on the hub.")] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(help="Of query and passage that it reads. Default: all it can, at most 512."),
    ] = None,
    weights_sha256: Annotated[
        str | None,
        typer.Option(help="Digest of model.safetensors. Default: that of the file found now."),
    ] = None,
) -> None:
    """Make a CrossEncoder a reranker, or say where one lies now: its weights stay the same.

    The model is loaded once to see that it works. From then on it is refused wherever its weights
    have another digest.
    """
    from ragdb.models import rerank

    found = rerank.describe(source, revision)
    digest, longest = weights_sha256 or found.weights_sha256, max_tokens or found.max_tokens
    model = rerank.CrossEncoderReranker(name, found.source, revision, digest, longest)
    rerank.score(model, "a question", ["its answer"])
    with session.connect() as db:
        db.bind_reranker(name, found.source, digest, longest, revision)
    session.note(f"{name} is {source}, weights {digest[:12]}…, {longest} tokens")


@contextmanager
def _stoppable(
    session: Session,
    db: Database,
    corpus: str | None,
    model: str | None,
    lease: float,
    batch: int,
    progress: Any = None,
) -> Iterator[Worker]:
    """A worker that SIGTERM and SIGINT stop after the batch at hand."""
    from ragdb.models.worker import Worker

    at_work = Worker(
        session.target.conninfo,
        corpus=corpus,
        embedder=model,
        lease=lease,
        batch=batch,
        progress=progress,
    )
    interrupted: list[int] = []

    def stop(number: int, _: Any) -> None:
        if interrupted:
            raise KeyboardInterrupt
        interrupted.append(number)
        at_work.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield at_work
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _drain(
    session: Session,
    db: Database,
    corpus: str | None,
    model: str | None,
    until: str,
    lease: float,
    batch: int,
) -> int:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    def spaces() -> list[Any]:
        return [s for s in db.embedding_status(corpus) if model is None or s.embedder == model]

    left = sum(s.backlog for s in spaces())
    with Progress(
        "embedding",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=session.err,
        disable=not session.progress,
    ) as bar:
        task = bar.add_task("", total=left)

        def progress(done: Done) -> None:
            bar.update(task, completed=done.embedded)

        started = time.monotonic()
        with _stoppable(session, db, corpus, model, lease, batch, progress) as at_work:
            _report(session, at_work.run(until=until))
    for space in spaces():
        session.note(
            f"{space.corpus}: {space.embedded} of {space.chunks} chunks by {space.embedder}"
            f" ({space.provider} {space.provider_model})"
        )
        if space.dead or space.last_error:
            session.note(f"  {space.dead} failed for good, last error: {space.last_error}")
    session.debug(f"{time.monotonic() - started:.1f} s")
    return PARTIAL if any(space.embedded < space.chunks for space in spaces()) else 0


def _report(session: Session, done: Done) -> None:
    rate = done.embedded / done.seconds if done.seconds else 0
    session.note(
        f"embedded {done.embedded} chunks and {done.queries} queries"
        f" in {done.seconds:.1f} s ({rate:.0f} chunks/s)"
    )
    if done.read:
        session.note(f"read {done.read} blobs")
    for error, count in sorted(done.errors.items()):
        session.note(f"  {count} × {error}")
