"""What something is, is answered by the sentence that says it."""

from __future__ import annotations

import json
import time

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import in_sql
from tests.sql.evidence.test_evidence_packs import scalar

SAID = {
    "english": (
        "What is a salt?",
        "Salting slows attackers down, so store the salt with the hash. A **salt** (a short string)"
        " is a random text that is added to a password. The salt is made anew each time.",
        "A **salt**",
    ),
    "german": (
        "Was ist ein Salz?",
        "Das Salz steht neben dem Hash. Ein Salz ist ein Text, der vor das Passwort kommt.",
        "Ein Salz ist",
    ),
    "french": (
        "Qu’est-ce qu’un sel ?",
        "Le sel reste avec le mot de passe. Un sel est un texte tiré au hasard.",
        "Un sel est",
    ),
    "spanish": (
        "¿Qué es una sal?",
        "Guarde la sal junto al resumen. Una sal es un texto al azar.",
        "Una sal es",
    ),
    "russian": (
        "Что такое соль?",
        "Храните соль рядом с хешем. Соль — это случайный текст.",
        "Соль — это",
    ),
}


def assert_told(db: Connection, text: str, question: str, is_told: bool) -> None:
    """A question is answered by a text that is all there is, or not."""
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", text)
    row = in_sql(base, "docs", question)
    assert (row.status == "answered") is is_told, row.answer or row.reason


@pytest.mark.parametrize("config", SAID)
def test_what_something_is_is_answered_by_who_says_it(any_db: Connection, config: str) -> None:
    question, text, answer = SAID[config]
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_text("docs", "a.md", text)
    row = in_sql(base, "docs", question, sentences=1)
    assert (row.status, row.answer[: len(answer)]) == ("answered", answer)


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        # the chunk that is found first does not say it
        (["OAuth2 again, OAuth2 here, and OAuth2 there.",
          "Our site has a page on all of it. OAuth2 is a specification of several ways to log in."],
         "what's oauth2", "OAuth2 is a specification"),
        (["| code | sense |\n|---|---|\n| RG403 | no right |\n| RG404 | no corpus of that name |",
          "It raises RG404."], "What does RG404 mean?", "| RG404 |"),
        (["* `salt`: a random text before it\n* `pepper`: one for all",
          "The salt is kept beside the hash."], "Define salt", "`salt`: a random"),
        (["Webargs was made by Ann. Webargs is a tool for requests."],
         "What is Webargs?", "Webargs is a tool"),
        (["Put `@csrf` into each form against CSRF, as CSRF is common.",
          "[Cross-Site Request Forgery (CSRF)](https://example.com) is an attack on a session."],
         "What is CSRF and how does it work?", "[Cross-Site Request Forgery (CSRF)]"),
        # with the word of what kind of thing it is
        (["Clippy is included with Rust. Start Clippy by hand.",
          "The Clippy tool is a collection of checks."], "What is Clippy?", "The Clippy tool is"),
        (["Write the Drop trait by hand. The Drop handle is a part of a door.",
          "The `Drop` trait is what runs code at the end."], "What is Drop?", "The `Drop` trait"),
        # asked of something else
        (["As a salt is new for each user, hashes differ. No salt stays here for long."],
         "What is a salt?", "As a salt is new"),
    ],
)  # fmt: skip
def test_most_sentences_that_speak_of_a_thing_do_not_say_what_it_is(
    db: Connection, text: list[str], question: str, answer: str
) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_texts("docs", text, ids=[f"{n}.md" for n in range(len(text))])
    row = in_sql(base, "docs", question, sentences=1)
    assert (row.status, row.answer[: len(answer)]) == ("answered", answer)


