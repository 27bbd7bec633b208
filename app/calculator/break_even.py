"""What is unaffordable, and by how much: the values at which a refused choice would cost no more.

Every answer is found by asking `evaluate` again and again: bisection, no second formula.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.calculator.balancing import even_split
from app.calculator.cluster import Cluster
from app.calculator.constants import Constants
from app.calculator.enumeration import divisors
from app.calculator.estimate import Estimates, evaluate, legal_mask
from app.calculator.layout import Layout, Layouts
from app.calculator.memory import peak_bytes
from app.calculator.model import Model
from app.calculator.training import Training
from app.calculator.units import format_count, format_gib, format_percent

BUBBLE_FRACTION = 0.10
HIDDEN_FRACTION = 0.05  # of the step: traffic that makes up less is called hidden
MOST_MICRO_BATCHES = 2**20
MOST_MICRO_BATCH_SIZE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A layout and everything it stands in."""

    model: Model
    cluster: Cluster
    training: Training
    layout: Layout
    constants: Constants

    def told(self, *layouts: Layout, batch: int | None = None, cluster: Cluster | None = None) -> Estimates:
        """These layouts worked out for time; memory is left aside."""
        training = self.training if batch is None else replace(self.training, global_batch_size=batch)
        columns = Layouts.of(*layouts)
        no_peak = np.zeros(len(columns))
        return evaluate(self.model, cluster or self.cluster, training, columns, self.constants, peak=no_peak)

    def is_legal(self, layout: Layout, batch: int) -> bool:
        """Whether every rule holds with this batch."""
        training = replace(self.training, global_batch_size=batch)
        return bool(legal_mask(self.model, self.cluster, training, Layouts.of(layout))[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A value in SI units at which something tips; None where nothing does, and `says` tells why."""

    question: str
    value: float | None
    unit: str
    now: float | None
    says: str
    numbers: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """In the words of the API."""
        return {
            "question": self.question,
            "value": self.value,
            "unit": self.unit,
            "now": self.now,
            "says": self.says,
            **self.numbers,
        }


def others(asked: Asked) -> dict[str, Found]:
    """What the bubble, the gradients' traffic and the memory would take."""
    return {
        "micro_batches_for_bubble": micro_batches_for_bubble(asked),
        "batch_that_hides_gradients": batch_that_hides_gradients(asked),
        "memory_for_fewer_stages": memory_for_fewer_stages(asked),
    }


def resized(asked: Asked, width: int, stages: int, copies: int) -> Layout:
    """The layout with other sizes; chunks and a stated split stay only where they can."""
    layout = asked.layout
    same = stages == layout.pipeline_parallel
    chunks = layout.virtual_pipeline_stages
    layers = asked.model.total_layers
    even = stages > 1 and layers % (stages * chunks) == 0
    split = even_split(layers, stages) if layers % stages and layers >= stages else None
    plain = Layout().schedule
    return replace(
        layout,
        tensor_parallel=width,
        pipeline_parallel=stages,
        data_parallel=copies,
        layers_per_stage=layout.layers_per_stage if same else split,
        virtual_pipeline_stages=chunks if same or even else 1,
        schedule=layout.schedule if same or even or chunks == 1 else plain,
        expert_parallel=math.gcd(layout.expert_parallel, copies * layout.context_parallel),
    )


def _least(good: Callable[[int], bool], most: int) -> int | None:
    """The least whole number for which `good` holds, where it holds from some number on."""
    high = 1
    while not good(high):
        if high >= most:
            return None
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def micro_batches_for_bubble(asked: Asked, fraction: float = BUBBLE_FRACTION) -> Found:
    """The fewest micro-batches with which the schedule's own bubble is under `fraction`."""
    layout = asked.layout
    question = f"How many micro-batches make the bubble smaller than {format_percent(fraction, 0)}?"
    unit = layout.micro_batch_size * layout.data_parallel
    now = asked.training.global_batch_size // unit
    p = layout.pipeline_parallel
    if p == 1:
        says = "One stage has no bubble."
        return Found(question=question, value=1, unit="micro-batches", now=now, says=says)
    rounds = p if layout.virtual_pipeline_stages > 1 else 1

    def bubble(rounds_of: int) -> float:
        return float(asked.told(layout, batch=rounds_of * rounds * unit).time.bubble_fraction[0])

    found = _least(lambda count: bubble(count) < fraction, MOST_MICRO_BATCHES)
    if found is None:
        says = "No number of micro-batches does."
        return Found(question=question, value=None, unit="micro-batches", now=now, says=says)
    value = found * rounds
    says = (
        f"{value:,} micro-batches on {p} stages, a batch of {value * unit:,} sequences with these copies;"
        f" now there are {now:,}."
    )
    numbers = {"global_batch_size": value * unit, "bubble_fraction": bubble(found)}
    return Found(question=question, value=value, unit="micro-batches", now=now, says=says, numbers=numbers)


def batch_that_hides_gradients(asked: Asked, fraction: float = HIDDEN_FRACTION) -> Found:
    """The smallest batch with which waiting for data-parallel traffic is at most `fraction` of the step.

    First with more micro-batches; where that does not help (traffic for every micro-batch), with larger ones.
    """
    layout = asked.layout
    share_words = format_percent(fraction, 0)
    question = f"What batch leaves at most {share_words} of the step waiting for gradient traffic?"
    unit = layout.micro_batch_size * layout.data_parallel
    rounds = layout.pipeline_parallel if layout.virtual_pipeline_stages > 1 else 1
    now = asked.training.global_batch_size
    shown: dict[str, Any] = {"question": question, "unit": "sequences", "now": now}
    if layout.data_parallel * layout.context_parallel == 1:
        return Found(**shown, value=now, says="There is one copy: no gradients are exchanged.")

    def waits(one: Layout, batch: int) -> float:
        time = asked.told(one, batch=batch).time
        return float(time.data_parallel_s[0] / time.step_s[0])

    share = waits(layout, now)
    numbers: dict[str, Any] = {"waiting_fraction": share, "micro_batch_size": layout.micro_batch_size}
    told = f"Now {format_percent(share)} of the step waits for it."
    count = _least(lambda times: waits(layout, times * rounds * unit) <= fraction, 2**14)
    if count is not None:
        value = count * rounds * unit
        tokens = format_count(float(value) * asked.training.seq_length)
        several = "one micro-batch" if count * rounds == 1 else f"{count * rounds:,} micro-batches"
        dealt = f"{several} of {layout.micro_batch_size} to a copy"
        says = f"{value:,} sequences ({tokens} tokens), {dealt}. {told}"
        return Found(**shown, value=value, says=says, numbers=numbers)
    m = max(rounds, now // unit)
    larger = _least(
        lambda size: (
            waits(replace(layout, micro_batch_size=size), size * m * layout.data_parallel) <= fraction
        ),
        MOST_MICRO_BATCH_SIZE,
    )
    if larger is None:
        says = f"{told} No batch hides it: it comes again with every micro-batch."
        return Found(**shown, value=None, says=says, numbers=numbers)
    value = larger * m * layout.data_parallel
    says = (
        f"{told} It comes with every micro-batch, so more of them do not help; micro-batches of {larger:,}"
        f" would, a batch of {value:,} sequences, memory aside."
    )
    return Found(**shown, value=value, says=says, numbers=numbers | {"micro_batch_size": larger})


def memory_for_fewer_stages(asked: Asked) -> Found:
    """The device memory with which the next shallower pipeline of the same width would fit."""
    layout, cluster = asked.layout, asked.cluster
    question = "How much memory would a device need for fewer stages?"
    now = cluster.device.memory_bytes
    shown: dict[str, Any] = {"question": question, "unit": "bytes", "now": now}
    if layout.pipeline_parallel == 1:
        return Found(**shown, value=None, says="There is one stage: no fewer are possible.")
    inner = layout.tensor_parallel * layout.context_parallel
    shallower = _shallower(asked, inner)
    if shallower is None:
        return Found(**shown, value=None, says="No shallower pipeline is legal.")
    unit = shallower.micro_batch_size * shallower.data_parallel
    batch = max(unit, asked.training.global_batch_size // unit * unit)
    training = replace(asked.training, global_batch_size=batch)
    needed = float(peak_bytes(asked.model, training, Layouts.of(shallower))[0])
    value = needed + cluster.device.reserved_bytes
    stages = shallower.pipeline_parallel
    said = "one stage" if stages == 1 else f"{stages} stages"
    usable = format_gib(cluster.usable_bytes)
    word = "they already have that" if needed <= cluster.usable_bytes else f"now {usable} are usable"
    says = f"With {said} the fullest device holds {format_gib(needed)}; {word}."
    if batch != asked.training.global_batch_size:
        says += (
            f" Its copies are dealt a batch of {batch:,}: {asked.training.global_batch_size:,}"
            f" does not divide over {shallower.data_parallel:,}."
        )
    numbers = {"pipeline_parallel": stages, "peak_bytes": needed, "global_batch_size": batch}
    return Found(**shown, value=value, says=says, numbers=numbers)


def _shallower(asked: Asked, inner: int) -> Layout | None:
    smaller: Sequence[int] = divisors(
        max(1, asked.cluster.num_gpus // inner), asked.layout.pipeline_parallel - 1
    )
    for stages in reversed(smaller):
        copies = asked.cluster.num_gpus // (inner * stages)
        one = resized(asked, asked.layout.tensor_parallel, stages, copies)
        unit = one.micro_batch_size * copies * (stages if one.virtual_pipeline_stages > 1 else 1)
        batch = max(unit, asked.training.global_batch_size // unit * unit)
        if asked.cluster.num_gpus % (inner * stages) == 0 and asked.is_legal(one, batch):
            return one
    return None
