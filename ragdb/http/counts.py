"""How many requests a process has served, and how long they took."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

BOUNDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # seconds
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
Key = tuple[str, str, str]


class Durations:
    """A histogram of seconds."""

    def __init__(self) -> None:
        self.within = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    @property
    def count(self) -> int:
        return sum(self.within)

    def add(self, seconds: float) -> None:
        place = next((n for n, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self.within[place] += 1
        self.seconds += seconds

    def buckets(self) -> Iterator[tuple[dict[str, str], float]]:
        """Each label `le` with the requests that took no longer."""
        bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
        for bound, count in zip(bounds, accumulate(self.within), strict=True):
            yield {"le": bound}, float(count)


class Requests(dict[Key, Durations]):
    """Durations by method, route and status: as many as there are routes, whatever is asked."""

    def add(self, method: str, route: str | None, status: int, seconds: float) -> None:
        key = (method if method in METHODS else "other", route or "none", str(status))
        self.setdefault(key, Durations()).add(seconds)
