import math
from dataclasses import replace

import numpy as np
import pytest

from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.stages import costs, pipeline
from app.calculator.step_axes import AXES
from app.calculator.step_time import PARTS, log2_between, step_time, step_time_of
from app.catalog import load_catalog
from app.services.inputs import Inputs, parse_inputs
from tests.unit.calculator.steps import MODEL, TRAINING, cluster, constants, times, work

LAYOUTS = [
    Layout(data_parallel=64),
    Layout(tensor_parallel=8, pipeline_parallel=8, recompute=Recompute.FULL),
    Layout(tensor_parallel=2, pipeline_parallel=4, data_parallel=8, virtual_pipeline_stages=2),
    Layout(tensor_parallel=2, pipeline_parallel=4, data_parallel=8, schedule=Schedule.GPIPE),
    Layout(pipeline_parallel=8, data_parallel=8, schedule=Schedule.ZB_H1),
    Layout(data_parallel=64, zero_stage=3, recompute=Recompute.SELECTIVE),
    Layout(data_parallel=64, zero_stage=3, zero_group=8),
    Layout(tensor_parallel=4, context_parallel=4, data_parallel=4, sequence_parallel=True, zero_stage=1),
]
MODELS = ("gpt-22b", "llama3-8b", "mixtral-8x7b", "deepseek-v3", "t5-11b", "mistral-7b")


def asked(model: str) -> Inputs:
    found = parse_inputs({"model": model, "num_nodes": 8, "global_batch_size": 128}, load_catalog())
    assert isinstance(found, Inputs)
    return found


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_the_parts_sum_to_the_step(layout: Layout, model: str) -> None:
    inputs = asked(model)
    time = step_time(inputs.model, cluster(), inputs.training, Layouts.of(layout), constants())
    parts = [getattr(time, name)[0].item() for name in PARTS]
    assert all(math.isfinite(part) and part >= 0 for part in parts), dict(zip(PARTS, parts, strict=True))
    assert sum(parts) == time.step_s[0]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_the_parts_of_a_micro_batch_are_the_slowest_stages_time(layout: Layout, model: str) -> None:
    """What the stage does for all micro-batches is m times its forward and backward: nothing twice."""
    inputs = asked(model)
    training = replace(inputs.training, global_batch_size=128)
    resolved = work(
        model=inputs.model,
        training=training,
        **{name: getattr(layout, name) for name in Layout.__dataclass_fields__},
    )
    quiet = replace(resolved, rates=replace(resolved.rates, straggler_fraction=0.0, step_fixed_s=0.0))
    time = step_time_of(quiet)
    line = pipeline(quiet, costs(quiet))
    sync = 0.0 if layout.zero_stage >= 2 else None
    inside = sum(
        getattr(time, name)[0].item()
        for name in PARTS
        if name not in ("bubble_s", "optimizer_s") and not (name == "data_parallel_s" and sync is None)
    )
    tied = time.data_parallel_s[0].item() if layout.zero_stage >= 2 and layout.pipeline_parallel > 1 else 0.0
    assert inside - tied == pytest.approx(float(quiet.micro_batches[0] * line.slowest_s[0]), rel=1e-9)


@pytest.mark.parametrize(("p", "m", "v"), [(16, 192, 1), (4, 8, 2), (1, 7, 1), (8, 8, 1)])
def test_the_bubble_fraction_is_the_schedules_own(p: int, m: int, v: int) -> None:
    """(p − 1)/(vm + p − 1), exactly. Source: Narayanan et al. 2021, section 2.2."""
    model = replace(MODEL, num_layers=16)
    time = times(
        model=model,
        training=replace(TRAINING, global_batch_size=m),
        pipeline_parallel=p,
        virtual_pipeline_stages=v,
    )
    assert time.bubble_fraction[0] == (p - 1) / (v * m + p - 1)
    assert time.bubble_over_ideal[0] == (p - 1) / (v * m)


def test_even_stages_without_ends_wait_the_closed_forms_bubble() -> None:
    """With nothing at the ends and free sends, bubble over work is (p − 1)/(v·m)."""
    resolved = work(pipeline_parallel=4, training=replace(TRAINING, global_batch_size=16))
    bare = replace(
        resolved,
        vocab_size=1e-9 * resolved.vocab_size,
        rates=replace(resolved.rates, embedding_bytes=0.0, p2p_latency_s=0.0, logits_bytes=0.0),
        inter_bytes_per_s=1e30,
        intra_bytes_per_s=1e30,
        intra_latency_s=0.0,
        inter_latency_s=0.0,
        grad_bytes=-1.0,  # gradients that cost nothing to add up
    )
    line = pipeline(bare, costs(bare))
    busy = 16 * line.slowest_s
    assert (line.makespan_s - busy) / busy == pytest.approx(3 / 16, rel=2e-3)


