"""What the advisor chooses between: layouts worked out by `evaluate`, and the batch that each would have.

Bookkeeping is what divides no matrix and no depth: the ZeRO stage, recompute, sequence parallelism and the
spread of experts. For each width, depth and micro-batch the engine tries all of it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from app.calculator.balancing import even_split
from app.calculator.cluster import Cluster
from app.calculator.constants import Constants
from app.calculator.enumeration import divisors
from app.calculator.estimate import evaluate, fit_of, legal_mask
from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.memory import BORDERLINE_FRACTION
from app.calculator.model import Model
from app.calculator.training import Training

SEVERAL = 4  # micro-batches for each stage: what "several times the stages" is taken to mean
LARGEST_MICRO_BATCH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRange:
    """Global batches, in sequences, that the recipe's owner accepts."""

    least: int = 1
    most: float = math.inf

    @property
    def free(self) -> bool:
        """Whether nothing bounds the batch from above."""
        return math.isinf(self.most)

    @property
    def fixed(self) -> bool:
        """Whether it is one number."""
        return self.least == self.most

    def batch(self, unit: int, wanted: int) -> int | None:
        """The multiple of `unit` in the range that comes to `wanted` with the fewest sequences; else the
        largest there is; None where the range holds no multiple.
        """
        low = -(-max(self.least, wanted) // unit) * unit
        if low <= self.most:
            return low
        high = int(self.most // unit) * unit
        return high if high >= max(self.least, unit) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is to be trained on what. `fixed` names the layout's fields that somebody decided themselves."""

    model: Model
    cluster: Cluster
    training: Training
    base: Layout
    batches: BatchRange
    constants: Constants
    fixed: frozenset[str] = field(default_factory=frozenset)
    spare_fraction: float = BORDERLINE_FRACTION  # of the usable memory that a layout must leave

    def copies(self, tensor: int, stages: int) -> int:
        """Replicas that fill the cluster; 0 where it cannot be filled."""
        rest, left_over = divmod(self.cluster.num_gpus, tensor * stages * self.base.context_parallel)
        return 0 if left_over else rest

    @property
    def chunks_decided(self) -> bool:
        """Whether several chunks a device were decided: there must be a pipeline then."""
        return "virtual_pipeline_stages" in self.fixed and self.base.virtual_pipeline_stages > 1

    def micro_batch(self) -> int:
        """The micro-batch that memory is judged with: the smallest, or the one that was decided."""
        return self.base.micro_batch_size if "micro_batch_size" in self.fixed else 1

    def fits(self, option: "Option") -> bool:
        """Whether an option leaves the spare memory that is asked for."""
        return option.peak_bytes <= option.usable_bytes * (1 - self.spare_fraction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A layout with its batch and what it comes to."""

    layout: Layout
    global_batch_size: int
    peak_bytes: float
    usable_bytes: float
    step_s: float
    tokens_per_s: float
    bubble_fraction: float
    tensor_parallel_s: float
    data_parallel_s: float

    @property
    def num_micro_batches(self) -> int:
        """m = B / (b·d)."""
        return self.global_batch_size // (self.layout.micro_batch_size * self.layout.data_parallel)

    def to_json(self) -> dict[str, Any]:
        """Its numbers, for tables and for the API."""
        return {
            "peak_bytes": self.peak_bytes,
            "headroom_bytes": self.usable_bytes - self.peak_bytes,
            "fits": fit_of(self.peak_bytes, self.usable_bytes),
            "step_s": self.step_s,
            "tokens_per_s": self.tokens_per_s,
            "bubble_fraction": self.bubble_fraction,
            "global_batch_size": self.global_batch_size,
            "num_micro_batches": self.num_micro_batches,
            **kept(self.layout),
        }


def kept(layout: Layout) -> dict[str, Any]:
    """The bookkeeping of a layout, in the words of the API."""
    return {
        "zero_stage": layout.zero_stage,
        "recompute": layout.recompute.name.lower(),
        "sequence_parallel": layout.sequence_parallel,
        "expert_parallel": layout.expert_parallel,
    }


def worked_out(situation: Situation, layouts: Sequence[Layout], batch: int) -> list[Option]:
    """The legal ones among these layouts, worked out. They must share `layers_per_stage`."""
    if not layouts:
        return []
    model, cluster = situation.model, situation.cluster
    training = replace(situation.training, global_batch_size=batch)
    columns = Layouts.of(*layouts)
    holds = np.flatnonzero(legal_mask(model, cluster, training, columns))
    if not len(holds):
        return []
    told = evaluate(model, cluster, training, columns.take(holds), situation.constants)
    time = told.time
    return [
        Option(
            layout=layouts[int(index)],
            global_batch_size=batch,
            peak_bytes=float(told.peak_bytes[row]),
            usable_bytes=float(told.usable_bytes),
            step_s=float(time.step_s[row]),
            tokens_per_s=float(told.tokens_per_s[row]),
            bubble_fraction=float(time.bubble_fraction[row]),
            tensor_parallel_s=float(time.tensor_parallel_s[row]),
            data_parallel_s=float(time.data_parallel_s[row]),
        )
        for row, index in enumerate(holds)
    ]


def with_bookkeeping(situation: Situation, layout: Layout, zero_stages: Iterable[int]) -> list[Layout]:
    """The layout with every bookkeeping that is left open."""
    base, fixed = situation.base, situation.fixed
    replicas = layout.context_parallel * layout.data_parallel
    sharding = tuple(zero_stages) if replicas > 1 else (0,)
    experts = tuple(e for e in divisors(situation.model.num_experts) if replicas % e == 0)
    choices: dict[str, tuple[Any, ...]] = {
        "zero_stage": sharding,
        "recompute": tuple(Recompute),
        "sequence_parallel": (False, True) if layout.tensor_parallel > 1 else (False,),
        "expert_parallel": experts if situation.model.is_moe else (1,),
    }
    choices = {name: (getattr(base, name),) if name in fixed else c for name, c in choices.items()}
    return [
        replace(layout, **dict(zip(choices, values, strict=True))) for values in product(*choices.values())
    ]


def layout_of(situation: Situation, tensor: int, stages: int, micro_batch: int, chunks: int = 1) -> Layout:
    """A layout of these sizes that fills the cluster; equal stages, or as equal as the layers allow."""
    base = situation.base
    layers = situation.model.total_layers
    split = base.layers_per_stage if "layers_per_stage" in situation.fixed else None
    if split is None and layers % (stages * chunks):
        split = even_split(layers, stages * chunks)
    return replace(
        base,
        tensor_parallel=tensor,
        pipeline_parallel=stages,
        data_parallel=max(1, situation.copies(tensor, stages)),
        virtual_pipeline_stages=chunks,
        schedule=schedule_of(situation, chunks),
        micro_batch_size=micro_batch,
        layers_per_stage=split,
    )


def schedule_of(situation: Situation, chunks: int) -> Schedule:
    """The order of work: as decided, else 1F1B, interleaved where there are chunks."""
    if "schedule" in situation.fixed:
        return situation.base.schedule
    return Schedule.INTERLEAVED if chunks > 1 else Schedule.ONE_F_ONE_B


def judged(
    situation: Situation, tensor: int, stages: int, zero_stages: Iterable[int], chunks: int = 1
) -> list[Option]:
    """A width and a depth with every bookkeeping, for memory: at the smallest micro-batch and a batch that
    divides, whether or not the recipe takes that batch.
    """
    if not situation.copies(tensor, stages) or stages > situation.model.total_layers:
        return []
    layout = layout_of(situation, tensor, stages, situation.micro_batch(), chunks)
    unit = layout.micro_batch_size * layout.data_parallel
    batch = situation.batches.batch(unit, SEVERAL * stages * unit)
    if batch is None:
        batch = max(unit, int(min(situation.batches.most, SEVERAL * stages * unit) // unit) * unit)
    return worked_out(situation, with_bookkeeping(situation, layout, zero_stages), batch)


def best(situation: Situation, options: Sequence[Option]) -> Option | None:
    """The fastest option that fits, per token."""
    fitting = [option for option in options if situation.fits(option)]
    return max(fitting, key=lambda option: option.tokens_per_s, default=None)


def nearest(situation: Situation, options: Sequence[Option]) -> Option | None:
    """The best of them, or the one that misses by least."""
    return best(situation, options) or min(options, key=lambda option: option.peak_bytes, default=None)


def sharding_stages(stages: int) -> tuple[int, ...]:
    """ZeRO stages that are tried beside a cut: with a pipeline only the optimizer's states.

    Stages 2 and 3 would reduce gradients and gather weights for every micro-batch of a pipeline; stage 3 of
    a whole model is the alternative to a cut. Source: Rajbhandari et al. 2020, section 7; DeepSpeed refuses
    both with its pipeline engine.
    """
    return (0, 1) if stages > 1 else (0, 1, 2)
