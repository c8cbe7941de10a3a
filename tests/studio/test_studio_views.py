"""What the views of traces, slices and documents show, to whom, and of hostile texts."""

from __future__ import annotations

import json
import re
import shlex
import struct
import zlib
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx2 as httpx
import pytest
from markupsafe import Markup, escape
from psycopg.types.json import Jsonb

import ragdb
from ragdb.models.worker import Worker
from ragdb.server import static
from ragdb.studio.pages import brief, visible
from ragdb.studio.texts import flowing
from tests.http.conftest import ANCHOR, Api
from tests.static_twin import train
from tests.studio.conftest import HOSTILE, logged_in


def page(client: httpx.Client, path: str, **query: object) -> str:
    answer = client.get(path, params={k: str(v) for k, v in query.items()})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_a_trace_is_shown_to_who_asked_alone(site: Api, ids: dict[str, str]) -> None:
    with logged_in(site) as reader, logged_in(site, "admin") as admin:
        assert ids["trace"] in page(reader, "/studio/traces")
        assert ids["trace"] not in page(admin, "/studio/traces")
        assert admin.get(f"/studio/traces/{ids['trace']}").status_code == 404
        shown = page(reader, f"/studio/traces/{ids['trace']}")
        assert "record intact" in shown
        assert "evidence has changed since" in shown
        assert "A zebra costs a deposit." in shown


@pytest.mark.parametrize("view", ["search", "slices", "documents", "map", "traces", "answers"])
def test_whoever_looks_at_a_corpus_stays_in_it(site: Api, view: str) -> None:
    with logged_in(site) as client:
        for here in (f"/studio/{view}", f"/studio/{view}?corpus=hostile"):
            links = re.findall(r'<a href="([^"]+)" data-key', client.get(here).text)
            assert len(links) == 8
            for link in links:
                is_of_all = "evals" in link or "health" in link
                if "?" in here:
                    assert is_of_all != link.endswith("?corpus=hostile")
                assert client.get(link).status_code == 200
        lost = client.get(f"/studio/{view}?corpus=nosuch")
        assert lost.status_code == 404
        assert 'nosuch" data-key' not in lost.text


