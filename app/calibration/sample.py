"""The runs that constants are fitted to: predictions by constants, errors by source group."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from app.calculator.constants import Constants, Rates, key_of, table_of
from app.calculator.layout import Column, Layouts
from app.calculator.step_time import step_time_of
from app.calculator.work import Work
from app.calculator.work_build import work_of
from app.calibration.stack import stack
from app.catalog import Catalog
from app.catalog.published import Row
from app.services.inputs import Inputs
from app.services.published import inputs_of, reported_step_s

POOLED = "sources of fewer than 5 rows"
SMALL = 5
# One NIC a node carried all traffic of the ZeRO-3 of 2021: an implementation, not physics (docs/accuracy.md).
APART = ("Narayanan et al. 2021 Table 2 (ZeRO-3 without MP)",)

Key = tuple[str, str]  # a constant's table and key
Transform = Callable[[Work], Work]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Runs with a reported step time, resolved once."""

    rows: tuple[Row, ...]
    work: Work
    keys: Mapping[str, tuple[str, ...]]  # rate → its key, run by run
    reported_s: Column
    sources: tuple[str, ...]
    groups: tuple[str, ...]
    shapes: tuple[str, ...]  # source and model shape: what a fold keeps together
    without: str = ""  # a part of the step left out of predictions, for an ablation

    def __len__(self) -> int:
        return len(self.rows)

    def used(self) -> set[Key]:
        """The constants that some run needs."""
        return {(table_of(name), key) for name, found in self.keys.items() for key in found}


def groups_of(sources: Sequence[str]) -> tuple[str, ...]:
    """The source group of each run: its source, or the pool of sources with few rows."""
    counts = Counter(sources)
    return tuple(source if counts[source] >= SMALL else POOLED for source in sources)


def sample_of(
    rows: Sequence[Row],
    catalog: Catalog,
    constants: Constants,
    *,
    change: Callable[[Inputs], Inputs] = lambda inputs: inputs,
    wanted: Callable[[Row], bool] = lambda row: bool(row.get("core")),
) -> Sample:
    """Resolve the wanted runs; `change` may alter each question (an ablation of the model's shape)."""
    kept, works, asked = [], [], []
    for row in rows:
        if not wanted(row) or row["source"] in APART or reported_step_s(row) is None:
            continue
        inputs = change(inputs_of(row, catalog))
        kept.append(row)
        asked.append(inputs)
        works.append(
            work_of(inputs.model, inputs.cluster, inputs.training, Layouts.of(inputs.layout), constants)
        )
    sources = tuple(str(row["source"]) for row in kept)
    return Sample(
        rows=tuple(kept),
        work=stack(works),
        keys={
            field.name: tuple(key_of(field.name, constants, i.cluster, i.training) for i in asked)
            for field in fields(Rates)
        },
        reported_s=np.array([reported_step_s(row) for row in kept], dtype=np.float64),
        sources=sources,
        groups=groups_of(sources),
        shapes=tuple(f"{row['source']} {_shape(i)}" for row, i in zip(kept, asked, strict=True)),
    )


def _shape(inputs: Inputs) -> str:
    model = inputs.model
    return f"{model.num_layers} {model.hidden_size} {model.num_attention_heads} {model.ffn_hidden_size}"


def predict_s(
    sample: Sample, values: Mapping[Key, float], constants: Constants, transform: Transform | None = None
) -> Column:
    """Predicted step times with some constants replaced."""
    columns: dict[str, Any] = {}
    for name, keys in sample.keys.items():
        table = table_of(name)
        distinct = {
            key: values.get((table, key), constants.find(table, key).value) for key in dict.fromkeys(keys)
        }
        columns[name] = np.array([distinct[key] for key in keys])
    work = replace(sample.work, rates=Rates(**columns))
    time = step_time_of(transform(work) if transform else work)
    return time.step_s - getattr(time, sample.without) if sample.without else time.step_s


def group_errors(sample: Sample, predicted_s: Column, chosen: Column | None = None) -> dict[str, float]:
    """Mean absolute relative error of every source group, over the runs `chosen` (a mask)."""
    errors = np.abs(predicted_s / sample.reported_s - 1)
    mask = np.ones(len(sample), dtype=bool) if chosen is None else chosen.astype(bool)
    result = {}
    for group in dict.fromkeys(sample.groups):
        inside = np.array([name == group for name in sample.groups]) & mask
        if inside.any():
            result[group] = float(errors[inside].mean())
    return result


def mean_of_groups(errors: Mapping[str, float]) -> float:
    """The mean over source groups."""
    return float(np.mean(list(errors.values())))
