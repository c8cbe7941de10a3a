"""An embedder keeps its promises, and is bound to what cannot harm."""

from __future__ import annotations

import psycopg
import pytest

from ragdb import errors
from tests.conftest import Connection
from tests.embedding import embed, make_corpus, make_embedder
from tests.waiting import after_commit, outcome


def test_an_embedder_with_vectors_changes_neither_promise_nor_provider(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    with pytest.raises(errors.AlreadyExists), db.transaction():
        db.execute("select ragdb.create_embedder('hash', 65)")
    embed(db)
    with pytest.raises(errors.EmbedderMismatch), db.transaction():
        db.execute("select ragdb.bind_embedder('hash', 'openai', 'text-embedding-3-small')")


def test_a_writer_binds_only_what_cannot_harm(db: Connection) -> None:
    make_embedder(db)
    db.execute("set role writer")
    db.execute("select ragdb.create_embedder('mine', 3)")
    db.execute("select ragdb.bind_embedder('mine', 'hash', 'hash-v1')")
    for provider, model in (("sentence-transformers", "/tmp/x"), ("openai", "x")):
        with pytest.raises(errors.NotAuthorized), db.transaction():
            db.execute("select ragdb.bind_embedder('mine', %s, %s)", (provider, model))


@pytest.mark.parametrize("digest", [None, "ab" * 32])
def test_a_writer_binds_nothing_in_the_place_of_what_an_admin_bound(
    db: Connection, digest: str | None
) -> None:
    db.execute("select ragdb.create_embedder('theirs', 3, weights_sha256 => %s)", (digest,))
    db.execute("select ragdb.bind_embedder('theirs', 'openai', 'text-embedding-3-small')")
    db.execute("set role writer")
    for provider, model in (("hash", "hash-v1"), ("sentence-transformers", "packaged")):
        with pytest.raises(errors.NotAuthorized), db.transaction():
            db.execute("select ragdb.bind_embedder('theirs', %s, %s)", (provider, model))


@pytest.mark.parametrize(
    ("first", "second", "sqlstate"),
    [
        (
            "bind_embedder('new', 'openai', 'text-embedding-3-small')",
            "bind_static('new', 'bpe', 'none', 'ab')",
            "RG409",
        ),
        (
            "put_static_pieces('new', '{a}', '{1}', '{1,2,3}')",
            "put_static_pieces('new', '{a}', '{1}', '{1,2,3}')",
            "RG409",
        ),
        (
            "put_static_pieces('new', '{a}', '{1}', '{1,2,3}')",
            "bind_static('new', 'bpe', 'none', (select digest from written))",
            "RG417",
        ),
    ],
)
def test_what_is_bound_is_what_another_has_loaded_or_bound_meanwhile(
    clone: str, first: str, second: str, sqlstate: str
) -> None:
    with psycopg.connect(clone) as one, psycopg.connect(clone) as other:
        # given an embedder with one piece, and its digest
        one.execute("select ragdb.create_embedder('new', 3)")
        one.execute("select ragdb.put_static_pieces('new', array[''], '{0}', '{1,1,1}')")
        one.execute(
            "create table written as select ragdb_internal.pieces_digest(max(embedder_id)) digest"
            " from ragdb.embedders"
        )
        one.commit()
        one.execute(f"select ragdb.{first}".encode())
        # when, then
        late = after_commit(one, other, lambda: outcome(other, f"select ragdb.{second}"))
        assert late == sqlstate
