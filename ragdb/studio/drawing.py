"""The graph of a slice as points and lines: earlier to the left of the anchor, later to the right.

A column is a distance from the anchor, as the policy counts it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

STEP, ROW, MARGIN = 92.0, 46.0, 40.0
# a chunk that no edge joins to the anchor any more stands behind the others
LOOSE = 1


@dataclass(frozen=True)
class Point:
    node: Any
    x: float
    y: float
    kind: str
    label: str


@dataclass(frozen=True)
class Line:
    path: str
    kind: str
    is_admitted: bool


@dataclass(frozen=True)
class Drawing:
    points: list[Point]
    lines: list[Line]
    borders: list[float]
    width: float
    height: float


def draw(nodes: Sequence[Any], radius: int, changes: dict[str, str]) -> Drawing:
    """Points for the rows of `ragdb.slice_graph`; changes has entered or left by chunk."""
    joined: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for node in nodes:
        for parent in node.parents:
            joined[node.chunk_id].append((parent, -1))
            joined[parent].append((node.chunk_id, 1))
    column = _columns(nodes, joined)
    rows = _rows(nodes, column, joined)
    low, high = min(column.values()), max(column.values())
    top, bottom = min(rows.values()), max(rows.values())
    places = {
        id: (MARGIN + STEP * (column[id] - low), MARGIN + ROW * (rows[id] - top)) for id in column
    }
    points = [_point(node, *places[node.chunk_id], changes) for node in nodes]
    admitted = {node.chunk_id for node in nodes if node.is_admitted}
    lines = [
        Line(
            _curve(places[parent], places[node.chunk_id]),
            kind,
            parent in admitted and node.chunk_id in admitted,
        )
        for node in nodes
        for parent, kind in zip(node.parents, node.edge_types, strict=True)
    ]
    borders = [
        MARGIN + STEP * (side * (radius + 0.5) - low)
        for side in (-1, 1)
        if low < side * (radius + 0.5) < high
    ]
    width, height = STEP * (high - low), ROW * (bottom - top)
    return Drawing(points, lines, borders, width + 2 * MARGIN, height + 2 * MARGIN)


def _columns(nodes: Sequence[Any], joined: dict[str, list[tuple[str, int]]]) -> dict[str, int]:
    farthest = max((n.distance for n in nodes if n.distance is not None), default=0)
    distance = {
        n.chunk_id: n.distance if n.distance is not None else farthest + LOOSE for n in nodes
    }
    side = {nodes[0].chunk_id: 0}
    left = sorted((id for id in distance if id not in side), key=lambda one: distance[one])
    while left:
        # a sibling may be nearer than the parent that joins it to the others
        id = next((one for one in left if any(o in side for o, _ in joined[one])), left[0])
        left.remove(id)
        near = [(distance[o], o, way) for o, way in joined[id] if o in side]
        _, other, way = min(near, default=(0, nodes[0].chunk_id, -1))
        # what leads to the anchor is before it; the rest is where its neighbour is
        side[id] = side[other] or -way
    return {id: side[id] * distance[id] for id in distance}


def _rows(
    nodes: Sequence[Any], column: dict[str, int], joined: dict[str, list[tuple[str, int]]]
) -> dict[str, float]:
    """Each near the middle of what it is joined to nearer the anchor, and none on another."""
    order = {node.chunk_id: n for n, node in enumerate(nodes)}
    columns: dict[int, list[str]] = defaultdict(list)
    for id, at in column.items():
        columns[at].append(id)
    rows: dict[str, float] = {}
    for at in sorted(columns, key=abs):
        wanted = {
            id: fmean([rows[o] for o, _ in joined[id] if o in rows] or [0.0]) for id in columns[at]
        }
        ids = sorted(columns[at], key=lambda id: (wanted[id], order[id]))
        placed: list[float] = []
        for id in ids:
            placed.append(max(wanted[id], placed[-1] + 1) if placed else wanted[id])
        shift = fmean(placed) - fmean(wanted.values())
        rows.update(zip(ids, (row - shift for row in placed), strict=True))
    return rows


def _point(node: Any, x: float, y: float, changes: dict[str, str]) -> Point:
    if node.is_admitted:
        kind = "anchor" if node.place == 1 else "admitted"
    else:
        kind = f"refused {node.reason}"
    change = changes.get(node.chunk_id, "")
    label = str(node.place) if node.is_admitted else node.reason[0]
    return Point(node, round(x, 1), round(y, 1), f"{kind} {change}".strip(), label)


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    if x1 == x2:  # siblings: around what stands between them
        bend = x1 - STEP / 3
        return f"M{x1:.1f} {y1:.1f}C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    middle = (x1 + x2) / 2
    return f"M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
