"""Fetch a URL without being led into the network that this machine stands in.

A host name is resolved once, every address it has is checked, and the connection goes to the
address that was checked; each redirect begins anew. Proxies of the environment are not used: what
they connect to cannot be checked.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

from ragdb.ingest.networks import is_public, store, unreachable
from ragdb.ingest.source import too_large
from ragdb.ingest.sources import secret_in_url
from ragdb.readers.document import ReadError
from ragdb.readers.limits import MAX_BYTES
from ragdb.version import __version__

_MAX_REDIRECTS = 5
_SECONDS = 60.0
_BLOCK = 65_536
_MAX_ETAG = 256
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a URL gave. `data` is None when it still has the ETag that was sent."""

    data: bytes | None
    media_type: str | None = None
    etag: str | None = None


def fetch(
    url: str,
    *,
    etag: str | None = None,
    max_bytes: int = MAX_BYTES,
    seconds: float = _SECONDS,
    allow_private: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Fetched:
    """GET an http(s) URL, or read a store by fsspec (the extra `ragdb-postgres[remote]`).

    The whole fetch, redirects included, may take so many seconds. With headers, which may be meant
    for that host alone, no redirect is followed. Raises ReadError:
    `forbidden_address` for a host that is not on the public internet (unless allowed), `bad_url`,
    `http_status`, `unreachable`, `timeout`, `too_large`, `missing_extra`.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in _PORTS:
        return _fetch_other(url, max_bytes, allow_private)
    deadline = time.monotonic() + seconds
    for _ in range(_MAX_REDIRECTS + 1):
        parts = _split(url)
        address = _resolve(parts, allow_private)
        sent = dict(headers or {}) | ({"If-None-Match": etag} if etag else {})
        target = _ask(parts, address, sent, None, max_bytes, deadline)
        if isinstance(target, Fetched):
            return target
        if headers is not None:
            raise _redirected()
        if parts.scheme == "https" and urlsplit(target).scheme != "https":
            raise ReadError("bad_url", "it redirects from https to http", "check the URL")
        url = target
    raise ReadError(
        "bad_url", f"it redirects more than {_MAX_REDIRECTS} times", "give the final URL"
    )


def post(
    url: str,
    data: bytes,
    *,
    headers: Mapping[str, str],
    max_bytes: int = MAX_BYTES,
    seconds: float = _SECONDS,
    allow_private: bool = False,
) -> Fetched:
    """POST JSON to an http(s) URL, where `fetch` would go. Raises ReadError as `fetch` does."""
    parts = _split(url)
    sent = {**headers, "Content-Type": "application/json"}
    deadline = time.monotonic() + seconds
    answer = _ask(parts, _resolve(parts, allow_private), sent, data, max_bytes, deadline)
    if not isinstance(answer, Fetched):
        raise _redirected()
    return answer


def _redirected() -> ReadError:
    return ReadError("bad_url", "it redirects elsewhere", "give the final URL")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ReadError("bad_url", "it is not a URL", "check the URL") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise ReadError("bad_url", "it is not an http or https URL", "check the URL")
    if parts.username is not None or parts.password is not None:
        raise secret_in_url()
    if any(c.isspace() or not c.isprintable() for c in url):
        raise ReadError("bad_url", "it has white space or control characters", "encode them")
    return parts


def checked(url: str, allow_private: bool = False) -> str:
    """The IP address of an http(s) URL's host, to connect to. Raises ReadError as `fetch` does."""
    _, (address, _, *zone) = _resolve(_split(url), allow_private)
    # an address of a link has no meaning without its link: the last of four for IPv6
    return f"{address}%{zone[1]}" if zone and zone[1] else str(address)


def _resolve(parts: SplitResult, allow_private: bool) -> tuple[Any, ...]:
    """The first address of the host, with its family; refused if any of them is not public."""
    assert parts.hostname is not None
    try:
        found = socket.getaddrinfo(
            parts.hostname, parts.port or _PORTS[parts.scheme], type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        said = f'the host "{parts.hostname[:80]}" is not known'
        raise ReadError("unreachable", said, _elsewhere(parts.scheme)) from None
    if not allow_private and not all(is_public(str(entry[4][0])) for entry in found):
        raise ReadError(
            "forbidden_address",
            f'the host "{parts.hostname[:80]}" is not on the public internet',
            "add --allow-private if you trust it",
        )
    return found[0][0], found[0][4]


def _elsewhere(scheme: str) -> str:
    """What to do about a host that is not known here, and may be to the proxy of this network."""
    from urllib.request import getproxies_environment

    if {scheme, "all"}.isdisjoint(getproxies_environment()):
        return "check the URL"
    return (
        "check the URL; no proxy is used, so where one leads there, save the page and read the file"
    )


def _ask(
    parts: SplitResult,
    address: tuple[Any, ...],
    sent: Mapping[str, str],
    body: bytes | None,
    max_bytes: int,
    deadline: float,
) -> Fetched | str:
    """One request: what it gave, or where it redirects to."""
    assert parts.hostname is not None
    late = threading.Event()
    connection = http.client.HTTPConnection(parts.hostname, parts.port or _PORTS[parts.scheme])
    family, place = address
    sock = socket.socket(family, socket.SOCK_STREAM)

    def cut() -> None:
        # a server may be slow in each of many ways: this ends any of them
        late.set()
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(deadline - time.monotonic(), 0.001), cut)
    timer.daemon = True
    timer.start()
    try:
        sock.settimeout(max(deadline - time.monotonic(), 0.001))
        sock.connect(place)
        if parts.scheme == "https":
            sock = secured = ssl.create_default_context().wrap_socket(
                sock, server_hostname=parts.hostname, do_handshake_on_connect=False
            )
            secured.do_handshake()
        connection.sock = sock
        path = urlunsplit(
            ("", "", quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._"), parts.query, "")
        )
        headers = {
            "User-Agent": f"ragdb/{__version__}",
            "Accept-Encoding": "gzip, identity",
            "Connection": "close",
            **sent,
        }
        connection.request("GET" if body is None else "POST", path, body, headers)
        with contextlib.closing(connection.getresponse()) as response:
            answer = _answer(response, urlunsplit(parts), max_bytes)
        if late.is_set():  # of a page without a length, being cut looks like its end
            raise TimeoutError
        return answer
    except (ReadError, OSError, http.client.HTTPException, ValueError, zlib.error) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise ReadError("timeout", "it took too long", "try again later") from None
        if isinstance(error, ReadError):
            raise
        if isinstance(error, zlib.error):
            raise ReadError("unreachable", "its gzip data is broken", "check the server") from None
        raise ReadError(
            "unreachable", f"it cannot be fetched ({type(error).__name__})", "check the URL"
        ) from None
    finally:
        timer.cancel()
        connection.close()
        sock.close()


def _answer(response: http.client.HTTPResponse, url: str, max_bytes: int) -> Fetched | str:
    status = response.status
    if status in (301, 302, 303, 307, 308):
        return urljoin(url, response.getheader("Location") or "")
    etag = response.getheader("ETag")
    if etag and len(etag) > _MAX_ETAG:
        etag = None  # the page is worth more than not to fetch it again
    if status == 304:
        return Fetched(None, etag=etag)
    if status != 200:
        raise ReadError("http_status", f"the server answers {status}", "check the URL")
    if (response.length or 0) > max_bytes:
        raise too_large(response.length or 0, max_bytes)
    packing = (response.getheader("Content-Encoding") or "identity").lower()
    if packing not in ("identity", "gzip"):
        raise ReadError("unreachable", f'it is compressed by "{packing[:80]}"', "check the server")
    inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if packing == "gzip" else None
    data = bytearray()
    while block := response.read1(_BLOCK):
        data += inflate.decompress(block, max_bytes + 1 - len(data)) if inflate else block
        if len(data) > max_bytes:
            raise too_large(len(data), max_bytes)
    if response.length or (inflate and not inflate.eof):
        raise ReadError("unreachable", "the answer ends too early", "try again later")
    return Fetched(bytes(data), response.getheader("Content-Type"), etag)


def _fetch_other(url: str, max_bytes: int, allow_private: bool) -> Fetched:
    system, path = store(url, allow_private)
    try:
        about = system.info(path)
        size = about.get("size") or 0
        if size > max_bytes:
            raise too_large(size, max_bytes)
        with system.open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except ReadError:
        raise
    except ImportError as error:
        raise ReadError(
            "missing_extra", str(error)[:200], "pip install 'ragdb-postgres[remote]'"
        ) from None
    except Exception as error:
        # each file system of fsspec raises its own
        raise unreachable(error) from None
    if len(data) > max_bytes:
        raise too_large(len(data), max_bytes)
    return Fetched(data, etag=about.get("ETag"))
