"""What each axis of parallelism sends in one step: worked out where it is asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.calculator import communication as comm
from app.calculator.collectives import Number
from app.calculator.layout import Column, filled_to
from app.calculator.stages import Costs, Stage, vocabularies
from app.calculator.work import Work

AXES = ("tensor_parallel", "context_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisColumns:
    """One axis of parallelism over one step, for one device of the slowest stage."""

    group_size: Column
    between_nodes: Column  # 1 where the group crosses nodes
    bytes_per_step: Column  # sent by one device
    operations_per_step: Column
    time_s: Column
    exposed_s: Column  # the part that the step waits for


class Axes(Mapping[str, AxisColumns]):
    """The axes of a step by name. `parts` are the columns of the step's time, of its full shape."""

    def __init__(
        self, work: Work, cost: Costs, stage: Stage, sync: comm.Traffic, parts: Mapping[str, Column]
    ) -> None:
        self._work, self._cost, self._stage, self._parts = work, cost, stage, parts
        self.sync = sync  # gradients and tied embeddings, once a step
        self._found: dict[str, AxisColumns] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(AXES)

    def __len__(self) -> int:
        return len(AXES)

    def __getitem__(self, name: str) -> AxisColumns:
        if name not in AXES:
            raise KeyError(name)
        if name not in self._found:
            self._found[name] = self._axis(name)
        return self._found[name]

    def _axis(self, name: str) -> AxisColumns:
        size, stride = self._group(name)
        traffic = self._traffic(name)
        columns: dict[str, Number] = {
            "group_size": size,
            "between_nodes": comm.group(self._work, size, stride).between_nodes,
            "bytes_per_step": traffic.sent_bytes,
            "operations_per_step": traffic.operations,
            "time_s": traffic.time_s,
            "exposed_s": self._parts["pipeline_p2p_s" if name == "pipeline_parallel" else f"{name}_s"],
        }
        shape = self._parts["step_s"].shape
        return AxisColumns(**{key: filled_to(value, shape) for key, value in columns.items()})

    def _group(self, name: str) -> tuple[Number, Number]:
        """Ranks of a group, and how far apart they sit."""
        work = self._work
        return {
            "tensor_parallel": (work.tensor, work.tensor_stride),
            "context_parallel": (work.context, work.context_stride),
            "pipeline_parallel": (work.pipeline, work.pipeline_stride),
            "data_parallel": (work.data * work.context, work.data_stride),
            "expert_parallel": (work.expert, work.data_stride),
        }[name]

    def _traffic(self, name: str) -> comm.Traffic:
        m, cost, stage = self._work.micro_batches, self._cost, self._stage
        if name == "pipeline_parallel":
            return comm.times(cost.sends, m * stage.sends)
        if name != "data_parallel":
            return self._layers(name.removesuffix("_parallel"))
        tables = comm.times(cost.vocabulary_data, m * vocabularies(stage, cost))
        return comm.plus(comm.plus(self._layers("data"), tables), self.sync)

    def _layers(self, axis: str) -> comm.Traffic:
        early, late = getattr(self._cost.early, axis), getattr(self._cost.late, axis)
        both = comm.plus(comm.times(early, self._stage.early), comm.times(late, self._stage.late))
        return comm.times(both, self._work.micro_batches)
