"""Evals, answers, health and the map: what they say, to whom, and what their forms do."""

from __future__ import annotations

import re
from html import unescape
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest

import ragdb
from ragdb.models.worker import Worker
from ragdb.studio import runs as drawn
from ragdb.studio.pages import drift
from tests.http.conftest import Api, served
from tests.studio.conftest import CASE, CASES, CLAIM, KERN, WIDE, logged_in, report

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2 as httpx

    from tests.conftest import Run

HISTORY = "/studio/evals/history?rag=Help&eval=V"


def csrf(page: str) -> str:
    return page.partition('name="csrf" value="')[2][:64]


def runs(page: str) -> list[str]:
    return re.findall(r'href="[./]*(/studio/evals/run/[0-9a-f-]{36})"', page)


def test_a_run_that_is_older_than_those_listed_is_drawn() -> None:
    newest, older, oldest = (SimpleNamespace(run_id=UUID(int=n)) for n in (3, 2, 1))
    until: Any = drawn.until
    assert until([newest, older], oldest, 6) == [oldest]
    assert until([newest, older, oldest], older, 6) == [older, oldest]
    assert until([newest, older, oldest], newest, 2) == [newest, older]


def test_cases_stand_beside_runs_and_only_what_differs_on_request(site: Api) -> None:
    with logged_in(site) as client:
        page = client.get(HISTORY).text
        assert page.count('scope="row"') == CASES + 1
        # a quarter of the cases looks for a word that only the second run's text has
        differs = client.get(HISTORY + "&differs=true").text
        assert 1 < differs.count('scope="row"') < CASES
        assert differs.count('class="differs"') == differs.count('scope="row"') - 1


def test_an_eval_that_nobody_declares_is_not_there(site: Api) -> None:
    with logged_in(site) as client:
        for rag, eval in (("Help", "W"), ("Hel", "V"), ("<b>", "V"), ("Plan", "V")):
            lost = client.get("/studio/evals/history", params={"rag": rag, "eval": eval})
            assert lost.status_code == 404
            assert "never run" not in lost.text
        assert "Challenge it" in client.get(HISTORY).text
    with ragdb.connect(site.dsn) as db:
        text = KERN.format(rag="Past", corpus="docs").replace("Rdocs", "Past")
        text += CASE.format(name="a", query="refunds", value="fourteen")
        db.apply_contract(text, "past")
        db.run_eval("Past")
        db.withdraw_contract("past")
    with logged_in(site) as client:
        past = client.get("/studio/evals/history?rag=Past&eval=V").text
        assert "declares this eval any more" in past
        assert "Challenge it" not in past


def test_a_run_shows_what_was_expected_and_what_was_got(site: Api) -> None:
    with logged_in(site) as client:
        run = runs(client.get(HISTORY).text)[0]
        page = client.get(run + "?failed=true").text
        assert "expected a retrieved chunk text contains" in page
        whole = client.get(run).text
        assert whole.count("<article") == CASES
        assert page.count("<article") == whole.count(">failed</span>") - 1  # the run's own


def test_a_run_links_no_trace_that_its_reader_may_not_see(site: Api) -> None:
    """Those of a run are of who ran it."""
    case = CASE.format(name="zebra", query="zebra", value="zebra")
    with ragdb.connect(site.dsn) as db:
        db.apply_contract(KERN.format(rag="Own", corpus="hostile") + case, "own")
        db.connection.execute("grant writer to current_user")
        db.connection.execute("set role writer")
        own = db.run_eval("Own").run_id
        db.connection.execute("reset role")
        db.withdraw_contract("own")  # other tests count the evals of the site
    link = re.compile(r'href="[./]*(/studio/traces/[0-9a-f-]{36})"')
    with logged_in(site) as client:
        page = client.get(f"/studio/evals/run/{own}").text
        assert not link.search(page)
        assert "writer recorded its retrievals" in page
    with logged_in(site, "writer") as client:
        page = client.get(f"/studio/evals/run/{own}").text
        (found,) = link.findall(page)
        assert client.get(found).status_code == 200
        assert "recorded its retrievals" not in page


def test_a_comparison_says_the_verdict_and_the_cases_that_differ(site: Api) -> None:
    with logged_in(site) as client:
        newest, middle = runs(client.get(HISTORY).text)[:2]
        ids = {"run": newest[-36:], "baseline": middle[-36:]}
        page = client.get("/studio/evals/compare", params=ids).text
        assert ">incomparable</span>" in page  # a document changed between them
        assert page.count('class="differs"') > 0
        assert "mean now" in page
        assert "A run itself says its hit rate over its assertions" in page
        # which run is which, and the bounds of an interval, are read
        for n, which in ((2, "now"), (1, "before")):
            assert re.search(rf"{which}: .*run {n} &lt;u&gt;.*{CASES} cases passed", page)
        assert re.search(r">[+-]\d\.\d{3} to [+-]\d\.\d{3}</span>", page)


