"""The database itself: `init`, `up`, `down`, `psql`, `status`, `doctor`, `repair`, `maintain`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import DATABASE, NEGATIVE, OK, Corpus, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragdb.database import Database


def register(app: typer.Typer) -> None:
    verb(app, "init")(init)
    verb(app, "migrate", help="The same as init.", hidden=True)(init)
    verb(app, "up")(up)
    verb(app, "down")(down)
    verb(app, "psql", context_settings={"ignore_unknown_options": True})(psql)
    verb(app, "status")(status)
    verb(app, "doctor")(doctor)
    verb(app, "repair")(repair)
    verb(app, "maintain")(maintain)


def init(
    session: Session,
    force: Annotated[
        bool, typer.Option("--force", help="Reload functions and views even if they are current.")
    ] = False,
    manual: Annotated[
        bool, typer.Option("--manual/--no-manual", help="Load ragdb's manual as corpus system.")
    ] = True,
) -> None:
    """Install the schema in a database, or upgrade it."""
    from ragdb.server import manual as book
    from ragdb.server import migrate, static

    conninfo = session.target.conninfo
    done = migrate.migrate(conninfo, force=force)
    session.note("the schema was installed" if done else "the schema is current")
    is_meant = static.load_default(conninfo)
    for advice in (*migrate.advice(conninfo), *([] if is_meant else [static.HINT])):
        session.note(advice)
    if manual and book.load(conninfo):
        session.note("the manual was loaded as corpus system")


def up(session: Session) -> None:
    """Start the embedded server and print its DSN."""
    from ragdb.server import embedded

    print(embedded.dsn())


def down(session: Session) -> None:
    """Stop the embedded server."""
    from ragdb.server import embedded

    session.note("stopped" if embedded.stop() else "it was not running")


def psql(
    session: Session,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="PSQL_ARGUMENTS", help="Arguments for psql; put -- before them."),
    ] = None,
) -> None:
    """Open the psql that comes with ragdb on the database."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    from ragdb.server import postgres

    given = conninfo_to_dict(session.target.conninfo)
    # a process list shows arguments to everybody, and an environment only to its owner
    password = given.pop("password", None)
    environment = dict(os.environ)
    if password:
        environment["PGPASSWORD"] = str(password)
    program = str(postgres.binary("psql"))
    # where in ragdb an error was raised says nothing to whoever made it
    context = [] if session.verbose else ["-v", "SHOW_CONTEXT=never"]
    database = ["-d", make_conninfo("", **given)]
    os.execve(program, [program, *context, *database, *(arguments or [])], environment)


def status(session: Session) -> None:
    """Show the database, its schema and its corpora."""
    from ragdb.cli import output
    from ragdb.server import embedded, scripts
    from ragdb.version import __version__

    with session.connect() as db:
        server = db.connection.info
        corpora = db.list_corpora()
        summary = {
            "ragdb": __version__,
            "schema": "current" if scripts.is_current(db.connection) else "other version",
            "server": _version(server.server_version),
            "database": server.dbname,
            "role": server.user,
            "origin": session.target.origin,
            "corpora": len(corpora),
            "documents": sum(c.documents for c in corpora),
            "chunks": sum(c.chunks for c in corpora),
            "newest_trace": next((t.created_at for t in db.list_traces(None, None, 1)), None),
        }
        due = [row for row in db.list_sources() if row.is_due and row.refresh is not None]
        if session.target.origin == "embedded" and (running := embedded.status()):
            summary["data_folder"] = str(running.folder)
    if session.format in ("json", "ndjson"):
        output.one(session, {**summary, "corpora": corpora, "sources_due": due})
        return
    output.one(session, summary)
    if session.format == "table" and corpora:
        session.out.print()
        output.rows(session, corpora, ["name", "documents", "chunks", "size_bytes", "drift"])
    for row in due:
        read = f"was read {output.cell(row.read_at)}" if row.read_at else "was never read"
        session.note(
            f"source {row.name} of corpus {row.corpus} {read} and may be {row.refresh} old:"
            f" ragdb ingest --contract FILE --due (contract {row.contract})"
        )


def doctor(
    session: Session,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also verify every row, recount every corpus and compare; takes a while."
        ),
    ] = False,
) -> int:
    """Look for problems and print the statement or command that repairs each."""
    from ragdb.cli import output, text

    checks: list[dict[str, Any]] = []

    def show(check: dict[str, Any]) -> None:
        checks.append(check)
        if session.format == "table":
            mark = {True: "ok  ", False: "FAIL", None: "note"}[check["ok"]]
            for line in (f"{mark}  {check['check']}: {check['found']}", f"      {check['fix']}"):
                if line.strip():
                    session.out.print(text.clean(line), markup=False)

    try:
        _checks(session, deep, show)
    finally:
        if session.format != "table":
            output.rows(session, checks)
    bad = [check for check in checks if check["ok"] is False]
    if not bad:
        return OK
    return NEGATIVE if all(c["check"].startswith(("corpus ", "verify ")) for c in bad) else DATABASE


