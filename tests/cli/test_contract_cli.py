"""The seed's contract on the command line, from its file to its report."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb
from ragdb.cli import ingest_contract, ingest_runs
from ragdb.cli.queries import judgements
from ragdb.cli.session import Failure
from tests.conftest import OLDER_BY_NIGHT, Run

pytestmark = pytest.mark.usefixtures("one_session")

EXAMPLE = Path(__file__).parents[2] / "examples/contract"


@OLDER_BY_NIGHT
def test_the_example_is_checked_applied_ingested_and_evaluated(
    run_on: Callable[[str], Run], any_clone: str, tmp_path: Path
) -> None:
    run = run_on(any_clone)
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    contract = folder / "support.kern"
    assert run("ingest", "--contract", contract).exit_code == 2  # not in force yet
    assert "`ragdb apply` puts" in run("eval", "run", "AnswerDocs").stderr
    unbound = run("apply", contract)
    assert "nothing runs text-embedding-3-small yet: `ragdb embedder bind" in unbound.stderr
    for command in (
        ("check", contract),
        ("embedder", "bind", "text-embedding-3-small", "--provider", "hash", "--source", "hash-v1"),
        ("ingest", "--contract", contract, "--embed"),
    ):
        done = run(*command)
        assert done.exit_code == 0, done.output
    for form in ("table", "tap", "junit", "md", "csv", "json"):
        done = run("eval", "run", "AnswerDocs", "--format", form)
        assert done.exit_code == 0, done.output
    assert json.loads(run("eval", "run", "AnswerDocs", "--format", "json").stdout)["passed_cases"] == 2  # fmt: skip
    # the failing variant
    contract.write_text(contract.read_text().replace("chunkCount=1", "chunkCount=2"))
    bound = run("apply", contract)
    assert (bound.exit_code, bound.stderr) == (0, "")
    failed = run("eval", "run", "AnswerDocs")
    assert failed.exit_code == 1
    assert "FAIL      refunds: expected 2 chunks, was 1" in failed.stdout
    assert run("eval", "run", "AnswerDocs", "--tag", "none").exit_code == 5
    listed = [
        json.loads(run("eval", "ls", "AnswerDocs", "--since", since, "--json").stdout)
        for since in ("1h", "2999-01-01")
    ]
    assert [bool(runs) for runs in listed] == [True, False]
    shown = run("contract", "export", "support")
    assert shown.stdout.startswith('corpus name=Docs title="Support docs"')
    assert run("contract", "export", "support", "--json").exit_code == 0


def test_mistakes_are_shown_with_their_line_and_exit_2(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.kern"
    file.write_text("corpus name=Docs\nretriever name=R corpus=Dox topK=0\n")
    shown = run("check", file)
    assert shown.exit_code == 2
    assert f'{file}:2:18: error: corpus "Dox"' in shown.stdout
    assert "  retriever name=R corpus=Dox topK=0\n                   ^\n  hint: did you mean Docs?" in shown.stdout  # fmt: skip
    assert run("apply", file).exit_code == 2
    file.write_text('corpus name="Docs')
    for verb in ("check", "apply"):
        shown = run(verb, file)
        assert shown.exit_code == 2
        assert f"{file}:1:13: error: a quoted value does not end on its line" in shown.stdout
    file.write_bytes(b"corpus name=a\nrag name=\xff")
    assert f"{file}:2:10: error: not UTF-8" in run("check", file).stdout


def test_a_mistake_in_queries_a_source_or_a_task_is_named_with_its_place(
    run: Run, tmp_path: Path
) -> None:
    queries, contract = tmp_path / "queries.jsonl", tmp_path / "c.kern"
    for line, wrong in [
        ('{"_id": "1", "qury": "x"}', "it has no 'text'"),
        (
            '{"_id": "1" "text": "x"}',
            "it is not JSON (Expecting ',' delimiter: line 1 column 13 (char 12))",
        ),
        ('["1"]', "it is not an object, or its labels are not a list"),
        (
            '{"_id": "1", "text": "x", "labels": 1}',
            "it is not an object, or its labels are not a list",
        ),
        ("[" * 100_000, "it is not JSON (it nests too deep)"),
        (
            '{"_id": "1", "text": "x", "text": "y"}',
            'it is ambiguous (the key "text" stands twice in one object: give it once)',
        ),
    ]:
        queries.write_text('{"_id": "0", "text": "x"}\n' + line)
        refused = run("eval", "import", "A", "V", "--queries", queries)
        assert refused.exit_code == 2
        assert f"queries.jsonl:2: {wrong}" in refused.stderr
    queries.write_bytes(b"\xff")
    refused = run("eval", "import", "A", "V", "--queries", queries)
    assert "queries.jsonl is not UTF-8: byte 0 is 0xff" in refused.stderr
    cosigned = run("ledger", "checkpoint", "--add", queries)
    assert "a file is not utf-8: byte 0 is 0xff" in cosigned.stderr
    contract.write_text("corpus name=c\n\nretriever name=R corpus=c topk=5\n")
    assert "c.kern:3: retriever" in run("ingest", "--contract", contract).stderr
    asked = run("ask", "x", "--contract", contract, "-c", "c")
    assert "c.kern is not the contract.json of a task" in asked.stderr
    assert "--rag NAME" in asked.stderr
    # what it says of its lines is of another text
    contract.with_suffix(".json").write_text(
        '{"nodes": [\n  {"node": "corpus", "keys": {}, "line": 7, "columns": {"name": 3}}]}'
    )
    told = run("check", contract.with_suffix(".json")).stdout
    assert "c.json:2:3: error: corpus has no name" in told


def test_runs_are_blessed_compared_and_labels_imported(run: Run, tmp_path: Path) -> None:
    contract = tmp_path / "c.kern"
    contract.write_text(
        "corpus name=c\nretriever name=R corpus=c topK=5\nrag name=A retriever=R\n"
        "  ragEval name=V metric=mrr threshold=0.5 mode=contract\n"
    )
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"_id": str(n), "title": "", "text": f"word{n} here"}) + "\n" for n in range(5)))  # fmt: skip
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text("".join(json.dumps({"_id": f"q{n}", "text": f"word{n}"}) + "\n" for n in range(5)))  # fmt: skip
    qrels.write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{n}\t{n}\t1\n" for n in range(5)))
    assert run("apply", contract).exit_code == 0
    assert run("ingest", corpus, "--corpus", "c").exit_code == 0
    imported = run("eval", "import", "A", "V", "--queries", queries, "--qrels", qrels, "--json")
    assert json.loads(imported.stdout) == {"case_count": 5, "label_count": 5, "stale_labels": 0}
    first = json.loads(run("eval", "run", "A", "--format", "json").stdout)
    assert (first["status"], first["metric_value"]) == ("passed", 1)
    (case, *_) = json.loads(run("eval", "cases", "A", "--json").stdout)
    assert (case["name"], case["origin"]) == ("q0", "imported")
    alone = run("eval", "diff", first["run_id"])
    assert (alone.exit_code, "`ragdb eval bless`" in alone.stderr) == (5, True)  # no baseline
    assert run("eval", "bless", first["run_id"]).exit_code == 0
    assert run("eval", "diff", first["run_id"]).exit_code == 0
    lines = run("eval", "export", first["run_id"]).stdout.splitlines()
    assert lines[0].split()[:4] == ["q0", "Q0", "0", "1"]
    assert run("eval", "ls").exit_code == 0
    qrels.write_text("q0 0 1 2\nq1 0 2 1\n")  # of TREC
    imported = run("eval", "import", "A", "V", "--queries", queries, "--qrels", qrels, "--judged", "--json")  # fmt: skip
    assert json.loads(imported.stdout)["case_count"] == 2
    qrels.write_text("q0 0 1 2\n" + "".join(f"q{n} 0 gone{n} 1\n" for n in range(1, 5)))
    imported = run("eval", "import", "A", "V", "--queries", queries, "--qrels", qrels, "--json")
    assert json.loads(imported.stdout)["stale_labels"] == 4
    named = ", ".join(f'"gone{n}" of case "q{n}"' for n in range(1, 4))
    assert f"stale labels: {named} and 1 more" in imported.stderr
    assert run("eval", "run", "A").exit_code == 1
    assert run("eval", "report", "x").exit_code == 2
    nulls = '{"_id": "q0\\u001b[2J", "text": "word0", "tags": null, "labels": null}\n'
    queries.write_text(f"\ufeff{nulls}", "utf-8")
    imported = run("eval", "import", "A", "V", "--queries", queries, "--json")
    assert json.loads(imported.stdout) == {"case_count": 1, "label_count": 0, "stale_labels": 0}
    ran = json.loads(run("eval", "run", "A", "--format", "json").stdout)["run_id"]
    assert run("eval", "export", ran).stdout.startswith("q0 Q0 0 1 ")
    queries.write_text(nulls * 2)
    twice = run("eval", "import", "A", "V", "--queries", queries)
    assert 'case 2 "q0" has the name of another' in twice.stderr


def test_a_table_of_questions_is_imported_without_its_heading(run: Run, tmp_path: Path) -> None:
    contract = tmp_path / "c.kern"
    contract.write_text(
        "corpus name=c\nretriever name=R corpus=c topK=5\nrag name=A retriever=R\n"
        "  ragEval name=V metric=mrr threshold=0.5\n"
    )
    assert run("apply", contract).exit_code == 0
    asked = [("q1", 'what is a "slice", and why'), ("q2", "word2")]
    for heading in ("id\ttext\n", "query-id\tquery\n", ""):
        table = tmp_path / "queries.tsv"
        table.write_text(heading + "".join(f"{name}\t{text}\n" for name, text in asked))
        assert run("eval", "import", "A", "V", "--queries", table).exit_code == 0
        assert [(c["name"], c["query"]) for c in _cases(run)] == asked
    table = tmp_path / "queries.csv"  # as a spreadsheet writes it
    table.write_bytes(
        b'\xef\xbb\xbfID,Question,Notes\r\nq1,"what is a ""slice"", and why",x\r\n\r\nq2,word2,\r\n'
    )
    assert run("eval", "import", "A", "V", "--queries", table).exit_code == 0
    assert [(c["name"], c["query"]) for c in _cases(run)] == asked
    for written in (
        'id;question\r\nq1;"what is a ""slice"", and why"\r\nq2;word2\r\n',  # as in Germany
        'q1;what is a "slice", and why\nq2;word2\n',
        '"q1"\t"what is a ""slice"", and why"\nq2\tword2\n',
    ):
        table.write_bytes(written.encode())
        assert run("eval", "import", "A", "V", "--queries", table).exit_code == 0
        assert [(c["name"], c["query"]) for c in _cases(run)] == asked
    for heading in ("query_id,query_text", "Question ID,Question", "qid;query"):
        ends = ";" if ";" in heading else ","
        table.write_text(f"{heading}\nq1{ends}word1\n")
        assert run("eval", "import", "A", "V", "--queries", table).exit_code == 0
        assert [(c["name"], c["query"]) for c in _cases(run)] == [("q1", "word1")]
    # the heading says that the columns are the other way round
    table.write_text("question,id\nword2,q2\n")
    refused = run("eval", "import", "A", "V", "--queries", table)
    assert (refused.exit_code, "the id in the first column" in refused.stderr) == (2, True)
    for line in ("q3", "q3,", ",word"):
        table.write_text(f"q1,word1\n{line}\n")
        refused = run("eval", "import", "A", "V", "--queries", table)
        assert (refused.exit_code, "row 2 is not a query" in refused.stderr) == (2, True)
    table.write_text("q1," + "x" * 200_000)
    refused = run("eval", "import", "A", "V", "--queries", table)
    assert "queries.csv:1: field larger than" in refused.stderr
    assert [c["name"] for c in _cases(run)] == ["q1"]


def test_a_judgement_in_the_first_line_is_no_heading(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("q1\t1\t1.0\nq1\t2\t-1.00\nq2\t1\t2\n")  # as data frames write numbers
    assert judgements(qrels) == {
        "q1": [{"source": "1", "grade": 1}, {"source": "2", "grade": -1}],
        "q2": [{"source": "1", "grade": 2}],
    }
    for grade in ("0.5", "1e400", "nan", "."):
        qrels.write_text(f"query\tdocument\tscore\nq1\t1\t{grade}\n")
        with pytest.raises(Failure, match=r"qrels\.tsv:2: not a judgement"):
            judgements(qrels)
    qrels.write_text("q1\t1\t0.5\nq2\t1\t1\n")
    with pytest.raises(Failure, match=r"qrels\.tsv:1: not a judgement"):
        judgements(qrels)


APPLIED = (
    "corpus name=c\nretriever name=R corpus=c topK=5\nrag name=A retriever=R\n"
    "  ragEval name=V metric=mrr threshold=0.5\n"
)


def test_a_judgement_that_is_given_twice_counts_once(run: Run, tmp_path: Path) -> None:
    contract, queries, qrels = (tmp_path / name for name in ("c.kern", "q.jsonl", "qrels.tsv"))
    contract.write_text(APPLIED)
    assert run("apply", contract).exit_code == 0
    labels = [{"source": "1"}, {"source": "2", "grade": "2"}, {"source": "3", "start": 0, "end": 4}]
    queries.write_text(json.dumps({"_id": 7, "text": "word", "labels": labels}) + "\n")
    qrels.write_text("7\t1\t1\n7\t2\t2\n7\t2\t2.0\n7\t3\t1\n7\t4\t0\n")
    given = ("eval", "import", "A", "V", "--queries", queries, "--qrels", qrels)
    assert run(*given).exit_code == 0
    (case,) = _cases(run)
    found = [(label["source"], label["grade"], "start" in label) for label in case["labels"]]
    assert found == [("1", 1, 0), ("2", 2, 0), ("3", 1, 1), ("3", 1, 0), ("4", 0, 0)]
    qrels.write_text("7\t1\t3\n")
    other = run(*given)
    assert (other.exit_code, "'7' has the document '1' twice, with grades 1 and 3" in other.stderr) == (2, True)  # fmt: skip
    qrels.write_text("7 0 1 1\n7 0 1 0\n")
    other = run(*given)
    assert (other.exit_code, "qrels.tsv:2: query '7' has the document '1'" in other.stderr) == (2, True)  # fmt: skip
    assert _cases(run) == [case]


@pytest.mark.parametrize("name", ["null", "true", '["a"]', '{"a": 1}'])
def test_an_id_that_is_neither_a_text_nor_a_number_is_refused(
    run: Run, tmp_path: Path, name: str
) -> None:
    queries = tmp_path / "q.jsonl"
    queries.write_text(f'{{"_id": {name}, "text": "word"}}\n')
    done = run("eval", "import", "A", "V", "--queries", queries)
    assert (done.exit_code, "q.jsonl:1" in done.stderr) == (2, True)


def test_a_file_without_a_query_leaves_what_was_imported(run: Run, tmp_path: Path) -> None:
    contract, queries = tmp_path / "c.kern", tmp_path / "queries.jsonl"
    contract.write_text(
        "corpus name=c\nretriever name=R corpus=c topK=5\nrag name=A retriever=R\n"
        "  ragEval name=V metric=mrr threshold=0.5\n"
    )
    queries.write_text('{"_id": "q1", "text": "word1"}\n')
    assert run("apply", contract).exit_code == 0
    assert run("eval", "import", "A", "V", "--queries", queries).exit_code == 0
    for name, text in (("e.jsonl", ""), ("b.jsonl", "\n \n"), ("h.csv", "id,text\n")):
        (tmp_path / name).write_text(text)
        refused = run("eval", "import", "A", "V", "--queries", tmp_path / name)
        assert (refused.exit_code, f"{name} has no query" in refused.stderr) == (2, True)
    unjudged = run("eval", "import", "A", "V", "--queries", queries, "--judged")
    assert (unjudged.exit_code, "no query with a label" in unjudged.stderr) == (2, True)
    assert [c["name"] for c in _cases(run)] == ["q1"]


def test_the_cases_that_are_listed_are_imported_in_another_database(
    run: Run, clone: str, tmp_path: Path
) -> None:
    contract = tmp_path / "c.kern"
    contract.write_text(
        "corpus name=c\nretriever name=R corpus=c topK=5\nrag name=A retriever=R\n"
        '  ragEval name=V metric=mrr threshold=0.5 mode=contract\n    ragCase name=own query="word1"\n'
    )
    (tmp_path / "d.txt").write_text("word1 here and word2 there")
    assert run("apply", contract).exit_code == 0
    assert run("ingest", tmp_path / "d.txt", "--corpus", "c").exit_code == 0
    queries = tmp_path / "queries.jsonl"
    label = {"source": "d.txt", "start": 0, "end": 5, "grade": 2}
    given = {"_id": "q1", "text": "word1", "tags": ["easy"], "labels": [label]}
    queries.write_text(json.dumps(given) + "\n")
    assert run("eval", "import", "A", "V", "--queries", queries).exit_code == 0
    with ragdb.connect(clone) as db:
        db.add_eval_case("A", "V", "word2", "d.txt")
    before = _cases(run)
    assert [case["origin"] for case in before] == ["contract", "imported", "asked"]
    listed = tmp_path / "cases.jsonl"
    listed.write_text(run("eval", "cases", "A", "--format", "ndjson").stdout)
    queries.write_text('{"_id": "q2", "text": "word2"}\n')
    assert run("eval", "import", "A", "V", "--queries", queries).exit_code == 0
    assert [c["name"] for c in _cases(run)] == ["own", "q2", before[2]["name"]]
    done = run("eval", "import", "A", "V", "--queries", listed, "--json")
    assert json.loads(done.stdout) == {"case_count": 2, "label_count": 2, "stale_labels": 0}
    assert _cases(run) == [*before[:2], before[2] | {"origin": "imported"}]


def _cases(run: Run) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(run("eval", "cases", "A", "--json").stdout)
    return cases


def test_refresh_says_what_is_due_and_ingest_reads_only_that(
    run: Run, clone: str, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(f"text of {name}")
    contract = tmp_path / "c.kern"
    contract.write_text(
        "corpus name=fresh refresh=24h\n  source name=a uri=a/*.txt\n"
        "corpus name=other\n  source name=b uri=b/*.txt\n"
    )
    assert run("apply", contract).exit_code == 0
    assert "source a of corpus fresh was never read and may be 1 day" in run("status").stderr
    done = run("ingest", "--contract", contract, "--due")
    assert (done.exit_code, done.stderr.count("1 written")) == (0, 2)  # what was never read is due

    def due() -> list[str]:
        rows = json.loads(run("contract", "sources", "--json").stdout)
        return [row["name"] for row in rows if row["is_due"]]

    assert due() == []
    assert "source" not in run("status").stderr
    again = run("ingest", "--contract", contract, "--due")
    assert (again.exit_code, "no source is due" in again.stderr) == (0, True)
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("update ragdb.source_readings set read_at = read_at - interval '25 hours'")
    assert due() == ["a"]
    assert "source a of corpus fresh was read" in run("status").stderr
    assert [s["name"] for s in json.loads(run("status", "--json").stdout)["sources_due"]] == ["a"]
    # nothing has changed, and yet it was read
    done = run("ingest", "--contract", contract, "--due")
    assert "1 unchanged" in done.stderr
    assert due() == []
    # what cannot be read stays as old as it was
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("update ragdb.source_readings set read_at = read_at - interval '25 hours'")
        db.execute("select ragdb.record_reading('fresh', 'a', 0, 1)")
    assert due() == ["a"]


def test_many_contracts_and_their_sources_are_listed_by_pages(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as db:
        for n in range(10, 40):
            text = f"corpus name=c{n} refresh=1d\n  source name=s{n} uri=s{n}.md\n"
            db.apply_contract(text, f"k{n}")
        db.apply_contract(
            "corpus name=c10 title=T refresh=1d\n  source name=s10 uri=s10.md\n", "k10"
        )
        db.withdraw_contract("k39")
        db.record_reading("c11", "s11", 1)

    def listed(*arguments: str) -> list[str]:
        rows = json.loads(run("contract", *arguments, "--json").stdout)
        return [row["name"] for row in rows]

    assert listed("ls") == [f"k{n}" for n in range(10, 39)]
    assert listed("ls", "--limit", "2", "-v") == ["k10", "k10"]
    assert listed("ls", "--prefix", "k1", "--after", "k11", "--limit", "2") == ["k12", "k13"]
    assert "no contract is named so" in run("contract", "ls", "--prefix", "x").stderr
    assert listed("sources") == [f"s{n}" for n in range(10, 39)]
    assert listed("sources", "--due", "--limit", "2") == ["s10", "s12"]
    assert listed("sources", "--prefix", "k2", "--after", "k27") == ["s28", "s29"]
    assert "no contract is named so" in run("contract", "sources", "--prefix", "x").stderr
    # 28 are due
    told = run("status").stderr
    assert re.findall("source (s[0-9]+) of", told) == [f"s{n}" for n in (10, *range(12, 31))]
    assert "8 sources more: `ragdb contract sources --due` lists all" in told
    told = json.loads(run("status", "--json").stdout)
    assert (len(told["sources_due"]), told["all_sources_due"]) == (20, 28)


def test_a_contract_is_in_force_by_its_own_name(run: Run, clone: str, tmp_path: Path) -> None:
    for name in ("desk", "desk-2"):
        (tmp_path / f"{name}.kern").write_text(
            f"corpus name={name} refresh=1d\n  source name=a uri={name}.txt\n"
        )
        (tmp_path / f"{name}.txt").write_text(f"text of {name}")
    assert run("apply", tmp_path / "desk-2.kern").exit_code == 0
    refused = run("ingest", "--contract", tmp_path / "desk.kern")
    assert "is not in force" in refused.stderr
    assert run("apply", tmp_path / "desk.kern").exit_code == 0
    due = ("ingest", "--due", "--contract", tmp_path / "desk.kern")
    assert "1 written" in run(*due).stderr
    # that of the other is due still
    assert "no source is due" in run(*due).stderr


def test_only_the_sources_in_force_are_read(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"text of {name}")
    contract = tmp_path / "c.kern"
    contract.write_text("corpus name=first\n  source name=a uri=./a.txt\n")
    assert run("apply", contract).exit_code == 0
    assert "1 written" in run("ingest", "--contract", contract).stderr
    for changed in (
        "corpus name=second\n  source name=a uri=a.txt\n",
        "corpus name=first\n  source name=a uri=b.txt\n",
        "corpus name=first\n  source name=a uri=a.txt\n  chunking maxTokens=60\n",
    ):
        contract.write_text(changed)
        refused = run("ingest", "--contract", contract)
        assert (refused.exit_code, f"hint: ragdb apply {contract}" in refused.stderr) == (2, True)
    assert [row["name"] for row in json.loads(run("corpus", "ls", "--json").stdout)] == ["first"]
    for given in (("--glob", "*.md"), ("--name", "x"), ("--no-recursive",), ("--overlap", 5)):
        ignored = run("ingest", "--contract", contract, *given)
        assert (ignored.exit_code, "how it is cut" in ignored.stderr) == (2, True)
    # what is not about sources may be on its way
    contract.write_text("# a\ncorpus title=T name=first\n  source uri=a.txt name=a\n")
    assert "1 unchanged" in run("ingest", "--contract", contract).stderr


def test_sources_in_another_order_are_the_same(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"text of {name}")
    contract = tmp_path / "c.kern"
    a, b = ("  source name=a uri=a.txt\n", "  source name=b uri=b.txt\n")
    contract.write_text(f"corpus name=first\n{a}{b}corpus name=second\n{a}")
    assert run("apply", contract).exit_code == 0
    assert run("ingest", "--contract", contract).exit_code == 0
    contract.write_text(f"corpus name=second\n{a}corpus name=first\n{b}{a}")
    again = run("ingest", "--contract", contract)
    assert (again.exit_code, again.stderr.count("1 unchanged")) == (0, 3)


def test_a_prompt_that_is_missing_is_told_with_all_that_is_wrong(run: Run, tmp_path: Path) -> None:
    contract, other = tmp_path / "c.kern", tmp_path / "d.kern"
    (tmp_path / "7").write_text("a prompt")
    contract.write_text(
        "corpus name=docs\nretriever name=R corpus=docs\nrag name=A retriever=R prompt=no.md\n"
        f"rag name=B retriever=R prompt={'x' * 300} citation=true\nrag name=C retriever=R prompt=7\n"
    )
    other.write_text("corpse name=docs\n")
    for verb in ("check", "apply"):
        told = run(verb, contract, other, "--json")
        problems = json.loads(told.stdout)
        assert told.exit_code == 2
        assert [(p["line"], p["column"], p["rule"]) for p in problems] == [
            (3, 24, "rag-prompt-missing"),
            (4, 24, "rag-prompt-missing"),
            (4, 332, "contract-unknown-key"),
            (1, 1, "contract-unknown-node"),
        ]
        assert problems[0]["message"] == 'prompt "no.md" of rag "A" is not a file'
    contract.write_text(contract.read_text().replace("no.md", "7").partition("rag name=B")[0])
    assert run("apply", contract).exit_code == 0
    shown = json.loads(run("contract", "export", "c", "--json").stdout)
    assert len(shown["nodes"][2]["prompt_sha256"]) == 64


def test_a_model_that_nothing_runs_is_told_with_those_that_run(
    run: Run, clone: str, tmp_path: Path
) -> None:
    contract = tmp_path / "c.kern"
    contract.write_text("corpus name=docs\nembed name=E corpus=docs model=word dims=4\n")
    assert ", or declare" not in run("apply", contract).stderr
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_embedder('words', 4)")
        db.execute("select ragdb.bind_embedder('words', 'hash', 'hash-v1')")
    assert "nothing runs word yet" in (said := run("apply", contract).stderr)
    assert ", or declare what runs: words" in said


def test_a_contract_takes_over_what_a_folder_brought_when_told_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/x.txt").write_text("a text")
    contract = tmp_path / "c.kern"
    contract.write_text("corpus name=docs\n  source name=a uri=docs/*.txt\n")
    assert run("ingest", tmp_path / "docs", "--corpus", "docs").exit_code == 0
    assert run("apply", contract).exit_code == 0
    refused = run("ingest", "--contract", contract)
    assert refused.exit_code == 2
    assert "hint: with --prefix . the contract takes it over" in refused.stderr
    named = run("ingest", "--contract", contract, "--prefix", "other")
    assert (named.exit_code, "a contract names its sources" in named.stderr) == (2, True)
    taken = run("ingest", "--contract", contract, "--prefix", ".")
    assert (taken.exit_code, "docs: 1 document" in taken.stderr) == (0, True)
    assert "1 unchanged" in run("ingest", "--contract", contract).stderr


@pytest.mark.by_day(1)
@pytest.mark.parametrize("uri", ["docs/*.txt", "docs", "*.txt"])
def test_prune_removes_what_is_gone_and_keeps_the_documents_of_an_empty_folder(
    run: Run, clone: str, tmp_path: Path, uri: str
) -> None:
    folder = tmp_path / uri.partition("*")[0]
    other = tmp_path / "other"
    for below in (folder, other):
        below.mkdir(exist_ok=True)
    for file in (folder / "x.txt", folder / "y.txt", other / "z.txt"):
        file.write_text(f"a text of {file.name}")
    contract = tmp_path / "c.kern"
    contract.write_text(f"corpus name=docs\n  source name=a uri={uri}\n  source name=b uri=other\n")
    assert run("apply", contract).exit_code == 0
    assert run("ingest", "--contract", contract).exit_code == 0

    def names() -> list[str]:
        listed = run("corpus", "documents", "docs", "--json").stdout
        return sorted(Path(row["source"]).name for row in json.loads(listed))

    (folder / "x.txt").unlink()
    pruned = run("ingest", "--contract", contract, "--prune")
    assert (pruned.exit_code, pruned.stderr.count("1 pruned")) == (0, 1)
    assert names() == ["y.txt", "z.txt"]
    (folder / "y.txt").unlink()
    assert "stays" not in run("ingest", "--contract", contract).stderr
    kept = run("ingest", "--contract", contract, "--prune")
    assert (kept.exit_code, names()) == (0, ["y.txt", "z.txt"])
    assert f"source a: {uri} has no file, and 1 document of it stays, because" in kept.stderr
    (statement,) = re.findall(r"hint: (select ragdb\.prune_sources\(.*\)) removes", kept.stderr)
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute(statement.encode())
    assert names() == ["z.txt"]
    assert "stays" not in run("ingest", "--contract", contract, "--prune").stderr


def told_to_remove(stderr: str) -> list[tuple[str, str]]:
    """What is said of documents that no source has, and the statement that removes them."""
    said = re.findall(r"source (.*: no source of .*)\n  hint: (select ragdb\..*\)) removes", stderr)
    return [(what.partition(",")[0], statement) for what, statement in said]


@pytest.mark.by_day(3)
@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("  source name=a uri=docs\n", "  source name=a uri=docs2\n", ["docs/x.txt", "docs/y.txt"]),
        (
            "  source name=a uri=docs\n  source name=b uri=docs2\n",
            "  source name=b uri=docs2\n",
            ["docs/x.txt", "docs/y.txt"],
        ),
        ("  source name=a uri=docs\n", "", ["docs/x.txt", "docs/y.txt"]),
        # of a source without a file all is told at once
        ("  source name=a uri=docs\n", "  source name=a uri=empty\n", []),
        ("  source name=a uri=**/*.txt\n", "  source name=a uri=**/x.txt\n", []),
        ("  source name=a uri=docs\n", "  source name=a uri=docs/x.txt\n", ["docs/y.txt"]),
        (
            "  source name=a uri=docs\n",
            "  source name=a uri=https://127.0.0.1/ kind=http\n",
            ["docs/x.txt", "docs/y.txt"],
        ),
    ],
)
def test_what_no_source_has_any_more_is_told_with_what_removes_it(
    run: Run, clone: str, tmp_path: Path, before: str, after: str, left: list[str]
) -> None:
    for name in ("docs/x.txt", "docs/y.txt", "docs2/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"a text of {name}")
    (tmp_path / "empty").mkdir()
    contract = tmp_path / "c.kern"
    for text in (before, after):
        contract.write_text(f"corpus name=docs\n{text}")
        assert run("apply", contract).exit_code == 0
        run("ingest", "--contract", contract)

    def names() -> set[str]:
        listed = run("corpus", "documents", "docs", "--json").stdout
        return {row["source"] for row in json.loads(listed)}

    assert "no source of" not in run("ingest", "--contract", contract).stderr
    pruned = run("ingest", "--contract", contract, "--prune")
    stays = names()
    assert stays.issuperset(left)
    told = told_to_remove(pruned.stderr)
    with psycopg.connect(clone, autocommit=True) as db:
        for _, statement in told:
            db.execute(statement.encode())
    assert (len(told), stays - names()) == (bool(left), set(left))
    assert told_to_remove(run("ingest", "--contract", contract, "--prune").stderr) == []


NAMES = [
    *("it's.txt", "[red]a.txt", "a b#c.txt", "50%_.txt", "{a}.txt", "a\\b.txt", "a,b.txt"),
    *("x.jsonl#https://a.example/one", "y.jsonl#a//b/../c", "z.jsonl#'; select 1 --"),
]


@pytest.mark.parametrize("after", ["docs2", "docs/y.txt"])
def test_what_removes_documents_removes_them_whatever_they_are_called(
    run: Run, clone: str, tmp_path: Path, after: str
) -> None:
    for folder in ("docs", "docs2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "y.txt").write_text(f"a text of {folder}")
    for name in NAMES:
        file, _, record = name.partition("#") if "jsonl" in name else (name, "", "")
        text = f"a text of {name}"
        (tmp_path / "docs" / file).write_text(
            json.dumps({"_id": record, "text": text}) if record else text
        )
    contract = tmp_path / "c.kern"
    left = f"{after.partition('/')[0]}/y.txt"
    for uri, there in (
        ("docs", {"docs/y.txt", *(f"docs/{name}" for name in NAMES)}),
        (after, {left}),
    ):
        contract.write_text(f"corpus name=docs\n  source name=a uri={uri}\n")
        assert run("apply", contract).exit_code == 0
        assert run("ingest", "--contract", contract).exit_code == 0
        listed = json.loads(run("corpus", "documents", "docs", "--json").stdout)
        assert {row["source"] for row in listed} >= there
    told = told_to_remove(run("ingest", "--contract", contract, "--prune").stderr)
    with psycopg.connect(clone, autocommit=True) as db:
        for _, statement in told:
            db.execute(statement.encode())
    listed = json.loads(run("corpus", "documents", "docs", "--json").stdout)
    assert [row["source"] for row in listed] == [left]


def test_a_statement_that_removes_many_documents_names_their_folders(
    run: Run, clone: str, tmp_path: Path
) -> None:
    """As many as nobody would paste by their names."""
    for n in range(130):
        for folder in ("docs/a/b", "docs/c", "docs/guide"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / f"{n:03}.txt").write_text(f"text {n} of {folder}")
    contract = tmp_path / "c.kern"
    stays, told = [], []
    for uri in ("docs", "docs/guide", "docs/guide/*9.txt"):
        contract.write_text(f"corpus name=docs\n  source name=a uri={uri}\n")
        assert run("apply", contract).exit_code == 0
        for _ in range(3):
            said = told_to_remove(run("ingest", "--contract", contract, "--prune").stderr)
            told += [statement for _, statement in said]
            with psycopg.connect(clone, autocommit=True) as db:
                for _, statement in said:
                    db.execute(statement.encode())
                there = db.execute("select uri from ragdb.document_sources").fetchall()
        stays.append({uri for (uri,) in there if uri.startswith("docs/")})
    assert stays[1] == {f"docs/guide/{n:03}.txt" for n in range(130)}
    assert stays[2] == {f"docs/guide/{n:03}.txt" for n in range(9, 130, 10)}
    assert max(map(len, told)) < 5000


def test_what_a_source_of_another_contract_has_is_not_told(run: Run, tmp_path: Path) -> None:
    for name in ("docs/x.txt", "docs/y.txt", "docs2/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"a text of {name}")
    contract, other = tmp_path / "c.kern", tmp_path / "d.kern"
    contract.write_text("corpus name=docs\n  source name=a uri=docs\n")
    assert run("apply", contract).exit_code == 0
    assert run("ingest", "--contract", contract).exit_code == 0
    contract.write_text("corpus name=docs\n  source name=b uri=docs2\n")
    assert run("apply", contract).exit_code == 0
    other.write_text("corpus name=docs\n  source name=c uri=docs/x.*\n")
    assert run("apply", other).exit_code == 0
    # the other names one of the two, and has not read it yet
    pruned = run("ingest", "--contract", contract, "--prune")
    ((what, statement),) = told_to_remove(pruned.stderr)
    assert what == "a: no source of a contract in force names 1 document that it read"
    assert "docs/y.txt" in statement
    other.write_text("corpus name=docs\n  source name=a uri=docs2\n")
    assert run("apply", other).exit_code == 0
    # what the source of another contract has read is told by that contract
    assert told_to_remove(run("ingest", "--contract", contract, "--prune").stderr) == []


def test_two_contracts_in_force_have_no_source_of_one_name_and_corpus(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/x.txt").write_text("a text")
    (tmp_path / "y.txt").write_text("another text")
    for name, uri in (("c1", "one"), ("c2", "*.txt")):
        (tmp_path / f"{name}.kern").write_text(f"corpus name=docs\n  source name=a uri={uri}\n")
    assert run("apply", tmp_path / "c1.kern").exit_code == 0
    assert run("ingest", "--contract", tmp_path / "c1.kern").exit_code == 0
    refused = run("apply", tmp_path / "c2.kern")
    assert refused.exit_code != 0
    assert 'source "a" is declared by another contract' in refused.stderr
    # else what is gone from one of them would be pruned with what the other reads
    (tmp_path / "c2.kern").write_text("corpus name=docs\n  source name=b uri=*.txt\n")
    assert run("apply", tmp_path / "c2.kern").exit_code == 0
    assert run("ingest", "--contract", tmp_path / "c2.kern", "--prune").exit_code == 0
    listed = json.loads(run("corpus", "documents", "docs", "--json").stdout)
    assert sorted(row["source"] for row in listed) == ["one/x.txt", "y.txt"]


def test_a_source_that_the_database_refuses_keeps_no_other_from_being_read(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("x", "y"):
        (tmp_path / f"docs/{name}.txt").write_text(f"text of {name}")
    contract = tmp_path / "c.kern"
    contract.write_text(
        "corpus name=docs\n  source name=all uri=docs/x.txt\n  source name=again uri=docs/*.txt\n"
        "  source name=and-again uri=docs/x.txt\ncorpus name=other\n  source name=o uri=docs/y.txt\n"
    )
    assert run("apply", contract).exit_code == 0
    for due in ((), ("--due",)):
        read = run("ingest", "--contract", contract, *due)
        assert read.exit_code == 2
        assert "came from contract source all, not from contract source again" in read.stderr
        assert "source and-again: docs/x.txt in corpus docs came from" in read.stderr
        assert ("other: 1 document" in read.stderr) == (not due)
    rows = json.loads(run("contract", "sources", "--json").stdout)
    told = {row["name"]: (row["documents"], row["failed"], row["is_due"]) for row in rows}
    assert told == {
        "all": (1, 0, False),
        "again": (0, 1, True),
        "and-again": (0, 1, True),
        "o": (1, 0, False),
    }


def test_what_the_database_refuses_is_told_whatever_comes_of_the_other_sources(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.txt").write_text("text of x")
    contract = tmp_path / "c.kern"
    contract.write_text(
        "corpus name=docs\n  source name=all uri=x.txt\n  source name=again uri=x.txt\n"
        "  source name=and-again uri=x.txt\ncorpus name=other\n  source name=o uri=x.txt\n"
    )
    assert run("apply", contract).exit_code == 0
    embedded: list[set[str]] = []

    def embed_all(_: Any, corpora: set[str]) -> bool:
        embedded.append(corpora)
        return False

    monkeypatch.setattr(ingest_contract, "embed_all", embed_all)
    read = run("ingest", "--contract", contract, "--embed")
    assert (read.exit_code, embedded) == (2, [{"docs", "other"}])
    assert read.stderr.count("HINT") + read.stderr.count("hint:") == 2

    def interrupted(session: Any, db: Any, corpus: str, *rest: Any) -> Any:
        return None if corpus == "other" else ingest_runs.run(session, db, corpus, *rest)

    monkeypatch.setattr(ingest_contract, "run", interrupted)
    read = run("ingest", "--contract", contract)
    assert read.exit_code == 130
    for name in ("again", "and-again"):
        assert f"source {name}: x.txt in corpus docs came from contract source all" in read.stderr


def test_a_dropped_corpus_takes_its_runs_out_of_sight(run: Run, tmp_path: Path) -> None:
    contract = tmp_path / "c.kern"
    contract.write_text(
        "corpus name=docs\n  source name=a uri=*.txt\nretriever name=R corpus=docs mode=lexical\n"
        "rag name=A retriever=R\n  ragEval name=V mode=contract\n"
        "    ragCase name=c query=text\n      ragAssert kind=chunkCountGte count=1 required=true\n"
    )
    (tmp_path / "x.txt").write_text("a text")
    made = []
    for _ in range(2):
        assert run("apply", contract).exit_code == 0
        assert run("ingest", "--contract", contract).exit_code == 0
        made.append(json.loads(run("eval", "run", "A", "--format", "json").stdout)["run_id"])
        assert run("eval", "diff", made[-1]).exit_code == 5  # no baseline
        assert run("eval", "bless", made[-1]).exit_code == 0
        assert run("eval", "diff", made[-1]).exit_code == 0
        assert run("corpus", "drop", "docs", "--yes").exit_code == 0
        assert run("eval", "report", made[-1]).exit_code == 2
    assert made[0] != made[1]


def test_help_lists_the_formats_of_a_verb(run: Run) -> None:
    for verb, formats in (
        ("run", "table|json|csv|tap|junit|md|html"),
        ("ls", "table|json|ndjson|csv"),
        ("export", "table"),
    ):
        assert f"--format {formats} " in " ".join(run("eval", verb, "--help").stdout.split())
