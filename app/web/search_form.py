"""The search page's form: the calculator's model and cluster, and what the search may vary or must keep."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from app.calculator.fields import BY_PATH
from app.catalog import Catalog
from app.services.input_values import number_of
from app.web.controls import CHOICE_LABELS, LABELS, Control
from app.web.questions import Question, read_question

PATH = "/calculator/search"
GIB = 2**30
MOST_LETTERS = 200
# Layout fields that may be fixed by words: "8", "1, 2, 4", "2-8"; empty: whatever is legal.
WORDS = (
    "tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel", "expert_parallel",
    "micro_batch_size", "virtual_pipeline_stages",
)  # fmt: skip
CHOICES: Mapping[str, tuple[str, ...]] = {
    "schedule": BY_PATH["layout.schedule"].choices,
    "zero_stage": ("0", "1", "2", "3", "0,1"),
    "recompute": BY_PATH["layout.recompute"].choices,
    "sequence_parallel": ("true", "false"),
}
OBJECTIVES = {
    "step_s": "shortest step",
    "tokens_per_s": "most tokens a second",
    "headroom_bytes": "most memory to spare",
    "cost": "cheapest tokens",
}
LIMITS = {
    "max_bubble": ("Bubble at most", "%", "bubble_fraction"),
    "min_spare": ("Spare at least", "GiB", "headroom_bytes"),
}
PREFIX = "fix_"
OWN = (
    *(f"{PREFIX}{name}" for name in (*WORDS, *CHOICES)), *LIMITS, "batch_to", "objective", "top", "job",
)  # fmt: skip
_NAMED = {"0,1": "0 or 1", "true": "on", "false": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuestion:
    """`calculator` is the state that the calculator would show, `own` the words of the search's own fields,
    `raw` the question of the verb.
    """

    calculator: Question
    own: dict[str, str]
    raw: dict[str, Any]

    @property
    def job(self) -> str:
        """The search that this page shows, where it is named."""
        return self.own.get("job", "")


def read_search(pairs: Iterable[tuple[str, str]], catalog: Catalog) -> SearchQuestion:
    """The question of a query string; the layout in it is the reader's own, and is not searched for."""
    own: dict[str, str] = {}
    rest: list[tuple[str, str]] = []
    for name, value in list(pairs)[:400]:
        if name in OWN:
            own[name] = value[:MOST_LETTERS].strip()
        else:
            rest.append((name, value))
    own = {name: value for name, value in own.items() if value}
    question = read_question(rest, catalog)
    raw = {path: value for path, value in question.raw.items() if not path.startswith("layout.")}
    fixed, limits = _asked(own)
    raw |= {"fixed": fixed, "limits": limits, "top": own.get("top", "20")}
    if "objective" in own:
        raw["objective"] = own["objective"]
    if "batch_to" in own:
        raw["batch_range"] = [raw.pop("training.global_batch_size", "1"), own["batch_to"]]
    return SearchQuestion(calculator=question, own=own, raw=raw)


def _asked(own: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(fixed, limits) as the verb takes them."""
    fixed: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for name in (*WORDS, *CHOICES):
        words = own.get(f"{PREFIX}{name}", "")
        span = re.fullmatch(r"\s*(\d{1,9})\s*[-–]\s*(\d{1,9})\s*", words)
        if span and name in WORDS:
            limits[name] = [span[1], span[2]]
        elif words:
            fixed[name] = [word for word in re.split(r"[,\s]+", words) if word]
    for name, (_, _, limit) in LIMITS.items():
        if name in own:
            number = number_of(own[name].removesuffix("%").strip())
            limits[limit] = _limit(name, own[name] if number is None else number)
    return fixed, limits


def _limit(name: str, value: Any) -> list[Any]:
    if not isinstance(value, int | float):
        return [value, None]
    return [None, value / 100] if name == "max_bubble" else [value * GIB, None]


def field_of(problem: str) -> str:
    """The form's field for a field of the verb's problem."""
    section, _, name = problem.partition(".")
    if section == "fixed":
        return f"{PREFIX}{name}"
    if section == "limits":
        told = {limit: own for own, (_, _, limit) in LIMITS.items()}
        return told.get(name, f"{PREFIX}{name}")
    return "batch_to" if problem == "batch_range" else problem


def own_controls(
    own: Mapping[str, str], problems: Mapping[str, str], *, experts: bool
) -> tuple[Control, ...]:
    """The controls of what may vary, in the order of the form."""
    names = [name for name in WORDS if experts or name != "expert_parallel"]
    words = [_control(f"{PREFIX}{name}", LABELS[f"layout.{name}"], "number", own, problems) for name in names]
    chosen = [
        _control(
            f"{PREFIX}{name}",
            LABELS[f"layout.{name}"],
            "select",
            own,
            problems,
            choices=(("", "any"), *((value, _said(value)) for value in values)),
        )
        for name, values in CHOICES.items()
    ]
    return (*words, *chosen)


def _said(value: str) -> str:
    return CHOICE_LABELS.get(value, _NAMED.get(value, value))


def limit_controls(own: Mapping[str, str], problems: Mapping[str, str]) -> tuple[Control, ...]:
    """The controls of what the result must keep, and of what it is ranked by."""
    limits = [
        _control(name, label, "number", own, problems, unit=unit) for name, (label, unit, _) in LIMITS.items()
    ]
    usual = "tokens_per_s" if "batch_to" in own else "step_s"
    objective = _control(
        "objective",
        "Ranked by",
        "select",
        {"objective": own.get("objective", usual)},
        problems,
        choices=tuple(OBJECTIVES.items()),
    )
    batch = _control("batch_to", "Or up to a batch of", "number", own, problems)
    return (batch, *limits, objective)


def _control(
    name: str,
    label: str,
    kind: str,
    own: Mapping[str, str],
    problems: Mapping[str, str],
    *,
    choices: tuple[tuple[str, str], ...] = (),
    unit: str = "",
) -> Control:
    return Control(
        path=name,
        name=name,
        id=f"in-{name}".replace("_", "-"),
        label=label,
        kind=kind,
        value=own.get(name, ""),
        axis={"tensor_parallel": "T", "pipeline_parallel": "P", "data_parallel": "D", "context_parallel": "C",
              "expert_parallel": "E"}.get(name.removeprefix(PREFIX), ""),
        unit=unit,
        choices=choices,
        problem=problems.get(name, ""),
    )  # fmt: skip


def with_own(url: str, own: Mapping[str, str], **changes: str) -> str:
    """The address of this page for a calculator's state and the search's own fields, some changed."""
    changed = {**own, **changes}
    pairs = [(name, changed[name]) for name in OWN if changed.get(name)]
    if not pairs:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode(pairs, safe=',')}"
