"""The embedded server starts for any user, for many at once, after a kill, in any environment."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from unittest.mock import Mock

import psutil
import psycopg
import pytest
from psycopg.pq import Ping

from ragdb.server import (
    configuration,
    embedded,
    leftover,
    manual,
    migrate,
    postgres,
    scripts,
)
from tests.forked import Forked, run_forked
from tests.waiting import until
from tests.watcher import watched_folder

SOON = 50  # seconds, on a busy machine too; who waits for what does not come waits a minute


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A RAGDB_HOME of the module's own."""
    with watched_folder() as home:
        yield home


Place = Callable[[str], Path]


@pytest.fixture(scope="module")
def initialised(home: Path) -> Path:
    """A data folder of which no server has been started."""
    folder = home / "initialised"
    postgres.initialise(folder, 18)
    return folder


@pytest.fixture
def place(home: Path, initialised: Path) -> Place:
    """place(name) is a copy of it: to initialise one takes most of a first start."""

    def place(name: str) -> Path:
        folder = home / name
        folder.parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-a", initialised, folder], check=True)
        return folder

    return place


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "RAGDB_HOME": str(home),
        # what a caller may have set, and must not matter
        "LC_ALL": "C.UTF-8",
        "PGPORT": "6543",
        "PGDATABASE": "elsewhere",
        "PGUSER": "nobody",
        "PGTZ": "Asia/Tokyo",
    }


