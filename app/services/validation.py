"""`meshwright validate`: predictions beside what published runs report, row by row and source by source."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any

from app.calculator.accuracy import expected_error_fraction
from app.calculator.estimate import evaluate, fit_of
from app.calculator.flop import model_flop
from app.calculator.layout import Layouts
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.catalog.published import Row, published_rows
from app.services.inputs import Inputs
from app.services.published import RowError, inputs_of, reported_step_s

POOLED = "sources of fewer than 5 rows"
SMALL = 5
APART = ("Narayanan et al. 2021 Table 2 (ZeRO-3 without MP)",)
# Regression guard: what was reached, with a little air. `validate` fails beyond it.
GUARD_IN_SAMPLE = 0.037
GUARD_FOLDS = 0.051
GUARD_SOURCE_LEFT_OUT = 0.063
ROW_LIMIT = 0.30  # beyond this a row needs a written reason
# The start of a row's id → why no honest model hits it.
EXPLAINED: Mapping[str, str] = {
    "narayanan21_t2_zero3": "ZeRO-3 of 2021: its time hardly changes from 384 to 1,536 devices, as if one "
    "adapter of a node carried all data-parallel traffic; an implementation, not physics",
    "vtrain_measured_multi_node_": "two tensor ranks with a deep pipeline take about 0.2 s longer per "
    "micro-batch whatever its size, while 1, 4 and 8 do not: no cause in the layout",
    "vtrain_measured_single_node_": "the time of one layer in this table jumps with micro-batch and tensor "
    "ranks without order, alike for every depth and pipeline: noise of its profiles",
    "mpt_70b_a100_40gb_64gpu": "the largest batch that fits: allocator retries are likely, a memory cliff",
    "bloom_prequel_18B": "measured twice, 9 % apart",
    "deepseek_v3_": "its framework hides the all-to-alls behind both directions of its pipeline and sends a "
    "token once to a node, whatever experts it visits there; ours does neither",
    "mcore_weak_": "micro-batch, chunks and recomputation are not stated: predicted with defaults",
    "nemotron4_340b_prod": "figures from general knowledge by its own note; recomputation is not stated",
    "titan_70b_256_2D": "its sequence length is assumed; no other cause was found",
    "titan2506_8b_64_float8": "its sequence length is assumed; no other cause was found",
    "titan_8b_cp": "ring attention is taken to hide behind attention, which it does up to two ranks; with "
    "four and eight the run was slower",
    "bloom_prequel_177B_h12288_L96_a96": "slow that day although its head width is aligned; the same layout "
    "with other heads is 20 % faster",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """One run beside its prediction. Errors are signed: positive means predicted too slow."""

    id: str
    source: str
    core: bool
    predicted_step_s: float | None
    reported_step_s: float | None
    null_step_s: float | None
    predicted_memory_bytes: float | None
    reported_memory_bytes: float | None
    expected_error_fraction: float | None = None  # the band that stands beside such a prediction
    fits: str = ""  # yes, borderline or no; empty where the row cannot be asked
    ran_out_of_memory: bool = False
    ran: bool = False  # and said what its memory depends on: micro-batch and recomputation
    problem: str = ""

    @property
    def signed_error(self) -> float | None:
        """predicted/reported − 1 of the step time."""
        return _error(self.predicted_step_s, self.reported_step_s)

    @property
    def null_error(self) -> float | None:
        """The same for one constant utilization."""
        return _error(self.null_step_s, self.reported_step_s)

    @property
    def reason(self) -> str:
        """Why the row is off, where that is known."""
        return next((why for start, why in EXPLAINED.items() if self.id.startswith(start)), "")

    @property
    def is_off(self) -> bool:
        """Whether the row is so far off that it needs a reason."""
        return self.signed_error is not None and abs(self.signed_error) > ROW_LIMIT

    def to_json(self) -> dict[str, Any]:
        """In the words of `meshwright validate --json`."""
        return {
            "id": self.id,
            "source": self.source,
            "core": self.core,
            "predicted_step_s": self.predicted_step_s,
            "reported_step_s": self.reported_step_s,
            "signed_error": self.signed_error,
            "null_step_s": self.null_step_s,
            "null_signed_error": self.null_error,
            "expected_error_fraction": self.expected_error_fraction,
            "predicted_memory_bytes": self.predicted_memory_bytes,
            "reported_memory_bytes": self.reported_memory_bytes,
            "fits": self.fits or None,
            "ran": self.ran,
            "ran_out_of_memory": self.ran_out_of_memory,
            "reason": self.reason if self.is_off else "",
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """All rows, the mean absolute error of every source group, and what fails."""

    rows: tuple[RowResult, ...]
    groups: Mapping[str, tuple[int, float, float]]  # group → rows, our error, the null model's
    mean: float | None
    null_mean: float | None
    failures: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """`{"rows": […], "means": {…}}`."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "means": {
                "groups": {
                    name: {"rows": count, "mean_absolute_error": ours, "null_mean_absolute_error": null}
                    for name, (count, ours, null) in self.groups.items()
                },
                "mean_of_groups": self.mean,
                "null_mean_of_groups": self.null_mean,
            },
            "failures": list(self.failures),
        }


