"""What the working of the step's seconds and the working of its traffic have in common."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.calculator.stages import Costs, Pipeline
from app.calculator.work import Work

LAYERS = "micro_batches * (early_layers * early_layer + late_layers * late_layer)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One layout's step, resolved to plain numbers."""

    work: Work
    cost: Costs
    line: Pipeline
    early: float  # layers of the slowest stage
    late: float
    micro_batches: float


def number_of(value: Any) -> float:
    """The only value of a column, or a number."""
    return float(np.asarray(value, dtype=np.float64).reshape(-1)[0])


def per_layer(step: Step, early: Any, late: Any) -> dict[str, float]:
    """The numbers of `LAYERS`, with what one layer of each kind adds."""
    return {
        "micro_batches": step.micro_batches,
        "early_layers": step.early,
        "early_layer": number_of(early),
        "late_layers": step.late,
        "late_layer": number_of(late),
    }
