"""How the work is divided: one layout, or columns of them."""

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.float64]


def filled_to(value: float | Column, shape: tuple[int, ...]) -> Column:
    """A number or a column that varies along few axes, as a column of the whole shape; mostly it is one."""
    if isinstance(value, np.ndarray) and value.shape == shape:
        return value
    return np.broadcast_to(value, shape)


class Recompute(IntEnum):
    """What the forward pass does not keep: nothing, the attention core, or all but each layer's input."""

    NONE = 0
    SELECTIVE = 1
    FULL = 2


class Schedule(IntEnum):
    """The order of work in a pipeline."""

    GPIPE = 0
    ONE_F_ONE_B = 1
    INTERLEAVED = 2
    ZB_H1 = 3


SCHEDULE_NAMES = {
    "gpipe": Schedule.GPIPE,
    "1f1b": Schedule.ONE_F_ONE_B,
    "interleaved": Schedule.INTERLEAVED,
    "zb-h1": Schedule.ZB_H1,
}
RECOMPUTE_NAMES = {"none": Recompute.NONE, "selective": Recompute.SELECTIVE, "full": Recompute.FULL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One layout. World = t·c·d·p; `expert_parallel` divides c·d and adds no devices."""

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: int = 1
    context_parallel: int = 1
    expert_parallel: int = 1
    virtual_pipeline_stages: int = 1
    schedule: Schedule = Schedule.ONE_F_ONE_B
    micro_batch_size: int = 1
    sequence_parallel: bool = False
    zero_stage: int = 0
    zero_group: int = 0  # ranks that share one copy of the states; 0: the whole data-parallel group
    recompute: Recompute = Recompute.NONE
    layers_per_stage: tuple[int, ...] | None = None
    rank_order: tuple[str, ...] = ("tensor", "context", "data", "pipeline")  # innermost first
    overlap_data_parallel: bool = True
    overlap_tensor_parallel: bool = False


_COLUMN_NAMES = tuple(
    field.name for field in fields(Layout) if field.name not in ("layers_per_stage", "rank_order")
)
_INTEGERS = (
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "context_parallel",
    "expert_parallel",
    "virtual_pipeline_stages",
    "micro_batch_size",
    "zero_stage",
    "zero_group",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layouts:
    """Many layouts as float64 columns, named as in `Layout`: of one length, or a grid.

    In a grid the columns have different shapes that broadcast, one axis for each thing that varies: what
    depends on few of them is worked out once for all the others. Flags are 0 and 1, `schedule` and
    `recompute` are the numbers of their enums. The split of layers and the order of ranks are one for all.
    """

    tensor_parallel: Column
    pipeline_parallel: Column
    data_parallel: Column
    context_parallel: Column
    expert_parallel: Column
    virtual_pipeline_stages: Column
    schedule: Column
    micro_batch_size: Column
    sequence_parallel: Column
    zero_stage: Column
    zero_group: Column
    recompute: Column
    overlap_data_parallel: Column
    overlap_tensor_parallel: Column
    layers_per_stage: tuple[int, ...] | None = None
    rank_order: tuple[str, ...] = ("tensor", "context", "data", "pipeline")

    @classmethod
    def of(cls, *layouts: Layout) -> Self:
        """The layouts as columns. They must agree in `layers_per_stage` and `rank_order`."""
        first = layouts[0]
        shared = (first.layers_per_stage, first.rank_order)
        if any((layout.layers_per_stage, layout.rank_order) != shared for layout in layouts):
            raise ValueError(
                "layouts in one block share layers_per_stage and rank_order: make one block for each"
            )
        columns = {
            name: np.array([getattr(layout, name) for layout in layouts], dtype=np.float64)
            for name in _COLUMN_NAMES
        }
        return cls(**columns, layers_per_stage=first.layers_per_stage, rank_order=first.rank_order)

    def __len__(self) -> int:
        return len(self.tensor_parallel)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,) for columns of one length; the shape of the grid otherwise."""
        return np.broadcast_shapes(*(getattr(self, name).shape for name in _COLUMN_NAMES))

    def flat(self, indices: npt.NDArray[Any]) -> Self:
        """The layouts at these places of the grid, in C order, as columns of one length."""
        shape = self.shape
        places = np.unravel_index(indices, shape)
        return self.with_columns(
            **{name: np.broadcast_to(getattr(self, name), shape)[places] for name in _COLUMN_NAMES}
        )

    def row(self, index: int) -> Layout:
        """One layout as plain Python values."""
        values: dict[str, Any] = {name: getattr(self, name)[index].item() for name in _COLUMN_NAMES}
        for name in _INTEGERS:
            values[name] = int(values[name])
        for name in ("sequence_parallel", "overlap_data_parallel", "overlap_tensor_parallel"):
            values[name] = bool(values[name])
        values["schedule"] = Schedule(int(values["schedule"]))
        values["recompute"] = Recompute(int(values["recompute"]))
        return Layout(**values, layers_per_stage=self.layers_per_stage, rank_order=self.rank_order)

    def take(self, indices: npt.NDArray[Any]) -> Self:
        """The layouts at these positions, or where this mask is true."""
        return replace(self, **{name: getattr(self, name)[indices] for name in _COLUMN_NAMES})

    def with_columns(self, **columns: Column) -> Self:
        """The same layouts with some columns replaced."""
        changed: dict[str, Any] = columns
        return replace(self, **changed)

    @property
    def layers_by_stage(self) -> tuple[int, ...] | None:
        """The stated split as one number per stage: chunks of a stage (c·p + stage) added up."""
        split = self.layers_per_stage
        stages = int(np.max(self.pipeline_parallel)) if len(self) else 0
        if split is None or not stages or len(split) <= stages:
            return split
        return tuple(sum(split[stage::stages]) for stage in range(stages))

    @property
    def world_size(self) -> Column:
        """Devices a layout needs: t·c·d·p."""
        return self.tensor_parallel * self.context_parallel * self.data_parallel * self.pipeline_parallel

    @property
    def model_chunks(self) -> Column:
        """Chunks per device as the schedule uses them: gpipe and zb-h1 have one."""
        chunked = (self.schedule == Schedule.ONE_F_ONE_B) | (self.schedule == Schedule.INTERLEAVED)
        return np.where(chunked, np.maximum(self.virtual_pipeline_stages, 1.0), 1.0)

    @property
    def replicas(self) -> Column:
        """Ranks that hold the same dense weights: c·d, over which their gradients reduce."""
        return self.context_parallel * self.data_parallel

    @property
    def zero_ranks(self) -> Column:
        """Ranks that share one copy of the dense states when they are sharded."""
        return np.where(self.zero_group > 0, np.minimum(self.zero_group, self.replicas), self.replicas)

    def num_micro_batches(self, global_batch_size: float) -> Column:
        """m = B / (b·d), rounded down where it does not divide; at least 1."""
        return np.maximum(np.floor(global_batch_size / (self.micro_batch_size * self.data_parallel)), 1.0)
