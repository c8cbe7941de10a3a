"""`ragdb doctor`: what is wrong, and the statement or command that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import explain, verb
from ragdb.cli.session import DATABASE, NEGATIVE, OK, Session
from ragdb.cli.text import server_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragdb.database import Database
    from ragdb.server.roles import Connection


LITTLE = 2 * 2**30  # bytes
# what is wrong inside the database, which can be asked all the same
WITHIN = ("corpus ", "embeddings ", "jobs ", "verify ")


def register(app: typer.Typer) -> None:
    verb(app, "doctor")(doctor)


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
    from ragdb.cli import text

    checks: list[dict[str, Any]] = []

    def show(check: dict[str, Any]) -> None:
        checks.append(check)
        if session.format == "table":
            mark = {True: "ok  ", False: "FAIL", None: "note"}[check["ok"]]
            for line in (f"{mark}  {check['check']}: {check['found']}", f"      {check['fix']}"):
                if line.strip():
                    session.out.print(text.clean(line), markup=False)

    try:
        Examination(session, deep, show).run()
    finally:
        if session.format != "table":
            session.rows(checks)
    bad = [check for check in checks if check["ok"] is False]
    if not bad:
        return OK
    return NEGATIVE if all(c["check"].startswith(WITHIN) for c in bad) else DATABASE


class Examination:
    """The checks in their order. One is ok, or fails where the next command would, or is a note."""

    def __init__(
        self, session: Session, deep: bool, show: Callable[[dict[str, Any]], None]
    ) -> None:
        self.session, self.deep, self.show = session, deep, show

    def check(self, name: str, ok: bool | None, what: str, fix: str = "") -> bool:
        self.show({"check": name, "ok": ok, "found": what, "fix": "" if ok else fix})
        return bool(ok)

    def run(self) -> None:
        import psycopg

        from ragdb.server import migrate, postgres, prepare

        try:
            db = self.session.connect()
        except (psycopg.Error, postgres.EmbeddedError, prepare.NotReady) as error:
            failure = explain(error)
            assert failure is not None
            known = failure.hint
            if known == postgres.EmbeddedError.hint:  # which leads here
                known = (
                    "name a database with --dsn or RAGDB_DATABASE_URL;"
                    " without either it is the embedded one"
                )
            self.check("connection", False, failure.message, known or "")
            return
        except migrate.OtherBuild as error:  # of the embedded server
            self.check("schema", False, str(error), error.hint)
            return
        self.check("connection", True, str(self.session.target))
        self._disk()
        with db:
            if self._schema(db.connection) and self._role(db):
                self._content(db)

    def _disk(self) -> None:
        """How much room the embedded server has; the disk of another is not seen from here."""
        import shutil

        from ragdb.server import embedded

        if self.session.target.origin != "embedded":
            return
        folder = embedded.data_folder()
        free = shutil.disk_usage(folder).free
        found = f"{free / 2**30:.1f} GiB are free for {folder}"
        self.check("disk", free >= LITTLE or None, found, "make room: a full disk ends all writes")

    def _schema(self, connection: Connection) -> bool:
        """The server, and what only migrations need."""
        from ragdb.server import migrate, prepare, roles, scripts

        number = connection.info.server_version
        facts = roles.facts_of(connection)
        standby, me = facts["is_standby"], facts["me"]
        self.check(
            "server",
            number >= prepare.MIN_SERVER * 10000,
            f"PostgreSQL {server_version(number)}"
            + (", a standby: it is searched, and nothing is written" if standby else ""),
            f"ragdb needs PostgreSQL {prepare.MIN_SERVER} or newer",
        )
        if owner := prepare.restored_by(connection):
            return self.check("owner", False, prepare.owned_otherwise(owner).reason, "ragdb init")
        try:
            prepare.check_whole(connection)
        except prepare.NotReady as error:
            return self.check("schema", False, error.reason, "\n      ".join(error.statements))
        current = scripts.is_current(connection)
        lacks = None
        try:
            # what a migration would lack; every statement of it is taken back
            with connection.transaction(force_rollback=True):
                if not (standby and current):
                    prepare.prepare(connection)
        except prepare.NotReady as error:
            lacks = error
        self.check(
            "pgvector",
            bool(facts["vector"]),
            facts["vector"] or "missing",
            "see below" if lacks else "ragdb init",
        )
        if lacks is None:
            self.check("rights to migrate", True, "nothing is missing")
        elif current and lacks.statements:
            # a reader or writer need not be able to migrate
            is_member = roles.may_be_owner(connection)
            fix = " ".join(lacks.statements) if is_member else ""
            found = f"role {me} has not all of them, which only an upgrade needs"
            self.check("rights to migrate", None, found, fix)
        else:
            self.check("rights to migrate", False, lacks.reason, "\n      ".join(lacks.statements))
        newer = None
        if not current and (revision := scripts.unknown_revision(connection)):
            newer = f"of a newer ragdb than this, whose revision {revision} is not known here"
        elif version := scripts.newer_version(connection):
            newer = f"of ragdb {version}, which is newer than this"
        if newer:
            return self.check("schema", False, newer, "pip install --upgrade ragdb-postgres")
        if scripts.other_tables(connection):
            found = "its tables were made by another build of this version"
            return self.check("schema", False, found, migrate.OtherBuild.hint)
        found = "current" if current else "absent or of another version"
        return self.check("schema", current, found, "ragdb init")

    def _role(self, db: Database) -> bool:
        """Whether the role may look at anything."""
        from ragdb.server import roles

        me, role = roles.rights(db.connection)
        found = f"role {me} has those of {role or 'no role of ragdb'}"
        if role is not None:
            found += f": it {roles.MAY[role]}"
        grant = (
            f"grant {roles.ADMITTED} to {me} with inherit true; -- or ragdb_writer, or ragdb_reader"
        )
        return self.check("rights", role is not None, found, grant) and role != roles.LOGIN

    def _content(self, db: Database) -> None:
        from ragdb.cli import ledger, verify
        from ragdb.models import static
        from ragdb.server import roles

        _, role = roles.rights(db.connection)
        if role in (roles.OWNER, "ragdb_admin"):
            verify.for_doctor(db, self.deep, self.show)
            ledger.for_doctor(db, self.check)
        # what is to be done is a note, and what is broken a failure
        for row in db.advice():
            self.check(row.subject, False if row.is_fault else None, row.found, row.fix or "")
        if static.installed() and not db.list_static_models() and not db.embedding_status(count=1):
            found = "the static model is installed and no corpus uses it: search is by words alone"
            self.check("meaning", None, found, "ragdb embed CORPUS")
        for corpus in db.list_corpora() if self.deep else ():
            if not corpus.parts and corpus.moved_to is None:
                self._recount(db, corpus.name)

    def _recount(self, db: Database, corpus: str) -> None:
        wrong = db.check_corpus(corpus)
        for row in wrong:
            found = f"{row.check}: {row.found}, not {row.expected}"
            self.check(f"corpus {corpus}", False, found, f"ragdb repair {corpus}")
        if not wrong:
            self.check(f"corpus {corpus}", True, "equal to a recount")