@pytest.mark.parametrize(
    ("text", "question", "is_told"),
    [
        # of another thing, and the one that is asked about at the end alone
        ("Flask is a micro framework, as in Django.", "What is Django?", False),
        ("Flask: a micro framework, as in **Django**", "What is Django?", False),
        ("The site is built with Django.", "What is Django?", False),
        ("Flask is smaller than Django REST Framework.", "What is Django REST Framework?", False),
        ("The kitchen is no place for a salt.", "Define salt", False),
        # the thing itself, at the end
        ("The framework behind the site is Django.", "What is Django?", True),
        ("Forging requests is an attack called CSRF.", "What is CSRF?", True),
        ("Forging requests is an attack known as CSRF.", "What is CSRF?", True),
        ("Forging requests is the meaning of the term for CSRF.", "What is CSRF?", True),
        ("Paris is the capital of France.", "What is the capital of France?", True),
        ("Paris is the largest city of the capital region.", "What is the capital?", True),
        ("The site uses Django, which is a framework.", "What is Django?", True),
        ("Django is what runs beside Django.", "What is Django?", True),
        ("The site is built with Django.", "What is the site built with?", True),
        (
            "Making food from light is the process of photosynthesis.",
            "What is photosynthesis?",
            True,
        ),
        (
            "CSRF is short for Cross-Site Request Forgery.",
            "Define Cross-Site Request Forgery",
            True,
        ),
        ("It is the technical term used for a salt.", "What is a salt?", True),
        ("Cricket is a popular and the oldest sport in town.", "What is the oldest sport?", True),
        ("Cricket is another popular and the oldest sport.", "What is the oldest sport?", True),
        ("Water is made of hydrogen and oxygen.", "What is oxygen?", False),
        # a label is no name
        ("Note: a server has pages.", "What is a note?", False),
        ("* **Tip**: a server has pages.", "What is a tip?", False),
        ("Argument: a value that a call passes.", "What is an argument?", True),
        ("* **Goal**: a quick start.", "What is the goal?", True),
        ("`Note`: a class of lines.", "What is Note?", True),
        ("Salt: a random text.", "What is a salt?", True),
        ("A note is a line of text.", "What is a note?", True),
    ],
)
def test_what_names_a_thing_last_or_as_a_label_does_not_say_what_it_is(
    db: Connection, text: str, question: str, is_told: bool
) -> None:
    assert_told(db, text, question, is_told)


@pytest.mark.parametrize(
    ("text", "question", "is_told"),
    [
        # named among what is said of others
        ("We like Django.", "What is Django?", False),
        ("Add `django.contrib.postgres` to the list.", "What is Django?", False),
        ("--------------\nDjango 0.105\n--------------", "What is Django?", False),
        ("The crawler respects the standard (/robots.txt).", "What is robots.txt?", False),
        ("To specify a proxy on a socket, use localhost.", "What is a socks proxy?", False),
        ("Keep each salt beside its hash.", "What are salts?", False),
        ("Frames are a safer way of clickjacking protection.", "What is clickjacking?", False),
        ("--primary is a form of --keyring and takes a file.", "What is a keyring?", False),
        ("If the user has an agent, the connection is forwarded.", "What is an agent?", False),
        # it is told what it is
        ("Guard against clickjacking, also known as redress.", "What is clickjacking?", True),
        (
            "=====================\nquick - a page server\n=====================",
            "What is quick?",
            True,
        ),
        ("We use Django (a framework) for pages.", "What is Django?", True),
        ("We use Django, a framework.", "What is Django?", True),
        ('It has an Obersee ("upper lake") in the south.', "What does Obersee mean?", True),
        ("Therapy plans include advice.", "What is included in therapy plans?", True),
        ("Keep the clades (branches of one kind).", "What are clades?", True),
        ("There may be twins here – pairs of primes.", "What are twins?", True),
        ("Keep the clades (see below).", "What are clades?", False),
        ("[quick]: https://quick.example\n[slow]: https://slow.example", "What is slow?", False),
        ("The [quick](https://quick.example) server makes pages.", "What is quick?", True),
        ("It was sometimes labeled as huihui or old medicine.", "What is huihui?", True),
        ("Here is a pre-filter, which sorts words.", "What is a post-filter?", False),
        ("Here is a post filter, which sorts words.", "What is a post-filter?", True),
        ("For pages there is a framework called Django here.", "What is Django?", True),
        ("In cryptography, a salt is a random text.", "What are salts?", True),
        ("Guard against Cross-Site Request Forgery (CSRF).", "What is CSRF?", True),
        ("**Django** makes pages of models.", "What is Django?", True),
        ("# Django\n\nIt makes pages of models.", "What is Django?", True),
        ("Plugins are new in the second release.", "What is new?", True),
        # who somebody is, what something has, and what is looked for by a word
        ("The book was written by Ada Byron.", "Who is Ada Byron?", True),
        ("Set the maximum length to 64 letters.", "What is the maximum length?", True),
        ("Keep a length of 64 letters for passwords.", "What is a length for passwords?", True),
        ("We like Django.", "Django", True),
        # what a label has is none, nor is what a label is
        ("Type: a string", "What is a type?", False),
        ("* **Format**: a short code", "What is a format?", False),
        ("| Default | a string |", "What is a default?", False),
        ("Type: a string", "What is the type?", True),
        ("Type: a set that a value is from", "What is a type?", True),
    ],
)
def test_a_mention_and_what_a_label_has_do_not_say_what_something_is(
    db: Connection, text: str, question: str, is_told: bool
) -> None:
    assert_told(db, text, question, is_told)


