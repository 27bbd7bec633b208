"""What the balance page shows: a verdict, the stages as bars, moves of one piece, the split to take away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.services.balance import balance_pieces, loss_per_step_s
from app.services.balance_inputs import BalanceInputs, parse_balance
from app.services.inputs import InputProblems
from app.services.schedule_inputs import ScheduleInputs, parse_schedule
from app.services.scheduling import play_schedule
from app.web import numbers
from app.web.balance_form import LABELS, Question, address, controls, form_name
from app.web.charts.balance import balance_figure
from app.web.charts.figure import Figure
from app.web.charts.seconds import told_s
from app.web.charts.timeline import timeline_figure
from app.web.controls import Control
from app.web.schedule_view import Complaint, Headline, Readout

DRAWN_CELLS = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One piece over one cut: `says` names it, `url` is the page after the move; empty: not possible."""

    says: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The cut between two neighbouring stages, and the two ways to move it."""

    between: str
    down: Move  # the last piece of the earlier stage goes to the later one
    up: Move


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceView:
    """Everything the page shows."""

    url: str
    verdict: Headline
    why: str = ""
    controls: Mapping[str, Control]
    pieces: str
    pieces_problem: str = ""
    best_url: str = ""
    even_url: str = ""
    complaints: tuple[Complaint, ...] = ()
    readouts: tuple[Readout, ...] = ()
    figure: Figure | None = None
    cuts: tuple[Cut, ...] = ()
    timeline: Figure | None = None
    schedule_url: str = ""
    split: str = ""
    layers: str = ""
    malformed: bool = False


def view_of(question: Question) -> BalanceView:
    """The page for a question: malformed, over a limit, or balanced."""
    given = parse_balance(question.raw)
    answer = balance_pieces(question.raw)
    if isinstance(given, InputProblems) or isinstance(answer, InputProblems):
        return _malformed(question, given)
    typed = dict(question.typed)
    if given.split is not None:  # told in layers or in pieces: the page goes on in pieces
        typed |= {"pieces_per_stage": _joined(given.split), "layers_per_stage": ""}
    shared: dict[str, Any] = {
        "url": address(typed),
        "controls": controls(typed, ()),
        "pieces": typed["pieces"],
        "best_url": address(typed, pieces_per_stage=""),
        "even_url": address(typed, pieces_per_stage=_joined(answer["even_split"])),
    }
    if not answer["legal"]:
        told = tuple(_complaint(v["field"], v["message"]) for v in answer["violations"])
        return BalanceView(
            **shared,
            verdict=Headline(tone="bad", lead="Does not fit:", rest="a stage holds too much."),
            complaints=told,
        )
    timeline, schedule_url = _timeline(given, answer)
    return BalanceView(
        **shared,
        verdict=verdict_of(answer),
        why=_why(given, answer),
        readouts=_readouts(answer),
        figure=balance_figure(answer, pieces_of_stages(given, answer)),
        cuts=_cuts(typed, given, answer),
        timeline=timeline,
        schedule_url=schedule_url,
        split=_joined(answer["pieces_per_stage"]),
        layers=_joined(answer["layers_per_stage"] or []),
    )


def _malformed(question: Question, given: BalanceInputs | InputProblems) -> BalanceView:
    problems = given.problems if isinstance(given, InputProblems) else ()
    names = dict.fromkeys(form_name(problem.field) for problem in problems)
    listed = ", ".join(LABELS[name][1].lower() if name in LABELS else name for name in names)
    told = [problem.message for problem in problems if form_name(problem.field) == "pieces"]
    return BalanceView(
        url=address(question.typed),
        verdict=Headline(tone="bad", lead="Cannot be read:", rest=f"{listed}."),
        controls=controls(question.typed, problems),
        pieces=question.typed["pieces"],
        pieces_problem=told[0] if told else "",
        best_url=address(question.typed, pieces_per_stage=""),
        complaints=tuple(_complaint(problem.field, problem.message) for problem in problems[:20]),
        malformed=True,
    )


def _complaint(field: str, message: str) -> Complaint:
    base, _, at = field.partition(".")
    name = form_name(field)
    label = LABELS[name][1] if name in LABELS else base.capitalize()
    if base == "pieces" and at:
        line, _, key = at.partition(".")
        label = f"Piece {int(line) + 1}" + (f", {key.replace('_', ' ')}" if key else "")
    elif at:
        label += f", stage {at}"
    return Complaint(label=label, message=message)


def verdict_of(answer: Mapping[str, Any]) -> Headline:
    """Whether a faster split is known, and what the slowest stage takes."""
    slow = f"stage {answer['slowest_stage']} takes {told_s(answer['slowest_s'])}"
    best_s, own_s = float(answer["best_slowest_s"]), float(answer["slowest_s"])
    if own_s > best_s * (1 + 1e-9):
        over = numbers.percent(own_s / best_s - 1)
        return Headline(
            tone="", lead=f"{over} slower than the best split:", rest=f"{slow}, not {told_s(best_s)}."
        )
    if answer["exact"]:
        return Headline(tone="", lead="No split is faster:", rest=f"{slow}.")
    gap = numbers.percent(answer["gap_fraction"])
    return Headline(
        tone="", lead="The best split found:", rest=f"{slow}, at most {gap} above the best there is."
    )


def _why(given: BalanceInputs, answer: Mapping[str, Any]) -> str:
    even_s, own_s = float(answer["even_split_slowest_s"]), float(answer["slowest_s"])
    m = given.num_micro_batches
    if even_s > own_s * (1 + 1e-9):
        loss_s = loss_per_step_s(even_s, own_s, m)
        return (
            f"Equal counts would take {told_s(even_s)}. With {m:,} micro-batches that is {told_s(loss_s)} "
            "more for every step, and more micro-batches do not shrink its share."
        )
    return "Equal counts of layers do as well here."


def _readouts(answer: Mapping[str, Any]) -> tuple[Readout, ...]:
    told = (
        ("Slowest stage", answer["slowest_s"]),
        ("Best split", answer["best_slowest_s"]),
        ("Even split", answer["even_split_slowest_s"]),
        ("Equal share of all work", answer["lower_bound_s"]),
        ("Lost per step, against the best", answer["loss_per_step_s"]),
    )
    readouts = []
    for label, seconds in told:
        value, unit = numbers.split_unit(told_s(max(0.0, float(seconds))))
        readouts.append(
            Readout(label=label, value=value, unit=unit, exact=numbers.exact(float(seconds), "s"))
        )
    return tuple(readouts)


def pieces_of_stages(given: BalanceInputs, answer: Mapping[str, Any]) -> dict[int, list[float]]:
    """Seconds of each stage's pieces, in order."""
    found: dict[int, list[float]] = {stage: [] for stage in range(given.num_stages)}
    start = 0
    for at, size in enumerate(answer["pieces_per_stage"]):
        found[at % given.num_stages] += [piece.time_s for piece in given.pieces[start : start + size]]
        start += size
    return found


