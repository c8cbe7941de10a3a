"""`ragdb mcp`."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import TEXT, verb
from ragdb.cli.query import AllowPrivate
from ragdb.cli.serve import Port, listen
from ragdb.cli.session import Failure, Session
from ragdb.client.corpora import is_there

AskPeers = Annotated[
    bool, typer.Option("--ask-peers", help="Offer the tools that ask the peers of a corpus.")
]
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def register(app: typer.Typer) -> None:
    verb(app, "mcp", formats=TEXT)(mcp)


def mcp(
    session: Session,
    transport: Annotated[
        str, typer.Option(metavar="stdio|http", help="Stdio or streamable HTTP at /mcp.")
    ] = "stdio",
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", "-c", help="Serve only this corpus; repeat for several."),
    ] = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="Record retrievals; the tools then declare that they write."),
    ] = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Offer the tools that change corpora, as far as the role may."
        ),
    ] = False,
    ask_peers: AskPeers = False,
    allow_private: AllowPrivate = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = 8765,
) -> None:
    """Serve search, traces and the tools of contracts to models, by the Model Context Protocol.

    Nothing is written unless --record or --write is given. Over HTTP, clients must send the
    environment's RAGDB_MCP_TOKEN as bearer token; without it, only this machine can connect.
    """
    import os
    from importlib.util import find_spec

    if transport not in ("stdio", "http"):
        raise Failure(f"--transport {transport!r} is neither stdio nor http")
    if find_spec("mcp") is None or find_spec("psycopg_pool") is None:
        raise Failure("the package mcp is not installed", hint="pip install 'ragdb-postgres[mcp]'")
    from ragdb.cli.ending import leave_to_server
    from ragdb.mcp import transport as carrier
    from ragdb.mcp.tools import Tools

    if transport == "http" and host not in LOOPBACK and not os.environ.get(carrier.TOKEN):
        raise Failure(
            f"--host {host} admits other machines, but there is no token",
            hint=f"set {carrier.TOKEN} to a long random text",
        )
    with session.connect() as db:  # says at once what is wrong
        for name in corpus or []:
            if not is_there(db, name):
                raise Failure(
                    f"corpus {name!r} does not exist", hint="`ragdb corpus ls` lists them"
                )
    tools = Tools(
        session.target.conninfo,
        revive=session.revive,
        corpora=corpus,
        record=record,
        write=write,
        ask_peers=ask_peers,
        allow_private_peers=allow_private,
    )
    leave_to_server()
    if transport == "stdio":
        carrier.serve_stdio(tools)
    else:
        listener, url = listen(host, port)
        session.note(f"listening on {url}/mcp")
        carrier.serve_http(tools, host, listener)
