"""The line syntax of contracts: what is read, what is written, and the messages for errors."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragdb.contracts import contract_file, declarations
from ragdb.contracts.syntax import ContractSyntaxError, parse, write

EXAMPLE = (Path(__file__).parents[2] / "examples/contract/support.kern").read_text()


def bare(nodes: list[dict[str, Any]]) -> list[Any]:
    """Nodes without their places."""
    return [(n["node"], n["keys"], bare(n["children"])) for n in nodes]


def problems(text: str) -> list[tuple[int, int]]:
    with pytest.raises(ContractSyntaxError) as caught:
        parse(text)
    return [(p.line, p.column) for p in caught.value.problems]


words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
values = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(10**17), 10**17),
    st.decimals(-100, 100, places=3).map(float),
    st.sampled_from(["true", "8", "0.50", "-0", "1e5", "007", '"', "#", " a", "a#b", "\\n", "\n"]),
)
nodes: st.SearchStrategy[Any] = st.recursive(
    st.just([]),
    lambda children: st.lists(
        st.builds(
            lambda node, keys, below: {"node": node, "keys": keys, "children": below},
            words,
            st.dictionaries(words, values, max_size=4),
            children,
        ),
        max_size=3,
    ),
    max_leaves=12,
)


@given(nodes)
@settings(max_examples=300)
def test_what_is_written_is_read_as_the_same_nodes(tree: list[dict[str, Any]]) -> None:
    text = write(tree)
    assert bare(parse(text)) == bare(tree)
    assert write(parse(text)) == text


def test_the_example_is_that_of_the_seed(shared: Path) -> None:
    (seed,) = (shared / "seeds").glob("000*.txt")
    contract, tool = EXAMPLE.rstrip().split("\n\ntool ")
    assert contract in seed.read_text()
    assert f"tool {tool}" in seed.read_text()


def test_the_example_is_read_with_the_place_of_each_node_and_key() -> None:
    read = parse(EXAMPLE)
    assert [node["node"] for node in read] == ["corpus", "embed", "retriever", "rag", "tool"]
    case = read[3]["children"][1]["children"][0]
    assert (case["line"], case["column"]) == (12, 5)
    assert case["keys"]["query"] == "How do refunds work?"
    assert EXAMPLE.split("\n")[11][case["columns"]["topK"] - 1 :].startswith("topK=4")
    assert bare(parse(write(read))) == bare(read)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("8", 8),
        ("0.72", 0.72),
        ("0.50", "0.50"),
        ("007", "007"),
        ("true", True),
        ('"true"', "true"),
        ('"8"', "8"),
        ("s3://a/b?c=d#e", "s3://a/b?c=d#e"),
        (r'"a \"b\" \\ \n é"', 'a "b" \\ \n é'),
        ('""', ""),
    ],
)
def test_a_value_is_what_it_says(written: str, read: Any) -> None:
    (node,) = parse(f"corpus name={written} # a comment")
    assert node["keys"]["name"] == read
    assert type(node["keys"]["name"]) is type(read)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('corpus name="a', (1, 13)),
        ("corpus name", (1, 8)),
        ("corpus name=", (1, 13)),
        ("corpus name=a name=b", (1, 15)),
        ('corpus name=a"b', (1, 14)),
        (r'corpus name="\x"', (1, 14)),
        ('corpus name="\\ud83d"', (1, 13)),
        ('corpus name="a"b=c', (1, 16)),
        ("\tcorpus name=a", (1, 1)),
        ("corpus\n\tsource", (2, 1)),
        ("corpus\n    source\n  chunking", (3, 3)),
        ("  corpus", (1, 3)),
        ("9corpus", (1, 1)),
        ("corpus name=a\0", (1, 14)),
        ("\n".join(" " * n + "a" for n in range(20)), (17, 17)),
    ],
)
def test_a_mistake_is_told_its_line_and_column(text: str, place: tuple[int, int]) -> None:
    assert problems(text)[0] == place


def test_all_mistakes_are_told_at_once_with_line_and_caret() -> None:
    text = 'corpus name=\nretriever topK topK\nrag name="x'
    with pytest.raises(ContractSyntaxError) as caught:
        parse(text, "my.kern")
    assert [p.line for p in caught.value.problems] == [1, 2, 2, 3]
    shown = str(caught.value).split("\n")
    assert shown[0].startswith("my.kern:1:13: ")
    assert shown[1:3] == ["  corpus name=", "  " + " " * 12 + "^"]


def test_mutated_contracts_are_read_or_refused_and_nothing_else() -> None:
    chance = random.Random(4)
    pieces = ['"', "=", "\n", " ", "\\", "#", "\t", "\0", "\u2028", "\ud800", "é", "  rag", "1e999"]
    refused: list[ContractSyntaxError] = []
    for _ in range(10_000):
        text = list(EXAMPLE)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(text))
            text[at : at + chance.randint(0, 5)] = [chance.choice(pieces)]
        try:
            parse("".join(text))
        except ContractSyntaxError as error:
            refused.append(error)
    assert 2_000 < len(refused) < 10_000
    assert all(error.problems and str(error) for error in refused)


def test_a_file_that_is_not_utf_8_is_told_where(tmp_path: Path) -> None:
    file = tmp_path / "a.kern"
    file.write_bytes(b"corpus name=a\nrag name=\xff")
    with pytest.raises(ContractSyntaxError, match=re.escape("a.kern:2:10: not UTF-8")):
        contract_file.read(file)


@pytest.mark.parametrize("text", ["[", "3", "[" * 5000, '{"nodes": [NaN]}'])
def test_json_that_is_no_contract_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(ContractSyntaxError):
        contract_file.read(file)


def test_a_prompt_is_hashed_beside_the_contract(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("Answer.")
    file = tmp_path / "a.kern"
    file.write_text("rag name=a retriever=b prompt=./answer.md\nrag name=b prompt=none.md")
    found, _ = contract_file.read(file)
    assert found["contract"] == "a"
    assert found["nodes"][0]["prompt_sha256"].startswith("6afada2c")
    assert contract_file.missing_prompts(found) == [found["nodes"][1]]


def test_a_local_source_is_named_by_its_way_from_the_contract(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/deep/b.md", "docs/deep/c.txt", "top.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def uris(uri: str) -> list[str]:
        tree = parse(f"corpus name=My_Docs\n  source name=s uri={uri}\n  chunking maxTokens=9")
        (source,) = declarations.declared_sources(contract_file.contract(tree, "c"))
        assert source.corpus == "my-docs"
        assert source.options == {"source_name": "s", "max_tokens": 9}
        return [found.uri for found in source.find(tmp_path).sources]

    assert uris("./docs/**/*.md") == ["docs/a.md", "docs/deep/b.md"]
    assert uris("docs/*.md") == ["docs/a.md"]
    assert uris("docs") == ["docs/a.md", "docs/deep/b.md", "docs/deep/c.txt"]
    assert uris("docs/deep/*.txt") == ["docs/deep/c.txt"]
    assert uris("top.md") == ["top.md"]
    assert uris("*.md") == ["top.md"]
