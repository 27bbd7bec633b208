"""All layouts of a cluster, as grids: one axis for each thing that varies, so that `evaluate` shares work.

A grid holds the layouts of one pipeline depth. Its last axis is the mesh (tensor, context, data, expert,
micro-batch), the axes before it are schedule and chunks, sequence parallelism, recompute, ZeRO, and what the
question varies besides.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np

from app.calculator.cluster import Cluster
from app.calculator.layout import Column, Layouts, Recompute, Schedule
from app.calculator.layout_rules import DEPTH_RULES, RULES, WIDTH_RULES
from app.calculator.legality import Case, Mask, legal
from app.calculator.model import Model
from app.calculator.training import Training

# What is tried where the question does not say: at least so much, and more for longer or shorter sequences.
WIDEST_CONTEXT, FEWEST_TOKENS = 8, 4_096  # a rank's share of a sequence
LARGEST_MICRO_BATCH, MOST_TOKENS = 32, 65_536  # of a micro-batch
BLOCK = 32_768  # layouts worked out at once: large enough for NumPy, small enough for the cache

# What a mesh can break whatever its schedule, recompute and sharding are.
_SEQUENCE_RULES = tuple(
    rule for rule in RULES if rule.code in ("sequence_not_divisible", "encoder_sequence_not_divisible")
)
_MESH_RULES = tuple(
    rule
    for rule in RULES
    if rule not in (*DEPTH_RULES, *_SEQUENCE_RULES)
    and rule.code not in ("interleaving_micro_batches", "zero_group_not_divisible")
)
_MESH_AXES = ("tensor_parallel", "context_parallel", "expert_parallel", "micro_batch_size", "data_parallel")
DEFAULTS: Mapping[str, tuple[float, ...]] = {
    "schedule": (Schedule.ONE_F_ONE_B, Schedule.INTERLEAVED, Schedule.ZB_H1, Schedule.GPIPE),
    "recompute": (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL),
    "zero_stage": (0, 1, 2, 3),
    "sequence_parallel": (0, 1),
    "overlap_data_parallel": (1,),
    "overlap_tensor_parallel": (0,),
    "zero_group": (0,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Which layouts are looked at: `values` says what a field may be (all that is legal where it is silent);
    `bounds` keeps fields between two values.

    `layers_per_stage` and `rank_order` are one for all layouts.
    """

    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    layers_per_stage: tuple[int, ...] | None = None
    rank_order: tuple[str, ...] = ("tensor", "context", "data", "pipeline")

    def candidates(self, name: str, usual: Sequence[float]) -> tuple[float, ...]:
        """The values of one field, in order and once: as asked, else the usual ones, inside the bounds."""
        low, high = self.bounds.get(name, (-math.inf, math.inf))
        asked = self.values.get(name)
        return tuple(v for v in dict.fromkeys(usual if asked is None else asked) if low <= v <= high)

    def chosen(self, name: str) -> bool:
        """Whether the question says what this field may be."""
        return name in self.values


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Layouts that broadcast. Where `useful` is false a layout only repeats another: it is not counted."""

    layouts: Layouts
    useful: Mask

    @property
    def count(self) -> int:
        """Different layouts in it."""
        repeats = math.prod(self.layouts.shape) // self.useful.size
        return int(np.count_nonzero(self.useful)) * repeats


def divisors(number: int, most: float = math.inf) -> tuple[int, ...]:
    """All divisors up to `most`, rising."""
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return tuple(d for d in dict.fromkeys((*small, *(number // d for d in reversed(small)))) if d <= most)


def largest_micro_batch(training: Training) -> int:
    """The largest micro-batch that is tried where the question does not say, in sequences."""
    return max(LARGEST_MICRO_BATCH, MOST_TOKENS // training.seq_length)


def grids(
    model: Model, cluster: Cluster, training: Training, space: Space, block: int = BLOCK
) -> Iterator[Grid]:
    """Every layout of the space that fills the cluster, the shallow pipelines first."""
    for stages in space.candidates("pipeline_parallel", divisors(cluster.num_gpus)):
        orders = _orders(model, cluster, training, space, stages)
        mesh = _mesh(model, cluster, training, space, stages)
        if not len(orders) or not len(mesh["tensor_parallel"]):
            continue
        switches = _switches(space, orders)
        size = math.prod(len(values) for values in switches.values())
        step = max(1, block // size)
        for start in range(0, len(mesh["tensor_parallel"]), step):
            part = {name: column[start : start + step] for name, column in mesh.items()}
            yield _grid(space, stages, switches, orders, part)


def _orders(model: Model, cluster: Cluster, training: Training, space: Space, stages: float) -> Column:
    """(schedule, chunks) pairs that the layers allow on so many stages, as rows.

    Without stages one order is as good as another: only 1F1B is tried, unless the question names some.
    """
    usual = DEFAULTS["schedule"] if stages > 1 else (Schedule.ONE_F_ONE_B,)
    each = divisors(max(1, int(model.total_layers // stages))) if stages > 1 else (1,)
    pairs = [
        (float(schedule), float(chunks))
        for schedule in space.candidates("schedule", usual)
        for chunks in space.candidates("virtual_pipeline_stages", each)
        if space.chosen("virtual_pipeline_stages") or _usual(schedule, chunks, space)
    ]
    if not pairs:
        return np.empty((0, 2))
    columns = np.array(pairs)
    tried = _layouts(
        space, pipeline_parallel=stages, schedule=columns[:, 0], virtual_pipeline_stages=columns[:, 1]
    )
    case = Case(model=model, cluster=cluster, training=training, layouts=tried)
    return columns[legal(DEPTH_RULES, case)]


def _usual(schedule: float, chunks: float, space: Space) -> bool:
    """Interleaved has several chunks, the others one; one chunk where only interleaved is asked for."""
    if schedule != Schedule.INTERLEAVED:
        return chunks == 1
    return chunks > 1 or space.values.get("schedule") == (Schedule.INTERLEAVED,)


def _mesh(
    model: Model, cluster: Cluster, training: Training, space: Space, stages: float
) -> dict[str, Column]:
    """Degrees and micro-batches that fill the cluster and keep the rules of widths, experts and batch."""
    gpus = cluster.num_gpus
    each = {
        "tensor_parallel": _widths(model, cluster, training, space),
        "context_parallel": _contexts(model, cluster, training, space),
        "expert_parallel": space.candidates(
            "expert_parallel", divisors(model.num_experts) if model.is_moe else (1,)
        ),
        "micro_batch_size": space.candidates(
            "micro_batch_size", divisors(training.global_batch_size, largest_micro_batch(training))
        ),
    }
    columns = [column.ravel() for column in np.meshgrid(*map(_column, each.values()), indexing="ij")]
    mesh = dict(zip(each, columns, strict=True))
    inner = mesh["tensor_parallel"] * mesh["context_parallel"] * stages
    mesh["data_parallel"] = np.maximum(1.0, np.floor(gpus / inner))
    allowed = space.candidates("data_parallel", np.unique(mesh["data_parallel"]).tolist())
    tried = _layouts(space, pipeline_parallel=stages, sequence_parallel=1.0, **mesh)
    kept = legal(_MESH_RULES, Case(model=model, cluster=cluster, training=training, layouts=tried))
    kept &= np.isin(mesh["data_parallel"], _column(allowed))
    return {name: mesh[name][kept] for name in _MESH_AXES}


def _widths(model: Model, cluster: Cluster, training: Training, space: Space) -> tuple[float, ...]:
    """Tensor widths that the model's shape allows."""
    widths = space.candidates("tensor_parallel", divisors(cluster.num_gpus))
    tried = _layouts(space, tensor_parallel=widths)
    kept = legal(WIDTH_RULES, Case(model=model, cluster=cluster, training=training, layouts=tried))
    return tuple(compress(widths, kept))


