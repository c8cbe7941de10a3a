"""Fixtures: one embedded server per run and version, a template database, its clones, logins.

`db` for most tests, `clone` for what commits, locks or migrates, `login` for who may do what;
`any_db` and `any_clone` run a test on PostgreSQL 18 and 16; `module_clone` is one for the tests of
a file; `copied` is a test's own copy of what the file filled; `run` is the command line on `clone`,
with `one_session` without the cost of a session for each verb.
No database has the packaged static model unless a test takes `packaged` or loads it: loading takes
a second. These servers are not killed and do not fsync; `killable` does. synchronous_commit stays
on.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from pytest_postgresql.janitor import DatabaseJanitor

from ragdb.models import static
from ragdb.server import embedded, manual, migrate, roles
from tests import together
from tests.filled import Filled
from tests.programs import own_programs
from tests.sessions import FORGET, kept
from tests.watcher import watched_folder

# no test is timed, because the machine may be busy with other work
settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
# by night other examples each time: by day what fails is what was changed
settings.register_profile("exploring", settings.get_profile("house"), derandomize=False)
settings.load_profile("house")

Connection = psycopg.Connection[Any]
Login = Callable[..., Connection]
Run = Callable[..., Any]

# Login roles of every test server, and the group each is in; `set role writer` works too.
LOGINS = {
    "reader": "ragdb_reader",
    "reader2": "ragdb_reader",
    "writer": "ragdb_writer",
    "writer2": "ragdb_writer",
    "admin": "ragdb_admin",
    "owner": "ragdb_owner",
    "auditor": "ragdb_auditor",
    "signer": "ragdb_signer",
    "stranger": None,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-snapshots",
        action="store_true",
        help="write what tests found over checked-in files",
    )


def pytest_configure(config: pytest.Config) -> None:
    together.spread(config)


# where what a version does depends on the case: its catalogue, its Unicode
BOTH_BY_DAY = ("tests/schema/", "tests/server/", "tests/sql/text/")


def is_a_later_case(item: pytest.Function) -> bool:
    """Whether a case of a test with several runs by night.

    PostgreSQL 16 runs the first by day. What `by_day(n)` marks runs the first n of each parameter:
    its cases take long, and what one of them finds most others find too.
    """
    case = getattr(item, "callspec", None)
    if case is None:
        return False
    for mark in item.iter_markers("by_day"):
        if any(index >= mark.args[0] for index in case.indices.values()):
            return True
    return (
        case.params.get("any_version") == "server16"
        and any(index for name, index in case.indices.items() if name != "any_version")
        and not item.nodeid.startswith(BOTH_BY_DAY)
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Begin with what is long, whatever was collected first."""
    items.sort(key=lambda item: item.path)
    for item in items:
        if isinstance(item, pytest.Function) and is_a_later_case(item):
            item.add_marker(pytest.mark.nightly)
    yield
    items.sort(key=together.rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return together.scheduler(config, log)


_filled = Filled()


@pytest.fixture(scope="session", autouse=True)
def _processes_of_a_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Let each find the server that another filled."""
    own = tmp_path_factory.getbasetemp()
    _filled.told = own.parent if hasattr(request.config, "workerinput") else own


@pytest.fixture(scope="session")
def write_snapshots(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-snapshots"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Have the collector of garbage not look again and again at what imports leave for good."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Have the collector of garbage not look at what is there until the end, and look seldom."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _commands_made_once() -> Iterator[None]:
    """A test runner would make all verbs of the command line anew for each that it runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


_installed = static.installed


UNPACKAGED = Path(__file__).parent / "unpackaged"


@pytest.fixture(scope="session", autouse=True)
def _no_packaged_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "installed", lambda: False)
        # in the processes that tests start, too
        patch.setenv("PYTHONPATH", str(UNPACKAGED), prepend=os.pathsep)
        yield


