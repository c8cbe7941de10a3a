"""Imports an export into Superset and prints what each chart shows, as JSON.

It runs in the environment of Superset, not in ours: `python superset_charts.py ragdb.zip PASSWORD`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

USER = {"username": "ragdb", "password": "ragdb"}


def client(app: Any) -> tuple[Any, dict[str, str]]:
    """A client of the API who has logged in as an admin."""
    with app.app_context():
        manager = app.appbuilder.sm
        if manager.find_user(USER["username"]) is None:
            role = manager.find_role("Admin")
            assert manager.add_user(
                USER["username"], "r", "d", "r@example.org", role, USER["password"]
            )
    asking = app.test_client()
    login = asking.post("/api/v1/security/login", json={**USER, "provider": "db", "refresh": False})
    assert login.status_code == 200, login.text
    return asking, {"Authorization": f"Bearer {login.json['access_token']}"}


def listed(asking: Any, token: dict[str, str], what: str) -> list[Any]:
    found: list[Any] = asking.get(f"/api/v1/{what}/?q=(page_size:100)", headers=token).json[
        "result"
    ]
    return found


def main(archive: str, password: str) -> None:
    from superset.app import create_app  # type: ignore[import-not-found, unused-ignore]

    asking, token = client(create_app())
    # packed by Superset's own rule: the password beside the file, by the path of the database
    with Path(archive).open("rb") as packed:
        done = asking.post(
            "/api/v1/dashboard/import/",
            headers=token,
            data={
                "formData": (packed, "ragdb.zip"),
                "overwrite": "true",
                "passwords": json.dumps({"databases/ragdb.yaml": password}),
            },
        )
    assert done.status_code == 200, done.text
    shown = {}
    for chart in listed(asking, token, "chart"):
        answer = asking.get(f"/api/v1/chart/{chart['id']}/data/", headers=token)
        assert answer.status_code == 200, (chart["slice_name"], answer.text)
        (result,) = answer.json["result"]
        shown[chart["slice_name"]] = result["data"]
    boards = {}
    for board in listed(asking, token, "dashboard"):
        charts = asking.get(f"/api/v1/dashboard/{board['id']}/charts", headers=token).json["result"]
        boards[board["dashboard_title"]] = sorted(chart["slice_name"] for chart in charts)
    print("RESULT " + json.dumps({"charts": shown, "dashboards": boards}))


if __name__ == "__main__":
    main(*sys.argv[1:])
