"""`ragdb slice` and `ragdb policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli import ids
from ragdb.cli.app import verb
from ragdb.cli.hits import print_hit
from ragdb.cli.query import (
    AskedCorpus,
    Hits,
    MinScore,
    Mode,
    asked,
    embedded,
    filter_of,
    parsed,
    printable,
)
from ragdb.cli.session import NEGATIVE, OK, Failure, Session, Since

if TYPE_CHECKING:
    from ragdb.database import Database

Policy = Annotated[
    str | None,
    typer.Option(
        metavar="JSON|ID@HASH",
        help="Policy as JSON, or its id with its hash or how that begins.",
    ),
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List, build, show, verify and search slices.")
    app.add_typer(group, name="slice", no_args_is_help=True)
    verb(group, "ls")(slice_ls)
    verb(group, "build")(slice_build)
    verb(group, "show")(slice_show)
    verb(group, "verify")(slice_verify)
    verb(group, "search")(slice_search)
    group = typer.Typer(help="Register and list slice policies.")
    app.add_typer(group, name="policy", no_args_is_help=True)
    verb(group, "add")(policy_add)
    verb(group, "ls")(policy_ls)


def slice_ls(
    session: Session,
    corpus: AskedCorpus = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(help="Largest number of slices.")] = 20,
) -> None:
    """List stored slices, newest first."""
    from ragdb.cli.times import moment

    with session.connect() as db:
        session.rows(
            db.list_slices(asked(session, db, corpus), moment("--since", since), limit),
            "slice_id created_at chunks edge_count anchor_chunk_id anchor_source",
            empty="no slices are stored; store one with `ragdb slice build --store`",
        )


def slice_build(
    session: Session,
    anchor: Annotated[
        str,
        typer.Argument(metavar="ANCHOR", help="Id of the chunk to build around, or how it begins."),
    ],
    corpus: AskedCorpus = None,
    policy: Policy = None,
    store: Annotated[
        bool, typer.Option("--store", help="Store it, so that it can be searched by id.")
    ] = False,
    sign: Annotated[bool, typer.Option(help="Sign it; needs a key.")] = True,
) -> None:
    """Build a slice around a chunk and print its fingerprints and members."""
    from ragdb.client.rows import record

    if store and not sign:
        raise Failure("--store stores only signed slices", hint="omit --no-sign")
    with session.connect() as db:
        corpus = asked(session, db, corpus)
        chosen = _policy(db, policy)
        anchor = ids.chunk_id(db, corpus, anchor)
        made: Any = (
            db.export_slice(corpus, anchor, chosen)
            if store
            else db.build_slice(corpus, anchor, chosen, sign)
        )
        if session.format == "table":
            fields = record(made)
            members = list(zip(fields.pop("selection_order"), fields.pop("distances"), strict=True))
            fields["chunk_ids"] = len(fields["chunk_ids"])
            session.one(fields)
            session.out.print()
            session.rows([{"chunk_id": i, "distance": d} for i, d in members])
        else:
            session.one(made)


def slice_show(
    session: Session,
    slice_id: Annotated[
        str, typer.Argument(metavar="SLICE", help="Id of a stored slice, or how it begins.")
    ],
    corpus: AskedCorpus = None,
) -> None:
    """Show the members of a stored slice, in the order in which the policy chose them."""
    with session.connect() as db:
        corpus = asked(session, db, corpus)
        session.rows(db.slice_members(corpus, ids.slice_id(db, corpus, slice_id)))


def slice_verify(
    session: Session,
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="Trace id of a retrieval within a slice.")
    ],
) -> int:
    """Verify the token of a recorded retrieval against the present rows."""
    with session.connect() as db:
        found: Any = db.get_trace(ids.trace_id(db, trace))
        if found.admissibility_token is None:
            raise Failure(
                f"trace {trace} has no token", hint="only retrievals within a slice have one"
            )
        verified: Any = db.verify_token(
            found.corpus,
            found.admissibility_token,
            found.slice_id,
            found.anchor_chunk_id,
            found.policy_id,
            found.policy_params_hash,
            found.graph_snapshot_hash,
            found.schema_version,
        )
        session.one(verified)
    return OK if verified.valid else NEGATIVE


def slice_search(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to search for.")],
    corpus: AskedCorpus = None,
    anchor: Annotated[
        str | None,
        typer.Option(help="Chunk to build around. Default: the best hit or latest turn."),
    ] = None,
    slice_id: Annotated[
        str | None, typer.Option("--slice", help="Id of a stored slice, or how it begins.")
    ] = None,
    policy: Policy = None,
    k: Hits = 10,
    mode: Mode = None,
    min_score: MinScore = 0.0,
    filter: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="Metadata filter; also role, phase, session and min_salience."
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Record the retrieval, signed, and print its id.")
    ] = False,
) -> None:
    """Search within a slice. Nothing is written unless --trace is given."""
    from ragdb.evidence.database import recorded

    printable(query)
    how: dict[str, Any] = {
        "k": k,
        "mode": mode,
        "min_score": min_score,
        "filter": filter_of(filter),
    }
    with session.connect() as db:
        corpus = asked(session, db, corpus)
        how["slice_id"] = slice_id and ids.slice_id(db, corpus, slice_id)
        how["anchor"] = anchor and ids.chunk_id(db, corpus, anchor)
        how["policy"] = _policy(db, policy)
        how["query_embedding"] = embedded(session, db, [corpus], query, mode)
        if slice_id is None and anchor is None:
            found = db.resolve_anchor(corpus, query=query, query_embedding=how["query_embedding"])
            if not found:
                raise Failure(f"corpus {corpus} has nothing to anchor a slice in")
            how["anchor"] = found[0].anchor
            session.note(f"anchor {found[0].anchor} ({found[0].resolved_by})")
        hits: list[Any]
        trace_id = None
        if trace:
            found = recorded(db, db.retrieve_slice, corpus, query, **how, client="ragdb cli")
            hits, trace_id = found, found.trace_id
        else:
            hits = list(db.search_slice(corpus, query, **how))
        if session.format == "table":
            for hit in hits:
                print_hit(session, db, query, hit, False, "plain")
        else:
            session.rows(hits)
        if not hits:
            session.note("nothing found in the slice")
        if trace_id:
            session.note(f"trace {trace_id}")


def policy_add(
    session: Session,
    policy: Annotated[
        str, typer.Argument(metavar="JSON", help="""Policy, such as '{"max_nodes": 128}'.""")
    ],
) -> None:
    """Register a policy and print its reference. Omitted fields have their defaults."""
    with session.connect() as db:
        session.one(db.register_policy(parsed(policy, "the policy")))


def policy_ls(session: Session) -> None:
    """List the registered policies."""
    with session.connect() as db:
        policies = db.list_policies()
    if session.format != "table" or session.verbose:
        session.rows(policies)
        return
    # what a slice may hold; the rest is in -v and in JSON
    limits = ("max_nodes", "max_radius")
    session.rows(
        [
            {"policy_id": row.policy_id, "params_hash": row.params_hash}
            | {name: row.policy[name] for name in limits}
            | {"created_at": row.created_at}
            for row in policies
        ]
    )


def _policy(db: Database, text: str | None) -> Any:
    if text is None:
        return None
    return parsed(text, "the policy") if text.lstrip().startswith("{") else ids.policy(db, text)
