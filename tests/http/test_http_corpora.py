"""Corpora, documents, promotion and evaluations over HTTP, as the role of the token may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

import ragdb
from tests.http.conftest import ANCHOR, Api

Start = Callable[..., Api]

LISTED = [
    "/api/corpora/{0}",
    "/api/corpora/{0}/documents",
    "/api/corpora/{0}/documents/x",
    "/api/corpora/{0}/synonyms",
    "/api/corpora/{0}/edges?chunk_id=x",
    "/api/atoms?corpus={0}",
    "/api/proposals?corpus={0}",
    "/api/incidents?corpus={0}",
    "/api/traces?corpus={0}",
]


def test_a_corpus_lives_from_its_creation_to_its_end(library: Api) -> None:
    made = library(
        "POST", "/api/corpora", {"corpus": "life", "title": "Life", "k1": 2.0}, role="writer"
    )
    assert (made.status, made.body["name"], made.body["k1"]) == (201, "life", 2.0)
    again = library("POST", "/api/corpora", {"corpus": "life"}, role="writer")
    assert (again.status, again.body["code"]) == (409, "ALREADY_EXISTS")
    with ragdb.connect(library.dsn) as db:
        for n in range(5):
            db.put_text("life", f"notes/{n}.txt", f"Note {n} of a kite.")
        listed = db.list_documents("life")
    path = "/api/corpora/life/documents"
    first = library("GET", f"{path}?count=3").body
    rest = library("GET", f"{path}?count=3&after={first['next']}").body
    assert (first["next"], rest["next"]) == ("notes/2.txt", None)
    assert [d["doc_cid"] for d in first["documents"] + rest["documents"]] == [
        d.doc_cid for d in listed
    ]
    nothing: dict[str, Any] = {"documents": [], "next": None}
    assert library("GET", f"{path}?prefix=other").body == nothing
    one = library("GET", f"{path}/{listed[2].doc_cid}").body
    assert one["document"]["source"] == "notes/2.txt"
    assert [chunk["text"] for chunk in one["chunks"]] == ["Note 2 of a kite."]
    assert library("GET", f"{path}/notes/2.txt").body == one
    for role, status in (("reader", 401), ("writer", 200), ("writer", 404)):
        gone = library("DELETE", f"{path}/{listed[2].doc_cid}?reason=old", role=role)
        assert gone.status == status, (role, gone.body)
    assert len(library("GET", path).body["documents"]) == 4
    assert library("DELETE", "/api/corpora/life", role="reader").status == 401
    assert library("DELETE", "/api/corpora/life", role="admin").body == {"dropped": "life"}
    assert library("GET", "/api/corpora/life").status == 404


def test_an_empty_text_and_long_titles_are_taken_as_in_sql(library: Api) -> None:
    asked = {"corpus": "titled", "title": "t" * 1001}
    assert library("POST", "/api/corpora", asked, role="writer").status == 201
    path = "/api/corpora/titled/documents/a.txt"
    for text in ("Of a kite.", ""):
        body = {"text": text, "title": "t" * 10000}
        put = library("PUT", path, body, role="writer")
        assert put.status == 200, put.body
    found = library("GET", path, role="writer").body
    assert (found["document"]["chunks"], found["chunks"]) == (0, [])


def test_a_line_end_is_part_of_the_name_of_a_source(library: Api) -> None:
    library("POST", "/api/corpora", {"corpus": "lines"}, role="writer")
    path = "/api/corpora/lines/documents"
    for name in ("a", "a%0A", "a%0Ab", "%0A"):
        put = library("PUT", f"{path}/{name}", {"text": f"The kite {name}."}, role="writer")
        assert put.status == 200, put.body
    sources = {one["source"] for one in library("GET", path).body["documents"]}
    assert sources == {"a", "a\n", "a\nb", "\n"}
    assert library("DELETE", f"{path}/a%0A", role="writer").status == 200
    assert library("GET", f"{path}/a").body["document"]["source"] == "a"
    turn = {"turns": [{"id": "1", "role": "user", "text": "A kite?"}]}
    said = library("POST", "/api/corpora/lines/sessions/s%0A/turns", turn, role="writer")
    assert said.status == 200, said.body
    assert library("GET", f"{path}/session:s%0A").status == 200


def test_a_text_is_put_under_its_source_and_replaced_there(library: Api) -> None:
    library("POST", "/api/corpora", {"corpus": "texts"}, role="writer")
    path = "/api/corpora/texts/documents/faq/caf%C3%A9%20%3F.md"
    text = {"text": "# Kites\n\nA kite is lent for a week.", "metadata": {"year": 2026}}
    made = library("PUT", path, text, role="writer")
    assert (made.status, made.body["chunks_indexed"], made.body["was_duplicate"]) == (200, 1, False)
    assert library("PUT", path, text, role="writer").body["was_duplicate"]
    other = text | {"text": "# Kites\n\nA kite is lent for a day.", "title": "Lending"}
    assert not library("PUT", path, other, role="writer").body["was_duplicate"]
    found = library("GET", path).body
    assert (found["document"]["source"], found["document"]["title"]) == ("faq/café ?.md", "Lending")
    assert found["document"]["metadata"] == {"year": 2026}
    assert [chunk["text"] for chunk in found["chunks"]] == [other["text"]]
    assert [chunk["heading"] for chunk in found["chunks"]] == [["Kites"]]
    (only,) = library("GET", "/api/corpora/texts/documents").body["documents"]
    assert only["doc_cid"] == found["document"]["doc_cid"]
    assert library("PUT", path, text, role="reader").status == 401
    for name, code in (("nosuch", "CORPUS_NOT_FOUND"), ("personal", "CORPUS_NOT_FOUND")):
        refused = library("PUT", path.replace("texts", name), text, role="writer")
        assert (refused.status, refused.body["code"]) == (404, code)
    assert library("PUT", path, {}, role="writer").status == 400


def test_a_long_document_comes_by_pages(library: Api) -> None:
    library("POST", "/api/corpora", {"corpus": "long"}, role="writer")
    text = "\n\n".join(f"Paragraph {n} flies a kite." for n in range(130))
    with ragdb.connect(library.dsn) as db:
        db.put_text("long", "kites.txt", text, max_tokens=8, overlap=0)
        chunk_ids = [chunk.chunk_id for chunk in db.document_chunks("long", "kites.txt")]
    assert len(chunk_ids) >= 130

    def pages(**asked: int) -> list[list[str]]:
        found: list[list[str]] = []
        first: int | None = 0
        while first is not None:
            path = f"/api/corpora/long/documents/kites.txt?{urlencode({**asked, 'first': first})}"
            answer = library("GET", path)
            assert answer.status == 200, answer.body
            found.append([chunk["chunk_id"] for chunk in answer.body["chunks"]])
            first = answer.body["next"]
        return found

    for asked, sizes in (({}, {100}), ({"count": 13}, {13}), ({"count": len(chunk_ids)}, set())):
        found = pages(**asked)
        assert [one for page in found for one in page] == chunk_ids
        assert {len(page) for page in found[:-1]} == sizes
        assert found[-1]
    beyond = library("GET", f"/api/corpora/long/documents/kites.txt?first={len(chunk_ids)}").body
    assert (beyond["chunks"], beyond["next"]) == ([], None)


def test_corpora_and_their_capabilities_come_by_pages(start: Start) -> None:
    api = start()
    mine = api.tokens["writer"]
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.create_corpus('m' || n) from generate_series(100, 148) n")
        db.execute("set role writer")
        db.execute("select ragdb.create_corpus('personal')")
        db.commit()

    def pages(path: str, key: str, **asked: Any) -> list[list[dict[str, Any]]]:
        found: list[list[dict[str, Any]]] = []
        after: str | None = asked.pop("after", "")
        while after is not None:
            answer = api("GET", f"{path}?{urlencode({**asked, 'after': after})}", role=mine)
            assert answer.status == 200, answer.body
            found.append(answer.body[key])
            after = answer.body["next"]
        return found

    names = ["chat", "docs", *(f"m{n}" for n in range(100, 149)), "vectors"]
    everyone = api("GET", "/api/corpora", role=mine).body
    assert ([row["name"] for row in everyone["corpora"]], everyone["next"]) == (names, None)
    for count in (7, 52, 53):  # the personal one is the 52nd
        listed = pages("/api/corpora", "corpora", count=count)
        assert [row["name"] for page in listed for row in page] == names
    assert [len(page) for page in pages("/api/corpora", "corpora", prefix="m", count=40)] == [40, 9]
    offered = pages("/capabilities", "capabilities")
    queries = [[row["params"] for row in page if row["name"] == "rag.query"] for page in offered]
    assert [[row["corpus"] for row in page] for page in queries] == [
        *(names[:20], names[20:40], names[40:]),
    ]
    ingests = [[row["params"] for row in page if row["name"] == "rag.ingest"] for page in offered]
    assert [len(row["corpora_available"]) for (row,) in ingests] == [20, 20, 12]
    (last,) = pages("/capabilities", "capabilities", prefix="m", after="m146")
    assert len([row for row in last if row["name"] == "rag.query"]) == 2
    for path in ("/api/corpora", "/capabilities", "/api/status"):
        assert api("GET", f"{path}?count=0").status == 400
    with psycopg.connect(api.dsn) as db:
        wanted = [name for name in names if name.startswith("m")]
        db.execute("select ragdb.embed_corpus(unnest(%s::text[]), 'hash')", (wanted,))
        db.execute("select ragdb.put_text(unnest(%s::text[]), 'a.txt', 'a kite')", (wanted,))
        db.execute("set role writer")
        db.execute("select ragdb.put_text('personal', 'a.txt', 'my own')")
        sums = db.execute("select sum(documents), sum(chunks) from ragdb.list_corpora()")
        documents, chunks = sums.fetchone() or (0, 0)
        db.commit()
    spaces = pages("/api/status", "spaces")
    corpora = [row["corpus"] for page in spaces for row in page]
    assert [name for name in corpora if name in wanted] == wanted
    assert [len(page) for page in spaces][:2] == [20, 20]
    assert pages("/api/status", "spaces", prefix="m14", count=100)[0][-1]["corpus"] == "m148"
    told = api("GET", "/api/status", role=mine).body
    # nothing of the personal one is counted
    assert told["totals"].items() >= {
        "corpora": len(names), "documents": documents - 1, "chunks": chunks - 1,
        "spaces": len(corpora), "jobs": 0, "faults": 0,
    }.items()  # fmt: skip
    assert (len(told["advice"]), told["totals"]["advice"] >= 49) == (20, True)


def test_synonyms_find_what_is_called_otherwise(library: Api) -> None:
    path = "/api/corpora/handbook/synonyms"
    search = {"query": "pledge", "corpora": ["handbook"], "typos": False}
    assert library("POST", "/api/search", search).body["hits"] == []
    words = {"words": ["pledge", "deposit"]}
    assert library("POST", path, words, role="reader").status == 401
    assert library("POST", path, words, role="writer").body == {"added": 2}
    assert {"word": "pledge", "synonyms": ["deposit"]} in library("GET", path).body["synonyms"]
    page = library("GET", f"{path}?prefix=p&count=1").body
    assert page == {"synonyms": [{"word": "pledge", "synonyms": ["deposit"]}], "next": "pledge"}
    assert library("GET", f"{path}?after=pledge&count=1").body == {"synonyms": [], "next": None}
    assert "deposit" in library("POST", "/api/search", search).body["hits"][0]["text"].lower()
    assert library("DELETE", f"{path}?word=pledge", role="writer").body["removed"] == 2
    assert library("POST", "/api/search", search).body["hits"] == []


def test_a_conversation_grows_and_is_joined_to_what_it_is_about(library: Api) -> None:
    path = "/api/corpora/desk/sessions/night%2F1/turns"
    turns: list[dict[str, Any]] = [
        {"id": "a", "text": "Is it lost?"},
        {"id": "b", "text": "No.", "parents": ["a"]},
    ]
    assert library("POST", path, {"turns": turns}, role="reader").status == 401
    made = library("POST", path, {"turns": turns}, role="writer").body["turns"]
    assert [(row["depth"], row["was_duplicate"]) for row in made] == [(0, False), (1, False)]
    good = {"id": "c", "text": "Good.", "parent_id": "b", "role": "tool", "speaker": "Ann"}
    more = {"turns": [*turns, good]}
    grown = library("POST", path, more, role="writer").body["turns"]
    assert [row["was_duplicate"] for row in grown] == [True, True, False]
    taken = library("POST", path, {"turns": [turns[0] | {"text": "Else"}]}, role="writer")
    assert (taken.status, taken.body["code"]) == (409, "ALREADY_EXISTS")
    with ragdb.connect(library.dsn) as db:
        parent, child = db.search("desk", "grinder")[0].chunk_id, made[0]["turn_id"]
        assert db.list_turns("desk", [grown[2]["turn_id"]])[0].speaker == "Ann"
    shown = library("GET", "/api/corpora/desk/documents/session:night/1?first=1").body
    assert [chunk["text"] for chunk in shown["chunks"]] == ["No.", "Good."]
    assert [(turn["role"], turn["speaker"]) for turn in shown["turns"]] == [
        ("user", None), ("tool", "Ann"),
    ]  # fmt: skip
    assert [turn["chunk_id"] for turn in shown["turns"]] == [
        chunk["chunk_id"] for chunk in shown["chunks"]
    ]
    edges = {"edges": [{"parent": parent, "child": child, "edge_type": "branch"}]}
    assert library("POST", "/api/corpora/desk/edges", edges, role="writer").body == {"added": 1}
    around = library("GET", f"/api/corpora/desk/edges?chunk_id={child}").body
    edge = {"parent_id": parent, "child_id": child, "edge_type": "branch", "is_added": True}
    assert around["parents"] == [edge]
    assert [edge["child_id"] for edge in around["children"]] == [made[1]["turn_id"]]
    gone = f"/api/corpora/desk/edges?parent={parent}&child={child}&edge_type=branch"
    assert library("DELETE", gone, role="writer").body == {"removed": 1}
    assert library("DELETE", gone, role="writer").body == {"removed": 0}


def test_parents_and_children_of_a_chunk_come_by_pages(library: Api) -> None:
    with ragdb.connect(library.dsn) as db:
        db.create_corpus("edges")
        for number in range(7):
            db.put_text("edges", f"{number}", "a leaf")
        (middle, *others) = sorted(row.chunk_id for row in db.list_chunks("edges"))
        pairs = [(other, middle) for other in others[:3]] + [
            (middle, other) for other in others[3:]
        ]
        db.add_edges("edges", [{"parent": parent, "child": child} for parent, child in pairs])
    path = f"/api/corpora/edges/edges?chunk_id={middle}&count=2"

    def page(more: str = "") -> tuple[object, ...]:
        body = library("GET", path + more).body
        parents = [edge["parent_id"] for edge in body["parents"]]
        children = [edge["child_id"] for edge in body["children"]]
        return parents, body["next_parent"], children, body["next"]

    assert page() == (others[:2], others[1], others[3:5], others[4])
    # the other side is not sent again
    assert page(f"&after={others[4]}") == ([], None, others[5:], None)
    assert page(f"&after_parent={others[1]}") == (others[2:3], None, [], None)
    both = f"&after={others[4]}&after_parent={others[1]}"
    assert page(both) == (others[2:3], None, others[5:], None)


@pytest.mark.parametrize("path", LISTED)
def test_a_corpus_that_is_not_the_roles_to_read_is_not_there(library: Api, path: str) -> None:
    with ragdb.connect(library.dsn) as db:
        if "closed" not in {row.name for row in db.list_corpora()}:
            db.create_corpus("closed", is_restricted=True)
            db.put_text("closed", "x", "closed text")
    for name in ("closed", "personal", "nosuch"):
        answer = library("GET", path.format(name))
        assert answer.status == 404, (path, name, answer.body)
        assert "closed text" not in str(answer.body)


def test_a_personal_corpus_is_in_nothing_that_all_corpora_are_asked_for(library: Api) -> None:
    with psycopg.connect(library.dsn, user="reader", autocommit=True) as db:
        if not db.execute("select from ragdb.list_corpora() where name = 'personal'").fetchall():
            db.execute("select ragdb.create_corpus('personal')")
        db.execute("select ragdb.put_text('personal', 'diary', 'my diary of the trailer')")
        db.execute("select from ragdb.retrieve('personal', 'diary')")
    assert "personal" not in {c["name"] for c in library("GET", "/api/corpora").body["corpora"]}
    found = library("POST", "/api/search", {"query": "diary trailer", "k": 100}).body["hits"]
    assert found
    assert "personal" not in {hit["corpus"] for hit in found}
    facets: dict[str, Any] = {"query": "diary", "fields": ["source"]}
    assert library("POST", "/api/facets", facets).body["facets"] == []
    assert library("POST", "/api/count", {"query": "diary"}).body["documents"] == 0
    assert "personal" not in {t["corpus"] for t in library("GET", "/api/traces").body["traces"]}
    for path, body in (
        ("/api/search", {"query": "diary", "corpora": ["handbook", "personal"]}),
        ("/api/ask", {"question": "diary", "corpus": "personal"}),
        ("/api/corpora", {"corpus": "personal"}),
    ):
        assert library("POST", path, body).status == 404, path


def test_cases_of_feedback_come_in_pages(library: Api) -> None:
    with psycopg.connect(library.dsn, user="reader", autocommit=True) as db:
        for query in ("grinder", "trailer"):
            db.execute(
                "select ragdb.record_feedback('good', trace_id, chunk_id => chunk_id)"
                " from ragdb.retrieve('handbook', %s, 1)",
                (query,),
            )
    path = "/api/feedback/cases?corpus=handbook"
    whole = library("GET", path).body
    assert ([c["query"] for c in whole["cases"]], whole["next"]) == (["grinder", "trailer"], None)
    first = library("GET", f"{path}&count=1").body
    assert first == {"cases": whole["cases"][:1], "next": "grinder"}
    assert library("GET", f"{path}&after=grinder&count=2").body == {
        "cases": whole["cases"][1:],
        "next": None,
    }


@pytest.mark.parametrize(
    ("path", "rows", "id"),
    [
        ("/api/traces", "traces", "id"),
        ("/api/feedback", "feedback", "feedback_id"),
        ("/api/answers", "answers", "answer_id"),
        ("/api/gates", "gates", "gate_id"),
        ("/api/unanswered", "questions", "trace_id"),
    ],
)
def test_the_latest_come_in_pages(library: Api, path: str, rows: str, id: str) -> None:
    for question in ("what is a deposit", "who is Pelagia", "who is Zosimus"):
        answered = ask(library, question)
        verdict = {"verdict": "good", "answer_id": answered["trace_summary"]["answer_id"]}
        assert library("POST", "/api/feedback", verdict).status == 201
    whole = library("GET", f"{path}?count=10000").body
    assert whole["next"] is None
    paged: list[Any] = []
    before = ""
    while before is not None:
        page = library("GET", f"{path}?corpus=handbook&count=1{before}").body
        paged += page[rows]
        before = page["next"] and f"&before={page['next']}"
    assert paged == [row for row in whole[rows] if "handbook" in row.values()]
    assert len(paged) >= 2
    assert library("GET", f"{path}?before=x").status == 400


def test_an_answer_stands_for_its_trace_in_a_verdict(library: Api) -> None:
    answered = ask(library, "what is a deposit")
    answer_id = answered["trace_summary"]["answer_id"]
    body = {"verdict": "bad", "answer_id": answer_id, "comment": "by its answer"}
    made = library("POST", "/api/feedback", body)
    assert made.status == 201, made.body
    (kept,) = library("GET", "/api/feedback?count=1").body["feedback"]
    assert kept["feedback_id"] == made.body["feedback_id"]
    assert (kept["trace_id"], kept["answer_id"]) == (answered["trace_id"], answer_id)
    refused = library("POST", "/api/feedback", {"verdict": "bad"})
    assert (refused.status, refused.body["code"]) == (400, "BAD_REQUEST")
    body["answer_id"] = "00000000-0000-7000-8000-000000000000"
    assert library("POST", "/api/feedback", body).status == 404


def ask(library: Api, question: str) -> dict[str, Any]:
    answered = library("POST", "/api/ask", {"question": question, "corpus": "handbook"})
    assert answered.body["trace_summary"]["answer_id"], answered.body
    found: dict[str, Any] = answered.body
    return found


def test_the_slice_of_an_anchor_is_what_the_token_route_takes(library: Api) -> None:
    made = library("POST", "/api/slice", {"anchor_turn_id": ANCHOR_OF_DESK}).body["slice"]
    assert library("POST", "/api/verify_token", made).body == {"valid": True, "reason": None}
    more = made | {"edge_count": made["edge_count"] + 1}
    verdict = library("POST", "/api/verify_token", more).body
    assert not verdict["valid"]
    assert f"{made['edge_count']} edges" in verdict["reason"]
    batch = {"anchor_turn_ids": [ANCHOR_OF_DESK]}
    (one,) = library("POST", "/api/slice/batch", batch).body["slices"]
    assert library("POST", "/api/verify_token", one).body["valid"]


def test_a_refused_promotion_is_a_conflict_and_an_incident(library: Api) -> None:
    search = {"query": "deposit", "anchor_turn_id": ANCHOR_OF_DESK, "limit": 2}
    found = library("POST", "/api/rag/search/slice", search, role="writer").body
    ids = [hit["turn_id"] for hit in found["results"]]
    body = {
        "trace_id": found["provenance"]["query_id"],
        "chunk_ids": ids,
        "text": "The moon is made of green cheese.",
        "sufficiency": "lenient",
    }
    refused = library("POST", "/api/atoms", body, role="writer")
    assert (refused.status, refused.body["code"]) == (409, "CLAIM_UNSUPPORTED")
    incidents = library("GET", "/api/incidents?corpus=desk", role="writer").body["incidents"]
    assert incidents[0]["trace_id"] == body["trace_id"]
    # another reader's trace is not there
    assert library("POST", "/api/atoms", body, role="reader").status == 404


def test_a_run_is_listed_and_reported_in_every_format(library: Api) -> None:
    with ragdb.connect(library.dsn) as db:
        run = db.run_eval("Desk")
        reports = {f: db.eval_report(run.run_id, f) for f in FORMATS}
        declared = db.list_eval_cases("Desk")
    listed = library("GET", "/api/evals/cases?rag=Desk").body["cases"]
    assert listed[0]["origin"] == "contract"
    found = [(case["name"], case["origin"]) for case in listed]
    assert found == [(case.name, case.origin) for case in declared]
    assert library("GET", "/api/evals/cases?rag=None").status == 404
    page = library("GET", "/api/evals/cases?rag=Desk&after=1&count=1").body
    assert page == {"cases": listed[1:2], "next": listed[1]["case_no"]}
    end = f"/api/evals/cases?rag=Desk&after={len(listed)}&count=1"
    assert library("GET", end).body == {"cases": [], "next": None}
    evals = library("GET", "/api/evals?corpus=handbook&prefix=Desk&count=1").body
    assert ([row["rag"] for row in evals["evals"]], evals["next"]) == (["Desk"], "Desk")
    rest = library("GET", "/api/evals?prefix=Desk&after=Desk&count=1").body
    assert rest == {"evals": [], "next": None}
    assert library("GET", "/api/evals?corpus=nosuch").status == 404
    (latest, *_) = library("GET", "/api/evals/runs?rag=Desk").body["runs"]
    assert latest["run_id"] == str(run.run_id)
    for format, kind in FORMATS.items():
        path = f"/api/evals/runs/{run.run_id}/report?format={format}"
        answer = library("GET", path)
        assert answer.headers.get_content_type() == kind
        if format != "json":
            assert answer.body == reports[format]
    assert library("GET", f"/api/evals/runs/{ANCHOR}/report").status == 404
    path = f"/api/evals/runs/{run.run_id}"
    whole = library("GET", path).body
    with ragdb.connect(library.dsn) as db:
        results = db.eval_case_results(run.run_id), db.eval_assert_results(run.run_id)
        measured = db.eval_metrics(run.run_id)
    numbers = [row.case_no for row in results[0]]
    assert len(numbers) > 2
    assert ([row["case_no"] for row in whole["cases"]], whole["next"]) == (numbers, None)
    pages, after = [], 0
    while after is not None:
        pages.append(library("GET", f"{path}?after={after}&count=2").body)
        after = pages[-1]["next"]
    assert [len(page["cases"]) for page in pages[:-1]] == [2] * (len(pages) - 1)
    for name, rows in (("cases", results[0]), ("assertions", results[1]), ("metrics", measured)):
        paged = [row for page in pages for row in page[name]]
        assert paged == whole[name]
        assert len(paged) == len(rows) > 0
    of_all = [row for row in pages[0]["metrics"] if row["case_no"] == 0]
    assert len(of_all) == len([row for row in measured if row.case_no == 0])


FORMATS = {
    "json": "application/json",
    "junit": "application/xml",
    "md": "text/markdown",
    "csv": "text/csv",
    "table": "text/plain",
    "tap": "text/plain",
}
ANCHOR_OF_DESK = "1a3c5a02-0134-531a-8a74-1fe7cbae529e"