def _cuts(typed: Mapping[str, str], given: BalanceInputs, answer: Mapping[str, Any]) -> tuple[Cut, ...]:
    """The cuts between stages with one chunk each; with several chunks the split is typed."""
    if given.virtual_pipeline_stages > 1:
        return ()
    counts: list[int] = answer["pieces_per_stage"]
    cuts, end = [], 0
    for stage in range(given.num_stages - 1):
        end += counts[stage]
        before, after = given.pieces[end - 1].name, given.pieces[end].name
        down = _moved(typed, counts, stage, stage + 1)
        up = _moved(typed, counts, stage + 1, stage)
        cuts.append(
            Cut(
                between=f"stages {stage} and {stage + 1}",
                down=Move(says=f"{before} to stage {stage + 1}", url=down),
                up=Move(says=f"{after} to stage {stage}", url=up),
            )
        )
    return tuple(cuts)


def _moved(typed: Mapping[str, str], counts: Sequence[int], source: int, target: int) -> str:
    if counts[source] < 2:
        return ""
    moved = list(counts)
    moved[source] -= 1
    moved[target] += 1
    return address(typed, pieces_per_stage=_joined(moved))


def _timeline(given: BalanceInputs, answer: Mapping[str, Any]) -> tuple[Figure | None, str]:
    """1F1B with these stages, played out where it is small enough to draw here."""
    forward_s = [float(f"{stage['forward_s']:.6g}") for stage in answer["stages"]]
    backward_s = [float(f"{stage['backward_s']:.6g}") for stage in answer["stages"]]
    if not any(backward_s):  # seconds both ways in one number: a third of them is forward
        forward_s, backward_s = [f / 3 for f in forward_s], [f * 2 / 3 for f in forward_s]
    cells = 2 * given.num_stages * given.num_micro_batches
    if given.virtual_pipeline_stages > 1 or given.num_stages < 2 or cells > 20_000:
        return None, ""
    question = {
        "num_stages": given.num_stages,
        "num_micro_batches": given.num_micro_batches,
        "forward_s": forward_s,
        "backward_s": backward_s,
    }
    inputs = parse_schedule(question)
    words = {name: _joined(value) if isinstance(value, list) else value for name, value in question.items()}
    url = "/calculator/schedule?" + "&".join(f"{name}={value}" for name, value in words.items())
    if not isinstance(inputs, ScheduleInputs) or cells > DRAWN_CELLS:
        return None, url
    return timeline_figure(play_schedule(inputs)), url


def _joined(values: Sequence[object]) -> str:
    return ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
