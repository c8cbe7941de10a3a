"""A search as a program would ask it: in SQL, over HTTP and in Python."""

from __future__ import annotations

import json
import shlex
from typing import Any


def recipes(home: str, corpus: str, query: str, k: int, asked: dict[str, Any]) -> dict[str, str]:
    """The same search through each door; what was asked for is named, what is null left out."""
    given = {name: value for name, value in asked.items() if value is not None}
    named = "".join(f", {name} => {_literal(value)}" for name, value in given.items())
    body = json.dumps({"query": query, "corpora": [corpus], "k": k, **given}, ensure_ascii=False)
    passed = "".join(f", {name}={value!r}" for name, value in given.items())
    return {
        "SQL": "select rank, score, source, text\n"
        f"from ragdb.search({_literal(corpus)}, {_literal(query)}, {k}{named});",
        "curl": f'curl -s {home}api/search -H "Authorization: Bearer $TOKEN" \\\n'
        f"  --json {shlex.quote(body)}",
        "Python": "import ragdb\n\nwith ragdb.connect() as db:\n"
        f"    hits = db.search({corpus!r}, {query!r}, {k}{passed})",
    }


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
