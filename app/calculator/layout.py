"""How the work is divided: one layout, or columns of them."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.float64]


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
