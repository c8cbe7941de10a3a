"""Who asks for a date or a number is answered by what has one."""

from __future__ import annotations

import json

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import alike
from tests.sql.evidence.test_evidence_packs import scalar


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the parser released?", "date"),
        ("when did it end", "date"),
        ("Could you tell me when the parser was released?", None),
        ("Hello, in what year was it released?", "date"),
        ("Which year did it end?", "date"),
        ("When does a data race happen?", None),
        ("When should I use it?", None),
        ("How many workers are there?", "number"),
        ("For how many days is it kept?", "number"),
        ("How many", "number"),
        ("How much memory does it take?", None),
        ("On which port does it listen?", "digits"),
        ("What port range is free?", "digits"),
        ("What is a port?", None),
        ("What is the default port of the server?", "digits"),
        ("What's the default port?", "digits"),
        ("What is the default host?", None),
        ("Why is the default port taken?", None),
        ("When was it released, and by whom?", None),
        ("When was it released and how?", None),
        ("When was it made and released?", "date"),
    ],
)
def test_a_question_asks_for_a_kind_of_thing(
    any_db: Connection, question: str, kind: str | None
) -> None:
    assert scalar(any_db, "select ragdb_internal.asked_kind(%s, 'english')", question) == kind
    assert scalar(any_db, "select ragdb_internal.asked_kind(%s, 'german')", question) is None


@pytest.mark.parametrize(
    ("sentence", "kind", "says"),
    [
        ("It was released on 2024-05-28.", "date", True),
        ("It was released in May.", "date", True),
        ("It may be released.", "date", False),
        ("It was released on 28.05.24.", "date", True),
        ("It was released late in the 18th century.", "date", True),
        ("It ended after the war.", "date", True),
        ("Rome fell in 476.", "date", True),
        ("It was released (#1534).", "date", False),
        ("It was released [here](https://example.com/pull/1534).", "date", False),
        ("Version 2.100 was released.", "date", False),
        ("There are twenty-two.", "number", True),
        ("There are 22.", "number", True),
        ("There are some.", "number", False),
        ("There are some (#1534).", "number", False),
        ("Any one is free.", "digits", False),
        ("It listens on 8000.", "digits", True),
        ("It listens.", None, True),
    ],
)
def test_a_sentence_says_a_kind_of_thing(
    any_db: Connection, sentence: str, kind: str | None, says: bool
) -> None:
    assert scalar(any_db, "select ragdb_internal.says_kind(%s, %s)", sentence, kind) is says


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was version 9 of the parser released?", None),
        ("When was version 7 of the parser released?", "Version 7 of the parser was made in 2024"),
        ("How many workers does the parser start?", "The parser runs as 4 workers"),
        ("How many threads of the parser wait?", None),
        ("Which threads of the parser wait?", "Threads of the parser wait for work."),
    ],
)
def test_what_lacks_the_kind_of_thing_is_no_answer(
    db: Connection, question: str, answer: str | None
) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", "Names that are old are removed once version 9 is released.")
    base.put_text("docs", "b.md", "Version 7 of the parser was made in 2024 and released.")
    base.put_text(
        "docs", "c.md", "The parser does start its workers itself. The parser runs as 4 workers."
    )
    base.put_text("docs", "d.md", "Threads of the parser wait for work.")
    row = alike(base, "docs", question, sentences=1)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient"


def test_a_thing_is_not_called_unnamed_where_only_the_number_lacks(db: Connection) -> None:
    chunk = {
        "source_id": "hydromax/pumps.md",
        "chunk_id": "a",
        "text": "It lifts buckets of sand from a well. Buckets are lifted in an hour by a horse.",
    }
    made = scalar(
        db,
        "select ragdb.answer_from_evidence(%s, %s)",
        "How many buckets does the HydroMax lift?",
        json.dumps({"chunks": [chunk]}),
    )
    assert (made["insufficient_evidence"], made["unnamed"]) == (True, [])
