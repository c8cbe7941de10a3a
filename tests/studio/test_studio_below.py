"""A proxy serves ragdb below a path of its own, and takes that path away: no page leads past it."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

import httpx2 as httpx
import pytest
from playwright.sync_api import expect

from ragdb.studio.pages import UUID_FORM
from tests.http.conftest import Api
from tests.studio.test_studio_feedback import forms

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PREFIX = "/rag"
OWN = ("connection", "transfer-encoding", "content-length", "content-encoding")


@pytest.fixture(scope="module")
def below(site: Api) -> Iterator[str]:
    """The address of the site behind such a proxy."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if not self.path.startswith(f"{PREFIX}/"):
                self.send_error(404, "not below the path")
                return
            answer = httpx.request(
                self.command,
                site.url + self.path.removeprefix(PREFIX),
                content=body,
                headers={k: v for k, v in self.headers.items() if k.lower() not in OWN},
            )
            self.send_response(answer.status_code)
            for name, value in answer.headers.multi_items():
                if name not in OWN:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = forward

        def log_message(self, *_: object) -> None: ...

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{proxy.server_port}"
    proxy.shutdown()
    proxy.server_close()


@pytest.fixture
def client(below: str, site: Api) -> Iterator[httpx.Client]:
    """A browser that has logged in through the proxy."""
    with httpx.Client(base_url=below, headers={"Accept": "text/html"}) as client:
        data = {"token": site.tokens["reader"], "next": "/documents?corpus=docs"}
        answer = client.post(f"{PREFIX}/studio/login", data=data)
        assert answer.next_request is not None
        assert answer.next_request.url == f"{below}{PREFIX}/studio/documents?corpus=docs"
        yield client


class Links(HTMLParser):
    """Where a page leads, what it loads, and where its forms go."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(name, to) for name, to in attrs if name in ("href", "src", "action") and to]


def test_every_link_of_every_page_stays_below_the_path(client: httpx.Client, below: str) -> None:
    """One page of each kind is opened, and no link of it leads elsewhere."""
    ahead, kinds = [f"{below}{PREFIX}/studio/"], set[str]()
    while ahead:
        page = ahead.pop()
        answer = client.get(page)
        while answer.next_request is not None:
            answer = client.send(answer.next_request)
        # another role ran the eval: its trace is not found
        assert answer.status_code == 200 or (answer.status_code == 404 and "/traces/" in page), page
        assert str(answer.url).startswith(f"{below}{PREFIX}/studio/"), page
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        for name, to in Links(answer.text).found:
            goal = urldefrag(urljoin(str(answer.url), to)).url
            assert goal.startswith(f"{below}{PREFIX}/studio/"), (page, to)
            kind = UUID_FORM.sub("*", goal.removeprefix(f"{below}{PREFIX}/studio").split("?")[0])
            if name != "action" and kind not in kinds:
                kinds.add(kind)
                ahead.append(goal)
    assert {"/documents/show", "/evals/run/*", "/traces/*", "/answers/*", "/map"} < kinds


def test_forms_and_the_way_back_stay_below_the_path(client: httpx.Client, below: str) -> None:
    here = f"{PREFIX}/studio/search?corpus=docs&q=refunds"
    (form, *_) = forms(client.get(here).text)
    answer = client.post(f"{PREFIX}/studio/feedback", data=form | {"verdict": "good"})
    assert answer.next_request is not None
    thanks = client.send(answer.next_request)
    back = [to for name, to in Links(thanks.text).found if "q=refunds" in to]
    assert [urljoin(str(thanks.url), to) for to in back] == [below + here]
    answer = client.post(f"{PREFIX}/studio/logout", data={"csrf": form["csrf"]})
    assert answer.next_request is not None
    assert answer.next_request.url == f"{below}{PREFIX}/studio/login"
    assert not client.cookies


# what draws the document is not ours, and takes as long as five pages of ours: by night it draws
INSTEAD = "SwaggerUIBundle = ({spec}) => { document.body.dataset.server = spec.servers[0].url; };"


@pytest.mark.nightly
@pytest.mark.parametrize("is_drawn", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_page_of_routes_asks_below_the_path(
    browser: Browser, below: str, is_drawn: bool
) -> None:
    page = browser.new_page()
    if not is_drawn:
        page.route(
            "**/swagger-ui-bundle.js",
            lambda route: route.fulfill(body=INSTEAD, content_type="text/javascript"),
        )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{below}{PREFIX}/docs")
    place, attribute = (".servers option", "value") if is_drawn else ("body", "data-server")
    expect(page.locator(place)).to_have_attribute(attribute, PREFIX, timeout=300_000)
    assert f"{below}{PREFIX}/openapi.json" in asked
    assert all(url.startswith((f"{below}{PREFIX}/", "data:")) for url in asked), asked
    page.close()
