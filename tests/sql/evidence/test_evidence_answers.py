"""A question is planned, its evidence judged, and it is answered from that or not at all."""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.processor import spent
from tests.sql.evidence.test_evidence_packs import scalar

EVIDENCE = {
    "chunks": [
        {
            "source_id": "a.md",
            "chunk_id": "c1",
            "text": "Refunds are paid within 14 days. Cards only.\n\n"
            "Gifts are refunded as vouchers.",
            "score": 0.6,
        },
        {
            "source_id": "b.md",
            "chunk_id": "c2",
            "text": "Shipping takes five days. Vouchers never expire.",
            "score": 0.4,
        },
    ]
}


def answer(db: Connection, question: str, evidence: Any = EVIDENCE, **more: Any) -> dict[str, Any]:
    names = "".join(f", {name} => %({name})s" for name in more)
    arguments = {"question": question, "evidence": json.dumps(evidence)} | more
    query = f"select ragdb.answer_from_evidence(%(question)s, %(evidence)s{names})"
    row = db.execute(query.encode(), arguments).fetchone()
    assert row is not None
    found: dict[str, Any] = row[0]
    return found


def test_a_sentence_with_how_many_is_no_better_than_one_with_the_number(db: Connection) -> None:
    text = "Many staff members are on leave. The staff has 40 people."
    evidence = {"chunks": [{"source_id": "a", "chunk_id": "b", "text": text, "score": 0.5}]}
    found = answer(db, "How many people has the staff?", evidence, max_sentences=1)
    assert found["answer"] == "The staff has 40 people."
    evidence["chunks"][0]["text"] = "Many of them are on leave, as many people say. Staff: 40."
    assert answer(db, "How many staff?", evidence, max_sentences=1)["answer"] == "Staff: 40."


@pytest.mark.parametrize(
    ("word", "sentences"),
    [
        ("Büro", ["Das Büro ist in der Hauptstr. 5, im zweiten Stock.", "Es ist werktags offen."]),
        ("wohnt", ["Sie wohnt in der Hauptstr. 5.", "Dort ist sie oft."]),
        ("free", ["Calls of 43 min. per month are free.", "Others cost 2 cents each."]),
        ("arbeitet", ["Frau Prof. Dr. Müller arbeitet montags.", "Sonst ist niemand da."]),
        ("Frist", ["Die Frist endet am 31. Dezember 2025.", "Danach ist es zu spät."]),
        ("Tiere", ["Tiere wie z. B. Hunde und z.B. Katzen sind erlaubt.", "Vögel sind es nicht."]),
        ("beach", ["The beach is at St. Augustine.", "August is full."]),
        ("stamp", ["A stamp, e.g. Penny Black, costs approx. 3 dollars.", "Letters cost less."]),
        ("oficina", ["La oficina está en Av. del Sol, núm. 12, en Lima.", "No abre los lunes."]),
        ("bureau", ["Le bureau est ouvert, tél. 12 34, chap. 3 et p. 7.", "Il ferme tard."]),
        ("офис", ["Наш офис на ул. Мира, стр. 5, с 1955 г. он открыт.", "Он закрыт зимой."]),
        # no abbreviation; one that ends a sentence; what begins an item, a line or a paragraph
        ("opened", ["It was opened in 1990.", "30 people work there today."]),
        ("shirts", ["We sell shirts, shoes etc.", "Nothing else is sold here."]),
        ("went", ["i went home with it.", "then i slept for a day."]),
        ("press", ["To begin, press a key, e.g.", "1. the one for the letter A."]),
        ("sizes", ["We have it in these sizes etc.\n\n", "small ones and large ones too."]),
    ],
)
def test_a_sentence_goes_on_behind_an_abbreviation(
    any_db: Connection, word: str, sentences: list[str]
) -> None:
    text = "".join(s if s.endswith("\n") else f"{s} " for s in sentences)
    evidence = {"chunks": [{"source_id": "a", "chunk_id": "b", "text": text, "score": 0.5}]}
    found = answer(any_db, word, evidence, max_sentences=1)
    assert [c["quote"] for c in found["citations"]] == [sentences[0].strip()]


@pytest.mark.parametrize(
    "sentences",
    [
        ["दुकान जयपुर में है। ", "वह कब खुलती है? ", "डॉ. खान सुबह आते हैं।", "बस॥"],
        ["أين نحن؟ ", "نحن في القاهرة. ", "د. يوسف هنا.", "\n", "ہم یہاں ہیں۔ ", "وہ وہاں ہے۔"],
        ["Πού βρισκόμαστε; ", "Στην Αθήνα· ο κ. Νίκος το ξέρει. ", "«Πότε;» ", "Αύριο."],
        ["他说：“我开门。”", "大家同意了（真的。）", "是吗？！", "是。"],
        [
            "「鍵は誰が？」と先生が尋ねた。",
            "「はい。」",
            "『いいえ！』、と彼。",
            "\n\u3000次です。",
        ],
        ["어디입니까? ", "서울시 14번지입니다. ", "3. 층이 아닙니다."],
        ["ร้านเปิดเวลา 9.00 น. ถึง 20.30 น. ทุกวัน พ.ศ. ๒๕๖๗\n\n", "ปิดวันอาทิตย์"],
        ["« Satisfait ou remboursé\u00a0!\u00a0» : trente jours. ", "« Qui vient ? » ", "M. Noël."],
        ["« Oui ! » dit-elle. ", "Où sommes-nous ? ", "À Besançon, chez MM. Dupont. ", "Ici !"],
        [
            "¿Dónde? ",
            "En la Avda. de Colón, con la Sra. Muñoz y el Sr. Peña. ",
            "¡Ya! ",
            "¿Sí?, dijo.",
        ],
        [
            "19. yüzyılda, Sn. Işıl ve Doç. Ünal ile. ",
            "Nerede? ",
            "3. katta; 5. şubede. ",
            "Bitti.",
        ],
        # a semicolon, and a letter of Greek
        ["It is so; we know. ", "Let x be α; let y be β. ", "(It says 'so.') ", "Then it ends."],
    ],
)
def test_a_sentence_ends_where_its_language_ends_it(
    any_db: Connection, sentences: list[str]
) -> None:
    for collation in ("", ' collate "C"'):
        query = f"select sentence from ragdb_internal.sentences(%s{collation})"
        found = any_db.execute(query.encode(), ("".join(sentences),)).fetchall()
        assert [row[0] for row in found] == [s for part in sentences if (s := part.strip())]


