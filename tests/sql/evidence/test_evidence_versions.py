"""Who asks which version is told one, or nothing."""

from __future__ import annotations

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import in_sql
from tests.sql.evidence.test_evidence_packs import scalar


@pytest.mark.parametrize(
    ("question", "config", "asks"),
    [
        ("Which version dropped the parser?", "english", True),
        ("In which FastAPI version was it dropped?", "english", True),
        ("As of which release is it there?", "english", True),
        ("What is the minimum MySQL version?", "english", True),
        ("What's the latest version of Django?", "english", True),
        ("Hello, which version added it?", "english", True),
        ("What version control system is used?", "english", False),
        ("What version of the Bible is it?", "english", False),
        ("What version of the parser added it?", "english", True),
        # a version, rather than a default
        ("Since which version is the default port 80?", "english", True),
        ("Which version has the new default?", "english", True),
        ("What is the default version?", "english", False),
        ("Welche Version hat die neue Voreinstellung?", "german", True),
        ("Quelle version est installée par défaut ?", "french", True),
        ("¿Qué versión se instala por defecto?", "spanish", True),
        ("What changes in version 4?", "english", False),
        ("What do later versions use?", "english", False),
        ("What is a version?", "english", False),
        ("How do I see which version dropped it?", "english", False),
        ("Welche Pydantic-Versionen sind es?", "german", True),
        ("Ab welcher Version geht es?", "german", True),
        ("Was ist eine Version?", "german", False),
        ("À partir de quelle version est-ce là ?", "french", True),
        ("Que fait cette version ?", "french", False),
        ("¿Qué versión de Uvicorn lo añadió?", "spanish", True),
        ("¿Desde qué versión existe?", "spanish", True),
        ("¿Qué hace la versión?", "spanish", False),
        ("Какая version?", "russian", False),
    ],
)
def test_a_question_asks_for_a_version(
    any_db: Connection, question: str, config: str, asks: bool
) -> None:
    kinds = scalar(any_db, "select ragdb_internal.asked_kinds(%s, %s)", question, config)
    assert ("version" in kinds) is asks


@pytest.mark.parametrize(
    ("sentence", "question", "says"),
    [
        ("It was added in 0.129.0.", "Which version added it?", True),
        ("It was added in version 16.", "Which version added it?", True),
        ("It was added in v2.", "Which version added it?", True),
        ("It was added in 3.x.", "Which version added it?", True),
        ("It was added in Python 3.", "Which version of Python added it?", True),
        ("Es gibt ihn seit Version 4.", "Seit welcher Version gibt es ihn?", True),
        ("It was added (#1.2) in 2019.", "Which version added it?", False),
        ("It uses `parser.v1` or /api/v1.", "Which version added it?", False),
        # dates and amounts
        ("It was dropped on 12.02.2025.", "Which version dropped it?", False),
        ("The timeout is 2.5 seconds now.", "Which version raised the timeout?", False),
        ("It is 1.5x faster.", "Which version is faster?", False),
        ("Es liest bis zu 10.000 Zeilen.", "Welche Version liest mehr Zeilen?", False),
        ("Version 2.5 times out.", "Which version times out?", True),
        # numbers of the question, and of other things than it asks the version of
        ("Support for Python 3.9.", "Which version dropped support for Python 3.9?", False),
        ("Drop Python 3.7, keep Python 3.8.", "Which version dropped Python 3.8?", False),
        ("Drop Python 3.7 and 3.8.", "Which version dropped Python 3.8?", False),
        ("Drop MySQL 5.7, keep MySQL 8.", "Which version dropped MySQL 8?", False),
        ("Starlette 0.4 drops it.", "Which version of FastAPI drops it?", False),
        ("FastAPI 9 needs Starlette 0.4.", "Which FastAPI version needs it?", True),
        ("Since 0.4 it drops Python 3.8.", "Which FastAPI version dropped Python 3.8?", True),
        ("Tool 9 is based on tool-core 2.16.", "Which tool-core version has Tool 9?", True),
        # what the question names with a number
        ("Bump idna to 3.15.1.", "Which version added support for Python 3.15?", False),
    ],
)
def test_a_sentence_says_a_version(
    any_db: Connection, sentence: str, question: str, says: bool
) -> None:
    made = scalar(any_db, "select ragdb_internal.says_version(%s, %s)", sentence, question)
    assert made is says


