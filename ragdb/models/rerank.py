"""Models that read a query beside each hit and order them anew; torch loads when one is needed."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from ragdb.client._generated.rows import Hit, Rerankers, TracedHit, TurnHit
from ragdb.client.counting import counted
from ragdb.client.results import Rows
from ragdb.errors import (
    EmbedderMismatch,
    EmbedderNotFound,
    InvalidRerank,
    RerankerMismatch,
    RerankerNotFound,
)
from ragdb.models import local

if TYPE_CHECKING:
    from ragdb.client.client import Client

CLASSES = ("ForSequenceClassification", "ForCausalLM")
"""How the architecture of a model that scores a pair ends; another's head would be made up."""

LONGEST = 512
"""Tokens that are read where a model does not say how many it can."""


class Reranker(Protocol):
    """Scores a query beside each of some passages; `name` is the one it is bound by."""

    name: str

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """One finite number a passage, in their order; higher is better."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class RerankedHit(Hit):
    """A hit with `rank` as the reranker puts it; `score` and its legs are the retrieval's."""

    rerank_score: float
    retrieval_rank: int
    trace_id: UUID | None


@dataclass(frozen=True, slots=True, repr=False)
class RerankedTurn(TurnHit):
    """A hit of a retrieval under a slice, in the same way."""

    rerank_score: float
    retrieval_rank: int


AnyHit = Hit | TracedHit | TurnHit
Reranked = RerankedHit | RerankedTurn


class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder: a folder, or a name on the hub.

    Its model.safetensors is compared with `weights_sha256` before anything is loaded from it. Of
    query and passage together it reads `max_tokens`: the longer of the two is cut first. Scores are
    the model's, through the activation that it is configured with, in batches of like length: the
    same pairs give the same scores on one machine; another CPU or a GPU may differ in the last
    digits, and so may a pair among others.
    """

    def __init__(
        self, name: str, source: str, revision: str | None, weights_sha256: str, max_tokens: int
    ) -> None:
        self.name = name
        folder = _folder(source, revision)
        try:
            local.check_weights(folder, weights_sha256)
        except EmbedderNotFound as error:
            raise RerankerNotFound(str(error)) from None
        except EmbedderMismatch as error:
            raise RerankerMismatch(str(error)) from None
        limit = _limit(folder)
        if max_tokens > limit:
            raise RerankerMismatch(
                f"model {folder.name!r} reads {counted(limit, 'token')}, and {max_tokens} were"
                " bound"
            )
        self.model = local.loaded("CrossEncoder", folder, RerankerNotFound, max_length=max_tokens)
        if self.model.num_labels != 1:
            raise RerankerMismatch(
                f"model {folder.name!r} gives each pair {self.model.num_labels} numbers, not one"
            )

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        pairs = [(query, passage) for passage in passages]
        try:
            scores: Any = self.model.predict(pairs, batch_size=32, show_progress_bar=False)
        except Exception as error:
            raise InvalidRerank(f"reranker {self.name!r} fails ({type(error).__name__})") from error
        return [float(score) for score in scores]


def _folder(source: str, revision: str | None) -> Path:
    if source == local.PACKAGED:
        raise RerankerNotFound("ragdb contains no reranker: bind a folder or a name on the hub")
    try:
        return local.model_folder(source, revision)
    except EmbedderNotFound as error:
        raise RerankerNotFound(str(error)) from error


def _limit(folder: Path) -> int:
    """Tokens that a model of pairs can read. Raises RerankerMismatch for another model."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kinds = config.get("architectures") or ["nothing"]
    except (OSError, ValueError, AttributeError):
        raise RerankerMismatch(f"model {folder.name!r} has no config.json") from None
    if not str(kinds[0]).endswith(CLASSES):
        raise RerankerMismatch(
            f"model {folder.name!r} is a {kinds[0]}, which cannot score a query with a passage"
        )
    return int(config.get("max_position_embeddings") or LONGEST)


@dataclass(frozen=True, slots=True)
class Described:
    """What `ragdb reranker bind` finds out about a model."""

    source: str
    weights_sha256: str
    max_tokens: int


def describe(source: str, revision: str | None = None) -> Described:
    """The digest and the length of a model, which is downloaded where it is a name on the hub.

    Raises RerankerNotFound, RerankerMismatch.
    """
    folder = _folder(source, revision)
    limit = _limit(folder)
    try:
        digest = local.weights_digest(folder)
    except EmbedderNotFound as error:
        raise RerankerNotFound(str(error)) from None
    place = str(folder.resolve()) if Path(source).is_dir() else source
    return Described(place, digest, min(limit, LONGEST))


