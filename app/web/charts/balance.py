"""Stages as bars of their pieces: who is slowest, and how long everyone else waits for it."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Cell, Figure, KeyEntry, Table, ticks
from app.web.charts.seconds import told_s
from app.web.charts.step_time import time_unit
from app.web.charts.svg import Percent

ROW, TOP, BAR = 55, 22, 24
GAP = 0.12  # percent of paper between two pieces
PIECES_APART = 40  # with more pieces on a stage, they are drawn as one bar
ROWS_SHOWN = 16


def balance_figure(
    answer: Mapping[str, Any], pieces_s: Mapping[int, Sequence[float]], *, id: str = "balance"
) -> Figure:
    """The figure for the answer of the balance verb; `pieces_s`: seconds of each stage's pieces, in order."""
    stages: Sequence[Mapping[str, Any]] = answer["stages"]
    slowest_s, share_s = float(answer["slowest_s"]), float(answer["lower_bound_s"])
    shown = _shown(stages)
    marks: list[Markup] = []
    y, bars = float(TOP), []
    for stage in shown:
        if stage is None:
            marks.append(svg.text(0.0, y + 15, f"… {len(stages) - len(shown) + 1} stages"))
            y += 28
            continue
        marks += _bar(stage, pieces_s[int(stage["stage"])], y, slowest_s)
        bars.append(y)
        y += ROW
    marks[:0] = _axis(y, slowest_s)
    marks += _bound(bars, share_s, slowest_s)
    slow = int(answer["slowest_stage"])
    return Figure(
        id=id,
        svg=svg.fluid(id, y + 26, _title(stages, slow), marks),
        key=(
            KeyEntry(label="pieces", css="bar-f"),
            KeyEntry(label="waits for the slowest", css="idle", texture=svg.HATCH),
        ),
        finding=f"Stage {slow} is slowest: {told_s(slowest_s)} a micro-batch.",
        caption=_caption(stages, slowest_s, share_s),
        table=_table(stages, slowest_s),
    )


def _shown(stages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
    if len(stages) <= ROWS_SHOWN:
        return list(stages)
    half = ROWS_SHOWN // 2
    return [*stages[:half], None, *stages[-half:]]


def _bar(stage: Mapping[str, Any], pieces_s: Sequence[float], y: float, slowest_s: float) -> list[Markup]:
    total_s = float(stage["time_s"])
    names: Sequence[str] = stage["pieces"]
    marks: list[Markup] = []
    if len(names) > PIECES_APART:
        said = f"{len(names)} pieces, {told_s(total_s)}"
        marks.append(
            svg.rect(Percent(0), y + 21, Percent(total_s / slowest_s * 100), BAR, "bar-f", title=said)
        )
    else:
        start = 0.0
        for name, seconds in zip(names, pieces_s, strict=True):
            share = seconds / slowest_s * 100
            width = share - GAP if share > 4 * GAP else share
            said = f"{name}: {told_s(seconds)}"
            marks.append(svg.rect(Percent(start), y + 21, Percent(width), BAR, "bar-f", title=said))
            start += share
    waits_s = slowest_s - total_s
    if waits_s > slowest_s * 1e-9:
        at, width = total_s / slowest_s * 100, waits_s / slowest_s * 100
        said = f"waits {told_s(waits_s)}"
        marks.append(
            svg.rect(Percent(at), y + 21, Percent(width), BAR, "idle", title=said, texture=svg.HATCH)
        )
    count = f"{len(names)} piece" + ("" if len(names) == 1 else "s")
    label = svg.span(f"stage {stage['stage']}", "t1") + Markup(" ") + svg.span(count)
    marks.append(svg.text(0.0, y + 15, label))
    slow = waits_s <= slowest_s * 1e-9
    result = svg.span("slowest" if slow else f"waits {told_s(waits_s)}", "over" if slow else "okay")
    result += svg.span(told_s(total_s), "t1", gap=10)
    marks.append(svg.text(Percent(100), y + 15, result, "end halo"))
    return marks


def _axis(y: float, top_s: float) -> list[Markup]:
    unit, factor = time_unit(top_s)
    marks = [svg.line(0.0, y, Percent(100), y, "axis")]
    for tick in ticks(top_s * factor, 6):
        at = Percent(tick / (top_s * factor) * 100)
        anchor = "" if not tick else "end" if at > 97 else "mid"
        marks.append(svg.line(at, y, at, y + 5, "axis"))
        marks.append(svg.text(at, y + 19, numbers.count(tick) if tick else f"0 {unit}", anchor))
    return marks


def _bound(bars: Sequence[float], share_s: float, top_s: float) -> list[Markup]:
    at = Percent(share_s / top_s * 100)
    marks = [svg.line(at, y + 18, at, y + 48, "axis") for y in bars]
    anchor = "end" if at > 60 else "mid" if at > 20 else ""
    return [*marks, svg.text(at, 12, f"no split is faster than {told_s(share_s)}", anchor)]


def _title(stages: Sequence[Mapping[str, Any]], slow: int) -> str:
    listed = ", ".join(f"stage {s['stage']} {told_s(float(s['time_s']))}" for s in stages[:ROWS_SHOWN])
    more = "" if len(stages) <= ROWS_SHOWN else f" and {len(stages) - ROWS_SHOWN} more"
    return f"Seconds of one micro-batch by stage: {listed}{more}; stage {slow} is slowest"


def _caption(stages: Sequence[Mapping[str, Any]], slowest_s: float, share_s: float) -> str:
    waiting_s = sum(slowest_s - float(stage["time_s"]) for stage in stages)
    if waiting_s <= slowest_s * 1e-9:
        return "All stages are equal: nobody waits."
    told = f"The others wait {told_s(waiting_s)} together, for every micro-batch."
    if slowest_s > share_s * (1 + 1e-9):
        told += f" The slowest is {numbers.percent(slowest_s / share_s - 1)} above what no split can beat."
    return told


def _table(stages: Sequence[Mapping[str, Any]], slowest_s: float) -> Table:
    with_memory = any(stage["memory_bytes"] for stage in stages)
    rows = []
    for stage in stages:
        total_s = float(stage["time_s"])
        cells = [
            Cell(text=f"stage {stage['stage']}"),
            Cell(text=pieces_in_words(stage["pieces"])),
            Cell(text=told_s(float(stage["forward_s"]))),
            Cell(text=told_s(float(stage["backward_s"]))),
            Cell(text=told_s(total_s), exact=numbers.exact(total_s, "s"), strong=total_s == slowest_s),
        ]
        if with_memory:
            held = float(stage["memory_bytes"])
            cells.append(Cell(text=numbers.gib(held), exact=numbers.exact(held, "bytes")))
        rows.append(tuple(cells))
    head = ("Stage", "Pieces", "Forward", "Backward", "Together", *(("Memory",) if with_memory else ()))
    return Table(label="Stages and their pieces", head=head, rows=tuple(rows), left=(0, 1), wide=True)


def pieces_in_words(names: Sequence[str]) -> str:
    """All names of a few pieces; the first, the last and the number of many."""
    if len(names) <= 4:
        return ", ".join(names)
    return f"{names[0]} to {names[-1]} ({len(names)})"