def validate(rows: Sequence[Row], *, guard: bool = False) -> Validation:
    """Predict every row and compare. `guard`: fail past what was reached on the product's own rows."""
    results = tuple(result_of(row, number) for number, row in enumerate(rows, start=1))
    counted = [r for r in results if r.core and r.signed_error is not None and r.source not in APART]
    names = groups_of([r.source for r in counted])
    groups = {
        name: _group([r for r, other in zip(counted, names, strict=True) if other == name])
        for name in dict.fromkeys(names)
    }
    mean = _mean([ours for _, ours, _ in groups.values()])
    return Validation(
        rows=results,
        groups=groups,
        mean=mean,
        null_mean=_mean([null for _, _, null in groups.values()]),
        failures=tuple(_failures(results, mean) if guard else ()),
    )


def groups_of(sources: Sequence[str]) -> list[str]:
    """The group of each run: its whole source string; sources of fewer than five rows are one pool."""
    counts = Counter(sources)
    return [source if counts[source] >= SMALL else POOLED for source in sources]


def _group(rows: Sequence[RowResult]) -> tuple[int, float, float]:
    ours = [abs(r.signed_error) for r in rows if r.signed_error is not None]
    null = [abs(r.null_error) for r in rows if r.null_error is not None]
    return len(rows), _mean(ours) or 0.0, _mean(null) or 0.0


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _error(predicted: float | None, reported: float | None) -> float | None:
    return None if predicted is None or not reported else predicted / reported - 1


def _failures(rows: Sequence[RowResult], mean: float | None) -> list[str]:
    found = [
        f"{r.id}: {100 * error:+.0f} %, beyond ±{100 * ROW_LIMIT:.0f} % without a written reason"
        for r in rows
        if r.core and r.is_off and (error := r.signed_error) is not None and not r.reason
    ]
    if mean is not None and mean > GUARD_IN_SAMPLE:
        found.append(f"mean of the source groups {100 * mean:.2f} %, beyond {100 * GUARD_IN_SAMPLE:.2f} %")
    return found + [f"{r.id}: {r.problem}" for r in rows if r.core and r.problem]


def result_of(row: Row, number: int = 0) -> RowResult:
    """One row's prediction; a row that cannot be asked says why in `problem`, and is never dropped."""
    name = str(row.get("id") or f"row {number}")
    # A row counts unless it says that it states too little to be compared.
    core = bool(row.get("core", True))
    told: dict[str, Any] = {"id": name, "source": str(row.get("source") or ""), "core": core}
    try:
        inputs = inputs_of(row, load_catalog())
        reported, reported_memory = reported_step_s(row), reported_memory_bytes(row)
        predicted, memory = predict(inputs)
    except RowError as error:
        return RowResult(
            **told,
            predicted_step_s=None,
            reported_step_s=None,
            null_step_s=None,
            predicted_memory_bytes=None,
            reported_memory_bytes=None,
            problem=str(error),
        )
    return RowResult(
        **told,
        predicted_step_s=predicted,
        reported_step_s=reported,
        null_step_s=_null_step_s(inputs, utilization()),
        predicted_memory_bytes=memory,
        reported_memory_bytes=reported_memory,
        fits=fit_of(memory, inputs.cluster.usable_bytes),
        ran_out_of_memory=(failed := bool((row.get("reported") or {}).get("oom"))),
        ran=not failed
        and bool(row.get("recompute") and row.get("micro_batch"))
        and (reported is not None or reported_memory is not None),
        expected_error_fraction=expected_error_fraction(
            inputs.model, inputs.cluster, inputs.training, load_constants()
        ),
    )


def predict(inputs: Inputs) -> tuple[float, float]:
    """(step seconds, bytes on the fullest device): also where today's rules refuse the layout: it ran."""
    estimates = evaluate(
        inputs.model, inputs.cluster, inputs.training, Layouts.of(inputs.layout), load_constants()
    )
    return estimates.time.step_s[0].item(), estimates.peak_bytes[0].item()


def reported_memory_bytes(row: Row) -> float | None:
    """Memory as the row reports it, in the unit it states (GiB or GB). Raises RowError."""
    reported = row.get("reported") or {}
    value = reported.get("memory_gb")
    if not value:
        return None
    try:
        return float(value) * (2**30 if "GiB" in str(reported.get("memory_unit") or "") else 1e9)
    except (TypeError, ValueError) as error:
        raise RowError(f"reported.memory_gb {value!r} is not a number") from error


def _null_step_s(inputs: Inputs, fraction: float) -> float:
    cluster = inputs.cluster
    fp8 = inputs.training.compute_dtype == "fp8" and cluster.device.peak_flops_fp8 > 0
    peak = cluster.device.peak_flops_fp8 if fp8 else cluster.device.peak_flops_bf16
    return model_flop(inputs.model, inputs.training) / (cluster.num_gpus * peak * fraction)


def null_step_s(row: Row) -> float:
    """The null model: the step if every run reached the same utilization. Raises RowError."""
    return _null_step_s(inputs_of(row, load_catalog()), utilization())


@cache
def utilization() -> float:
    """The null model's only constant: the median over sources of their median model FLOP utilization."""
    by_source: dict[str, list[float]] = {}
    for row in published_rows():
        reported = reported_step_s(row) if row.get("core") else None
        if reported is not None and row["source"] not in APART:
            implied = _null_step_s(inputs_of(row, load_catalog()), 1.0) / reported
            by_source.setdefault(row["source"], []).append(implied)
    return median(median(values) for values in by_source.values())
