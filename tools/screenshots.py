"""Pictures of Studio's views in both schemes and two widths: python -m tools.screenshots FOLDER.

They show the database that RAGDB_DATABASE_URL or RAGDB_HOME means; Playwright drives the Chromium
of the system.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# name of the picture, path of the page
PAGES = (
    ("search", "/studio/search?q=how+are+tokens+signed"),
    ("evals", "/studio/evals"),
    ("evals-history", "/studio/evals/history?rag=Desk&eval=Handbook"),
    ("answers", "/studio/answers"),
    ("map", "/studio/map?corpus=system&q=admissible+slice"),
    ("health", "/studio/health"),
    ("why", "/studio/search/why?corpus=demo&q=deposit&chunk=handbook-safety-pdf:891d80&k=3"),
    ("traces", "/studio/traces"),
    ("slices", "/studio/slices?corpus=demo"),
    ("slice", "/studio/slices/graph?corpus=demo&anchor=0c2cac81&max_nodes=4"),
    ("documents", "/studio/documents?corpus=demo"),
    (
        "document",
        "/studio/documents/show?corpus=demo&document=handbook/safety.pdf"
        "&chunk=handbook-safety-pdf:891d80&quote=hold+the+grinder+with+both+hands",
    ),
)
WIDTHS = (1440, 390)


def main(folder: Path, only: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen(
        [sys.executable, "-c", "from ragdb.cli.main import main; main()", "studio"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    link = server.stdout.readline().strip()
    home = re.sub(r"/studio/.*", "", link)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox"]
            )
            context = browser.new_context()
            context.new_page().goto(link)
            state = context.storage_state()
            for scheme in ("light", "dark"):
                for width in WIDTHS:
                    shown = browser.new_context(
                        storage_state=state,
                        color_scheme=scheme,
                        viewport={"width": width, "height": 900},
                    )
                    page = shown.new_page()
                    page.on("console", lambda said: print("console:", said.text))
                    for name, path in PAGES:
                        if only in name:
                            page.goto(home + path)
                            page.screenshot(path=folder / f"{name}-{scheme}-{width}.png")
                    shown.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
