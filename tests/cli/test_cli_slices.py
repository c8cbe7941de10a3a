"""Conversations, slices, policies, keys and replays from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid5

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from tests.conftest import Connection, Run, Server
from tests.sql.conversations import uuid

pytestmark = pytest.mark.long

TURNS: list[dict[str, Any]] = [
    {"id": uuid(1), "role": "user", "parent_id": None, "text": "How are refunds paid?"},
    {"id": uuid(2), "role": "assistant", "parent_id": uuid(1), "text": "Refunds come by card."},
    {"id": uuid(3), "role": "user", "parent_id": uuid(2), "text": "And refunds of gifts?"},
    {"id": uuid(4), "role": "assistant", "parent_id": uuid(3), "text": "Gifts become vouchers."},
]


def done(run: Run, *arguments: Any, **how: Any) -> Any:
    """What a verb that succeeds prints with --json."""
    result = run(*arguments, "--json", **how)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def conversation(folder: Path) -> Path:
    return write(folder / "chat.jsonl", [turn | {"session": "s1"} for turn in TURNS])


def fill(connection: Connection) -> None:
    """A conversation in the corpus `chat` and a key."""
    connection.autocommit = True
    db = ragdb.Database(connection)
    with TemporaryDirectory() as folder:
        db.ingest(conversation(Path(folder)), corpus="chat")
    db.create_signing_key("k1")


@pytest.fixture
def chat(run_on: Callable[[str], Run], copied: str) -> Run:
    """The command line on a database with them."""
    return run_on(copied)


@pytest.fixture
def own_chat(run: Run, tmp_path: Path) -> Run:
    """The same, of a file that a test reads again."""
    assert run("ingest", conversation(tmp_path), "--corpus", "chat", "-q").exit_code == 0
    assert run("keys", "create", "k1").exit_code == 0
    return run


@pytest.fixture(scope="module")
def kept_chat(server18: Server, filled: str) -> Iterator[Run]:
    """`chat` on one database, for what changes nothing there."""
    with server18.copied(filled) as dsn:
        environment = {"RAGDB_DATABASE_URL": dsn, "COLUMNS": "200"}

        def run(*arguments: Any, **how: Any) -> Any:
            return CliRunner().invoke(app, [str(a) for a in arguments], env=environment, **how)

        yield run


def edges(clone: str) -> list[Any]:
    with psycopg.connect(clone) as db:
        return db.execute(
            "select p.chunk_id, c.chunk_id, e.edge_type from ragdb.edges e"
            " join ragdb.chunks p on (p.corpus_id, p.chunk_no) = (e.corpus_id, e.parent_no)"
            " join ragdb.chunks c on (c.corpus_id, c.chunk_no) = (e.corpus_id, e.child_no)"
            " order by 1, 2, 3"
        ).fetchall()


# ── ingest ──


def test_a_tree_and_flat_lines_give_one_graph(run: Run, clone: str, tmp_path: Path) -> None:
    def tree(n: int) -> dict[str, Any]:
        turn = TURNS[n]
        role = "prompter" if turn["role"] == "user" else turn["role"]
        replies = [tree(n + 1)] if n + 1 < len(TURNS) else []
        return {"message_id": turn["id"], "text": turn["text"], "role": role, "replies": replies}

    trees = write(tmp_path / "tree.jsonl", [{"message_tree_id": "s1", "prompt": tree(0)}])
    flat = write(tmp_path / "flat.jsonl", [turn | {"session": "s1"} for turn in TURNS])
    found = []
    for file in (trees, flat):
        assert run("ingest", file, "--corpus", file.stem).exit_code == 0
        with psycopg.connect(clone) as db:
            found.append(
                db.execute(
                    "select c.chunk_id, c.text, t.role, t.session_id, t.depth"
                    " from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)"
                    " join ragdb.corpora o using (corpus_id) where o.name = %s order by 1",
                    (file.stem,),
                ).fetchall()
            )
    assert found[0] == found[1]
    assert [(row[0], row[4]) for row in found[0]] == [(uuid(n), n - 1) for n in (1, 2, 3, 4)]
    assert edges(clone) == [(uuid(n), uuid(n + 1), "reply") for n in (1, 2, 3) for _ in "ab"]


def test_several_parents_keep_their_types(run: Run, clone: str, tmp_path: Path) -> None:
    turn = {"session": "s1", "role": "user"}
    file = write(
        tmp_path / "chat.jsonl",
        [
            turn | {"id": uuid(1), "text": "one", "parents": []},
            turn | {"id": uuid(2), "text": "two", "parents": [uuid(1)]},
            turn
            | {
                "id": uuid(3),
                "text": "three",
                "parents": [{"id": uuid(1), "edge_type": "branch"}, {"id": uuid(2)}],
            },
        ],
    )
    assert run("ingest", file, "--corpus", "chat").exit_code == 0
    assert edges(clone) == [
        (uuid(1), uuid(2), "reply"),
        (uuid(1), uuid(3), "branch"),
        (uuid(2), uuid(3), "default"),
    ]


def test_a_conversation_ingested_again_writes_nothing(
    own_chat: Run, clone: str, tmp_path: Path
) -> None:
    def state() -> Any:
        with psycopg.connect(clone) as db:
            return db.execute(
                "select c.version, (select array_agg(t.xmin::text) from ragdb.turns t),"
                " (select array_agg(e.xmin::text) from ragdb.edges e)"
                " from ragdb.corpora c where name = 'chat'"
            ).fetchone()

    before = state()
    report = done(own_chat, "ingest", tmp_path / "chat.jsonl", "--corpus", "chat")
    assert (report["written"], report["unchanged"]) == (0, 1)
    assert state() == before


def test_an_edited_message_changes_that_message(own_chat: Run, clone: str, tmp_path: Path) -> None:
    lines = [turn | {"session": "s1"} for turn in TURNS]
    lines[3]["text"] = "Gifts become cash."
    write(tmp_path / "chat.jsonl", lines)
    report = done(own_chat, "ingest", tmp_path / "chat.jsonl", "--corpus", "chat")
    assert report["written"] == 1
    with psycopg.connect(clone) as db:
        rows = db.execute("select chunk_id, text from ragdb.chunks order by 1").fetchall()
    assert rows == [(turn["id"], turn["text"]) for turn in lines]


def test_ids_that_are_no_uuids_become_some(run: Run, clone: str, tmp_path: Path) -> None:
    file = write(
        tmp_path / "chat.jsonl",
        [
            {"id": "m1", "session": "s", "role": "user", "text": "Hi"},
            {"id": "m2", "session": "s", "role": "user", "text": "Ho", "parent_id": "m1"},
        ],
    )
    assert run("ingest", file, "--corpus", "chat").exit_code == 0
    space = UUID("5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10")
    ids = [
        str(uuid5(space, "".join(f"\0\0\0{chr(len(f))}{f}" for f in ("chat", "s", m))))
        for m in ("m1", "m2")
    ]
    assert edges(clone) == [(*ids, "reply")]


GOOD = {"id": uuid(9), "session": "good", "role": "user", "text": "Fine."}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ([{"id": uuid(1), "parent_id": uuid(7), "text": "x"}], "not in the conversation"),
        ([{"id": uuid(1), "parent_id": uuid(1), "text": "x"}], "the turn itself"),
        (
            [
                {"id": uuid(1), "parent_id": uuid(2), "text": "x"},
                {"id": uuid(2), "parent_id": uuid(1), "text": "y"},
            ],
            "cycle",
        ),
        ([{"id": uuid(1), "text": "x"}, {"id": uuid(1), "text": "y"}], "two turns"),
        ([{"id": "x" * 501, "text": "x"}], "id is not a text"),
        ([{"id": uuid(1), "text": "x", "salience": 7}], "salience"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_conversation_is_named_and_the_others_are_stored(
    run: Run, clone: str, tmp_path: Path, bad: list[Any], says: str
) -> None:
    lines = [GOOD, *({"session": "bad", "role": "user"} | turn for turn in bad)]
    result = run("ingest", write(tmp_path / "chat.jsonl", lines), "--corpus", "chat")
    assert result.exit_code == 4, result.output
    assert says in result.output
    with psycopg.connect(clone) as db:
        assert db.execute("select chunk_id from ragdb.chunks").fetchall() == [(uuid(9),)]


@pytest.mark.shared
def test_the_trees_of_openassistant_are_ingested(run: Run, clone: str, shared: Path) -> None:
    folder = shared / "data/conv_oasst_trees"
    report = done(run, "ingest", folder / "en_100_tree.jsonl", "--corpus", "oasst")
    assert (report["written"], report["failed"]) == (100, 0)

    def count(node: dict[str, Any], depth: int = 0) -> list[tuple[str, int]]:
        below = [found for reply in node["replies"] for found in count(reply, depth + 1)]
        return [(node["message_id"], depth), *below]

    trees = (folder / "en_100_tree.jsonl").read_text().splitlines()
    expected = sorted(found for tree in trees for found in count(json.loads(tree)["prompt"]))
    with psycopg.connect(clone) as db:
        rows = db.execute(
            "select c.chunk_id, t.depth from ragdb.turns t"
            " join ragdb.chunks c using (corpus_id, chunk_no) order by 1"
        ).fetchall()
    assert rows == expected
    assert len(edges(clone)) == len(expected) - len(trees)


# ── slices ──


def test_a_slice_is_built_stored_shown_searched_verified_and_replayed(chat: Run) -> None:
    made = done(chat, "slice", "build", uuid(1), "-c", "chat", "--store")
    assert made["chunk_ids"] == [uuid(n) for n in (1, 2, 3, 4)]
    members = done(chat, "slice", "show", made["slice_id"], "-c", "chat")
    assert [m["chunk_id"] for m in members] == made["selection_order"]
    result = chat(
        "slice", "search", "refunds", "-c", "chat", "--slice", made["slice_id"], "--trace", "--json"
    )
    assert result.exit_code == 0, result.output
    hits = json.loads(result.stdout)
    assert {hit["chunk_id"] for hit in hits} == {uuid(1), uuid(2), uuid(3)}
    trace = result.stderr.split()[-1]
    assert trace == hits[0]["trace_id"]
    assert done(chat, "slice", "verify", trace) == {"valid": True, "reason": None}
    assert done(chat, "trace", "replay", trace)["verdict"] == "exact"
    assert done(chat, "trace", "why-not", trace, uuid(4))["step"] == "ranking"


def test_changed_evidence_fails_and_is_named(own_chat: Run, tmp_path: Path) -> None:
    found = own_chat("slice", "search", "refunds", "-c", "chat", "--anchor", uuid(1), "--trace")
    trace = found.stderr.split()[-1]
    lines = [turn | {"session": "s1"} for turn in TURNS]
    lines[1]["text"] = "Refunds come in cash."
    write(tmp_path / "chat.jsonl", lines)
    assert own_chat("ingest", tmp_path / "chat.jsonl", "-c", "chat", "-q").exit_code == 0
    verified = own_chat("slice", "verify", trace)
    assert verified.exit_code == 1
    assert uuid(2) in verified.stdout
    replayed = own_chat("trace", "replay", trace, "--json")
    assert replayed.exit_code == 1
    assert json.loads(replayed.stdout)["cause"] == "corpus_changed"
    assert json.loads(replayed.stdout)["changed_chunk_ids"] == [uuid(2)]


def test_a_search_without_an_anchor_finds_one_and_says_which(kept_chat: Run) -> None:
    result = kept_chat("slice", "search", "vouchers", "-c", "chat")
    assert result.exit_code == 0
    assert f"anchor {uuid(4)} (query)" in result.stderr
    assert "Gifts become vouchers." in result.stdout


def test_hits_of_a_slice_are_shown_as_turns_each_text_in_one_paragraph(
    own_chat: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [turn | {"session": "s1"} for turn in TURNS]
    lines[1]["text"] = "Refunds come\n\n```python\nin(cash)\n```"
    write(tmp_path / "chat.jsonl", lines)
    assert own_chat("ingest", tmp_path / "chat.jsonl", "-c", "chat", "-q").exit_code == 0
    monkeypatch.setenv("COLUMNS", "100")
    found = own_chat(
        "slice", "search", "refunds cash", "-c", "chat", "--anchor", uuid(1), "-k", "1"
    )
    head, turn, text = found.stdout.splitlines()[:3]
    (hit,) = done(
        own_chat, "slice", "search", "refunds cash", "-c", "chat", "--anchor", uuid(1), "-k", "1"
    )
    assert head.split()[:2] == ["1", f"{hit['score']:.3f}"]
    assert hit["chunk_id"] == uuid(2)
    assert turn.strip() == f"{hit['role']}, {hit['phase']}, depth {hit['depth']}, {uuid(2)}"
    assert text.strip() == "Refunds come ```python in(cash) ```"
    nothing = own_chat(
        "slice", "search", "zebra", "-c", "chat", "--anchor", uuid(1), "--min-score", "1"
    )
    assert (nothing.stdout.strip(), "nothing found in the slice" in nothing.stderr) == ("", True)


def test_a_policy_is_registered_listed_and_used_by_reference(
    chat: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = done(chat, "policy", "add", '{"max_nodes": 2, "version": "small"}')
    default, listed = done(chat, "policy", "ls")
    assert (default["policy_id"], default["created_at"]) == ("slice_policy_v1", None)
    assert (listed["policy_id"], listed["params_hash"]) == ("small", added["params_hash"])
    monkeypatch.setenv("COLUMNS", "80")
    lines = chat("policy", "ls").stdout.splitlines()
    assert (len(lines), "max nodes" in lines[0], " 2 " in lines[2]) == (3, True, True)
    reference = f"small@{added['params_hash']}"
    made = done(chat, "slice", "build", uuid(1), "-c", "chat", "--policy", reference)
    assert len(made["chunk_ids"]) == 2
    assert made["params_hash"] == added["params_hash"]


def test_keys_are_rotated_exported_imported_and_revoked(chat: Run, copied: str) -> None:
    made = chat("slice", "search", "refunds", "-c", "chat", "--anchor", uuid(1), "--trace")
    trace = made.stderr.split()[-1]
    rotated = chat("keys", "rotate", "k2")
    assert rotated.stdout.strip() == "k2"
    assert "k1 signs no more" in rotated.stderr
    assert {k["key_id"]: k["state"] for k in done(chat, "keys", "ls")} == {
        "k1": "verify_only",
        "k2": "active",
    }
    exported = chat("keys", "export").stdout
    with psycopg.connect(copied) as db:
        db.execute("delete from ragdb.signing_secrets")
    refused = chat("slice", "verify", trace)
    assert refused.exit_code == 1
    assert "key_absent" in refused.stdout
    assert chat("keys", "import", "-", input=exported).exit_code == 0
    assert chat("keys", "export").stdout == exported
    assert chat("slice", "verify", trace).exit_code == 0
    assert chat("keys", "revoke", "k1", "--yes").exit_code == 0
    assert "key_revoked" in chat("slice", "verify", trace).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["slice", "build", "nobody", "-c", "chat"], "RG434"),
        (["slice", "build", uuid(1), "-c", "chat", "--store", "--no-sign"], "--no-sign"),
        (["slice", "build", uuid(1), "-c", "chat", "--policy", "{"], "not JSON"),
        (["slice", "build", uuid(1), "-c", "chat", "--policy", '{"max_nodes": 0}'], "RG430"),
        (["slice", "build", uuid(1), "-c", "chat", "--policy", "none@0"], "RG431"),
        (["slice", "show", "0", "-c", "chat"], "RG435"),
        (["slice", "search", "x", "-c", "chat", "--slice", "0"], "RG435"),
        (["slice", "search", "x", "-c", "chat", "--slice", "0", "--anchor", "1"], "RG400"),
        (["slice", "search", "x", "-c", "nowhere"], "RG404"),
        (["slice", "verify", "x"], "does not begin an id"),
        (["trace", "replay", str(UUID(int=7 << 76))], "RG407"),
        (["trace", "why-not", "x", "y"], "does not begin an id"),
        (["policy", "add", "{"], "not JSON"),
        (["policy", "add", "[]"], "RG430"),
        (["keys", "create", "a b"], "RG400"),
        (["keys", "create", "k1"], "RG409"),
        (["keys", "revoke", "k9", "--yes"], "RG432"),
        (["keys", "revoke", "k1"], "--yes"),
    ],
)
def test_what_is_asked_wrongly_exits_with_2_and_says_why(
    kept_chat: Run, arguments: list[str], message: str
) -> None:
    result = kept_chat(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_keys_that_were_not_exported_are_not_imported(kept_chat: Run) -> None:
    for given in ("hello", "{}", "[]"):
        result = kept_chat("keys", "import", "-", input=given + "\n")
        assert result.exit_code == 2
        assert "line 1 is not an exported key" in result.stderr
    nothing = kept_chat("keys", "import", "-", input="")
    assert (nothing.exit_code, "there is no key in -" in nothing.stderr) == (2, True)


def test_nothing_is_signed_without_a_key(run: Run, tmp_path: Path) -> None:
    flat = write(tmp_path / "chat.jsonl", [turn | {"session": "s1"} for turn in TURNS])
    assert run("ingest", flat, "--corpus", "chat", "-q").exit_code == 0
    result = run("slice", "build", uuid(1), "-c", "chat")
    assert result.exit_code == 2
    assert "RG433" in result.stderr
    assert "ragdb keys create" in result.stderr
    assert done(run, "slice", "build", uuid(1), "-c", "chat", "--no-sign")["slice_id"]


def test_a_slice_is_searched_by_mode_floor_and_fields_of_turns(kept_chat: Run) -> None:
    def found(*more: str) -> list[str]:
        hits = done(
            kept_chat, "slice", "search", "refunds", "-c", "chat", "--anchor", uuid(1), *more
        )
        return [hit["chunk_id"] for hit in hits]

    assert set(found("--mode", "reference")) == {uuid(1), uuid(2), uuid(3)}
    assert found("--filter", '{"role": "assistant"}') == [uuid(2)]
    assert found("--min-score", "1") == []
    refused = kept_chat(
        "slice", "search", "x", "-c", "chat", "--anchor", uuid(1), "--mode", "semantic"
    )
    assert refused.exit_code == 2
    assert "RG415" in refused.stderr


def test_a_retrieval_that_fails_leaves_a_trace(chat: Run) -> None:
    failed = chat("slice", "search", "x", "-c", "chat", "--slice", "0", "--trace")
    assert failed.exit_code == 2
    (trace,) = done(chat, "trace", "ls")
    assert trace["error_code"] == "RG435"


def test_the_whole_story_is_told_by_the_client(chat: Run, copied: str) -> None:
    import ragdb

    with ragdb.connect(copied) as db:
        (anchor,) = db.resolve_anchor("chat", session="s1")
        assert (anchor.anchor, anchor.resolved_by) == (uuid(4), "session")
        reference = db.register_policy({"max_nodes": 3})
        made = db.export_slice(
            "chat",
            uuid(1),
            {"policy_id": reference.policy_id, "params_hash": reference.params_hash},
        )
        assert len(made.chunk_ids) == 3
        hits = db.retrieve_slice("chat", "refunds", slice_id=made.slice_id, client="story")
        trace = db.get_trace(hits[0].trace_id)
        assert trace.is_admissible
        assert db.replay(trace.id).verdict == "exact"
        assert db.filter_admissible("chat", made.slice_id, [uuid(1), uuid(4)]) == [uuid(1)]
        atom = db.promote_to_atom(
            trace.id, [h.chunk_id for h in hits], "Refunds come by card.", "lenient"
        )
        assert atom.code == "PROMOTED"
        refused = db.promote_to_atom(trace.id, [uuid(4)], "Refunds come by card.", "lenient")
        assert refused.code == "CHUNK_NOT_RETRIEVED"
        planes = {row.plane for row in db.search_dual("chat", "card refunds")}
        assert planes == {"raw", "atom"}
        (incident,) = db.list_incidents("chat")
        assert incident.kind == "slice_boundary_violation"


def test_a_corpus_without_a_chunk_has_nothing_to_anchor_in(run: Run) -> None:
    assert run("corpus", "create", "empty").exit_code == 0
    done = run("slice", "search", "refunds", "--corpus", "empty")
    assert done.exit_code == 2
    assert "nothing to anchor a slice in" in done.stderr


def test_a_slice_that_nobody_can_sign_says_what_makes_a_key(run: Run, tmp_path: Path) -> None:
    flat = write(tmp_path / "chat.jsonl", [turn | {"session": "s1"} for turn in TURNS])
    assert run("ingest", flat, "--corpus", "chat", "-q").exit_code == 0
    refused = run("slice", "build", uuid(1))
    assert refused.exit_code == 2
    hint = "an admin calls `ragdb keys create` once; what is only built needs none with --no-sign"
    assert hint in refused.stderr
    assert done(run, "slice", "build", uuid(1), "--no-sign")["chunk_ids"]


def test_a_verb_of_slices_takes_the_only_corpus(chat: Run) -> None:
    made = done(chat, "slice", "build", uuid(1), "--store")
    assert [listed["slice_id"] for listed in done(chat, "slice", "ls")] == [made["slice_id"]]
    assert len(done(chat, "slice", "show", made["slice_id"])) == len(made["chunk_ids"])
    named = done(chat, "slice", "search", "refunds", "--corpus", "chat")
    assert done(chat, "slice", "search", "refunds") == named


def test_stored_slices_are_listed_in_80_columns_and_named_by_how_they_begin(
    chat: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [
        done(chat, "slice", "build", uuid(n), "-c", "chat", "--store", "--policy", policy)
        for n, policy in ((1, '{"max_nodes": 2}'), (2, '{"max_nodes": 3}'))
    ]
    newest, oldest = done(chat, "slice", "ls", "-c", "chat")
    assert [newest["slice_id"], oldest["slice_id"]] == [s["slice_id"] for s in reversed(made)]
    assert (oldest["chunks"], oldest["anchor_chunk_id"]) == (2, uuid(1))
    monkeypatch.setenv("COLUMNS", "80")
    heading, *lines = chat("slice", "ls", "-c", "chat").stdout.splitlines()
    assert len(lines) == 2
    assert max(map(len, [heading, *lines])) <= 80
    for listed, line in zip((newest, oldest), lines, strict=True):
        short = line.split()[0]
        assert listed["slice_id"].startswith(short)
        members = done(chat, "slice", "show", short, "-c", "chat")
        assert len(members) == listed["chunks"]
        assert members == done(chat, "slice", "show", listed["slice_id"][:6], "-c", "chat")
        found = done(chat, "slice", "search", "refunds", "-c", "chat", "--slice", short)
        assert {hit["chunk_id"] for hit in found} <= {m["chunk_id"] for m in members}
    none = chat("slice", "show", "zzz", "-c", "chat")
    assert (none.exit_code, "RG435" in none.stderr) == (2, True)
    assert chat("slice", "show", "", "-c", "chat").exit_code == 2


def test_chunks_and_policies_are_named_by_how_they_begin(chat: Run) -> None:
    common = next(n for n in range(36) if uuid(1)[n] != uuid(2)[n])
    short = uuid(1)[: common + 1]
    policy = done(chat, "policy", "add", '{"max_nodes": 2}')
    reference = f"{policy['policy_id']}@{policy['params_hash'][:5]}"
    given = ["-c", "chat", "--policy", reference]
    made = done(chat, "slice", "build", short, *given)
    assert made["slice_id"] == done(chat, "slice", "build", uuid(1), *given)["slice_id"]
    assert made["params_hash"] == policy["params_hash"]
    ambiguous = chat("slice", "build", uuid(1)[:common], "-c", "chat")
    assert (ambiguous.exit_code, "more than one chunk begins" in ambiguous.stderr) == (2, True)
    none = chat("slice", "build", "zzz", "-c", "chat")
    assert (none.exit_code, "RG434" in none.stderr) == (2, True)
    traced = chat("search", "vouchers", "-c", "chat", "--trace", "-k", "1")
    trace = traced.stderr.split()[-1]
    assert chat("trace", "why-not", trace[:23], short).exit_code == 0
    # what is gone is asked for by its whole id
    assert (
        chat("trace", "why-not", trace[:23], "gone").exit_code
        == chat("trace", "why-not", trace, "gone").exit_code
    )
