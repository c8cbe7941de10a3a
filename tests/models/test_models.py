"""A model behind an endpoint may lie, refuse, stall or break; an answer never shows it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ragdb.database import Database
from ragdb.evidence.engine import Engine
from ragdb.models.chat import ModelError, ModelRefused, OpenAIModel
from tests.conftest import Connection
from tests.endpoint import Fake, Respond, drips, hangs_up, says, sends, serving, stalls
from tests.evidence.test_retrieval_engine import GOOD, QUESTION, Fixed

KEY = "sk-a-secret"
TRUE = {
    "answer": "As vouchers.",
    "citations": [{"source_id": "a.md", "chunk_id": "c1", "quote": "refunded as vouchers"}],
    "insufficient_evidence": False,
}


@pytest.fixture
def fake() -> Iterator[Fake]:
    with serving() as server:
        yield server


@pytest.fixture
def base(db: Connection) -> Database:
    return Database(db)


def model(fake: Fake, **more: Any) -> OpenAIModel:
    return OpenAIModel("m", fake.url, KEY, **{"timeout": 120, **more})


def test_a_true_answer_is_verified_and_the_evidence_is_data(base: Database, fake: Fake) -> None:
    fake.script = [says(TRUE)]
    answer = Engine(base, retriever=Fixed(GOOD), task=model(fake)).run(QUESTION)
    assert answer.output == TRUE
    assert answer.problems == ()
    assert answer.trace_summary["attempts"] == 1
    (asked,) = fake.asked
    system, user = asked["messages"]
    assert GOOD.text not in system["content"]
    given = json.loads(user["content"])
    assert given["question"] == QUESTION
    assert given["evidence"]["chunks"][0]["text"] == GOOD.text
    assert (asked["model"], asked["temperature"]) == ("m", 0)
    assert asked["response_format"] == {"type": "json_object"}
    assert fake.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        (says("Vouchers, I think."), "output: not JSON"),
        (says('{"answer": "x", "citations": ['), "output: not JSON"),
        (says('{"answer": "x", "citations": [], "support": NaN}'), "output: not JSON"),
        (says('{"answer": ' * 5000), "output: not JSON"),
        (says('{"answer": "\\ud800"}'), "output: half of a surrogate pair"),
        (says('{"answer": "a\\u0000b"}'), "output: a NUL"),
        (says([TRUE]), "output: no object"),
        (says({}), "output: neither answer nor insufficient_evidence"),
        (says({"answer": "x", "citations": []}), "missing citations"),
        (says({**TRUE, "citations": "c1"}), "citations: no array"),
        (
            says({**TRUE, "citations": [{"source_id": "a.md", "chunk_id": "c7"}]}),
            "citation[0]: unknown chunk_id 'c7'",
        ),
        (
            says({**TRUE, "citations": [{"chunk_id": "c1", "quote": "refunded as hard cash"}]}),
            "citation[0]: QUOTE_NOT_FOUND: the chunk does not say this",
        ),
        (
            says({"answer": "It costs 99 euros [1]."}),
            'citation[0]: NUMBER_UNSUPPORTED: the answer says "99" here'
            " and the cited chunk does not",
        ),
        (says(None, refusal="I cannot help with that."), "output: refused"),
        (says("", finish_reason="content_filter"), "output: refused"),
        (
            says('{"answer": "x', finish_reason="length"),
            "model: its answer was cut after 1000 tokens",
        ),
        (says("  "), "model: its answer is empty"),
        (sends(200, "<html>busy</html>"), "model: its answer is not a chat completion"),
        (sends(200, '{"choices": []}'), "model: its answer is not a chat completion"),
        (sends(200, '["choices"]'), "model: its answer is not a chat completion"),
        (sends(200, " " * (5 << 20)), "model: its answer has more than 4194304 bytes"),
        (sends(401, "no"), "model: HTTP 401"),
        (sends(503, "busy"), "model: HTTP 503"),
        (sends(302, "", Location="http://127.0.0.1:9/"), "model: HTTP 302"),
        (hangs_up, "model: it cannot be reached: RemoteDisconnected"),
        (stalls, "model: no answer in 0.5 s"),
        (drips, "model: no answer in 0.5 s"),
    ],
)
def test_a_model_that_lies_is_asked_again_and_found_out(
    base: Database, fake: Fake, lie: Respond, problem: str
) -> None:
    fake.script = [lie]
    late = {"timeout": 0.5} if problem.startswith("model: no answer") else {}
    engine = Engine(base, retriever=Fixed(GOOD), task=model(fake, tries=1, **late))
    answer = engine.run(QUESTION, require_citations=True)
    assert answer.problems[0] == problem
    assert answer.trace_summary["verified"] is False
    assert answer.trace_summary["attempts"] == 2
    for word in (KEY, "vouchers", "refunded", "hard cash", "c7"):
        assert word not in str(answer.trace_summary)


def test_a_model_may_mend_its_answer_and_is_told_what_was_wrong(base: Database, fake: Fake) -> None:
    wrong = {**TRUE, "citations": [{"chunk_id": "c7"}]}
    fake.script = [says(wrong), says(f"```json\n{json.dumps(TRUE)}\n```")]
    answer = Engine(base, retriever=Fixed(GOOD), task=model(fake)).run(QUESTION)
    assert (answer.output, answer.problems) == (TRUE, ())
    again = json.loads(fake.asked[1]["messages"][1]["content"])
    assert again["problems"] == ["citation[0]: unknown chunk_id 'c7'"]


def test_an_endpoint_that_is_overloaded_is_asked_again_in_time(base: Database, fake: Fake) -> None:
    fake.script = [sends(429, ""), sends(500, ""), says(TRUE)]
    answer = Engine(base, retriever=Fixed(GOOD), task=model(fake)).run(QUESTION)
    assert answer.output == TRUE
    assert answer.trace_summary["attempts"] == 1


def test_a_model_may_say_that_the_evidence_is_not_enough(base: Database, fake: Fake) -> None:
    fake.script = [says({"answer": "", "citations": [], "insufficient_evidence": True})]
    answer = Engine(base, retriever=Fixed(GOOD), task=model(fake)).run(QUESTION)
    assert answer.problems == ()
    assert answer.output["insufficient_evidence"] is True


def test_a_model_plans_what_to_look_up(base: Database, fake: Fake) -> None:
    fake.script = [
        says({"needs_retrieval": True, "queries": ["gift refunds", "vouchers"], "reason": "two"}),
        says(TRUE),
    ]
    asked = model(fake)
    retriever = Fixed(GOOD)
    answer = Engine(base, retriever=retriever, task=asked, planner=asked.plan).run(QUESTION)
    assert retriever.calls == 2
    assert answer.trace_summary["plan"]["by"] == "model"
    assert answer.output == TRUE


def test_a_planner_that_refuses_leaves_the_plan_to_the_rules(base: Database, fake: Fake) -> None:
    fake.script = [says(None, refusal="no")]
    answer = Engine(base, retriever=Fixed(GOOD), planner=model(fake).plan).run(QUESTION)
    assert answer.trace_summary["plan"] == {
        "by": "rules",
        "problem": "output: refused",
        "needs_retrieval": True,
        "queries": 1,
        "reason": "it asks for something: 1 to look up",
    }


def test_no_key_is_shown_or_sent_on(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = model(fake)
    assert KEY not in repr(asked)
    fake.script = [sends(401, KEY)]
    with pytest.raises(ModelError) as caught:
        asked({"question": "q"})
    assert KEY not in str(caught.value)
    # to wherever a redirect points, nothing is sent
    fake.script = [sends(307, "", Location=fake.url + "/elsewhere"), says(TRUE)]
    with pytest.raises(ModelError, match="HTTP 307"):
        asked({"question": "q"})
    fake.script = [says(None, refusal="no")]
    with pytest.raises(ModelRefused):
        asked({"question": "q"})
    # the key of the environment is for the endpoint of the environment
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    fake.script, fake.keys = [says(TRUE)], []
    OpenAIModel("m", fake.url, "")({"question": "q"})
    assert fake.keys == [None]
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ValueError, match="the endpoint is unknown"):
        OpenAIModel("m")


def test_a_key_is_taken_without_its_line_end_and_refused_where_no_header_can_have_it(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script = [says(TRUE)]
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    OpenAIModel("m", fake.url)({"question": "q"})
    assert fake.keys == [f"Bearer {KEY}"]
    with pytest.raises(ValueError, match="the key has a character") as refused:
        OpenAIModel("m", fake.url, f"a\n{KEY}")
    assert KEY not in str(refused.value)


def test_nobody_at_the_endpoint_is_a_model_that_cannot_be_reached() -> None:
    asked = OpenAIModel("m", "http://127.0.0.1:9/v1", tries=2)
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"it cannot be reached: .*refused"):
        asked({"question": "q"})
    # long before its 60 seconds
    assert time.monotonic() - started < 50