def test_interleaving_divides_the_bubble() -> None:
    plain = times(pipeline_parallel=4, micro_batch_size=4)
    chunked = times(pipeline_parallel=4, micro_batch_size=4, virtual_pipeline_stages=2)
    assert chunked.bubble_s[0] == pytest.approx(plain.bubble_s[0] / 2, rel=0.25)


def test_zero_bubble_waits_less_than_1f1b_and_more_than_nothing() -> None:
    plain, filled = (
        times(pipeline_parallel=8, schedule=kind).bubble_s[0]
        for kind in (Schedule.ONE_F_ONE_B, Schedule.ZB_H1)
    )
    assert 0 < filled < plain


def test_the_head_makes_the_last_stage_slowest() -> None:
    time = times(pipeline_parallel=4)
    assert time.slowest_stage[0] == 3
    assert time.imbalance_s_per_step[0] > 0


def test_a_lighter_last_stage_moves_the_slowest_forward() -> None:
    time = times(pipeline_parallel=4, layers_per_stage=(2, 3, 2, 1))
    assert time.slowest_stage[0] == 1


def test_the_fullest_stage_is_named_by_its_place() -> None:
    deep = replace(MODEL, num_layers=16, vocab_size=1024)
    time = times(model=deep, pipeline_parallel=8, layers_per_stage=(2, 2, 2, 2, 2, 3, 2, 1))
    assert time.slowest_stage[0] == 5


def test_stated_equal_stages_are_the_even_split() -> None:
    even, stated = times(pipeline_parallel=4), times(pipeline_parallel=4, layers_per_stage=(2, 2, 2, 2))
    assert even.step_s[0] == stated.step_s[0]


def test_more_adapters_make_synchronization_faster() -> None:
    """Eight data ranks of a node drive eight adapters; with eight tensor ranks each data group has one."""
    wide = times(data_parallel=64, overlap_data_parallel=False)
    narrow = times(tensor_parallel=8, data_parallel=8, overlap_data_parallel=False)
    per_byte = [t.data_parallel_s[0] / t.axes["data_parallel"].bytes_per_step[0] for t in (wide, narrow)]
    assert per_byte[1] > 5 * per_byte[0]


def test_tensor_parallelism_beyond_a_node_is_slow_but_counted() -> None:
    inside, across = times(tensor_parallel=8), times(tensor_parallel=16)
    assert across.axes["tensor_parallel"].between_nodes[0] == 1
    assert across.tensor_parallel_s[0] > 1.2 * inside.tensor_parallel_s[0]


def test_overlap_hides_gradients_and_tensor_traffic() -> None:
    shown = times(data_parallel=64, overlap_data_parallel=False)
    hidden = times(data_parallel=64)
    assert hidden.data_parallel_s[0] < shown.data_parallel_s[0]
    assert hidden.axes["data_parallel"].time_s[0] == shown.axes["data_parallel"].time_s[0]
    loud, quiet = times(tensor_parallel=8), times(tensor_parallel=8, overlap_tensor_parallel=True)
    assert quiet.tensor_parallel_s[0] < loud.tensor_parallel_s[0]


@pytest.mark.parametrize("axis", AXES)
def test_axes_that_are_not_used_send_nothing(axis: str) -> None:
    found = times().axes[axis]
    assert found.group_size[0] == 1
    assert (found.bytes_per_step[0], found.operations_per_step[0], found.exposed_s[0]) == (0, 0, 0)


def test_log2_is_exact_at_powers_of_two_and_the_same_for_one_and_many() -> None:
    counts = np.arange(1.0, 4097.0)
    many = log2_between(counts)
    assert [many[2**k - 1] for k in range(13)] == list(range(13))
    assert all(log2_between(float(n)) == many[int(n) - 1] for n in counts)
    assert np.max(np.abs(many - np.log2(counts))) < 0.09


def test_fp8_speeds_up_products_where_the_device_has_it() -> None:
    h100 = parse_inputs({"model": "llama3-8b", "gpu": "h100-80gb", "num_nodes": 1}, load_catalog())
    assert isinstance(h100, Inputs)
    layout = Layouts.of(h100.layout)
    steps = [
        step_time(h100.model, h100.cluster, replace(h100.training, compute_dtype=kind), layout, constants())
        for kind in ("bf16", "fp8")
    ]
    assert steps[1].compute_s[0] < 0.8 * steps[0].compute_s[0]
    assert times(training=replace(TRAINING, compute_dtype="fp8")).step_s[0] == times().step_s[0]


def test_a_window_shortens_attention() -> None:
    long = replace(TRAINING, seq_length=8192)
    whole, windowed = (
        times(model=replace(MODEL, sliding_window=w, full_attention_every=0), training=long).compute_s[0]
        for w in (0, 1024)
    )
    assert windowed < whole
