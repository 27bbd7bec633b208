"""A model as pieces for a pipeline: embedding, layers one by one, head, each with its seconds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.calculator.cluster import Cluster
from app.calculator.constants import Constants
from app.calculator.layout import Layout, Layouts
from app.calculator.model import Model
from app.calculator.stages import costs
from app.calculator.training import Training
from app.calculator.work_build import work_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPiece:
    """Seconds of one micro-batch on one device of the tensor and context group."""

    name: str
    forward_s: float
    backward_s: float  # recompute and weight gradients in it

    @property
    def time_s(self) -> float:
        """Both ways."""
        return self.forward_s + self.backward_s


def model_pieces(
    model: Model, cluster: Cluster, training: Training, layout: Layout, constants: Constants
) -> tuple[ModelPiece, ...]:
    """The pieces in the model's order, priced as in a step: own work, collectives it waits for, CPU floor.

    Sends between stages belong to no piece. Extra layers that predict further tokens go with the head.
    """
    work = work_of(model, cluster, training, Layouts.of(layout), constants)
    cost = costs(work)
    boundary = int(_one(work.early_layers))
    pieces = [
        ModelPiece(
            name="embedding", forward_s=_one(cost.embedding_s[0]), backward_s=_one(cost.embedding_s[1])
        )
    ]
    for number in range(1, model.total_layers + 1):
        layer = cost.early if number <= boundary else cost.late
        pieces.append(
            ModelPiece(
                name=f"layer {number}",
                forward_s=_one(layer.forward_s),
                backward_s=_one(layer.backward_s),
            )
        )
    more = model.num_mtp_layers
    pieces.append(
        ModelPiece(
            name="head",
            forward_s=_one(cost.head_s[0]) + more * _one(cost.late.forward_s),
            backward_s=_one(cost.head_s[1]) + more * _one(cost.late.backward_s),
        )
    )
    return tuple(pieces)


def _one(value: Any) -> float:
    return float(np.asarray(value, dtype=np.float64).reshape(-1)[0])
