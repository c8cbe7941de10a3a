"""Why a search leaves a chunk out, and what each part gives to a score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from ragdb.errors import InvalidArgument
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.embedding import ENCODER, embed, make_corpus

WORDS = ("refund", "card", "voucher", "bicycle", "deposit", "trailer", "grinder")
QUERY = "refund of the deposit by card"


def fill(db: Connection) -> None:
    """Thirty texts: some without a word of the query, some twice, all embedded."""
    texts = {
        f"{n % 9}/{n:02}.txt": " ".join(WORDS[n * k % 7] for k in range(1, 3 + n % 5))
        + f" {n % 25}"
        for n in range(30)
    }
    texts |= {"same/a.txt": "refund refund card", "same/b.txt": "refund refund card"}
    make_corpus(db, texts)
    embed(db)
    db.execute(
        "select ragdb.put_query_embedding('docs', %s, %s)", (QUERY, Reals(ENCODER.encode([QUERY])))
    )


@pytest.fixture
def docs(server18: Server, filled: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with server18.rolled_back(filled) as db:
        yield db


def call(db: Connection, name: str, **given: Any) -> list[dict[str, Any]]:
    named = ", ".join(f"{key} => %({key})s" for key in given)
    values = {k: Jsonb(v) if isinstance(v, dict) else v for k, v in given.items()}
    found = db.execute(f"select * from ragdb.{name}({named})", values)
    columns = [column.name for column in found.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in found]


HOW: list[dict[str, Any]] = [
    {"mode": "lexical", "k": 4},
    {"mode": "semantic", "k": 3},
    {"mode": "hybrid", "k": 5, "lexical_weight": 0.7},
    {"mode": "hybrid", "k": 5, "fusion": "rrf"},
    {"mode": "hybrid", "k": 40, "min_score": 0.3, "min_lexical": 0.1},
    {"mode": "hybrid", "k": 6, "filter": {"source": {"glob": "1/*"}}},
    {"mode": "lexical", "k": 8, "per_document": 1, "collapse": True},
    {"mode": "lexical", "k": 6, "diversity": 0.6},
    {"mode": "reference", "k": 3},
]


@pytest.mark.by_day(3)
@pytest.mark.parametrize("how", HOW, ids=lambda how: "-".join(f"{k}" for k in how))
def test_a_chunk_is_a_hit_or_has_a_step_at_which_it_fell_out(
    docs: Connection, how: dict[str, Any]
) -> None:
    hits = {hit["chunk_id"]: hit for hit in call(docs, "search", corpus="docs", query=QUERY, **how)}
    assert hits
    least = min(hit["score"] for hit in hits.values())
    steps = set()
    for (chunk,) in docs.execute("select chunk_id from ragdb.list_chunks('docs')").fetchall():
        (said,) = call(docs, "explain_missing", corpus="docs", query=QUERY, chunk_id=chunk, **how)
        assert (said["step"] == "hit") == (chunk in hits), said
        assert said["last_score"] == least
        assert said["reason"]
        steps.add(said["step"])
        if chunk in hits:
            assert said["rank"] == hits[chunk]["rank"]
            assert said["score"] == hits[chunk]["score"]
        elif said["step"] == "limit":
            assert said["rank"] > len(hits)
            assert said["score"] <= least
    expected = {
        "filter": "filter",
        "min_score": "min_score",
        "collapse": "collapse",
        "diversity": "diversity",
    }
    assert {step for option, step in expected.items() if option in how} <= steps
    assert steps <= {"hit", "limit", "ranking", "depth", *expected.values()}


CHOICES: list[dict[str, Any]] = [
    {"k": 6, "mode": "lexical", "per_document": 1},
    {"k": 6, "mode": "lexical", "collapse": True},
    {"k": 6, "mode": "lexical", "diversity": 0.6},
    {"k": 40, "mode": "lexical", "collapse": True},
]


@dataclass
class Recorded:
    """A corpus with the hits of a recorded search by each choice, and whether it is past."""

    db: Connection
    hits: list[list[dict[str, Any]]]
    is_past: bool


@pytest.fixture(scope="module", params=[None, "1 day"])
def recorded(any_version: Server, request: pytest.FixtureRequest) -> Iterator[Recorded]:
    history: str | None = request.param
    with (
        any_version.database() as database,
        psycopg.connect(any_version.dsn(database.dbname), autocommit=True) as db,
    ):
        fill(db)
        long = "\n\n".join(f"The refund of deposit {n}. " + f"trailer {n} " * 150 for n in range(4))
        call(db, "put_text", corpus="docs", source="long.txt", text=long)
        if history is not None:
            db.execute("select ragdb.keep_history('docs', %s)", (history,))
            call(db, "put_text", corpus="docs", source="same/c.txt", text="refund refund card 1")
        hits = [call(db, "retrieve", corpus="docs", query=QUERY, **how) for how in CHOICES]
        if history is not None:
            db.execute("select ragdb.delete_source('docs', 'same/a.txt')")
        yield Recorded(db, hits, history is not None)


@OLDER_BY_NIGHT
@pytest.mark.parametrize("place", range(len(CHOICES)))
def test_of_a_recorded_search_the_same_choice_is_told(recorded: Recorded, place: int) -> None:
    """`limit` was said of each, beside the score of a last hit that had a lower one."""
    db, how, hits = recorded.db, CHOICES[place], recorded.hits[place]
    told: dict[str, set[bool]] = {}
    for (chunk,) in db.execute("select chunk_id from ragdb.list_chunks('docs')").fetchall():
        (why,) = call(db, "why_not", trace_id=hits[0]["trace_id"], chunk_id=chunk)
        told.setdefault(why["step"], set()).add(chunk in {hit["chunk_id"] for hit in hits})
        if not recorded.is_past:
            (said,) = call(db, "explain_missing", corpus="docs", query=QUERY, chunk_id=chunk, **how)
            assert why["step"] == said["step"], said
    choice = next(name for name in ("per_document", "collapse", "diversity") if name in how)
    assert {"hit", choice, "ranking"} <= told.keys()
    assert told.pop("hit") == {True}
    assert all(is_hit == {False} for is_hit in told.values())


def test_it_says_which_condition_which_better_chunk_and_how_many(docs: Connection) -> None:
    def why(chunk: str, **how: Any) -> tuple[str, str]:
        (said,) = call(
            docs, "explain_missing", corpus="docs", query="refund", chunk_id=chunk, **how
        )
        return said["step"], said["reason"]

    first, second = (
        hit["chunk_id"]
        for hit in call(docs, "search", corpus="docs", query="refund card", mode="lexical", k=2)
    )
    filter = {"source": first.partition(":")[0], "language": {"ne": "xx"}}
    step, reason = why(second, filter=filter)
    assert step == "filter"
    assert "source" in reason
    assert "language" not in reason
    assert why(second, mode="lexical", collapse=True)[1].count(first) == 1
    (bicycle,) = docs.execute(
        "select min(chunk_id) from ragdb.list_chunks('docs') where text !~ 'refund'"
    ).fetchone() or ("",)
    assert why(bicycle, mode="lexical")[0] == "ranking"


@pytest.mark.parametrize("how", [h for h in HOW if "min_score" not in h], ids=lambda h: str(len(h)))
def test_the_points_of_a_score_add_up_to_it(docs: Connection, how: dict[str, Any]) -> None:
    names = ("mode", "fusion", "lexical_weight")
    ranking = {name: how[name] for name in names if name in how}
    hits = call(docs, "search", corpus="docs", query=QUERY, k=9, **ranking)
    assert hits
    asked = {"corpus": "docs", "query": QUERY, **ranking}
    ids = [hit["chunk_id"] for hit in hits]
    together = call(docs, "explain_scores", chunk_ids=ids, **asked)
    for hit in hits:
        parts = call(docs, "explain_score", chunk_id=hit["chunk_id"], **asked)
        assert [{"chunk_id": hit["chunk_id"], **part} for part in parts] == [
            row for row in together if row["chunk_id"] == hit["chunk_id"]
        ]
        assert sum(part["points"] for part in parts) == pytest.approx(hit["score"], abs=1e-6)
        assert sum(part["most"] for part in parts) == pytest.approx(1)
        lexemes = {part["lexeme"] for part in parts if part["part"] == "word"}
        assert lexemes == ({"refund", "deposit", "card"} if hit["lexical_score"] else lexemes)
        assert all(part["points"] <= part["most"] + 1e-9 for part in parts)


@pytest.mark.parametrize("ids", [[], [None], ["x"] * 2, [str(n) for n in range(101)]])
def test_scores_of_no_chunk_or_of_one_twice_are_not_taken_apart(
    docs: Connection, ids: list[str | None]
) -> None:
    with pytest.raises(InvalidArgument, match="1 to 100 different chunks"):
        call(docs, "explain_scores", corpus="docs", query=QUERY, chunk_ids=ids)