def value(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture(scope="module")
def dsn(home: Path) -> str:
    """What three processes that all start the server for the first time are told."""
    began = time.monotonic()
    callers = [Forked("up", env=environment(home), stdout=True) for _ in range(3)]
    ends = [caller.communicate(timeout=300) for caller in callers]
    print(f"first start, three at once: {time.monotonic() - began:.2f} s")
    said = [line for _, error in ends for line in error.splitlines()]
    assert said == [f"making a database in {home / 'pg18'}; this is done once"]
    (told,) = {out.strip() for out, _ in ends}
    return told


def test_processes_that_start_it_at_once_share_one_server(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        assert scripts.is_current(connection)


def test_ragdb_connects_as_a_plain_login_that_may_do_all_that_the_owner_may(dsn: str) -> None:
    assert value(dsn, "select current_user::text") == "ragdb"
    assert (
        value(dsn, "select rolsuper or rolcreaterole from pg_roles where rolname = 'ragdb'")
        is False
    )
    assert value(dsn, "select array_agg(name) from ragdb.corpora") == ["system"]
    assert value(dsn, "select array_agg(title) from ragdb.list_corpora()") == ["Manual of ragdb"]
    assert (
        value(dsn, "select has_database_privilege(current_database(), 'create, temporary')") is True
    )


@pytest.mark.parametrize("role", ["reader", "writer", "admin", "auditor"])
def test_tokens_of_the_roles_that_http_serves_are_made_by_its_login(dsn: str, role: str) -> None:
    token = f"select ragdb.create_http_token('ragdb_{role}', '{role}')"
    assert str(value(dsn, token)).startswith("rgh_")
    # and the server may act as them
    assert value(dsn, f"select set_config('role', 'ragdb_{role}', true)") == f"ragdb_{role}"


def test_a_table_that_its_user_makes_is_not_in_a_schema_of_ragdb(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("create table staged as select name from list_corpora()")
        kept = connection.execute("select relnamespace::regnamespace::text from pg_class"
                                  " where relname = 'staged'").fetchall()  # fmt: skip
        connection.rollback()
    assert kept == [("public",)]


def test_its_login_is_no_auditor_unasked(dsn: str) -> None:
    assert value(dsn, "select pg_has_role('ragdb_auditor', 'usage')") is False


def test_the_locale_is_never_the_callers(dsn: str) -> None:
    locale = (
        "select concat_ws(' ', datlocprovider, datcollate, datlocale)"
        " from pg_database where datname = 'ragdb'"
    )
    assert value(dsn, locale) == "b C C.UTF-8"
    assert value(dsn, "show timezone") == "UTC"


def test_what_is_acknowledged_is_on_disk(dsn: str) -> None:
    for setting in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
        assert value(dsn, f"show {setting}") == "on"


def test_only_the_folders_user_reaches_it(dsn: str, home: Path) -> None:
    assert value(dsn, "show listen_addresses") == ""
    assert (home / "pg18").stat().st_mode & 0o777 == 0o700


def test_neither_statements_nor_details_are_logged(dsn: str, home: Path) -> None:
    with psycopg.connect(dsn) as connection, pytest.raises(psycopg.errors.NotNullViolation):
        connection.execute("insert into ragdb.settings values ('canary-1', null)")
    with psycopg.connect(dsn) as connection, pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("select 'canary-2'::text from nowhere")

    def logs() -> str:
        return "".join(log.read_text() for log in (home / "pg18/log").iterdir())

    until(lambda: "nowhere" in logs())  # the server writes its log when it comes to it
    assert "canary" not in logs()


def test_a_second_call_finds_it_running(
    dsn: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_HOME", str(home))
    before = embedded.status()
    assert before is not None
    assert embedded.dsn() == dsn
    assert embedded.status() == before


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PGSSLMODE", "sure", 'invalid sslmode value: "sure"'),
        ("PGCONNECT_TIMEOUT", "soon", "connect_timeout"),
        ("PGGSSENCMODE", "require", "not supported over a local socket"),
    ],
)
def test_a_variable_that_libpq_refuses_is_told_and_not_taken_for_a_killed_server(
    dsn: str, home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("RAGDB_HOME", str(home))
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(embedded, "launch", None)  # waits for it
    with pytest.raises(psycopg.Error, match=said):
        embedded.dsn()


def test_a_current_database_needs_neither_alembic_nor_sqlalchemy(dsn: str, home: Path) -> None:
    code = """
        import sys
        from ragdb.server import embedded
        print(embedded.dsn())
        print(sorted({'alembic', 'sqlalchemy', 'psutil', 'fasteners'} & set(sys.modules)))
    """
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment(home),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    assert out.splitlines() == [dsn, "[]"]


def test_a_schema_older_than_the_package_is_migrated(dsn: str, home: Path) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("comment on schema ragdb is 'older'")
        connection.execute("drop function if exists ragdb.corpus_info(text)")
    assert embedded.dsn(home / "pg18") == dsn
    with psycopg.connect(dsn) as connection:
        assert scripts.is_current(connection)
        assert connection.execute(
            "select to_regprocedure('ragdb.corpus_info(text)')"
        ).fetchone() != (None,)


@pytest.mark.parametrize("backends", [False, True], ids=["postmaster", "everything"])
def test_after_a_kill_it_starts_again_with_all_that_was_committed(
    dsn: str, home: Path, backends: bool
) -> None:
    import psutil

    found = embedded.status(home / "pg18")
    assert found is not None
    with psycopg.connect(dsn) as connection:
        connection.execute("create table if not exists acknowledged (at timestamptz)")
        connection.execute("insert into acknowledged values (now())")
    before = value(dsn, "select count(*) from acknowledged")
    children = psutil.Process(found.pid).children() if backends else []
    for pid in [found.pid, *(child.pid for child in children)]:
        os.kill(pid, signal.SIGKILL)
    assert embedded.dsn(home / "pg18") == dsn
    assert value(dsn, "select count(*) from acknowledged") == before


def test_one_that_has_lost_a_process_is_waited_for_while_it_recovers(dsn: str, home: Path) -> None:
    with psycopg.connect(dsn) as lost:
        process = psutil.Process(lost.info.backend_pid)
        process.kill()  # as who is short of memory does
        until(lambda: not process.is_running())  # until the server knows
        began = time.monotonic()
        superuser = embedded.start(home / "pg18")
        assert time.monotonic() - began < SOON
    assert value(superuser, "select 1") == 1


def test_one_without_a_free_connection_is_not_started_again(dsn: str, home: Path) -> None:
    superuser = embedded.start(home / "pg18")
    with ExitStack() as stack:
        for _ in range(int(str(value(superuser, "show max_connections"))) - 1):
            with suppress(psycopg.OperationalError):  # the server's own may have some
                stack.enter_context(psycopg.connect(superuser))
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            [stack.enter_context(psycopg.connect(superuser)) for _ in range(9)]
        assert embedded.start(home / "pg18") == superuser
        assert embedded.status(home / "pg18") is not None


def test_a_killed_server_that_nobody_reaps_does_not_stop_the_next(home: Path) -> None:
    """In a container whose first process reaps nothing, the number stays taken for ever."""
    zombie = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    pid_file = home / "zombie.pid"
    pid_file.write_text(f"{zombie.pid}\n/somewhere\nrest\n")
    leftover.disown(pid_file, home)
    assert pid_file.read_text() == f"{os.getpid()}\n/somewhere\nrest\n"
    zombie.wait()


def test_a_program_that_got_the_number_of_a_killed_server_does_not_stop_the_next(
    dsn: str, home: Path
) -> None:
    """After a restart of the machine, or in a new container over the same volume."""
    found = embedded.status(home / "pg18")
    assert found is not None
    pid_file = home / "pg18/postmaster.pid"
    lock = home / "pg18/.s.PGSQL.5432.lock"
    left = {file: file.read_text() for file in (pid_file, lock)}
    embedded.stop(home / "pg18")
    server_user = {"user": pid_file.parent.owner()} if os.geteuid() == 0 else {}
    other = subprocess.Popen(["sleep", "1000"], cwd="/", **server_user)  # type: ignore[call-overload]
    try:
        for file, text in left.items():
            file.write_text(text.replace(str(found.pid), str(other.pid), 1))
            shutil.chown(file, file.parent.owner())
        assert embedded.dsn(home / "pg18") == dsn
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("left", ["", "no number\n", "no line"])
def test_what_is_no_number_of_a_server_is_left_to_postgresql(tmp_path: Path, left: str) -> None:
    (tmp_path / "postmaster.pid").write_text(left)
    leftover.disown(tmp_path / "postmaster.pid", tmp_path)
    assert (tmp_path / "postmaster.pid").read_text() == left


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "away", [["psql", "-c", "drop view bi.mine"], ["init", "--force", "--no-manual"]]
)
def test_what_is_in_the_way_of_an_upgrade_is_moved_by_psql_or_by_force(
    dsn: str, home: Path, away: list[str]
) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("create view bi.mine as select 1 as one")
        connection.execute("comment on schema ragdb is 'older'")

    def ragdb(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {n: v for n, v in environment(home).items() if not n.startswith("PG")}
        return run_forked(*arguments, env=env, timeout=120)

    for refused in (ragdb("status"), ragdb("init")):
        assert refused.returncode == 3
        assert "  view bi.mine" in refused.stderr
    assert ragdb(*away).returncode == 0
    assert ragdb("status").returncode == 0
    assert value(dsn, "select to_regclass('bi.mine')") is None


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["postmaster.pid", ".s.PGSQL.5432.lock"])
def test_a_number_that_a_power_cut_left_unwritten_is_no_server(
    dsn: str, home: Path, name: str
) -> None:
    embedded.stop(home / "pg18")
    left = home / "pg18" / name
    left.touch()
    if os.geteuid() == 0:
        shutil.chown(left, left.parent.owner())
    just_begun = time.time() - leftover.OLD + 1
    os.utime(left, (just_begun, just_begun))
    assert value(embedded.start(home / "pg18"), "select 1") == 1


def test_who_is_about_to_write_its_number_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "postmaster.pid"
    file.touch()
    starts = threading.Timer(0.5, file.write_text, ["4711\n"])
    starts.start()
    leftover.forget(file)
    assert file.read_text() == "4711\n"
    starts.join()


def test_a_backend_of_a_killed_server_that_still_works_is_waited_for(
    dsn: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = embedded.status(home / "pg18")
    assert found is not None
    killed, waits = psutil.Process(found.pid), []
    left = psycopg.connect(dsn)
    backend = psutil.Process(left.info.backend_pid)

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        backend.resume()
        time.sleep(seconds)

    monkeypatch.setattr(postgres, "time", Mock(monotonic=time.monotonic, sleep=sleep))
    backend.suspend()
    killed.kill()
    until(lambda: not killed.is_running() or killed.status() == psutil.STATUS_ZOMBIE)
    try:
        assert embedded.dsn(home / "pg18") == dsn
    finally:
        with suppress(psutil.NoSuchProcess):
            backend.resume()
        left.close()
    assert waits


@pytest.mark.usefixtures("dsn")
def test_a_server_that_lives_keeps_its_number_also_by_a_link_to_its_folder(home: Path) -> None:
    pid_file = home / "pg18/postmaster.pid"
    before = pid_file.read_text()
    (home / "link").symlink_to(home / "pg18")
    for folder in (home / "pg18", home / "link"):
        leftover.disown(pid_file, folder)
        assert pid_file.read_text() == before


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("name", "then"), [("", "d" * 100), ("", ""), ("d" * 100, "d" * 100)])
def test_a_folder_that_is_moved_while_its_server_runs_has_one_of_its_new_name(
    place: Place, name: str, then: str
) -> None:
    before = place(f"{name}before{len(then)}/pg18")
    with psycopg.connect(embedded.start(before), autocommit=True) as connection:
        connection.execute("create table kept as select 1")
    folder = before.parent.rename(before.parent.with_name(f"{then}moved{len(name)}")) / "pg18"
    try:
        assert embedded.status(before) is None
        superuser = embedded.start(folder)
        assert value(superuser, "show data_directory") == str(folder)
        with psycopg.connect(superuser, autocommit=True) as connection:
            connection.execute("checkpoint")  # ends a server whose folder is not where it was
            assert connection.execute("select * from kept").fetchall() == [(1,)]
    finally:
        assert embedded.stop(folder)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["d" * 100, ""])
def test_no_server_starts_where_a_folder_was_moved_away_whose_server_runs(
    place: Place, name: str
) -> None:
    before = place(f"{name}away/pg18")
    embedded.start(before)
    folder = before.parent.rename(before.parent.with_name(f"{name}still")) / "pg18"
    subprocess.run(["cp", "-a", folder.parent, before.parent], check=True)
    try:
        assert embedded.status(before) is None
        assert embedded.stop(before) is False
        with pytest.raises(postgres.EmbeddedError, match=f"is in {folder}") as refused:
            embedded.start(before)
        assert refused.value.hint == f"`RAGDB_HOME={folder.parent} ragdb down` stops it"
        assert embedded.status(folder) is not None
    finally:
        assert embedded.stop(folder)
    shutil.rmtree(before)
    place(f"{name}away/pg18")
    assert value(embedded.start(before), "show data_directory") == str(before)
    assert value(embedded.start(folder), "show data_directory") == str(folder)
    assert [embedded.stop(before), embedded.stop(folder)] == [True, True]


def test_a_server_whose_process_cannot_be_seen_is_reached_and_not_stopped(place: Place) -> None:
    folder = place("contained/pg18")
    superuser = embedded.start(folder)
    pid_file = folder / "postmaster.pid"
    written = pid_file.read_text()
    _, _, *rest = written.split("\n")
    rest[2] = "/elsewhere"
    with subprocess.Popen(["sleep", "60"]) as other:  # has its number here, outside its container
        try:
            pid_file.write_text("\n".join([str(other.pid), "/elsewhere", *rest]))
            assert embedded.start(folder) == superuser
            with pytest.raises(postgres.EmbeddedError, match="cannot be seen"):
                embedded.stop(folder)
            assert other.poll() is None
        finally:
            pid_file.write_text(written)
            other.kill()
    assert embedded.stop(folder)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["", "d" * 100])