def _checks(session: Session, deep: bool, show: Callable[[dict[str, Any]], None]) -> None:
    """Hand every check to `show`: ok is true, false, or null for what only an upgrade needs."""
    import psycopg

    from ragdb.cli import ledger, verify
    from ragdb.server import postgres, prepare, roles, scripts

    def check(name: str, ok: bool | None, what: str, fix: str = "") -> bool:
        show({"check": name, "ok": ok, "found": what, "fix": "" if ok else fix})
        return bool(ok)

    try:
        db = session.connect()
    except (psycopg.Error, postgres.EmbeddedError, prepare.NotReady) as error:
        check(
            "connection",
            False,
            str(error).strip(),
            "name a database with --dsn or RAGDB_DATABASE_URL, or unset both for the embedded one",
        )
        return
    check("connection", True, str(session.target))
    with db:
        version = db.connection.info.server_version
        check(
            "server",
            version >= prepare.MIN_SERVER * 10000,
            f"PostgreSQL {_version(version)}",
            f"ragdb needs PostgreSQL {prepare.MIN_SERVER} or newer",
        )
        vector = db.connection.execute(
            "select extversion from pg_extension where extname = 'vector'"
        ).fetchone()
        current = scripts.is_current(db.connection)
        me, role = roles.rights(db.connection)
        lacks = None
        try:
            # what a migration would lack; every statement of it is taken back
            with db.connection.transaction(force_rollback=True):
                prepare.prepare(db.connection)
        except prepare.NotReady as error:
            lacks = error
        check(
            "pgvector",
            bool(vector),
            vector[0] if vector else "missing",
            "see below" if lacks else "ragdb init",
        )
        if lacks is None:
            check("rights to migrate", True, "nothing is missing")
        elif current and lacks.statements:
            # a reader or writer need not be able to migrate
            found = f"role {me} has not all of them, which only an upgrade needs"
            is_member = roles.may_be_owner(db.connection)
            check("rights to migrate", None, found, " ".join(lacks.statements) if is_member else "")
        else:
            check("rights to migrate", False, lacks.reason, " ".join(lacks.statements))
        newer = None if current else scripts.unknown_revision(db.connection)
        if newer:
            found = f"of a newer ragdb than this, whose revision {newer} is not known here"
            check("schema", False, found, "pip install --upgrade ragdb-postgres")
            return
        if not check(
            "schema",
            current,
            "current" if current else "absent or of another version",
            "ragdb init",
        ):
            return
        if role is None:
            # one that may only be the owner is there to migrate
            ok = None if roles.may_be_owner(db.connection) else False
            found = f"role {me} has those of no role of ragdb"
            check("rights", ok, found, f"grant ragdb_reader to {me}; -- or writer, or admin")
        else:
            check("rights", True, f"role {me} has those of {role}")
        if role in (None, roles.LOGIN):
            return
        if role in (roles.OWNER, "ragdb_admin"):
            for gone in db.dead_roles():
                check(
                    f"role {gone.role}",
                    None,
                    f"is gone (oid {gone.role_oid}) and still holds {', '.join(gone.holds)}",
                    "as the owner: select ragdb.bind_role(<it>, <the role that it is now>);"
                    " or revoke what it holds",
                )
            verify.for_doctor(db, deep, show)
            ledger.for_doctor(db, check)
        for corpus in db.list_corpora():
            if corpus.drift is not None and abs(corpus.drift) > 0.1:
                check(
                    f"corpus {corpus.name}",
                    False,
                    f"its mean length drifted by {corpus.drift:.0%}",
                    f"ragdb corpus optimize {corpus.name}",
                )
            if deep:
                _recount(db, corpus.name, check)


def _recount(db: Database, corpus: str, check: Any) -> None:
    wrong = db.check_corpus(corpus)
    for row in wrong:
        check(
            f"corpus {corpus}",
            False,
            f"{row.check}: {row.found}, not {row.expected}",
            f"ragdb repair {corpus}",
        )
    if not wrong:
        check(f"corpus {corpus}", True, "equal to a recount")


def repair(session: Session, corpus: Corpus) -> None:
    """Rebuild the lexical index and the counters of a corpus from its chunks."""
    with session.connect() as db:
        db.repair_corpus(corpus)
    session.note(f"rebuilt {corpus}")


def maintain(session: Session) -> None:
    """Create the partitions for the coming months' traces, and count new traces for dashboards.

    Run it monthly, or every few minutes if people watch dashboards.
    """
    with session.connect() as db:
        made = db.maintain()
    for name in made:
        print(name)
    if not made:
        session.note("nothing was due")


def _version(number: int) -> str:
    return f"{number // 10000}.{number % 10000}"