def test_each_view_of_an_eval_says_how_many_cases_passed(site: Api) -> None:
    with logged_in(site) as client:
        history = client.get(HISTORY).text
        assert f"<span>{CASES} cases</span>" in history
        differing = client.get(HISTORY + "&differs=true").text
        assert re.search(rf"<span>\d+ of {CASES} cases differ</span>", differing)
        for path in ("/studio/evals", runs(history)[0]):
            assert re.search(rf"\d+ of {CASES} cases passed", client.get(path).text), path


def test_an_unanswered_question_becomes_a_case_in_one_click(site: Api) -> None:
    with psycopg.connect(site.dsn, autocommit=True) as db:
        # a writer sees what it asked itself
        db.execute("grant writer to current_user")
        db.execute("set role writer")
        db.execute("select * from ragdb.retrieve('docs', 'where is the moon')")
    with logged_in(site, "writer") as client:
        page = client.get("/studio/answers").text
        form = page.partition("where is the moon</a>")[2].partition("</form>")[0]
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
        fields["eval"] = fields["eval"].replace("&amp;", "&")
        assert fields["query"] == "where is the moon"
        for wrong in ({**fields, "csrf": "0" * 64}, {**fields, "eval": "rag=Help"}):
            assert client.post("/studio/evals/case", data=wrong).status_code in (400, 403)
        for _ in range(2):  # asked twice it is one case
            answer = client.post("/studio/evals/case", data=fields)
            assert answer.status_code == 303, answer.text
        assert "added=where-is-the-moon-" in answer.headers["location"]
        assert "is in. It fails until" in client.get(answer.headers["location"]).text
        page = client.get("/studio/answers").text
        assert "case Help/V: where-is-the-moon-" in page
    with ragdb.connect(site.dsn) as db:
        run = db.run_eval("Help", tags=["asked"])
        (case,) = db.eval_case_results(run.run_id)
        assert (case.query, case.status) == ("where is the moon", "failed")
        db.connection.execute("delete from ragdb.eval_runs where run_id = %s", [run.run_id])
        db.connection.execute("delete from ragdb.eval_cases where asked_at is not null")


def test_who_may_not_write_makes_no_case_and_no_baseline(site: Api) -> None:
    with logged_in(site) as client:
        page = client.get("/studio/evals").text
        fields = {"csrf": csrf(page), "query": "why", "eval": "rag=Help&eval=V"}
        assert client.post("/studio/evals/case", data=fields).status_code == 403
        run = runs(page)[0]
        refused = client.post(run + "/bless", data={"csrf": csrf(page)})
        assert refused.status_code == 403
        assert "has no write right" in refused.text
        assert client.get("/studio/evals").status_code == 200  # and is still logged in


def test_a_challenge_says_which_broken_retrievers_an_eval_notices(site: Api) -> None:
    with logged_in(site, "admin") as admin, logged_in(site) as reader:
        page = admin.get("/studio/evals/history?rag=Plan&eval=V").text
        (action,) = re.findall(r'action="[./]*(/studio/evals/challenge[^"]*)"', page)
        here = unescape(action)
        assert admin.post(here, data={"csrf": "0" * 64}).status_code == 403
        hidden = reader.post(here, data={"csrf": csrf(reader.get("/studio/evals").text)})
        assert hidden.status_code == 404
        shown = admin.post(here, data={"csrf": csrf(page)}).text
        # whoever opens the address of the answer is led to where it is asked for
        led = admin.get(here)
        assert led.status_code == 303
        goal = led.url.join(led.headers["location"])
        assert goal.raw_path.decode() == HISTORY.replace("Help", "Plan")
    with ragdb.connect(site.dsn) as db:
        found = db.challenge_eval("Plan", "V")
        broken = [row for row in found if row.subject == "retriever"]
        apply = [row for row in broken if row.applies]
        assert 0 < len(apply) < len(broken)
        assert f"{sum(row.caught for row in apply)} of {len(apply)} noticed" in shown
        assert shown.count(">noticed</span>") == sum(row.caught for row in broken)


