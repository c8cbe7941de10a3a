"""Rows of cluster. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ClusterCorporaRow(Row):
    """A row of `cluster_corpora`."""

    corpus: str
    node: int


@dataclass(frozen=True, slots=True, repr=False)
class ClusterRoutesRow(Row):
    """A row of `cluster_routes`."""

    function: str
    route: str
    detail: str


@dataclass(frozen=True, slots=True, repr=False)
class ClusterStatusRow(Row):
    """A row of `cluster_status`."""

    node: int
    host: str
    port: int
    is_up: bool
    is_isolated: bool
    corpora: int
    problem: str
