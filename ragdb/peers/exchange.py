"""Corpora exchanged with peers: what changed here is signed, and what they signed is taken.

Each page is one transaction. What is cut off goes on from the last whole page.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragdb.client.corpora import is_there
from ragdb.errors import AlreadyExists, EventRefused
from ragdb.ledger.keys import Signer
from ragdb.peers import PeerError, signatures
from ragdb.peers.transport import Link, part

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragdb.client.client import Client

PAGE = 500
TEXTS, NUMBERS = ("title", "text_config", "record_query_text"), ("k1", "b")


@dataclass
class Pulled:
    """What came from a peer."""

    peer: str
    corpus: str
    events: int = 0
    known: int = 0
    documents_put: int = 0
    documents_erased: int = 0
    conflicts: int = 0
    waiting: int = 0
    position: int = 0

    def add(self, page: Any) -> None:
        for name in ("events", "known", "documents_put", "documents_erased"):
            setattr(self, name, getattr(self, name) + getattr(page, name))
        for name in ("conflicts", "waiting", "position"):
            setattr(self, name, getattr(page, name))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def publish(db: Client, corpus: str, signer: Signer) -> int:
    """Sign what was changed here, a page in a transaction; returns the number of events."""
    published = 0
    while True:
        with db.connection.transaction():
            drafts = list(db.draft_events(corpus, PAGE))
            if drafts:
                db.publish_events(corpus, drafts, signatures.sign(signer, drafts))
        published += len(drafts)
        if len(drafts) < PAGE:
            return published


def pull(
    db: Client,
    link: Link,
    corpus: str,
    remote: str | None = None,
    *,
    page: int = PAGE,
    between: Callable[[Pulled], None] | None = None,
) -> Pulled:
    """Take the events of a peer that are new here, until there is none left.

    A corpus that is not here is made with the peer's settings, for admins alone. Raises PeerError,
    and what the database refuses.
    """
    enter(db, link, corpus, remote)
    done = Pulled(link.name, corpus)
    done.position = _position(db, link, corpus)
    while True:
        came = link.get(f"{_route(remote or corpus)}/events", after=done.position, count=page)
        signatures.check(came)
        try:
            with db.connection.transaction():
                taken = db.apply_events(link.name, corpus, came)
        except EventRefused:
            # another pull may have taken the page meanwhile
            if (at := _position(db, link, corpus)) == done.position:
                raise
            done.position = at
            continue
        done.add(taken)
        if between:
            between(done)
        if taken.is_done:
            return done


def _position(db: Client, link: Link, corpus: str) -> int:
    """How far a peer was read."""
    rows = db.list_peer_corpora(corpus)
    return next((row.position for row in rows if row.peer == link.name), None) or 0


def _route(corpus: str) -> str:
    return f"/api/corpora/{part(corpus)}/feed"


def enter(db: Client, link: Link, corpus: str, remote: str | None) -> None:
    """Share a corpus as the feed that it is at a peer. Raises PeerError."""
    feed, settings = _feed(link.name, link.get(_route(remote or corpus)))
    try:
        with db.connection.transaction():
            _join(db, link.name, corpus, remote, feed, settings)
    except AlreadyExists:
        # another pull may have made the corpus meanwhile
        with db.connection.transaction():
            _join(db, link.name, corpus, remote, feed, settings)


def _feed(peer: str, found: Any) -> tuple[UUID, dict[str, Any]]:
    """Which feed a peer says that a corpus is, and the settings for a copy. Raises PeerError."""
    try:
        feed, given = UUID(found["feed"]), found["settings"]
        texts = {name: given[name] for name in TEXTS if given.get(name) is not None}
        numbers = {name: float(given[name]) for name in NUMBERS}
        if not all(isinstance(text, str) for text in texts.values()):
            raise TypeError
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise PeerError(f"peer {peer} answered what is not a feed", exit_code=3) from None
    return feed, texts | numbers


def _join(
    db: Client, peer: str, corpus: str, remote: str | None, feed: UUID, settings: dict[str, Any]
) -> None:
    """Share a corpus as a feed; make it where it is missing."""
    shared = db.list_peer_corpora(corpus)
    if shared and shared[0].feed != feed:
        raise PeerError(
            f"corpus {corpus} is shared as another feed than the peer's",
            hint="pull into another corpus: --as NAME",
        )
    if not shared and not is_there(db, corpus):
        db.create_corpus(corpus, is_restricted=True, **settings)
    if not shared:
        db.share_corpus(corpus, None, feed)
    db.follow_peer(corpus, peer, remote)


def verify(db: Client, corpus: str) -> tuple[int, list[int]]:
    """Check the signature of every stored event: how many there are, and which are forged."""
    count, forged, after = 0, [], 0
    while True:
        rows = db.list_shared_events(corpus, after, 1000)
        for row in rows:
            count, after = count + 1, int(row.position or 0)
            if not signatures.is_signed(str(row.event), bytes.fromhex(str(row.signature))):
                forged.append(after)
        if not rows:
            return count, forged
