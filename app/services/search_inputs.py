"""What somebody wrote about a search → a question for the calculator, or every problem with it.

Beside model, cluster and training: `fixed` (a layout's fields, each a value or a list of values; written
without `fixed` they mean the same), `limits` (names of numbers, each [least, most], null for open),
`batch_range` ([least, most] sequences, instead of one global batch), `objective` and `top`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from app.calculator.enumeration import Space
from app.calculator.fields import BY_PATH, LAYOUT_FIELDS
from app.calculator.layout import RECOMPUTE_NAMES, SCHEDULE_NAMES
from app.calculator.search import OBJECTIVES, Objective, Question
from app.calculator.search_columns import COLUMNS, SHORT_NAMES
from app.catalog import Catalog
from app.services.input_values import InputProblem, did_you_mean, number_of, read_values, shown
from app.services.inputs import InputProblems, Inputs, parse_inputs

OWN = ("fixed", "limits", "batch_range", "objective", "top")
MOST_ROWS, USUAL_ROWS = 1_000, 50
MOST_VALUES = 256  # of one field
MOST_BATCHES = 24
MOST_COMBINATIONS = 500_000  # of values asked for
_BATCH = "training.global_batch_size"
_LISTS = ("layout.layers_per_stage", "layout.rank_order")
_WORDS: Mapping[str, Mapping[str, float]] = {
    "layout.schedule": {name: float(kind) for name, kind in SCHEDULE_NAMES.items()},
    "layout.recompute": {name: float(kind) for name, kind in RECOMPUTE_NAMES.items()},
}
_FIELDS = {field.key: field.path for field in LAYOUT_FIELDS}
Limits = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchInputs:
    """A well-formed search: the question, and the inputs that all its layouts share."""

    inputs: Inputs
    question: Question
    total: int = 0  # layouts there are to look at, where they have been counted


def parse_search(raw: object, catalog: Catalog) -> SearchInputs | InputProblems:
    """Read the verb's object; report all problems, never only the first."""
    if not isinstance(raw, Mapping):
        message = "Expected an object with model, cluster, training, and what is fixed or limited."
        return InputProblems(problems=(InputProblem(field="", message=message),))
    own = {name: raw[name] for name in OWN if raw.get(name) is not None}
    problems: list[InputProblem] = []
    rest, written = _split({key: value for key, value in raw.items() if key not in OWN}, problems)
    fixed = _fixed(own.get("fixed", {}), written, problems)
    values = _values(fixed, problems)
    batches = _several_batches(rest, problems)
    shared = parse_inputs(rest, catalog)
    if isinstance(shared, InputProblems):
        problems += shared.problems
    limits = _limits(own.get("limits", {}), problems)
    batches = batches or _range(own.get("batch_range"), problems)
    objective = _objective(own.get("objective"), len(batches) > 1, problems)
    top = _top(own.get("top"), problems)
    _refuse_too_many(values, problems)
    if problems or isinstance(shared, InputProblems):
        return InputProblems(problems=tuple(problems))
    low, high = limits.pop(_BATCH, (1.0, math.inf))
    batches = [b for b in batches or [shared.training.global_batch_size] if low <= b <= high]
    question = Question(
        model=shared.model,
        cluster=shared.cluster,
        trainings=tuple(replace(shared.training, global_batch_size=batch) for batch in batches),
        spaces=_spaces(values, limits),
        objective=objective,
        limits=limits,
        top=top,
    )
    return SearchInputs(inputs=shared, question=question)


def _split(raw: Mapping[Any, Any], problems: list[InputProblem]) -> tuple[dict[Any, Any], dict[str, Any]]:
    """(what is not of the layout, the layout's fields by path)."""
    rest: dict[Any, Any] = {}
    layout: dict[str, Any] = {}
    for key, value in raw.items():
        if key == "layout" and isinstance(value, Mapping):
            for inner, one in value.items():
                layout[f"layout.{inner}"] = one
        elif (path := _FIELDS.get(key, key)) in BY_PATH and BY_PATH[path].section == "layout":
            layout[path] = value
        elif key == "training" and isinstance(value, Mapping) and "micro_batch_size" in value:
            layout["layout.micro_batch_size"] = value["micro_batch_size"]
            rest[key] = {name: one for name, one in value.items() if name != "micro_batch_size"}
        elif key == "training.micro_batch_size":
            layout["layout.micro_batch_size"] = value
        else:
            rest[key] = value
    return rest, {path: value for path, value in layout.items() if value is not None}


