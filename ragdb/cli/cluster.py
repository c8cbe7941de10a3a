"""`ragdb cluster`: a router of several databases, which Citus takes to them."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import NEGATIVE, OK, Corpus, Failure, Session

Host = Annotated[str, typer.Argument(metavar="HOST", help="Host, as the other servers reach it.")]
Port = Annotated[int, typer.Option("--port", "-p", help="Port of its PostgreSQL.")]
Node = Annotated[int, typer.Argument(metavar="NODE", help="Number of the node.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Put a router before several databases, each a whole ragdb.")
    app.add_typer(group, name="cluster", no_args_is_help=True)
    for name, function in (
        ("init", init),
        ("add-node", add_node),
        ("status", status),
        ("routes", routes),
        ("corpora", corpora),
        ("move", move),
        ("isolate", isolate),
        ("remove-node", remove_node),
    ):
        verb(group, name)(function)


def init(session: Session, host: Host, port: Port = 5432) -> None:
    """Make this database a router, which the nodes reach by HOST. It needs Citus 13 or newer."""
    with session.connect() as db:
        made = db.cluster_init(host, port)
    done = f"{made} functions are routed; next: ragdb cluster add-node HOST"
    session.done(done, functions=made)


def add_node(session: Session, host: Host, port: Port = 5432) -> None:
    """Add the database of another server: a ragdb of this version, of the same name."""
    with session.connect() as db:
        db.cluster_add_node(host, port)
    advice = "set RAGDB_ROUTER=1 for the programs that are to reach all nodes"
    session.done(advice, host=host, port=port)


def status(session: Session) -> int:
    """List the nodes and how many corpora were put on each; exit 1 where one does not answer."""
    with session.connect() as db:
        nodes = db.cluster_status()
    session.rows(nodes, empty="no nodes; add one with `ragdb cluster add-node HOST`")
    return OK if all(node.is_up for node in nodes) else NEGATIVE


def routes(session: Session) -> None:
    """List where the router sends each function, and which it refuses."""
    with session.connect() as db:
        session.rows(db.cluster_routes())


def move(session: Session, corpus: Corpus, node: Node) -> None:
    """Move a corpus to another node while it is searched and written.

    It connects to both nodes as to the router, by the hosts and ports that status lists. Run it
    again to carry on with a move that was interrupted. What was recorded stays where it was.
    """
    from ragdb.database import connect
    from ragdb.portable import mover

    with session.connect() as db:
        dsns = {row.node: _dsn(session, row.host, row.port) for row in db.cluster_status()}
        at = {row.corpus: row.node for row in db.cluster_corpora()}
        if node not in dsns:
            raise Failure(f"there is not a node {node}", hint="`ragdb cluster status` lists them")
        if at.get(corpus) in (node, None):
            raise Failure(f"corpus {corpus} is not at another node")
        with connect(dsns[at[corpus]]) as old, connect(dsns[node]) as new:
            done = mover.move(old, new, corpus)
            db.cluster_place(corpus, node)
    session.one(done)


def corpora(session: Session) -> None:
    """List at which node each corpus is."""
    with session.connect() as db:
        session.rows(db.cluster_corpora(), empty="no corpus was made")


def _dsn(session: Session, host: str, port: int) -> str:
    """The DSN of the router with the address of a node, which is not a router."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    own = session.target.conninfo
    options = f"{conninfo_to_dict(own).get('options') or ''} -cragdb.router=off".strip()
    return make_conninfo(own, host=host, port=port, hostaddr=None, options=options)


def isolate(
    session: Session,
    node: Node,
    end: Annotated[bool, typer.Option("--end", help="Let new corpora go there again.")] = False,
) -> None:
    """Keep new corpora away from a node: one corpus has it alone, or it is to be removed."""
    with session.connect() as db:
        db.cluster_isolate(node, not end)


def remove_node(session: Session, node: Node) -> None:
    """Remove a node that has no corpora. Its database stays as it is."""
    session.confirm(f"the router will forget node {node}; go on?")
    with session.connect() as db:
        db.cluster_remove_node(node)
