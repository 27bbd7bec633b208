"""Many different steps as one: every number of `Work` becomes a column with a value per published run."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from app.calculator.constants import Rates
from app.calculator.work import Attention, LayerKind, Linear, Work

# Padding for models with fewer layers or cores than others: no work, no weights, no divisor of zero.
_NO_LINEAR = Linear(inputs=0.0, outputs=0.0)
_NO_ATTENTION = Attention(
    heads=0.0,
    score_dim=8.0,
    value_dim=8.0,
    keys=0.0,
    visible_fraction=1.0,
    counted_keys=0.0,
    kv_width=0.0,
)


def stack(works: Sequence[Work]) -> Work:
    """One `Work` of columns from many of one layout each. The rates are stacked too.

    Stated splits go by their first, fullest and last stage: those of published runs have no others.
    """
    found: Work = _stack([replace(work, stated_layers=()) for work in works])
    return found


def _stack(items: Sequence[Any]) -> Any:
    kind = type(items[0])
    if kind in (Work, LayerKind, Linear, Attention, Rates):
        return kind(**{f.name: _stack([getattr(item, f.name) for item in items]) for f in fields(kind)})
    if kind is tuple and not any(items):
        return ()
    if kind is tuple:
        filler = _NO_LINEAR if isinstance(items[0][0], Linear) else _NO_ATTENTION
        longest = max(len(item) for item in items)
        padded = [list(item) + [filler] * (longest - len(item)) for item in items]
        return tuple(_stack([item[place] for item in padded]) for place in range(longest))
    return np.array([np.asarray(item, dtype=np.float64).reshape(-1)[0] for item in items])
