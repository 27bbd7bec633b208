"""Signed errors in bins, ours filled and the null model as an outline."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Cell, Figure, KeyEntry, Table, ticks
from app.web.charts.svg import Percent

BASE, TOP = 188.0, 12.0


def histogram_figure(
    errors: Sequence[float],
    null_errors: Sequence[float],
    *,
    id: str = "errors",
    reach: float = 0.30,
    width: float = 0.05,
) -> Figure:
    """Errors as fractions; the outer bins hold everything beyond `reach` minus one bin."""
    bins = round(2 * reach / width)
    ours, null = _counts(errors, reach, width, bins), _counts(null_errors, reach, width, bins)
    most = max(1, *ours, *null)
    scale = (BASE - TOP) / most
    marks: list[Markup] = []
    for tick in ticks(most, 3)[1:]:
        y = BASE - tick * scale
        marks.append(svg.line(0.0, y, Percent(100), y, "grid"))
        marks.append(svg.text(0.0, y - 4, numbers.count(tick)))
    for index, number in enumerate(ours):
        if number:
            at, share = index / bins * 100, 100 / bins
            css = "neg" if index < bins / 2 else "pos"
            top, height = BASE - number * scale, number * scale
            said = f"{number} runs, {_range(index, reach, width, bins)}"
            marks.append(svg.rect(Percent(at + 0.3), top, Percent(share - 0.6), height, css, title=said))
    marks += _outline(null, scale, bins) + _axis(reach)
    rows = tuple(
        (Cell(text=_range(i, reach, width, bins)), Cell(text=str(ours[i])), Cell(text=str(null[i])))
        for i in range(bins)
    )
    return Figure(
        id=id,
        svg=svg.fluid(
            id, 236, f"Signed error of {len(errors)} runs in bins of {width * 100:g} points", marks
        ),
        key=(KeyEntry(label="too fast", css="neg"), KeyEntry(label="too slow", css="pos")),
        finding="Filled: the engine.",
        caption="Outline: the null model, one utilization for all runs. The outer bins hold the rest.",
        table=Table(label="Errors by bin", head=("Signed error", "engine", "null model"), rows=rows),
    )


def _counts(errors: Sequence[float], reach: float, width: float, bins: int) -> list[int]:
    counts = [0] * bins
    for error in errors:
        if math.isfinite(error):
            counts[min(bins - 1, max(0, math.floor((error + reach) / width)))] += 1
    return counts


def _range(index: int, reach: float, width: float, bins: int) -> str:
    low, high = round((index * width - reach) * 100, 6), round(((index + 1) * width - reach) * 100, 6)
    if index == 0:
        return f"below {_signed(high)} %"
    if index == bins - 1:
        return f"above {_signed(low)} %"
    return f"{_signed(low)} to {_signed(high)} %"


def _signed(value: float) -> str:
    return f"{numbers.MINUS if value < 0 else '+' if value > 0 else ''}{abs(value):g}"


def _outline(counts: Sequence[int], scale: float, bins: int) -> list[Markup]:
    marks: list[Markup] = []
    before = BASE
    for index, number in enumerate([*counts, 0]):
        y = BASE - number * scale
        at = Percent(index / bins * 100)
        if y != before:
            marks.append(svg.line(at, before, at, y, "outline"))
        if index < bins and number:
            marks.append(svg.line(at, y, Percent((index + 1) / bins * 100), y, "outline"))
        before = y
    return marks


def _axis(reach: float) -> list[Markup]:
    marks = [
        svg.line(0.0, BASE, Percent(100), BASE, "axis"),
        svg.line(Percent(50), 2, Percent(50), BASE + 5, "axis"),
        svg.text(0.0, 227, "too fast"),
        svg.text(Percent(50), 227, "signed error, %", "mid"),
        svg.text(Percent(100), 227, "too slow", "end"),
    ]
    for step in range(7):
        value = round((step - 3) * reach / 3 * 100, 6)
        anchor = "" if step == 0 else "end" if step == 6 else "mid"
        marks.append(svg.text(Percent(step / 6 * 100), 207, _signed(value), anchor))
    return marks