def test_a_pattern_of_what_tells_a_thing_is_not_made_ready_for_each_thing(db: Connection) -> None:
    asked = (
        "select ragdb_internal.tells_thing('What is here of '||t||', as it is.',"
        " ragdb_internal.thing_pattern(array[t], 'english'), 'english')"
        " from unnest(%s::text[]) t"
    )

    def took(things: list[str]) -> float:
        began = time.perf_counter()
        db.execute(asked, (things,)).fetchall()
        return time.perf_counter() - began

    took(["thing"])
    of_one = min(took(["thing"] * 20) for _ in range(3))
    of_many = min(took([f"thing{n}x{of}" for of in range(20)]) for n in range(3))
    print(f"20 questions of one thing {of_one * 1e3:.1f} ms, of 20 things {of_many * 1e3:.1f} ms")
    assert of_many < 12 * of_one


@pytest.mark.parametrize(
    ("config", "question", "text"),
    [
        ("german", "Was ist ein Salz?", "Bewahre jedes Salz neben dem Hash auf."),
        ("french", "Qu’est-ce qu’un sel ?", "Gardez chaque sel avec le mot de passe."),
        ("spanish", "¿Qué es una sal?", "Guarde cada sal junto al resumen."),
        ("russian", "Что такое соль?", "Храните каждую соль рядом с хешем."),
        ("german", "Was ist Salz?", "Man braucht Salz- und Mehlvorräte für lange Reisen."),
        # of what a hyphen joins, a part is not all
        (
            "german",
            "Was sind Malum-in-se-Erwägungen?",
            "Einige gesetzliche Anforderungen gehen auf Malum-in-se-Erwägungen zurück. Weitere"
            " rechtliche Anforderungen ergeben sich aus Malum-Prohibitum-Erwägungen.",
        ),
    ],
)
def test_a_mention_does_not_say_what_something_is_in_other_languages(
    any_db: Connection, config: str, question: str, text: str
) -> None:
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_text("docs", "a.md", text)
    assert in_sql(base, "docs", question).status == "insufficient"


def test_another_name_of_what_a_hyphen_cuts_says_what_it_is(any_db: Connection) -> None:
    base = Database(any_db)
    base.create_corpus("docs", text_config="german")
    base.put_text("docs", "a.md", "Sie sind von der Rhodophyta- oder Rotalgen-Linie.")
    assert in_sql(base, "docs", "Was bedeutet Rhodophyta?").status == "answered"


