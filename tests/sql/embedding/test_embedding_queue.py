"""The embedding queue hands out each input once, fences its completions, and follows the chunks."""

from __future__ import annotations

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psycopg
import pytest

from ragdb import errors
from tests.conftest import Connection
from tests.embedding import (
    ENCODER,
    WIDTH,
    claim,
    complete,
    embed,
    make_corpus,
    make_embedder,
    one,
    put,
    status,
)
from tests.waiting import after_commit, is_waiting, outcome, until

TEXTS = {"a": "alpha beta", "b": "gamma delta", "c": "epsilon zeta"}


def expire(db: Connection) -> None:
    db.execute("update ragdb.embedding_jobs set due_at = clock_timestamp() - interval '1 s'")


def embedded(db: Connection) -> int:
    return int(one(db, "select count(*) from ragdb.chunk_embeddings"))


def test_every_chunk_is_embedded_and_nothing_is_left(any_db: Connection) -> None:
    make_corpus(any_db, TEXTS)
    assert status(any_db, "backlog") == 3
    assert embed(any_db) == 3
    assert status(any_db, "array[coverage, backlog, dead]") == [1, 0, 0]
    assert claim(any_db) == []


def test_a_claim_looks_at_a_few_rows_an_input_however_many_wait(db: Connection) -> None:
    make_corpus(db, {f"{n}.txt": f"words of text {n}" for n in range(500)})

    def rows_read() -> int:
        return int(
            one(
                db,
                "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))"
                " from pg_stat_xact_user_tables"
                " where relname in ('embedding_jobs', 'chunks', 'documents', 'chunk_embeddings_1')",
            )
        )

    claim(db, count=1)
    before = rows_read()
    for _ in range(3):
        complete(db, claim(db, count=130))
    # a few rows for each of 390 inputs, and every job that waits three times, not for each input
    assert rows_read() - before < 30 * 500


def test_the_input_is_prefix_title_heading_and_text(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    make_embedder(db, passage_prefix="passage: ")
    db.execute("select ragdb.embed_corpus('docs', 'hash')")
    put(db, {"a": "the text"}, title="The title")
    db.execute("update ragdb.chunks set heading = array['One', 'Two']")
    ((_, digest, _, text),) = claim(db)
    assert text == "passage: The title\nOne\nTwo\nthe text"
    assert digest == hashlib.sha256(text.encode()).digest()


def test_equal_inputs_are_computed_once(db: Connection) -> None:
    make_corpus(db, {"a": "same words", "b": "same words", "c": "other"})
    rows = claim(db)
    assert sorted(row[3] for row in rows) == ["other", "same words"]
    assert complete(db, rows) == 3


def test_an_input_that_was_computed_before_is_copied(db: Connection) -> None:
    make_corpus(db, {"a": "same words"})
    embed(db)
    put(db, {"b": "same words"})
    assert claim(db) == []
    assert status(db, "coverage") == 1


def test_what_a_claim_copies_is_a_version_of_its_own(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "same words"})
        embed(db)
        db.execute("select ragdb.keep_history('docs', '1 day')")
        put(db, {"b": "same words"})
        before = one(db, "select version from ragdb.corpus_info('docs')")
        assert claim(db) == []
        assert one(db, "select version from ragdb.corpus_info('docs')") == before + 1
        near = [float(x) for x in ENCODER.encode(["same words"])[0]]
        found = (
            "select array_agg(source order by source) from ragdb.search('docs', 'same',"
            " mode => 'semantic', query_embedding => %s::float8[], as_of => %s)"
        )
        assert one(db, found, near, before) == ["a"]
        assert one(db, found, near, None) == ["a", "b"]


def test_a_claim_copies_to_no_chunk_that_goes(clone: str) -> None:
    with psycopg.connect(clone) as writer, psycopg.connect(clone, autocommit=True) as worker:
        make_corpus(writer, {"a": "same words"})
        embed(writer)
        put(writer, {"b": "same words"})
        writer.commit()
        writer.execute("select ragdb.delete_source('docs', 'b')")
        with ThreadPoolExecutor(1) as claims:
            claimed = claims.submit(claim, worker)
            until(lambda: claimed.done() or is_waiting(writer, worker))
            writer.commit()
            assert claimed.result() == []
        assert embedded(writer) == 1


