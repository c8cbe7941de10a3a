"""Fetching a URL: allowed addresses, and limits of size and time."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest

import ragdb
from ragdb.contracts.declarations import DeclaredSource
from ragdb.ingest.fetch import Fetched, checked, fetch, post
from ragdb.ingest.networks import is_public
from ragdb.readers.document import ReadError
from tests.server.test_tls import certified

PACKED = gzip.compress(b"x" * 10_000_000)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        name = self.path.partition("?")[0].strip("/").replace("-", "_")
        getattr(self, f"give_{name}", self.give_missing)()

    def give(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.server.sent.append(status)  # type: ignore[attr-defined]
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def give_page(self) -> None:
        if self.headers["If-None-Match"] == '"v1"':
            self.give(status=304, ETag='"v1"')
        else:
            self.give(b"<p>hello", ETag='"v1"', Content_Type="text/html; charset=utf-8")

    def give_hop(self) -> None:
        self.give(status=302, Location="/page")

    do_POST = do_GET

    def give_in_clear(self) -> None:
        self.give(status=302, Location=f"http://127.0.0.1:{self.server.server_port}/page")  # type: ignore[attr-defined]

    def give_loop(self) -> None:
        self.give(status=302, Location="/loop")

    def give_to_file(self) -> None:
        self.give(status=302, Location="file:///etc/passwd")

    def give_missing(self) -> None:
        self.give(b"no", status=404)

    def give_packed(self) -> None:
        self.give(PACKED, Content_Encoding="gzip")

    def give_half_packed(self) -> None:
        self.give(PACKED[: len(PACKED) // 2], Content_Encoding="gzip")

    def give_torn(self) -> None:
        self.give(b"no gzip", Content_Encoding="gzip")

    def give_tagged(self) -> None:
        self.give(b"page", ETag="x" * 2000)

    def give_short(self) -> None:
        self.give(b"only this", Content_Length="1000")

    def give_liar(self) -> None:
        self.give(b"", Content_Length="99999999999")

    def give_slow(self) -> None:
        self.give(b"", Content_Length="1000")
        self.drip()

    def give_without_length(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.drip()

    def drip(self) -> None:
        with_pause = self.server.stopping  # type: ignore[attr-defined]
        for _ in range(1000):
            if with_pause.wait(0.05):
                return
            try:
                self.wfile.write(b"x")
            except OSError:
                return

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []
        self.sent: list[int] = []
        self.stopping = threading.Event()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.stopping.set()
    server.shutdown()
    thread.join()
    server.server_close()


def url(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def refused(address: str, **options: object) -> ReadError:
    with pytest.raises(ReadError) as raised:
        fetch(address, **options)  # type: ignore[arg-type]
    return raised.value


def test_a_page_comes_with_its_type_and_etag_and_again_only_when_it_changed(
    server: Server,
) -> None:
    first = fetch(url(server, "/page"), allow_private=True)
    second = fetch(url(server, "/page"), etag=first.etag, allow_private=True)

    assert first == Fetched(b"<p>hello", "text/html; charset=utf-8", '"v1"')
    assert second.data is None


def test_redirects_are_followed_some_way(server: Server) -> None:
    assert fetch(url(server, "/hop"), allow_private=True).data == b"<p>hello"
    assert refused(url(server, "/loop"), allow_private=True).code == "bad_url"
    assert len([path for path in server.paths if path == "/loop"]) == 6


def test_what_is_meant_for_one_host_goes_to_no_other(server: Server) -> None:
    sent = {"Authorization": "Bearer secret"}
    assert refused(url(server, "/hop"), allow_private=True, headers=sent).code == "bad_url"
    with pytest.raises(ReadError) as raised:
        post(url(server, "/hop"), b"{}", allow_private=True, headers=sent)
    assert raised.value.code == "bad_url"
    assert server.paths == ["/hop", "/hop"]


def test_https_is_that_of_the_host_and_stays_https(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.socket = certified(tmp_path).wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    page = f"https://localhost:{server.server_port}/page"
    assert refused(page, allow_private=True).code == "unreachable"  # nobody vouches for it
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    assert fetch(page, allow_private=True).data == b"<p>hello"
    # of the same server by another name
    named = page.replace("localhost", "127.0.0.1")
    assert refused(named, allow_private=True).code == "unreachable"
    left = refused(page.replace("page", "in-clear"), allow_private=True)
    assert (left.code, left.reason) == ("bad_url", "it redirects from https to http")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/missing", "http_status"),
        ("/to-file", "bad_url"),
        ("/short", "unreachable"),
        ("/liar", "too_large"),
        ("/packed", "too_large"),
    ],
)
def test_what_a_server_may_do_wrong_is_named(server: Server, path: str, code: str) -> None:
    assert refused(url(server, path), allow_private=True, max_bytes=1_000_000).code == code


def test_data_that_are_no_gzip_are_called_so(server: Server) -> None:
    assert "gzip" in refused(url(server, "/torn"), allow_private=True).reason


def test_what_unpacks_to_much_takes_no_room_and_is_whole(server: Server) -> None:
    tracemalloc.start()
    assert refused(url(server, "/packed"), allow_private=True, max_bytes=100_000).code
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5_000_000
    assert refused(url(server, "/half-packed"), allow_private=True).code == "unreachable"


def test_a_page_may_be_as_large_as_is_allowed(server: Server) -> None:
    assert fetch(url(server, "/tagged"), allow_private=True, max_bytes=4).data == b"page"


def test_an_etag_too_long_to_keep_costs_no_page(server: Server) -> None:
    fetched = fetch(url(server, "/tagged"), allow_private=True)
    assert (fetched.data, fetched.etag) == (b"page", None)


@pytest.mark.parametrize("page", ["/slow", "/without-length"])
def test_a_slow_server_is_left_at_the_deadline(server: Server, page: str) -> None:
    began = time.monotonic()

    error = refused(url(server, page), allow_private=True, seconds=0.5)

    assert error.code == "timeout"
    assert time.monotonic() - began < 30


HOSTS = [
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "localhost"),
    *("10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"),
    *("[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[2002:7f00:1::]"),
    *("[64:ff9b::7f00:1]", "[2001:0:0:0:0:0:80ff:fffe]", "[fec0::1]", "[::7f00:1]", "[ff02::1]"),
    *("192.0.0.192", "168.63.129.16", "192.88.99.1", "198.18.0.1", "203.0.113.9", "240.0.0.1"),
    *("[64:ff9b:1::7f00:1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[64:ff9b::a83f:8110]"),
]


@pytest.mark.parametrize("host", HOSTS)
def test_a_private_address_is_refused_without_a_connection(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("connected")

    monkeypatch.setattr(socket.socket, "connect", connect)

    assert refused(f"http://{host}:8080/").code in ("forbidden_address", "unreachable")


def test_a_redirect_to_a_private_address_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the host is public when first asked for, as with a name that is bound anew
    checked: list[str] = []

    def public_once(address: str) -> bool:
        checked.append(address)
        return len(checked) == 1

    monkeypatch.setattr("ragdb.ingest.fetch.is_public", public_once)

    assert refused(url(server, "/hop")).code == "forbidden_address"
    assert server.paths == ["/hop"]


def test_the_connection_goes_to_the_address_that_was_checked(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[str] = []

    def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        answers.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.server_port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    fetch("http://rebinding.example/page", allow_private=True)

    assert answers == ["rebinding.example"]


def test_one_private_address_among_public_ones_is_enough_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))
        for address in ("93.184.215.14", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    assert refused("http://mixed.example/").code == "forbidden_address"


@pytest.mark.parametrize(
    "address",
    [
        "93.184.215.14",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "2001:4860:4860::8888",
        "64:ff9b::808:808",
        "223.255.255.254",
        "172.32.0.1",
        "100.128.0.1",
    ],
)
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    ["http://u:p@e.org/", "http://u@e.org/", "http://e.org/\x7f",
     "http:///x", "http://e.org:0/", "http://e.org:x/", "http://e.org/a b",
     "file:///etc/passwd", "simplecache::http://e.org/", "local://x"],
)  # fmt: skip
def test_a_url_that_hides_where_it_goes_is_refused(address: str) -> None:
    assert refused(address).code == "bad_url"


def test_another_scheme_is_read_by_fsspec() -> None:
    import fsspec  # type: ignore[import-untyped]

    fsspec.filesystem("memory").pipe("/bucket/a.md", b"# remote")

    def read(name: str, **more: Any) -> Fetched:
        return fetch(f"memory://bucket/{name}", allow_private=True, **more)

    assert read("a.md", max_bytes=8).data == b"# remote"
    for name, more, code in (("a.md", {"max_bytes": 3}, "too_large"), ("b.md", {}, "unreachable")):
        with pytest.raises(ReadError) as caught:
            read(name, **more)
        assert caught.value.code == code


def test_a_store_that_does_not_answer_is_a_source_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe("/globbed/a.md", b"# remote")
    source = DeclaredSource("s", "docs", "s3", "memory://globbed/*.md", {})
    found = source.find(Path(), allow_private=True)
    assert [one.uri.rsplit("/", 1)[1] for one in found.sources] == ["a.md"]

    def no_answer(self: object, path: str) -> None:
        raise PermissionError("no rights")

    monkeypatch.setattr(type(store), "glob", no_answer)
    found = source.find(Path(), allow_private=True)
    assert [(uri, error.code) for uri, error in found.failed] == [(source.uri, "unreachable")]


@pytest.mark.parametrize("scheme", ["ftp", "webhdfs", "sftp", "smb", "git", "dask", "libarchive"])
def test_a_scheme_that_may_lead_anywhere_is_refused_without_a_connection(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("connected")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr("socket.create_connection", connect)

    assert refused(f"{scheme}://127.0.0.1:9/a.md").code == "forbidden_address"


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)

    error = refused("s3://bucket/a.md")

    assert error.code == "missing_extra"
    assert "ragdb-postgres[remote]" in error.hint


def test_a_page_that_is_as_it_was_is_not_sent_again(
    db: psycopg.Connection[Any], server: Server
) -> None:
    database = ragdb.Database(db)
    page = url(server, "/page")
    runs = [
        database.ingest(page, corpus="docs", allow_private=True, **options)
        for options in ({}, {}, {"max_tokens": 100}, {"max_tokens": 100}, {"force": True})
    ]
    found = [(run.written, run.unchanged, run.failed) for run in runs]
    assert found == [(1, 0, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
    # other chunking, and force, need the bytes
    assert server.sent == [200, 304, 200, 304, 200]
    assert runs[1].files[0].doc_cid == runs[0].files[0].doc_cid
    assert [source.etag for source in database.get_source("docs", page)] == ['"v1"']
    # a page that is new in a corpus that is not: another document, though its bytes are known
    assert database.get_source("docs", f"{page}?other") == []
    assert database.ingest(f"{page}?other", corpus="docs", allow_private=True).written == 1
    assert database.ingest(f"{page}?other", corpus="docs", allow_private=True).unchanged == 1


@pytest.mark.parametrize(
    ("variable", "is_told"),
    [("HTTPS_PROXY", True), ("all_proxy", True), ("http_proxy", False), ("RAGDB_X", False)],
)
def test_behind_a_proxy_a_host_that_only_the_proxy_knows_has_another_way(
    monkeypatch: pytest.MonkeyPatch, variable: str, is_told: bool
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv(variable, "http://proxy.example:3128")
    monkeypatch.setattr("socket.getaddrinfo", Mock(side_effect=OSError(-2, "unknown")))
    with pytest.raises(ReadError, match="is not known") as failed:
        fetch("https://docs.example/a")
    hint = str(failed.value.hint)
    assert hint.startswith("check the URL")
    assert ("no proxy is used" in hint) == is_told


def test_an_address_of_a_link_keeps_its_link() -> None:
    number, name = socket.if_nameindex()[0]
    assert checked(f"http://[fe80::1%{name}]/", True) == f"fe80::1%{number}"
    assert checked("http://[fe80::1]/", True) == "fe80::1"
    with pytest.raises(ReadError, match="not on the public internet"):
        checked(f"http://[fe80::1%{name}]/")