@pytest.mark.parametrize(
    ("question", "needs", "queries"),
    [
        ("Hello there!", False, []),
        ("thank you", False, []),
        ("What is 2 + 2?", False, []),
        ("calculate (3 - 1) / 2", False, []),
        ("What is 404?", True, ["What is 404?"]),
        ("2024-01-05", True, ["2024-01-05"]),
        ("1/2", True, ["1/2"]),
        ("?!", False, []),
        ("What is it?", False, []),
        ("refund policy", True, ["refund policy"]),
        (
            "When did the Treaty of Lisbon come into force and who signed it?",
            True,
            [
                "When did the Treaty of Lisbon come into force and who signed it?",
                "When did the Treaty of Lisbon come into force",
                "who signed it?",
                "Treaty of Lisbon",
            ],
        ),
        # "I" is written with a capital, and names nobody
        (
            "How do I ask the Library, and when may I come?",
            True,
            [
                "How do I ask the Library, and when may I come?",
                "How do I ask the Library",
                "when may I come?",
                "Library",
            ],
        ),
        # a version is part of a name, a year is not
        (
            "Which tool dropped Python 3.9 and Windows in May 1999?",
            True,
            [
                "Which tool dropped Python 3.9 and Windows in May 1999?",
                "Python 3.9",
                "Windows",
                "May",
            ],
        ),
        (
            'What does  "late fee" mean?',
            True,
            ['What does "late fee" mean?', "late fee"],
        ),
    ],
)
def test_a_question_is_planned(
    any_db: Connection, question: str, needs: bool, queries: list[str]
) -> None:
    plan = scalar(any_db, "select ragdb.rag_query_plan(%s)", question)
    assert plan["needs_retrieval"] is needs
    assert plan["queries"] == queries
    assert plan["reason"].startswith("it ")


def test_a_question_is_planned_alike_in_every_language_and_locale(any_db: Connection) -> None:
    plans = {
        "متى يفتح المتجر؟ أين هو؟": ["متى يفتح المتجر؟", "أين هو؟"],
        "दुकान कहाँ है। कब खुलती है?": ["दुकान कहाँ है।", "कब खुलती है?"],
        "什么时候开门？钥匙“备用钥匙”呢？": ["什么时候开门？", "钥匙“备用钥匙”呢？", "备用钥匙"],
        "鍵「予備の鍵」はどこ？": ["予備の鍵"],
        "Πού είναι η Ελένη Νικολάου;": ["Ελένη Νικολάου"],
        "Ne zaman Ülker İstanbul'a gelir?": ["Ülker İstanbul"],
        "¿Quién es Íñigo Peña?": ["Íñigo Peña"],
        "Wann arbeitet Frau Müller in Österreich?": ["Frau Müller", "Österreich"],
        "Кто такая Ёлкина?": ["Ёлкина"],
        "WER IST MÜLLER, ÖSTERREICH": ["ÖSTERREICH"],
    }
    for collation in ("", ' collate "C"'):
        query = f"select ragdb.rag_query_plan(%s{collation}) -> 'queries'"
        for question, parts in plans.items():
            row = any_db.execute(query.encode(), (question,)).fetchone()
            assert row == ([question, *parts],), collation


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Could you please tell me about gifts?", "gifts?"),
        ("Hi there, I would like to know how gifts are sent. Thanks!", "how gifts are sent.!"),
        ("I got a gift. Can you tell me if it is late, please?", "I got a gift. if it is late?"),
        ("Please explain recursion", "recursion"),
        ("Give me a list of all gifts", "all gifts"),
        ("Do you know who sends gifts?", "who sends gifts?"),
        ("What happens if a gift is late?", "if a gift is late?"),
        ("whats the price", "the price"),
        ("Können Sie mir bitte sagen, wann es kommt?", "wann es kommt?"),
        ("Erzähl mir etwas über Geschenke", "Geschenke"),
        ("Bonjour, je voudrais savoir comment payer, s'il vous plaît", "comment payer"),
        ("Parlez-moi de la livraison", "la livraison"),
        ("¿Me puedes decir cuándo llega?", "¿cuándo llega?"),
        ("Hola, ¿podrías explicarme la garantía? Gracias", "la garantía?"),
        ("Скажите, пожалуйста, сколько стоит доставка?", "сколько стоит доставка?"),
        ("Расскажите о доставке", "доставке"),
        ("Is there a way to send gifts?", "send gifts?"),
        ("Explain the gifts", "the gifts"),
        ("I need help with gifts", "gifts"),
        ("Hallo zusammen, ich möchte gern wissen, wann es kommt", "wann es kommt"),
        ("Wissen Sie, wann es kommt? Danke", "wann es kommt?"),
        ("Gibt es eine Möglichkeit, es zu tauschen?", "es zu tauschen?"),
        ("Was passiert, wenn es fehlt?", "wenn es fehlt?"),
        ("Pouvez-vous me dire quand il arrive ?", "quand il arrive ?"),
        ("S’il vous plaît, savez-vous quand il arrive ?", "quand il arrive ?"),
        ("Por favor, ¿cuándo llega?", "cuándo llega?"),
        ("Buenos días, quiero saber cuándo llega", "cuándo llega"),
        ("Dime cuándo llega", "cuándo llega"),
        ("Привет! Я хочу знать, когда придёт посылка", "когда придёт посылка"),
        ("Объясните, пожалуйста, правила", "правила"),
        # things to ask about, and what has nothing else
        ("explain analyze", "explain analyze"),
        ("list comprehension", "list comprehension"),
        ("Can you send gifts?", "Can you send gifts?"),
        ("Who wrote Tell Me About It?", "Who wrote Tell Me About It?"),
        ("hello world", "hello world"),
        ("Please explain", "explain"),
        ("Help me!", "Help me!"),
        ("Скажи", "Скажи"),
    ],
)
def test_courtesy_is_not_looked_up(any_db: Connection, question: str, asked: str) -> None:
    plan = scalar(any_db, "select ragdb.rag_query_plan(%s)", question)
    assert plan["queries"][0] == asked