def test_a_claim_leaves_a_corpus_that_is_written_for_later(clone: str) -> None:
    with psycopg.connect(clone) as writer, psycopg.connect(clone, autocommit=True) as worker:
        worker.execute("set lock_timeout = '20s'")
        make_corpus(writer, {"a": "it waits in the queue"})
        # one claim queues both, and takes one
        put(writer, {"b": "it waits too"})
        assert len(claim(writer, count=1)) == 1
        put(writer, {"c": "it is not queued yet"})
        writer.execute("select ragdb.create_corpus('other')")
        writer.execute("select ragdb.embed_corpus('other', 'hash')")
        put(writer, {"d": "another corpus"}, "other")
        writer.commit()
        put(writer, {"e": "nobody sees this yet"})
        assert [input for *_, input in claim(worker)] == ["another corpus"]
        # what is queued can be embedded meanwhile
        assert [input for *_, input in claim(worker)] == ["it waits too"]
        assert claim(worker) == []
        of_docs = "select count(*) from ragdb.claim_embeddings('w', only_corpus => 'docs')"
        assert one(worker, of_docs) == 0
        writer.commit()
        assert {input for *_, input in claim(worker)} == {
            "it is not queued yet",
            "nobody sees this yet",
        }


def test_a_claim_of_what_is_queued_holds_up_no_writer(clone: str) -> None:
    with psycopg.connect(clone) as worker, psycopg.connect(clone, autocommit=True) as writer:
        make_corpus(writer, {"a": "it waits", "b": "it waits too"})
        assert len(claim(writer, count=1)) == 1
        assert len(claim(worker)) == 1
        writer.execute("set lock_timeout = '2s'")
        put(writer, {"c": "it is written"})


def test_a_claim_that_copies_the_last_embeddings_has_the_corpus_searched_by_them(
    db: Connection,
) -> None:
    # one claim queues ten chunks, so the other ten come when their input is known
    make_corpus(db, {f"{n:02}": "same words" for n in range(20)})
    assert complete(db, claim(db, count=1)) == 10
    assert claim(db, count=1) == []
    near = [float(x) for x in ENCODER.encode(["same words"])[0]]
    searched = "select distinct mode from ragdb.search('docs', 'same', query_embedding => %s)"
    assert one(db, searched, near) == "hybrid"


def test_a_claim_passes_over_all_that_is_embedded(db: Connection) -> None:
    make_corpus(db, {f"{n:02}": f"text {n}" for n in range(20)})
    embed(db)
    put(db, {"new": "another"})
    db.execute("select ragdb.requeue_embeddings('docs')")
    assert [row[3] for row in claim(db, count=1)] == ["another"]


def test_what_no_chunk_has_any_more_is_claimed_by_nobody(db: Connection) -> None:
    make_corpus(db, TEXTS)
    claim(db)
    expire(db)
    put(db, {"a": "eta theta"})
    assert sorted(row[3] for row in claim(db)) == ["epsilon zeta", "gamma delta"]
    assert status(db, "in_work") == 2
    put(db, {"d": TEXTS["a"]})
    assert sorted(row[3] for row in claim(db)) == ["alpha beta", "eta theta"]


def test_a_claimed_input_is_claimed_by_nobody_else(db: Connection) -> None:
    make_corpus(db, TEXTS)
    assert len(claim(db, "one", 2)) == 2
    assert len(claim(db, "two")) == 1
    assert claim(db, "three") == []


