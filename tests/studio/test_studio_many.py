"""Of many corpora no page shows all at once, and each can be found by its name."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock

import httpx2 as httpx
import psycopg
import pytest

import ragdb
from ragdb.studio.map import _first_embedded
from ragdb.studio.pages import Studio
from tests.conftest import Server
from tests.embedding import put
from tests.http.conftest import Api, fill, served
from tests.studio.conftest import logged_in

MANY = 230
NAMES = [f"tenant-{n:03}" for n in range(MANY)]


@pytest.fixture(scope="module")
def crowd(server18: Server) -> Iterator[Api]:
    """The filled database with many more corpora, the last of which has embeddings."""
    with server18.database() as database:
        dsn = server18.dsn(database.dbname)
        tokens = fill(dsn)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.create_corpus(unnest(%s::text[]))", (NAMES,))
            db.execute("select ragdb.embed_corpus(unnest(%s::text[]), 'hash')", (NAMES[-9:],))
            put(db, {"pump.md": "a pump is primed with water"}, NAMES[-1])
        with served(dsn, tokens) as api:
            yield api


@pytest.mark.parametrize("view", ["search", "traces", "slices", "documents", "answers", "map"])
def test_one_of_many_corpora_is_written_and_the_browser_offers_names(crowd: Api, view: str) -> None:
    with logged_in(crowd) as client:
        page = client.get(f"/studio/{view}", params={"corpus": NAMES[-1]})
        assert page.status_code == 200, page.text
        assert f'name="corpus" value="{NAMES[-1]}"' in page.text
        assert len(page.content) < 20_000
        choice = page.text.partition("<datalist")[2].partition("</datalist>")[0]
        offered = re.findall('<option value="([^"]+)">', choice)
        assert len(offered) == 200
        assert NAMES[-1] in offered  # the one that was changed last
        assert re.search(r'studio/health#corpora">All 23\d</a>', page.text)
        wrong = client.get(f"/studio/{view}", params={"corpus": "tenant-x"})
        assert (wrong.status_code, "tenant-0" in wrong.text) == (404, True)


def test_health_shows_many_corpora_by_pages(crowd: Api) -> None:
    def corpora(client: httpx.Client, **asked: str) -> tuple[list[str], str]:
        page = client.get("/studio/health", params=asked)
        assert page.status_code == 200, page.text
        return re.findall(r"<td>(?:<a [^>]+>)?(tenant-\d+)", page.text), page.text

    with logged_in(crowd) as client:
        first, text = corpora(client)
        # chat and docs come first
        assert first == NAMES[:98]
        assert re.search(r'rel="next" href="\S+/studio/health\?after=tenant-097#corpora"', text)
        assert len(text) < 60_000
        second, text = corpora(client, after=NAMES[97])
        assert second == NAMES[98:198]
        last, text = corpora(client, after=NAMES[197])
        # and their embeddings
        assert last == NAMES[198:] + NAMES[-9:]
        assert 'rel="next"' not in text
        assert corpora(client, named="-22")[0] == NAMES[220:230] + NAMES[-9:]
        assert "No corpus is named so" in corpora(client, named="walrus")[1]


def test_evals_are_shown_by_pages(crowd: Api) -> None:
    def evals(client: httpx.Client, **asked: str) -> tuple[list[str], str]:
        page = client.get("/studio/evals", params=asked)
        assert page.status_code == 200, page.text
        return re.findall(r"<h2><a [^>]+>(\S+) / V", page.text), page.text

    rags = [f"Rag{n:03}" for n in range(120)]
    rag = """
    retriever name={0} corpus=tenant-001 mode=lexical topK=2
    rag name={0} retriever={0}
    ragEval name=V rag={0} mode=contract
      ragCase name=c query="x"
        ragAssert kind=contains value="x" required=true
    """
    contract = "corpus name=tenant-001\n" + "".join(map(rag.format, rags)).replace("\n    ", "\n")
    with logged_in(crowd) as client, ragdb.connect(crowd.dsn) as db:
        db.apply_contract(contract, "many")
        first, text = evals(client)
        assert first == rags[:50]
        assert text.count("<option") == 50
        assert len(text) < 60_000
        assert re.search(r'rel="next" href="\S+/studio/evals\?after=Rag049"', text)
        assert evals(client, after="Rag049")[0] == rags[50:100]
        last, text = evals(client, after="Rag099")
        assert last == rags[100:]
        assert 'rel="next"' not in text
        assert evals(client, prefix="Rag01")[0] == rags[10:20]
        assert "No rag with an eval begins so" in evals(client, prefix="walrus")[1]
        assert client.get("/studio/evals/history?rag=Rag100&eval=V").status_code == 200
        db.withdraw_contract("many")
        assert 'name="prefix"' not in evals(client)[1]


def test_the_map_asks_a_few_corpora_alone_whether_they_have_embeddings() -> None:
    db = AsyncMock()
    db.corpus_embedder.return_value = None
    corpora = [SimpleNamespace(name=name, chunks=1) for name in NAMES]
    assert asyncio.run(_first_embedded(db, corpora)) is None
    assert db.corpus_embedder.await_count == 20


def test_a_choice_of_many_corpora_asks_the_database_for_a_page() -> None:
    row = {"part_of": None, "parts": None, "moved_to": None, "chunks": 1}
    listed = [SimpleNamespace(name=name, **row) for name in NAMES]
    db = AsyncMock()
    db.list_corpora.side_effect = lambda *_, count, by_change=False: (
        listed[::-1][:count] if (by_change) else listed[:count]
    )
    db.count_corpora.return_value = SimpleNamespace(corpora=MANY)
    choice, chosen = asyncio.run(Studio(Mock()).corpora(db, None))
    assert (chosen, choice.of_many) == (NAMES[0], MANY)
    assert [one.name for one in choice] == NAMES[:-201:-1]


def test_few_corpora_are_chosen_from_a_list(site: Api) -> None:
    with logged_in(site) as client:
        text = client.get("/studio/search").text
        assert '<select name="corpus">' in text
        assert "<datalist" not in text
        assert 'name="named"' not in client.get("/studio/health").text
