"""The matrix of attacks: what a superuser without the key does, which command notices, which line.

The attacker switches the triggers off, does his work and switches them on again, so that nothing
but the work itself can be found. Each case also runs the command before the attack, when it finds
nothing. A fence is what the attack passes without: the ledger, or a checkpoint kept outside. The
same tables with what verification returns of every row: tests/sql/ledger/test_ledger_attacks.py,
which also has 17 and 18, and tests/sql/verify/test_verify.py. Attacks by roles that are not
superusers: H3 in tests/sql/documents/test_claimed_bytes.py, H4 in
tests/sql/core/test_role_identity.py.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from ragdb.cli.main import app
from ragdb.server import postgres, signing
from tests.conftest import Connection, Server
from tests.documents import document
from tests.sql.conversations import chat
from tests.sql.documents_twin import put
from tests.sql.ledger.conftest import fill
from tests.sql.signed_slices import messages, retrieve

# nothing rests on it
NEWEST = "(select id from ragdb.retrieval_traces where corpus = 'docs' order by id desc limit 1)"
HASHED = (
    "ragdb_internal.trace_hash(t, array(select h from ragdb.retrieval_hits h"
    " where h.trace_id = t.id order by h.rank))"
)
FORGED = "Refunds are never paid."
UNGUARD = "alter table ragdb.chunks drop constraint chunks_content_hash_is_of_the_text;"
GUARD = (
    ";alter table ragdb.chunks add constraint chunks_content_hash_is_of_the_text"
    " check (content_hash = ragdb_internal.content_hash(text)) not valid"
)
# the ledger begun anew over the rows as they are now, by a clock of the time when they were made
REBUILD = """
  select set_config('ragdb.now', (now() - interval '70 hours')::text, false);
  truncate ragdb.ledger_leaves, ragdb.ledger_tiles, ragdb.ledger_head, ragdb.ledger_pending,
    ragdb.ledger_checkpoints;
  select ragdb.set_ledger(true);
  select ragdb.seal_ledger();
  reset ragdb.now;
"""
# so many retrievals that the ledger is as long as it was
MORE = """
  select set_config('ragdb.now', (now() - interval '70 hours')::text, false);
  select (select count(*) from ragdb.retrieve('docs', 'refunds', 1 + n % 2))
    from generate_series(1, 20) n;
  select ragdb.seal_ledger();
  reset ragdb.now;
"""
DELETE_NEWEST = f"""
  create temp table newest as select {NEWEST} as id;
  delete from ragdb.retrieval_hits h using newest n where h.trace_id = n.id;
  delete from ragdb.retrieval_traces t using newest n where t.id = n.id;
"""
DELETE_ALL = """
  delete from ragdb.proposal_decisions; delete from ragdb.semantic_proposals;
  delete from ragdb.semantic_atoms; delete from ragdb.answer_citations;
  delete from ragdb.evidence_answers; delete from ragdb.evidence_gates;
  delete from ragdb.retrieval_reranks; delete from ragdb.retrieval_hits;
  delete from ragdb.retrieval_traces;
"""
# the table refuses a verdict that does not follow from its row
TURN_GATE = "update ragdb.evidence_gates set is_enough = false, min_chunks = 1000 where is_enough"
MOVE_KEY = """
  update ragdb.key_events set at = at - interval '1 year', created_at = created_at
    - interval '1 year';
  update ragdb.signing_keys k set created_at = created_at - interval '1 year';
  update ragdb.signing_keys k set commitment = ragdb_internal.key_commitment(k.key_id,
    k.created_at, s.secret) from ragdb.signing_secrets s where s.key_id = k.key_id;
  update ragdb.key_events e set commitment = k.commitment from ragdb.signing_keys k;
  update ragdb.key_events e set hash = ragdb_internal.key_event_hash(e);
  update ragdb.key_events e set mac = ragdb_internal.key_event_mac(e.hash, s.secret)
    from ragdb.signing_secrets s;