def test_a_lost_claim_completes_nothing(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    late = claim(db, "late")
    expire(db)
    prompt = claim(db, "prompt")
    assert prompt[0][1] == late[0][1]
    assert complete(db, late) == 0
    assert embedded(db) == 0
    assert complete(db, prompt) == 1


def test_a_renewed_claim_is_kept(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    claim(db, "w", lease="1 min")
    assert one(db, "select ragdb.renew_embeddings('w', '1 hour')") == 1
    assert one(db, "select due_at > now() + interval '59 min' from ragdb.embedding_jobs")
    expire(db)
    assert one(db, "select ragdb.renew_embeddings('w', '1 hour')") == 0


def test_a_failure_backs_off_and_the_fifth_kills(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    waits = []
    for _ in range(5):
        ((space, digest, attempt, _),) = claim(db)
        began = one(db, "select clock_timestamp()")
        db.execute(
            "select ragdb.fail_embeddings(%s, %s, %s, 'too odd')", (space, [digest], [attempt])
        )
        ended, due = db.execute(
            "select clock_timestamp(), due_at from ragdb.embedding_jobs"
        ).fetchall()[0]
        waits.append((due - ended, due - began))
        # before it is due; a claim by a machine that was so slow until now counts as no attempt
        with db.transaction(force_rollback=True):
            assert claim(db) == [] or one(db, "select clock_timestamp()") > due
        expire(db)
    for n, (least, most) in enumerate(waits[:4]):
        assert least.total_seconds() < 1.5 * 2 ** (n + 1)
        assert most.total_seconds() > 0.5 * 2 ** (n + 1)
    assert status(db, "array[dead, backlog]") == [1, 0]
    assert claim(db) == []
    failed = db.execute(
        "select is_dead, failures, last_error from ragdb.list_failed_embeddings('docs')"
    )
    assert failed.fetchall() == [(True, 5, "too odd")]


def test_dead_work_is_revived_by_retry_failed(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    claim(db)
    db.execute("update ragdb.embedding_jobs set is_dead = true, failures = 5, worker = null")
    assert claim(db) == []
    assert one(db, "select ragdb.retry_failed('docs')") == 1
    assert embed(db) == 1


def test_the_status_tells_what_the_queue_holds(db: Connection) -> None:
    """Each figure is read by an index of its own: here they are counted over all inputs."""
    counted = (
        "select array[sum(cardinality(chunk_nos)) filter (where is_dead),"
        " count(*) filter (where worker is not null and due_at > clock_timestamp()),"
        " count(*) filter (where not is_dead and failures > 0)],"
        " min(created_at) filter (where not is_dead),"
        " (array_agg(last_error order by due_at desc) filter (where last_error is not null))[1]"
        " from ragdb.embedding_jobs"
    )
    told = (
        "select array[dead, in_work, failing], oldest_at, last_error from ragdb.embedding_spaces s,"
        " ragdb_internal.queue_state(s.corpus_id, s.space_id)"
    )
    lost = (
        "update ragdb.embedding_jobs set due_at = clock_timestamp() - interval '1 day'"
        " where worker is not null or last_error is not null"
    )
    make_corpus(db, {f"{n:02}": f"text {n}" for n in range(8)})
    chance = random.Random(7)
    states = set()
    for step in range(60):
        if rows := claim(db, count=chance.randint(1, 6), lease="1 day"):
            done = rows[: chance.randint(0, len(rows))]
            fate = chance.choice(["failed", "failed", "failed", "left", "lost", "done"])
            if fate == "failed":
                db.execute(
                    "select ragdb.fail_embeddings(%s, %s, %s, %s)",
                    (rows[0][0], [r[1] for r in done], [r[2] for r in done], f"odd {step}"),
                )
            elif fate == "done" and done:
                complete(db, done)
            if fate in ("failed", "lost"):
                db.execute(lost)
        if step % 25 == 24:
            db.execute("select ragdb.retry_failed('docs')")
        if step % 3 == 0:
            put(db, {f"new {step}": f"new text {step}"})
        (counts, *others), (said, *those) = [db.execute(q).fetchall()[0] for q in (counted, told)]
        assert (said, those) == ([n or 0 for n in counts], others)
        states.add(tuple(n > 0 for n in said))
    assert [len({state[n] for state in states}) for n in range(3)] == [2, 2, 2]


def test_work_in_hand_is_not_revived(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    rows = claim(db)
    assert one(db, "select ragdb.retry_failed('docs')") == 0
    assert complete(db, rows) == 1


def test_what_a_worker_has_is_not_tried_again_beside_it(db: Connection) -> None:
    make_corpus(db, {"a": "alpha", "b": "beta"})
    assert len(claim(db)) == 2
    db.execute("update ragdb.embedding_jobs set failures = 1")
    assert one(db, "select ragdb.retry_failed('docs')") == 0
    db.execute("update ragdb.embedding_jobs set worker = null")
    assert one(db, "select ragdb.retry_failed('docs')") == 2


def test_an_equal_input_that_comes_while_one_is_in_work_is_embedded_with_it(
    db: Connection,
) -> None:
    make_corpus(db, {"a": "alpha"})
    rows = claim(db)
    put(db, {"b": "alpha"})
    assert claim(db) == []
    assert complete(db, rows) == 2


def test_an_input_that_killed_twenty_workers_is_revived(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    while claim(db):
        expire(db)
    assert status(db, "array[dead, failing]") == [1, 0]
    assert one(db, "select ragdb.retry_failed('docs')") == 1
    assert embed(db) == 1


def test_dead_work_is_revived_however_often_it_failed(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    for _ in range(6):
        give_up(db)
        assert one(db, "select failures from ragdb.embedding_jobs") == 5
        assert one(db, "select ragdb.retry_failed('docs')") == 1
    assert embed(db) == 1


def give_up(db: Connection) -> None:
    """Have all that waits fail as often as it may."""
    while rows := claim(db):
        db.execute(
            "select ragdb.fail_embeddings(%s, %s, %s, 'odd')",
            (rows[0][0], [row[1] for row in rows], [row[2] for row in rows]),
        )
        expire(db)


def test_failed_chunks_are_listed_by_pages(db: Connection) -> None:
    make_corpus(db, {f"{n:03}": f"text {n}" for n in range(130)})
    make_embedder(db, "second")
    give_up(db)
    db.execute("select ragdb.reembed_corpus('docs', 'second')")
    give_up(db)
    chunk_ids = [row[0] for row in db.execute("select chunk_id from ragdb.chunks order by 1")]

    def page(after: str, *count: int) -> list[tuple[str, str]]:
        arguments = ", ".join(["'docs'", "%s", *("%s" for _ in count)])
        return db.execute(
            f"select chunk_id, embedder from ragdb.list_failed_embeddings({arguments})",
            (after, *count),
        ).fetchall()

    # both embedders of a chunk are on its page
    both = [(chunk, embedder) for chunk in chunk_ids for embedder in ("hash", "second")]
    assert page("", 3) == both[:4]
    assert page(both[3][0], 10000) == both[4:]
    assert len(page("")) == 100
    for refused in (0, 10001, None):
        with pytest.raises(errors.InvalidArgument, match="count is"), db.transaction():
            page("", refused)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidArgument, match="after is null"), db.transaction():
        page(None)  # type: ignore[arg-type]


def failed(db: Connection) -> list[str]:
    """The sources of the chunks that are listed as failed."""
    return sorted(
        source
        for (source,) in db.execute(
            "select c.source from ragdb.list_failed_embeddings('docs') f"
            " join ragdb.chunks c using (chunk_id)"
        )
    )


def test_a_chunk_that_changed_or_went_is_not_counted_as_given_up(db: Connection) -> None:
    make_corpus(db, {"a": "alpha", "b": "beta", "c": "gamma", "d": "gamma"})
    give_up(db)
    assert status(db, "array[dead, backlog]") == [4, 0]
    put(db, {"a": "another alpha"})
    assert status(db, "array[dead, backlog]") == [3, 1]
    assert failed(db) == ["b", "c", "d"]
    assert embed(db) == 1
    assert status(db, "array[dead, backlog, embedded]") == [3, 0, 1]
    db.execute("select ragdb.delete_sources('docs', '{b,c}')")
    assert status(db, "array[dead, backlog, embedded]") == [1, 0, 1]
    assert failed(db) == ["d"]
    db.execute("select ragdb.delete_source('docs', 'd')")
    assert status(db, "array[dead, backlog, embedded]") == [0, 0, 1]
    assert one(db, "select count(*) from ragdb.embedding_jobs") == 0


def test_a_chunk_that_only_moved_stays_given_up(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    give_up(db)
    db.execute("update ragdb.chunks set page = 7")
    assert status(db, "array[dead, backlog]") == [1, 0]
    assert claim(db) == []


def test_a_chunk_with_the_text_of_one_that_is_embedded_is_not_given_up(db: Connection) -> None:
    make_corpus(db, {"a": "alpha", "b": "alpha"})
    give_up(db)
    db.execute(
        "select ragdb.put_embeddings('docs', array[c.chunk_id], array_fill(1::float8, array[%s]))"
        " from ragdb.chunks c where c.source = 'a'",
        (WIDTH,),
    )
    assert status(db, "array[dead, backlog, embedded]") == [1, 0, 1]
    db.execute("update ragdb.chunks set page = 7 where source = 'b'")
    assert status(db, "array[dead, backlog, embedded]") == [0, 0, 2]


def test_what_waits_for_a_provider_is_tried_again_at_once(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    ((space, digest, attempt, _),) = claim(db)
    db.execute(
        "select ragdb.fail_embeddings(%s, %s, %s, 'down', '1 day')", (space, [digest], [attempt])
    )
    assert claim(db) == []
    assert one(db, "select ragdb.retry_failed('docs')") == 1
    assert embed(db) == 1


def test_a_provider_that_is_down_kills_nothing(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    for _ in range(30):
        ((space, digest, attempt, _),) = claim(db)
        db.execute(
            "select ragdb.fail_embeddings(%s, %s, %s, 'down', '5 s')", (space, [digest], [attempt])
        )
        expire(db)
    assert status(db, "array[dead, failing]") == [0, 0]
    assert status(db, "last_error") == "down"


def test_a_claim_may_leave_embedders_alone(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    (name,) = db.execute("select name from ragdb.list_embedders()").fetchall()[0]
    left_alone = "select input from ragdb.claim_embeddings('w', except_embedders => %s)"
    assert db.execute(left_alone, (["other", name],)).fetchall() == []
    assert db.execute(left_alone, (["other"],)).fetchall() == [("alpha",)]


def test_an_input_that_kills_twenty_workers_is_dead(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    for _ in range(20):
        assert claim(db)
        expire(db)
    assert claim(db) == []
    assert status(db, "dead") == 1


def test_a_space_is_filled_once_the_last_input_that_waits_has_killed_twenty_workers(
    clone: str,
) -> None:
    filled = (
        "select is_filled, version from ragdb.embedding_spaces join ragdb.corpora using (corpus_id)"
    )
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "alpha", "b": "beta"})
        complete(db, claim(db, count=1))
        for _ in range(20):
            assert claim(db)
            expire(db)
        ((is_filled, version),) = db.execute(filled).fetchall()
        assert not is_filled
        assert claim(db) == []
        assert db.execute(filled).fetchall() == [(True, version + 1)]


def test_a_claim_of_a_space_that_was_dropped_completes_nothing_of_another_model(
    db: Connection,
) -> None:
    make_corpus(db, {"a": "alpha"})
    old = claim(db)
    db.execute("select ragdb.drop_space('docs', 'hash')")
    make_embedder(db, "other")
    db.execute("select ragdb.embed_corpus('docs', 'other')")
    assert [row[1:] for row in claim(db)] == [row[1:] for row in old]
    with pytest.raises(errors.CorpusNotFound), db.transaction():
        complete(db, old)
    assert embedded(db) == 0


def test_a_changed_chunk_is_embedded_again_and_an_equal_one_is_not(db: Connection) -> None:
    make_corpus(db, TEXTS)
    embed(db)
    db.execute("update ragdb.chunks set page = 7")
    assert status(db, "embedded") == 3
    db.execute("update ragdb.chunks set heading = array['New'] where text = 'alpha beta'")
    assert status(db, "embedded") == 2
    assert [row[3] for row in claim(db)] == ["New\nalpha beta"]


def test_a_changed_title_makes_its_documents_chunks_new(db: Connection) -> None:
    make_corpus(db, TEXTS)
    embed(db)
    db.execute("update ragdb.documents set title = 'Title' where source = 'a'")
    assert [row[3] for row in claim(db)] == ["Title\nalpha beta"]


def test_a_chunk_that_changes_in_the_meantime_gets_no_stale_embedding(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    old = claim(db)
    db.execute("update ragdb.chunks set heading = array['New']")
    assert complete(db, old) == 0
    assert [row[3] for row in claim(db)] == ["New\nalpha"]


def test_a_deleted_chunk_takes_its_embedding_and_its_work_along(db: Connection) -> None:
    make_corpus(db, TEXTS)
    embed(db)
    put(db, {"d": "eta"})
    claim(db)
    expire(db)
    db.execute("select ragdb.delete_source('docs', 'a')")
    db.execute("select ragdb.delete_source('docs', 'd')")
    assert embedded(db) == 2
    assert claim(db) == []
    assert one(db, "select count(*) from ragdb.embedding_jobs") == 0


def test_requeueing_finds_what_the_queue_has_lost(db: Connection) -> None:
    make_corpus(db, TEXTS)
    embed(db)
    db.execute("delete from ragdb.chunk_embeddings")
    assert claim(db) == []
    assert one(db, "select ragdb.requeue_embeddings('docs')") == 1
    assert embed(db) == 3


def test_requeueing_takes_spaces_in_the_order_of_a_claim(clone: str) -> None:
    touch = "update ragdb.embedding_spaces set queued_to = 7 where space_id = %s"
    with psycopg.connect(clone) as a, psycopg.connect(clone) as b:
        a.execute("select ragdb.create_embedder('two', 2, model => 'two')")
        for corpus in ("one", "two"):
            a.execute("select ragdb.create_corpus(%s)", (corpus,))
            a.execute("select ragdb.embed_corpus(%s, 'two')", (corpus,))
        listed = a.execute("select space_id from ragdb.embedding_spaces order by 1 desc limit 2")
        last, first = [space for (space,) in listed.fetchall()]
        a.execute(touch, (last,))
        a.execute(touch, (first,))  # which is then behind the other in the table
        a.commit()
        a.execute(touch, (first,))  # as a claim that goes on with the other
        requeued = after_commit(
            a, b, lambda: outcome(b, "select ragdb.requeue_embeddings()"),
            before=lambda: a.execute(touch, (last,)),
        )  # fmt: skip
        assert requeued is None


BAD = {
    "nan": np.full(WIDTH, np.nan),
    "infinite": np.full(WIDTH, np.inf),
    "zero": np.zeros(WIDTH),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_embedding_is_refused_by_the_name_of_its_chunk(db: Connection, kind: str) -> None:
    make_corpus(db, TEXTS)
    rows = claim(db)
    vectors = ENCODER.encode([row[3] for row in rows])
    vectors[1] = BAD[kind]
    chunk = one(db, "select chunk_id from ragdb.chunks where text = %s", rows[1][3])
    with pytest.raises(errors.InvalidEmbedding, match=chunk), db.transaction():
        complete(db, rows, lambda _: vectors)
    assert embedded(db) == 0


@pytest.mark.parametrize("width", [WIDTH - 1, WIDTH + 1, 0])
def test_an_embedding_of_another_width_is_refused(db: Connection, width: int) -> None:
    make_corpus(db, {"a": "alpha"})
    with pytest.raises(errors.InvalidEmbedding, match="numbers"), db.transaction():
        complete(db, claim(db), lambda texts: np.ones((len(texts), width), np.float32))


def test_a_stranger_to_the_corpus_can_neither_claim_nor_complete(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    db.execute("select ragdb.request_query_embedding('docs', 'what is asked')")
    queries = "select query from ragdb.claim_queries('w')"
    db.execute("set role reader")
    assert claim(db) == db.execute(queries).fetchall() == []
    db.execute("set role writer")
    rows = claim(db)
    assert len(rows) == 1
    assert db.execute(queries).fetchall() == [("what is asked",)]
    db.execute("set role reader")
    with pytest.raises(errors.CorpusNotFound), db.transaction():
        complete(db, rows)


@pytest.mark.parametrize(
    "call",
    [
        "claim_embeddings(null)",
        "claim_embeddings('')",
        "claim_embeddings('w', 0)",
        "claim_embeddings('w', 10001)",
        "claim_embeddings('w', 1, '0 s')",
        "claim_embeddings('w', 1, null)",
        "claim_embeddings('w', except_embedders => null)",
        "claim_embeddings('w', except_embedders => array['a', null])",
        "claim_queries('w', 0)",
        "renew_embeddings('w', '2 days')",
        "complete_embeddings(1, array['\\x00'::bytea], array[]::int[], array[]::real[])",
        "fail_embeddings(1, null, null, 'x')",
        "create_embedder('x', 0)",
        "create_embedder('x', 4001)",
        "create_embedder('x', 3, metric => 'hamming')",
        "create_embedder('', 3)",
        "create_embedder('x', 3, weights_sha256 => 'ABC')",
        "bind_embedder('hash', 'magic', 'x')",
        "embed_corpus('docs', 'hash', 1)",
        "request_query_embedding('docs', ' ')",
        "put_query_embedding('docs', null, array[1])",
    ],
)
def test_an_argument_out_of_range_is_an_error(db: Connection, call: str) -> None:
    make_corpus(db, {"a": "alpha"})
    if "embed_corpus" in call:
        db.execute("select ragdb.drop_space('docs', 'hash')")
    with pytest.raises(errors.InvalidArgument) as caught, db.transaction():
        db.execute(f"select ragdb.{call}")
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint
