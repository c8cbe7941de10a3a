"""Anybody may listen to a channel, so a notice says that something is there and never what."""

from __future__ import annotations

import itertools

import psycopg

from tests.conftest import Login


def test_notices_say_nothing_of_what_happened(any_clone: str, login: Login) -> None:
    heard = login(any_clone, "stranger", autocommit=True)
    heard.execute("listen ragdb_events; listen ragdb_embeddings; listen all_told")
    writer = login(any_clone, "writer", autocommit=True)
    writer.execute("select ragdb.create_corpus('hidden', is_restricted => true)")
    writer.execute("select ragdb.create_corpus('personal')")
    for corpus in ("hidden", "personal"):
        writer.execute("select ragdb.put_text(%s, 'a.md', 'tulips')", (corpus,))
        writer.execute("select ragdb.create_embedder(%s, 8)", (f"e-{corpus}",))
        writer.execute("select ragdb.embed_corpus(%s, %s)", (corpus, f"e-{corpus}"))
        writer.execute("select ragdb.request_query_embedding(%s, 'tulips')", (corpus,))
    # notices come in the order of the commits
    writer.execute("notify all_told")
    notices = list(itertools.takewhile(lambda n: n.channel != "all_told", heard.notifies()))
    assert {n.channel for n in notices} == {"ragdb_events", "ragdb_embeddings"}
    assert {n.payload for n in notices} == {""}


def test_of_those_who_write_at_a_time_one_tells(clone: str) -> None:
    with (
        psycopg.connect(clone, autocommit=True) as heard,
        psycopg.connect(clone) as one,
        psycopg.connect(clone, autocommit=True) as two,
    ):
        two.execute("select ragdb.create_corpus('one'), ragdb.create_corpus('two')")
        heard.execute("listen ragdb_events")
        one.execute("select ragdb.put_text('one', 'a.md', 'tulips')")
        two.execute("select ragdb.put_text('two', 'a.md', 'tulips')")
        assert list(heard.notifies(timeout=0.1)) == []
        one.commit()
        assert len(list(heard.notifies(timeout=120, stop_after=1))) == 1
        two.execute("select ragdb.put_text('two', 'b.md', 'tulips')")
        assert len(list(heard.notifies(timeout=120, stop_after=1))) == 1
