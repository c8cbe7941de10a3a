"""Lists and queues read what a page or a claim needs, however much there is of a kind."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ragdb.peers import signatures
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.peers.nodes import new_signer
from tests.plans import matrix

pytestmark = OLDER_BY_NIGHT
# copies of a row, what is shared and what waits, and corpora that have nothing of it
MANY, SOME, CORPORA = 2000, 400, 40
PACK = "ragdb.build_evidence_pack(t.id)"
# a trace of the corpus, with a hit
TRACE = (
    "(select r.id from ragdb.retrieval_traces r where r.slice_id is null and r.limit_returned > 0"
    " order by r.id limit 1)"
)


def copy(db: Connection, table: str, changes: str, source: str = "true") -> None:
    """Many more of a row of a table, each with changes: a jsonb of n and of a new id and time."""
    db.execute(
        f"insert into ragdb.{table} select r.* from (select x from ragdb.{table} x where {source}"
        " limit 1) o (x), generate_series(1, %s) n, lateral (select ragdb_internal.uuid7("
        " now() - n * interval '1 ms') as id) i, lateral (select ragdb_internal.uuid_time(i.id)"
        f" as at) k, lateral jsonb_populate_record(o.x, jsonb_build_object({changes})) r",
        (MANY,),
    )


def record(db: Connection) -> None:
    """Traces with feedback, gates that were not enough, atoms and proposals of the corpus c."""
    db.execute("select from ragdb.retrieve('c', 'xc3y1', 3, mode => 'lexical')")
    db.execute(f"select ragdb.record_feedback('good', {TRACE})")
    db.execute(f"select ragdb.record_gate('common', {PACK}, 1000) from (select {TRACE} as id) t")
    atom = matrix.promoted(db, "c")
    db.execute("select ragdb.propose('c', %s, 'message number')", ([atom],))
    new = "'id', i.id, 'created_at', k.at"
    copy(db, "retrieval_traces", new, f"x.id = {TRACE}")
    # each of a trace of its own
    copy(
        db,
        "evidence_feedback",
        f"{new}, 'trace_id', (select t.id from ragdb.retrieval_traces t where t.limit_returned > 0"
        " and t.slice_id is null order by t.id desc offset n limit 1)",
    )
    copy(db, "evidence_gates", new)
    copy(db, "semantic_atoms", "'atom_id', i.id, 'created_at', k.at")
    copy(db, "semantic_proposals", "'proposal_id', i.id, 'created_at', k.at")


def share(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('shared')")
    matrix.put(db, "shared", (matrix.one("shared", n) for n in range(SOME)))
    signer = new_signer()
    db.execute("select ragdb.share_corpus('shared', %s)", (signer.public,))
    drafts = [d for (d,) in db.execute("select * from ragdb.draft_events('shared')").fetchall()]
    signed = signatures.sign(signer, drafts)
    db.execute("select ragdb.publish_events('shared', %s, %s)", (drafts, signed))


def queue(db: Connection) -> None:
    db.execute(
        "select ragdb.rag_ingest(jsonb_build_object('params', '{\"corpus\": \"c\"}'::jsonb,"
        " 'input', jsonb_build_object('doc_cid', ragdb.put_blob(convert_to('text ' || n, 'UTF8'),"
        " 'text/plain')))) from generate_series(1, %s) n",
        (SOME,),
    )


@pytest.fixture(scope="module")
def listed(any_version: Server) -> Iterator[Connection]:
    """Many rows of each kind, of one corpus among others that have none, vacuumed."""
    with (
        any_version.database() as database,
        psycopg.connect(any_version.dsn(database.dbname), autocommit=True) as db,
    ):
        db.execute("select ragdb.create_signing_key('k1')")
        matrix.fill(db, "c", matrix.Size(20, 40))
        for n in range(CORPORA):
            db.execute("select ragdb.create_corpus(%s)", (f"other{n}",))
        record(db)
        share(db)
        queue(db)
        matrix.evaluated(db, "c")
        copy(db, "eval_metrics", "'case_no', 100 + n")
        matrix.analyze(db, "vacuum (analyze)")
        yield db


@pytest.mark.parametrize("plans", matrix.PLANS)
@pytest.mark.parametrize(
    ("call", "most"),
    [
        ("list_atoms('c', 10)", 200),
        ("list_proposals('c', count => 10)", 300),
        ("list_proposals('c', 'open', 10)", 300),
        ("list_feedback('c', count => 10)", 100),
        ("list_feedback('other1', count => 10)", 20),
        # the corpora that may be read, and a look into each
        ("list_feedback(count => 10)", 10 * CORPORA),
        ("eval_metrics((select r.run_id from ragdb.list_eval_runs('A') r), 290, 300)", 100),
        # the latest traces, and each gate with its own
        ("list_unanswered(count => 10)", 4 * MANY),
        # each with the event that decides it, and its document
        ("list_shared_documents('shared')", 8 * SOME),
        ("list_shared_documents('shared', '{shared/7.md}')", 20),
        ("list_conflicts('shared')", 20),
    ],
)
def test_a_list_reads_what_it_shows(listed: Connection, call: str, most: int, plans: str) -> None:
    read = matrix.measure(listed, lambda _, __: (f"select * from ragdb.{call}", ()), "c", plans)
    assert read.returned > 0 or "other1" in call or "conflicts" in call
    assert read.rows <= most, read


@pytest.mark.parametrize("plans", matrix.PLANS)
@pytest.mark.parametrize(
    ("call", "id"), [("list_feedback", "feedback_id"), ("list_gates", "gate_id")]
)
def test_a_late_page_reads_what_it_shows(
    listed: Connection, call: str, id: str, plans: str
) -> None:
    rows = listed.execute(f"select {id} from ragdb.{call}('c', count => {MANY})").fetchall()
    page = f"select * from ragdb.{call}('c', count => 10, before => %s)"
    read = matrix.measure(listed, lambda _, __: (page, rows[MANY // 2]), "c", plans)
    assert read.returned == 10
    assert read.rows <= 150, read


ASKED = (
    "select coalesce(sum(calls), 0) from pg_stat_xact_user_functions where funcname = 'own_askers'"
)


@pytest.mark.parametrize(
    ("role", "call"),
    [
        ("ragdb_reader", "list_feedback('c')"),
        ("ragdb_reader", "feedback_cases('c')"),
        # of traces, where there is no eval
        ("ragdb_admin", "space_questions('other1')"),
    ],
)
def test_who_the_caller_is_is_asked_once_and_not_of_each_row(
    listed: Connection, role: str, call: str
) -> None:
    """Of 1,000 verdicts of others a reader waited for a list of none for half a second."""
    with listed.transaction(force_rollback=True):
        for n in range(5):
            listed.execute("select from ragdb.retrieve('other1', %s)", (f"question {n}",))
        # superusers may, and see the traces of all
        listed.execute("set local track_functions = 'all'")
        listed.execute(f"set local role {role}")
        ((before,),) = listed.execute(ASKED).fetchall()
        listed.execute(f"select * from ragdb.{call}")
        ((after,),) = listed.execute(ASKED).fetchall()
    assert 0 < after - before <= 2


@pytest.mark.parametrize("plans", matrix.PLANS)
@pytest.mark.parametrize("corpus", ["c", "shared"])
def test_what_is_deleted_takes_the_atoms_that_rest_on_it_by_their_keys(
    listed: Connection, corpus: str, plans: str
) -> None:
    """One corpus has many, none of which rests on the source, and one has none."""
    read = matrix.measure(listed, matrix.WRITERS["delete_source"], corpus, plans)
    assert read.written > 0
    assert sum(rows for name, rows in read.by.items() if "semantic_atoms" in name) < 10, read


def test_a_claim_asks_of_the_jobs_that_it_takes_whether_the_worker_may_have_them(
    listed: Connection,
) -> None:
    """It asked of all that wait, at each claim."""
    claim = "select * from ragdb.claim_ingest_jobs('w', 2)"
    read = matrix.measure(listed, lambda _, __: (claim, ()), "c")
    assert read.returned == 2
    assert read.by["ragdb.ingest_jobs_by_due"] > 0
    assert sum(rows for name, rows in read.by.items() if "ragdb.corpora" in name) < 20, read


def waiting(db: Connection, corpus: str) -> None:
    """Many inputs that wait for an embedding, five in work, five that failed, and five dead."""
    matrix.claimed(db, corpus)
    db.execute(
        "insert into ragdb.embedding_jobs"
        " (corpus_id, space_id, input_hash, chunk_nos, due_at, created_at, attempt, failures,"
        " worker, last_error, is_dead) select s.corpus_id, s.space_id, sha256(n::text::bytea),"
        " array[n %% 20 + 1], k.at + case when n <= 15 then interval '1 h' else '0 s' end, k.at,"
        " (n <= 15)::integer, 5 * (n <= 10)::integer, case when n between 11 and 15 then 'w' end,"
        " case when n <= 10 then 'odd' end, n <= 5"
        " from ragdb.embedding_spaces s join ragdb.corpora c using (corpus_id),"
        " generate_series(1, %s) n, lateral (select now() - n * interval '1 ms' as at) k"
        " where c.name = %s",
        (MANY, corpus),
    )


@pytest.mark.parametrize("plans", matrix.PLANS)
@pytest.mark.parametrize(
    ("call", "returned"),
    [
        ("embedding_status('c')", 1),
        ("list_failed_embeddings('c', count => 3)", 3),
        ("renew_embeddings('w')", 1),
    ],
)
def test_a_queue_is_looked_at_by_what_is_asked_of_it(
    listed: Connection, call: str, returned: int, plans: str
) -> None:
    """A status read every input that waited, and so did each worker that renewed its lease."""

    def asked(db: Connection, corpus: str) -> matrix.Statement:
        waiting(db, corpus)
        return f"select * from ragdb.{call}", ()

    # what a run before this left, which was rolled back
    listed.execute("vacuum ragdb.embedding_jobs")
    read = matrix.measure(listed, asked, "c", plans)
    assert read.returned == returned
    assert read.rows < 150, read


def test_sources_are_listed_by_keys_where_the_nodes_of_contracts_looked_empty(
    any_clone: str,
) -> None:
    """All nodes were read for each source, until autovacuum came."""
    sources = 450
    text = "corpus name=docs\n" + "".join(
        f"  source name=s{n} uri={n}.md\n" for n in range(sources)
    )
    apply = "select from ragdb.apply_contract(%s, 'c')"
    with psycopg.connect(any_clone, autocommit=True) as db:
        with db.transaction(force_rollback=True):
            db.execute(apply, (text,))
        db.execute("analyze ragdb.contracts, ragdb.contract_nodes")
        db.execute(apply, (text,))
        listed = "select * from ragdb.list_sources(true)"
        for plans in matrix.PLANS:
            read = matrix.measure(db, lambda _, __: (listed, ()), "docs", plans)
            assert read.returned == sources
            assert read.rows < 10 * sources, read
