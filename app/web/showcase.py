"""The small live figure on the start page: one layout that does not fit, from the engine."""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

from app.services.estimation import estimate
from app.services.inputs import InputProblems
from app.web.charts.figure import Figure
from app.web.charts.memory import memory_figure

INPUTS = {
    "model": "gpt3-175b",
    "gpu": "a100-80gb",
    "num_nodes": 32,
    "tensor_parallel": 8,
    "pipeline_parallel": 4,
    "data_parallel": 8,
    "micro_batch_size": 2,
    "global_batch_size": 128,
    "recompute": "selective",
    "zero_stage": 1,
}


@dataclass(frozen=True, slots=True)
class Showcase:
    """The figure and the address of its calculation."""

    figure: Figure
    url: str


@lru_cache(maxsize=1)
def showcase() -> Showcase | None:
    """The figure; None when the engine refuses the example."""
    answer = estimate(dict(INPUTS))
    if isinstance(answer, InputProblems) or not answer.get("memory"):
        return None
    return Showcase(
        memory_figure(answer["memory"], id="home-mem", rows=4), f"/calculator?{urlencode(INPUTS)}"
    )
