"""Every view in a real browser: nothing from elsewhere, no error, by keyboard, without script."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin

import pypdfium2 as pdfium  # type: ignore[import-untyped]
import pytest
from playwright.sync_api import expect

import ragdb
from ragdb.studio.app import WRONG_TOKEN
from ragdb.studio.pages import VIEWS
from tests.http.conftest import Api
from tests.studio.conftest import CASES, LONG, report

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Route

pytestmark = pytest.mark.long
# a click or a key may return before its page has come: what it leads to is waited for
expect.set_options(timeout=120_000)

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN = """;
axe.run({resultTypes: ['violations'], selectors: false}).then(
  r => r.violations.map(v => v.id + ' ' + v.nodes[0].html))"""
PAGES = [
    "/studio/search?corpus=docs&q=refunds",
    "/studio/search?corpus=hostile&q=zebra",
    "/studio/login",
    "/studio/traces?slower=3600000",
    "/studio/traces/{trace}?replay=true",
    "/studio/slices?corpus=chat",
    "/studio/slices/graph?corpus=chat&anchor={turn}&max_nodes=2",
    "/studio/documents?corpus=hostile",
    "/studio/documents/show?corpus=handbook&document={source}&chunk={page}&quote=both+hands",
    "/studio/documents/show?corpus=hostile&document=" + LONG,
    "/studio/search/why?corpus=hostile&q=zebra&chunk={hostile}&k=1",
    "/studio/evals",
    "/studio/evals/history?rag=Help&eval=V",
    "/studio/answers",
    "/studio/health",
    "/studio/map?corpus=vectors&q=refunds",
]
# what reaches beyond the window, where the page is wider than that
# an empty one asks for no room; the number, or what a score is made of, is wider than its place
CUT = """
[...document.querySelectorAll('main input:not([type=hidden]), .hit .scroll')]
  .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth).map(e => e.outerHTML)
