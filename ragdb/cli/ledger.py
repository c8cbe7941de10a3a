"""`ragdb ledger`: seal evidence, sign checkpoints, prove entries, verify files and the database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import NEGATIVE, OK, Failure, Session
from ragdb.client.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragdb.database import Database

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write to this file, not to stdout."),
]
Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="File of the private key, PEM of Ed25519."),
]
SignCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND", help="Command that reads the bytes to sign and writes the signature."
    ),
]
PublicKey = Annotated[
    str | None,
    typer.Option(metavar="KEY|FILE", help="Public key of --sign-command: verifier key or PEM."),
]
LogKey = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY|FILE", help="Verifier key of a ledger that you trust."),
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Seal evidence in a log that nobody can rewrite unseen.")
    app.add_typer(group, name="ledger", no_args_is_help=True)
    for name, function in (
        ("status", status),
        ("seal", seal),
        ("switch", switch),
        ("key", key),
        ("checkpoint", checkpoint),
        ("prove", prove),
        ("export", export),
        ("request", request),
        ("witness", witness),
        ("verify", verify),
    ):
        verb(group, name)(function)


def status(session: Session) -> None:
    """Show the size of the ledger, what waits to be sealed, and the last checkpoint."""
    with session.connect() as db:
        session.one(db.ledger_status())


def seal(session: Session) -> None:
    """Number the evidence that waits, and add it to the tree. Run it every few minutes."""
    from ragdb.ledger import online

    with session.connect() as db:
        sealed, done = online.seal(db)
    session.one({"sealed": sealed, "size": done.size, "sealed_at": done.sealed_at})


def switch(
    session: Session,
    to: Annotated[str, typer.Argument(metavar="on|off", help="On, as it is at first, or off.")],
) -> None:
    """Switch the ledger on or off, which is an entry of it; on also notes what it lacks."""
    if to not in ("on", "off"):
        raise Failure(f"{to[:80]!r} is neither on nor off")
    with session.connect() as db:
        noted = db.set_ledger(to == "on")
    done = f"the ledger is {to}; {counted(noted, 'row')} noted"
    session.done(done, is_on=to == "on", noted=noted)


def key(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the private key.")],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the key; by default the database's name in checkpoints."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Make the key; FILE must not exist.")] = False,
    witness: Annotated[bool, typer.Option("--witness", help="The key of a witness.")] = False,
) -> None:
    """Print the verifier key of a private key, for those who verify."""
    from ragdb.ledger import keys, notes

    if witness and name is None:
        raise Failure("a witness has a name", hint="give --name, such as witness.example.com/w1")
    if name is None:
        with session.connect() as db:
            name = str(db.name_ledger())
    notes.checked_name(name)
    signer = keys.make(file) if new else keys.from_file(file)
    verifier = signer.verifier(name, notes.WITNESS if witness else notes.LOG)
    session.value(verifier=verifier)


def checkpoint(
    session: Session,
    key: Key = None,
    sign_command: SignCommand = None,
    public_key: PublicKey = None,
    out: Out = None,
    add: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Store the signatures of witnesses in this file instead"),
    ] = None,
) -> None:
    """Sign how the ledger stands, store that, and write it to a file that you keep elsewhere.

    Where the file of --out exists, the ledger must follow the checkpoint in it: one that was
    rewritten, or restored from an older backup, is not signed.
    """
    from ragdb.ledger import keys, online

    if add is not None:
        with session.connect() as db:
            made = online.add_signatures(db, add.read_text("utf-8"))
    else:
        signer = keys.signer(key, sign_command, public_key)
        with session.connect() as db:
            made = online.sign(db, signer, out)
    session.text(str(made), out)


def prove(
    session: Session,
    entry: Annotated[
        str,
        typer.Argument(
            metavar="TRACE|KIND:ID", help="Id of a trace, or how it begins, or KIND:ID."
        ),
    ],
    out: Out = None,
) -> None:
    """Write the proof that a row is in the ledger: a file that is verified without the database."""
    from ragdb.cli import ids
    from ragdb.ledger import online

    kind, found, id = entry.partition(":")
    with session.connect() as db:
        if (kind if found else "trace") == "trace":
            kind, id = "trace", str(ids.trace_id(db, id if found else entry))
        proof = online.prove(db, kind, id)
    session.text(str(proof), out)


def export(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to.")],
) -> None:
    """Write the whole ledger as of its last checkpoint, as files that a web server can offer.

    The next export into the same folder writes only what is new. A folder of another history, such
    as that from before an older backup was restored, is not written to.
    """
    from ragdb.ledger import online

    with session.connect() as db:
        signed, written = online.export(db, folder)
    session.one({"size": signed.size, "files": written, "folder": str(folder)})


def request(
    session: Session,
    old: Annotated[
        int, typer.Argument(metavar="SIZE", help="Size that the witness cosigned last, or 0.")
    ],
    out: Out = None,
) -> None:
    """Write what a witness is asked to cosign: the last checkpoint, and that it follows SIZE."""
    from ragdb.ledger import online

    with session.connect() as db:
        wanted = online.request(db, old)
    session.text(str(wanted), out)


def witness(
    session: Session,
    asked: Annotated[
        Path | None,
        typer.Argument(metavar="REQUEST", help="File of `ragdb ledger request`, - for stdin."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the last checkpoint is kept.")
    ] = None,
    log_key: Annotated[
        str | None, typer.Option(metavar="KEY|FILE", help="Verifier key of the ledger.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the witness.")] = "",
    key: Key = None,
    sign_command: SignCommand = None,
    public_key: PublicKey = None,
    out: Out = None,
) -> None:
    """Cosign a checkpoint if it follows the one cosigned last; print the signature.

    Without REQUEST, the last checkpoint of the database is cosigned, and stored with the signature.
    """
    from ragdb.ledger import keys, notes, online, proofs
    from ragdb.ledger import witness as office

    if state is None or log_key is None:
        raise Failure(
            "a witness keeps a state, and knows the ledger's key", hint="give --state and --log-key"
        )
    log = notes.Verifier.parse(keys.text_of(log_key))
    signer = keys.signer(key, sign_command, public_key)
    notes.checked_name(name)
    if asked is not None:
        text = sys.stdin.read() if str(asked) == "-" else asked.read_text("utf-8")
        cosigned = office.cosign(proofs.Request.parse(text), state, log, signer, name)
    else:
        with session.connect() as db:
            cosigned = online.cosign(db, state, log, signer, name)
    session.text(str(cosigned.signatures[-1]), out)


def verify(
    session: Session,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE", help="Proofs, checkpoints, requests, or folders of `ledger export`."
        ),
    ] = None,
    log_key: LogKey = None,
    witness_key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY|FILE", help="Verifier key of a witness that must have signed."),
    ] = None,
    quorum: Annotated[
        int | None, typer.Option(help="How many of the witnesses must have signed.")
    ] = None,
    database: Annotated[
        bool, typer.Option("--database", help="Also compare the checkpoints with the database.")
    ] = False,
) -> int:
    """Verify files of a ledger without a database; without a file, the rows of the database.

    Exit code 1 where something is not proved.
    """
    from ragdb.ledger import offline

    found: list[Any] = []
    if files:
        trusted = offline.keys(log_key or [], witness_key or [], quorum)
        found = list(offline.verify(files, trusted))
    if database or not files:
        from ragdb.ledger import online

        with session.connect() as db:
            found += online.compare(db, files) if files else online.verify(db)
    session.rows(found, empty="nothing is wrong")
    return OK if all(getattr(f, "ok", False) for f in found) else NEGATIVE


def for_doctor(db: Database, check: Callable[..., bool]) -> None:
    """How far the ledger is, where nothing is to be done for it."""
    from ragdb.client.calling import is_routed

    if is_routed(db.connection):
        fix = "RAGDB_ROUTER=0 ragdb doctor --dsn NODE, for each node of `ragdb cluster status`"
        check("ledger", None, "each node has its own, which is examined there", fix)
        return
    state = db.ledger_status()
    if not any(row.subject == "ledger" for row in db.advice()):
        rows = counted(state.pending, "row", "wait")
        check("ledger", True, f"{counted(state.size, 'entry')}, {rows} to be sealed")