@pytest.mark.parametrize(
    ("query", "thresholds", "enough"),
    [
        ("gifts vouchers", {}, True),
        ("gifts vouchers mars", {}, True),
        ("gifts mars moon", {}, False),
        ("gifts mars moon", {"min_coverage": 0.3}, True),
        ("gifts", {"min_chunks": 2}, True),
        ("gifts", {"min_chunks": 3}, False),
        ("gifts", {"min_score": 0.6}, True),
        ("gifts", {"min_score": 0.61}, False),
    ],
)
def test_evidence_is_enough_when_chunks_score_and_terms_are(
    any_db: Connection, query: str, thresholds: dict[str, Any], enough: bool
) -> None:
    names = "".join(f", {name} => %({name})s" for name in thresholds)
    row = any_db.execute(
        f"select ragdb.rag_enough_context_gate(%(query)s, %(pack)s{names})".encode(),
        {"query": query, "pack": json.dumps(EVIDENCE)} | thresholds,
    ).fetchone()
    assert row is not None
    verdict = row[0]
    assert verdict["enough"] is enough
    assert verdict["chunks"] == 2
    assert verdict["best_score"] == 0.6
    for name, value in thresholds.items():
        assert verdict[name] == value


@pytest.mark.parametrize(
    ("config", "text", "question", "missing"),
    [
        ("german", "Dr. Müller arbeitet montags.", "Wann arbeitet Dr. Müller?", []),
        ("german", "Dr. Müller arbeitet montags.", "Sing mir, warum Müller arbeitet", ["sing"]),
        ("russian", "Доставка стоит 5 рублей.", "Сколько стоит доставка?", []),
        ("french", "Le magasin ouvre à neuf heures.", "À quelle heure ouvre-t-il ?", []),
        ("french", "Le reçu est ici.", "Pourquoi faut-il le reçu ?", ["faut"]),
        ("spanish", "El envío cuesta cinco euros.", "¿Cuánto cuesta el envío?", []),
        ("spanish", "Las llaves son de Ana.", "¿De quién son las llaves, y cuándo?", []),
        ("turkish", "Sözleşme martta sona erer.", "Sözleşme ne zaman sona erer?", []),
        ("turkish", "Saat beşte kapanır.", "Saat kaçta kapanır? Zaman?", ["zama"]),
        ("arabic", "ينتهي العقد في مارس.", "متى ينتهي العقد؟", []),
        ("hindi", "अनुबंध मार्च में समाप्त होता है।", "अनुबंध कब समाप्त होता है?", []),
        ("greek", "Η σύμβαση λήγει τον Μάρτιο.", "Πότε λήγει η σύμβαση;", []),
        ("english", "合同三月到期。", "合同什么时候到期？", []),
        ("english", "他几乎三天没来。", "他什么时候来？几天没来？几乎？", []),
        ("english", "契約は三月に終了します。", "契約はいつ終了しますか？", []),
        ("english", "계약은 3월에 만료됩니다.", "계약은 언제 만료됩니까?", []),
        ("english", "สัญญาสิ้นสุดมีนาคม", "สัญญาสิ้นสุดเมื่อไหร่", []),
        # names, an abbreviation, and what asks in another language
        ("english", "They met there.", "Who met Wen there?", ["wen"]),
        ("english", "Kim left.", "Which comment did Kim leave?", ["comment", "leav"]),
        ("german", "Die Rate ist 5.", "Was ist die WER Rate?", ["wer"]),
        # what an answer does not repeat
        ("english", "Refunds go to a card.", "How do refunds work?", []),
        ("english", "Refunds go to a card.", "Which refunds work?", ["work"]),
        ("english", "It is RRF.", "What does RRF mean?", []),
        ("english", "It is here.", "How does it work?", ["work"]),
        ("english", "Recursion ends.", "Explain recursion", []),
        ("english", "Recursion ends.", "Does recursion explain it?", ["explain"]),
    ],
)
def test_the_word_that_asks_is_not_looked_for(
    any_db: Connection, config: str, text: str, question: str, missing: list[str]
) -> None:
    chunk = {"source_id": "a", "chunk_id": "b", "text": text, "score": 0.5}
    pack = json.dumps({"text_config": config, "chunks": [chunk]})
    for collation in ("", ' collate "C"'):
        gate = f"ragdb.rag_enough_context_gate(%s{collation}, %s)"
        row = any_db.execute(
            f"select {gate} -> 'missing_terms'".encode(), (question, pack)
        ).fetchone()
        assert row == (missing,)


