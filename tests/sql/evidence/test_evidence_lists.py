"""Who asks for several things gets the list that says them, and not one of its items."""

from __future__ import annotations

import json

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import in_sql
from tests.sql.evidence.test_evidence_packs import scalar

ITEMS = "- Wood, which is cheap\n- Steel of the second choice\n- Any clean glass"
SAID = {
    "english": (
        ["Which materials may the frame have?", "List the materials of a frame",
         "What are the materials of a frame?", "What can a frame of a picture have?",
         "Could you give me a list of the materials of a frame?",
         "what kinds of materials are there for a frame"],
        "The frame of a picture has one of these materials.\n\n"
        "- Wood, which is cheap\n- Steel of the second choice\n- Any clean glass",
    ),
    "german": (
        ["Welche Materialien kann der Rahmen haben?", "Nenne die Materialien des Rahmens",
         "Was sind die Materialien eines Rahmens?"],
        "Der Rahmen hat eins dieser Materialien.\n\n"
        "- Holz, das billig ist\n- Stahl zweiter Wahl\n- Sauberes Glas",
    ),
    "french": (
        ["Quels matériaux le cadre a-t-il ?", "Listez les matériaux du cadre"],
        "Le cadre a un de ces matériaux.\n\n"
        "- Le bois, peu coûteux\n- L’acier de second choix\n- Le verre propre",
    ),
    "spanish": (
        ["¿Qué materiales tiene el marco?", "¿Cuáles son los materiales del marco?"],
        "El marco tiene uno de estos materiales.\n\n"
        "- La madera barata\n- El acero de segunda\n- El vidrio limpio",
    ),
    "russian": (
        ["Какие материалы может иметь рамка?", "Перечислите материалы рамки"],
        "Рамка имеет один из этих материалов, и материалы рамки дешёвые.\n\n"
        "- Недорогое дерево\n- Сталь второго сорта\n- Чистое стекло",
    ),
}  # fmt: skip
STEPS = "1. Pull the plug of the pump.\n2. Open the lid.\n3. Wait until the pump is dry."


def quotes(db: Connection, question: str, text: str) -> list[str]:
    """The quotes of an answer, each the range of the chunk that it says."""
    chunk = {"source_id": "a.md", "chunk_id": "c", "text": text, "score": 0.5}
    evidence = json.dumps({"chunks": [chunk]})
    found = scalar(db, "select ragdb.answer_from_evidence(%s, %s, 1)", question, evidence)
    for cited in found["citations"]:
        assert text[cited["start"] : cited["end"]] == cited["quote"]
        assert found["answer"][cited["answer_start"] : cited["answer_end"]] == cited["quote"]
    return [cited["quote"] for cited in found["citations"]]


@pytest.mark.parametrize("config", SAID)
def test_who_asks_for_a_list_gets_what_leads_to_it_and_its_items(
    any_db: Connection, config: str
) -> None:
    questions, said = SAID[config]
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_text("docs", "a.md", f"# X\n\n{said}\n\n.\n")
    for question in questions:
        row = in_sql(base, "docs", question, sentences=1)
        assert (row.status, row.answer, row.problems) == ("answered", said, []), question


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        # under a heading, with the words of one item
        ("Which materials has a cheap frame?", f"## Materials of a frame\n\n{ITEMS}", [ITEMS]),
        ("How do I dry the pump?", f"## Drying\n\n{STEPS}", [STEPS]),
        ("How do I dry the pump?", f"To dry the pump:\n\n{STEPS}\n\nThen go home, and rest there.",
         [f"To dry the pump:\n\n{STEPS}"]),
        # items of several lines, with items of their own
        ("Which tools open the lid?", "The lid is opened by tools\n\n* A key, which\n  is new\n\n"
         "* A hammer\n    * of wood\n    * of steel\n\nThe tools are in the box.",
         ["The lid is opened by tools\n\n* A key, which\n  is new\n\n"
          "* A hammer\n    * of wood\n    * of steel"]),
    ],
)  # fmt: skip
def test_a_list_is_quoted_whole(
    any_db: Connection, question: str, text: str, said: list[str]
) -> None:
    assert quotes(any_db, question, text) == said


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("Is the wood of the frame cheap?", f"Some frames.\n\n{ITEMS}", ["Wood, which is cheap"]),
        ("Which wood is it?", f"Some frames.\n\n{ITEMS}", ["Wood, which is cheap"]),
        # steps have numbers
        ("How do I get cheap wood?", f"Some frames.\n\n{ITEMS}", ["Wood, which is cheap"]),
        # what says what it is answers alone
        ("What are salts?", "- **Salts**: random texts\n- **Peppers**: secret texts",
         ["**Salts**: random texts"]),
        ("What are salts?", "We sell two salts here.\n\n- old salts\n- new salts\n\n"
         "Salts are random texts.", ["Salts are random texts."]),
        # one item, and a list that is of something else
        ("Which lids are open?", "The lids of the pumps are open.\n\n- Or so we think\n\nAnother.",
         ["The lids of the pumps are open."]),
        ("Which lids are open?", f"Some frames.\n\n{ITEMS}\n\nThe lids of pumps 2 and 3 are open.",
         ["The lids of pumps 2 and 3 are open."]),
    ],
)  # fmt: skip
def test_who_asks_for_one_thing_gets_no_list(
    any_db: Connection, question: str, text: str, said: list[str]
) -> None:
    assert quotes(any_db, question, text) == said


def test_of_a_long_list_the_first_items_are_quoted(any_db: Connection) -> None:
    items = [f"- pump number {n} of the hall" for n in range(100)]
    text = "The pumps of the hall are here.\n\n" + "\n".join(items)
    [said] = quotes(any_db, "Which pumps has the hall?", text)
    assert text.startswith(said)
    assert len(said) < 1100
    assert said.split("\n")[-1] in items
