"""What cannot be a peer, or cannot be shared with peers, is refused and leaves nothing."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.refusal import refused

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
ADD = "select ragdb.add_peer(%s, %s, %s, %s)"


@pytest.fixture
def node(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('shared')")
    db.execute(ADD, ("office", KEY, "https://office.example.org", "member"))
    return db


@pytest.mark.parametrize(
    ("given", "sqlstate", "said"),
    [
        (("Shop", OTHER, None, "member"), "RG400", 'peer name "Shop" is not 1 to 64'),
        ((None, OTHER, None, "member"), "RG400", "peer name null is not 1 to 64"),
        (("x" * 65, OTHER, None, "member"), "RG400", "peer name"),
        (("shop", OTHER[:31], None, "member"), "RG400", "the public key has 31 bytes, not 32"),
        (("shop", OTHER + b"x", None, "member"), "RG400", "the public key has 33 bytes, not 32"),
        (("shop", None, None, "member"), "RG400", "the public key has no bytes, not 32"),
        (("shop", OTHER, "ftp://a.example", "member"), "RG400", 'the URL "ftp://a.example" is not'),
        (("shop", OTHER, "https://me@a.example", "member"), "RG400", "the URL"),
        (("shop", OTHER, "https://a.example/?q", "member"), "RG400", "the URL"),
        (("shop", OTHER, "https://a.example/" + "x" * 983, "member"), "RG400", "the URL"),
        (("shop", OTHER, None, "anchor"), "RG400", 'trust is "anchor"'),
        (("shop", OTHER, None, None), "RG400", "trust is null"),
        (("office", OTHER, None, "member"), "RG409", 'a peer has the name "office" or this key'),
        (("shop", KEY, None, "member"), "RG409", 'a peer has the name "shop" or this key'),
    ],
)
def test_what_cannot_be_a_peer_is_not_added(
    node: Connection, given: tuple[Any, ...], sqlstate: str, said: str
) -> None:
    error = refused(node, ADD, *given)
    assert (error.sqlstate, str(error.diag.message_primary)[: len(said)]) == (sqlstate, said)
    assert node.execute("select name from ragdb.list_peers()").fetchall() == [("office",)]


@pytest.mark.parametrize(
    "url",
    [None, "http://a.example", "https://a.example:8443/rag", "https://a.example/" + "x" * 982],
)
def test_a_peer_may_have_no_server_or_any_of_http(node: Connection, url: str | None) -> None:
    node.execute(ADD, ("shop", OTHER, url, "trusted"))
    (found,) = node.execute(
        "select url, public_key, trust from ragdb.list_peers() where name = 'shop'"
    ).fetchall()
    assert found == (url, OTHER.hex(), "trusted")


@pytest.mark.parametrize("reason", [None, "", "x" * 1001])
def test_a_key_is_not_revoked_without_a_reason(node: Connection, reason: str | None) -> None:
    assert refused(node, "select ragdb.revoke_peer('office', %s)", reason).sqlstate == "RG400"
    assert node.execute("select revoked_at from ragdb.list_peers()").fetchall() == [(None,)]


def test_the_first_reason_of_a_revoked_key_stays(node: Connection) -> None:
    node.execute("select ragdb.revoke_peer('office', 'lost')")
    node.execute("select ragdb.revoke_peer('office', 'found again')")
    assert node.execute("select revoked_because from ragdb.list_peers()").fetchall() == [("lost",)]


@pytest.mark.parametrize("call", ["revoke_peer('shop', 'lost')", "remove_peer('shop')"])
def test_a_peer_that_is_not_there_is_not_taken_away(node: Connection, call: str) -> None:
    error = refused(node, f"select ragdb.{call}")
    assert (error.sqlstate, error.diag.message_primary) == ("RG490", 'peer "shop" does not exist')


@pytest.mark.parametrize(
    ("given", "sqlstate", "said"),
    [
        (("shared", OTHER[:31], None), "RG400", "the public key has 31 bytes, not 32"),
        (("shared", KEY, None), "RG409", "the public key is a peer's"),
        (("system", OTHER, None), "RG400", 'corpus "system" is never shared'),
        (("nowhere", OTHER, None), "RG404", 'corpus "nowhere" does not exist'),
    ],
)
def test_what_cannot_be_shared_is_not(
    node: Connection, given: tuple[Any, ...], sqlstate: str, said: str
) -> None:
    node.execute("select ragdb.create_corpus('system')")
    error = refused(node, "select ragdb.share_corpus(%s, %s, %s)", *given)
    assert (error.sqlstate, error.diag.message_primary) == (sqlstate, said)
    shared = node.execute("select count(*) from ragdb.shared_corpora").fetchone()
    assert shared == (0,)


def test_a_feed_is_one_corpus_and_a_corpus_one_feed(node: Connection) -> None:
    ((feed,),) = node.execute("select ragdb.share_corpus('shared', %s)", (OTHER,)).fetchall()
    again = node.execute("select ragdb.share_corpus('shared', null, %s)", (feed,)).fetchone()
    assert again == (feed,)
    error = refused(node, "select ragdb.share_corpus('shared', null, gen_random_uuid())")
    assert (error.sqlstate, error.diag.message_detail) == ("RG409", f"it is feed {feed}")
    node.execute("select ragdb.create_corpus('second')")
    error = refused(node, "select ragdb.share_corpus('second', null, %s)", feed)
    assert (error.sqlstate, error.diag.message_primary) == (
        "RG409",
        f"another corpus is shared as feed {feed}",
    )


@pytest.mark.parametrize("events", [{}, {"events": None}, {"events": {}}])
def test_a_page_without_a_list_of_events_is_refused(
    node: Connection, events: dict[str, Any]
) -> None:
    ((feed,),) = node.execute("select ragdb.share_corpus('shared', %s)", (OTHER,)).fetchall()
    page = Jsonb({"feed": str(feed), "head": 3, **events})
    error = refused(node, "select ragdb.apply_events('office', 'shared', %s)", page)
    assert (error.sqlstate, error.diag.message_primary) == (
        "RG492",
        "an event is refused: what came is not a page of events",
    )
