"""What a question names, a document that answers it names too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import in_sql
from tests.sql.evidence.test_evidence_packs import scalar

VACUUM = "The AquaClean 500 runs for 60 minutes on one charge. Its tank holds 4 liters of water."
WARS = "The war of 1812 ended with the peace of Ghent. It had begun with an attack on Canada."


@pytest.fixture
def shop(db: Connection) -> Database:
    made = Database(db)
    made.create_corpus("shop")
    made.put_text("shop", "vacuums.md", VACUUM)
    made.put_text("shop", "wars.md", WARS)
    made.put_text("shop", "database.md", "The server needs PostgreSQL version 16 as a minimum.")
    made.put_text(
        "shop", "news.md", "Shops in Boston now sell MySQL books and the Z900 for 59 euro."
    )
    return made


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long does the AquaClean 500 run on one charge?", "The AquaClean 500 runs"),
        ("which minimum version of PostgreSQL does the server need?", "The server needs"),
        ("with which peace did the war of 1812 end?", "The war of 1812 ended"),
        # a name that is misspelt, in small letters, in parts
        ("How long does the AquaClaen 500 run on one charge?", "The AquaClean 500 runs"),
        ("how long does the aquaclean run on one charge?", "The AquaClean 500 runs"),
    ],
)
def test_what_names_what_is_asked_answers(shop: Database, question: str, answer: str) -> None:
    row = in_sql(shop, "shop", question)
    assert row.status == "answered"
    assert row.answer.startswith(answer)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        # that no document has
        ("How long does the AquaClean 900 run on one charge?", "it lacks 900"),
        ("with which peace did the war of 1914 end?", "it lacks 1914"),
        ("How long does the AquaClean 500 of Philips run on one charge?", "it lacks philips"),
        # that another document has
        ("which minimum version of MySQL does the server need?", "no passage says it of mysql"),
        ("How many liters of water does the Z900 hold?", "no passage says it of z900"),
        ("with which peace did the war of Boston end?", "no passage says it of boston"),
    ],
)
def test_what_is_said_of_something_else_is_no_answer(
    shop: Database, question: str, reason: str
) -> None:
    row = in_sql(shop, "shop", question)
    assert (row.status, row.answer) == ("insufficient", "")
    assert row.reason.endswith("; " + reason)


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("guides/pumps.md", {"title": "The HydroMax"}),
        ("guides/hydromax.md", {}),
        (
            "guides/pumps.md",
            {"text": "The HydroMax is a pump.\n\n{}", "max_tokens": 20, "overlap": 0},
        ),
    ],
)
def test_a_document_goes_on_to_speak_of_a_thing_without_its_name(
    shop: Database, source: str, how: dict[str, Any]
) -> None:
    said = "It lifts 70 buckets of sand from a well in an hour of work with one horse."
    text = how.pop("text", "{}").format(said)
    shop.put_text("shop", source, text, **how)
    row = in_sql(shop, "shop", "How many buckets of sand does the HydroMax lift in an hour?")
    assert row.status == "answered"
    assert row.answer.startswith(said)


def test_of_one_document_the_text_that_names_the_thing_comes_first(shop: Database) -> None:
    said = (
        "The HydroMax lifts sand.",
        "The WindMax also lifts water, with a sail.",
        "The HydroMax lifts water with a horse.",
    )
    shop.put_text("shop", "all.md", "\n\n".join(said), max_tokens=12, overlap=0)
    row = in_sql(shop, "shop", "With what does the HydroMax lift water?")
    assert row.answer == said[2]


def test_things_that_are_compared_may_be_in_two_documents(shop: Database) -> None:
    shop.put_text("shop", "steam.md", "The SteamClean 700 runs for 40 minutes on one charge.")
    row = in_sql(
        shop, "shop", "Which runs longer on one charge, the AquaClean 500 or the SteamClean 700?"
    )
    assert (row.status, row.citations[0]["source_id"]) == ("answered", "steam.md")


def test_what_a_whole_corpus_is_about_need_not_be_named(shop: Database) -> None:
    question = "How many days of leave does Initech give to its staff?"
    shop.create_corpus("staff")
    shop.put_text("staff", "leave.md", "The staff is given 30 days of leave a year.")
    for n in range(4):
        shop.put_text("staff", f"{n}.md", f"Room {n} of Initech is on the floor below.")
    assert in_sql(shop, "staff", question).status == "insufficient"
    for n in range(4, 8):
        shop.put_text("staff", f"{n}.md", f"Room {n} of Initech is on the floor below.")
    row = in_sql(shop, "staff", question)
    assert (row.status, row.gate["names"]) == ("answered", [])


@pytest.mark.parametrize(
    ("said", "asked", "other"),
    [
        ("the European Union", "EU", "UN"),
        ("the United States of America", "US", "UK"),
        ("the World Trade Organization", "WTO", "ITU"),
        ("New York City", "NYC", "LA"),
    ],
)
def test_an_abbreviation_is_named_by_the_words_that_it_begins(
    shop: Database, said: str, asked: str, other: str
) -> None:
    text = f"The tax on imported vacuum cleaners was raised to 14 percent by {said} last spring."
    shop.put_text("shop", "tax.md", text)
    question = "Was the tax on imported vacuum cleaners raised by the {}?"
    assert in_sql(shop, "shop", question.format(asked)).answer == text
    row = in_sql(shop, "shop", question.format(other))
    assert (row.status, row.answer) == ("insufficient", "")


@pytest.mark.parametrize(
    ("question", "said", "of_another"),
    [
        ("Who is the king of the UK?", "The king of the United Kingdom is Charles.",
         "The king of the Upper Lands is Otto."),
        ("Which court does the E.U. have?", "The European Union has a court in Luxembourg.",
         "The Eastern League has a court in Riga."),
        ("Who leads the USA?", "Who leads the United States of America is its president.",
         "Who leads the United Nations is its secretary."),
        # the other way, with the capital that begins a sentence
        ("Which court does the European Union have?", "The EU has a court in Luxembourg.",
         "The UN has a court in The Hague."),
        ("European Union courts are where?", "The courts of the EU are in Luxembourg.",
         "The courts of the UN are in The Hague."),
        ("Who leads the World Trade Organization?", "A doctor of medicine leads the WTO.",
         "Someone who knows the world and trade leads a team."),
    ],
)  # fmt: skip
def test_what_is_asked_is_said_by_its_abbreviation_and_by_what_that_stands_for(
    any_db: Connection, question: str, said: str, of_another: str
) -> None:
    base = Database(any_db)
    for corpus, text in (("said", said), ("other", of_another)):
        base.create_corpus(corpus)
        base.put_text(corpus, "a.md", text)
    assert in_sql(base, "said", question).answer == said
    assert in_sql(base, "other", question).status == "insufficient"


def test_a_text_may_write_as_one_word_what_the_question_parts(shop: Database) -> None:
    text = "The headcount of the whole company was 250 people at the end of FY2024."
    shop.put_text("shop", "results.md", text)
    question = "What was the headcount of the company at the end of FY {}?"
    assert in_sql(shop, "shop", question.format(2024)).answer == text
    assert in_sql(shop, "shop", question.format(2021)).status == "insufficient"


@pytest.mark.by_day(3)
@pytest.mark.parametrize("said", ["12,000", "12.000", "12 000", "12000", "12\u00a0000"])
@pytest.mark.parametrize("asked", ["12,000", "12 000", "12000"])
def test_thousands_are_the_same_however_they_are_parted(
    shop: Database, said: str, asked: str
) -> None:
    shop.put_text("shop", "mail.md", f"The launch mail has {said} readers on the list, 5 of us.")
    question = "Does the launch mail have {} readers on the list?"
    assert in_sql(shop, "shop", question.format(asked)).status == "answered"
    other = asked.replace("12", "5")
    row = in_sql(shop, "shop", question.format(other))
    assert row.status == "insufficient"
    assert row.reason.endswith(f" {other}")


@pytest.mark.parametrize(
    "told",
    [
        "My name is John Smith.",
        "We use Windows 11 in a room of 120 square meters.",
        "I bought it in Chicago in 2021.",
    ],
)
def test_what_is_told_of_who_asks_need_not_be_named(shop: Database, told: str) -> None:
    row = in_sql(shop, "shop", f"{told} How long does the AquaClean 500 run on one charge?")
    assert (row.status, row.gate["names"]) == ("answered", ["500", "aquaclean"])


def test_what_is_told_of_a_thing_that_the_corpus_has_is_asked_of(shop: Database) -> None:
    question = "We sell the {}. How many liters of water does its tank hold?"
    assert in_sql(shop, "shop", question.format("AquaClean 500")).status == "answered"
    row = in_sql(shop, "shop", question.format("Z900"))
    assert (row.status, row.gate["names"]) == ("insufficient", ["z900"])
    assert "no passage says it of z900" in row.reason


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("I have a Husqvarna. How long does it run on one charge?", ["husqvarna"]),
        ("I bought a Husqvarna. How do I reset it?", ["husqvarna"]),
        (
            "We are in Chicago and sell the DustPro. How many liters does its tank hold?",
            ["dustpro"],
        ),
        ("We are in Chicago. How long does the AquaClean run on one charge?", ["aquaclean"]),
        ("I am in Chicago with an AquaClean. How long does it run on a charge?", ["aquaclean"]),
        # it is nothing there
        ("I live in Chicago. How long does it take to pay by card?", []),
        ("I live in Chicago. Is it possible to pay by card?", []),
    ],
)
def test_what_is_told_last_is_what_the_question_calls_it(
    shop: Database, question: str, names: list[str]
) -> None:
    row = in_sql(shop, "shop", question)
    assert row.gate["names"] == names
    assert (row.status == "answered") == (names == ["aquaclean"])


def test_names_count_in_evidence_without_a_corpus(db: Connection) -> None:
    evidence = {"chunks": [{"source_id": "a", "chunk_id": "a", "text": VACUUM}]}

    def answered(model: str, told: str = "") -> Any:
        question = f"{told}How long does the AquaClean {model} run on one charge?"
        return scalar(
            db, "select ragdb.answer_from_evidence(%s, %s)", question, json.dumps(evidence)
        )

    assert answered("500")["answer"].startswith("The AquaClean 500 runs")
    assert answered("500", "I am John Smith. ")["answer"].startswith("The AquaClean 500 runs")
    assert answered("900") == {
        "answer": "",
        "citations": [],
        "insufficient_evidence": True,
        "support": 0,
        "unnamed": ["900"],
    }


@pytest.mark.parametrize(
    ("question", "config", "names"),
    [
        ("What is the minimum MySQL version?", "english", "mysql"),
        ("MySQL or HTTP 404?", "english", "mysql http 404"),
        ("Was the Bank of Ghent open in May 2016?", "english", "bank of ghent 2016"),
        ("Do LLMs read PDFs as APIs do?", "english", "llm pdf api"),
        ("When did the AFC-Champion buy an X-200?", "english", "afc champion x200"),
        ("top 10 of 3 lists, 5.5 liters, 1998-2004, x200", "english", "x200 10 5.5 1998 2004"),
        # thousands as in other languages, and dates in digits
        ("Is it 12,000, 1.500.000 or 3 000?", "english", "12000 1500000 3000"),
        ("Was it 2024-03-12, 12/03/2024 or March '24 at 15:00?", "english", "2024 12 15"),
        ("Which of the 1950s cars took 230V or 12.5kg?", "english", ""),
        # a title and an initial are left out by many texts
        ("What did Mr. Becker or Dr Anna B. Lee tell Mme Roy?", "english",
         "becker anna lee roy"),
        ("Wann ist Frau Sabine Groß da?", "german", "sabine groß"),
        # a first word, what all questions have, and capitals that say nothing
        ("Can I reset it in March on a Monday, or in Sept 1999?", "english", "1999"),
        ("does the V&A in the late 19th century limit P by 5 or 10mb", "english", ""),
        ("How To Install The Database Server", "english", ""),
        ("HOW DO I RESET MY PASSWORD", "english", ""),
        # each noun of German has a capital
        ("Wie hoch ist die Gebühr für Kunden?", "german", ""),
        ("Wie hoch ist die Gebühr der Deutschen Bahn im BahnCard-Tarif?", "german",
         "deutschen bahn bahncard"),
        ("Wer gibt mir VPN-Zugang zum IT-Portal?", "german", "vpn it"),
        ("Bekomme ich 30 Tage Urlaub und 2 Liter Wasser?", "german", "30"),
        ("Welche Art von Messungen gibt es beim Nachlass von John Moore?", "german", "john moore"),
        ("Сколько стоит билет в Нижний Новгород?", "russian", "Нижний Новгород"),
        ("Πού γεννήθηκε ο Νίκος;", "greek", "Νίκος"),
    ],
)  # fmt: skip
def test_names_are_told_by_capitals_and_digits(
    any_db: Connection, question: str, config: str, names: str
) -> None:
    told = scalar(any_db, "select ragdb_internal.names_in(%s, %s)", question, config)
    assert set(told.split()) == set(names.split())


NOTES = """# Release notes

