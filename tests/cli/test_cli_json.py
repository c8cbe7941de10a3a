"""`--json`: what a verb prints on stdout is one JSON document, and so is its error on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.main import get_command

from ragdb.cli.main import app
from tests.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples/tool-library"

# Of each verb a call that succeeds, in this order. {…} is what an earlier one gave or a file
CALLS = """
init
status
doctor
maintain
ingest {handbook} --corpus hand
ingest {handbook} --corpus hand --dry-run
check {contract}
apply {contract}
ingest --contract {contract}
ingest --contract {contract} --due
corpus ls
corpus show demo
corpus create spare
corpus grant spare ragdb_reader read
corpus grants spare
corpus revoke spare ragdb_reader
corpus restrict spare
corpus unrestrict spare --yes
corpus reads spare on
corpus synonyms spare --add car,auto
corpus create piece --part-of spare
corpus parts spare
corpus sync spare
corpus optimize demo
corpus calibrate demo
corpus history demo --keep 30
corpus history demo
corpus diff demo {version}
corpus documents demo
corpus erase demo handbook/faq.html --yes
corpus delete demo handbook/minutes.docx --yes
ingest {chat} --corpus talks
corpus erase-speaker talks Kim --yes
corpus drop piece --yes
corpus drop spare --yes
repair demo
search trailer --corpus demo --trace
search trailer --corpus demo --explain
search trailer --corpus demo --group 2
search trailer --corpus demo --facets source
similar {chunk} --corpus demo
ask trailer --corpus demo
pack trailer --corpus demo
trace ls
trace show {trace}
trace verify {trace}
trace replay {trace}
trace why-not {trace} {chunk}
feedback add {trace} good --chunk {chunk}
feedback ls
feedback cases demo
keys create k1
keys ls
keys events
keys export
keys import {keys}
keys rotate k2
keys revoke k2 --yes
keys compromised k2 --yes
keys create k3
slice build {chunk} --corpus demo
slice ls --corpus demo
slice search trailer --anchor {chunk} --corpus demo
policy add {{"max_nodes":3}}
policy ls
access ls
quota set ragdb_reader --blob-bytes 1000
quota ls
ledger status
ledger seal
ledger switch off
ledger key {folder}/log.key --new
ledger checkpoint --key {folder}/log.key
ledger verify
peer key {folder}/peer.key --new
peer add north --key {hex} --url https://north.example
peer ls
peer status
peer share demo --key {folder}/peer.key
peer publish demo --key {folder}/peer.key
peer conflicts demo
peer verify demo
peer unshare demo --yes
peer revoke north --reason lost --yes
peer rm north
verify --quick
contract ls
contract sources
contract export desk
eval run Desk
eval report {run_id}
eval ls
eval cases Desk
eval bless {run_id}
eval diff {run_id}
eval import Desk Handbook --queries {queries}
eval challenge Desk
contract withdraw desk
token create web --role ragdb_reader
token ls
token revoke web
embedder ls
embedder bind hashes --provider hash --dims 64
embed demo --model hashes
reranker ls
export demo {folder}/demo.rag
import {folder}/demo.rag --corpus copy
dashboards export {folder}/dashboards
cluster routes
"""
# they need another server, a model or a network; what they print on success is `output.one`,
# `rows`, `done` or `value` like all others
ELSEWHERE = {
    "up", "down", "reembed", "reranker bind", "embedder load", "backup verify", "slice verify",
    "slice show",
    "corpus move", "cluster init", "cluster add-node", "cluster status", "cluster corpora",
    "cluster move", "cluster isolate", "cluster remove-node", "peer pull", "peer ask",
    "ledger prove", "ledger export", "ledger request", "ledger witness", "migrate",
}  # fmt: skip


def verbs() -> Iterator[tuple[str, Any]]:
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for sub, verb in getattr(command, "commands", {}).items():
            yield f"{name} {sub}", verb
        if not hasattr(command, "commands"):
            yield name, command


class Known(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return f"no-{name}"


def is_one(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.usefixtures("short_manual")
def test_what_every_verb_prints_is_one_json_document(run: Run, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "trailer"}\n')
    (tmp_path / "chat.jsonl").write_text(
        '{"role": "user", "speaker": "Kim", "text": "Is it free?"}\n'
        '{"role": "assistant", "text": "It is."}\n'
    )
    known = {
        "handbook": EXAMPLES / "handbook",
        "contract": EXAMPLES / "desk.kern",
        "folder": tmp_path,
        "hex": Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex(),
        "queries": tmp_path / "queries.jsonl",
        "chat": tmp_path / "chat.jsonl",
        "keys": tmp_path / "keys.jsonl",
    }
    done, wrong = set(), []
    for line in CALLS.strip().splitlines():
        words = [word.format_map(Known(known)) for word in line.split()]
        result = run(*words, "--json")
        if not (is_one(result.stdout) and result.exit_code in (0, 1)):
            wrong.append((line, result.exit_code, result.stdout[:200], result.stderr))
            continue
        printed = json.loads(result.stdout)
        done |= {" ".join(words[:1]), " ".join(words[:2])}
        first = printed[0] if isinstance(printed, list) and printed else printed
        if line.startswith("search") and "--trace" in words:
            known |= {"chunk": first["chunk_id"], "trace": first["trace_id"]}
        elif line == "keys export":
            (tmp_path / "keys.jsonl").write_text("\n".join(map(json.dumps, printed)))
        elif isinstance(first, dict):
            known |= {"slice": first["slice_id"]} if line.startswith("slice build") else {}
            known |= {n: first[n] for n in ("version", "run_id") if n in first}
    assert not wrong, "\n".join(map(str, wrong))
    assert {name for name, verb in verbs() if _takes_json(verb)} - ELSEWHERE <= done


def _takes_json(verb: Any) -> bool:
    return any(p.name == "format" and "json" in p.metavar.split("|") for p in verb.params)


@pytest.mark.parametrize(
    ("words", "code", "sqlstate"),
    [
        (["search", "x", "--corpus", "nosuch"], 2, "RG404"),
        (["search", "x", "--corpus", "nosuch", "--format", "ndjson"], 2, "RG404"),
        (["search", "x", "--nosuch"], 2, None),
        (["search"], 2, None),
        (["nosuch"], 2, None),
        (["demo"], 2, None),
        (["corpus", "drop", "nosuch"], 2, "RG404"),
        (["ingest", "/nosuch", "--corpus", "docs"], 2, None),
        (["trace", "show", "nosuch"], 2, "RG400"),
    ],
)
def test_an_error_is_one_json_object_on_stderr(
    run: Run, words: list[str], code: int, sqlstate: str | None
) -> None:
    result = run(*words, *([] if "--format" in words else ["--json"]))
    assert result.exit_code == code
    assert result.stdout == ""
    error = json.loads(result.stderr)
    assert (error["exit_code"], error["sqlstate"]) == (code, sqlstate)
    assert error["error"] not in ("None", "")


def test_a_server_that_is_away_is_one_json_object(run_on: Callable[[str], Run]) -> None:
    result = run_on("postgresql://nobody@127.0.0.1:1/nowhere")("status", "--json", "-q")
    assert (result.exit_code, result.stdout) == (3, "")
    assert json.loads(result.stderr)["exit_code"] == 3


def test_a_contract_that_is_not_text_is_a_row_of_check(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.kern").write_bytes(b"corpus name=\xff\n")
    result = run("check", tmp_path / "a.kern", "--json")
    assert result.exit_code == 2
    [row] = json.loads(result.stdout)
    assert (row["file"], row["severity"], row["line"], row["column"], row["message"]) == (
        str(tmp_path / "a.kern"), "error", 1, 13, "not UTF-8",
    )  # fmt: skip


def test_a_verb_shows_json_unless_it_refuses_it(run: Run) -> None:
    hidden = 0
    for name, verb in verbs():
        given: list[str] = []
        for parameter in verb.params:
            if parameter.required:
                given += parameter.opts[:1] if parameter.param_type_name == "option" else []
                given += ["1"] * max(parameter.nargs, 1)
        for flag in verb.params:
            if flag.name == "json" and flag.hidden:
                hidden += 1
                refused = run(*name.split(), *given, "--json")
                assert "'json' is not one of" in refused.stderr, (name, refused.stderr)
            elif flag.name == "format":
                is_json = "json" in flag.metavar.split("|")
                assert is_json is not next(p for p in verb.params if p.name == "json").hidden, name
    assert hidden > 5
