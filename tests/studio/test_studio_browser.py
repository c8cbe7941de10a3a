"""Every view in a real browser: nothing from elsewhere, no error, by keyboard, without script."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ragdb.studio.pages import VIEWS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

PAGES = ["/studio/search?corpus=docs&q=refunds", "/studio/search?corpus=hostile&q=zebra"]


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
def test_each_view_is_whole(visit: Callable[..., BrowserContext], scheme: str, width: int) -> None:
    context = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page, wrong = watched(context)
    for path in PAGES:
        page.goto(path)
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
    for name, _, key in VIEWS:
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/studio/{name}")
    assert wrong == []


def test_it_works_without_script(visit: Callable[..., BrowserContext]) -> None:
    page, wrong = watched(visit(java_script_enabled=False))
    page.goto("/studio/search?corpus=docs")
    page.fill(".question", "refunds")
    page.click(".ask button")
    assert page.locator(".hit").count() > 0
    assert wrong == []
