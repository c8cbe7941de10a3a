"""The gate, feedback, what is like a chunk, and documents with chunks, by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import ragdb
from ragdb.cli.text import unmarked
from tests.conftest import Run
from tests.sql.evidence.test_gate_floors import ANSWERED, NOT_ANSWERED, PROSE


@pytest.fixture(scope="module")
def filled(module_clone: str) -> str:
    with ragdb.connect(module_clone) as db:
        db.create_corpus("docs")
        for n, text in enumerate(PROSE):
            db.put_text("docs", f"{n}.md", text)
    return module_clone


@pytest.fixture
def run(run_on: Callable[[str], Run], filled: str) -> Run:
    return run_on(filled)


def test_ask_answers_what_the_corpus_is_about_and_nothing_else(run: Run) -> None:
    floor = json.loads(run("corpus", "show", "docs", "--json").stdout)["gate_floors"]["lexical"]
    assert run("ask", ANSWERED[1], "-c", "docs").exit_code == 0
    for question in NOT_ANSWERED:
        done = run("ask", question, "-c", "docs")
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("insufficient evidence: the corpus does not say")
    refused = json.loads(run("ask", NOT_ANSWERED[0], "--json", "-c", "docs").stdout)
    assert refused["insufficient_evidence"] is True
    assert refused["gate"]["min_score"] == floor
    asked = json.loads(
        run("ask", NOT_ANSWERED[0], "--min-score", "0.03", "--json", "-c", "docs").stdout
    )
    assert (asked["gate"]["min_score"], asked["gate"]["min_score_by"]) == (0.03, "caller")


WIFI = """# Wifi

The wifi is set up in **two steps**:

