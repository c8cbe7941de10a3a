"""Atoms say what their chunks say, prove it, and know when their evidence is another."""

from __future__ import annotations

import hashlib
import struct
from itertools import product
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document
from tests.refusal import refused
from tests.sql.conversations import conversation, put, uuid
from tests.sql.documents_twin import put as put_documents
from tests.sql.signed_slices import messages, one, retrieve

TEXT = "Refunds are paid by card within two weeks. Refunds of gifts are vouchers."


def promoted(db: Connection, text: str = TEXT) -> Any:
    hits = retrieve(db)
    row = promoting(db, hits, text)
    assert row["code"] == "PROMOTED", row
    return row["atom_id"]


def promoting(db: Connection, hits: list[dict[str, Any]], text: str) -> dict[str, Any]:
    return one(
        db,
        "select * from ragdb.promote_to_atom(%s, %s, %s)",
        hits[0]["trace_id"],
        [h["chunk_id"] for h in hits],
        text,
    )


def edited(db: Connection) -> None:
    said = messages()
    said[1]["text"] = "Refunds are never paid."
    put(db, "chat", conversation(said))


def state(db: Connection) -> str:
    return str(one(db, "select state from ragdb.list_atoms('chat')")["state"])


def dual(db: Connection) -> dict[str, str]:
    return dict(
        db.execute(
            "select plane, state from ragdb.search_dual('chat', 'refunds') where plane <> 'raw'"
        ).fetchall()
    )


def intact(db: Connection, atom: Any) -> dict[str, bool]:
    return dict(
        db.execute("select field, is_intact from ragdb.verify_atom(%s)", (atom,)).fetchall()
    )


# ---- what may be promoted -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The moon is made of cheese.", "QUOTE_NOT_FOUND"),
        (f"{TEXT} The moon is made of cheese.", "claim 3: QUOTE_NOT_FOUND"),
        ("Refunds are not paid by card within two weeks.", "QUOTE_NOT_FOUND"),
        # as a scanner would misread it
        ("Refunds are pald by card within two weeks.", "letters"),
        ("Refunds are paid by card within 3 weeks.", "QUOTE_NOT_FOUND"),
        # a part of a word
        ("funds are paid by card within two weeks.", "QUOTE_NOT_FOUND"),
        ("So.", "QUOTE_TOO_SHORT"),
    ],
)
def test_a_text_that_no_chunk_says_is_refused_with_an_incident(
    signed: Connection, text: str, says: str
) -> None:
    row = promoting(signed, retrieve(signed), text)
    assert (row["code"], row["atom_id"]) == ("CLAIM_UNSUPPORTED", None)
    assert says in row["reason"]
    incident = one(signed, "select * from ragdb.list_incidents('chat')")
    assert (incident["kind"], incident["reason"]) == ("unsupported_claim", row["reason"])
    assert "cheese" not in incident["reason"]
    assert signed.execute("select from ragdb.semantic_atoms").fetchall() == []


@pytest.mark.parametrize(
    "text", [TEXT, "refunds  are\npaid by CARD", "“Refunds of gifts are vouchers”!"]
)
def test_what_supports_each_claim_is_stored(signed: Connection, text: str) -> None:
    promoted(signed, text)
    atom = one(signed, "select * from ragdb.list_atoms('chat')")
    texts = {m["id"]: m["text"] for m in messages()}
    assert atom["checks"]
    for check in atom["checks"]:
        quoted = texts[check["chunk_id"]][check["start"] : check["end"]]
        assert quoted.lower().rstrip(".") in " ".join(text.lower().split())


# ---- hashes -------------------------------------------------------------------------------------


def fields(*parts: bytes | None) -> bytes:
    return hashlib.sha256(
        b"".join(b"\xff\xff\xff\xff" if p is None else struct.pack(">i", len(p)) + p for p in parts)
    ).digest()


