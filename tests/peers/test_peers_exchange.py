"""Two databases exchange a corpus by signed events, and come to the same, in whatever order."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ragdb
from ragdb.client.corpora import is_there
from ragdb.errors import AlreadyExists, DocumentNotFound, EventRefused, NotPublished, NotShared
from ragdb.peers import PeerError, exchange
from tests.conftest import Server
from tests.peers.nodes import Direct, Node, introduce, new_signer
from tests.sql.conversations import conversation, message, uuid
from tests.sql.conversations import put as put_conversation

CORPORA = (f"c{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def nodes(server18: Server) -> Iterator[tuple[Node, Node, Node]]:
    with server18.database() as a, server18.database() as b, server18.database() as c:
        made = tuple(
            Node(name, server18.dsn(database.dbname))
            for name, database in (("ann", a), ("bob", b), ("cat", c))
        )
        introduce(*made)
        yield made  # type: ignore[misc]
        for node in made:
            node.db.connection.close()


@pytest.fixture
def pair(nodes: tuple[Node, Node, Node]) -> tuple[Node, Node]:
    return nodes[0], nodes[1]


@pytest.fixture
def corpus(nodes: tuple[Node, Node, Node]) -> str:
    """A corpus of ann with two documents, published."""
    name = next(CORPORA)
    ann = nodes[0]
    ann.db.create_corpus(name, "Shared", k1=1.5)
    ann.put(name, "a.txt", "Grinders spark — ünïcode 🛠.", metadata={"n": 1.50, "é": ["x"]})
    ann.put(name, "b.txt", "Deposits are refunded.", title="Deposits")
    ann.publish(name)
    return name


def same(one: Node, other: Node, corpus: str) -> bool:
    """Whether both have the same corpus, by the digest that exports have."""
    digests = [node.db.export_corpus(corpus)["digest"] for node in (one, other)]
    return bool(digests[0] == digests[1])


def test_a_corpus_is_not_shared_unless_somebody_shares_it(pair: tuple[Node, Node]) -> None:
    ann, _ = pair
    name = next(CORPORA)
    ann.db.create_corpus(name)
    with pytest.raises(NotShared):
        ann.page(name)


def test_a_pulled_corpus_equals_the_peers(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    messages = [message(1, text="Sparks?"), message(2, [1], text="Ten metres.", feedback=1)]
    put_conversation(ann.db.connection, corpus, conversation(messages, metadata={"p": "x"}))
    assert ann.publish(corpus) == 1
    done = bob.pull(ann, corpus)
    assert (done.events, done.documents_put, done.waiting) == (3, 3, 0)
    assert same(ann, bob, corpus)
    assert bob.db.search(corpus, "refunded")[0].source == "b.txt"
    assert bob.db.get_turn(corpus, uuid(2)).role == ann.db.get_turn(corpus, uuid(2)).role


def test_a_text_that_took_the_place_of_a_conversation_travels(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    put_conversation(ann.db.connection, corpus, conversation([message(1)], uri="chat"))
    ann.publish(corpus)
    bob.pull(ann, corpus)
    ann.db.delete_source(corpus, "chat")
    ann.put(corpus, "chat", "A note.")
    ann.publish(corpus)
    bob.pull(ann, corpus)
    assert bob.texts(corpus)["chat"] == "A note."
    assert same(ann, bob, corpus)


def test_a_corpus_that_is_another_feed_here_takes_nothing_of_the_peers(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.put(corpus, "own.txt", "Mine.")
    bob.publish(corpus)
    with pytest.raises(PeerError, match="shared as another feed") as refused:
        bob.pull(ann, corpus)
    assert "--as NAME" in str(refused.value.hint)
    assert bob.texts(corpus) == {"own.txt": "Mine."}


def test_a_pull_again_takes_nothing(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    version = bob.db.corpus_info(corpus).version
    done = bob.pull(ann, corpus)
    assert (done.events, done.known, done.documents_put) == (0, 0, 0)
    assert bob.db.corpus_info(corpus).version == version
    assert ann.publish(corpus) == 0
    assert bob.publish(corpus) == 0, "what was pulled is not a change"


def test_changes_and_renames_travel_both_ways(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    bob.put(corpus, "a.txt", "Grinders do not spark.")
    bob.put(corpus, "c.txt", "Bob's own.")
    bob.db.delete_source(corpus, "b.txt")
    assert bob.publish(corpus) == 3
    done = ann.pull(bob, corpus)
    assert (done.events, done.known, done.documents_put, done.documents_erased) == (3, 2, 2, 1)
    assert ann.texts(corpus) == {"a.txt": "Grinders do not spark.", "c.txt": "Bob's own."}
    assert same(ann, bob, corpus)


def test_a_pull_that_is_cut_goes_on_from_the_last_whole_page(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    for n in range(10):
        ann.put(corpus, f"n{n}.txt", f"Number {n}.")
    ann.publish(corpus)
    pages = 0

    def cut(page: object) -> None:
        nonlocal pages
        pages += 1
        if pages == 3:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        bob.pull(ann, corpus, page=2, between=cut)
    assert bob.db.list_peer_corpora(corpus)[0].position == 6
    done = bob.pull(ann, corpus, page=2)
    assert (done.events, done.known) == (6, 0)
    assert same(ann, bob, corpus)


def test_an_event_reaches_a_third_by_way_of_a_second(
    nodes: tuple[Node, Node, Node], corpus: str
) -> None:
    ann, bob, cat = nodes
    bob.pull(ann, corpus)
    bob.put(corpus, "b.txt", "Deposits are kept.")
    bob.publish(corpus)
    done = cat.pull(bob, corpus)
    assert (done.events, done.waiting) == (3, 0)
    assert same(bob, cat, corpus)
    [row] = cat.db.list_shared_documents(corpus, ["a.txt"])
    assert (row.peer, row.author, row.trust) == ("ann", ann.signer.public.hex(), "trusted")
    assert row.arrived_at
    assert all(feed.shared_by and feed.shared_at for feed in cat.db.list_peer_corpora(corpus))
    # and the same events from their author are known
    assert cat.pull(ann, corpus).known == 2


def test_a_conflict_is_decided_the_same_on_both_sides(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    ann.put(corpus, "a.txt", "Ann's version.")
    bob.put(corpus, "a.txt", "Bob's version.")
    ann.publish(corpus)
    bob.publish(corpus)
    assert bob.pull(ann, corpus).conflicts == 1
    assert ann.pull(bob, corpus).conflicts == 1
    winner = max((ann.signer.public, "Ann's version."), (bob.signer.public, "Bob's version."))
    assert ann.text(corpus, "a.txt") == bob.text(corpus, "a.txt") == winner[1]
    loser = {"Ann's version.", "Bob's version."} - {winner[1]}
    for node in pair:
        [conflict] = node.db.list_conflicts(corpus)
        assert conflict.winner_author == winner[0].hex()
        assert {chunk["text"] for chunk in conflict.document["chunks"]} == loser
    assert same(ann, bob, corpus)
    # who changes it knowing of both closes it
    ann.put(corpus, "a.txt", "Both.")
    ann.publish(corpus)
    assert bob.pull(ann, corpus).conflicts == 0
    assert bob.db.list_conflicts(corpus) == []
    assert len(bob.db.list_conflicts(corpus, False)) == 1


def test_a_source_that_both_changed_is_not_lost_before_it_is_published(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    ann.put(corpus, "a.txt", "Ann's version.")
    bob.put(corpus, "a.txt", "Bob's version.")
    ann.publish(corpus)
    with pytest.raises(NotPublished, match=r"a\.txt"):
        bob.pull(ann, corpus)
    assert bob.text(corpus, "a.txt") == "Bob's version."
    bob.publish(corpus)
    assert bob.pull(ann, corpus).conflicts == 1


def test_an_erasure_travels_and_leaves_no_text(nodes: tuple[Node, Node, Node], corpus: str) -> None:
    ann, bob, cat = nodes
    bob.pull(ann, corpus)
    ann.put(corpus, "a.txt", "Ann's zanzibar.")
    bob.put(corpus, "a.txt", "Bob's zanzibar.")
    for node in (ann, bob):
        node.publish(corpus)
    for one, other in ((ann, bob), (bob, ann)):
        one.pull(other, corpus)
    ann.db.delete_source(corpus, "a.txt", reason="she asked us to")
    ann.publish(corpus)
    done = bob.pull(ann, corpus)
    assert done.documents_erased == 1
    assert bob.text(corpus, "a.txt") is None
    [row] = bob.db.list_shared_documents(corpus, ["a.txt"])
    assert (row.state, row.peer) == ("erased", "ann")
    for node in (ann, bob):
        for table in ("shared_events", "shared_conflicts", "chunks"):
            query = f"select count(*) from ragdb.{table} t where t::text like '%zanzibar%'"
            assert node.db.connection.execute(query).fetchone() == (0,), (node.name, table)
    # who comes later gets the events, and never the text
    assert cat.pull(bob, corpus).waiting == 0
    assert cat.texts(corpus) == {"b.txt": "Deposits are refunded."}


def test_a_peer_that_lost_its_database_is_read_anew_once_it_was_removed(
    nodes: tuple[Node, Node, Node], corpus: str
) -> None:
    ann, bob, cat = nodes
    bob.pull(ann, corpus)
    cat.pull(bob, corpus)
    # bob has pulled them again by now, and they came in another order
    page = bob.page(corpus)
    first, second = page["events"]
    page["events"] = [second | {"position": 1}, first | {"position": 2}]
    with pytest.raises(EventRefused):
        cat.db.apply_events("bob", corpus, page)
    cat.db.remove_peer("bob")
    cat.db.add_peer("bob", bob.signer.public, None, "trusted")
    done = cat.db.apply_events("bob", corpus, page)
    assert (done.known, done.is_done) == (2, True)
    assert same(cat, ann, corpus)


def test_a_source_that_is_erased_here_is_out_of_conflicts_before_that_is_published(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    for node, name in ((ann, "Ann's"), (bob, "Bob's")):
        node.put(corpus, "a.txt", f"{name} zanzibar.")
        node.put(corpus, "b.txt", f"{name} own.")
        node.publish(corpus)
    for one, other in ((ann, bob), (bob, ann)):
        one.pull(other, corpus)
        one.db.erase_source(corpus, "a.txt", reason="by law")
        kept = {c.source: c.document for c in one.db.list_conflicts(corpus)}
        assert kept["a.txt"] is None
        assert kept["b.txt"] is not None
        query = "select count(*) from ragdb.shared_conflicts t where t::text like '%zanzibar%'"
        assert one.db.connection.execute(query).fetchone() == (0,)
    # and it ends as any erasure does
    for node in pair:
        node.publish(corpus)
    for one, other in ((ann, bob), (bob, ann)):
        one.pull(other, corpus)
        assert one.text(corpus, "a.txt") is None
        assert "a.txt" not in {c.source for c in one.db.list_conflicts(corpus)}
    assert same(ann, bob, corpus)


def test_a_source_that_only_a_conflict_still_has_is_erased_from_it(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    for node in pair:
        node.put(corpus, "a.txt", f"The zanzibar of {node.name}.")
        node.publish(corpus)
    ann.pull(bob, corpus)
    ann.db.delete_source(corpus, "a.txt")
    assert [c.source for c in ann.db.list_conflicts(corpus) if c.document] == ["a.txt"]
    erased = ann.db.erase_source(corpus, "a.txt", reason="by law")
    assert (erased.documents_deleted, erased.past_rows_erased) == (0, 0)
    acts = [(act.act, act.reason) for act in ann.db.list_ledger_acts()]
    assert acts[0] == ("deletion", "what conflicts with peers kept: by law")
    assert [c.source for c in ann.db.list_conflicts(corpus) if c.document] == []
    # the text is gone, so there is no such source any more
    with pytest.raises(DocumentNotFound):
        ann.db.erase_source(corpus, "a.txt", reason="by law")


def test_an_erasure_beats_a_later_change_that_did_not_know_of_it(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    bob.put(corpus, "x.txt", "To raise the clock.")
    bob.publish(corpus)
    bob.put(corpus, "a.txt", "Edited meanwhile.")
    bob.publish(corpus)
    ann.db.delete_source(corpus, "a.txt")
    ann.publish(corpus)
    ann.pull(bob, corpus)
    bob.pull(ann, corpus)
    assert ann.text(corpus, "a.txt") is bob.text(corpus, "a.txt") is None
    assert [c.was_erased for c in bob.db.list_conflicts(corpus)] == [True]
    # who knows of the erasure may put it again
    bob.put(corpus, "a.txt", "Asked anew.")
    bob.publish(corpus)
    ann.pull(bob, corpus)
    assert ann.text(corpus, "a.txt") == "Asked anew."
    assert same(ann, bob, corpus)


def test_an_erasure_is_known_by_way_of_what_replaced_it(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    bob.db.delete_source(corpus, "a.txt")
    bob.publish(corpus)
    ann.pull(bob, corpus)
    for text in ("Anew.", "Anew, edited."):
        ann.put(corpus, "a.txt", text)
        ann.publish(corpus)
    bob.put(corpus, "a.txt", "Anew here too.")
    bob.publish(corpus)
    ann.pull(bob, corpus)
    bob.pull(ann, corpus)
    assert ann.text(corpus, "a.txt") == bob.text(corpus, "a.txt") == "Anew, edited."


def decided(node: Node, corpus: str) -> dict[str, str]:
    """The event that decides each source, by what the manual says of who wins."""
    sources: dict[str, dict[str, dict[str, Any]]] = {}
    for row in node.db.list_shared_events(corpus):
        event = json.loads(row.event)
        signed = hashlib.sha256(b"ragdb-event/1\n" + row.event.encode()).hexdigest()
        sources.setdefault(event["source"], {})[signed] = event

    def known(events: dict[str, dict[str, Any]], signed: str) -> set[str]:
        earlier = events[signed]["replaces"]
        return {signed}.union(*(known(events, one) for one in earlier))

    found = {}
    for source, events in sources.items():
        replaced = {one for event in events.values() for one in event["replaces"]}
        erasures = {signed for signed, event in events.items() if event["body"] is None}
        changes = events.keys() - replaced - erasures
        standing = {signed for signed in changes if erasures <= known(events, signed)}
        found[source] = max(
            standing or erasures, key=lambda one: (events[one]["lamport"], events[one]["author"])
        )
    return found


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(2, 12))]
)
def test_three_peers_come_to_the_same_in_whatever_order(
    nodes: tuple[Node, Node, Node], corpus: str, seed: int
) -> None:
    dice = random.Random(seed)
    for node in nodes[1:]:
        node.pull(nodes[0], corpus)
    for step in range(24):
        node, other = dice.sample(nodes, 2)
        uri = dice.choice(["a.txt", "b.txt", "c.txt"])
        match dice.choice(["put", "put", "delete", "pull", "pull"]):
            case "put":
                node.put(corpus, uri, f"Step {step} of {node.name}.")
            case "delete" if node.text(corpus, uri) is not None:
                node.db.delete_source(corpus, uri)
        node.publish(corpus)
        if dice.random() < 0.5:
            node.pull(other, corpus)
    for one, other in [*itertools.permutations(nodes, 2)] * 2:
        one.pull(other, corpus)
    told = [
        (
            node.texts(corpus),
            [(d.source, d.state, d.event) for d in node.db.list_shared_documents(corpus)],
            {(c.source, c.loser, c.winner) for c in node.db.list_conflicts(corpus)},
        )
        for node in nodes
    ]
    assert told[0] == told[1] == told[2]
    assert [row[::2] for row in told[0][1]] == sorted(decided(nodes[0], corpus).items())
    assert "waiting" not in {state for _, state, _ in told[0][1]}
    for node in nodes:
        verified = "select * from ragdb.verify(checks => '{peers}')"
        assert node.db.connection.execute(verified).fetchall() == []


def test_two_pulls_at_once_take_each_event_once(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    again = Node("bob", bob.dsn, bob.signer)
    pulled: list[int] = []

    def meanwhile(page: object) -> None:
        if not pulled:
            pulled.append(again.pull(ann, corpus).events)

    done = exchange.pull(bob.db, Direct(ann, meanwhile), corpus)  # type: ignore[arg-type]
    assert (pulled, done.events, done.position) == ([2], 0, 2)
    assert same(ann, bob, corpus)
    again.db.connection.close()


def test_a_pull_that_another_one_overtakes_goes_on(
    pair: tuple[Node, Node], corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = pair
    again = Node("bob", bob.dsn, bob.signer)

    def overtaken(db: ragdb.Database, name: str) -> bool:
        found = is_there(db, name)
        monkeypatch.undo()
        again.pull(ann, corpus)
        return found

    monkeypatch.setattr(exchange, "is_there", overtaken)
    done = bob.pull(ann, corpus)
    assert (done.events, done.position) == (0, 2)
    assert same(ann, bob, corpus)
    again.db.connection.close()


def test_a_peer_that_signs_by_another_key_is_another_author(
    nodes: tuple[Node, Node, Node], corpus: str
) -> None:
    ann, bob, cat = nodes
    bob.pull(ann, corpus)
    old, ann.signer = ann.signer, new_signer()
    ann.put(corpus, "a.txt", "By the new key.")
    ann.publish(corpus)
    with pytest.raises(EventRefused, match=f"unknown, key {ann.signer.public.hex()}"):
        bob.pull(ann, corpus)
    for node in (bob, cat):
        node.db.remove_peer("ann")
        node.db.add_peer("ann", ann.signer.public, None, "trusted")
    assert bob.pull(ann, corpus).events == 1
    # who begins has no event of the old key
    with pytest.raises(EventRefused, match=f"unknown, key {old.public.hex()}"):
        cat.pull(ann, corpus)
    cat.db.add_peer("ann-before", old.public, None, "trusted")
    assert cat.pull(ann, corpus).events == 3
    assert same(bob, cat, corpus)
    # as the other tests want it
    cat.db.remove_peer("ann-before")
    ann.signer = old
    for node in (bob, cat):
        node.db.remove_peer("ann")
        node.db.add_peer("ann", old.public, None, "trusted")


def test_two_sources_of_one_id_are_exchanged_once_one_of_them_has_another(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    ann.put(corpus, "anns", "Of Ann.", external_id="one")
    bob.put(corpus, "bobs", "Of Bob.", external_id="one")
    ann.publish(corpus)
    bob.publish(corpus)
    for one, other in ((ann, bob), (bob, ann)):
        with pytest.raises(AlreadyExists, match='"one"'):
            one.pull(other, corpus)
        assert len(one.texts(corpus)) == len(other.texts(corpus))
    bob.put(corpus, "bobs", "Of Bob.", external_id="another")
    bob.publish(corpus)
    ann.pull(bob, corpus)
    bob.pull(ann, corpus)
    assert ann.texts(corpus) == bob.texts(corpus)
    assert ann.texts(corpus)["bobs"] == "Of Bob."


def test_who_changes_a_text_here_does_not_speak_for_the_peer_that_signed_it(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)

    def authors() -> dict[str, str | None]:
        asked = {"params": {"corpus": corpus}, "input": {"query": "grinders deposits"}}
        found = bob.db.merge_peer_answers(corpus, bob.db.rag_query(asked), [])
        chunks = found["output"]["chunks"]
        return {chunk["text"]: chunk["metadata"].get("author") for chunk in chunks}

    assert set(authors().values()) == {ann.signer.public.hex()}
    bob.put(corpus, "b.txt", "Deposits are kept.")
    assert authors()["Deposits are kept."] is None
    bob.publish(corpus)
    assert authors()["Deposits are kept."] is None


def test_a_text_that_was_changed_and_not_published_is_waited_for(
    pair: tuple[Node, Node], corpus: str
) -> None:
    ann, bob = pair
    ann.put(corpus, "a.txt", "Not published.")
    assert bob.pull(ann, corpus).waiting == 1
    assert bob.text(corpus, "a.txt") is None
    ann.publish(corpus)
    assert bob.pull(ann, corpus).waiting == 0
    assert bob.text(corpus, "a.txt") == "Not published."


def test_what_is_read_again_from_elsewhere_is_not_published_again(
    pair: tuple[Node, Node], corpus: str, tmp_path: Path
) -> None:
    ann, bob = pair
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.txt").write_text("The same.")
        (tmp_path / place / "b.txt").write_text(f"It lies {place}.")
    ann.db.ingest(tmp_path / "here", corpus=corpus, prefix="docs")
    assert ann.publish(corpus) == 2
    ann.db.ingest(tmp_path / "there", corpus=corpus, prefix="docs")
    assert ann.publish(corpus) == 1
    assert ann.publish(corpus) == 0
    assert bob.pull(ann, corpus).waiting == 0
    assert bob.text(corpus, "docs/a.txt") == "The same."
    assert bob.text(corpus, "docs/b.txt") == "It lies there."


def test_a_text_that_one_peer_lacks_comes_from_another(
    nodes: tuple[Node, Node, Node], corpus: str
) -> None:
    ann, bob, cat = nodes
    cat.pull(ann, corpus)
    ann.put(corpus, "a.txt", "Not published.")
    assert bob.pull(ann, corpus).waiting == 1
    assert bob.pull(cat, corpus).waiting == 0
    assert bob.texts(corpus) == cat.texts(corpus)


def test_a_peer_that_went_back_is_refused(pair: tuple[Node, Node], corpus: str) -> None:
    ann, bob = pair
    bob.pull(ann, corpus)
    page = ann.page(corpus) | {"head": 1, "events": []}
    with pytest.raises(EventRefused, match="had 2"):
        bob.db.apply_events("ann", corpus, page)
    assert Direct(ann).get(f"/api/corpora/{corpus}/feed")["position"] == 2


def test_a_database_that_was_restored_goes_on_once_it_pulled_what_it_had_published(
    server18: Server,
) -> None:
    with server18.database() as a, server18.database() as b:
        ann, bob = (Node(n, server18.dsn(d.dbname)) for n, d in (("ann", a), ("bob", b)))
        introduce(ann, bob)
        ann.db.create_corpus("docs")
        ann.put("docs", "a.txt", "First.")
        ann.publish("docs")
        bob.pull(ann, "docs")
        ann.db.connection.close()
        with server18.database(a.dbname) as copy:
            ann = Node("ann", ann.dsn, ann.signer)
            ann.put("docs", "a.txt", "First again.")
            ann.put("docs", "b.txt", "Second.")
            ann.publish("docs")
            bob.pull(ann, "docs")
            restored = Node("ann", server18.dsn(copy.dbname), ann.signer)
            with pytest.raises(EventRefused, match="the peer has 1 events, and had 3"):
                bob.pull(restored, "docs")
            assert restored.pull(bob, "docs").events == 2
            restored.put("docs", "c.txt", "Third.")
            restored.publish("docs")
            assert bob.pull(restored, "docs").events == 1
            there = {"a.txt": "First again.", "b.txt": "Second.", "c.txt": "Third."}
            assert bob.texts("docs") == restored.texts("docs") == there
            for node in (ann, bob, restored):
                node.db.connection.close()
