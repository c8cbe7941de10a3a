"""Rows of text. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class GuessLanguagesRow(Row):
    """A row of `guess_languages`."""

    position: int
    language: str | None
    text_config: str


@dataclass(frozen=True, slots=True, repr=False)
class ListTextConfigsRow(Row):
    """A row of `list_text_configs`."""

    text_config: str
    language: str | None
