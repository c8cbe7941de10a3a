"""Who asks for a date, a number, a default or a maker is answered by what has one."""

from __future__ import annotations

import json

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.evidence.test_ask import in_sql
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
        ("Why is the default port taken?", None),
        ("When was it released, and by whom?", None),
        ("When was it released and how?", None),
        ("When was it made and released?", "date"),
        ("How long should the key be?", "length"),
        ("how often is it released", "often"),
        ("How is it released so often?", None),
        ("What is the default host?", "default"),
        ("Which log level is the default?", "default"),
        ("How do I change the default host?", None),
        ("Who created the parser?", "maker"),
        ("Who is the author of the parser?", "maker"),
        ("Who uses the parser?", None),
        ("Who created the parser, and when?", None),
    ],
)
def test_a_question_asks_for_a_kind_of_thing(
    any_db: Connection, question: str, kind: str | None
) -> None:
    assert scalar(any_db, "select ragdb_internal.asked_kind(%s, 'english')", question) == kind
    assert scalar(any_db, "select ragdb_internal.asked_kind(%s, 'german')", question) is None


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("When was the parser deprecated?", ["date", "end"]),
        ("In which version was the parser deprecated?", ["version", "end"]),
        ("Which release dropped support for old names?", ["version", "end"]),
        ("What version removed the parser?", ["version", "end"]),
        ("When was the support for old names removed?", ["date", "end"]),
        ("When was the wall removed?", ["date"]),
        ("What is used instead of what was deprecated?", []),
        ("How do I see which version dropped support for it?", []),
        ("Which version added the parser?", ["version"]),
    ],
)
def test_who_asks_when_something_ended_asks_for_its_end(
    any_db: Connection, question: str, kinds: list[str]
) -> None:
    assert scalar(any_db, "select ragdb_internal.asked_kinds(%s, 'english')", question) == kinds
    assert scalar(any_db, "select ragdb_internal.asked_kinds(%s, 'german')", question) == []


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
        ("It is hashed by SHA256.", "number", False),
        ("It lasts 14 days.", "length", True),
        ("It lasts until it is deleted.", "length", True),
        ("It is hashed by SHA256.", "length", False),
        ("There is one every three years.", "often", True),
        ("There are 12 of them.", "often", False),
        ("It runs once a day.", "often", True),
        ("It runs three times per hour.", "often", True),
        ("It runs each six months.", "often", True),
        ("It runs every other day.", "often", True),
        ("Every run of it is logged.", "often", False),
        ("It is made with every message.", "often", True),
        ("It is made per user.", "often", True),
        ("It is a global or per-project name.", "often", False),
        ("It runs every 500 milliseconds.", "often", True),
        ("It runs every Monday.", "often", True),
        ("It is flushed every 1,000 requests.", "often", True),
        ("It runs each decade.", "often", True),
        ("It runs once it is started, for each of them.", "often", False),
        ("Enforce a short life.", "length", False),
        ("**Default:** *auto*.", "default", True),
        ("It listens on 8000.", "default", False),
        ("The parser is deprecated since 2010.", "end", True),
        ("Version 4 drops the parser.", "end", True),
        ("Version 4 removed it.", "end", True),
        ("The parser has ended.", "end", True),
        ("The parser is no longer there.", "end", True),
        ("Version 4 is dropping the parser.", "end", True),
        ("The parser was cancelled in 1969.", "end", True),
        ("The parser was phased out.", "end", True),
        ("The parser was replaced by a lexer.", "end", True),
        ("The parser is a dropper.", "end", False),
        ("It is used by endpoints.", "end", False),
        ("Version 4 added the parser.", "end", False),
        ("The parser was developed by three students.", "maker", True),
        ("Three students developed the parser.", "maker", True),
        ("I am the author of the parser.", "maker", True),
        ("Ada Byron is behind the parser.", "maker", True),
        ("The Deep Parser was created to be fast.", "maker", False),
        ("The Other parser is created in memory.", "maker", False),
        ("Create a fork of the parser.", "maker", False),
        ("It is an Abstract Syntax Tree Parser.", "maker", False),
        ("John Fitzgerald Kennedy is behind the parser.", "maker", True),
        ("The parser was meant for trees used by a tool or by other systems.", "maker", False),
        ("The parser was created to run by default.", "maker", False),
    ],
)
def test_a_sentence_says_a_kind_of_thing(
    any_db: Connection, sentence: str, kind: str, says: bool
) -> None:
    question = "Who made the Deep Parser?"
    made = scalar(any_db, "select ragdb_internal.says_kind(%s, %s, %s)", sentence, kind, question)
    assert made is says


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
    row = in_sql(base, "docs", question, sentences=1)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient"


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("Object-relational mappers (ORMs) map objects.", True),
        ("An ORM (of any kind) maps objects.", True),
        ("ORM is short for what maps objects.", True),
        ("Some use an Object Relational Mapper.", True),
        ("Some use an object-to-relational mapper, or none.", True),
        ("The new mode of ORMs maps objects.", False),
        ("Objects of a reader map to rows.", False),
        ("The order may change.", False),
        ("The name stood for nothing.", True),
        ("It is an Objectrelational Mapper.", True),
        ("ORM, the objectrelational mapper, maps objects.", True),
        ("Some have an objectrelational mapper.", False),
        ("ORM - [ORM of rows] maps objects. See Orm.ORM.", False),
    ],
)
def test_a_sentence_says_what_an_abbreviation_stands_for(
    any_db: Connection, sentence: str, says: bool
) -> None:
    question = "What does ORM stand for?"
    kind = scalar(any_db, "select ragdb_internal.asked_kind(%s, 'english')", question)
    assert kind == "expansion"
    made = scalar(any_db, "select ragdb_internal.says_kind(%s, %s, %s)", sentence, kind, question)
    assert made is says


