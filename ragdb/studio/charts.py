"""Charts as SVG: columns, lines with their gaps, sparklines, intervals. No script draws them.

A plot is stretched to the width it gets, so words stand beside it as HTML. What a chart says in
shapes its label says in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

HIGH = 100.0
Value = float | None


@dataclass(frozen=True)
class Series:
    """Numbers in the order of time; None where there is nothing to say. `ink` is a class of CSS."""

    name: str
    ink: str
    values: Sequence[Value]

    @property
    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]


def columns(series: Sequence[Series], names: Sequence[str], unit: str = "") -> Markup:
    """Columns stacked from the first series up, each with its name and numbers as a tooltip."""
    totals = [
        sum(value or 0 for value in at) for at in zip(*(s.values for s in series), strict=True)
    ]
    top = max(totals, default=0) or 1
    drawn = []
    for place, total in enumerate(totals):
        floor, parts = HIGH, []
        for one in series:
            height = HIGH * (one.values[place] or 0) / top
            if height:
                floor -= height
                parts.append(_rect(place + 0.12, floor, 0.76, height, one.ink))
        said = ", ".join(f"{s.name} {shown(s.values[place])}{unit}" for s in series)
        told = said if total else "nothing"
        # what is under the pointer is the whole height, also where there is no column
        parts.append(_rect(place, 0, 1, HIGH, "touch", f"{names[place]}: {told}"))
        if not total:
            parts.append(_rect(place + 0.12, HIGH - 1.2, 0.76, 1.2, "gap"))
        drawn.append(Markup("").join(parts))
    label = "; ".join(f"{s.name} {shown(sum(s.known))}{unit} in all" for s in series)
    return _plot(drawn, max(1, len(totals)), label)


def lines(series: Sequence[Series], names: Sequence[str], unit: str, top: Value = None) -> Markup:
    """Lines that break where nothing is known, over bands that mark those places."""
    count = len(names)
    known = [value for one in series for value in one.known]
    top = top or max(known, default=0) or 1
    drawn = [
        _rect(first, 0, last - first, HIGH, "hole", f"{names[first]} to {names[last - 1]}: nothing")
        for first, last in _holes([any(v is not None for v in at) for at in _across(series)])
    ]
    for one in series:
        drawn.extend(_stretch(points, one.ink) for points in _runs(one.values, top))
    for place in range(count):
        values = [one.values[place] for one in series]
        if any(value is not None for value in values):
            said = ", ".join(
                f"{s.name} {shown(v)}{unit}" for s, v in zip(series, values, strict=True)
            )
            drawn.append(_rect(place, 0, 1, HIGH, "touch", f"{names[place]}: {said}"))
    label = "; ".join(
        f"{s.name} from {shown(min(s.known))} to {shown(max(s.known))}{unit}"
        for s in series
        if s.known
    )
    return _plot(drawn, max(1, count), label or "nothing known")


def spark(values: Sequence[Value], label: str, ink: str = "first", top: float = 1) -> Markup:
    """A small line without axes, 0 to `top`, with its last value as a dot."""
    drawn = [_stretch(points, ink) for points in _runs(values, top)]
    if values and values[-1] is not None:
        x, y = len(values) - 0.5, _height(values[-1], top)
        drawn.append(_line([(x, y), (x, y)], f"{ink} dot"))
    return _plot(drawn, max(1, len(values)), label, "spark")


def interval(low: Value, mean: Value, high: Value, most: float, label: str) -> Markup:
    """A difference with its interval, around a zero in the middle."""
    drawn = [_line([(50, 0), (50, HIGH)], "zero")]

    def place(value: float) -> float:
        return 50 + 48 * max(-1.0, min(1.0, value / (most or 1)))

    if low is not None and high is not None:
        drawn.append(_line([(place(low), 50), (place(high), 50)], "span"))
    if mean is not None:
        ink = "good" if mean > 0 else "bad" if mean < 0 else "zero"
        drawn.append(_line([(place(mean), 50), (place(mean), 50)], f"{ink} dot"))
    return _plot(drawn, 100, label, "interval")


def shown(value: Value) -> str:
    """A number as short as it is still told from its neighbours."""
    if value is None:
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _runs(values: Sequence[Value], top: float) -> Iterable[list[tuple[float, float]]]:
    """The stretches without a gap."""
    points: list[tuple[float, float]] = []
    for place, value in enumerate([*values, None]):
        if value is not None:
            points.append((place + 0.5, _height(value, top)))
        elif points:
            yield points
            points = []


def _across(series: Sequence[Series]) -> list[tuple[Value, ...]]:
    """The values of all series at each time."""
    return list(zip(*(one.values for one in series), strict=True))


def _holes(known: Sequence[bool]) -> Iterable[tuple[int, int]]:
    """Where nothing is known: the first place, and the one after the last."""
    at = 0
    for is_known, places in groupby(known):
        count = len(list(places))
        if not is_known:
            yield at, at + count
        at += count


def _stretch(points: list[tuple[float, float]], ink: str) -> Markup:
    """A line; a point alone is a dot."""
    return _line(points, ink) if len(points) > 1 else _line(points * 2, f"{ink} dot")


def _height(value: float, top: float) -> float:
    return HIGH - (HIGH - 6) * min(1.0, max(0.0, value / top)) - 3


def _line(points: Sequence[tuple[float, float]], ink: str) -> Markup:
    path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return Markup('<polyline class="{}" points="{}"/>').format(ink, path)


def _rect(x: float, y: float, width: float, height: float, ink: str, title: str = "") -> Markup:
    told = Markup("<title>{}</title>").format(title) if title else Markup("")
    return (
        Markup('<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}">').format(
            ink, x, y, width, height
        )
        + told
        + Markup("</rect>")
    )


def _plot(drawn: Iterable[Markup], width: float, label: str, kind: str = "plot") -> Markup:
    return Markup(
        '<svg class="{}" viewBox="0 0 {} 100" preserveAspectRatio="none" role="img"'
        ' aria-label="{}">{}</svg>'
    ).format(kind, width, label, Markup("").join(drawn))
