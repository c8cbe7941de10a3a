"""ragdb.verify finds edits of the catalogue: what is hidden there, and what PostgreSQL itself does.

Edits by a superuser, each alone by night, those of different places together by day.
tests/sql/verify/test_verify.py has those that need no such trick.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest

import pytest

from tests.conftest import Connection

NOTHING = (
    "create or replace function public.nothing() returns trigger language plpgsql"
    " as 'begin return null; end';"
)
TRIGGER = (
    NOTHING + "create trigger kept_out before insert on ragdb.{0} for each row"
    " execute function public.nothing();"
    "update pg_trigger set tgisinternal = true where tgname = 'kept_out'"
)
KEY = "(select conindid from pg_constraint where conname = 'ledger_leaves_row_is_sealed_once')"
VECTORS = "public.inner_product(public.vector, public.vector)"
# an operator keeps its name, by which PostgreSQL writes it, and calls another function
STORED = (
    "create cast (text as pg_node_tree) without function;"
    "update {0} set {1} = regexp_replace({1}::text, ':opfuncid \\d+ ', ':opfuncid 185 ', 'g')"
    "::pg_node_tree where {2};"
    "drop cast (text as pg_node_tree)"
)
UNKEYED = "its key is missing, and a row may be there twice"
UNREAD = (
    "it is a partition that its table does not have, or not for long, and whose rows are not read"
)
HIDDEN = (
    "the catalogue says that it has no triggers, indexes, checks or partitions, and it has some"
)
EDITS = {
    # what: (edit, check, place, finding)
    "a rule by the name of those of views": (
        "create rule nothing as on insert to ragdb.access_events do instead nothing;"
        'alter rule nothing on ragdb.access_events rename to "_RETURN"',
        "code", "rule _RETURN on ragdb.access_events", "it was added",
    ),
    "a trigger that is said to be of PostgreSQL": (
        TRIGGER.format("events"), "code", "trigger kept_out on ragdb.events", "it was added",
    ),
    "the same, of a partition": (
        TRIGGER.format("retrieval_hits_default"),
        "triggers", "ragdb.retrieval_hits_default", "trigger kept_out was added",
    ),
    "a foreign key without its triggers": (
        "delete from pg_trigger where tgisinternal and tgconstraint = (select oid from"
        " pg_constraint where conname = 'chunks_document_exists')",
        "code", "constraint chunks_document_exists on ragdb.chunks", "it was changed",
    ),
    "a foreign key by triggers of another": (
        "update pg_trigger set tgfoid = 'pg_catalog.\"RI_FKey_noaction_del\"'::regproc where"
        " tgfoid = 'pg_catalog.\"RI_FKey_cascade_del\"'::regproc and tgconstraint = (select oid"
        " from pg_constraint where conname = 'chunks_document_exists')",
        "code", "constraint chunks_document_exists on ragdb.chunks", "it was changed",
    ),
    "a key whose index is said not to be unique": (
        f"update pg_index set indisunique = false where indexrelid = {KEY}",
        "code", "constraint ledger_leaves_row_is_sealed_once on ragdb.ledger_leaves",
        "it was changed",
    ),
    "a key whose index nothing is written to": (
        f"update pg_index set indisready = false where indexrelid = {KEY}",
        "code", "constraint ledger_leaves_row_is_sealed_once on ragdb.ledger_leaves",
        "it was changed",
    ),
    "a key that is said to be checked later": (
        f"update pg_index set indimmediate = false where indexrelid = {KEY}",
        "code", "constraint ledger_leaves_row_is_sealed_once on ragdb.ledger_leaves",
        "it was changed",
    ),
    "a key of a partition that is said to be checked later": (
        "update pg_index set indimmediate = false"
        " where indrelid = 'ragdb.retrieval_hits_default'::regclass and indisprimary",
        "triggers", "ragdb.retrieval_hits_default", UNKEYED,
    ),
    "a key of a partition whose index is said to be gone": (
        "update pg_index set indislive = false"
        " where indrelid = 'ragdb.retrieval_hits_default'::regclass and indisprimary",
        "triggers", "ragdb.retrieval_hits_default", UNKEYED,
    ),
    "a partition that its table does not have": (
        "delete from pg_inherits where inhrelid = 'ragdb.retrieval_hits_default'::regclass",
        "triggers", "ragdb.retrieval_hits_default", UNREAD,
    ),
    "a partition that is said to be on its way out": (
        "update pg_inherits set inhdetachpending = true"
        " where inhrelid = 'ragdb.retrieval_hits_default'::regclass",
        "triggers", "ragdb.retrieval_hits_default", UNREAD,
    ),
    "an index nothing is written to": (
        "update pg_index set indisready = false"
        " where indexrelid = 'ragdb.contracts_one_version_is_current'::regclass",
        "code", "index ragdb.contracts_one_version_is_current", "it was changed",
    ),
    "a table that is said to have no checks": (
        "update pg_class set relchecks = 0 where oid = 'ragdb.chunks'::regclass",
        "triggers", "ragdb.chunks",
        HIDDEN,
    ),
    "a table that is said to have no partitions": (
        "update pg_class set relhassubclass = false where oid = 'ragdb.retrieval_traces'::regclass",
        "triggers", "ragdb.retrieval_traces", HIDDEN,
    ),
    "a column that is said to have no default": (
        "update pg_attribute set atthasdef = false"
        " where attrelid = 'ragdb.corpora'::regclass and attname = 'version'",
        "code", "columns of ragdb.corpora", "it was changed",
    ),
    "functions that are said to have no grants": (
        "update pg_proc set proacl = null where pronamespace = 'ragdb_internal'::regnamespace",
        "code", "grant ragdb_internal.now() to public", "it was added",
    ),
    "a unique index": (
        "create unique index once on ragdb.access_events (what)",
        "code", "index ragdb.once", "it was added",
    ),
    "columns by each other's names": (
        "alter table ragdb.erasures rename reason to a; alter table ragdb.erasures rename caller"
        " to reason; alter table ragdb.erasures rename a to caller",
        "code", "columns of ragdb.erasures", "it was changed",
    ),
    "another field of a type": (
        "alter type ragdb_internal.key_finding rename attribute detail to place",
        "code", "columns of ragdb_internal.key_finding", "it was changed",
    ),
    "the stop words of a language": (
        "alter text search dictionary english_stem (stopwords = 'german')",
        "code", "text search of PostgreSQL", "it was changed",
    ),
    "the dictionary of a language": (
        "alter text search configuration english alter mapping for asciiword with simple",
        "code", "text search of PostgreSQL", "it was changed",
    ),
    "what a template of dictionaries calls": (
        "update pg_ts_template set tmpllexize = (select tmpllexize from pg_ts_template"
        " where tmplname = 'simple') where tmplname = 'snowball'",
        "code", "text search of PostgreSQL", "it was changed",
    ),
    "what an operator calls": (
        "update pg_operator set oprcode = 'pg_catalog.float4gt'::regproc"
        " where oid = 'pg_catalog.<(float4, float4)'::regoperator",
        "code", "operators of PostgreSQL", "it was changed",
    ),
    "what an index compares by": (
        "update pg_amproc set amproc = 'pg_catalog.btfloat8cmp'::regproc"
        " where amproc = 'pg_catalog.btfloat4cmp'::regproc",
        "code", "operator classes of PostgreSQL", "it was changed",
    ),
    "what a cast does": (
        "update pg_cast set castfunc = 'pg_catalog.int4(float4)'::regprocedure"
        " where castsource = 'float8'::regtype and casttarget = 'int4'::regtype",
        "code", "casts of PostgreSQL", "it was changed",
    ),
    "what a type is sent by": (
        "update pg_type set typsend = 'pg_catalog.float8send'::regproc where typname = 'money'",
        "code", "types of PostgreSQL", "it was changed",
    ),
    "what an aggregate does": (
        "update pg_aggregate set aggtransfn = 'pg_catalog.booland_statefunc'::regproc"
        " where aggfnoid = 'pg_catalog.bool_or(boolean)'::regprocedure",
        "code", "aggregates of PostgreSQL", "it was changed",
    ),
    "a function of PostgreSQL by the rights of another": (
        "alter function pg_catalog.pg_read_file(text) security definer",
        "code", "functions of PostgreSQL", "it was changed",
    ),
    "the list of roles": (
        "set local allow_system_table_mods = on; do $$ begin execute 'create or replace view"
        " pg_catalog.pg_roles as ' || replace(pg_get_viewdef('pg_catalog.pg_roles'),"
        " 'pg_authid.rolsuper,', 'pg_authid.rolsuper and false as rolsuper,'); end $$",
        "code", "views of PostgreSQL", "it was changed",
    ),
    # after an edit that needs it
    "what a language calls": (
        "update pg_language set laninline = 0 where lanname = 'plpgsql'",
        "code", "languages of PostgreSQL", "it was changed",
    ),
    "a function of pgvector": (
        f"create or replace function {VECTORS} returns float8 language sql immutable"
        " as 'select 0::float8'",
        "code", "extension vector", "it was changed",
    ),
    "a function of pgvector that is computed once": (
        f"alter function {VECTORS} volatile", "code", "extension vector", "it was changed",
    ),
    "what an operator of pgvector calls": (
        "update pg_operator set oprcode = 'public.l1_distance(public.vector, public.vector)'"
        "::regprocedure where oid = 'public.<#>(public.vector, public.vector)'::regoperator",
        "code", "extension vector", "it was changed",
    ),
    "what an index of pgvector compares by": (
        "update pg_amproc set amproc = 'public.l1_distance(public.halfvec, public.halfvec)'"
        "::regprocedure where amproc = 'public.halfvec_negative_inner_product(public.halfvec,"
        " public.halfvec)'::regprocedure",
        "code", "extension vector", "it was changed",
    ),
    "a cast of a vector": (
        "create function public.none(public.vector) returns json language sql immutable"
        " as $$select '[]'::json$$; create cast (public.vector as json)"
        " with function public.none(public.vector)",
        "code", "cast public.vector as json", "it was added",
    ),
    "a function beside those of PostgreSQL that is said to be of an extension": (
        "create function public.lower(varchar) returns text language sql as 'select null::text';"
        "alter function public.lower(varchar) set schema pg_catalog;"
        "alter extension plpgsql add function pg_catalog.lower(varchar)",
        "code", "function lower(character varying)", "it was added",
    ),
    "a check of a partition": (
        "alter table ragdb.retrieval_hits_default add constraint few check (rank < 2)",
        "triggers", "ragdb.retrieval_hits_default", "constraint few was added, and refuses rows",
    ),
    "an exclusion by a partition": (
        "alter table ragdb.retrieval_hits_default add constraint once exclude (chunk_id with =)",
        "triggers", "ragdb.retrieval_hits_default", "constraint once was added, and refuses rows",
    ),
    "a column of a partition that must have a value": (
        "alter table ragdb.retrieval_hits_default alter lexical_score set not null",
        "triggers", "ragdb.retrieval_hits_default",
        "column lexical_score must have a value there, and refuses rows",
    ),
    "a unique index of a partition": (
        "create unique index once on ragdb.retrieval_hits_default (corpus_id, chunk_id)",
        "triggers", "ragdb.retrieval_hits_default", "index once was added, and refuses rows",
    ),
    "an index of a partition that computes": (
        "create index few on ragdb.retrieval_hits_default ((1 / (rank - 2)))",
        "triggers", "ragdb.retrieval_hits_default", "index few was added, and refuses rows",
    ),
    "the same, in its condition": (
        "create index few on ragdb.retrieval_hits_default (rank) where 1 / (rank - 2) > 0",
        "triggers", "ragdb.retrieval_hits_default", "index few was added, and refuses rows",
    ),
    "a partition of partitions": (
        "create table ragdb.more partition of ragdb.retrieval_hits for values from ('0001-01-01')"
        " to ('0002-01-01') partition by range (created_at)",
        "triggers", "ragdb.more",
        "it is a partition that has partitions, whose triggers and keys are not looked at",
    ),
    "what is stored of a function": (
        STORED.format("pg_proc", "prosqlbody", "oid = 'ragdb_internal.is_role(text,oid)'"
            "::regprocedure"),
        "code", "function ragdb_internal.is_role(text,oid)", "it was changed",
    ),
    "what is stored of a view": (
        STORED.format("pg_rewrite", "ev_action", "ev_class = 'bi.fact_retrieval'::regclass"),
        "code", "view bi.fact_retrieval", "it was changed",
    ),
    "what is stored of the condition of a trigger": (
        STORED.format("pg_trigger", "tgqual", "tgname = 'floors_follow_chunks'"),
        "code", "trigger floors_follow_chunks on ragdb.corpora", "it was changed",
    ),
    "rights that tables to come are made with": (
        "alter default privileges for role ragdb_owner in schema ragdb grant select on tables"
        " to stranger",
        "code", "default privileges of ragdb_owner in ragdb", "it was added",
    ),
}  # fmt: skip


FOUND = "select v.place, v.finding, v.severity from ragdb.verify(true, %s) v"


def test_what_is_edited_here_has_no_finding_before(any_db: Connection) -> None:
    checks = sorted({check for _, check, _, _ in EDITS.values()})
    assert any_db.execute(FOUND, (checks,)).fetchall() == []


def edit_and_look(db: Connection, edits: list[str]) -> None:
    for what in edits:
        db.execute(EDITS[what][0].encode())
    found = db.execute(FOUND, (sorted({EDITS[what][1] for what in edits}),)).fetchall()
    for what in edits:
        _, _, place, finding = EDITS[what]
        said = [row[1:] for row in found if row[0].startswith(place)]
        assert (finding, "error") in said, (what, found)


@pytest.mark.nightly
@pytest.mark.parametrize("what", EDITS)
def test_an_edit_of_the_catalogue_is_found(any_db: Connection, what: str) -> None:
    edit_and_look(any_db, [what])


def of_different_places() -> list[list[str]]:
    """All edits, in as few lists as have no two of one place, whose findings could be confused."""
    by_place: defaultdict[str, list[str]] = defaultdict(list)
    for what, (_, _, place, _) in EDITS.items():
        by_place[place].append(what)
    return [[what for what in edits if what] for edits in zip_longest(*by_place.values())]


@pytest.mark.parametrize("edits", of_different_places(), ids=len)
def test_edits_of_different_places_are_found_together(any_db: Connection, edits: list[str]) -> None:
    edit_and_look(any_db, edits)
