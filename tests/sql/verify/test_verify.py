"""ragdb.verify finds what was edited, deleted, switched off, replaced or granted without a key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.conftest import Connection, Server
from tests.sql.conversations import chat, uuid
from tests.sql.signed_slices import messages, one, promote, retrieve, sign

ALL = "(select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid)"


@pytest.fixture(scope="module")
def kept(module_clone: str) -> str:
    """DSN of traces with and without a slice, a reranking, an original, an atom, a proposal."""
    with psycopg.connect(module_clone) as connection:
        fill(sign(connection))
    return module_clone


@pytest.fixture
def proved(server18: Server, kept: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with server18.rolled_back(kept) as connection:
        yield connection


def fill(signed: Connection) -> None:
    hits = retrieve(signed)
    made = promote(signed, hits[0]["trace_id"], [hit["chunk_id"] for hit in hits], "lenient")
    assert made["code"] == "PROMOTED", made
    signed.execute(
        "select ragdb.propose('chat', %s, 'Refunds cost nothing.')", ([made["atom_id"]],)
    )
    signed.execute(
        "select ragdb.decide_proposal('chat', proposal_id, 'accepted', 'It is so.')"
        " from ragdb.list_proposals('chat')"
    )
    refused = promote(signed, hits[0]["trace_id"], ["nowhere"], "lenient")
    assert refused["code"] == "CHUNK_NOT_RETRIEVED", refused
    redact(signed)
    signed.execute("select ragdb.put_blob('a file', 'text/plain')")
    for _ in range(3):
        signed.execute("select from ragdb.retrieve('chat', 'refunds', k => 2)")
    (trace,) = newest(signed)
    signed.execute("select ragdb.bind_reranker('r', '/models/r', repeat('a', 64))")
    chunks = [c for (c,) in signed.execute(
        "select chunk_id from ragdb.trace_hits(%s)", (trace,)).fetchall()]  # fmt: skip
    signed.execute(
        "select from ragdb.record_rerank(%s, 'r', %s, %s)",
        (trace, chunks, [float(n) for n in range(len(chunks))]),
    )
    assert found(signed) == []


def redact(db: Connection) -> None:
    """An atom of a document that goes, and takes the text along."""
    chat(db, messages(), "gone")
    hits = retrieve(db, corpus="gone")
    promote(db, hits[0]["trace_id"], [hit["chunk_id"] for hit in hits], "lenient")
    db.execute(
        "select ragdb.delete_document('gone', doc_cid, 'redact', 'on request')"
        " from ragdb.list_documents('gone')"
    )


def newest(db: Connection) -> Any:
    return db.execute("select id from ragdb.retrieval_traces order by id desc limit 1").fetchone()


def found(db: Connection, call: str = "verify()") -> list[dict[str, Any]]:
    """All findings but those about who may be the owner, which every test server has."""
    with db.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(f"select * from ragdb.{call}").fetchall()
    return [row for row in rows if row["severity"] != "note"]


def off(db: Connection, *tables: str) -> None:
    """What an owner does before an edit, and undoes after it."""
    for table in tables or ("retrieval_traces", "retrieval_hits", "retrieval_reranks"):
        parts = db.execute(
            "select i.inhrelid::regclass::text from pg_inherits i where i.inhparent = %s::regclass",
            (f"ragdb.{table}",),
        ).fetchall() or [(f"ragdb.{table}",)]
        for (part,) in parts:
            db.execute(f"alter table {part} disable trigger all")


def on(db: Connection) -> None:
    """The triggers as they were, so that only the edit can be found."""
    for (part,) in db.execute(
        "select i.inhrelid::regclass::text from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " join pg_class o on o.oid = i.inhparent where o.relnamespace = 'ragdb'::regnamespace"
        " and c.relkind = 'r'"
    ).fetchall():
        db.execute(f"alter table {part} enable trigger all")
        for name in ("rows_are_append_only", "table_is_append_only"):
            db.execute(
                f"do $$ begin alter table {part} enable always trigger {name};"
                " exception when undefined_object then end $$"
            )


UNGUARDED = "alter table ragdb.chunks drop constraint chunks_content_hash_is_of_the_text"
SPARE = (
    "select ragdb.put_text('lone', 'spare.md', 'A spare text.'),"
    " ragdb.put_text('lone', 'other.md', 'Another text.');"
)
EDITS = {
    # attack: (edit, check, a part of the finding)
    "a trace edited": (
        "update ragdb.retrieval_traces set caller = 'nobody' where id = (select max(id::text)::uuid"
        " from ragdb.retrieval_traces)",
        "traces",
        "its row or its hits are not what was recorded",
    ),
    "a trace edited with its hash": (
        "update ragdb.retrieval_traces t set caller = 'x', trace_hash = ragdb_internal.trace_hash("
        "jsonb_populate_record(t, '{\"caller\": \"x\"}'), array(select h from"
        " ragdb.retrieval_hits h where h.trace_id = t.id order by h.rank))",
        "traces",
        "none of the keys of this database made it",
    ),
    "a signature taken off": (
        "update ragdb.retrieval_traces set trace_mac = null",
        "traces",
        "it is not signed, and key k1 was active then",
    ),
    "a hit edited": (
        "update ragdb.retrieval_hits set score = 0.99 where rank = 1",
        "traces",
        "its row or its hits are not what was recorded",
    ),
    "a hit deleted": (
        "delete from ragdb.retrieval_hits where rank = 1",
        "traces",
        "its row or its hits are not what was recorded",
    ),
    "a trace deleted with its hits left": (
        "delete from ragdb.retrieval_traces where id = (select max(id::text)::uuid"
        " from ragdb.retrieval_traces)",
        "hits",
        "there are rows of ragdb.retrieval_hits and the trace is gone",
    ),
    "the same, its reranking": (
        "delete from ragdb.retrieval_traces where id = (select max(id::text)::uuid"
        " from ragdb.retrieval_traces)",
        "reranks",
        "there are rows of ragdb.retrieval_reranks and the trace is gone",
    ),
    "all traces deleted with an atom left": (
        "with h as (delete from ragdb.retrieval_hits), r as (delete from ragdb.retrieval_reranks)"
        " delete from ragdb.retrieval_traces",
        "atoms",
        "the trace that it rests on is gone",
    ),
    "a reranking edited": (
        "update ragdb.retrieval_reranks set score = 9 where rank = 1",
        "traces",
        "its reranking is not what was recorded",
    ),
    "a chunk's text": (
        f"{UNGUARDED}; update ragdb.chunks set text = 'Paid in gold.' where chunk_no = 2",
        "chunks",
        "its text is not the text that was put",
    ),
    "the text of an atom": (
        "update ragdb.semantic_atoms set text = 'Paid in gold.', lexemes = 'gold:1',"
        " text_hash = sha256('Paid in gold.')",
        "atoms",
        "its row is not what was recorded",
    ),
    "the lexemes of an atom": (
        "update ragdb.semantic_atoms set lexemes = 'gold:1'",
        "atoms",
        "it is found by another text than its own",
    ),
    "the chunks of an atom": (
        f"update ragdb.semantic_atoms set source_chunk_ids = '{{{uuid(5)}}}'",
        "atoms",
        "it rests on chunks that its trace did not find",
    ),
    "the text of a proposal": (
        "update ragdb.semantic_proposals set text = 'A myth.', lexemes = 'myth:1',"
        " text_hash = sha256('A myth.')",
        "proposals",
        "its row is not what was recorded",
    ),
    "the lexemes of a proposal": (
        "update ragdb.semantic_proposals set lexemes = 'myth:1'",
        "proposals",
        "it is found by another text than its own",
    ),
    "the text of an atom taken away": (
        "update ragdb.semantic_atoms set text = null, lexemes = ''",
        "atoms",
        "its row is not what was recorded",
    ),
    "the text of a proposal taken away": (
        "update ragdb.semantic_proposals set text = null, lexemes = ''",
        "proposals",
        "its row is not what was recorded",
    ),
    "the reason of a decision taken away": (
        "update ragdb.proposal_decisions set reason = null",
        "decisions",
        "its row is not what was recorded",
    ),
    "a decision signed by nobody": (
        "update ragdb.proposal_decisions set decision_mac = sha256('x')",
        "decisions",
        "its row is not what was recorded",
    ),
    "who decided, with its hash": (
        "update ragdb.proposal_decisions d set decided_by = 'x', decision_hash ="
        " ragdb_internal.decision_hash(jsonb_populate_record(d, '{\"decided_by\": \"x\"}'))",
        "decisions",
        "its row is not what was recorded",
    ),
    "an incident that never was": (
        "insert into ragdb.admissibility_incidents select i.* from ragdb.admissibility_incidents o,"
        " jsonb_populate_record(o, jsonb_build_object('caller', 'x', 'incident_id',"
        " gen_random_uuid())) j, jsonb_populate_record(j, jsonb_build_object('incident_hash',"
        " ragdb_internal.incident_hash(j))) i",
        "incidents",
        "its row is not what was recorded",
    ),
    "an erasure that never was": (
        "insert into ragdb.erasures select e.* from ragdb.erasures o, jsonb_populate_record(o,"
        " jsonb_build_object('caller', 'x', 'erasure_id', gen_random_uuid())) j,"
        " jsonb_populate_record(j, jsonb_build_object('erasure_hash',"
        " ragdb_internal.erasure_hash(j))) e",
        "erasures",
        "its row is not what was recorded",
    ),
    "an atom deleted": (
        "delete from ragdb.semantic_atoms",
        "proposals",
        "an atom that it rests on is gone",
    ),
    "an original": (
        "update ragdb.blobs set bytes = 'another'",
        "blobs",
        "its bytes are not what its identity says",
    ),
    "a slice": (
        "update ragdb.slices set content_hashes[1] = sha256('x')",
        "slices",
        "its members are not those of its fingerprint",
    ),
    "a slice with a member that has no name": (
        "update ragdb.slices set chunk_ids = chunk_ids || null::text,"
        " content_hashes = content_hashes || null::bytea",
        "slices",
        "its members are not those of its fingerprint",
    ),
    "who was taken into a slice": (
        "update ragdb.slices set selection_order = selection_order[2:]",
        "slices",
        "its members are not those of its fingerprint",
    ),
    "a policy": (
        "update ragdb.slice_policies set policy = policy || '{\"max_nodes\": 3}'",
        "policies",
        "its row was changed",
    ),
    "a policy that is none": (
        "update ragdb.slice_policies set policy = '{\"x\": 1}'",
        "policies",
        'it stopped at a row that cannot be read: a slice policy has no field "x" (RG430)',
    ),
    "events": ("delete from ragdb.events", "documents", "the event that tells of it is gone"),
    "the title of a document": (
        "update ragdb.documents set title = 'Gold'",
        "documents",
        "it is not what its event tells of it",
    ),
    "the original of a document": (
        "update ragdb.documents set doc_cid = 'sha256:' || repeat('a', 64)",
        "documents",
        "it is not what its event tells of it",
    ),
    "the source of a chunk": (
        "update ragdb.chunks set source = 'another' where chunk_no = 2",
        "chunks",
        "its source is not that of its document",
    ),
    "a corpus's version": (
        "update ragdb.corpora set version = 0 where name = 'chat'",
        "corpora",
        "its version is 0, and a trace searched version 1",
    ),
    "the name of a corpus": (
        "update ragdb.corpora set name = 'other' where name = 'chat'",
        "corpora",
        "its name is not chat, by which what is recorded of it calls it",
    ),
    "the clock of events": (
        "update ragdb.corpora set lamport = 0 where name = 'chat'",
        "corpora",
        "its clock stands before events that have been",
    ),
    "a secret": (
        "update ragdb.signing_secrets set secret = sha256('mine')",
        "keys",
        "a secret is not that of its key",
    ),
    "the time of a key": (
        "update ragdb.signing_keys set created_at = now() + interval '1 day'",
        "keys",
        "the row of a key was changed without an event: created_at",
    ),
    "a grant of a column of a partition": (
        "grant select (query_text) on ragdb.retrieval_traces_default to stranger",
        "rights",
        "it is granted to stranger",
    ),
    "a trigger of a partition": (
        "create function public.other() returns trigger language plpgsql as 'begin return new;"
        " end'; create trigger other before insert on ragdb.retrieval_hits_default for each row"
        " execute function public.other()",
        "triggers",
        "trigger other was added",
    ),
    # as it is before a row goes in, that function keeps the row out
    "a trigger of a partition that calls a function of ragdb": (
        "create trigger other before insert on ragdb.retrieval_hits_default for each row"
        " execute function ragdb_internal.calibrate_when_due()",
        "triggers",
        "trigger other was added",
    ),
    "foreign keys that hold on replicas alone": (
        "do $$ begin execute (select format('alter table %s enable replica trigger %I',"
        " tgrelid::regclass, tgname) from pg_trigger where tgisinternal"
        " and tgrelid = 'ragdb.chunks'::regclass limit 1); end $$",
        "triggers",
        "foreign keys of the table are switched off",
    ),
    "a partition in another schema, where row security hides its rows": (
        "alter table ragdb.retrieval_hits_default set schema public;"
        " alter table public.retrieval_hits_default enable row level security",
        "triggers",
        "it is a partition of ragdb.retrieval_hits in another schema",
    ),
    "a table that is said to have no triggers": (
        "update pg_class set relhastriggers = false"
        " where oid = 'ragdb.retrieval_hits_default'::regclass",
        "triggers",
        "the catalogue says that it has no triggers, indexes, checks or partitions, and it has"
        " some",
    ),
    "a key whose index is said not to be unique": (
        "update pg_index set indisunique = false"
        " where indexrelid = 'ragdb.evidence_gates_default_ids_are_unique'::regclass",
        "triggers",
        "its key is missing, and a row may be there twice",
    ),
    "a function of PostgreSQL that is computed once": (
        "alter function pg_catalog.clock_timestamp() immutable",
        "code",
        "it was changed",
    ),
    "the key of a partition, and a row twice": (
        "alter table ragdb.evidence_gates_default"
        " drop constraint evidence_gates_default_ids_are_unique",
        "triggers",
        "its key is missing, and a row may be there twice",
    ),
    "a document that nothing rests on": (
        f"{SPARE} delete from ragdb.documents where source = 'spare.md'",
        "corpora",
        "it has 1 document, and ragdb stored 2",
    ),
    "a chunk that nothing rests on": (
        f"{SPARE} delete from ragdb.chunks where source = 'spare.md'",
        "documents",
        "it has more or fewer chunks than were stored",
    ),
    "an owner": (
        "alter table ragdb.rerankers owner to postgres",
        "rights",
        "it belongs to postgres, not ragdb_owner",
    ),
    "a grant on a partition": (
        "grant select on ragdb.retrieval_traces_default to public",
        "rights",
        "it is granted to public",
    ),
}  # fmt: skip
# edits of what guards evidence, by the place at which each is found
GUARDS = {
    # place: (edit, finding)
    "function ragdb_internal.trace_mac(bytea,bytea)": (
        "create or replace function ragdb_internal.trace_mac(trace_hash bytea, secret bytea)"
        " returns bytea language sql stable return trace_hash",
        "it was changed",
    ),
    "function ragdb_internal.gathered(public.vector)": (
        "create or replace aggregate ragdb_internal.gathered(vector)"
        " (sfunc = pg_catalog.array_append, stype = vector[], initcond = '{}', parallel = safe)",
        "it was changed",
    ),
    "function ragdb_internal.mine()": (
        "create function ragdb_internal.mine() returns int language sql return 1",
        "it was added",
    ),
    "grant ragdb.chunks to public": (
        "grant select on ragdb.chunks to public",
        "it was added",
    ),
    "grant ragdb.signing_secrets.secret to stranger": (
        "grant select (secret) on ragdb.signing_secrets to stranger",
        "it was added",
        "warning",
    ),
    "rule nothing on ragdb.access_events": (
        "create rule nothing as on insert to ragdb.access_events do instead nothing",
        "it was added",
    ),
    "rule nothing on ragdb.retrieval_traces_default": (
        "create rule nothing as on insert to ragdb.retrieval_traces_default do instead nothing",
        "it was added",
    ),
    "row security of ragdb.ledger_acts": (
        "create policy hidden on ragdb.ledger_acts using (false);"
        " alter table ragdb.ledger_acts enable row level security, force row level security",
        "it was added",
    ),
    "constraint chunks_offsets_are_a_range on ragdb.chunks": (
        "alter table ragdb.chunks drop constraint chunks_offsets_are_a_range",
        "it is missing",
    ),
    "column ragdb.corpora.is_restricted": (
        "alter table ragdb.corpora alter is_restricted set default true",
        "it was changed",
    ),
    "column ragdb.retrieval_traces.corpus": (
        "alter table ragdb.retrieval_traces alter corpus drop not null",
        "it was changed",
    ),
    "column ragdb.access_events.more": (
        "alter table ragdb.access_events add more text",
        "it was added",
    ),
    "index ragdb.contracts_one_version_is_current": (
        "drop index ragdb.contracts_one_version_is_current",
        "it is missing",
    ),
    "index ragdb.mine": (
        "create index mine on ragdb.access_events (what)",
        "it was added",
        "warning",
    ),
    "child table public.more of ragdb.semantic_atoms": (
        "create table public.more () inherits (ragdb.semantic_atoms)",
        "it was added",
    ),
    "unlogged table ragdb.ledger_pending": (
        "alter table ragdb.ledger_pending set unlogged",
        "it was added",
    ),
    "view bi.fact_retrieval": (
        "alter view bi.fact_retrieval reset (security_barrier)",
        "it was changed",
    ),
    "functions of PostgreSQL": (
        "create or replace function pg_catalog.sind(float8) returns float8 language sql immutable"
        " as 'select 1.0::float8'",
        "it was changed",
    ),
    "operator =(text,character varying)": (
        "create function public.same(text, varchar) returns boolean language sql as 'select true';"
        " create operator pg_catalog.= (leftarg = text, rightarg = varchar, function = same)",
        "it was added",
    ),
    "cast text as boolean": (
        "create function public.truth(text) returns boolean language sql as 'select true';"
        " create cast (text as boolean) with function public.truth(text) as implicit",
        "it was added",
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", EDITS)
def test_what_was_done_without_a_key_is_found(proved: Connection, attack: str) -> None:
    edit, check, finding = EDITS[attack]
    off(proved)
    tables = ("slice_policies", "semantic_atoms", "semantic_proposals", "proposal_decisions",
              "admissibility_incidents", "erasures")  # fmt: skip
    off(proved, *tables)
    proved.execute(edit)
    on(proved)
    for table in tables:
        proved.execute(f"alter table ragdb.{table} enable trigger all")
    rows = found(proved, f"verify(checks => '{{{check}}}')")
    said = {(row["severity"], row["finding"]) for row in rows if row["check"] == check}
    assert ("error", finding) in said, rows


def test_each_edit_of_what_guards_evidence_is_found_at_its_place(proved: Connection) -> None:
    for edit, *_ in GUARDS.values():
        proved.execute(edit)
    # all at once: to compare all code takes most of a verification
    rows = {row["place"]: row for row in found(proved, "verify(checks => '{code}')")}
    for place, (_, finding, *severity) in GUARDS.items():
        assert place in rows, rows.keys()
        assert (rows[place]["severity"], rows[place]["finding"]) == (
            *(severity or ["error"]), finding
        ), place  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "check", "finding"),
    [
        (
            "alter table ragdb.retrieval_traces_default disable trigger user",
            "triggers",
            "trigger rows_are_append_only is switched off",
        ),
        (
            "alter table ragdb.retrieval_hits_default enable trigger rows_are_append_only",
            "triggers",
            "trigger rows_are_append_only is switched off",
        ),
        (
            "drop trigger table_is_append_only on ragdb.retrieval_hits_default",
            "triggers",
            "trigger table_is_append_only is missing",
        ),
        (
            "alter table ragdb.retrieval_traces_default disable trigger admissibility_is_proved",
            "triggers",
            "trigger admissibility_is_proved is switched off",
        ),
        (
            "alter table ragdb.chunks disable trigger all",
            "triggers",
            "foreign keys of the table are switched off",
        ),
        (
            "create or replace trigger rows_are_append_only before update or delete on"
            " ragdb.retrieval_hits_default for each row when (false)"
            " execute function ragdb_internal.refuse_change(); alter table"
            " ragdb.retrieval_hits_default enable always trigger rows_are_append_only",
            "triggers",
            "trigger rows_are_append_only is not what it was",
        ),
        (
            "create or replace trigger rows_are_append_only before delete on"
            " ragdb.retrieval_hits_default for each row"
            " execute function ragdb_internal.refuse_change(); alter table"
            " ragdb.retrieval_hits_default enable always trigger rows_are_append_only",
            "triggers",
            "trigger rows_are_append_only is not what it was",
        ),
        (
            "create or replace trigger rows_are_append_only before delete or update of caller on"
            " ragdb.retrieval_traces_default for each row"
            " execute function ragdb_internal.refuse_change(); alter table"
            " ragdb.retrieval_traces_default enable always trigger rows_are_append_only",
            "triggers",
            "trigger rows_are_append_only is not what it was",
        ),
        ("alter table ragdb.key_events disable trigger user", "code", "it was changed"),
        ("alter role all set session_replication_role = replica", "triggers",
         "session_replication_role is set, which switches ordinary triggers off"),
        ("set session_replication_role = replica", "triggers",
         "session_replication_role is set, which switches ordinary triggers off"),
    ],
)  # fmt: skip
def test_what_guards_evidence_and_is_off_is_found_quickly(
    db: Connection, edit: str, check: str, finding: str
) -> None:
    quickly = f"verify(quick => true, checks => '{{{check}}}')"
    assert found(db, quickly) == []
    db.execute(edit)
    assert finding in {row["finding"] for row in found(db, quickly)}


def test_a_space_whose_past_is_not_kept_is_found(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs'), ragdb.create_embedder('three', 3)")
    db.execute("select ragdb.embed_corpus('docs', 'three')")
    assert found(db, "verify(true, '{triggers}')") == []
    ((space,),) = db.execute(
        "select inhrelid::regclass::text from pg_inherits"
        " where inhparent = 'ragdb.chunk_embeddings'::regclass"
    ).fetchall()
    make = (
        f"create or replace trigger past_is_kept after insert or update or delete on {space}"
        " for each row when ({}) execute function ragdb_internal.keep_past_row('embedding')"
    )
    for edit, state in (
        (f"alter table {space} disable trigger past_is_kept", "switched off"),
        (f"drop trigger past_is_kept on {space}", "missing"),
        (make.format("current_setting('ragdb.history', true) = 'off'"), "not what it was"),
        (
            make.format("current_setting('ragdb.history', true) = 'on'").replace(
                "('embedding')", "('synonym')"
            ),
            "not what it was",
        ),
    ):
        with db.transaction(force_rollback=True):
            db.execute(edit)
            (row,) = found(db, "verify(true, '{triggers}')")
            assert row["finding"] == f"trigger past_is_kept is {state}"


def test_reads_that_are_recorded_no_more_without_an_event_are_found(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('whole'), ragdb.create_corpus('quiet')")
    db.execute("select ragdb.create_corpus('part', part_of => 'whole')")
    for mode in ("on", "required"):
        db.execute("select ragdb.record_reads('whole', %s)", (mode,))
        assert found(db, "verify(true, '{rights}')") == []
    for corpus in ("whole", "part"):
        with db.transaction(force_rollback=True):
            db.execute("update ragdb.corpora set record_reads = 'off' where name = %s", (corpus,))
            ((place, finding),) = [
                (row["place"], row["finding"]) for row in found(db, "verify(true, '{rights}')")
            ]
            assert place == f"corpus {corpus}"
            assert finding.endswith("was set to off, and no event says by whom")


def test_an_erasure_of_what_is_no_row_of_the_ledger_says_nothing_of_a_document(
    db: Connection,
) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    db.execute("select ragdb.put_text('docs', 'a.md', 'A text.')")
    db.execute(
        "select ragdb.record_erasure(array['document:' || corpus_id || '/' || event_id], 'mine')"
        " from ragdb.events"
    )
    assert found(db, "verify(checks => '{documents}')") == []
    db.execute("select ragdb.delete_source('docs', 'a.md')")
    assert found(db, "verify(checks => '{documents,ledger}')") == []


def test_a_personal_corpus_of_another_role_than_made_it_is_found(db: Connection) -> None:
    said = "select finding from ragdb.verify(true, '{rights}') where place = 'corpus personal'"
    db.execute("create role once in role ragdb_writer; grant once to current_user; set role once")
    db.execute("select ragdb.create_corpus('personal')")
    db.execute("reset role")
    with db.transaction(force_rollback=True):
        db.execute("update ragdb.corpora set personal_of = 'writer', personal_oid ="
                   " 'writer'::regrole where name = 'personal'")  # fmt: skip
        assert db.execute(said).fetchall() == [
            ("it belongs to writer and was made by once, and no event says who gave it away",)
        ]
    db.execute("drop role once; set role ragdb_owner")
    db.execute("select ragdb.bind_role('once', 'writer')")
    db.execute("reset role")
    assert db.execute("select personal_of from ragdb.corpora").fetchall() == [("writer",)]
    assert db.execute(said).fetchall() == []


def test_who_can_be_the_owner_is_said_once_however_many_granted_it(db: Connection) -> None:
    said = "select count(*) from ragdb.verify(true) v where v.place = 'role reader'"
    db.execute("grant ragdb_owner to admin with admin option")
    db.execute("grant ragdb_owner to reader granted by admin")
    db.execute("grant ragdb_owner to reader")
    assert db.execute(said).fetchone() == (1,)


@pytest.mark.parametrize(
    ("change", "place", "severity", "finding"),
    [
        ("grant pg_write_all_data to reader", "role reader", "note",
         "it can be pg_write_all_data, and can change every row"),
        ("grant pg_read_all_data to reader", "role reader", "note",
         "it can be pg_read_all_data, and has the secrets of keys"),
        ("grant pg_execute_server_program to reader", "role reader", "note",
         "it can be pg_execute_server_program, and can change every row"),
        ("alter role reader set ragdb.signing_key = 'k1:00'", "all databases, role reader",
         "warning",
         "ragdb.signing_key is set, which every role of the server reads in pg_db_role_setting"),
        ("alter role ragdb_reader superuser", "role ragdb_reader", "warning",
         "who can be it can do what ragdb grants to nobody: it is a superuser"),
        ("alter role ragdb_owner login createrole", "role ragdb_owner", "warning",
         "who can be it can do what ragdb grants to nobody: it can log in, it can make roles"),
    ],
)  # fmt: skip
def test_who_can_do_more_than_ragdb_grants_is_said(
    any_db: Connection, change: str, place: str, severity: str, finding: str
) -> None:
    said = "select v.severity, v.finding from ragdb.verify(true, '{rights}') v where v.place = %s"
    assert any_db.execute(said, (place,)).fetchall() == []
    any_db.execute(change.encode())
    assert any_db.execute(said, (place,)).fetchall() == [(severity, finding)]


def test_that_sessions_may_set_the_clock_is_said(db: Connection) -> None:
    said = "select count(*) from ragdb.verify(true) v where v.place = 'setting allow_test_clock'"
    assert db.execute(said).fetchone() == (1,)
    db.execute("delete from ragdb.settings where key = 'allow_test_clock'")
    assert db.execute(said).fetchone() == (0,)


def test_steps_of_any_size_find_what_one_call_finds(proved: Connection) -> None:
    off(proved)
    proved.execute("update ragdb.retrieval_traces set trace_mac = null where limit_returned = 2")
    proved.execute(UNGUARDED)
    proved.execute("update ragdb.chunks set text = text || '!' where chunk_no in (1, 3, 5)")
    # the code is one step of any size, and takes longer than all others
    checks = [name for (name,) in proved.execute(
        "select \"check\" from ragdb.verification_checks() where \"check\" <> 'code'")]  # fmt: skip
    whole = found(proved, f"verify(checks => '{{{','.join(checks)}}}')")
    assert len([row for row in whole if row["check"] == "chunks"]) == 3
    for most in (1, 2, 7, 1000):
        state, rows, calls, looked = None, [], 0, 0
        while True:
            step = one(
                proved, "select * from ragdb.verify_step(%s, %s, checks => %s)",
                None if state is None else json.dumps(state), most, checks,
            )  # fmt: skip
            calls += 1
            rows += [row for row in step["findings"] if row["severity"] != "note"]
            looked += step["looked"] if step["check"] == "chunks" else 0
            state = step["next_state"]
            if state is None:
                break
        assert (rows, looked) == (whole, 5)
    assert calls == len(checks) == 29


def test_traces_whose_key_is_not_at_hand_are_one_warning(proved: Connection) -> None:
    proved.execute("delete from ragdb.signing_secrets")
    said = [
        (row["check"], row["severity"], row["place"].split(" from ")[0]) for row in found(proved)
    ]
    assert said == [("keys", "warning", "key k1"), ("traces", "warning", "5 traces")]


def test_what_a_compromised_key_signed_is_listed(proved: Connection) -> None:
    proved.execute("select ragdb.report_key_compromise('k1')")
    said = [row["finding"] for row in found(proved) if row["check"] == "traces"]
    assert len(said) == 5
    assert all(s.startswith("not to be trusted: key k1 is reported compromised") for s in said)


@pytest.mark.parametrize(
    "call",
    [
        "verify_step(null, 0)",
        "verify_step(null, null)",
        'verify_step(\'{"check": "nothing"}\')',
        "verify(checks => '{nothing}')",
        "verify(true, '{traces}')",
    ],
)
def test_a_verification_that_cannot_be_is_refused(db: Connection, call: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(f"select * from ragdb.{call}")
    assert caught.value.sqlstate == "RG400"
    assert caught.value.diag.message_hint


@pytest.mark.parametrize("state", ["{}", "[]", '{"check": "documents"}'])
def test_a_state_of_another_verification_is_named_so(db: Connection, state: str) -> None:
    with pytest.raises(psycopg.Error, match="state is of no step of this verification") as caught:
        db.execute("select * from ragdb.verify_step(%s, 4000, true)", (state,))
    assert caught.value.sqlstate == "RG400"


# ── pgvector ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "parallel", "vacuums"),
    [
        ("0.8.0", False, False),
        ("0.8.1", False, False),
        ("0.8", False, False),
        ("0.8.2", True, False),
        ("0.8.3", True, False),
        ("0.8.4", True, True),
        ("0.8.10", True, True),
        ("0.9.0-dev", True, True),
        ("0.10", True, True),
        ("1.0.0", True, True),
        ("1", True, True),
        ("", False, False),
        ("unknown", False, False),
        (None, False, False),
    ],
)
def test_versions_of_pgvector_compare_by_number(
    db: Connection, version: str | None, parallel: bool, vacuums: bool
) -> None:
    assert db.execute(
        "select ragdb_internal.may_build_in_parallel(%(v)s), ragdb_internal.may_vacuum_hnsw(%(v)s)",
        {"v": version},
    ).fetchone() == (parallel, vacuums)


def test_what_an_old_pgvector_does_to_an_index_is_said_before_it_is_built(db: Connection) -> None:
    assert found(db, "verify(true, '{pgvector}')") == []
    notices: list[str] = []
    db.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    db.execute("select ragdb_internal.warn_of_pgvector()")
    assert notices == []
    for version, finding in (
        ("0.8.3", "vacuum can corrupt its HNSW indexes"),
        ("0.8.1", "a parallel build of an HNSW index overflows a buffer, as of `reindex` or a "
         "restore; ragdb builds in one process"),
    ):  # fmt: skip
        db.execute("update pg_extension set extversion = %s where extname = 'vector'", (version,))
        db.execute("select ragdb_internal.warn_of_pgvector()")
        assert notices.pop() == f"vacuum can corrupt HNSW indexes of pgvector {version}"
        assert [
            (row["severity"], row["finding"]) for row in found(db, "verify(true, '{pgvector}')")
        ] == [("warning", finding)]


def test_rows_that_the_ledger_lacks_are_counted_where_they_are_many(proved: Connection) -> None:
    proved.execute(
        "insert into ragdb.slice_policies select p.policy_id, to_char(n, 'FM0000000000000000'),"
        " p.canonical, p.sha256, p.policy, p.created_at, p.created_by"
        " from ragdb.slice_policies p, generate_series(1, 4500) n"
    )
    said = found(proved, "verify(checks => '{ledger}')")
    assert len(said) == 4001
    assert [row["finding"] for row in said if row["place"] == "the ledger"] == [
        f"{4500 * policies(proved) - 4000} more findings"
    ]


def policies(db: Connection) -> int:
    """How many policies there were before each was copied 4,500 times."""
    row = db.execute("select count(*) from ragdb.slice_policies").fetchone()
    assert row is not None
    return int(row[0]) // 4501


@pytest.mark.parametrize(("copied", "severity"), [(True, "warning"), (False, "error")])
def test_another_build_of_postgresql_is_no_error_in_a_copy_and_a_changed_function_is(
    any_db: Connection, copied: bool, severity: str
) -> None:
    """A copy is known by the number of a function, which another one may have had there."""
    if copied:
        any_db.execute(
            "update ragdb.installed_code i set object_id ="
            " case when i.identity = 'ragdb_internal.embedder(text)'"
            " then 'ragdb_internal.present_code()'::regprocedure::oid::bigint end"
        )
    any_db.execute(
        "update ragdb.installed_code i set hash = '' where i.kind = 'functions'"
        " or i.identity = 'ragdb_internal.server_major()'"
    )
    found = any_db.execute(
        "select f.severity, f.place from ragdb.verify(checks => '{code}') f"
        " where f.severity <> 'note' order by f.place"
    ).fetchall()
    assert found == [
        ("error", "function ragdb_internal.server_major()"),
        (severity, "functions of PostgreSQL"),
    ]


def test_a_space_that_is_dropped_since_the_snapshot_of_a_verification_is_no_finding(
    clone: str,
) -> None:
    """A definition is read as it is now, and then there is none."""
    with psycopg.connect(clone, autocommit=True) as admin, psycopg.connect(clone) as db:
        admin.execute("select ragdb.create_embedder('e', 3)")
        admin.execute("select ragdb.create_corpus('docs')")
        admin.execute("select ragdb.embed_corpus('docs', 'e')")
        db.execute("set transaction isolation level repeatable read")
        ((trigger,),) = db.execute(
            "select count(*) from pg_trigger t join pg_inherits i on i.inhrelid = t.tgrelid"
            " where t.tgname = 'past_is_kept' and i.inhparent = 'ragdb.chunk_embeddings'::regclass"
        ).fetchall()
        admin.execute("select ragdb.drop_corpus('docs')")
        assert trigger == 1
        assert found(db, "verify(checks => array['triggers'])") == []
