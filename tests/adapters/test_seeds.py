"""Every block of code of the documents that ragdb was made after, run as it stands there.

Import paths are mapped, and so are an address and a placeholder that only a deployment knows. What
cannot run is listed with the reason, and the list is complete.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

import ragdb
from ragdb.adapters.forge_lcdl import retrieval as lcdl
from ragdb.adapters.rag_plusplus import provenance, retrieval
from ragdb.adapters.rag_plusplus import slice as slices
from ragdb.adapters.rag_plusplus.errors import HttpError, PolicyNotFound, SliceFailed
from tests.conftest import Server
from tests.embedding import one
from tests.http.conftest import Api, serve

SHARED = Path(os.environ.get("RAGDB_SHARED", Path(__file__).parents[3] / "shared")) / "seeds"
pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason="RAGDB_SHARED: there are no seeds in the shared folder"
)
ANCHOR = "550e8400-e29b-41d4-a716-446655440000"
DEFAULT = slices.PolicyRef("slice_policy_v1", "02005444cae1117d")
LANGUAGES = ("python", "rust", "bash", "json", "sql", "yaml")
PAIRS = {
    "/api/slice": ("POST", "/api/slice"),
    "/api/rag/search/slice": ("POST", "/api/rag/search/slice"),
    "/api/rag/search/global": ("GET", "/api/rag/search/global?query=authentication+flow"),
}
CANNOT = {
    "rust": "the Graph Kernel's inside; ours is SQL",
    "bash": "builds and starts their service; ours is `ragdb serve`",
    "yaml": "starts their service; ours is `ragdb serve`",
    "sql": "leaves columns out by a comment behind a comma, which is not SQL",
    "test_global_vs_slice_separation": "its arguments are elided; the test below has them",
}
FLAT = "the document has lost its line ends, so that a comment takes the rest of the block"
# the eight blocks of seed 004, in their order
FOURTH = (
    "a tree of files, not code", FLAT, FLAT, FLAT, FLAT, FLAT,
    "a sequence of calls, not code", "names two settings of their service; " + FLAT,
)  # fmt: skip


@dataclass
class Block:
    """A block of a document: its language, its text, and the line that it begins at."""

    language: str
    text: str
    line: int


def parses(text: str) -> bool:
    try:
        compile(text, "block", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return True


def document(number: str) -> str:
    (file,) = SHARED.glob(f"{number}_*.txt")
    return file.read_text()


def blocks() -> Iterator[Block]:
    """The blocks of seed 002: behind a line that names a language, up to the prose after it."""
    lines = document("002").splitlines()
    for n, line in enumerate(lines):
        if line not in LANGUAGES:
            continue
        rest = lines[n + 1 :]
        ends = [
            i
            for i, after in enumerate(rest)
            if after in LANGUAGES or after == "---" or re.match(r"\d+\.\d+ |[A-C]\.\d ", after)
        ]
        paragraphs = "\n".join(rest[: ends[0]]).split("\n\n\n") if ends else ["\n".join(rest)]
        text = paragraphs[0]
        if line == "python":
            parts = "\n".join(rest[: ends[0]]).split("\n\n")
            while parts and (not parses("\n\n".join(parts)) or parts[-1] == "search_global()\n"):
                parts.pop()
            text = "\n\n".join(parts).removesuffix("search_global()\n")
        elif line == "json":
            text = text[: text.rindex("}") + 1]
        yield Block(line, text, n + 1)


def mapped(text: str, url: str) -> str:
    """The text with our import paths, our address and a hash in place of the placeholders."""
    return (
        text.replace("from rag_plusplus.", "from ragdb.adapters.rag_plusplus.")
        .replace("from forge_lcdl.", "from ragdb.adapters.forge_lcdl.")
        .replace("http://localhost:8001", url)
        .replace("abc123...", DEFAULT.params_hash)
        .replace('"abc123"', f'"{DEFAULT.params_hash}"')
    )


@pytest.fixture(scope="module")
def kernel(server18: Server) -> Iterator[Api]:
    """A Graph Kernel over one corpus with the turns that the documents name."""
    with server18.database() as database:
        dsn = server18.dsn(database.dbname)
        with ragdb.connect(dsn) as db:
            db.create_corpus("memory")
            db.create_corpus("system")  # as in every database, and not a choice for who names none
            texts = ("How does the authentication flow begin?", "The authentication flow asks.")
            said = [
                {"id": ANCHOR, "text": texts[0]},
                {"id": "b", "parent_id": ANCHOR, "role": "assistant", "text": texts[1]},
            ]
            db.append_turns("memory", "sess_1", said, {"metadata": {"project": "proj_123"}})
            for n in (1, 2, 3):
                db.put_text("memory", f"t{n}", f"Turn {n} of an atlas.", external_id=f"turn{n}")
            db.create_signing_key("k1")
            tokens = {"admin": one(db.connection, "select ragdb.create_http_token('admin', 'a')")}
        served = serve(dsn, tokens)
        try:
            yield served
        finally:
            served.process.terminate()
            served.process.wait(120)


@pytest.fixture
def names(kernel: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the blocks take for granted, and the functions of the reader that they call."""
    monkeypatch.setenv("GRAPH_KERNEL_TOKEN", kernel.tokens["admin"])
    monkeypatch.setenv("RAGDB_DATABASE_URL", kernel.dsn)
    db = ragdb.connect(kernel.dsn)
    exported = asyncio.run(slices.SliceClient(kernel.url).get_slice(ANCHOR))
    found: dict[str, Any] = {}
    exec(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from typing import Any, Dict, List, Literal, Optional\nfrom uuid import UUID\n",
        found,
    )
    results = retrieval.MemoryRetriever(db).search_slice("authentication flow", exported)
    found |= {name: getattr(retrieval, name) for name in retrieval.__all__}
    yield found | {
        "supabase_client": db,
        "policy_ref": DEFAULT,
        "query_embedding": None,
        "embedding": None,
        "anchor_turn_id": ANCHOR,
        "slice_export": exported,
        "slice_client": slices.SliceClient(kernel.url),
        "resolver": slices.AnchorResolver(db),
        "retriever": retrieval.MemoryRetriever(db),
        "results": results,
        "result": results[0],
        "provenance": results.provenance,
        "create_semantic_atom": lambda result, source_slice_id: (result, source_slice_id),
        "promote_to_atom": lambda results: db.promote_to_atom(
            results.provenance.query_id,
            [result.turn_id for result in results],
            results[0].content,
            "lenient",
        ),
    }
    db.close()


