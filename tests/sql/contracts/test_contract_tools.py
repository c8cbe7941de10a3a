"""Tools of contracts: who sees them, what they take, and what they return under which names."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.errors import ContractNotFound, EvidenceMissing, InvalidArgument
from tests.conftest import Connection
from tests.waiting import after_commit

HEAD = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK=3
rag name=A retriever=R citations=true
  grounding requireCitations=true{grounding}
"""
TOOL = """tool name=T title=Title description=About
  param name=q type=string description="What to ask."
  param name=lang type=string required=false
  retrieve rag=A queryParam=q{keys}
"""
NAMED = ' as=found output="RetrievedChunk[]" citationField=c sourceField=uri scoreField=s'


def apply(db: Connection, text: str, name: str = "c") -> None:
    db.execute("select * from ragdb.apply_contract(%s, %s)", (text, name))


def prepare(db: Connection, keys: str = NAMED, grounding: str = "", tool: str = TOOL) -> None:
    apply(db, HEAD.format(grounding=grounding) + tool.format(keys=keys))
    for n in range(4):
        text = f"Refund number {n} is paid " + "promptly " * n
        db.execute("select * from ragdb.put_text('docs', %s, %s)", (f"d{n}.txt", text))


def call(db: Connection, arguments: Any, how: str = "search_tool") -> Any:
    row = db.execute(f"select ragdb.{how}('T', %s)", (Jsonb(arguments),)).fetchone()
    assert row is not None
    return row[0]


def test_a_tool_returns_the_fields_that_its_contract_names(any_db: Connection) -> None:
    prepare(any_db)
    made = call(any_db, {"q": "refund"})
    assert made.keys() == {"found", "provenance"}
    hits = any_db.execute(
        "select chunk_id, text, source, score, content_hash from ragdb.search('docs', 'refund', 3)"
    ).fetchall()
    assert [(c["id"], c["text"], c["uri"], c["s"], c["provenance"]["content_hash"]) for c in made["found"]] == hits  # fmt: skip
    assert [chunk["c"] for chunk in made["found"]] == [{"uri": hit[2]} for hit in hits]
    about = made["provenance"]
    expected = {"tool": "T", "contract": "c", "contract_version": 1, "rag": "A", "retriever": "R"}
    assert expected.items() <= about.items()
    assert (about["corpus"], about["mode"], about["top_k"], about["retrieved"]) == ("docs", "lexical", 3, 3)  # fmt: skip


def test_its_fields_have_names_without_any_given(db: Connection) -> None:
    prepare(db, ' output="RetrievedChunk[]" citationField=citation')
    (chunk, *_) = call(db, {"q": "refund"})["chunks"]
    assert chunk.keys() == {"id", "text", "source", "score", "citation", "provenance"}


def test_topk_and_minscore_of_a_retrieve_act(db: Connection) -> None:
    prepare(db, NAMED + " topK=2")
    scores = [chunk["s"] for chunk in call(db, {"q": "refund"})["found"]]
    assert len(scores) == 2
    prepare(db, f"{NAMED} minScore={scores[0] - 1e-6:.7f}")
    assert [chunk["s"] for chunk in call(db, {"q": "refund"})["found"]] == scores[:1]


def test_a_recorded_call_has_the_trace_of_the_same_result(any_db: Connection) -> None:
    prepare(any_db)
    searched, retrieved = (call(any_db, {"q": "refund"}, how) for how in ("search_tool", "retrieve_tool"))  # fmt: skip
    assert searched["found"] == retrieved["found"]
    row = any_db.execute(
        "select retriever, rag, result_hash, ranking_hash, query_text from ragdb.get_trace(%s)",
        (retrieved["provenance"]["trace_id"],),
    ).fetchone()
    about = searched["provenance"]
    assert row == ("R", "A", about["result_hash"], about["ranking_hash"], "refund")
    assert "trace_id" not in about


def test_searching_by_a_tool_writes_nothing(db: Connection) -> None:
    prepare(db)
    before = db.execute("select count(*) from ragdb.retrieval_traces").fetchone()
    db.execute("set transaction_read_only = on")
    assert call(db, {"q": "refund"})["found"]
    assert db.execute("select count(*) from ragdb.retrieval_traces").fetchone() == before
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        call(db, {"q": "refund"}, "retrieve_tool")


@pytest.mark.parametrize("citation", [{"uri": " "}, {"locator": ""}, {}])
def test_a_chunk_without_a_citation_is_not_returned_where_one_is_required(
    db: Connection, citation: dict[str, str]
) -> None:
    prepare(db)
    # as a reader of documents would leave it that knows no address
    db.execute("update ragdb.chunks set citation = %s where source = 'd0.txt'", (Jsonb(citation),))
    with pytest.raises(EvidenceMissing, match="has no citation"), db.transaction():
        call(db, {"q": "refund"})
    text = HEAD.replace(" citations=true", "").replace("requireCitations=true", "policy=lenient")
    apply(db, text.format(grounding="") + TOOL.format(keys=""))
    assert citation in [chunk["citation"] for chunk in call(db, {"q": "refund"})["chunks"]]


