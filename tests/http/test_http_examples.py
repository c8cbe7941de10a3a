"""Every example of the OpenAPI document is accepted by its route, whose answer fits its schema."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import jsonschema
import pytest

import ragdb
from ragdb.http.examples import ANCHOR, MADE, REQUESTS, SLICE
from tests.http.conftest import Api, Response

# what an example needs of the ones before it
FIRST = ["POST /api/rag/search/slice", "POST /api/slice", "POST /api/search"]
LAST = [
    "POST /api/atoms",
    "GET /api/atoms",
    "POST /api/proposals",
    "GET /api/proposals",
    "POST /api/proposals/{id}/decision",
    "DELETE /api/corpora/{corpus}",
    "PUT /api/corpora/{corpus}/history",
    "GET /api/corpora/{corpus}/diff",
    "DELETE /api/corpora/{corpus}/edges",
    "DELETE /api/corpora/{corpus}/synonyms",
    "POST /capabilities/rag.ingest@1.0",
    "GET /api/jobs/{id}",
    "DELETE /api/corpora/{corpus}/documents/{document}",
    "POST /api/corpora/{corpus}/erase",
    "POST /api/corpora/{corpus}/erase/speaker",
    "DELETE /api/corpora/{corpus}/history",
]


@pytest.fixture(scope="module")
def document(library: Api) -> dict[str, Any]:
    found: dict[str, Any] = library("GET", "/openapi.json", role=None).body
    return found


def operations(document: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def swapped(value: Any, made: dict[str, Any]) -> Any:
    """An example with what this database made in place of the ids of `MADE`, and its slice."""
    if value == SLICE:
        return made["slice"]
    if isinstance(value, dict):
        return {key: swapped(one, made) for key, one in value.items()}
    if isinstance(value, list):
        return [swapped(one, made) for one in value]
    name = next((name for name, one in MADE.items() if one == value), None)
    return value if name is None else made[name]


def example_of(operation: dict[str, Any]) -> dict[str, Any]:
    """What the document shows."""
    shown: dict[str, Any] = {"path": {}, "query": {}}
    for parameter in operation.get("parameters", ()):
        if "example" in parameter:
            shown[parameter["in"]][parameter["name"]] = parameter["example"]
        else:
            assert not parameter.get("required"), (operation["operationId"], parameter)
    for content in operation.get("requestBody", {}).get("content", {}).values():
        shown["body"] = content["example"]
    return shown


def ask(api: Api, label: str, example: dict[str, Any], made: dict[str, Any]) -> Response:
    method, path = label.split(" ")
    example = swapped(example, made)
    for name, value in example["path"].items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe=":"))
    if example["query"]:
        path += "?" + urlencode(example["query"])
    body = example.get("body")
    if isinstance(body, str):
        return api(method, path, body.encode(), role="admin", Content_Type="text/markdown")
    return api(method, path, body, role="admin")


def test_every_example_is_accepted_and_answered_as_the_document_says(
    library: Api, document: dict[str, Any]
) -> None:
    documented = operations(document)
    assert documented.keys() == REQUESTS.keys()
    made: dict[str, Any] = {}
    with ragdb.connect(library.dsn) as db:
        made["run"] = db.run_eval("Desk").run_id
        db.share_corpus("handbook")
        made["chunk"] = db.search("handbook", "weeks")[0].chunk_id
        hits = db.search("handbook", "deposit tool")
        made["other"] = next(hit.chunk_id for hit in hits if hit.chunk_id != made["chunk"])
        pack = db.build_evidence_pack(None, [made["chunk"]], "handbook")
        db.record_answer({"answer": "Weeks.", "citations": []}, pack)
        made["answer"] = db.list_answers()[0].answer_id
        made["document"] = db.list_documents("handbook")[0].doc_cid
    middle = [label for label in documented if label not in (*FIRST, *LAST)]
    for label in (*FIRST, *middle, *LAST):
        operation = documented[label]
        answer = ask(library, label, example_of(operation), made)
        # what a worker has to do first is not done yet
        waits = label == "POST /capabilities/embed.text@1.0" and answer.status == 503
        assert waits or answer.status < 300, (label, answer.body)
        kind = answer.headers.get_content_type()
        schema = operation["responses"][str(answer.status)]["content"][kind]["schema"]
        checked = schema | {"components": document["components"]}
        jsonschema.Draft202012Validator(checked).validate(answer.body)
        match label:
            case "POST /api/rag/search/slice":
                made["trace"] = answer.body["provenance"]["query_id"]
                assert answer.body["results"][0]["turn_id"] == ANCHOR
            case "POST /api/slice":
                made["slice"] = answer.body["slice"]
            case "PUT /api/corpora/{corpus}/history":
                made["version"] = answer.body["from_version"]
            case "POST /api/verify_token":
                assert answer.body["valid"]
            case "POST /api/atoms":
                made["atom"] = answer.body["atom_id"]
            case "POST /api/proposals":
                made["proposal"] = answer.body["proposal_id"]
            case "POST /capabilities/embed.text@1.0":
                made["job"] = answer.body["job_id"]