## 3.1

Added the `--watch` flag.

### Removals

It begins faster, too. Removed the reader of paper.

## 3.0

Added the `--json` flag. Dropped the old printer.

## 2.9

Fixed a leak.
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was added in 3.0?", "Added the `--json` flag."),
        ("What was removed in 3.1?", "Removed the reader of paper."),
        # with the heading that names the version
        (
            "In which version was the reader of paper removed?",
            NOTES[NOTES.index("## 3.1") : NOTES.index("\n\n## 3.0")],
        ),
        # under the heading of another version
        ("What was removed in 3.0?", None),
        ("Was the old printer dropped in 3.1?", None),
    ],
)
def test_what_stands_under_another_version_does_not_answer(
    db: Connection, question: str, answer: str | None
) -> None:
    base = Database(db)
    base.create_corpus("notes")
    base.put_text("notes", "notes.md", NOTES)
    row = in_sql(base, "notes", question)
    assert row.status == ("insufficient" if answer is None else "answered"), row.answer
    assert (row.answer or None) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was removed in 3.1?", "Removed the reader of paper."),
        ("Was the old printer dropped in 3.1?", None),
    ],
)
def test_a_heading_with_a_version_of_another_one_has_that_too(
    db: Connection, question: str, answer: str | None
) -> None:
    base = Database(db)
    base.create_corpus("notes")
    base.put_text("notes", "notes.md", NOTES.replace("## 3.1", "## 3.1.4"))
    row = in_sql(base, "notes", question)
    assert (row.answer or None) == answer