def _fixed(raw: object, written: dict[str, Any], problems: list[InputProblem]) -> dict[str, Any]:
    """Path of a layout's field → its value or values as written."""
    found = {}
    if not isinstance(raw, Mapping):
        problems.append(InputProblem(field="fixed", message=f"{shown(raw)} is not an object of fields."))
        raw = {}
    for key, value in (*written.items(), *raw.items()):
        path = _FIELDS.get(str(key).removeprefix("layout."), "")
        if not path:
            hint = did_you_mean(str(key), list(_FIELDS))
            message = f"a layout has no field of this name.{hint}"
            problems.append(InputProblem(field=f"fixed.{str(key)[:80]}", message=message))
        elif value is not None:
            found[path] = value
    return found


def _values(fixed: Mapping[str, Any], problems: list[InputProblem]) -> dict[str, tuple[Any, ...]]:
    """Path → every value asked for, read by the table of fields."""
    found: dict[str, tuple[Any, ...]] = {}
    for path, written in fixed.items():
        several = _members(path, written)
        if len(several) > MOST_VALUES or not several:
            message = f"{len(several)} values. Write from 1 to {MOST_VALUES}."
            problems.append(InputProblem(field=f"fixed.{path.partition('.')[2]}", message=message))
            continue
        read = [read_values({path: value}) for value in several]
        faults = [
            replace(fault, field=f"fixed.{path.partition('.')[2]}") for _, more in read for fault in more
        ]
        problems += faults
        if not faults:
            words: Mapping[Any, float] = _WORDS.get(path, {})
            told = [values.get(path) for values, _ in read]
            found[path] = tuple(words.get(value, value) for value in told)
    return found


def _members(path: str, written: Any) -> list[Any]:
    """The values of a field that may be one or a list; of a field that is a list, one or a list of lists."""
    if path in _LISTS:
        many = isinstance(written, list | tuple) and any(isinstance(one, list | tuple) for one in written)
        return list(written) if many else [written]
    if isinstance(written, str) and "," in written:
        return [word.strip() for word in written.split(",")]
    return list(written) if isinstance(written, list | tuple) else [written]


def _several_batches(rest: dict[Any, Any], problems: list[InputProblem]) -> list[int]:
    """A list of global batches, taken out of the inputs that all layouts share."""
    training = rest.get("training")
    for place, key in ((rest, "global_batch_size"), (rest, _BATCH), (training, "global_batch_size")):
        if isinstance(place, Mapping) and isinstance(place.get(key), list | tuple):
            several = list(place[key])
            if place is rest:
                del rest[key]
            else:
                rest["training"] = {name: value for name, value in place.items() if name != key}
            read = [read_values({_BATCH: value}) for value in several]
            problems += [fault for _, more in read for fault in more]
            if not 1 <= len(several) <= MOST_BATCHES:
                message = f"{len(several)} batches. Write from 1 to {MOST_BATCHES}."
                problems.append(InputProblem(field=_BATCH, message=message))
            return sorted({values[_BATCH] for values, _ in read if values.get(_BATCH)})
    return []


def _range(raw: object, problems: list[InputProblem]) -> list[int]:
    """Round batches between two: 2^i and 3·2^i, and the two themselves."""
    if raw is None:
        return []
    pair = [number_of(value) for value in raw] if isinstance(raw, list | tuple) else []
    most = int(BY_PATH[_BATCH].maximum or 0)
    whole = [int(value) for value in pair if value is not None and value == int(value)]
    if len(pair) != 2 or len(whole) != 2 or not 1 <= whole[0] <= whole[1] <= most:
        message = (
            f"{_as_written(raw)} is no range. Write [least, most], whole numbers from 1 to {most:,},"
            " the least first."
        )
        problems.append(InputProblem(field="batch_range", message=message))
        return []
    return round_batches(*whole)


