"""What a question is about, the sentence that answers it is about too."""

from __future__ import annotations

import json

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import in_sql
from tests.sql.evidence.test_evidence_packs import scalar

SERVERS = """# Servers

Quickserv speaks a protocol. Servers such as Slowserv or Oddserv speak it too.
Redirects are followed up to ten times.

### Slowserv

Slowserv supports websockets over HTTP/3.

### Oddserv

It has colors of text.

### tinyserv

tinyserv has a maximum line length of 70 letters. The quickserv may be given.
"""


@pytest.mark.parametrize(
    ("question", "bare", "subject"),
    [
        ("Does uvicorn support HTTP/3?", "uvicorn", "uvicorn"),
        ("What is the default port of uvicorn?", "uvicorn", "uvicorn"),
        ("Which port does uvicorn use?", "uvicorn", None),
        ("who created uvicorn", "uvicorn", "uvicorn"),
        ("Could you tell me who created uvicorn?", None, "uvicorn"),
        ("Does Uvicorn support HTTP/3?", None, "Uvicorn"),
        ("Is Uvicorn fast?", None, "Uvicorn"),
        ("When was uvicorn released?", "uvicorn", None),
        ("When did scientists meet?", None, None),
        ("Is it fast?", None, None),
        ("Does the server support HTTP/3?", None, None),
        ("Does it use the port of the server?", None, None),
        ("What is the length of passwords?", None, None),
        ("What is the length of access?", "access", "access"),
        ("In which body of water is it?", None, None),
        ("The islands are in what body of water?", None, None),
        ("When was the forest a band of wood?", None, None),
        ("What is the greatest number of people?", None, None),
        ("What role does defining the complexity of problems play?", None, None),
        ("What does teaching on an island result in?", "teaching", None),
        ("Wird uvicorn benutzt?", None, None),
        ("", None, None),
    ],
)
def test_a_question_is_about_what_it_names_without_an_article(
    any_db: Connection, question: str, bare: str | None, subject: str | None
) -> None:
    for config, expected in (("english", [bare, subject]), ("german", [None, None])):
        made = [
            scalar(any_db, f"select ragdb_internal.{name}(%s, %s)", question, config)
            for name in ("bare_subject", "asked_subject")
        ]
        assert made == expected


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Does Slowserv support HTTP/3?", "Slowserv supports websockets over HTTP/3."),
        ("Does Quickserv support HTTP/3?", None),
        ("Does quickserv support HTTP/3?", None),
        ("Does Quickserv have colors of text?", None),
        ("Does Oddserv have colors of text?", "It has colors of text."),
        ("What is the maximum line length of tinyserv?", "tinyserv has a maximum line length"),
        ("What is the maximum line length of quickserv?", None),
        # the sentence need not name it where it is about no other thing
        ("Does Quickserv follow redirects ten times?", "Redirects are followed"),
    ],
)
def test_what_a_page_says_of_another_thing_is_no_answer(
    any_db: Connection, question: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "quickserv/servers.md", SERVERS, max_tokens=200)
    row = in_sql(base, "docs", question, sentences=1)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient", row.answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who created Longserv?", None),
        ("Who created longserv?", None),
        ("Who created Longserv Next Door?", "Longserv Next Door was created by Ada Byron."),
        ("Who created Quickserv?", None),
        ("Who created quickserv?", None),
        ("Who created Quickserv-cli?", "Quickserv-cli was created by Bob Marly."),
        ("Who created C++?", "C++ was created by Eve Dur."),
        # what is so of a part is an answer
        ("Does Quickserv read names from a file?", "Quickserv-specific names are read"),
    ],
)
def test_a_longer_name_is_that_of_another_thing(
    any_db: Connection, question: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    for said in (
        "Longserv Next Door was created by Ada Byron.",
        "**Quickserv-cli** was created by Bob Marly.",
        "C++ was created by Eve Dur.",
        "Quickserv-specific names are read from a file.",
        "We use Longserv and Quickserv.",
    ):
        base.put_text("docs", said[:9], said)
    row = in_sql(base, "docs", question, sentences=1)
    found = row.answer.replace("**", "")
    assert found.startswith(answer) if answer else row.status == "insufficient", row.answer


@pytest.mark.parametrize(
    ("source", "text", "answer"),
    [
        ("a.md", "Quickserv is a server. It was created by Ada Byron.", "It was created by"),
        (
            "a.md",
            "# About\n\n**Quickserv** is a server. It was created by Ada Byron.",
            "It was created by Ada Byron.",
        ),
        ("quickserv/a.md", "The project was created by Ada Byron.", "The project was created by"),
        ("a.md", "Slowserv was made after Quickserv. It was created by Ada Byron.", None),
        ("a.md", "The project was created by Ada Byron. It is like Quickserv.", None),
    ],
)
def test_who_made_a_thing_may_be_said_behind_its_name(
    any_db: Connection, source: str, text: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", source, text)
    base.put_text("docs", "b.md", "We use Quickserv and Slowserv.")
    row = in_sql(base, "docs", "Who created Quickserv?", sentences=1)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient", row.answer


@pytest.mark.parametrize(
    ("sentence", "is_of_another"),
    [
        ("[Slowserv](https://x.org/): a server of pages.", True),
        ("**Slowserv**: a server of pages.", True),
        ("Slowserv: an HTTP server.", True),
        ("Note: a server has pages.", False),
        ("Requirements: a server of pages.", False),
        ("Slowserv: use it for pages.", False),
        ("[Quickserv](https://x.org/): a server of pages.", False),
    ],
)
def test_an_item_that_says_what_something_is_is_about_that(
    any_db: Connection, sentence: str, is_of_another: bool
) -> None:
    made = scalar(
        any_db,
        "select ragdb_internal.is_of_another(%s, 'Servers', 'Does Quickserv serve pages?', %s)",
        sentence,
        f"# Servers\n\n{sentence}",
    )
    assert made is is_of_another


@pytest.mark.parametrize(
    ("sentence", "more", "is_of_another"),
    [
        ("Background: a worker has pages.", "It runs in the background.", False),
        ("Caveat: a worker has pages.", "Mind the caveat and one caveat more.", False),
        ("Slowserv: a worker has pages.", "We install Slowserv and then slowserv runs.", True),
        ("Slowserv: a worker has pages.", "", True),
    ],
)
def test_an_item_whose_label_texts_write_in_small_letters_is_about_no_other_thing(
    any_db: Connection, sentence: str, more: str, is_of_another: bool
) -> None:
    made = scalar(
        any_db,
        "select ragdb_internal.is_of_another(%s, 'Servers', 'Does Quickserv serve pages?', %s)",
        sentence,
        f"# Servers\n\n{sentence}\n\n{more}",
    )
    assert made is is_of_another


@pytest.mark.parametrize(
    ("text", "question", "is_told"),
    [
        ("Changes in Quickserv release 1.12 (stable).", "Does Quickserv 1.12 support zstd?", False),
        ("Quickserv 1.12 supports the lzma format.", "Does Quickserv 1.12 support zstd?", False),
        ("Quickserv 1.12 supports zstd.", "Does Quickserv 1.12 support zstd?", True),
        ("Quickserv 1.12 is compatible with zstd.", "Does Quickserv 1.12 support zstd?", True),
        ("# zstd\n\nQuickserv 1.12 supports it.", "Does Quickserv 1.12 support zstd?", True),
        ("Quickserv has a release.", "Does Quickserv have plugins?", False),
        ("Quickserv runs and restarts workers.", "Does Quickserv restart?", True),
        ("Quickserv is not secure.", "Is Quickserv safe?", True),
    ],
)
def test_whether_a_thing_does_something_is_told_by_what_has_a_word_of_that(
    any_db: Connection, text: str, question: str, is_told: bool
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", text)
    base.put_text("docs", "b.md", "Slowserv supports zstd, has plugins and is safe.")
    row = in_sql(base, "docs", question)
    assert (row.status == "answered") is is_told, row.answer or row.reason


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("When was slowtar released?", "insufficient"),
        ("When was quicktar released?", "answered"),
        ("When were pages released?", "answered"),
    ],
)
def test_what_was_done_when_is_told_by_what_names_it(
    any_db: Connection, question: str, status: str
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", "The quicktar page was released in May 2020.")
    base.put_text("docs", "b.md", "Use slowtar for pages.")
    assert in_sql(base, "docs", question).status == status


@pytest.mark.parametrize(
    ("texts", "question", "answer"),
    [
        (["Plugins were added in version 4."], "Does version 5 have plugins?", "Plugins were"),
        (["*New in version 4*: plugins."], "Can I use plugins in version 5?", "*New in"),
        (["Plugins were added in Quickserv 4."], "Does Quickserv 5 have plugins?", "Plugins were"),
        (["Plugins were added in version 14."], "Does version 15 have plugins?", "Plugins were"),
        (["As of version 4 it has plugins."], "Does version 5 have plugins?", "As of version 4"),
        (["Version 4 introduced plugins."], "Does version 5 have plugins?", "Version 4 introduced"),
        (["Quickserv 4 adds plugins."], "Does Quickserv 5 have plugins?", "Quickserv 4 adds"),
        # removed since
        (
            ["Plugins were added in version 4.", "Plugins were removed in version 4.5."],
            "Does version 5 have plugins?",
            "Plugins were removed",
        ),
        (
            ["There are plugins since version 4.", "Version 4.5 removes the plugins."],
            "Does version 5 have plugins?",
            "Version 4.5 removes",
        ),
        (
            ["Plugins were added in version 4.", "Themes were removed in version 4.5."],
            "Does version 5 have plugins?",
            "Plugins were added",
        ),
        # removed later than that version, and added again
        (
            ["Plugins were added in version 4.", "A list of plugins was removed in version 6."],
            "Does version 5 have plugins?",
            "Plugins were added",
        ),
        (
            ["Plugins were removed in version 4.", "The plugins were added in version 6."],
            "Does version 7 have plugins?",
            "The plugins were added",
        ),
        (
            ["Plugins were added in version 3.", "Plugins were removed in version 4.0."],
            "Does version 4 have plugins?",
            "Plugins were removed",
        ),
        # added, or removed, later than that version
        (["Plugins were added in version 4."], "Does version 3 have plugins?", None),
        (["Quickserv 4 adds plugins."], "Does Quickserv 3.9 have plugins?", None),
        (["Plugins were removed in version 4."], "Does version 3 have plugins?", None),
        (["Plugins were added in version 4.5."], "Does version 4 have plugins?", "Plugins were"),
        (
            ["Plugins were added in version 2.", "Plugins were removed in version 4."],
            "Does version 3 have plugins?",
            "Plugins were added",
        ),
        # in a version of something else
        (
            ["Support for Python 3.9 was added in version 12."],
            "Is Python 3.9 supported?",
            "Support for",
        ),
        # what is gone says nothing of when it came
        (
            ["There are plugins since version 4.", "Since version 5 there are plugins no longer."],
            "Since which version are there plugins?",
            "There are plugins",
        ),
        # since is also a reason
        (
            [
                "Cookies are dangerous since all requests have them.",
                "Since dangerous cookies are removed at the end, nothing stays.",
            ],
            "Are cookies dangerous?",
            "Cookies are dangerous",
        ),
        # numbers of what has no versions, and dates
        (["Error 500 is retried since May 2020."], "Is error 404 retried?", None),
        (["Error 500 is retried.", "It runs since May 2020."], "Is error 404 retried?", None),
        (["Room 12 has a window since May 2020."], "Does room 14 have a window?", None),
        (
            ["Room 12 has a window.", "Plugins are new in Quickserv 4."],
            "Does room 14 have a window in Quickserv 5?",
            None,
        ),
        # what another version has, and what was added when
        (["Version 4 has plugins."], "Does version 5 have plugins?", None),
        (["Plugins were added in version 4."], "What was added in version 5?", None),
        (["Plugins were added in Quickserv 4."], "Which plugins are new in Quickserv 5?", None),
        (["Quickserv 4 has plugins."], "Does Quickserv 5 have plugins?", None),
        (["Plugins were added in Slowserv 4."], "Does Quickserv 5 have plugins?", None),
        (["Support for Python 3.6 was added in version 2."], "Is Python 3.9 supported?", None),
    ],
)
def test_what_was_added_in_a_version_is_said_of_later_ones_unless_it_was_removed(
    any_db: Connection, texts: list[str], question: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    for n, text in enumerate(texts):
        base.put_text("docs", f"{n}.md", text)
    row = in_sql(base, "docs", question, sentences=1)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient", row.answer


@pytest.mark.parametrize(
    ("sentence", "question", "is_of_other"),
    [
        ("It drops support for Python 3.6.", "Which version dropped Python 3.9?", True),
        ("It drops support for Python 3.6 and 3.9.", "Which version dropped Python 3.9?", False),
        ("It drops support for Python 3.9.2.", "Which version dropped Python 3.9?", False),
        ("It drops support for Python 3.9.", "Which version dropped Python 3.9.2?", False),
        ("It drops support for Python 3.", "Which version dropped Python 3.9?", False),
        ("It drops support for Python 3.91.", "Which version dropped Python 3.9?", True),
        ("It supports Python 3.6+.", "Does it support Python 3.9?", False),
        ("It supports Python 3.6 or later.", "Does it support Python 3.9?", False),
        ("It needs at least Python 3.6.", "Does it support Python 3.9?", False),
        ("It supports Python 3.6-3.10.", "Does it support Python 3.9?", False),
        ("It supports Python 3.6 to 3.10.", "Does it support Python 3.9?", False),
        ("Python 3.10 has it.", "What differs between Python 3.9 and Python 3.10?", False),
        ("Version 2.4 has it.", "What is in version 2.5?", True),
        ("On Windows 10 press a key.", "Which key is it on Windows 11?", True),
        ("The key has 10 letters.", "Which key is it on Windows 11?", False),
        ("The 12 keys have letters.", "The 10 keys have what?", False),
        ("Python 3.10 has it.", "What has it?", False),
        ("", "What is in version 2.5?", False),
    ],
)
def test_what_has_another_number_is_another_thing(
    any_db: Connection, sentence: str, question: str, is_of_other: bool
) -> None:
    made = scalar(any_db, "select ragdb_internal.is_of_other_number(%s, %s)", sentence, question)
    assert made is is_of_other


def test_of_many_names_with_numbers_the_first_are_read_once(any_db: Connection) -> None:
    read = "select count(*) from ragdb_internal.numbered_names(%s)"
    assert scalar(any_db, read, "Python 36 " * 3000) == 1
    assert scalar(any_db, read, " ".join(f"Python 3.{n}," for n in range(3000))) < 200


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("Which port does slowserv listen on?", "insufficient"),
        ("Which port does quickserv listen on?", "answered"),
        ("Which port does the server listen on?", "answered"),
    ],
)
def test_what_is_asked_about_in_small_letters_has_to_be_named(
    any_db: Connection, question: str, status: str
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", "The quickserv and its server listen on port 8000.")
    base.put_text("docs", "b.md", "Use slowserv.")
    assert in_sql(base, "docs", question).status == status


def test_what_is_about_many_other_things_is_looked_through_a_few_times(any_db: Connection) -> None:
    said = " has wide support of streams with push, flow control and resets as Otherserv or Twoserv"
    others = "\n\n".join(f"{'OT'[n % 2]}{('ther', 'wo')[n % 2]}serv{said}." for n in range(40))
    evidence = {
        "text_config": "english",
        "chunks": [
            {
                "source_id": "a.md",
                "chunk_id": "a",
                "text": f"{'Use Quickserv. ' * 40}\n\n{others}",
                "score": 0.9,
            }
        ],
    }
    with any_db.transaction(force_rollback=True):
        any_db.execute("set local track_functions = 'all'")
        answer = scalar(
            any_db,
            "select ragdb.answer_from_evidence(%s, %s)",
            "Does Quickserv have wide support of streams with push, flow control and resets?",
            json.dumps(evidence),
        )
        assert answer["insufficient_evidence"]
        picks = scalar(
            any_db,
            "select sum(pg_stat_get_xact_function_calls(oid)) from pg_proc where proname = %s",
            "picked_sentences",
        )
    assert 1 < picks <= 12
