"""Search with all its options, counts, answers and their events, as SQL and Python have them."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

import ragdb
from tests.http.conftest import SECRET, Api

QUESTION = "how long is the trailer lent"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"k": 3, "per_document": 1},
    {"syntax": "web", "query": 'tool "power tools" -trailer'},
    {"query": 'tool "power tools" -trailer'},
    {"collapse": True, "diversity": 0.5},
    {"context": 1},
    {"section": True, "k": 2},
    {"typos": False, "query": "trailr"},
    {"query": "trailr"},
    {"filter": {"year": 2026}, "min_score": 0.1},
    {"filter": {"audience": "members"}},
    {"corpora": ["handbook"], "mode": "reference"},
    {"corpora": ["handbook", "desk"], "lexical_weight": 0.3, "fusion": "rrf"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_search_is_that_of_the_database(library: Api, options: dict[str, Any]) -> None:
    asked = {"query": QUESTION, **options}
    answer = library("POST", "/api/search", asked)
    assert answer.status == 200, answer.body
    with ragdb.connect(library.dsn) as db:
        named = {"corpora": None, **asked}
        found = db.search(named.pop("corpora"), named.pop("query"), **named)
    shown = [(h["chunk_id"], h["score"], h["context"]) for h in answer.body["hits"]]
    assert shown == [(h.chunk_id, h.score, h.context) for h in found]
    assert bool(shown) == (options.get("typos") is not False)
    meant = "trailer" if asked["query"] == "trailr" else None
    assert answer.body["did_you_mean"] == meant
    assert answer.body["trace_id"] is None


def test_hints_name_routes_and_not_functions_of_sql(library: Api) -> None:
    refused = library("POST", "/api/search", {"query": QUESTION, "corpora": ["handbok"]}).body
    assert refused["details"]["hint"] == (
        "did you mean handbook? GET /api/corpora lists the names; POST /api/corpora makes one"
    )


@pytest.mark.parametrize("record", [False, True])
def test_a_phrase_that_no_chunk_has_is_said(library: Api, record: bool) -> None:
    asked = {"query": '"power trailer"', "corpora": ["handbook"], "record": record}
    web = library("POST", "/api/search", asked | {"syntax": "web"}).body
    assert web["hits"] == []
    assert "nothing meets the phrases and signs" in web["note"]
    assert "search with syntax plain" in web["note"]
    plain = library("POST", "/api/search", asked).body
    assert plain["hits"]
    assert plain["note"] is None
    some = library("POST", "/api/search", asked | {"query": '"the trailer"', "syntax": "web"}).body
    assert some["hits"]
    assert 'the phrase "the trailer" is looked for without "the"' in some["note"]


def test_a_recorded_search_has_the_same_hits_and_a_trace(library: Api) -> None:
    asked = {"query": QUESTION, "corpora": ["handbook"], "per_document": 1}
    plain = library("POST", "/api/search", asked).body
    kept = library("POST", "/api/search", asked | {"record": True}).body
    assert kept["hits"] == plain["hits"]
    trace = library("GET", f"/api/traces/{kept['trace_id']}").body["trace"]
    assert (trace["client"], trace["ranking"]["per_document"]) == ("ragdb serve", 1)
    listed = library("GET", "/api/traces?corpus=handbook&count=1").body["traces"]
    assert [t["id"] for t in listed] == [kept["trace_id"]]
    others = library("GET", "/api/traces", role="writer").body["traces"]
    assert {t["caller"] for t in others} <= {"writer"}
    two = library("POST", "/api/search", asked | {"corpora": ["handbook", "desk"], "record": True})
    assert (two.status, two.body["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/search", {"query": "x", "per_dokument": 1}, "per_dokument"),
        ("/api/search", {"query": "x", "k": 0}, "k"),
        ("/api/facets", {"query": "x", "fields": []}, "fields"),
        ("/api/ask", {"question": "x", "nosuch": 1}, "nosuch"),
        ("/api/packs", {"trace_id": "x"}, "trace_id"),
    ],
)
def test_a_field_that_is_wrong_is_named(
    library: Api, path: str, body: dict[str, Any], field: str
) -> None:
    answer = library("POST", path, body)
    assert (answer.status, answer.body["code"]) == (400, "BAD_REQUEST")
    assert answer.body["details"][0]["field"] == f"body.{field}"


def test_facets_and_counts_are_those_of_the_database(library: Api) -> None:
    fields = ["source", "audience", "language"]
    with ragdb.connect(library.dsn) as db:
        for corpora in (None, ["handbook"], ["desk", "handbook"]):
            body = {"query": "tool", "corpora": corpora, "filter": {"language": "en"}}
            shown = library("POST", "/api/facets", body | {"fields": fields}).body["facets"]
            made = db.facets(corpora, "tool", fields, {"language": "en"})
            assert shown == [
                {"field": f.field, "value": f.value, "documents": f.documents, "chunks": f.chunks}
                for f in made
            ]
            assert shown
            counted = library("POST", "/api/count", body).body
            total = db.count_matches(corpora, "tool", {"language": "en"})
            assert counted == {"documents": total.documents, "chunks": total.chunks}


def events(api: Api, body: dict[str, Any]) -> tuple[int, list[tuple[str, Any]]]:
    """The status and the events of a stream, as another program would read them."""
    host, _, port = api.url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    connection.request(
        "POST",
        "/api/ask",
        json.dumps(body),
        {
            "Authorization": f"Bearer {api.tokens['reader']}",
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
        },
    )
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.headers.get_content_type() != "text/event-stream":
        return answer.status, [("", json.loads(text))]
    told = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        told.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return answer.status, told


def test_a_question_is_answered_from_the_corpus_and_on_record(library: Api) -> None:
    answer = library("POST", "/api/ask", {"question": QUESTION, "corpus": "handbook"})
    assert answer.status == 200, answer.body
    assert "trailer" in answer.body["answer"]
    assert answer.body["problems"] == []
    assert answer.body["gate"]["enough"]
    chunk = answer.body["citations"][0]["chunk_id"]
    trace = library("GET", f"/api/traces/{answer.body['trace_id']}").body
    assert chunk in {hit["chunk_id"] for hit in trace["hits"]}
    assert (trace["trace"]["caller"], trace["trace"]["client"]) == ("reader", "ragdb serve")
    checked = library(
        "POST", "/api/citations", {"output": answer.body, "trace_id": answer.body["trace_id"]}
    )
    assert checked.body["valid"], checked.body
    answer.body["citations"][0]["quote"] = "The trailer is never lent."
    checked = library(
        "POST", "/api/citations", {"output": answer.body, "trace_id": answer.body["trace_id"]}
    )
    assert not checked.body["valid"], checked.body


def test_the_stages_of_an_answer_are_told_in_their_order(library: Api) -> None:
    asked = {"question": QUESTION, "corpus": "handbook"}
    status, told = events(library, asked)
    assert status == 200
    assert [name for name, _ in told] == ["plan", "evidence", "gate", "attempt", "answer"]
    whole = library("POST", "/api/ask", asked).body
    last = told[-1][1]
    for each in (whole, last):
        del each["trace_id"], each["trace_summary"]
        each["gate"].pop("gate_id", None)
    assert last == whole
    assert "text" not in told[1][1]["chunks"][0]


def test_a_question_that_fails_before_its_first_event_has_its_status(library: Api) -> None:
    status, told = events(library, {"question": QUESTION, "corpus": "nosuch"})
    assert (status, told[0][1]["code"]) == (404, "CORPUS_NOT_FOUND")
    off = library("POST", "/api/ask", {"question": SECRET, "corpus": "handbook"}).body
    assert off["insufficient_evidence"] is True
    assert SECRET not in json.dumps(off["trace_summary"])
    refused = library("POST", "/api/ask", {"question": "x", "by": "model"})
    assert (refused.status, refused.body["code"]) == (400, "BAD_REQUEST")


def test_a_pack_is_that_of_the_database(library: Api) -> None:
    with ragdb.connect(library.dsn) as db:
        ids = [hit.chunk_id for hit in db.search("handbook", "deposit", 3)]
        made = db.build_evidence_pack(None, ids, "handbook", 200)
    body = {"chunk_ids": ids, "corpus": "handbook", "max_context": 200}
    assert library("POST", "/api/packs", body).body == made
    assert library("POST", "/api/packs", {"corpus": "handbook"}).status == 400


def test_a_corpus_is_searched_as_it_was(library: Api) -> None:
    made = library("POST", "/api/corpora", {"corpus": "past"}, role="admin")
    assert made.status == 201
    kept = library("PUT", "/api/corpora/past/history", {"days": 30}, role="admin").body
    assert kept["kept_for"] == "P30D"  # a duration, as the OpenAPI document says
    with ragdb.connect(library.dsn) as db:
        db.put_text("past", "a.md", "A bridge of copper.")
        first = db.corpus_info("past").version
        db.put_text("past", "a.md", "A bridge of steel.")
    asked = {"corpora": ["past"], "query": "bridge", "as_of": first}
    (hit,) = library("POST", "/api/search", asked, role="admin").body["hits"]
    assert hit["text"] == "A bridge of copper."
    assert library("POST", "/api/search", asked | {"record": True}, role="admin").status == 400
    for version in (first + 100, kept["from_version"] - 1):
        refused = library("POST", "/api/search", asked | {"as_of": version}, role="admin")
        assert refused.status == 404, refused.body
    listed = library("GET", "/api/corpora/past/history", role="admin").body["versions"]
    for path in (
        "/api/corpora/past/history?at=", "/api/answers?since=", "/api/unanswered?since=",
        "/api/gates?since=", "/api/traffic?since=", "/api/traces?since=",
    ):  # fmt: skip
        at = [library("GET", f"{path}2026-01-05T10:00{z}", role="admin").status for z in ("", "Z")]
        assert (at[0], at[1] in (200, 404)) == (400, True), path
    for time in ("2026-01-05", "yesterday", "2026-01-05T10:00:00+01:00"):  # where + is a space
        said = library("GET", f"/api/traces?since={time}", role="admin").body["error"]
        assert said.startswith("query.since: give a time with its zone, such as 20"), said
        assert "%2B" in said
    assert listed[0]["version"] == first + 1
    (changed,) = library("GET", f"/api/corpora/past/diff?since={first}", role="admin").body[
        "differences"
    ]
    assert (changed["source"], changed["change"]) == ("a.md", "replaced")
    path = f"/api/corpora/past/diff?since={first}&count=1"
    pages = [library("GET", path + more, role="admin").body for more in ("", "&after=a.md")]
    assert pages == [{"differences": [changed], "next": "a.md"}, {"differences": [], "next": None}]
    assert library("GET", f"{path}&prefix=b", role="admin").body["differences"] == []
    assert library("DELETE", "/api/corpora/past", role="admin").status == 200


def test_facets_say_which_fields_no_document_has(api: Api) -> None:
    asked = {"corpora": ["docs"], "fields": ["source", "nosuch"]}
    answer = api("POST", "/api/facets", asked)
    assert answer.status == 200
    assert {row["field"] for row in answer.body["facets"]} == {"source"}
    assert 'no document has "nosuch"' in answer.body["note"]
    assert api("POST", "/api/facets", asked | {"fields": ["source"]}).body["note"] is None


def test_an_answer_rests_on_what_the_filter_lets_in(library: Api) -> None:
    asked = {"question": QUESTION, "corpus": "handbook"}
    first, *_ = library("POST", "/api/ask", asked).body["citations"]
    kept = library("POST", "/api/ask", asked | {"filter": {"source": first["source_id"]}}).body
    assert kept["status"] == "answered"
    assert {cited["source_id"] for cited in kept["citations"]} == {first["source_id"]}
    none = library("POST", "/api/ask", asked | {"filter": {"nosuch": 1}}).body
    assert none["status"] == "insufficient"
    assert "no document meets the filter" in none["note"]
