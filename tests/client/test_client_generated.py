"""What is generated from the catalogue is current, and the client is the SQL surface."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import fields, is_dataclass

import psycopg
import pytest

import ragdb
from ragdb import errors
from ragdb.client._generated import calls as generated_calls
from ragdb.client._generated import rows as generated_rows
from ragdb.client.calling import Call
from ragdb.evidence.asking import Asking
from tests.conftest import Connection
from tools import generate_client, generate_docs
from tools.catalogue import ROOT

pytestmark = pytest.mark.long


def signatures(db: Connection) -> dict[str, list[list[str]]]:
    """Names of the arguments of every public function, straight from pg_proc."""
    found = defaultdict(list)
    for name, arguments in db.execute(
        """select proname, coalesce(proargnames[1:pronargs], '{}') from pg_proc
           where pronamespace = 'ragdb'::regnamespace
             and prorettype <> 'trigger'::regtype"""
    ):
        found[name].append(arguments)
    return found


def test_the_client_is_what_the_catalogue_gives(db: Connection) -> None:
    sources = generate_client.client(db)
    folder = ROOT / generate_client.FOLDER
    for name, source in sources.items():
        assert (folder / name).read_text() == source, "make client"
    written = {str(file.relative_to(folder)) for file in folder.glob("rows/*.py")}
    assert written == {name for name in sources if name.startswith("rows/")}, "make client"


def test_the_errors_are_what_the_catalogue_gives(db: Connection) -> None:
    assert (ROOT / "ragdb/errors.py").read_text() == generate_client.errors(db), "make client"


def test_the_reference_is_what_the_catalogue_gives(db: Connection) -> None:
    assert (ROOT / "docs/reference.md").read_text() == generate_docs.reference(db), "make docs"


def test_the_reference_says_all_that_is_known_of_a_column(db: Connection) -> None:
    page = (ROOT / "docs/reference.md").read_text()
    found = db.execute(
        "select d.description from pg_description d join pg_class c on c.oid = d.objoid"
        " where d.classoid = 'pg_class'::regclass and d.objsubid > 0 and not c.relispartition"
        " and c.relkind in ('r', 'p', 'v')"
        " and c.relnamespace in ('ragdb'::regnamespace, 'bi'::regnamespace)"
    ).fetchall()
    assert len(found) > 500
    assert [said for (said,) in found if said.replace("|", "\\|") not in page] == []


def test_the_page_of_errors_is_what_the_catalogue_gives(db: Connection) -> None:
    assert (ROOT / "docs/errors.md").read_text() == generate_docs.errors(db), "make docs"
    language = (ROOT / "docs/contract-language.md").read_text()
    assert language == generate_docs.contract_language(db), "make docs"


def test_the_page_of_the_command_line_is_what_the_verbs_say() -> None:
    assert (ROOT / "docs/cli.md").read_text() == generate_docs.command_line(), "make docs"


@pytest.mark.parametrize("client", [ragdb.Database, ragdb.AsyncDatabase])
def test_each_function_is_a_method_with_its_arguments_in_their_order(
    db: Connection, client: type
) -> None:
    for name, overloads in signatures(db).items():
        method = getattr(client, name)
        if name == "ask":
            # by name, beside what a model needs
            assert {*overloads[0]} <= {"corpus", "question", *Asking.__annotations__}
            continue
        if len(overloads) == 1:
            assert list(inspect.signature(method).parameters)[1:] == overloads[0], name
        else:
            calls = [
                v for v in vars(generated_calls).values() if isinstance(v, Call) and v.name == name
            ]
            assert sorted(list(call.types) for call in calls) == sorted(overloads), name
            # its signature says nothing, so help has all forms
            for call in calls:
                shown = f"{name}({', '.join(call.types)})"
                told = re.sub(r"=[^,)]+", "", " ".join(method.__doc__.split()))
                assert shown in told, (name, shown)
        assert method.__doc__, name
        assert method.__doc__ == getattr(ragdb.Database, name).__doc__, name


def test_rows_are_frozen_dataclasses() -> None:
    rows = [getattr(generated_rows, name) for name in generated_rows.ROOMS]
    assert generated_rows.Hit in rows
    assert all(map(is_dataclass, rows))
    assert all(row.__dataclass_params__.frozen for row in rows)


def test_rows_are_made_when_they_are_needed() -> None:
    """To make all of them takes as long as to import psycopg."""
    code = (
        "import sys, ragdb; ragdb.Database;"
        "from ragdb.client._generated import rows;"
        "of = 'ragdb.client._generated.rows.';"
        "assert not [name for name in sys.modules if name.startswith(of)];"
        "assert rows.Hit is rows.Hit;"
        "assert [name for name in sys.modules if name.startswith(of)] == [of + 'search']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        generated_rows.Nothing  # type: ignore[attr-defined]  # noqa: B018


def test_each_sqlstate_has_its_class(db: Connection) -> None:
    in_sql = dict(db.execute("select sqlstate, name from ragdb.error_codes()").fetchall())
    in_python = {
        value.sqlstate: name
        for name, value in vars(errors).items()
        if isinstance(value, type)
        and issubclass(value, errors.RagdbError)
        and value is not errors.RagdbError
    }
    assert in_python == in_sql


def test_psycopg_raises_the_class_with_message_detail_and_hint(db: Connection) -> None:
    with pytest.raises(errors.CorpusNotFound) as caught:
        db.execute("select * from ragdb.search('nowhere', 'x')")
    assert caught.value.sqlstate == "RG404"
    assert caught.value.diag.message_primary == 'corpus "nowhere" does not exist'
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint
    assert isinstance(caught.value, psycopg.DatabaseError)
    # and a traceback ends with them, not with where in our functions that is said
    said = [line.partition(":")[0] for line in str(caught.value).splitlines()]
    assert said == ['corpus "nowhere" does not exist', "DETAIL", "HINT"]


def test_a_hit_has_the_columns_of_the_type(db: Connection) -> None:
    columns = db.execute(
        """select array_agg(attname::text order by attnum) from pg_attribute
           where attrelid = 'ragdb.hit'::regclass"""
    ).fetchone()
    assert columns == ([field.name for field in fields(generated_rows.Hit)],)
