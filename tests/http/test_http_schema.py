"""The OpenAPI document is true for successful requests and for what schemathesis generates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from ragdb.http.app import create_app
from ragdb.http.config import Config
from ragdb.http.models import Error
from tests.http.conftest import Api
from tests.sql.conversations import uuid


def no_fault_of_the_server(context: Any, response: Any, case: Any) -> bool | None:
    """Where no worker runs, a search by meaning under a model outside has no other answer."""
    if response.status_code == 503 and "no worker has embedded the query yet" in response.text:
        return None
    return not_a_server_error(context, response, case)


CHECKS = [
    checks.negative_data_rejection,
    no_fault_of_the_server,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.ignored_auth,
]

# seconds: no test is timed, and a busy machine may leave one waiting for long
WAIT = 300


def explore(api: Api, examples: int, *, is_night: bool) -> dict[str, int]:
    """How many requests each operation got; every answer is checked."""
    document = schemathesis.openapi.from_url(f"{api.url}/openapi.json", timeout=WAIT)
    headers = {"Authorization": f"Bearer {api.tokens['admin']}"}  # past the gate
    asked: dict[str, int] = {}
    modes = list(GenerationMode)
    for n, found in enumerate(document.get_all_operations()):
        assert isinstance(found, Ok)
        operation = found.ok()
        # half of what is sent is as the document wants it, half is not; by day one of an operation,
        # since to draw what is not takes most of the time
        for mode in modes[n % 2 :] + modes[: n % 2]:

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
                case.call_and_validate(headers=headers, checks=checked, timeout=WAIT)

            with suppress(Unsatisfiable):  # nothing about /health can be wrong
                ask()
                if not is_night:
                    break
    return asked


def test_every_answer_is_one_of_the_document(api: Api) -> None:
    asked = explore(api, 2, is_night=False)
    assert asked.keys() == {label for label, _ in operations(api)}
    # what takes no argument is asked once
    assert sum(asked.values()) > 100


@pytest.mark.nightly
def test_every_answer_to_many_more_is_one_of_the_document(api: Api) -> None:
    explore(api, 300, is_night=True)


def operations(api: Api) -> Iterator[tuple[str, Any]]:
    document = api("GET", "/openapi.json", role=None).body
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation | {"components": document["components"]}


def test_every_operation_says_what_a_parameter_that_is_not_there_gives(api: Api) -> None:
    gone = str(uuid(99))
    for label, operation in operations(api):
        method, path = label.split()
        body = None if method in ("GET", "DELETE") else b"{}"
        answer = api(method, f"{re.sub('{[^}]*}', gone, path)}?nosuch=1", body)
        assert (answer.status, answer.body["code"]) == (400, "BAD_REQUEST"), label
        assert "400" in operation["responses"], label


def test_a_generated_client_has_names_that_speak_for_themselves(api: Api) -> None:
    document = api("GET", "/openapi.json").body
    names = [
        operation["operationId"] for way in document["paths"].values() for operation in way.values()
    ]
    assert len(names) == len(set(names))
    assert {"search", "ask", "create_corpus", "list_documents", "get_trace"} < set(names)
    assert max(map(len, names)) < 25
    # one of two models that share a name would be called by its module
    schemas = document["components"]["schemas"]
    assert {name for name, schema in schemas.items() if schema.get("title", name) != name} == set()


def test_the_shape_of_an_error_is_made_ready_for_no_route(api: Api) -> None:
    """Each answers so at eight statuses or more: it was most of what a server does as it starts."""
    app = create_app(Config(api.dsn))
    ready = [
        (route.path, status)
        for route in app.routes
        if isinstance(route, APIRoute)
        for status, field in route.response_fields.items()
        if field.field_info.annotation is Error
    ]
    assert ready == []


# what a caller gave, what differs from kind to kind, and what is of another standard
OPEN = {
    "",
    "Capability.params",
    "Capability.request_schema",
    "Capability.response_schema",
    "Chunk.citation",
    "Chunk.metadata",
    "CorpusEvents.events",
    "CorpusInfoRow.gate_floors",
    "Document.chunking",
    "Document.metadata",
    "EvalAssertResults.actual",
    "EvalAssertResults.expected",
    "Events.events",
    "FacetsRow.value",
    "Feed.settings",
    "Hit.citation",
    "Hit.metadata",
    "ListAtomsRow.checks",
    "ListEvalCasesRow.asserts",
    "ListEvalCasesRow.expected",
    "ListEvalCasesRow.labels",
    "Provenance.filters_applied",
    "RegisteredPolicy.policy",
    "Result.citation",
    "Result.metadata",
    "RetrievalTraces.filters",
    "RetrievalTraces.ranking",
    "RetrievalTraces.stages",
    "Told.trace_summary",
}


def untyped(schema: dict[str, Any], schemas: dict[str, Any], name: str = "") -> Iterator[str]:
    """The fields of an answer of which the document does not say what they are."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = schemas[name]
    for one in schema.get("anyOf", ()):
        yield from untyped(one, schemas, name)
    if "items" in schema:
        yield from untyped(schema["items"], schemas, name)
    for field, one in schema.get("properties", {}).items():
        yield from untyped(one, schemas, f"{name}.{field}")
    is_any = not schema.keys() & {"type", "anyOf", "const", "enum"}
    is_map = schema.get("type") == "object" and "properties" not in schema
    if is_any or (is_map and schema.get("additionalProperties", True) is True):
        yield name


def test_every_field_of_an_answer_has_a_type_but_those_that_are_open(api: Api) -> None:
    found: set[str] = set()
    for _, operation in operations(api):
        schemas = operation["components"]["schemas"]
        for status, answer in operation["responses"].items():
            content = answer.get("content", {}).get("application/json")
            if status.startswith("2") and content is not None:
                found |= set(untyped(content["schema"], schemas))
    assert found == OPEN


def test_the_answer_to_a_question_has_no_field_but_those_of_the_document(api: Api) -> None:
    schemas = api("GET", "/openapi.json", role=None).body["components"]["schemas"]
    told = api("POST", "/api/ask", {"question": "what of refunds?", "corpus": "docs"}).body
    assert told["citations"]
    for name, value in (("Told", told), ("Cited", told["citations"][0])):
        assert value.keys() <= schemas[name]["properties"].keys()