def run(text: str, names: dict[str, Any]) -> None:
    code = compile(text, "block", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, names)
    if inspect.isawaitable(made):

        async def wait() -> None:
            await made

        asyncio.run(wait())


def test_every_block_of_python_runs_as_it_stands(names: dict[str, Any], kernel: Api) -> None:
    found = [block for block in blocks() if block.language == "python"]
    assert len(found) == 19
    sketch = slices.SliceExport("s", "turn_001", ["turn_001"], 0, "p", "h", "1.0.0")
    for block in found:
        own = dict(names)
        # its example names turns of no database
        if "turn_999" in block.text:
            own["slice_export"] = sketch
        try:
            run(mapped(block.text, kernel.url), own)
        except Exception as error:
            raise AssertionError(f"line {block.line}: {error!r}") from error
        for name in own.keys() - names.keys() - CANNOT.keys():
            if name.startswith("test_"):
                own[name]()
        if own["retriever"] is not names["retriever"]:
            own["retriever"].close()
        if "verify_replay" in own:
            again = own["retriever"].search_slice("authentication flow", own["slice_export"])
            assert own["verify_replay"](own["results"].provenance, again)
        if "can_promote_to_atom" in own:
            assert own["atom"][1] == own["slice_export"].slice_id
            other = own["retriever"].search_global("authentication flow")
            assert not own["can_promote_to_atom"](other[0], other.provenance)
        if "quantize_float" in own:
            assert own["quantize_float"](0.9) == 900_000