@pytest.mark.parametrize(
    ("question", "config", "asked"),
    [
        ("What is a salt?", "english", "a salt"),
        ("Could you please tell me what a salt is?", "english", "a salt"),
        ("What exactly is a salt?", "english", "a salt"),
        ("So what is a salt exactly?", "english", "a salt"),
        ("whats a salt", "english", "a salt"),
        ("whats salt", "english", "salt"),
        ("In web security, what is a salt?", "english", "a salt in web security"),
        ("In which year was it, what is it?", "english", None),
        ("What is meant by salt?", "english", "salt"),
        ("What is the definition of a salt?", "english", "a salt"),
        ("What do you mean by salt?", "english", "salt"),
        ("What does salt mean in cryptography?", "english", "salt in cryptography"),
        ("Explain salts.", "english", "salts"),
        ("Explain how a salt is made.", "english", None),
        ("What is Node.js?", "english", "Node.js"),
        ("salt", "english", "salt"),
        ("Who wins?", "english", None),
        ("How gifts are refunded", "english", None),
        ("Please, what is the capital of France?", "english", "the capital of France"),
        ("What does CORS stand for", "english", "CORS"),
        ("What does CORS stand for in HTTP?", "english", "CORS in HTTP"),
        ("What does a failed payment mean for my order?", "english", None),
        ("What does the desk stand in?", "english", None),
        ("the salt", "english", "the salt"),
        ("What does the server do?", "english", None),
        ("Who was Tesla?", "english", "Tesla"),
        ("How does a salt work?", "english", None),
        ("We use bcrypt. What is a salt?", "english", None),
        ("What is a salt and how does it work?", "english", "a salt"),
        ("What is a salt, and why do I need one?", "english", "a salt"),
        ("What is a salt? How does it work?", "english", "a salt"),
        ("Explain what a salt is and how it is used", "english", "a salt"),
        ("What is a salt? Where do I buy it?", "english", None),
        ("What is a salt in the context of passwords?", "english", "a salt in passwords"),
        ("In the context of web security, what is a salt?", "english", "a salt in web security"),
        ("What is a salt in simple terms?", "english", "a salt"),
        ("Could you define a salt for me?", "english", "a salt"),
        ("Could you please define a salt?", "english", "a salt"),
        ("What kind of thing is a salt?", "english", "a salt"),
        ("What is the concept of a salt?", "english", "a salt"),
        ("What kind of thing does a salt slow down?", "english", None),
        ("Was bedeutet CORS?", "german", "CORS"),
        ("Was genau ist ein Salz?", "german", "ein Salz"),
        ("Kannst du mir erklären, was ein Salz ist?", "german", "ein Salz"),
        ("Was versteht man unter einem Salz?", "german", "einem Salz"),
        ("C’est quoi un sel ?", "french", "un sel"),
        ("Que veut dire CORS ?", "french", "CORS"),
        ("¿Qué quiere decir CORS?", "spanish", "CORS"),
        ("Definición de sal", "spanish", "sal"),
        ("Кто такой Тесла?", "russian", "Тесла"),
        # a verb that begins as another does
        ("¿Quién escribió el libro?", "spanish", None),
        ("¿Qué estados tiene?", "spanish", None),
        ("Wer warf den Ball?", "german", None),
        ("Qui estime le prix ?", "french", None),
    ],
)
def test_a_question_that_asks_what_something_is(
    any_db: Connection, question: str, config: str, asked: str | None
) -> None:
    told = scalar(
        any_db,
        "select ragdb_internal.asked_meaning(ragdb_internal.asked_for(%s), %s)", question, config,
    )  # fmt: skip
    assert told == asked