@pytest.mark.parametrize(
    ("config", "text", "question", "missing"),
    [
        ("french", "L'école ferme à midi.", "Ecole ferme?", []),
        ("turkish", "Işıl Öztürk bodrumda.", "isil ozturk", []),
        ("english", "The Zurich office is closed.", "Is the Zürich office closed?", []),
        ("spanish", "El café está cerrado.", "¿cafe cerrada?", []),
        ("english", "The cafe is closed; Łódź is open.", "café, Lodz, tea", ["tea"]),
        # the word itself comes first
        ("simple", "côte: mer. cote: bourse.", "cote", []),
    ],
)
def test_a_word_typed_without_its_accents_is_said_by_the_one_with_them(
    any_db: Connection, config: str, text: str, question: str, missing: list[str]
) -> None:
    chunk = {"source_id": "a", "chunk_id": "b", "text": text, "score": 0.5}
    pack = {"text_config": config, "chunks": [chunk]}
    verdict = scalar(
        any_db, "select ragdb.rag_enough_context_gate(%s, %s)", question, json.dumps(pack)
    )
    assert verdict["missing_terms"] == missing
    found = answer(any_db, question, pack, max_sentences=1)
    assert found["answer"] == (text if config != "simple" else "cote: bourse.")


def test_the_gate_names_the_terms_that_are_missing(any_db: Connection) -> None:
    verdict = scalar(
        any_db,
        "select ragdb.rag_enough_context_gate('gifts on the moon', %s)",
        json.dumps(EVIDENCE),
    )
    assert verdict["missing_terms"] == ["moon"]
    assert verdict["coverage"] == 0.5


def test_an_answer_is_a_sentence_with_its_place(any_db: Connection) -> None:
    found = answer(any_db, "How are gifts refunded?", max_sentences=1)
    sentence = "Gifts are refunded as vouchers."
    text = str(EVIDENCE["chunks"][0]["text"])
    start = text.index(sentence)
    assert found["answer"] == sentence
    assert found["citations"] == [
        {
            "source_id": "a.md",
            "chunk_id": "c1",
            "quote": sentence,
            "start": start,
            "end": start + len(sentence),
            "page": None,
            "answer_start": 0,
            "answer_end": len(sentence),
        }
    ]
    assert found["insufficient_evidence"] is False
    assert found["support"] == 1


def test_a_second_sentence_brings_what_the_first_has_not(any_db: Connection) -> None:
    found = answer(any_db, "Do vouchers expire, and are shipping times five days?")
    assert found["answer"] == "Shipping takes five days. Vouchers never expire."
    assert [c["quote"] for c in found["citations"]] == [
        "Shipping takes five days.",
        "Vouchers never expire.",
    ]
    assert answer(any_db, "Do vouchers expire?")["answer"] == "Vouchers never expire."


@pytest.mark.parametrize(
    ("text", "question", "said"),
    [
        ("# How do refunds work?\n\nThey follow a policy. Shipping is free.",
         "How do refunds work?", "They follow a policy."),
        ("Who pays? How are (gifts refunded?)\nVouchers are handed out.",
         "How are gifts refunded?", "Vouchers are handed out."),
        ("Are vouchers refunded? No. They never expire.",
         "Are vouchers refunded?", "No. They never expire."),
        ("Are vouchers refunded? No.\n\nThey never expire.",
         "Are vouchers refunded?", "Are vouchers refunded? No."),
        ("Q: Are vouchers refunded?\nA: No.\n\nQ: Do they expire?\nA: No, they never do.",
         "Are vouchers refunded?", "Q: Are vouchers refunded?\nA: No."),
        ("**I want it back. Are vouchers refunded?**\n\nAsk the desk, please.",
         "I want vouchers refunded back", "Ask the desk, please."),
        ("## How long loans last\n\nThree weeks, then they are due.\n\n## How long, how many",
         "How long do loans last?", "Three weeks, then they are due."),
    ],
)  # fmt: skip
def test_a_question_is_answered_by_what_follows_it(
    any_db: Connection, text: str, question: str, said: str
) -> None:
    chunk = {"source_id": "faq.md", "chunk_id": "f", "text": text, "score": 0.9}
    found = answer(any_db, question, {"chunks": [chunk]}, max_sentences=1)
    (citation,) = found["citations"]
    assert (found["answer"], citation["quote"]) == (said, said)
    assert text[citation["start"] : citation["end"]] == said
    checks = any_db.execute(
        "select code from ragdb.check_citations(%s, %s)",
        (json.dumps(found), json.dumps({"chunks": [chunk]})),
    ).fetchall()
    assert checks == [(None,)]


