"""The broken rules of one layout, each with its numbers and the nearest values that would keep it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from app.calculator.cluster import NO_BF16
from app.calculator.fields import BY_PATH
from app.calculator.layout import Column
from app.calculator.layout_rules import RULES
from app.calculator.legality import Case, Rule

_SEARCHED = 4_096  # values of a field that are tried
_WORLD_AXES = ("tensor_parallel", "pipeline_parallel", "context_parallel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a layout breaks. `nearest_legal`: values of `field` that keep this rule, others
    unchanged.
    """

    code: str
    field: str
    message: str
    dividend: int
    divisor: int
    remainder: int
    rule_of: str
    nearest_legal: tuple[int | bool | str, ...]

    def to_json(self) -> dict[str, Any]:
        """As in the API's answer."""
        return asdict(self) | {"nearest_legal": list(self.nearest_legal)}


def violations(case: Case, rules: tuple[Rule, ...] = RULES) -> list[Violation]:
    """Every broken rule of a case with one layout, in the order of the rules."""
    return [_violation(rule, case) for rule in rules if _first(rule.remainder(case)) != 0]


def _first(value: Column | float) -> int:
    """The number of the only layout."""
    return int(np.asarray(value, dtype=np.float64).reshape(-1)[0])


def _violation(rule: Rule, case: Case) -> Violation:
    dividend, divisor = _first(rule.dividend(case)), _first(rule.divisor(case))
    remainder = _first(rule.remainder(case))
    field, nearest = _nearest(rule, case)
    message = rule.message.format(
        dividend=f"{dividend:,}", divisor=f"{divisor:,}", remainder=f"{remainder:,}"
    )
    return Violation(
        code=rule.code,
        field=field,
        message=message[0].upper() + message[1:] + "." + _advice(field, nearest),
        dividend=dividend,
        divisor=divisor,
        remainder=remainder,
        rule_of=rule.rule_of,
        nearest_legal=nearest,
    )


def _advice(field: str, nearest: tuple[int | bool | str, ...]) -> str:
    if field == "layout.layers_per_stage":
        return " Change the list, or leave it out for equal stages."
    if not nearest:
        return ""
    values = " or ".join(f"{v:,}" if type(v) is int else str(v).lower() for v in nearest)
    return f" Nearest {field.partition('.')[2]}: {values}."


def _nearest(rule: Rule, case: Case) -> tuple[str, tuple[int | bool | str, ...]]:
    """The field to change and its nearest values below and above that keep the rule."""
    section, _, name = rule.field.partition(".")
    if rule.code == "world_size_not_divisible":
        return _nearest_axis(rule, case)
    if rule.code == "world_size_not_met":
        rest = case.cluster.num_gpus * case.layouts.data_parallel / case.layouts.world_size
        return rule.field, (_first(rest),)
    if name == "sequence_parallel":
        return rule.field, (True,)
    if name == "compute_dtype":
        return rule.field, ("fp16",) if case.cluster.device.generation in NO_BF16 else ("bf16", "fp16")
    if section == "training":
        return rule.field, _nearest_multiples(rule, case)
    return rule.field, () if name == "layers_per_stage" else _nearest_values(rule, case, name)


def _nearest_axis(rule: Rule, case: Case) -> tuple[str, tuple[int, ...]]:
    """The first axis whose change alone lets the devices be divided; with an odd number of them, how many
    to use.
    """
    for name in _WORLD_AXES:
        values = _nearest_values(rule, case, name)
        if values:
            return f"layout.{name}", values
    cluster, step = case.cluster, _first(rule.divisor(case))
    below = cluster.num_gpus // step * step
    most = cluster.num_nodes * cluster.gpus_per_node
    values = tuple(value for value in (below, below + step) if 0 < value <= most)
    return ("cluster.num_gpus", values) if values else (rule.field, ())


def _nearest_values(rule: Rule, case: Case, name: str) -> tuple[int, ...]:
    """Values of a layout field next to the present one for which the rule holds."""
    now = _first(getattr(case.layouts, name))
    most = min(max(_SEARCHED, 2 * now), int(BY_PATH[f"layout.{name}"].maximum or _SEARCHED))
    tried = np.arange(1.0, most + 1.0)
    layouts = case.layouts.take(np.zeros(len(tried), dtype=np.int64)).with_columns(**{name: tried})
    kept = tried[np.broadcast_to(rule.remainder(replace(case, layouts=layouts)) == 0, tried.shape)]
    return _around(kept, now)


def _around(values: Column, now: int) -> tuple[int, ...]:
    below, above = values[values < now], values[values > now]
    return tuple(int(v[i]) for v, i in ((below, -1), (above, 0)) if len(v))


def _nearest_multiples(rule: Rule, case: Case) -> tuple[int, ...]:
    """Multiples of the divisor next to the batch or sequence length; of a whole round when interleaving."""
    step = _first(rule.divisor(case))
    if rule.code == "interleaving_micro_batches":
        step *= _first(case.layouts.micro_batch_size * case.layouts.data_parallel)
        now = case.training.global_batch_size
    else:
        now = _first(rule.dividend(case))
    below = now // step * step
    return tuple(value for value in (below, below + step) if value > 0)
