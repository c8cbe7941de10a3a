"""schemathesis against the OpenAPI document: no 500, no answer that the document does not have."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from tests.http.conftest import Api

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
                deadline=None,
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
    assert len(asked) == 21
    assert min(asked.values()) >= 1


@pytest.mark.nightly
def test_every_answer_to_many_more_is_one_of_the_document(api: Api) -> None:
    explore(api, 300)
