"""What a peer may not do: forge, replay, leave out, reorder, rewrite, or speak for another."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from ragdb.errors import CorpusNotFound, EventRefused, NotAuthorized, PeerNotFound
from ragdb.ledger.keys import Signer
from ragdb.peers import PeerError, exchange, signatures
from tests.conftest import Server
from tests.peers.nodes import Direct, Node, Page, introduce, new_signer

CORPORA = (f"a{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def pair(server18: Server) -> Iterator[tuple[Node, Node]]:
    with server18.database() as a, server18.database() as b:
        ann, bob = (Node(n, server18.dsn(d.dbname)) for n, d in (("ann", a), ("bob", b)))
        introduce(ann, bob)
        yield ann, bob
        for node in (ann, bob):
            node.db.connection.close()


@pytest.fixture
def corpus(pair: tuple[Node, Node]) -> str:
    """A corpus of ann with three events, of which bob has the first."""
    ann, bob = pair
    name = next(CORPORA)
    ann.db.create_corpus(name)
    ann.put(name, "a.txt", "First.")
    ann.publish(name)
    bob.pull(ann, name)
    ann.put(name, "b.txt", "Second.")
    ann.put(name, "a.txt", "First again.")
    ann.publish(name)
    return name


def refused(bob: Node, ann: Node, corpus: str, tamper: Callable[[Page], Page | None]) -> str:
    """What bob says to what a peer in the middle makes of ann's events; he takes nothing."""
    before = bob.texts(corpus), bob.page(corpus)
    with pytest.raises((EventRefused, PeerError)) as error:
        exchange.pull(bob.db, Direct(ann, tamper), corpus)  # type: ignore[arg-type]
    assert (bob.texts(corpus), bob.page(corpus)) == before
    assert bob.pull(ann, corpus).events == 2, "the honest events are still taken"
    assert bob.texts(corpus) == ann.texts(corpus)
    return str(error.value)


def resigned(node: Node, item: Page, by: Signer | None = None, **fields: Any) -> Page:
    """An event that says something else, signed by a node or a key, as PostgreSQL writes it."""
    [event] = node.db.connection.execute(  # type: ignore[misc]
        "select (%s::jsonb || %s::jsonb)::text", [item["event"], json.dumps(fields)]
    ).fetchone()
    signature = (by or node.signer).sign(signatures.signed_bytes(event)).hex()
    return item | {"event": event, "signature": signature}


def test_a_changed_text_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"][0]["body"] = page["events"][0]["body"].replace("Second", "Forged")

    assert "another hash" in refused(bob, ann, corpus, tamper)


def test_a_changed_event_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"][0]["event"] = page["events"][0]["event"].replace("b.txt", "c.txt")

    assert "did not sign" in refused(bob, ann, corpus, tamper)


