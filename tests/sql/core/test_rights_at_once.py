"""Rights that change while others use, change or wait for them: each looks again after its wait."""

from __future__ import annotations

import threading

import psycopg
import pytest

from tests.conftest import Connection, Login
from tests.waiting import until_it_waits

CONTRACT = """corpus name=closed
retriever name=R corpus=closed topK=5
rag name=A retriever=R
  ragEval name=V mode=contract metric=mrr threshold=0.1
"""
TAKE = "select ragdb.revoke_corpus('closed', 'writer')"
HASTY = "-c lock_timeout=1s"
GRANTS = "select role from ragdb.list_grants('closed') order by role"


def fill(db: Connection) -> None:
    """Two corpora of which `writer` is an admin, and a contract of the first."""
    db.execute("select ragdb.create_corpus('closed'), ragdb.create_corpus('other')")
    db.execute("select ragdb.apply_contract(%s, 'c')", (CONTRACT,))
    db.execute(
        "select ragdb.grant_corpus(c, 'writer', 'admin'), ragdb.grant_corpus(c, 'reader',"
        " 'read') from unnest(array['closed', 'other']) c"
    )


def meanwhile(
    admin: psycopg.Connection[tuple[object, ...]],
    other: psycopg.Connection[tuple[object, ...]],
    first: str,
    then: str,
) -> str | None:
    """SQLSTATE of what the other gets that comes while the first has not committed."""
    failures: list[str | None] = []

    def late() -> None:
        try:
            other.execute(then)
            other.commit()
            failures.append(None)
        except psycopg.Error as error:
            other.rollback()
            failures.append(error.sqlstate)

    with psycopg.connect(admin.info.dsn, autocommit=True) as look:
        admin.execute(first)
        thread = threading.Thread(target=late)
        thread.start()
        until_it_waits(look, other, failures)
        admin.commit()
        thread.join(120)
    assert len(failures) == 1
    return failures[0]


@pytest.mark.by_day(3)
@pytest.mark.parametrize(
    ("held", "call"),
    [
        ("", "grant_corpus('closed', 'reader2', 'read')"),
        ("", "revoke_corpus('closed', 'reader')"),
        ("", "restrict_corpus('closed')"),
        ("", "unrestrict_corpus('closed')"),
        ("", "drop_corpus('closed')"),
        ("select ragdb_internal.lock_corpus('closed', 'admin')", "record_reads('closed', 'on')"),
        ("select ragdb_internal.lock_corpus('closed', 'admin')", "begin_move('closed', 'there')"),
        ("select ragdb_internal.lock_evals('A', true)", "import_eval('A', 'V', '[]')"),
        ("select ragdb_internal.lock_evals('A', true)", "add_eval_case('A', 'V', 'refunds')"),
        ("select ragdb_internal.hold('apply_contract')", f"apply_contract('{CONTRACT}', 'c')"),
    ],
)
def test_whose_right_is_taken_while_he_waits_does_nothing(
    copied: str, login: Login, held: str, call: str
) -> None:
    with psycopg.connect(copied) as admin:
        writer = login(copied, "writer")
        then = f"select ragdb.{call}"
        # of a contract whose corpora he cannot read he hears that its name is taken, and of no eval
        expected = "RG409" if "contract" in held else "RG441" if "evals" in held else "RG404"
        assert meanwhile(admin, writer, f"{held}; {TAKE}", then) == expected
        assert admin.execute(GRANTS).fetchall() == [("reader",)]


@pytest.mark.parametrize(
    "call", ["add_eval_case('A', 'V', 'refunds')", "import_eval('A', 'V', '[]')"]
)
def test_who_gives_an_eval_cases_looks_for_it_again_after_a_contract(
    copied: str, call: str
) -> None:
    with psycopg.connect(copied) as one, psycopg.connect(copied) as other:
        without = CONTRACT[: CONTRACT.index("  ragEval")]
        first = f"select ragdb.apply_contract('{without}', 'c')"
        assert meanwhile(one, other, first, f"select ragdb.{call}") == "RG441"
        assert other.execute("select count(*) from ragdb.eval_cases").fetchone() == (0,)


