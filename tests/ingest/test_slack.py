"""An export of Slack: people and channels by their names, a channel with its threads over days."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.client.client import Client
from tests.conftest import Run

ADA: dict[str, Any] = {
    "id": "U1",
    "name": "ada",
    "profile": {"display_name": "", "real_name": "Ada"},
}
BO: dict[str, Any] = {"id": "U2", "name": "bo", "real_name": "Bo Berg", "profile": {}}
CHANNELS = [{"id": "C1", "name": "general", "members": ["U1", "U2"]}, {"id": "C2", "name": "tools"}]
ROOT, FIRST, LAST = "1735689600.000100", "1735776000.000200", "1735862400.000300"


def said(at: str, text: str, user: str = "U1", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "ts": at, "text": text} | more


DAYS: dict[str, list[dict[str, Any]]] = {
    "2025-01-01.json": [
        said(
            ROOT,
            "Who has the key, <@U2>?",
            thread_ts=ROOT,
            reply_count=2,
            replies=[{"user": "U2", "ts": FIRST}, {"user": "U1", "ts": LAST}],
        ),
        said("1735689700.000100", "It is in <#C2|>."),
    ],
    "2025-01-02.json": [
        said("1735775900.000100", "Good morning."),
        said(FIRST, "I have it.", "U2", thread_ts=ROOT, parent_user_id="U1"),
        said("1735776100.000100", "The lamp is gone.", "U2"),
    ],
    "2025-01-03.json": [said(LAST, "Thanks.", thread_ts=ROOT, parent_user_id="U1")],
}
TURNS = [
    ("Ada", "Who has the key, @Bo Berg?", 0, None),
    ("Ada", "It is in #tools.", 1, "Who has the key, @Bo Berg?"),
    ("Ada", "Good morning.", 0, None),
    ("Bo Berg", "I have it.", 1, "Who has the key, @Bo Berg?"),
    ("Bo Berg", "The lamp is gone.", 1, "Good morning."),
    ("Ada", "Thanks.", 1, "Who has the key, @Bo Berg?"),
]


def export(folder: Path, *days: str) -> Path:
    """An export of one channel with some days of it."""
    (folder / "general").mkdir(parents=True, exist_ok=True)
    (folder / "users.json").write_text(json.dumps([ADA, BO]))
    (folder / "channels.json").write_text(json.dumps(CHANNELS))
    for day in days:
        (folder / "general" / day).write_text(json.dumps(DAYS[day]))
    return folder


def turns(dsn: str, corpus: str = "chat") -> list[tuple[Any, ...]]:
    """Who said what, at which depth, in answer to what; the session is one."""
    with psycopg.connect(dsn) as db:
        found = db.execute(
            "select t.given ->> 'speaker', c.text, t.depth, p.text, t.session_id from ragdb.turns t"
            " join ragdb.chunks c using (corpus_id, chunk_no)"
            " join ragdb.corpora k using (corpus_id)"
            " left join ragdb.edges e on e.corpus_id = t.corpus_id and e.child_no = t.chunk_no"
            " left join ragdb.chunks p on p.corpus_id = t.corpus_id and p.chunk_no = e.parent_no"
            " where k.name = %s order by t.created_at",
            (corpus,),
        ).fetchall()
    assert len({session for *_, session in found}) == 1
    return [tuple(one) for *one, _ in found]


ORDERS = list(permutations(DAYS))
ORDERS.insert(1, ORDERS.pop())  # by day as they were written, and the other way round


@pytest.mark.by_day(2)
@pytest.mark.parametrize("order", ORDERS)
def test_a_thread_over_days_is_one_in_whatever_order_they_come(
    run: Run, clone: str, tmp_path: Path, order: tuple[str, ...]
) -> None:
    for n in range(1, 4):
        export(tmp_path / "export", *order[:n])
        assert run("ingest", tmp_path / "export", "--corpus", "chat").exit_code == 0
        assert run("ingest", tmp_path / "export", "--corpus", "chat").exit_code == 0
    assert turns(clone) == TURNS
    assert run("verify").exit_code == 0


@pytest.mark.parametrize("named", ["export", "export/general"])
def test_people_and_channels_have_the_names_of_their_export(
    run: Run, clone: str, tmp_path: Path, named: str
) -> None:
    export(tmp_path / "export", *DAYS)
    assert run("ingest", tmp_path / named, "--corpus", "chat").exit_code == 0
    assert turns(clone) == TURNS


INDEXES = ["channels.json", "dms.json", "groups.json", "integration_logs.json", "mpims.json"]


def documents(dsn: str, corpus: str = "chat") -> list[str]:
    with psycopg.connect(dsn) as db:
        listed = "select source from ragdb.list_documents(%s) order by 1"
        rows = db.execute(listed, (corpus,)).fetchall()
    return [source for (source,) in rows]


def test_what_an_export_has_beside_its_channels_is_no_document(
    run: Run, clone: str, tmp_path: Path
) -> None:
    """Nobody looks for the addresses of its people."""
    folder = export(tmp_path / "all/export", *DAYS)
    for name in INDEXES:
        (folder / name).write_text(json.dumps(CHANNELS))
    (folder / "notes.json").write_text(json.dumps(CHANNELS))
    result = run("ingest", tmp_path / "all", "--corpus", "chat", "--json")
    assert result.exit_code == 0, result.output
    assert documents(clone) == [
        *(f"all/export/general/{day}" for day in DAYS),
        "all/export/notes.json",
    ]
    skipped = [
        (one["uri"], one["reason"])
        for one in json.loads(result.stdout)["files"]
        if one["status"] == "skipped"
    ]
    assert skipped == [
        (f"all/export/{name}", "it is of an export of Slack, and only says what its ids mean")
        for name in sorted([*INDEXES, "users.json"])
    ]
    # who names one wants it
    assert run("ingest", folder / "users.json", "--corpus", "chat").exit_code == 0
    assert "users.json" in documents(clone)


def test_a_list_of_users_beside_something_else_is_a_document(
    run: Run, clone: str, tmp_path: Path
) -> None:
    for n, day in enumerate(["[]", "[[[", "{}", '[{"user": "U1", "ts": "soon"}]', None]):
        folder = export(tmp_path / f"{n}/data")
        if day is None:
            (tmp_path / "elsewhere").mkdir()
            (tmp_path / "elsewhere/2025-01-01.json").write_text(json.dumps(DAYS["2025-01-01.json"]))
            (folder / "logs").symlink_to(tmp_path / "elsewhere")
        else:
            (folder / "general/2025-01-01.json").write_text(day)
        run("ingest", folder, "--corpus", f"chat{n}")
        there = set(documents(clone, f"chat{n}"))
        assert {"data/channels.json", "data/users.json"} <= there, day


def test_who_names_one_day_has_nothing_else_read(run: Run, clone: str, tmp_path: Path) -> None:
    export(tmp_path / "export", *DAYS)
    day = tmp_path / "export/general/2025-01-03.json"
    assert run("ingest", day, "--corpus", "chat").exit_code == 0
    assert turns(clone) == [("U1", "Thanks.", 0, None)]


PEOPLE = ["[[[", "{}", "[1, {}]", '[{"id": "U1"}]', '[{"id": "U1", "name": "\\u0000"}]', None]


def test_what_are_no_names_names_nobody(run: Run, clone: str, tmp_path: Path) -> None:
    for n, people in enumerate(PEOPLE):
        folder = export(tmp_path / f"{n}/export", "2025-01-03.json")
        users = folder / "users.json"
        users.unlink()
        if people is None:
            (tmp_path / "elsewhere.json").write_text(json.dumps([ADA]))
            users.symlink_to(tmp_path / "elsewhere.json")
        else:
            users.write_text(people)
        assert run("ingest", folder / "general", "--corpus", f"chat{n}").exit_code == 0
        assert [who for who, *_ in turns(clone, f"chat{n}")] in (["U1"], ["\ufffd"]), people


def test_a_day_that_was_read_has_new_names_when_it_is_read_by_force(
    run: Run, clone: str, tmp_path: Path
) -> None:
    folder = export(tmp_path / "export", *DAYS)
    (folder / "users.json").unlink()
    assert run("ingest", folder, "--corpus", "chat").exit_code == 0
    assert turns(clone)[0][:2] == ("U1", "Who has the key, @U2?")
    export(folder)
    assert run("ingest", folder, "--corpus", "chat").exit_code == 0
    assert turns(clone)[0][:2] == ("U1", "Who has the key, @U2?")
    assert run("ingest", folder, "--corpus", "chat", "--force").exit_code == 0
    assert turns(clone) == TURNS


def test_a_day_of_a_thread_that_goes_and_comes_again_is_in_it_again(
    run: Run, clone: str, tmp_path: Path
) -> None:
    folder = export(tmp_path / "export", *DAYS)
    assert run("ingest", folder, "--corpus", "chat", "--dry-run").exit_code == 0
    for day in DAYS:
        assert run("ingest", folder, "--corpus", "chat").exit_code == 0
        (folder / "general" / day).unlink()
        assert run("ingest", folder, "--corpus", "chat", "--prune").exit_code == 0
        assert len(turns(clone)) == len(TURNS) - len(DAYS[day])
        export(folder, day)
    assert run("ingest", folder, "--corpus", "chat").exit_code == 0
    assert turns(clone) == TURNS


def test_a_thread_is_kept_by_an_export_of_the_corpus(run: Run, clone: str, tmp_path: Path) -> None:
    assert run("ingest", export(tmp_path / "export", *DAYS), "--corpus", "chat").exit_code == 0
    made = run("export", "chat", tmp_path / "chat.ragdb")
    assert made.exit_code == 0, made.output
    assert run("corpus", "drop", "chat", "--yes").exit_code == 0
    again = run("import", tmp_path / "chat.ragdb")
    assert again.exit_code == 0, again.output
    assert turns(clone) == TURNS


def test_what_no_export_says_joins_nothing(run: Run, clone: str, tmp_path: Path) -> None:
    """A thread that began later than what answers it, that answers itself, or in a circle."""
    folder = export(tmp_path / "export")
    one, other = "1735689600.000100", "1735776000.000200"
    days = {
        "2025-01-01.json": [said(one, "One.", thread_ts=other, replies=[{"ts": other}, {}, 5])],
        "2025-01-02.json": [
            said(other, "Two.", thread_ts=one, replies=[{"ts": one}, {"ts": other}, {"ts": "x"}])
        ],
    }
    for day, messages in days.items():
        (folder / "general" / day).write_text(json.dumps(messages))
    assert run("ingest", folder, "--corpus", "chat").exit_code == 0
    assert turns(clone) == [("Ada", "One.", 0, None), ("Ada", "Two.", 1, "One.")]


def test_a_day_by_itself_goes_into_the_channel_that_it_is_named_after(
    run: Run, clone: str, tmp_path: Path
) -> None:
    folder = export(tmp_path / "export", "2025-01-01.json", "2025-01-02.json")
    assert run("ingest", folder, "--corpus", "chat").exit_code == 0
    day = export(tmp_path / "new", "2025-01-03.json") / "general/2025-01-03.json"
    prefix = ("--prefix", "export/general")
    assert run("ingest", day, "--corpus", "chat", *prefix).exit_code == 0
    assert turns(clone) == [*TURNS[:-1], ("U1", *TURNS[-1][1:])]


@pytest.mark.parametrize("later", ["2025-01-02.json", "2025-01-01.json"])
def test_a_message_may_be_of_another_day_in_a_newer_export(
    run: Run, clone: str, tmp_path: Path, later: str
) -> None:
    """Days begin when those of who exports begin."""
    folder = export(tmp_path / "export", *DAYS)
    assert run("ingest", folder, "--corpus", "chat").exit_code == 0
    (earlier,) = {"2025-01-01.json", "2025-01-02.json"} - {later}
    moved = dict(DAYS) | {
        later: [*DAYS[later], DAYS[earlier][-1]],
        earlier: DAYS[earlier][:-1],
    }
    for day, messages in moved.items():
        (folder / "general" / day).write_text(json.dumps(messages))
    result = run("ingest", folder, "--corpus", "chat")
    assert result.exit_code == 0, result.stderr
    assert [text for _, text, *_ in turns(clone)] == [text for _, text, *_ in TURNS]


def test_a_day_with_what_was_changed_or_deleted_is_one_of_a_channel(
    run: Run, clone: str, tmp_path: Path
) -> None:
    """Some exports keep the events, in which nobody says anything."""
    folder = export(tmp_path / "export")
    day = [
        said(ROOT, "Good evening.", edited={"user": "U1", "ts": "1735689601.000100"}),
        said("1735689602.000100", "") | {"subtype": "message_changed", "hidden": True},
        {"type": "message", "subtype": "message_deleted", "hidden": True}
        | {"ts": "1735689603.000100", "deleted_ts": "1735689599.000100", "channel": "C1"},
    ]
    del day[1]["text"]
    (folder / "general/2025-01-01.json").write_text(json.dumps(day))
    assert run("ingest", folder, "--corpus", "chat").exit_code == 0
    assert turns(clone) == [("Ada", "Good evening.", 0, None)]


def test_a_name_is_no_longer_than_slack_lets_it_be(run: Run, clone: str, tmp_path: Path) -> None:
    """A text that has it many times would be longer than the memory."""
    name = "long " * 100_000
    for where in ("users", "message", "channels"):
        folder = export(tmp_path / where / "export")
        mark = "<#C1> " if where == "channels" else "<@U1> "
        message = said(
            ROOT, mark * 1000, user_profile={"real_name": name if where == "message" else ""}
        )
        for file, of in (("users", "U1"), ("channels", "C1")):
            given = [{"id": of, "name": name}] if where == file else []
            (folder / f"{file}.json").write_text(json.dumps(given))
        (folder / "general/2025-01-01.json").write_text(json.dumps([message]))
        assert run("ingest", folder, "--corpus", where).exit_code == 0
        ((_, text, *_),) = turns(clone, where)
        assert 1000 * 70 < len(text) < 1000 * 90, where


def test_the_database_is_asked_once_what_a_message_of_a_thread_is_called(
    run: Run, clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both days of a reply know of it, and a thread may have thousands."""
    asked: list[str] = []
    turn_id = Client.turn_id

    def asking(self: Client, corpus: str, session: str, id: str) -> str:
        asked.append(id)
        return turn_id(self, corpus, session, id)

    monkeypatch.setattr(Client, "turn_id", asking)
    assert run("ingest", export(tmp_path / "export", *DAYS), "--corpus", "chat").exit_code == 0
    assert sorted(asked) == [ROOT, FIRST, LAST]
    assert turns(clone) == TURNS