@pytest.mark.parametrize(
    ("question", "config", "sense"),
    [
        ("What is a salt in cryptography?", "english", ["a salt", "cryptography"]),
        ("What does salt mean in web security?", "english", ["salt", "web security"]),
        ("What is a man in the middle attack?", "english", ["a man in the middle attack", None]),
        ("What was the sum in 1990?", "english", ["the sum in 1990", None]),
        ("Was ist ein Salz in Rust?", "german", ["ein salz", "rust"]),
        ("Que signifie sel en Rust ?", "french", ["sel", "rust"]),
        ("Who sells salt in Rust?", "english", None),
    ],
)
def test_that_in_which_it_has_a_meaning_is_told_apart(
    any_db: Connection, question: str, config: str, sense: list[str | None] | None
) -> None:
    assert sense == scalar(any_db, "select ragdb_internal.asked_sense(%s, %s)", question, config)


RUST = (
    "# Ownership\n\nIn Rust nobody can do without ownership, and Rust has it always."
    "\n\n## The rules\n\nOwnership is a set of rules for memory. Keep them in mind."
)


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("What is ownership in Rust?", "Ownership is a set"),
        ("What does ownership mean in Rust?", "Ownership is a set"),
        ("Can you tell me what ownership is?", "Ownership is a set"),
        ("Explain ownership.", "Ownership is a set"),
        ("ownership", "Ownership is a set"),
    ],
)
def test_a_definition_answers_though_another_sentence_also_names_that_in_which_it_holds(
    any_db: Connection, question: str, begins: str
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", RUST)
    row = in_sql(base, "docs", question, sentences=1)
    assert (row.status, row.answer[: len(begins)]) == ("answered", begins)


def test_a_definition_of_another_field_has_not_the_field_asked_for(db: Connection) -> None:
    evidence = {"chunks": [{"chunk_id": "c", "source_id": "a.md", "text": RUST}]}
    supports = [
        scalar(
            db,
            "select (ragdb.answer_from_evidence(%s, %s, min_support => 0) ->> 'support')::float8",
            f"What is ownership in {field}?",
            json.dumps(evidence),
        )
        for field in ("Rust", "property law")
    ]
    assert supports[0] > 0.6 > supports[1]


@pytest.mark.parametrize(
    "text",
    [
        '<a id="what-a-salt-is-and-how-it-is-kept-beside-the-hash-of-a-password"></a>',
        "</Salt>",
        "{* ../../docs/salt/tutorial003_an_py310.py hl[11,18:20] in all of its length *}",
        '{{ site.salt.of.a.very.long.name | filter: "something" }} {% include salt.html %}',
        "![The salt](https://example.org/a/very/long/way/to/a/picture/of/salt-and-more.png)",
        "<!-- The salt of this site is hunter2. Do not tell anybody what the salt is. -->",
        "<!--\nThe salt of this site is hunter2.\n\nNobody knows the salt of it.\n-->",
        "[//]: # (The salt of this site is hunter2, and nobody knows it.)",
        "(what-a-salt-is)=\n(and-how-it-is-kept-beside-the-hash-of-a-password)=",
        "[salt-or-no-salt]: ch09-03-salt-or-no-salt.html#to-salt-or-not-to-salt-a-password",
    ],
)
def test_what_a_page_shows_no_words_of_is_no_answer(db: Connection, text: str) -> None:
    evidence = {"chunks": [{"chunk_id": "c", "source_id": "a.md", "text": text}]}
    answered = scalar(
        db, "select ragdb.answer_from_evidence('salt', %s, min_support => 0)", json.dumps(evidence)
    )
    assert answered["citations"] == []


def test_what_stands_around_a_comment_is_told_without_it(any_db: Connection) -> None:
    text = (
        "The salt is blue.\n\n<!-- The salt is red. The salt is green. -->\n\nIn <!-- x -->"
        " the salt is dear. `<!--` begins what hides.\n\nThe salt is old. <!-- The salt\n\nis new."
    )
    told = any_db.execute(
        "select sentence, words from ragdb_internal.telling_sentences(%s)", (text,)
    ).fetchall()
    assert told == [
        (said, said)
        for said in (
            "The salt is blue.",
            "In <!-- x --> the salt is dear.",
            "`<!--` begins what hides.",
            "The salt is old.",
        )
    ]


@pytest.mark.parametrize("marks", [("{{ a }}", "{{ b }}"), ("{% a %}", "{% b %}")])
def test_what_stands_between_two_marks_of_a_template_is_said(
    db: Connection, marks: tuple[str, str]
) -> None:
    text = f"{marks[0]} A salt keeps equal passwords apart {marks[1]}"
    evidence = {"chunks": [{"chunk_id": "c", "source_id": "a.md", "text": text}]}
    answered = scalar(
        db, "select ragdb.answer_from_evidence('salt', %s, min_support => 0)", json.dumps(evidence)
    )
    assert len(answered["citations"]) == 1


def test_who_says_what_something_is_may_speak_of_it_least(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_texts(
        "docs",
        [f"Docker, and Docker, and Docker runs image {n} here." for n in range(12)],
        ids=[f"{n}.md" for n in range(12)],
    )
    said = "Docker is a program that runs an image apart from all else on a machine, as we know."
    base.put_text("docs", "said.md", f"# On images\n\nThey are of use to many of us.\n\n{said}")
    row = in_sql(base, "docs", "What is Docker?", k=3)
    assert (row.status, row.sources[0]) == ("answered", "[1] said.md")
    assert row.answer.startswith("Docker is a program")
    assert row.trace_summary["retrieved_chunks"] == 3
    assert in_sql(base, "docs", "What does Docker run here?", k=3).sources[0] != "[1] said.md"


def test_at_most_half_of_the_evidence_says_what_something_is(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("docs")
    for n in range(6):
        base.put_text("docs", f"a{n}.md", f"Our page {n} of terms for you. Docker is a tool.")
        base.put_text("docs", f"b{n}.md", f"Docker, Docker, Docker {n}.")
    row = base.ask("docs", "What is Docker?", k=4)
    assert row.pack is not None
    assert [c.chunk.source_id[0] for c in row.pack.chunks] == ["a", "a", "b", "b"]


def test_what_many_queries_find_far_behind_does_not_outvote_what_one_finds_first(
    db: Connection,
) -> None:
    """More is looked up for the names in the question too, and half the pages have one."""
    base = Database(db)
    base.create_corpus("docs")
    texts = {f"b{n}.md": f"Boston, Boston, Boston {n}." for n in range(16)}
    texts |= {f"k{n}.md": f"Kansas, Kansas, Kansas {n}." for n in range(16)}
    base.put_texts("docs", list(texts.values()), ids=list(texts))
    said = "The hours of the ferry between Boston and Kansas are nine to five."
    base.put_text("docs", "ferry.md", said)
    row = in_sql(base, "docs", "What are the hours of the Boston and the Kansas ferry?", k=3)
    assert (row.status, row.answer) == ("answered", said)


@pytest.mark.parametrize(
    ("config", "word", "said"),
    [
        ("german", "Schlüssel", "Ein Schlüssel ist ein Geheimnis, das nur zwei kennen."),
        ("russian", "Соль", "Соль — это случайный текст, который знают двое."),
    ],
)
def test_it_is_found_behind_others_in_any_letters(
    any_db: Connection, config: str, word: str, said: str
) -> None:
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_texts(
        "docs",
        [f"{word}, {word}, {word} {n}." for n in range(12)],
        ids=[f"{n}.md" for n in range(12)],
    )
    base.put_text("docs", "said.md", said)
    asked = {"german": "Was ist ein Schlüssel?", "russian": "Что такое соль?"}[config]
    row = in_sql(base, "docs", asked, k=3)
    assert (row.status, row.sources[0]) == ("answered", "[1] said.md")
