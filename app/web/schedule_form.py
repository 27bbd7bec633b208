"""The schedule page's form: its controls, and a query string read into the question of the verb."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.calculator.fields import Field
from app.services.input_values import InputProblem, number_of
from app.services.schedule_fields import BY_NAME
from app.web.controls import CHOICE_LABELS, DOUBLE, HALVE, Control, stepped

PATH = "/calculator/schedule"
START = {"schedule": "1f1b", "num_stages": "4", "num_micro_batches": "8", "virtual_pipeline_stages": "1"}
LABELS = {
    "schedule": ("select", "Schedule", "order of work"),
    "num_stages": ("stepper", "Stages", ""),
    "num_micro_batches": ("stepper", "Micro-batches", ""),
    "virtual_pipeline_stages": ("stepper", "Chunks per device", ""),
    "forward_s": ("text", "Forward F", "seconds: one number, or one per stage as in 1, 1, 1, 1.4; empty: 1"),
    "backward_s": ("text", "Backward B", "without W; empty: 2, for ZB-H1 1"),
    "weight_grad_s": ("text", "Weight gradient W", "which ZB-H1 runs apart; empty: 0, for ZB-H1 1"),
    "p2p_s": ("text", "Transfer", "seconds from stage to stage; it delays, and occupies no device"),
    "in_flight_limit": ("text", "Most in flight", "micro-batches a stage may hold; empty: no limit"),
}
NAMES = (*LABELS, "order")
KNOWN = {*NAMES, "do", "at"}
MOST_NAMES, MOST_LETTERS = 100, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`raw` goes to the verb, as it was typed; `pressed`: a ÷2 or ×2 was carried out."""

    raw: dict[str, str]
    pressed: bool = False
    at: str = ""  # the moment one has stepped to


def read_question(pairs: Iterable[tuple[str, str]]) -> Question:
    """The question of a query string, defaults filled in; of a name given twice the last counts."""
    given = {name: value[:MOST_LETTERS].strip() for name, value in list(pairs)[:MOST_NAMES] if name in KNOWN}
    action, _, name = given.pop("do", "").partition(":")
    at = given.pop("at", "")
    raw = START | {name: value for name, value in given.items() if value}
    value = number_of(raw.get(name))
    pressed = action in (HALVE, DOUBLE) and name in START and value is not None
    if pressed and BY_NAME[name].kind == "integer":
        raw[name] = str(stepped(value, action, BY_NAME[name]))
    return Question(raw=raw, pressed=pressed, at="" if pressed else at)


def address(raw: Mapping[str, str], **changes: object) -> str:
    """The page's address for this question, changed; an empty change takes the field out."""
    changed = {**raw, **{name: str(value) for name, value in changes.items()}}
    kept = [(name, changed[name]) for name in (*NAMES, "at") if changed.get(name)]
    return f"{PATH}?{urlencode(kept)}"


def controls(
    raw: Mapping[str, str],
    problems: Sequence[InputProblem],
    fixes: Mapping[str, Sequence[tuple[str, str]]],
    *,
    prefix: str = "in",
) -> dict[str, Control]:
    """The controls of the form by name, with what was typed and what is wrong with it."""
    told: dict[str, list[str]] = {}
    for problem in problems:
        told.setdefault(problem.field.partition(".")[0], []).append(_with_place(problem))
    return {name: _control(name, raw, told.get(name, []), fixes.get(name, ()), prefix) for name in LABELS}


def _with_place(problem: InputProblem) -> str:
    name, _, at = problem.field.partition(".")
    return f"Stage {at}: {problem.message}" if at.isdigit() and name in BY_NAME else problem.message


def _control(
    name: str,
    raw: Mapping[str, str],
    problems: Sequence[str],
    fixes: Sequence[tuple[str, str]],
    prefix: str,
) -> Control:
    kind, label, help = LABELS[name]
    spec = BY_NAME[name]
    value = raw.get(name, "")
    number = number_of(value)
    low, high = _bounds(spec)
    return Control(
        path=name,
        name=name,
        id=f"{prefix}-{name}".replace("_", "-"),
        label=label,
        kind=kind,
        value=value.lower() if name == "schedule" else value,
        axis="P" if name == "num_stages" else "",
        help=help,
        choices=tuple((choice, CHOICE_LABELS.get(choice, choice)) for choice in spec.choices),
        at_minimum=kind == "stepper" and number is not None and number <= low,
        at_maximum=kind == "stepper" and number is not None and number * 2 > high,
        problem=" ".join(problems[:3]) + (f" And {len(problems) - 3} more." if len(problems) > 3 else ""),
        fixes=tuple(fixes),
    )


def _bounds(spec: Field) -> tuple[float, float]:
    return spec.minimum or 0.0, spec.maximum or 1e18
