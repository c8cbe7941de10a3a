"""What routes share: the token, the errors that they may answer, what a request names."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from json import JSONDecodeError
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import FastAPI, Query, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from ragdb.client.rows import loads
from ragdb.http import models as m
from ragdb.http.transactions import Refused

Handler = TypeVar("Handler", bound=Callable[..., Any])
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
WHAT = {
    400: "A field is missing, unknown or out of range (INVALID_TURN_ID, BAD_REQUEST, …).",
    401: "No token, an unknown one, or a right that its role lacks (UNAUTHORIZED).",
    404: "What is named does not exist for this role (SLICE_FAILED, POLICY_NOT_FOUND, …).",
    408: "The statement took longer than it may, or the body did not come (TIMEOUT).",
    409: "It contradicts what is there (CORPUS_AMBIGUOUS, NO_SIGNING_KEY, …).",
    413: "The body is over the limit (PAYLOAD_TOO_LARGE).",
    429: "Too much at once (CAPACITY_EXCEEDED, RATE_LIMITED).",
    500: "A fault of the server (INTERNAL_ERROR, SLICE_FAILED).",
    503: "The database or a worker is missing (SERVICE_UNAVAILABLE, PARTITION).",
}

# named, because of a model FastAPI would make a validator for each status of each route
ERROR = {"application/json": {"schema": {"$ref": f"#/components/schemas/{m.Error.__name__}"}}}

bearer = HTTPBearer(auto_error=False, description="A token of `ragdb token create`.")
Token = Annotated[Any, Security(bearer)]
Count = Annotated[int, Query(ge=1, le=10000)]
Prefix = Annotated[str, Query(max_length=64, description="How names of corpora begin.")]
After = Annotated[str, Query(max_length=64, description="The last name seen.")]
Before = Annotated[UUID | None, Query(description="next of the page before.")]
InCorpus = Annotated[m.Corpus, Query()]


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may answer, for the OpenAPI document."""
    listed = sorted({400, 401, 408, 413, 429, 500, 503, *statuses})
    return {status: {"description": WHAT[status], "content": ERROR} for status in listed}


def next_after(listed: Sequence[Any], count: int | None, key: str) -> Any:
    """What the next page begins after; None at the end, and where all was asked for."""
    # what ties with the last of a page comes with it
    return getattr(listed[-1], key) if count is not None and len(listed) >= count else None


class _Body(Request):
    """A request whose JSON is read as the database reads it, and has each key once."""

    async def json(self) -> Any:
        return loads(await self.body())


class Route(APIRoute):
    """A route that reads bodies so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read(request: Request) -> Response:
            request.__class__ = _Body  # whoever tells of an error has what it has read
            return await handle(request)

        return read


def not_json(error: BaseException) -> str:
    """What is wrong with a body that `loads` does not read."""
    if isinstance(error, JSONDecodeError):
        place = f"line {error.lineno}, column {error.colno}"
        return f"body: it is not JSON: {error.msg} at {place}"
    if isinstance(error, UnicodeDecodeError):
        return f"body: it is not UTF-8 at byte {error.start}"
    return f"body: {error}"


class _Name(PathConvertor):
    """A name with its line ends: a `path` has none, so that `a%0A` was `a`."""

    regex = r"(?s:.*)"


register_url_convertor("name", _Name())


class Routes:
    """Registers routes with one tag; each may answer these errors, unless it says which."""

    def __init__(self, app: FastAPI, tag: str, *statuses: int) -> None:
        self.app = app
        self.shared: dict[str, Any] = {"tags": [tag], "responses": failures(*statuses)}

    def get(self, path: str, **how: Any) -> Callable[[Handler], Handler]:
        return self.app.get(path, **self.shared | how)

    def post(self, path: str, **how: Any) -> Callable[[Handler], Handler]:
        return self.app.post(path, **self.shared | how)

    def put(self, path: str, **how: Any) -> Callable[[Handler], Handler]:
        return self.app.put(path, **self.shared | how)

    def delete(self, path: str, **how: Any) -> Callable[[Handler], Handler]:
        return self.app.delete(path, **self.shared | how)


def check_turn_ids(ids: Sequence[str]) -> None:
    for one in ids:
        try:
            bad = not one.strip() or len(one.encode()) > 512 or CONTROL.search(one)
        except UnicodeError:
            bad = True
        if bad:
            raise Refused(
                400,
                "INVALID_TURN_ID",
                "Invalid anchor turn ID: it is blank, over 512 bytes, or has control characters",
            )


def policy_of(ref: m.PolicyRef | None) -> dict[str, str] | None:
    return ref.model_dump() if ref else None


def ref_of(row: Any) -> dict[str, str]:
    return {"policy_id": row.policy_id, "params_hash": row.params_hash}