def test_of_two_admins_who_take_each_others_right_one_has_it_after(
    copied: str, login: Login
) -> None:
    with psycopg.connect(copied) as db:
        db.execute("select ragdb.grant_corpus('closed', 'writer2', 'admin')")
    one, other = login(copied, "writer"), login(copied, "writer2")
    take = "select ragdb.revoke_corpus('closed', '{}')"
    assert meanwhile(one, other, take.format("writer2"), take.format("writer")) == "RG404"
    assert one.execute(GRANTS).fetchall() == [("reader",), ("writer",)]


def test_a_right_is_given_and_taken_while_somebody_writes_and_nobody_who_reads_waits(
    copied: str, login: Login
) -> None:
    call = "select ragdb.{}"
    with psycopg.connect(copied) as long, psycopg.connect(copied, options=HASTY) as admin:
        long.execute(call.format("put_text('closed', 'a.md', 'refunds are paid')"))
        admin.execute(call.format("grant_corpus('closed', 'reader2', 'read')"))
        admin.execute(call.format("revoke_corpus('closed', 'reader')"))
        reader = login(copied, "reader", options=HASTY)
        reader.execute("select from ragdb.search('closed', 'refunds')")
        admin.commit()
        with pytest.raises(psycopg.Error) as refused:
            reader.execute("select from ragdb.search('closed', 'refunds')")
        assert refused.value.sqlstate == "RG404"


def test_who_closes_a_corpus_waits_for_a_writer_and_holds_up_nobody_meanwhile(copied: str) -> None:
    """It changes the row that writers lock; only then it holds up who gives and takes rights."""
    with psycopg.connect(copied) as long, psycopg.connect(copied) as closing:
        # open, with grants all the same, which are what another takes meanwhile
        long.execute("update ragdb.corpora set is_restricted = false where name = 'other'")
        long.commit()
        long.execute("select ragdb.put_text('other', 'a.md', 'refunds are paid')")
        failures: list[str | None] = []

        def close() -> None:
            closing.execute("select ragdb.restrict_corpus('other')")
            closing.commit()
            failures.append(None)

        thread = threading.Thread(target=close)
        thread.start()
        try:
            with psycopg.connect(copied, options=HASTY, autocommit=True) as other:
                until_it_waits(other, closing)
                other.execute("select ragdb.revoke_corpus('other', 'reader')")
        finally:
            long.commit()
            thread.join(120)
        assert failures == [None]


@pytest.mark.parametrize("call", ["grant_corpus('closed', 'reader2', 'read')",
                                  "restrict_corpus('closed')"])  # fmt: skip
def test_a_corpus_that_is_opened_while_one_is_closed_to_all_but_some_is_closed(
    copied: str, call: str
) -> None:
    with psycopg.connect(copied) as admin, psycopg.connect(copied) as other:
        opening = "select ragdb.unrestrict_corpus('closed')"
        assert meanwhile(admin, other, opening, f"select ragdb.{call}") is None
        closed = "select is_restricted from ragdb.corpora where name = 'closed'"
        assert admin.execute(closed).fetchall() == [(True,)]


def test_a_snapshot_that_is_older_than_a_change_of_rights_cannot_change_them(
    copied: str, login: Login
) -> None:
    with psycopg.connect(copied) as admin:
        writer = login(copied, "writer")
        writer.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        writer.execute("select 1")
        admin.execute(TAKE)
        admin.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            writer.execute("select ragdb.grant_corpus('closed', 'reader2', 'read')")


def test_of_two_roles_that_are_bound_to_one_at_once_the_second_keeps_what_it_had(
    copied: str, login: Login
) -> None:
    """A role has one corpus of its own; what the second had is nobody's still."""
    with psycopg.connect(copied) as admin, psycopg.connect(copied) as other:
        for role, gone in (("reader", "ann"), ("reader2", "bob")):
            login(copied, role, autocommit=True).execute("select ragdb.create_corpus('personal')")
            admin.execute(
                "update ragdb.corpora set personal_of = %s, personal_oid = 1"
                " where personal_of = %s",
                (gone, role),
            )
        admin.commit()
        bind = "select ragdb.bind_role('{}', 'writer')"
        assert meanwhile(admin, other, bind.format("ann"), bind.format("bob")) == "RG409"
        assert other.execute("select role from ragdb.dead_roles()").fetchall() == [("bob",)]
