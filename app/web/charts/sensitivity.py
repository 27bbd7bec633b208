"""What a tenth more of each resource buys: one bar for each, the longest first."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Cell, Figure, Table, ticks
from app.web.charts.svg import Percent

ROW, BAR = 46, 18
LEAST = 5e-4  # of the step: less is told as nothing


def sensitivity_figure(gains: Sequence[Mapping[str, Any]], *, id: str = "sensitivity") -> Figure:
    """The figure for the `sensitivity` of an advice, in its order."""
    top = max([float(gain["gain_fraction"]) for gain in gains] + [0.01])
    marks: list[Markup] = []
    y = 0.0
    for gain in gains:
        share = float(gain["gain_fraction"])
        label = f"{_capital(str(gain['label']))} + 10{numbers.NBSP}%"
        said = f"saves {numbers.percent(share, 2)}" if share >= LEAST else "saves nothing"
        marks.append(svg.text(0.0, y + 14, label, "t0"))
        marks.append(svg.text(Percent(100), y + 14, said, "end"))
        width = Percent(share / top * 100)
        marks.append(svg.rect(Percent(0), y + 21, width, BAR, "bar-f", title=f"{label} {said} of the step"))
        y += ROW
    for tick in ticks(top * 100, 5):
        at = Percent(tick / top)
        anchor = "" if not tick else "end" if at > 97 else "mid"
        marks.append(svg.line(at, y, at, y + 6, "axis"))
        marks.append(svg.text(at, y + 21, f"{numbers.count(tick)}{numbers.NBSP}%", anchor))
    told = ", ".join(f"{gain['label']} {numbers.percent(gain['gain_fraction'], 2)}" for gain in gains)
    return Figure(
        id=id,
        svg=svg.fluid(id, y + 26, f"Share of the step that a tenth more saves: {told}", marks),
        finding=_finding(gains),
        caption=_caption(gains),
        table=_table(gains),
    )


def _finding(gains: Sequence[Mapping[str, Any]]) -> str:
    first = gains[0]
    if float(first["gain_fraction"]) < LEAST:
        return "No single resource buys anything."
    return f"{_capital(str(first['label']))} is worth most."


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _caption(gains: Sequence[Mapping[str, Any]]) -> str:
    memory = next((gain for gain in gains if gain["resource"] == "memory"), None)
    if memory is None or not memory["how"]:
        return ""
    if float(memory["gain_fraction"]) < LEAST:
        return f"More memory buys time only by another layout, and {memory['how']}."
    return f"More memory buys time only by another layout: {memory['how']}."


def _table(gains: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            Cell(text=str(gain["label"])),
            Cell(text=numbers.seconds(gain["step_s"]), exact=numbers.exact(gain["step_s"], "s")),
            Cell(text=numbers.seconds(gain["step_s_after"]), exact=numbers.exact(gain["step_s_after"], "s")),
            Cell(text=numbers.percent(gain["gain_fraction"], 2)),
        )
        for gain in gains
    )
    head = ("10 % more of", "step now", "step then", "saved")
    return Table(label="What a tenth more buys", head=head, rows=rows)
