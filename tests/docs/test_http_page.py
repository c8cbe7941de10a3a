"""The curl commands of docs/http.md print what the page shows."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psycopg

import ragdb
from tests.docs.test_documentation import ROOT, blocks, commands, shows
from tests.embedding import one
from tests.http.conftest import serve


def test_the_session_with_curl_prints_what_it_shows(clone: str, tmp_path: Path) -> None:
    with ragdb.connect(clone) as db:
        for folder, corpus in (("desk", "desk"), ("handbook", "handbook")):
            report = db.ingest(ROOT / "examples/tool-library" / folder, corpus=corpus)
            assert report.failed == 0
        db.create_signing_key()
    with psycopg.connect(clone) as connection:
        tokens = {
            role: one(connection, "select ragdb.create_http_token(%s, %s)", role, role)
            for role in ("reader", "admin")
        }
    api = serve(clone, tokens)
    environment = os.environ | {
        "URL": api.url,
        "TOKEN": tokens["reader"],
        "ADMIN": tokens["admin"],
    }
    try:
        asked = [
            asked
            for block in blocks(ROOT / "docs/http.md", "console")
            for asked in commands(block)
            if asked[0].startswith("curl")
        ]
        assert len(asked) >= 9
        for command, shown in asked:
            done = subprocess.run(
                ["bash", "-c", command],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, (command, done.stderr)
            assert shows(shown, done.stdout), f"$ {command}\n{done.stdout}"
    finally:
        api.process.terminate()
        api.process.wait(120)
