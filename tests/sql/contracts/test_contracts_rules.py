"""Every static rule of contracts: one contract that breaks it, one that does not."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.errors import RagdbError
from ragdb.readers import formats
from tests.conftest import Connection
from tests.processor import spent
from tests.sql.contracts.test_contracts_applied import PLAIN, apply

SQL = Path(__file__).parents[3] / "sql/contracts"

SOUND = """
corpus name=Docs title=T tenant=owner refresh=24h
  source name=a kind=local uri=./docs/**/*.md media=markdown
  source name=m kind=mcp resource=x://y
  chunking source=a strategy=semantic maxTokens=600 overlap=80 unit=tokens
embed name=E corpus=Docs model=m dims=8 metric=cosine
retriever name=R corpus=Docs embed=E mode=hybrid topK=8 minScore=0.5 rerank=none
rag name=A retriever=R citations=true
  grounding requireCitations=true policy=strict maxContext=6000
  ragEval name=V metric=recall@5 threshold=0.5 mode=contract
    ragCase name=c query=q tags=x topK=4 minScore=0.5 chunkCount=1 sources=docs/a.md
      ragAssert kind=scoreGte threshold=0.4 quantifier=all required=true
      ragAssert kind=recallAtK threshold=0.4 count=5 negate=true
      ragAssert kind=chunkHash value=e8280c3cc84a80c7de69ebf04cbb484a
      ragAssert kind=latencyLte valueMs=50
      ragAssert kind=citesRequired
  ragAnswerContract name=W query=q answer=abcd requireCitations=true minGroundingCoverage=1
    answerSpan start=0 end=4 chunks=a
tool name=T
  param name=p type=string
  retrieve rag=A queryParam=p output="RetrievedChunk[]" requireCitations=true \