def test_an_atom_is_hashed_and_signed(signed: Connection) -> None:
    atom = promoted(signed)
    row = one(
        signed,
        "select a.*, a.checks::text as said, timestamptz_send(a.created_at) as time,"
        " ragdb_internal.hmac_sha256(k.secret, '\\x0000000d'::bytea || 'ragdb-trace-1'"
        " || '\\x00000010'::bytea || uuid_send(o.id)"
        " || '\\x00000020'::bytea || a.atom_hash) as mac"
        " from ragdb.semantic_atoms a, ragdb.signing_secrets k, ragdb.origin() o",
    )
    texts = {m["id"]: m["text"] for m in messages()}
    evidence = [
        part
        for chunk in row["source_chunk_ids"]
        for part in (chunk.encode(), hashlib.sha256(texts[chunk].encode()).digest())
    ]
    assert row["atom_hash"] == fields(
        b"ragdb.atom/1",
        struct.pack(">i", row["corpus_id"]),
        atom.bytes,
        hashlib.sha256(TEXT.encode()).digest(),
        fields(*evidence),
        row["source_slice_id"].encode(),
        row["trace_id"].bytes,
        row["said"].encode(),
        row["time"],
        b"postgres",
    )
    assert row["atom_mac"] == row["mac"]
    assert all(intact(signed, atom).values())
    assert state(signed) == "current"


FORGERIES = {
    "semantic_atoms": "text = 'The moon.', text_hash = sha256('The moon.')",
    "semantic_proposals": "text = 'The moon.', text_hash = sha256('The moon.')",
    "proposal_decisions": "decision = 'rejected'",
    "admissibility_incidents": "reason = 'none'",
    "erasures": "caller = 'nobody'",
}


def one_of_each(db: Connection) -> Any:
    """An incident, an erasure, and an atom with an accepted proposal."""
    promoting(db, retrieve(db), "The moon is made of cheese.")
    promoted(db)
    db.execute("select ragdb.delete_document('chat', doc_cid) from ragdb.list_documents('chat')")
    put(db, "chat", conversation(messages()))
    atom = promoted(db)
    made = one(db, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [atom])
    db.execute("select ragdb.decide_proposal('chat', %s, 'accepted')", (made["proposal_id"],))
    return atom


def test_rows_are_append_only_for_everybody(signed: Connection) -> None:
    one_of_each(signed)
    for table, role, setting in product(
        FORGERIES, ("ragdb_owner", "postgres"), ("origin", "replica")
    ):
        signed.execute(f"set local session_replication_role = {setting}")
        for change in (
            f"update ragdb.{table} set {FORGERIES[table]}",
            f"delete from ragdb.{table}",
            f"truncate ragdb.{table} cascade",
        ):
            signed.execute(f"set local role {role}")
            with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
                signed.execute(change)
            signed.execute("set local role none")
            assert caught.value.sqlstate == "RG414", (role, setting, change)


def test_the_words_that_a_statement_is_found_by_are_those_of_its_text(signed: Connection) -> None:
    """It may be stemmed again, as by a newer PostgreSQL, and found by nothing else."""
    one_of_each(signed)
    for table in ("semantic_atoms", "semantic_proposals"):
        was = signed.execute(f"select lexemes from ragdb.{table}").fetchall()
        for change in ("lexemes = 'gold:1'", "lexemes = lexemes, text_hash = 'x'"):
            error = refused(signed, f"update ragdb.{table} set {change}")
            assert error.sqlstate == "RG414", change
        # given lexemes as of another stemmer
        signed.execute(f"alter table ragdb.{table} disable trigger user")
        signed.execute(f"update ragdb.{table} set lexemes = 'gold:1' where text is not null")
        signed.execute(f"alter table ragdb.{table} enable trigger user")
        otherwise = (
            "select from ragdb.verify(checks => '{atoms,proposals}')"
            " where finding = 'it is found by another text than its own'"
        )
        assert len(signed.execute(otherwise).fetchall()) == 1
        signed.execute("update ragdb.corpora set analysed_by = 15")
        assert signed.execute(otherwise).fetchall() == []
        signed.execute("select ragdb.repair_corpus('chat')")
        assert signed.execute(f"select lexemes from ragdb.{table}").fetchall() == was