class Forms(HTMLParser):
    """The forms of a page that ask, as a browser sends them where nothing is written."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        field = dict(attrs)
        name = field.get("name")
        if tag == "form":
            self.sent.append((field["action"] or "", {}))
        elif tag == "select":
            self.select = name
        elif tag == "option" and (self.select not in self.sent[-1][1] or "selected" in field):
            self.sent[-1][1][self.select or ""] = field.get("value") or ""
        elif tag == "input" and name and field.get("type") != "checkbox":
            stays = "required" in field or field.get("type") in ("hidden", "range")
            self.sent[-1][1][name] = (field.get("value") or "x") if stays else ""


@pytest.mark.parametrize("view", ["search", "traces", "slices", "documents", "answers", "map"])
def test_a_form_in_which_nothing_is_written_is_answered(site: Api, view: str) -> None:
    with logged_in(site) as client:
        shown = page(client, f"/studio/{view}")
        asking = re.findall(r'<form [^>]*method="get".*?</form>', shown, re.DOTALL)
        assert asking
        for action, fields in Forms("".join(asking)).sent:
            known = (200, 404) if action.endswith("graph") else (200,)  # of a chunk called x
            assert client.get(action, params=fields).status_code in known, (action, fields)


def test_documents_are_searched_among_the_sources_that_begin_so(site: Api) -> None:
    with logged_in(site) as client:
        for asked in ({}, {"q": "refunds bicycle"}):
            for prefix in ("a", "b"):
                shown = page(client, "/studio/documents", corpus="docs", prefix=prefix, **asked)
                assert [f">{name}.txt<" in shown for name in "ab"] == [prefix == "a", prefix == "b"]


def test_a_question_of_spaces_lists_all_documents(site: Api) -> None:
    with logged_in(site) as client:
        shown = page(client, "/studio/documents", corpus="docs", q="  ")
        assert ">a.txt<" in shown
        assert "Nothing matches" not in shown


def test_a_replay_shows_what_left_and_what_entered(site: Api, ids: dict[str, str]) -> None:
    with logged_in(site) as client:
        shown = page(client, f"/studio/traces/{ids['trace']}", replay="true")
        rows = re.findall(r'<tr class="(\w+)"><td.*?</tr>', shown, re.DOTALL)
        assert sorted(rows) in (["entered", "left", "same"], ["entered", "left", "moved"])
        assert "one week only" in shown
        with ragdb.connect(site.dsn) as db:
            gone = next(
                row.chunk_id for row in db.replay_hits(ids["trace"]) if row.change == "left"
            )
        assert f"{gone} is not in the corpus any more" in shown
        told = page(client, f"/studio/traces/{ids['trace']}", chunk=gone)
        assert "it was returned at rank" in told


@pytest.mark.parametrize(
    ("filter", "is_listed"),
    [
        ({"corpus": "edited"}, True),
        ({"corpus": "docs"}, False),
        ({"mode": "semantic"}, False),
        ({"outcome": "failed"}, False),
        ({"outcome": "found", "mode": "lexical", "slower": "0", "since": "2020-01-01T00:00"}, True),
        ({"until": "2020-01-01T00:00"}, False),
        ({"before": "00000000-0000-7000-8000-000000000000"}, False),
    ],
)
def test_traces_are_filtered(
    site: Api, ids: dict[str, str], filter: dict[str, str], is_listed: bool
) -> None:
    with logged_in(site) as client:
        empty = dict.fromkeys(("corpus", "mode", "outcome", "slower", "since", "until"), "")
        shown = page(client, "/studio/traces", **{**empty, **filter})
        assert (ids["trace"] in shown) == is_listed


def test_every_view_takes_a_question_of_the_length_that_a_search_takes(
    site: Api, ids: dict[str, str]
) -> None:
    shown = {"document": ids["source"], "chunk": ids["page"]}
    with logged_in(site) as client:
        for view in ("search", "map", "documents", "documents/show"):
            asked = {"corpus": "handbook"} | (shown if view == "documents/show" else {})
            for query, status in ((16_384 * "a ", 200), (16_384 * "a " + "a", 400)):
                answer = client.get(f"/studio/{view}", params={**asked, "q": query})
                assert answer.status_code == status, (view, answer.text[:2000])
                assert ("keep the words that matter" in answer.text) == (status == 400)


def test_a_slice_is_drawn_anew_under_another_policy(site: Api) -> None:
    with logged_in(site) as client, ragdb.connect(site.dsn) as db:
        db.export_slice("chat", ANCHOR)
        stored = db.list_slices("chat")[0].slice_id
        whole = page(client, "/studio/slices/graph", corpus="chat", slice=stored[:12])
        assert whole.count('class="node a') == 4
        assert "as it was stored" in whole
        assert stored in page(client, "/studio/slices", corpus="chat")
        form = {"max_nodes": 2, "include_siblings": "false", "planning": 0.9, "distance_decay": ""}
        less = page(client, "/studio/slices/graph", corpus="chat", slice=stored, **form)
        assert less.count('class="node a') == 2
        assert less.count('left"><title>') == 2
        assert "max_nodes 256 → 2" in less
        assert "include_siblings true → false" in less
        assert "planning 0.9" not in less
        refused = client.get("/studio/slices/graph", params={"corpus": "chat"})
        assert refused.status_code == 400
        # one form: the corpus that is chosen is the one in which it draws
        asked = {"corpus": "chat", "anchor": f" {ANCHOR}"}
        led = client.get("/studio/slices", params=asked)
        drawn = client.get(led.url.join(led.headers["location"]))
        assert f"Slice around <code>{ANCHOR}</code>" in drawn.text
        assert page(client, "/studio/slices").count('name="corpus"') == 1
        assert "No slice" in page(client, "/studio/slices", corpus="docs", anchor="")
        assert client.get("/studio/slices/graph?corpus=chat&slice=0000").status_code == 404


def test_a_citation_leads_to_the_marked_words_and_their_page(
    site: Api, ids: dict[str, str]
) -> None:
    where = {"corpus": "handbook", "document": ids["source"]}
    with logged_in(site) as client:
        shown = page(
            client, "/studio/documents/show", **where, chunk=ids["page"], quote="both HANDS and"
        )
        assert "<mark>both hands and</mark>" in shown
        assert "in the chunk, but for case and spaces" in shown
        words = re.findall(r'<rect class="word" x="([\d.]+)" y="([\d.]+)"', shown)
        assert len(words) == 1
        assert shown.count('<rect class="all"') >= 5  # the lines of the chunk
        answer = client.get("/studio/documents/page", params={**where, "page": "3"})
        assert answer.headers["content-type"] == "image/png"
        assert answer.content.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack("!II", answer.content[16:24])
        start = answer.content.index(b"IDAT")
        (size,) = struct.unpack("!I", answer.content[start - 4 : start])
        pixels = zlib.decompress(answer.content[start + 4 : start + 4 + size])
        assert len(pixels) == height * (1 + 3 * width)
        x, y = (float(number) for number in words[0])
        line = [
            pixels[(round(y) + n) * (1 + 3 * width) + 1 + 3 * round(x) :][:240] for n in range(9)
        ]
        assert min(min(row) for row in line) < 100  # ink where the words are said to be
        assert min(pixels[-3 * width :]) == 255  # and none at the foot
        assert (
            client.get("/studio/documents/page", params={**where, "page": "9"}).status_code == 404
        )
        wrong = page(client, "/studio/documents/show", **where, chunk=ids["page"], quote="giraffes")
        assert "does not say “<bdi>giraffes</bdi>”" in wrong


def test_whoever_turns_the_page_reads_its_text(site: Api, ids: dict[str, str]) -> None:
    where = {"corpus": "handbook", "document": ids["source"]}
    with logged_in(site) as client:
        for turned in (2, 3):
            shown = page(client, "/studio/documents/show", **where, page=turned)
            beside = [int(n) for n in re.findall(r"&amp;page=(\d+)#page\">page \d+</a>", shown)]
            # what the page before ends with may go on
            assert beside[0] == turned - 1
            assert set(beside[1:]) == set(range(turned, max(beside) + 1))
            assert "first=" not in shown.partition("<figcaption")[2]
        last = page(client, "/studio/documents/show", **where, page=99)
        assert last.count('class="cut') > 0


def test_versions_that_are_not_shown_are_not_left_out_of_what_is_said(site: Api) -> None:
    def shown() -> str:
        with logged_in(site) as client:
            return page(client, "/studio/documents/show", corpus="rewritten", document="a.md")

    with ragdb.connect(site.dsn) as db:
        db.create_corpus("rewritten")
        for n in range(20):
            db.put_text("rewritten", "a.md", f"Version {n}.")
        assert "<summary>1 source, 20 versions</summary>" in shown()
        db.put_text("rewritten", "a.md", "One more.")
    assert "<summary>1 source, the latest 20 versions</summary>" in shown()


def test_no_view_of_a_corpus_says_that_it_is_there(site: Api, ids: dict[str, str]) -> None:
    with ragdb.connect(site.dsn) as db:
        chunk = db.list_chunks("secret")[0].chunk_id
    paths = [
        "/studio/traces?corpus={}",
        "/studio/slices?corpus={}",
        f"/studio/slices/graph?corpus={{}}&anchor={chunk}",
        "/studio/documents?corpus={}",
        "/studio/documents?corpus={}&q=zebra",
        "/studio/documents/show?corpus={}&document=plans.md",
        "/studio/documents/page?corpus={}&document=plans.md&page=1",
        f"/studio/search/why?corpus={{}}&q=zebra&chunk={chunk}",
    ]
    with logged_in(site) as reader, logged_in(site, "admin") as admin:
        for path in paths:
            bodies = [
                re.sub(r"[0-9a-f-]{36}|secret|absent", "", answer.text)
                for name in ("secret", "absent")
                if (answer := reader.get(path.format(name))).status_code == 404
            ]
            assert len(bodies) == 2, path
            assert bodies[0] == bodies[1], path
            assert "okapi" not in "".join(bodies)
            allowed = admin.get(path.format("secret"))
            assert allowed.status_code == (404 if "/page?" in path else 200), path
        listed = page(reader, "/studio/documents") + page(reader, "/studio/slices")
        assert "secret" not in listed


def test_hostile_texts_and_names_are_texts_in_every_view(site: Api, ids: dict[str, str]) -> None:
    with ragdb.connect(site.dsn) as db:
        chunks = {chunk.source: chunk.chunk_id for chunk in db.list_chunks("hostile")}
        asked = {"query": "<svg onload=alert(7)> zebra", "corpora": ["hostile"], "record": True}
        trace = site("POST", "/api/search", asked).body["trace_id"]
    with logged_in(site) as client:
        pages = [
            page(client, "/studio/traces"),
            page(client, f"/studio/traces/{trace}", replay="true"),
            page(client, "/studio/documents", corpus="hostile"),
            page(client, "/studio/documents", corpus="hostile", q="zebra <b>"),
            page(client, "/studio/documents", corpus="hostile", prefix="<b>"),
        ]
        for source in HOSTILE:
            where = {"corpus": "hostile", "document": source, "chunk": chunks[source]}
            pages += [
                page(client, "/studio/documents/show", **where, q="zebra <script>"),
                page(client, "/studio/documents/show", **where, quote="<img src=x"),
                page(client, "/studio/slices/graph", corpus="hostile", anchor=chunks[source]),
                page(
                    client,
                    "/studio/search/why",
                    q="zebra <b>",
                    corpus="hostile",
                    chunk=chunks[source],
                ),
            ]
        for text in pages:
            assert text.count("<script") == 1  # our own
            assert "<img" not in text
            assert "<svg on" not in text
            assert "<b>&lt;" not in text
            assert "49" not in re.findall(r"zebra (\S+) </mark>", text)


def test_a_row_of_a_score_is_drawn_as_wide_as_it_counts(site: Api) -> None:
    with logged_in(site) as client, ragdb.connect(site.dsn) as db:
        (hit,) = db.search("docs", "refunds take zebras", 1)
        shown = page(client, "/studio/search", corpus="docs", q="refunds take zebras", k=1)
        widths = re.findall(r'<rect class="word shade-\d" x="([\d.]+)" width="([\d.]+)"', shown)
        assert len(widths) == 2
        assert float(widths[1][0]) == pytest.approx(float(widths[0][1]), abs=0.02)
        assert sum(float(width) for _, width in widths) == pytest.approx(100 * hit.score, abs=0.05)
        why = page(client, "/studio/search/why", corpus="docs", q="bicycle", chunk=hit.chunk_id)
        assert "left out: ranking" in why
        assert "It has none of the query" in why


def test_the_latest_traces_are_watched_where_the_reader_asks(site: Api) -> None:
    with logged_in(site) as client:
        still = client.get("/studio/traces?corpus=docs")
        assert "refresh" not in still.headers
        assert "/studio/traces?every=10&amp;corpus=docs" in still.text
        watched = client.get("/studio/traces?every=10&corpus=docs")
        assert watched.headers["refresh"] == "10"
        assert "loaded anew every 10 s" in watched.text
        assert client.get("/studio/traces?every=1").status_code == 400


def test_a_corpus_without_a_document_says_the_next_command(site: Api) -> None:
    with ragdb.connect(site.dsn) as db:
        db.create_corpus("bare")
        db.embed_corpus("bare", "hash")
    with logged_in(site) as client:
        for query in ({}, {"q": "zebra"}):
            shown = page(client, "/studio/search", corpus="bare", **query)
            assert "ragdb ingest FOLDER --corpus bare" in shown
            assert "no embedding" not in shown
            assert "Nothing matches" not in shown
            for view in ("documents", "map"):
                shown = page(client, f"/studio/{view}", corpus="bare", **query)
                assert "ragdb ingest FOLDER --corpus bare" in shown


def test_a_failed_trace_says_what_its_code_means(site: Api) -> None:
    with logged_in(site) as client, ragdb.connect(site.dsn) as db:
        asked = {"query": "x", "corpora": ["docs"], "record": True, "mode": "semantic"}
        assert site("POST", "/api/search", asked).status == 400
        failed = page(client, "/studio/traces", outcome="failed", corpus="docs")
        id = re.findall(r'href="[./]*/studio/traces/([0-9a-f-]{36})"', failed)[0]
        shown = page(client, f"/studio/traces/{id}")
        (known,) = (row for row in db.error_codes() if row.sqlstate == "RG415")
        assert f"failed: RG415 {known.name}" in shown
        assert f"ended with RG415: {known.meaning}" in shown


def test_lines_that_were_broken_for_want_of_room_are_joined() -> None:
    long = "a deposit is refunded in full when the tool comes back clean,"
    assert flowing(f"{long}\ncomplete and working") == f"{long} complete and working"
    # short lines, lists, tables and paragraphs stay as they are
    for text in ("Tuesday 16:00\nThursday 16:00", f"{long}\n- a list", f"{long}\n\nmore", "x\n"):
        assert flowing(text) == text
    quoted = escape(f"> {long}\n> complete and working")
    assert flowing(quoted) == quoted
    marked = Markup("<mark>Tuesday</mark> 16:00 to 19:00, as it is said\n&lt;b&gt;")
    assert flowing(marked) == marked
    assert isinstance(flowing(marked), Markup)


def test_no_line_of_code_is_joined_to_another() -> None:
    prose = "a deposit is refunded in full when the tool comes back clean,\nand not before"
    one, two = "from tools import borrow, give_back, pay, refund, renew", "import ladders"
    code = f"{one}\n{two}"
    shown = flowing(f"{prose}\n```python\n{code}\n```\n{prose}")
    assert shown.count(prose.replace("\n", " ")) == 2
    assert code in shown
    # the text of a chunk may begin or end within code, which may be all of it
    assert code in flowing(f"{code}\n```\n\n{prose}")
    assert code in flowing(f"{code}\n```\n\n{prose}\n\n```sh\nragdb up")
    assert code in flowing(f"{prose}\n\n```python\n{code}")
    assert code in flowing(f"{code}\n\ndef lend(tool):\n    return tool")
    # what comes after a heading, a comment or a table is none of it
    for mark in ("# ", "// ", "-- ", "| "):
        text = f"{mark}{one} |\n{two}"
        assert flowing(text) == text


def test_values_are_written_as_json(site: Api) -> None:
    held = {"ok": True, "none": None, "share": 0.123456, "tags": ["a", "<b>"]}
    with ragdb.connect(site.dsn) as db:
        db.create_corpus("told")
        db.put_text("told", "a.md", "A zebra.", metadata=held)
    asked = {"query": "zebra", "corpora": ["told"], "record": True, "filter": {"ok": True}}
    trace = site("POST", "/api/search", asked).body["trace_id"]
    with logged_in(site) as client:
        shown = page(client, "/studio/documents/show", corpus="told", document="a.md")
        for name, value in held.items():
            written = re.findall(rf"<dt>{name}</dt><dd>(.*?)</dd>", shown)
            assert [json.loads(unescape(text)) for text in written] == [value]
        (filter,) = re.findall(
            r"<dt>filter</dt><dd><code>(.*?)</code>", page(client, f"/studio/traces/{trace}")
        )
        assert json.loads(unescape(filter)) == {"ok": True}


def test_a_name_is_seen_as_it_is(site: Api) -> None:
    for name, seen in (
        ("a b.md", "a b.md"),
        ("\u05e9\u05dc.md", "\u05e9\u05dc.md"),
        ("\u200bx", "\u200bx"),
        ("", ""),
        (" ", '" "'),
        ("\u200b\u3000", '"\\u200b\\u3000"'),
        ("\u202egnp.md", "\\u202egnp.md"),
    ):
        assert visible(name) == seen
    with logged_in(site) as client:
        for view in ("documents", "search"):
            shown = page(client, f"/studio/{view}", corpus="hostile", q="zebra")
            assert ">\\u202egnp.md</a>" in shown


def test_the_title_of_a_page_says_of_what_it_is(site: Api, ids: dict[str, str]) -> None:
    with logged_in(site) as client:
        for path, asked, title in (
            (f"traces/{ids['trace']}", {}, "zebra"),
            ("documents/show", {"document": ids["source"]}, "Safety sheet"),
            ("slices/graph", {"anchor": ids["page"]}, f"Slice around {ids['page']}"),
            ("search/why", {"q": "hands", "chunk": ids["page"]}, f"Why {ids['page']}"),
        ):
            where = {"corpus": "handbook", **asked} if asked else {}
            shown = page(client, f"/studio/{path}", **where)
            assert f"<title>{title} · ragdb studio</title>" in shown


def test_the_beginnings_of_two_runs_differ() -> None:
    runs = ("01a20771-fdfd-7c51-b05a-099584d14244", "01a20771-fded-7cd9-b9cd-f9fe9519de26")
    assert len({brief(run) for run in runs}) == 2
    assert brief("sha256:" + "ab" * 32) == "abababab"


def test_a_question_that_nobody_can_embed_is_searched_by_its_words(site: Api) -> None:
    """No worker runs a model of no provider, and a static one knows too few of some words."""
    with ragdb.connect(site.dsn) as db:
        db.create_embedder("given", 2)
        db.create_corpus("given")
        db.put_text("given", "a.txt", "A deposit is refunded.")
        db.embed_corpus("given", "given")
        db.put_embeddings("given", [db.list_chunks("given")[0].chunk_id], [0.6, 0.8])
    with logged_in(site) as client:
        shown = page(client, "/studio/search", corpus="given", q="deposit")
        assert shown.count("<article") == 1
        assert 'aria-label="semantic"' not in shown
        assert "This question has no embedding" in shown
        both = page(client, "/studio/search", corpus="vectors", q="the meaning of refunds")
        assert both.count("<section aria-label") == 1  # until a worker has embedded it


def test_what_a_search_gives_by_default_comes_before_what_each_mode_gives(
    site: Api, tmp_path: Path
) -> None:
    texts = {f"{n}.txt": f"The deposit of tool {n} is refunded." for n in range(5)}
    train("bpe", list(texts.values()), tmp_path / "small")
    with ragdb.connect(site.dsn) as db:
        static.load(db, "studio-small", str(tmp_path / "small"), is_default=False)
        db.create_corpus("meant")
        for source, text in texts.items():
            db.put_text("meant", source, text)
        db.embed_corpus("meant", "studio-small")
        best = db.search("meant", "deposit of tool 3", 5)
    assert best[0].mode == "hybrid"
    with logged_in(site) as client:
        shown = page(client, "/studio/search", corpus="meant", q="deposit of tool 3", k=5)
    first, *others = shown.split("<section aria-label=")[1:]
    assert first.startswith('"hybrid"')
    assert [re.match('"([a-z]+)"', other)[1] for other in others] == ["lexical", "semantic"]  # type: ignore[index]
    places = [first.index(hit.source) for hit in best]
    assert places == sorted(places)


def test_a_weight_that_was_left_alone_is_that_of_the_corpus_that_is_chosen(
    site: Api, tmp_path: Path
) -> None:
    texts = {f"{n}.txt": f"The deposit of saw {n} is refunded." for n in range(5)}
    train("bpe", list(texts.values()), tmp_path / "small")
    with ragdb.connect(site.dsn) as db:
        static.load(db, "studio-saws", str(tmp_path / "small"), is_default=False)
        db.create_corpus("saws")
        for source, text in texts.items():
            db.put_text("saws", source, text)
        db.embed_corpus("saws", "studio-saws")
        asked = {"corpus": "saws", "q": "deposit of saw 3", "syntax": "plain"}
        # between two steps of the slider, where a browser does not leave it
        db.connection.execute(
            "update ragdb.static_models m set lexical_weight = 0.125 from ragdb.embedders e"
            " where e.embedder_id = m.embedder_id and e.name = 'studio-saws'"
        )
        (of_model,) = (row for row in db.list_static_models() if row.embedder == "studio-saws")
        assert of_model.lexical_weight == 0.125
    with logged_in(site) as client:
        # its words alone are compared, so neither weighs more
        (form, *_) = Forms(page(client, "/studio/search", corpus="docs")).sent[1:]
        for weight, said in ((form[1]["weight"], False), ("0.35", True)):
            shown = page(client, "/studio/search", **form[1] | asked | {"weight": weight})
            assert ("lexical_weight" in shown) == said
            assert f'value="{weight if said else 0.12}"> words' in shown
        (form, *_) = Forms(page(client, "/studio/search", corpus="saws")).sent[1:]
        shown = page(client, "/studio/search", **form[1] | asked)
        assert "lexical_weight" not in shown


def test_what_was_asked_with_a_question_stays_with_its_spelling(site: Api) -> None:
    with logged_in(site) as client:
        asked = {"corpus": "docs", "q": "refunts", "syntax": "web", "per_document": 1, "k": 3}
        shown = page(client, "/studio/search", **asked)
        link = unescape(re.findall(r'Did you mean <a href="[^?]*\?([^"]*)"', shown)[0])
        assert dict(parse_qsl(link)) == {k: str(v) for k, v in asked.items()} | {"q": "refunds"}


def test_hints_name_what_the_command_line_calls_so(site: Api) -> None:
    with logged_in(site) as client:
        lost = client.get("/studio/documents", params={"corpus": "hostil"})
    assert lost.status_code == 404
    assert "did you mean hostile? <code>ragdb corpus ls</code> lists the names" in lost.text


def test_a_phrase_that_no_chunk_has_is_said(site: Api) -> None:
    asked = {"corpus": "hostile", "q": '"deposit zebra"'}
    with logged_in(site) as client:
        web = page(client, "/studio/search", **asked, syntax="web")
        assert "nothing meets the phrases and signs" in web
        assert "search with syntax plain" in web
        assert 'class="card hit"' not in web
        assert "nothing meets" not in page(client, "/studio/search", **asked)
        some = page(client, "/studio/search", corpus="hostile", q='"the zebra"', syntax="web")
        assert some.count("is looked for without") == 1
        assert 'class="card hit"' in some


def test_why_one_mode_finds_nothing_stands_in_its_column(site: Api) -> None:
    with ragdb.connect(site.dsn) as db:
        db.prepare_query("vectors", "the of and")
    Worker(site.dsn).run(until="empty")
    with logged_in(site) as client:
        shown = page(client, "/studio/search", corpus="vectors", q="the of and")
    assert "hybrid: by both" in shown
    words = shown.partition("lexical: by words")[2].partition("</section>")[0]
    assert "has no word to search for" in words
    assert "Nothing matches" not in words
    assert shown.count("has no word to search for") == 1


def test_a_search_is_the_same_through_the_doors_that_its_page_names(site: Api) -> None:
    q = "zebra 'it''s' \"<i>\" \\ $HOME"
    asked = {"corpus": "hostile", "q": q, "k": 2, "weight": 1}
    with logged_in(site) as client, ragdb.connect(site.dsn) as db:
        shown = page(client, "/studio/search", **asked, syntax="web", per_document=1)
        recipes = [
            unescape(text) for text in re.findall(r"(?s)<pre[^>]*><code>(.*?)</code>", shown)
        ]
        found = db.search("hostile", q, 2, lexical_weight=1, syntax="web", per_document=1)
        assert len(found) == 2
        sql, curl, python = recipes
        rows = db.connection.execute(sql.encode()).fetchall()
        assert [(score, text) for _, score, _, text in rows] == [(h.score, h.text) for h in found]
        words = shlex.split(curl.replace("\\\n", "").replace("$TOKEN", site.tokens["reader"]))
        assert words[:3] == ["curl", "-s", f"{site.url}/api/search"]
        body = json.loads(words[words.index("--json") + 1])
        answer = site("POST", "/api/search", body)
        assert [h["chunk_id"] for h in answer.body["hits"]] == [h.chunk_id for h in found]
        names: dict[str, Any] = {}
        exec(python.replace("connect()", f"connect({site.dsn!r})"), names)
        assert list(names["hits"]) == list(found)


def test_a_question_becomes_a_case_where_it_was_searched(site: Api) -> None:
    with logged_in(site) as client:
        shown = page(client, "/studio/search", corpus="docs", q="refunds of <b>")
        assert "Make it a case of Help / V" in shown
        assert 'name="query" value="refunds of &lt;b&gt;"' in shown
        # the secret corpus has an eval too
        assert "Make it a case" not in page(client, "/studio/search", corpus="hostile", q="zebra")


def test_a_token_proves_its_slice_and_no_other(site: Api) -> None:
    with logged_in(site) as client, ragdb.connect(site.dsn) as db:
        built = db.build_slice("chat", ANCHOR)
        db.export_slice("chat", ANCHOR)
        where = {"corpus": "chat", "slice": built.slice_id}
        assert "Verify a token" in page(client, "/studio/slices/graph", **where)
        token = str(built.admissibility_token)
        shown = page(client, "/studio/slices/graph", **where, token=f" {token} ")
        assert "the token is valid" in shown
        changed = page(client, "/studio/slices/graph", **where, token=token[:-1] + "x<b>")
        assert "the token is not valid" in changed


def test_a_chunk_is_shown_with_those_most_like_it(site: Api, ids: dict[str, str]) -> None:
    with logged_in(site) as client, ragdb.connect(site.dsn) as db:
        shown = page(
            client, "/studio/search/why", corpus="hostile", q="zebra", chunk=ids["hostile"]
        )
        alike = shown.partition("Most like it")[2]
        assert alike.count("<article") == len(db.similar("hostile", ids["hostile"], 5)) == 2


def test_each_view_shows_a_corpus_of_parts(site: Api) -> None:
    with logged_in(site) as client, ragdb.connect(site.dsn) as db:
        shown = page(client, "/studio/search", corpus="whole", q="the okapis sleep")
        found = re.findall(r'href="[./]*(/studio/[^"]*okapi[^"]*)"', shown)
        links = [unescape(link) for link in found]
        assert len(set(links)) == 4  # why, and where in its document, of each
        for link in links:
            assert "okapi" in client.get(link).raise_for_status().text
        part, chunk = db.search("whole", "okapi part-2", 1)[0].corpus, "part-2"
        assert part == "part-2"
        assert "Why this chunk" in page(
            client, "/studio/search/why", corpus="whole", q="okapi part-2", chunk=chunk
        )
        asked = {"query": "okapi", "corpora": ["whole"], "record": True}
        trace = site("POST", "/api/search", asked).body["trace_id"]
        recorded = page(client, f"/studio/traces/{trace}", replay="true")
        assert "the okapi of part-1 sleeps" in recorded
        assert "Replay: exact" in recorded
        for view in ("slices", "map"):
            assert "part-1 · part of whole" in page(client, f"/studio/{view}", corpus="whole")
        assert 'value="whole"' in shown
        assert "whole · 2 parts · 2 chunks" in shown
        assert "part-2.md" in page(client, "/studio/documents", corpus="whole")
        assert "2 parts" in page(client, "/studio/health")


def test_hints_name_verbs_of_the_command_line_and_no_function_of_sql() -> None:
    """Who looks at a page has a command line; search.html shows how a search is asked in SQL."""
    folder = Path(ragdb.__file__).parent / "studio/templates"
    called = [
        (path.name, found)
        for path in folder.glob("*.html")
        for found in re.findall(r"ragdb\.[a-z_]+\(", path.read_text())
    ]
    assert sorted(called) == [("search.html", "ragdb.connect("), ("search.html", "ragdb.search(")]


NAME = "Ada <img src=x onerror=alert(8)>"
TALK = [
    {"id": "1", "role": "user", "speaker": NAME, "text": "Who lends the zebra at the weekend?"},
    {"id": "2", "role": "assistant", "text": "The desk lends the zebra on Sunday."},
]


def test_each_view_says_who_said_a_turn_and_when(site: Api) -> None:
    with ragdb.connect(site.dsn) as db:
        db.create_corpus("talk")
        timed = {**TALK[1], "parent_id": "1", "created_at": "2026-01-05T08:01:00Z"}
        talk = {
            "doc_cid": "sha256:" + "0" * 64,
            "uri": "talk.json",
            "session": "desk",
            "messages": [TALK[0], timed],
        }
        db.put_conversations("talk", Jsonb([talk]))
        asked, told = (hit.chunk_id for hit in db.document_chunks("talk", "talk.json"))
        db.connection.execute("grant reader to current_user")
        db.connection.execute("set role reader")
        hits = db.retrieve("talk", "Who lends the zebra on Sunday?")
        pack = db.build_evidence_pack(hits.trace_id)
        cited = {"source_id": "talk.json", "chunk_id": told, "quote": "lends the zebra on Sunday"}
        db.record_answer({"answer": "the desk", "citations": [cited]}, pack)
        (recorded,) = db.list_answers("talk")
    shown = re.compile(r'<p class="speaker"><b>(.*?)</b>(.*?)</p>')
    name = "Ada &lt;img src=x onerror=alert(8)&gt;"
    with logged_in(site) as client:
        where = {"corpus": "talk", "q": "zebra"}
        pages = {
            "document": page(client, "/studio/documents/show", corpus="talk", document="talk.json"),
            "search": page(client, "/studio/search", **where),
            "documents": page(client, "/studio/documents", **where),
            "why": page(client, "/studio/search/why", **where, chunk=asked),
            "answer": page(client, f"/studio/answers/{recorded.answer_id}"),
            "trace": page(client, f"/studio/traces/{hits.trace_id}"),
        }
    for text in pages.values():
        assert "<img" not in text
    said = {view: shown.findall(text) for view, text in pages.items()}
    assert [who for who, _ in said["document"]] == [name, "assistant"]
    assert "2026-01-05 08:01:00" in said["document"][1][1]
    assert "<time" not in said["document"][0][1]  # nobody says when
    assert sorted({who for who, _ in said["search"]}) == [name, "assistant"]
    assert {who for who, _ in said["documents"]} < {name, "assistant"}
    assert said["why"][0][0] == name
    assert [who for who, _ in said["answer"]] == ["assistant"]
    assert sorted({who for who, _ in said["trace"]}) == [name, "assistant"]


def test_an_answer_says_whether_what_it_rests_on_is_unchanged(site: Api) -> None:
    with ragdb.connect(site.dsn) as db:
        db.put_text("docs", "rests.txt", "The quokka sleeps until noon.")
        db.connection.execute("grant reader to current_user")
        db.connection.execute("set role reader")
        (hit,) = hits = db.retrieve("docs", "quokka", 1)
        pack = db.build_evidence_pack(hits.trace_id)
        cited = {"source_id": hit.source, "chunk_id": hit.chunk_id, "quote": "until noon"}
        db.record_answer({"answer": "at noon", "citations": [cited]}, pack)
        answer = f"/studio/answers/{db.list_answers('docs')[0].answer_id}"
        with logged_in(site) as client:
            before = page(client, answer)
            db.connection.execute("reset role")
            db.put_text("docs", "rests.txt", "The wombat never sleeps.")
            after = page(client, answer)
        db.delete_document("docs", "rests.txt")
    for text in (before, after):
        assert "record intact" in text
    assert "evidence unchanged" in before
    assert "evidence has changed since" in after