def test_a_version_is_told_apart_only_where_headings_name_both(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("notes")
    said = "The export to paper needs the server of MySQL 8.4 and a printer."
    base.put_text("notes", "guide.md", f"# Guide of 2.0\n\n## Export\n\nIt exports. {said}")
    row = in_sql(base, "notes", "What does the export to paper need of MySQL 8.4?")
    assert row.answer == said


SERVERS = {
    "proxies.md": "A proxy takes requests. TLS uses the specific port 443 by default.",
    "deploy.md": "Start the app with Uvicorn, and let Uvicorn watch it. It may use a port of it.",
}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What port does uvicorn use by default?", None),
        ("What port does tls use by default?", "TLS uses the specific port 443"),
        # written in small letters as often: no name
        ("What port does the app use by default?", "TLS uses the specific port 443"),
    ],
)
def test_a_word_that_texts_write_with_a_capital_is_a_name(
    any_db: Connection, question: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    for source, text in SERVERS.items():
        base.put_text("docs", source, text)
    row = in_sql(base, "docs", question)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient"
    evidence = {
        "chunks": [
            {"source_id": source, "chunk_id": source, "text": text}
            for source, text in SERVERS.items()
        ]
    }
    made = scalar(
        any_db,
        "select ragdb.answer_from_evidence(%s, %s)",
        question,
        json.dumps(evidence),
    )
    assert made["answer"].startswith(answer) if answer else made["insufficient_evidence"]


def test_a_word_of_a_longer_name_is_none(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text(
        "docs", "a.md", "In 1542 Luther read the Quran in a translation. He read it in Wittenberg."
    )
    base.put_text(
        "docs", "b.md", "He wrote for the Book of Concord, and quoted the Book Review in it."
    )
    row = in_sql(base, "docs", "what book did Luther read in 1542?")
    assert row.answer.startswith("In 1542 Luther read the Quran")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Does the parser run on Python 2?", None),
        ("Does the parser run on Python 3?", "The parser runs on Python 3.8"),
        ("Does the parser run on Python 8?", None),
        ("Which limit of the parser was raised in version 2.4?", None),
        ("Which limit of the parser was raised in version 5.1?", "The limit of the parser"),
        ("Which limit of the parser was raised in version 5.1.2?", "The limit of the parser"),
    ],
)
def test_a_number_is_not_named_by_a_part_of_another(
    db: Connection, question: str, answer: str | None
) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", "The parser runs on Python 3.8 and later, and runs fast.")
    base.put_text(
        "docs", "b.md", "1. Run it in a shell.\n2. Run the Python parser again.\n8. Run the rest."
    )
    base.put_text(
        "docs", "c.md", "The limit of the parser was raised in version 5.1.2 from 2 to 4 files."
    )
    row = in_sql(base, "docs", question)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How do I serve static files in uvicorn?", None),
        ("How do I serve static files in starlette?", "Mount the class to serve"),
        ("Does Starlette or uvicorn serve static files?", "Mount the class to serve"),
        # no name: sentences have it as a word
        ("How do I serve static files in the guides?", "Mount the class to serve"),
    ],
)
def test_what_lies_in_the_folder_of_a_thing_speaks_of_it(
    db: Connection, question: str, answer: str | None
) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "starlette/static.md", "Mount the class to serve static files of yours.")
    base.put_text("docs", "uvicorn/files.md", "The server reads its settings from files.")
    base.put_text("docs", "guides/how.md", "All of the guides show files, to serve as an example.")
    row = in_sql(base, "docs", question)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient"