def test_an_event_that_nests_too_deep_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"][0]["event"] = "[" * 100_000

    assert "did not sign" in refused(bob, ann, corpus, tamper)


@pytest.mark.parametrize("signature", ["00" * 64, "zz", "00" * 63])
def test_a_forged_signature_is_refused(
    pair: tuple[Node, Node], corpus: str, signature: str
) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"][1]["signature"] = signature

    assert "did not sign" in refused(bob, ann, corpus, tamper)


def test_what_was_signed_as_something_else_than_an_event_is_refused(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        first = page["events"][0]
        first["signature"] = ann.signer.sign(first["event"].encode()).hex()

    assert "did not sign" in refused(bob, ann, corpus, tamper)


def test_an_event_of_another_key_in_the_name_of_a_peer_is_refused(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"][0] = resigned(ann, page["events"][0], new_signer())

    assert "did not sign" in refused(bob, ann, corpus, tamper)


def test_a_missing_event_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    assert "2 is missing" in refused(bob, ann, corpus, lambda page: page["events"].pop(0) and None)


@pytest.mark.parametrize("positions", [(3, 2), (2, 3), (2, 2)])
def test_another_order_is_refused(
    pair: tuple[Node, Node], corpus: str, positions: tuple[int, int]
) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        first, second = page["events"]
        page["events"] = [second | {"position": positions[0]}, first | {"position": positions[1]}]

    assert "2 is missing" in refused(bob, ann, corpus, tamper)


def test_a_position_that_does_not_rise_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"][1]["position"] = 2

    assert "position" in refused(bob, ann, corpus, tamper)


def test_a_replayed_event_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    [old] = [item for item in ann.page(corpus)["events"] if item["position"] == 1]

    def replay(page: Page) -> None:
        page["events"].append(old | {"position": 4})
        page["head"] = 4

    assert "came before" in refused(bob, ann, corpus, replay)


def test_an_old_event_from_another_peer_changes_nothing(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    bob.db.add_peer("eve", new_signer().public)
    bob.db.follow_peer(corpus, "eve")
    page = ann.page(corpus)
    page["events"] = page["events"][:1]
    done = bob.db.apply_events("eve", corpus, page)
    assert (done.events, done.known, done.documents_put) == (0, 1, 0)
    assert bob.text(corpus, "a.txt") == "First again."
    bob.db.remove_peer("eve")


def test_a_peer_that_repeats_events_without_end_is_refused(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.db.add_peer("eve", new_signer().public)
    bob.db.follow_peer(corpus, "eve")
    page = ann.page(corpus)
    first = page["events"][0]
    page["head"] = 10**17
    for position in (1, 2):
        page["events"] = [first | {"position": position}]
        if position == 1:
            bob.db.apply_events("eve", corpus, page)
        else:
            with pytest.raises(EventRefused, match="number 2 at the peer, and there are 1"):
                bob.db.apply_events("eve", corpus, page)
    bob.db.remove_peer("eve")


def test_a_peer_that_has_more_events_and_gives_none_is_refused(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"] = []

    assert "has 3 events, and gives none after 1" in refused(bob, ann, corpus, tamper)


UNTITLED = '"title": null'
FEED = {"feed": "00000000-0000-4000-8000-000000000001", "settings": {"k1": 1.2, "b": 0.75}}


@pytest.mark.parametrize(
    "found",
    [
        FEED | {"feed": "feed"},
        FEED | {"feed": ["x"]},
        FEED | {"settings": None},
        FEED | {"settings": {"k1": 1.2}},
        FEED | {"settings": {"k1": 1.2, "b": {}}},
        FEED | {"settings": {"k1": 10**400, "b": 0.75}},
        FEED | {"settings": {"k1": 1.2, "b": 0.75, "title": ["x"]}},
    ],
)
def test_what_is_not_a_feed_is_refused(pair: tuple[Node, Node], found: dict[str, Any]) -> None:
    ann, bob = pair
    name = next(CORPORA)
    link = Direct(ann)
    link.get = lambda path, **query: found  # type: ignore[method-assign]
    with pytest.raises(PeerError, match="answered what is not a feed"):
        exchange.pull(bob.db, link, name)  # type: ignore[arg-type]
    assert name not in {row.name for row in bob.db.list_corpora()}


def test_an_event_of_another_corpus_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    other = next(CORPORA)
    ann.db.create_corpus(other)
    ann.put(other, "o.txt", "Of another corpus.")
    ann.publish(other)
    foreign = ann.page(other)["events"][0]

    def mixed(page: Page) -> None:
        page["events"][0] = foreign | {"position": page["events"][0]["position"]}

    assert "another corpus" in refused(bob, ann, corpus, mixed)
    with pytest.raises(EventRefused, match="another corpus"):
        bob.db.apply_events("ann", corpus, ann.page(other))


def test_an_unknown_key_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    eve = new_signer()

    def tamper(page: Page) -> None:
        fields = {"author": eve.public.hex(), "seq": 1, "previous": None}
        page["events"][0] = resigned(ann, page["events"][0], eve, **fields)

    assert "author is unknown" in refused(bob, ann, corpus, tamper)


def test_a_member_may_not_change_a_corpus(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    eve = new_signer()
    bob.db.add_peer("eve", eve.public, None, "member")

    def tamper(page: Page) -> None:
        fields = {"author": eve.public.hex(), "seq": 1, "previous": None}
        page["events"][0] = resigned(ann, page["events"][0], eve, **fields)

    assert "may not change" in refused(bob, ann, corpus, tamper)
    bob.db.remove_peer("eve")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"lamport": 10**17}, "Lamport"),
        ({"lamport": 3}, "Lamport"),  # one more than comes next
        ({"lamport": 1}, "Lamport"),
        ({"previous": "00" * 32}, "does not follow"),
        ({"replaces": ["00" * 32]}, "is not here"),
        ({"seq": 0}, "not a signed event"),
        ({"kind": "rag.document.erased"}, "not a signed event"),
        ({"kind": "rag.document.moved"}, "not a signed event"),
        ({"replaces": [None]}, "not a signed event"),
        ({"replaces": {"a": 1}}, "not a signed event"),
        ({"more": True}, "not a signed event"),
        ({"at": "yesterday"}, "not a signed event"),
        ({"feed": "-" * 36}, "not a signed event"),
        ({"source": ""}, "not a signed event"),
        ({"source": "é" * 1001}, "not a signed event"),  # a document has at most 2,000 bytes there
        ({"source": "other.txt"}, "not one of its source"),
        ({"seq": 1.0}, "not a signed event"),
    ],
)
def test_an_author_who_signs_nonsense_is_refused(
    pair: tuple[Node, Node], corpus: str, fields: dict[str, Any], why: str
) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        page["events"][0] = resigned(ann, page["events"][0], **fields)

    assert why in refused(bob, ann, corpus, tamper)


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (lambda text: f" {text}", "is not written"),
        (lambda text: text.replace(UNTITLED, f'"title": "x", {UNTITLED}'), "is not written"),
        (lambda text: json.dumps(dict(reversed(json.loads(text).items()))), "is not written"),
        (lambda text: text.replace('"links": []', '"edges": [], "links": []'), "is not written"),
        (lambda text: text.replace('"language": "en"', '"language": "English"'), "is not written"),
        (lambda text: text.replace(f"{UNTITLED}, ", ""), "is not written"),
        (lambda text: text.replace(UNTITLED, f'"title": "{"x" * 32_000_000}"'), "bytes"),
    ],
    ids=["spaces", "doubled", "order", "edges", "normalized", "incomplete", "long"],
)
def test_a_document_that_ragdb_does_not_make_is_refused(
    pair: tuple[Node, Node], corpus: str, write: Callable[[str], str], why: str
) -> None:
    ann, bob = pair

    def tamper(page: Page) -> None:
        body = write(page["events"][-1]["body"])
        assert body != page["events"][-1]["body"]
        digest = hashlib.sha256(body.encode()).hexdigest()
        page["events"][-1] = resigned(ann, page["events"][-1], body=digest) | {"body": body}

    assert why in refused(bob, ann, corpus, tamper)


def test_a_key_that_two_hold_is_noticed(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    page = ann.page(corpus, 2)
    page["events"] = [resigned(ann, page["events"][0], lamport=2) | {"position": 4}]
    page["head"] = 4
    with pytest.raises(EventRefused, match="signed another number 3"):
        bob.db.apply_events("ann", corpus, page)


def test_a_revoked_key_is_refused_by_whomever_it_comes(
    server18: Server, pair: tuple[Node, Node]
) -> None:
    ann, bob = pair
    name = next(CORPORA)
    with server18.database() as database:
        eve = Node("eve", server18.dsn(database.dbname))
        introduce_one(eve, ann)
        introduce_one(ann, eve)
        introduce_one(bob, eve)
        eve.db.create_corpus(name)
        eve.put(name, "e.txt", "Before.")
        eve.publish(name)
        bob.pull(eve, name)
        ann.pull(eve, name)
        eve.put(name, "e.txt", "After.")
        eve.publish(name)
        bob.db.revoke_peer("eve", "her machine was stolen")
        ann.pull(eve, name)
        for other in (eve, ann):
            with pytest.raises(EventRefused, match="revoked") as error:
                bob.pull(other, name)
            assert error.value.diag.message_hint == "her machine was stolen"
        # nor what others signed, from her
        page = eve.page(name, 0)
        with pytest.raises(EventRefused, match="revoked"):
            bob.db.apply_events("eve", name, page | {"events": []})
        assert bob.text(name, "e.txt") == "Before."
        assert bob.db.list_shared_documents(name)[0].is_revoked
        eve.db.connection.close()


def introduce_one(node: Node, other: Node) -> None:
    node.db.add_peer(other.name, other.signer.public, None, "trusted")


@pytest.mark.parametrize(
    "page",
    [None, [], {}, {"events": {}}, {"events": [], "head": -1}, {"events": [1], "head": 9}],
)
def test_what_is_not_a_page_is_refused(pair: tuple[Node, Node], corpus: str, page: object) -> None:
    ann, bob = pair
    feed = str(ann.db.shared_feed(corpus).feed)
    whole = page | {"feed": feed} if isinstance(page, dict) else page
    with pytest.raises(EventRefused):
        bob.db.apply_events("ann", corpus, json.loads(json.dumps(whole)))
    with pytest.raises(PeerNotFound):
        bob.db.apply_events("nobody", corpus, {})


def test_a_signature_that_was_stored_unchecked_is_found(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    page = ann.page(corpus, 1)
    page["events"][0]["signature"] = "00" * 64
    bob.db.apply_events("ann", corpus, page)  # an admin by psql checks no signature
    assert exchange.verify(bob.db, corpus) == (3, [2])
    assert exchange.verify(ann.db, corpus) == (3, [])


def test_only_admins_exchange_and_only_readers_read(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    page = psycopg.types.json.Jsonb(ann.page(corpus, 1))
    connection = bob.db.connection
    for role in ("writer", "reader", "stranger"):
        connection.execute(f"set role {role}")
        for call in (
            "select ragdb.apply_events('ann', %s, %s)",
            "select ragdb.add_peer(%s, sha256(convert_to(%s::text, 'UTF8')))",
            "select ragdb.share_corpus(%s) where %s is not null",
            "select from ragdb.list_peers() where %s || %s::text <> ''",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(call, [corpus, page])
        with pytest.raises((psycopg.errors.InsufficientPrivilege, CorpusNotFound)):
            connection.execute("select ragdb.list_shared_events(%s)", [corpus])
        connection.execute("reset role")
    bob.db.grant_corpus(corpus, "reader", "read")
    connection.execute("set role reader")
    assert len(bob.db.list_shared_events(corpus)) == 1
    with pytest.raises((NotAuthorized, psycopg.errors.InsufficientPrivilege)):
        bob.db.draft_events(corpus)
    connection.execute("reset role")
