"""Loads static embedders into a database, or writes the SQL file by which a DBA does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragdb.client.calling import Reals
from ragdb.client.client import Client
from ragdb.client.connecting import connect, in_turns
from ragdb.errors import EmbedderMismatch, EmbedderNotFound
from ragdb.models import embedders, local, static
from ragdb.server import manual, roles

if TYPE_CHECKING:
    from ragdb.models.static import StaticModel

BATCH = 2000
HINT = (
    "search is by words alone: `pip install 'ragdb-postgres[static]'` and"
    " `ragdb embedder load` add meaning"
)


def load(
    db: Client, name: str | None = None, source: str | None = None, *, is_default: bool = True
) -> bool:
    """Load a static model as an embedder, in one transaction; return whether it was not there.

    Raises EmbedderNotFound, EmbedderMismatch, and AlreadyExists where the name is another's.
    """
    model = static.read(source)
    name = name or (static.NAME if model.model == static.MODEL else model.model)
    with db.connection.transaction():
        known = {row.embedder: row for row in db.list_static_models()}
        is_new = name not in known
        if is_new:
            _put(db, name, model)
        elif known[name].digest != model.digest:
            raise EmbedderMismatch(
                f"embedder {name} was loaded from another model; load this one under another name"
            )
        if is_default:
            db.set_default_embedder(name)
    return is_new


def load_default(conninfo: str) -> bool:
    """Load the default model where no embedder is the default yet, if the caller may be the owner.

    Returns False where the package of the model is missing.
    """
    with Client(in_turns(connect(conninfo, autocommit=True))) as db, manual.installing(db):
        if not roles.may_be_owner(db.connection):
            return True
        if any(row.is_default for row in db.list_static_models()):
            return True
        if not static.installed():
            return False
        load(db)
    return True


def provide(db: Client) -> str:
    """An embedder for a corpus where the database has no default one: what a package brings.

    The static one, which is loaded, else all-MiniLM-L6-v2. Raises EmbedderNotFound.
    """
    if static.installed():
        # who has loaded one and made none the default wants new corpora without embeddings
        load(db, is_default=not db.list_static_models())
        return static.NAME
    if local.is_installed():
        return embedders.ensure_default(db.connection)
    raise EmbedderNotFound(
        "no embedder is installed: `pip install 'ragdb-postgres[static]'` brings one that runs in"
        " the database"
    )


def _put(db: Client, name: str, model: StaticModel) -> None:
    db.create_embedder(
        name,
        model.dims,
        model=model.model,
        max_tokens=65536,
        weights_sha256=model.weights_sha256,
    )
    for start in range(0, len(model.pieces), BATCH):
        end = start + BATCH
        db.put_static_pieces(
            name, model.pieces[start:end], model.ranks[start:end], Reals(model.vectors[start:end])
        )
    db.bind_static(name, model.tokenizer, model.folding, model.digest)


def script(name: str | None, source: str | None) -> Iterator[str]:
    """The lines of a SQL file that loads a static model, for psql and an admin."""
    model = static.read(source)
    name = name or (static.NAME if model.model == static.MODEL else model.model)
    yield "-- Loads a static embedder; run it as a member of ragdb_admin: psql -f FILE"
    yield "\\set ON_ERROR_STOP on"
    yield "begin;"
    yield (
        f"select ragdb.create_embedder({_quoted(name)}, {model.dims},"
        f" model => {_quoted(model.model)}, max_tokens => 65536,"
        f" weights_sha256 => '{model.weights_sha256}') is not null as created;"
    )
    numbers = model.vectors.astype(int)
    for start in range(0, len(model.pieces), BATCH):
        end = start + BATCH
        pieces = ",".join(_quoted(piece) for piece in model.pieces[start:end])
        ranks = ",".join(map(str, model.ranks[start:end]))
        vectors = ",".join(map(str, numbers[start:end].ravel().tolist()))
        yield (
            f"select ragdb.put_static_pieces({_quoted(name)}, array[{pieces}],"
            f" '{{{ranks}}}', '{{{vectors}}}');"
        )
    yield (
        f"select ragdb.bind_static({_quoted(name)}, '{model.tokenizer}', '{model.folding}',"
        f" '{model.digest}') is not null as bound;"
    )
    yield f"select ragdb.set_default_embedder({_quoted(name)});"
    yield "commit;"


def _quoted(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