@pytest.mark.by_day(3)
@pytest.mark.parametrize("rehash", [False, True], ids=["row", "row and hash"])
@pytest.mark.parametrize("table", FORGERIES)
def test_a_row_that_was_edited_all_the_same_says_so(
    signed: Connection, table: str, rehash: bool
) -> None:
    def sound() -> list[bool]:
        return [
            r[0]
            for r in signed.execute(
                "select is_intact from ragdb.list_incidents('chat')"
                " union all select is_intact from ragdb.list_erasures('chat')"
                " union all select state <> 'tampered' from ragdb.list_atoms('chat')"
                " union all select evidence_state <> 'tampered' from ragdb.list_proposals('chat')"
                " union all select bool_and(v.is_intact) from ragdb.list_atoms('chat') a,"
                "   ragdb.verify_atom(a.atom_id) v where v.subject = 'record'"
            )
        ]

    one_of_each(signed)
    assert all(sound())  # the control
    signed.execute(f"alter table ragdb.{table} disable trigger user")
    signed.execute(f"update ragdb.{table} set {FORGERIES[table]}")
    if rehash:
        name = {"semantic_atoms": "atom", "semantic_proposals": "proposal"}.get(
            table, table.split("_")[-1].rstrip("s")
        )
        signed.execute(f"update ragdb.{table} t set {name}_hash = ragdb_internal.{name}_hash(t)")
    assert not all(sound())
    if table in ("semantic_atoms", "semantic_proposals"):
        plane = {"semantic_atoms": "atom", "semantic_proposals": "proposal"}[table]
        assert dual(signed)[plane] == "tampered"


# ---- staleness ----------------------------------------------------------------------------------


def forge(db: Connection) -> None:
    db.execute("update ragdb.chunks set text = 'No.', content_hash = sha256('No.')")


def delete_a_turn(db: Connection) -> None:
    put(db, "chat", conversation([m for m in messages() if m["id"] != uuid(4)]))


@pytest.mark.parametrize("change", [edited, forge, delete_a_turn])
def test_an_atom_whose_evidence_changed_is_stale_at_once(signed: Connection, change: Any) -> None:
    atom = promoted(signed)
    other = promoted(signed)
    made = one(signed, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [atom])
    assert made["code"] == "PROPOSED"
    assert dual(signed) == {"atom": "current", "proposal": "current"}

    change(signed)

    assert state(signed) == "stale"
    assert dual(signed) == {"atom": "stale", "proposal": "stale"}
    checks = intact(signed, atom)
    assert checks.pop("evidence") is False
    assert all(checks.values())
    row = one(signed, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [other])
    assert (row["code"], row["proposal_id"]) == ("ATOM_STALE", None)
    decided = one(
        signed, "select * from ragdb.decide_proposal('chat', %s, 'accepted')", made["proposal_id"]
    )
    assert decided["code"] == "EVIDENCE_CHANGED"
    assert len(signed.execute("select from ragdb.list_incidents('chat')").fetchall()) == 2


def test_an_atom_is_current_again_when_its_evidence_is(signed: Connection) -> None:
    promoted(signed)
    edited(signed)
    assert state(signed) == "stale"
    put(signed, "chat", conversation(messages()))
    assert state(signed) == "current"


def test_an_atom_of_a_trace_that_is_gone_says_so(signed: Connection) -> None:
    atom = promoted(signed)
    for (name,) in signed.execute(
        "select inhrelid::regclass::text from pg_inherits"
        " where inhparent = 'ragdb.retrieval_traces'::regclass"
    ).fetchall():
        signed.execute(f"alter table {name} disable trigger user")
    signed.execute("delete from ragdb.retrieval_traces")
    checks = intact(signed, atom)
    assert checks.pop("trace_id") is False
    assert all(checks.values())


LISTS = [
    "list_atoms('chat')",
    "list_proposals('chat')",
    "list_erasures('chat')",
    "list_incidents('chat')",
    "search_dual('chat', 'refunds', 100)",
]


def test_however_many_are_listed_the_keys_are_read_once(signed: Connection) -> None:
    signed.execute("set local track_functions = 'all'")

    def secrets_read(listing: str) -> int:
        counted = (
            "select calls from pg_stat_xact_user_functions"
            " where schemaname = 'ragdb_internal' and funcname = 'secret_at_hand'"
        )
        before = one(signed, counted)["calls"]
        signed.execute(f"select from ragdb.{listing}")
        return int(one(signed, counted)["calls"] - before)

    def one_more_of_each() -> None:
        atom = promoted(signed)
        signed.execute("select ragdb.propose('chat', %s, 'Refunds work.')", ([atom],))
        promoting(signed, retrieve(signed), "The moon is made of cheese.")
        signed.execute(
            "select ragdb_internal.record_erasure(c, row('atom', %s, 'x'), 'redacted', 'me', null)"
            " from ragdb.corpora c where c.name = 'chat'",
            (atom,),
        )

    one_more_of_each()
    few = {listing: secrets_read(listing) for listing in LISTS}
    one_more_of_each()
    assert {listing: secrets_read(listing) for listing in LISTS} == few
    assert all(few.values())


# ---- erasure ------------------------------------------------------------------------------------

