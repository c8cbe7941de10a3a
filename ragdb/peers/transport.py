"""Requests to the HTTP servers of peers: where they go, by which token, how much comes back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from ragdb.client.rows import held, loads
from ragdb.ingest.fetch import fetch, post
from ragdb.peers import PeerError
from ragdb.readers.document import ReadError

MAX_BYTES = 128 * 2**20
"""Of an answer: a page has a document at least, which JSON may quote to twice its size."""
ASKED_BY_PEER = "Ragdb-Asked-By-Peer"
TOKEN = "RAGDB_PEER_TOKEN_"


@dataclass(frozen=True)
class Link:
    """How a peer is reached. The token is in no message and in no repr."""

    name: str
    url: str
    token: str | None
    allow_private: bool = False
    seconds: float = 30
    max_bytes: int = MAX_BYTES

    def __repr__(self) -> str:
        return f"<Link to {self.name} at {self.url}>"

    def get(self, path: str, **query: Any) -> Any:
        """The JSON that a route answers. Raises PeerError."""
        url = self._url(path) + ("?" + urlencode(query) if query else "")
        return self._read(lambda how: fetch(url, **how))

    def post(self, path: str, body: Any) -> Any:
        """The JSON that a route answers to a body. Raises PeerError."""
        data = json.dumps(body).encode()
        return self._read(lambda how: post(self._url(path), data, **how))

    def _url(self, path: str) -> str:
        if self.url.lower().startswith("http://") and not self.allow_private:
            raise PeerError(
                f"peer {self.name} is at an http URL, where all can read the token on its way",
                hint="use https; for a peer in your own network, add --allow-private",
            )
        return self.url.rstrip("/") + path

    def _read(self, ask: Any) -> Any:
        # who is asked by a peer asks no other: a question does not go round
        headers = {ASKED_BY_PEER: "1"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            got = ask(
                {
                    "headers": headers,
                    "max_bytes": self.max_bytes,
                    "seconds": self.seconds,
                    "allow_private": self.allow_private,
                }
            )
            value = loads(got.data)
            held(value)
            return value
        except ReadError as error:
            raise PeerError(
                f"peer {self.name}: {error.reason}",
                hint=_REFUSED.get(error.reason) or _REFUSED.get(error.code, error.hint),
                exit_code=3,
            ) from None
        except (ValueError, TypeError, RecursionError):
            raise PeerError(
                f"peer {self.name} answered what is not JSON that a database holds", exit_code=3
            ) from None


# what to do about a peer's answer, by its reason or its code; of any other, the URL is in doubt
_REFUSED = {
    "too_large": "nobody takes more of a peer at once: ask its operator what it sends",
    "the server answers 401": "ask its operator for a token",
    "the server answers 404": "ask its operator whether the corpus is shared, and with whom",
}


def part(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


def token_of(name: str, file: Path | None = None) -> str | None:
    """The token for a peer: of a file, or of its environment variable."""
    if file is not None:
        return file.read_text(errors="replace").strip() or None
    return os.environ.get(variable(name), "").strip() or None


def variable(name: str) -> str:
    """The environment variable that holds the token for a peer."""
    return TOKEN + name.upper().replace("-", "_")
