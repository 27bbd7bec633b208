"""The door for numbers: `evaluate` takes one layout or a million, and answers in columns.

A page, the API and a search read the same columns, so they agree to the last bit.
"""

from dataclasses import dataclass

import numpy as np

from app.calculator.cluster import Cluster
from app.calculator.constants import Constants
from app.calculator.flop import hardware_flop, model_flop
from app.calculator.layout import Column, Layouts
from app.calculator.layout_rules import RULES
from app.calculator.legality import Case, Mask, legal
from app.calculator.memory import BORDERLINE_FRACTION, peak_bytes
from app.calculator.model import Model
from app.calculator.stages import Costs, Pipeline, costs, pipeline
from app.calculator.step_time import TimeColumns, time_of
from app.calculator.training import Training
from app.calculator.work import Work
from app.calculator.work_build import work_of

__all__ = ["Estimates", "evaluate", "fit_of", "legal_mask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """What is known of each layout. All layouts are taken to be legal: see `legal_mask`."""

    layouts: Layouts
    work: Work
    cost: Costs
    line: Pipeline
    peak_bytes: Column
    usable_bytes: float
    time: TimeColumns
    model_flop_per_step: float
    hardware_flop_per_step: Column
    tokens_per_step: float
    peak_flop_per_s: float
    num_gpus: float

    def __len__(self) -> int:
        return len(self.layouts)

    @property
    def headroom_bytes(self) -> Column:
        """Usable memory that the fullest stage leaves free; below zero where it does not fit."""
        return self.usable_bytes - self.peak_bytes

    @property
    def fitting(self) -> Mask:
        """Where the fullest stage is inside the usable memory."""
        return self.peak_bytes <= self.usable_bytes

    @property
    def tokens_per_s(self) -> Column:
        """Tokens of all devices together, each second."""
        return self.tokens_per_step / self.time.step_s

    @property
    def model_flop_per_s_per_gpu(self) -> Column:
        """Useful FLOP of one device, each second."""
        return self.model_flop_per_step / (self.time.step_s * self.num_gpus)

    @property
    def hardware_flop_per_s_per_gpu(self) -> Column:
        """FLOP of one device with what is recomputed, each second."""
        return self.hardware_flop_per_step / (self.time.step_s * self.num_gpus)

    @property
    def mfu(self) -> Column:
        """Model FLOP utilization, a fraction of the device's peak in the type of the matrix products."""
        return self.model_flop_per_s_per_gpu / self.peak_flop_per_s

    @property
    def hfu(self) -> Column:
        """Hardware FLOP utilization: recompute counted."""
        return self.hardware_flop_per_s_per_gpu / self.peak_flop_per_s


def legal_mask(model: Model, cluster: Cluster, training: Training, layouts: Layouts) -> Mask:
    """Which layouts keep every rule."""
    return legal(RULES, Case(model=model, cluster=cluster, training=training, layouts=layouts))


def evaluate(
    model: Model,
    cluster: Cluster,
    training: Training,
    layouts: Layouts,
    constants: Constants,
    *,
    peak: Column | None = None,
) -> Estimates:
    """Memory, time and rates of every layout. `peak` is the fullest stage's bytes, where it is known already.

    Illegal layouts give numbers that mean nothing: filter them first.
    """
    fp8 = training.compute_dtype == "fp8" and cluster.device.peak_flops_fp8 > 0
    work = work_of(model, cluster, training, layouts, constants)
    cost = costs(work)
    line = pipeline(work, cost)
    return Estimates(
        layouts=layouts,
        work=work,
        cost=cost,
        line=line,
        peak_bytes=peak_bytes(model, training, layouts) if peak is None else peak,
        usable_bytes=cluster.usable_bytes,
        time=time_of(work, cost, line),
        model_flop_per_step=model_flop(model, training),
        hardware_flop_per_step=hardware_flop(model, training, layouts),
        tokens_per_step=float(training.global_batch_size) * training.seq_length,
        peak_flop_per_s=cluster.device.peak_flops_fp8 if fp8 else cluster.device.peak_flops_bf16,
        num_gpus=float(cluster.num_gpus),
    )


def fit_of(peak_bytes: float, usable_bytes: float) -> str:
    """yes, no, or borderline: within 5 % of the usable memory, closer than a calculation can tell."""
    if abs(peak_bytes - usable_bytes) <= BORDERLINE_FRACTION * usable_bytes:
        return "borderline"
    return "yes" if peak_bytes < usable_bytes else "no"


def stage_numbers(layouts: Layouts) -> tuple[Layouts, Column]:
    """One layout repeated for each of its stages, and the stages' numbers."""
    count = int(layouts.pipeline_parallel[0])
    return layouts.take(np.zeros(count, dtype=np.int64)), np.arange(float(count))
