"""Two sessions at once: the second waits for the first and then sees its result."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.errors import CorpusNotFound, ModeNotAvailable
from tests.documents import document
from tests.embedding import put
from tests.sql import conversations
from tests.waiting import after_commit, is_waiting, outcome, until

CONTRACT = """corpus name=docs
retriever name=R corpus=docs topK=5
rag name=A retriever=R
  ragEval name=V mode=contract metric=mrr threshold=0.1
"""
PUT = "select ragdb.put_text('docs', 'a.md', 'refunds are paid in 14 days')"
CHUNK = "(select c.chunk_id from ragdb.chunks c)"
CASES = Jsonb([{"name": "c", "query": "refunds", "labels": [{"source": "a.md"}]}])


def fill(db: psycopg.Connection[Any]) -> None:
    db.execute("select ragdb.create_signing_key('first')")
    db.execute("select ragdb.create_corpus('docs')")
    db.execute(PUT)
    db.execute("select ragdb.apply_contract(%s, 'c')", (CONTRACT,))


@pytest.fixture(scope="module")
def made(module_clone: str) -> str:
    """A database with a corpus, a key and a contract; what a test adds stays."""
    with psycopg.connect(module_clone) as db:
        fill(db)
    return module_clone


def second(dsn: str, first: str, then: str, *arguments: object) -> str | None:
    """SQLSTATE of what a second session gets that comes while the first has not committed."""
    with psycopg.connect(dsn) as a, psycopg.connect(dsn) as b:
        a.execute(first, arguments if "%s" in first else ())
        return after_commit(a, b, lambda: outcome(b, then, arguments if "%s" in then else ()))


def keys(dsn: str) -> dict[str, str]:
    with psycopg.connect(dsn) as db:
        return dict(db.execute("select key_id, state from ragdb.list_signing_keys()").fetchall())


def test_a_name_that_another_holds_is_not_waited_for(made: str) -> None:
    with psycopg.connect(made) as a, psycopg.connect(made) as b:
        for _ in range(2):  # the first time it waits for the row
            a.commit()
            a.execute("select ragdb_internal.hold('rollups')")
        b.execute("set lock_timeout = '1s'")
        tried = "select ragdb_internal.try_hold('rollups')"
        assert b.execute(tried).fetchone() == (False,)
        a.rollback()
        assert b.execute(tried).fetchone() == (True,)


def test_a_blob_that_a_corpus_gets_meanwhile_is_not_taken_back(made: str) -> None:
    put_blob = "select ragdb.put_blob('taken', 'x/y'{})"
    with psycopg.connect(made) as db:
        row = db.execute(put_blob.format("").encode()).fetchone()
    assert row is not None
    drop = f"select ragdb.drop_blob('{row[0]}')"
    assert second(made, put_blob.format(", 'docs'"), drop) == "RG409"


def test_of_two_keys_made_at_once_the_second_is_active(made: str) -> None:
    call = "select ragdb.create_signing_key('{}')"
    assert second(made, call.format("k1"), call.format("k2")) is None
    assert (keys(made)["k1"], keys(made)["k2"]) == ("verify_only", "active")
    call = "select ragdb.import_signing_key('{}', repeat('ab', 32), 'active')"
    assert second(made, call.format("k3"), call.format("k4")) is None
    assert [key for key, state in keys(made).items() if state == "active"] == ["k4"]
    call = f"select set_config('ragdb.signing_key', '{{0}}:{'cd' * 32}', false)"
    call += ", ragdb.register_signing_key('{0}')"
    assert second(made, call.format("k5"), call.format("k6")) is None
    assert [key for key, state in keys(made).items() if state == "active"] == ["k6"]


def test_a_key_made_or_imported_twice_at_once_is_there_already(made: str) -> None:
    call = "select ragdb.create_signing_key('same')"
    assert second(made, call, call) == "RG409"
    call = "select ragdb.import_signing_key('copy', repeat('{}', 32))"
    assert second(made, call.format("ab"), call.format("cd")) == "RG409"


def test_of_two_imports_of_an_eval_at_once_the_second_stays(made: str) -> None:
    call = "select ragdb.import_eval('A', 'V', %s)"
    assert second(made, call, call, CASES) is None
    with psycopg.connect(made) as db:
        assert db.execute("select name from ragdb.eval_cases").fetchall() == [("c",)]


def test_of_two_who_record_what_a_thing_is_at_once_the_second_begins_again(made: str) -> None:
    call = (
        "select ragdb_internal.record_state('settings', c.corpus_id) from ragdb.corpora c"
        " where c.name = 'docs'"
    )
    assert second(made, call, call) == "40001"


OTHER = CONTRACT.replace("=R", "=T").replace("=A", "=B")


@pytest.mark.parametrize(
    "write",
    [
        "import_eval('B', 'V', '[]')",
        "add_eval_case('B', 'V', 'who pays?')",
        f"apply_contract('{OTHER.replace('topK=5', 'topK=4')}', 'b')",
        "withdraw_contract('b')",
    ],
)
def test_who_writes_cases_waits_for_a_run_of_their_eval(made: str, write: str) -> None:
    with psycopg.connect(made) as db:
        db.execute("select ragdb.apply_contract(%s, 'b')", (OTHER,))
        db.execute("select ragdb.import_eval('B', 'V', %s)", (CASES,))
    assert second(made, "select ragdb.run_eval('B')", f"select ragdb.{write}") is None


def test_a_run_whose_documents_change_meanwhile_fails(made: str) -> None:
    with psycopg.connect(made) as db, psycopg.connect(made, autocommit=True) as other:
        db.execute("select ragdb.import_eval('A', 'V', %s)", (CASES,))
        db.commit()
        # it waits between its first case and its last row
        db.execute("lock table ragdb.eval_items in share mode")
        found = after_commit(
            db,
            other,
            lambda: other.execute("select status, reasons from ragdb.run_eval('A')").fetchone(),
            before=lambda: put(db, {"b.md": "another document"}),
        )
        assert found == ("failed", ["the documents changed while it ran"])
        again = other.execute("select status from ragdb.run_eval('A')").fetchone()
        assert again == ("passed",)


OPEN = "select ragdb.unrestrict_corpus('docs')"
RECOUNT = "select ragdb.refresh_rollups(true)"


def test_upkeep_leaves_the_counting_to_who_is_at_it(made: str) -> None:
    said: list[str | None] = []
    with psycopg.connect(made) as db:
        db.execute(RECOUNT)
    with psycopg.connect(made) as a, psycopg.connect(made) as b:
        a.execute(RECOUNT)
        b.execute("select from ragdb.retrieve('docs', 'refunds')")
        b.add_notice_handler(lambda notice: said.append(notice.message_primary))
        b.execute("select ragdb.maintain()")
    # after three seconds it would give up, and say so
    assert said == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("select ragdb.create_embedder('n1', 3)", "select ragdb.create_embedder('n2', 3)"),
        (
            "select ragdb.import_signing_key('n1', repeat('ef', 32))",
            "select ragdb.revoke_signing_key('first')",
        ),
        (RECOUNT, RECOUNT),
        ("select ragdb.grant_corpus('docs', 'reader2', 'read')", OPEN),
    ],
)
def test_who_still_reads_what_was_there_before_another_wrote_is_told_to_begin_again(
    made: str, first: str, then: str
) -> None:
    with psycopg.connect(made) as a, psycopg.connect(made) as b:
        a.execute("select ragdb.retrieve('docs', 'refunds', mode => 'lexical')")
        a.execute(RECOUNT)
        a.execute("delete from ragdb.retrieval_rollups")
        a.execute("delete from ragdb.histogram_rollups")
        a.execute("select ragdb.grant_corpus('docs', 'reader', 'read')")
        a.commit()
        b.execute("set transaction isolation level repeatable read")
        b.execute("select from ragdb.list_corpora()")
        a.execute(first)
        a.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            b.execute(then)
        b.rollback()
        b.execute(then)


def test_who_moves_a_corpus_and_does_not_see_yet_that_it_is_shared_begins_again(made: str) -> None:
    with psycopg.connect(made) as a, psycopg.connect(made) as b:
        a.execute("select ragdb.create_corpus('public')")
        a.commit()
        b.execute("set transaction isolation level repeatable read")
        b.execute("select from ragdb.list_corpora()")
        a.execute("select ragdb.share_corpus('public')")
        a.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            b.execute("select ragdb.begin_move('public', 'elsewhere')")


def meanwhile(dsn: str, first: str, then: str, last: str) -> str | None:
    """SQLSTATE of what another gets that comes between the first and the last of a transaction."""
    with psycopg.connect(dsn) as a, psycopg.connect(dsn) as b:
        a.execute(first)
        return after_commit(a, b, lambda: outcome(b, then), before=lambda: a.execute(last))


def test_who_makes_a_corpus_of_a_contract_and_who_applies_one_wait_for_each_other(
    made: str,
) -> None:
    with psycopg.connect(made) as db:
        contract = CONTRACT.replace("docs", "gone").replace("=R", "=S").replace("=A", "=B")
        db.execute("select ragdb.apply_contract(%s, 'gone')", (contract,))
        db.execute(
            "select ragdb.drop_corpus(l.name) from ragdb.list_corpora() l where l.name = 'gone'"
        )
    assert (
        meanwhile(
            made,
            "select ragdb_internal.hold('apply_contract')",  # as a contract is begun to be applied
            "select ragdb.create_corpus('gone')",
            "select ragdb.create_corpus('new')",
        )
        is None
    )


def test_who_withdraws_a_contract_waits_for_who_makes_a_corpus_of_it(made: str) -> None:
    with psycopg.connect(made) as db:
        db.execute("select ragdb.create_corpus('free')")
        contract = CONTRACT.replace("docs", "free").replace("=R", "=U").replace("=A", "=D")
        db.execute("select ragdb.apply_contract(%s, 'free')", (contract,))
        db.execute("select ragdb.drop_corpus('free')")
    make = "select ragdb.create_corpus('free')"
    assert second(made, make, "select ragdb.withdraw_contract('free')") is None


def test_a_corpus_made_while_its_contract_leaves_it_has_no_case_of_it(made: str) -> None:
    contract = CONTRACT.replace("=R", "=W").replace("=A", "=E")
    with psycopg.connect(made) as db:
        db.execute("select ragdb.create_corpus('left')")
        case = '    ragCase name=c query="who pays?" topK=1\n'
        db.execute(
            "select ragdb.apply_contract(%s, 'left')", (contract.replace("docs", "left") + case,)
        )
        db.execute("select ragdb.drop_corpus('left')")
    apply = f"select ragdb.apply_contract('{contract}', 'left')"
    assert second(made, apply, "select ragdb.create_corpus('left')") is None
    with psycopg.connect(made) as db:
        cases = db.execute("select from ragdb.eval_cases where contract = 'left'")
        assert cases.rowcount == 0


def test_of_two_contracts_with_the_same_names_at_once_the_second_is_refused(made: str) -> None:
    contract = CONTRACT.replace("=R", "=Q").replace("=A", "=Z")
    apply = f"select ragdb.apply_contract('{contract}', '%s')"
    assert second(made, apply % "one", apply % "two") == "RG409"


def test_who_claims_embeddings_and_who_drops_their_corpus_wait_for_each_other(made: str) -> None:
    with psycopg.connect(made) as db:
        db.execute("select ragdb.create_corpus('embedded'), ragdb.create_embedder('e', 3)")
        db.execute("select ragdb.put_text('embedded', 'a.md', 'refunds are paid in 14 days')")
        db.execute("select ragdb.embed_corpus('embedded', 'e')")
        db.execute("select from ragdb.claim_embeddings('w')")
        # a job whose chunk is gone, and a chunk that was never queued
        db.execute("select ragdb.delete_source('embedded', 'a.md')")
        db.execute("select ragdb.put_text('embedded', 'b.md', 'and by card')")
        db.execute("update ragdb.embedding_jobs set due_at = now()")
        left = db.execute("select count(*) from ragdb.embedding_jobs").fetchone()
    assert left == (1,)
    assert (
        meanwhile(
            made,
            "select from ragdb.embedding_jobs for update",  # as a claim begins
            "select ragdb.drop_corpus('embedded')",
            "select from ragdb.claim_embeddings('w')",
        )
        is None
    )


def test_of_two_who_try_failed_embeddings_again_at_once_each_waits_for_the_other(
    clone: str,
) -> None:
    """Their plans may read the rows in two orders: each held one that the other waited for."""
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs'), ragdb.create_embedder('e', 3)")
        db.execute("select ragdb.embed_corpus('docs', 'e')")
        for n in range(3):
            db.execute("select ragdb.put_text('docs', %s, %s)", (f"{n}.md", f"text {n}"))
        db.execute("select from ragdb.claim_embeddings('w')")
        # the last by its key is stored first
        db.execute(
            "create temporary table jobs as select * from ragdb.embedding_jobs;"
            "delete from ragdb.embedding_jobs;"
            "insert into ragdb.embedding_jobs select * from jobs order by input_hash desc;"
            "update ragdb.embedding_jobs set is_dead = true, worker = null;"
            "drop table jobs"
        )
    middle = (
        "select from ragdb.embedding_jobs where input_hash = (select j.input_hash"
        " from ragdb.embedding_jobs j order by 1 offset 1 limit 1) for update"
    )
    with (
        psycopg.connect(clone) as held,
        psycopg.connect(clone) as a,
        psycopg.connect(clone) as b,
        ThreadPoolExecutor(2) as threads,
    ):
        held.execute(middle)
        a.execute("set enable_indexscan = off; set enable_bitmapscan = off")
        b.execute("set enable_seqscan = off; set enable_bitmapscan = off")
        calls = []
        for db in (a, b):
            calls.append(threads.submit(outcome, db, "select ragdb.retry_failed('docs')"))
            until(lambda db=db: is_waiting(held, db))  # type: ignore[misc]
        held.commit()
        assert [call.result(120) for call in calls] == [None, None]


ASKED = {
    "claim_ingest_jobs": "rag_ingest(jsonb_build_object('params', '{\"corpus\": \"gone\"}'::jsonb,"
    " 'input', jsonb_build_object('doc_cid', ragdb.put_blob(convert_to(n::text, 'UTF8'),"
    " 'text/plain'))))",
    "claim_embed_jobs": "embed_text(jsonb_build_object('params', '{\"model\": \"gone\"}'::jsonb,"
    " 'input', jsonb_build_object('texts', array[n::text])))",
    "claim_queries": "request_query_embedding('gone', n::text)",
}


@pytest.mark.parametrize("claim", ASKED)
def test_two_workers_that_claim_at_once_get_one_each_and_wait_for_nothing(
    gone: str, claim: str
) -> None:
    with psycopg.connect(gone) as db:
        db.execute("select ragdb.bind_embedder('gone', 'hash', 'hash-v1')")
        db.execute(f"select ragdb.{ASKED[claim]} from generate_series(1, 2) n".encode())
    with psycopg.connect(gone) as a, psycopg.connect(gone) as b:
        for worker in (a, b):
            worker.execute("set lock_timeout = '10 s'")
        found = [w.execute(f"select c from ragdb.{claim}('w', 1) c").fetchall() for w in (a, b, a)]
    assert [len(rows) for rows in found] == [1, 1, 0]
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("claim", "answer"),
    [
        ("claim_embed_jobs", "complete_embed_job(%s, %s, '{1,0,0}')"),
        ("claim_ingest_jobs", "fail_ingest_job(%s, %s, 'no text', 'use OCR', 'bad_request')"),
    ],
)
def test_of_two_answers_to_one_job_at_once_the_second_is_refused(
    gone: str, claim: str, answer: str
) -> None:
    with psycopg.connect(gone) as db:
        db.execute("select ragdb.bind_embedder('gone', 'hash', 'hash-v1')")
        db.execute(f"select ragdb.{ASKED[claim]} from generate_series(3, 3) n".encode())
        job = db.execute(f"select job_id, attempt from ragdb.{claim}('w', 1)".encode()).fetchone()
    assert job is not None
    assert second(gone, f"select ragdb.{answer}", f"select ragdb.{answer}", *job) == "RG453"


@pytest.mark.parametrize(
    ("held", "call", "expected"),
    [
        ("embedding_jobs", "renew_embeddings('holder')", 0),
        (
            "http_sessions",
            "http_session_role(session_hash) from ragdb.http_sessions",
            "ragdb_admin",
        ),
    ],
)
def test_who_only_tells_that_he_is_still_there_waits_for_nobody(
    gone: str, held: str, call: str, expected: object
) -> None:
    with psycopg.connect(gone) as db:
        db.execute("select ragdb.put_text('gone', 'b.md', 'and by card')")
        assert db.execute("select from ragdb.claim_embeddings('holder')").rowcount == 1
        db.execute("select ragdb.open_http_session()")
        db.execute("update ragdb.http_sessions set seen_at = seen_at - interval '2 minutes'")
    with psycopg.connect(gone) as holder, psycopg.connect(gone) as teller:
        holder.execute(f"select from ragdb.{held} for update".encode())
        teller.execute("set lock_timeout = '10 s'")
        assert teller.execute(f"select ragdb.{call}".encode()).fetchone() == (expected,)


SEARCH = "select from ragdb.{}('gone', 'refunds', query_embedding => '{{1,0,0}}', mode => '{}')"


@pytest.fixture
def gone(made: str) -> str:
    """`made` with a corpus of one turn that is embedded."""
    with psycopg.connect(made) as db:
        db.execute(
            "select ragdb.drop_corpus(l.name) from ragdb.list_corpora() l where l.name = 'gone'"
        )
        message = conversations.message(1, text="refunds are paid in 14 days")
        conversations.chat(db, [message], "gone")
        if not db.execute("select from ragdb.list_embedders() where name = 'gone'").fetchall():
            db.execute("select ragdb.create_embedder('gone', 3)")
        db.execute("select ragdb.embed_corpus('gone', 'gone')")
        db.execute(
            "select ragdb.put_embeddings('gone', array(select l.chunk_id from"
            " ragdb.list_chunks('gone') l), '{1,0,0}')"
        )
    return made


@pytest.mark.parametrize(
    ("function", "drop"),
    [
        ("search", "drop_corpus('gone')"),
        ("search", "drop_space('gone', 'gone')"),
        ("retrieve", "drop_space('gone', 'gone')"),
    ],
)
def test_a_search_during_a_drop_of_its_embeddings_finds_what_there_was(
    gone: str, function: str, drop: str
) -> None:
    with psycopg.connect(gone) as admin, psycopg.connect(gone) as reader:
        admin.execute(f"select ragdb.{drop}".encode())
        reader.execute("set lock_timeout = '10 s'")
        assert reader.execute(SEARCH.format(function, "semantic")).rowcount == 1


def test_a_space_that_goes_after_it_was_found_is_not_taken_for_an_empty_one(gone: str) -> None:
    with psycopg.connect(gone) as db:
        ((space,),) = db.execute("select s::text from ragdb.embedding_spaces s").fetchall()
        db.execute("select ragdb.drop_space('gone', 'gone')")
        scan = "select ragdb_internal.scan_space(%s, 'cosine', '[1,0,0]', 5, null)"
        with pytest.raises(ModeNotAvailable):
            db.execute(scan, (space,))


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_two_who_record_a_search_by_the_same_new_embedding_each_keep_it(
    gone: str, ends: str
) -> None:
    """Neither waits, and whatever becomes of the other, a trace has its embedding."""
    search = SEARCH.format("retrieve", "semantic").replace("{1,0,0}", "{0.6,0.8,0}")
    search = search.replace("select", "select trace_id")
    with psycopg.connect(gone) as a, psycopg.connect(gone) as b:
        b.execute("set lock_timeout = '10 s'")
        first, then = a.execute(search).fetchone(), b.execute(search).fetchone()
        getattr(a, ends)()
        later = b.execute(search).fetchone()
        b.commit()
        for trace in (then, later, *([first] if ends == "commit" else [])):
            replayed = b.execute("select verdict from ragdb.replay(%s)", trace).fetchone()
            assert replayed == ("exact",)
        kept = b.execute("select count(*) from ragdb.query_embeddings").fetchone()
    # whoever came later found it
    assert kept == (2 if ends == "commit" else 1,)


@pytest.mark.parametrize(
    "read",
    [
        SEARCH.format("search", "semantic"),
        SEARCH.format("search", "hybrid"),
        "select from ragdb.map_corpus('gone')",
        "select ragdb.export_corpus('gone')",
        "select from ragdb.export_embeddings('gone')",
        "select from ragdb.similar('gone', (select l.chunk_id from ragdb.list_chunks('gone') l))",
    ],
)
def test_a_snapshot_that_is_older_than_a_drop_of_embeddings_reads_them_until_their_table_goes(
    gone: str, read: str
) -> None:
    with psycopg.connect(gone) as reader, psycopg.connect(gone, autocommit=True) as admin:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        before = reader.execute(read).fetchall()
        reader.rollback()
        reader.execute("select from ragdb.corpora")
        admin.execute("select ragdb.drop_corpus('gone')")
        with reader.transaction(force_rollback=True):
            assert reader.execute(read).fetchall() == before
        admin.execute("select ragdb.maintain()")
        with pytest.raises(ModeNotAvailable) as refused:
            reader.execute(read)
        assert refused.value.diag.message_hint == "ask again in a new transaction"
        reader.rollback()
        with pytest.raises(CorpusNotFound):
            reader.execute(read)


@pytest.mark.parametrize(
    "change", ["put_text('gone', 'b.md', 'or not')", "delete_source('gone', 'b.md')"]
)
def test_an_embedding_that_comes_while_its_chunk_goes_is_stored_for_none(
    gone: str, change: str
) -> None:
    with psycopg.connect(gone) as db:
        db.execute("select ragdb.put_text('gone', 'b.md', 'and by card')")
        ((space, hash, attempt),) = db.execute(
            "select space_id, input_hash, attempt from ragdb.claim_embeddings('w')"
        ).fetchall()
    complete = "select ragdb.complete_embeddings(%s, array[%s], array[%s], '{1,0,0}')"
    assert second(gone, f"select ragdb.{change}", complete, space, hash, attempt) is None
    with psycopg.connect(gone) as db:
        stored = db.execute(
            "select c.source from ragdb.chunk_embeddings e"
            " left join ragdb.chunks c using (corpus_id, chunk_no) where e.space_id = %s",
            (space,),
        ).fetchall()
    assert stored == [("chat.jsonl#s1",)]


def test_of_two_who_drop_a_space_at_once_the_second_hears_that_there_is_none(gone: str) -> None:
    drop = "select ragdb.drop_space('gone', 'gone')"
    assert second(gone, drop, drop) == "RG416"


def test_who_grants_and_who_drops_a_corpus_wait_for_each_other(made: str) -> None:
    with psycopg.connect(made) as db:
        db.execute("select ragdb.create_corpus('granted')")
    assert (
        meanwhile(
            made,
            "select ragdb_internal.lock_corpus('granted', 'admin')",  # as a drop begins
            "select ragdb.grant_corpus('granted', 'reader', 'read')",
            "select ragdb.drop_corpus('granted')",
        )
        == "RG404"
    )


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("remove_peer('other')", "follow_peer('fed', 'other')", "RG490"),
        ("remove_peer('other')", "apply_events('other', 'fed', '{}')", "RG490"),
        ("unshare_corpus('fed')", "follow_peer('fed', 'other')", "RG491"),
        ("unshare_corpus('fed')", "apply_events('other', 'fed', '{}')", "RG491"),
    ],
)
def test_who_reads_a_peer_that_goes_meanwhile_is_refused(
    made: str, first: str, then: str, expected: str
) -> None:
    with psycopg.connect(made) as db:
        db.execute("select ragdb.drop_corpus(name) from ragdb.list_corpora() where name = 'fed'")
        db.execute("select ragdb.remove_peer(name) from ragdb.list_peers()")
        db.execute("select ragdb.create_corpus('fed'), ragdb.add_peer('other', %s)", (b"k" * 32,))
        db.execute("select ragdb.share_corpus('fed')")
    assert second(made, f"select ragdb.{first}", f"select * from ragdb.{then}") == expected


OPEN_SESSION = "select ragdb.open_http_session(sha256(convert_to('{}', 'UTF8')))"


@pytest.fixture
def token(made: str) -> str:
    with psycopg.connect(made) as db:
        if db.execute("select from ragdb.list_http_tokens() where name = 't'").fetchall():
            db.execute("select ragdb.revoke_http_token('t')")
        ((token,),) = db.execute("select ragdb.create_http_token('reader', 't')").fetchall()
    return str(token)


def test_a_token_that_is_revoked_meanwhile_opens_no_session(made: str, token: str) -> None:
    with psycopg.connect(made) as a, psycopg.connect(made) as b:
        a.execute("select ragdb.revoke_http_token('t')")
        login = OPEN_SESSION.format(token).encode()
        assert after_commit(a, b, lambda: b.execute(login).fetchall()) == [(None,)]


def test_no_session_outlives_its_token_that_is_revoked_as_it_opens(made: str, token: str) -> None:
    with psycopg.connect(made) as a, psycopg.connect(made) as b, psycopg.connect(made) as c:
        a.execute("select ragdb.open_http_session()")
        a.execute("update ragdb.http_sessions set created_at = created_at - interval '1 day'")
        a.commit()
        # who opens a session clears away those that are over
        a.execute("select from ragdb.http_sessions for update")
        revoke = ThreadPoolExecutor(1)

        def revoked() -> None:
            gone = revoke.submit(lambda: outcome(c, "select ragdb.revoke_http_token('t')"))
            until(lambda: gone.done() or is_waiting(a, c))

        login = OPEN_SESSION.format(token).encode()
        after_commit(a, b, lambda: b.execute(login).fetchall(), before=revoked)
        b.commit()
        revoke.shutdown()
        left = a.execute("select from ragdb.http_sessions where role = 'reader'")
        assert left.rowcount == 0


def test_nobody_changes_a_shared_corpus_between_its_drafts_and_their_signatures(made: str) -> None:
    with psycopg.connect(made) as db:
        db.execute("select ragdb.create_corpus('shared')")
        db.execute("select ragdb.share_corpus('shared', %s)", (bytes(range(32)),))
    write = "select ragdb.put_text('shared', 'a.md', 'refunds')"
    assert second(made, "select ragdb.draft_events('shared')", write) is None


def test_of_two_quotas_of_a_role_given_at_once_the_second_stays(made: str) -> None:
    call = "select ragdb.set_quota('reader', {})"
    assert second(made, call.format(5), call.format(7)) is None
    with psycopg.connect(made) as db:
        found = db.execute("select blob_bytes from ragdb.list_quotas() where role = 'reader'")
        assert found.fetchall() == [(7,)]


@pytest.fixture
def dropped(filled: str) -> str:
    """Like `made` with a corpus of one turn, an admissible trace of it, an atom and a baseline."""
    with psycopg.connect(filled) as db:
        db.execute("select ragdb.drop_corpus(l.name) from ragdb.list_corpora() l")
        conversations.chat(db, [conversations.message(1, text="when are refunds paid")], "docs")
        db.execute(f"select from ragdb.retrieve_slice('docs', 'refunds', anchor => {CHUNK})")
        db.execute(
            f"select ragdb.promote_to_atom(ragdb.last_trace_id(), array[{CHUNK}],"
            " 'When are refunds paid?', 'lenient')"
        )
        db.execute("select ragdb.import_eval('A', 'V', %s)", (CASES,))
        db.execute("select ragdb.bless_run(r.run_id) from ragdb.run_eval('A') r")
        if not db.execute("select from ragdb.list_embedders() where name = 'three'").fetchall():
            db.execute("select ragdb.create_embedder('three', 3)")
        db.execute("select ragdb.embed_corpus('docs', 'three')")
    return filled


@pytest.mark.by_day(4)
@pytest.mark.parametrize(
    "call",
    [
        f"ragdb.export_slice('docs', {CHUNK})",
        f"ragdb.retrieve_slice('docs', 'refunds', anchor => {CHUNK})",
        "ragdb.import_eval('A', 'V', '[]')",
        "ragdb.add_eval_case('A', 'V', 'what of gifts?')",
        "ragdb.bless_run((select r.run_id from ragdb.list_eval_runs() r limit 1))",
        "ragdb.record_reading('docs', 's', 1)",
        "ragdb.grant_corpus('docs', 'reader', 'read')",
        "ragdb.promote_to_atom((select t.id from ragdb.list_traces() t where t.is_admissible"
        f" limit 1), array[{CHUNK}], 'When are refunds paid?', 'lenient')",
        "ragdb.propose('docs', array(select a.atom_id from ragdb.semantic_atoms a), 'so it is')",
        "ragdb.put_blob('bytes', 'text/plain', 'docs')",
        "ragdb.put_query_embedding('docs', 'refunds', '{1,0,0}')",
        "ragdb.request_query_embedding('docs', 'gifts')",
        "ragdb.share_corpus('docs')",
    ],
)
def test_what_is_stored_of_a_corpus_that_is_dropped_meanwhile_is_refused(
    dropped: str, call: str
) -> None:
    assert second(dropped, "select ragdb.drop_corpus('docs')", f"select * from {call}") == "RG404"


def test_a_blob_to_be_read_into_a_corpus_that_is_dropped_meanwhile_is_refused(
    dropped: str,
) -> None:
    with psycopg.connect(dropped) as db:
        ((cid,),) = db.execute("select ragdb.put_blob('bytes', 'text/plain')").fetchall()
    request = Jsonb({"params": {"corpus": "docs"}, "input": {"doc_cid": cid}})
    drop, ingest = "select ragdb.drop_corpus('docs')", "select ragdb.rag_ingest(%s)"
    # in its answer
    assert second(dropped, drop, ingest, request) is None


APPEND = "select count(*) from ragdb.append_turns('talks', 'talk', %s)"


def turns(*ids: str) -> Jsonb:
    return Jsonb([{"id": i, "text": f"turn {i}"} for i in ids])


def talk(dsn: str) -> list[tuple[str, int, int]]:
    with psycopg.connect(dsn) as db:
        return db.execute(
            "select c.text, c.ordinal, t.sibling_order from ragdb.turns t"
            " join ragdb.chunks c using (corpus_id, chunk_no)"
            " where t.session_id = 'talk' order by c.ordinal"
        ).fetchall()


@pytest.fixture
def talks(made: str) -> str:
    with psycopg.connect(made) as db:
        db.execute("select ragdb.drop_corpus(name) from ragdb.list_corpora() where name = 'talks'")
        db.execute("select ragdb.create_corpus('talks')")
    return made


def test_two_who_append_the_same_turns_at_once_write_each_once(talks: str) -> None:
    assert second(talks, APPEND, APPEND, turns("a", "b")) is None
    assert talk(talks) == [("turn a", 0, 0), ("turn b", 1, 1)]
    # who says something else under an id hears of it, once the first has committed
    first = APPEND.replace("%s", """'[{"id": "c", "text": "turn c"}]'""")
    other = Jsonb([{"id": "c", "text": "something else"}])
    assert second(talks, first, APPEND, other) == "RG409"
    assert talk(talks)[2:] == [("turn c", 2, 2)]


def test_who_is_killed_while_he_appends_appends_again(talks: str) -> None:
    before = talk(talks)
    with psycopg.connect(talks, autocommit=True) as other:
        db = psycopg.connect(talks)
        db.execute(APPEND, (turns("k1", "k2"),))
        other.execute("select pg_terminate_backend(%s, 5000)", (db.info.backend_pid,))
        db.close()
        assert talk(talks) == before
        # what was committed before is there; sent again with the rest, all is there once
        other.execute(APPEND, (turns("k1"),))
        other.execute(APPEND, (turns("k1", "k2", "k3"),))
        texts = [text for text, _, _ in talk(talks)[len(before) :]]
        assert texts == ["turn k1", "turn k2", "turn k3"]
        assert other.execute("select * from ragdb.check_corpus('talks')").fetchall() == []


BRING = "select ragdb.put_documents('bringing', %s)"
DROP = "select ragdb.delete_source('dropping', 'a.bin')"
LOOK = "select place, finding from ragdb.verify(checks => '{blobs,originals}')"


def original(dsn: str, data: bytes) -> Jsonb:
    """A document of some bytes that were brought to one corpus, as it is put into another."""
    found = document("a.bin", ["A text."], data=data)
    with psycopg.connect(dsn) as db:
        for corpus in ("dropping", "bringing"):
            db.execute(
                "select ragdb.create_corpus(%(name)s) where not exists"
                " (select from ragdb.list_corpora() where name = %(name)s)",
                {"name": corpus},
            )
            db.execute("select ragdb.delete_sources(%s, '{a.bin}')", (corpus,))
        db.execute("select ragdb.put_blob(%s, 'x/y')", (data,))
        db.execute("select ragdb.put_documents('dropping', %s)", (Jsonb([found]),))
    return Jsonb([found])


def test_bytes_that_one_corpus_brings_while_another_drops_them_stay(made: str) -> None:
    given = original(made, b"brought")
    assert second(made, BRING, DROP, given) is None
    with psycopg.connect(made) as db:
        assert db.execute("select from ragdb.blobs where bytes = 'brought'").rowcount == 1
        assert db.execute(LOOK).fetchall() == []


def test_a_document_whose_bytes_were_dropped_meanwhile_is_put_without_them(made: str) -> None:
    given = original(made, b"dropped")
    assert second(made, DROP, BRING, given) is None
    with psycopg.connect(made) as db:
        assert db.execute("select from ragdb.list_documents('bringing')").rowcount == 1
        brought = "select from ragdb.corpus_blobs where cid = %s"
        assert db.execute(brought, (given.obj[0]["doc_cid"],)).rowcount == 0
        assert db.execute(LOOK).fetchall() == []


def test_bytes_that_are_put_again_while_they_are_dropped_are_there(made: str) -> None:
    original(made, b"again")
    put_again = "select ragdb.put_blob('again', 'x/y', 'bringing')"
    assert second(made, DROP, put_again) is None
    with psycopg.connect(made) as db:
        assert db.execute("select from ragdb.blobs where bytes = 'again'").rowcount == 1
        assert db.execute(LOOK).fetchall() == []


ANCHOR = "(select l.chunk_id from ragdb.list_chunks('gone') l)"


@pytest.mark.parametrize(
    "search",
    [
        SEARCH.format("retrieve", "semantic"),
        SEARCH.format("retrieve", "hybrid"),
        f"select from ragdb.retrieve_slice('gone', 'refunds', anchor => {ANCHOR})",
    ],
)
def test_a_search_that_is_recorded_while_its_corpus_is_dropped_waits_and_finds_none(
    gone: str, search: str
) -> None:
    with (
        psycopg.connect(gone) as holder,
        psycopg.connect(gone, autocommit=True) as drops,
        psycopg.connect(gone, autocommit=True) as asks,
        ThreadPoolExecutor(2) as threads,
    ):
        holder.execute("lock table ragdb.chunks in share mode")  # in the middle of the drop
        dropping = threads.submit(drops.execute, "select ragdb.drop_corpus('gone')")
        until(lambda: is_waiting(holder, drops))
        asking = threads.submit(asks.execute, search)
        until(lambda: asking.done() or is_waiting(holder, asks))
        holder.rollback()
        dropping.result(120)
        assert isinstance(asking.exception(120), CorpusNotFound)


LATE = document("late.bin", ["A late text."], data=b"late")


@pytest.mark.parametrize(
    ("table", "call"),
    [
        ("chunks", "put_blob('other', 'x/y', 'docs')"),
        ("chunks", f"put_documents('docs', '{json.dumps([LATE])}')"),
        # before the drop keeps all others out
        ("locks", "propose('docs', array(select a.atom_id from ragdb.semantic_atoms a), 'so')"),
    ],
)
def test_what_comes_while_a_corpus_is_dropped_comes_to_none(
    dropped: str, table: str, call: str
) -> None:
    with (
        psycopg.connect(dropped) as holder,
        psycopg.connect(dropped, autocommit=True) as drops,
        psycopg.connect(dropped, autocommit=True) as late,
        ThreadPoolExecutor(2) as threads,
    ):
        drops.execute("select ragdb.put_blob('late', 'x/y')")
        holder.execute(f"lock table ragdb.{table} in share mode")  # in the middle of the drop
        dropping = threads.submit(drops.execute, "select ragdb.drop_corpus('docs')")
        until(lambda: is_waiting(holder, drops))
        coming = threads.submit(late.execute, f"select * from ragdb.{call}")
        until(lambda: coming.done() or is_waiting(holder, late))
        holder.rollback()
        dropping.result(120)
        assert isinstance(coming.exception(120), CorpusNotFound)
        assert late.execute(LOOK).fetchall() == []


def test_nobody_names_a_ledger_anew_while_it_is_sealed_first(clone: str) -> None:
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
    name = "select ragdb.name_ledger('example.com/evidence')"
    assert second(clone, "select ragdb.seal_ledger()", name) == "RG481"


def test_what_is_committed_after_the_ledger_is_on_again_is_noted_by_the_next_call(
    clone: str,
) -> None:
    on = "select ragdb.set_ledger(true)"
    with psycopg.connect(clone) as a, psycopg.connect(clone, autocommit=True) as b:
        b.execute("select ragdb.create_corpus('docs'), ragdb.set_ledger(false)")
        a.execute("select ragdb.record_failure('docs', 'refunds', 'RG415', 1.0)")
        b.execute(on)
        a.commit()
        assert b.execute(on).fetchall() == [(1,)]
        assert b.execute(on).fetchall() == [(0,)]
