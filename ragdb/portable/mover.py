"""Move a corpus from one database to another: `ragdb corpus move`.

The courier between two connections. What a page is, what is compared and what may happen when is
decided by the functions that it calls; whenever it stops, it can go on, and gives up on demand.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

from ragdb.client import upkeep
from ragdb.client.calling import Reals
from ragdb.errors import MoveDelayed
from ragdb.portable.format import ExportError, Progress

if TYPE_CHECKING:
    from uuid import UUID

    from ragdb.client._generated.rows import ListCorporaRow, ListMovesRow, MovePageRow
    from ragdb.client.client import Client

SMALL = 50  # documents and sources that writers may wait for, with those of the last page
PATIENCE = 10  # pages in which what is left does not shrink
PORTION = 16_000_000  # characters of documents that are stored by one call
TRIES = 5  # times that their hold is tried


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move came to; `pause_ms` is for how long writers waited, in milliseconds."""

    corpus: str
    destination: str
    documents: int
    chunks: int
    pages: int
    pause_ms: float | None


def move(
    source: Client,
    target: Client,
    corpus: str,
    *,
    destination: str | None = None,
    longest: float = 10.0,
    progress: Progress | None = None,
) -> Moved:
    """Move a corpus, or carry on with its move from where that is.

    Raises ExportError, MoveFailed, MoveDelayed and what else either database refuses. `longest` is
    for how many seconds its writers may have to wait.
    """
    for db in (source, target):
        if db.connection.info.transaction_status != TransactionStatus.IDLE:
            raise ExportError(
                "the connection is in a transaction", "commit or roll back, and move then"
            )
    upkeep.maintain(target.connection)
    under_way = _under_way(source, target, corpus)
    begun = under_way or source.begin_move(
        corpus, destination or address(target), timedelta(seconds=longest)
    )
    courier = _Courier(source, target, corpus, begun.move_id, progress)
    if under_way is None or under_way.state == "copying":
        if not any(row.move_id == courier.id for row in target.list_moves(corpus)):
            with _left_if_refused(source, courier.id, under_way is None):
                target.accept_move(begun.header, address(source))
        courier.copy(timedelta(seconds=longest))
    target.open_move(courier.id, source.move_receipt(courier.id))
    while target.announce_move(courier.id):
        pass
    row = next(row for row in target.list_moves(corpus) if row.move_id == courier.id)
    counts = (row.digest or {})["counts"]
    return Moved(
        corpus, _peer(source, courier), counts["documents"], counts["chunks"], courier.pages,
        courier.pause_ms,
    )  # fmt: skip


def abandon(source: Client, target: Client, corpus: str) -> bool:
    """Give the move of a corpus up, first where it arrives, and say whether there was one.

    Raises MoveFailed where it has arrived.
    """
    row = _last(source, corpus)
    if row is None:
        return False
    arrivals = [other for other in target.list_moves(corpus) if other.move_id == row.move_id]
    is_over = row.state == "left"  # as where the corpus was dropped
    left = False
    if arrivals and not (is_over and arrivals[0].state == "done"):
        left = bool(target.leave_move(row.move_id))
    if not is_over:
        # what is closed here and was removed there just now is nowhere else
        left = bool(source.leave_move(row.move_id, row.state == "done"))
    return left


def _portions(documents: list[str]) -> Iterator[list[str]]:
    """Documents, some at a time: a page has so many chunks, which may be long."""
    begin = size = 0
    for at, document in enumerate(documents):
        size += len(document)
        if at > begin and size > PORTION:
            yield documents[begin:at]
            begin, size = at, len(document)
    if documents:
        yield documents[begin:]


def address(db: Client) -> str:
    """Where a database is, without a password."""
    info = db.connection.info
    return f"{info.host}:{info.port}/{info.dbname}"


def _peer(source: Client, courier: _Courier) -> str:
    """Where the source says that the corpus went."""
    rows = source.list_moves(courier.corpus)
    return str(next(row.peer for row in rows if row.move_id == courier.id))


def _under_way(source: Client, target: Client, corpus: str) -> ListMovesRow | None:
    last = _last(source, corpus)
    if last is None or last.state not in ("copying", "done"):
        return None
    if last.state == "done" and _named(source, corpus) is None:
        # dropped here: it is to be opened there, or all is over
        arrived = [row.state for row in target.list_moves(corpus) if row.move_id == last.move_id]
        return None if "done" in arrived else last
    return last


def _last(source: Client, corpus: str) -> ListMovesRow | None:
    """The last move out; none of a corpus that is open, having come back or been made since."""
    rows = [row for row in source.list_moves(corpus) if row.direction == "out"]
    if not rows:
        return None
    named = _named(source, corpus) if rows[-1].state == "done" else None
    return None if named and named.moved_to is None else rows[-1]


