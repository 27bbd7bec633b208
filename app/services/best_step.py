"""After the guess: how far a puzzle's answer is from the best layout that the search finds.

The search may change what the learner may change, and must meet what the puzzle asks for.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from app.calculator.enumeration import DEFAULTS, Space
from app.calculator.fields import LAYOUT_FIELDS
from app.calculator.layout import Schedule
from app.calculator.search import Question, Search
from app.calculator.search_columns import COLUMNS, SHORT_NAMES
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.curriculum.blocks import Item, ItemKind
from app.curriculum.engine import Engine, EngineError
from app.curriculum.extensions import REQUIREMENT
from app.curriculum.grading_puzzle import flat, is_locked, requirements
from app.curriculum.quantities import UNITS, parse_quantity
from app.services.input_write import input_value
from app.services.inputs import Inputs, parse_inputs
from app.services.search_inputs import round_batches
from app.services.searching import worked_out

MOST_CHECKED = 40  # rows that are held to the puzzle's own words
MOST_LAYOUTS = 400_000  # a puzzle with more to try is not searched: the page must not wait
_BATCH = "training.global_batch_size"
_BATCH_NAMES = ("global_batch_size", "batch.global_batch_size", _BATCH)
_PLAIN = tuple(field for field in LAYOUT_FIELDS if field.key not in ("layers_per_stage", "rank_order"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The fastest layout that a puzzle allows."""

    layout: Mapping[str, Any]  # the fields that could be chosen
    step_s: float
    tokens_per_s: float
    global_batch_size: int


def best_step(
    inputs: Mapping[str, Any], locked: Sequence[str], wanted: Sequence[str], engine: Engine
) -> Best | None:
    """The fastest layout under a puzzle's locks and requirements; None where there is none, or too many.

    `inputs` are the puzzle's inputs with an answer in place: what they name and do not lock may change.
    """
    given = flat(inputs)
    chosen = frozenset(path for path in given if not is_locked(path, tuple(locked)))
    fixed = tuple(sorted((path, _kept(value)) for path, value in given.items() if path not in chosen))
    typical = tuple(sorted((path, _kept(given[path])) for path in chosen if not path.startswith("layout.")))
    return _best(fixed, typical, chosen, tuple(wanted), _Engine(engine))


def standing(inputs: Mapping[str, Any], locked: Sequence[str], wanted: Sequence[str], engine: Engine) -> str:
    """Where a legal answer stands, in a sentence; empty where nothing can be said."""
    best = best_step(inputs, locked, wanted, engine)
    try:
        answer = engine.answer("estimate", flat(inputs))
    except EngineError:
        return ""
    if best is None or not answer.get("legal") or not answer.get("throughput"):
        return ""
    slower = best.tokens_per_s / answer["throughput"]["tokens_per_s"] - 1
    if slower <= 0.0005:
        return "No layout that these conditions allow is faster: the search finds none."
    return (
        f"The best layout that these conditions allow, by search, is {100 * slower:.1f} % faster: "
        f"{answer['time']['step_s']:.3g} s a step here"
        + (
            f", {best.step_s:.3g} s there."
            if best.global_batch_size == answer["batch"]["global_batch_size"]
            else f", {best.step_s:.3g} s there with a batch of {best.global_batch_size:,}."
        )
    )


