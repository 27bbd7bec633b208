"""What the schedule page shows: a verdict, both bubble fractions, the timeline, the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.calculator.layout import Schedule
from app.calculator.schedules_simulation import Event
from app.services.input_values import InputProblem, number_of
from app.services.inputs import InputProblems
from app.services.schedule_comparison import Compared, compare
from app.services.schedule_inputs import ScheduleInputs, parse_schedule
from app.services.scheduling import Played, play_schedule
from app.web import numbers
from app.web.charts.figure import Cell, Figure, Table
from app.web.charts.seconds import told_s
from app.web.charts.timeline import KINDS, timeline_figure
from app.web.charts.timeline_words import NAMES, name
from app.web.controls import Control
from app.web.schedule_form import LABELS, address, controls
from app.web.schedule_steps import Steps, steps_of

EVENTS_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The sentence before the picture; `lead` is set in the tone's colour."""

    tone: str
    lead: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Readout:
    """One number of the row under the verdict."""

    label: str
    value: str
    unit: str = ""
    exact: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing to mend, with the addresses that do it."""

    label: str
    message: str
    fixes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """Everything the page shows."""

    url: str
    verdict: Headline
    why: str
    controls: Mapping[str, Control]
    order: str
    start_from: str = ""  # address of the same pipeline with its order written out
    without_order: str = ""
    complaints: tuple[Complaint, ...] = ()
    readouts: tuple[Readout, ...] = ()
    figure: Figure | None = None
    quiet: str = ""
    steps: Steps | None = None
    comparison: Table | None = None
    events: Table | None = None
    num_events: int = 0
    malformed: bool = False


def view_of(raw: Mapping[str, str], at: str = "") -> ScheduleView:
    """The page for a question: malformed, illegal or played; `at` is the moment one has stepped to."""
    inputs = parse_schedule(raw)
    if isinstance(inputs, InputProblems):
        return _malformed(raw, inputs.problems)
    played = play_schedule(inputs)
    if played.simulation is None:
        return _illegal(raw, played)
    run = played.simulation
    steps = steps_of(raw, played, at)
    figure = timeline_figure(played, at_s=steps.at_s if steps else None)
    return ScheduleView(
        url=address(raw, at=steps.index if steps and steps.at_s is not None else ""),
        verdict=headline_of(played),
        why=_why(played),
        controls=controls(raw, (), {}),
        order=raw.get("order", ""),
        start_from=_start_from(raw, inputs),
        without_order=address(raw, order=""),
        readouts=_readouts(played),
        figure=figure,
        quiet=f"{name(played)}, {inputs.num_stages} stages, {inputs.num_micro_batches} micro-batches",
        steps=steps,
        comparison=_comparison(compare(inputs)),
        events=_events(played),
        num_events=len(run.rows),
    )


def _malformed(raw: Mapping[str, str], problems: Sequence[InputProblem]) -> ScheduleView:
    fixes: dict[str, list[tuple[str, str]]] = {}
    if not raw.get("weight_grad_s") and any(problem.field == "weight_grad_s" for problem in problems):
        fixes["weight_grad_s"] = [_split_in_half(raw)]
    return ScheduleView(
        url=address(raw),
        verdict=Headline(tone="bad", lead="Cannot be read:", rest=_listed([p.field for p in problems]) + "."),
        why="",
        controls=controls(raw, problems, fixes),
        order=raw.get("order", ""),
        without_order=address(raw, order=""),
        complaints=tuple(_complaint(p.field, p.message, fixes) for p in problems),
        malformed=True,
    )


def _split_in_half(raw: Mapping[str, str]) -> tuple[str, str]:
    """The address where B and W share what was written as one backward."""
    whole = number_of(raw.get("backward_s"))
    if whole is None:
        return address(raw, backward_s=""), "1 s each"
    half = f"{whole / 2:g}"
    return address(raw, backward_s=half, weight_grad_s=half), "half of B"


def _complaint(field: str, message: str, fixes: Mapping[str, Sequence[tuple[str, str]]]) -> Complaint:
    base, _, at = field.partition(".")
    label = LABELS[base][1] if base in LABELS else base.capitalize()
    return Complaint(
        label=f"{label}, stage {at}" if at else label, message=message, fixes=tuple(fixes.get(base, ()))
    )


def _listed(fields: Sequence[str]) -> str:
    bases = dict.fromkeys(field.partition(".")[0] for field in fields)
    names = [LABELS[base][1].lower() if base in LABELS else base for base in bases]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _illegal(raw: Mapping[str, str], played: Played) -> ScheduleView:
    count = len(played.violations)
    fixes = _fixes(raw, played)
    return ScheduleView(
        url=address(raw),
        verdict=Headline(
            tone="bad",
            lead="Cannot run:",
            rest="a rule is broken." if count == 1 else f"{count} rules are broken.",
        ),
        why="",
        controls=controls(raw, (), {}),
        order=raw.get("order", ""),
        without_order=address(raw, order=""),
        complaints=tuple(_complaint(v["field"], v["message"], fixes) for v in played.violations),
    )


def _fixes(raw: Mapping[str, str], played: Played) -> dict[str, list[tuple[str, str]]]:
    """Addresses that mend a broken rule, by the field they change."""
    fixes: dict[str, list[tuple[str, str]]] = {}
    for violation in played.violations:
        if violation["code"] == "micro_batches_not_divisible":
            fixes["num_micro_batches"] = [
                (address(raw, num_micro_batches=legal), str(legal)) for legal in violation["nearest_legal"]
            ]
        elif violation["code"] == "chunks_need_interleaving":
            fixes["virtual_pipeline_stages"] = [
                (address(raw, virtual_pipeline_stages=1), "1 chunk"),
                (address(raw, schedule="interleaved"), "interleaved"),
            ]
    return fixes


def headline_of(played: Played) -> Headline:
    """The share that is idle, and how long the work takes."""
    run, given = played.simulation, played.inputs
    assert run is not None
    share = numbers.percent(run.bubble_fraction)
    return Headline(
        tone="",
        lead=f"{share} of the time is idle:",
        rest=f"{name(played)} takes {told_s(run.makespan_s)} for {given.num_micro_batches:,} "
        f"micro-batches on {given.num_stages:,} stages.",
    )


def _why(played: Played) -> str:
    """Two sentences: who is slowest or that all are equal, and who holds most."""
    run, given = played.simulation, played.inputs
    assert run is not None
    slow = max(range(len(run.busy_s)), key=lambda stage: run.busy_s[stage])
    mean_s = sum(run.busy_s) / len(run.busy_s)
    sentences = []
    if run.busy_s[slow] > mean_s * 1.001:
        over = numbers.percent(run.busy_s[slow] / mean_s - 1.0)
        sentences.append(f"Stage {slow} works {over} longer than the mean, and sets the pace of all.")
    held = [numbers.count(round(x, 2)) for x in run.peak_in_flight]
    if len(set(held)) == 1:
        sentences.append(f"Every stage holds up to {held[0]} micro-batches in flight.")
    else:
        sentences.append(f"Stage 0 holds up to {held[0]} micro-batches in flight, the last stage {held[-1]}.")
    if given.schedule == Schedule.INTERLEAVED and given.virtual_pipeline_stages == 1 and given.orders is None:
        sentences.append("With one chunk per device, interleaving is plain 1F1B.")
    return " ".join(sentences)


def _readouts(played: Played) -> tuple[Readout, ...]:
    run = played.simulation
    assert run is not None
    told = [
        ("Makespan", told_s(run.makespan_s), numbers.exact(run.makespan_s, "s")),
        ("Slowest stage works", told_s(max(run.busy_s)), numbers.exact(max(run.busy_s), "s")),
        ("Idle, share of the step", numbers.percent(run.bubble_fraction), numbers.exact(run.bubble_fraction)),
        ("Idle, over ideal", numbers.percent(run.bubble_over_ideal), numbers.exact(run.bubble_over_ideal)),
        ("Most in flight", numbers.count(round(max(run.peak_in_flight), 2)), ""),
    ]
    readouts = []
    for label, text, exact in told:
        value, unit = numbers.split_unit(text)
        readouts.append(Readout(label=label, value=value, unit=unit, exact=exact))
    return tuple(readouts)


def _start_from(raw: Mapping[str, str], inputs: ScheduleInputs) -> str:
    cells = inputs.num_stages * inputs.num_micro_batches * inputs.virtual_pipeline_stages
    if inputs.orders is not None or cells > 100:
        return ""
    return address(raw, order=inputs.written_order())


def _comparison(compared: Sequence[Compared]) -> Table | None:
    if not compared:
        return None
    rows = []
    for line in compared:
        label = NAMES[line.schedule] + (f", {line.chunks} chunks" if line.chunks > 1 else "")
        if line.simulation is None:
            blank = Cell(text="–")
            rows.append((Cell(text=label), blank, blank, blank, blank, Cell(text=line.note)))
            continue
        run = line.simulation
        rows.append(
            (
                Cell(text=label),
                Cell(text=told_s(run.makespan_s), exact=numbers.exact(run.makespan_s, "s")),
                Cell(text=numbers.percent(run.bubble_fraction)),
                Cell(text=numbers.percent(run.bubble_over_ideal)),
                Cell(text=numbers.count(round(max(run.peak_in_flight), 2))),
                Cell(text=line.note),
            )
        )
    head = ("Schedule", "Makespan", "Idle share", "Over ideal", "Most in flight", "Note")
    return Table(
        label="The same pipeline under every schedule", head=head, rows=tuple(rows), left=(0, 5), wide=True
    )


def _events(played: Played) -> Table:
    run, chunks = played.simulation, played.inputs.virtual_pipeline_stages
    assert run is not None
    rows = []
    for event in map(Event._make, run.rows[:EVENTS_SHOWN]):
        cells = [
            Cell(text=f"stage {event.stage}"),
            Cell(text=KINDS[event.kind][3]),
            Cell(text=str(event.micro_batch + 1)),
            Cell(text=f"{event.start_s:,.6g}", exact=numbers.exact(event.start_s, "s")),
            Cell(text=f"{event.end_s:,.6g}", exact=numbers.exact(event.end_s, "s")),
        ]
        if chunks > 1:
            cells.insert(3, Cell(text=str(event.chunk + 1)))
        rows.append(tuple(cells))
    head = ["Stage", "Pass", "Micro-batch", "Starts, s", "Ends, s"]
    if chunks > 1:
        head.insert(3, "Chunk")
    return Table(label="Events", head=tuple(head), rows=tuple(rows), left=(0, 1))