@pytest.fixture
def packaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ragdb init` and the embedded server load the packaged static model, as users have it."""
    monkeypatch.setattr(static, "installed", _installed)
    monkeypatch.delenv("PYTHONPATH")


@pytest.fixture
def short_manual(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`ragdb init` loads a manual of one page: to load the whole one takes half a second."""
    folder = tmp_path / "manual"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "docs/operations.md", folder)
    monkeypatch.setattr(manual, "files", lambda _: folder)


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Whatever shell started the tests: a job in its background ignores Ctrl-C, as do its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Fresh(DatabaseJanitor):
    """A database of a test's own: between `init` and `drop`, or as a context."""

    def __init__(self, by: Connection, dbname: str, template_dbname: str | None) -> None:
        at = by.info
        super().__init__(
            user=at.user, host=at.host, port=at.port, dbname=dbname, template_dbname=template_dbname
        )
        self._by = by

    @contextmanager
    def cursor(self, dbname: str | None = None) -> Iterator[psycopg.Cursor[Any]]:
        """Of a connection that stays: a new one takes a fifth of what it is for."""
        with self._by.cursor() as cursor:
            yield cursor

    def _build_create_database_sql(self) -> sql.Composed:
        # the files copied as they are, not each page by way of the log
        return super()._build_create_database_sql() + sql.SQL(" strategy file_copy")


class Server:
    """An embedded server with a migrated template database."""

    template = "ragdb_template"

    def __init__(self, folder: Path, version: int, uri: str) -> None:
        self.folder, self.version, self.uri = folder, version, uri
        self._names = itertools.count()
        self._idle: defaultdict[str, list[RolledBack]] = defaultdict(list)
        self._counted: dict[str, Counted] = {}
        # the one connection that makes and drops databases
        self._maker = psycopg.connect(uri, autocommit=True)

    @classmethod
    def fill(cls, uri: str) -> None:
        """Set up the server of which the others are copies."""
        with psycopg.connect(uri, autocommit=True) as connection:
            # vacuum finds the tables of rolled-back tests empty, and of an empty table the planner
            # takes any index for as good as the right one
            connection.execute("alter system set autovacuum = off")
            # a test waits for the disk at each commit and each database that it makes
            connection.execute("alter system set fsync = off")
            connection.execute("alter system set full_page_writes = off")
            # each new session and each new database costs by their number
            connection.execute("alter system set shared_buffers = '128MB'")
            connection.execute("select pg_reload_conf()")
            roles.create_roles(connection)
            for login, group in LOGINS.items():
                membership = f"in role {group}" if group else ""
                connection.execute(f'create role "{login}" login {membership}')
            connection.execute(f"create database {cls.template} template template0")
        template = make_conninfo(uri, dbname=cls.template)
        migrate.migrate(template)
        with psycopg.connect(template) as connection:
            connection.execute(
                "insert into ragdb.settings (key, value) values ('allow_test_clock', 'true')"
            )
            connection.execute("select ragdb.maintain()")
        with psycopg.connect(template, autocommit=True) as connection:
            # a third of what a clone copies is what the migration left behind
            for (table,) in connection.execute(
                "select oid::regclass::text from pg_class where relkind = 'r' and not relisshared"
                " and relnamespace = 'pg_catalog'::regnamespace"
            ).fetchall():
                connection.execute(f"vacuum full {table}")
            # a clone would write for itself, row by row, on which roles its tables and functions
            # depend; a role that a test makes comes later
            connection.execute(
                "delete from pg_shdepend"
                " where dbid = (select oid from pg_database where datname = current_database())"
            )
        # the first session after that writes what all of a clone begin with
        psycopg.connect(template).close()

    def dsn(self, database: str, **more: str) -> str:
        return make_conninfo(self.uri, dbname=database, **more)

    def database(self, template: str | None = template) -> Fresh:
        """A fresh database as a context: a clone of the template, or an empty one for None."""
        return Fresh(self._maker, f"t{next(self._names)}", template)

    @contextmanager
    def filled(self, fill: Callable[[Connection], object]) -> Iterator[str]:
        """DSN of a database filled once for tests that each are `rolled_back` there."""
        with self.database() as database:
            dsn = self.dsn(database.dbname)
            with psycopg.connect(dsn) as connection:
                fill(connection)
            yield dsn

    @contextmanager
    def copied(self, dsn: str) -> Iterator[str]:
        """DSN of a copy of a database that nobody is connected to."""
        with self.database(str(conninfo_to_dict(dsn)["dbname"])) as database:
            yield self.dsn(database.dbname)

    @cached_property
    def shared(self) -> str:
        """DSN of the one database that all rolled-back tests use."""
        database = self.database()
        database.init()
        return self.dsn(database.dbname)

    @contextmanager
    def rolled_back(self, dsn: str | None = None) -> Iterator[RolledBack]:
        """A connection to a database, `shared` if not said, most often one already used."""
        dsn = dsn or self.shared
        connection = self._idle[dsn].pop() if self._idle[dsn] else RolledBack.connect(dsn)
        if dsn not in self._counted:
            self._counted[dsn] = Counted(connection)
        connection.execute("select")  # so that `with db.transaction()` is a savepoint
        yield connection
        if connection.forget(self._counted[dsn]):
            self._idle[dsn].append(connection)

    def close(self) -> None:
        for connection in itertools.chain([self._maker], *self._idle.values()):
            connection.close()


class RolledBack(psycopg.Connection[Any]):
    """A connection to a database that other tests use too."""

    def forget(self, counted: Counted) -> bool:
        """Roll back and return whether the next test may have it."""
        if self.info.transaction_status in (TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN):
            self.close()
            return False
        self.rollback()
        self.autocommit, self.row_factory = True, tuple_row
        self.execute(FORGET)
        counted.again(self)
        self.autocommit = False
        return True

    def commit(self) -> NoReturn:
        raise AssertionError("`db` is rolled back and shared; a test that commits takes `clone`")

    def __exit__(self, *_: object) -> None:
        self.close()


class Counted:
    """What the planner is told of our tables: an `analyze` in a test outlives its rollback."""

    OURS = "pg_class where relnamespace = 'ragdb'::regnamespace and relkind in ('r', 'i')"
    SUM = f"select sum(relpages), sum(reltuples) from {OURS}"

    def __init__(self, db: RolledBack) -> None:
        self._sum = db.execute(self.SUM).fetchone()
        rows = db.execute(f"select oid, relpages, reltuples from {self.OURS}").fetchall()
        self._columns = [list(column) for column in zip(*rows, strict=True)]

    def again(self, db: RolledBack) -> None:
        """Have the next test begin with what the first began with."""
        if db.execute(self.SUM).fetchone() != self._sum:
            db.execute(
                "update pg_class c set relpages = b.relpages, reltuples = b.reltuples"
                " from unnest(%s::oid[], %s::integer[], %s::real[]) b (oid, relpages, reltuples)"
                " where c.oid = b.oid"
                " and (c.relpages, c.reltuples) is distinct from (b.relpages, b.reltuples)",
                self._columns,
            )


@contextmanager
def running_server(version: int) -> Iterator[Server]:
    """A server of the run's own, gone with its data after it, however the run ends."""
    with own_programs(version), watched_folder() as home:
        folder = home / f"pg{version}"
        with _filled.copied(folder, version, Server.fill) as uri:
            server = Server(folder, version, uri)
            yield server
            server.close()


@pytest.fixture(scope="session")
def installed() -> Iterator[Path]:
    """The data folder of a stopped server, as users have it but for the manual.

    Every check after a kill would read that again.
    """
    with watched_folder() as home:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(manual, "load", lambda _: False)
            embedded.dsn(home / "pg18")
        embedded.stop(home / "pg18")
        yield home / "pg18"


@pytest.fixture(scope="module")
def killable(installed: Path) -> Iterator[Path]:
    """The data folder of a running server that tests may kill."""
    with watched_folder() as home:
        subprocess.run(["cp", "-a", installed, home], check=True)
        embedded.start(home / "pg18")
        yield home / "pg18"


@pytest.fixture(scope="session")
def server18() -> Iterator[Server]:
    with running_server(18) as server:
        yield server


@pytest.fixture(scope="session")
def server16() -> Iterator[Server]:
    with running_server(16) as server:
        yield server


@pytest.fixture(scope="session", params=["server18", "server16"], ids=["pg18", "pg16"])
def any_version(request: pytest.FixtureRequest) -> Server:
    """The server of each supported version in turn."""
    found: Server = request.getfixturevalue(request.param)
    return found


# by day on 18 alone: no version does it otherwise, and 16 runs by day what is near to it
OLDER_BY_NIGHT = pytest.mark.parametrize(
    "any_version",
    [
        pytest.param("server18", id="pg18"),
        pytest.param("server16", id="pg16", marks=pytest.mark.nightly),
    ],
    indirect=True,
)


@pytest.fixture(scope="session")
def server(server18: Server) -> str:
    """URI of the superuser on PostgreSQL 18."""
    return server18.uri


@pytest.fixture
def clone(server18: Server) -> Iterator[str]:
    """DSN of the superuser on a fresh migrated database of the test's own."""
    with server18.database() as database:
        yield server18.dsn(database.dbname)


@pytest.fixture
def run_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Run]:
    """run_on(dsn)('search', 'x') is what a verb came to: exit_code, stdout, stderr."""
    from ragdb.cli.main import app

    def on(dsn: str) -> Run:
        monkeypatch.setenv("RAGDB_DATABASE_URL", dsn)
        monkeypatch.setenv("COLUMNS", "200")
        runner = typer.testing.CliRunner()
        return lambda *arguments, **how: runner.invoke(app, [*map(str, arguments)], **how)

    return on


@pytest.fixture
def run(run_on: Callable[[str], Run], clone: str) -> Run:
    """The command line on a fresh database."""
    return run_on(clone)


@pytest.fixture
def one_session() -> Iterator[None]:
    """All verbs that a test runs in this process have one session of the server."""
    with kept():
        yield


@pytest.fixture(scope="module")
def module_clone(server18: Server) -> Iterator[str]:
    """`clone`, one for all tests of a file."""
    with server18.database() as database:
        yield server18.dsn(database.dbname)


@pytest.fixture(scope="module")
def filled(server18: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """DSN of a database that `fill` of a file has filled, for tests that are `rolled_back`."""
    with server18.filled(request.module.fill) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def any_filled(any_version: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """`filled` on PostgreSQL 18 and 16."""
    with any_version.filled(request.module.fill) as dsn:
        yield dsn


@pytest.fixture
def copied(server18: Server, filled: str) -> Iterator[str]:
    """DSN of the test's own copy of `filled`, in a file where nobody is connected to that."""
    with server18.copied(filled) as dsn:
        yield dsn


@pytest.fixture
def any_copied(any_version: Server, any_filled: str) -> Iterator[str]:
    """`copied` on PostgreSQL 18 and 16."""
    with any_version.copied(any_filled) as dsn:
        yield dsn


@pytest.fixture
def any_clone(any_version: Server) -> Iterator[str]:
    """`clone` on PostgreSQL 18 and 16."""
    with any_version.database() as database:
        yield any_version.dsn(database.dbname)


@pytest.fixture
def db(server18: Server) -> Iterator[Connection]:
    """The superuser in a migrated database, rolled back after. `set role` to be another."""
    with server18.rolled_back() as connection:
        yield connection


@pytest.fixture
def any_db(any_version: Server) -> Iterator[Connection]:
    """`db` on PostgreSQL 18 and 16."""
    with any_version.rolled_back() as connection:
        yield connection


@pytest.fixture
def login() -> Iterator[Login]:
    """login(dsn, 'writer') connects to a clone as that role of LOGINS, and closes it after."""
    with ExitStack() as stack:

        def connect(dsn: str, role: str, **options: Any) -> Connection:
            return stack.enter_context(psycopg.connect(dsn, user=role, **options))

        yield connect


@pytest.fixture
def as_role(clone: str, login: Login) -> Callable[..., Connection]:
    """as_role('writer') is a connection of that login to the test's clone."""
    return lambda role, **options: login(clone, role, **options)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of the shared collections, or a skip. Mark such tests `shared`."""
    folder = Path(os.environ.get("RAGDB_SHARED", Path(__file__).parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip(f"RAGDB_SHARED: no folder {folder} with the shared collections")
    return folder