@pytest.mark.parametrize(
    ("question", "letters"),
    [
        ("What does ORM stand for?", "ORM"),
        ('what does "TGIF" stand for', "TGIF"),
        ("In HTTP, what does URL stand for?", "URL"),
        ("What does the H in HTTP stand for?", "HTTP"),
        ("ORM stands for what?", "ORM"),
        ("What did the party in the UK stand for?", None),
        ("What did she stand for in the US?", None),
        ("Wofür steht DLRG?", "DLRG"),
        ("Wofür steht die Abkürzung „DLRG“?", "DLRG"),
        ("Wofür steht sie in der EU?", None),
        ("Que signifie AOP ?", "AOP"),
        ("Que veut dire l'AOP dans ce texte ?", "AOP"),
        ("Que signifie le code HTTP 404 ?", None),
        ("Que signifie HTTP 404 ?", None),
        ("Que signifie l'erreur DNS ?", None),
        ("¿Qué significa el IVA?", "IVA"),
        ("¿Qué significan las siglas IVA?", "IVA"),
        ("¿Qué significa vivir en la UE?", None),
        ("¿Qué quiere decir el error HTTP 404?", None),
    ],
)
def test_a_question_asks_what_an_abbreviation_stands_for(
    any_db: Connection, question: str, letters: str | None
) -> None:
    assert scalar(any_db, "select ragdb_internal.asked_letters(%s)", question) == letters


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the reader of names deprecated?", None),
        ("When was the printer of dates deprecated?", "The printer of dates was"),
        ("Which version dropped the shell of colors?", "Version 8 drops the shell of colors."),
        ("Which version dropped the writer of pages?", None),
        ("Which version added the writer of pages?", "Version 8 adds the writer of pages."),
    ],
)
def test_what_does_not_say_that_something_ended_is_no_answer(
    any_db: Connection, question: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    for n, said in enumerate(
        (
            "The reader of names is used by all since 2010.",
            "The printer of dates was deprecated in 2011.",
            "Version 8 drops the shell of colors.",
            "Version 8 adds the writer of pages.",
        )
    ):
        base.put_text("docs", f"{n}.md", said)
    row = in_sql(base, "docs", question, sentences=1)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient", row.answer


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


MANUAL = """# Settings

- `--host <str>` - Bind to this host. It may be an address of IPv6. **Default:** *local*.
- `--port <int>` - Bind to this port. **Default:** *8000*.
- `--backlog <int>` - How many clients may wait.
  Relevant for heavy traffic. **Default:** *2048*.

The log has levels. The default one is info.

A color may be set. It is a name or a number.
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "What is the default host to bind to?",
            "`--host <str>` - Bind to this host. It may be an address of IPv6. "
            "**Default:** *local*.",
        ),
        (
            "What is the default port to bind to?",
            "`--port <int>` - Bind to this port. **Default:** *8000*.",
        ),
        (
            "Which is the default log level?",
            "The log has levels. The default one is info.",
        ),
        ("What is the default color?", None),
    ],
)
def test_a_default_is_quoted_with_what_it_is_the_default_of(
    any_db: Connection, question: str, answer: str | None
) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "settings.md", MANUAL)
    row = in_sql(base, "docs", question, sentences=1)
    assert (row.answer, row.status) == ((answer, "answered") if answer else ("", "insufficient"))


def test_a_row_below_the_head_of_defaults_says_a_default(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text(
        "docs", "a.md", "| option | default |\n|---|---|\n| host to bind to | 127.0.0.1 |\n"
    )
    row = in_sql(base, "docs", "What is the default host to bind to?")
    assert row.answer == "| host to bind to | 127.0.0.1 |"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who developed the parser?", None),
        ("Who created the lexer?", "The lexer was created by Ada Byron"),
        ("How often is the parser released?", None),
        ("How often is the lexer released?", "A lexer is released every three years."),
    ],
)
def test_who_made_a_thing_is_a_person_and_how_often_is_a_time(
    db: Connection, question: str, answer: str | None
) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", "The parser is useful where something is developed or released.")
    base.put_text(
        "docs",
        "b.md",
        "The lexer was created to be fast. The lexer was created by Ada Byron. The lexer is "
        "released by hand. A lexer is released every three years.",
    )
    row = in_sql(base, "docs", question, sentences=1)
    assert row.answer.startswith(answer) if answer else row.status == "insufficient"


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("What is the default stack size of a thread?", "insufficient"),
        ("What is the default size of a type?", "answered"),
        ("What is the default?", "answered"),
    ],
)
def test_another_default_is_no_answer(any_db: Connection, question: str, status: str) -> None:
    base = Database(any_db)
    base.create_corpus("docs")
    base.put_text("docs", "a.md", "By default, functions take a type whose size is known.")
    base.put_text("docs", "b.md", "Each thread has a stack. The stack of a thread grows.")
    assert in_sql(base, "docs", question).status == status


@pytest.mark.parametrize(
    ("question", "config", "kinds"),
    [
        ("Wann wurde es veröffentlicht?", "german", ["german_date"]),
        ("In welchem Jahr endete es?", "german", ["german_date"]),
        ("Wann öffnet es?", "german", []),
        ("Wie viele Tage dauert es?", "german", ["german_number"]),
        ("Wie viel kostet es?", "german", []),
        ("Wer hat es geschrieben?", "german", ["german_maker"]),
        ("Wer darf es lesen?", "german", []),
        ("Quand a-t-il été publié ?", "french", ["french_date"]),
        ("Quand apt-get a-t-il été publié ?", "french", ["french_date"]),
        ("Quand faut-il payer ?", "french", []),
        ("Combien de jours faut-il ?", "french", ["french_number"]),
        ("Qui a écrit adduser ?", "french", ["french_maker"]),
        ("Qui peut le lire ?", "french", []),
        ("Was ist der Standardwert von max_age?", "german", ["german_default"]),
        ("Welcher Port ist voreingestellt?", "german", ["german_default"]),
        ("Was ist der Standard von OAuth?", "german", []),
        ("Quelle est la valeur par défaut de max_age ?", "french", ["french_default"]),
        ("Comment changer la valeur par défaut ?", "french", []),
        ("¿Cuál es el valor por defecto de max_age?", "spanish", ["spanish_default"]),
        ("¿Qué puerto es el predeterminado?", "spanish", ["spanish_default"]),
        ("Wofür steht ORM?", "german", ["expansion"]),
        ("Wofür steht die Partei?", "german", []),
        ("Que signifie ORM ?", "french", ["expansion"]),
        ("Que veut dire le sigle ORM ?", "french", ["expansion"]),
        ("Que signifie ce mot ?", "french", []),
        ("¿Qué significa ORM?", "spanish", ["expansion"]),
        ("¿Cuándo se publicó?", "spanish", ["spanish_date"]),
        ("¿Cuándo llega?", "spanish", []),
        ("¿Cuántos días dura?", "spanish", ["spanish_number"]),
        ("¿Quién escribió man?", "spanish", ["spanish_maker"]),
        ("Когда он вышел?", "russian", []),
    ],
)
def test_a_question_in_another_language_asks_for_a_kind_of_thing(
    any_db: Connection, question: str, config: str, kinds: list[str]
) -> None:
    assert scalar(any_db, "select ragdb_internal.asked_kinds(%s, %s)", question, config) == kinds


@pytest.mark.parametrize(
    ("config", "question", "answer", "silent"),
    [
        (
            "german",
            "Was ist der Standardwert von max_age?",
            "`max_age` - Dauer, die Browser sich merken. Standardmäßig `600`.",
            "`max_age` - Dauer, die Browser sich merken.",
        ),
        (
            "french",
            "Quelle est la valeur par défaut de max_age ?",
            "`max_age` - Définit un temps maximum. Par défaut `600`.",
            "`max_age` - Définit un temps maximum.",
        ),
        (
            "spanish",
            "¿Cuál es el valor predeterminado de max_age?",
            "`max_age` - Establece un tiempo. Por defecto es `600`.",
            "`max_age` - Establece un tiempo.",
        ),
    ],
)
def test_a_default_is_quoted_with_what_it_is_of_in_other_languages(
    any_db: Connection, config: str, question: str, answer: str, silent: str
) -> None:
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_text("docs", "a.md", f"* {answer}\n")
    assert in_sql(base, "docs", question, sentences=1).answer == answer
    base.put_text("docs", "a.md", f"* {silent}\n")
    assert in_sql(base, "docs", question, sentences=1).status == "insufficient"


@pytest.mark.parametrize(
    ("config", "question", "text", "is_told"),
    [
        (
            "german",
            "Wann wurde der Parser veröffentlicht?",
            "Der veröffentlichte Parser ist da.",
            0,
        ),
        (
            "german",
            "Wann wurde der Parser veröffentlicht?",
            "Der Parser wurde im März veröffentlicht.",
            1,
        ),
        (
            "german",
            "Wann wurde der Parser veröffentlicht?",
            "Der Parser wurde 2019 veröffentlicht.",
            1,
        ),
        ("german", "Wie viele Bäume hat der Parser?", "Der Parser hat Bäume.", 0),
        ("german", "Wie viele Bäume hat der Parser?", "Der Parser hat zwölf Bäume.", 1),
        ("german", "Wer hat den Parser geschrieben?", "Der Parser schreibt Bäume auf.", 0),
        ("german", "Wer hat den Parser geschrieben?", "Ada hat den Parser geschrieben.", 1),
        ("german", "Wer hat den Parser entwickelt?", "Den Parser hat Ada entwickelt.", 1),
        (
            "german",
            "Wer hat die Theorie entwickelt?",
            "Die entwickelte Theorie dankt Isaac Newton.",
            1,
        ),
        ("german", "Wie viele Bäume hat der Parser?", "Der Parser hat keiner der Bäume.", 1),
        ("french", "Qui a écrit le parseur ?", "Le parseur lit des fichiers.", 0),
        ("french", "Qui a écrit le parseur ?", "Le parseur a été écrit par Ada.", 1),
        ("french", "Qui a écrit le parseur ?", "Le parseur a été écrit par un appel.", 0),
        ("french", "Quand le parseur a-t-il été publié ?", "Le parseur est publié ici.", 0),
        ("french", "Quand le parseur a-t-il été publié ?", "Le parseur est publié depuis mai.", 1),
        ("french", "Quand le parseur a-t-il été publié ?", "Le parseur a été publié par Ada.", 0),
        ("german", "Wofür steht ORM?", "Hier steht ORM allein.", 0),
        ("german", "Wofür steht ORM?", "ORM bedeutet „Object Relational Mapper“.", 1),
        ("french", "Que signifie ORM ?", "ORM est utile à tous.", 0),
        ("french", "Que signifie ORM ?", "ORM est un acronyme de ce qui lit les objets.", 1),
        ("spanish", "¿Qué significa ORM?", "ORM es útil para todos.", 0),
        ("spanish", "¿Qué significa ORM?", "ORM son las siglas de un lector de objetos.", 1),
        ("spanish", "¿Quién escribió el analizador?", "El analizador lee archivos.", 0),
        ("spanish", "¿Quién escribió el analizador?", "Ada escribió el analizador.", 1),
        (
            "spanish",
            "¿Quién creó el analizador?",
            "El analizador fue creado por los mismos desarrolladores.",
            1,
        ),
        ("spanish", "¿Cuántos árboles tiene el analizador?", "El analizador tiene árboles.", 0),
        (
            "spanish",
            "¿Cuántos árboles tiene el analizador?",
            "El analizador tiene tres árboles.",
            1,
        ),
    ],
)
def test_what_says_no_such_kind_of_thing_is_no_answer_in_another_language(
    any_db: Connection, config: str, question: str, text: str, is_told: int
) -> None:
    base = Database(any_db)
    base.create_corpus("docs", text_config=config)
    base.put_text("docs", "a.md", text)
    row = in_sql(base, "docs", question)
    assert row.status == ("answered" if is_told else "insufficient"), row.answer or row.reason