def test_a_challenge_that_changes_nothing_is_no_success(site: Api) -> None:
    with ragdb.connect(site.dsn) as db:
        case = CASE.format(name="zebra", query="zebra", value="zebra")
        db.apply_contract(KERN.format(rag="Void", corpus=WIDE) + case, "void")
        db.connection.commit()
        with logged_in(site, "admin") as admin:
            form = {"csrf": csrf(admin.get("/studio/evals").text)}
            page = admin.post("/studio/evals/challenge?rag=Void&eval=V", data=form).text
        db.withdraw_contract("void")  # other tests count the evals of the site
    assert "0 of 0" not in page
    assert '<span class="badge warn">nothing to notice</span>' in page


@pytest.mark.parametrize("path", ["evals", "answers", "health", "map?corpus=secret"])
def test_a_corpus_of_others_is_nowhere(site: Api, path: str) -> None:
    with logged_in(site, "admin") as admin, logged_in(site, "reader") as reader:
        assert "secret" in admin.get(f"/studio/{path}").text
        hidden = reader.get(f"/studio/{path}")
        assert hidden.status_code == (404 if "?" in path else 200)
        assert "okapi" not in hidden.text
        assert "secret" not in hidden.text.replace("corpus &#34;secret&#34; does not exist", "")


def test_what_others_recorded_does_not_exist(site: Api) -> None:
    with logged_in(site, "admin") as admin, logged_in(site, "reader") as reader:
        links = [
            *runs(admin.get("/studio/evals").text),
            *re.findall(
                r'href="[./]*(/studio/answers/[0-9a-f-]{36})"', admin.get("/studio/answers").text
            ),
        ]
        hidden = [path for path in links if "Plan" in admin.get(path).text]
        hidden += [path for path in links if "corpus secret" in admin.get(path).text]
        assert len(set(hidden)) == 3  # a run and two answers
        for path in hidden:
            answer = reader.get(path)
            assert answer.status_code == 404
            assert "okapi" not in answer.text
        run = next(path for path in hidden if "/run/" in path)
        assert reader.get(run + "/report.html").status_code == 404


def test_an_answer_shows_the_words_that_each_citation_stands_on(site: Api) -> None:
    with logged_in(site) as client:
        page = client.get("/studio/answers?wrong=true").text
        (wrong,) = re.findall(r'href="[./]*(/studio/answers/[0-9a-f-]{36})"', page)
        assert "the chunk does not say the quote" in client.get(wrong).text
        page = client.get("/studio/answers").text
        sound = next(
            path
            for path in re.findall(r'href="[./]*(/studio/answers/[0-9a-f-]{36})"', page)
            if path != wrong
        )
        assert re.search("<blockquote.*<mark>refunds", client.get(sound).text)


def test_a_list_of_answers_that_is_cut_says_so(site: Api) -> None:
    with logged_in(site) as client:
        assert "of each list" not in client.get("/studio/answers?corpus=docs").text
        cut = client.get("/studio/answers?corpus=docs&count=1").text
        assert "The latest 1 of each list." in cut
        more = re.findall(r'href="([^"]+count=500)">', cut)
        assert more == ["../studio/answers?corpus=docs&amp;count=500"]
        assert "of each list" not in client.get(unescape(more[0].removeprefix(".."))).text


def test_a_verdict_says_what_fell_short(site: Api) -> None:
    with psycopg.connect(site.dsn, autocommit=True) as db:
        db.execute("grant reader to current_user")
        db.execute("set role reader")
        db.execute("select ragdb.ask('docs', 'refunds of the okapi', min_score => 0.9)")
    with logged_in(site) as client:
        page = client.get("/studio/answers").text
    (row,) = (row for row in page.split("<tr>") if "≥" in row and "okapi" in row)
    chunks, score, coverage = re.findall(r'<td class="number">(.*?)</td>', row)
    assert re.fullmatch(r"\d+ ≥ 1", chunks)
    assert re.fullmatch(r"0\.\d+ &lt; 0\.900", score)
    assert re.fullmatch(r"0\.\d+ (≥|&lt;) 0\.500", coverage)


def test_only_who_may_see_the_ledger_is_told_of_it(site: Api) -> None:
    with logged_in(site, "admin") as admin, logged_in(site, "reader") as reader:
        assert "entries sealed" in admin.get("/studio/health").text
        assert "Only admins and auditors see the ledger" in reader.get("/studio/health").text


