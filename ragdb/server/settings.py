"""Which database a command means, and which setting said so."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from ragdb.server.postgres import Say

# by variable of libpq, the parameter that names a server, a database or who asks
LIBPQ = {
    "PGHOST": "host",
    "PGHOSTADDR": "hostaddr",
    "PGPORT": "port",
    "PGDATABASE": "dbname",
    "PGUSER": "user",
    "PGSERVICE": "service",
}
SECRET = re.compile("password|secret|scram")  # in the name of a parameter
SECRETS = {"password": "PGPASSWORD", "options": "PGOPTIONS"}


@dataclass(frozen=True)
class Connection:
    """A libpq conninfo, and what won: '--dsn', the name of a variable, or 'embedded'."""

    conninfo: str
    origin: str

    def __str__(self) -> str:
        """For people and logs: without any password, or key that `options` may set."""
        shown = conninfo_to_dict(self.conninfo)
        for key in shown:
            if SECRET.search(key) or key in SECRETS:
                shown[key] = "***"
        return f"{make_conninfo('', **shown) or 'libpq defaults'} (from {self.origin})"

    __repr__ = __str__


def connection(
    dsn: str | None = None, say: Say | None = None, *, upgrades: bool = True
) -> Connection:
    """The database to use: `dsn`, RAGDB_DATABASE_URL, DATABASE_URL, libpq's PG*, or embedded.

    Only the last starts anything, and says so where it makes one; with `upgrades` it brings an
    older schema up to date. Raises psycopg.ProgrammingError for a DSN that libpq cannot read.
    """
    for origin, value in (
        ("--dsn", dsn),
        ("RAGDB_DATABASE_URL", os.environ.get("RAGDB_DATABASE_URL")),
        ("DATABASE_URL", os.environ.get("DATABASE_URL")),
    ):
        # a variable without a value is not set; a flag that is given one of these is a mistake
        if value or (origin == "--dsn" and value is not None):
            return given(value, origin)
    if named := [name for name in LIBPQ if os.environ.get(name)]:
        parts = {LIBPQ[name]: os.environ[name] for name in named}
        # what a service's file says wins over the other variables, but not over a parameter
        own = {"service": parts["service"]} if "service" in parts else parts
        return Connection(make_conninfo("", **own), ", ".join(named))
    from ragdb.server import embedded

    return Connection(embedded.dsn(say=say, upgrades=upgrades), "embedded")


def given(dsn: str, origin: str) -> Connection:
    """The database of a DSN that a flag or a variable gives.

    Raises psycopg.ProgrammingError; TypeError for what Python gives that is no text.
    """
    if not isinstance(dsn, str):
        kind = type(dsn).__name__
        raise TypeError(f"a DSN is a text, such as postgresql://user@host/db, not of type {kind}")
    try:
        return Connection(normalise(dsn), origin)
    except psycopg.ProgrammingError as error:
        # libpq quotes what it cannot read, which may be a part of the password
        why = re.sub(r'(?<!option )"[^"]*"', '"…"', str(error).strip())
        named = "the DSN" if origin == "--dsn" else origin  # Python has no flags
        raise psycopg.ProgrammingError(
            f"{named} is not a connection string: {why};"
            " give postgresql://user@host/db, or key=value; in a URL write"
            " @, / and % of a password as %40, %2F and %25"
        ) from None


class NoProgram(Exception):
    """A program of PostgreSQL is needed that is not there."""

    exit_code = 3
    hint = "install PostgreSQL's client programs (postgresql-client), which put one on the path"


def program(name: str, conninfo: str) -> str:
    """Where a program of PostgreSQL is that reaches the server as ragdb does.

    Those of the wheel have no TLS: they fail, or send in clear what ragdb encrypts. Raises
    NoProgram.
    """
    from ragdb.client.connecting import connect
    from ragdb.server import postgres

    with contextlib.suppress(psycopg.OperationalError), connect(conninfo) as reached:
        if reached.pgconn.ssl_in_use:
            if found := shutil.which(name):
                return found
            raise NoProgram(f"the {name} that comes with ragdb has no TLS, which the server takes")
    return str(postgres.binary(name))


def for_program(conninfo: str) -> tuple[str, dict[str, str]]:
    """A conninfo without what is secret, and that as variables of the environment.

    A process list shows arguments to everybody, and an environment only to its owner. Raises
    psycopg.ProgrammingError for a secret for which libpq has no variable.
    """
    given = conninfo_to_dict(conninfo)
    # options may set a key that signs
    secret = {SECRETS[name]: str(given.pop(name, "")) for name in SECRETS}
    if name := next(filter(SECRET.search, given), None):
        raise psycopg.ProgrammingError(
            f"a program would show {name} in its arguments: put it into a service file"
            " (~/.pg_service.conf), and give service=NAME"
        )
    return make_conninfo("", **given), {name: value for name, value in secret.items() if value}


def normalise(dsn: str) -> str:
    """The DSN as libpq reads it: a SQLAlchemy driver in the scheme is dropped, key=value is kept.

    Raises psycopg.ProgrammingError for one that libpq cannot read, or reads otherwise than meant.

    >>> normalise("postgresql+psycopg://me@host/db")
    'postgresql://me@host/db'
    """
    if not dsn.strip():
        raise psycopg.ProgrammingError("it is empty")
    scheme, is_url, _ = dsn.partition("://")
    base, _, _driver = scheme.lower().partition("+")
    if is_url and base in ("postgres", "postgresql"):
        dsn = "postgresql" + dsn[len(scheme) :]
        named = conninfo_to_dict(dsn)
        hosts, ports = str(named.get("host", "")), str(named.get("port", ""))
        # a password ended too soon for libpq, which would show the rest of it as a host or database
        if re.search("(^|,)[^,/]+@", hosts) or re.search("[^0-9,]", ports):
            raise psycopg.ProgrammingError("its host or its port cannot be one")
    return make_conninfo(dsn) or dsn  # a URL without parts means what libpq takes by default
