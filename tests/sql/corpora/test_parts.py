"""Parts of a corpus rank as the corpus in one piece: the same chunks, ids, order and scores.

The corpus in one piece is made first, asked, and dropped; then parts of one of the same name are
given the same documents, so that also the ids of chunks, by which what ties is ordered, are equal.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb import errors
from ragdb.client.calling import Reals
from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import ENCODER, embed, make_embedder, one, put
from tests.refusal import refused
from tests.sql.soundness import errors as errors_of

PARTS = ["part-0", "part-1", "part-2"]
SHOWN = (
    "rank, chunk_id, source, score, lexical_score, semantic_score, lexical_rank, semantic_rank, "
    "bm25, coverage, text, mode, is_exact"
)
WORDS = [
    f"{a}{b}{c}"
    for a in ("br", "cl", "dr", "fl", "gr", "pl", "sm", "tr")
    for b in ("a", "e", "i", "o", "u")
    for c in ("bb", "ckle", "dd", "mp", "nd", "rt", "zz")
]


def part_of(uri: str) -> str:
    return PARTS[zlib.crc32(uri.encode()) % len(PARTS)]


class Collection:
    """Documents that come, change and go at random, the same for every corpus."""

    def __init__(self, db: Connection, documents: int = 120, seed: int = 7) -> None:
        self.db, self.documents = db, documents
        self.rng = random.Random(seed)
        self.long = ""

    def text(self) -> str:
        # few words are frequent, and some texts are equal, so that scores tie
        if self.rng.random() < 0.1:
            return f"{WORDS[0]} {WORDS[3]}"
        # and some are nearly equal
        if self.long and self.rng.random() < 0.2:
            return f"{self.long} {self.rng.choice(WORDS)}"
        places = [int(len(WORDS) * self.rng.random() ** 3) for _ in range(self.rng.randint(2, 30))]
        made = " ".join(WORDS[place] for place in places)
        if len(places) > 20:
            self.long = made
        return made

    def made(self, number: int) -> dict[str, Any]:
        made = text_document(f"doc-{number}", self.text(), metadata={"half": number % 2})
        first = made["chunks"][0]
        more = self.text()
        start = first["end"] + 2
        made["chunks"] += [{**first, "text": more, "start": start, "end": start + len(more)}]
        return made

    def batches(self) -> Iterator[tuple[list[dict[str, Any]], list[str]]]:
        """Three batches: documents that are put, and the names of those that go then."""
        for batch in range(3):
            numbers = (
                list(range(self.documents))
                if batch == 0
                else self.rng.sample(range(self.documents + 20), self.documents // 8)
            )
            made = [self.made(number) for number in numbers]
            yield made, [f"doc-{n}" for n in self.rng.sample(range(self.documents), 5)]

    def write(self, divided: bool, *optimized: str) -> None:
        """All batches; what is optimized is so before the last."""
        for batch, (documents, gone) in enumerate(self.batches()):
            for corpus in PARTS if divided else ["whole"]:
                write(
                    self.db,
                    corpus,
                    [d for d in documents if not divided or part_of(d["uri"]) == corpus],
                    [uri for uri in gone if not divided or part_of(uri) == corpus],
                )
            embed(self.db)
            for corpus in optimized if batch == 1 else ():
                self.db.execute("select ragdb.optimize_corpus(%s)", (corpus,))


def write(db: Connection, corpus: str, documents: list[dict[str, Any]], gone: list[str]) -> None:
    db.execute("select count(*) from ragdb.put_documents(%s, %s)", (corpus, Jsonb(documents)))
    db.execute("select ragdb.delete_sources(%s, %s)", (corpus, gone))


def questions(count: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(3)
    for number in range(count):
        words = [rng.choice(WORDS) for _ in range(rng.randint(1, 5))]
        if number % 5 == 0:
            words[0] += "x"  # nobody has it: what was meant is looked for
        how: dict[str, Any] = {"query": " ".join(words), "k": rng.choice([3, 10, 30])}
        how["mode"] = ["lexical", "semantic", "hybrid", "hybrid"][number % 4]
        if number % 8 == 3:
            how["fusion"] = "rrf"
        if number % 3 == 0:
            how["filter"] = Jsonb({"half": number % 2})
        if number % 7 == 0:
            how.update(query=f"+{words[-1]} {how['query']} -{WORDS[1]}", syntax="web")
        if number % 11 == 0:
            how.update(per_document=1, collapse=True)
        if number % 11 == 5:
            how.update(diversity=0.4, k=5)
        if how["mode"] != "lexical":
            how["query_embedding"] = Reals(ENCODER.encode([" ".join(words)]))
        yield how


def ask(db: Connection, how: dict[str, Any], corpus: str = "whole") -> list[Any]:
    named = "".join(f", {key} => %({key})s" for key in how)
    return db.execute(
        f"select {SHOWN} from ragdb.search(%(corpus)s{named}) order by rank",
        {"corpus": corpus, **how},
    ).fetchall()


def make_parts(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('whole')")
    db.execute("select ragdb.embed_corpus('whole', 'hash')")
    for part in PARTS:
        db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))


# of a query; of a query and a chunk; of a query, an embedding and chunks; of none
OF_QUERY = (
    "select * from ragdb.count_matches('whole', %(query)s)",
    "select * from ragdb.facets('whole', %(query)s, '{half,source}')",
    "select ragdb.did_you_mean('whole', %(query)s)",
    "select ragdb.did_you_mean('{whole}'::text[], %(query)s)",
    "select rank, source, metadata, score, chunks from ragdb.search_documents('whole', %(query)s)",
)
OF_HITS = (
    "select * from ragdb.explain_scores('whole', %(query)s, %(ids)s, 'lexical')",
    "select * from ragdb.explain_scores('whole', %(query)s, %(ids)s, 'hybrid',"
    " query_embedding => %(embedding)s)",
    "select * from ragdb.explain_scores('whole', %(query)s, %(ids)s, 'hybrid', fusion => 'rrf',"
    " query_embedding => %(embedding)s)",
    "select * from unnest(%(late)s::text[]) i (id), ragdb.explain_missing('whole', %(query)s, i.id,"
    " 3, 'hybrid', query_embedding => %(embedding)s)",
    "select * from unnest(%(late)s::text[]) i (id), ragdb.explain_missing('whole', %(query)s, i.id,"
    " 3, 'hybrid', fusion => 'rrf', query_embedding => %(embedding)s, filter => '{\"half\": 0}')",
    "select * from unnest(%(late)s::text[]) i (id), ragdb.explain_missing('whole', %(query)s, i.id,"
    " 5, collapse => true, per_document => 1, min_score => 0.1)",
)
OF_CHUNK = (
    "select * from ragdb.explain_search('whole', %(query)s, %(id)s)",
    "select * from ragdb.explain_score('whole', %(query)s, %(id)s, 'lexical')",
    "select ragdb.highlight('whole', %(id)s, %(query)s)",
    f"select {SHOWN} from ragdb.similar('whole', %(id)s) order by rank",
    f"select {SHOWN} from ragdb.similar('whole', %(id)s, 5, filter => '{{\"half\": 1}}')",
    f"select {SHOWN} from ragdb.similar('whole', %(id)s, mode => 'lexical') order by rank",
    "select * from ragdb.get_chunk('whole', %(id)s)",
    "select ragdb.find_chunk('whole', left(%(id)s, 20))",
    "select * from ragdb.locate_quote('whole', %(id)s, 'brabb')",
    "select * from ragdb.match_documents(%(embedding)s, 0.1, 7, corpus => 'whole')",
)
DOCUMENT = "source, sources, title, metadata, chunks, tokens"
OF_NONE = (
    f"select {DOCUMENT} from ragdb.list_documents('whole', count => 40)",
    f"select {DOCUMENT} from ragdb.list_documents('whole', 'doc-1', 'doc-11')",
    "select * from ragdb.list_chunks('whole', count => 50)",
    "select * from ragdb.list_chunks('whole', '{\"half\": 1}', after => 'c')",
    f"select {DOCUMENT} from ragdb.get_document('whole', 'doc-12')",
    "select * from ragdb.document_chunks('whole', 'doc-12')",
    "select ragdb.document_text('whole', 'doc-12')",
    "select doc_cid from ragdb.get_source('whole', 'doc-12')",
    "select title, chunks, is_current from ragdb.document_versions('whole', 'doc-12', 1)",
    "select uri, doc_cid from ragdb.known_sources('whole', '{doc-12,doc-13,doc-999}')",
)


def all_asked(db: Connection, asked: list[dict[str, Any]], hits: list[Any]) -> Iterator[Any]:
    """What functions beside the search answer about the whole, and by the first questions of it."""
    for statement in OF_NONE:
        yield statement, db.execute(statement).fetchall()
    for number, (how, found) in enumerate(zip(asked[:20], hits[:20], strict=True)):
        words = how["query"].replace("+", "").split(" -")[0]
        given: dict[str, Any] = {"query": how["query"], "ids": [hit[1] for hit in found][:5]}
        given["embedding"] = Reals(ENCODER.encode([words]))
        given["late"] = given["ids"][3:]
        statements: tuple[str, ...] = OF_QUERY
        if given["ids"]:
            given["id"] = given["ids"][number % len(given["ids"])]
            statements = (OF_QUERY, OF_HITS, OF_CHUNK)[number % 3]
        for statement in statements:
            yield (statement, given), db.execute(statement, given).fetchall()
    for shown in db.execute("select distinct chunk_id from ragdb.list_chunks('whole') limit 5"):
        trace = one(db, "select max(trace_id::text) from ragdb.retrieve('whole', %s)", WORDS[0])
        yield shown, db.execute("select * from ragdb.why_not(%s, %s)", (trace, *shown)).fetchall()


def test_parts_rank_as_the_corpus_in_one_piece(db: Connection) -> None:
    make_embedder(db)
    db.execute("select ragdb.create_corpus('whole')")
    db.execute("select ragdb.embed_corpus('whole', 'hash')")
    synonyms = "select ragdb.add_synonyms('whole', %s)"
    db.execute(synonyms, ([WORDS[2], WORDS[9]],))
    Collection(db).write(False, "whole")
    asked = list(questions(40))
    expected = [ask(db, how) for how in asked]
    told = list(all_asked(db, asked, expected))
    db.execute("select ragdb.drop_corpus('whole')")

    make_parts(db)
    db.execute(synonyms, ([WORDS[2], WORDS[9]],))
    # a part that is optimized alone keeps the pivot of all
    Collection(db).write(True, "whole", *PARTS)
    db.execute("select ragdb.sync_statistics('whole')")
    for how, hits in zip(asked, expected, strict=True):
        assert ask(db, how) == hits, how
    for (was_asked, answer), (_, now) in zip(told, all_asked(db, asked, expected), strict=True):
        assert now == answer, was_asked
    assert sum(len(hits) for hits in expected) > 200


@pytest.fixture
def parts(db: Connection) -> Connection:
    """Three parts with a few documents, counted."""
    make_embedder(db)
    make_parts(db)
    put(db, {"a": "red apple", "b": "green pear"}, "part-0")
    put(db, {"c": "red plum", "d": "red red wine"}, "part-1")
    put(db, {"e": "a green apple tree"}, "part-2")
    embed(db)
    db.execute("select ragdb.optimize_corpus('whole')")
    return db


def dfs(db: Connection) -> list[Any]:
    """What the whole says of each lexeme, and what its parts say together."""
    return db.execute("""
        select l.lexeme, sum(l.df) filter (where c.name = 'whole'),
          sum(l.df) filter (where c.name <> 'whole')
        from ragdb.lexemes l join ragdb.corpora c using (corpus_id) group by 1 order by 1
        """).fetchall()


def test_what_is_not_synced_is_shown_and_changes_no_score(parts: Connection) -> None:
    listed = "select stale_parts from ragdb.list_corpora() where name = 'whole'"
    stale = "select name, is_stale, chunks, chunks_synced from ragdb.list_parts('whole')"
    parts.execute("select ragdb.sync_statistics('whole')")
    before = ask(parts, {"query": "red apple", "mode": "lexical"})
    assert all(whole == summed for _, whole, summed in dfs(parts))
    put(parts, {"f": "red cherry", "g": "red currant"}, "part-2")
    assert one(parts, listed) >= 1
    assert ("part-2", True, 3, 1) in parts.execute(stale).fetchall()
    score = {row[2]: row[3] for row in ask(parts, {"query": "red apple", "mode": "lexical"})}
    assert {row[2]: row[3] for row in before}.items() <= score.items()
    assert "f" in score  # it is found all the same

    counted = parts.execute("select * from ragdb.sync_statistics('whole')").fetchone()
    assert counted is not None
    assert counted[1:] == (7, 3)  # red is in two more, cherry and currant are new
    assert all(whole == summed for _, whole, summed in dfs(parts))
    assert one(parts, "select chunks from ragdb.corpora where name = 'whole'") == 7
    parts.execute("select ragdb.delete_sources('part-1', '{c,d}')")
    parts.execute("select ragdb.repair_corpus('part-2')")
    parts.execute("select ragdb.sync_statistics('whole')")
    assert all((whole or 0) == (summed or 0) for _, whole, summed in dfs(parts))


def test_a_whole_that_counts_its_parts_wrongly_is_found_and_repaired(parts: Connection) -> None:
    check = "select * from ragdb.check_corpus('whole')"
    parts.execute(
        "select ragdb.put_part_statistics('whole', 'elsewhere', 1, 5, 9, '{red}', '{5}', now())"
    )
    before = dfs(parts)
    assert parts.execute(check).fetchall() == []
    # one that was written to since counts as it was then
    put(parts, {"f": "red cherry"}, "part-1")
    assert parts.execute(check).fetchall() == []
    parts.execute("select ragdb.delete_source('part-1', 'f')")
    for damage, name in [
        ("update ragdb.lexemes l set df = df + 1 from ragdb.corpora c"
         " where c.corpus_id = l.corpus_id and c.name = 'whole' and l.lexeme = 'red'",
         "lexemes of all parts with a wrong number of chunks"),
        ("update ragdb.corpora set chunks = 9 where name = 'whole'", "chunks of all parts"),
        ("update ragdb.corpora set lexeme_count = 9 where name = 'whole'", "lexemes of all parts"),
    ]:  # fmt: skip
        parts.execute(damage)
        assert [row[0] for row in parts.execute(check)] == [name]
        parts.execute("select ragdb.repair_corpus('whole')")
        assert parts.execute(check).fetchall() == []
        assert [row for row in dfs(parts) if row[1]] == [row for row in before if row[1]]


def test_what_is_written_in_the_transaction_of_a_sync_is_counted_by_the_next(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        make_embedder(db)
        make_parts(db)
        with db.transaction():
            put(db, {"a": "red"}, "part-0")
            db.execute("select ragdb.sync_statistics('whole')")
            put(db, {"b": "red"}, "part-0")
        assert one(db, "select stale_parts from ragdb.corpus_info('whole')") == 1
        assert db.execute("select * from ragdb.sync_statistics('whole')").fetchone() == (1, 2, 1)
        assert one(db, "select stale_parts from ragdb.corpus_info('whole')") == 0
        assert db.execute("select * from ragdb.sync_statistics('whole')").fetchone() == (0, 2, 0)
        with db.transaction():
            put(db, {"c": "red"}, "part-1")
            db.execute("select ragdb.sync_statistics('whole')")
            db.execute("select ragdb.delete_sources('part-1', '{c}')")
        assert db.execute("select * from ragdb.sync_statistics('whole')").fetchone() == (1, 2, 1)
        db.execute("select ragdb.optimize_corpus('whole')")
        assert one(db, "select stale_parts from ragdb.corpus_info('whole')") == 0


def test_a_word_of_another_part_is_not_taken_for_misspelt(parts: Connection) -> None:
    """Whatever a part is weighed by: plum is a word of the whole, plim and grean are of none."""
    put(parts, {"f": "plim"}, "part-0")
    put(parts, {"g": "wine"}, "part-2")
    parts.execute("select ragdb.sync_statistics('whole')")
    parts.execute("select ragdb.create_corpus('elsewhere')")
    search = "select source from ragdb.search('part-0', %s, mode => 'lexical', statistics => %s)"
    for statistics in (None, "whole", "part-2", "elsewhere"):
        assert parts.execute(search, ("plum", statistics)).fetchall() == []
        assert parts.execute(search, ("plum grean", statistics)).fetchall() == [("b",)]


def test_a_part_that_goes_takes_its_statistics_along(parts: Connection) -> None:
    error = refused(parts, "select ragdb.drop_corpus('whole')")
    assert error.sqlstate == "RG438"
    parts.execute("select ragdb.drop_corpus('part-1')")
    assert all((whole or 0) == (summed or 0) for _, whole, summed in dfs(parts))
    assert one(parts, "select documents from ragdb.corpus_info('whole')") == 3
    for part in ("part-0", "part-2"):
        parts.execute("select ragdb.drop_corpus(%s)", (part,))
    assert dfs(parts) == []
    put(parts, {"a": "red apple"}, "whole")
    assert [row[2] for row in ask(parts, {"query": "apple"})] == ["a"]


CANNOT_BE = (
    "select ragdb.create_corpus('p', part_of => 'part-0')",
    "select ragdb.create_corpus('p', part_of => 'used')",
    "select ragdb.create_corpus('p', part_of => 'past')",
    "select ragdb.create_corpus('p', part_of => 'whole', k1 => 2)",
    "select ragdb.create_corpus('p', part_of => 'whole', text_config => 'german')",
    "select ragdb.create_corpus('p', part_of => 'whole', history => '1 day')",
    "select ragdb.create_corpus('personal', part_of => 'whole')",
    "select ragdb.keep_history('part-0', '1 day')",
    "select ragdb.add_synonyms('part-0', '{red,crimson}')",
    "select ragdb.sync_statistics('part-0')",
    "select ragdb.sync_statistics('used')",
)


def test_what_cannot_be_a_part_is_refused(parts: Connection) -> None:
    parts.execute("select ragdb.create_corpus('used')")
    put(parts, {"a": "red"}, "used")
    parts.execute("select ragdb.create_corpus('past', history => '1 day')")
    assert {s: refused(parts, s).sqlstate for s in CANNOT_BE} == dict.fromkeys(CANNOT_BE, "RG400")


def test_meanings_by_two_embedders_are_not_compared(parts: Connection) -> None:
    make_embedder(parts, "other")
    parts.execute("select ragdb.create_corpus('part-3', part_of => 'whole')")
    parts.execute("select ragdb.embed_corpus('part-3', 'other')")
    put(parts, {"f": "a red sky"}, "part-3")
    error = refused(
        parts,
        "select ragdb.search('whole', 'red', mode => 'semantic', query_embedding => %s)",
        Reals(ENCODER.encode(["red"])),
    )
    assert error.sqlstate == "RG417"
    assert ask(parts, {"query": "red", "mode": "lexical"})


def test_a_part_has_the_rights_of_its_whole_until_it_is_restricted(parts: Connection) -> None:
    parts.execute("select ragdb.grant_corpus('whole', 'reader', 'read')")

    def sees(role: str, corpus: str) -> list[str]:
        parts.execute(f"set local role {role}")
        try:
            with parts.transaction():
                hits = parts.execute(
                    "select corpus from ragdb.search(%s, 'red')", (corpus,)
                ).fetchall()
            return sorted({hit[0] for hit in hits})
        except errors.CorpusNotFound:
            return ["none"]
        except errors.NotAuthorized as error:
            return ["named" if "part-1" in str(error) else "refused"]
        finally:
            parts.execute("reset role")

    assert sees("reader", "whole") == ["part-0", "part-1"]
    assert sees("reader", "part-1") == ["part-1"]
    assert sees("writer", "whole") == sees("writer", "part-1") == ["none"]
    parts.execute("select ragdb.restrict_corpus('part-1')")
    assert sees("reader", "part-1") == ["none"]
    assert sees("reader", "whole") == ["refused"]  # never less than all parts, unseen
    assert sees("reader", "part-0") == ["part-0"]
    ids = [row[0] for row in parts.execute("select chunk_id from ragdb.list_chunks('whole')")]
    parts.execute("set local role reader")
    # what is named is found in the parts that can be read; what counts or ranks takes all
    named = "select source from ragdb.list_chunks('whole', null, %s) order by 1"
    assert [row[0] for row in parts.execute(named, (ids,))] == ["a", "b", "e"]
    assert one(parts, "select title is null from ragdb.get_document('whole', 'a')")
    assert refused(parts, "select ragdb.get_document('whole', 'c')").sqlstate == "RG405"
    for call in ("list_documents('whole')", "did_you_mean('whole', 'aple')"):
        assert refused(parts, f"select ragdb.{call}").sqlstate == "RG401"
    assert parts.execute("select corpus from ragdb.search(null::text, 'red')").fetchall() == [
        ("part-0",)
    ]
    assert [row[0] for row in parts.execute("select name from ragdb.list_parts('whole')")] == [
        "part-0",
        "part-2",
    ]
    assert one(parts, "select documents from ragdb.corpus_info('whole')") == 3


def test_what_lists_say_of_a_whole_stops_at_what_the_role_may_read(parts: Connection) -> None:
    parts.execute("select ragdb.add_synonyms('whole', '{red,crimson}')")
    parts.execute("select ragdb.grant_corpus('part-1', 'writer', 'write')")
    parts.execute("select ragdb.grant_corpus('whole', 'reader', 'read')")
    parts.execute("set local role writer")
    assert one(parts, "select part_of from ragdb.corpus_info('part-1')") is None
    parts.execute("set local role reader")
    assert one(parts, "select part_of from ragdb.corpus_info('part-0')") == "whole"
    assert one(parts, "select count(*) from ragdb.list_synonyms('part-0')") == 2
    spaces = "select corpus from ragdb.embedding_status('whole') order by 1"
    assert parts.execute(spaces).fetchall() == [("part-0",), ("part-2",)]


def test_a_part_lists_the_synonyms_of_its_whole(parts: Connection) -> None:
    parts.execute("select ragdb.add_synonyms('whole', '{car,auto}')")
    listed = "select word from ragdb.list_synonyms('part-0')"
    assert parts.execute(listed).fetchall() == [("auto",), ("car",)]


def test_pages_of_the_whole_pass_over_no_source_that_two_parts_have(parts: Connection) -> None:
    for part in PARTS[:2]:
        put(parts, {"both": "red plum"}, part)
    for call, key in (
        ("list_documents('whole', '', %s, 1)", "source"),
        ("list_chunks('whole', null, null, %s, 1)", "chunk_id"),
    ):
        seen = [""]
        while page := parts.execute(f"select {key} from ragdb.{call}", (seen[-1],)).fetchall():
            seen += [row[0] for row in page]
        assert len(seen) == 1 + 7  # five sources, and one of two parts
        assert len(set(seen)) == 1 + 6


def test_reads_by_the_name_of_the_whole_are_events_of_the_part_too(parts: Connection) -> None:
    parts.execute("select ragdb.record_reads('whole', 'on')")
    parts.execute("select ragdb.create_corpus('part-3', part_of => 'whole')")
    chunk = one(parts, "select chunk_id from ragdb.list_chunks('part-1') limit 1")
    seen = "select corpus from ragdb.list_access_events() where kind = 'read'"
    before = parts.execute(seen).fetchall()
    parts.execute("select ragdb.get_document('whole', 'a')")
    parts.execute("select ragdb.get_chunk('whole', %s)", (chunk,))
    events = Counter(parts.execute(seen).fetchall()) - Counter(before)
    assert events == {("part-0",): 1, ("part-1",): 1, ("whole",): 2}
    parts.execute("select ragdb.search('part-3', 'red')")
    assert "part-3" in {row[0] for row in parts.execute(seen)}


def test_a_retrieval_from_the_whole_is_recorded_and_replayed(parts: Connection) -> None:
    parts.execute("select ragdb.create_signing_key('k')")
    hits = parts.execute(
        "select trace_id, corpus, chunk_id, text from ragdb.retrieve('whole', 'red apple')"
    ).fetchall()
    trace = hits[0][0]
    assert {hit[1] for hit in hits} == set(PARTS)
    assert one(parts, "select corpus from ragdb.get_trace(%s)", trace) == "whole"
    checked = parts.execute("select field, is_intact from ragdb.verify_trace(%s)", (trace,))
    assert all(intact for _, intact in checked)
    replay = "select verdict, cause from ragdb.replay(%s)"
    assert parts.execute(replay, (trace,)).fetchone() == ("exact", None)
    pack = one(parts, "select ragdb.build_evidence_pack(%s)", trace)
    assert [chunk["text"] for chunk in pack["chunks"]] == [hit[3] for hit in hits]
    put(parts, {"f": "red red apple"}, "part-2")
    assert parts.execute(replay, (trace,)).fetchone() == ("drifted", "corpus_changed")
    assert errors_of(parts) == []
