"""The rules of sql/ that PostgreSQL does not check, as `make lint` holds its files to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import lint_sql

FUNCTION = """\
-- One function.
create function ragdb_internal.{name}() returns integer
language sql immutable parallel safe
return {body};
"""


def house(folder: Path, **files: str) -> list[str]:
    """The problems of files core/<name>.sql, loaded in the order given."""
    (folder / "core").mkdir()
    for name, text in files.items():
        (folder / f"core/{name}.sql").write_text(text)
    (folder / "ORDER").write_text("".join(f"core/{name}.sql  A sentence.\n" for name in files))
    return list(lint_sql.problems(folder))


def test_what_calls_downward_only_is_sound(tmp_path: Path) -> None:
    one = FUNCTION.format(name="one", body="1")
    two = "-- Two.\n" + FUNCTION.format(name="two", body="ragdb_internal.one()")
    view = "-- A view.\ncreate view ragdb.shown as select ragdb_internal.two() as n;\n"
    assert house(tmp_path, one=one, two=two, view=view) == []


CALLS = "create function ragdb.upper() returns integer\nlanguage sql\nreturn {};\n"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {
                "up": "--\n" + CALLS.format("ragdb_internal.one()"),
                "one": FUNCTION.format(name="one", body="1"),
            },
            "ragdb_internal.one stands below, in core/one.sql",
        ),
        (
            # in a text that may be run
            {
                "up": "--\n" + CALLS.format("length('select ragdb_internal.one()')"),
                "one": FUNCTION.format(name="one", body="1"),
            },
            "ragdb_internal.one stands below, in core/one.sql",
        ),
        (
            # in a body that is bound when it runs
            {
                "up": "--\ncreate procedure ragdb.upper()\nlanguage plpgsql\nas $$\nbegin\n"
                "  perform ragdb_internal.one();\nend $$;\n",
                "one": FUNCTION.format(name="one", body="1"),
            },
            "ragdb_internal.one stands below, in core/one.sql",
        ),
        ({"up": "--\n" + CALLS.format("ragdb_internal.none()")}, "is defined nowhere"),
        ({"up": "--\n" + CALLS.format("length(md5('x'))")}, "upper calls md5, which a server"),
        ({"one": FUNCTION.format(name="one", body="1")}, "is called nowhere"),
        (
            {"up": "--\n" + CALLS.format("1 -- n").replace("()", "(n integer)")},
            "ragdb.upper makes no use of its argument n",
        ),
        (
            {"up": "--\n" + CALLS.format("1") + "comment on function ragdb.upper() is 'One.';\n"},
            "up.sql:5: no other function has this name: it needs no arguments",
        ),
        (
            {"one": FUNCTION.format(name="one", body="1").replace("-- One function.", "--\n")},
            "one.sql:3: no sentence above ragdb_internal.one says what it is",
        ),
        (
            {"one": "--\ncomment on type ragdb_internal.one is 'One.';\n"},
            "one.sql:2: what is private has its comment above it",
        ),
        ({"up": "--\n" + CALLS.format("1\n" + "  + 1\n" * 40)}, "has 41 lines, over 40"),
        ({"up": "--\n" * 251}, "251 lines, over 250"),
        ({"up": "--" + "x" * 99}, "101 columns, over 100"),
        ({"up": "-- x \n"}, "white space at the end"),
        ({"up": CALLS.format("1")}, "no comment at its head"),
        (
            {"up": "--\n" + CALLS.format("1").replace("upper", '"Upper"')},
            "not a name in lower case",
        ),
        (
            {
                "up": "--\ncreate procedure ragdb.upper()\nlanguage plpgsql\nas $$\ndeclare\n"
                "  n integer := 1;\nbegin\n  return;\nend $$;\n"
            },
            "has a local n, not v_n",
        ),
        (
            {
                "up": "--\ncreate procedure ragdb.upper()\nlanguage plpgsql\nas $$\nbegin\n"
                "  perform 'a' ~ '\\s';\nend $$;\n"
            },
            "has a backslash in a constant without E: '\\s'",
        ),
    ],
)
def test_a_breach_is_seen(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    found = house(tmp_path, **files)
    assert any(problem in line for line in found), found


def test_files_and_their_list_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core/one.sql").write_text("-- Nothing.\n")
    (tmp_path / "ORDER").write_text("core/two.sql  Two.\n")
    found = "\n".join(lint_sql.problems(tmp_path))
    assert "core/one.sql is listed and does not exist, or exists and is not listed" in found
    assert "core/two.sql is listed and does not exist, or exists and is not listed" in found


def test_a_folder_stands_together_and_each_file_has_a_sentence(tmp_path: Path) -> None:
    for name in ("core/one.sql", "text/two.sql", "core/three.sql"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("-- Nothing.\n")
    (tmp_path / "ORDER").write_text("core/one.sql  One.\ntext/two.sql\ncore/three.sql  Three.\n")
    found = list(lint_sql.problems(tmp_path))
    assert "sql/ORDER: the files of core do not stand together" in found
    assert "sql/ORDER: text/two.sql has no sentence" in found