def test_health_counts_what_was_asked_a_moment_ago(site: Api) -> None:
    def asked(client: httpx.Client) -> tuple[int, str]:
        page = client.get("/studio/health").text
        (number,) = re.findall(r"<dt>asked in 24 h</dt><dd>([\d,]+)", page)
        return int(number.replace(",", "")), page

    with logged_in(site, "admin") as admin, logged_in(site, "reader") as reader:
        before, _ = asked(admin)
        site("POST", "/api/search", {"query": "refunds", "corpora": ["docs"], "record": True})
        # a role that may not count is told so
        _, page = asked(reader)
        assert "As counted last" in page
        after, page = asked(admin)
        assert after == before + 1
        assert "As counted last" not in page
        # the height of the chart is read without a pointer
        assert re.search(r'<p class="top">\d+ retrievals</p>', page)


def test_health_is_shown_while_others_count(site: Api) -> None:
    asked = {"query": "refunds", "corpora": ["docs"], "record": True}
    with (
        served(site.dsn, site.tokens, "--timeout", "1") as hasty,
        logged_in(hasty, "admin") as admin,
        psycopg.connect(site.dsn) as other,
    ):
        other.execute("select ragdb_internal.hold('rollups')")
        assert site("POST", "/api/search", asked).status == 200
        page = admin.get("/studio/health")
    assert page.status_code == 200, page.text
    assert "As counted last" in page.text


def test_a_deviation_of_nothing_has_no_sign() -> None:
    shown = {None: "–", 0.004: "0 %", -0.004: "0 %", 0.14: "+14 %", -0.14: "−14 %"}
    assert {share: drift(share) for share in shown} == shown


def test_hostile_names_are_texts_in_pages_and_in_the_report(site: Api) -> None:
    with logged_in(site) as client:
        run = runs(client.get(HISTORY).text)[0]
        for path in (HISTORY, run, run + "/report.html", "/studio/answers"):
            page = client.get(path).text
            assert CLAIM not in page, path
            assert "onmouseover" in page, path
            assert not re.search(r"<(i|u)>|<b onm", page), path


def test_the_report_counts_what_the_database_counted(site: Api, tmp_path: Path) -> None:
    _, of_use = report(site, tmp_path)
    page = of_use.read_text(encoding="utf-8")
    with psycopg.connect(site.dsn) as db:
        row = db.execute(
            "select count(*) from ragdb.retrieval_traces where corpus <> 'system'"
        ).fetchone()
    assert row is not None
    assert f"<dt>retrievals</dt><dd>{row[0]}</dd>" in page


def test_each_chart_of_a_report_says_how_high_it_is(site: Api, tmp_path: Path) -> None:
    _, of_use = report(site, tmp_path)
    page = of_use.read_text(encoding="utf-8")
    assert page.count('<p class="top">') == page.count("<figcaption>") == 4


def test_a_report_of_every_corpus_leaves_the_manual_out(clone: str, run: Run) -> None:
    with ragdb.connect(clone) as db:
        for corpus in ("docs", "system"):
            db.create_corpus(corpus)
            db.put_text(corpus, "a.md", "The zebra is lent for two weeks.")
            pack = db.build_evidence_pack(db.retrieve(corpus, "zebra").trace_id)
            db.record_gate("zebra", pack)
            db.record_answer({"answer": "two weeks", "citations": []}, pack)
            db.retrieve(corpus, f"xylophone of {corpus}")
    for options, listed in (([], ["docs"]), (["--corpus", "system"], ["system"])):
        page = run("report", "--html", "-", *options).stdout
        assert re.findall(r"<tr><td>(\w+)</td><td class=.number.>1<", page) == listed
        assert re.findall(r"<td>xylophone of (\w+)</td>", page) == listed
        assert re.findall(r"<dt>(?:answers|gates|retrievals)</dt><dd>(\d)", page) == ["2", "1", "1"]


def test_the_api_is_shown_from_this_server_alone(site: Api) -> None:
    with logged_in(site) as client:
        answer = client.get("/docs")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not re.search(r"(src|href)=\"(https?:)?//", answer.text)
        for path in re.findall(r'(?:src|href)="(/docs/[^"]+)"', answer.text):
            assert client.get(path).status_code == 200


def test_a_map_lights_every_hit_however_few_chunks_it_has(site: Api) -> None:
    with ragdb.connect(site.dsn) as db:
        db.create_corpus("mapped")
        for n in range(9):
            db.put_text("mapped", f"{n}.md", f"The zebra {n} waits {n * n} days.")
        db.embed_corpus("mapped", "hash")
        Worker(site.dsn).run(until="empty")
    asked = {"corpus": "mapped", "q": "zebra waits", "count": "1"}
    with logged_in(site) as client:
        page = client.get("/studio/map", params=asked).text
    assert page.count(' lit" cx=') == 9
    assert "9 of 9 hits among them" in page
