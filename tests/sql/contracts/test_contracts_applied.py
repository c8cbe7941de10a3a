"""Contracts applied: versions, rights, who may read and replace them; and their retrievers."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from tests import embedding
from tests.conftest import Connection, Login
from tests.processor import spent
from tests.refusal import refused

ORDER = (
    "a name has 1 to 128 of A-Z, a-z, 0-9, . _ -, and is given behind the text;"
    " ragdb.validate_contract() lists them all"
)
PLAIN = """
corpus name="My Docs" title=T
  source name=a uri=./docs
retriever name=R corpus="My Docs" topK=2 minScore=0.1
rag name=A retriever=R
"""


def apply(db: Connection, text: str, name: str = "c") -> Any:
    row = db.execute("select * from ragdb.apply_contract(%s, %s)", (text, name)).fetchone()
    assert row is not None
    return row


def test_a_contract_is_applied_once_and_its_versions_stay(any_db: Connection) -> None:
    assert apply(any_db, PLAIN) == ("c", 1, True, ["my-docs"], 4)
    assert apply(any_db, "# the same\n" + PLAIN) == ("c", 1, False, ["my-docs"], 4)
    assert apply(any_db, PLAIN.replace("topK=2", "topK=3"))[1:3] == (2, True)
    for version, top_k in ((None, 3), (1, 2), (2, 3)):
        (found,) = any_db.execute("select ragdb.export_contract('c', %s)", (version,)).fetchall()
        assert found[0]["nodes"][1]["keys"]["topK"] == top_k
        assert found[0]["nodes"][0]["children"][0]["keys"]["uri"] == "docs"


def test_what_is_exported_is_what_was_applied(any_db: Connection) -> None:
    apply(any_db, PLAIN)
    ((found,),) = any_db.execute("select ragdb.export_contract('c')").fetchall()
    ((text,),) = any_db.execute("select ragdb.write_contract(%s)", (Jsonb(found),)).fetchall()
    assert text == PLAIN.lstrip().replace("uri=./docs", "uri=docs")
    assert apply(any_db, text)[2] is False


def test_a_contract_with_an_error_is_refused_and_nothing_is_made(any_db: Connection) -> None:
    with pytest.raises(psycopg.Error) as caught, any_db.transaction():
        apply(any_db, PLAIN.replace("topK=2", "topK=0"))
    assert caught.value.sqlstate == "RG440"
    assert "rag-retriever-topk-invalid in line 4" in (caught.value.diag.message_detail or "")
    assert any_db.execute("select count(*) from ragdb.corpora where name = 'my-docs'").fetchone() == (0,)  # fmt: skip


def test_a_name_of_another_contract_is_refused(any_db: Connection) -> None:
    apply(any_db, PLAIN)
    with pytest.raises(psycopg.Error) as caught, any_db.transaction():
        apply(any_db, PLAIN, "other")
    assert caught.value.sqlstate == "RG409"


def test_tenant_and_acl_become_rights(any_clone: str, login: Login) -> None:
    admin = login(any_clone, "admin")
    apply(admin, PLAIN.replace("title=T", "tenant=writer").replace("uri=", "acl=reader uri="))
    admin.commit()
    with psycopg.connect(any_clone) as owner:
        grants = owner.execute("select role, privilege from ragdb.corpus_grants").fetchall()
    assert dict(grants) == {"writer": "admin", "reader": "read"}
    assert login(any_clone, "reader").execute("select name from ragdb.list_contracts()").fetchall()
    assert not login(any_clone, "reader2").execute("select * from ragdb.list_contracts()").fetchall()  # fmt: skip
    # a right that the next version does not give is taken back
    apply(admin, PLAIN.replace("title=T", "tenant=writer"))
    admin.commit()
    with psycopg.connect(any_clone) as owner:
        assert owner.execute("select role from ragdb.corpus_grants").fetchall() == [("writer",)]


def test_a_tenant_that_becomes_a_reader_may_only_read(any_clone: str, login: Login) -> None:
    admin = login(any_clone, "admin", autocommit=True)
    text = PLAIN.replace("title=T", "tenant={}").replace("uri=", "acl={} uri=")
    for tenant, reader in (("writer", "writer2"), ("writer2", "writer")):
        apply(admin, text.format(tenant, reader))
        with psycopg.connect(any_clone) as owner:
            grants = owner.execute("select role, privilege from ragdb.corpus_grants").fetchall()
        assert dict(grants) == {tenant: "admin", reader: "read"}


def test_a_contract_over_personal_is_its_appliers_alone(any_clone: str, login: Login) -> None:
    text = (
        "corpus name=personal\n  source name=diary uri=diary\nretriever name=P corpus=personal\n"
        "rag name=PA retriever=P\ntool name=look_up\n  param name=q\n"
        "  retrieve rag=PA queryParam=q\n"
    )
    mine = login(any_clone, "reader", autocommit=True)
    theirs, admin = (login(any_clone, role, autocommit=True) for role in ("reader2", "admin"))
    for db in (mine, theirs):
        db.execute("select ragdb.create_corpus('personal')")
    apply(mine, text)
    seen = "select count(*) from ragdb.list_{}()"
    for what in ("contracts", "tools", "sources"):
        assert mine.execute(seen.format(what)).fetchone() == (1,)
        assert theirs.execute(seen.format(what)).fetchone() == (0,)
        assert admin.execute(seen.format(what)).fetchone() == (0,)
    for db in (theirs, admin):
        with pytest.raises(psycopg.Error) as caught:
            db.execute("select ragdb.export_contract('c')")
        assert caught.value.sqlstate == "RG441"
        # neither replaced nor told of
        for name in ("c", "other"):
            with pytest.raises(psycopg.Error) as caught:
                apply(db, text.replace("look_up", "take_over"), name)
            assert caught.value.sqlstate == "RG409"
            assert "not visible" in (caught.value.diag.message_detail or "")
            assert '"c"' not in (caught.value.diag.message_detail or "")
    assert apply(mine, text.replace("look_up", "look"))[1:3] == (2, True)
    # nor once nobody has such a corpus
    for db in (mine, theirs):
        db.execute("select ragdb.drop_corpus('personal')")
    with pytest.raises(psycopg.Error) as caught:
        apply(theirs, text)
    assert caught.value.sqlstate == "RG409"


def test_whoever_may_not_write_a_corpus_may_not_apply(any_clone: str, login: Login) -> None:
    apply(login(any_clone, "writer", autocommit=True), PLAIN)
    with pytest.raises(psycopg.Error) as caught:
        apply(login(any_clone, "reader", autocommit=True), PLAIN.replace("topK=2", "topK=3"))
    assert caught.value.sqlstate == "RG401"


def test_whoever_may_apply_nothing_learns_no_name(any_clone: str, login: Login) -> None:
    admin = login(any_clone, "admin", autocommit=True)
    apply(admin, PLAIN.replace("title=T", "tenant=writer"))
    reader = login(any_clone, "reader", autocommit=True)
    other = PLAIN.replace("My Docs", "Mine")
    for text, name in ((PLAIN, "c"), (PLAIN, "d"), (other, "c"), (other, "d")):
        with pytest.raises(psycopg.Error) as caught:
            apply(reader, text, name)
        assert str(caught.value).startswith('role "reader" may not create corpora')


def test_a_contract_brings_no_embedder_of_who_may_create_none(any_db: Connection) -> None:
    text = "corpus name=personal\nembed name=E corpus=personal model=promised dims=3\n"
    any_db.execute("set role reader")
    any_db.execute("select ragdb.create_corpus('personal')")
    with (
        pytest.raises(psycopg.Error, match="may not create embedder") as caught,
        any_db.transaction(),
    ):
        apply(any_db, text)
    assert caught.value.sqlstate == "RG401"
    any_db.execute("set role writer")
    any_db.execute("select ragdb.create_embedder('promised', 3)")
    any_db.execute("set role reader")
    assert apply(any_db, text)[2] is True


def test_a_contract_is_not_the_next_makers_of_its_corpus(any_clone: str, login: Login) -> None:
    one, two, admin = (
        login(any_clone, role, autocommit=True) for role in ("writer", "writer2", "admin")
    )
    apply(one, PLAIN)
    apply(one, PLAIN.replace("My Docs", "Mine"))
    for name in ("my-docs", "mine"):
        admin.execute("select ragdb.drop_corpus(%s)", (name,))
    # of which versions before the one in force tell too
    for call in (
        "create_corpus('my-docs')",
        "create_corpus('mine')",
        "put_text('mine', 'a.md', 'tulips')",
        "apply_contract('corpus name=mine', 'mine')",
    ):
        with pytest.raises(psycopg.Error, match="may not create corpus") as caught:
            two.execute(f"select ragdb.{call}")
        assert caught.value.sqlstate == "RG401"
    assert two.execute("select * from ragdb.list_contracts()").fetchall() == []
    one.execute("select ragdb.create_corpus('mine')")
    admin.execute("select ragdb.create_corpus('my-docs')")
    two.execute("select ragdb.create_corpus('free')")


def test_a_retriever_searches_as_declared_and_says_so_in_the_trace(any_db: Connection) -> None:
    apply(any_db, PLAIN)
    for n, text in enumerate(["refund policy", "refund", "refund of a bicycle that came late"]):
        any_db.execute("select * from ragdb.put_text('my-docs', %s, %s)", (f"{n}.txt", text))
    hits = any_db.execute("select score from ragdb.retrieve_with(null, 'refund', rag => 'A')").fetchall()  # fmt: skip
    assert len(hits) == 2
    assert all(score >= 0.1 for (score,) in hits)
    trace = "select retriever, rag, limit_requested, min_score from ragdb.list_traces() limit 1"
    assert any_db.execute(trace).fetchone() == ("R", "A", 2, 0.1)
    assert len(any_db.execute("select from ragdb.retrieve_with('R', 'refund', k => 3, min_score => 0)").fetchall()) == 3  # fmt: skip
    assert any_db.execute(trace).fetchone() == ("R", None, 3, 0)


def test_a_retriever_without_mode_and_embed_ranks_by_words_where_a_search_ranks_by_both(
    db: Connection,
) -> None:
    embedding.make_corpus(db, {"a": "the quick brown fox"})
    embedding.embed(db)
    apply(db, "corpus name=docs\nretriever name=R corpus=docs\n")
    how = {"vector": Reals(embedding.ENCODER.encode(["fox"]))}
    for expected, call in (("hybrid", "search('docs'"), ("lexical", "search_with('R'")):
        hit = db.execute(
            f"select mode from ragdb.{call}, 'fox', query_embedding => %(vector)s)", how
        ).fetchone()
        assert hit == (expected,)


@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("ragdb.retrieve_with('Q', 'x')", "RG441"),
        ("ragdb.retrieve_with(null, 'x', rag => 'Q')", "RG441"),
        ("ragdb.retrieve_with('R', 'x', rag => 'A')", "RG400"),
        ("ragdb.retrieve_with(null, 'x')", "RG400"),
        ("ragdb.retrieve_with('R', 'x', k => 0)", "RG400"),
        ("ragdb.export_contract('nothing')", "RG441"),
        ("ragdb.export_contract('c', 9)", "RG441"),
        ("ragdb.validate_contract(null)", "RG400"),
        ("ragdb.apply_contract('{}')", "RG440"),
    ],
)
def test_what_cannot_be_is_refused(any_db: Connection, call: str, state: str) -> None:
    apply(any_db, PLAIN)
    with pytest.raises(psycopg.Error) as caught:
        any_db.execute(f"select * from {call}")
    assert caught.value.sqlstate == state
    assert caught.value.diag.message_hint


CASES = (
    PLAIN
    + """  ragEval name=E mode=contract
    ragCase name=one query=fox chunkCount=1