NOTES = """# Release notes

## 0.129.0 (2026-02-12)

### Breaking Changes

* Drop support for Python 3.9.

### Internal

* Update the parser.

## 0.84.0 (2022-09-14)

* Drop support for Python 3.6, require Python 3.7 or above.
"""
SAID = "Drop support for Python 3."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Which version dropped support for Python 3.9?",
            f"## 0.129.0 (2026-02-12)\n\n### Breaking Changes\n\n* {SAID}9.",
        ),
        (
            "Which version dropped support for Python 3.6?",
            f"## 0.84.0 (2022-09-14)\n\n* {SAID}6, require Python 3.7 or above.",
        ),
        ("Which version dropped support for Python 3.5?", None),
        ("Which support was dropped in 0.129.0?", f"{SAID}9."),
    ],
)
def test_a_line_of_release_notes_is_quoted_with_its_version(
    any_db: Connection, question: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "notes.md", NOTES)
    row = in_sql(base, "docs", question, sentences=1)
    assert (row.answer or None) == answer


def test_a_line_with_an_amount_is_quoted_with_its_version(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("docs")
    line = "The timeout was raised to 2.5 seconds."
    base.put_text("docs", "notes.md", f"## 4.2\n\n* {line}\n\n## 4.1\n\n* The fax is faster.\n")
    row = in_sql(base, "docs", "Which version raised the timeout?", sentences=1)
    assert row.answer == f"## 4.2\n\n* {line}"


@pytest.mark.parametrize("heading", ["3.2 Plugins", "12.02.2025", "Plugins since 12.02.2025"])
def test_a_section_and_a_date_are_no_versions(db: Connection, heading: str) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "manual.md", f"# Manual\n\n## {heading}\n\nPlugins run on Linux.\n")
    assert in_sql(base, "docs", "Which version runs plugins?").status == "insufficient"


@pytest.mark.parametrize(
    "heading", ["3.2", "3.2 (May 2021)", "3.2 LTS", "3.2 RC 1", "Tool 3.2", "v3.2", "[3.2]"]
)
def test_the_heading_of_a_version_may_say_more(db: Connection, heading: str) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "manual.md", f"# Manual\n\n## {heading}\n\nPlugins run on Linux.\n")
    row = in_sql(base, "docs", "Which version runs plugins?")
    assert row.answer == f"## {heading}\n\nPlugins run on Linux."


KEPT = """# Changes

## 4.2.0

### Added

- Login by OAuth.

### Removed

- Login by NTLM.

## 4.1.0

- Dropped Python 3.8. The tool now needs Python 3.10 or later.
- Added the calendar.
- Support for maps was added, and that for posters was removed.
"""


@pytest.mark.parametrize(
    ("question", "version"),
    [
        ("Which version removed login by NTLM?", "4.2.0"),
        ("Which version dropped Python 3.8?", "4.1.0"),
        ("Which version dropped Python 3.10?", None),
        ("Which version removed login by OAuth?", None),
        ("Which version removed the calendar?", None),
        ("Which version added login by OAuth?", "4.2.0"),
        ("Which version added login by NTLM?", None),
        ("Which version introduced Python 3.8?", None),
        ("Which version added the calendar?", "4.1.0"),
        ("Which version added support for maps?", "4.1.0"),
    ],
)
def test_which_version_added_or_dropped_something_is_said_by_its_line_or_heading(
    db: Connection, question: str, version: str | None
) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "notes.md", KEPT)
    answer = in_sql(base, "docs", question).answer
    assert answer.startswith(f"## {version}\n") if version else not answer


