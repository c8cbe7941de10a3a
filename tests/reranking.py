"""What tests of reranking share: a small CrossEncoder on disk, real but for its size."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

LENGTH = 48


def make_cross_encoder(
    folder: Path, texts: Iterable[str], *, seed: int = 0, labels: int = 1
) -> Path:
    """A BERT of two layers with random weights that knows the words of some texts."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    words = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower())})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
        num_labels=labels,
        initializer_range=0.4,
    )
    torch.manual_seed(seed)
    model: Any = BertForSequenceClassification(config)
    model.save_pretrained(folder)
    tokenizer: Any = BertTokenizer(str(folder / "vocab.txt"), model_max_length=LENGTH)
    tokenizer.save_pretrained(folder)
    return folder


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def predicted(folder: Path, query: str, passages: Sequence[str]) -> list[float]:
    """What sentence-transformers says itself."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), max_length=LENGTH, local_files_only=True)
    pairs = [(query, passage) for passage in passages]
    return [float(score) for score in model.predict(pairs, show_progress_bar=False)]
