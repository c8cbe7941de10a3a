"""What is set on purpose is recorded: one statement that sets it otherwise is found."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from ragdb.server import migrate
from tests.conftest import Connection, Server

CONTRACT = """corpus name=docs title=Docs
retriever name=R corpus=docs topK=5
rag name=A retriever=R
  ragEval name=V mode=contract metric=mrr threshold=0.1
  ragEval name=W mode=contract metric=mrr threshold=0.1
"""
CASES = [{"name": "c", "query": "refunds", "labels": [{"source": "a.md"}]}]
FORGED = {
    "settings of corpus docs": [
        "update ragdb.corpora set k1 = 0.5 where name = 'docs'",
        "update ragdb.corpora set b = 0.5 where name = 'docs'",
        "update ragdb.corpora set pivot = pivot + 1 where name = 'docs'",
        "update ragdb.corpora set title = 'Law' where name = 'docs'",
        "update ragdb.corpora set title = null where name = 'docs'",
        "update ragdb.corpora set text_config = 'simple' where name = 'docs'",
        "update ragdb.corpora set is_restricted = true where name = 'docs'",
        "update ragdb.corpora set record_reads = 'on' where name = 'docs'",
        "update ragdb.corpora set record_query_text = 'none' where name = 'docs'",
        "update ragdb.corpora set history = '1 day', history_from = 0, history_since = now()"
        " where name = 'docs'",
    ],
    "settings of corpus part": ["update ragdb.corpora set part_of = null where name = 'part'"],
    "settings of corpus spare": ["update ragdb.corpora set corpus_id = 9 where name = 'spare'"],
    "synonyms of corpus docs": [
        "delete from ragdb.synonyms where word = 'car'",
        "update ragdb.corpora set has_synonyms = false where name = 'docs'",
        "update ragdb.synonyms set lexeme = 'boat' where word = 'car'",
        "delete from ragdb.synonyms",
    ],
    "synonyms of corpus spare": [
        "insert into ragdb.synonyms select c.corpus_id, s.word, s.means, s.lexeme"
        " from ragdb.synonyms s, ragdb.corpora c where c.name = 'spare'"
    ],
    'cases ["A", "V"] of corpus docs': [
        "update ragdb.eval_cases set query = 'another'",
        "update ragdb.eval_labels set grade = 0",
        "delete from ragdb.eval_labels",
        "delete from ragdb.eval_cases",
    ],
    'baseline ["A", "V", "main"] of corpus docs': [
        "update ragdb.eval_baselines set run_id = (select r.run_id from ragdb.eval_runs r"
        " where r.run_id <> eval_baselines.run_id)",
        "update ragdb.eval_baselines set reason = 'agreed'",
        "delete from ragdb.eval_baselines",
    ],
    "rights of corpus closed": [
        "update ragdb.corpus_grants set role_oid = 'writer2'::regrole",
        "update ragdb.corpus_grants set role = 'writer2', role_oid = 'writer2'::regrole",
        "update ragdb.corpus_grants set privilege = 'admin'",
        "delete from ragdb.corpus_grants",
    ],
    "rights of corpus personal": [
        "update ragdb.corpora set personal_oid = 'writer2'::regrole where name = 'personal'",
    ],
    "token web": [
        "update ragdb.http_tokens set token_hash = sha256('mine')",
        "update ragdb.http_tokens set role_oid = 'writer2'::regrole",
        "update ragdb.http_tokens set expires_at = null",
        "delete from ragdb.http_tokens",
    ],
    "token mine": [
        "insert into ragdb.http_tokens select 'mine', sha256('mine'), role, role_oid, created_by,"
        " created_at from ragdb.http_tokens",
    ],
    "quota public": [
        "update ragdb.role_quotas set concurrent_calls = 1000",
        "delete from ragdb.role_quotas",
    ],
    "quota reader": [
        "insert into ragdb.role_quotas (role, role_oid, set_at, set_by)"
        " values ('reader', 'reader'::regrole, now(), 'admin')",
    ],
    "embedder three": [
        "update ragdb.embedders set model = 'another' where name = 'three'",
        "update ragdb.embedders set weights_sha256 = repeat('a', 64) where name = 'three'",
        "update ragdb.embedders set query_prefix = 'not ' where name = 'three'",
        "update ragdb.embedders set provider = 'openai', provider_model = 'x' where name = 'three'",
        "update ragdb.embedders set name = 'four' where name = 'three'",
    ],
    "embedder inside": [
        "update ragdb.static_models set lexical_weight = 1",
        "update ragdb.static_models set folding = 'accents'",
        "update ragdb.static_models set tokenizer = 'unigram'",
    ],
    "reranker tiny": [
        "update ragdb.rerankers set weights_sha256 = repeat('b', 64)",
        "update ragdb.rerankers set source = '/models/another'",
        "update ragdb.rerankers set max_tokens = 9",
        "delete from ragdb.rerankers",
    ],
    "floors of corpus docs": [
        "update ragdb.gate_calibrations set floor = 0.5",
        "update ragdb.gate_calibrations set floor = null",
        "update ragdb.gate_calibrations set chunks = 1000000",
        "delete from ragdb.gate_calibrations",
    ],
    "contract c": ["update ragdb.contracts set is_current = false"],
    "contract old": ["update ragdb.contracts set is_current = true where contract = 'old'"],
}
STATEMENTS = [(place, statement) for place, some in FORGED.items() for statement in some]


def found(db: Connection) -> list[str]:
    rows = db.execute("select place from ragdb.verify(checks => '{states}')").fetchall()
    return [place for (place,) in rows]


@pytest.fixture(scope="module")
def set_up(any_version: Server) -> Iterator[str]:
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.apply_contract(%s, 'c')", (CONTRACT,))
            old = "corpus name=spare\nretriever name=O corpus=spare topK=5\n"
            db.execute("select ragdb.apply_contract(%s, 'old')", (old,))
            db.execute("select ragdb.withdraw_contract('old')")
            db.execute("select ragdb.create_corpus('whole')")
            db.execute("select ragdb.create_corpus('part', part_of => 'whole')")
            db.execute("select ragdb.put_text('docs', 'a.md', 'Refunds are paid.')")
            db.execute("select ragdb.add_synonyms('docs', '{car,automobile}')")
            db.execute("select ragdb.create_corpus('closed')")
            db.execute("select ragdb.grant_corpus('closed', 'writer', 'read')")
            db.execute("select ragdb.create_http_token('writer', 'web', '1 day')")
            db.execute("select ragdb.set_quota('public', concurrent_calls => 9)")
            db.execute("set role writer; select ragdb.create_corpus('personal'); reset role")
            db.execute(
                "select ragdb.create_embedder('three', 3), ragdb.create_embedder('inside', 3)"
            )
            db.execute("select ragdb.bind_reranker('tiny', '/models/tiny', repeat('a', 64))")
            db.execute("select ragdb.bind_embedder('three', 'hash', 'hash-v1')")
            db.execute(
                "select ragdb.put_static_pieces('inside', '{\"\",a}', '{0,1}', '{1,2,3,4,5,6}')"
            )
            db.execute(
                "select ragdb.bind_static('inside', 'bpe', 'case', ragdb_internal.pieces_digest("
                " (select e.embedder_id from ragdb.embedders e where e.name = 'inside')))"
            )
            db.execute("select ragdb.calibrate_gate('docs')")
            for name in ("V", "W"):
                db.execute("select ragdb.import_eval('A', %s, %s)", (name, json.dumps(CASES)))
            for _ in range(2):
                db.execute("select ragdb.bless_run(run_id) from ragdb.run_eval('A', 'V')")
            assert found(db) == []
        yield dsn


@pytest.fixture
def db(any_version: Server, set_up: str) -> Iterator[Connection]:
    with any_version.rolled_back(set_up) as connection:
        connection.execute("set session_replication_role = replica")
        yield connection


@pytest.mark.parametrize(("place", "statement"), STATEMENTS)
def test_one_statement_that_sets_something_otherwise_is_found_by_name(
    db: Connection, place: str, statement: str
) -> None:
    assert db.execute(statement.encode()).rowcount > 0
    assert place in found(db)


def test_a_repair_does_not_vouch_for_synonyms_that_somebody_edited(db: Connection) -> None:
    db.execute("update ragdb.synonyms set means = 'trains', lexeme = 'x' where word = 'car'")
    assert "synonyms of corpus docs" in found(db)
    db.execute("select ragdb.repair_corpus('docs')")
    stemmed = db.execute("select lexeme from ragdb.synonyms where word = 'car'").fetchone()
    assert stemmed == ("car",)
    assert "synonyms of corpus docs" in found(db)


def test_a_state_that_is_recorded_afterwards_is_missed_by_the_ledger(db: Connection) -> None:
    """Who has no entry for what was recorded has only made it worse."""
    db.execute("select ragdb.seal_ledger()")
    db.execute("update ragdb.corpora set k1 = 0.5 where name = 'docs'")
    db.execute(
        "insert into ragdb.recorded_states select gen_random_uuid(), now(), c.corpus_id,"
        " 'settings', '', 99, ragdb_internal.settings_hash(c), 'somebody' from ragdb.corpora c"
        " where c.name = 'docs'"
    )
    kinds = db.execute("select distinct kind from ragdb.verify_ledger()").fetchall()
    assert kinds == [("state",)]


CHANGES = (
    "select ragdb.grant_corpus('docs', 'reader', 'read')",
    "select ragdb.grant_corpus('docs', 'reader', 'read'), ragdb.unrestrict_corpus('docs')",
    "select ragdb.record_reads('whole', 'on')",
    "select ragdb.optimize_corpus('docs')",
    "select ragdb.optimize_corpus('whole')",
    "select ragdb.keep_history('docs', '1 day')",
    "select ragdb.keep_history('docs', '1 day'), ragdb.drop_history('docs')",
    "select ragdb.add_synonyms('docs', '{car,lorry}')",
    "select ragdb.remove_synonyms('docs', 'car')",
    "select ragdb.import_eval('A', 'V', '[]')",
    "select ragdb.add_eval_case('A', 'V', 'who pays?')",
    "select ragdb.withdraw_contract('c')",
    "select ragdb.drop_corpus('docs')",
    "select ragdb.drop_corpus('part')",
    "select ragdb.grant_corpus('closed', 'writer', 'admin')",
    "select ragdb.revoke_corpus('closed', 'writer')",
    "select ragdb.unrestrict_corpus('closed')",
    "select ragdb.drop_corpus('closed')",
    "select ragdb.create_http_token('writer', 'desk')",
    "select ragdb.revoke_http_token('web')",
    "select ragdb.revoke_http_token('web'); select ragdb.create_http_token('reader', 'web')",
    "select ragdb.set_quota('public', concurrent_calls => 8)",
    "select ragdb.set_quota('public')",
    "select ragdb.set_quota('reader', corpus_chunks => 8)",
    "select ragdb.calibrate_gate('docs')",
    "select ragdb.create_embedder('four', 4)",
    "select ragdb.bind_embedder('three', 'openai', 'x')",
    "select ragdb.bind_reranker('tiny', '/models/moved', repeat('a', 64))",
    "select ragdb.create_corpus('new', title => 'New', is_restricted => true)",
)


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_set_by_a_function_is_not_found(
    any_version: Server, set_up: str, change: str
) -> None:
    with any_version.rolled_back(set_up) as db:
        db.execute(change.encode())
        assert found(db) == []


GONE = (
    "create role gone in role ragdb_writer; grant gone to current_user;"
    "select ragdb.grant_corpus('closed', 'gone', 'read'), ragdb.set_quota('gone', 9),"
    " ragdb.create_http_token('gone', 'desk');"
    "set role gone; select ragdb.create_corpus('personal'); reset role; drop role gone"
)


def test_what_a_bound_role_gets_is_not_found(any_version: Server, set_up: str) -> None:
    with any_version.rolled_back(set_up) as db:
        db.execute(GONE)
        assert found(db) == []
        db.execute("set role ragdb_owner; select ragdb.bind_role('gone', 'reader2'); reset role")
        held = db.execute("select count(*) from ragdb_internal.held() where role = 'reader2'")
        assert held.fetchall() == [(5,)]  # and what it is bound by
        assert found(db) == []


def test_a_binding_does_not_vouch_for_what_somebody_edited(
    any_version: Server, set_up: str
) -> None:
    with any_version.rolled_back(set_up) as db:
        db.execute(GONE)
        db.execute("update ragdb.http_tokens set token_hash = sha256('mine') where name = 'desk'")
        assert found(db) == ["token desk"]
        db.execute("set role ragdb_owner; select ragdb.bind_role('gone', 'reader2'); reset role")
        assert found(db) == ["token desk"]


def test_what_was_there_before_its_kind_was_recorded_is_recorded_by_an_upgrade(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_http_token('writer', 'web')")
        db.execute("set session_replication_role = replica")
        db.execute("alter table ragdb.recorded_states disable trigger all")
        db.execute("delete from ragdb.recorded_states where kind = 'token'")
        db.execute("alter table ragdb.recorded_states enable trigger all")
        db.execute("reset session_replication_role")
        assert found(db) == ["token web"]
        # a token that somebody inserted since then would be one of these
        migrate.migrate(clone, force=True)
        assert found(db) == ["token web"]
        db.execute(
            "delete from ragdb.installed_code where identity = 'ragdb_internal.compared_states()'"
        )
        migrate.migrate(clone, force=True)
        assert found(db) == []
        db.execute("select ragdb.create_http_token('writer', 'desk')")
        db.execute("update ragdb.http_tokens set token_hash = sha256('mine') where name = 'web'")
        migrate.migrate(clone, force=True)
        assert found(db) == ["token web"]
