"""A layout laid over the nodes of a cluster: which rank sits where, and what to call it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

LETTERS = "abcdefghijklmnopqrstuvwxyz"
AXES = ("tensor", "context", "data", "pipeline")
STAGE_HUES = 4
NODES_IN_FULL = 64  # above this, one tile per node
GPUS_IN_FULL = 16  # more devices in a node are one tile too


@dataclass(frozen=True, slots=True)
class Place:
    """One device: its rank and its coordinate on each axis."""

    rank: int
    tensor: int
    context: int
    data: int
    pipeline: int


@dataclass(frozen=True, kw_only=True)
class ClusterMap:
    """A layout laid over nodes, rank by rank, the first axis of `rank_order` innermost."""

    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    context_parallel: int
    gpus_per_node: int
    rank_order: tuple[str, ...] = AXES

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Group size of each axis."""
        return {
            "tensor": self.tensor_parallel,
            "context": self.context_parallel,
            "data": self.data_parallel,
            "pipeline": self.pipeline_parallel,
        }

    @property
    def world(self) -> int:
        """Devices the layout uses."""
        return self.tensor_parallel * self.context_parallel * self.data_parallel * self.pipeline_parallel

    @property
    def num_nodes(self) -> int:
        """Nodes those devices fill, the last one perhaps in part."""
        return -(-self.world // self.gpus_per_node)

    def place(self, rank: int) -> Place:
        """The coordinates of a rank."""
        at: dict[str, int] = {}
        rest = rank
        for axis in self.rank_order:
            rest, at[axis] = divmod(rest, self.sizes[axis])
        return Place(rank, at["tensor"], at["context"], at["data"], at["pipeline"])

    def node(self, index: int) -> list[Place]:
        """The devices of a node."""
        start = index * self.gpus_per_node
        return [self.place(rank) for rank in range(start, min(start + self.gpus_per_node, self.world))]

    def stride(self, axis: str) -> int:
        """Ranks between neighbours on an axis."""
        stride = 1
        for name in self.rank_order:
            if name == axis:
                break
            stride *= self.sizes[name]
        return stride

    def nodes_of_group(self, axis: str) -> int:
        """Nodes that one group of this axis touches (the group of rank 0)."""
        ranks = {index * self.stride(axis) // self.gpus_per_node for index in range(self.sizes[axis])}
        return len(ranks)

    @property
    def columns(self) -> int:
        """Nodes in a row: those of one stage, where stages are outermost and fill whole nodes; else eight."""
        per_stage = self.world // self.pipeline_parallel
        if self.rank_order[-1] == "pipeline" and per_stage % self.gpus_per_node == 0:
            return per_stage // self.gpus_per_node
        return min(8, self.num_nodes)

    @property
    def stages_are_rows(self) -> bool:
        """Whether each row of nodes holds exactly one stage."""
        per_stage = self.world // self.pipeline_parallel
        return self.rank_order[-1] == "pipeline" and per_stage % self.gpus_per_node == 0

    @property
    def nodes_per_replica(self) -> int:
        """Nodes a replica takes in a row; 0 where a node holds several or the rows are not aligned."""
        width = self.tensor_parallel * self.context_parallel
        inner = {"tensor", "context"} == set(self.rank_order[:2])
        aligned = self.stages_are_rows and inner and width % self.gpus_per_node == 0
        return width // self.gpus_per_node if aligned else 0

    @property
    def tiles(self) -> bool:
        """Whether a node is drawn as one tile."""
        return self.num_nodes > NODES_IN_FULL or self.gpus_per_node > GPUS_IN_FULL


def stage_hue(stage: int, stages: int) -> int:
    """Which of the four steps of the ramp a stage wears; the first stage is the darkest."""
    if stages <= STAGE_HUES:
        return stage
    return stage * STAGE_HUES // stages


def letter(index: int) -> str:
    """a … z, then aa, ab, …"""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = LETTERS[rest] + name
    return name


def spans(values: Sequence[int], named: str, plural: str, show: str = "number") -> str:
    """ "replica 3", "replicas 0 to 1", "tensor ranks a to h"."""
    told = sorted(set(values))
    names = [letter(value) if show == "letter" else str(value) for value in told]
    if len(told) == 1:
        return f"{named} {names[0]}"
    joined = f"{names[0]} to {names[-1]}" if told[-1] - told[0] == len(told) - 1 else ", ".join(names)
    return f"{plural} {joined}"


def node_title(cluster: ClusterMap, index: int, places: Sequence[Place]) -> str:
    """What a node holds, in words."""
    parts = [
        spans([place.pipeline for place in places], "stage", "stages"),
        spans([place.data for place in places], "replica", "replicas"),
        spans([place.tensor for place in places], "tensor rank", "tensor ranks", "letter"),
    ]
    if cluster.context_parallel > 1:
        parts.append(spans([place.context for place in places], "context rank", "context ranks"))
    ranks = f"(global ranks {places[0].rank} to {places[-1].rank})"
    return f"node {index}: {', '.join(parts)} {ranks}"