PAGE = """# Gifts

They come back:

- **Gifts** are refunded as vouchers
- Cards are charged back! In two weeks
  or three

1. Ask at the desk
2. Show the receipt

| kind | days |
|---|---|
| gifts by post | three days |
| gifts by hand | one day |

```python
refund(gifts)  # gifts are refunded by hand. So it is

refund(cards)
```
Nobody is asked why.
"""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How are gifts refunded?", "**Gifts** are refunded as vouchers"),
        ("In two weeks?", "In two weeks\n  or three"),
        ("Who has to show a receipt?", "2. Show the receipt"),
        ("How many days for gifts by post?", "| gifts by post | three days |"),
        ("Is nobody asked?", "Nobody is asked why."),
    ],
)
def test_an_item_or_a_row_answers_by_itself_and_code_does_not(
    any_db: Connection, question: str, said: str
) -> None:
    chunk = {"source_id": "gifts.md", "chunk_id": "g", "text": PAGE, "score": 0.9}
    found = answer(any_db, question, {"chunks": [chunk]}, max_sentences=1)
    assert found["answer"] == said
    parts = any_db.execute(
        "select start_offset, end_offset, sentence from ragdb_internal.sentences(%s)", (PAGE,)
    ).fetchall()
    assert all(PAGE[start:end] == part for start, end, part in parts)
    between = {PAGE[a[1] : b[0]] for a, b in pairwise(parts)}
    assert not "".join(between).replace("-", "").strip(), between


MANUAL = """# Tasks

## Add the task { #add }

Pass your function to the tasks by the method `.add_task()`:

{* ../../docs_src/background_tasks/tutorial001_py310.py hl[14] *}

### Block-listing

```javascript
var massAssign = require('mongoose-mass-assign');
```

## How do I list my files?

```sh
ls
```

## Port

8080.

The window looks so:

![The window with a menu](https://example.org/window.png)
"""


def test_code_and_marks_answer_with_what_leads_to_them_and_not_with_a_heading(
    any_db: Connection,
) -> None:
    rows = any_db.execute(
        "select sentence from ragdb_internal.telling_sentences(%s)", (MANUAL,)
    ).fetchall()
    assert [sentence for (sentence,) in rows] == [
        "Pass your function to the tasks by the method `.add_task()`:\n\n"
        "{* ../../docs_src/background_tasks/tutorial001_py310.py hl[14] *}",
        "## How do I list my files?\n\n```sh\nls\n```",
        "## Port\n\n8080.",
        "The window looks so:\n\n![The window with a menu](https://example.org/window.png)",
    ]


WIFI = """# Wifi

The wifi is set up in **three steps**:

- Open [the portal](https://example.org/portal) and log in.
  Then wait.

- Choose *guest* and press `Save`.

The router hangs in the attic.
"""
RUN = "The demo is started so:\n\n```sh\nmake demo\n\nmake test\n```\n\nIt takes a minute."
ORDER = "Tools come back in this order:\n1. saws\n2) hammers\n\n- the rest\n"
FEES = "Late fees are these:\n\n| tool | fee |\n|---|---|\n| saw | 2 euro |\n\nNobody pays more."


@pytest.mark.parametrize(
    ("text", "question", "said"),
    [
        (WIFI, "How is the wifi set up in steps?", WIFI[8 : WIFI.index("\n\nThe router")]),
        (RUN, "How is the demo started?", RUN[: RUN.index("\n\nIt takes")]),
        (ORDER, "In which order do tools come back?", ORDER[: ORDER.index("\n\n- the rest")]),
        (FEES, "What are late fees?", FEES[: FEES.index("\n\nNobody")]),
        (
            "Loans of drills are short:\n\nThree weeks and no day more.\n\nSaws are lent longer.",
            *("How long are loans of drills?", "Three weeks and no day more."),
        ),
    ],
)
def test_what_ends_in_a_colon_is_quoted_with_what_it_leads_to(
    any_db: Connection, text: str, question: str, said: str
) -> None:
    chunk = {"source_id": "a.md", "chunk_id": "a", "text": text, "score": 0.9}
    found = answer(any_db, question, {"chunks": [chunk]})
    (citation,) = found["citations"]
    assert (found["answer"], citation["quote"]) == (said, said)
    assert text[citation["start"] : citation["end"]] == said
    checks = any_db.execute(
        "select code from ragdb.check_citations(%s, %s)",
        (json.dumps(found), json.dumps({"chunks": [chunk]})),
    ).fetchall()
    assert checks == [(None,)]


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("Gifts are refunded in May.", "This is wrong."),
        ("Gifts are refunded in May.", "But this is no longer the case."),
        ("Gifts are refunded in May.", "However, that's not always true for vouchers."),
        ("Gifts are refunded in May.", "_That_ isn’t quite right, says the desk."),
        ("Gifts are refunded in May.", "They no longer are."),
        ("Send gifts to be refunded in May.", "Never do _that_."),
        ("Send gifts to be refunded in May.", "Please don’t do that at the desk."),
        ("Geschenke werden im Mai erstattet.", "Das stimmt nicht."),
        ("Geschenke werden im Mai erstattet.", "Aber das ist seit dem Mai überholt."),
        ("Les cadeaux sont remboursés en mai.", "Ce n’est plus le cas."),
        ("Los regalos se reembolsan en mayo.", "Sin embargo, esto ya no es así."),
        ("Los regalos se reembolsan en mayo.", "Eso es falso."),
        ("Подарки возвращают в мае.", "Однако это уже не так."),
    ],
)
def test_what_the_next_sentence_takes_back_is_quoted_with_it(
    any_db: Connection, said: str, then: str
) -> None:
    """That quote alone would verify, and say the opposite of the text."""
    text = f"It rains. {said} {then} Trains stop at the desk."
    chunk = {"source_id": "a.md", "chunk_id": "a", "text": text, "score": 0.9}
    found = answer(any_db, said.replace(".", "?"), {"chunks": [chunk]}, max_sentences=1)
    assert found["answer"] == found["citations"][0]["quote"] == f"{said} {then}"


