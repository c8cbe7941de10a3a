"""`ragdb serve` and `ragdb studio`: the HTTP server and its pages."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from ragdb.cli.app import TEXT, verb
from ragdb.cli.query import AllowPrivate, AnswerModel, Endpoint
from ragdb.cli.session import Failure, Session
from ragdb.http.config import Config

if TYPE_CHECKING:
    from socket import socket

    from fastapi import FastAPI

    from ragdb.studio.sessions import Link

PORT = "Port to listen on; 0 takes a free one."
Port = Annotated[int, typer.Option(min=0, max=65535, help=PORT)]
Timeout = Annotated[
    float, typer.Option(min=0.1, max=2_000_000, help="Longest statement, in seconds.")
]


def register(app: typer.Typer) -> None:
    verb(app, "serve", formats=TEXT)(serve)
    verb(app, "studio", formats=TEXT)(studio)


def _exports_spans() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def serve(
    session: Session,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, envvar="PORT", help=PORT)] = 8000,
    corpus: Annotated[
        str | None, typer.Option("--corpus", "-c", help="Corpus for requests that do not name one.")
    ] = None,
    anonymous_role: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE", help="Role of requests without a token. Default: refuse them."
        ),
    ] = None,
    pool: Annotated[
        int, typer.Option(min=1, max=1000, help="Largest number of connections.")
    ] = Config.pool,
    max_requests: Annotated[
        int, typer.Option(min=1, help="Largest number of running requests.")
    ] = Config.max_requests,
    timeout: Timeout = Config.timeout,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds that a request waits for a worker.")
    ] = Config.wait,
    max_body: Annotated[
        int, typer.Option(min=1, help="Largest request, in bytes.")
    ] = Config.max_body,
    max_blob: Annotated[int, typer.Option(min=1, help="Largest blob, in bytes.")] = Config.max_blob,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name by which requests may call this server; repeat for several. Addresses,"
            " localhost and --host may always be used.",
        ),
    ] = None,
    head_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds within which the head of a request arrives.")
    ] = 20,
    grace: Annotated[
        int, typer.Option(min=0, help="Seconds for running requests to end when the server stops.")
    ] = 30,
    model: AnswerModel = None,
    endpoint: Endpoint = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Serve /metrics to whoever may read schema bi.")
    ] = False,
    ask_peers: Annotated[
        bool,
        typer.Option("--ask-peers", help="Have rag.query also ask the peers that have the corpus."),
    ] = False,
    allow_private: AllowPrivate = False,
    otlp: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send spans of retrievals to this OTLP endpoint (HTTP)."),
    ] = None,
    otlp_query_text: Annotated[
        bool, typer.Option("--otlp-query-text", help="Put the text of queries into spans.")
    ] = False,
    read_dsn: Annotated[
        list[str] | None,
        typer.Option(metavar="DSN", help="Standby that answers searches; repeat for several."),
    ] = None,
    max_lag: Annotated[
        float,
        typer.Option(min=0, help="Seconds that a standby may be behind; inf takes any."),
    ] = Config.max_lag,
) -> None:
    """Serve the database over HTTP: slices, search, capabilities, traces, and /docs.

    A request has the role of its bearer token (`ragdb token create`); the server's login must be a
    member of that role. Each request writes one line of JSON, without its content, to stderr.
    SIGTERM and SIGINT let running requests end.
    """
    need_server()
    if otlp is not None and not _exports_spans():
        hint = "pip install 'ragdb-postgres[otlp]'"
        raise Failure("the exporter of spans is not installed", hint=hint)
    from ragdb.cli.ask import model_of
    from ragdb.server import settings

    if corpus == "personal":
        raise Failure("a personal corpus is not served", hint="search it with `ragdb search`")
    if anonymous_role is not None:
        check_role(session, anonymous_role)
    standbys = [settings.given(dsn, "--read-dsn").conninfo for dsn in read_dsn or ()]
    for standby in standbys:
        check_standby(session, standby)
    config = Config(
        session.target.conninfo,
        revive=session.revive,
        corpus=corpus,
        anonymous_role=anonymous_role,
        pool=pool,
        timeout=timeout,
        wait=wait,
        max_body=max_body,
        max_blob=max_blob,
        max_requests=max_requests,
        hosts=(host, *(allow_host or ())),
        metrics=metrics,
        model=model_of(model, endpoint),
        ask_peers=ask_peers,
        allow_private_peers=allow_private,
        otlp=otlp,
        otlp_query_text=otlp_query_text,
        read_dsns=tuple(standbys),
        max_lag=max_lag,
    )
    application = with_pages(config)
    listener, url = listen(host, port)
    session.note(f"listening on {url}, see /docs and /studio")
    run_server(application, listener, quiet=session.quiet, head_timeout=head_timeout, grace=grace)


def studio(
    session: Session,
    port: Port = 0,
    timeout: Timeout = Config.timeout,
) -> None:
    """Open Studio for this machine's browser: print a link that lets one browser in, once.

    The pages have the rights of the database login; those of ragdb_admin where it is a superuser
    or the owner of the database. Ctrl-C ends it. `ragdb serve` has the same pages for others, who
    log in with a token.
    """
    need_server()
    from ragdb.client import readonly
    from ragdb.studio.sessions import Link

    with session.connect() as db:
        readonly.check("Studio writes who has logged in", db.connection)
    link = Link()
    application = with_pages(Config(session.target.conninfo, session.revive, timeout=timeout), link)
    listener, url = listen("127.0.0.1", port)
    print(f"{url}{link.path}", flush=True)
    session.note("the link is good once, within ten minutes")
    run_server(application, listener, quiet=True, head_timeout=20, grace=2)


def need_server() -> None:
    """Raises Failure where the extra is not installed."""
    needed = ("fastapi", "fastapi_offline", "jinja2", "psycopg_pool", "uvicorn")
    if not all(map(find_spec, needed)):
        hint = "pip install 'ragdb-postgres[http]'"
        raise Failure("the HTTP server is not installed", hint=hint)


def check_role(session: Session, role: str) -> None:
    """Refuse a role that no request could be answered as. Raises Failure."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    with session.connect() as db, db.connection.transaction(force_rollback=True):
        try:
            db.connection.execute(SQL("set local role {}").format(Identifier(role)))
        except (psycopg.errors.InvalidParameterValue, psycopg.errors.InsufficientPrivilege) as e:
            raise Failure(
                f"--anonymous-role: {e.diag.message_primary}",
                hint="name one such as ragdb_reader, that is granted to the login of the server",
            ) from None


