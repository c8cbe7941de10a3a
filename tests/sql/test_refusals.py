"""What a function refuses, it refuses by name: SQLSTATE, which argument, and its value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import Connection, Server
from tests.embedding import make_corpus
from tests.refusal import refused

ASKED = "(select trace_id from ragdb.retrieve('docs', 'tulips', 1))"
NOBODY = "'00000000-0000-7000-8000-000000000000'"


def fill(db: Connection) -> None:
    """Two texts by an embedder that has made none of their embeddings, and two corpora."""
    make_corpus(db, {"a.md": "tulips of the vault", "b.md": "roses of the hall"})
    db.execute("select ragdb.create_corpus('empty')")
    db.execute("select ragdb.create_corpus('kept', history => '1 day')")


@pytest.fixture
def docs(server18: Server, filled: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with server18.rolled_back(filled) as db:
        yield db


@pytest.mark.parametrize(
    ("call", "sqlstate", "said"),
    [
        # ids and places
        ("find_trace('0198')", "RG400", '"0198" does not begin an id'),
        ("find_trace('00000000')", "RG407", 'no trace begins with "00000000"'),
        ("find_run('00000000')", "RG443", 'no run begins with "00000000"'),
        ("find_chunk('docs', 'zz')", "RG406", 'corpus "docs" has no chunk "zz"'),
        ("has_reached('1/1')", "RG400", 'log_position is "1/1"'),
        ("has_reached(null)", "RG400", "log_position is null"),
        # documents
        ("delete_source('docs', 'a.md', 'keep')", "RG400", 'derived is "keep"'),
        ("delete_source('docs', 'a.md', null)", "RG400", "derived is null"),
        (
            "delete_source('docs', 'a.md', reason => repeat('x', 10001))",
            "RG400",
            "the reason has 10001 characters",
        ),
        ("delete_sources('docs', null)", "RG400", "uris is not a list of sources"),
        ("delete_sources('docs', array['a.md', null])", "RG400", "uris is not a list of sources"),
        ("known_sources('docs', null)", "RG400", "uris is not a list of sources"),
        ("known_sources('docs', array[null])", "RG400", "uris is not a list of sources"),
        ("get_source('docs', null)", "RG400", "uri is null"),
        # conversations and edges
        (
            "put_conversations('docs', '{}')",
            "RG412",
            "conversations is not an array of at most 1000",
        ),
        (
            "put_conversations('docs', null)",
            "RG412",
            "conversations is not an array of at most 1000",
        ),
        (
            "put_conversations('docs', (select jsonb_agg(n) from generate_series(1, 1001) n))",
            "RG412",
            "conversations is not an array of at most 1000",
        ),
        (
            "append_turns('docs', 's', '[]', '{\"chunks\": []}')",
            "RG400",
            "document is not an object of title, language and metadata",
        ),
        (
            "append_turns('docs', 's', '[]', '[]')",
            "RG400",
            "document is not an object of title, language and metadata",
        ),
        (
            "append_turns('docs', 's', (select jsonb_agg(n) from generate_series(1, 10001) n))",
            "RG413",
            "10001 turns in one call",
        ),
        ("get_parents('docs', 'zz')", "RG406", 'corpus "docs" has no chunk "zz"'),
        ("get_edges('docs', null)", "RG400", "chunk_ids is not a list of at most 10000"),
        (
            "get_edges('docs', array_fill('x'::text, array[10001]))",
            "RG400",
            "chunk_ids is not a list of at most 10000",
        ),
        # a change of embedder
        ("reembed_corpus('docs', 'hash')", "RG409", 'corpus "docs" is embedded by "hash" already'),
        (
            "cutover_corpus('docs', 'hash')",
            "RG409",
            'corpus "docs" has no second space of embedder',
        ),
        ("rollback_corpus('docs')", "RG409", 'corpus "docs" has no retired space'),
        ("drop_space('empty', 'hash')", "RG416", 'corpus "empty" has no space of embedder "hash"'),
        ("reembed_corpus(null, 'hash')", "RG400", "corpus is null"),
        ("cutover_corpus(null, 'hash')", "RG400", "corpus is null"),
        ("rollback_corpus(null)", "RG400", "corpus is null"),
        ("drop_space(null, 'hash')", "RG400", "corpus is null"),
        # versions
        ("version_at('docs', null)", "RG400", "at is null"),
        ("version_at('docs', now())", "RG437", 'corpus "docs" keeps no history'),
        ("diff_corpus('kept', null)", "RG400", 'a version of corpus "kept" is null'),
        ("diff_corpus('kept', 99)", "RG437", 'version 99 of corpus "kept" is in the future'),
        # search
        ("search('docs', 'x', min_score => 1.5)", "RG400", "min_score is 1.5"),
        ("search('docs', 'x', min_score => null)", "RG400", "min_score is null"),
        ("search('docs', 'x', per_document => 0)", "RG400", "per_document is 0"),
        ("search('docs', 'x', per_document => 1001)", "RG400", "per_document is 1001"),
        ("search('docs', 'x', diversity => 1.5)", "RG400", "diversity is 1.5"),
        ("search('docs', 'x', diversity => null)", "RG400", "diversity is null"),
        ("search('docs', 'x', context => 21)", "RG400", "context is 21"),
        ("search('docs', 'x', context => null)", "RG400", "context is null"),
        ("search('docs', 'x', collapse => null)", "RG400", "collapse is null"),
        ("search('docs', 'x', section => null)", "RG400", "section is null"),
        ("search('docs', 'x', typos => null)", "RG400", "typos is null"),
        ("search('docs', 'x', chunk_ids => array['a', null])", "RG400", "chunk_ids has a null"),
        ("list_chunks('docs', chunk_ids => array['a', null])", "RG400", "chunk_ids has a null"),
        (
            "search('docs', '…', mode => 'hybrid')",
            "RG415",
            'mode "hybrid" needs a query with a word',
        ),
        ("search_documents('docs', 'x', 10, 101)", "RG400", "chunks_per_document is 101"),
        ("search_documents('docs', 'x', 1000, 2)", "RG400", "chunks_per_document is 2"),
        ("similar('docs', 'zz', mode => 'near')", "RG400", 'mode "near" is unknown'),
        (
            "match_documents(null)",
            "RG400",
            "query_embedding, match_threshold or match_count is null",
        ),
        (
            "match_documents('{1}', match_count => 1001)",
            "RG400",
            "query_embedding, match_threshold or match_count is null or out of range",
        ),
        ("highlight('docs', 'zz', null)", "RG400", "query is null"),
        ("highlight('docs', 'zz', 'x', end_mark => null)", "RG400", "end_mark is null"),
        ("highlight('docs', 'zz', 'x', repeat('*', 101))", "RG400", "a mark has 101 characters"),
        ("highlight_chunks('docs', null, 'x')", "RG400", "chunk_ids is not a list of ids"),
        (
            "explain_scores('docs', 'x', array['a', 'a'])",
            "RG400",
            "chunk_ids is not a list of 1 to 100 different chunks",
        ),
        ("explain_scores('docs', 'x', '{}')", "RG400", "chunk_ids is not a list of 1 to 100"),
        # corpora
        ("remove_synonyms('docs', null)", "RG400", "word is null"),
        ("record_reads('docs', 'always')", "RG400", 'mode is "always", not off, on or required'),
        ("record_refusal('docs', 'RG400')", "RG400", 'error_code is "RG400"'),
        ("record_refusal('docs', null)", "RG400", "error_code is null"),
        ("optimize_corpus('docs', 0)", "RG400", "pivot is 0"),
        ("optimize_corpus('docs', 1000001)", "RG400", "pivot is 1000001"),
        # slices and policies
        ("register_policy('[]')", "RG430", "a slice policy is a JSON object, not array"),
        ("register_policy(null)", "RG430", "a slice policy is a JSON object, not null"),
        ("register_policy('{\"depth\": 1}')", "RG430", 'a slice policy has no field "depth"'),
        (
            'register_policy(\'{"phase_weights": {"idle": 1}}\')',
            "RG430",
            'a slice policy has no field "phase_weights.idle"',
        ),
        ("register_policy('{\"phase_weights\": 1}')", "RG430", "phase_weights is not an object"),
        (
            "register_policy('{\"max_nodes\": 0}')",
            "RG430",
            "max_nodes is not a whole number of 1 to 10000",
        ),
        (
            "register_policy('{\"salience_weight\": 1.5}')",
            "RG430",
            "salience_weight is not a number of 0 to 1",
        ),
        ("slice_graph('docs', 'zz', refused => -1)", "RG400", "refused is -1"),
        ("slice_members('docs', 'zz')", "RG435", 'slice "zz" is not stored'),
        ("search_slice('docs', 'x')", "RG400", "a slice is named by its id or by its anchor"),
        # contracts and runs
        ("validate_contract(null::jsonb)", "RG400", "contract is null"),
        ("validate_contract(null::text)", "RG400", "contract is null"),
        ("get_retriever(null)", "RG400", "retriever is null"),
        ("inline_spans(null, '{}')", "RG400", "answer is null"),
        ("inline_spans('x [1]', null)", "RG400", "chunk_ids is null or not a plain list"),
        ("evaluate_answer('[]', '[]')", "RG442", "contract is not an answer contract"),
        (f"get_eval_run({NOBODY})", "RG443", "run "),
        # what was promoted
        (
            f"promote_to_atom({ASKED}, '{{a}}', ' ')",
            "RG400",
            "the text of an atom is 1 to 10000 characters",
        ),
        (f"promote_to_atom({ASKED}, '{{}}', 'x')", "RG400", "an atom rests on 1 to 1000 chunks"),
        (
            f"propose('docs', array[{NOBODY}::uuid, null], 'x')",
            "RG400",
            "a proposal is a text of 1 to 10000 characters that rests on 1 to 1000 atoms",
        ),
        (f"decide_proposal('docs', {NOBODY}, 'maybe')", "RG400", '"maybe" is not a decision'),
        ("list_proposals('docs', 'maybe')", "RG400", 'state "maybe" is unknown'),
        # the ledger and time
        ("ledger_entries(null)", "RG400", "first is null"),
        ("ledger_checkpoint()", "RG481", "the ledger has no name"),
        ("traffic(now(), now())", "RG400", "since is not before until"),
        ("traffic(null)", "RG400", "since is not before until"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(
    docs: Connection, call: str, sqlstate: str, said: str
) -> None:
    error = refused(docs, f"select * from ragdb.{call}")
    assert (error.sqlstate, str(error.diag.message_primary)[: len(said)]) == (sqlstate, said)


PARTS = (
    "select ragdb.create_corpus('whole'); select ragdb.create_corpus('part', part_of => 'whole');"
)
SHARED = "select ragdb.share_corpus('docs');"


@pytest.mark.parametrize(
    ("before", "call", "sqlstate", "said"),
    [
        (
            "select ragdb.put_text('docs', 'a2.md', 'lilies of the lane');",
            "find_chunk('docs', 'a')",
            "RG400",
            'more than one chunk begins with "a"',
        ),
        (
            "select ragdb.put_text('docs', 'session:s', 'a note');",
            'append_turns(\'docs\', \'s\', \'[{"id": "1", "text": "hello"}]\')',
            "RG409",
            'source "session:s" is not a conversation',
        ),
        (
            "select ragdb.create_corpus('more'); select ragdb.embed_corpus('more', 'hash');",
            "match_documents('{1}')",
            "RG400",
            "corpus is not named",
        ),
        (
            "select ragdb.create_signing_key('k'); select ragdb.export_slice('docs', c.chunk_id)"
            " from ragdb.list_chunks('docs') c;",
            "filter_admissible('docs', (select s.slice_id from ragdb.list_slices('docs') s"
            " limit 1), null)",
            "RG400",
            "chunk_ids is null",
        ),
        ("", f"build_evidence_pack({ASKED}, corpus => 'kept')", "RG407", "trace "),
        (
            "",
            "record_failure('docs', 'x', 'RG410', 1, slice_id => repeat('x', 201))",
            "RG413",
            "slice_id or anchor is too long",
        ),
        (
            "",
            f"decide_proposal('docs', {NOBODY}, 'accepted', repeat('x', 10001))",
            "RG400",
            "a decision names a proposal and gives at most 10000 characters of reason",
        ),
        (
            PARTS,
            "search_candidates('whole', 'x', expects => 'x')",
            "RG439",
            'corpus "whole" ranks by other statistics here',
        ),
        (PARTS, "merge_candidates('whole', '[]', mode => 'near')", "RG400", 'mode is "near"'),
        (PARTS, "merge_candidates('whole', '[1]')", "RG400", "shares is not a list of lists"),
        (
            PARTS,
            "merge_candidates('whole',"
            ' \'[[{"chunk_id": "a", "score": 1, "lexical_rank": "first"}]]\')',
            "RG400",
            "shares has a score or a rank that is not a number",
        ),
        (
            PARTS,
            "put_part_statistics('whole', 'part', 1, 0, 0, '{}', '{}', now())",
            "RG409",
            'part "part" is on this server',
        ),
        (
            PARTS,
            "put_part_statistics('whole', 'away', -1, 0, 0, '{}', '{}', now())",
            "RG400",
            'what is given of part "away" cannot be its statistics',
        ),
        (SHARED, "draft_events('docs')", "RG433", 'no key signs the changes of corpus "docs"'),
        (
            SHARED,
            "publish_events('docs', '{a}', '{}')",
            "RG400",
            "events and signatures are not of one length",
        ),
    ],
)
def test_what_does_not_fit_what_is_there_is_refused_by_name(
    docs: Connection, before: str, call: str, sqlstate: str, said: str
) -> None:
    if before:
        docs.execute(before)
    error = refused(docs, f"select * from ragdb.{call}")
    assert (error.sqlstate, str(error.diag.message_primary)[: len(said)]) == (sqlstate, said)