def test_required_grounding_makes_finding_nothing_an_error(db: Connection) -> None:
    prepare(db)
    assert call(db, {"q": "zebra"})["found"] == []
    prepare(db, NAMED + " requireGrounding=true")
    assert call(db, {"q": "refund"})["found"]
    with pytest.raises(EvidenceMissing, match="found nothing"):
        call(db, {"q": "zebra"})


def test_maxcontext_cuts_what_a_tool_returns(db: Connection) -> None:
    prepare(db)
    first, second, _ = call(db, {"q": "refund"})["found"]
    for more, texts in ((5, [first["text"], second["text"][:5]]), (0, [first["text"]])):
        prepare(db, grounding=f" maxContext={len(first['text']) + more}")
        made = call(db, {"q": "refund"})
        assert [chunk["text"] for chunk in made["found"]] == texts
        assert [chunk["provenance"].get("is_cut") for chunk in made["found"]] == [None, True][: len(texts)]  # fmt: skip
        assert made["provenance"]["retrieved"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs q"),
        ({"q": None}, "needs q"),
        ({"q": 3}, "needs q"),
        ({"q": " "}, "needs q"),
        ({"q": "x", "lang": 1}, "needs lang"),
        ({"q": "x", "k": "1"}, 'no argument "k"'),
        ([], "not an object"),
        (None, "not an object"),
    ],
)
def test_arguments_are_those_of_the_contract(db: Connection, arguments: Any, message: str) -> None:
    prepare(db)
    with pytest.raises(InvalidArgument, match=message):
        call(db, arguments)


def test_a_fixed_query_needs_no_argument(db: Connection) -> None:
    prepare(db, tool="prompt name=T\n  retrieve retriever=R query=refund\n")
    assert len(call(db, {})["chunks"]) == 3
    rows = db.execute("select kind, query, query_param, input_schema from ragdb.list_tools()")
    (row,) = rows.fetchall()
    assert row[:3] == ("prompt", "refund", None)
    assert row[3] == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}  # fmt: skip


def test_the_schemas_describe_arguments_and_output(db: Connection) -> None:
    prepare(db)
    rows = db.execute("select title, description, input_schema, output_schema from ragdb.list_tools()").fetchall()  # fmt: skip
    ((title, description, taken, returned),) = rows
    assert (title, description) == ("Title", "About")
    assert taken["properties"]["q"] == {"type": "string", "description": "What to ask."}
    assert taken["required"] == ["q"]
    import jsonschema

    jsonschema.validate(call(db, {"q": "refund"}), returned)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"chunks": [], "provenance": {}}, returned)


def test_a_tool_is_there_for_who_may_read_its_corpus(db: Connection) -> None:
    prepare(db)
    db.execute("select ragdb.grant_corpus('docs', 'reader', 'read')")
    for role, found in (("reader", [("T",)]), ("reader2", [])):
        db.execute(f"set role {role}")
        assert db.execute("select name from ragdb.list_tools()").fetchall() == found
    with pytest.raises(ContractNotFound, match="tool"):
        call(db, {"q": "refund"})


def test_a_tool_belongs_to_one_contract(db: Connection) -> None:
    prepare(db)
    other = HEAD.replace("name=R", "name=R2").replace("retriever=R", "retriever=R2")
    text = other.replace("name=A", "name=A2").format(grounding="")
    prompt = "prompt name=T\n  retrieve rag=A2 query=x\n"
    with pytest.raises(psycopg.DatabaseError, match='"T" is declared by another'):
        apply(db, text + prompt, "d")


def test_search_with_finds_what_retrieve_with_records(any_db: Connection) -> None:
    prepare(any_db)
    columns = "rank, chunk_id, score, mode"
    searched = any_db.execute(f"select {columns} from ragdb.search_with('R', 'refund', 2)").fetchall()  # fmt: skip
    recorded = any_db.execute(f"select {columns} from ragdb.retrieve_with(null, 'refund', 2, rag => 'A')").fetchall()  # fmt: skip
    assert searched == recorded
    assert len(searched) == 2
    with pytest.raises(InvalidArgument, match="both"):
        any_db.execute("select * from ragdb.search_with('R', 'x', rag => 'A')")


def test_a_tool_names_the_version_that_was_searched_whatever_is_put_meanwhile(clone: str) -> None:
    with psycopg.connect(clone) as writer, psycopg.connect(clone, autocommit=True) as asker:
        prepare(writer)
        writer.commit()
        # the search is over when its trace waits for this
        writer.execute("lock table ragdb.retrieval_traces in share mode")
        put_late = "select ragdb.put_text('docs', 'late.txt', 'A late refund')"
        answer = after_commit(
            writer,
            asker,
            lambda: call(asker, {"q": "refund"}, "retrieve_tool"),
            before=lambda: writer.execute(put_late),
        )
        said = answer["provenance"]
        searched = writer.execute(
            "select corpus_version, ranking_hash from ragdb.get_trace(%s)", (said["trace_id"],)
        ).fetchone()
        assert (said["corpus_version"], said["ranking_hash"]) == searched
        version = writer.execute("select version from ragdb.corpus_info('docs')").fetchone()
        assert version == (said["corpus_version"] + 1,)
