"""Who asks why is rather told by what says a reason."""

from __future__ import annotations

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import in_sql
from tests.sql.evidence.test_evidence_packs import scalar


@pytest.mark.parametrize(
    ("question", "config", "asks"),
    [
        ("Why is the parser slow?", "english", True),
        ("Hello, why is it slow?", "english", True),
        ("In 1973, why was it slow?", "english", True),
        ("What is the parser and why is it slow?", "english", False),
        ("How do I see why it is slow?", "english", False),
        ("Is it slow?", "english", False),
        ("Warum ist er langsam?", "german", True),
        ("Weshalb ist er langsam?", "german", True),
        ("Wann ist er langsam?", "german", False),
        ("Pourquoi est-il lent ?", "french", True),
        ("Quand est-il lent ?", "french", False),
        ("¿Por qué es lento?", "spanish", True),
        ("Por la noche, ¿por qué es lento?", "spanish", True),
        ("POR QUE ES LENTO", "spanish", True),
        ("¿Pasa por la red?", "spanish", False),
        ("Почему он медленный?", "russian", False),
    ],
)
def test_a_question_asks_why(any_db: Connection, question: str, config: str, asks: bool) -> None:
    kinds = scalar(any_db, "select ragdb_internal.asked_kinds(%s, %s)", question, config)
    assert (f"{config}_reason" in kinds) is asks


@pytest.mark.parametrize(
    ("config", "question", "fact", "reason"),
    [
        (
            "english",
            "Why does the parser read files twice?",
            "The parser does read all files twice.",
            "It reads files twice because names may follow their use.",
        ),
        (
            "german",
            "Warum liest der Parser Dateien doppelt?",
            "Der Parser liest alle Dateien doppelt.",
            "Dateien liest er doppelt, weil Namen später folgen.",
        ),
        (
            "french",
            "Pourquoi le parseur lit-il les fichiers deux fois ?",
            "Le parseur lit bien les fichiers deux fois.",
            "Il lit les fichiers deux fois car des noms suivent.",
        ),
        (
            "spanish",
            "¿Por qué el lector abre los archivos dos veces?",
            "El lector abre todos los archivos dos veces.",
            "Abre los archivos dos veces porque faltan nombres.",
        ),
    ],
)
def test_why_is_answered_by_a_reason_and_where_there_is_none_by_what_is_so(
    any_db: Connection, config: str, question: str, fact: str, reason: str
) -> None:
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_text("docs", "a.md", fact)
    assert in_sql(base, "docs", question, sentences=1).answer == fact
    base.put_text("docs", "a.md", f"{fact} {reason}")
    assert in_sql(base, "docs", question, sentences=1).answer == reason