class _Engine:
    """An engine as a part of a key: one is as good as another."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Engine)

    def __hash__(self) -> int:
        return 0


def _kept(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=256)
def _best(
    fixed: tuple[tuple[str, Any], ...],
    typical: tuple[tuple[str, Any], ...],
    chosen: frozenset[str],
    wanted: tuple[str, ...],
    engine: _Engine,
) -> Best | None:
    raw = {path: list(value) if isinstance(value, tuple) else value for path, value in (*fixed, *typical)}
    inputs = parse_inputs(raw, load_catalog())
    if not isinstance(inputs, Inputs):
        return None
    limits, batches = _limits(wanted, chosen, inputs)
    question = Question(
        model=inputs.model,
        cluster=inputs.cluster,
        trainings=tuple(replace(inputs.training, global_batch_size=batch) for batch in batches),
        spaces=(_space(inputs, chosen, dict(fixed)),),
        objective="tokens_per_s",
        limits=limits,
        top=MOST_CHECKED,
        must_fit=any("fits" in text for text in wanted),
    )
    search = Search(question, load_constants())
    if search.total() > MOST_LAYOUTS:
        return None
    item = Item(
        id="search", section="", number=0, kind=ItemKind.CALCULATOR, prompt_html="", prompt_text="", line=0,
        require=wanted,
    )  # fmt: skip
    for row in worked_out(inputs, search.run().best):
        layout = _written(row.inputs, chosen)
        answer = raw | layout | {_BATCH: row.inputs.training.global_batch_size}
        try:
            met = all(one.met for one in requirements(item, answer, engine.engine))
        except EngineError:
            continue
        if met:
            return Best(
                layout=layout,
                step_s=row.numbers["step_s"],
                tokens_per_s=row.numbers["tokens_per_s"],
                global_batch_size=row.inputs.training.global_batch_size,
            )
    return None


def _space(inputs: Inputs, chosen: frozenset[str], fixed: Mapping[str, Any]) -> Space:
    """What may change is free; everything else is as given, or as it is where nobody says anything."""
    values: dict[str, tuple[float, ...]] = {}
    for field in _PLAIN:
        follows = field.key == "data_parallel" and field.path not in fixed
        if field.path in chosen or follows:
            continue
        values[field.key] = (float(getattr(inputs.layout, field.key)),)
    chunks = "layout.virtual_pipeline_stages" in chosen
    if chunks and "layout.schedule" not in fixed and "layout.schedule" not in chosen:
        values["schedule"] = (float(Schedule.ONE_F_ONE_B), float(Schedule.INTERLEAVED))
    if "layout.schedule" in chosen and not chunks and "layout.virtual_pipeline_stages" not in fixed:
        values["schedule"] = tuple(s for s in DEFAULTS["schedule"] if s != Schedule.INTERLEAVED)
    return Space(
        values=values,
        layers_per_stage=inputs.layout.layers_per_stage,
        rank_order=inputs.layout.rank_order,
    )


def _limits(
    wanted: Iterable[str], chosen: frozenset[str], inputs: Inputs
) -> tuple[dict[str, tuple[float, float]], list[int]]:
    """(limits that columns can keep, batches to try); the rest is asked of each row in the puzzle's words."""
    limits: dict[str, tuple[float, float]] = {}
    low, high = 0.0, math.inf
    for text in wanted:
        match = REQUIREMENT.fullmatch(text)
        typed = parse_quantity(match[3]) if match else None
        if match is None or typed is None:
            continue
        name, number = match[1], typed.number * (UNITS[typed.unit][1] if typed.unit else 1.0)
        least = number if match[2] in (">=", ">", "==") else -math.inf
        most = number if match[2] in ("<=", "<", "==") else math.inf
        known = name if name in COLUMNS else SHORT_NAMES.get(name, "")
        if name in _BATCH_NAMES:
            low, high = max(low, least), min(high, most)
        elif known and match[2] != "!=":
            slack = 1e-9 * abs(number)
            before = limits.get(known, (-math.inf, math.inf))
            limits[known] = (max(before[0], least - slack), min(before[1], most + slack))
    batch = inputs.training.global_batch_size
    if _BATCH not in chosen or not math.isfinite(high):
        return limits, [batch]
    return limits, round_batches(max(1, math.ceil(max(low, high / 8))), max(1, int(high)))


def _written(inputs: Inputs, chosen: frozenset[str]) -> dict[str, Any]:
    """The layout's fields that were chosen, and the replicas, as somebody would write them."""
    paths = [field.path for field in _PLAIN if field.path in chosen]
    paths += [path for path in ("layout.data_parallel", "layout.schedule") if path not in paths]
    return {path: input_value(inputs, path) for path in paths}
