"""What a program needs that only calls functions: psycopg, and nothing of readers or servers."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
before = set(sys.modules)
import ragdb
with ragdb.connect(sys.argv[1]) as db:
    db.create_corpus("docs")
    db.put_text("docs", "a.txt", "Returns are free of charge.")
    (hit,) = db.search("docs", "returns")
    db.retrieve("docs", "returns")
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
ours = loaded - set(sys.stdlib_module_names) - {"ragdb", "cython_runtime"}
print(sorted(name for name in ours if not name.startswith("_")))
"""


def test_a_program_that_only_calls_needs_psycopg_alone(clone: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, clone], stdout=subprocess.PIPE, text=True, check=True
    )
    # typing_extensions is what psycopg needs of Python before 3.13
    found = done.stdout.replace(", 'typing_extensions'", "").strip()
    assert found == "['psycopg', 'psycopg_binary']"
