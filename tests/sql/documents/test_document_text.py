"""The text of a document, put together from its chunks."""

from __future__ import annotations

from tests.conftest import Connection


def test_the_text_of_a_document_has_each_character_once(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    text = "\n\n".join(
        f"Paragraph {n}. " + " ".join(f"w{n}x{m}" for m in range(40)) for n in range(30)
    )
    put = "select * from ragdb.put_text('docs', 'd.txt', %s, max_tokens => 60, overlap => 20)"
    db.execute(put, (text,))
    row = db.execute(
        "select ragdb.document_text('docs', d.doc_cid), d.chunks"
        " from ragdb.list_documents('docs') d"
    ).fetchone()
    assert row is not None
    assert row[1] > 10
    assert row[0].split() == text.split()