def _named(source: Client, corpus: str) -> ListCorporaRow | None:
    found = source.list_corpora(corpus, count=1)  # its own name is the first that begins with it
    return found[0] if found and found[0].name == corpus else None


@contextlib.contextmanager
def _left_if_refused(source: Client, move_id: UUID, is_new: bool) -> Iterator[None]:
    """A move that the other side refuses has not begun."""
    try:
        yield
    except Exception:
        if is_new:
            source.leave_move(move_id)
        raise


class _Courier:
    """Carries the pages of one move, and counts them."""

    def __init__(
        self,
        source: Client,
        target: Client,
        corpus: str,
        move_id: UUID,
        progress: Progress | None,
    ) -> None:
        self.source, self.target, self.corpus, self.id = source, target, corpus, move_id
        self.progress = progress
        self.pages = self.documents = 0
        self.pause_ms: float | None = None
        self._applied: int | None = None

    def copy(self, longest: timedelta) -> None:
        """All that there is, while it is searched and written; then the rest, while it is held."""
        for left in reversed(range(TRIES)):
            self._send(SMALL)
            self._send_originals()
            self._compare()
            self._index()
            # what was written while all that was compared
            self._send(SMALL)
            self._compare()
            try:
                self._close(longest)
            except MoveDelayed:
                # the page that was under way did not arrive, or not for the other side to know
                self._applied = None
                if not left:
                    raise
            else:
                return

    def _close(self, longest: timedelta) -> None:
        began = time.perf_counter()
        with self.source.connection.transaction():
            self.source.hold_move(self.id, longest)
            self._send(0)
            self._send_originals()
            self._compare()
            self.target.ready_move(self.id, self.source.move_digest(self.id))
            self.source.finish_move(self.id)
        self.pause_ms = (time.perf_counter() - began) * 1000

    def _send(self, small: int) -> None:
        """Pages, until no more than that is left, or writers are as fast as this."""
        least, waited = None, 0
        while rows := self.source.move_page(self.id, self._applied):
            self._apply(rows)
            self._applied = rows[0].page
            self.pages += 1
            if small:
                left = self._left()
                waited = 0 if least is None or left < least else waited + 1
                least = left if least is None else min(least, left)
                if left <= small or waited == PATIENCE:
                    return

    def _left(self) -> int:
        """How many documents and sources are left to send, those of the last page too."""
        row = next(r for r in self.source.list_moves(self.corpus) if r.move_id == self.id)
        if self.progress:
            self.progress(self.documents, self.documents + row.left_to_send)
        return row.left_to_send

    def _apply(self, rows: list[MovePageRow]) -> None:
        told = [row for row in rows if row.number is not None]
        sent = [row for row in told if row.source is not None]
        with self.target.connection.transaction():
            self.target.receive_move(
                self.id,
                [row.number for row in told],
                [row.source for row in told],
                [row.hash for row in told],
                [uri for row in rows for uri in row.uris or ()],
            )
            for documents in _portions([row.document for row in sent]):
                text = f"[{','.join(documents)}]".encode()
                self.target.import_documents(self.corpus, Jsonb(text, dumps=bytes))
            self._apply_embeddings(sent)
        self.documents += len(sent)

    def _apply_embeddings(self, sent: list[MovePageRow]) -> None:
        vectors: list[tuple[str, int, bytes]] = []
        for row in sent:
            if row.ordinals and row.embeddings:
                width = len(row.embeddings) // len(row.ordinals)
                vectors += (
                    (row.source, ordinal, row.embeddings[at * width : (at + 1) * width])
                    for at, ordinal in enumerate(row.ordinals)
                )
        for begin in range(0, len(vectors), 1000):
            sources, ordinals, numbers = zip(*vectors[begin : begin + 1000], strict=True)
            values: Any = Reals(b"".join(numbers))
            self.target.import_embeddings(self.corpus, list(sources), list(ordinals), values)

    def _send_originals(self) -> None:
        after = ""
        while cids := list(self.source.move_originals(self.id, after)):
            for cid in self.target.lacking_originals(self.id, cids):
                blob = self.source.get_blob(cid)
                with self.target.connection.transaction():
                    self.target.receive_move(self.id)
                    self.target.put_blob(blob.bytes or b"", blob.media_type, self.corpus)
            after = cids[-1]

    def _compare(self) -> None:
        at = 0
        while compared := self.target.check_move(self.id, at):
            at = compared[0].position

    def _index(self) -> None:
        with self.target.connection.transaction():
            self.target.receive_move(self.id)
            self.target.index_space(self.corpus)
