"""The OpenAPI document is true for successful requests and for what schemathesis generates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import jsonschema
import psycopg
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from ragdb.models.worker import Worker
from tests.http.conftest import ANCHOR, Api, Response
from tests.sql.conversations import uuid

CHECKS = [
    checks.negative_data_rejection,
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.ignored_auth,
]


def explore(api: Api, examples: int) -> dict[str, int]:
    """How many requests each operation got; every answer is checked."""
    document = schemathesis.openapi.from_url(f"{api.url}/openapi.json")
    headers = {"Authorization": f"Bearer {api.tokens['admin']}"}  # past the gate
    asked: dict[str, int] = {}
    for found in document.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        # half of what is sent is as the document wants it, half is not
        for mode in GenerationMode:

            @settings(
                max_examples=examples,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:
                label = case.operation.label
                asked[label] = asked.get(label, 0) + 1
                # a parameter that is wrong by an empty list is not in the URL at all
                checked = CHECKS if case.method == "POST" else CHECKS[1:]
                case.call_and_validate(headers=headers, checks=checked)

            with suppress(Unsatisfiable):  # nothing about /health can be wrong
                ask()
    return asked


def test_every_answer_is_one_of_the_document(api: Api) -> None:
    asked = explore(api, 10)
    assert asked.keys() == {label for label, _ in operations(api)}
    # what takes no argument is asked once, or twice as it should not be
    assert sum(asked.values()) > 200


@pytest.mark.nightly
def test_every_answer_to_many_more_is_one_of_the_document(api: Api) -> None:
    explore(api, 300)


def operations(api: Api) -> Iterator[tuple[str, Any]]:
    document = api("GET", "/openapi.json", role=None).body
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation | {"components": document["components"]}


def test_every_operation_says_what_a_parameter_that_is_not_there_gives(api: Api) -> None:
    gone = str(uuid(99))
    for label, operation in operations(api):
        method, path = label.split()
        answer = api(method, f"{path.replace('{id}', gone)}?nosuch=1", b"{}")
        assert (answer.status, answer.body["code"]) == (400, "BAD_REQUEST"), label
        assert "400" in operation["responses"], label


def test_every_operation_answers_what_the_document_says(start: Callable[..., Api]) -> None:
    """One request each that succeeds, which made-up ones seldom do."""
    api = start("--wait", "0")
    documented = dict(operations(api))
    seen: set[str] = set()

    def ask(method: str, path: str, body: Any = None, route: str = "") -> Response:
        answer = api(method, path, body, role="admin")
        label = f"{method} {route or path.partition('?')[0]}"
        operation = documented[label]
        found = operation["responses"][str(answer.status)]["content"]["application/json"]
        schema = found["schema"] | {"components": operation["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.body)
        if answer.status < 300:
            seen.add(label)
        return answer

    for health in ("/health", "/health/live", "/health/ready"):
        ask("GET", health)
    made = ask("POST", "/api/slice", {"anchor_turn_id": ANCHOR}).body["slice"]
    ask("POST", "/api/slice/batch", {"anchor_turn_ids": [ANCHOR, uuid(99)]})
    token = {k: v for k, v in made.items() if k not in ("turn_ids", "edge_count")}
    assert ask("POST", "/api/verify_token", token).body["valid"]
    ask("POST", "/api/policies", {"max_nodes": 3})
    assert ask("GET", "/api/policies").body["policies"]
    search = {"query": "refunds", "anchor_turn_id": ANCHOR}
    assert ask("POST", "/api/rag/search/slice", search).body["results"]
    for path in ("/api/rag/search/global", "/api/rag/search"):
        assert ask("GET", f"{path}?query=refunds&corpus=chat").body["results"]
    ask("GET", "/capabilities")
    ask("POST", "/capabilities/rag.list_corpora@1.0", {})
    query = {"params": {"corpus": "docs"}, "input": {"query": "refunds"}}
    found = ask("POST", "/capabilities/rag.query@1.0", query)
    assert found.body["output"]["chunks"]
    for end, method in (("", "GET"), ("/replay", "POST")):
        trace = found.headers["Ragdb-Trace-Id"]
        ask(method, f"/api/traces/{trace}{end}", route="/api/traces/{id}" + end)
    cid = ask("POST", "/api/blobs", b"Kites are lent for a week.").body["doc_cid"]
    with psycopg.connect(api.dsn) as db:
        # a request names the type of its bytes, and this client says JSON
        db.execute("update ragdb.blobs set media_type = 'text/plain' where cid = %s", (cid,))
    later = (
        ("rag.ingest@1.0", {"params": {"corpus": "docs"}, "input": {"doc_cid": cid}}),
        ("embed.text@1.0", {"params": {"model": "hash"}, "input": {"texts": ["kite"]}}),
    )
    for name, request in later:
        waits = ask("POST", f"/capabilities/{name}", request)
        assert waits.body["error"] == "partition", waits.body
        ask("GET", f"/api/jobs/{waits.body['job_id']}", route="/api/jobs/{id}")
    Worker(api.dsn).run(until="empty")
    for name, request in later:
        ask("POST", f"/capabilities/{name}", request)
    assert ask("GET", "/api/events").body["events"]
    assert seen == documented.keys()
