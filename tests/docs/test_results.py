"""The results of the benches: a section for each command."""

from __future__ import annotations

from bench.common import placed

OLD = """\
# Results

## Ingest: `run`
PostgreSQL 16

| 1 |

### Tried
Batches.

## Bytes: `run`
| 2 |
"""


def test_a_run_takes_the_place_of_the_one_before_and_leaves_what_was_written_by_hand() -> None:
    new = "## Ingest: `run`\nPostgreSQL 18\n\n| \\1 |\n\n"
    assert placed(OLD, new) == OLD.replace("PostgreSQL 16\n\n| 1 |", "PostgreSQL 18\n\n| \\1 |")


def test_what_no_run_printed_before_stands_at_the_end() -> None:
    new = "## Ingest: `run --sizes 1`\nPostgreSQL 18\n\n| 3 |\n\n"
    assert placed(OLD, new) == f"{OLD}\n{new.rstrip()}\n"
    assert placed("", new) == f"{new.rstrip()}\n"
