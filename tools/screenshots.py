"""Pictures of Studio's pages and reports in both schemes and two widths.

    python -m tools.screenshots FOLDER [NAME]

They show the database that RAGDB_DATABASE_URL or RAGDB_HOME means, as `ragdb demo --traffic` leaves
it; with a name, only the pictures whose names have it. Playwright drives Chromium.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# name of the picture, path of the page
PAGES = (
    ("search", "/studio/search?corpus=demo&q=is+the+deposit+refunded"),
    ("traces", "/studio/traces"),
    ("traces-slow", "/studio/traces?slower=3600000"),
    ("slices", "/studio/slices?corpus=demo"),
    ("evals", "/studio/evals"),
    ("documents", "/studio/documents?corpus=demo"),
    ("documents-found", "/studio/documents?corpus=demo&q=deposit"),
    ("answers", "/studio/answers"),
    ("map", "/studio/map?corpus=demo&q=is+the+deposit+refunded"),
    ("map-system", "/studio/map?corpus=system&q=admissible+slice"),
    ("health", "/studio/health"),
    ("error", "/studio/traces/00000000-0000-7000-8000-000000000000"),
    ("docs", "/docs"),
)
# what has an id: name, the page that links to it, how the link begins, what is added to it
LINKED = (
    ("why", "/studio/search?corpus=demo&q=deposit", "/studio/search/why", ""),
    ("trace", "/studio/traces?corpus=demo&outcome=found&mode=hybrid", "/studio/traces/", ""),
    ("trace-replayed", "/studio/traces?corpus=demo&outcome=found", "/studio/traces/",
     "?replay=true"),
    ("trace-failed", "/studio/traces?corpus=demo&outcome=failed", "/studio/traces/", ""),
    ("slice", "/studio/slices?corpus=demo", "/studio/slices/graph", ""),
    ("slice-changed", "/studio/slices?corpus=demo", "/studio/slices/graph", "&max_nodes=2"),
    ("evals-history", "/studio/evals", "/studio/evals/history", ""),
    ("evals-run", "/studio/evals", "/studio/evals/run/", ""),
    ("evals-compare", "/studio/evals/history?rag=Desk&eval=Handbook", "/studio/evals/compare", ""),
    ("answer", "/studio/answers", "/studio/answers/", ""),
    ("document", "/studio/documents?corpus=demo&q=deposit", "/studio/documents/show", ""),
    ("document-page", "/studio/search?corpus=demo&q=angle+grinder+both+hands",
     "/studio/documents/show", "&quote=both+hands"),
)  # fmt: skip
WIDTHS = (1440, 360)
RAGDB = (sys.executable, "-c", "from ragdb.cli.main import main; main()")


def main(folder: Path, only: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("RAGDB_CHROMIUM") or shutil.which("chromium")
    server = subprocess.Popen([*RAGDB, "studio"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    link = server.stdout.readline().strip()
    home = re.sub(r"/studio/.*", "", link)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            entered = browser.new_context(base_url=home)
            page = entered.new_page()
            page.goto(link)
            page.wait_for_url("**/studio/search")
            shown = [("login", home + "/studio/login"), *found(page, home)]
            shown += reports(folder)
            state = entered.storage_state()
            for scheme in ("light", "dark"):
                for width in WIDTHS:
                    look(browser, shown, folder, only, scheme, width, state)
            printed(browser, shown, folder)
    finally:
        server.terminate()
        server.wait()


def found(page: Page, home: str) -> Iterator[tuple[str, str]]:
    """Each page of Studio by name; one to which no page links is left out, and said."""
    for name, path in PAGES:
        yield name, home + path
    for name, lists, begins, more in LINKED:
        page.goto(home + lists)
        links = page.locator("main a").evaluate_all("all => all.map(one => one.href)")
        first = next((link for link in links if link.startswith(home + begins)), None)
        if first:
            address, _, part = first.partition("#")
            if "quote=" in more:  # of a citation, and not of the question that found it
                address = re.sub("&q=[^&]*", "", address)
            yield name, address + more + (f"#{part}" if part else "")
        else:
            print(f"no {name}: {lists} links to none")


def reports(folder: Path) -> Iterator[tuple[str, str]]:
    """The reports that are files."""
    use, run = folder / "report-use.html", folder / "report-run.html"
    subprocess.run([*RAGDB, "report", "--html", str(use)], check=True)
    listed = subprocess.run([*RAGDB, "eval", "ls", "--json"], check=True, capture_output=True)
    (latest, *_) = json.loads(listed.stdout)
    # its exit code is that of the run
    command = [*RAGDB, "eval", "report", latest["run_id"], "--format", "html"]
    run.write_bytes(subprocess.run(command, capture_output=True).stdout)
    for file in (use, run):
        yield file.stem, file.resolve().as_uri()


def look(
    browser: Browser,
    shown: list[tuple[str, str]],
    folder: Path,
    only: str,
    scheme: str,
    width: int,
    state: object,
) -> None:
    context = browser.new_context(
        storage_state=state,  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    )
    page = context.new_page()
    page.on("console", lambda said: print("console:", page.url, said.text))
    for name, address in shown:
        if only in name:
            page.goto(address)
            if name == "docs":  # which a script draws
                page.locator(".opblock").first.wait_for()
            page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=name != "docs")
    context.close()


def printed(browser: Browser, shown: list[tuple[str, str]], folder: Path) -> None:
    """The reports as a printer gets them."""
    page = browser.new_page()
    for name, address in shown:
        if address.startswith("file:"):
            page.goto(address)
            page.pdf(path=folder / f"{name}.pdf", format="A4")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