def test_what_the_blocks_declare_is_what_we_have(names: dict[str, Any], kernel: Api) -> None:
    ours = {
        "SliceExport": slices.SliceExport,
        "PolicyRef": slices.PolicyRef,
        "SliceInfo": provenance.SliceInfo,
        "RetrievalProvenance": provenance.RetrievalProvenance,
        "SearchResult": retrieval.SearchResult,
    }
    declared = 0
    for block in blocks():
        for node in (
            ast.parse(block.text).body
            if block.language == "python" and parses(block.text) and "await" not in block.text
            else ()
        ):
            if isinstance(node, ast.ClassDef):
                declared += 1
                theirs = {
                    part.target.id
                    for part in node.body
                    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
                }
                assert theirs <= {field.name for field in fields(ours[node.name])}, block.line
                functions = {p.name for p in node.body if isinstance(p, ast.FunctionDef)}
                assert all(hasattr(ours[node.name], name) for name in functions), block.line
    assert declared == 6


def shape(theirs: Any, ours: Any, at: str) -> None:
    """Every key that the document shows is in the answer."""
    if isinstance(theirs, dict):
        assert theirs.keys() <= ours.keys(), at
        for key, value in theirs.items():
            shape(value, ours[key], f"{at}.{key}")
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], dict):
        shape(theirs[0], ours[0], at)


def test_every_request_is_answered_as_the_document_shows(kernel: Api) -> None:
    found = [mapped(b.text, kernel.url) for b in blocks() if b.language == "json"]
    assert len(found) == 5
    texts = iter([re.sub(r"\[\.\.\.\]", "[]", text) for text in found])
    for method, path in PAIRS.values():
        body = json.loads(next(texts)) if method == "POST" else None
        answer = kernel(method, path, body, role="admin")
        assert answer.status == 200, (path, answer.body)
        shape(json.loads(next(texts)), answer.body, path)


