"""Rajbhandari et al. 2020 (ZeRO, arXiv 1910.02054), Table 1: model states per device, to the printed digit.

Psi parameters with 16-bit gradients and K = 12. The paper prints integers truncated and decimals rounded, so
the tolerance is one unit in the last printed place.
"""

import json
from pathlib import Path

import pytest

from app.services.engine import CalculatorEngine
from app.services.estimation import estimate

GB = 1e9
TABLE = json.loads((Path(__file__).parents[1] / "data" / "zero_table1.json").read_text(encoding="utf-8"))
CASES = [
    (row["model"], row["params"], row["dp"], stage, row[column])
    for row in TABLE["rows"]
    for stage, column in ((1, "pos_gb"), (2, "pos_g_gb"), (3, "pos_g_p_gb"))
]


def last_place(printed: float) -> float:
    """One unit in the last printed place."""
    _, _, decimals = str(printed).partition(".")
    return 10.0 ** -len(decimals) if decimals and decimals != "0" else 1.0


@pytest.mark.parametrize(("model", "params", "dp", "stage", "printed"), CASES)
def test_states_as_printed(model, params, dp, stage, printed):
    found = CalculatorEngine().value(
        "memory.model_states_bytes",
        {"params": params, "data_parallel": dp, "zero_stage": stage, "grad_bytes": 2},
    )
    assert found.value / GB == pytest.approx(printed, abs=last_place(printed))


def test_table_is_all_there():
    assert len(CASES) == 54


@pytest.mark.parametrize(
    ("stage", "dp", "bytes_per_parameter"),
    [(0, 64, 16), (1, 64, 4 + 12 / 64), (2, 64, 2 + 14 / 64), (3, 64, 16 / 64)],
)
def test_formulas_of_figure_1(stage, dp, bytes_per_parameter):
    """4 + K/N, 2 + (2 + K)/N, (4 + K)/N bytes per parameter."""
    found = CalculatorEngine().value(
        "memory.model_states_bytes",
        {"params": 7.5e9, "data_parallel": dp, "zero_stage": stage, "grad_bytes": 2},
    )
    assert found.value == pytest.approx(7.5e9 * bytes_per_parameter, rel=1e-12)


@pytest.mark.parametrize("zero_stage", [0, 1, 2, 3])
def test_the_answer_uses_the_same_formula(zero_stage):
    """One stage of the estimate holds what the named function says of its parameters."""
    answer = estimate(
        {
            "model": "gpt-7.5b",
            "num_nodes": 8,
            "zero_stage": zero_stage,
            "grad_bytes": 2,
            "vocab_pad_multiple": 1,
        }
    )
    (stage,) = answer["memory"]["stages"]
    held = stage["weights_bytes"] + stage["gradients_bytes"] + stage["optimizer_bytes"]
    named = CalculatorEngine().value(
        "memory.model_states_bytes",
        {
            "params": answer["parameters"]["total"],
            "data_parallel": 64,
            "zero_stage": zero_stage,
            "grad_bytes": 2,
        },
    )
    assert held == pytest.approx(named.value, rel=1e-12)
