"""A personal corpus is in no view of Studio, not even its owner's."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from tests.http.conftest import Api, keep_diary
from tests.studio.conftest import logged_in

VIEWS = ["search", "traces", "slices", "evals", "documents", "answers", "map", "health"]


@pytest.fixture(scope="module")
def diary(site: Api) -> dict[str, str]:
    return keep_diary(site.dsn, "writer")


def test_what_names_it_or_is_of_it_is_not_there(site: Api, diary: dict[str, str]) -> None:
    chunk = urlencode({"chunk": diary["chunk"]})
    with logged_in(site, "writer") as client:
        csrf = client.get("/studio/search").text.partition('name="csrf" value="')[2][:64]
        for path in (
            "search?corpus=personal&q=walrus",
            f"search/why?corpus=personal&q=walrus&{chunk}",
            "traces?corpus=personal",
            f"traces/{diary['trace']}",
            "slices?corpus=personal",
            f"slices/graph?corpus=personal&anchor={diary['chunk']}",
            "documents?corpus=personal",
            "documents?corpus=personal&q=walrus",
            "documents/show?corpus=personal&document=walrus.txt",
            "documents/page?corpus=personal&document=walrus.txt&page=1",
            "answers?corpus=personal",
            f"answers/{diary['answer']}",
            "map?corpus=personal",
            f"evals/run/{diary['run']}",
            f"evals/run/{diary['run']}/report.html",
            f"evals/compare?run={diary['run']}&baseline={diary['run']}",
            "evals/history?rag=Diary&eval=Days",
            f"feedback?trace={diary['trace']}&verdict=good",
        ):
            answer = client.get(f"/studio/{path}")
            assert answer.status_code == 404, path
            assert "more of the walrus" not in answer.text, path
        target = urlencode({"rag": "Diary", "eval": "Days"})
        for path, fields in (
            ("feedback", {"trace_id": diary["trace"], "verdict": "good"}),
            ("feedback", {"corpus": "personal", "q": "walrus", "verdict": "good"}),
            ("evals/case", {"eval": target, "query": "walrus"}),
            (f"evals/run/{diary['run']}/bless", {}),
            (f"evals/challenge?{target}", {}),
        ):
            answer = client.post(f"/studio/{path}", data={"csrf": csrf, **fields})
            assert answer.status_code == 404, (path, answer.text)


def test_no_view_lists_it(site: Api, diary: dict[str, str]) -> None:
    with logged_in(site, "writer") as client:
        for view in VIEWS:
            text = client.get(f"/studio/{view}").text
            assert "docs" in text, view
            assert not any(word in text for word in ("walrus", "personal", "Diary")), view