def _contexts(model: Model, cluster: Cluster, training: Training, space: Space) -> tuple[float, ...]:
    """Context widths that the sequence allows."""
    widest = max(WIDEST_CONTEXT, training.seq_length // FEWEST_TOKENS)
    widths = space.candidates("context_parallel", divisors(cluster.num_gpus, widest))
    tried = _layouts(space, context_parallel=widths)
    kept = legal(_SEQUENCE_RULES, Case(model=model, cluster=cluster, training=training, layouts=tried))
    return tuple(compress(widths, kept))


def _switches(space: Space, orders: Column) -> dict[str, Column]:
    """What varies on every mesh, the outermost axis first; "order" numbers the (schedule, chunks) pairs."""
    names = ("overlap_data_parallel", "overlap_tensor_parallel", "zero_group", "zero_stage", "recompute")
    found = {name: _column(space.candidates(name, DEFAULTS[name])) for name in names}
    found["sequence_parallel"] = _column(space.candidates("sequence_parallel", DEFAULTS["sequence_parallel"]))
    return found | {"order": np.arange(float(len(orders)))}


def _grid(
    space: Space,
    stages: float,
    switches: Mapping[str, Column],
    orders: Column,
    mesh: Mapping[str, Column],
) -> Grid:
    """The grid, and which of its layouts say something of their own.

    Sequence parallelism without a tensor group, sharding without copies and a sharding group without
    sharding change nothing: they are dropped unless they are all that is asked for.
    """
    axes = len(switches)
    columns = {
        name: values.reshape((-1,) + (1,) * (axes - place))
        for place, (name, values) in enumerate(switches.items())
    }
    order = columns.pop("order").astype(np.int64)
    columns |= {"schedule": orders[:, 0][order], "virtual_pipeline_stages": orders[:, 1][order]}
    layouts = _layouts(space, pipeline_parallel=stages, **columns, **mesh)
    useful: Mask = np.ones(1, dtype=np.bool_)
    copies = {
        "sequence_parallel": layouts.tensor_parallel == 1,
        "zero_stage": layouts.replicas == 1,
        "zero_group": (layouts.zero_stage == 0) | (layouts.replicas == 1),
        "overlap_data_parallel": layouts.replicas == 1,
        "overlap_tensor_parallel": layouts.tensor_parallel == 1,
    }
    for name, same in copies.items():
        if len(switches[name]) > 1:
            useful = useful & ~(same & (columns[name] != switches[name][0]))
    return Grid(layouts=layouts, useful=useful)


def _layouts(space: Space, **columns: Any) -> Layouts:
    """Columns of layouts, of one value each where nothing is said."""
    neutral = {
        "tensor_parallel": 1.0,
        "pipeline_parallel": 1.0,
        "data_parallel": 1.0,
        "context_parallel": 1.0,
        "expert_parallel": 1.0,
        "virtual_pipeline_stages": 1.0,
        "schedule": float(Schedule.ONE_F_ONE_B),
        "micro_batch_size": 1.0,
        "sequence_parallel": 0.0,
        "zero_stage": 0.0,
        "zero_group": 0.0,
        "recompute": 0.0,
        "overlap_data_parallel": 1.0,
        "overlap_tensor_parallel": 0.0,
    }
    filled = {name: np.atleast_1d(_column(columns.get(name, value))) for name, value in neutral.items()}
    return Layouts(**filled, layers_per_stage=space.layers_per_stage, rank_order=space.rank_order)


def _column(values: Any) -> Column:
    return np.asarray(values, dtype=np.float64)
