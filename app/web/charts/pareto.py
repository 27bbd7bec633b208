"""Throughput against what it costs, memory or global batch: points that lead to their layouts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Cell, Figure, KeyEntry, Table, ticks
from app.web.charts.svg import Percent

TOP, BASE, LEFT, RIGHT = 36.0, 226.0, 10.0, 97.0  # px down, per cent across
HEIGHT = 270


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One layout: `x` in the unit of the axis, tokens per second, its address and what it is."""

    x: float
    tokens_per_s: float
    url: str
    says: str
    on_front: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """The axis from left to right."""

    name: str  # "memory of the fullest stage"
    unit: str  # "GiB", or nothing
    column: str  # head of the table


def pareto_figure(points: Sequence[Point], across: Across, *, id: str) -> Figure:
    """Points of a front, filled and joined by steps; others as rings."""
    most_x = max(point.x for point in points)
    most_y = max(point.tokens_per_s for point in points)
    right, top = _round_up(most_x), _round_up(most_y)

    def at(point: Point) -> tuple[float, float]:
        x = LEFT + (RIGHT - LEFT) * (point.x / right)
        return x, BASE - (BASE - TOP) * (point.tokens_per_s / top)

    front = sorted((point for point in points if point.on_front), key=lambda point: point.x)
    marks = _axes(right, top, across) + _steps([at(point) for point in front])
    marks += [_mark(point, *at(point), across) for point in points if not point.on_front]
    marks += [_mark(point, *at(point), across) for point in front]
    title = f"Throughput against {across.name}, {len(points)} layouts"
    rows = tuple(
        (
            Cell(text=_told(point.x, across)),
            Cell(text=numbers.significant(point.tokens_per_s), exact=numbers.fixed(point.tokens_per_s, 1)),
            Cell(text=Markup('<a href="{}">{}</a>').format(point.url, point.says)),
        )
        for point in front
    )
    others = any(not point.on_front for point in points)
    ring = (KeyEntry(label="of the table", css="ring"),) if others else ()
    return Figure(
        id=id,
        svg=_group(id, title, marks),
        key=(KeyEntry(label="nothing is better in both", css="dot"), *ring),
        caption="Every point leads to its layout.",
        table=Table(
            label=title, head=(across.column, "Tokens/s", "Layout"), rows=rows, left=(0, 2), wide=True
        ),
    )


def _round_up(value: float) -> float:
    """The end of an axis that holds this value: the next tick."""
    steps = ticks(value, 5)
    step = steps[1] if len(steps) > 1 else value or 1.0
    return max(value, math.ceil(value / step - 1e-9) * step)


def _axes(right: float, top: float, across: Across) -> list[Markup]:
    marks: list[Markup] = []
    for tick in ticks(top, 4):
        y = BASE - (BASE - TOP) * (tick / top)
        marks.append(svg.line(Percent(LEFT), y, Percent(100), y, "axis" if not tick else "grid"))
        if tick:
            marks.append(svg.text(0.0, y - 4, _short(tick)))
    for tick in ticks(right, 5):
        x = LEFT + (RIGHT - LEFT) * (tick / right)
        marks.append(svg.line(Percent(x), BASE, Percent(x), BASE + 5, "axis"))
        marks.append(svg.text(Percent(x), BASE + 20, numbers.count(tick), "mid"))
    unit = f", {across.unit}" if across.unit else ""
    marks.append(svg.text(0.0, 10, "tokens/s"))
    marks.append(svg.text(Percent(100), BASE + 40, f"{across.name}{unit}", "end"))
    return marks


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"


def _steps(places: Sequence[tuple[float, float]]) -> list[Markup]:
    """The front's edge: what can be reached with so much."""
    marks: list[Markup] = []
    for (x, y), (next_x, next_y) in pairwise(places):
        marks.append(svg.line(Percent(x), y, Percent(next_x), y, "outline"))
        marks.append(svg.line(Percent(next_x), y, Percent(next_x), next_y, "outline"))
    return marks


def _mark(point: Point, x: float, y: float, across: Across) -> Markup:
    said = f"{point.says}: {_told(point.x, across)}, {numbers.significant(point.tokens_per_s)} tokens/s"
    place = f'cx="{x:.2f}%" cy="{y:.1f}"'
    css = "dot" if point.on_front else "ring"
    return Markup(
        f'<a href="{escape(point.url)}" aria-label="{escape(said)}"><title>{escape(said)}</title>'
        f'<circle {place} r="12" class="reach"/><circle {place} r="4.5" class="{css}"/></a>'
    )


def _told(x: float, across: Across) -> str:
    return f"{numbers.significant(x)}{numbers.NBSP}{across.unit}" if across.unit else numbers.count(x)


def _group(id: str, title: str, marks: Sequence[Markup]) -> Markup:
    """A drawing whose marks can be followed: not an image to a screen reader, but a group of links."""
    head = f'<title id="{escape(id)}-t">{escape(title)}</title>'
    opening = f'<svg width="100%" height="{HEIGHT}" role="group" aria-labelledby="{escape(id)}-t">'
    return Markup(f"{opening}{head}{''.join(marks)}</svg>")
