"""One layout and many give the same bits; sharding never adds; the peak is the fullest of all stages."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.calculator.estimate import evaluate, legal_mask, stage_numbers
from app.calculator.fields import FIELDS
from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.memory import stage_memory
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.estimation import estimate
from app.services.inputs import InputProblems, Inputs, parse_inputs

MODELS = ("gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3", "t5-11b", "mistral-7b")


def question(model: str, **more: object) -> Inputs:
    found = parse_inputs({"model": model, "num_nodes": 16, "global_batch_size": 1536, **more}, load_catalog())
    assert isinstance(found, Inputs)
    return found


layouts = st.builds(
    Layout,
    tensor_parallel=st.sampled_from([1, 2, 4, 8]),
    pipeline_parallel=st.sampled_from([1, 2, 4, 8]),
    data_parallel=st.sampled_from([1, 2, 4, 8, 16]),
    context_parallel=st.sampled_from([1, 2]),
    expert_parallel=st.sampled_from([1, 2]),
    virtual_pipeline_stages=st.sampled_from([1, 2]),
    schedule=st.sampled_from(list(Schedule)),
    micro_batch_size=st.sampled_from([1, 2, 4]),
    sequence_parallel=st.booleans(),
    zero_stage=st.sampled_from([0, 1, 2, 3]),
    zero_group=st.sampled_from([0, 4, 8]),
    recompute=st.sampled_from(list(Recompute)),
    overlap_data_parallel=st.booleans(),
    overlap_tensor_parallel=st.booleans(),
)


def columns_of(result):
    """Every column of an `Estimates`, by name."""
    found = {"peak_bytes": result.peak_bytes, "hardware_flop": result.hardware_flop_per_step}
    for field in dataclasses.fields(result.time):
        value = getattr(result.time, field.name)
        if isinstance(value, np.ndarray):
            found[field.name] = value
    for axis, columns in result.time.axes.items():
        for field in dataclasses.fields(columns):
            found[f"{axis}.{field.name}"] = getattr(columns, field.name)
    return found


@settings(max_examples=25, deadline=None)
@given(model=st.sampled_from(MODELS), block=st.lists(layouts, min_size=2, max_size=20))
def test_batch_is_one_by_one_bit_for_bit(model, block):
    asked, constants = question(model), load_constants()
    together = columns_of(evaluate(asked.model, asked.cluster, asked.training, Layouts.of(*block), constants))
    mask = legal_mask(asked.model, asked.cluster, asked.training, Layouts.of(*block))
    for row, layout in enumerate(block):
        one = Layouts.of(layout)
        alone = columns_of(evaluate(asked.model, asked.cluster, asked.training, one, constants))
        assert legal_mask(asked.model, asked.cluster, asked.training, one)[0] == mask[row]
        for name, column in alone.items():
            assert column[0] == together[name][row], name


@settings(max_examples=60, deadline=None)
@given(model=st.sampled_from(MODELS), layout=layouts)
def test_the_peak_is_the_fullest_stage(model, layout):
    """The few stages that `evaluate` looks at hold the maximum over all of them."""
    asked = question(model)
    if layout.pipeline_parallel > asked.model.total_layers:
        return
    one = Layouts.of(layout)
    if not legal_mask(asked.model, asked.cluster, asked.training, one)[0] and asked.model.total_layers % (
        layout.pipeline_parallel * layout.virtual_pipeline_stages
    ):
        return
    repeated, stages = stage_numbers(one)
    totals = stage_memory(asked.model, asked.training, repeated, stages).total_bytes
    peak = evaluate(asked.model, asked.cluster, asked.training, one, load_constants()).peak_bytes[0]
    assert peak == totals.max()


@settings(max_examples=60, deadline=None)
@given(model=st.sampled_from(MODELS), layout=layouts)
def test_zero_never_adds_state(model, layout):
    asked = question(model)
    held = []
    for stage in range(4):
        one = Layouts.of(dataclasses.replace(layout, zero_stage=stage))
        found = stage_memory(asked.model, asked.training, one, np.zeros(1))
        held.append(found.weights_bytes[0] + found.gradients_bytes[0] + found.optimizer_bytes[0])
    assert held == sorted(held, reverse=True)


@settings(max_examples=60, deadline=None)
@given(model=st.sampled_from(MODELS), layout=layouts)
def test_more_recompute_keeps_less(model, layout):
    asked = question(model, flash_attention=False)
    kept = []
    for recompute in Recompute:
        one = Layouts.of(dataclasses.replace(layout, recompute=recompute))
        kept.append(stage_memory(asked.model, asked.training, one, np.zeros(1)).activations_bytes[0])
    assert kept == sorted(kept, reverse=True)


@settings(max_examples=60, deadline=None)
@given(model=st.sampled_from(MODELS), layout=layouts)
def test_the_stages_hold_every_layer_once(model, layout):
    asked = question(model)
    if asked.model.total_layers % (layout.pipeline_parallel * layout.virtual_pipeline_stages):
        return
    repeated, stages = stage_numbers(Layouts.of(layout))
    held = stage_memory(asked.model, asked.training, repeated, stages).layers
    boundary = asked.model.encoder_layers or (asked.model.num_dense_layers if asked.model.is_moe else 0)
    assert held.total.sum() == pytest.approx(asked.model.total_layers)
    assert held.early.sum() == pytest.approx(boundary)
    assert held.has_embedding.sum() == held.has_head.sum() == 1


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    [
        "model",
        "cluster",
        "layout",
        "training",
        "gpu",
        "num_nodes",
        "tensor_parallel",
        "recompute",
        "zero_group",
        "model.num_layers",
        "layers_per_stage",
        "rank_order",
        "peak_flops",
        "vision",
        "micro_batch_size",
    ]
)


@settings(max_examples=300, deadline=None)
@given(raw=st.dictionaries(names, junk, max_size=5) | junk)
def test_parsing_never_raises(raw):
    found = parse_inputs(raw, load_catalog())
    assert isinstance(found, Inputs | InputProblems)
    if isinstance(found, InputProblems):
        assert found.problems
        assert all(problem.message for problem in found.problems)


def _choices(field):
    if field.kind in ("integer", "number"):
        low, high = field.minimum, field.maximum
        edges = [low, high, min(low + 1, high), min(low + 3, high)]
        return st.sampled_from([int(x) if field.kind == "integer" else x for x in edges])
    if field.kind == "boolean":
        return st.booleans()
    if field.kind == "choice":
        return st.sampled_from(field.choices or tuple(load_catalog().gpus))
    if field.kind == "integers":
        return st.lists(st.integers(0, 50), min_size=1, max_size=6)
    return st.permutations(field.choices) if field.kind == "axes" else st.sampled_from(["global", 1, 4])


inputs = st.lists(
    st.sampled_from([f for f in FIELDS if ".vision." not in f.path]), max_size=6, unique=True
).flatmap(lambda fields: st.fixed_dictionaries({field.path: _choices(field) for field in fields}))


@settings(max_examples=150, deadline=None)
@given(model=st.sampled_from(tuple(load_catalog().models)), changes=inputs)
def test_any_question_gets_a_finite_answer_or_its_faults(model, changes):
    found = estimate({"model": model, **changes})
    if isinstance(found, InputProblems):
        assert found.problems
        return
    json.dumps(found, allow_nan=False)
    assert found["legal"] is not bool(found["violations"])
    if found["legal"]:
        assert found["time"]["step_s"] > 0
        assert found["memory"]["peak_bytes"] > 0
