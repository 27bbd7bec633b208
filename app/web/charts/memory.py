"""Memory by stage: stacked bars against the dashed capacity line."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Cell, Figure, KeyEntry, Table, ticks
from app.web.charts.svg import Percent

# Key of the answer, name, fill, texture: in the order of the bar.
ITEMS = (
    ("weights_bytes", "weights", "m-weights", ""),
    ("gradients_bytes", "gradients", "m-gradients", svg.RISING),
    ("optimizer_bytes", "optimizer", "m-optimizer", svg.LEVEL),
    ("activations_bytes", "activations", "m-activations", ""),
    ("logits_bytes", "logits", "m-logits", svg.GRID),
    ("buffers_bytes", "buffers", "m-buffers", svg.UPRIGHT),
    ("overhead_bytes", "overhead", "m-overhead", svg.DOTS),
)
ROW, TOP, BAR = 55, 20, 24
ROWS_SHOWN = 8
TABLE_ROWS = 96  # of more stages the first, the fullest and the last; the API has them all
GAP = 0.12  # percent of paper between two parts


def memory_figure(memory: Mapping[str, Any], *, id: str = "mem", rows: int = ROWS_SHOWN) -> Figure:
    """The figure for the `memory` object of an estimate.

    At most `rows` stages are drawn: the first ones, the fullest and the last; the table has them all.
    """
    stages: Sequence[Mapping[str, Any]] = memory["stages"]
    limit = float(memory["usable_bytes"])
    shown = shown_stages(stages, rows)
    top = max(limit, *(float(stage["total_bytes"]) for stage in stages)) * 1.005
    marks: list[Markup] = []
    labels: list[Markup] = []
    y = float(TOP)
    bars: list[float] = []
    before = -1
    for stage in shown:
        skipped = int(stage["stage"]) - before - 1
        if skipped:
            labels.append(svg.text(0.0, y + 15, _skipped(stages[before + 1 : before + 1 + skipped])))
            y += 28
        marks += _bar(stage, y, limit, top)
        labels += _labels(stage, y, limit)
        bars.append(y)
        y += ROW
        before = int(stage["stage"])
    height = y + 26
    marks[:0] = axis_marks(y, top)
    marks += capacity_marks(bars, limit, top) + labels
    return Figure(
        id=id,
        svg=svg.fluid(id, height, _title(stages, limit), marks),
        key=tuple(
            KeyEntry(label=name, css=css, texture=texture)
            for key, name, css, texture in ITEMS
            if any(float(stage[key]) > 0 for stage in stages)
        ),
        finding=_finding(stages),
        caption=_caption(stages),
        table=_table(stages),
        table_title="The numbers, in GiB",
    )


def shown_stages(stages: Sequence[Mapping[str, Any]], rows: int) -> list[Mapping[str, Any]]:
    """The first half, the fullest and the last half, at most `rows`."""
    if len(stages) <= rows:
        return list(stages)
    fullest = max(range(len(stages)), key=lambda i: float(stages[i]["total_bytes"]))
    head, tail = rows - rows // 2, rows // 2
    chosen = [*range(head), *range(len(stages) - tail, len(stages))]
    if fullest not in chosen:
        chosen[head - 1] = fullest
    return [stages[i] for i in sorted(set(chosen))]


def _bar(stage: Mapping[str, Any], y: float, limit: float, top: float) -> list[Markup]:
    total = float(stage["total_bytes"])
    marks: list[Markup] = []
    start = 0.0
    for key, name, css, texture in ITEMS:
        share = float(stage[key]) / top * 100
        if share <= 0:
            continue
        width = share - GAP if share > 4 * GAP else share
        said = f"{name} {numbers.gib(float(stage[key]))}"
        marks.append(svg.rect(Percent(start), y + 21, Percent(width), BAR, css, title=said, texture=texture))
        start += share
    over = total - limit
    if over > 0:
        marks.append(
            svg.line(Percent(limit / top * 100), y + 49, Percent(total / top * 100), y + 49, "excess")
        )
    return marks


def _labels(stage: Mapping[str, Any], y: float, limit: float) -> list[Markup]:
    """The row's name at the left, its result at the right, on top of every line."""
    total = float(stage["total_bytes"])
    over = total - limit
    label = svg.span(f"stage {stage['stage']}", "t1")
    held = stage.get("in_flight_micro_batches")
    if held is not None:
        label += Markup(" ") + svg.span(f"holds {numbers.count(held)}")
    said = f"over by {numbers.gib(over)}" if over > 0 else f"{numbers.gib(-over)} spare"
    result = svg.span(said, "over" if over > 0 else "okay")
    result += svg.span(numbers.gib_number(total), "t1", gap=10)
    return [svg.text(0.0, y + 15, label), svg.text(Percent(100), y + 15, result, "end halo")]


