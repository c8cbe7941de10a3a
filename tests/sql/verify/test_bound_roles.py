"""That a role was bound explains what the bound role held, and nothing else."""

from __future__ import annotations

import pytest

from tests.conftest import Connection

RIGHTS = "select v.place, v.finding from ragdb.verify(true, '{rights}') v where severity = 'error'"
FORGED = {
    # what: (edit, place, finding)
    "a right": (
        "update ragdb.corpus_grants set role = 'writer2', role_oid = 'writer2'::regrole",
        "corpus closed", "writer2 has the right read, and no event says who gave it",
    ),
    "a right that is gone": (
        "delete from ragdb.corpus_grants", "corpus closed",
        '"writer" was given a right, and has none, and no event says who took it',
    ),
    "a binding": (
        "update ragdb.role_bindings set role = 'reader' where role = 'once'",
        "role writer2", "what reader held is bound to it, and no event says by whom",
    ),
    "a binding to a role of the same name": (
        "update ragdb.role_bindings set role = 'reader', bound_to = 'reader' where role = 'once'",
        "role reader", "what reader held is bound to it, and no event says by whom",
    ),
    "a token": (
        "update ragdb.http_tokens set role = 'writer2', role_oid = 'writer2'::regrole",
        "token web", "it is for role writer2, and no event says who made it",
    ),
    "a corpus of another": (
        "update ragdb.corpora set personal_of = 'writer2', personal_oid = 'writer2'::regrole"
        " where personal_of is not null",
        "corpus personal",
        "it belongs to writer2 and was made by writer, and no event says who gave it away",
    ),
}  # fmt: skip


@pytest.fixture
def bound(db: Connection) -> Connection:
    """As after a restore, where each role is bound to that of its name."""
    db.execute("select ragdb.create_corpus('closed')")
    db.execute("select ragdb.grant_corpus('closed', 'writer', 'read')")
    db.execute("select ragdb.create_http_token('writer', 'web')")
    db.execute("set role writer")
    db.execute("select ragdb.create_corpus('personal')")
    db.execute("set role ragdb_owner")
    for role, becomes in (("writer", "writer"), ("writer2", "writer2"), ("once", "writer2")):
        db.execute("select ragdb.bind_role(%s, %s)", (role, becomes))
    db.execute("reset role")
    assert db.execute(RIGHTS).fetchall() == []
    return db


@pytest.mark.parametrize("what", FORGED)
def test_what_no_bound_role_held_is_found(bound: Connection, what: str) -> None:
    edit, place, finding = FORGED[what]
    bound.execute("delete from ragdb.role_bindings where role = 'writer'")
    assert bound.execute(RIGHTS).fetchall() == []
    assert bound.execute(edit.encode()).rowcount
    assert (place, finding) in bound.execute(RIGHTS).fetchall()


def test_what_a_bound_role_held_is_explained_however_often_it_was_bound(bound: Connection) -> None:
    for role in ("first", "second"):
        bound.execute(f"create role {role} in role ragdb_writer".encode())
    bound.execute("select ragdb.grant_corpus('closed', 'first', 'write')")
    bound.execute("select ragdb.create_http_token('first', 'desk')")
    bound.execute("grant first to current_user; set role first")
    bound.execute("select ragdb.create_corpus('personal')")
    bound.execute("reset role; drop role first; set role ragdb_owner")
    bound.execute("select ragdb.bind_role('first', 'second')")
    bound.execute("reset role; drop role second; create role third; set role ragdb_owner")
    bound.execute("select ragdb.bind_role('second', 'third')")
    bound.execute("reset role")
    held = "select role from ragdb.corpus_grants union select bound_to from ragdb.role_bindings"
    assert ("third",) in bound.execute(held).fetchall()
    assert bound.execute(RIGHTS).fetchall() == []


def test_many_bound_roles_are_compared_in_seconds(db: Connection) -> None:
    """All at once: for each role alone all events were read, for hours where there are many."""
    db.execute("select ragdb.create_corpus('many', is_restricted => true)")
    db.execute("set local session_replication_role = replica")
    db.execute("""
      with n as (select i, format('"old%s"', i) as old from generate_series(1, 10000) i),
      granted as (
        insert into ragdb.access_events (id, created_at, kind, role, session_role, corpus_id,
            corpus, what, event_hash)
          select ragdb_internal.uuid7(now()), now(), k.kind, 'admin', 'admin', k.corpus_id,
              k.corpus, k.what, ''
            from n cross join ragdb.corpora c cross join lateral (values
              ('grant', c.corpus_id, c.name, 'read to ' || n.old),
              ('bind_role', null, null, format('%s to "new%s"', n.old, n.i)))
              k (kind, corpus_id, corpus, what)
            where c.name = 'many'
      ), bound as (
        insert into ragdb.role_bindings (role, bound_to, bound_oid, bound_at, bound_by)
          select 'old' || n.i, 'new' || n.i, 1000000 + n.i, now(), 'admin' from n
      )
      insert into ragdb.corpus_grants (corpus_id, role, role_oid, privilege)
        select c.corpus_id, 'new' || n.i, 1000000 + n.i, 'read'
          from n cross join ragdb.corpora c where c.name = 'many'
      """)
    db.execute("set local session_replication_role = origin")
    db.execute("set local statement_timeout = '20 s'")
    assert db.execute(RIGHTS).fetchall() == []
    db.execute("update ragdb.corpus_grants set privilege = 'admin' where role = 'new7'")
    found = ("corpus many", "new7 has the right admin, and no event says who gave it")
    assert db.execute(RIGHTS).fetchall() == [found]
