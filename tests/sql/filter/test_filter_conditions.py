"""What the conditions of a filter mean, and what is refused of them.

Filters act inside the ranking: the best k of what they leave, never fewer.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from operator import ge, gt, le, lt
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragdb.adapters import stored
from tests.conftest import Connection, Server
from tests.documents import document, text_document
from tests.sql.conversations import conversation, message
from tests.sql.conversations import put as put_conversation
from tests.sql.lexical_twin import put, search

LANGUAGES = ("en", "de", "fr")
ORDER: dict[str, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


def metadata(n: int) -> dict[str, Any]:
    found: dict[str, Any] = {"year": 2000 + n % 13, "tags": [f"t{n % 3}", f"u{n % 4}"], "n": n}
    if n % 5:
        found["team"] = ("red", "blue")[n % 2]
    if n % 7 == 0:
        found["year"] = "unknown"
    return found


def fill(db: Connection, count: int = 60) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(
        db,
        "docs",
        (
            text_document(
                f"docs/{'ab'[n % 2]}/{n}.md",
                f"apple {'pear ' * (n % 4)} {n}",
                title=f"Title {n}",
                metadata=metadata(n),
                language=LANGUAGES[n % 3],
            )
            for n in range(count)
        ),
    )


def sources(db: Connection, condition: Any, k: int = 1000) -> set[str]:
    return {
        row[0]
        for row in db.execute(
            "select source from ragdb.search('docs', 'apple pear', %s, filter => %s)",
            (k, json.dumps(condition)),
        ).fetchall()
    }


def has(found: Any, values: list[Any]) -> bool:
    """Whether what was found is one of some values, or an array that has one."""
    return any(f in values for f in (found if isinstance(found, list) else [found]))


def holds(n: int, field: str, operator: str, value: Any) -> bool:
    """What a condition means, in Python."""
    source = f"docs/{'ab'[n % 2]}/{n}.md"
    builtin = {"source": source, "language": LANGUAGES[n % 3], "title": f"Title {n}", "uri": source}
    found = builtin[field] if field in builtin else metadata(n).get(field)
    match operator:
        case "eq":
            return has(found, [value])
        case "ne":
            return not has(found, [value])
        case "exists":
            return (found is not None) is bool(value)
        case "in":
            return has(found, value)
        case "any":
            return has(found, value)
        case "all":
            return isinstance(found, list) and set(value) <= set(found)
        case "glob":
            return isinstance(found, str) and fnmatch.fnmatchcase(found, value)
        case _:
            if type(found) is not type(value):
                return False
            return bool(ORDER[operator](found, value))


scalars = st.one_of(
    st.integers(1998, 2014),
    st.sampled_from(["red", "blue", "unknown", "t1", "x' or 1=1 --", "{V}"]),
)
conditions = st.one_of(
    st.tuples(
        st.sampled_from(["year", "team", "n", "tags", "no'such$1"]),
        st.sampled_from(["eq", "ne"]),
        st.one_of(scalars, st.sampled_from(["t0", "t1", "u3"])),
    ),
    st.tuples(
        st.sampled_from(["year", "team", "n"]),
        st.sampled_from(["gt", "gte", "lt", "lte"]),
        scalars,
    ),
    st.tuples(
        st.sampled_from(["year", "team", "tags"]),
        st.just("in"),
        st.lists(st.one_of(scalars, st.sampled_from(["t0", "u3"])), max_size=4),
    ),
    st.tuples(
        st.sampled_from(["tags", "team"]),
        st.just("any"),
        st.lists(st.sampled_from(["t0", "t1", "u3", "red"]), max_size=3),
    ),
    st.tuples(
        st.just("tags"),
        st.just("all"),
        st.lists(st.sampled_from(["t0", "t1", "u3"]), min_size=1, max_size=2),
    ),
    st.tuples(st.sampled_from(["team", "language", "zzz"]), st.just("exists"), st.booleans()),
    st.tuples(
        st.sampled_from(["source", "uri", "title", "team"]),
        st.just("glob"),
        st.text(alphabet="*?abdocs/12.mTitle _%\\", max_size=9),
    ),
    st.tuples(
        st.just("language"), st.sampled_from(["eq", "ne"]), st.sampled_from(["en", "de", "fr"])
    ),
)


@pytest.fixture(scope="module")
def docs(server18: Server) -> Iterator[Connection]:
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname)) as connection,
    ):
        fill(connection)
        yield connection


@settings(max_examples=150)
@given(st.lists(conditions, min_size=1, max_size=3, unique_by=lambda c: c[0]))
def test_a_filter_leaves_what_its_conditions_say(docs: Connection, given_: Any) -> None:
    condition = {field: {operator: value} for field, operator, value in given_}
    expected = {
        f"docs/{'ab'[n % 2]}/{n}.md" for n in range(60) if all(holds(n, *c) for c in given_)
    }
    assert sources(docs, condition) == expected


def test_the_short_forms_are_equality_containment_and_years(docs: Connection) -> None:
    assert sources(docs, {"team": "red"}) == sources(docs, {"team": {"eq": "red"}})
    assert sources(docs, {"tags": ["t1", "u2"]}) == sources(docs, {"tags": {"all": ["t1", "u2"]}})
    assert sources(docs, {"min_year": 2009}) == sources(docs, {"year": {"gte": 2009}}) != set()
    assert sources(docs, {}) == sources(docs, {"n": {"exists": True}})
    assert sources(docs, {"page": {"exists": False}, "media_type": "text/plain"}) == sources(
        docs, {}
    )


def test_a_page_is_that_of_a_chunk_and_all_else_that_of_its_document(docs: Connection) -> None:
    # given documents of one to four pages, and one in five without any
    pages = {n: [None] if n % 5 == 0 else [*range(1, n % 4 + 2)] for n in range(20)}
    docs.execute("select ragdb.create_corpus('paged')")
    put(
        docs,
        "paged",
        (
            text_document(
                f"{n}.pdf",
                f"{n}",
                language=LANGUAGES[n % 3],
                metadata={"n": n},
                chunks=[
                    {"text": text, "start": 0, "end": len(text), "tokens": 3, "page": page}
                    for page in pages[n]
                    for text in [f"apple {n} {page}"]
                ],
            )
            for n in range(20)
        ),
    )
    chunks = {(n, page) for n in pages for page in pages[n]}
    named = {
        (int(source.removesuffix(".pdf")), page): chunk
        for chunk, source, page in docs.execute(
            "select chunk_id, source, page from ragdb.search('paged', 'apple', 1000)"
        ).fetchall()
    }
    assert named.keys() == chunks
    for condition, is_left in (
        ({"page": 2}, lambda n, page: page == 2),
        ({"page": {"exists": False}}, lambda n, page: page is None),
        ({"page": {"gte": 2, "lt": 4}}, lambda n, page: page in (2, 3)),
        ({"page": {"in": [1, 4]}, "language": "de"}, lambda n, page: page in (1, 4) and n % 3 == 1),
        ({"page": {"ne": 1}, "n": {"gte": 9}}, lambda n, page: page != 1 and n >= 9),
        ({"source": "7.pdf"}, lambda n, page: n == 7),
        ({"source": {"glob": "1?.pdf"}, "n": {"in": [3, 13]}}, lambda n, page: n == 13),
    ):
        expected = {chunk for chunk in chunks if is_left(*chunk)}
        assert expected
        # when: among all chunks, and among some
        for given_ids in (None, sorted(named.values())[::2]):
            found = search(
                docs, "paged", "apple", 1000, filter=json.dumps(condition), chunk_ids=given_ids
            )
            # then
            assert {chunk for chunk, *_ in found} == {
                named[c] for c in expected if given_ids is None or named[c] in given_ids
            }


def test_a_document_of_several_sources_is_each_of_them(db: Connection) -> None:
    # given a record that was found at two places, and one at one
    db.execute("select ragdb.create_corpus('docs')")
    put(
        db,
        "docs",
        (
            document(uri, [f"apple {name}"], external_id=name)
            for name, uris in (("both", ("a", "b")), ("one", ("a.md",)))
            for uri in uris
        ),
    )
    for condition, are_left in (
        ({"eq": "a"}, {"both"}),
        ({"ne": "a"}, {"one"}),
        ({"ne": "b"}, {"one"}),
        ({"ne": "c"}, {"both", "one"}),
        ({"all": ["a", "b"]}, {"both"}),
        (["b", "a"], {"both"}),
        ({"all": ["a", "c"]}, set()),
        ({"all": ["a.md"]}, {"one"}),
        ({"all": []}, {"both", "one"}),
        ({"any": ["b", "a.md"]}, {"both", "one"}),
        ({"exists": True}, {"both", "one"}),
        ({"exists": False}, set()),
    ):
        # when
        found = db.execute(
            "select text from ragdb.search('docs', 'apple', 10, filter => %s)",
            (json.dumps({"uri": condition}),),
        ).fetchall()
        # then
        assert {text.removeprefix("apple ") for (text,) in found} == are_left, condition


@pytest.mark.parametrize("verb", ["search", "retrieve"])
def test_a_filter_that_leaves_nothing_says_so(docs: Connection, verb: str) -> None:
    said: list[Any] = []

    def hear(notice: Any) -> None:
        said.append((notice.message_primary, notice.message_hint))

    def asked(query: str, filter: dict[str, Any]) -> int:
        call = f"select count(*) from ragdb.{verb}('docs', %s, filter => %s)"
        row = docs.execute(call.encode(), (query, json.dumps(filter))).fetchone()
        return row[0] if row else 0

    docs.add_notice_handler(hear)
    try:
        assert asked("apple", {"team": "red"}) > 0
        assert asked("nowhereatall", {"team": "red"}) == 0  # the words find nothing
        assert said == []
        assert asked("apple", {"source": "nosuch"}) == 0
        assert asked("apple", {"language": "German"}) == 0
        assert asked("apple", {"created_at": "2026", "source": "a", "teem": "red"}) == 0
    finally:
        docs.remove_notice_handler(hear)
    counts = 'ragdb.facets() counts the values that a field has; {"glob": "*words*"} matches a part'
    assert said == [
        ('no document meets the filter "{"source": "nosuch"}"', f"{counts} of one"),
        (
            'no document meets the filter "{"language": "German"}"',
            f"a language is a code, such as de; {counts} of one",
        ),
        (
            'no document meets the filter "{"teem": "red", "source": "a", "created_at": "2026"}"',
            'read from the metadata: "created_at", "teem"; built-in are '
            f"{', '.join(stored.FIELDS)}; {counts} of one",
        ),
    ]


def test_a_filter_that_leaves_k_chunks_returns_k(db: Connection) -> None:
    # given 2,100 chunks, of which the filter leaves ten that rank last, or all but a few
    db.execute("select ragdb.create_corpus('docs')")
    put(
        db,
        "docs",
        (
            text_document(
                f"{n}.txt",
                "apple " if n % 210 == 0 else "apple pear apple pear plum",
                metadata={"rare": n % 210 == 0, "common": n % 210 != 0},
            )
            for n in range(2100)
        ),
        batch=2100,
    )
    assert len(search(db, "docs", "apple pear", 10, filter='{"rare": true}')) == 10
    common = search(db, "docs", "apple pear", 10, filter='{"common": true}')
    assert common == search(db, "docs", "apple pear", 10)
    # and where a session lets an index over metadata pass over rows
    db.execute("select gin_clean_pending_list('ragdb.documents_by_metadata')")
    db.execute("set enable_seqscan = off")
    db.execute("set gin_fuzzy_search_limit = 1")
    assert len(search(db, "docs", "apple pear", 1000, filter='{"common": true}')) == 1000


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ({"eq": ["a", "b"]}, "same nested"),
        ({"eq": {"x": 1}}, "object objects"),
        ({"ne": {"x": 1}}, "same more word nested deeper wider"),
        ({"in": [["a", "b"]]}, "same nested"),
        ({"in": [["a", "b"], "a"]}, "same more word nested"),
        ({"in": [{"x": 1}]}, "object objects"),
        ({"any": [["a", "b"]]}, "same nested"),
        ({"any": [{"x": 1}, "c"]}, "object objects more"),
        ({"all": [{"x": 1}]}, "objects"),
        ({"all": [["a", "b"], "z"]}, "nested"),
        ({"all": [{}]}, ""),
    ],
)
def test_an_item_that_is_an_array_or_an_object_is_met_by_the_whole_of_it(
    any_db: Connection, condition: dict[str, Any], met: str
) -> None:
    values: dict[str, Any] = {
        "same": ["a", "b"],
        "more": ["a", "b", "c"],
        "word": "a",
        "nested": [["a", "b"], "z"],
        "deeper": [["a", "b", "c"], {"x": 1, "y": 2}, "z"],
        "object": {"x": 1},
        "objects": [{"x": 1}, "y"],
        "wider": {"x": 1, "y": 2},
    }
    any_db.execute("select ragdb.create_corpus('docs')")
    documents = (text_document(n, "apple pear", metadata={"f": v}) for n, v in values.items())
    put(any_db, "docs", documents)
    assert sources(any_db, {"f": condition}) == set(met.split())


def test_a_filter_by_values_reads_the_documents_that_meet_it_and_few_others(
    db: Connection,
) -> None:
    # given 2,000 documents, each with two numbers of 500 and one of its own
    db.execute("select ragdb.create_corpus('docs')")
    put(
        db,
        "docs",
        (
            text_document(f"{n}.txt", "apple", metadata={"pair": [n % 500, n % 7], "n": n})
            for n in range(2000)
        ),
        batch=2000,
    )
    db.execute("analyze ragdb.documents")

    def read() -> int:
        row = db.execute(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables"
            " where schemaname = 'ragdb' and relname = 'documents'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    for condition, met in (
        ({"n": 7}, 1),
        ({"n": {"in": [7, 8, 9]}}, 3),
        ({"n": {"any": [7, 8, 9]}}, 3),
        ({"pair": {"in": [200, 300]}}, 8),
        ({"pair": {"any": [200, 300]}}, 8),
        ({"pair": {"all": [200, 0]}}, 1),
    ):
        with db.transaction():
            # when
            before = read()
            found = search(db, "docs", "apple", 1000, filter=json.dumps(condition))
            after = read()
        # then each is read to be found, and to be shown
        assert (condition, len(found), after - before) == (condition, met, 2 * met)


def test_chunk_ids_are_ranked_as_in_the_whole_corpus(docs: Connection) -> None:
    everything = search(docs, "docs", "apple pear", 1000)
    some = [chunk for chunk, *_ in everything[::3]]
    found = search(docs, "docs", "apple pear", 1000, chunk_ids=[*some, "no-such-chunk"])
    assert found == everything[::3]
    assert search(docs, "docs", "apple", chunk_ids=[]) == []


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ({"year": {"near": 3}}, "near"),
        ({"year": {}}, "year"),
        ({"language": 3}, "language"),
        ({"page": "3"}, "page"),
        ({"year": {"gte": [1]}}, "year"),
        ({"year": {"in": 1}}, "year"),
        ({"team": {"exists": "yes"}}, "team"),
        ({"source": {"glob": 3}}, "source"),
        ({"source": {"glob": "*" * 17}}, "source"),
        ({"source": {"glob": "a" * 1025}}, "source"),
        ({"page": {"in": [[1]]}}, "page"),
        ({"source": {"any": [["a"]]}}, "source"),
        ({"source": {"eq": ["a"]}}, "source"),
        ({"page": {"glob": "1"}}, "page"),
        ([1], "array"),
        ("x", "string"),
    ],
)
def test_a_filter_that_cannot_be_is_refused_by_name(
    db: Connection, condition: Any, named: str
) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    with pytest.raises(psycopg.Error, match=named) as caught:
        sources(db, condition)
    assert caught.value.sqlstate == "RG410"
    assert caught.value.diag.message_hint
    assert "ranked" not in str(caught.value.diag.context)


def assert_met(db: Connection, condition: Any, expected: set[str]) -> None:
    """A filter gives these texts to a search, a list and a search among what is listed."""
    ((asked, listed, among),) = db.execute(
        "select array(select h.text from ragdb.search('docs', 'apple', 9, filter => f) h),"
        " array(select h.text from ragdb.list_chunks('docs', filter => f) h),"
        " array(select h.text from ragdb.search('docs', 'apple', 9, filter => f,"
        "  chunk_ids => array(select chunk_id from ragdb.list_chunks('docs'))) h)"
        " from (select %s::jsonb as f)",
        (json.dumps(condition),),
    ).fetchall()
    assert set(asked) == set(listed) == set(among) == expected


SAID = [("user", "Ada"), ("assistant", None), ("user", "Bo"), ("user", "Ada"), ("tool", None)]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"role": "user"}, lambda role, speaker: role == "user"),
        ({"role": {"ne": "user"}}, lambda role, speaker: role != "user"),
        ({"role": {"exists": False}}, lambda role, speaker: role is None),
        ({"speaker": "Ada"}, lambda role, speaker: speaker == "Ada"),
        ({"speaker": {"any": ["Ada", "Bo"]}}, lambda role, speaker: speaker is not None),
        ({"speaker": {"exists": False}, "role": "tool"}, lambda role, speaker: role == "tool"),
        ({"speaker": "Ada", "role": {"in": ["user"]}}, lambda role, speaker: speaker == "Ada"),
        ({"speaker": {"glob": "B*"}}, lambda role, speaker: speaker == "Bo"),
        ({"speaker": {"gt": "Ada"}}, lambda role, speaker: speaker == "Bo"),
        ({"role": {"all": []}}, lambda role, speaker: True),
        ({"speaker": "Ada", "chunker": "given"}, lambda role, speaker: False),
        ({"speaker": "Ada", "uri": {"glob": "chat*"}}, lambda role, speaker: speaker == "Ada"),
    ],
)
def test_what_is_said_is_found_by_who_says_it(
    db: Connection, condition: Any, holds: Callable[[str | None, str | None], bool]
) -> None:
    # given a conversation, and a document that is not one
    db.execute("select ragdb.create_corpus('docs')")
    turns = [
        message(n, [n - 1] if n else [], role=role, text=f"apple {n}", speaker=speaker)
        for n, (role, speaker) in enumerate(SAID)
    ]
    db.execute("select ragdb.put_conversations('docs', %s)", (json.dumps([conversation(turns)]),))
    put(db, "docs", [text_document("plain.md", "apple")])
    said = {f"apple {n}": of for n, of in enumerate(SAID)} | {"apple": (None, None)}
    assert_met(db, condition, {text for text, of in said.items() if holds(*of)})


def test_what_is_said_is_counted_by_who_says_it(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    turns = [
        message(n, [n - 1] if n else [], role=role, speaker=speaker)
        for n, (role, speaker) in enumerate(SAID)
    ]
    db.execute("select ragdb.put_conversations('docs', %s)", (json.dumps([conversation(turns)]),))
    found = db.execute(
        "select field, value, chunks from ragdb.facets('docs', null, array['role', 'speaker'])"
    ).fetchall()
    roles = Counter(("role", role) for role, _ in SAID)
    speakers = Counter(("speaker", speaker) for _, speaker in SAID if speaker)
    assert {(field, value): n for field, value, n in found} == roles | speakers


@pytest.mark.parametrize("condition", [{"speaker": "Ada 7"}, {"speaker": {"any": ["Ada 7"]}}])
def test_a_filter_by_a_speaker_reads_the_turns_of_it_and_no_others(
    db: Connection, condition: Any
) -> None:
    # given 50 conversations, each of ten turns by a speaker of its own
    db.execute("select ragdb.create_corpus('docs')")
    conversations = [
        conversation(
            [message(100 * c + n, [], speaker=f"Ada {c}", text="apple") for n in range(10)],
            session=f"s{c}",
            uri=f"{c}.json",
        )
        for c in range(50)
    ]
    db.execute("select ragdb.put_conversations('docs', %s)", (json.dumps(conversations),))
    db.execute("analyze ragdb.turns, ragdb.chunks, ragdb.documents")

    def read() -> dict[str, int]:
        return dict(
            db.execute(
                "select relname, (seq_tup_read + idx_tup_fetch)::integer"
                " from pg_stat_xact_user_tables"
                " where schemaname = 'ragdb' and relname in ('turns', 'chunks')"
            ).fetchall()
        )

    with db.transaction():
        before = read()
        # when
        found = search(db, "docs", "apple", 1000, filter=json.dumps(condition))
        after = read()
    # then
    assert len(found) == 10
    assert after["turns"] - before["turns"] == 10
    # they are listed, and shown
    assert after["chunks"] - before["chunks"] <= 20


MOMENTS = [
    ("a", "2026-11-19T23:30:00-02:00"),  # the 20th by UTC
    ("a", "2026-11-20T08:00:00Z"),
    ("a", None),
    ("b", "2026-11-26T23:59:59.5"),
    ("b", "2026-11-27"),
]
AT = [
    datetime(2026, 11, 20, 1, 30),
    datetime(2026, 11, 20, 8),
    None,
    datetime(2026, 11, 26, 23, 59, 59, 500000),
    datetime(2026, 11, 27),
]


def put_moments(db: Connection) -> dict[str, tuple[str | None, datetime | None]]:
    """Two sessions and a document that is not one; what was said where and when, by its text."""
    db.execute("select ragdb.create_corpus('docs')")
    for session in ("a", "b"):
        turns = [
            message(n, [], text=f"apple {n}", created_at=at)
            for n, (said_in, at) in enumerate(MOMENTS)
            if said_in == session
        ]
        put_conversation(db, "docs", conversation(turns, session))
    put(db, "docs", [text_document("plain.md", "apple", metadata={"session": "mine"})])
    said = zip(MOMENTS, AT, strict=True)
    return {f"apple {n}": (session, at) for n, ((session, _), at) in enumerate(said)} | {
        "apple": (None, None)
    }


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland"])
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"session": "a"}, lambda session, at: session == "a"),
        ({"session": {"in": ["b", "c"]}}, lambda session, at: session == "b"),
        ({"session": {"ne": "a"}}, lambda session, at: session != "a"),
        ({"session": {"glob": "[ab]*"}}, lambda session, at: False),
        ({"session": {"exists": True}}, lambda session, at: session is not None),
        ({"metadata.session": "mine"}, lambda session, at: session is None),
        (
            {"said_at": {"gte": "2026-11-20", "lt": "2026-11-27"}},
            lambda session, at: at and datetime(2026, 11, 20) <= at < datetime(2026, 11, 27),
        ),
        (
            {"said_at": {"gt": "2026-11-20T09:00:00+01:00"}},
            lambda session, at: at and at > AT[1],
        ),
        ({"said_at": {"lte": "2026-11-20T08:00:00"}}, lambda session, at: at and at <= AT[1]),
        ({"said_at": "2026-11-20 08:00Z"}, lambda session, at: at == AT[1]),
        ({"said_at": {"in": ["2026-11-27", "2026-11-20"]}}, lambda session, at: at == AT[4]),
        ({"said_at": {"ne": "2026-11-27"}}, lambda session, at: at != AT[4]),
        ({"said_at": {"exists": False}}, lambda session, at: at is None),
        ({"said_at": {"exists": False}, "session": "a"}, lambda session, at: session and not at),
        (
            {"said_at": {"gte": "2026-11-20"}, "uri": {"glob": "chat*"}, "session": "a"},
            lambda session, at: session == "a" and at,
        ),
    ],
)
def test_what_is_said_is_found_by_when_and_in_which_session(
    db: Connection, condition: Any, holds: Callable[[str | None, datetime | None], Any], zone: str
) -> None:
    said = put_moments(db)
    db.execute("select set_config('timezone', %s, true)", (zone,))
    assert_met(db, condition, {text for text, of in said.items() if holds(*of)})


def test_what_is_counted_by_time_and_session_is_found_by_it(db: Connection) -> None:
    said = put_moments(db)
    found = db.execute(
        "select field, value, chunks from ragdb.facets('docs', null, array['session', 'said_at'])"
    ).fetchall()
    assert {value for field, value, _ in found if field == "session"} == {"a", "b"}
    times = [value for field, value, _ in found if field == "said_at"]
    assert sorted(map(datetime.fromisoformat, times)) == sorted(at for at in AT if at)
    for time in times:
        at = datetime.fromisoformat(time)
        assert db.execute(
            "select text from ragdb.search('docs', 'apple', filter => %s)",
            (json.dumps({"said_at": time}),),
        ).fetchall() == [(text,) for text, (_, when) in said.items() if when == at]


@pytest.mark.parametrize("value", ["yesterday", "last week", "now", "2026-13-01", "20261120", 2026])
@pytest.mark.parametrize("operator", ["eq", "gte", "in"])
def test_what_is_not_a_time_is_refused_for_one(docs: Connection, operator: str, value: Any) -> None:
    given = [value] if operator == "in" else value
    with pytest.raises(psycopg.Error, match="said_at") as caught, docs.transaction():
        sources(docs, {"said_at": {operator: given}})
    assert caught.value.sqlstate == "RG410"
    assert "2026-11-20" in (caught.value.diag.message_hint or "")


@pytest.mark.parametrize(
    "condition", [{"session": "s7"}, {"said_at": {"gte": "2026-01-08", "lt": "2026-01-09"}}]
)
def test_a_filter_by_a_session_or_a_day_reads_the_turns_of_it_and_no_others(
    db: Connection, condition: Any
) -> None:
    # given 31 conversations, each of ten turns on a day of its own
    db.execute("select ragdb.create_corpus('docs')")
    for c in range(31):
        turns = [
            message(100 * c + n, [], created_at=f"2026-01-{c + 1:02}T10:{n}0:00Z", text="apple")
            for n in range(6)
        ]
        put_conversation(db, "docs", conversation(turns, f"s{c}"))
    db.execute("analyze ragdb.turns, ragdb.chunks, ragdb.documents")

    def read() -> int:
        ((rows,),) = db.execute(
            "select (seq_tup_read + idx_tup_fetch)::integer from pg_stat_xact_user_tables"
            " where schemaname = 'ragdb' and relname = 'turns'"
        ).fetchall()
        return int(rows)

    with db.transaction():
        before = read()
        # when
        found = search(db, "docs", "apple", 1000, filter=json.dumps(condition))
        after = read()
    # then
    assert len(found) == 6
    assert after - before == 6


def test_each_operator_and_each_field_that_is_listed_can_be_asked(docs: Connection) -> None:
    # given a value of the type that each operator takes, of each field
    listed = docs.execute(
        "select o.operator, o.types, f.field, f.type"
        " from ragdb_internal.filter_operators() o, (select field, type"
        " from ragdb_internal.filter_fields() union all values ('year', null)) f"
    ).fetchall()
    assert len({operator for operator, *_ in listed}) == 11
    for operator, types, field, kind in listed:
        if operator == "glob" and kind in ("number", "time"):
            continue  # no glob of a number or of a time
        value: Any = {None: "1", "number": 1, "string": "1", "time": "2026-11-20"}[kind]
        if types == ["array"]:
            value = [value]
        elif types == ["boolean"]:
            value = True
        # then it is not an error
        sources(docs, {field: {operator: value}})


def test_stores_of_other_libraries_know_each_field_that_is_listed(docs: Connection) -> None:
    listed = docs.execute("select field from ragdb_internal.filter_fields()").fetchall()
    assert [field for (field,) in listed] == list(stored.FIELDS)


def test_a_hint_names_what_an_operator_takes(docs: Connection) -> None:
    for condition, hint in (
        (
            {"year": {"near": 3}},
            "operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob",
        ),
        ({"year": {"gte": [1]}}, "gte takes a number or a string"),
        ({"page": {"eq": "1"}}, "field page is a number"),
        (
            {"said_at": {"gte": 1764000000}},
            "field said_at is a time, such as 2026-11-20T09:30:00Z",
        ),
        (
            {"said_at": {"glob": "2026-11-20"}},
            "glob takes a string; field said_at is a time, such as 2026-11-20T09:30:00Z",
        ),
        ({"source": {"glob": "a" * 1025}}, "a glob has at most 1024 characters and 16 stars"),
    ):
        with pytest.raises(psycopg.Error) as caught, docs.transaction():
            sources(docs, condition)
        assert caught.value.diag.message_hint == hint


def test_a_text_that_a_filter_cannot_take_is_quoted_once(docs: Connection) -> None:
    says = 'filter operator eq of "said_at" cannot take "last week"$'
    with pytest.raises(psycopg.Error, match=re.compile(says, re.MULTILINE)):
        sources(docs, {"said_at": "last week"})
