"""Which connection setting wins, which forms it may have, and what is printed of it."""

from __future__ import annotations

import os

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import ragdb
from ragdb.server import embedded, settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("PG") or name.endswith("DATABASE_URL"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(embedded, "dsn", lambda say=None, upgrades=True: "host=embedded")


def test_the_first_setting_of_the_order_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings.connection()
    assert (found.conninfo, found.origin) == ("host=embedded", "embedded")
    monkeypatch.setenv("PGHOST", "libpq")
    found = settings.connection()
    assert (found.conninfo, found.origin) == ("host=libpq", "PGHOST")
    for name in ("DATABASE_URL", "RAGDB_DATABASE_URL"):
        monkeypatch.setenv(name, f"host={name}")
        found = settings.connection()
        assert (found.conninfo, found.origin) == (f"host={name}", name)
    found = settings.connection("host=given")
    assert (found.conninfo, found.origin) == ("host=given", "--dsn")


@pytest.mark.parametrize(
    "name", ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE"]
)
def test_one_variable_of_libpq_is_enough(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    assert settings.connection().origin == name


def test_what_the_variables_of_libpq_name_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, clone: str
) -> None:
    named = conninfo_to_dict(clone)
    for variable, key in settings.LIBPQ.items():
        if key in named:
            monkeypatch.setenv(variable, str(named[key]))
    with ragdb.connect() as db, ragdb.connect(settings.connection().conninfo) as again:
        assert db.connection.info.dbname == again.connection.info.dbname == named["dbname"]


def test_a_service_wins_over_the_other_variables_as_in_libpq(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGSERVICE", "main")
    monkeypatch.setenv("PGHOST", "libpq")
    assert settings.connection().conninfo == "service=main"


def test_a_url_without_parts_is_not_empty() -> None:
    found = settings.connection("postgresql://")
    assert settings.connection(found.conninfo) == found
    assert str(found) == "libpq defaults (from --dsn)"


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", "")
    monkeypatch.setenv("PGHOST", "")
    assert settings.connection().origin == "embedded"


def test_an_empty_dsn_is_a_variable_that_should_have_been_set() -> None:
    for dsn in ("", " "):
        with pytest.raises(psycopg.ProgrammingError, match=r"the DSN is no.*: it is empty"):
            settings.connection(dsn)
    with pytest.raises(psycopg.ProgrammingError, match=r"--read-dsn is no.*: it is empty"):
        settings.given("", "--read-dsn")


@pytest.mark.parametrize(
    "dsn",
    [
        "postgres://me:p%40ss@host:5433/db?sslmode=require",
        "postgresql://me:p%40ss@host:5433/db?sslmode=require",
        "postgresql+psycopg://me:p%40ss@host:5433/db?sslmode=require",
        "PostgreSQL+Psycopg2://me:p%40ss@host:5433/db?sslmode=require",
        "host=host port=5433 user=me password=p@ss dbname=db sslmode=require",
    ],
)
def test_every_form_means_the_same(dsn: str) -> None:
    assert conninfo_to_dict(settings.connection(dsn).conninfo) == {
        "host": "host",
        "port": "5433",
        "user": "me",
        "password": "p@ss",
        "dbname": "db",
        "sslmode": "require",
    }


def test_what_is_shown_holds_no_password() -> None:
    found = settings.connection(
        "postgresql://me:secret@host/db?sslpassword=secret&scram_client_key=secret"
        "&options=-c%20ragdb.signing_key%3Dk:secret"
    )
    assert "secret" not in str(found) + repr(found)
    assert "host=host" in str(found)
    assert "from --dsn" in str(found)


def test_a_program_gets_what_is_secret_by_its_environment() -> None:
    shown, hidden = settings.for_program(
        "host=host user=me password='p@ss word' options='-c ragdb.signing_key=k:00ff'"
    )
    assert conninfo_to_dict(shown) == {"host": "host", "user": "me"}
    assert hidden == {"PGPASSWORD": "p@ss word", "PGOPTIONS": "-c ragdb.signing_key=k:00ff"}
    assert settings.for_program("host=host password=''") == ("host=host", {})


# those that libpq marks as secret, and its keys of SCRAM
NO_VARIABLE = [
    option.keyword.decode()
    for option in psycopg.pq.Conninfo.get_defaults()
    if (option.dispchar == b"*" or b"scram" in option.keyword) and option.envvar is None
]


@pytest.mark.parametrize("name", NO_VARIABLE)
def test_a_program_is_given_no_secret_for_which_there_is_no_variable(name: str) -> None:
    with pytest.raises(psycopg.ProgrammingError, match=f"{name} .* service=NAME") as refused:
        settings.for_program(f"host=host {name}=abracadabra")
    assert "abracadabra" not in str(refused.value)


def test_a_url_whose_password_is_not_encoded_is_told_how() -> None:
    for dsn in ("me:my@secret@host/db", "me:my/secret@host/db", "me:my%secret@host/db"):
        with pytest.raises(psycopg.ProgrammingError, match="@, / and % of a password as %40, %2F"):
            settings.connection(f"postgresql://{dsn}")
    # the name of an abstract socket begins so, and that of a folder may have it
    for host in ("%40socket/db", "one:1,two:/db", "/db?host=/tmp/a@b", "/db?host=one,/tmp/a@b"):
        assert settings.connection(f"postgresql://me@{host}").origin == "--dsn"


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:secret@host:notaport:1/db?nosuch=1",
        "mysql://me:secret@host/db",
        "postgresql:/me:secret@host/db",
        "host=host password=my secret",
        "postgresql://me:my@secret@host/db",
        "postgresql://me:my@secret@host:5432,other/db",
        "postgresql://me:my/secret@host/db",
        "postgresql://me:my%secret@host/db",
        "postgresql://me:secret@[::1/db",
    ],
)
def test_what_libpq_cannot_read_is_refused_by_its_origin_without_its_password(
    monkeypatch: pytest.MonkeyPatch, dsn: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    with pytest.raises(psycopg.ProgrammingError, match="DATABASE_URL is no") as refused:
        settings.connection()
    assert "secret" not in str(refused.value)
    with pytest.raises(psycopg.ProgrammingError, match="the DSN is no"):
        settings.connection(dsn)
