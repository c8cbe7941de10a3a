"""`ragdb peer`: corpora exchanged with other databases by signed events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.query import AllowPrivate, AskedCorpus, asked
from ragdb.cli.session import NEGATIVE, OK, Corpus, Failure, Session
from ragdb.client.counting import counted

if TYPE_CHECKING:
    from ragdb.database import Database
    from ragdb.ledger.keys import Signer
    from ragdb.peers.transport import Link

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the peer.")]
Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="File of this database's private key."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File of the peer's token. Default: RAGDB_PEER_TOKEN_NAME."),
]
VARIABLE = "RAGDB_PEER_KEY"


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Exchange corpora with other databases by signed events.")
    app.add_typer(group, name="peer", no_args_is_help=True)
    for name, function in (
        ("key", key),
        ("add", add),
        ("ls", ls),
        ("revoke", revoke),
        ("rm", rm),
        ("share", share),
        ("unshare", unshare),
        ("publish", publish),
        ("pull", pull),
        ("ask", ask),
        ("status", status),
        ("conflicts", conflicts),
        ("verify", verify),
    ):
        verb(group, name)(function)


def key(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the private key.")],
    new: Annotated[bool, typer.Option("--new", help="Make the key; FILE must not exist.")] = False,
) -> None:
    """Print the public key of a private key, in hex, for those who add this database as a peer."""
    from ragdb.ledger import keys

    made = keys.make(file) if new else keys.from_file(file)
    session.value(public_key=made.public.hex())


def add(
    session: Session,
    name: Name,
    key: Annotated[str, typer.Option("--key", metavar="HEX", help="Its public key, in hex.")],
    url: Annotated[str | None, typer.Option(help="Where its `ragdb serve` is.")] = None,
    trust: Annotated[
        str,
        typer.Option(
            metavar="member|trusted",
            help="A member may be asked questions; who is trusted may also change shared corpora.",
        ),
    ] = "member",
) -> None:
    """Add a peer. Get its key from its operator, not from its server."""
    try:
        public = bytes.fromhex(key)
    except ValueError:
        raise Failure("the key is not hex", hint="`ragdb peer key FILE` prints it") from None
    with session.connect() as db:
        db.add_peer(name, public, url, trust)
    session.done(f"{name} is a peer of trust {trust}", peer=name, trust=trust)


def ls(session: Session) -> None:
    """List the peers and their keys."""
    with session.connect() as db:
        session.rows(
            db.list_peers(),
            "name trust url public_key revoked_at revoked_because",
            empty="no peers; add one with `ragdb peer add NAME --key HEX --url URL`",
        )


def revoke(
    session: Session,
    name: Name,
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
) -> None:
    """Revoke the key of a peer: no further event of it is taken, whoever brings it."""
    session.confirm(f"no further event of {name} will be taken; revoke its key?")
    with session.connect() as db:
        db.revoke_peer(name, reason)
    session.done(f"the key of {name} is revoked", peer=name)


def rm(session: Session, name: Name) -> None:
    """Forget a peer. What it brought stays."""
    with session.connect() as db:
        db.remove_peer(name)
    session.done(f"{name} is forgotten", peer=name)


def share(session: Session, corpus: Corpus, key: Key = None) -> None:
    """Share a corpus with whoever may read it, and print its feed. --key signs its changes."""
    with session.connect() as db:
        public = _signer(key).public if key else None
        session.value(feed=db.share_corpus(corpus, public))
    session.note(f"publish what is in it: ragdb peer publish {corpus} --key FILE")


def unshare(session: Session, corpus: Corpus) -> None:
    """End the sharing of a corpus and forget its signed events. Its documents stay."""
    session.confirm(f"the signed events of {corpus} will be forgotten; go on?")
    with session.connect() as db:
        db.unshare_corpus(corpus)
    session.done(f"{corpus} is no longer shared", corpus=corpus)


def publish(session: Session, corpus: Corpus, key: Key = None) -> None:
    """Sign what was changed in a corpus since the last time, and share it with its readers."""
    with session.connect() as db:
        published = _publish(db, corpus, _signer(key))
    session.one({"corpus": corpus, "events": published})


def pull(
    session: Session,
    name: Name,
    corpus: Annotated[str, typer.Option("--corpus", "-c", help="Corpus at the peer.")],
    as_: Annotated[str | None, typer.Option("--as", help="Its name here.")] = None,
    key: Key = None,
    token_file: TokenFile = None,
    allow_private: AllowPrivate = False,
) -> None:
    """Take what a peer published of a corpus. A corpus that is not here is made, for admins alone.

    With --key, what was changed here is published first. Run it again if it is interrupted.
    """
    from ragdb.peers import exchange

    here = as_ or corpus
    with session.connect() as db:
        link = _link(db, name, token_file, allow_private)
        if key is not None:
            exchange.enter(db, link, here, corpus)
            _publish(db, here, _signer(key))
        done = exchange.pull(db, link, here, corpus)
    session.one(done.as_dict())
    if done.conflicts:
        session.note(f"not taken: {counted(done.conflicts, 'change')}: ragdb peer conflicts {here}")
    if done.waiting:
        session.note(
            f"{counted(done.waiting, 'document', 'wait')} for text that {name} has not published"
        )


def ask(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to search for.")],
    corpus: AskedCorpus = None,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="Chunks to return.")] = 5,
    allow_private: AllowPrivate = False,
) -> None:
    """Search a shared corpus here and at its peers; each hit says whose it is.

    The token for each peer is in RAGDB_PEER_TOKEN_NAME. A peer that does not answer is named.
    """
    from ragdb.peers import asking

    with session.connect() as db:
        corpus = asked(session, db, corpus)
        found = asking.query(db, corpus, query, k, allow_private=allow_private)
    if "error" in found:
        raise Failure(str(found.get("message") or found["error"]), hint=found.get("hint"))
    for peer in found["meta"].get("peers", ()):
        if "error" in peer:
            session.note(f"no answer of {peer['name']}: {peer['error']}")
    columns = ["rank", "score", "peer", "trust", "author", "doc_title", "text"]
    # what is from here has neither peer nor author
    rows = [
        dict.fromkeys(columns) | chunk | chunk["metadata"] for chunk in found["output"]["chunks"]
    ]
    session.rows(rows, columns, empty="nothing was found")


def status(session: Session) -> None:
    """List the shared corpora, and how far the peers that have them were read."""
    columns = "corpus peer remote trust position pulled_at feed"
    with session.connect() as db:
        session.rows(db.list_peer_corpora(), columns, empty="no corpus is shared with peers")


def conflicts(
    session: Session,
    corpus: Corpus,
    closed: Annotated[bool, typer.Option("--closed", help="The closed ones too.")] = False,
) -> None:
    """List changes that were not taken, because somebody else changed the same source meanwhile."""
    columns = "source loser_author winner_author is_open was_erased found_at"
    with session.connect() as db:
        found = db.list_conflicts(corpus, not closed)
        session.rows(found, columns, empty="no conflicts")


def verify(session: Session, corpus: Corpus) -> int:
    """Check the signature of every stored event of a shared corpus."""
    from ragdb.peers import exchange

    with session.connect() as db:
        count, forged = exchange.verify(db, corpus)
    session.one({"corpus": corpus, "events": count, "forged": forged})
    return NEGATIVE if forged else OK


def _publish(db: Database, corpus: str, signer: Signer) -> int:
    from ragdb.peers import exchange

    db.share_corpus(corpus, signer.public)
    return exchange.publish(db, corpus, signer)


def _signer(file: Path | None) -> Signer:
    import os

    from ragdb.ledger import keys

    if file is not None:
        return keys.from_file(file)
    if VARIABLE in os.environ:
        return keys.from_text(os.environ[VARIABLE])
    raise Failure("no key signs", hint=f"give --key FILE or {VARIABLE}; ragdb peer key FILE --new")


def _link(db: Database, name: str, token_file: Path | None, allow_private: bool) -> Link:
    from ragdb.peers import transport

    found = [peer for peer in db.list_peers() if peer.name == name]
    if not found:
        raise Failure(f"peer {name} does not exist", hint="`ragdb peer ls` lists the names")
    if found[0].url is None:
        raise Failure(f"peer {name} has no URL", hint="remove it, and add it again with --url")
    token = transport.token_of(name, token_file)
    if token is None:
        raise Failure(
            f"no token for peer {name}",
            hint=f"its operator makes one; give --token-file FILE or {transport.variable(name)}",
        )
    return transport.Link(name, found[0].url, token, allow_private)
