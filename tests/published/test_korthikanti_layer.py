"""Korthikanti et al. 2022, Table 4: one layer of the 22B model, t = 8, micro-batch 4, milliseconds measured.

No constant was fitted to these figures: they see the layer alone, without pipeline, ends or step.
"""

from typing import Any

import pytest

from app.calculator.layer_cost import layer_cost
from app.calculator.layout import Layouts
from app.calculator.work_build import work_of
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import Inputs, parse_inputs

# sequence parallel, recompute → forward, backward (with recompute)
TABLE_4 = [
    (False, "none", 7.7, 11.9),
    (True, "none", 7.2, 11.8),
    (False, "full", 7.7, 19.5),
    (False, "selective", 7.7, 13.2),
    (True, "selective", 7.2, 13.1),
]


def layer_ms(sequence_parallel: bool, recompute: str) -> tuple[float, float]:
    question: dict[str, Any] = {
        "model": "gpt-22b",
        "gpu": "a100-80gb",
        "num_nodes": 1,
        "tensor_parallel": 8,
        "micro_batch_size": 4,
        "global_batch_size": 4,
        "seq_length": 2048,
        "sequence_parallel": sequence_parallel,
        "recompute": recompute,
        "flash_attention": False,
        "kernels": "fused",
        "compute_dtype": "fp16",
        "grad_bytes": 2,
    }
    found = parse_inputs(question, load_catalog())
    assert isinstance(found, Inputs)
    layouts = Layouts.of(found.layout)
    work = work_of(found.model, found.cluster, found.training, layouts, load_constants())
    cost = layer_cost(work, work.late)
    return 1e3 * float(cost.forward_s[0]), 1e3 * float(cost.backward_s[0])


@pytest.mark.parametrize(("sequence_parallel", "recompute", "forward", "backward"), TABLE_4)
def test_one_layer(sequence_parallel: bool, recompute: str, forward: float, backward: float) -> None:
    ours = layer_ms(sequence_parallel, recompute)
    assert ours[0] == pytest.approx(forward, rel=0.05)
    assert ours[1] == pytest.approx(backward, rel=0.08)


def test_what_recompute_costs() -> None:
    """The overheads over the layer: 39 % with full recompute, 7 % selective, 4 % with both techniques."""
    base = sum(layer_ms(False, "none"))
    for sequence_parallel, recompute, overhead in (
        (False, "full", 0.39),
        (False, "selective", 0.07),
        (True, "selective", 0.04),
    ):
        assert sum(layer_ms(sequence_parallel, recompute)) / base - 1 == pytest.approx(overhead, abs=0.06)
