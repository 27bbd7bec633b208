"""The step as one bar whose parts add up."""

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Cell, Figure, KeyEntry, Table, shares_that_add_up, ticks
from app.web.charts.svg import Percent

# Key of the answer, name, fill, texture: in the order of the bar.
PARTS = (
    ("compute_s", "Compute", "bar-f", ""),
    ("recompute_s", "Recompute", "bar-f", svg.RISING),
    ("tensor_parallel_s", "Exposed tensor traffic", "bar-t", svg.UPRIGHT),
    ("context_parallel_s", "Exposed context traffic", "bar-c", svg.LEVEL),
    ("expert_parallel_s", "Exposed expert traffic", "bar-e", svg.GRID),
    ("pipeline_p2p_s", "Stage to stage", "bar-p", svg.RISING),
    ("bubble_s", "Bubble", "idle", svg.HATCH),
    ("data_parallel_s", "Exposed data traffic", "bar-d", svg.DOTS),
    ("optimizer_s", "Optimizer", "bar-s", svg.LEVEL),
    ("other_s", "Other", "bar-o", ""),
)
WORDS = {
    "compute_s": "computing",
    "recompute_s": "computing activations a second time",
    "tensor_parallel_s": "tensor-parallel traffic that nothing hides",
    "context_parallel_s": "context-parallel traffic that nothing hides",
    "expert_parallel_s": "expert traffic that nothing hides",
    "pipeline_p2p_s": "handing activations from stage to stage",
    "bubble_s": "bubble",
    "data_parallel_s": "gradient traffic that nothing hides",
    "optimizer_s": "the optimizer",
    "other_s": "everything else",
}
GAP = 0.12


def step_time_figure(time: Mapping[str, Any], *, id: str = "step") -> Figure:
    """The figure for the `time` object of an estimate; parts absent or zero are left out."""
    step = float(time["step_s"])
    parts = [(*part, float(time.get(part[0]) or 0.0)) for part in PARTS]
    parts = [part for part in parts if part[4] > 0]
    unit, factor = time_unit(step)
    decimals = min(2, max(0, 3 - math.floor(math.log10(step * factor)))) if step > 0 else 2
    told = shares_that_add_up([part[4] * factor for part in parts], decimals)
    marks: list[Markup] = []
    start = 0.0
    for (_, name, css, texture, value), rounded in zip(parts, told, strict=True):
        share = value / step * 100
        width = share - GAP if share > 4 * GAP else share
        said = f"{name} {numbers.fixed(rounded, decimals)} {unit}"
        marks.append(svg.rect(Percent(start), 2, Percent(width), 36, css, title=said, texture=texture))
        start += share
    marks += _axis(step * factor, unit)
    whole = f"{numbers.fixed(step * factor, decimals)} {unit}"
    listed = ", ".join(
        f"{part[1]} {numbers.fixed(value, decimals)} {unit}" for part, value in zip(parts, told, strict=True)
    )
    return Figure(
        id=id,
        svg=svg.fluid(id, 66, f"Step of {whole}: {listed}", marks),
        key=tuple(
            KeyEntry(label=part[1], css=part[2], texture=part[3], value=numbers.fixed(value, decimals))
            for part, value in zip(parts, told, strict=True)
        ),
        finding=_finding(time, step),
        caption=_caption(parts, step),
        table=_table(parts, step),
        table_title="The numbers, in seconds",
    )


def time_unit(step_s: float) -> tuple[str, float]:
    """Unit and factor in which a step of this length is told."""
    return ("s", 1.0) if step_s >= 1 else ("ms", 1e3) if step_s >= 1e-3 else ("µs", 1e6)


def _axis(top: float, unit: str) -> list[Markup]:
    marks: list[Markup] = []
    for tick in ticks(top, 6):
        at = Percent(tick / top * 100) if top else Percent(0)
        anchor = "" if not tick else "end" if at > 97 else "mid"
        marks.append(svg.line(at, 40, at, 46, "axis"))
        marks.append(
            svg.text(at, 61, f"{numbers.count(tick)} {unit}" if not tick else numbers.count(tick), anchor)
        )
    return marks


def _finding(time: Mapping[str, Any], step: float) -> str:
    working = (float(time.get("compute_s") or 0) + float(time.get("recompute_s") or 0)) / step
    bubble = float(time.get("bubble_s") or 0) / step
    if bubble > 0.2:
        return f"{_share(bubble)} of the step is empty."
    return f"{_share(working)} of the step is arithmetic."


def _share(fraction: float) -> str:
    steps = (
        (0.97, "Nearly all"), (0.8, "More than four fifths"), (0.75, "More than three quarters"),
        (0.667, "More than two thirds"), (0.5, "More than half"), (0.334, "More than a third"),
        (0.25, "More than a quarter"), (0.2, "More than a fifth"),
    )  # fmt: skip
    return next((words for limit, words in steps if fraction > limit), f"Only {numbers.percent(fraction, 2)}")


def _caption(parts: list[tuple[str, str, str, str, float]], step: float) -> str:
    lost = sorted((part for part in parts if part[0] != "compute_s"), key=lambda part: -part[4])
    told = [part for part in lost[:2] if part[4] > 0.01 * step]
    if not told:
        return "Almost nothing else takes time."
    first = f"{numbers.seconds(told[0][4])} of {WORDS[told[0][0]]}"
    if told[0][0] == "recompute_s":
        first = f"{numbers.seconds(told[0][4])} goes into {WORDS['recompute_s']}"
    if len(told) == 1:
        return f"{first}."
    return f"{first}, then {numbers.seconds(told[1][4])} of {WORDS[told[1][0]]}."


def _table(parts: list[tuple[str, str, str, str, float]], step: float) -> Table:
    rows = [
        (
            Cell(text=name),
            Cell(text=numbers.significant(value), exact=numbers.exact(value, "s")),
            Cell(text=numbers.percent(value / step)),
        )
        for _, name, _, _, value in parts
    ]
    rows.append(
        (
            Cell(text="Step"),
            Cell(text=numbers.significant(step), exact=numbers.exact(step, "s")),
            Cell(text=numbers.percent(1.0)),
        )
    )
    return Table(label="Parts of the step", head=("Part", "seconds", "share"), rows=tuple(rows), sum_row=True)
