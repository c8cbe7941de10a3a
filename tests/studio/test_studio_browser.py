"""Every view in a real browser: nothing from elsewhere, no error, by keyboard, without script."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ragdb.studio.pages import VIEWS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

PAGES = [
    "/studio/search?corpus=docs&q=refunds",
    "/studio/search?corpus=hostile&q=zebra",
    "/studio/traces",
    "/studio/traces/{trace}?replay=true",
    "/studio/slices?corpus=chat",
    "/studio/slices/graph?corpus=chat&anchor={turn}&max_nodes=2",
    "/studio/documents?corpus=hostile",
    "/studio/documents/show?corpus=handbook&document={source}&chunk={page}&quote=both+hands",
    "/studio/search/why?corpus=hostile&q=zebra&chunk={hostile}&k=1",
]


def elsewhere(url: str) -> list[str]:
    return [] if url.startswith(("http://127.0.0.1:", "data:")) else [url]


def watched(context: BrowserContext) -> tuple[Page, list[str]]:
    """A page, and what it must not do."""
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", lambda asked: wrong.extend(elsewhere(asked.url)))
    return page, wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_each_view_is_whole(
    visit: Callable[..., BrowserContext], ids: dict[str, str], scheme: str, width: int
) -> None:
    context = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page, wrong = watched(context)
    for path in PAGES:
        answer = page.goto(path.format(**ids))
        assert answer is not None
        assert answer.status == 200, path
        assert page.locator("h1").count() == 1, path
        too_wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert too_wide <= 0, path
    assert wrong == []


def test_a_journey_by_keyboard(visit: Callable[..., BrowserContext]) -> None:
    page, wrong = watched(visit())
    page.goto("/studio/search?corpus=docs")
    # the browser focuses the field when it first paints, which may be after the page has loaded
    page.locator(".question:focus").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("refunds")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=refunds**")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator(".hit details[open]").count() == 1
    # in an empty search what is typed goes into its field: it comes last
    for name, _, key in sorted(VIEWS, key=lambda view: view[0] == "search"):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/studio/{name}")
    assert wrong == []


def test_it_works_without_script(visit: Callable[..., BrowserContext], ids: dict[str, str]) -> None:
    page, wrong = watched(visit(java_script_enabled=False))
    page.goto("/studio/search?corpus=docs")
    page.fill(".question", "refunds")
    page.click(".ask button")
    assert page.locator(".hit").count() > 0
    page.goto(f"/studio/slices/graph?corpus=chat&anchor={ids['turn']}")
    assert page.locator(".graph .admitted").count() == 3
    page.fill("[name=max_nodes]", "2")
    page.click(".policy button")
    assert page.locator(".graph .admitted").count() == 1
    assert page.locator(".graph .left").count() == 2
    page.goto("/studio/traces")
    page.select_option("[name=corpus]", "edited")
    page.click(".filters button")
    page.click(".list a")
    page.click("a.button")
    assert page.locator(".diff tr.left").count() == 1
    assert wrong == []