@pytest.mark.parametrize(
    "then",
    [
        "This is right.",
        "It is not at the desk.",
        "Never do the same at the desk.",
        "Das gilt immer.",
        "No es caro.",
        "\n\nThis is wrong.",  # of what stands below
        "\n- This is wrong.",
    ],
)
def test_what_goes_on_without_taking_back_is_not_quoted_with_it(
    any_db: Connection, then: str
) -> None:
    text = f"It rains. Gifts are refunded in May. {then} Trains stop at the desk."
    chunk = {"source_id": "a.md", "chunk_id": "a", "text": text, "score": 0.9}
    found = answer(any_db, "Are gifts refunded in May?", {"chunks": [chunk]}, max_sentences=1)
    assert found["answer"] == "Gifts are refunded in May."


def test_a_long_list_is_quoted_up_to_a_whole_line(any_db: Connection) -> None:
    items = "\n".join(f"- tool number {n} of the library" for n in range(60))
    text = f"These tools are lent:\n\n{items}\n"
    chunk = {"source_id": "a.md", "chunk_id": "a", "text": text, "score": 0.9}
    said = answer(any_db, "Which tools are lent?", {"chunks": [chunk]}, max_sentences=1)["answer"]
    assert 900 < len(said) <= 1021
    assert text.startswith(said + "\n- tool number ")


DAYS = """Nothing is due.

| kind of gift | days until the refund | desk |
|------------------------------|--------------------------------------|--------|
| by post | three | A |
| by hand | one | B |
"""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many days until the refund by post?", ["| by post | three | A |"]),
        ("How many days until the refund by hand?", ["| by hand | one | B |"]),
        ("How many days until the refund of the gift?", ["| by post | three | A |"]),
        (
            "Which desk for hand, which for post?",
            ["| by post | three | A |", "| by hand | one | B |"],
        ),
    ],
)
def test_the_head_of_a_table_is_said_of_its_rows(
    any_db: Connection, question: str, said: list[str]
) -> None:
    chunk = {"source_id": "gifts.md", "chunk_id": "g", "text": DAYS, "score": 0.9}
    found = answer(any_db, question, {"chunks": [chunk]})
    assert sorted((c["quote"] for c in found["citations"]), reverse=True) == said


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When do gifts expire?", "Gifts expire in May."),
        # what stands next to an answer may go on with it
        ("When do the gifts at the desk expire?", "Gifts expire in May. The desk knows more."),
        (
            "Do gifts expire, and where do trains stop?",
            "Gifts expire in May. Trains stop at the desk.",
        ),
        ("Will gifts expire in May if trains are late?", "Gifts expire in May."),
    ],
)
def test_a_sentence_about_something_else_is_not_added(
    any_db: Connection, question: str, said: str
) -> None:
    """It has one common word of the question, and the first sentence is answer enough."""
    text = "Gifts expire in May. The desk knows more. It is open. Trains stop at the desk."
    evidence = {"chunks": [{"source_id": "a", "chunk_id": "b", "text": text, "score": 0.5}]}
    assert answer(any_db, question, evidence)["answer"] == said


@pytest.mark.parametrize(
    "text",
    [
        "We never tell. Are gifts refunded?",
        "# Are gifts refunded",
        "**Are gifts refunded**\n",
        "This is how gifts are refunded:",
        "This is **how gifts are refunded:**",
    ],
)
def test_a_question_a_heading_or_a_colon_answers_nothing(any_db: Connection, text: str) -> None:
    chunk = {"source_id": "faq.md", "chunk_id": "f", "text": text, "score": 0.9}
    found = answer(any_db, "Are gifts refunded?", {"chunks": [chunk]})
    assert found["insufficient_evidence"] is True


MAIL = """From: Dr. Ada Moss <ada@x.org>
To: The Gifts Desk <gifts@x.org>
Date: Mon, 5 Jan 2026 08:00:00 +0000
Subject: How gifts are refunded: the gifts desk asks Ada Moss

Bring the receipt and it is paid back. No gifts desk is open on Sunday.
"""


def test_the_head_of_a_mail_is_no_answer_and_leads_to_what_the_mail_says(
    any_db: Connection,
) -> None:
    chunk = {"source_id": "a.eml", "chunk_id": "m", "text": MAIL, "score": 0.9}
    question = "How are gifts refunded, Ada Moss?"
    found = answer(any_db, question, {"chunks": [chunk]}, max_sentences=20)
    assert found["answer"] == "Bring the receipt and it is paid back."
    # a word too short to be quoted is not quoted with it
    chunk["text"] = MAIL[: MAIL.index("Bring")] + "Yes."
    assert answer(any_db, question, {"chunks": [chunk]})["insufficient_evidence"] is True
    # further on such lines are what a text says
    chunk["text"] = "He wrote:\n\nFrom: Ada Moss, for gifts\nSubject: gifts are refunded"
    assert answer(any_db, question, {"chunks": [chunk]})["insufficient_evidence"] is False


@pytest.mark.parametrize(
    "quoted",
    ['$ ragdb search "how are gifts refunded"', "Ask “how are gifts refunded” at the desk first."],
)
def test_a_sentence_that_quotes_the_question_answers_nothing(
    any_db: Connection, quoted: str
) -> None:
    chunk = {"source_id": "guide.md", "chunk_id": "g", "text": quoted, "score": 0.9}
    question = "How are gifts refunded?"
    assert answer(any_db, question, {"chunks": [chunk]})["insufficient_evidence"] is True
    # a part of it may be a name that is quoted
    chunk["text"] = 'The word "refunded" of gifts means vouchers, and how are they "gifts"?!'
    assert answer(any_db, question, {"chunks": [chunk]})["answer"] == chunk["text"]
    chunk["text"] = 'Say "gifts" and wait.'
    assert answer(any_db, "gifts", {"chunks": [chunk]})["answer"] == chunk["text"]