DELETIONS = {
    "document": "select ragdb.delete_document('chat', doc_cid, {0}, {1})"
    " from ragdb.list_documents('chat')",
    "source": "select ragdb.delete_source('chat', source, {0}, {1})"
    " from ragdb.list_documents('chat')",
    "sources": "select ragdb.prune_sources('chat', '', '{{}}', derived => {0}, reason => {1})",
}


@pytest.mark.parametrize("choice", ["redact", "erase"])
@pytest.mark.parametrize("deletion", DELETIONS)
def test_what_was_derived_goes_with_its_document_on_record(
    signed: Connection, deletion: str, choice: str
) -> None:
    atom = promoted(signed)
    made = one(signed, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [atom])
    signed.execute(
        "select ragdb.decide_proposal('chat', %s, 'accepted', 'I saw a refund')",
        (made["proposal_id"],),
    )
    hashes = dict(
        signed.execute(
            "select 'atom', encode(atom_hash, 'hex') from ragdb.semantic_atoms union all"
            " select 'proposal', encode(proposal_hash, 'hex') from ragdb.semantic_proposals"
            " union all"
            " select 'decision', encode(decision_hash, 'hex') from ragdb.proposal_decisions"
        ).fetchall()
    )
    signed.execute(DELETIONS[deletion].format(f"'{choice}'", "'asked to'"))

    rows = signed.execute(
        "select kind, item_id, item_hash, action, split_part(cause, ' ', 1), caller, reason,"
        " is_intact from ragdb.list_erasures('chat')"
    ).fetchall()
    action = {"redact": "redacted", "erase": "erased"}[choice]
    ids = {"atom": atom, "proposal": made["proposal_id"], "decision": made["proposal_id"]}
    assert {r[0]: r[1:] for r in rows} == {
        kind: (ids[kind], hashes[kind], action, deletion, "postgres", "asked to", True)
        for kind in hashes
    }
    assert dual(signed) == {}
    said = "".join(
        str(r)
        for table in ("semantic_atoms", "semantic_proposals", "proposal_decisions", "erasures")
        for r in signed.execute(f"select to_jsonb(t) from ragdb.{table} t").fetchall()
    )
    assert "efund" not in said
    assert "saw" not in said
    if choice == "redact":
        assert state(signed) == "redacted"
        checks = intact(signed, atom)
        assert checks.pop("evidence") is False
        assert all(checks.values())
        row = one(signed, "select * from ragdb.propose('chat', %s, 'It works.')", [atom])
        assert row["code"] == "ATOM_REDACTED"
    else:
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute("select ragdb.verify_atom(%s)", (atom,))
        assert caught.value.sqlstate == "RG407"


@pytest.mark.parametrize("choice", ["redact", "erase"])
def test_what_went_on_record_and_is_put_back_is_found(signed: Connection, choice: str) -> None:
    atom = promoted(signed)
    made = one(signed, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [atom])
    signed.execute(
        "select ragdb.decide_proposal('chat', %s, 'accepted', 'I saw a refund')",
        (made["proposal_id"],),
    )
    tables = ("semantic_atoms", "semantic_proposals", "proposal_decisions")
    for table in tables:
        signed.execute(f"create temp table {table} as select * from ragdb.{table}")
    signed.execute(DELETIONS["source"].format(f"'{choice}'", "'asked to'"))
    look = "select distinct a.check from ragdb.verify(checks => '{atoms,proposals,decisions}') a"
    assert signed.execute(look).fetchall() == []
    for table in tables:
        signed.execute(f"alter table ragdb.{table} disable trigger user")
    for table in reversed(tables):
        signed.execute(f"delete from ragdb.{table}")
    for table in tables:
        signed.execute(f"insert into ragdb.{table} select * from pg_temp.{table}")
    found = {check for (check,) in signed.execute(look)}
    assert found == {"atoms", "proposals", "decisions"}
    assert state(signed) == "tampered"


def test_what_rests_on_other_documents_stays(signed: Connection) -> None:
    promoted(signed)
    signed.execute("select ragdb.put_text('chat', 'other.md', 'Something else.')")
    signed.execute("select ragdb.delete_source('chat', 'other.md')")
    assert state(signed) == "current"
    assert signed.execute("select from ragdb.list_erasures('chat')").fetchall() == []


