"""What a page shows as a figure: drawing, legend, finding, table. The macro `figure` sets it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """One line of a legend: a swatch, its name and, where parts must add up, its value."""

    label: str
    css: str
    texture: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A table cell. `exact` is the number in full, told on hover."""

    text: str | Markup
    exact: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A data table; the first column names the row, numbers stand right."""

    label: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left: tuple[int, ...] = (0,)  # columns of words
    sum_row: bool = False  # the last row is the sum of those above
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing with everything that belongs to it."""

    id: str
    svg: Markup
    key: tuple[KeyEntry, ...] = ()
    finding: str = ""  # what the eye should take away, in bold
    caption: str | Markup = ""
    table: Table | None = None
    table_title: str = "The numbers"
    scrolls: str = ""  # the name of the scroll region, where the drawing is wide


def ticks(top: float, most: int = 6) -> list[float]:
    """Round values from 0 to `top`, at most `most` steps."""
    if not (top > 0 and math.isfinite(top)):
        return [0.0]
    raw = top / most
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10, 20) if factor * magnitude >= raw * 0.999)
    return [index * step for index in range(int(top / step + 1e-9) + 1)]


def shares_that_add_up(values: Sequence[float], decimals: int) -> list[float]:
    """The values rounded so that what is shown sums to the shown total (largest remainder)."""
    scale = 10.0**decimals
    scaled = [value * scale for value in values]
    floors = [math.floor(value) for value in scaled]
    missing = round(sum(scaled)) - sum(floors)
    by_remainder = sorted(range(len(values)), key=lambda i: (floors[i] - scaled[i], i))
    for index in by_remainder[: max(0, missing)]:
        floors[index] += 1
    return [value / scale for value in floors]
