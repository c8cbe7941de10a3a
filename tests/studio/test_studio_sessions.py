"""Who gets in, for how long, and which forms are obeyed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2 as httpx
import psycopg
import pytest

from ragdb.studio import sessions
from ragdb.studio.pages import VIEWS
from tests.embedding import one
from tests.forked import Forked
from tests.http.conftest import Api
from tests.studio.conftest import HOSTILE, logged_in
from tests.studio.test_studio_feedback import forms

COOKIE = "ragdb_session"


@pytest.fixture
def database(site: Api) -> Iterator[psycopg.Connection]:
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        yield connection


def is_open(client: httpx.Client) -> bool:
    answer = client.get("/studio/search")
    if answer.status_code == 303:
        assert answer.headers["location"] == "../studio/login?next=%2Fsearch"
        return False
    assert answer.status_code == 200
    return True


def test_a_token_opens_a_session_whose_secret_only_its_browser_has(
    site: Api, database: psycopg.Connection
) -> None:
    with logged_in(site) as client:
        assert is_open(client)
        secret = client.cookies[COOKIE]
        stored = database.execute("select session_hash from ragdb.http_sessions").fetchall()
        assert (hashlib.sha256(secret.encode()).digest(),) in stored
        cookie = client.post("/studio/login", data={"token": site.tokens["reader"]}).headers[
            "set-cookie"
        ]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        # a proxy on this machine says how it was asked
        for scheme, is_secure in (("http", False), ("https", True)):
            answer = client.post(
                "/studio/login",
                data={"token": site.tokens["reader"]},
                headers={
                    "X-Forwarded-Proto": scheme,
                    "Origin": f"{scheme}://{client.base_url.netloc.decode()}",
                },
            )
            assert ("Secure" in answer.headers["set-cookie"]) == is_secure


@pytest.mark.parametrize("secret", ["", "rgs_" + "0" * 64, "'; drop table x", "\x7f"])
def test_a_forged_session_is_led_to_the_login(site: Api, secret: str) -> None:
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}) as client:
        client.cookies.set(COOKIE, secret)
        assert not is_open(client)


def test_a_wrong_token_says_so_and_opens_nothing(site: Api) -> None:
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}) as client:
        fields = {"token": "rgh_wrong", "next": "/search?q=a&k=3"}
        led = client.post("/studio/login", data=fields)
        # a page of its own, which the browser loads again without asking
        assert led.status_code == 303
        assert "rgh_wrong" not in led.headers["location"]
        answer = client.get(led.url.join(led.headers["location"]))
        assert answer.status_code == 401
        assert "unknown, revoked or expired" in answer.text
        assert 'name="next" value="/search?q=a&amp;k=3"' in answer.text
        assert COOKIE not in client.cookies


def test_a_wrong_token_leaves_what_was_written(site: Api) -> None:
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}) as client:
        fields = {"token": "rgh_wrong", "written": "not <b>that</b> one"}
        answer = client.post("/studio/login", data=fields)
        assert answer.status_code == 401
        assert "unknown, revoked or expired" in answer.text
        assert "not &lt;b&gt;that&lt;/b&gt; one" in answer.text


@pytest.mark.parametrize(
    "change",
    [
        "seen_at = seen_at - interval '61 minutes'",
        "created_at = created_at - interval '12 hours'",
        "role_oid = 1",
    ],
    ids=["idle", "old", "of a role that is gone"],
)
def test_a_session_ends(site: Api, database: psycopg.Connection, change: str) -> None:
    with logged_in(site) as client:
        mine = hashlib.sha256(client.cookies[COOKIE].encode()).digest()
        database.execute(
            f"update ragdb.http_sessions set {change} where session_hash = %s",
            [mine],
        )
        assert not is_open(client)


@pytest.mark.parametrize("end", ["it is old", "its browser logged out"])
def test_a_form_of_a_session_that_is_over_shows_what_was_written(
    site: Api, database: psycopg.Connection, end: str
) -> None:
    with logged_in(site) as client:
        here = "/search?corpus=docs&q=refunds"
        (form, *_) = forms(client.get(f"/studio{here}").text)
        if end == "it is old":
            mine = hashlib.sha256(client.cookies[COOKIE].encode()).digest()
            database.execute("delete from ragdb.http_sessions where session_hash = %s", [mine])
        else:
            client.cookies.clear()
        said = {"verdict": "bad", "comment": "not <b>that</b> one"}
        answer = client.post(
            "/studio/feedback", data=form | said, headers={"Referer": f"{site.url}/studio{here}"}
        )
        assert answer.status_code == 401
        assert "Your session is over" in answer.text
        assert "not &lt;b&gt;that&lt;/b&gt; one" in answer.text
        assert f'name="next" value="{here}"'.replace("&", "&amp;") in answer.text
        assert COOKIE not in client.cookies


def test_what_is_refused_leads_back_to_the_page_that_it_is_of(site: Api) -> None:
    with logged_in(site) as client:
        here = "/search?corpus=docs&q=refunds"
        (form, *_) = forms(client.get(f"/studio{here}").text)
        for page, back in (
            (f"/studio{here}", f'{here}">Back<'),
            ("//[", '/search">Back to Studio<'),
        ):
            came = {"Referer": f"{site.url}{page}" if page != "//[" else page}
            for answer in (
                client.post("/studio/feedback", data=form | {"verdict": "<b>"}, headers=came),
                client.get("/studio/slices/graph?corpus=docs&anchor=nosuch", headers=came),
            ):
                assert answer.status_code in (400, 404)
                assert f"/studio{back}".replace("&", "&amp;") in answer.text


@pytest.mark.parametrize("page", ["/docs", "/elsewhere", "/studiox/y", "//["])
def test_a_form_of_no_page_of_studio_leads_to_its_first_page(site: Api, page: str) -> None:
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}) as client:
        answer = client.post(
            "/studio/feedback", data={"verdict": "bad"}, headers={"Referer": site.url + page}
        )
        assert answer.status_code == 401
        assert 'name="next" value="/search"' in answer.text


def test_who_logs_out_in_two_tabs_is_led_to_the_login_by_both(site: Api) -> None:
    with logged_in(site) as client:
        form = client.get("/studio/search").text.partition('name="csrf" value="')[2][:64]
        for _ in range(2):
            answer = client.post("/studio/logout", data={"csrf": form})
            assert (answer.status_code, answer.headers["location"]) == (303, "../studio/login")
            assert COOKIE not in client.cookies


@pytest.mark.parametrize("end", ["revoke", "expire"])
def test_a_session_ends_with_its_token(site: Api, database: psycopg.Connection, end: str) -> None:
    token = one(database, "select ragdb.create_http_token('reader', 'short')")
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}) as client:
        client.post("/studio/login", data={"token": token})
        assert is_open(client)
        if end == "expire":
            database.execute("update ragdb.http_tokens set expires_at = now() where name = 'short'")
            assert not is_open(client)
        database.execute("select ragdb.revoke_http_token('short')")
        assert not is_open(client)


def test_logging_out_ends_the_session_for_who_copied_the_cookie_too(site: Api) -> None:
    with logged_in(site) as client, httpx.Client(base_url=site.url) as thief:
        thief.cookies = httpx.Cookies(client.cookies)
        form = client.get("/studio/search").text.partition('name="csrf" value="')[2][:64]
        assert client.post("/studio/logout", data={"csrf": form}).status_code == 303
        assert not is_open(thief)


@pytest.mark.parametrize(
    ("headers", "csrf"),
    [
        ({}, "0" * 64),
        ({}, ""),
        ({"Origin": "https://elsewhere.example"}, None),
        ({"Origin": "null"}, None),
        ({"Origin": "http://["}, None),
        ({"Sec-Fetch-Site": "cross-site"}, None),
    ],
)
def test_a_form_of_another_site_is_refused(
    site: Api, headers: dict[str, str], csrf: str | None
) -> None:
    with logged_in(site) as client:
        form = client.get("/studio/search").text.partition('name="csrf" value="')[2][:64]
        answer = client.post(
            "/studio/logout", data={"csrf": form if csrf is None else csrf}, headers=headers
        )
        assert answer.status_code == 403
        assert is_open(client)


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        (FORM, "token={}", 303),
        (f"{FORM.title()}; charset=utf-8", "token=+{}+", 303),
        ("text/plain", "token={}", 400),
        ("application/json", '{{"token": "{}"}}', 400),
        (FORM, "token={}&next=%ff", 400),
        (FORM, "token={}" + 99 * "&x=", 303),
        (FORM, "token={}" + 100 * "&x=", 400),
        (FORM, "token={}&x=" + 60_000 * "x", 303),
        (FORM, "token={}&x=" + 66_000 * "x", 413),
    ],
    ids=["form", "header", "text", "JSON", "no UTF-8", "100", "101 fields", "60 KB", "66 KB"],
)
def test_only_what_is_a_form_is_read(site: Api, kind: str, body: str, status: int) -> None:
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}) as client:
        said = body.format(site.tokens["reader"])
        answer = client.post("/studio/login", content=said, headers={"Content-Type": kind})
        assert answer.status_code == status, answer.text
        assert (COOKIE in client.cookies) == (status == 303)


def test_no_other_site_frames_a_page_or_hears_of_it(site: Api) -> None:
    with logged_in(site) as client:
        here = client.get("/studio/search?q=refunds")
        for page in (
            here,
            client.get("/studio/login"),
            client.get("/nowhere"),
            client.get("/docs"),
        ):
            said = page.headers
            policy = dict(
                part.strip().split(" ", 1) for part in said["content-security-policy"].split(";")
            )
            assert policy["frame-ancestors"] == policy["base-uri"] == "'none'", page.url
            assert policy["form-action"] == policy["connect-src"] == "'self'"
            assert said["referrer-policy"] == said["cross-origin-opener-policy"] == "same-origin"
            assert said["cross-origin-resource-policy"] == "same-origin"
            assert said["cache-control"] == "no-store"
            assert said["x-content-type-options"] == "nosniff"
            assert "server" not in said


def test_the_link_of_who_started_it_opens_one_session(
    site: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {**os.environ, "RAGDB_DATABASE_URL": site.dsn}
    with Forked("studio", env=env, stdout=True) as process, ExitStack() as stack:
        stack.callback(process.terminate)
        assert process.stdout is not None
        link = httpx.URL(process.stdout.readline().strip())
        assert link.host == "127.0.0.1"
        with httpx.Client() as client:
            wrong = client.get(link.copy_merge_params({"key": link.params["key"][:-1]}))
            assert (wrong.status_code, COOKIE in client.cookies) == (401, False)
            for _ in range(2):  # the browser that it has let in may come by it again
                assert client.get(link).headers["location"] == "../studio/search"
            assert client.get(link.copy_with(path="/studio/search", query=None)).status_code == 200
        with httpx.Client() as thief:
            again = thief.get(link)
            assert (again.status_code, COOKIE in thief.cookies) == (401, False)
            assert "has been used" in again.text
    monkeypatch.setattr(sessions, "LINK_LIFE", -1.0)
    late = sessions.Link()
    assert not late.opens(late.path.partition("=")[2])


def test_the_cookie_is_nothing_to_the_api(site: Api) -> None:
    with logged_in(site) as client:
        answer = client.get("/api/policies", headers={"Accept": "application/json"})
        assert answer.status_code == 401


def test_a_link_of_another_site_finds_the_session(site: Api) -> None:
    """The browser sends the cookie only once a page of ours asks for the page."""
    with httpx.Client(base_url=site.url) as client:
        path = "/studio/search?q=a%22b"
        answer = client.get(path, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 200
        assert 'content="0;url=../studio/search?q=a%22b"' in answer.text
        assert client.get(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303


@pytest.mark.parametrize(
    "goal",
    [
        "https://elsewhere.example/", "//elsewhere.example", "//elsewhere.example/x",
        "/\\elsewhere", "javascript:x", "javascript:/x", "//[", "search", "/search\r\nX-Y: z",
    ],
)  # fmt: skip
def test_the_login_leads_nowhere_else(site: Api, goal: str) -> None:
    with httpx.Client(base_url=site.url) as client:
        fields = {"token": site.tokens["reader"], "next": goal}
        assert client.post("/studio/login", data=fields).headers["location"] == "../studio/search"


def test_two_roles_see_what_is_theirs(site: Api) -> None:
    with logged_in(site, "admin") as admin, logged_in(site, "reader") as reader:
        assert "secret" in admin.get("/studio/search").text
        assert "secret" not in reader.get("/studio/search").text
        hidden = reader.get("/studio/search", params={"corpus": "secret", "q": "zebra"})
        absent = reader.get("/studio/search", params={"corpus": "absent", "q": "zebra"})
        assert hidden.status_code == absent.status_code == 404
        assert "okapi" not in hidden.text
        assert "okapi" in admin.get("/studio/search?corpus=secret&q=zebra").text


def test_hostile_texts_and_names_are_texts(site: Api) -> None:
    with logged_in(site) as client:
        answer = client.get("/studio/search", params={"corpus": "hostile", "q": "zebra <b>"})
        assert answer.status_code == 200
        assert answer.text.count("<article") == len(HOSTILE)
        assert answer.text.count("<script") == 1  # our own
        assert "<b>&lt;" not in answer.text
        assert "onerror=alert" not in answer.text.replace("&lt;img src=x onerror=alert", "")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize("path", ["/search?k=99", "/search?x=1", "/nowhere"])
def test_a_page_that_is_refused_has_the_menu_of_who_is_in(site: Api, path: str) -> None:
    with logged_in(site) as client:
        refused = client.get(f"/studio{path}")
        assert refused.status_code in (400, 404)
        assert refused.text.count("data-key=") == len(VIEWS)
        form = refused.text.partition('name="csrf" value="')[2][:64]
        assert client.post("/studio/logout", data={"csrf": form}).status_code == 303
        assert not is_open(client)
        assert "data-key=" not in client.get(f"/studio{path}").text


def test_an_error_is_a_page_for_a_browser_and_json_for_a_program(site: Api) -> None:
    with logged_in(site) as client:
        page = client.get("/nowhere")
        assert page.status_code == 404
        assert page.headers["content-type"].startswith("text/html")
        answer = client.get("/nowhere", headers={"Accept": "*/*"})
        assert answer.json()["code"] == "NOT_FOUND"
        assert client.get("/studio/search?x=1").status_code == 400