def test_the_other_documents_run_too(kernel: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", kernel.dsn)
    first = document("000")
    kern = first[first.index("corpus name=Docs title") : first.index("corpus, source, chunking")]
    tool = first[first.index("tool name=AnswerDocs") : first.index("Validation and parity")]
    with ragdb.connect(kernel.dsn) as db:
        found = db.validate_contract(f"{kern}\n{tool}", "seed")
        worst = [row for row in found if row.severity == "error"]
        assert worst == []
    second = document("001")
    example = second[second.index("from forge_lcdl.retrieval") : second.index("See also")]
    own: dict[str, Any] = {}
    run(mapped(textwrap.dedent(example), kernel.url), own)
    pack = lcdl.build_evidence_pack(own["chunks"][:1], corpus_id="repo")
    given = lcdl.evidence_pack_to_input_dict(pack, "contract spec")
    assert given["question"] == "contract spec"
    (chunk,) = own["chunks"][:1]
    right = {"source_id": chunk.source_id, "chunk_id": chunk.chunk_id}
    cited = {"answer": "x", "citations": [right]}
    assert lcdl.validate_output_citations(cited, pack) == []
    wrong = {"answer": "x", "citations": [right | {"chunk_id": "nowhere"}]}
    (problem,) = lcdl.validate_output_citations(wrong, given)
    assert "nowhere" in problem
    assert lcdl.validate_output_citations(wrong | {"insufficient_evidence": True}, pack) == []


def test_every_block_that_cannot_run_has_its_reason() -> None:
    left = [block.language for block in blocks() if block.language not in ("python", "json")]
    assert set(left) < CANNOT.keys()
    assert len(left) == left.count("rust") + left.count("bash") + 2
    assert "-- ...\n);" in next(block.text for block in blocks() if block.language == "sql")
    found = document("004").split("```")[1::2]
    assert len(found) == len(FOURTH)
    for block, reason in zip(found, FOURTH, strict=True):
        assert "\n" not in block
        code = block.removeprefix("python ")
        if reason.endswith(FLAT):
            # there is nothing to run before the comment, or what is there does not end
            assert "#" in code
            assert not parses(code) or not ast.parse(code).body or "config." in code
        else:
            assert not block.startswith("python")
            assert not parses(code)


def test_the_columns_that_the_block_of_sql_names_are_ours(kernel: Api) -> None:
    (block,) = [block.text for block in blocks() if block.language == "sql"]
    named = set(re.findall(r"^    ([a-z_]+) [A-Z]", block, re.M))
    assert len(named) == 5
    with ragdb.connect(kernel.dsn) as db:
        ours = db.connection.execute(
            "select attname from pg_attribute where attrelid = 'ragdb.retrieval_traces'::regclass"
        ).fetchall()
    assert named <= {name for (name,) in ours}


def test_what_is_wrong_has_the_code_of_the_kernel(names: dict[str, Any], kernel: Api) -> None:
    client = slices.SliceClient(kernel.url)
    with pytest.raises(SliceFailed):
        asyncio.run(client.get_slice("nobody"))
    with pytest.raises(PolicyNotFound):
        asyncio.run(client.get_slice(ANCHOR, slices.PolicyRef("slice_policy_v1", "0" * 16)))
    with pytest.raises(HttpError):
        asyncio.run(slices.SliceClient("http://127.0.0.1:9").get_slice(ANCHOR))
    batch = asyncio.run(client.get_slice_batch([ANCHOR, "turn1"]))
    assert [found.anchor_turn_id for found in batch] == [ANCHOR, "turn1"]
    # a slice that nobody handed out finds nothing
    forged = slices.SliceExport.from_dict(vars(names["slice_export"]) | {"turn_ids": ["turn1"]})
    with pytest.raises(SliceFailed, match="token"):
        names["retriever"].search_slice("atlas", forged)
    # nor one whose graph has changed since
    stale = asyncio.run(client.get_slice("turn1"))
    with ragdb.connect(kernel.dsn) as db:
        db.put_text("memory", "t1", "Turn 1 says something else.", external_id="turn1")
    with pytest.raises(SliceFailed, match="token"):
        names["retriever"].search_slice("atlas", stale)


def test_global_results_cannot_be_promoted(names: dict[str, Any]) -> None:
    info = names["results"].provenance.slice_info
    made = retrieval.RetrievalProvenance
    assert made.create_slice_provenance("q", [ANCHOR], info).is_admissible
    assert not made.create_global_provenance("q", [ANCHOR]).is_admissible
    short = made.create_slice_provenance("q", [ANCHOR], info, admissibility_shortfall=True)
    assert not short.is_admissible
    # all that a slice was handed out with, or nothing
    for field in ("admissibility_token", "graph_snapshot_hash"):
        assert not made.create_slice_provenance("q", [], replace(info, **{field: ""})).is_admissible


def test_a_planner_is_whatever_plans(kernel: Api) -> None:
    from ragdb.evidence.database import CorpusRetriever
    from ragdb.evidence.engine import Engine
    from ragdb.evidence.tasks import RagPolicy

    class Planner:
        def plan(self, question: str) -> dict[str, Any]:
            return {"needs_retrieval": True, "queries": ["authentication"], "reason": question}

    planner: lcdl.InferencePlanner = Planner()
    with ragdb.connect(kernel.dsn) as db:
        retriever = CorpusRetriever(db, "memory")
        engine = Engine(db, retriever=retriever, policy=RagPolicy("on"), planner=planner)
        assert engine.run("what asks?").trace_summary["plan"]["by"] == "model"