@pytest.mark.parametrize(
    ("config", "added", "dropped", "adds", "drops", "words"),
    [
        (
            "german",
            "Welche Version brachte den Kalender der Feiertage?",
            "Welche Version entfernte den Kalender der Feiertage?",
            "Neu: der Kalender der Feiertage.",
            "Der Kalender der Feiertage wurde entfernt.",
            "Version: brachte, entfernte.",
        ),
        (
            "french",
            "Quelle version a ajouté le calendrier des fêtes ?",
            "Quelle version a supprimé le calendrier des fêtes ?",
            "Ajout du calendrier des fêtes.",
            "Le calendrier des fêtes n'est plus pris en charge.",
            "Version : ajouté, supprimé.",
        ),
        (
            "spanish",
            "¿Qué versión añadió el calendario de fiestas?",
            "¿Qué versión eliminó el calendario de fiestas?",
            "Se añadió el calendario de fiestas.",
            "Se eliminó el calendario de fiestas.",
            "Versión: añadió, eliminó.",
        ),
        (
            "english",
            "Which version introduced the calendar of holidays?",
            "Which version removed the calendar of holidays?",
            "The calendar of holidays shows whole years.",
            "The calendar of holidays is no longer there.",
            "Version: introduced, removed.",
        ),
    ],
)
def test_what_was_dropped_was_not_added(
    db: Connection, config: str, added: str, dropped: str, adds: str, drops: str, words: str
) -> None:
    base = Database(db)
    for corpus, line in (("new", adds), ("gone", drops)):
        base.create_corpus(corpus, text_config=config)
        base.put_text(corpus, "notes.md", f"## 4.2\n\n* {line}\n")
        # what has many words that no text has is refused for that
        base.put_text(corpus, "words.md", words)
    assert in_sql(base, "new", added, sentences=1).answer == f"## 4.2\n\n* {adds}"
    assert in_sql(base, "gone", dropped, sentences=1).answer == f"## 4.2\n\n* {drops}"
    assert not in_sql(base, "new", dropped, sentences=1).answer
    assert not in_sql(base, "gone", added, sentences=1).answer


def test_what_stands_above_the_heading_of_a_version_is_not_quoted_with_it(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text(
        "docs",
        "notes.md",
        "## 4.2\n\n* Update the Tool.\n\n## 4.1\n\n* Drop support for old Linux.\n",
    )
    row = in_sql(base, "docs", "Which version of the Tool did drop support for old Linux?")
    assert row.answer == "## 4.1\n\n* Drop support for old Linux."


@pytest.mark.parametrize(
    ("config", "question", "text", "is_told"),
    [
        ("english", "Which version has new plugins?", "New plugins are there.", False),
        ("english", "Which version has new plugins?", "New plugins: since 4.1.", True),
        ("english", "Which version of plugins is it?", "Its plugins are called Noble.", False),
        ("german", "Seit welcher Version gibt es Plugins?", "Es gibt Plugins.", False),
        ("german", "Seit welcher Version gibt es Plugins?", "Plugins gibt es seit 4.1.", True),
        ("french", "Quelle version a des greffons ?", "Elle a des greffons.", False),
        ("french", "Quelle version a des greffons ?", "La version 4 a des greffons.", True),
        ("spanish", "¿Qué versión tiene extensiones?", "Tiene extensiones.", False),
        ("spanish", "¿Qué versión tiene extensiones?", "Hay extensiones desde la versión 4.", True),
    ],
)
def test_what_names_no_version_does_not_answer_which_version(
    any_db: Connection, config: str, question: str, text: str, is_told: bool
) -> None:
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_text("docs", "a.md", text)
    row = in_sql(base, "docs", question)
    assert row.status == ("answered" if is_told else "insufficient"), row.answer or row.reason