def test_terms_that_stand_apart_support_an_answer_little(any_db: Connection) -> None:
    """The yard is not the bridge: each sentence has half of what is asked, of something else."""
    question = "How many lorries crossed the bridge yesterday?"
    apart = ["Many lorries were parked in the yard.", "Whoever crossed the river saw no boat."]
    chunk = {"source_id": "a.md", "chunk_id": "a", "text": " ".join(apart), "score": 0.9}
    found = answer(any_db, question, {"chunks": [chunk]})
    assert (found["answer"], found["insufficient_evidence"]) == ("", True)
    # as much of it in one sentence is an answer
    chunk["text"] = "Some 40 lorries crossed the river."
    together = answer(any_db, question, {"chunks": [chunk]})
    assert together["answer"] == chunk["text"]
    assert found["support"] < 0.4 <= together["support"]


def test_the_same_share_supports_an_answer_to_a_longer_question_more(any_db: Connection) -> None:
    chunk = {"source_id": "a", "chunk_id": "a", "text": "Red lorries cross a bridge.", "score": 1}
    # a third of the terms of each
    short = "Do red parrots sing?"
    long = (
        "Do red lorries cross the bridge behind parrots, monkeys, tigers, zebras, camels,"
        " giraffes, llamas and gibbons?"
    )
    less, more = (
        answer(any_db, question, {"chunks": [chunk]})["support"] for question in (short, long)
    )
    assert 0 < less < more < 1
    # all of the terms support one of any length
    chunk["text"] = "Red parrots sing."
    assert answer(any_db, short, {"chunks": [chunk]})["support"] == 1


def test_words_of_a_heading_count_half_for_what_follows_it(any_db: Connection) -> None:
    own = "I will show you how to build a **Docker image** for an application."
    text = f"## Build a Docker image\n\nOkay, let us build something now!\n\n{own}\n"
    chunk = {"source_id": "docker.md", "chunk_id": "d", "text": text, "score": 0.9}
    question = "How do I build a Docker image?"
    found = answer(any_db, question, {"chunks": [chunk]}, max_sentences=1)
    assert found["answer"] == own
    # where nothing else has them, what follows the heading answers
    chunk["text"] = text.replace(own, "It takes an hour.")
    found = answer(any_db, question, {"chunks": [chunk]}, max_sentences=1)
    assert found["answer"] == "Okay, let us build something now!"
    assert 0.4 < found["support"] < 1
    chunk["text"] = "# How do I build a Docker image?\n\nWith one command only.\n\n" + own
    found = answer(any_db, question, {"chunks": [chunk]}, max_sentences=1)
    assert found["answer"] == "With one command only."


@pytest.mark.parametrize("evidence", [EVIDENCE, {"chunks": []}])
def test_what_the_evidence_does_not_say_is_not_answered(any_db: Connection, evidence: Any) -> None:
    found = answer(any_db, "Who is the president of Mars?", evidence)
    assert found["insufficient_evidence"] is True
    assert (found["answer"], found["citations"], found["support"]) == ("", [], 0)


def test_a_sentence_too_short_to_be_a_quote_is_no_answer(any_db: Connection) -> None:
    chunk = {"source_id": "a", "chunk_id": "c", "text": "Nr. Mary built the abbey. Mary."}
    found = answer(any_db, "mary", {"chunks": [chunk]})
    assert found["answer"] == "Mary built the abbey."


