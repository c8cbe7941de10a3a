"""Which right to a corpus each public function asks for that names one."""

from __future__ import annotations

import psycopg

from tests.conftest import Connection
from tests.embedding import make_embedder

WRITE = (
    "add_edges add_synonym_lists add_synonyms append_turns calibrate_gate decide_proposal"
    " delete_document delete_source delete_sources drop_part_statistics embed_corpus fail_query"
    " finish_import gate_questions import_documents import_embeddings import_synonyms index_space"
    " list_incidents note_readings optimize_corpus part_statistics propose prune_sources"
    " put_conversations put_document put_documents put_embeddings put_part_statistics"
    " put_query_embedding put_text put_texts record_reading remove_edges remove_synonyms"
    " requeue_embeddings retry_failed sync_statistics unchanged_sources"
)
# who may not has create_corpus say of a corpus that is there what it says of a hidden one
ADMIN = (
    "begin_move compare_spaces create_corpus cutover_corpus drop_corpus drop_history drop_space"
    " erase_source erase_speaker grant_corpus keep_history list_grants record_reads reembed_corpus"
    " repair_corpus restrict_corpus revoke_corpus rollback_corpus space_questions"
    " unrestrict_corpus"
)
# a value of each type, and null of others
VALUES = {
    "text": "'x'",
    "text[]": "'{x}'",
    "jsonb": "'[]'",
    "integer": "1",
    "bigint": "1",
    "uuid": "gen_random_uuid()",
    "interval": "'1 day'",
    "double precision[]": "'{1}'",
    "bytea": "'x'",
}


def calls(db: Connection) -> dict[str, str]:
    """A call of each function whose first argument is a corpus, with all that has no default."""
    rows = db.execute(
        "select p.proname, array(select format_type(a.type, null)"
        " from unnest(p.proargtypes::oid[]) with ordinality a (type, n)"
        " where a.n between 2 and p.pronargs - p.pronargdefaults order by a.n)"
        " from pg_proc p where p.pronamespace = 'ragdb'::regnamespace and p.prokind = 'f'"
        " and p.proargnames[1] = 'corpus' and p.proargtypes[0] = 'text'::regtype"
    ).fetchall()
    given = {name: ["'docs'", *(VALUES.get(kind, "null") for kind in more)] for name, more in rows}
    given["embed_corpus"].append("'x'")  # there is no default embedder
    return {name: f"select from ragdb.{name}({', '.join(them)})" for name, them in given.items()}


def test_each_function_asks_for_the_right_that_it_takes(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs', is_restricted => true)")
    make_embedder(db, "x")
    made = calls(db)
    for role, right in (("reader", "read"), ("reader2", "write")):
        db.execute("select ragdb.grant_corpus('docs', %s, %s)", (role, right))

    def is_refused(role: str, call: str) -> bool:
        try:
            with db.transaction(force_rollback=True):
                db.execute(f"set local role {role}")
                db.execute(call.encode())
        except psycopg.Error as error:
            return error.sqlstate == "RG401"
        return False

    def lacking(role: str) -> set[str]:
        return {name for name, call in made.items() if is_refused(role, call)}

    assert lacking("reader") == {*WRITE.split(), *ADMIN.split()}
    assert lacking("reader2") == set(ADMIN.split())
