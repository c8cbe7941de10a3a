"""Rows of removal. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class DeleteDocumentRow(Row):
    """A row of `delete_document`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True, repr=False)
class DeleteSourceRow(Row):
    """A row of `delete_source`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True, repr=False)
class DeleteSourcesRow(Row):
    """A row of `delete_sources`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True, repr=False)
class PruneSourcesRow(Row):
    """A row of `prune_sources`."""

    documents_deleted: int
    chunks_deleted: int
