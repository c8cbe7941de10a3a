"""Shared by tests of reranking: a small but real CrossEncoder on disk."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

LENGTH = 48
STEPS = 150


def make_cross_encoder(folder: Path, texts: Iterable[str], *, labels: int = 1) -> Path:
    """A BERT of two layers with random weights that knows the words of some texts."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    words = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower())})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    kind: Any = BertConfig
    config = kind(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
        num_labels=labels,
        initializer_range=0.4,
    )
    torch.manual_seed(0)
    model: Any = BertForSequenceClassification(config)
    model.save_pretrained(folder)
    tokenizer: Any = BertTokenizer(str(folder / "vocab.txt"), model_max_length=LENGTH)
    tokenizer.save_pretrained(folder)
    return folder


def train(folder: Path, pairs: Sequence[tuple[str, str]], noise: Sequence[str]) -> None:
    """Teach a model, in seconds, which word of a passage means what the query asks."""
    import torch
    from transformers import BertForSequenceClassification, BertTokenizer

    tokenizer: Any = BertTokenizer(str(folder / "vocab.txt"), model_max_length=LENGTH)
    model: Any = BertForSequenceClassification.from_pretrained(folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a model is slower on more
    torch.manual_seed(1)
    chance = random.Random(1)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.15)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=STEPS)
    for _ in range(STEPS):
        queries, passages, wanted = [], [], []
        for _ in range(64):
            asked = said = chance.randrange(len(pairs))
            if chance.random() < 0.5:
                said = chance.randrange(len(pairs))
            words = [pairs[said][1]] * chance.choice((1, 2)) + chance.sample(list(noise), 2)
            chance.shuffle(words)
            queries.append(f"{chance.choice(noise)} {pairs[asked][0]}")
            passages.append(" ".join(words))
            wanted.append(float(asked == said))
        batch = tokenizer(queries, passages, padding=True, return_tensors="pt")
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            model(**batch).logits[:, 0], torch.tensor(wanted)
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    torch.set_num_threads(threads)
    model.save_pretrained(folder)


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def predicted(folder: Path, query: str, passages: Sequence[str]) -> list[float]:
    """What sentence-transformers says itself."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), max_length=LENGTH, local_files_only=True)
    pairs = [(query, passage) for passage in passages]
    return [float(score) for score in model.predict(pairs, show_progress_bar=False)]
