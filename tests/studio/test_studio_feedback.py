"""Thumbs in Studio: a form that records a verdict on what its page shows, for who may."""

from __future__ import annotations

import re
from html import unescape

import psycopg
import pytest

from tests.http.conftest import Api
from tests.studio.conftest import logged_in


def forms(page: str) -> list[dict[str, str]]:
    """The hidden fields of each feedback form of a page."""
    return [
        {
            name: unescape(value)
            for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
        }
        for form in re.findall(r'(?s)<form class="feedback".*?</form>', page)
    ]


def recorded(site: Api) -> list[tuple[str | None, ...]]:
    with psycopg.connect(site.dsn) as db:
        return db.execute(
            "select f.verdict, f.comment, f.client, f.caller, f.chunk_id, t.query_text, t.rank_mode"
            " from ragdb.evidence_feedback f join ragdb.retrieval_traces t on t.id = f.trace_id"
            " order by f.id"
        ).fetchall()


def test_a_thumb_on_a_hit_is_recorded_on_the_same_search(site: Api) -> None:
    before = recorded(site)
    with logged_in(site) as client:
        here = "/studio/search?corpus=hostile&q=zebra&k=3"
        first, second, *_ = forms(client.get(here).text)
        said = {"verdict": "bad", "comment": " <b>not</b> that "}
        answer = client.post("/studio/feedback", data=first | said)
        assert answer.status_code == 303, answer.text
        for _ in range(2):  # who loads the page again records nothing
            answer = client.get(answer.url.join(answer.headers.get("location", "")))
        assert f'href="..{here}"'.replace("&", "&amp;") in answer.text
        (row,) = recorded(site)[len(before) :]
        assert row == (
            "bad", "<b>not</b> that", "ragdb studio", "reader", first["chunk_id"], "zebra",
            "lexical",
        )  # fmt: skip
        trace = re.search(r'<a href="../studio/traces/([0-9a-f-]{36})">', answer.text)
        assert trace is not None
        assert client.get(f"/studio/traces/{trace[1]}").status_code == 200
        on_trace = {"csrf": second["csrf"], "trace_id": trace[1], "verdict": "good"}
        assert client.post("/studio/feedback", data=on_trace).status_code == 303
        assert recorded(site)[len(before) + 1][:2] == ("good", None)


def test_a_thumb_is_given_to_a_retrieval_and_to_an_answer(site: Api) -> None:
    with logged_in(site) as client:
        assert "This hit is" in client.get("/studio/search?corpus=hostile&q=zebra").text
        for listed, one in (("traces", "retrieval"), ("answers", "answer")):
            page = client.get(f"/studio/{listed}").text
            found = re.findall(rf'href="[./]*(/studio/{listed}/[0-9a-f-]{{36}})"', page)
            shown = client.get(found[0]).text
            assert f"This {one} is" in shown
            (form,) = forms(shown)
            assert found[0].rpartition("/")[2] in (form["trace_id"], form.get("answer_id"))
            answer = client.post("/studio/feedback", data=form | {"verdict": "good"})
            assert answer.status_code == 303, answer.text
            answer = client.get(answer.url.join(answer.headers["location"]))
            assert f'href="..{found[0]}"' in answer.text
            away = client.get(answer.url.copy_merge_params({"next": "//elsewhere.example/x"}))
            assert 'href="../studio/search">Back' in away.text
            with psycopg.connect(site.dsn) as db:
                (row,) = db.execute(
                    "select trace_id::text, answer_id::text from ragdb.evidence_feedback"
                    " order by id desc limit 1"
                ).fetchall()
            assert row == (form["trace_id"], form.get("answer_id"))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"csrf": "0" * 64}, 403),
        ({"verdict": "fine"}, 400),
        ({"k": "many"}, 400),
        ({"chunk_id": "elsewhere"}, 404),
        ({"corpus": "secret"}, 404),
        ({"corpus": "personal"}, 404),
        ({"trace_id": "01a20698-eb65-73ba-8b8b-670000000000"}, 404),
        ({"trace_id": "x"}, 400),
    ],
)
def test_what_is_not_its_form_records_nothing(
    site: Api, change: dict[str, str], status: int
) -> None:
    before = recorded(site)
    with logged_in(site) as client:
        form, *_ = forms(client.get("/studio/search?corpus=hostile&q=zebra").text)
        answer = client.post("/studio/feedback", data=form | {"verdict": "good"} | change)
    assert answer.status_code == status, answer.text
    assert recorded(site) == before
