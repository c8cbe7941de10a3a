"""The text of contracts: what is read, what is written, and what is said to be wrong with it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from ragdb.client.client import Client
from ragdb.contracts import contract_file, declarations
from ragdb.errors import InvalidContract
from tests import contract_twin
from tests.conftest import Connection

EXAMPLE = (Path(__file__).parents[2] / "examples/contract/support.kern").read_text()
READ = """
  select r.contract -> 'nodes', array(
    select jsonb_build_array(p.line, p."column", p.message, p.hint)
    from ragdb_internal.problem_rows(r.problems) p)
  from unnest(%s::text[]) with ordinality t (text, n)
    cross join lateral ragdb_internal.read_contract(t.text, 'c') r
  order by t.n
"""


def bare(nodes: list[dict[str, Any]]) -> list[Any]:
    """Nodes without their places."""
    return [(n["node"], n["keys"], bare(n["children"])) for n in nodes]


def parse(db: Connection, text: str) -> list[dict[str, Any]]:
    row = db.execute("select ragdb.parse_contract(%s) -> 'nodes'", (text,)).fetchone()
    assert row
    nodes: list[dict[str, Any]] = row[0]
    return nodes


def write(db: Connection, nodes: list[dict[str, Any]]) -> str:
    row = db.execute("select ragdb.write_contract(%s)", (Jsonb({"nodes": nodes}),)).fetchone()
    assert row
    return str(row[0])


def problems(db: Connection, text: str) -> list[tuple[int, int]]:
    rows = db.execute(
        "select rule, line, \"column\" from ragdb.validate_contract(%s, 'c')", (text,)
    ).fetchall()
    assert {rule for rule, _, _ in rows} == {"contract-syntax"}
    return [(line, column) for _, line, column in rows]


def assert_read_as_by_the_twin(db: Connection, texts: list[str]) -> int:
    """How many of the texts are refused."""
    refused = 0
    for text, (nodes, found) in zip(texts, db.execute(READ, (texts,)).fetchall(), strict=True):
        if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
            continue  # it is meant to be JSON
        expected: tuple[Any, list[Any]]
        try:
            expected = contract_twin.parse(text), []
        except contract_twin.ContractSyntaxError as error:
            expected = None, [[p.line, p.column, p.message, p.hint] for p in error.problems]
            refused += 1
        assert (nodes, found) == expected, text
    return refused


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
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_written_is_read_as_the_same_nodes(
    db: Connection, tree: list[dict[str, Any]]
) -> None:
    text = write(db, tree)
    read = parse(db, text)
    assert bare(read) == bare(tree)
    assert write(db, read) == text
    assert contract_twin.parse(text) == read


def test_the_example_is_that_of_the_seed(shared: Path) -> None:
    (seed,) = (shared / "seeds").glob("000*.txt")
    contract, tool = EXAMPLE.rstrip().split("\n\ntool ")
    assert contract in seed.read_text()
    assert f"tool {tool}" in seed.read_text()


def test_the_example_is_read_with_the_place_of_each_node_and_key(any_db: Connection) -> None:
    read = parse(any_db, EXAMPLE)
    assert [node["node"] for node in read] == ["corpus", "embed", "retriever", "rag", "tool"]
    case = read[3]["children"][1]["children"][0]
    assert (case["line"], case["column"]) == (12, 5)
    assert case["keys"]["query"] == "How do refunds work?"
    assert EXAMPLE.split("\n")[11][case["columns"]["topK"] - 1 :].startswith("topK=4")
    assert bare(parse(any_db, write(any_db, read))) == bare(read)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("8", 8),
        ("0.72", 0.72),
        ("0.50", "0.50"),
        ("007", "007"),
        ("1.0", 1.0),
        ("-0", "-0"),
        ("0.00001", "0.00001"),
        ("0.1234567890123456", "0.1234567890123456"),
        ("123456789012345678", 123456789012345678),
        ("9007199254740993.0", "9007199254740993.0"),
        ("true", True),
        ('"true"', "true"),
        ('"8"', "8"),
        ("s3://a/b?c=d#e", "s3://a/b?c=d#e"),
        (r'"a \"b\" \\ \n é"', 'a "b" \\ \n é'),
        ('""', ""),
        ('"a\tb"', "a\tb"),
        ("a\u00a0b\u2028c", "a\u00a0b\u2028c"),
        (r'"\ud83d\ude00 \\ud83d"', "😀 \\ud83d"),
    ],
)
def test_a_value_is_what_it_says(any_db: Connection, written: str, read: Any) -> None:
    any_db.execute("set local extra_float_digits = 0")
    (node,) = parse(any_db, f"\ufeffcorpus\tname={written} \t# a comment\r\n")
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
        ("corpus name=a\x01", (1, 14)),
        ("corpus name=a\r\nrag\rname=a", (2, 4)),
        ('corpus 😀="😀"\t\t😀', (1, 8)),
        ('{"nodes": [\n  x]}', (2, 3)),
        ("\n".join(" " * n + "a" for n in range(20)), (17, 17)),
    ],
)
def test_a_mistake_is_told_its_line_and_column(
    any_db: Connection, text: str, place: tuple[int, int]
) -> None:
    assert problems(any_db, text)[0] == place


def test_all_mistakes_are_told_at_once_and_the_first_is_raised(any_db: Connection) -> None:
    text = 'corpus name=\nretriever topK topK\nrag name="x'
    assert [line for line, _ in problems(any_db, text)] == [1, 2, 2, 3]
    for call in ("parse_contract(%s, 'my')", "apply_contract(%s, 'my')"):
        with pytest.raises(InvalidContract) as caught, any_db.transaction():
            any_db.execute(f"select ragdb.{call}", (text,))
        assert caught.value.diag.message_primary == 'contract "my": a value is missing after ='
        assert caught.value.diag.message_detail == (
            "rule contract-syntax in line 1, column 13; 4 error(s) in all"
        )
        assert (caught.value.diag.message_hint or "").startswith('an empty text is ""')


PIECES = [
    '"', "=", "\n", " ", "\\", "#", "\t", "\x01", "\r\n", "\u2028", "\ufeff", "é", "  rag",
    "1e999", "\x7f", "😀", "\\ud800", "\\u0000", '\\"', '""', '" ', '="', "=1.50", 'a="x"y="z"',
    "\n\t", "%s", "\n" + " " * 30 + "y", "x" * 50, '"#', "=#", " \\",
]  # fmt: skip


def mutations(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        text = list(EXAMPLE)
        for _ in range(chance.choice([0, 1, 1, 2, 3, 6])):
            at = chance.randrange(len(text))
            text[at : at + chance.randint(0, 5)] = [chance.choice(PIECES)]
        texts.append("".join(text))
    return texts


def test_mutated_contracts_are_read_or_refused_as_by_the_twin(any_db: Connection) -> None:
    assert 100 < assert_read_as_by_the_twin(any_db, mutations(250, seed=4)) < 250


@pytest.mark.nightly
def test_ten_thousand_mutations_are_read_or_refused_as_by_the_twin(db: Connection) -> None:
    for seed in range(20):
        assert 200 < assert_read_as_by_the_twin(db, mutations(500, seed)) < 500


LONG = {
    "junk": ("a " + "x " * 30_000, 1000),
    "junk in quotes": ("a " + 'é"" ' * 20_000, 1000),
    "words without spaces": ("a " + '""' * 30_000, 1000),
    "escapes": ('a k="' + "\\n" * 30_000 + '"', 0),
    "wrong escapes": ('a k="' + "\\q" * 30_000, 1000),
    "quotes that do not end": ("a " + 'k="\\" ' * 10_000, 1000),
    "levels": ("\n".join(" " * n + "a" for n in range(600)), 584),
    "brackets": ("[" * 200_000, 1),
    "braces": ('{"a":' * 40_000, 1),
    "NUL in JSON": ('["\\u0000"]', 1),
    "a number too large for JSON": ("[1e999999]", 1),
}


@pytest.mark.by_day(4)
@pytest.mark.parametrize("what", LONG)
def test_what_is_long_or_deep_is_read_once(db: Connection, what: str) -> None:
    text, count = LONG[what]
    # what is read again for each word, quote or line would take hours
    db.execute("set local statement_timeout = '60s'")
    ((_, found),) = db.execute(READ, ([text],)).fetchall()
    assert len(found) == count


def test_what_is_not_the_text_of_a_contract_is_refused(db: Connection) -> None:
    for text, state in ((None, "RG400"), ("#" * 10_000_001, "RG413")):
        for call in ("parse_contract(%s)", "validate_contract(%s, 'c')", "apply_contract(%s)"):
            with pytest.raises(psycopg.Error) as caught, db.transaction():
                db.execute(f"select ragdb.{call}", (text,))
            assert caught.value.sqlstate == state
    wrong: list[Any] = [[{"node": "a b"}], [{"node": "a", "keys": {"b c": 1}}], [3]]
    for nodes in wrong:
        with pytest.raises(InvalidContract), db.transaction():
            write(db, nodes)


def test_a_text_names_its_contract_only_as_json(any_db: Connection) -> None:
    for text, name in (
        ("corpus name=a", "mine"),
        ('[{"node": "corpus", "keys": {"name": "a"}}]', "mine"),
        ('\ufeff {"contract": "own", "nodes": []}', "own"),
    ):
        row = any_db.execute("select ragdb.parse_contract(%s, 'mine') ->> 'contract'", (text,))
        assert row.fetchone() == (name,)


def test_a_file_that_is_not_utf_8_is_told_where(tmp_path: Path) -> None:
    file = tmp_path / "a.kern"
    file.write_bytes(b"corpus name=a\nrag name=\xff")
    with pytest.raises(contract_file.ContractFileError, match=r"a\.kern:2:10: not UTF-8"):
        contract_file.text_of(file)
    file.write_bytes(b"\xef\xbb\xbfcorpus name=a\0")
    with pytest.raises(contract_file.ContractFileError, match=r"a\.kern:1:14: a control character"):
        contract_file.text_of(file)


@pytest.mark.parametrize("text", ["[", "3", '{"nodes": [NaN]}'])
def test_json_that_is_no_contract_is_refused(db: Connection, tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(InvalidContract), db.transaction():
        contract_file.read(Client(db), file)


def json_text(draw: random.Random, nodes: list[Any], before: str, places: list[Any]) -> str:
    """A list of nodes with its keys and blanks at random; `places` gets where each begins."""

    def blank() -> str:
        return "".join(draw.choices(" \n", k=draw.randint(0, 2)))

    text = f"[{blank()}"
    for n, node in enumerate(nodes):
        text += f"{blank()}," * bool(n) + blank()
        whole = before + text
        places.append((whole.count("\n") + 1, len(whole) - (whole.rfind("\n") + 1) + 1))
        text += "{"
        parts = [*node.items()]
        draw.shuffle(parts)
        for m, (key, value) in enumerate(parts):
            text += f"{blank()}," * bool(m) + f'{blank()}"{key}"{blank()}:{blank()}'
            if key == "children":
                text += json_text(draw, value, before + text, places)
            else:
                text += json.dumps(value)
        text += blank() + "}"
    return f"{text}{blank()}]"


def test_a_mistake_in_a_node_of_json_is_told_with_its_place(db: Connection) -> None:
    draw = random.Random(11)
    told = 0
    for _ in range(20):
        names = iter(f'[{{"children": n{n}' for n in range(100))
        nodes = [
            {
                "node": "corpus",
                "keys": {"name": next(names), "bogus": "nodes"},
                "line": 99,
                "columns": {"name": 5, "bogus": 50},
                "children": [
                    {"node": "source", "keys": {"name": next(names), "bogus": "x"}}
                    for _ in range(draw.randint(0, 3))
                ],
            }
            for _ in range(draw.randint(1, 4))
        ]
        begin = '{"nodes":\n '
        places: list[Any] = []
        text = begin + json_text(draw, nodes, begin, places) + "}"
        rows = db.execute(
            'select line, "column" from ragdb.validate_contract(%s) where message ~ %s',
            (text, "bogus"),
        ).fetchall()
        assert sorted(rows) == sorted(places)
        told += len(rows)
    assert told > 50


def test_a_prompt_is_hashed_beside_the_contract(db: Connection, tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("Answer.")
    file = tmp_path / "a.kern"
    file.write_text("rag name=a retriever=b prompt=./answer.md\nrag name=b prompt=none.md")
    found = contract_file.read(Client(db), file)
    assert found["contract"] == "a"
    assert found["nodes"][0]["prompt_sha256"].startswith("6afada2c")
    told = contract_file.missing_prompts(found)
    assert [problem["line"] for problem in told] == [found["nodes"][1]["line"]]


def test_a_local_source_is_named_by_its_way_from_the_contract(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/deep/b.md", "docs/deep/c.txt", "top.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def uris(uri: str) -> list[str]:
        tree = contract_twin.parse(
            f"corpus name=My_Docs\n  source name=s uri={uri}\n  chunking maxTokens=9"
        )
        (source,) = declarations.declared_sources({"nodes": tree})
        assert source.corpus == "my-docs"
        assert source.options == {"source_name": "s", "max_tokens": 9}
        return [found.uri for found in source.find(tmp_path).sources]

    assert uris("./docs/**/*.md") == ["docs/a.md", "docs/deep/b.md"]
    assert uris("docs/*.md") == ["docs/a.md"]
    assert uris("docs") == ["docs/a.md", "docs/deep/b.md", "docs/deep/c.txt"]
    assert uris("docs/deep/*.txt") == ["docs/deep/c.txt"]
    assert uris("top.md") == ["top.md"]
    assert uris("*.md") == ["top.md"]
