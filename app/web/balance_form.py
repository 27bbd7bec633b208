"""The balance page's form: its controls, and a query string read into the question of the verb."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.services.balance_fields import BY_NAME
from app.services.input_values import InputProblem, number_of
from app.web.controls import DOUBLE, HALVE, Control, stepped

PATH = "/calculator/balance"
START = {
    "pieces": "embedding, 0.1\nblock ×24, 1.0\nhead, 2.4",
    "num_stages": "4",
    "virtual_pipeline_stages": "1",
    "num_micro_batches": "32",
}
GIB = 2**30
LABELS = {
    "num_stages": ("stepper", "Stages", ""),
    "virtual_pipeline_stages": ("stepper", "Chunks per device", ""),
    "num_micro_batches": ("stepper", "Micro-batches", ""),
    "memory_limit_gib": ("text", "Memory limit", "GiB a stage may hold, one or a list; empty: no limit"),
    "pieces_per_stage": ("text", "Your split", "pieces of each stage, as in 7, 6, 6, 7; empty: the best"),
}
NAMES = ("pieces", *LABELS, "layers_per_stage")
MOST_NAMES, MOST_LETTERS = 100, 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`typed` is what the form says, `raw` what goes to the verb; `pressed`: a ÷2 or ×2 was carried out."""

    typed: dict[str, str]
    raw: dict[str, object]
    pressed: bool = False


def read_question(pairs: Iterable[tuple[str, str]]) -> Question:
    """The question of a query string, defaults filled in; of a name given twice the last counts."""
    given = {name: value[:MOST_LETTERS] for name, value in list(pairs)[:MOST_NAMES] if name in (*NAMES, "do")}
    action, _, name = given.pop("do", "").partition(":")
    typed = START | {name: value.strip() for name, value in given.items() if value.strip()}
    value = number_of(typed.get(name))
    pressed = action in (HALVE, DOUBLE) and LABELS.get(name, ("",))[0] == "stepper" and value is not None
    if pressed:
        typed[name] = str(stepped(value, action, BY_NAME[name]))
        if name != "num_micro_batches":
            typed.pop("pieces_per_stage", None)
            typed.pop("layers_per_stage", None)
    return Question(typed=typed, raw=_raw(typed), pressed=pressed)


def _raw(typed: Mapping[str, str]) -> dict[str, object]:
    raw: dict[str, object] = {name: value for name, value in typed.items() if name != "memory_limit_gib"}
    words = typed.get("memory_limit_gib", "").replace(";", ",").replace(",", " ").split()
    if words:
        read = [number_of(word) for word in words]
        raw["memory_limit_bytes"] = [
            word if value is None else value * GIB for word, value in zip(words, read, strict=True)
        ]
    return raw


def address(typed: Mapping[str, str], **changes: object) -> str:
    """The page's address for this question, changed; an empty change takes the field out."""
    changed = {**typed, **{name: str(value) for name, value in changes.items()}}
    if "pieces_per_stage" in changes:  # it takes the place of a split that was told in layers
        changed.pop("layers_per_stage", None)
    kept = [(name, changed[name]) for name in NAMES if changed.get(name)]
    return f"{PATH}?{urlencode(kept)}"


def form_name(field: str) -> str:
    """The form's field for a field of the verb."""
    base = field.partition(".")[0]
    return {"memory_limit_bytes": "memory_limit_gib", "layers_per_stage": "pieces_per_stage"}.get(base, base)


def controls(
    typed: Mapping[str, str], problems: Sequence[InputProblem], *, prefix: str = "in"
) -> dict[str, Control]:
    """The controls of the form by name, with what was typed and what is wrong with it."""
    return {name: _control(name, typed, problems, prefix) for name in LABELS}


def _control(name: str, typed: Mapping[str, str], problems: Sequence[InputProblem], prefix: str) -> Control:
    kind, label, help = LABELS[name]
    spec = BY_NAME.get(name)
    number = number_of(typed.get(name)) if kind == "stepper" else None
    told = [problem.message for problem in problems if form_name(problem.field) == name]
    return Control(
        path=name,
        name=name,
        id=f"{prefix}-{name}".replace("_", "-"),
        label=label,
        kind=kind,
        value=typed.get(name, ""),
        axis="P" if name == "num_stages" else "",
        help=help,
        at_minimum=number is not None and number <= 1,
        at_maximum=number is not None and spec is not None and number * 2 > (spec.maximum or 0),
        problem=" ".join(told[:3]),
    )