def round_batches(low: int, high: int) -> list[int]:
    """Batches to try between two: the ends, 2^i and 3·2^i."""
    round_ones = (factor << power for power in range(40) for factor in (2, 3))
    found = sorted({low, high, *(batch for batch in round_ones if low <= batch <= high)})
    if len(found) <= MOST_BATCHES:
        return found
    step = (len(found) - 1) / (MOST_BATCHES - 1)
    return [found[round(index * step)] for index in range(MOST_BATCHES)]


def _limits(raw: object, problems: list[InputProblem]) -> Limits:
    """Name of a number → (least, most)."""
    if not isinstance(raw, Mapping):
        problems.append(
            InputProblem(field="limits", message=f"{shown(raw)} is not an object of [least, most].")
        )
        return {}
    found: Limits = {}
    for key, value in list(raw.items())[:MOST_VALUES]:
        name = str(key)
        known = name if name in COLUMNS or name == _BATCH else SHORT_NAMES.get(name, "")
        known = _BATCH if name == "global_batch_size" else known
        pair = _pair(value)
        if not known:
            hint = did_you_mean(name, [*SHORT_NAMES, *COLUMNS])
            message = f"no number of an estimate has this name.{hint}"
            problems.append(InputProblem(field=f"limits.{name[:80]}", message=message))
        elif pair is None:
            message = (
                f"{_as_written(value)} is no limit. Write [least, most], the least first,"
                " null for an open end, or one number."
            )
            problems.append(InputProblem(field=f"limits.{name}", message=message))
        else:
            found[known] = pair
    return found


def _as_written(value: object) -> str:
    """A pair with both its ends, so that it can be seen which one is wrong; anything else in short."""
    if isinstance(value, list | tuple) and 1 <= len(value) <= 3:
        return f"[{', '.join('null' if end is None else shown(end) for end in value)}]"
    return shown(value)


def _pair(value: object) -> tuple[float, float] | None:
    if isinstance(value, bool):
        return float(value), float(value)
    if isinstance(value, list | tuple):
        if len(value) != 2:
            return None
        ends = [
            default if end is None else number_of(end)
            for end, default in zip(value, (-math.inf, math.inf), strict=True)
        ]
        if ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            return None
        return float(ends[0]), float(ends[1])
    number = number_of(value)
    return None if number is None else (float(number), float(number))


def _objective(raw: object, many: bool, problems: list[InputProblem]) -> Objective:
    """What to rank by. Steps of different batches cannot be compared: then it is tokens/s."""
    for objective in OBJECTIVES:
        if raw == objective:
            return objective
    if raw is not None:
        hint = did_you_mean(str(raw), list(OBJECTIVES))
        message = f"{shown(raw)} is not known.{hint} Write one of {', '.join(OBJECTIVES)}."
        problems.append(InputProblem(field="objective", message=message))
    return "tokens_per_s" if many else "step_s"


def _top(raw: object, problems: list[InputProblem]) -> int:
    number = USUAL_ROWS if raw is None else number_of(raw)
    if number is None or number != int(number) or not 1 <= number <= MOST_ROWS:
        message = f"{shown(raw)} cannot be used. Write a whole number from 1 to {MOST_ROWS:,}."
        problems.append(InputProblem(field="top", message=message))
        return USUAL_ROWS
    return int(number)


def _refuse_too_many(values: Mapping[str, tuple[Any, ...]], problems: list[InputProblem]) -> None:
    combinations = math.prod(len(several) for several in values.values())
    if combinations > MOST_COMBINATIONS:
        message = f"{combinations:,} combinations of values. At most {MOST_COMBINATIONS:,} can be tried."
        problems.append(InputProblem(field="fixed", message=message))


def _spaces(values: Mapping[str, tuple[Any, ...]], limits: Limits) -> tuple[Space, ...]:
    """One space for each split of layers and rank order that is asked for."""
    plain = {
        path.partition(".")[2]: tuple(float(value) for value in several)
        for path, several in values.items()
        if path not in _LISTS
    }
    bounds = {name.partition(".")[2]: pair for name, pair in limits.items() if name.startswith("layout.")}
    shared = Space(values=plain, bounds=bounds)
    splits: Iterable[Any] = values.get("layout.layers_per_stage", (shared.layers_per_stage,))
    orders: Iterable[Any] = values.get("layout.rank_order", (shared.rank_order,))
    return tuple(
        replace(shared, layers_per_stage=split, rank_order=order) for split, order in product(splits, orders)
    )