def axis_marks(y: float, top: float) -> list[Markup]:
    """A line with round values of GiB under bars whose full width is `top` bytes."""
    marks = [svg.line(0.0, y, Percent(100), y, "axis")]
    for tick in ticks(top / numbers.GIB, 6):
        at = Percent(tick * numbers.GIB / top * 100)
        anchor = "" if not tick else "end" if at > 97 else "mid"
        marks.append(svg.line(at, y, at, y + 5, "axis"))
        marks.append(svg.text(at, y + 19, numbers.count(tick), anchor))
    return marks


def capacity_marks(bars: Sequence[float], limit: float, top: float) -> list[Markup]:
    """The dashed line of what is usable, across each bar."""
    at = Percent(limit / top * 100)
    anchor = "end" if at > 60 else "mid" if at > 20 else ""
    marks = [svg.line(at, y + 19, at, y + 54, "cap") for y in bars]
    marks.append(svg.line(at, 16, at, TOP + 19, "cap thin"))
    marks.append(svg.text(at, 12, f"usable {numbers.gib(limit)}", f"capt {anchor}".strip()))
    return marks


def _skipped(hidden: Sequence[Mapping[str, Any]]) -> Markup:
    totals = [float(stage["total_bytes"]) for stage in hidden]
    low, high = numbers.gib_number(min(totals)), numbers.gib_number(max(totals))
    between = f"{low} GiB" if low == high else f"{low} to {high} GiB"
    names = (
        f"stages {hidden[0]['stage']} to {hidden[-1]['stage']}"
        if len(hidden) > 1
        else f"stage {hidden[0]['stage']}"
    )
    return svg.span(f"… {names}: {between}")


def _title(stages: Sequence[Mapping[str, Any]], limit: float) -> str:
    listed = ", ".join(
        f"stage {s['stage']} {numbers.gib_number(float(s['total_bytes']))}" for s in stages[:64]
    )
    more = f" and {len(stages) - 64} more" if len(stages) > 64 else ""
    return f"Memory per GPU by stage, in GiB, against {numbers.gib_number(limit)} GiB usable: {listed}{more}"


def _finding(stages: Sequence[Mapping[str, Any]]) -> str:
    if len(stages) == 1:
        name, share = largest_item(stages[0])
        return f"{name.capitalize()} {verb('take', name)} {numbers.percent(share, 2)} of it."
    spread = {key: _spread(stages, key) for key, *_ in ITEMS}
    most = max(spread, key=lambda key: spread[key])
    peak = max(float(stage["total_bytes"]) for stage in stages)
    if spread[most] < 0.03 * peak:
        return "The stages are nearly level."
    if most == "activations_bytes" and float(stages[0][most]) > float(stages[-1][most]):
        return "A staircase of activations."
    names = {key: name for key, name, *_ in ITEMS}
    return f"The stages differ by their {names[most]}."


def _caption(stages: Sequence[Mapping[str, Any]]) -> str:
    held = [stage.get("in_flight_micro_batches") for stage in stages]
    if len(stages) == 1:
        return "One stage holds the whole depth of the model."
    if None not in held and held[0] != held[-1]:
        told = ", ".join(numbers.count(number) for number in held[:6]) + (", …" if len(held) > 6 else ".")
        return f"What falls from stage to stage is the number of micro-batches held: {told}"
    return "Every stage holds as many micro-batches as the first."


def _spread(stages: Sequence[Mapping[str, Any]], key: str) -> float:
    values = [float(stage[key]) for stage in stages]
    return max(values) - min(values)


def verb(word: str, name: str) -> str:
    """The verb as an item of memory takes it: "weights put", "overhead puts"."""
    return f"{word}s" if name == "overhead" else word


def largest_item(stage: Mapping[str, Any]) -> tuple[str, float]:
    """The name of the largest item of a stage, and its share of the total."""
    key, name = max(((key, name) for key, name, *_ in ITEMS), key=lambda item: float(stage[item[0]]))
    said = "optimizer states" if name == "optimizer" else name
    return said, float(stage[key]) / float(stage["total_bytes"])


def _table(stages: Sequence[Mapping[str, Any]]) -> Table:
    def row(stage: Mapping[str, Any]) -> tuple[Cell, ...]:
        parts = [(float(stage[key]), False) for key, *_ in ITEMS] + [(float(stage["total_bytes"]), True)]
        return (
            Cell(text=f"stage {stage['stage']}"),
            Cell(text=numbers.count(stage["num_layers"])),
            Cell(text=numbers.count(stage.get("in_flight_micro_batches"))),
            *(
                Cell(
                    text=numbers.fixed(value / numbers.GIB, 2),
                    exact=numbers.exact(value, "bytes"),
                    strong=strong,
                )
                for value, strong in parts
            ),
        )

    head = ("Stage", "layers", "held", *(name for _, name, *_ in ITEMS), "total")
    rows = tuple(row(stage) for stage in shown_stages(stages, TABLE_ROWS))
    return Table(label="Memory by stage", head=head, rows=rows, wide=True)


def _two_decimals(value_bytes: float) -> str:
    return numbers.fixed(value_bytes / numbers.GIB, 2)
