"""Pieces taken from a model add up to the stages of its step, and balance as typed ones do."""

from typing import Any

import numpy as np
import pytest

from app.calculator.layout import Layouts
from app.calculator.step_time import step_time
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.balance import balance_pieces
from app.services.balance_model import balance_asked, from_model, lines_of, pieces_of
from app.services.inputs import InputProblems, Inputs, parse_inputs

ASKED: dict[str, Any] = {
    "model": "gpt3-175b", "cluster": {"gpu": "a100-80gb", "num_nodes": 32},
    "layout": {"tensor_parallel": 8, "pipeline_parallel": 4, "micro_batch_size": 2, "zero_stage": 1},
    "training": {"global_batch_size": 256},
}  # fmt: skip


def inputs_of(**layout: Any) -> Inputs:
    found = parse_inputs({**ASKED, "layout": {**ASKED["layout"], **layout}}, load_catalog())
    assert isinstance(found, Inputs)
    return found


def test_one_stage_takes_what_its_pieces_take() -> None:
    """Without a pipeline the step's slowest stage is all pieces, but for adding up gradients."""
    inputs = inputs_of(pipeline_parallel=1, zero_stage=2)
    told = step_time(
        inputs.model, inputs.cluster, inputs.training, Layouts.of(inputs.layout), load_constants()
    )
    pieces = pieces_of(inputs)
    assert len(pieces) == 98
    total = sum(piece.time_s for piece in pieces)
    assert total == pytest.approx(float(np.asarray(told.stage_s)[0]), rel=0.05)


def test_the_verb_takes_a_model_for_pieces() -> None:
    found = balance_asked(ASKED)
    assert isinstance(found, dict)
    assert found["num_stages"] == 4
    assert found["num_micro_batches"] == 16  # 256 / (2 · 8)
    assert sum(found["layers_per_stage"]) == 96
    typed = balance_pieces(from_model(ASKED))
    assert typed == found


def test_its_own_fields_come_first() -> None:
    found = balance_asked({**ASKED, "num_stages": 8, "num_micro_batches": 5})
    assert isinstance(found, dict)
    assert (found["num_stages"], found["num_micro_batches"]) == (8, 5)


def test_typed_pieces_are_balanced_as_before() -> None:
    raw = {"pieces": [1, 2, 3], "num_stages": 2}
    assert balance_asked(raw) == balance_pieces(raw)
    assert isinstance(balance_asked({}), InputProblems)


def test_problems_of_the_model_are_told() -> None:
    found = balance_asked({"model": "nothing"})
    assert isinstance(found, InputProblems)
    assert found.problems[0].field == "model"


def test_two_kinds_of_layers_are_two_lines() -> None:
    inputs = parse_inputs({"model": "deepseek-v3", "gpu": "h100-80gb", "num_nodes": 16}, load_catalog())
    assert isinstance(inputs, Inputs)
    lines = lines_of(pieces_of(inputs)).split("\n")
    assert [line.partition(",")[0] for line in lines] == ["embedding", "layer ×3", "layer ×58", "head"]