def test_the_input_of_a_task_is_evidence_too(any_db: Connection) -> None:
    wrapped = {"question": "x", "evidence": EVIDENCE}
    question = "How are gifts refunded?"
    assert answer(any_db, question, wrapped) == answer(any_db, question)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("rag_query_plan(null)", "RG400"),
        ("rag_query_plan(' ')", "RG400"),
        ("rag_query_plan(repeat('x', 10001))", "RG413"),
        ("rag_enough_context_gate('x', '{}')", "RG460"),
        ("""rag_enough_context_gate('x', '{"chunks": []}', -1)""", "RG400"),
        ("answer_from_evidence('x', null)", "RG460"),
        ("""answer_from_evidence('x', '{"chunks": []}', gate => '[]')""", "RG400"),
        (
            """answer_from_evidence('x', '{"chunks": []}', gate => '{"read_as": {"x": "y"}}')""",
            "RG400",
        ),
        (
            """answer_from_evidence(
                'x', '{"chunks": []}', gate => '{"read_as": {"x": {"y": "1"}}}')""",
            "RG400",
        ),
        ("""answer_from_evidence('x', '{"chunks": []}', gate => '{"names": {}}')""", "RG400"),
        ("""answer_from_evidence('x', '{"chunks": []}', gate => '{"names": [1]}')""", "RG400"),
        ("""answer_from_evidence('', '{"chunks": []}')""", "RG400"),
        ("""answer_from_evidence('x', '{"chunks": []}', 0)""", "RG400"),
        ("""answer_from_evidence('x', '{"chunks": []}', 1, 2)""", "RG400"),
    ],
)
def test_what_cannot_be_answered_is_refused(db: Connection, call: str, code: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(f"select ragdb.{call}".encode())
    assert caught.value.sqlstate == code


def ask(db: Connection, corpus: str, question: str, count: int) -> tuple[Any, Any, Any]:
    """Pack, gate and answer for a question, from chunks that a search finds."""
    row = db.execute(
        """select p.pack, ragdb.rag_enough_context_gate(%(q)s, p.pack),
             ragdb.answer_from_evidence(%(q)s, p.pack)
           from (select ragdb.build_evidence_pack(corpus => %(c)s, chunk_ids => array(
             select chunk_id from ragdb.search(%(c)s, %(q)s, %(k)s, mode => 'lexical')
             order by rank)) as pack) p""",
        {"q": question, "c": corpus, "k": count},
    ).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


@pytest.mark.shared
@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_citation_of_every_answer_verifies(db: Connection, shared: Path, step: int) -> None:
    folder = shared / "data" / "rag_anthropic_docs"
    db.execute("select ragdb.create_corpus('docs')")
    stored = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
    db.execute(
        "select ragdb.put_texts('docs', %s, ids => %s)",
        (
            [f"{record.get('title', '')}\n\n{record['text']}" for record in stored],
            [record["_id"] for record in stored],
        ),
    )
    questions = [json.loads(x) for x in (folder / "queries.jsonl").read_text().splitlines()]
    answered = 0
    for question in questions[::step]:
        pack, _, found = ask(db, "docs", question["text"], 3)
        rows = db.execute(
            "select code, method from ragdb.check_citations(%s, %s, min_coverage => 1)",
            (json.dumps(found), json.dumps(pack)),
        ).fetchall()
        if not found["insufficient_evidence"]:
            answered += 1
            assert set(rows) == {(None, "exact")}, (question, found, rows)
    assert answered >= 0.3 * len(questions) / step


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ((0.9, 0.2), "Loans of books last three weeks."),
        ((0.2, 0.9), "Loans of money last three weeks."),
        ((None, None), "Loans of books last three weeks."),
        ((-1, 10**400), "Loans of books last three weeks."),
        (("much", [1]), "Loans of books last three weeks."),
        ((0, 0), "Loans of books last three weeks."),
    ],
)
def test_of_sentences_alike_that_of_the_better_chunk_answers(
    any_db: Connection, scores: tuple[Any, Any], said: str
) -> None:
    texts = ("Loans of books last three weeks.", "Loans of money last three weeks.")
    chunks = [
        {"source_id": f"{n}.md", "chunk_id": f"c{n}", "text": text}
        | ({} if score is None else {"score": score})
        for n, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]
    found = any_db.execute(
        "select ragdb.answer_from_evidence('How long do loans last?', %s, 1)",
        (json.dumps({"chunks": chunks}),),
    ).fetchone()
    assert found is not None
    assert found[0]["answer"] == said


def test_an_answer_from_a_text_four_times_as_long_takes_about_four_times_as_long(
    db: Connection,
) -> None:
    def took(sentences: int) -> float:
        said = (f"The pump of hall {n} was sealed by team {n % 7}." for n in range(sentences))
        chunk = {"source_id": "a.txt", "chunk_id": "c1", "text": " ".join(said)}
        before = spent(db)
        assert answer(db, "Who sealed the pump of hall 9?", {"chunks": [chunk]})["citations"]
        return spent(db) - before

    took(100)
    # each sentence once copied the whole text: sixteen times as long
    assert took(4000) < 8 * took(1000)


def test_an_answer_that_has_to_name_four_times_as_much_takes_about_four_times_as_long(
    db: Connection,
) -> None:
    letters = "abcdefghijklm"
    words = ["".join(word) for word in product(letters, repeat=3)]
    chunk = {"source_id": "a.txt", "chunk_id": "c1", "text": " ".join(words[:600])}

    def took(names: int) -> float:
        question = "who knows " + " ".join(f"No{word}" for word in words[:names])
        before = spent(db)
        answer(db, question, {"chunks": [chunk]})
        return spent(db) - before

    took(100)
    # two names may be said as one word, and each was once tried with all others: sixteen times
    assert took(1600) < 8 * took(400)


@pytest.mark.parametrize(
    "heading",
    [
        "About Quickserv\n--------------",
        "About Quickserv\n==============",
        "--------------\nAbout Quickserv\n--------------",
    ],
)
def test_a_line_with_a_rule_below_it_is_a_heading_and_no_answer(
    any_db: Connection, heading: str
) -> None:
    text = f"{heading}\n\nPages are served in turn.\n\nA line - with a dash - and another ---"
    told = any_db.execute(
        "select sentence, heading from ragdb_internal.telling_sentences(%s)", (text,)
    ).fetchall()
    assert told == [
        ("Pages are served in turn.", heading),
        ("A line - with a dash - and another ---", None),
    ]


def test_a_line_of_capitals_above_an_indented_one_is_a_heading(any_db: Connection) -> None:
    text = (
        "EXIT STATUS\n       It is zero where ALL is well, and\n       ONE\n       elsewhere.\n"
        "BEZEICHNUNG ÜBER\n  dpkg - a tool\n\nTHE TOOL IS\nGIVEN AS IT IS."
    )
    told = any_db.execute(
        "select sentence, heading from ragdb_internal.telling_sentences(%s)", (text,)
    ).fetchall()
    assert told == [
        ("It is zero where ALL is well, and\n       ONE\n       elsewhere.", "EXIT STATUS"),
        ("dpkg - a tool", "BEZEICHNUNG ÜBER"),
        ("THE TOOL IS\nGIVEN AS IT IS.", None),
    ]
