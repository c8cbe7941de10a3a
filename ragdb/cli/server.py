"""The database itself: `init`, `up`, `down`, `psql`, `status`, `repair`, `maintain`."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import Annotated

import typer

from ragdb.cli.app import TEXT, verb
from ragdb.cli.session import Corpus, Failure, Session
from ragdb.cli.text import server_version
from ragdb.client.counting import LISTED, counted

PASSED_OVER = {"user": ("-U", "--username"), "host": ("-h", "--host"), "port": ("-p", "--port")}
"""Flags that psql obeys only where the connection that it is given lacks the same."""

SHORT = "aAbc:d:eEf:F:hHlL:no:p:P:qR:sStT:U:v:VwWxXz01?"
LONG = [
    "command=", "dbname=", "file=", "list", "set=", "variable=", "version", "no-psqlrc",
    "single-transaction", "help", "echo-all", "echo-errors", "echo-queries", "echo-hidden",
    "log-file=", "no-readline", "output=", "quiet", "single-step", "single-line", "no-align",
    "csv", "field-separator=", "html", "pset=", "record-separator=", "tuples-only",
    "table-attr=", "expanded", "field-separator-zero", "record-separator-zero", "host=", "port=",
    "username=", "no-password", "password",
]  # fmt: skip
"""The flags of psql as `getopt` takes them: which of them take a value."""


def register(app: typer.Typer) -> None:
    verb(app, "init")(init)
    verb(app, "migrate", help="The same as init.", hidden=True)(init)
    verb(app, "up")(up)
    verb(app, "down")(down)
    verb(app, "psql", formats=TEXT, context_settings={"ignore_unknown_options": True})(psql)
    verb(app, "status")(status)
    verb(app, "repair")(repair)
    verb(app, "maintain")(maintain)


def init(
    session: Session,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Reload functions, views and manual even if they are current."
        ),
    ] = False,
    manual: Annotated[
        bool, typer.Option("--manual/--no-manual", help="Load ragdb's manual as corpus system.")
    ] = True,
) -> None:
    """Install the schema in a database, or upgrade it.

    What a DBA has to run before goes to stdout, so that it can be sent to psql.
    """
    from ragdb.client import readonly
    from ragdb.server import manual as book
    from ragdb.server import migrate, static
    from ragdb.server.prepare import NotReady

    session.upgrades = False  # which is done here
    conninfo = session.target.conninfo
    try:
        done = migrate.migrate(conninfo, force=force, say=session.note)
    except NotReady as refused:
        if refused.statements:
            session.text("\n".join([*refused.statements, ""]))
        raise Failure(refused.reason, code=refused.exit_code) from None
    state = "the schema was installed" if done else "the schema is current"
    session.done(state, is_installed=done)
    with session.connect() as db:
        if readonly.is_standby(db.connection):
            session.note("this server is a standby: what its primary loads comes here too")
            return
    is_meant = static.load_default(conninfo)
    for advice in (*migrate.advice(conninfo), *([] if is_meant else [static.HINT])):
        session.note(advice)
    if manual and book.load(conninfo, is_read=not done, force=force):
        session.note("the manual was loaded as corpus system")


def up(session: Session) -> None:
    """Start the embedded server and print its DSN."""
    from ragdb.server import embedded

    session.value(dsn=embedded.dsn(say=session.note))


def down(session: Session) -> None:
    """Stop the embedded server."""
    from ragdb.server import embedded

    is_stopped = embedded.stop()
    done = "stopped" if is_stopped else "it was not running"
    session.done(done, is_stopped=is_stopped)


def psql(
    session: Session,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="PSQL_ARGUMENTS", help="Arguments for psql; put -- before them."),
    ] = None,
) -> None:
    """Open psql on the database: that of ragdb, or where the server is reached by TLS, yours."""
    from psycopg.conninfo import conninfo_to_dict

    from ragdb.server import settings

    session.upgrades = False  # what is in the way of an upgrade is moved by psql
    database, secret = settings.for_program(session.target.conninfo)
    said = conninfo_to_dict(database)
    for name, flags in PASSED_OVER.items():
        for argument in arguments or ():
            if name in said and argument.startswith(flags):
                raise Failure(
                    f"psql would pass over {argument}: the connection has the {name} {said[name]}",
                    hint="`ragdb psql --dsn DSN` says where to connect, and as whom",
                )
    alone = _alone(arguments or [])
    if session.verbose and (given := [one for one in alone if re.match(r"\w+=", one)]):
        raise Failure(
            f"-v says what ragdb does, and psql would pass over {given[0]}",
            hint="put -- before what is for psql: `ragdb psql -- -v NAME=VALUE`",
        )
    if alone:
        raise Failure(
            f"no place for {', '.join(map(repr, alone))}: psql is on the database of ragdb",
            hint="`ragdb psql --dsn DSN` opens another; SQL stands behind -c:"
            " `ragdb psql -c 'select 1'`",
        )
    program = settings.program("psql", session.target.conninfo)
    # where in ragdb an error was raised says nothing to whoever made it
    context = [] if session.verbose else ["-v", "SHOW_CONTEXT=never"]
    if not arguments and sys.stdin.isatty() and sys.stdout.isatty():
        # rows of many columns, some of them long texts; what ~/.psqlrc says wins
        context += ["-P", "expanded=auto", "-P", "format=wrapped"]
        session.note(
            "\\df ragdb.* lists the functions; tables are for ragdb_owner alone, and"
            " \\d+ ragdb.TABLE says which function reads one for you; \\dv bi.* lists the views"
        )
    line = [program, *context, "-d", database, *(arguments or [])]
    os.execve(program, line, {**os.environ, **secret})


def _alone(arguments: list[str]) -> list[str]:
    """What stands alone among arguments for psql: a database or a user, which it would pass over.

    None where psql has a flag that is not known here; it says so itself if it has not.
    """
    import getopt

    try:
        return getopt.gnu_getopt(arguments, SHORT, LONG)[1]
    except getopt.GetoptError:
        return []


def status(session: Session) -> None:
    """Show the database, its schema and its corpora."""
    from ragdb.cli import output
    from ragdb.server import embedded, prepare, scripts
    from ragdb.version import __version__

    with session.connect() as db:
        server = db.connection.info
        if owner := prepare.restored_by(db.connection):
            session.note(prepare.owned_otherwise(owner).reason)
        corpora = db.list_corpora(count=LISTED)
        counts = db.count_corpora()
        summary = {
            "ragdb": __version__,
            "schema": "current" if scripts.is_current(db.connection) else "other version",
            "server": server_version(server.server_version),
            "database": server.dbname,
            "role": server.user,
            "origin": session.target.origin,
            "corpora": counts.corpora,
            "documents": counts.documents,
            "chunks": counts.chunks,
            "newest_trace": next((t.created_at for t in db.list_traces(None, None, 1)), None),
        }
        due = [row for row in db.list_sources(only_due=True) if row.refresh is not None]
        if session.target.origin == "embedded" and (running := embedded.status()):
            summary["data_folder"] = str(running.folder)
    if session.format in ("json", "ndjson"):
        totals = {"all_corpora": counts.corpora, "all_sources_due": len(due)}
        session.one({**summary, "corpora": corpora, "sources_due": due[:LISTED], **totals})
        return
    session.one(summary)
    if session.format == "table" and corpora:
        session.out.print()
        # what is to be done about one, and why, `ragdb doctor` says in words
        session.rows(corpora, "name documents chunks size_bytes")
        if counts.corpora > len(corpora):
            more = counted(counts.corpora - len(corpora), "corpus")
            session.note(f"{more} more: `ragdb corpus ls` lists all")
    for row in due[:LISTED]:
        read = f"was read {output.cell(row.read_at)}" if row.read_at else "was never read"
        session.note(
            f"source {row.name} of corpus {row.corpus} {read} and may be {row.refresh} old:"
            f" ragdb ingest --contract FILE --due (contract {row.contract})"
        )
    if due[LISTED:]:
        more = counted(len(due[LISTED:]), "source")
        session.note(f"{more} more: `ragdb contract sources --due` lists all")


def repair(session: Session, corpus: Corpus) -> None:
    """Rebuild the lexical index and the counters of a corpus from its chunks."""
    from ragdb.server import manual

    with session.connect() as db:
        # the manual is the owner's alone
        own = manual.installing(db) if corpus == manual.CORPUS else contextlib.nullcontext()
        with own:
            db.repair_corpus(corpus)
    session.done(f"rebuilt {corpus}", corpus=corpus)


def maintain(session: Session) -> None:
    """Create the partitions for the coming months' traces, and count new traces for dashboards.

    It prints the names of the tables that it made, and of those of dropped corpora that it dropped,
    past_rows if it dropped history that is older than its corpus keeps it, and static_words if it
    dropped the many words that static embeddings had cut. Run it monthly, or every few minutes if
    people watch dashboards.
    """
    done: list[str] = []
    with session.connect() as db:
        while some := db.maintain():
            done += some
    session.lines("partition", list(dict.fromkeys(done)))
    if not done:
        session.note("nothing was due")