"""
KEPT = "ledger verify kept --log-key log.key --database"
VERIFY, LEDGER = "verify", "ledger verify"


@dataclass(frozen=True)
class Attack:
    sql: str
    command: str  # of ragdb; {trace} is the newest trace under a slice
    line: str  # a regular expression of one line of its output
    fence: str | None = None  # ledger, checkpoint, or none


ATTACKS = {
    "1 a trace is edited": Attack(
        f"update ragdb.retrieval_traces set query_text = 'x' where id = {NEWEST}",
        "trace verify --all",
        "error +traces: trace .*its row or its hits are not what was recorded",
    ),
    "1 a trace is edited, with its hash": Attack(
        f"update ragdb.retrieval_traces set caller = 'x' where id = {NEWEST};"
        f"update ragdb.retrieval_traces t set trace_hash = {HASHED} where id = {NEWEST}",
        VERIFY,
        "error +traces: trace .*none of the keys of this database made it",
    ),
    "2 a hit is edited": Attack(
        f"update ragdb.retrieval_hits set score = 1 where rank = 1 and trace_id = {NEWEST}",
        "trace verify --all",
        "error +traces: trace .*its row or its hits are not what was recorded",
    ),
    "3 an answer is edited": Attack(
        "update ragdb.evidence_answers set model = 'another'",
        VERIFY,
        "error +ledger: answer .*row_changed",
        "ledger",
    ),
    "3 a gate is edited": Attack(
        TURN_GATE,
        LEDGER,
        "gate .*row_changed",
        "ledger",
    ),
    "3 a verdict of a person is turned": Attack(
        "update ragdb.evidence_feedback set verdict = 'good'",
        VERIFY,
        "error +ledger: feedback .*row_changed",
        "ledger",
    ),
    "3 a run of an eval is made to pass": Attack(
        "update ragdb.eval_runs set status = 'passed', reasons = '{}'",
        VERIFY,
        "error +ledger: run .*row_changed",
        "ledger",
    ),
    "a contract is edited, with its hash": Attack(
        'update ragdb.contract_nodes set keys = keys || \'{"threshold": "0"}\''
        " where node = 'ragEval'; update ragdb.contracts set nodes_hash ="
        " ragdb_internal.stored_items_hash(contract, version)",
        VERIFY,
        "error +ledger: contract .*row_changed",
        "ledger",
    ),
    "4 an atom is edited, with its lexemes and hashes": Attack(
        f"update ragdb.semantic_atoms set text = '{FORGED}', text_hash = sha256('{FORGED}'),"
        f" lexemes = ragdb_internal.lexemes('{FORGED}', 'english');"
        "update ragdb.semantic_atoms a set atom_hash = ragdb_internal.atom_hash(a)",
        VERIFY,
        "error +atoms: atom .*its row is not what was recorded",
    ),
    "4 a decision is turned": Attack(
        "update ragdb.proposal_decisions set decision = 'rejected'",
        VERIFY,
        "error +ledger: decision .*row_changed",
    ),
    "4 a text is taken away without an erasure": Attack(
        "update ragdb.semantic_atoms set text = null, lexemes = ''",
        VERIFY,
        "error +atoms: atom .*its row is not what was recorded",
    ),
    "4 an incident is made up": Attack(
        "insert into ragdb.admissibility_incidents select i.* from ragdb.admissibility_incidents o,"
        " jsonb_populate_record(o, jsonb_build_object('caller', 'x', 'incident_id',"
        " gen_random_uuid())) j, jsonb_populate_record(j, jsonb_build_object('incident_hash',"
        " ragdb_internal.incident_hash(j))) i; select ragdb.set_ledger(true)",
        VERIFY,
        "error +incidents: incident .*its row is not what was recorded",
    ),
    "5 the text of a chunk is edited": Attack(
        f"{UNGUARD} update ragdb.chunks set text = '{FORGED}' where source = 'a.md' {GUARD}",
        VERIFY,
        "error +chunks: chunk .*its text is not the text that was put",
    ),
    "5 the text of a chunk, with its hash": Attack(
        f"update ragdb.chunks set text = '{FORGED}', content_hash = sha256('{FORGED}')"
        " where source = 'a.md'",
        VERIFY,
        "error +chunks: chunk .*its text is not the text that its id was made of",
    ),
    "5 the same, and the document has an id of its own": Attack(
        f"update ragdb.chunks set text = '{FORGED}', content_hash = sha256('{FORGED}')"
        " where source = 'a.md'; update ragdb.documents set external_id = 'mine'"
        " where source = 'a.md'",
        VERIFY,
        "error +chunks: chunk .*its text is not the text that its id was made of",
    ),
    "5 the same, and the document is a conversation": Attack(
        f"update ragdb.chunks set text = '{FORGED}', content_hash = sha256('{FORGED}')"
        " where source = 'a.md'; update ragdb.documents set chunking = '{\"chunker\": \"turns/1\"}'"
        " where source = 'a.md'",
        VERIFY,
        "error +chunks: chunk .*its text is not the text that its id was made of",
    ),
    "5 the text of a turn, with its hash": Attack(
        f"update ragdb.chunks set text = '{FORGED}', content_hash = sha256('{FORGED}')"
        " where chunk_no = 2 and source like 'chat%'",
        "slice verify {trace}",
        "evidence: ",
    ),
    "the index by words is edited": Attack(
        "update ragdb.chunk_lexemes x set impacts = y.impacts from ragdb.chunk_lexemes y,"
        " ragdb.corpora c where c.name = 'docs' and (x.corpus_id, x.chunk_no) = (c.corpus_id, 1)"
        " and (y.corpus_id, y.chunk_no) = (c.corpus_id, 2)",
        "doctor --deep",
        "FAIL +corpus docs.*chunks that are indexed by another text",
    ),
    "6 an edge is edited": Attack(
        "update ragdb.edges set edge_type = 'branch' where child_no = 2",
        "slice verify {trace}",
        "evidence: ",
    ),
    "7 a slice is edited": Attack(
        "update ragdb.slices set chunk_ids = chunk_ids[2:], content_hashes = content_hashes[2:]",
        VERIFY,
        "error +slices: slice .*its members are not those of its fingerprint",
    ),
    "8 a policy is edited": Attack(
        "update ragdb.slice_policies set policy = policy || '{\"max_nodes\": 1}'",
        VERIFY,
        "error +policies: policy .*its row was changed",
    ),
    "9 the newest trace is deleted, with its hits": Attack(
        DELETE_NEWEST,
        VERIFY,
        "error +ledger: trace .*row_missing: the row is gone, and no act says so",
        "ledger",
    ),
    "10 the same, and the ledger's tail with it": Attack(
        DELETE_NEWEST + REBUILD,
        KEPT,
        "kept .*database_differs .*an old backup was restored, or its end was cut off",
        "checkpoint",
    ),
    "11 all traces are deleted, with all that rests on them": Attack(
        DELETE_ALL,
        VERIFY,
        "error +ledger: trace .*row_missing",
        "ledger",
    ),
    "11 the same, and the ledger is begun anew": Attack(
        DELETE_ALL + MORE + REBUILD,
        KEPT,
        "kept .*database_differs .*does not begin with",
        "checkpoint",
    ),
    "11 the same, as if they were dropped by age": Attack(
        DELETE_ALL + "insert into ragdb.settings values ('traces_kept_from',"
        " to_jsonb(now() + interval '1 day')) on conflict (key) do update"
        " set value = excluded.value",
        VERIFY,
        "error +ledger: trace .*row_missing",
        "ledger",
    ),
    "12 hits are left without a trace": Attack(
        f"delete from ragdb.retrieval_traces where id = {NEWEST}",
        VERIFY,
        "error +hits: trace .*the trace is gone",
    ),
    "13 a trace is back-dated": Attack(
        "select set_config('ragdb.now', (now() - interval '2 days')::text, false);"
        "select count(*) from ragdb.retrieve('docs', 'refunds'); reset ragdb.now;"
        "select ragdb.seal_ledger()",
        VERIFY,
        "error +ledger: trace .*late: the row says .*and it was sealed at",
        "ledger",
    ),
    "14 two entries change places": Attack(
        "update ragdb.ledger_leaves set number = number + 1000 where number in (3, 4);"
        "update ragdb.ledger_leaves set number = 1007 - number where number > 1000",
        VERIFY,
        "error +ledger: .*entry_changed",
    ),
    "14 entries change places, and the tree with them": Attack(
        "update ragdb.ledger_leaves set number = number + 1000 where number in (3, 4);"
        "update ragdb.ledger_leaves set number = 1007 - number where number > 1000;"
        "update ragdb.ledger_leaves set sealed_at = (select max(sealed_at) from"
        " ragdb.ledger_leaves);"
        "delete from ragdb.ledger_tiles; delete from ragdb.ledger_checkpoints;"
        "select ragdb_internal.append_hashes(0, (select string_agg(ragdb_internal.leaf_hash(l),"
        " ''::bytea order by number) from ragdb.ledger_leaves l))",
        KEPT,
        "kept .*database_differs .*does not begin with",
        "checkpoint",
    ),
    "15 an edited row is entered again": Attack(
        TURN_GATE + ";"
        "alter table ragdb.ledger_leaves drop constraint ledger_leaves_row_is_sealed_once;"
        "insert into ragdb.ledger_leaves select h.size, 'gate', l.id,"
        " ragdb_internal.sealed_hash(g), h.sealed_at from ragdb.ledger_head h,"
        " ragdb.evidence_gates g, ragdb.ledger_leaves l where l.kind = 'gate';"
        "select ragdb_internal.append_hashes(h.size, ragdb_internal.leaf_hash(l)) from"
        " ragdb.ledger_head h join ragdb.ledger_leaves l on l.number = h.size;"
        "update ragdb.ledger_head set size = size + 1",
        VERIFY,
        "error +code: constraint ledger_leaves_row_is_sealed_once .*it is missing",
    ),
    "16 a gate is turned and the whole tree rebuilt": Attack(
        TURN_GATE + ";" + REBUILD + MORE,
        KEPT,
        "kept .*database_differs .*does not begin with",
        "checkpoint",
    ),
    "19 the secret of the key is replaced": Attack(
        "update ragdb.signing_secrets set secret = sha256('mine')",
        VERIFY,
        "error +keys: key k1.*a secret is not that of its key",
    ),
    "20 the key's time is moved": Attack(
        "update ragdb.signing_keys set created_at = now() + interval '1 day';"
        f"update ragdb.retrieval_traces set caller = 'x', trace_mac = null where id = {NEWEST};"
        f"update ragdb.retrieval_traces t set trace_hash = {HASHED} where id = {NEWEST}",
        VERIFY,
        "error +keys: key k1.*the row of a key was changed without an event",
    ),
    "20 its history is rewritten, all hashes and signatures with it": Attack(
        MOVE_KEY,
        VERIFY,
        "error +ledger: key 1 .*row_changed",
        "ledger",
    ),
    "23 the triggers of a partition stay off": Attack(
        "alter table ragdb.retrieval_traces_default disable trigger user",
        "doctor",
        "verify triggers: .*rows_are_append_only is switched off",
    ),
    "23 the triggers of a table stay off": Attack(
        "alter table ragdb.semantic_atoms disable trigger user",
        VERIFY,
        "error +code: trigger rows_are_append_only on ragdb.semantic_atoms.*it was changed",
    ),
    "24 sealing times are set back": Attack(
        "update ragdb.ledger_leaves set sealed_at = sealed_at - interval '1 hour' where number > 3",
        VERIFY,
        "error +ledger: .*time_falls",
    ),
    "5 the page of a chunk is edited": Attack(
        "update ragdb.chunks set page = 77 where chunk_no = 1",
        VERIFY,
        "error +documents: document .*what its event tells of its chunks",
    ),
    "5 where a document was found is edited": Attack(
        "update ragdb.document_sources set source_name = 'law'",
        VERIFY,
        "error +documents: document .*it is not what its event tells of it",
    ),
    "the settings of a corpus are edited": Attack(
        "update ragdb.corpora set k1 = 0.5 where name = 'docs'",
        VERIFY,
        "error +states: settings of corpus docs.*it is not what was recorded on",
    ),
    "an event is rewritten in place": Attack(
        "update ragdb.events set author = 'somebody'",
        VERIFY,
        "error +ledger: event .*row_changed",
        "ledger",
    ),
    "a version of a corpus is rolled back": Attack(
        "update ragdb.corpora set version = 0 where name = 'docs'",
        VERIFY,
        "error +corpora: corpus docs.*its version is 0",
    ),
    "documents that nothing rests on are deleted": Attack(
        "select ragdb.put_text('lone', 'a.md', 'A text.'), ragdb.put_text('lone', 'b.md', 'One.');"
        "delete from ragdb.documents d using ragdb.corpora c"
        " where c.name = 'lone' and d.corpus_id = c.corpus_id and d.source = 'a.md'",
        VERIFY,
        "error +corpora: corpus lone.*it has 1 document, and ragdb stored 2",
    ),
    "a deleted document is put back with its event": Attack(
        "select ragdb.put_text('lone', 'gone.md', 'A secret.');"
        "create temp table d as select * from ragdb.documents where source = 'gone.md';"
        "create temp table s as select * from ragdb.document_sources where uri = 'gone.md';"
        "create temp table c as select * from ragdb.chunks where source = 'gone.md';"
        "select ragdb.delete_source('lone', 'gone.md');"
        "insert into ragdb.documents select * from d;"
        "insert into ragdb.document_sources select * from s;"
        "insert into ragdb.chunks select * from c",
        VERIFY,
        "error +documents: document gone.md of corpus lone.*an act says that it was deleted",
    ),
    "a grant is moved": Attack(
        "update ragdb.corpus_grants set role = 'stranger',"
        " role_oid = 'stranger'::regrole where role = 'reader'",
        VERIFY,
        "error +rights: corpus closed: stranger has the right read, .*no event says who gave it",
    ),
    "what a role held is bound to another": Attack(
        "insert into ragdb.role_bindings"
        " values ('gone', 'stranger', 'stranger'::regrole, now(), 'stranger')",
        VERIFY,
        "error +rights: role stranger.*is bound to it, and no event says by whom",
    ),
    "a token is put in": Attack(
        "insert into ragdb.http_tokens (name, token_hash, role, role_oid, created_by, created_at)"
        " values ('web', sha256('rgh_'), 'stranger', 'stranger'::regrole, 'stranger', now())",
        VERIFY,
        "error +rights: token web.*no event says who made it",
    ),
    "a grant is deleted": Attack(
        "delete from ragdb.corpus_grants",
        VERIFY,
        "error +rights: corpus closed: .reader. was given .*no event says who took it",
    ),
    "a corpus is opened": Attack(
        "delete from ragdb.corpus_grants;"
        "update ragdb.corpora set is_restricted = false where name = 'closed'",
        VERIFY,
        "error +rights: corpus closed: it is open .*no event says who opened it",
    ),
    "who was granted what is rewritten": Attack(
        "update ragdb.access_events set what = 'read to \"stranger\"' where kind = 'grant';"
        "update ragdb.access_events e set event_hash = ragdb_internal.access_event_hash(e);"
        "update ragdb.corpus_grants set role = 'stranger',"
        " role_oid = 'stranger'::regrole where role = 'reader'",
        VERIFY,
        "error +ledger: access .*row_changed",
        "ledger",
    ),
    "a rule swallows the events of access": Attack(
        "create rule nothing as on insert to ragdb.access_events do instead nothing",
        VERIFY,
        "error +code: rule nothing on ragdb.access_events.*it was added",
    ),
    "a function is replaced": Attack(
        "create or replace function ragdb_internal.trace_mac(trace_hash bytea, secret bytea)"
        " returns bytea language sql stable return trace_hash",
        "doctor",
        "verify code: function ragdb_internal.trace_mac.*it was changed",
    ),
}


def test_the_page_for_auditors_has_the_line_of_every_attack() -> None:
    page = (Path(__file__).parents[2] / "docs/admissibility.md").read_text()
    for name, case in ATTACKS.items():
        said = re.split(r"\.\*| \+|: $", case.line)
        assert [part for part in said if part][-1].strip() in page, name
        assert case.command.split(" kept")[0].format(trace="TRACE") in page, name


class Evidence:
    """A database with sealed evidence of every kind, a checkpoint kept beside it, and clones."""

    def __init__(self, server: Server, folder: Path, *, ledger: bool) -> None:
        self.server, self.folder = server, folder
        self.base = server.database()
        self.base.init()
        self.dsn = server.dsn(self.base.dbname)
        with psycopg.connect(self.dsn, autocommit=True) as db:
            # three days ago, so that there is a time to date back to
            db.execute("select set_config('ragdb.now', (now() - interval '3 days')::text, false)")
            if not ledger:
                with db.transaction():
                    db.execute("set local ragdb.now = '2024-01-01'")
                    db.execute("select ragdb.set_ledger(false)")
            made = fill(db)
            db.execute("select ragdb.create_corpus('docs')")
            for name in "ab":
                db.execute(
                    "select ragdb.put_text('docs', %s, %s)", (f"{name}.md", f"Refunds {name}")
                )
            db.execute("select ragdb.retrieve('docs', 'refunds')")
            db.execute("select ragdb.retrieve('docs', 'refunds', 1)")
            for name in ("chat", "docs", "gone"):
                db.execute("select ragdb.optimize_corpus(%s)", (name,))
            db.execute("select ragdb.seal_ledger()")
        self.trace = made["trace"]
        if ledger:
            key = self.ragdb("ledger key --new log.pem")
            (folder / "log.key").write_text(key[1])
            assert self.ragdb("ledger checkpoint --key log.pem --out kept")[0] == 0

    def ragdb(self, command: str, dsn: str | None = None) -> tuple[int, str]:
        words = shlex.split(command.format(trace=getattr(self, "trace", "")))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.setenv("RAGDB_DATABASE_URL", dsn or self.dsn)
            patch.setenv("COLUMNS", "400")
            patch.delenv(signing.FILE, raising=False)
            patch.delenv(signing.COMMAND, raising=False)
            done = CliRunner().invoke(app, words, catch_exceptions=False)
        return done.exit_code, done.stdout or done.stderr

    def clone(self) -> Any:
        return self.server.database(self.base.dbname)


def made(server: Server, folder: Path, *, ledger: bool) -> Iterator[Evidence]:
    evidence = Evidence(server, folder, ledger=ledger)
    yield evidence
    evidence.base.drop()


@pytest.fixture(scope="module")
def evidence(server18: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evidence]:
    yield from made(server18, tmp_path_factory.mktemp("sealed"), ledger=True)


@pytest.fixture(scope="module")
def unsealed(server18: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evidence]:
    yield from made(server18, tmp_path_factory.mktemp("unsealed"), ledger=False)


TRIGGERS = (
    "select t.tgrelid::regclass::text, t.tgname, t.tgenabled::text from pg_trigger t"
    " join pg_class c on c.oid = t.tgrelid where c.relnamespace = 'ragdb'::regnamespace"
    " and not t.tgisinternal"
)
ENABLE = {"A": "enable always", "O": "enable", "R": "enable replica"}


def attack(db: Connection, *works: str) -> None:
    """With all triggers off, and as they were again after it."""
    triggers = db.execute(TRIGGERS).fetchall()
    for table in sorted({table for table, _, _ in triggers}):
        db.execute(f"alter table {table} disable trigger user")
    before = set(db.execute(TRIGGERS).fetchall())
    for sql in works:
        if "disable trigger" not in sql:
            db.execute(sql)
    assert set(db.execute(TRIGGERS).fetchall()) == before
    for table, name, enabled in triggers:
        db.execute(f"alter table {table} {ENABLE[enabled]} trigger {name}")
    for sql in works:
        if "disable trigger" in sql:
            db.execute(sql)


@pytest.mark.parametrize("command", sorted({a.command for a in ATTACKS.values()}))
def test_before_any_attack_nothing_is_found(evidence: Evidence, command: str) -> None:
    code, output = evidence.ragdb(command)
    assert code == 0, output
    for line in output.splitlines():
        for case in ATTACKS.values():
            if case.command == command:
                assert not re.search(case.line, line)


# attacks by day on one database: none of them brings the line of another, as is tested by night
AT_ONCE = {
    "the first": {
        "1 a trace is edited, with its hash",
        "3 an answer is edited",
        "3 a gate is edited",
        "3 a verdict of a person is turned",
        "3 a run of an eval is made to pass",
        "a contract is edited, with its hash",
        "4 a text is taken away without an erasure",
        "5 the text of a chunk is edited",
        "6 an edge is edited",
        "the settings of a corpus are edited",
        "documents that nothing rests on are deleted",
        "a grant is moved",
        "23 the triggers of a table stay off",
    },
    "the second": {
        "5 where a document was found is edited",
        "an event is rewritten in place",
        "5 the text of a chunk, with its hash",
        "5 the text of a turn, with its hash",
        "a deleted document is put back with its event",
        "a grant is deleted",
        "9 the newest trace is deleted, with its hits",
        "13 a trace is back-dated",
        "15 an edited row is entered again",
    },
    "the third": {
        "5 the same, and the document has an id of its own",
        "a corpus is opened",
        "11 the same, as if they were dropped by age",
        "20 its history is rewritten, all hashes and signatures with it",
    },
    "the fourth": {
        "5 the page of a chunk is edited",
        "5 the same, and the document is a conversation",
        "who was granted what is rewritten",
        "20 the key's time is moved",
        "11 all traces are deleted, with all that rests on them",
        "23 the triggers of a partition stay off",
        "a function is replaced",
    },
}
# the text of a chunk that is edited brings this line, too
ALONE = {"the index by words is edited"}
ALONE |= {name for name, case in ATTACKS.items() if case.fence == "checkpoint"}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("names", AT_ONCE.values(), ids=AT_ONCE)
def test_the_command_finds_each_of_several_attacks_in_its_line(
    evidence: Evidence, names: set[str]
) -> None:
    cases = [case for name, case in ATTACKS.items() if name in names]
    assert len(cases) == len(names)
    with evidence.clone() as clone:
        dsn = evidence.server.dsn(clone.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            attack(db, *(case.sql for case in cases))
        for command in {case.command for case in cases}:
            code, output = evidence.ragdb(command, dsn)
            assert code == 1, output
            for case in cases:
                if case.command == command:
                    assert re.search(case.line, output), (case.line, output)


# what finds others finds them by day too, in the two files that the head of this one names
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in ALONE else [pytest.mark.nightly]) for n in ATTACKS],
)
def test_the_command_finds_the_attack_in_its_line(evidence: Evidence, name: str) -> None:
    case = ATTACKS[name]
    with evidence.clone() as clone:
        dsn = evidence.server.dsn(clone.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            attack(db, case.sql)
        code, output = evidence.ragdb(case.command, dsn)
        assert re.search(case.line, output), output
        assert code == 1, output
        if case.fence == "checkpoint":
            # from the inside all is right
            assert evidence.ragdb(VERIFY, dsn)[0] == 0
        others = [ATTACKS[n] for names in AT_ONCE.values() if name in names for n in names - {name}]
        for command in {other.command for other in others}:
            output = evidence.ragdb(command, dsn)[1]
            for other in others:
                assert other.command != command or not re.search(other.line, output), other.line


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "names",
    [
        *(pytest.param(names, id=which) for which, names in AT_ONCE.items()),
        *(
            pytest.param({name}, id=name, marks=pytest.mark.nightly)
            for name, case in ATTACKS.items()
            if case.fence == "ledger"
        ),
    ],
)
def test_without_the_ledger_the_attacks_pass(unsealed: Evidence, names: set[str]) -> None:
    works = [a.sql for name, a in ATTACKS.items() if name in names and a.fence == "ledger"]
    assert works
    with unsealed.clone() as clone:
        dsn = unsealed.server.dsn(clone.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            attack(db, *works)
        code, output = unsealed.ragdb(VERIFY, dsn)
        assert code == 0, output


def test_two_copies_of_one_database_are_two_histories_under_one_name(evidence: Evidence) -> None:
    """Nobody attacks: both go on from one dump, and each by itself is right."""
    with evidence.clone() as first, evidence.clone() as second:
        for name, copy in (("copy1", first), ("copy2", second)):
            dsn = evidence.server.dsn(copy.dbname)
            with psycopg.connect(dsn, autocommit=True) as db:
                db.execute("select ragdb.retrieve('docs', 'refunds')")
            assert evidence.ragdb("ledger seal", dsn)[0] == 0
            assert evidence.ragdb(f"ledger checkpoint --key log.pem --out {name}", dsn)[0] == 0
            assert evidence.ragdb(VERIFY, dsn)[0] == 0
            assert evidence.ragdb(KEPT, dsn)[0] == 0
    code, output = evidence.ragdb("ledger verify copy1 copy2 --log-key log.key")
    assert code == 1
    assert "two_histories" in output


def test_21_a_token_of_another_database_is_of_another_origin(evidence: Evidence) -> None:
    """The same key, corpus, slice, policy and anchor; the database is another."""
    call = "select valid, reason from ragdb.verify_token(%s, %s, %s, %s, %s, %s, %s, %s)"
    with evidence.server.database() as other, evidence.clone() as clone:
        dsn, copy = (evidence.server.dsn(database.dbname) for database in (other, clone))
        ((key, token, *signed),) = rows(
            copy,
            "select to_json(k)::text, t.admissibility_token, t.corpus, t.slice_id,"
            " t.anchor_chunk_id, t.policy_id, t.policy_params_hash, t.graph_snapshot_hash,"
            " t.schema_version from ragdb.export_signing_keys() k,"
            f" ragdb.get_trace('{evidence.trace}') t",
        )
        values = (signed[0], token, *signed[1:])
        (evidence.folder / "keys").write_text(key + "\n")
        assert evidence.ragdb("keys import keys", dsn)[0] == 0
        with psycopg.connect(dsn, autocommit=True) as db:
            chat(db, messages())
            trace = retrieve(db)[0]["trace_id"]
            found = db.execute("select slice_id from ragdb.get_trace(%s)", (trace,))
            assert found.fetchall() == [(signed[1],)]
            ((valid, reason),) = db.execute(call, values).fetchall()
            assert valid is False
            assert reason.startswith("signature")
        # the control: in a copy of the database itself it is right
        assert rows(copy, call, values) == [(True, None)]


@pytest.mark.parametrize("name", ["true.md", "another.md"])
def test_22_a_false_text_with_the_hash_of_a_file_never_stands_for_the_file(
    evidence: Evidence, name: str
) -> None:
    file = evidence.folder / "true.md"
    file.write_text("Refunds are paid within two weeks.")
    with evidence.clone() as clone:
        dsn = evidence.server.dsn(clone.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            put(db, document(name, [FORGED], data=file.read_bytes()))
            found = "select source, text from ragdb.search('docs', 'paid')"
            assert db.execute(found).fetchall() == [(name, FORGED)]
            code, output = evidence.ragdb("ingest true.md -c docs --json", dsn)
            assert code == 0, output
            # under its name the file is what it says; under another nobody takes it for the file
            texts: dict[str, str] = dict(db.execute(found).fetchall())
            assert texts.pop("true.md") == file.read_text()
            assert texts == ({} if name == "true.md" else {name: FORGED})


@pytest.mark.nightly
def test_functions_replaced_with_the_record_of_them_are_found_in_a_restored_backup(
    evidence: Evidence,
) -> None:
    """Who owns the functions owns every answer of theirs: ask those of the package."""
    lie = """
      update ragdb.retrieval_hits set score = 1 where rank = 1;
      create or replace function ragdb_internal.trace_hash(
        trace ragdb.retrieval_traces, hits ragdb.retrieval_hits[])
        returns bytea language sql stable parallel safe return (trace).trace_hash;
    """
    record = """
      delete from ragdb.installed_code;
      insert into ragdb.installed_code (kind, identity, hash, server)
        select p.kind, p.identity, p.hash,
          current_setting('server_version_num')::integer / 10000
        from ragdb_internal.present_code() p;
    """
    with evidence.clone() as clone:
        dsn = evidence.server.dsn(clone.dbname)
        dump = ("pg_dump", "-Fc", "--dbname", dsn, "--file", str(evidence.folder / "dump"))
        with psycopg.connect(dsn, autocommit=True) as db:
            attack(db, lie)
            db.execute(record)
        code, output = evidence.ragdb(VERIFY, dsn)
        assert code == 0, output  # what it passes without
        subprocess.run([postgres.binary(dump[0], 18), *dump[1:]], check=True)
        code, output = evidence.ragdb(f"backup verify dump --dsn '{dsn}'", dsn)
        assert code == 1, output
        assert re.search("error +traces: .*its row or its hits are not what was rec", output)


def test_who_has_the_signing_key_too_is_found_by_the_ledger_alone(evidence: Evidence) -> None:
    edit = (
        f"update ragdb.retrieval_traces set caller = 'x' where id = {NEWEST};"
        f"update ragdb.retrieval_traces t set trace_hash = {HASHED} where id = {NEWEST};"
        "update ragdb.retrieval_traces t set trace_mac = ragdb_internal.trace_mac(t.trace_hash,"
        f" s.secret) from ragdb.signing_secrets s where id = {NEWEST};"
    )
    with evidence.clone() as clone:
        dsn = evidence.server.dsn(clone.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            attack(db, edit)
            assert evidence.ragdb("trace verify --all", dsn)[0] == 0
            code, output = evidence.ragdb(VERIFY, dsn)
            assert code == 1
            assert re.search("error +ledger: trace .*row_changed", output)
            # he begins the ledger anew: nothing inside tells, and the checkpoint outside does
            attack(db, REBUILD + MORE)
        code, output = evidence.ragdb(VERIFY, dsn)
        assert code == 0, output
        code, output = evidence.ragdb(KEPT, dsn)
        assert code == 1
        assert re.search("kept .*database_differs", output)


def rows(dsn: str, statement: str, values: Any = None) -> list[Any]:
    with psycopg.connect(dsn) as db:
        return db.execute(statement, values).fetchall()
