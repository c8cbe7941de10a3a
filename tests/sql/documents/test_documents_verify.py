"""Damage to a corpus is found, and what can be is repaired."""

from __future__ import annotations

from tests.conftest import Connection
from tests.documents import document
from tests.refusal import refused
from tests.sql.documents_twin import faults, put


def test_damage_is_found_and_repaired(docs: Connection) -> None:
    put(docs, document("a.md", ["one two", "three"]), document("b.md", ["four"]))
    assert faults(docs) == []
    for damage, name in [
        ("update ragdb.corpora set documents = 7", "documents"),
        ("update ragdb.corpora set chunks = 7", "chunks"),
        ("update ragdb.corpora set token_count = 7", "tokens"),
        ("update ragdb.corpora set size_bytes = 7", "size_bytes"),
        ("update ragdb.corpora set lexeme_count = 7", "lexemes"),
        ('update ragdb.corpora set languages = \'{"en": 2, "de": 1}\'', "languages with a wrong"),
        ("update ragdb.lexemes set df = df + 1 where lexeme = 'four'", "lexemes with a wrong"),
        ("update ragdb.lexemes set max_impact = max_impact / 2", "lexemes with an impact above"),
        ("update ragdb.corpora set next_doc_no = 2", "next_doc_no"),
        ("update ragdb.corpora set next_chunk_no = 2", "next_chunk_no"),
        ("update ragdb.corpora set next_term_id = 2", "next_term_id"),
        ("delete from ragdb.chunk_lexemes where chunk_no = 1", "chunks that are not indexed"),
        (
            "update ragdb.lexemes set lexeme = 'five' where lexeme = 'four'",
            "chunks that are indexed by",
        ),
    ]:
        docs.execute(damage)
        assert any(row[0].startswith(name) for row in faults(docs)), damage
        docs.execute("select ragdb.repair_corpus('docs')")
        assert faults(docs) == [], damage
    for damage, name in [
        (
            "update ragdb.chunks set text = 'x', content_hash = sha256('x') where chunk_no = 1",
            "chunks whose id",
        ),
        (
            "alter table ragdb.chunks drop constraint chunks_content_hash_is_of_the_text;"
            " update ragdb.chunks set text = 'y' where chunk_no = 1",
            "chunks whose content_hash",
        ),
        ("update ragdb.chunks set chunk_id = 'x' where chunk_no = 2", "chunks whose id"),
        ("update ragdb.documents set chunks = 9 where doc_no = 2", "documents whose chunks"),
        ("update ragdb.document_sources set uri = 'x' where doc_no = 2", "documents not named"),
        ("delete from ragdb.chunks where chunk_no = 2", "index rows without a chunk"),
    ]:
        docs.execute(damage)
        assert any(row[0].startswith(name) for row in faults(docs)), damage


def test_a_check_without_a_depth_is_refused(docs: Connection) -> None:
    assert refused(docs, "select ragdb.check_corpus('docs', null)").sqlstate == "RG400"