def test_a_copy_of_a_folder_whose_server_runs_has_a_server_of_its_own(
    place: Place, name: str
) -> None:
    folder, copy = place(f"{name}copied/pg18"), place(f"{name}copy/pg18")
    superuser = embedded.start(folder)
    shutil.rmtree(copy)
    subprocess.run(["cp", "-a", folder, copy], check=True)
    try:
        assert embedded.status(copy) is None
        assert value(embedded.start(copy), "show data_directory") == str(copy)
        assert value(superuser, "show data_directory") == str(folder)
    finally:
        assert [embedded.stop(copy), embedded.stop(folder)] == [True, True]


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["d" * 100, "one, two"])
def test_a_folder_whose_name_a_socket_cannot_have_gets_a_short_one(place: Place, name: str) -> None:
    deep = place(f"{name}/pg18")
    superuser = embedded.start(deep)
    found = embedded.status(deep)
    assert found is not None
    try:
        assert found.socket.stat().st_mode & 0o777 == 0o700
        assert value(superuser, "select 1") == 1
    finally:
        assert embedded.stop(deep)
        found.socket.rmdir()


@pytest.mark.parametrize("sign", ["$", "`", '"'])
def test_a_folder_that_a_shell_would_read_otherwise_is_refused(home: Path, sign: str) -> None:
    folder = home / f"a{sign}b" / "pg18"
    with pytest.raises(postgres.EmbeddedError, match="set RAGDB_HOME to another"):
        embedded.start(folder)
    assert not folder.exists()