- Open [the portal](https://example.org/portal) and
  log in.

- Choose *guest* and press `Save`.
"""


def test_ask_prints_what_is_said_without_signs_of_markdown_and_quotes_it_with_them(
    run: Run, filled: str
) -> None:
    with ragdb.connect(filled) as db:
        db.put_text("wifi", "wifi.md", WIFI)
    done = run("ask", "how is the wifi set up", "-c", "wifi")
    assert done.stdout.startswith(
        "The wifi is set up in two steps:\n"
        "- Open the portal and log in.\n"
        "- Choose guest and press `Save`. [1]\n"
    )
    (citation,) = json.loads(run("ask", "how is the wifi set up", "-c", "wifi", "--json").stdout)[
        "citations"
    ]
    assert citation["quote"] == WIFI[citation["start"] : citation["end"]]
    assert citation["quote"].startswith("The wifi is set up in **two steps**:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('***x*** ![alt](a.png) [**b**](c_(d)) **[e](f "t")** [g\nh](i)', "x alt b e g h"),
        ("Run:\n\n```sh\nmake  *all*\n\nmake x\n```", "Run:\n```sh\nmake  *all*\n\nmake x\n```"),
        ("| a | **b** |\n|---|---|\n| c   | d |", "| a | b |\n|---|---|\n| c | d |"),
        ("a\nb\n1. c\n   d\n2) e", "a b\n1. c d\n2) e"),
        ("f(*args, **kwargs) __init__ 2*3*4", None),
        ("*.md and *.txt, **/*.py, 2 * 3 * 4", None),
        ("`**x**` [x][y] [ ] (z)", None),
    ],
)
def test_signs_of_markdown_are_left_out_and_no_others(text: str, said: str | None) -> None:
    assert unmarked(text) == (text if said is None else said)


def test_ask_ranks_by_the_mode_that_is_named(run: Run, filled: str) -> None:
    for mode in ("lexical", "reference"):
        asked = run("ask", ANSWERED[1], "-c", "docs", "--rank-mode", mode, "--json")
        with ragdb.connect(filled) as db:
            assert db.list_traces("docs", count=1)[0].rank_mode == mode, asked.output
    refused = run("ask", ANSWERED[1], "-c", "docs", "--rank-mode", "hybrid")
    assert refused.exit_code == 2
    assert "RG415" in refused.stderr


def test_ask_says_what_a_question_was_read_as(run: Run) -> None:
    misspelt = ANSWERED[1].replace("corpus", "corrpus")
    done = run("ask", misspelt, "-c", "docs")
    assert f"did you mean: {ANSWERED[1]}" in done.stderr, (ANSWERED[1], done.output)
    polite = f"Could you please tell me {misspelt}"
    assert f"did you mean: {ANSWERED[1]}" in run("ask", polite, "-c", "docs").stderr
    assert "did you mean" not in run("ask", ANSWERED[1], "-c", "docs").stderr


def test_what_cannot_be_recorded_is_answered_without(
    run: Run, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "RAGDB_DATABASE_URL", f"{filled} options='-c default_transaction_read_only=on'"
    )
    refused = run("ask", ANSWERED[1], "-c", "docs")
    assert refused.exit_code == 3
    assert "ragdb ask --no-record" in refused.stderr
    done = run("ask", ANSWERED[1], "-c", "docs", "--no-record")
    assert done.exit_code == 0, done.output
    assert "recorded as" not in done.stderr
    assert "citations checked" in done.stderr


def test_a_corpus_is_calibrated_by_hand(run: Run) -> None:
    (row,) = json.loads(run("corpus", "calibrate", "docs", "--json").stdout)
    assert row["mode"] == "lexical"
    assert row["chunks"] >= len(PROSE)
    shown = json.loads(run("corpus", "show", "docs", "--json").stdout)
    assert shown["gate_floors"] == {"lexical": row["floor"]}


def test_what_is_like_a_chunk_is_printed(run: Run, filled: str) -> None:
    with ragdb.connect(filled) as db:
        own = db.search("docs", "ledger checkpoint", 1)[0]
        wanted = [hit.chunk_id for hit in db.similar("docs", own.chunk_id, 3)]
    rows = json.loads(run("similar", own.chunk_id, "-c", "docs", "-k", "3", "--json").stdout)
    assert [row["chunk_id"] for row in rows] == wanted
    assert own.chunk_id not in wanted
    assert run("similar", own.chunk_id, "-c", "docs").stdout.count("█") > 10
    assert run("similar", "nothing", "-c", "docs").exit_code == 2
    by_place = run("similar", "docs", own.chunk_id)
    assert by_place.exit_code == 2
    assert "name a corpus with --corpus" in by_place.stderr


def test_documents_are_printed_with_their_chunks(run: Run, filled: str) -> None:
    how = ("search", "ledger", "-c", "docs", "-k", "2", "--group", "2")
    rows = json.loads(run(*how, "--json").stdout)
    with ragdb.connect(filled) as db:
        wanted = db.search_documents("docs", "ledger", 2, 2)
    assert [(row["source"], row["chunks"]) for row in rows] == [
        (found.source, found.chunks) for found in wanted
    ]
    shown = run(*how).stdout
    assert all(row["source"] in shown for row in rows)
    assert run(*how, "--trace").exit_code == 2


def test_feedback_is_given_listed_and_made_into_cases(run: Run, filled: str) -> None:
    with ragdb.connect(filled) as db:
        hits = db.retrieve("docs", ANSWERED[0], 2)
    trace, chunk = str(hits.trace_id), hits[0].chunk_id
    assert "no feedback yet" in run("feedback", "ls").stderr
    assert (
        "0 cases; `ragdb feedback add TRACE good --chunk" in run("feedback", "cases", "docs").stderr
    )
    # by the beginnings of ids, as lists show them
    given = ("feedback", "add", trace[:13], "good", "--chunk", chunk[:10], "--comment", "the page")
    made = json.loads(run(*given, "--json").stdout)
    (row,) = json.loads(run("feedback", "ls", "--corpus", "docs", "--json").stdout)
    assert row["feedback_id"] == made["feedback_id"]
    said = (row["verdict"], row["chunk_id"], row["comment"], row["query_text"])
    assert said == ("good", chunk, "the page", ANSWERED[0])
    done = run("feedback", "cases", "docs")
    (case,) = map(json.loads, done.stdout.splitlines())
    assert case["text"] == ANSWERED[0]
    assert [label["source"] for label in case["labels"]] == [hits[0].source]
    assert "1 case;" in done.stderr
    assert run("feedback", "cases", "docs", "--after", ANSWERED[0], "--limit", "1").stdout == ""
    assert run("feedback", "add", trace, "fine").exit_code == 2
    assert run("feedback", "add", trace, "good", "--chunk", "nothing").exit_code == 2
    unknown = "00000000-0000-7000-8000-000000000000"
    assert run("feedback", "add", unknown, "good").exit_code == 2
    assert len(json.loads(run("feedback", "ls", "--json").stdout)) == 1
    assert json.loads(run("feedback", "ls", "--since", "2999-01-01", "--json").stdout) == []


def test_an_answer_stands_for_its_trace_in_feedback(run: Run, filled: str) -> None:
    with ragdb.connect(filled) as db:
        asked = db.ask("docs", ANSWERED[0])
        answer, trace = asked.trace_summary["answer_id"], str(asked.trace_id)
        found = db.trace_hits(trace)[0].chunk_id
    for given in ((), (trace[:13],)):
        run("feedback", "add", *given, "bad", "--answer", answer)
        (row,) = json.loads(run("feedback", "ls", "--limit", "1", "--json").stdout)
        assert (row["trace_id"], row["answer_id"], row["verdict"]) == (trace, answer, "bad")
    refused = run("feedback", "add", "bad")
    assert refused.exit_code == 2
    assert "give TRACE or --answer" in refused.stderr
    assert run("feedback", "add", trace, trace, "bad").exit_code == 2
    of_hit = ("feedback", "add", "bad", "--answer", answer, "--chunk")
    assert run(*of_hit, found[:10]).exit_code == 0
    assert run(*of_hit, "nothing").exit_code == 2
