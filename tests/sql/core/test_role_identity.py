"""Rights belong to a role, not to its name; what was restricted stays so until it is opened."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Connection, Login
from tests.documents import document
from tests.sql.documents_twin import put as put_documents


def made(db: Connection, role: str, group: str = "ragdb_reader") -> None:
    db.execute(f"create role {role} login in role {group}")


def again(db: Connection, role: str, group: str = "ragdb_reader") -> None:
    """Another role of the same name."""
    db.execute(f"drop role {role}")
    made(db, role, group)


def state(db: Connection, role: str, statement: str) -> str:
    """The SQLSTATE that a role's statement ends with; empty where it succeeds."""
    try:
        with db.transaction():
            db.execute(f"set local role {role}")
            db.execute(statement).fetchall()
    except psycopg.Error as error:
        return error.sqlstate or "?"
    finally:
        db.execute("reset role")
    return ""


def test_a_corpus_stays_restricted_after_its_last_grant_is_revoked(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.put_text('docs', 'a', 'tulips')")
    search = "select * from ragdb.search('docs', 'tulips')"
    assert state(any_db, "reader", search) == ""
    any_db.execute("select ragdb.grant_corpus('docs', 'reader2', 'read')")
    assert state(any_db, "reader", search) == "RG404"
    any_db.execute("select ragdb.revoke_corpus('docs', 'reader2')")
    assert state(any_db, "reader", search) == "RG404"
    assert state(any_db, "reader2", search) == "RG404"


def test_the_grants_of_a_dropped_role_are_not_the_next_ones(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    made(any_db, "carol")
    any_db.execute("select ragdb.grant_corpus('docs', 'carol', 'read')")
    assert state(any_db, "carol", "select ragdb.corpus_info('docs')") == ""
    again(any_db, "carol")
    assert state(any_db, "carol", "select ragdb.corpus_info('docs')") == "RG404"


def test_a_membership_that_is_not_inherited_gives_no_right(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("create role team")
    any_db.execute("select ragdb.grant_corpus('docs', 'team', 'read')")
    made(any_db, "carol")
    read = "select ragdb.corpus_info('docs')"
    any_db.execute("grant team to carol with inherit false")
    assert state(any_db, "carol", read) == "RG404"
    any_db.execute("grant team to carol with inherit true")
    assert state(any_db, "carol", read) == ""


def test_personal_of_a_dropped_role_is_not_the_next_ones(any_db: Connection) -> None:
    made(any_db, "carol")
    put = "select ragdb.put_text('personal', 'a', 'a secret of tulips')"
    assert state(any_db, "carol", "select ragdb.create_corpus('personal')") == ""
    any_db.execute("set role carol")
    any_db.execute(put)
    any_db.execute("reset role")
    again(any_db, "carol")
    for read in ("ragdb.search('personal', 'tulips')", "ragdb.list_documents('personal')"):
        assert state(any_db, "carol", f"select * from {read}") == "RG404"
    assert any_db.execute("select ragdb.create_corpus('personal')")


def test_blobs_of_a_dropped_role_are_not_the_next_ones(any_db: Connection) -> None:
    made(any_db, "carol", "ragdb_writer")
    any_db.execute("select ragdb.create_corpus('open')")
    any_db.execute("select ragdb.set_quota('public', blob_bytes => 20)")
    put = "select ragdb.put_blob('her original', 'text/plain')"
    assert state(any_db, "carol", put) == ""
    row = any_db.execute("select cid from ragdb.blobs").fetchone()
    assert row is not None
    read = f"select ragdb.get_blob('{row[0]}')"

    def bring() -> list[tuple[str]]:
        any_db.execute("set role carol")
        put_documents(any_db, document("a.txt", ["any text"], data=b"her original"), corpus="open")
        any_db.execute("reset role")
        return any_db.execute("select brought_by from ragdb.corpus_blobs").fetchall()

    assert state(any_db, "carol", read) == ""
    other = "select ragdb.put_blob('her original too', 'text/plain')"
    assert state(any_db, "carol", other) == "RG470"
    again(any_db, "carol", "ragdb_writer")
    assert state(any_db, "carol", read) == "RG408"
    assert state(any_db, "carol", f"select ragdb.drop_blob('{row[0]}')") == "RG408"
    any_db.execute("set role carol")
    assert any_db.execute("select from ragdb.list_blobs()").fetchall() == []
    any_db.execute("reset role")
    assert bring() == []
    assert state(any_db, "carol", read) == "RG408"
    # whoever has the bytes has them, and a quota of her own
    assert state(any_db, "carol", put) == ""
    assert state(any_db, "carol", read) == ""
    assert bring() == [("carol",)]


@pytest.mark.parametrize("becomes", ["carol"])
def test_a_new_role_may_make_a_personal_of_its_own(any_db: Connection, becomes: str) -> None:
    made(any_db, "carol")
    assert state(any_db, "carol", "select ragdb.create_corpus('personal')") == ""
    again(any_db, "carol")
    assert state(any_db, becomes, "select ragdb.create_corpus('personal')") == ""


def test_a_token_of_a_dropped_role_is_dead(any_db: Connection) -> None:
    made(any_db, "carol")
    row = any_db.execute("select ragdb.create_http_token('carol', 'phone')").fetchone()
    assert row is not None
    asked = "select ragdb.http_token_role(sha256(convert_to(%s, 'UTF8')))"
    assert any_db.execute(asked, row).fetchone() == ("carol",)
    again(any_db, "carol")
    assert any_db.execute(asked, row).fetchone() == (None,)


@pytest.mark.parametrize(
    ("rise", "fall"),
    [
        ("grant ragdb_owner to carol", "revoke ragdb_owner from carol"),
        ("alter role carol superuser", "alter role carol nosuperuser"),
    ],
)
def test_neither_a_token_nor_a_session_is_worth_a_role_that_became_mighty(
    any_db: Connection, rise: str, fall: str
) -> None:
    made(any_db, "carol")
    ((token,),) = any_db.execute("select ragdb.create_http_token('carol', 'phone')").fetchall()
    opened = "select ragdb.open_http_session(sha256(convert_to(%s, 'UTF8')))"
    ((session,),) = any_db.execute(opened, (token,)).fetchall()
    asked = (
        "select ragdb.http_token_role(sha256(convert_to(%s, 'UTF8'))),"
        " ragdb.http_session_role(sha256(convert_to(%s, 'UTF8')))"
    )
    for change, role in ((rise, None), (fall, "carol")):
        any_db.execute(change)
        assert any_db.execute(asked, (token, session)).fetchone() == (role, role)


def test_a_token_does_not_make_who_a_role_is_bound_to_mighty(any_db: Connection) -> None:
    made(any_db, "carol")
    row = any_db.execute("select ragdb.create_http_token('carol', 'phone')").fetchone()
    any_db.execute("drop role carol")
    any_db.execute("select ragdb.bind_role('carol', current_user)")
    asked = "select ragdb.http_token_role(sha256(convert_to(%s, 'UTF8')))"
    assert any_db.execute(asked, row).fetchone() == (None,)


def test_only_by_name_a_corpus_is_opened(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    read = "select ragdb.corpus_info('docs')"
    any_db.execute("select ragdb.restrict_corpus('docs')")
    assert state(any_db, "reader", read) == "RG404"
    assert state(any_db, "admin", read) == ""
    any_db.execute("select ragdb.grant_corpus('docs', 'reader2', 'read')")
    assert state(any_db, "reader2", "select ragdb.unrestrict_corpus('docs')") == "RG401"
    assert state(any_db, "admin", "select ragdb.unrestrict_corpus('docs')") == ""
    assert state(any_db, "reader", read) == ""
    assert not any_db.execute("select * from ragdb.list_grants('docs')").fetchall()


def test_a_corpus_may_be_made_restricted(any_db: Connection) -> None:
    made_by = "select ragdb.create_corpus('docs', is_restricted => true)"
    any_db.execute("set role writer")
    any_db.execute(made_by)
    any_db.execute("reset role")
    assert state(any_db, "writer2", "select ragdb.corpus_info('docs')") == "RG404"
    assert state(any_db, "writer", "select ragdb.list_grants('docs')") == ""
    for corpus in ("personal", "system"):
        call = f"select ragdb.restrict_corpus('{corpus}')"
        any_db.execute(f"select ragdb.create_corpus('{corpus}')")
        with pytest.raises(psycopg.Error) as caught, any_db.transaction():
            any_db.execute(call)
        assert caught.value.sqlstate == "RG400"


def test_a_role_that_is_gone_is_listed_and_bound_by_the_owner_alone(any_db: Connection) -> None:
    made(any_db, "carol")
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.put_text('docs', 'a', 'tulips')")
    any_db.execute("select ragdb.grant_corpus('docs', 'carol', 'read')")
    any_db.execute("select ragdb.create_http_token('carol', 'phone')")
    any_db.execute("set role carol")
    any_db.execute("select ragdb.create_corpus('personal')")
    any_db.execute("select ragdb.put_blob('bytes', 'text/plain')")
    any_db.execute("select * from ragdb.retrieve('docs', 'tulips')")
    any_db.execute("reset role")
    assert not any_db.execute("select * from ragdb.dead_roles()").fetchall()
    again(any_db, "carol")
    listed = "select role, holds, name_is_taken from ragdb.dead_roles()"
    assert any_db.execute(listed).fetchall() == [
        ("carol", ["grants", "personal", "tokens", "uploads"], True)
    ]
    # who comes back is not told to be gone
    advice = "select found, fix from ragdb.advice() where subject = 'role carol'"
    found, fix = any_db.execute(advice).fetchall()[0]
    assert found.startswith("is not yet the one that holds grants, personal, tokens, uploads")
    assert fix.startswith("set role ragdb_owner; select ragdb.bind_role('carol')")
    any_db.execute("set role carol")
    with pytest.raises(psycopg.Error) as caught, any_db.transaction():
        any_db.execute("select ragdb.corpus_info('docs')")
    assert caught.value.diag.message_hint is not None
    assert "ragdb.bind_role()" in caught.value.diag.message_hint
    any_db.execute("reset role")
    assert state(any_db, "admin", "select ragdb.bind_role('carol')") == "RG401"
    # who may become the owner, as who installs on a managed server, is none until then
    any_db.execute("grant ragdb_owner to admin with inherit false")
    any_db.execute("set role admin")
    with pytest.raises(psycopg.Error) as caught, any_db.transaction():
        any_db.execute("select ragdb.bind_role('carol')")
    assert "set role ragdb_owner" in str(caught.value.diag.message_hint)
    any_db.execute("reset role")
    assert state(any_db, "owner", "select ragdb.bind_role('carol', 'nobody')") == "RG400"
    assert state(any_db, "owner", "select ragdb.bind_role('carol')") == ""
    assert not any_db.execute(listed).fetchall()
    assert state(any_db, "carol", "select * from ragdb.search('docs', 'tulips')") == ""
    assert state(any_db, "carol", "select ragdb.corpus_info('personal')") == ""


def test_a_role_that_is_gone_has_no_name_that_is_taken(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    for role in ("gone", "back"):
        made(any_db, role)
        any_db.execute("select ragdb.grant_corpus('docs', %s, 'read')", (role,))
    any_db.execute("drop role gone")
    again(any_db, "back")
    listed = any_db.execute("select role, name_is_taken from ragdb.dead_roles()").fetchall()
    assert [row for row in listed if row[0] in ("gone", "back")] == [
        ("back", True),
        ("gone", False),
    ]


def test_a_binding_takes_nothing_from_a_role_that_lives(any_db: Connection) -> None:
    for role in ("carol", "dave"):
        made(any_db, role)
        assert state(any_db, role, "select ragdb.create_corpus('personal')") == ""
    assert state(any_db, "owner", "select ragdb.bind_role('carol', 'stranger')") == ""
    assert state(any_db, "carol", "select ragdb.corpus_info('personal')") == ""
    again(any_db, "carol")
    assert state(any_db, "owner", "select ragdb.bind_role('carol', 'dave')") == "RG409"
    assert state(any_db, "dave", "select ragdb.corpus_info('personal')") == ""


def test_of_two_dead_roles_of_a_name_the_later_one_is_bound_first(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    make = "select ragdb.create_corpus('personal', %s)"
    made(any_db, "carol", "ragdb_writer")
    for privilege in ("write", "read"):
        any_db.execute("select ragdb.grant_corpus('docs', 'carol', %s)", (privilege,))
        any_db.execute("select ragdb.set_quota('carol', %s)", (len(privilege),))
        assert state(any_db, "carol", make.replace("%s", f"'{privilege}'")) == ""
        blob = "select ragdb.put_blob('abc', 'text/plain', 'personal')"
        assert state(any_db, "carol", blob) == ""
        again(any_db, "carol", "ragdb_writer")
    bind = "select ragdb.bind_role('carol')"
    assert state(any_db, "owner", bind) == ""
    granted = any_db.execute("select role, privilege, is_dead from ragdb.list_grants('docs')")
    assert ("carol", "read", False) in granted.fetchall()
    quotas = "select blob_bytes from ragdb.list_quotas() where role = 'carol'"
    assert any_db.execute(quotas).fetchall() == [(len("read"),)]
    titles = "select title, ragdb_internal.is_role(personal_of, personal_oid) from ragdb.corpora"
    titles += " where personal_of = 'carol' order by title"
    assert any_db.execute(titles).fetchall() == [("read", True), ("write", False)]
    # the earlier one is given when there is room for it
    assert state(any_db, "owner", bind) == "RG409"
    assert state(any_db, "carol", "select ragdb.drop_corpus('personal')") == ""
    assert state(any_db, "owner", bind) == ""
    assert any_db.execute(titles).fetchall() == [("write", True)]
    assert any_db.execute("select * from ragdb.dead_roles() where role = 'carol'").fetchall() == []


def test_a_renamed_role_has_its_rights_again_when_it_is_bound(any_db: Connection) -> None:
    made(any_db, "carol")
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.grant_corpus('docs', 'carol', 'read')")
    any_db.execute("alter role carol rename to caroline")
    made(any_db, "carol")
    read = "select ragdb.corpus_info('docs')"
    assert state(any_db, "carol", read) == state(any_db, "caroline", read) == "RG404"
    assert state(any_db, "owner", "select ragdb.bind_role('carol', 'caroline')") == ""
    assert state(any_db, "caroline", read) == ""
    assert state(any_db, "carol", read) == "RG404"


def test_a_session_of_a_dropped_role_is_not_the_next_one(any_clone: str, login: Login) -> None:
    with psycopg.connect(any_clone, autocommit=True) as owner:
        try:
            owner.execute("create role erin login in role ragdb_reader")
            owner.execute("grant erin to stranger")
            session = login(any_clone, "stranger", autocommit=True)
            session.execute("set role erin")
            session.execute("select ragdb.create_corpus('personal')")
            own = login(any_clone, "erin", autocommit=True)
            again(owner, "erin")
            new = login(any_clone, "erin", autocommit=True)
            new.execute("select ragdb.create_corpus('personal')")
            for old in (session, own):
                with pytest.raises(psycopg.Error):
                    old.execute("select ragdb.corpus_info('personal')").fetchall()
            assert new.execute("select ragdb.corpus_info('personal')").fetchall()
        finally:
            owner.execute("drop role if exists erin")