"""
# a badge that a row stretches: its word stands at its upper edge
STRETCHED = """
[...document.querySelectorAll('.badge')].filter(e => {
  const style = getComputedStyle(e);
  return style.whiteSpace === 'nowrap' && e.offsetHeight > parseFloat(style.lineHeight) + 3;
}).map(e => e.outerHTML)
"""
TOO_WIDE = """
document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll('main *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 120)).concat('?').slice(0, 9)
"""
# pages of an id, found by the first link to one
LINKED = [
    ("/studio/evals", "/studio/evals/run/"),
    ("/studio/evals/history?rag=Help&eval=V", "/studio/evals/compare"),
    ("/studio/answers", "/studio/answers/"),
]


def paths(page: Page) -> list[str]:
    found = []
    for path, begins in LINKED:
        page.goto(path)
        link = page.locator(f'main a[href*="{begins}"]').first
        found.append(urljoin(page.url, link.get_attribute("href") or ""))
    return PAGES + found


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


def violations(session: CDPSession) -> list[str]:
    """What axe-core finds wrong, as people with other senses or hands would meet it."""
    tree = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    world = session.send("Page.createIsolatedWorld", {"frameId": tree, "worldName": "axe"})
    answer = session.send(
        "Runtime.evaluate",
        {
            "expression": AXE + RUN,
            "contextId": world["executionContextId"],
            "awaitPromise": True,
            "returnByValue": True,
        },
    )
    assert "exceptionDetails" not in answer, answer
    found: list[str] = answer["result"]["value"]
    return found


WIDTHS: dict[int, tuple[Literal["light", "dark"], ...]] = {
    360: ("dark", "light"),
    1440: ("light", "dark"),
}


def pressed_when_printed(page: Page) -> list[str]:
    page.emulate_media(media="print")
    seen = "[...document.querySelectorAll('form, button')].filter(e => e.checkVisibility())"
    found: list[str] = page.evaluate(f"{seen}.map(e => e.outerHTML.slice(0, 120))")
    page.emulate_media(media="screen")
    return found


# by day each view is loaded once, and becomes wider; by night it is loaded at each width
@pytest.mark.nightly
@pytest.mark.parametrize(
    "widths", [(360, 1440), *(pytest.param((n,), marks=pytest.mark.nightly) for n in WIDTHS)]
)
def test_each_view_is_whole_and_has_nothing_to_press_when_it_is_printed(
    visit: Callable[..., BrowserContext], ids: dict[str, str], widths: tuple[int, ...]
) -> None:
    context = visit()
    page, wrong = watched(context)
    # of its own world: the page's policy has no place for it
    axe = context.new_cdp_session(page)
    is_night = len(widths) == 1
    for n, path in enumerate(paths(page)):
        page.set_viewport_size({"width": widths[0], "height": 900})
        answer = page.goto(path.format(**ids))
        assert answer is not None
        assert answer.status == 200, path
        assert page.locator("h1").count() == 1, path
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            # a scheme is a matter of the style sheet alone, so the page stays
            for scheme in WIDTHS[width] if is_night else WIDTHS[width][:1]:
                page.emulate_media(color_scheme=scheme)
                assert page.evaluate(TOO_WIDE) == [], (path, scheme)
                assert page.evaluate(CUT) == [], (path, scheme)
                assert page.evaluate(STRETCHED) == [], (path, scheme)
            # axe takes its time: by day each view at one of the widths
            if is_night or n % 2 == (width > 1000):
                assert violations(axe) == [], path
        assert pressed_when_printed(page) == [], path
    assert wrong == []


# how much of its row a question has beside what makes it a case of an eval with a long name
ROOM = """
() => {
  const row = document.querySelector(".question-row:has(form)");
  row.querySelector("button").textContent = "w".repeat(150);
  return row.querySelector("p").offsetWidth / row.offsetWidth;
}"""


@pytest.mark.parametrize("width", [360, 1024])
def test_a_question_has_room_beside_an_eval_with_a_long_name(
    visit: Callable[..., BrowserContext], width: int
) -> None:
    page, wrong = watched(visit(viewport={"width": width, "height": 900}))
    page.goto("/studio/answers?corpus=docs")
    assert page.evaluate(ROOM) > 0.4
    assert page.evaluate(TOO_WIDE) == []
    assert wrong == []


def test_a_choice_is_as_wide_as_what_is_chosen_may_be(
    visit: Callable[..., BrowserContext],
) -> None:
    """The name of one corpus leaves no gap beside it."""
    page, _ = watched(visit(viewport={"width": 1024, "height": 900}))
    page.goto("/studio/search?corpus=docs")
    ends = "e => e.getBoundingClientRect().right"
    for label in page.locator(".options label:has(select)").all():
        assert label.evaluate(ends) - label.locator("select").evaluate(ends) < 8
    for button in page.locator(".who button").all():
        assert button.evaluate("e => e.getClientRects().length && e.offsetHeight") < 32


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
    expect(page.locator(".hit details[open]")).to_have_count(1)
    # from a hit, and from a field as well: what is typed then takes the question's place
    for field in (
        ".hit[tabindex]",
        "main select, main input:not([type=search]):not([type=hidden])",
    ):
        page.locator(field).first.focus()
        page.keyboard.press("Control+k")
        page.locator(".question:focus").wait_for()
        assert page.evaluate("getSelection().toString()") == "refunds"
    page.keyboard.press("Escape")
    for name, _, key in VIEWS:
        if page.locator("[autofocus]").count():
            page.locator("[autofocus]:focus").wait_for()
            page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(re.compile(rf"/studio/{name}(\?corpus=docs)?$"))
    # from row to row, and into what one is about
    for path, leads in (
        ("/studio/traces", "**/studio/traces/*"),
        ("/studio/evals", "**/evals/history*"),
    ):
        page.goto(path)
        page.keyboard.press("j")
        page.locator("[data-row]:focus").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url(leads)
    assert wrong == []


def test_keys_without_ctrl_can_be_switched_off(visit: Callable[..., BrowserContext]) -> None:
    page, wrong = watched(visit())
    here = "/studio/search?corpus=docs&q=refunds"
    page.goto(here)
    page.get_by_role("button", name="Switch shortcuts off").click()
    page.goto(here)  # and they stay so
    expect(page.locator("nav kbd").first).to_be_hidden()
    page.locator(".hit").first.focus()
    for key in "j/gt":
        page.keyboard.press(key)
    expect(page.locator(".hit").first).to_be_focused()
    page.keyboard.press("Enter")  # of what has the focus
    expect(page.locator(".hit details[open]")).to_have_count(1)
    page.keyboard.press("Control+k")
    page.locator(".question:focus").wait_for()
    page.get_by_role("button", name="Switch shortcuts on").click()
    page.keyboard.press("j")
    expect(page.locator(".hit").first).to_be_focused()
    assert wrong == []


@pytest.mark.parametrize("scripts", [True, False])
def test_the_login_leads_to_the_place_in_the_page(
    browser: Browser, site: Api, ids: dict[str, str], scripts: bool
) -> None:
    path = "/studio/documents/show?corpus=handbook&document={source}&chunk={page}#chunk"
    context = browser.new_context(base_url=site.url, java_script_enabled=scripts)
    try:
        page = context.new_page()
        page.goto(path.format(**ids))
        first = page.url
        page.fill("#token", "rgh_wrong")
        page.click("main button")
        expect(page.locator("[role=alert]")).to_have_text(WRONG_TOKEN)
        page.go_back()
        expect(page).to_have_url(first)
        page.go_forward()
        expect(page.locator("[role=alert]")).to_be_visible()
        page.fill("#token", site.tokens["reader"])
        page.click("main button")
        expect(page).to_have_url(site.url + path.format(**ids))
    finally:
        context.close()


# of a server whose answer takes its time
PRESS = """
async () => {
  const form = document.querySelector(".hit .feedback");
  for (const verdict of ["good", "good", "bad"]) {
    form.requestSubmit(form.querySelector(`[value=${verdict}]`));
    await new Promise((wait) => setTimeout(wait, 100));
  }
}"""


def test_a_question_that_is_too_long_is_not_sent(visit: Callable[..., BrowserContext]) -> None:
    page, wrong = watched(visit())
    for view in ("search", "documents", "map"):
        page.goto(f"/studio/{view}?corpus=docs")
        question = page.locator(".question")
        for length, is_refused in ((32_768, False), (32_769, True), (500_000, True)):
            question.fill(length * "w")
            assert question.evaluate("e => e.validity.patternMismatch") is is_refused
        page.keyboard.press("Enter")
        expect(question).to_be_focused()
        expect(question).to_have_value(500_000 * "w")  # it is there to be shortened
        expect(question).to_have_attribute("title", re.compile("32,768 characters"))
        assert wrong == [], view


def test_a_form_that_is_pressed_again_is_sent_once(visit: Callable[..., BrowserContext]) -> None:
    page, wrong = watched(visit())
    page.goto("/studio/search?corpus=docs&q=refunds")
    sent: list[Route] = []

    def hold(route: Route) -> None:
        sent.append(route)

    page.route("**/studio/feedback", hold)
    page.evaluate(PRESS)
    assert len(sent) == 1
    sent[0].continue_()
    page.wait_for_url("**/studio/feedback?*verdict=good*")
    page.unroute("**/studio/feedback")
    page.go_back()
    page.locator(".hit .feedback [value=bad]").first.click()
    page.wait_for_url("**/studio/feedback?*verdict=bad*")
    assert wrong == []


# where each line of a text begins, from the left of the first
BEGINS = """
text => {
  const node = text.firstChild, lines = node.data.split("\\n");
  let at = 0;
  const left = lines.map((line) => {
    const first = at + line.search(/\\S/), range = document.createRange();
    at += line.length + 1;
    range.setStart(node, first);
    range.setEnd(node, first + 1);
    return Math.round(range.getBoundingClientRect().left);
  });
  return left.map((one) => one - left[0]);
}"""


def test_code_is_shown_with_its_indentation(
    visit: Callable[..., BrowserContext], site: Api
) -> None:
    with ragdb.connect(site.dsn) as db:
        db.create_corpus("code")
        db.put_text("code", "lend.py", "def lend(tool):\n    if tool.is_free:\n        return tool")
    page, wrong = watched(visit())
    page.goto("/studio/documents/show?corpus=code&document=lend.py")
    first, second, third = page.locator(".cut .text").evaluate(BEGINS)
    assert first < second < third
    assert wrong == []


def test_it_works_without_script(visit: Callable[..., BrowserContext], ids: dict[str, str]) -> None:
    page, wrong = watched(visit(java_script_enabled=False))
    page.goto("/studio/search?corpus=docs")
    page.fill(".question", "refunds")
    page.click(".ask button")
    expect(page.locator(".hit").first).to_be_visible()
    page.goto(f"/studio/slices/graph?corpus=chat&anchor={ids['turn']}")
    expect(page.locator(".graph .admitted")).to_have_count(3)
    page.fill("[name=max_nodes]", "2")
    page.click(".policy button")
    expect(page.locator(".graph .admitted")).to_have_count(1)
    expect(page.locator(".graph .left")).to_have_count(2)
    page.goto("/studio/traces")
    page.select_option("[name=corpus]", "edited")
    page.click(".filters button")
    page.wait_for_url("**corpus=edited**")
    page.click(".list a")
    page.click("a.button")
    expect(page.locator(".diff tr.left")).to_have_count(1)
    assert wrong == []


# a page of others' making takes as long as five of ours
@pytest.mark.nightly
def test_the_document_of_the_api_is_drawn(visit: Callable[..., BrowserContext]) -> None:
    page, wrong = watched(visit())
    page.goto("/docs")
    expect(page.locator(".opblock").nth(20)).to_be_visible()
    assert wrong == []


def test_reports_open_from_disk_without_a_request(
    site: Api, browser: Browser, tmp_path: Path
) -> None:
    of_run, of_use = report(site, tmp_path)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: asked.append(said.text))
    for file, rows in ((of_run, CASES + 1), (of_use, 0)):
        asked.clear()
        page.goto(file.as_uri())
        assert asked == [file.as_uri()]
        assert page.locator("th[scope=row]").count() == rows
        assert page.locator("svg.plot").count() > 0
        # its style is obeyed though its policy names only that
        style = page.locator(".card").first.evaluate("e => getComputedStyle(e).borderTopWidth")
        assert style == "1px"
        printed = pdfium.PdfDocument(page.pdf(format="A4", print_background=True))
        text = "".join(sheet.get_textpage().get_text_bounded() for sheet in printed)
        # the heading of the cases stands before a date, such as 01-14
        cases = set(re.findall(r"case\s*(\d+)(?![\d-])", text))
        assert len(cases) == max(0, rows - 1)
        for sheet in printed:
            pixels = sheet.render().to_numpy()
            for edge in (pixels[:30], pixels[-30:], pixels[:, :30], pixels[:, -30:]):
                assert edge.min() == 255  # margins of white paper
    context.close()
