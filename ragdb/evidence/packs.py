"""Packs of evidence: chunks as one text.

`ragdb.build_evidence_pack` does the same for the chunks of the database; a pack of the same chunks
has the same bytes in both.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragdb.evidence.retrieval import RetrievedChunk
from ragdb.evidence.tasks import Unit

TRUNCATED = "\n[truncated]"

OWN = frozenset({"source_id", "chunk_id", "text", "score", "n", "is_cut", "reason"})
"""What a pack says of a chunk, or of one that it left out, beside its metadata."""

INVISIBLE = (
    "\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)

UNSAFE = re.compile(f"[\\\\\u0001-\u0020{INVISIBLE}]")
LINE = "\n\v\f\u0085\u2028\u2029"
BLANK = "\u00a0\u00ad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u2064\u3000\ufeff"

IMITATION = re.compile(
    f"(^|[{LINE}])([ \t{BLANK}]*)(?=[#\uff03]{{2}}[^{LINE}]*(?:source|chunk)_id|\\[truncated\\])",
    re.I | re.A,
)

TRAILING = re.compile(
    "[ \t\v\f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+(?=\n|\\Z)|\n+\\Z"
)


@dataclass(frozen=True, slots=True)
class PackedChunk:
    """A chunk of a pack: its number in the text, and whether only its beginning is in it."""

    n: int
    chunk: RetrievedChunk
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class EvidencePack:
    """Chunks as one text. `hash` is the first 16 hex digits of the text's `sha256`."""

    corpus_id: str
    canonical_text: str
    chunks: tuple[PackedChunk, ...]
    omitted: tuple[RetrievedChunk, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.canonical_text.encode()).hexdigest()

    @property
    def hash(self) -> str:
        return self.sha256[:16]

    def as_input(self, question: str | None = None) -> dict[str, Any]:
        """The input of a task that answers from evidence: `ragdb.evidence_pack_to_input`."""
        return {
            "question": question,
            "evidence": {
                "corpus_id": self.corpus_id,
                "hash": self.hash,
                "chunks": [
                    {
                        "source_id": packed.chunk.source_id,
                        "chunk_id": packed.chunk.chunk_id,
                        "text": evidence_text(packed.chunk.text),
                    }
                    for packed in self.chunks
                ],
                "omitted": len(self.omitted),
            },
        }

    def as_json(self) -> dict[str, Any]:
        """The pack as `ragdb.build_evidence_pack` returns it."""
        return {
            "corpus": self.corpus_id,
            "canonical_text": self.canonical_text,
            "hash": self.hash,
            "sha256": self.sha256,
            "chunks": [
                {**packed.chunk.as_json(), "n": packed.n, "is_cut": packed.is_cut}
                for packed in self.chunks
            ],
            "omitted": [
                {"source_id": chunk.source_id, "chunk_id": chunk.chunk_id, "reason": "budget"}
                for chunk in self.omitted
            ],
        }


def evidence_text(text: str) -> str:
    """The text of a chunk as it stands in a pack: the twin of `ragdb_internal.evidence_text`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = unicodedata.normalize("NFC", text)
    text = IMITATION.sub(r"\1\2\\", text)
    return TRAILING.sub("", text)


def evidence_field(value: str) -> str:
    """An id as it stands in the first line of a block."""
    return UNSAFE.sub(lambda c: "\\\\" if c[0] == "\\" else f"\\u{ord(c[0]):04x}", value)


def build_evidence_pack(
    chunks: Sequence[RetrievedChunk],
    corpus_id: str,
    *,
    max_context: int | None = None,
    unit: Unit = "token",
) -> EvidencePack:
    """Pack chunks, best first, into `max_context` tokens (of four characters) or characters.

    The chunk that no longer fits whole is cut, and all after it are omitted.
    """
    limit = None if max_context is None else max_context * (4 if unit == "token" else 1)
    canonical = "corpus " + evidence_field(corpus_id)
    if limit is not None and len(canonical) > limit:
        raise ValueError(f"max_context is {max_context}: the name of the corpus does not fit")
    packed: list[PackedChunk] = []
    omitted: list[RetrievedChunk] = []
    for chunk in chunks:
        if omitted or (packed and packed[-1].is_cut):
            omitted.append(chunk)
            continue
        number = len(packed) + 1
        head = (
            f"\n\n### {number} source_id={evidence_field(chunk.source_id)}"
            f" chunk_id={evidence_field(chunk.chunk_id)}"
        )
        text = ("\n" + evidence_text(chunk.text)).rstrip("\n")
        if limit is None or len(canonical) + len(head) + len(text) <= limit:
            canonical += head + text
            packed.append(PackedChunk(number, chunk))
            continue
        cut = _cut(chunk.text, limit - len(canonical) - len(head) - 1 - len(TRUNCATED))
        if cut:
            canonical += f"{head}\n{evidence_text(cut)}{TRUNCATED}"
            packed.append(PackedChunk(number, _with_text(chunk, cut), is_cut=True))
        else:
            omitted.append(chunk)
    return EvidencePack(corpus_id, canonical, tuple(packed), tuple(omitted))


def given_pack(made: Mapping[str, Any], chunks: Iterable[RetrievedChunk]) -> EvidencePack:
    """A pack that the database made of these chunks, and of replies to the questions in them."""
    known = {(chunk.source_id, chunk.chunk_id): chunk for chunk in reversed([*chunks])}

    def chunk(item: Mapping[str, Any]) -> RetrievedChunk:
        given = known.get((item["source_id"], item["chunk_id"]))
        if given is not None:
            return given
        rest = {key: value for key, value in item.items() if key not in OWN}
        name = item["source_id"], item["chunk_id"]
        return RetrievedChunk(*name, item.get("text", ""), item.get("score") or 0.0, rest)

    return EvidencePack(
        made["corpus"],
        made["canonical_text"],
        tuple(
            PackedChunk(item["n"], _with_text(chunk(item), item["text"]), item["is_cut"])
            for item in made["chunks"]
        ),
        tuple(map(chunk, made["omitted"])),
    )


def _with_text(chunk: RetrievedChunk, text: str) -> RetrievedChunk:
    return RetrievedChunk(chunk.source_id, chunk.chunk_id, text, chunk.score, chunk.metadata)


def _cut(text: str, room: int) -> str:
    """The beginning of a text that as evidence is at most `room` characters; empty for none."""
    length = room
    while length > 0:
        over = len(evidence_text(text[:length])) - room
        if over <= 0:
            return text[:length] if evidence_text(text[:length]) else ""
        length -= over
    return ""