provenance=source citationField=c sourceField=s scoreField=x
"""

# The rule, what of the sound contract is replaced, and by what.
BREACHES = {
    "contract-unknown-node": ("retriever name=R", "retriver name=R"),
    "contract-unknown-key": ("topK=8", "topk=8"),
    "contract-node-misplaced": ("tool name=T\n  param", "tool name=T\n  corpus name=X\n  param"),
    "contract-name-required": ("corpus name=Docs", "corpus"),
    "contract-list-empty": ("tags=x", 'tags=","'),
    "contract-boolean-invalid": ("citations=true\n", "citations=yes\n"),
    "rag-corpus-name-invalid": ("corpus name=Docs", 'corpus name="…"'),
    "rag-corpus-refresh-invalid": ("refresh=24h", "refresh=soon"),
    "rag-duplicate-corpus-name": ("embed name=E", "corpus name=DOCS\nembed name=E"),
    "contract-name-too-long": ("rag name=A", "rag name=" + "A" * 201),
    "rag-duplicate-embed-name": ("retriever name=R", "embed name=E\nretriever name=R"),
    "rag-duplicate-retriever-name": ("rag name=A", "retriever name=R corpus=Docs\nrag name=A"),
    "rag-duplicate-rag-name": ("tool name=T", "rag name=A retriever=R\ntool name=T"),
    "rag-duplicate-source-name": ("source name=m", "source name=a"),
    "rag-duplicate-eval-name": ("ragAnswerContract", "ragEval name=V\n  ragAnswerContract"),
    "rag-duplicate-case-name": ("    ragCase", "    ragCase name=c query=q\n    ragCase"),
    "rag-duplicate-answer-contract-name": (
        "tool name=T",
        "ragAnswerContract rag=A name=W query=q answer=a\ntool name=T",
    ),
    "mcp-duplicate-param-name": ("  retrieve", "  param name=p\n  retrieve"),
    "mcp-duplicate-tool-name": ("tool name=T", "prompt name=T\ntool name=T"),
    "rag-source-missing-corpus": ("embed", "source name=z uri=a\nembed"),
    "rag-source-kind-invalid": ("kind=local", "kind=file"),
    "rag-source-uri-empty": (" uri=./docs/**/*.md", ""),
    "rag-source-uri-invalid": ("uri=./docs/**/*.md", "uri=../docs"),
    "rag-source-glob-invalid": ("uri=./docs/**/*.md", "uri=" + "*" * 17),
    "rag-source-media-unknown": ("media=markdown", "media=markdwon"),
    "rag-source-mcp-resource-required": (" resource=x://y", ""),
    "rag-source-resource-requires-mcp-kind": ("media=markdown", "resource=x"),
    "rag-source-acl-conflict": ("media=markdown", "acl=reader"),
    "rag-chunking-missing-corpus": ("embed", "chunking maxTokens=90\nembed"),
    "rag-chunking-unknown-corpus": ("embed", "chunking corpus=Dox\nembed"),
    "rag-chunking-unknown-source": ("chunking source=a", "chunking source=b"),
    "rag-chunking-duplicate": ("embed", "chunking corpus=Docs source=a\nembed"),
    "rag-chunking-strategy-invalid": ("strategy=semantic", "strategy=smart"),
    "rag-chunking-max-tokens-invalid": ("maxTokens=600", "maxTokens=0"),
    "rag-chunking-overlap-invalid": ("overlap=80", "overlap=600"),
    "rag-chunking-unit-invalid": ("unit=tokens", "unit=pages"),
    "rag-embed-unknown-corpus": ("name=E corpus=Docs", "name=E corpus=Dox"),
    "rag-embed-model-required": ("model=m", 'model=""'),
    "rag-embed-dims-invalid": ("dims=8", "dims=0"),
    "rag-embed-metric-invalid": ("metric=cosine", "metric=hamming"),
    "rag-embed-duplicate-corpus": ("retriever name=R", "embed name=F corpus=Docs model=n dims=8\nretriever name=R"),
    "rag-retriever-unknown-corpus": ("name=R corpus=Docs", "name=R corpus=Dox"),
    "rag-retriever-unknown-embed": ("embed=E", "embed=F"),
    "rag-retriever-embed-corpus-mismatch": ("embed name=E corpus=Docs", "corpus name=X\nembed name=E corpus=X"),
    "rag-retriever-embed-required": ("embed=E ", ""),
    "rag-retriever-mode-invalid": ("mode=hybrid", "mode=magic"),
    "rag-retriever-topk-invalid": ("topK=8", "topK=1001"),
    "rag-retriever-minscore-invalid": ("mode=hybrid topK=8 minScore=0.5", "topK=8 minScore=1.1"),
    "rag-retriever-rerank-invalid": ("rerank=none", "rerank=llm"),
    "rag-unknown-retriever": ("retriever=R", "retriever=S"),
    "rag-citations-require-grounding": ("grounding requireCitations=true", "grounding"),
    "rag-grounding-missing-rag": ("tool name=T", "grounding policy=strict\ntool name=T"),
    "rag-grounding-unknown-rag": ("tool name=T", "grounding rag=B\ntool name=T"),
    "rag-grounding-duplicate": ("tool name=T", "grounding rag=A\ntool name=T"),
    "rag-grounding-policy-invalid": ("policy=strict", "policy=harsh"),
    "rag-grounding-max-context-invalid": ("maxContext=6000", "maxContext=0"),
    "rag-eval-missing-rag": ("tool name=T", "ragEval name=Z\ntool name=T"),
    "rag-eval-unknown-rag": ("tool name=T", "ragEval name=Z rag=B\ntool name=T"),
    "rag-eval-name-required": ("ragEval name=V", "ragEval"),
    "rag-eval-metric-invalid": ("metric=recall@5", "metric=beauty"),
    "rag-eval-threshold-invalid": ("threshold=0.5 mode", "threshold=2 mode"),
    "rag-eval-threshold-without-metric": ("metric=recall@5 ", ""),
    "rag-eval-threshold-vacuous": ("threshold=0.5 mode", "threshold=0 mode"),
    "rag-eval-mode-required": (" mode=contract", ""),
    "rag-eval-mode-invalid": ("mode=contract", "mode=llm"),
    "rag-case-missing-eval": ("tool name=T", "ragCase name=c query=q\ntool name=T"),
    "rag-case-name-required": ("ragCase name=c", "ragCase"),
    "rag-case-query-required": ("ragCase name=c query=q", 'ragCase name=c query=" "'),
    "rag-case-topk-invalid": ("topK=4", "topK=0"),
    "rag-case-minscore-invalid": ("topK=4 minScore=0.5", "topK=4 minScore=-1"),
    "rag-case-chunk-count-invalid": ("chunkCount=1", "chunkCount=-1"),
    "rag-case-sources-require-citations": ("citations=true\n  grounding requireCitations=true", "\n  grounding"),
    "rag-case-policy-requires-anchor": ("chunkCount=1", "policy=p"),
    "rag-assert-missing-case": ("tool name=T", "ragAssert kind=citesRequired\ntool name=T"),
    "rag-assert-missing-eval": ("tool name=T", "ragCase name=z query=q\n  ragAssert kind=citesRequired\ntool name=T"),
    "rag-assert-kind-invalid": ("kind=scoreGte", "kind=scoreGt"),
    "rag-assert-quantifier-invalid": ("quantifier=all", "quantifier=most"),
    "rag-assert-value-required": ("kind=chunkHash value=e8280c3cc84a80c7de69ebf04cbb484a", "kind=contains"),
    "rag-assert-value-invalid": ("kind=chunkHash value=e8280c3cc84a80c7de69ebf04cbb484a", "kind=orderedBefore value=a"),
    "rag-assert-threshold-required": ("kind=scoreGte threshold=0.4", "kind=scoreGte"),
    "rag-assert-threshold-invalid": ("kind=scoreGte threshold=0.4", "kind=scoreGte threshold=4"),
    "rag-assert-count-invalid": ("kind=latencyLte valueMs=50", "kind=chunkCountEq count=x"),
    "rag-assert-value-ms-invalid": ("valueMs=50", "valueMs=-1"),
    "rag-assert-property-unused": ("kind=citesRequired", "kind=citesRequired value=x"),
    "rag-assert-negate-invalid": ("kind=citesRequired", "kind=citesRequired negate=true"),
    "rag-assert-chunk-hash-invalid": ("value=e8280c3cc84a80c7de69ebf04cbb484a", "value=xyz"),
    "rag-assert-glob-invalid": ("kind=citesRequired", "kind=sourceGlob value=" + "*" * 17),
    "rag-assert-vacuous": ("kind=citesRequired", "kind=uniqueSourcesGte count=0"),
    "rag-assert-citations-require-grounding": ("citations=true\n  grounding requireCitations=true", "\n  grounding"),
    "rag-answer-contract-missing-rag": ("tool name=T", "ragAnswerContract name=Z query=q answer=a\ntool name=T"),
    "rag-answer-contract-unknown-rag": ("tool name=T", "ragAnswerContract rag=B name=Z query=q answer=a\ntool name=T"),
    "rag-answer-contract-name-required": ("ragAnswerContract name=W", "ragAnswerContract"),
    "rag-answer-contract-query-required": ("name=W query=q", "name=W"),
    "rag-answer-contract-answer-required": ("answer=abcd ", ""),
    "rag-answer-contract-min-grounding-coverage-invalid": ("minGroundingCoverage=1", "minGroundingCoverage=2"),
    "rag-answer-contract-min-cited-chunks-invalid": ("minGroundingCoverage=1", "minCitedChunks=-1"),
    "rag-answer-contract-evidence-policy-invalid": ("minGroundingCoverage=1", "minTopScore=2"),
    "rag-answer-contract-citations-require-grounding": ("citations=true\n  grounding requireCitations=true", "\n  grounding"),
    "rag-answer-contract-grounding-coverage-insufficient": ("end=4", "end=2"),
    "rag-answer-span-missing-contract": ("tool name=T", "answerSpan start=0 end=1 chunks=a\ntool name=T"),
    "rag-answer-span-range-invalid": ("end=4", "end=10"),
    "rag-answer-span-chunks-required": ("end=4 chunks=a", "end=4"),
    "mcp-param-type-invalid": ("type=string", "type=date"),
    "mcp-retrieve-missing-container": ("tool name=T", "retrieve rag=A query=q\ntool name=T"),
    "mcp-retrieve-duplicate": ("  retrieve", "  retrieve rag=A query=q\n  retrieve"),
    "mcp-retrieve-target-required": ("retrieve rag=A", "retrieve"),
    "mcp-retrieve-target-exclusive": ("retrieve rag=A", "retrieve rag=A retriever=R"),
    "mcp-retrieve-unknown-retriever": ("retrieve rag=A", "retrieve retriever=S"),
    "mcp-retrieve-unknown-rag": ("retrieve rag=A", "retrieve rag=B"),
    "mcp-retrieve-query-required": (" queryParam=p", ""),
    "mcp-retrieve-query-exclusive": ("queryParam=p", "queryParam=p query=q"),
    "mcp-retrieve-query-param-unknown": ("queryParam=p", "queryParam=z"),
    "mcp-retrieve-topk-invalid": ("queryParam=p", "queryParam=p topK=0"),
    "mcp-retrieve-minscore-invalid": ("queryParam=p", "queryParam=p minScore=2"),
    "mcp-retrieve-citations-require-grounding": ("citations=true\n  grounding requireCitations=true", "\n  grounding"),
    "mcp-retrieve-output-array-required": ('"RetrievedChunk[]"', "RetrievedChunk"),
    "mcp-retrieve-output-unknown": ('"RetrievedChunk[]"', "Answer"),
    "mcp-retrieve-output-field-without-output": ('output="RetrievedChunk[]" ', ""),
    "mcp-retrieve-output-required": ('output="RetrievedChunk[]" ', ""),
    "mcp-retrieve-output-citations-cannot-weaken-rag": (" requireCitations=true provenance", " requireCitations=false provenance"),
    "mcp-retrieve-output-citation-field-required": ("citationField=c ", ""),
    "mcp-retrieve-output-source-required": ("sourceField=s ", ""),
    "mcp-retrieve-output-field-conflict": ("sourceField=s", "sourceField=c"),
    "mcp-tool-name-invalid": ("tool name=T", 'tool name="T t"'),
    "mcp-tool-name-reserved": ("tool name=T", "tool name=search"),
    "mcp-tool-unbound": ("tool name=T", "prompt name=P\ntool name=T"),
    "mcp-param-unused": ("  retrieve", "  param name=q type=string\n  retrieve"),
}  # fmt: skip


def validate(db: Connection, text: str) -> list[Any]:
    with db.cursor(row_factory=psycopg.rows.namedtuple_row) as cursor:
        # one name of a column is a word of SQL
        return cursor.execute(
            'select rule, severity, node, line, "column" as col, message, hint'
            " from ragdb.validate_contract(%s, 'c')",
            (text,),
        ).fetchall()


def test_a_sound_contract_breaks_no_rule(any_db: Connection) -> None:
    assert validate(any_db, SOUND) == []


@pytest.mark.parametrize("rule", BREACHES)
def test_a_breach_is_named_with_its_place(db: Connection, rule: str) -> None:
    old, new = BREACHES[rule]
    assert old in SOUND
    found = [row for row in validate(db, SOUND.replace(old, new, 1)) if row.rule == rule]
    assert found
    assert found[0].line > 1
    assert found[0].col >= 1
    assert found[0].message
    assert found[0].severity == (
        "warning" if rule.endswith(("vacuous", "param-unused", "tool-unbound")) else "error"
    )


@pytest.mark.parametrize("kind", ["recallAtK", "precisionAtK", "ndcgAtK"])
def test_what_is_measured_among_the_first_0_is_refused(db: Connection, kind: str) -> None:
    text = SOUND.replace("kind=scoreGte threshold=0.4", f"kind={kind} threshold=0.4 count=0")
    assert "rag-assert-count-invalid" in [row.rule for row in validate(db, text)]


def test_a_source_may_name_each_format_that_is_read(db: Connection) -> None:
    listed = db.execute("select ragdb_internal.source_formats()").fetchone()
    assert listed == ([*formats.FORMATS],)
    for media in ("Markdown", "text/x-own", "application/pdf; charset=utf-8"):
        assert not validate(db, SOUND.replace("media=markdown", f'media="{media}"'))


def test_sources_have_the_same_acl_in_any_order(db: Connection) -> None:
    acls = 'acl="r1, r2"', "acl=r2,r1,r2"
    text = SOUND.replace("media=markdown", acls[0]).replace("kind=mcp", f"kind=mcp {acls[1]}")
    assert not validate(db, text)


def test_a_node_of_json_has_no_other_fields(db: Connection) -> None:
    source = {"node": "source", "keys": {"name": "a", "uri": "b"}}
    node = {"node": "corpus", "line": 1, "keys": {"name": "c"}, "children": [source]}
    assert not validate(db, json.dumps([node]))
    node["childern"] = node.pop("children")
    assert [row.rule for row in validate(db, json.dumps([node]))] == ["contract-malformed"]


@pytest.mark.parametrize("kind", ["containsAny", "containsAll", "orderedBefore"])
def test_a_list_of_nothing_is_refused(db: Connection, kind: str) -> None:
    """With negate=true it would always hold."""
    text = SOUND.replace(
        "kind=scoreGte threshold=0.4 quantifier=all", f'kind={kind} value=" , " negate=true'
    )
    assert [row.rule for row in validate(db, text)] == ["rag-assert-value-invalid"]


@pytest.mark.parametrize(
    ("kind", "bound", "wrong"),
    [
        ("scoreGte", "threshold=0.4", 4),
        ("scoreLte", "threshold=0.4", "high"),
        ("uniqueSourcesGte", "count=2", 0.5),
        ("chunkCountEq", "count=2", -1),
        ("latencyLte", "valueMs=50", -1),
    ],
)
def test_the_given_value_of_an_assertion_is_its_bound(
    db: Connection, kind: str, bound: str, wrong: Any
) -> None:
    number = bound.partition("=")[2]
    plain = SOUND.replace("kind=scoreGte threshold=0.4 quantifier=all", f"kind={kind} {bound}")
    given = plain.replace(bound, f"value={number}", 1)
    assert given != plain
    assert validate(db, given) == validate(db, plain) == []
    apply(db, given)
    # stored as the kind names it, so both are one version
    assert apply(db, plain)[1:3] == (1, False)
    rules = {
        row.rule for row in validate(db, given.replace(f"value={number}", f"value={wrong}", 1))
    }
    assert {rule for rule in rules if "invalid" in rule} != set()
    # a value beside the bound is one too many
    twice = validate(db, plain.replace(bound, f"{bound} value={number}", 1))
    assert "rag-assert-property-unused" in {row.rule for row in twice}


# Of a contract that no line syntax makes, or that needs a corpus with traces: tests of their own.
ELSEWHERE = {
    "contract-syntax", "contract-malformed", "contract-empty", "contract-too-deep", "unreadable",
    "rag-retriever-minscore-unreachable", "rag-case-minscore-unreachable", "minscore-unreachable",
}  # fmt: skip


def test_every_rule_of_the_validator_has_a_breach() -> None:
    files = [*SQL.glob("breaches_*.sql"), *(SQL / f for f in ("language.sql", "validate.sql"))]
    text = "".join(file.read_text() for file in files)
    named = set(re.findall(r"'((?:rag|mcp|contract)-[a-z-]+[a-z])'", text))
    assert named == BREACHES.keys() | ELSEWHERE - {"unreadable", "minscore-unreachable"}


# Breaches whose words are not those of another breach of the same rule.
MORE_WORDS = [
    ("corpus name=Docs", "corpus"),
    ("embed name=E corpus=Docs", "embed name=E corpus=Dox"),
    ("maxTokens=600 overlap=80", "maxTokens=40"),
    ("kind=scoreGte threshold=0.4", "kind=recallAtK threshold=0.4 count=0"),
    ("kind=latencyLte valueMs=50", "kind=latencyLte"),
    ("kind=latencyLte valueMs=50", 'kind=containsAny value=","'),
]


# Texts that say every problem of the syntax.
UNREADABLE = [
    "  a\x01", "  a", "a\n\tb", "a\n   b\n  c\n 9",
    "\n".join(" " * n + "a" for n in range(17)), 'a b c= d=x" e="x"f="1" f=2',
    r'a b="\q\u0000" c="\ud800" d="', "{",
]  # fmt: skip


def test_the_words_of_every_rule_are_said(db: Connection) -> None:
    said: set[str] = set()
    for old, new in [*BREACHES.values(), *MORE_WORDS]:
        assert old in SOUND
        query = """
          select b.words from ragdb_internal.contract_breaches(array(
            select i from ragdb_internal.contract_items(ragdb.parse_contract(%s)) i)) b"""
        said |= {words for (words,) in db.execute(query, (SOUND.replace(old, new, 1),)).fetchall()}
    for text in UNREADABLE:
        query = "select p.words from unnest((ragdb_internal.read_contract(%s, 'c')).problems) p"
        said |= {words for (words,) in db.execute(query, (text,)).fetchall()}
    listed = db.execute("select words from ragdb_internal.rule_words()").fetchall()
    assert {words for (words,) in listed} - ELSEWHERE == said


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [{"node": "source", "keys": {"name": "a", "uri": "/etc"}}],
            'uri of source "a" is not of kind local',
        ),
        (
            [
                {
                    "node": "ragAnswerContract",
                    "children": [{"node": "answerSpan", "keys": {"start": 3, "end": 2}}],
                }
            ],
            "span 3..2 is not in an answer of 0 characters",
        ),
    ],
)
def test_what_is_not_given_does_not_silence_a_message(
    db: Connection, nodes: Any, message: str
) -> None:
    rows = db.execute(
        "select message from ragdb.validate_contract(%s)", (Jsonb({"nodes": nodes}),)
    ).fetchall()
    assert (message,) in rows


@pytest.mark.parametrize(
    "contract",
    [
        {},
        [],
        "x",
        {"nodes": 3},
        {"contract": "a b", "nodes": []},
        {"nodes": [3]},
        {"nodes": [{"node": 3}]},
        {"nodes": [{}]},
        {"nodes": [{"node": "corpus", "keys": {"name": "x"}, "children": [{"keys": {}}]}]},
        {"nodes": [{"node": "corpus", "keys": {"name": ["x"]}}]},
        {"nodes": [{"node": "corpus", "keys": {"name": "x"}, "children": 3}]},
    ],
)
def test_what_is_no_contract_is_malformed(any_db: Connection, contract: Any) -> None:
    rows = any_db.execute(
        "select rule from ragdb.validate_contract(%s)", (Jsonb(contract),)
    ).fetchall()
    assert ("contract-malformed",) in rows


def test_nodes_17_levels_deep_are_refused(any_db: Connection) -> None:
    node: dict[str, Any] = {"node": "corpus", "keys": {"name": "x"}}
    for _ in range(40):
        node = {"node": "corpus", "keys": {"name": "x"}, "children": [node]}
    found = Jsonb({"nodes": [node]})
    rows = any_db.execute("select rule from ragdb.validate_contract(%s)", (found,)).fetchall()
    assert rows.count(("contract-too-deep",)) == 1


def test_a_contract_without_a_node_is_empty(any_db: Connection) -> None:
    assert [row.rule for row in validate(any_db, "# nothing")] == ["contract-empty"]


@pytest.mark.parametrize("seed", range(3))
def test_ten_errors_are_told_at_once(any_db: Connection, seed: int) -> None:
    chosen = [
        ["rag-retriever-topk-invalid", "rag-embed-dims-invalid", "rag-eval-mode-invalid"],
        ["rag-source-kind-invalid", "rag-chunking-unit-invalid", "rag-case-topk-invalid"],
        ["rag-grounding-policy-invalid", "rag-assert-kind-invalid", "mcp-param-type-invalid"],
    ]
    common = [
        "contract-unknown-key",
        "rag-corpus-refresh-invalid",
        "rag-chunking-strategy-invalid",
        "rag-eval-metric-invalid",
        "rag-case-chunk-count-invalid",
        "rag-assert-value-ms-invalid",
        "mcp-retrieve-query-param-unknown",
    ]
    text = SOUND
    for rule in [*chosen[seed], *common]:
        old, new = BREACHES[rule]
        if rule == "contract-unknown-key":
            old, new = "title=T", "titel=T"
        text = text.replace(old, new, 1)
    rows = validate(any_db, text)
    assert {row.rule for row in rows} >= {*chosen[seed], *common}
    assert [row.line for row in rows] == sorted(row.line for row in rows)


def test_an_unknown_name_is_told_the_nearest_one(any_db: Connection) -> None:
    (node,) = validate(any_db, SOUND.replace("tool name=T", "tooll name=T"))[:1]
    hints = {row.hint for row in validate(any_db, SOUND.replace("topK=8", "topk=8"))}
    assert node.hint == "did you mean tool?"
    assert "did you mean topK?" in hints


def test_of_many_unknown_names_the_first_are_told_the_nearest_one(db: Connection) -> None:
    """To compare each of thousands with all names takes minutes."""
    nodes = "".join(
        f"  source name=s{n} uri=x ur=1 media=pfd\n  chunking source=t{n} strategy=pge\n"
        for n in range(25)
    )
    told: dict[str, list[bool]] = {}
    for row in validate(db, "corpus name=Docs\n" + nodes):
        told.setdefault(row.rule, []).append("did you mean" in (row.hint or ""))
    assert told == dict.fromkeys(
        (
            "contract-unknown-key",
            "rag-source-media-unknown",
            "rag-chunking-unknown-source",
            "rag-chunking-strategy-invalid",
        ),
        [True] * 20 + [False] * 5,
    )


def test_a_name_of_a_megabyte_is_compared_by_its_beginning(db: Connection) -> None:
    text = SOUND.replace("name=Docs", f'name="{"Docs" * 250_000}"')
    db.execute("set local statement_timeout = '120s'")
    before = spent(db)
    hints = [row.hint for row in validate(db, text) if row.rule.endswith("unknown-corpus")]
    assert spent(db) - before < 5
    assert hints
    assert all(hint.startswith("did you mean DocsDocs") and len(hint) < 100 for hint in hints)


def test_nodes_cost_no_more_than_their_number(db: Connection) -> None:
    db.execute("set local statement_timeout = '300s'")
    head = "corpus name=c\nretriever name=R corpus=c\nrag name=A retriever=R\n"
    costs = []
    for node in (
        "retriever name=R{} corpus=c topK=5\n",
        "retriever name=R{} corpus=c minScore=0.5\n",
        "ragAnswerContract rag=A name=W{} query=q answer=abc\n  answerSpan start=0 end=3 chunks=a\n",
        "tool name=T{}\n  param name=q type=string\n  retrieve retriever=R queryParam=q\n",
    ):
        before = spent(db)
        assert not validate(db, head + "".join(node.format(n) for n in range(2500)))
        costs.append(spent(db) - before)
    assert max(costs) < 6 * costs[0]


def test_unknown_keys_cost_no_more_on_one_line_than_on_many(db: Connection) -> None:
    db.execute("set local statement_timeout = '300s'")
    costs = []
    for separator in ("\ncorpus ", " "):
        before = spent(db)
        rows = validate(db, "corpus " + separator.join(f"k{n}=1" for n in range(4000)))
        costs.append(spent(db) - before)
        assert [row.rule for row in rows].count("contract-unknown-key") == 4000
    assert costs[1] < 4 * costs[0]


# ── against what is stored ──────────────────────────────────────────────────────────────────────


def test_a_threshold_above_what_the_corpus_reaches_is_warned_of(any_db: Connection) -> None:
    apply(any_db, PLAIN)
    any_db.execute("select * from ragdb.put_text('my-docs', 'a.txt', 'refund policy of the shop')")
    high = PLAIN.replace("minScore=0.1", "minScore=0.99")
    for _ in range(20):
        assert validate(any_db, high) == []  # fewer say too little
        any_db.execute("select from ragdb.retrieve('my-docs', 'refund')")
    assert [(row.rule, row.severity) for row in validate(any_db, high)] == [
        ("rag-retriever-minscore-unreachable", "warning")
    ]
    assert validate(any_db, PLAIN) == []


def test_a_threshold_that_one_of_twenty_reaches_is_not_warned_of(any_db: Connection) -> None:
    apply(any_db, PLAIN)
    any_db.execute("select * from ragdb.put_text('my-docs', 'a.txt', 'refund policy of the shop')")
    ((best,), (less,)) = any_db.execute(
        "select s.score from unnest(array['refund', 'refund zebra']) q"
        " cross join ragdb.search('my-docs', q) s"
    ).fetchall()
    high = PLAIN.replace("minScore=0.1", f"minScore={(best + less) / 2:.4f}")
    any_db.execute("select from ragdb.retrieve('my-docs', 'refund')")
    for more, rules in ((19, []), (1, ["rag-retriever-minscore-unreachable"])):
        for _ in range(more):
            any_db.execute("select from ragdb.retrieve('my-docs', 'refund zebra')")
        assert [row.rule for row in validate(any_db, high)] == rules


def test_a_threshold_that_empties_every_result_warns(any_db: Connection) -> None:
    apply(any_db, PLAIN)
    any_db.execute("select * from ragdb.put_text('my-docs', 'a.txt', 'refund policy of the shop')")
    for _ in range(20):
        any_db.execute("select from ragdb.retrieve('my-docs', 'refund', min_score => 0.999999)")
    high = PLAIN.replace("minScore=0.1", "minScore=0.999999")
    assert [row.rule for row in validate(any_db, high)] == ["rag-retriever-minscore-unreachable"]
    # what did not reach so much may still reach less
    assert validate(any_db, PLAIN) == []


def mutated(text: str, chance: random.Random) -> str:
    """A contract with one to four things of it changed."""
    for _ in range(chance.randint(1, 4)):
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        place = chance.randrange(len(text) + 1)
        match chance.randrange(7):
            case 0:
                text = text[:place] + text[place + chance.randint(1, 8) :]
            case 1:
                text = text[:place] + chance.choice(NOISE) + text[place:]
            case 2:
                text = "\n".join([*lines[:at], lines[chance.randrange(len(lines))], *lines[at:]])
            case 3:
                text = "\n".join(
                    [*lines[:at], "  " * chance.randint(0, 4) + lines[at].strip(), *lines[at + 1 :]]
                )
            case 4:
                words = lines[at].split(" ")
                chance.shuffle(words)
                text = "\n".join([*lines[:at], " ".join(words), *lines[at + 1 :]])
            case 5:
                lines[at] = re.sub(
                    r"=\S+", lambda _: f"={chance.choice(NOISE)}", lines[at], count=1
                )
                text = "\n".join(lines)
            case _:
                text = (
                    text[:place]
                    + chr(chance.choice([0, 7, 0x85, 0xFEFF, 0x1F600, 0x202E, 160]))
                    + text[place:]
                )
    return text


NOISE = [
    '"', "=", "#", "\\", "\n", "  ", "\t", "-1", "1e999", "9" * 30, "NaN", "true", "''", "%s", "$1",
    "*" * 40, "é", "🦊", "null", "0.5", '"\\u0000"', '"\\ud800"', "a" * 5000, "[", "..", "/etc",
]  # fmt: skip


def no_internal_error(db: Connection, count: int, seed: int) -> None:
    chance = random.Random(seed)
    outcomes = {"syntax": 0, "rules": 0, "applied": 0, "refused": 0}
    for _ in range(count):
        text = mutated(SOUND, chance)
        if "\0" in text:
            continue  # a client cannot send it
        problems = db.execute(
            "select rule, message from ragdb.validate_contract(%s, 'c') where severity = 'error'",
            (text,),
        ).fetchall()
        if problems:
            assert all(message for _, message in problems)
            outcomes["syntax" if problems[0][0] == "contract-syntax" else "rules"] += 1
            continue
        with db.transaction(force_rollback=True):
            try:
                db.execute("select * from ragdb.apply_contract(%s, 'c')", (text,))
                outcomes["applied"] += 1
            except RagdbError:
                outcomes["refused"] += 1
    assert min(outcomes[name] for name in ("syntax", "rules", "applied")) > count // 50, outcomes


def test_mutations_of_a_contract_are_no_internal_error(db: Connection) -> None:
    no_internal_error(db, 300, seed=4)


@pytest.mark.nightly
def test_ten_thousand_mutations_are_no_internal_error(db: Connection) -> None:
    no_internal_error(db, 10_000, seed=44)


def test_a_node_without_keys_breaks_what_one_with_none_of_them_does(any_db: Connection) -> None:
    nodes = any_db.execute("select distinct node from ragdb_internal.contract_parents()").fetchall()
    assert len(nodes) > 10
    for (node,) in nodes:
        without, empty = (
            any_db.execute(
                "select rule, message from ragdb.validate_contract(%s)", (Jsonb({"nodes": [keys]}),)
            ).fetchall()
            for keys in ({"node": node}, {"node": node, "keys": {}})
        )
        assert without == empty != [], node


def test_a_node_without_a_name_is_nearest_to_none(any_db: Connection) -> None:
    text = "corpus name=D\nembed corpus=D model=m dims=8\nretriever name=R corpus=D embed=X\n"
    rules = {row.rule for row in validate(any_db, text)}
    assert {"contract-name-required", "rag-retriever-unknown-embed"} <= rules


def test_a_threshold_is_compared_without_reading_all_hits(any_db: Connection) -> None:
    apply(any_db, PLAIN)
    any_db.execute("select * from ragdb.put_text('my-docs', 'a.txt', 'refund policy of the shop')")
    for _ in range(20):
        any_db.execute("select from ragdb.retrieve('my-docs', 'refund')")
    any_db.execute("set local session_replication_role = replica")
    any_db.execute(
        "insert into ragdb.retrieval_hits (corpus_id, trace_id, created_at, rank, chunk_id,"
        " content_hash, score) select h.corpus_id, gen_random_uuid(), h.created_at, 1, h.chunk_id,"
        " h.content_hash, h.score from ragdb.retrieval_hits h, generate_series(1, 500)"
    )
    any_db.execute("analyze ragdb.retrieval_hits")
    count = (
        "select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c"
        " where c.relnamespace = 'ragdb'::regnamespace and c.relname like 'retrieval_hits%'"
    )
    ((before,),) = any_db.execute(count).fetchall()
    assert validate(any_db, PLAIN.replace("minScore=0.1", "minScore=0.99"))
    ((after,),) = any_db.execute(count).fetchall()
    assert after - before < 1000
