"""Embeddings of an OpenAI-compatible endpoint."""

from __future__ import annotations

import email.utils
import http.client
import json
import os
import random
import time
import urllib.request
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragdb.errors import EmbedderMismatch, EmbedderNotFound
from ragdb.models.encoders import InputRefused, ProviderDown

if TYPE_CHECKING:
    from ragdb.models.encoders import Matrix


MOST = 64 << 20
"""Bytes of embeddings that are read at most: a batch of 128 has 11 MB at 4096 dimensions."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to the host that was named and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


class TooLong(ValueError):
    """An answer has more bytes than are read of one."""


def received(
    opener: urllib.request.OpenerDirector,
    request: urllib.request.Request,
    seconds: float,
    most: int,
) -> bytes:
    """The body of an answer that is there in time and has `most` bytes at most.

    Raises HTTPError, TimeoutError, TooLong, and OSError, ValueError or HTTPException where the
    server cannot be reached or breaks off.
    """
    deadline = time.monotonic() + seconds
    body = bytearray()
    with opener.open(request, timeout=seconds) as response:
        while part := response.read1(1 << 16):
            body += part
            if len(body) > most:
                raise TooLong(f"its answer has more than {most} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError("timed out")
    return bytes(body)


def may_pass(status: int) -> bool:
    """Whether another try may go better: a wrong key, path or model stays wrong."""
    return status >= 500 or status in (408, 409, 425, 429)


def bearer(key: str | None) -> dict[str, str]:
    """The header of a key. Raises ValueError, which does not show it, for one that cannot be sent.

    The line end of a file of a key is no part of it.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError("the key has a character that no key has: look at OPENAI_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


class EndpointEncoder:
    """Any OpenAI-compatible `/embeddings`: OPENAI_BASE_URL and OPENAI_API_KEY of the environment.

    Rate limits, server errors and time-outs are tried again with growing, jittered pauses, or after
    what Retry-After asks for; then ProviderDown.
    """

    def __init__(
        self, model: str, dims: int, *, timeout: float = 60, tries: int = 5, pause: float = 0.5
    ) -> None:
        base = os.environ.get("OPENAI_BASE_URL", "")
        if not base.startswith(("http://", "https://")):
            raise EmbedderNotFound(
                "the endpoint is not known: "
                "set OPENAI_BASE_URL (such as https://host/v1) and OPENAI_API_KEY"
            )
        self.url = base.rstrip("/") + "/embeddings"
        self.model, self.dims = model, dims
        self.timeout, self.tries, self.pause = timeout, tries, pause
        self._opener = urllib.request.build_opener(NoRedirect)

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dims), np.float32)
        parts = [self._batch(texts[at : at + 128]) for at in range(0, len(texts), 128)]
        return np.concatenate(parts)

    def cut(self, texts: Sequence[str]) -> int:
        return 0

    def _batch(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        answer = self._post({"model": self.model, "input": list(texts), "encoding_format": "float"})
        try:
            rows = {item["index"]: item["embedding"] for item in answer["data"]}
            listed = [rows[index] for index in range(len(texts))]
            if len(rows) != len(texts):
                raise ValueError(f"{len(rows)} embeddings for {len(texts)} inputs")
            widths = {len(row) for row in listed}
            if widths != {self.dims}:
                raise EmbedderMismatch(
                    f"the endpoint's {self.model!r} gives {min(widths)} dimensions, not {self.dims}"
                )
            return np.asarray(listed, np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ProviderDown(f"the endpoint's answer cannot be used: {error!r:.200}") from None

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            key = bearer(os.environ.get("OPENAI_API_KEY"))
        except ValueError as error:
            raise ProviderDown(str(error)) from None
        headers = {"Content-Type": "application/json", **key}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        problem = ""
        for attempt in range(self.tries):
            wait = self.pause * 2**attempt * random.uniform(0.5, 1.5)
            try:
                answer = json.loads(received(self._opener, request, self.timeout, MOST))
                if isinstance(answer, dict):
                    return answer
                problem = "its answer is not a JSON object"
            except urllib.error.HTTPError as error:
                error.close()
                problem = f"HTTP {error.code}"
                if error.code in (400, 413, 422):
                    raise InputRefused(f"the endpoint refuses the input: {problem}") from None
                if not may_pass(error.code):
                    break
                wait = max(wait, min(60, _retry_after(error.headers.get("Retry-After"))))
            except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
                problem = f"{type(error).__name__}: {error}"[:200]
            if attempt + 1 < self.tries:
                time.sleep(wait)
        raise ProviderDown(f"the endpoint does not answer: {problem}")


def _retry_after(value: str | None) -> float:
    """Seconds that a Retry-After header asks for, given as a number or a date; 0 without one."""
    if not value:
        return 0
    try:
        return max(0, float(value))
    except ValueError:
        pass
    try:
        return max(0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0