@pytest.mark.parametrize("planted", ["link", "anothers", "open", "file"])
def test_a_planted_socket_folder_is_neither_used_nor_given_away(
    home: Path, tmp_path: Path, planted: str
) -> None:
    deep = home / ("p" * 100) / planted
    deep.mkdir(parents=True)
    found = deep.stat()
    digest = hashlib.sha256(f"{found.st_dev} {found.st_ino}".encode()).hexdigest()[:16]
    short = Path("/tmp") / f"ragdb-{digest}"
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    try:
        if planted == "link":
            short.symlink_to(target)
        elif planted == "file":
            short.touch(mode=0o600)
        else:
            short.mkdir(mode=0o700)
            if planted == "open":
                short.chmod(0o777)
            elif os.geteuid() == 0:
                os.chown(short, 12345, 12345)
            else:
                pytest.skip("only root can plant a folder of another user")
        before = short.lstat()
        with pytest.raises(postgres.EmbeddedError, match="is not a folder that only"):
            postgres.launch(deep, 18, lambda: False)
        after = short.lstat()
        assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)
        assert target.stat().st_uid == os.geteuid()
    finally:
        short.rmdir() if short.is_dir() and not short.is_symlink() else short.unlink()


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_home_that_cannot_be_a_folder_is_refused_with_what_to_set(
    tmp_path: Path, below: str
) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / below / "pg18"
    with pytest.raises(
        postgres.EmbeddedError, match=r"(File exists|Not a directory); set RAGDB_HOME"
    ) as failed:
        embedded.start(folder)
    assert f"cannot be kept in {folder.parent}: " in str(failed.value)
    assert failed.value.hint == ""  # `ragdb doctor` would meet the same


