"""The wire capabilities answer in the shapes of their schemas, and errors are answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import numpy as np
import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

import ragdb
from ragdb import errors
from ragdb.ingest import blob
from ragdb.ingest.payload import to_payload
from ragdb.models import embedders
from ragdb.models.encoders import HashEncoder, InputRefused, ProviderDown
from ragdb.models.worker import Worker
from ragdb.readers import formats
from ragdb.readers.read import read
from tests.conftest import Connection, Login
from tests.embedding import ENCODER, WIDTH, make_embedder, one, put

TEXT = b"Refunds are paid within fourteen days.\n\nA bicycle is not a car."
CID = "sha256:" + hashlib.sha256(TEXT).hexdigest()
INGEST = {"params": {"corpus": "docs"}, "input": {"doc_cid": CID, "title": "Refunds"}}


def call(db: Connection, name: str, request: Any) -> Any:
    """The answer of a capability, held to its schema (errors: to theirs)."""
    answer = one(db, f"select ragdb.{name}(%s)", Jsonb(request))
    if "error" in answer:
        assert {"error", "message"} <= answer.keys()
        words = {"hint", "retry_after_ms", "job_id", "sqlstate"}
        assert answer.keys() - {"error", "message"} <= words
    else:
        schema = one(
            db,
            "select response_schema from ragdb.capability_schemas() where replace(name, '.', '_')"
            " = %s",
            name,
        )
        jsonschema.validate(answer, schema)
    return answer


def query(text: str, corpus: str = "docs", **fields: Any) -> dict[str, Any]:
    return {"params": {"corpus": corpus}, "input": {"query": text, **fields}}


@pytest.fixture
def docs(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, {"a": "refunds for a bicycle", "b": "a bicycle is no car"}, metadata={"year": 2020})
    put(db, {"c": "refunds of fares"}, title="Fares", metadata={"year": 2024})
    return db


# ── rag.query ──


def test_a_query_gives_ranked_chunks_with_exactly_the_fields_of_the_seed(docs: Connection) -> None:
    answer = call(docs, "rag_query", query("refunds", k=1))
    (chunk,) = answer["output"]["chunks"]
    assert chunk.keys() == {"rank", "score", "text", "metadata"}
    assert chunk["metadata"].keys() == {"doc_cid", "doc_title", "page", "chunk_id"}
    assert answer["meta"].keys() == {"corpus", "ms", "embedding_model"}
    ((first, score),) = docs.execute(
        "select chunk_id, score from ragdb.search('docs', 'refunds', 1)"
    )
    assert (chunk["rank"], chunk["metadata"]["chunk_id"], chunk["score"]) == (1, first, score)


def test_a_query_leaves_its_trace_and_so_does_one_that_fails(docs: Connection) -> None:
    call(docs, "rag_query", query("refunds"))
    call(docs, "rag_query", query("refunds", filter={"year": {"near": 1}}))
    found = docs.execute(
        "select client, error_code, limit_requested from ragdb.list_traces('docs') order by id"
    )
    assert found.fetchall() == [("rag.query@1.0", None, 5), ("rag.query@1.0", "RG410", 5)]


def test_text_is_left_out_on_demand(docs: Connection) -> None:
    answer = call(docs, "rag_query", query("refunds", include_text=False))
    assert all("text" not in chunk for chunk in answer["output"]["chunks"])


@pytest.mark.parametrize(
    ("given", "titles"),
    [
        ({"min_year": 2021}, ["Fares"]),
        ({"max_year": 2021}, [None]),
        ({"min_year": 2019, "max_year": 2030}, ["Fares", None]),
        ({"year": 2024}, ["Fares"]),
        ({"year": {"lt": 2024}}, [None]),
        ({"min_year": "2021"}, []),  # no bound: a field of that name
        ({"min_year": 2019, "year": {"lt": 2024}}, [None]),
        ({"max_year": 2030, "year": 2024}, ["Fares"]),
        ({"max_year": 2021, "year": 2024}, []),
        ({"min_year": 2019, "year": None}, []),
        ({"max_year": 2021, "year": [2024]}, []),
    ],
)
def test_a_filter_bounds_what_it_names(docs: Connection, given: Any, titles: list[Any]) -> None:
    answer = call(docs, "rag_query", query("refunds", filter=given))
    found = [chunk["metadata"]["doc_title"] for chunk in answer["output"]["chunks"]]
    assert sorted(found, key=str) == titles


@pytest.mark.parametrize(
    "request_",
    [
        query("refunds", k=21),
        query("refunds", k=0),
        query("refunds", k=1.5),
        query("refunds", k="5"),
        query("refunds", k=None),
        query("refunds", nosuch=1),
        query(" "),
        query("x" * 32769),
        query("refunds", include_text=1),
        query("refunds", filter=[1]),
        query("refunds", filter={"min_year": 2019, "year": {"gte": 2021}}),
        {"params": {"corpus": "docs"}, "input": {}},
        {"params": {"corpus": 7}, "input": {"query": "x"}},
        {"params": {}, "input": {"query": "x"}},
        {"params": [], "input": {"query": "x"}},
        {"input": {"query": "x"}},
        {"params": {"corpus": "docs"}, "input": {"query": "x"}, "more": 1},
        [],
        None,
        "text",
    ],
)
def test_a_request_of_another_shape_is_a_bad_request(docs: Connection, request_: Any) -> None:
    answer = call(docs, "rag_query", request_)
    assert answer["error"] == "bad_request"
    assert answer["hint"]


def test_a_corpus_that_is_unknown_or_personal_is_not_found(docs: Connection) -> None:
    docs.execute("set role writer")
    docs.execute("select ragdb.create_corpus('personal')")
    for name in ("nosuch", "personal", "Docs", ""):
        assert call(docs, "rag_query", query("x", name))["error"] == "not_found"
    names = [c["name"] for c in call(docs, "rag_list_corpora", {})["output"]["corpora"]]
    assert "personal" not in names
    offered = docs.execute(
        "select params ->> 'corpus' from ragdb.capabilities() where name = 'rag.query'"
    )
    assert ("personal",) not in offered.fetchall()


def test_a_corpus_that_the_caller_cannot_read_is_not_offered_and_its_jobs_are_not_there(
    docs: Connection,
) -> None:
    docs.execute("set role writer")
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    job_id = call(docs, "rag_ingest", INGEST)["job_id"]
    docs.execute("select ragdb.create_corpus('open')")
    docs.execute("reset role")
    docs.execute("select ragdb.restrict_corpus('docs')")
    offered = (
        "select params ->> 'corpus' from ragdb.capabilities() where name = 'rag.query'"
        " and params ->> 'corpus' in ('docs', 'open')"
    )
    assert docs.execute(offered).fetchall() == [("docs",), ("open",)]
    assert one(docs, "select state from ragdb.job_state(%s)", job_id) == "waiting"
    docs.execute("set role reader")
    assert docs.execute(offered).fetchall() == [("open",)]
    with pytest.raises(errors.JobNotFound):
        docs.execute("select ragdb.job_state(%s)", (job_id,))


def test_a_query_waits_for_its_embedding_and_then_has_it(docs: Connection) -> None:
    make_embedder(docs)
    docs.execute("select ragdb.embed_corpus('docs', 'hash')")
    waiting = call(docs, "rag_query", query("refunds"))
    assert (waiting["error"], waiting["retry_after_ms"]) == ("partition", 100)
    assert UUID(waiting["job_id"])
    assert one(docs, "select state from ragdb.job_state(%s)", waiting["job_id"]) == "waiting"
    assert call(docs, "rag_query", query("refunds"))["job_id"] == waiting["job_id"]
    docs.execute(
        "select ragdb.put_query_embedding('docs', 'refunds', %s::real[])",
        (ENCODER.encode(["refunds"])[0].tolist(),),
    )
    assert call(docs, "rag_query", query("refunds"))["meta"]["embedding_model"] == "hash"
    with pytest.raises(errors.JobNotFound):
        docs.execute("select ragdb.job_state(%s)", (waiting["job_id"],))


# ── trust and capacity ──


@pytest.mark.parametrize(
    ("role", "trust"),
    [("reader", "member"), ("writer", "trusted"), ("admin", "anchor"), ("owner", "anchor")],
)
def test_trust_follows_from_the_role_and_ingest_takes_trusted(
    docs: Connection, role: str, trust: str
) -> None:
    cid = one(docs, "select ragdb.put_blob('x', 'text/plain')")
    docs.execute(f"set role {role}")
    answer = call(docs, "rag_ingest", {"params": {"corpus": "docs"}, "input": {"doc_cid": cid}})
    # past that gate, a blob that the superuser has put is not there
    assert answer["error"] == ("unauthorized" if trust == "member" else "not_found")
    if trust == "member":
        assert f'"{role}" is {trust}' in answer["message"]


def test_a_grant_decides_beside_trust(docs: Connection) -> None:
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'read')")
    docs.execute("set role writer")
    assert call(docs, "rag_ingest", INGEST)["error"] == "unauthorized"
    docs.execute("set role reader")
    assert call(docs, "rag_query", query("refunds"))["error"] == "not_found"


def test_one_call_too_many_at_a_time_is_refused_for_that_role_alone(
    clone: str, login: Login
) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        put(db, {"a": "refunds"})
    held = [login(clone, "reader") for _ in range(4)]
    for connection in held:
        assert "output" in call(connection, "rag_query", query("refunds"))
        call(connection, "rag_query", query("refunds"))  # a transaction has one slot
    fifth = login(clone, "reader", autocommit=True)
    refused = call(fifth, "rag_query", query("refunds"))
    assert (refused["error"], refused["sqlstate"]) == ("capacity_exceeded", "RG450")
    assert refused["retry_after_ms"] > 0
    assert "output" in call(fifth, "rag_list_corpora", {})
    assert "output" in call(login(clone, "reader2"), "rag_query", query("refunds"))
    held[0].commit()
    assert "output" in call(fifth, "rag_query", query("refunds"))


def test_a_role_with_a_thousand_jobs_waiting_is_limited(docs: Connection) -> None:
    docs.execute("select ragdb.create_embedder('hash', %s)", (WIDTH,))
    docs.execute("set role reader")
    request = {"params": {"model": "hash"}, "input": {"texts": ["x"]}}
    docs.execute(
        "select ragdb.embed_text(jsonb_set(%s, '{input,texts,0}', to_jsonb('t' || n)))"
        " from generate_series(1, 1000) n",
        (Jsonb(request),),
    ).fetchall()
    refused = call(docs, "embed_text", request)
    assert (refused["error"], refused["sqlstate"]) == ("rate_limited", "RG451")
    docs.execute("set role reader2")
    assert call(docs, "embed_text", request)["error"] == "partition"


# ── rag.ingest ──


def claim(db: Connection, **more: Any) -> Any:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute("select * from ragdb.claim_ingest_jobs('w')").fetchone()


def given(job: Any) -> dict[str, Any]:
    (document,) = read(
        job["bytes"],
        job["doc_cid"],
        job["media_type"],
        title=job["title"],
        metadata=job["metadata"],
    )
    return to_payload(
        document, job["doc_cid"], max_tokens=job["max_tokens"], overlap=job["overlap"]
    )


def test_a_blob_becomes_a_document_and_a_duplicate_its_result(docs: Connection) -> None:
    docs.execute("set role writer")
    assert call(docs, "rag_ingest", INGEST)["error"] == "not_found"
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    waiting = call(docs, "rag_ingest", INGEST)
    assert waiting["error"] == "partition"
    assert call(docs, "rag_ingest", INGEST)["job_id"] == waiting["job_id"]
    docs.execute("set role writer2")
    job = claim(docs)
    assert str(job["job_id"]) == waiting["job_id"]
    assert (job["max_tokens"], job["overlap"], job["title"]) == (1000, 200, "Refunds")
    assert claim(docs) is None
    assert one(docs, "select state from ragdb.job_state(%s)", job["job_id"]) == "in_work"
    document = given(job)
    put_ = docs.execute(
        "select * from ragdb.complete_ingest_job(%s, %s, %s)",
        (job["job_id"], job["attempt"], Jsonb(document)),
    )
    assert put_.fetchone() is not None
    docs.execute("set role writer")
    done = call(docs, "rag_ingest", INGEST)
    assert done["output"] == {
        "doc_cid": CID,
        "chunks_indexed": 1,
        "tokens_indexed": math.ceil(len(TEXT) / 4),
    }
    other = {**INGEST, "input": {"doc_cid": CID, "title": "Another"}}
    again = call(docs, "rag_ingest", other)
    assert again["output"] == done["output"]
    assert again["meta"]["ingest_event_id"] == done["meta"]["ingest_event_id"]
    assert one(docs, "select title from ragdb.get_document('docs', %s)", CID) == "Refunds"


@pytest.mark.parametrize("is_chat", [False, True])
def test_a_blob_with_a_source_takes_the_place_of_what_that_had(clone: str, is_chat: bool) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")

        def asked(text: str, **named: str) -> bool:
            """Whether that waited for a worker, which has read it since."""
            chat = [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]
            data, kind = (json.dumps(chat), "json") if is_chat else (text, "octet-stream")
            putting = "select ragdb.put_blob(convert_to(%s, 'UTF8'), %s)"
            fields = {"doc_cid": one(db, putting, data, f"application/{kind}"), **named}
            request = {"params": {"corpus": "docs"}, "input": fields}
            first = call(db, "rag_ingest", request)
            Worker(clone).run(until="empty")
            answer = call(db, "rag_ingest", request)
            assert answer["output"]["doc_cid"] == fields["doc_cid"], answer
            return bool(first.get("error") == "partition")

        def there() -> list[str]:
            listed = "ragdb.list_documents('docs') d, unnest(d.sources) s"
            return list(one(db, f"select array_agg(s order by s) from {listed}"))

        for text in ("Sent in a week.", "Sent in a day."):
            assert asked(text, source="faq/sent.txt")
            assert there() == ["faq/sent.txt"]
        assert not asked("Sent in a day.", source="faq/sent.txt")
        # whoever names none takes any
        assert not asked("Sent in a day.")
        assert asked("Sent in a day.", source="other.txt")
        assert there() == ["faq/sent.txt", "other.txt"]


def test_a_chunk_of_a_pdf_has_the_page_of_each_of_its_words(docs: Connection) -> None:
    data = (Path(__file__).parents[2] / "data" / "sample.pdf").read_bytes()
    cid = one(docs, "select ragdb.put_blob(%s, 'application/pdf')", data)
    request = {"params": {"corpus": "docs"}, "input": {"doc_cid": cid}}
    assert call(docs, "rag_ingest", request)["error"] == "partition"
    job = claim(docs)
    docs.execute(
        "select ragdb.complete_ingest_job(%s, %s, %s)",
        (job["job_id"], job["attempt"], Jsonb(given(job))),
    )
    rows = docs.execute("select text, page from ragdb.document_chunks('docs', %s)", (cid,))
    found = rows.fetchall()
    assert ("Returns are free of charge.", 3) in found
    assert not any("\f" in text for text, _ in found)


def test_the_event_names_who_asked_and_has_the_envelope_of_the_seed(docs: Connection) -> None:
    docs.execute("set role writer")
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    last = one(docs, "select ragdb.event_envelopes()")
    of_docs = one(docs, "select ragdb.corpus_event_envelopes('docs')")
    assert of_docs["events"] == last["events"]
    assert list(last["next"].values()) == [of_docs["next"]]
    docs.execute("set role writer2")
    job = claim(docs)
    docs.execute(
        "select ragdb.complete_ingest_job(%s, %s, %s)",
        (job["job_id"], job["attempt"], Jsonb(given(job))),
    )
    page = one(docs, "select ragdb.event_envelopes(%s)", Jsonb(last["next"]))
    (envelope,) = page["events"]
    of_docs = one(docs, "select ragdb.corpus_event_envelopes('docs', %s)", of_docs["next"])
    assert of_docs == {"events": [envelope], "next": envelope["lamport"]}
    assert list(page["next"].values()) == [envelope["lamport"]]
    nothing = one(docs, "select ragdb.event_envelopes(%s)", Jsonb(page["next"]))
    assert nothing == {"events": [], "next": page["next"]}
    assert envelope.keys() == {
        *("schema_version", "event_id", "lamport", "wall_clock", "community_id"),
        *("author", "event_type", "data"),
    }
    assert (envelope["schema_version"], envelope["author"]) == (1, "writer")
    assert envelope["event_type"] == "rag.document.ingested"
    assert envelope["data"] == {
        "corpus": "docs",
        "doc_cid": CID,
        "title": "Refunds",
        "language": "en",
        "chunks": 1,
    }
    assert envelope["wall_clock"].endswith("Z")


def test_a_personal_corpus_sends_no_envelopes(db: Connection) -> None:
    db.execute("set role writer")
    db.execute("select ragdb.create_corpus('personal')")
    put(db, {"a": "my diary"}, "personal")
    assert one(db, "select count(*) from ragdb.events_after()") == 1
    assert one(db, "select ragdb.event_envelopes()") == {"events": [], "next": {}}
    with pytest.raises(psycopg.Error) as raised, db.transaction():
        db.execute("select ragdb.corpus_event_envelopes('personal')")
    assert raised.value.sqlstate == "RG404"


def test_a_cid_alone_opens_no_blob(docs: Connection) -> None:
    docs.execute("set role writer")
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    docs.execute("set role writer2")
    assert call(docs, "rag_ingest", INGEST)["error"] == "not_found"
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    assert call(docs, "rag_ingest", INGEST)["error"] == "partition"


@pytest.mark.parametrize(
    ("media_type", "head", "readable"),
    [
        ("image/png", b"\x89PNG", False),
        ("application/jsonl", b"{}", False),
        ("image/png", b"%PDF-1.7", True),
        ("text/html; charset=utf-8", b"<p>", True),
        ("TEXT/Markdown", b"# x", True),
        ("application/octet-stream", b"x", True),
    ],
)
def test_a_media_type_that_no_reader_knows_is_a_bad_request(
    docs: Connection, media_type: str, head: bytes, readable: bool
) -> None:
    cid = one(docs, "select ragdb.put_blob(%s, %s)", head, media_type)
    answer = call(docs, "rag_ingest", {"params": {"corpus": "docs"}, "input": {"doc_cid": cid}})
    assert answer["error"] == ("partition" if readable else "bad_request")
    assert answer.get("sqlstate") == (None if readable else "RG452")
    if not readable:  # the hint says what to do, and that helps
        assert "put the bytes again" in answer["hint"]
        docs.execute("select ragdb.put_blob(%s, 'text/plain')", (head,))
        answer = call(docs, "rag_ingest", {"params": {"corpus": "docs"}, "input": {"doc_cid": cid}})
        assert answer["error"] == "partition"


def test_what_readers_read_is_what_may_be_ingested(docs: Connection) -> None:
    known = {
        kind
        for kind, reader in formats.BY_MEDIA_TYPE.items()
        if not formats.FORMATS[reader].has_records
    }
    for kind in known:
        assert one(docs, "select ragdb_internal.is_readable(%s, 'x')", kind), kind


def test_a_corpus_whose_embedder_has_no_provider_is_a_partition(docs: Connection) -> None:
    docs.execute("select ragdb.create_embedder('loose', %s)", (WIDTH,))
    docs.execute("select ragdb.embed_corpus('docs', 'loose')")
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    waiting = call(docs, "rag_ingest", INGEST)
    assert waiting["error"] == "partition"
    assert "bound to no provider" in waiting["message"]
    assert call(docs, "rag_query", query("x"))["message"] == waiting["message"]
    assert claim(docs) is None
    docs.execute("select ragdb.bind_embedder('loose', 'hash', 'hash-v1')")
    job = claim(docs)
    assert (job["max_tokens"], job["overlap"]) == (240, 48)


@pytest.mark.parametrize("name", ["system", "personal", "nosuch"])
def test_reserved_corpora_take_no_ingest(docs: Connection, name: str) -> None:
    docs.execute("set role owner")
    docs.execute("select ragdb.create_corpus('system')")
    docs.execute("set role writer")
    docs.execute("select ragdb.create_corpus('personal')")
    answer = call(docs, "rag_ingest", {"params": {"corpus": name}, "input": {"doc_cid": CID}})
    assert answer["error"] == ("unauthorized" if name == "system" else "not_found")


def test_a_lost_claim_completes_and_fails_nothing(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    late = claim(docs)
    docs.execute("update ragdb.ingest_jobs set due_at = clock_timestamp()")
    prompt = claim(docs)
    assert prompt["attempt"] == late["attempt"] + 1
    for statement, more in (
        ("select ragdb.complete_ingest_job(%s, %s, %s)", [Jsonb(given(late))]),
        ("select ragdb.fail_ingest_job(%s, %s, 'broken')", []),
    ):
        with pytest.raises(errors.JobNotFound), docs.transaction():
            docs.execute(statement, [late["job_id"], late["attempt"], *more])
    docs.execute(
        "select ragdb.complete_ingest_job(%s, %s, %s)",
        (prompt["job_id"], prompt["attempt"], Jsonb(given(prompt))),
    )
    assert "output" in call(docs, "rag_ingest", INGEST)


def test_another_document_than_the_claimed_one_is_refused(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    job = claim(docs)
    swapped = given(job) | {"doc_cid": "sha256:" + "0" * 64}
    with pytest.raises(errors.InvalidDocument):
        docs.execute(
            "select ragdb.complete_ingest_job(%s, %s, %s)",
            (job["job_id"], job["attempt"], Jsonb(swapped)),
        )


def test_a_failure_is_answered_for_a_minute_and_then_tried_again(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    job = claim(docs)
    docs.execute(
        "select ragdb.fail_ingest_job(%s, %s, 'it has no text', 'use OCR', 'bad_request')",
        (job["job_id"], job["attempt"]),
    )
    for _ in range(2):
        failed = call(docs, "rag_ingest", INGEST)
        assert (failed["error"], failed["hint"]) == ("bad_request", "use OCR")
    assert one(docs, "select state from ragdb.job_state(%s)", job["job_id"]) == "failed"
    docs.execute("update ragdb.ingest_jobs set failed_at = failed_at - interval '61 s'")
    assert call(docs, "rag_ingest", INGEST)["error"] == "partition"
    assert claim(docs)["attempt"] > job["attempt"]


def test_what_may_pass_is_tried_five_times(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    for n in range(5):
        job = claim(docs)
        before = one(docs, "select clock_timestamp()")
        docs.execute(
            "select ragdb.fail_ingest_job(%s, %s, 'disk full')", (job["job_id"], job["attempt"])
        )
        pause = one(docs, "select due_at - %s from ragdb.ingest_jobs", before)
        # a back-off that doubles, give or take a half, on a machine that may be busy
        assert timedelta(seconds=2**n) <= pause < timedelta(seconds=3 * 2**n + 60)
        assert claim(docs) is None
        answer = call(docs, "rag_ingest", INGEST)
        assert answer["error"] == ("partition" if n < 4 else "internal_error")
        docs.execute("update ragdb.ingest_jobs set due_at = clock_timestamp()")


def test_a_job_whose_blob_was_taken_back_fails(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    job = one(docs, "select job_id from ragdb.ingest_jobs")
    docs.execute("select ragdb.drop_blob(%s)", (CID,))
    assert claim(docs) is None
    assert one(docs, "select state from ragdb.job_state(%s)", job) == "failed"


def test_who_may_only_read_a_corpus_reads_no_blob_for_it(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    docs.execute("set role reader")
    assert one(docs, "select privilege from ragdb.corpus_info('docs')") == "read"
    assert claim(docs) is None
    docs.execute("set role writer")
    assert claim(docs) is not None


def test_a_worker_puts_a_blob_off_for_about_a_day_at_most(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    job = claim(docs)
    before = one(docs, "select clock_timestamp()")
    docs.execute(
        "select ragdb.fail_ingest_job(%s, %s, 'it is written', retry_after => interval '1 year')",
        (job["job_id"], job["attempt"]),
    )
    pause = one(docs, "select due_at - %s from ragdb.ingest_jobs", before)
    assert timedelta(hours=12) <= pause < timedelta(hours=37)


def test_the_blobs_of_a_corpus_can_be_left_alone(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    claimed = "select from ragdb.claim_ingest_jobs('w', except_corpora => %s)"
    assert docs.execute(claimed, (["docs"],)).rowcount == 0
    for bad in (None, [None], [["docs"]]):
        with pytest.raises(errors.InvalidArgument), docs.transaction():
            docs.execute(claimed, (bad,))
    assert docs.execute(claimed, (["other"],)).rowcount == 1


def test_a_job_that_is_given_back_is_tried_as_often_as_that_happens(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    for _ in range(7):
        job = claim(docs)
        before = one(docs, "select clock_timestamp()")
        docs.execute(
            "select ragdb.fail_ingest_job(%s, %s, 'it is written', retry_after => '10 minutes')",
            (job["job_id"], job["attempt"]),
        )
        pause = one(docs, "select due_at - %s from ragdb.ingest_jobs", before)
        assert timedelta(minutes=5) <= pause < timedelta(minutes=16)
        assert call(docs, "rag_ingest", INGEST)["error"] == "partition"
        docs.execute("update ragdb.ingest_jobs set due_at = clock_timestamp()")
    job = claim(docs)
    assert job["attempt"] == 1
    # a word is final, however soon it could be tried again
    docs.execute(
        "select ragdb.fail_ingest_job(%s, %s, 'no text', null, 'bad_request', '10 minutes')",
        (job["job_id"], job["attempt"]),
    )
    assert one(docs, "select state from ragdb.job_state(%s)", job["job_id"]) == "failed"


def test_a_blob_that_kills_its_workers_is_given_up(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    for _ in range(5):
        assert claim(docs) is not None
        docs.execute("update ragdb.ingest_jobs set due_at = clock_timestamp()")
    assert claim(docs) is None
    assert "five workers died" in call(docs, "rag_ingest", INGEST)["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"doc_cid": "sha256:zz"},
        {"doc_cid": None},
        {"doc_cid": CID, "title": 5},
        {"doc_cid": CID, "title": "x" * 2501},
        {"doc_cid": CID, "language": "e n"},
        {"doc_cid": CID, "source": ""},
        {"doc_cid": CID, "source": "é" * 1001},
        {"doc_cid": CID, "metadata": [1]},
        {"doc_cid": CID, "uri": "x"},
        {},
    ],
)
def test_an_ingest_of_another_shape_is_a_bad_request(docs: Connection, fields: Any) -> None:
    answer = call(docs, "rag_ingest", {"params": {"corpus": "docs"}, "input": fields})
    assert answer["error"] == "bad_request"


# ── embed.text ──


def test_texts_are_embedded_by_a_worker_and_answered_for_a_day(docs: Connection) -> None:
    make_embedder(docs)
    docs.execute("set role reader")
    texts = ["two words", "other", "two words"]
    request: dict[str, Any] = {"params": {"model": "hash"}, "input": {"texts": texts}}
    waiting = call(docs, "embed_text", request)
    assert waiting["error"] == "partition"
    assert docs.execute("select * from ragdb.claim_embed_jobs('w')").fetchall() == []  # no writer
    docs.execute("set role writer")
    ((job, attempt, name, texts),) = docs.execute("select * from ragdb.claim_embed_jobs('w')")
    assert (str(job), name) == (waiting["job_id"], "hash")
    vectors = 3 * ENCODER.encode(texts)
    docs.execute(
        "select ragdb.complete_embed_job(%s, %s, %s::real[])",
        (job, attempt, vectors.ravel().tolist()),
    )
    docs.execute("set role reader")
    for normalize in (True, False):
        request["input"]["normalize"] = normalize
        answer = call(docs, "embed_text", request)
        found = answer["output"]["embeddings"]
        assert answer["output"]["dim"] == WIDTH
        wanted = vectors if not normalize else ENCODER.encode(texts)
        assert [len(row) for row in found] == [WIDTH] * 3
        assert all(
            math.isclose(a, float(b), abs_tol=1e-6)
            for row, want in zip(found, wanted, strict=True)
            for a, b in zip(row, want, strict=True)
        )
    docs.execute("reset role")
    assert one(docs, "select texts from ragdb.embed_jobs") is None
    docs.execute("update ragdb.embed_jobs set due_at = due_at - interval '25 hours'")
    docs.execute("select ragdb.claim_embed_jobs('w')")
    assert one(docs, "select count(*) from ragdb.embed_jobs") == 0


@pytest.mark.parametrize(
    "ends", ["complete_embed_job(%s, %s, %s::real[])", "fail_embed_job(%s, %s, %s, true)"]
)
def test_no_answer_tells_that_another_role_asked_the_same(docs: Connection, ends: str) -> None:
    make_embedder(docs)
    request = {"params": {"model": "hash"}, "input": {"texts": ["a secret"]}}
    docs.execute("set role reader")
    first = call(docs, "embed_text", request)
    docs.execute("set role writer")
    ((job, attempt, *_),) = docs.execute("select * from ragdb.claim_embed_jobs('w')")
    given = ENCODER.encode(["a secret"]).ravel().tolist() if "complete" in ends else "no"
    docs.execute(f"select ragdb.{ends}", (job, attempt, given))
    docs.execute("set role reader")
    assert call(docs, "embed_text", request).get("error") != "partition"
    docs.execute("set role reader2")
    second = call(docs, "embed_text", request)
    assert second.pop("job_id") != first.pop("job_id")
    assert second == first


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"texts": []}, "bad_request"),
        ({"texts": ["x"] * 257}, "bad_request"),
        ({"texts": ["x" * 8193]}, "bad_request"),
        ({"texts": [" "]}, "bad_request"),
        ({"texts": [5]}, "bad_request"),
        ({"texts": "x"}, "bad_request"),
        ({"texts": ["x"], "normalize": 1}, "bad_request"),
        ({"texts": ["x" * 8192] * 256}, "partition"),
    ],
)
def test_texts_have_their_limits(docs: Connection, fields: Any, word: str) -> None:
    make_embedder(docs)
    answer = call(docs, "embed_text", {"params": {"model": "hash"}, "input": fields})
    assert answer["error"] == word


def test_an_unknown_model_is_not_found_and_an_unbound_one_a_partition(docs: Connection) -> None:
    docs.execute("select ragdb.create_embedder('loose', %s)", (WIDTH,))
    texts = {"texts": ["x"]}
    unknown = call(docs, "embed_text", {"params": {"model": "nosuch"}, "input": texts})
    assert unknown["error"] == "not_found"
    loose = call(docs, "embed_text", {"params": {"model": "loose"}, "input": texts})
    assert (loose["error"], loose["retry_after_ms"]) == ("partition", 30000)


def test_a_refused_text_is_a_bad_request(docs: Connection) -> None:
    make_embedder(docs)
    request = {"params": {"model": "hash"}, "input": {"texts": ["x"]}}
    call(docs, "embed_text", request)
    ((job, attempt, *_),) = docs.execute("select * from ragdb.claim_embed_jobs('w')")
    docs.execute("select ragdb.fail_embed_job(%s, %s, 'not this', true)", (job, attempt))
    failed = call(docs, "embed_text", request)
    assert (failed["error"], failed["message"]) == ("bad_request", "not this")
    with pytest.raises(errors.JobNotFound):
        docs.execute("select ragdb.complete_embed_job(%s, %s, '{1}')", (job, attempt))


def test_a_request_to_embed_backs_off_and_its_fifth_failure_is_its_last(docs: Connection) -> None:
    make_embedder(docs)
    request = {"params": {"model": "hash"}, "input": {"texts": ["x"]}}
    for failures in range(1, 6):
        assert call(docs, "embed_text", request)["error"] == "partition"
        docs.execute("update ragdb.embed_jobs set due_at = clock_timestamp()")
        ((job, attempt, *_),) = docs.execute("select * from ragdb.claim_embed_jobs('w')")
        before = one(docs, "select clock_timestamp()")
        docs.execute("select ragdb.fail_embed_job(%s, %s, 'no answer')", (job, attempt))
        after = one(docs, "select due_at - %s from ragdb.embed_jobs", before)
        assert after >= timedelta(seconds=2**failures / 2)
    assert call(docs, "embed_text", request)["message"] == "no answer"


# ── a worker, descriptors ──


def test_a_worker_reads_blobs_and_embeds_texts(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        make_embedder(db)
        db.execute("select ragdb.embed_corpus('docs', 'hash')")
        db.execute("select ragdb.put_blob(%s, 'text/markdown')", (b"# Title\n\n" + TEXT,))
        empty = one(db, "select ragdb.put_blob(' ', 'text/plain')")
        cid = "sha256:" + hashlib.sha256(b"# Title\n\n" + TEXT).hexdigest()
        ingest = {"params": {"corpus": "docs"}, "input": {"doc_cid": cid, "metadata": {"n": 1}}}
        nothing = {"params": {"corpus": "docs"}, "input": {"doc_cid": empty}}
        texts = {"params": {"model": "hash"}, "input": {"texts": ["x", "y"]}}
        calls = (("rag_ingest", ingest), ("rag_ingest", nothing), ("embed_text", texts))
        for name, request in calls:
            assert call(db, name, request)["error"] == "partition"
        done = Worker(clone).run(until="empty")
        assert (done.read, done.queries, done.embedded, done.failed) == (1, 1, 1, 1)
        answer, failed, embedded = (call(db, name, request) for name, request in calls)
        assert answer["output"]["doc_cid"] == cid
        assert failed["error"] == "bad_request"
        assert len(embedded["output"]["embeddings"]) == 2
        title, metadata = db.execute(
            "select title, metadata from ragdb.get_document('docs', %s)", (cid,)
        ).fetchall()[0]
        assert (title, metadata) == ("Title", {"n": 1})


CHAT = [
    {"role": "user", "content": "How often is it descaled?"},
    {"role": "assistant", "content": "Every two months."},
]


@pytest.mark.parametrize("value", [CHAT, [{"messages": []}, {"messages": CHAT}]])
def test_a_chat_is_a_conversation_through_rag_ingest_too(clone: str, value: Any) -> None:
    several = json.dumps([{"messages": CHAT}, {"messages": CHAT[:1]}]).encode()
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        cids = [
            one(db, "select ragdb.put_blob(%s, 'application/json')", blob)
            for blob in (json.dumps(value).encode(), several)
        ]
        requests = [
            {"params": {"corpus": "docs"}, "input": {"doc_cid": cid, "title": "The machine"}}
            for cid in cids
        ]
        for request in requests:
            assert call(db, "rag_ingest", request)["error"] == "partition"
        Worker(clone).run(until="empty")
        answer, failed = (call(db, "rag_ingest", request) for request in requests)
        assert (answer["output"]["doc_cid"], answer["output"]["chunks_indexed"]) == (cids[0], 2)
        assert failed["error"] == "bad_request"
        assert failed["message"] == "it holds 2 conversations, and one blob is one document"
        turns = db.execute(
            "select d.title, t.role, c.text from ragdb.document_chunks('docs', %s) c,"
            " ragdb.list_turns('docs', array[c.chunk_id]) t, ragdb.get_document('docs', %s) d"
            " order by c.ordinal",
            (cids[0], cids[0]),
        ).fetchall()
        assert turns == [("The machine", m["role"], m["content"]) for m in CHAT]


def test_a_blob_with_the_id_of_another_document_is_a_conflict(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = blob.read
    monkeypatch.setattr(blob, "read", lambda db, job: {**plain(db, job), "external_id": "r1"})
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        for text in ("Alpha.", "Beta."):
            cid = one(db, "select ragdb.put_blob(convert_to(%s, 'UTF8'), 'text/plain')", text)
            request = {"params": {"corpus": "docs"}, "input": {"doc_cid": cid}}
            assert call(db, "rag_ingest", request)["error"] == "partition"
            Worker(clone).run(until="idle")
            answer = call(db, "rag_ingest", request)
        assert answer["error"] == "conflict"
        assert 'want the external_id "r1"' in answer["message"]
        assert "names one document of a corpus" in answer["hint"]


class Refusing(HashEncoder):
    def encode(self, texts: Sequence[str]) -> Any:
        raise InputRefused("the endpoint refuses the input: HTTP 400")


class Wrong(HashEncoder):
    def encode(self, texts: Sequence[str]) -> Any:
        return np.full((len(texts), WIDTH), np.nan, np.float32)


class Away(HashEncoder):
    def encode(self, texts: Sequence[str]) -> Any:
        raise ProviderDown("the endpoint does not answer")


@pytest.mark.parametrize(
    ("encoder", "word", "said"),
    [
        (Refusing, "bad_request", "refuses the input"),
        (Wrong, "bad_request", "not finite"),
        (Away, "partition", ""),
    ],
)
def test_a_worker_ends_a_request_to_embed_where_another_try_is_of_no_use(
    clone: str, monkeypatch: pytest.MonkeyPatch, encoder: type[HashEncoder], word: str, said: str
) -> None:
    monkeypatch.setattr(embedders, "_load", lambda *_: encoder(WIDTH))
    request = {"params": {"model": "hash"}, "input": {"texts": ["x"]}}
    with psycopg.connect(clone, autocommit=True) as db:
        make_embedder(db)
        call(db, "embed_text", request)
        assert Worker(clone).run(until="idle").failed == 1
        answer = call(db, "embed_text", request)
        assert answer["error"] == word
        assert said in answer["message"]


def test_the_client_asks_until_a_worker_has_answered(clone: str) -> None:
    texts = {"params": {"model": "hash"}, "input": {"texts": ["x"]}}
    with ragdb.connect(clone) as db:
        make_embedder(db.connection)
        assert db.invoke("embed.text@1.0", texts, timeout_s=0.2)["error"] == "partition"
        with db.connection.transaction():
            began = time.monotonic()
            assert db.invoke("embed.text@1.0", texts, timeout_s=300)["error"] == "partition"
            assert time.monotonic() - began < 120
        worker = Worker(clone)
        thread = threading.Thread(target=worker.run, kwargs={"poll": 1})
        thread.start()
        try:
            other = {"params": {"model": "hash"}, "input": {"texts": ["y"]}}
            assert db.invoke("embed.text@1.0", other, timeout_s=120)["output"]["dim"] == WIDTH

            more = {"params": {"model": "hash"}, "input": {"texts": ["z"]}}

            async def ask() -> Any:
                async with await ragdb.aconnect(clone) as again:
                    return await again.invoke("embed.text@1.0", more)

            assert asyncio.run(ask())["output"]["dim"] == WIDTH
        finally:
            worker.stop()
            thread.join()


def test_descriptors_name_limits_and_one_query_for_each_corpus(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('more')")
    with docs.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute("select * from ragdb.capabilities()").fetchall()
    queries = [row for row in rows if row["name"] == "rag.query"]
    assert [row["params"]["corpus"] for row in queries] == ["docs", "more"]
    assert {row["params"]["k_max"] for row in queries} == {20}
    (ingest,) = (row for row in rows if row["name"] == "rag.ingest")
    assert (ingest["trust_required"], ingest["timeout_seconds"], ingest["max_concurrent"]) == (
        *("trusted", 300, 2),
    )
    for row in rows:
        jsonschema.Draft202012Validator.check_schema(row["request_schema"])
        jsonschema.Draft202012Validator.check_schema(row["response_schema"])


def test_corpora_are_offered_and_listed_by_pages(docs: Connection) -> None:
    for corpus in ("more", "mine", "other"):
        docs.execute(
            "select ragdb.create_corpus(%s, is_restricted => %s)", (corpus, corpus[0] == "m")
        )
    docs.execute("select ragdb.grant_corpus('more', 'writer', 'read')")
    docs.execute("select ragdb.grant_corpus('mine', 'writer', 'write')")
    docs.execute("set role writer")
    docs.execute("select ragdb.create_corpus('personal')")

    def offered(arguments: str) -> tuple[list[str], list[str]]:
        rows = docs.execute(
            f"select name, params from ragdb.capabilities({arguments}) where name like 'rag.%%'"
        ).fetchall()
        (writable,) = (params["corpora_available"] for name, params in rows if name == "rag.ingest")
        return [params["corpus"] for name, params in rows if name == "rag.query"], writable

    assert offered("") == (["docs", "mine", "more", "other"], ["docs", "mine", "other"])
    assert offered("'m'") == (["mine", "more"], ["mine"])
    # a personal corpus is none of a page
    assert offered("after => 'mine', count => 2") == (["more", "other"], ["other"])
    assert offered("after => 'other', count => 2") == ([], [])

    def listed(**given: Any) -> list[str]:
        answer = call(docs, "rag_list_corpora", {"input": given})
        return [corpus["name"] for corpus in answer["output"]["corpora"]]

    assert listed() == listed(prefix=None, after=None) == ["docs", "mine", "more", "other"]
    assert listed(prefix="m") == ["mine", "more"]
    assert listed(after="more", count=2) == ["other"]
    assert listed(count=1) == ["docs"]
    for given in ({"count": 0}, {"count": None}, {"count": 1.5}, {"prefix": 1}, {"first": 1}):
        answer = call(docs, "rag_list_corpora", {"input": given})
        assert (answer["error"], answer["sqlstate"]) == ("bad_request", "RG400"), given


# ── for the servers ──


def test_a_token_is_kept_as_a_hash_and_stands_for_a_role(db: Connection) -> None:
    db.execute("set role owner")
    with pytest.raises(errors.NotAuthorized), db.transaction():
        db.execute("select ragdb.create_http_token('reader', 'mine')")  # owner is not a member
    db.execute("reset role")
    token = one(db, "select ragdb.create_http_token('reader', 'mine', '1 hour')")
    digest = hashlib.sha256(token.encode()).digest()
    assert len(token) == 68
    assert token not in json.dumps(
        db.execute("select * from ragdb.http_tokens").fetchall(), default=str
    )
    assert one(db, "select ragdb.http_token_role(%s)", digest) == "reader"
    assert one(db, "select ragdb.http_token_role(%s)", b"x" * 32) is None
    with pytest.raises(errors.AlreadyExists), db.transaction():
        db.execute("select ragdb.create_http_token('reader', 'mine')")
    db.execute("set local ragdb.now = '2999-01-01 00:00:00+00'")
    assert one(db, "select ragdb.http_token_role(%s)", digest) is None
    db.execute("reset ragdb.now")
    db.execute("select ragdb.revoke_http_token('mine')")
    assert one(db, "select ragdb.http_token_role(%s)", digest) is None
    with pytest.raises(errors.TokenNotFound):
        db.execute("select ragdb.revoke_http_token('mine')")


@pytest.mark.parametrize("role", ["postgres", "owner", "ragdb_owner", "writer", "nosuch"])
def test_an_admin_makes_no_token_for_more_than_the_admin_is(db: Connection, role: str) -> None:
    db.execute("set role admin")
    wanted = errors.InvalidArgument if role == "nosuch" else errors.NotAuthorized
    with pytest.raises(wanted):
        db.execute("select ragdb.create_http_token(%s, 'x')", (role,))


def test_an_admin_makes_tokens_for_the_groups_below(db: Connection) -> None:
    db.execute("set role admin")
    for role in ("ragdb_reader", "ragdb_writer", "ragdb_admin"):
        assert one(db, "select ragdb.create_http_token(%s, %s)", role, role)
    db.execute("set role writer")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("select ragdb.create_http_token('ragdb_reader', 'x')")


def test_a_global_retrieval_has_provenance_and_is_never_admissible(docs: Connection) -> None:
    rows = docs.execute(
        "select trace_id, chunk_id, score from ragdb.retrieve_global('docs', 'refunds', 2)"
    ).fetchall()
    plain = docs.execute("select chunk_id, score from ragdb.search('docs', 'refunds', 2)")
    assert [row[1:] for row in rows] == plain.fetchall()
    found = one(docs, "select ragdb.provenance(%s)", rows[0][0])
    assert (found["retrieval_mode"], found["is_admissible"]) == ("global", False)
    assert found["retrieved_turn_ids"] == [row[1] for row in rows]
    assert (found["slice_info"], found["min_similarity"]) == (None, 0)
    verdict = docs.execute("select verdict from ragdb.replay(%s)", (rows[0][0],)).fetchone()
    assert verdict == ("exact",)


def test_corpora_with_chunks_are_those_that_the_caller_may_read(docs: Connection) -> None:
    chunk = one(docs, "select chunk_id from ragdb.search('docs', 'fares', 1)")
    docs.execute("select ragdb.create_corpus('other')")
    found = "select ragdb.corpora_with_chunks(%s)"
    assert docs.execute(found, ([chunk, "nosuch"],)).fetchall() == [("docs",)]
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'read')")
    docs.execute("set role reader")
    assert docs.execute(found, ([chunk],)).fetchall() == []


def test_the_database_takes_the_types_that_the_readers_read(db: Connection) -> None:
    read = {t for t, kind in formats.BY_MEDIA_TYPE.items() if not formats.FORMATS[kind].has_records}
    taken = one(db, "select ragdb_internal.readable_types()")
    assert set(taken) == read | {"application/octet-stream"}


def test_a_request_takes_the_fields_that_its_schema_has(db: Connection) -> None:
    rows = db.execute(
        "select l.needs_params, l.takes_params, l.needs_input, l.takes_input, l.k_max,"
        " s.request_schema from ragdb_internal.capability_limits() l"
        " join ragdb_internal.all_capability_schemas() s using (name)"
    ).fetchall()
    assert rows
    for needs_params, takes_params, needs_input, takes_input, k_max, schema in rows:
        params, fields = schema["properties"]["params"], schema["properties"]["input"]
        assert set(needs_params) == set(params.get("required", []))
        assert set(takes_params) == set(params.get("properties", {}))
        assert set(needs_input) == set(fields.get("required", []))
        assert set(takes_input) == set(fields.get("properties", {}))
        assert k_max == fields.get("properties", {}).get("k", {}).get("maximum")


def test_what_a_worker_reads_counts_for_who_asked(docs: Connection) -> None:
    docs.execute("select ragdb.set_quota('writer', corpus_chunks => 0)")
    docs.execute("set role writer")
    docs.execute("select ragdb.put_blob(%s, 'text/plain')", (TEXT,))
    call(docs, "rag_ingest", INGEST)
    docs.execute("set role writer2")
    job = claim(docs)
    complete = "select ragdb.complete_ingest_job(%s, %s, %s)"
    values = (job["job_id"], job["attempt"], Jsonb(given(job)))
    refused = pytest.raises(errors.QuotaExceeded, match='"writer" has no room for 1 more chunk in')
    with refused, docs.transaction():
        docs.execute(complete, values)
    docs.execute("reset role")
    docs.execute("select ragdb.set_quota('writer', corpus_chunks => 100)")
    docs.execute("set role writer2")
    docs.execute(complete, values)