def check_standby(session: Session, dsn: str) -> None:
    """Refuse what is not a standby; one that does not answer is told. Raises Failure."""
    import psycopg

    from ragdb.http.standbys import why_not

    try:
        problem = why_not(session.target.conninfo, dsn)
    except psycopg.OperationalError as error:
        session.note(f"a standby does not answer yet: {str(error).splitlines()[0]}")
        return
    if problem is not None:
        raise Failure(
            f"--read-dsn does not name a standby: {problem}",
            hint="name the same database on a physical standby of the server",
        )


def with_pages(config: Config, link: Link | None = None) -> FastAPI:
    """The application with the pages of Studio, connected once. Raises psycopg.Error."""
    from ragdb.http.app import create_app
    from ragdb.studio.app import register as add_studio

    application = create_app(config)
    add_studio(application, link)
    return application


def run_server(
    application: FastAPI, listener: socket, *, quiet: bool, head_timeout: float, grace: int
) -> None:
    """Serve until a signal ends it."""
    import uvicorn

    from ragdb.cli.ending import leave_to_server
    from ragdb.http.protocol import with_head_timeout

    leave_to_server()
    _log_to_stderr(quiet)
    uvicorn.Server(
        uvicorn.Config(
            application,
            http=with_head_timeout(head_timeout),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=grace,
        )
    ).run(sockets=[listener])


def listen(host: str, port: int) -> tuple[socket, str]:
    """A listening socket and its URL. Raises Failure."""
    import errno
    import socket

    if not host:  # as of a variable that is not set; the sockets take it for all addresses
        raise Failure("--host is empty", hint="leave it out, or 0.0.0.0 admits other machines")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        # a name that is not known has a number of the resolver's
        is_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = f"choose another --{'port' if is_port else 'host'}"
        raise Failure(f"{host}:{port}: {error.strerror}", hint=hint) from None
    # asyncio does so for its own sockets only; an answer is two packets, and the second waits
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    shown = f"[{host}]" if ":" in host else host
    return listener, f"http://{shown}:{listener.getsockname()[1]}"


def _log_to_stderr(quiet: bool) -> None:
    """The access log unchanged, one JSON object a line; other loggers only from warnings on."""
    import logging

    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(message)s"))
    access = logging.getLogger("ragdb.http.access")
    access.setLevel(logging.WARNING if quiet else logging.INFO)
    access.addHandler(lines)
    access.propagate = False
    others = logging.StreamHandler(sys.stderr)
    others.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    for name in ("ragdb", "uvicorn", "psycopg.pool"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.WARNING)
        logger.addHandler(others)
