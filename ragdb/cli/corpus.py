"""`ragdb corpus`: create, list, share and drop corpora; their documents, history and synonyms."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli import portable
from ragdb.cli.app import verb
from ragdb.cli.documents import delete, documents
from ragdb.cli.parts import optimize, parts, sync
from ragdb.cli.session import Corpus, Session
from ragdb.cli.times import days, version
from ragdb.client.counting import counted


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List, show, create, share, move, optimize and drop corpora.")
    app.add_typer(group, name="corpus", no_args_is_help=True)
    for name, function in (
        ("ls", ls),
        ("show", show),
        ("create", create),
        ("drop", drop),
        ("documents", documents),
        ("delete", delete),
        ("move", portable.move),
        ("optimize", optimize),
        ("parts", parts),
        ("sync", sync),
        ("grant", grant),
        ("revoke", revoke),
        ("grants", grants),
        ("restrict", restrict),
        ("unrestrict", unrestrict),
        ("reads", reads),
        ("synonyms", synonyms),
        ("calibrate", calibrate),
        ("history", history),
        ("diff", diff),
        ("erase", erase),
        ("erase-speaker", erase_speaker),
    ):
        verb(group, name)(function)


def ls(
    session: Session,
    prefix: Annotated[str, typer.Option(help="Only those whose name begins so.")] = "",
    after: Annotated[str, typer.Option(help="Only those that come after this name.")] = "",
    limit: Annotated[int | None, typer.Option(help="Largest number of corpora; else all.")] = None,
) -> None:
    """List the corpora that you may read, by name."""
    nothing = "no corpus yet: `ragdb ingest PATH --corpus NAME` makes one"
    with session.connect() as db:
        session.rows(
            db.list_corpora(prefix, after, limit),
            "name documents chunks size_bytes language_majority part_of moved_to title",
            empty="no corpus is named so" if prefix or after else nothing,
        )


def show(session: Session, corpus: Corpus) -> None:
    """Show one corpus."""
    with session.connect() as db:
        session.one(db.corpus_info(corpus))


def create(
    session: Session,
    corpus: Corpus,
    title: Annotated[str | None, typer.Option(help="Title to show to people.")] = None,
    text_config: Annotated[
        str, typer.Option(help="Text search configuration: english, german, simple, …")
    ] = "english",
    k1: Annotated[float, typer.Option(help="BM25: how much repeated words count, 0 to 10.")] = 1.2,
    b: Annotated[
        float, typer.Option(help="BM25: how much the length of a chunk counts, 0 to 1.")
    ] = 0.75,
    record_query_text: Annotated[
        str, typer.Option(metavar="full|hash|none", help="How traces keep the text of a query.")
    ] = "full",
    restricted: Annotated[
        bool, typer.Option("--restricted", help="Only you and admins, until a grant.")
    ] = False,
    keep: Annotated[
        str | None,
        typer.Option("--history", metavar="DAYS", help="Keep it searchable as it was, so long."),
    ] = None,
    part_of: Annotated[
        str | None, typer.Option(help="Make it a part of this corpus, which is searched as one.")
    ] = None,
) -> None:
    """Create a corpus."""
    with session.connect() as db:
        kept = days("--history", keep) if keep is not None else None
        db.create_corpus(
            corpus, title, text_config, k1, b, record_query_text, restricted, kept, part_of
        )
    session.done(f"created {corpus}", corpus=corpus)


def drop(session: Session, corpus: Corpus) -> None:
    """Drop a corpus with all its documents. Its traces stay."""
    from ragdb.client.upkeep import maintain

    with session.connect() as db:
        info = db.corpus_info(corpus)
        session.confirm(f"drop corpus {corpus} with {counted(info.documents, 'document')}?")
        db.drop_corpus(corpus)
        maintain(db.connection)
    session.done(f"dropped {corpus}", corpus=corpus)


def grant(
    session: Session,
    corpus: Corpus,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A database role.")],
    privilege: Annotated[str, typer.Argument(metavar="read|write|admin", help="Right to grant.")],
) -> None:
    """Grant a role a right to a corpus, which hides it from roles without a grant from then on."""
    with session.connect() as db:
        db.grant_corpus(corpus, role, privilege)
    done = f"{role} has {privilege} on {corpus}, which is closed to all without a grant"
    session.done(done, corpus=corpus, role=role, privilege=privilege)


def revoke(
    session: Session,
    corpus: Corpus,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A database role.")],
) -> None:
    """Revoke a role's right to a corpus. The corpus stays restricted, also without any grant."""
    with session.connect() as db:
        db.revoke_corpus(corpus, role)
    done = f"{role} has no right of its own on {corpus}"
    session.done(done, corpus=corpus, role=role)


def grants(session: Session, corpus: Corpus) -> None:
    """List the grants of a corpus, also those of roles that are gone."""
    with session.connect() as db:
        session.rows(db.list_grants(corpus))


