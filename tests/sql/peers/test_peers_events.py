"""What is read of a shared corpus to publish a change of a source, and to decide one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import Connection
from tests.embedding import one, put

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
URIS = [f"{n}.md" for n in range(450)]


@contextmanager
def reads(db: Connection, at_most: int) -> Iterator[None]:
    """What is done reads so many rows of signed events at most."""

    def count() -> Any:
        return one(
            db,
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables"
            " where relid = 'ragdb.shared_events'::regclass",
        )

    before = count()
    yield
    assert count() - before <= at_most


def share(db: Connection) -> UUID:
    db.execute("select ragdb.create_corpus('shared')")
    feed: UUID = one(db, "select ragdb.share_corpus('shared', %s)", KEY)
    return feed


def publish(db: Connection) -> int:
    drafts = [text for (text,) in db.execute("select ragdb.draft_events('shared')").fetchall()]
    signatures = [bytes(64)] * len(drafts)
    published: int = one(db, "select ragdb.publish_events('shared', %s, %s)", drafts, signatures)
    return published


@pytest.mark.nightly
def test_to_publish_a_change_reads_the_events_of_its_source(db: Connection) -> None:
    share(db)
    put(db, {uri: f"The lift works. {uri}" for uri in URIS}, "shared")
    publish(db)
    put(db, {uri: f"The lift stops. {uri}" for uri in URIS}, "shared")
    # the last of the author, what is replaced, its heads twice and which of them are replaced
    with reads(db, at_most=10 * len(URIS)):
        assert publish(db) == len(URIS)


def test_to_decide_a_conflict_reads_the_events_of_its_source(db: Connection) -> None:
    feed = share(db)
    put(db, {uri: f"The lift works. {uri}" for uri in URIS}, "shared")
    publish(db)
    db.execute("select ragdb.add_peer('office', %s, null, 'trusted')", (OTHER,))
    events, previous = [], None
    for n, uri in enumerate(URIS, 1):
        body = one(
            db,
            "select ragdb_internal.shared_body(corpus_id, %s) from ragdb.corpora"
            " where name = 'shared'",
            uri,
        ).replace("works", "halts")
        # as ragdb_internal.event_text writes one
        text, previous = db.execute(
            "select t, encode(ragdb_internal.event_hash(t), 'hex') from ragdb_internal.event_text("
            "%s, row(null, null, null, %s, %s, %s, 'rag.document.ingested', %s, '{}',"
            " ragdb_internal.text_hash(%s), null, null, true, null, null, null)"
            "::ragdb.shared_events, %s, '2026-01-01T00:00:00.000000Z') t",
            (feed, OTHER, n, n, uri, body, previous),
        ).fetchall()[0]
        events.append({"position": n, "event": text, "signature": "00" * 64, "body": body})
    page = json.dumps({"feed": str(feed), "head": len(events), "events": events})
    with reads(db, at_most=30 * len(URIS)):
        conflicts = one(
            db, "select conflicts from ragdb.apply_events('office', 'shared', %s)", page
        )
    assert conflicts == len(URIS)
