"""What `ragdb serve` is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Revive = Callable[[], object]


@dataclass(frozen=True)
class Config:
    """The flags of `ragdb serve`."""

    conninfo: str
    revive: Revive | None = None
    """Called before each connection to the primary; it may start the server again."""
    corpus: str | None = None
    anonymous_role: str | None = None
    pool: int = 8
    timeout: float = 30
    """Seconds that a statement may take; a capability has its own limit."""
    wait: float = 2
    """Seconds that a request waits for a worker."""
    max_body: int = 4 * 2**20
    max_blob: int = 64 * 2**20
    max_requests: int = 64
    stall: float = 20
    """Seconds that a body may pause."""
    hosts: tuple[str, ...] = ()
    """Names of this server beside localhost; an address is always right."""
    metrics: bool = False
    """Whether /metrics is served."""
    model: Any = None
    """The task that answers questions; None has the sentences of the evidence do it."""
    ask_peers: bool = False
    """Whether rag.query also asks the peers that have the corpus."""
    allow_private_peers: bool = False
    otlp: str | None = None
    """Where spans are sent, such as http://127.0.0.1:4318; None sends nothing."""
    otlp_query_text: bool = False
    read_dsns: tuple[str, ...] = ()
    """Standbys that answer searches."""
    max_lag: float = 5
    """Seconds that a standby may be behind; infinity takes any."""
