"""Databases that exchange corpora in a test, without a network between them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import ragdb
from ragdb.client.rows import dumps
from ragdb.ledger.keys import Signer, from_private
from ragdb.peers import exchange
from ragdb.peers.exchange import Pulled

Page = dict[str, Any]


def new_signer() -> Signer:
    return from_private(Ed25519PrivateKey.generate())


@dataclass
class Node:
    """A database with a key of its own."""

    name: str
    dsn: str
    signer: Signer = field(default_factory=new_signer)

    def __post_init__(self) -> None:
        self.db = ragdb.connect(self.dsn)

    def put(self, corpus: str, uri: str, text: str, **more: Any) -> None:
        self.db.put_text(corpus, uri, text, **more)

    def publish(self, corpus: str) -> int:
        self.db.share_corpus(corpus, self.signer.public)
        return exchange.publish(self.db, corpus, self.signer)

    def pull(self, other: Node, corpus: str, **how: Any) -> Pulled:
        return exchange.pull(self.db, Direct(other), corpus, **how)  # type: ignore[arg-type]

    def text(self, corpus: str, uri: str) -> str | None:
        """What a source says here; None where there is none."""
        try:
            return "\n".join(c.text for c in self.db.document_chunks(corpus, uri))
        except ragdb.errors.DocumentNotFound:
            return None

    def texts(self, corpus: str) -> dict[str, str | None]:
        return {d.source: self.text(corpus, d.source) for d in self.db.list_documents(corpus)}

    def page(self, corpus: str, after: int = 0) -> Page:
        """A page of events as the HTTP server of this database answers it."""
        return Direct(self).get(f"/api/corpora/{corpus}/feed/events", after=after, count=1000)


class Direct:
    """A link to a node that asks its database; `tamper` may change what it answers."""

    def __init__(self, node: Node, tamper: Callable[[Page], Page | None] | None = None) -> None:
        self.node, self.name, self.tamper = node, node.name, tamper

    def get(self, path: str, after: int = 0, count: int = 1000) -> Page:
        corpus = path.split("/")[3]
        feed = self.node.db.shared_feed(corpus)
        if path.endswith("/feed"):
            found: Page = json.loads(dumps(feed))
            return found
        listed = json.loads(dumps(self.node.db.list_shared_events(corpus, after, count)))
        page = {"feed": str(feed.feed), "head": feed.position, "events": listed}
        return (self.tamper(page) or page) if self.tamper else page


def introduce(*nodes: Node) -> None:
    """Have each trust each other."""
    for one, other in itertools.permutations(nodes, 2):
        one.db.add_peer(other.name, other.signer.public, None, "trusted")
