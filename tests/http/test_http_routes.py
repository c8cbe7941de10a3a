"""Every route answers in the fields of the seed, as the role of its token."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ragdb.models.worker import Worker
from tests.embedding import one
from tests.http.conftest import ANCHOR, SECRET, Api, serve
from tests.sql.conversations import uuid
from tests.waiting import until

Start = Callable[..., Api]
PAGE = Path(__file__).parents[2] / "docs/http.md"
SLICE = {
    *("slice_id", "anchor_turn_id", "turn_ids", "edge_count", "policy_id"),
    *("policy_params_hash", "schema_version", "graph_snapshot_hash", "admissibility_token"),
}
DEFAULT = {"policy_id": "slice_policy_v1", "params_hash": "02005444cae1117d"}
SEARCH = {"query": "refunds", "anchor_turn_id": ANCHOR}


def slice_of(api: Api, **more: Any) -> dict[str, Any]:
    answer = api("POST", "/api/slice", {"anchor_turn_id": ANCHOR, **more})
    assert answer.status == 200, answer.body
    assert answer.body.keys() == {"slice", "policy_ref"}
    found: dict[str, Any] = answer.body["slice"]
    return found


def test_a_slice_has_the_fields_of_the_graph_kernel(api: Api) -> None:
    found = slice_of(api)
    assert found.keys() == SLICE
    assert found["turn_ids"] == [uuid(n) for n in range(1, 5)]
    assert (found["policy_id"], found["policy_params_hash"]) == tuple(DEFAULT.values())
    assert found["slice_id"] == slice_of(api, policy_ref=DEFAULT, corpus="chat")["slice_id"]


def test_a_batch_builds_what_it_can(api: Api) -> None:
    ids = [ANCHOR, uuid(99), uuid(2)]
    answer = api("POST", "/api/slice/batch", {"anchor_turn_ids": ids})
    assert answer.status == 200
    assert [s["anchor_turn_id"] for s in answer.body["slices"]] == [ids[0], ids[2]]
    assert (answer.body["success_count"], answer.body["policy_ref"]) == (2, DEFAULT)
    ((failed, reason),) = ((e["anchor_turn_id"], e["error"]) for e in answer.body["errors"])
    assert failed == uuid(99)
    assert "not in corpus" in reason


@pytest.mark.parametrize("field", [None, "slice_id", "graph_snapshot_hash", "anchor_turn_id"])
def test_a_token_is_valid_for_exactly_its_fields(api: Api, field: str | None) -> None:
    fields = {k: v for k, v in slice_of(api).items() if k not in ("turn_ids", "edge_count")}
    if field:
        fields[field] = uuid(2)
    verdict = api("POST", "/api/verify_token", fields)
    assert verdict.status == 200
    assert verdict.body["valid"] is (field is None)
    assert (verdict.body["reason"] is None) == (field is None)


def test_an_admin_registers_a_policy_that_others_refer_to(api: Api) -> None:
    policy = {"max_nodes": 2, "phase_weights": {"planning": 0.5}}
    assert api("POST", "/api/policies", policy).status == 401
    made = api("POST", "/api/policies", policy, role="admin")
    assert made.status == 200
    assert api("POST", "/api/policies", policy, role="admin").body == made.body
    ref = made.body["policy_ref"]
    assert len(slice_of(api, policy_ref=ref)["turn_ids"]) == 2
    listed = api("GET", "/api/policies").body
    (found,) = (p for p in listed["policies"] if p["policy_ref"] == ref)
    assert found["policy"]["max_nodes"] == 2
    assert found["policy"]["max_radius"] == 10
    assert len(listed["registry_fingerprint"]) == 16


def test_a_slice_search_proves_what_it_found(api: Api) -> None:
    body = SEARCH | {"limit": 1, "min_similarity": 0.1, "policy_ref": DEFAULT}
    answer = api("POST", "/api/rag/search/slice", body)
    assert answer.status == 200, answer.body
    assert answer.body.keys() == {"query", "results", "slice_info", "provenance"}
    (result,) = answer.body["results"]
    assert result["role"] == "user"
    assert result["trajectory"].keys() == {
        *("depth", "sibling_order", "homogeneity", "temporal", "complexity")
    }
    found = answer.body["provenance"]
    assert (found["retrieval_mode"], found["is_admissible"]) == ("slice", True)
    assert (found["limit_requested"], found["limit_returned"]) == (1, 1)
    assert found["min_similarity"] == 0.1
    assert found["slice_id"] == answer.body["slice_info"]["slice_id"] == slice_of(api)["slice_id"]
    assert found["retrieved_turn_ids"] == [result["turn_id"]]
    assert answer.body["slice_info"]["turn_count"] == 4
    recorded = api("GET", f"/api/traces/{found['query_id']}").body
    assert recorded["provenance"] == found
    assert recorded["hits"][0]["score"] == result["similarity"]
    again = api("POST", f"/api/traces/{found['query_id']}/replay").body
    assert again["verdict"] == "exact"


@pytest.mark.parametrize("path", ["/api/rag/search/global", "/api/rag/search"])
def test_a_global_search_is_not_admissible(api: Api, path: str) -> None:
    answer = api("GET", f"{path}?query=refunds&corpus=docs&limit=2")
    assert answer.status == 200, answer.body
    assert answer.body.keys() == {"query", "results", "provenance"}
    (result,) = answer.body["results"]
    assert (result["role"], result["trajectory"]) == (None, None)
    assert result["citation"] == {"uri": "a.txt"}
    found = answer.body["provenance"]
    assert (found["retrieval_mode"], found["is_admissible"]) == ("global", False)
    assert (found["slice_id"], found["anchor_turn_id"], found["slice_info"]) == (None, None, None)


def test_the_trace_of_a_reranked_retrieval_has_both_orders(api: Api) -> None:
    found = api("GET", "/api/rag/search/global?query=refunds&corpus=docs&limit=2").body
    trace_id = found["provenance"]["query_id"]
    assert api("GET", f"/api/traces/{trace_id}").body["reranks"] == []
    (hit,) = found["results"]
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.bind_reranker('tiny', '/models/tiny', repeat('ab', 32))")
        db.execute("set role reader")
        db.execute(
            "select ragdb.record_rerank(%s, 'tiny', %s, '{0.25}')", (trace_id, [hit["turn_id"]])
        )
    (row,) = api("GET", f"/api/traces/{trace_id}").body["reranks"]
    assert (row["chunk_id"], row["score"], row["model"]) == (hit["turn_id"], 0.25, "tiny")


def test_the_span_of_a_request_is_in_its_trace(api: Api) -> None:
    span = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
    answer = api("POST", "/api/rag/search/slice", SEARCH, traceparent=span)
    trace = api("GET", f"/api/traces/{answer.body['provenance']['query_id']}").body["trace"]
    assert (trace["otel_trace_id"], trace["otel_span_id"]) == ("ab" * 16, "cd" * 8)
    assert (trace["caller"], trace["client"]) == ("reader", "ragdb serve")


@pytest.mark.parametrize("span", [f"00-{'0' * 32}-{'cd' * 8}-01", f"00-{'ab' * 16}-{'0' * 16}-01"])
def test_a_span_whose_ids_are_zeros_is_recorded_nowhere(api: Api, span: str) -> None:
    answer = api("POST", "/api/rag/search/slice", SEARCH, traceparent=span)
    trace = api("GET", f"/api/traces/{answer.body['provenance']['query_id']}").body["trace"]
    assert (trace["otel_trace_id"], trace["otel_span_id"]) == (None, None)


def test_a_capability_answers_and_names_its_trace(api: Api) -> None:
    request = {"params": {"corpus": "docs"}, "input": {"query": "refunds", "k": 1}}
    answer = api("POST", "/capabilities/rag.query@1.0", request)
    assert answer.status == 200
    assert answer.body.keys() == {"output", "meta"}
    trace = api("GET", f"/api/traces/{answer.headers['Ragdb-Trace-Id']}").body["trace"]
    assert trace["client"] == "rag.query@1.0"
    listed = api("GET", "/capabilities").body["capabilities"]
    names = {f"{c['name']}@{c['version']}" for c in listed}
    assert names == {"rag.query@1.0", "rag.ingest@1.0", "rag.list_corpora@1.0", "embed.text@1.0"}


def test_a_blob_is_put_ingested_by_a_worker_and_found(start: Start) -> None:
    api = start("--wait", "20")
    text = b"# Kites\n\nKites are lent for a week."
    put = api("POST", "/api/blobs", text, role="writer", Content_Type="text/markdown")
    assert (put.status, put.body["size"]) == (201, len(text))
    cid = put.body["doc_cid"]
    assert cid == "sha256:" + hashlib.sha256(text).hexdigest()
    request = {"params": {"corpus": "docs"}, "input": {"doc_cid": cid}}
    worker = Worker(api.dsn)
    thread = threading.Thread(target=worker.run, kwargs={"poll": 1})
    thread.start()
    try:
        done = api("POST", "/capabilities/rag.ingest@1.0", request, role="writer")
        assert done.status == 200, done.body
        assert done.body["output"]["chunks_indexed"] == 1
        texts = {"params": {"model": "hash"}, "input": {"texts": ["kite"]}}
        embedded = api("POST", "/capabilities/embed.text@1.0", texts)
        assert embedded.status == 200, embedded.body
        # by meaning, too: the query's embedding is made while the request waits
        found = api("GET", "/api/rag/search/global?query=meaning&corpus=vectors")
        assert found.body["provenance"]["rank_mode"] == "hybrid"
    finally:
        worker.stop()
        thread.join()
    page = api("POST", "/api/events", {"count": 1000}).body
    event = page["events"][-1]
    corpus = event["data"]["corpus"]
    of_corpus = api("GET", f"/api/corpora/{corpus}/events?after={event['lamport'] - 1}")
    assert of_corpus.body == {"events": [event], "next": event["lamport"]}
    nothing = api("POST", "/api/events", {"after": page["next"]})
    assert nothing.body == {"events": [], "next": page["next"]}
    assert api("POST", "/api/events", {"after": {"x": 1}}).status == 400
    assert api("GET", "/api/corpora/personal/events").status == 404
    assert event["event_id"] == done.body["meta"]["ingest_event_id"]
    assert (event["author"], event["data"]["doc_cid"]) == ("writer", cid)


def test_without_a_worker_the_job_is_told(start: Start) -> None:
    api = start("--wait", "0")
    request = {"params": {"corpus": "vectors"}, "input": {"query": "what"}}
    answer = api("POST", "/capabilities/rag.query@1.0", request)
    assert (answer.status, answer.body["error"], answer.body["code"]) == (
        *(503, "partition", "PARTITION"),
    )
    assert answer.headers["Retry-After"] == "1"
    job = api("GET", f"/api/jobs/{answer.body['job_id']}")
    assert (job.body["state"], job.body["capability"]) == ("waiting", "rag.query@1.0")
    search = api("GET", "/api/rag/search?query=what&corpus=vectors")
    assert (search.status, search.body["code"]) == (503, "SERVICE_UNAVAILABLE")
    lexical = api("GET", "/api/rag/search?query=meaning&corpus=vectors&mode=lexical")
    assert lexical.body["provenance"]["rank_mode"] == "lexical"


def test_a_blob_that_was_put_in_vain_is_listed_and_taken_back(start: Start) -> None:
    api = start()
    cids = sorted(
        api("POST", "/api/blobs", text, role="writer", Content_Type="text/plain").body["doc_cid"]
        for text in (b"one", b"two")
    )
    first = api("GET", "/api/blobs?count=1", role="writer").body
    put = {"media_type": "text/plain", "size": 3, "is_in_corpus": False}
    assert first == {"blobs": [{"cid": cids[0], **put}], "next": cids[0]}
    then = api("GET", f"/api/blobs?after={first['next']}", role="writer").body
    assert then == {"blobs": [{"cid": cids[1], **put}], "next": None}
    assert api("DELETE", f"/api/blobs/{cids[0]}", role="writer").body == {"dropped": cids[0]}
    again = api("DELETE", f"/api/blobs/{cids[0]}", role="writer")
    assert (again.status, again.body["code"]) == (404, "BLOB_NOT_FOUND")
    assert api("GET", "/api/blobs", role="writer").body["blobs"] == then["blobs"]
    assert api("GET", "/api/blobs", role="reader").body["blobs"] == []


# ── who may what ──


def test_each_request_has_the_rights_of_its_token(api: Api) -> None:
    blob = api("POST", "/api/blobs", b"x", Content_Type="text/plain")
    assert (blob.status, blob.body["code"]) == (401, "UNAUTHORIZED")
    request = {"params": {"corpus": "docs"}, "input": {"doc_cid": "sha256:" + "0" * 64}}
    for role, status in (("reader", 401), ("writer", 404), ("admin", 404)):
        answer = api("POST", "/capabilities/rag.ingest@1.0", request, role=role)
        assert answer.status == status, role


def test_nothing_is_served_without_a_token_or_with_a_wrong_one(api: Api) -> None:
    for path in ("/capabilities", "/api/policies", "/api/status", f"/api/traces/{UUID(int=7)}"):
        for role in (None, "nonsense", "stranger"):
            answer = api("GET", path, role=role)
            assert (answer.status, answer.body["code"]) == (401, "UNAUTHORIZED"), (path, role)
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    basic = api("GET", "/capabilities", role=None, Authorization="Basic eDp5")
    assert basic.status == 401


def test_a_revoked_token_is_refused_at_once(start: Start) -> None:
    api = start()
    assert api("GET", "/capabilities").status == 200
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.revoke_http_token('reader')")
    assert api("GET", "/capabilities").status == 401


def test_the_anonymous_role_serves_whoever_has_no_token(start: Start) -> None:
    api = start("--anonymous-role", "reader")
    assert api("GET", "/capabilities", role=None).status == 200
    assert api("GET", "/capabilities", role="nonsense").status == 401
    assert api("POST", "/api/policies", {}, role=None).status == 401


def test_the_server_needs_no_more_than_membership_in_the_roles_it_serves(start: Start) -> None:
    """As docs/http.md grants it: a login that has the rights of a reader, and may become others."""
    (grants,) = re.findall(r"```sql\n(create role ragdb_http.*?)```", PAGE.read_text(), re.S)
    dsn = start().dsn
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(grants)
    try:
        with psycopg.connect(dsn) as db:
            tokens = {
                role: one(db, "select ragdb.create_http_token(%s, %s)", role, f"{role} web")
                for role in ("ragdb_reader", "ragdb_writer", "ragdb_admin")
            }
        api = serve(psycopg.conninfo.make_conninfo(dsn, user="ragdb_http"), tokens)
        try:
            statuses = [api("GET", "/capabilities", role=role).status for role in tokens]
            assert statuses == [200, 200, 503]
            assert api("POST", "/api/rag/search/slice", SEARCH, role="ragdb_reader").status == 200
        finally:
            api.process.terminate()
            api.process.wait(120)
    finally:
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("drop role ragdb_http")


def test_a_personal_corpus_is_served_to_nobody(start: Start) -> None:
    api = start()
    with psycopg.connect(api.dsn, user="reader") as db:
        db.execute("select ragdb.create_corpus('personal')")
        db.execute("select ragdb.put_text('personal', 'diary', 'my diary of refunds')")
        trace, chunk = db.execute(
            "select trace_id, chunk_id from ragdb.retrieve('personal', 'diary')"
        ).fetchall()[0]
    for role in ("reader", "admin"):
        answers = [
            api("GET", "/api/rag/search?query=diary&corpus=personal", role=role),
            api("POST", "/api/slice", {"anchor_turn_id": chunk, "corpus": "personal"}, role=role),
            api("POST", "/api/slice", {"anchor_turn_id": chunk}, role=role),
            api("GET", f"/api/traces/{trace}", role=role),
            api("POST", f"/api/traces/{trace}/replay", role=role),
            api(
                "POST",
                "/capabilities/rag.query@1.0",
                {"params": {"corpus": "personal"}, "input": {"query": "diary"}},
                role=role,
            ),
        ]
        assert [a.status for a in answers] == [404] * len(answers)
        assert "my diary" not in json.dumps([a.body for a in answers])
    listed = api("POST", "/capabilities/rag.list_corpora@1.0", {}).body["output"]["corpora"]
    assert [c["name"] for c in listed] == ["chat", "docs", "vectors"]


def test_calls_by_role_in_one_transaction_are_each_roles_own(clone: str) -> None:
    """As PostgREST makes them: one login, `set local role`, one function."""
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        db.execute("create role authenticator login noinherit in role reader, writer, stranger")
    try:
        with psycopg.connect(clone, user="authenticator") as db:

            def call(role: str, function: str, request: Any) -> Any:
                with db.transaction():
                    db.execute(f"set local role {role}")
                    return one(db, f"select ragdb.{function}(%s)", json.dumps(request))

            docs = {"params": {"corpus": "docs"}}
            ingest = docs | {"input": {"doc_cid": "sha256:" + "0" * 64}}
            assert call("reader", "rag_ingest", ingest)["error"] == "unauthorized"
            assert call("writer", "rag_ingest", ingest)["error"] == "not_found"
            assert "output" in call("reader", "rag_query", docs | {"input": {"query": "x"}})
            for function in ("rag_query", "rag_ingest", "rag_list_corpora", "embed_text"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    call("stranger", function, {})
            with db.transaction():
                db.execute("set local role reader")
                db.execute("select ragdb.create_corpus('personal')")
            personal = {"params": {"corpus": "personal"}, "input": {"query": "x"}}
            assert call("reader", "rag_query", personal)["error"] == "not_found"
            with db.transaction():
                db.execute("set local role writer")
                names = db.execute("select name from ragdb.list_corpora()").fetchall()
            assert ("personal",) not in names
    finally:
        with psycopg.connect(clone, autocommit=True) as db:
            db.execute("drop role authenticator")


# ── running it ──


def test_the_log_has_each_request_and_nothing_of_what_was_asked(api: Api) -> None:
    body = SEARCH | {"query": f"where is {SECRET}"}
    mine = "my-request.7"
    answer = api("POST", "/api/rag/search/slice", body, X_Correlation_ID=mine)
    assert answer.headers["X-Correlation-ID"] == mine
    api("GET", f"/api/rag/search?query={SECRET}&corpus={SECRET}")
    api("GET", f"/{SECRET}?{SECRET}")
    api("POST", "/api/slice", {"anchor_turn_id": SECRET})
    last = api("GET", "/health", role=None).headers["X-Correlation-ID"]
    text = api.log(lambda line: last in line)
    (line,) = (json.loads(line) for line in text.splitlines() if mine in line)
    assert (line["route"], line["status"], line["role"], line["method"]) == (
        *("/api/rag/search/slice", 200, "reader", "POST"),
    )
    assert SECRET not in text
    assert not any(token in text for token in api.tokens.values())


def test_a_correlation_id_that_is_none_is_replaced(api: Api) -> None:
    for bad in ("with space", "x" * 129, '"quoted"'):
        answer = api("GET", "/nosuch", X_Correlation_ID=bad)
        assert UUID(answer.body["correlation_id"])
        assert answer.headers["X-Correlation-ID"] == answer.body["correlation_id"]


def test_a_stop_lets_requests_at_work_end(start: Start) -> None:
    api = start()
    answers: list[Any] = []
    with psycopg.connect(api.dsn) as db:
        db.execute("lock table ragdb.slices in access exclusive mode")
        thread = threading.Thread(
            target=lambda: answers.append(api("POST", "/api/rag/search/slice", SEARCH))
        )
        thread.start()
        wait_for_lock(api.dsn)
        api.process.terminate()
        time.sleep(0.5)
        assert api.process.poll() is None
    thread.join(120)
    assert answers[0].status == 200
    assert api.process.wait(120) in (0, -15, 143)


def test_a_stop_waits_for_no_request_longer_than_its_grace(start: Start) -> None:
    api = start("--grace", "0", "--timeout", "600")

    def ask() -> None:
        with contextlib.suppress(OSError):
            api("POST", "/api/rag/search/slice", SEARCH)

    with psycopg.connect(api.dsn) as db:
        db.execute("lock table ragdb.slices in access exclusive mode")
        thread = threading.Thread(target=ask)
        thread.start()
        wait_for_lock(api.dsn)
        api.process.terminate()
        assert api.process.wait(60) in (0, -15, 143)
    thread.join(120)


def wait_for_lock(dsn: str, count: int = 1) -> None:
    waiting = (
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and wait_event_type = 'Lock'"
    )
    with psycopg.connect(dsn, autocommit=True) as db:
        until(lambda: one(db, waiting) >= count)