"""
)


def cases(db: Connection) -> Any:
    return db.execute("select count(*) from ragdb.eval_cases where contract = 'c'").fetchone()


def test_a_contract_that_is_withdrawn_frees_its_names_and_keeps_its_versions(
    any_db: Connection,
) -> None:
    apply(any_db, CASES)
    assert cases(any_db) == (1,)
    any_db.execute("select ragdb.withdraw_contract('c')")
    assert cases(any_db) == (0,)
    listed = any_db.execute("select name, version, is_current from ragdb.list_contracts()")
    assert listed.fetchall() == [("c", 1, False)]
    assert any_db.execute("select ragdb.export_contract('c', 1)").fetchone()
    for call in ("ragdb.export_contract('c')", "ragdb.withdraw_contract('c')"):
        with pytest.raises(psycopg.Error) as caught, any_db.transaction():
            any_db.execute(f"select {call}")
        assert caught.value.sqlstate == "RG441"
        assert caught.value.diag.message_primary == 'contract "c" is not in force'
        assert str(caught.value.diag.message_detail).startswith("version 1, the latest,")
    # what it made stays
    assert any_db.execute("select title from ragdb.corpora where name = 'my-docs'").fetchone() == ("T",)  # fmt: skip
    assert apply(any_db, CASES, "other")[1:3] == (1, True)
    any_db.execute("select ragdb.withdraw_contract('other')")
    assert apply(any_db, CASES)[1:3] == (2, True)
    assert cases(any_db) == (1,)
    assert not any_db.execute(
        "select finding from ragdb.verify(checks => '{contracts}')"
    ).fetchall()


def test_whoever_may_not_write_its_corpora_may_not_withdraw_a_contract(
    any_clone: str, login: Login
) -> None:
    admin = login(any_clone, "admin", autocommit=True)
    apply(admin, PLAIN)
    reader = login(any_clone, "reader", autocommit=True)
    with pytest.raises(psycopg.Error) as caught:
        reader.execute("select ragdb.withdraw_contract('c')")
    assert caught.value.sqlstate == "RG401"
    assert admin.execute("select is_current from ragdb.list_contracts()").fetchall() == [(True,)]


def test_the_cases_of_an_eval_take_time_by_their_number(db: Connection) -> None:
    head = "corpus name=c{0}\nretriever name=R{0} corpus=c{0}\nrag name=A{0} retriever=R{0}\n"
    case = "  ragCase name=q{0} query=pump\n    ragAssert kind=contains value=x required=true\n"

    def taken(count: int) -> float:
        cases = "".join(map(case.format, range(count)))
        text = f"{head.format(count)}ragEval name=V rag=A{count} mode=contract\n{cases}"
        before = spent(db)
        apply(db, text, f"of-{count}")
        return spent(db) - before

    taken(10)
    # it took 12 times as much
    assert taken(2000) < 8 * taken(500)


def test_contracts_are_listed_by_pages_and_those_in_force_alone(db: Connection) -> None:
    for n in range(3):
        for title in ("one", "two"):
            text = f'corpus name=c{n} title="{title}"\n'
            db.execute("select ragdb.apply_contract(%s, %s)", (text, f"d{n}"))
    apply(db, PLAIN)
    db.execute("select ragdb.withdraw_contract('d1')")

    def listed(arguments: str) -> list[tuple[str, int]]:
        found = db.execute(f"select name, version from ragdb.list_contracts({arguments})")
        return [(name, version) for name, version in found.fetchall()]

    every = [("c", 1), *((f"d{n}", version) for n in range(3) for version in (2, 1))]
    assert listed("") == every
    assert listed("true") == [("c", 1), ("d0", 2), ("d2", 2)]
    assert listed("true, count => 2") == [("c", 1), ("d0", 2)]
    assert listed("true, 'd', 'd0'") == [("d2", 2)]
    # a page has all versions of its last contract
    assert listed("count => 2") == every[:3]
    assert listed("after => 'd0', count => 1") == every[3:5]
    assert listed("prefix => 'd2'") == every[5:]
    assert refused(db, "select ragdb.list_contracts(count => 0)").sqlstate == "RG400"
    assert refused(db, "select ragdb.list_contracts(prefix => null)").sqlstate == "RG400"


def test_who_gives_the_name_before_the_text_is_told_their_order(db: Connection) -> None:
    error = refused(db, "select ragdb.apply_contract('c', E'corpus name=docs\n')")
    assert (error.sqlstate, error.diag.message_hint) == ("RG440", ORDER)