def restrict(session: Session, corpus: Corpus) -> None:
    """Close a corpus to all but admins and the roles with a grant."""
    with session.connect() as db:
        db.restrict_corpus(corpus)
    session.done(f"{corpus} is restricted", corpus=corpus)


def unrestrict(session: Session, corpus: Corpus) -> None:
    """Open a restricted corpus to every reader and writer, and remove its grants."""
    with session.connect() as db:
        session.confirm(f"let every reader read corpus {corpus}, and every writer change it?")
        removed = db.unrestrict_corpus(corpus)
    done = f"{corpus} is open to every reader and writer; {counted(removed, 'grant')} removed"
    session.done(done, corpus=corpus, grants_removed=removed)


def reads(
    session: Session,
    corpus: Corpus,
    mode: Annotated[str, typer.Argument(metavar="off|on|required", help="Which are recorded.")],
) -> None:
    """Say whether reads of a corpus are recorded; with `required` others are refused."""
    with session.connect() as db:
        db.record_reads(corpus, mode)
    done = f"reads of {corpus} are recorded: {mode}"
    session.done(done, corpus=corpus, reads=mode)


def synonyms(
    session: Session,
    corpus: Corpus,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD,WORD…", help="Words that stand for each other; repeat for more."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Word to take out; repeat for more.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Only words that begin so.")] = "",
    after: Annotated[str, typer.Option(help="Only words that come after this one.")] = "",
    limit: Annotated[int | None, typer.Option(help="Largest number of words; else all.")] = None,
) -> None:
    """List the synonyms of a corpus, after adding or removing some."""
    with session.connect() as db:
        if add:
            lists = [[word.strip() for word in words.split(",")] for words in add]
            db.add_synonym_lists(corpus, lists)
        for word in remove or []:
            if not db.remove_synonyms(corpus, word):
                session.note(f"{word[:80]} has no synonyms in {corpus}: nothing was taken out")
        nothing = "no synonyms: `ragdb corpus synonyms CORPUS --add WORD,WORD` makes some"
        session.rows(
            db.list_synonyms(corpus, prefix, after, limit),
            empty="no word with synonyms is there" if prefix or after else nothing,
        )


def calibrate(session: Session, corpus: Corpus) -> None:
    """Measure what a search must score for `ragdb ask` to answer; it also happens by itself."""
    with session.connect() as db:
        session.rows(
            db.calibrate(corpus),
            "mode floor own_score other_score chunks",
            empty=f"{corpus} has no text to measure by",
        )


def history(
    session: Session,
    corpus: Corpus,
    keep: Annotated[
        str | None,
        typer.Option(metavar="DAYS|off", help="How long to keep its history from now on, or off."),
    ] = None,
    limit: Annotated[int, typer.Option(help="Largest number of versions.")] = 20,
) -> None:
    """List the versions that a corpus can be searched as of, and say for how long to keep them."""
    with session.connect() as db:
        if keep == "off":
            session.confirm(f"drop the history of corpus {corpus}, and keep none?")
            db.drop_history(corpus)
        elif keep is not None:
            db.keep_history(corpus, days("--keep", keep))
        session.rows(
            db.list_versions(corpus, count=limit),
            empty=f"{corpus} keeps no history: `ragdb corpus history {corpus} --keep 90` does",
        )


def diff(
    session: Session,
    corpus: Corpus,
    since: Annotated[str, typer.Argument(metavar="VERSION|TIME", help="The earlier one.")],
    until: Annotated[
        str | None, typer.Argument(metavar="VERSION|TIME", help="The later one; else today.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Only sources that begin so.")] = "",
    after: Annotated[str, typer.Option(help="Only sources that come after this one.")] = "",
    limit: Annotated[int | None, typer.Option(help="Largest number of sources; else all.")] = None,
) -> None:
    """List which sources were added, replaced, deleted or erased between two versions."""
    with session.connect() as db:
        first = version(db, corpus, "the earlier", since)
        assert first is not None
        last = version(db, corpus, "the later", until)
        session.rows(
            db.diff_corpus(corpus, first, last, prefix, after, limit),
            "source change title_before title_after chunks_before chunks_after",
            empty="no source differs",
        )


def erase(
    session: Session,
    corpus: Corpus,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A source, also one of before.")],
    reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
) -> None:
    """Delete a source, and take what was ever found there out of every version of the corpus."""
    with session.connect() as db:
        session.confirm(f"erase {source} from every version of corpus {corpus}?")
        session.one(db.erase_source(corpus, source, reason))


def erase_speaker(
    session: Session,
    corpus: Corpus,
    speaker: Annotated[str, typer.Argument(metavar="SPEAKER", help="As the turns name them.")],
    in_session: Annotated[
        str | None, typer.Option("--session", help="Only in this conversation; else in all.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
) -> None:
    """Erase what one speaker said, from every version of the corpus; what others said stays."""
    with session.connect() as db:
        session.confirm(f"erase what {speaker} said from every version of corpus {corpus}?")
        session.one(db.erase_speaker(corpus, speaker, in_session, reason))