def test_everything_derived_goes_whatever_a_session_lets_an_index_pass_over(
    signed: Connection,
) -> None:
    promoted(signed)
    # 5,000 more of the same chunks, more than fit an entry of an index, and 5,000 others
    columns = (
        "corpus_id, text, text_hash, source_slice_id, trace_id, checks, created_at, created_by,"
        " lexemes, atom_hash, atom_mac"
    )
    signed.execute(
        f"insert into ragdb.semantic_atoms ({columns}, atom_id, source_chunk_ids, content_hashes)"
        f" select {columns}, gen_random_uuid(),"
        " case when n % 2 = 0 then source_chunk_ids else array['another'] end,"
        " case when n % 2 = 0 then content_hashes else array['another'::bytea] end"
        " from ragdb.semantic_atoms, generate_series(1, 10000) n"
    )
    signed.execute("analyze ragdb.semantic_atoms")
    for index in ("semantic_atoms_by_chunk", "semantic_atoms_by_content"):
        signed.execute(f"select gin_clean_pending_list('ragdb.{index}')")
    for setting in (
        "enable_seqscan = off",
        "plan_cache_mode = force_custom_plan",
        "gin_fuzzy_search_limit = 1",
    ):
        signed.execute(f"set local {setting}")
    corpus_id = one(signed, "select corpus_id from ragdb.corpora where name = 'chat'")["corpus_id"]
    derived = one(
        signed,
        "select cardinality(ragdb_internal.derived_items(%s, %s))",
        corpus_id,
        [uuid(1)],
    )
    assert derived["cardinality"] == 5001


@pytest.mark.parametrize("old_is_first", [True, False])
def test_what_was_derived_from_a_file_outlives_its_name_and_not_its_bytes(
    signed: Connection, old_is_first: bool
) -> None:
    old, new = ("a.md", "b.md") if old_is_first else ("b.md", "a.md")
    # a file that links to the conversation: an atom needs a turn
    said: dict[str, Any] = {"links": [(0, conversation(messages())["uri"])], "data": b"bytes"}
    text = "Refunds of kites are vouchers."
    put_documents(signed, document(old, [text], **said), corpus="chat")
    anchor = one(signed, "select chunk_id from ragdb.document_chunks('chat', %s)", old)["chunk_id"]
    hits = retrieve(signed, "refunds", anchor=anchor)
    assert anchor in {hit["chunk_id"] for hit in hits}
    made = one(
        signed,
        "select * from ragdb.promote_to_atom(%s, %s, %s, 'lenient')",
        hits[0]["trace_id"],
        [hit["chunk_id"] for hit in hits],
        text,
    )
    assert made["code"] == "PROMOTED", made
    # other bytes that say the same take nothing along
    put_documents(signed, document("c.md", [text], **said | {"data": b"others"}), corpus="chat")
    signed.execute("select ragdb.delete_source('chat', 'c.md')")
    assert signed.execute("select from ragdb.list_erasures('chat')").fetchall() == []
    put_documents(signed, document(new, [text], **said), corpus="chat")
    signed.execute("select ragdb.delete_source('chat', %s)", (old,))
    assert state(signed) == "stale"
    assert signed.execute("select from ragdb.list_erasures('chat')").fetchall() == []
    signed.execute("select ragdb.delete_source('chat', %s)", (new,))
    assert state(signed) == "redacted"
    (row,) = signed.execute("select cause from ragdb.list_erasures('chat')").fetchall()
    assert row == (f"source {new}",)


def test_a_dropped_corpus_leaves_a_record_of_what_went(signed: Connection) -> None:
    atom = promoted(signed)
    signed.execute("select ragdb.drop_corpus('chat', 'moved away')")
    rows = signed.execute(
        "select kind, item_id, action, cause, reason from ragdb.erasures"
    ).fetchall()
    assert rows == [("atom", atom, "erased", "corpus chat", "moved away")]
    assert signed.execute("select from ragdb.semantic_atoms").fetchall() == []


@pytest.mark.parametrize("choice", ["null", "'keep'"])
def test_a_deletion_without_a_choice_is_refused(signed: Connection, choice: str) -> None:
    for call in DELETIONS.values():
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute(call.format(choice, "null"))
        assert caught.value.sqlstate == "RG400"
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute(call.format("'erase'", "repeat('x', 10001)"))
        assert caught.value.sqlstate == "RG400"
    for call in ("list_atoms('chat', 0)", "list_erasures('chat', null)"):
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute(f"select ragdb.{call}")
        assert caught.value.sqlstate == "RG400"