_load = functools.lru_cache(2)(CrossEncoderReranker)


def load(row: Rerankers) -> Reranker:
    """The model of a row of `ragdb.list_rerankers()`, kept for the process.

    Raises RerankerNotFound, RerankerMismatch.
    """
    return _load(row.name, row.source, row.revision, row.weights_sha256, row.max_tokens)


def named(rows: Sequence[Rerankers], name: str) -> Rerankers:
    """The row of a name, of `ragdb.list_rerankers()`. Raises RerankerNotFound."""
    for row in rows:
        if row.name == name:
            return row
    known = ", ".join(row.name for row in rows) or "none"
    raise RerankerNotFound(
        f"reranker {name[:80]!r} does not exist (there is {known}):"
        " create it with ragdb reranker bind NAME --source FOLDER"
    )


def passage(hit: AnyHit) -> str:
    """What a chunk is scored by: `ragdb_internal.searched_text`, which it is embedded by too."""
    parts = [hit.title, "\n".join(part for part in hit.heading if part is not None)]
    return "\n".join([*filter(None, parts), hit.text])


def score(reranker: Reranker, query: str, passages: Sequence[str]) -> list[float]:
    """A finite score for each passage. Raises InvalidRerank."""
    if not passages:
        return []
    scores = [float(number) for number in reranker.score(query, passages)]
    if len(scores) != len(passages):
        raise InvalidRerank(
            f"reranker {reranker.name!r} gave {len(scores)} scores for {len(passages)} passages"
        )
    for number in scores:
        if not math.isfinite(number):
            raise InvalidRerank(f"reranker {reranker.name!r} gave the score {number}")
    return scores


def rerank(
    db: Client,
    query: str,
    hits: Sequence[AnyHit],
    reranker: str | Reranker,
    k: int | None = None,
) -> list[Reranked]:
    """The `k` hits that score highest, equal ones in their order before; see `Database.rerank`."""
    trace_id = _trace_of(hits, k)
    if not hits:
        return []
    model = load(named(db.list_rerankers(), reranker)) if isinstance(reranker, str) else reranker
    scores = score(model, query, [passage(hit) for hit in hits])
    if trace_id is not None:
        db.record_rerank(trace_id, model.name, [hit.chunk_id for hit in hits], scores, k)
    # sorting leaves equal ones in their order
    best = sorted(zip(scores, hits, strict=True), key=lambda pair: -pair[0])[:k]
    found = [_reranked(hit, number, rank) for rank, (number, hit) in enumerate(best, 1)]
    kind: Any = type(found[0]) if found else RerankedHit
    return Rows(found, kind)


def _trace_of(hits: Sequence[AnyHit], k: int | None) -> UUID | None:
    """The one trace of some hits; None where they were not recorded."""
    if k is not None and k < 1:
        raise ValueError(f"k is {k}, not 1 or more")
    if isinstance(hits, str):
        raise TypeError(f"rerank() was given {hits[:80]!r} for 'hits': give a list")
    traces = {None if isinstance(hit, Hit) else hit.trace_id for hit in hits}
    if len(traces) > 1:
        raise ValueError("the hits come from several retrievals")
    return next(iter(traces), None)


def _reranked(hit: AnyHit, score: float, rank: int) -> Reranked:
    kind: Any = TurnHit if isinstance(hit, TurnHit) else Hit
    values = {field.name: getattr(hit, field.name) for field in fields(kind)}
    values |= {"rank": rank, "retrieval_rank": hit.rank, "rerank_score": score}
    if kind is TurnHit:
        return RerankedTurn(**values)
    return RerankedHit(**values, trace_id=hit.trace_id if isinstance(hit, TracedHit) else None)


def for_eval(
    db: Client, rag: str, eval: str | None, tags: list[str] | None
) -> dict[str, dict[str, float]]:
    """What `ragdb.run_eval` needs of a reranker, as its rerank_scores; empty without one."""
    asked: dict[str, dict[str, str]] = {}
    name = None
    for row in db.eval_candidates(rag, eval, tags):
        name = row.reranker
        asked.setdefault(row.query, {})[row.chunk_id] = row.passage
    if name is None:
        return {}
    model = load(named(db.list_rerankers(), name))
    return {
        query: dict(zip(of, score(model, query, list(of.values())), strict=True))
        for query, of in asked.items()
    }
