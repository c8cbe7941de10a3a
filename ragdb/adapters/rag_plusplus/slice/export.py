"""What a Graph Kernel hands out: a slice, and the reference of its policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

FIELDS = (
    "slice_id", "anchor_turn_id", "turn_ids", "edge_count", "policy_id", "policy_params_hash",
    "schema_version", "graph_snapshot_hash", "admissibility_token",
)  # fmt: skip


@dataclass(frozen=True)
class PolicyRef:
    """A registered slice policy: its id, and the 16 hex digits that its parameters hash to."""

    policy_id: str
    params_hash: str


@dataclass
class SliceExport:
    """The turns that a policy admits around an anchor, with fingerprints and token."""

    slice_id: str
    anchor_turn_id: str
    turn_ids: list[str]
    edge_count: int
    policy_id: str
    policy_params_hash: str
    schema_version: str
    graph_snapshot_hash: str = ""
    admissibility_token: str = ""
    _turn_id_set: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._turn_id_set = frozenset(self.turn_ids)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> SliceExport:
        """The slice of an answer of ``/api/slice``."""
        return cls(**{name: given[name] for name in FIELDS if name in given})

    @property
    def policy_ref(self) -> PolicyRef:
        return PolicyRef(self.policy_id, self.policy_params_hash)

    def is_admissible(self, turn_id: str) -> bool:
        """Whether a turn is in this slice."""
        return turn_id in self._turn_id_set

    is_turn_admissible = is_admissible


class SliceBatch(list[SliceExport]):
    """The slices of a batch; ``errors`` says of each anchor that has none why."""

    def __init__(self, slices: Iterable[SliceExport], errors: Mapping[str, str]) -> None:
        super().__init__(slices)
        self.errors = dict(errors)