@pytest.mark.parametrize("is_named", [True, False])
def test_a_user_without_home_or_name_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    for name in ("HOME", "RAGDB_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    if is_named:
        monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    monkeypatch.setattr(pwd, "getpwuid", Mock(side_effect=KeyError))
    said = "user 54321 .* has no name.* --dsn" if is_named else "no home folder.* RAGDB_HOME"
    with pytest.raises(postgres.EmbeddedError, match=said):
        embedded.start()
    assert not list(tmp_path.rglob("PG_VERSION"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no such name can be given")
def test_the_tilde_of_a_file_of_settings_is_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAGDB_HOME", "~/rag")  # no shell reads what Docker and systemd do
    assert embedded.data_folder() == tmp_path / "rag/pg18"
    monkeypatch.setenv("RAGDB_HOME", "~nobody-of-this-name/rag")
    with pytest.raises(postgres.EmbeddedError, match="there is no home folder"):
        embedded.data_folder()


def test_a_folder_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(postgres.EmbeddedError, match="is not UTF-8; set RAGDB_HOME"):
        embedded.start(tmp_path / os.fsdecode(b"caf\xe9") / "pg18")
    assert not list(tmp_path.rglob("PG_VERSION"))


@pytest.mark.skipif(sys.platform != "linux", reason="only there memory is shared by files")
@pytest.mark.parametrize(("size", "kind"), [(64 * 2**20, "sysv"), (4 * 2**30, None)])
def test_in_a_container_processes_do_not_share_memory_by_the_few_files_it_allows(
    monkeypatch: pytest.MonkeyPatch, size: int, kind: str | None
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(size, 0, size))
    assert configuration.first().get("dynamic_shared_memory_type") == kind


@pytest.mark.parametrize(
    ("limit", "buffers", "build", "cache"),
    [("max", 1024, 512, 32768), ("536870912", 128, 64, 256), ("4294967296", 512, 256, 2048)],
)
def test_a_server_in_a_container_takes_memory_by_what_the_container_may_have(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    buffers: int,
    build: int,
    cache: int,
) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(configuration, "LIMITS", (tmp_path / "memory.max", tmp_path / "none"))
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**24}.get)
    names = ("shared_buffers", "maintenance_work_mem", "effective_cache_size")
    set_to = configuration.first()
    assert [set_to[name] for name in names] == [f"{size}MB" for size in (buffers, build, cache)]


def test_one_that_takes_no_connection_is_stopped_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it starts, or recovers from the loss of a process."""
    folder = place("busy")
    embedded.start(folder)
    monkeypatch.setattr(embedded, "PGconn", Mock(ping=lambda _: Ping.REJECT))
    assert embedded.status(folder) is None
    assert (folder / "postmaster.pid").exists()
    assert embedded.stop(folder)
    assert not (folder / "postmaster.pid").exists()


def test_stopping_what_does_not_run_says_so(home: Path) -> None:
    assert not embedded.stop(home / "nothing")


def test_a_server_that_does_not_stop_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "pg_ctl: server does not shut down"
    monkeypatch.setattr(embedded, "status", lambda *_, **__: embedded.Status(1, home, 18, home))
    monkeypatch.setattr(
        embedded, "run", lambda *_: subprocess.CompletedProcess([], 1, f"{said}\n", "")
    )
    with pytest.raises(postgres.EmbeddedError, match=f"{home / 'pg18'} does not stop: {said}$"):
        embedded.stop(home / "pg18")


def test_a_server_that_another_has_stopped_meanwhile_is_stopped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter([embedded.Status(1, home, 18, home), None])
    monkeypatch.setattr(embedded, "status", lambda *_, **__: next(seen))
    assert not embedded.stop(home / "pg18")


@pytest.mark.parametrize("useradd", ["", "#!/bin/sh\nexit 1\n"])
def test_root_is_told_that_the_user_of_the_server_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, useradd: str
) -> None:
    if useradd:
        (tmp_path / "useradd").write_text(useradd)
        (tmp_path / "useradd").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "SYSTEM_USER", "nobody-has-this-name")
    postgres._system_user.cache_clear()
    try:
        with pytest.raises(postgres.EmbeddedError, match="nobody-has-this-name"):
            postgres._system_user()
    finally:
        postgres._system_user.cache_clear()


def test_a_user_of_the_server_that_another_process_makes_at_that_moment_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = pwd.getpwnam("root")
    asked: list[str] = []

    def getpwnam(name: str) -> pwd.struct_passwd:
        asked.append(name)
        if len(asked) == 1:
            raise KeyError(name)
        return found

    monkeypatch.setattr(pwd, "getpwnam", getpwnam)
    monkeypatch.setattr(postgres, "SYSTEM_USER", "root")  # useradd says that it is there
    postgres._system_user.cache_clear()
    try:
        assert postgres._system_user() == "root"
    finally:
        postgres._system_user.cache_clear()


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            "running bootstrap script ... ok\nperforming post-bootstrap initialization ... "
            '2026-11-30 UTC [1] FATAL:  could not write to file "a": No space left on device\n'
            "child process exited with exit code 1\ninitdb: removing contents of data directory",
            'could not write to file "a": No space left on device',
        ),
        ("initdb: error: could not access directory\n", "could not access directory"),
        ("Illegal instruction\n", "Illegal instruction"),
    ],
)
def test_a_first_start_that_fails_shows_the_cause_and_not_all_that_was_done(
    home: Path, monkeypatch: pytest.MonkeyPatch, said: str, cause: str
) -> None:
    done = subprocess.CompletedProcess([], 1, said, "")
    monkeypatch.setattr(postgres, "run", lambda *_: done)
    with pytest.raises(postgres.EmbeddedError) as failed:
        postgres.initialise(home / "failed", 18)
    assert str(failed.value) == f"a data folder cannot be created in {home / 'failed'}: {cause}"
    assert ("disk is full" in failed.value.hint) == ("No space" in said)


def test_a_first_start_that_was_killed_is_done_again(home: Path) -> None:
    draft = home / "again.draft"
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18\n")
    assert value(embedded.start(home / "again"), "select 1") == 1
    embedded.stop(home / "again")
    assert not draft.exists()


def test_a_folder_that_holds_something_else_is_left_as_it_is_and_the_caller_told(
    home: Path,
) -> None:
    """As a restore that was stopped, or a disk that is mounted there, leaves it."""
    folder = home / "half"
    folder.mkdir()
    (folder / "base.tar").write_text("a backup")
    with pytest.raises(
        postgres.EmbeddedError, match=f"{folder}: Directory not empty; move"
    ) as told:
        embedded.start(folder)
    assert "or set RAGDB_HOME to another folder" in str(told.value)
    assert [file.read_text() for file in folder.iterdir()] == ["a backup"]
    assert not (home / "half.draft").exists()


def test_a_folder_may_have_any_sign_that_a_uri_has_another_way(home: Path) -> None:
    folder = home / "my 50%25 & more?#/pg18"
    superuser = embedded.start(folder)
    assert value(superuser, "show data_directory") == str(folder)
    embedded.stop(folder)


def test_the_mask_of_the_caller_does_not_matter(home: Path) -> None:
    folder = home / "masked/pg18"
    before = os.umask(0o077)
    try:
        assert value(embedded.start(folder), "select 1") == 1
    finally:
        os.umask(before)
    embedded.stop(folder)
    assert folder.parent.stat().st_mode & 0o777 == (0o755 if os.geteuid() == 0 else 0o700)


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts it as another user")


@AS_ROOT
def test_a_server_that_root_starts_has_no_group_of_root(place: Place) -> None:
    folder, own = place("groups"), os.getgroups()
    os.setgroups([0, 4])
    try:
        embedded.start(folder)
    finally:
        os.setgroups(own)
    found = embedded.status(folder)
    assert found is not None
    status = Path(f"/proc/{found.pid}/status").read_text()
    assert [line.split() for line in status.splitlines() if "Groups" in line] == [["Groups:"]]
    embedded.stop(folder)


@AS_ROOT
def test_root_is_told_of_a_folder_that_the_user_of_the_server_cannot_enter(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(postgres.EmbeddedError, match="cannot be entered by user pgserver") as told:
        embedded.start(tmp_path / "pg18")
    assert "set RAGDB_HOME to a folder outside it" in str(told.value)


@AS_ROOT
def test_root_is_told_whose_a_restored_folder_must_be(place: Place) -> None:
    folder = place("anothers")
    os.chown(folder, 0, 0)
    with pytest.raises(postgres.EmbeddedError) as failed:
        embedded.start(folder)
    assert f"`chown -R pgserver {folder}`" in failed.value.hint


@pytest.mark.parametrize(("user", "place"), [(0, "/var/lib/ragdb"), (54321, "/there/ragdb")])
def test_what_root_starts_is_kept_outside_of_homes(
    monkeypatch: pytest.MonkeyPatch, user: int, place: str
) -> None:
    monkeypatch.delenv("RAGDB_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/there")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert postgres.home() == Path(place)


def test_a_restored_folder_that_others_may_enter_says_how_to_close_it(place: Place) -> None:
    folder = place("restored")
    folder.chmod(0o755)
    with pytest.raises(postgres.EmbeddedError, match="permissions") as failed:
        embedded.start(folder)
    assert f"`chmod 700 {folder}`" in failed.value.hint


def test_a_server_that_cannot_start_shows_the_end_of_its_log(place: Place) -> None:
    folder = place("broken")
    embedded.start(folder)
    embedded.stop(folder)
    # read after the server has begun to write its log into a folder, and before
    for file, line in (("pg_hba.conf", "nobody"), ("postgresql.conf", "shared_buffers = nonsense")):
        with (folder / file).open("a") as settings:
            settings.write(f"{line}\n")
        with pytest.raises(postgres.EmbeddedError, match=line.split()[-1]):
            embedded.start(folder)


def test_what_an_earlier_start_said_is_not_taken_for_the_cause_of_this_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "broken"
    for log in (folder / "startup.log", *(folder / "log").iterdir()):
        with log.open("a") as lines:
            lines.write('FATAL:  lock file "postmaster.pid" already exists\n')
    began = time.monotonic()
    with pytest.raises(postgres.EmbeddedError, match="nonsense") as failed:
        embedded.start(folder)
    assert time.monotonic() - began < SOON
    assert str(failed.value).count("nonsense") == 1
    assert "lock file" not in str(failed.value)
    assert "doctor" in failed.value.hint


def test_the_cause_is_read_after_the_log_is_written_to_its_end(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "late"
    (folder / "log").mkdir(parents=True)

    def write() -> None:
        (folder / "log" / "late.log").write_text(
            "FATAL:  the cause\nLOG:  database system is shut down\n"
        )

    writer = threading.Timer(0.5, write)

    def fails(*_: object) -> subprocess.CompletedProcess[str]:
        said = "LOG:  redirecting log output to logging collector process\n"
        (folder / "startup.log").write_text(said)
        writer.start()
        return subprocess.CompletedProcess([], 1, "pg_ctl: could not start server", "")

    monkeypatch.setattr(postgres, "run", fails)
    with pytest.raises(postgres.EmbeddedError, match="the cause"):
        postgres.launch(folder, 18, lambda: False)
    writer.join()


def test_a_server_that_cannot_start_on_a_full_disk_says_so_at_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> subprocess.CompletedProcess[str]:
        said = 'FATAL:  could not write lock file "postmaster.pid": No space left on device'
        return subprocess.CompletedProcess([], 1, said, "")

    monkeypatch.setattr(postgres, "run", full)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 2**24))
    began = time.monotonic()
    for folder in ("broken", "new"):
        with pytest.raises(postgres.EmbeddedError, match="No space left") as failed:
            embedded.start(home / folder)
        assert "disk is full" in failed.value.hint
    assert time.monotonic() - began < SOON


def test_a_server_that_cannot_start_for_another_reason_is_not_told_of_its_disk(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = subprocess.CompletedProcess([], 1, "could not bind: Address already in use", "")
    monkeypatch.setattr(postgres, "run", lambda *_: said)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 2**25))
    with pytest.raises(postgres.EmbeddedError, match="already in use") as failed:
        embedded.start(home / "new")
    assert "disk" not in failed.value.hint


def test_an_install_that_was_stopped_after_the_schema_is_finished_by_the_next(
    dsn: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as stopped:
        stopped.setattr(scripts, "is_current", lambda _: False)
        stopped.setattr(migrate, "migrate", lambda *_, **__: True)
        stopped.setattr(manual, "load", Mock(side_effect=psycopg.errors.DiskFull))
        with pytest.raises(psycopg.errors.DiskFull):
            embedded.dsn(home / "pg18")
    loads = Mock()
    monkeypatch.setattr(manual, "load", loads)
    assert [embedded.dsn(home / "pg18") for _ in range(2)] == [dsn, dsn]
    loads.assert_called_once_with(dsn)


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A part of the wheel where root alone can enter, as in a virtual environment under /root."""
    wheel = postgres.binary("").parents[1]
    hidden = tmp_path / "closed"
    hidden.mkdir(mode=0o700)
    programs = hidden / wheel.name / "pginstall18/bin"
    programs.mkdir(parents=True)
    shutil.copy2(wheel / "pginstall18/bin/initdb", programs)
    (programs / "initdb").chmod(0o700)
    shutil.copytree(wheel.with_suffix(".libs"), hidden / f"{wheel.name}.libs")
    monkeypatch.setattr(postgres, "binary", lambda name, version: programs / name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGDB_HOME", "home")
    return hidden


def test_programs_are_copied_with_their_libraries_where_the_server_cannot_read_the_wheel(
    tmp_path: Path, hidden: Path
) -> None:
    before = os.umask(0o077)
    try:
        copied = postgres.programs.__wrapped__(18)
    finally:
        os.umask(before)
    assert copied.is_relative_to(tmp_path / "home")
    shutil.rmtree(hidden)  # what the server's user sees of it
    ran = subprocess.run([copied / "initdb", "--version"], capture_output=True, text=True)
    assert "PostgreSQL" in ran.stdout, ran.stderr
    below = [path for path in (tmp_path / "home").rglob("*") if not path.is_symlink()]
    assert [path for path in below if not path.stat().st_mode & 0o001] == []


@pytest.mark.usefixtures("hidden")
def test_a_copy_of_the_programs_that_was_stopped_is_not_taken_for_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as full:
        full.setattr(shutil, "copytree", Mock(side_effect=stop_in_the_middle))
        with pytest.raises(KeyboardInterrupt):
            postgres.programs.__wrapped__(18)
    copied = postgres.programs.__wrapped__(18)
    assert (copied / "initdb").stat().st_size == postgres.binary("initdb", 18).stat().st_size


def stop_in_the_middle(_: Path, to: Path, **how: object) -> None:
    (to / "bin").mkdir(parents=True)
    (to / "bin/initdb").touch()
    raise KeyboardInterrupt
