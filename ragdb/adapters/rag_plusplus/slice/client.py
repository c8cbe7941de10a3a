"""A client of a Graph Kernel, which is ``ragdb serve``."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ragdb.adapters.rag_plusplus.errors import HttpError, error_of
from ragdb.adapters.rag_plusplus.slice.export import PolicyRef, SliceBatch, SliceExport
from ragdb.models.endpoints import NoRedirect, received

URL = "http://localhost:8001"
TIMEOUT = 30.0
MOST = 64 << 20
"""Bytes of an answer that are read at most."""

Made = TypeVar("Made")


class SliceClient:
    """Asks a Graph Kernel for slices.

    Without arguments the environment says where it is (GRAPH_KERNEL_URL), how long to wait in
    seconds (GRAPH_KERNEL_TIMEOUT) and which token to show (GRAPH_KERNEL_TOKEN, of
    ``ragdb token create``). ``corpus`` is needed where several corpora have the anchor.
    """

    def __init__(
        self,
        base_url: str | None = None,
        timeout: float | None = None,
        *,
        token: str | None = None,
        corpus: str | None = None,
    ) -> None:
        self.base_url = (base_url or os.environ.get("GRAPH_KERNEL_URL") or URL).rstrip("/")
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url is {self.base_url!r}, not an address of http or https")
        self.timeout = timeout or float(os.environ.get("GRAPH_KERNEL_TIMEOUT") or TIMEOUT)
        self.token = token or os.environ.get("GRAPH_KERNEL_TOKEN")
        self.corpus = corpus
        self._opener = urllib.request.build_opener(NoRedirect)

    async def get_slice(
        self, anchor_turn_id: str, policy_ref: PolicyRef | None = None
    ) -> SliceExport:
        """The slice around an anchor, by the default policy unless one is named.

        Raises InvalidTurnId, PolicyNotFound, SliceFailed, ServiceUnavailable, HttpError.
        """
        return await self._post(
            "/api/slice",
            {"anchor_turn_id": anchor_turn_id, **self._how(policy_ref)},
            lambda answer: SliceExport.from_dict(answer["slice"]),
        )

    async def get_slice_batch(
        self, anchor_turn_ids: Sequence[str], policy_ref: PolicyRef | None = None
    ) -> SliceBatch:
        """The slices around up to 1,000 anchors; those that have none are its ``errors``.

        Raises what get_slice raises, where none of the anchors is stored too.
        """
        return await self._post(
            "/api/slice/batch",
            {"anchor_turn_ids": list(anchor_turn_ids), **self._how(policy_ref)},
            lambda answer: SliceBatch(
                map(SliceExport.from_dict, answer["slices"]),
                {failed["anchor_turn_id"]: failed["error"] for failed in answer["errors"]},
            ),
        )

    async def register_policy(self, **parameters: Any) -> PolicyRef:
        """Register a slice policy by the parameters that differ from the default's.

        Raises SliceError where the token's role may not, or a parameter is out of its range.
        """
        return await self._post(
            "/api/policies", parameters, lambda answer: PolicyRef(**answer["policy_ref"])
        )

    def _how(self, policy_ref: PolicyRef | None) -> dict[str, Any]:
        how: dict[str, Any] = {}
        if policy_ref is not None:
            how["policy_ref"] = {
                "policy_id": policy_ref.policy_id,
                "params_hash": policy_ref.params_hash,
            }
        if self.corpus is not None:
            how["corpus"] = self.corpus
        return how

    async def _post(self, path: str, body: dict[str, Any], made: Callable[[Any], Made]) -> Made:
        """What an answer is made into, waited for in a thread."""
        answer = await asyncio.to_thread(self._send, path, body)
        try:
            return made(answer)
        except (KeyError, TypeError):
            raise HttpError("HTTP_ERROR", f"{self.base_url}: not a Graph Kernel's answer") from None

    def _send(self, path: str, body: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(
            self.base_url + path, json.dumps(body).encode(), headers, method="POST"
        )
        try:
            return json.loads(received(self._opener, request, self.timeout, MOST))
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
            raise HttpError("HTTP_ERROR", f"{self.base_url}: {error}") from None


def _refusal(error: urllib.error.HTTPError) -> Exception:
    """What a Graph Kernel says of a request that it refuses."""
    try:
        said = json.loads(error.read(1 << 16))
        return error_of(said["code"], said["error"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, http.client.HTTPException):
        return HttpError("HTTP_ERROR", f"status {error.code}")
