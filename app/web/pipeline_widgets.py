"""A pipeline inside a lesson: the schedule and the balance, as a live figure or as a puzzle."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from app.calculator.fields import Field
from app.services.balance import balance_pieces
from app.services.balance_fields import BY_NAME as BALANCE_FIELDS
from app.services.balance_inputs import BalanceInputs, parse_balance
from app.services.input_values import InputProblem, number_of
from app.services.inputs import InputProblems
from app.services.schedule_fields import BY_NAME as SCHEDULE_FIELDS
from app.services.schedule_inputs import parse_schedule
from app.services.scheduling import play_schedule
from app.web import numbers
from app.web.balance_view import pieces_of_stages, verdict_of
from app.web.charts.balance import balance_figure
from app.web.charts.figure import Figure
from app.web.charts.timeline import timeline_figure
from app.web.controls import CHOICE_LABELS, DOUBLE, HALVE, Control, stepped
from app.web.schedule_view import Headline, headline_of
from app.web.verdict import Verdict
from app.web.widgets import MOST_CONTROLS, Requirement, WidgetView

KINDS = ("schedule", "balance")
FIELDS = {"schedule": SCHEDULE_FIELDS, "balance": BALANCE_FIELDS}
PAGES = {"schedule": "/calculator/schedule", "balance": "/calculator/balance"}
LABELS = {
    "schedule": "Schedule", "num_stages": "Stages", "num_micro_batches": "Micro-batches",
    "virtual_pipeline_stages": "Chunks per device", "forward_s": "Forward F", "backward_s": "Backward B",
    "weight_grad_s": "Weight gradient W", "p2p_s": "Transfer", "in_flight_limit": "Most in flight",
    "order": "Cells of each stage, a line per stage", "pieces_per_stage": "Pieces of each stage",
    "layers_per_stage": "Layers of each stage", "memory_limit_bytes": "Memory limit",
}  # fmt: skip
STEPPERS = ("num_stages", "num_micro_batches", "virtual_pipeline_stages")
MOST_LETTERS = 4_000


def pipeline_widget(
    kind: str,
    preset: Mapping[str, Any],
    *,
    names: Iterable[str] = (),
    locked: Iterable[str] = (),
    tried: Mapping[str, str] | None = None,
    id: str = "widget",
    action: str = "",
    caption: str = "",
    wants: Iterable[Requirement] | None = None,
) -> WidgetView:
    """The view of a schedule or a balance with these inputs; `tried` are controls as they stand.

    `names` are the controls; left out, the fields of the preset. A widget shows at most three of them, a
    puzzle (one with `wants`) all.
    """
    plain = {name.removeprefix("layout."): value for name, value in preset.items()}
    free = controls_of(kind, plain, names, locked)[: None if wants is not None else MOST_CONTROLS]
    typed = _typed(kind, tried or {}, plain, free)
    inputs = {**plain, **{name: value for name, value in typed.items() if value}}
    play = _schedule if kind == "schedule" else _balance
    headline, figures, problems = play(inputs, id)
    return WidgetView(
        id=id,
        action=action,
        verdict=_verdict(headline),
        controls=tuple(
            _control(FIELDS[kind][name], typed.get(name, _written(inputs.get(name))), problems, id)
            for name in free
        ),
        figures=figures,
        requirements=tuple(wants or ()),
        problems=tuple((problem.field, problem.message) for problem in problems),
        caption=caption,
        open_url=f"{PAGES[kind]}?{urlencode(_address(inputs))}",
    )


def controls_of(
    kind: str, preset: Mapping[str, Any], names: Iterable[str] = (), locked: Iterable[str] = ()
) -> list[str]:
    """The fields that a learner may change here."""
    shut = {name.removeprefix("layout.") for name in locked}
    wanted = [name.removeprefix("layout.") for name in names] or list(preset)
    return [name for name in wanted if name in FIELDS[kind] and name not in shut and name != "pieces"]


def _typed(
    kind: str, tried: Mapping[str, str], preset: Mapping[str, Any], free: Sequence[str]
) -> dict[str, str]:
    """What stands in the controls, after a press on ÷2 or ×2."""
    typed = {name: tried[name][:MOST_LETTERS].strip() for name in free if name in tried}
    action, _, name = tried.get("do", "").partition(":")
    value = number_of(typed.get(name, preset.get(name)))
    if action in (HALVE, DOUBLE) and name in free and value is not None and name in STEPPERS:
        typed[name] = str(stepped(value, action, FIELDS[kind][name]))
    return typed


def _schedule(
    inputs: Mapping[str, Any], id: str
) -> tuple[Headline, tuple[Figure, ...], Sequence[InputProblem]]:
    parsed = parse_schedule(inputs)
    if isinstance(parsed, InputProblems):
        return _unreadable(parsed.problems), (), parsed.problems
    played = play_schedule(parsed)
    if played.simulation is None:
        return _broken(played.violations), (), ()
    share = numbers.percent(played.simulation.bubble_over_ideal)
    headline = headline_of(played)
    headline = replace(headline, rest=f"{headline.rest} Over ideal: {share}.")
    return headline, (timeline_figure(played, id=f"{id}-timeline"),), ()


def _balance(
    inputs: Mapping[str, Any], id: str
) -> tuple[Headline, tuple[Figure, ...], Sequence[InputProblem]]:
    parsed, answer = parse_balance(inputs), balance_pieces(inputs)
    if not isinstance(parsed, BalanceInputs) or isinstance(answer, InputProblems):
        problems = parsed.problems if isinstance(parsed, InputProblems) else ()
        return _unreadable(problems), (), problems
    if not answer["legal"]:
        return _broken(answer["violations"]), (), ()
    figure = balance_figure(answer, pieces_of_stages(parsed, answer), id=f"{id}-stages")
    return verdict_of(answer), (figure,), ()


def _unreadable(problems: Sequence[InputProblem]) -> Headline:
    first = problems[0]
    return Headline(
        tone="bad", lead="Cannot be read:", rest=f"{first.field.replace('_', ' ')}. {first.message}"
    )


def _broken(violations: Sequence[Mapping[str, Any]]) -> Headline:
    return Headline(tone="bad", lead="Cannot run:", rest=str(violations[0]["message"]))


def _verdict(headline: Headline) -> Verdict:
    """A result has no colour of its own; only what cannot run has."""
    if headline.tone:
        return Verdict(state="illegal", lead=headline.lead, rest=headline.rest)
    return Verdict(state="fits", lead="", rest=f"{headline.lead} {headline.rest}")


def _control(field: Field, value: str, problems: Sequence[InputProblem], prefix: str) -> Control:
    name = field.path
    is_stepped = name in STEPPERS
    value = value or (_written(field.default) if is_stepped or name == "schedule" else "")
    number = number_of(value) if is_stepped else None
    told = [problem.message for problem in problems if problem.field.partition(".")[0] == name]
    shapes = {"order": "textarea", "schedule": "select"}
    return Control(
        path=name,
        name=name,
        id=f"{prefix}-{name}".replace("_", "-"),
        label=LABELS.get(name, name.replace("_", " ")),
        kind="stepper" if is_stepped else shapes.get(name, "text"),
        value=value,
        axis="P" if name == "num_stages" else "",
        choices=tuple((choice, CHOICE_LABELS.get(choice, choice)) for choice in field.choices),
        at_minimum=number is not None and number <= (field.minimum or 1),
        at_maximum=number is not None and number * 2 > (field.maximum or 1e18),
        problem=told[0] if told else "",
    )


def _written(value: Any) -> str:
    """A value of a preset as its control holds it."""
    if isinstance(value, list | tuple):
        between = "\n" if any(isinstance(entry, str) and " " in entry for entry in value) else ", "
        return between.join(_written(entry) for entry in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _address(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The inputs as the page's address takes them."""
    found = []
    for name, value in inputs.items():
        if name == "pieces" and isinstance(value, list | tuple):
            found.append((name, "\n".join(_line(piece) for piece in value)))
        elif name == "memory_limit_bytes":
            limit = number_of(value)
            found += [("memory_limit_gib", f"{limit / 2**30:.6g}")] if limit is not None else []
        elif _written(value):
            found.append((name, _written(value)))
    return found


def _line(piece: Any) -> str:
    if isinstance(piece, Mapping):
        keys = ("name", "forward_s", "backward_s", "memory_bytes")
        return ", ".join(_written(piece.get(key, "")) for key in keys).rstrip(", ")
    return _written(piece)
