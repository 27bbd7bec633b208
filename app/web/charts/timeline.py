"""The pipeline over time: a row per stage, a cell per pass, hatched where a device waits."""

from dataclasses import dataclass

from markupsafe import Markup

from app.calculator.schedules_simulation import Event, Simulation
from app.services.scheduling import Played
from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Figure, KeyEntry, ticks
from app.web.charts.step_time import time_unit
from app.web.charts.timeline_cut import Cut, Window, cut
from app.web.charts.timeline_words import caption, name, stage_table

LEFT, LEFT_COMPACT, RIGHT, TOP = 100.0, 122.0, 858.0, 4.0
TALL_ROWS = 10  # at most; more stages stand closer, with their name and holding on one line
BREAK = 64.0  # px between the two ends of a pipeline that is cut
DIGIT, PADDING = 6.4, 2.0  # px of a figure in a cell, and around it
GAP = 1.0  # px of paper between cells
LETTERS = "abcdefghijklmnopqrstuvwxyz"

# Kind → fill, texture, ink of the number, word.
KINDS = {
    "F": ("bar-f", "", "mid on-f", "forward"),
    "B": ("bar-b", "", "mid on-b", "backward"),
    "W": ("bar-n", svg.RISING, "mid on-f", "weight gradient"),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a window stands on the drawing."""

    window: Window
    left: float
    px_per_s: float

    @property
    def right(self) -> float:
        return self.left + (self.window.end_s - self.window.start_s) * self.px_per_s

    def x(self, at_s: float) -> float:
        """The position of a time, kept inside the window."""
        inside = min(max(at_s, self.window.start_s), self.window.end_s)
        return self.left + (inside - self.window.start_s) * self.px_per_s


def timeline_figure(played: Played, *, id: str = "timeline", at_s: float | None = None) -> Figure:
    """The figure of a legal pipeline; long ones keep their first and last 2p micro-batches.

    Micro-batches and chunks count from 1 in the drawing, stages from 0. `at_s` draws a line at that time.
    """
    run = played.simulation
    if run is None:
        raise ValueError("an illegal pipeline has no timeline; show its violations instead")
    inputs = played.inputs
    part = cut(run, inputs.num_micro_batches)
    tall = len(part.stages) <= TALL_ROWS
    pitch, height = (36.0, 28.0) if tall else (27.0, 21.0)
    places = _places(part, LEFT if tall else LEFT_COMPACT)
    lettered = _fits_letters(places, inputs.num_micro_batches)
    marks: list[Markup] = []
    for row, stage in enumerate(part.stages):
        y = TOP + pitch * row
        if stage is None:
            skipped = len(run.busy_s) - len(part.stages) + 1
            marks.append(svg.text(0.0, y + height / 2 + 4, f"… {skipped} stages", "sm"))
            continue
        marks += _Row(stage, y, height, inputs.virtual_pipeline_stages, lettered).marks(run, places)
    bottom = TOP + pitch * len(part.stages)
    marks += _axis(places, bottom, run.makespan_s)
    marks += _break(part, places, bottom)
    if at_s is not None:
        marks += [svg.path(f"M{place.x(at_s):.1f} 0V{bottom + 9:.1f}", "ln-p") for place in places[:1]]
    return Figure(
        id=id,
        svg=svg.scaled(id, RIGHT + 2, bottom + 40, _title(played, run), marks),
        key=_key(run),
        finding=f"{numbers.percent(run.bubble_fraction)} of all device time is idle.",
        caption=caption(played) + _left_out(part),
        table=stage_table(run),
        table_title="Stage by stage",
        scrolls="Pipeline timeline, scrolls sideways",
    )


def _places(part: Cut, left: float) -> list[_Place]:
    free = RIGHT - left - BREAK * (len(part.windows) - 1)
    total_s = sum(window.end_s - window.start_s for window in part.windows)
    places = []
    for window in part.windows:
        place = _Place(window, left, free / total_s)
        places.append(place)
        left = place.right + BREAK
    return places


@dataclass(frozen=True, slots=True)
class _Row:
    """One stage's band of the drawing."""

    stage: int
    y: float
    height: float
    chunks: int
    lettered: bool  # chunks stand as letters beside the numbers

    def marks(self, run: Simulation, places: list[_Place]) -> list[Markup]:
        """Name and holding at the left, hatch where it waits, a cell per pass."""
        held = f"holds {numbers.count(round(run.peak_in_flight[self.stage], 2))}"
        marks = [svg.text(0.0, self.y + 13, f"stage {self.stage}", "t1")]
        if self.height < 24:
            marks.append(svg.text(LEFT_COMPACT - 8.0, self.y + 13, held, "sm end"))
        else:
            marks.append(svg.text(0.0, self.y + 26, held, "sm"))
        for place in places:
            width = place.right - place.left
            marks.append(svg.rect(place.left, self.y, width, self.height, "idle", texture=svg.HATCH))
            cells = [self.cell(event, place) for event in place.window.events if event.stage == self.stage]
            marks.append(Markup("".join(cells)))
        return marks

    def cell(self, event: Event, place: _Place) -> str:
        """One pass, as plain text: thousands are drawn, and only numbers and our own words go in."""
        css, texture, ink, word = KINDS[event.kind]
        left, right = place.x(event.start_s), place.x(event.end_s)
        if right - left < 0.05:
            return ""
        width = right - left - GAP if right - left > 3 * GAP else right - left
        label = str(event.micro_batch + 1)
        of_chunk = f", chunk {event.chunk + 1}" if self.chunks > 1 else ""
        place_of = f'x="{left:.1f}" y="{self.y:g}" width="{width:.1f}" height="{self.height:g}"'
        mark = (
            f'<rect {place_of} class="{css}"><title>{word} {label}{of_chunk}, stage {event.stage}: '
            f"{event.start_s:.4g}–{event.end_s:.4g} s</title></rect>"
        )
        if texture:
            mark += f'<rect {place_of} fill="url(#{texture})" pointer-events="none"/>'
        if event.chunk % 2:
            mark += f'<rect x="{left:.1f}" y="{self.y:g}" width="{width:.1f}" height="4" class="texd"/>'
        if self.chunks > 1 and self.lettered:
            label += LETTERS[event.chunk]
        if width >= DIGIT * len(label) + PADDING:
            middle = f'x="{left + width / 2:.1f}" y="{self.y + self.height / 2 + 4:g}"'
            mark += f'<text {middle} class="{ink}">{label}</text>'
        return mark


def _fits_letters(places: list[_Place], num_micro_batches: int) -> bool:
    """Whether every cell has room for its number and the letter of its chunk."""
    events = [event for place in places for event in place.window.events if event.end_s > event.start_s]
    shortest_s = min((event.end_s - event.start_s for event in events), default=0.0)
    room = shortest_s * places[0].px_per_s - GAP
    few = all(event.chunk < len(LETTERS) for event in events)
    return few and room >= DIGIT * (len(str(num_micro_batches)) + 1) + PADDING


def _axis(places: list[_Place], y: float, makespan_s: float) -> list[Markup]:
    unit, factor = time_unit(makespan_s)
    drawn_s = sum(place.window.end_s - place.window.start_s for place in places)
    steps = ticks(drawn_s * factor, 8)
    step = steps[1] if len(steps) > 1 else makespan_s * factor
    marks: list[Markup] = []
    for place in places:
        marks.append(svg.path(f"M{place.left:.1f} {y + 4:.1f}H{place.right:.1f}", "axis"))
        tick = -(-place.window.start_s * factor // step)
        while tick * step <= place.window.end_s * factor * (1 + 1e-9):
            x = place.x(tick * step / factor)
            marks.append(svg.path(f"M{x:.1f} {y + 4:.1f}v5", "axis"))
            marks.append(svg.text(x, y + 21, numbers.count(tick * step), "mid"))
            tick += 1
    marks.append(svg.text(RIGHT, y + 36, {"s": "seconds"}.get(unit, unit), "end sm"))
    return marks


def _break(part: Cut, places: list[_Place], bottom: float) -> list[Markup]:
    if len(places) < 2:
        return []
    middle = places[0].right + BREAK / 2
    return [svg.text(middle, (TOP + bottom) / 2 + 2, f"… ×{part.left_out:,}", "mid t0")]


def _left_out(part: Cut) -> str:
    if len(part.windows) < 2:
        return ""
    return f" The {part.left_out:,} micro-batches in the middle are left out; the pattern repeats."


def _title(played: Played, run: Simulation) -> str:
    given = played.inputs
    chunks = f", {given.virtual_pipeline_stages} chunks" if given.virtual_pipeline_stages > 1 else ""
    return (
        f"{name(played)} with {given.num_stages} stages, {given.num_micro_batches} micro-batches{chunks}: "
        f"{numbers.seconds(run.makespan_s)} long, bubble {numbers.percent(run.bubble_fraction)}"
    )


def _key(run: Simulation) -> tuple[KeyEntry, ...]:
    kinds = {row[1] for row in run.rows[: len(run.rows) // len(run.busy_s)]}
    backward = "input gradient" if "W" in kinds else "backward"
    words = {"F": "forward", "B": backward, "W": "weight gradient"}
    drawn = [KeyEntry(label=words[k], css=KINDS[k][0], texture=KINDS[k][1]) for k in KINDS if k in kinds]
    return (*drawn, KeyEntry(label="idle", css="idle", texture=svg.HATCH))
