"""What one person said goes, from every version too; what others said stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection, Login, Server
from tests.embedding import one
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.signed_slices import promote, retrieve
from tests.sql.soundness import errors

SAID = [
    message(1, text="How are refunds paid?", speaker="Quill", salience=0.9),
    message(2, [1], text="Refunds are paid by card.", speaker="Bob", salience=0.9),
    message(3, [2], text="My zanzibar card is lost.", speaker="Quill"),
    message(4, [3], text="Then call the bank.", speaker="Bob"),
]
# to compare functions with what was installed takes most of the time, and erasing changes none
FINDINGS = """
    select v.place, v.finding from ragdb.verify(checks => array(
      select c.check from ragdb.verification_checks() c where c.check <> 'code')) v
    where severity <> 'note'
    """


def erase(db: Connection, speaker: str = "Quill", session: str | None = None) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(
        "select * from ragdb.erase_speaker('chat', %s, %s, 'request 77')", (speaker, session)
    ).fetchone()
    assert row is not None
    return row


def texts(db: Connection, session: str = "s1") -> list[tuple[str, int]]:
    return db.execute(
        "select c.text, t.depth from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)"
        " where t.session_id = %s order by c.source, c.ordinal",
        (session,),
    ).fetchall()


def remains(db: Connection, word: str) -> list[str]:
    """The tables in which a word is found."""
    tables = db.execute(
        "select c.oid::regclass::text from pg_class c where relnamespace = 'ragdb'::regnamespace"
        " and relkind in ('r', 'p') and not relispartition"
    ).fetchall()
    return [
        name
        for (name,) in tables
        if one(db, f"select exists (select from {name} t where t::text ilike %s)", f"%{word}%")
    ]


def append(db: Connection, *turns: dict[str, Any], session: str = "s2") -> None:
    db.execute("select from ragdb.append_turns('chat', %s, %s)", (session, json.dumps(list(turns))))


@pytest.fixture(scope="module", params=[None, "30 days"], ids=["no history", "history"])
def told(any_version: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """A session that was put, with its file, and one that grew, with and without history."""
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('chat', history => %s)", (request.param,))
            body = json.dumps(SAID).encode()
            db.execute("select ragdb.put_blob(%s, 'application/json', 'chat')", (body,))
            cid = "sha256:" + hashlib.sha256(body).hexdigest()
            put(db, "chat", conversation(SAID, doc_cid=cid))
            append(db, message(11, text="The zanzibar desk opens.", speaker="Quill"))
            append(db, message(12, [11], text="At nine.", speaker="Bob"))
            append(db, message(13, [12], text="Good.", speaker="Quill"))
        yield dsn


@pytest.fixture
def chat(any_version: Server, told: str) -> Iterator[Connection]:
    with any_version.rolled_back(told) as db:
        yield db


@pytest.mark.by_day(1)
def test_what_one_speaker_said_is_gone_and_what_others_said_stays(chat: Connection) -> None:
    before = dict(chat.execute("select chunk_id, chunk_no from ragdb.chunks").fetchall())
    turns, documents, past = erase(chat)
    assert (turns, documents) == (4, 0)
    assert texts(chat) == [("Refunds are paid by card.", 0), ("Then call the bank.", 0)]
    assert texts(chat, "s2") == [("At nine.", 0)]
    after = dict(chat.execute("select chunk_id, chunk_no from ragdb.chunks").fetchall())
    # what stays keeps its row, and so its embedding
    assert after == {uuid(n): before[uuid(n)] for n in (2, 4, 12)}
    assert (past > 0) == bool(one(chat, "select history is not null from ragdb.corpora"))
    assert remains(chat, "zanzibar") == []
    assert remains(chat, "Quill") == []
    assert chat.execute(FINDINGS).fetchall() == []
    assert chat.execute("select ragdb.repair_corpus('chat')").fetchall() is not None


def test_a_session_goes_on_after_one_of_its_speakers_was_erased(chat: Connection) -> None:
    erase(chat)
    append(chat, message(14, [12], text="And closes at five.", speaker="Bob"))
    assert texts(chat, "s2") == [("At nine.", 0), ("And closes at five.", 1)]
    assert chat.execute(FINDINGS).fetchall() == []


def test_only_the_named_session_is_touched(chat: Connection) -> None:
    assert erase(chat, session="s2")[:2] == (2, 0)
    assert len(texts(chat)) == 4
    assert remains(chat, "desk") == []


def test_a_conversation_of_one_speaker_goes_as_a_whole(chat: Connection) -> None:
    append(chat, message(21, text="A note to myself.", speaker="Kim"), session="s3")
    assert erase(chat, "Kim")[:2] == (1, 1)
    assert texts(chat, "s3") == []
    assert chat.execute(FINDINGS).fetchall() == []


def test_a_conversation_that_was_found_at_several_sources_is_still_found_there(
    chat: Connection,
) -> None:
    twin = conversation(SAID, root="/talks", etag="1")
    found = "select uri, root, etag from ragdb.document_sources where uri like '%#s1' order by 1"
    put(chat, "chat", twin)
    for copy in ("copy.jsonl#s1", "third.jsonl#s1"):
        put(chat, "chat", twin | {"uri": copy})
    before = chat.execute(found).fetchall()
    assert [uri for uri, _, _ in before] == ["chat.jsonl#s1", "copy.jsonl#s1", "third.jsonl#s1"]
    assert erase(chat)[:2] == (4, 0)
    assert chat.execute(found).fetchall() == before
    assert len(texts(chat)) == 2
    assert remains(chat, "zanzibar") == []
    assert chat.execute(FINDINGS).fetchall() == []


def test_many_conversations_are_put_again_at_once(db: Connection) -> None:
    """What a call costs by itself, such as a look at the statistics, is paid a few times."""
    db.execute("select ragdb.create_corpus('chat')")
    said = [
        conversation(
            [message(9 * n + k, [9 * n + k - 1][: k - 1], speaker="QB"[k % 2]) for k in (1, 2, 3)],
            session=f"s{n}",
        )
        for n in range(30)
    ]
    put(db, "chat", *said)
    db.execute("set local track_functions = 'all'")
    assert erase(db, "B")[:2] == (60, 0)
    calls = "select calls from pg_stat_xact_user_functions where funcname = 'put_conversations'"
    assert one(db, calls) == 1
    assert len(texts(db, "s7")) == 1


def test_the_record_says_who_erased_and_why_and_does_not_name_the_person(
    chat: Connection,
) -> None:
    erase(chat)
    acts = chat.execute("select act, caller, reason from ragdb.list_ledger_acts()").fetchall()
    assert ("deletion", "postgres", "4 turns of a speaker: request 77") in acts
    assert not any("Quill" in reason for _, _, reason in acts)


def test_what_was_derived_from_it_goes_on_record(signed: Connection) -> None:
    db = signed
    db.execute("select ragdb.drop_corpus('chat'), ragdb.create_corpus('chat')")
    put(db, "chat", conversation(SAID))
    hits = retrieve(db)
    atom = promote(db, hits[0]["trace_id"], [h["chunk_id"] for h in hits], "lenient")["atom_id"]
    erase(db)
    assert atom is not None
    assert db.execute(
        "select kind, item_id, action, cause, reason from ragdb.list_erasures('chat')"
    ).fetchall() == [("atom", atom, "erased", "turns of a speaker", "request 77")]
    assert errors(db) == []


def test_a_turn_without_a_time_of_its_own_has_none_afterwards(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    put(db, "chat", conversation(SAID))
    erase(db)
    assert db.execute(
        "select speaker, said_at from ragdb.list_turns('chat', %s)", ([uuid(2), uuid(4)],)
    ).fetchall() == [("Bob", None), ("Bob", None)]


def test_what_was_said_and_is_replaced_already_is_erased_from_the_history(
    any_version: Server, told: str
) -> None:
    with any_version.rolled_back(told) as db:
        if not one(db, "select history is not null from ragdb.corpora"):
            return
        put(db, "chat", conversation([SAID[1] | {"parents": []}]))
        assert "ragdb.past_rows" in remains(db, "zanzibar card")
        turns, documents, past = erase(db, session="s1")
        assert (turns, documents) == (0, 0)
        assert past > 0
        assert remains(db, "zanzibar card") == []
        assert db.execute(FINDINGS).fetchall() == []


def test_a_replay_that_would_need_it_says_erased(any_version: Server, told: str) -> None:
    with any_version.rolled_back(told) as db:
        trace = one(db, "select trace_id from ragdb.retrieve('chat', 'refunds paid') limit 1")
        history = one(db, "select history is not null from ragdb.corpora")
        erase(db)
        cause = one(db, "select cause from ragdb.replay(%s)", trace)
        assert cause == ("erased" if history else "corpus_changed")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("'chat', 'Eve'", 'RG406 no turn of corpus "chat" is by "Eve"'),
        ("'chat', 'Quill', 's9'", 'RG406 no turn of corpus "chat" is by "Quill" in session "s9"'),
        ("'chat', null", "RG400 speaker is null"),
        ("'nowhere', 'Quill'", 'RG404 corpus "nowhere" does not exist'),
        ("'chat', 'Quill', reason => repeat('x', 10001)", "RG400 the reason has 10001 characters"),
    ],
)
def test_a_speaker_who_cannot_be_erased_is_refused(db: Connection, call: str, error: str) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    put(db, "chat", conversation(SAID))
    with pytest.raises(psycopg.Error) as caught, db.transaction():
        db.execute(f"select * from ragdb.erase_speaker({call})".encode())
    assert f"{caught.value.sqlstate} {caught.value.diag.message_primary}" == error
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint
    assert len(texts(db)) == 4


def test_who_may_write_may_not_erase(committed: Connection, login: Login) -> None:
    committed.execute("select ragdb.create_corpus('chat')")
    put(committed, "chat", conversation(SAID))
    writer = login(committed.info.dsn, "writer", autocommit=True)
    with pytest.raises(psycopg.Error) as caught:
        writer.execute("select ragdb.erase_speaker('chat', 'Quill')")
    assert caught.value.sqlstate == "RG401"


def test_what_waits_for_peers_in_a_conflict_goes_too(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    put(db, "chat", conversation(SAID))
    db.execute("select ragdb.share_corpus('chat')")
    corpus = one(db, "select corpus_id from ragdb.corpora where name = 'chat'")
    db.execute("set local session_replication_role = replica")
    for name, messages in (("a", SAID), ("b", SAID[1:2])):
        db.execute(
            "insert into ragdb.shared_conflicts (corpus_id, loser, winner, source, body, found_at)"
            " values (%s, sha256(%s), sha256('w'), %s, %s, now())",
            (corpus, name.encode(), name, Jsonb({"session": "s1", "messages": messages})),
        )
    erase(db)
    kept = "select source from ragdb.shared_conflicts where body is not null"
    assert db.execute(kept).fetchall() == [("b",)]
    body = Jsonb({"session": "s1", "messages": [message(9, speaker="Eve")]})
    db.execute("update ragdb.shared_conflicts set body = %s", (body,))
    assert erase(db, "Eve") == (0, 0, 0)
    assert one(db, "select reason from ragdb.list_ledger_acts() limit 1") == (
        "what conflicts with peers kept: request 77"
    )
