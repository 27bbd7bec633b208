"""Times of any layout: finite, never negative, the parts sum, one and many give the same bits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.calculator.estimate import stage_numbers
from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.schedules_simulation import simulate, work_of_stages
from app.calculator.stage_layers import stage_layers
from app.calculator.stages import Stage, candidates, costs, pipeline, stage_seconds
from app.calculator.step_axes import AXES
from app.calculator.step_time import PARTS, step_time
from app.calculator.work_build import work_of
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import Inputs, parse_inputs
from tests.unit.calculator.steps import MODEL, TRAINING, work

layouts = st.builds(
    Layout,
    tensor_parallel=st.sampled_from([1, 2, 3, 8, 64]),
    pipeline_parallel=st.sampled_from([1, 2, 3, 16, 1000]),
    data_parallel=st.sampled_from([1, 5, 8, 100_000]),
    context_parallel=st.sampled_from([1, 2, 16]),
    expert_parallel=st.sampled_from([1, 8, 64]),
    virtual_pipeline_stages=st.sampled_from([1, 2, 7]),
    schedule=st.sampled_from(list(Schedule)),
    micro_batch_size=st.sampled_from([1, 8, 1000]),
    sequence_parallel=st.booleans(),
    zero_stage=st.sampled_from([0, 1, 2, 3]),
    zero_group=st.sampled_from([0, 1, 8]),
    recompute=st.sampled_from(list(Recompute)),
    overlap_data_parallel=st.booleans(),
    overlap_tensor_parallel=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(
    model=st.sampled_from(["gpt3-175b", "llama3-8b", "mixtral-8x7b", "deepseek-v3", "t5-11b", "mistral-7b"]),
    gpu=st.sampled_from(["a100-80gb", "h100-80gb", "b200", "t4", "mi300x"]),
    kernels=st.sampled_from(["eager", "fused", "compiled", "transformer-engine"]),
    dtype=st.sampled_from(["bf16", "fp8"]),
    batch=st.sampled_from([1, 7, 1_000_000]),
    seq=st.sampled_from([1, 4096, 1_000_000]),
    many=st.lists(layouts, min_size=2, max_size=5),
)
def test_one_and_many_layouts(  # noqa: PLR0917
    model: str, gpu: str, kernels: str, dtype: str, batch: int, seq: int, many: list[Layout]
) -> None:
    asked = parse_inputs(
        {"model": model, "gpu": gpu, "num_nodes": 64, "global_batch_size": batch, "seq_length": seq},
        load_catalog(),
    )
    assert isinstance(asked, Inputs)
    training = replace(asked.training, kernels=kernels, compute_dtype=dtype)
    question = (asked.model, asked.cluster, training)
    together = step_time(*question, Layouts.of(*many), load_constants())
    for place, layout in enumerate(many):
        alone = step_time(*question, Layouts.of(layout), load_constants())
        for name in (*PARTS, "step_s", "bubble_fraction", "mean_idle_fraction", "imbalance_s_per_step"):
            value = getattr(together, name)[place]
            assert np.isfinite(value), name
            assert value >= 0, name
            assert value == getattr(alone, name)[0], name
        assert sum(getattr(alone, name)[0] for name in PARTS) == alone.step_s[0]
        for axis in AXES:
            for name in ("bytes_per_step", "operations_per_step", "time_s", "exposed_s"):
                value = getattr(together.axes[axis], name)[place]
                assert value >= 0, (axis, name)
                assert value == getattr(alone.axes[axis], name)[0], (axis, name)


SIMULATED = {
    "gpipe": Schedule.GPIPE,
    "1f1b": Schedule.ONE_F_ONE_B,
    "interleaved": Schedule.INTERLEAVED,
    "zb-h1": Schedule.ZB_H1,
}


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "interleaved", "zb-h1"])
@pytest.mark.parametrize(("p", "m"), [(2, 4), (4, 8), (4, 16), (8, 16)])
def test_the_makespan_of_the_step_is_the_simulations(schedule: str, p: int, m: int) -> None:
    """The step's own stages, played out: their first, middle and last stage times give the same makespan.

    Exact for GPipe and 1F1B; interleaving and zero bubble with unequal ends are bounded by their docstring.
    """
    chunks = 2 if schedule == "interleaved" else 1
    resolved = work(
        model=replace(MODEL, num_layers=16),
        training=replace(TRAINING, global_batch_size=m),
        pipeline_parallel=p,
        virtual_pipeline_stages=chunks,
        schedule=SIMULATED[schedule],
    )
    cost = costs(resolved)
    line = pipeline(resolved, cost)
    first, middle, _, last = [stage_seconds(stage, cost) for stage in candidates(resolved)]
    stages = [first, *[middle] * (p - 2), last]
    played = simulate(
        SIMULATED[schedule],
        m,
        work_of_stages(
            [one.forward_s.item() for one in stages],
            [one.backward_s.item() for one in stages],
            [one.weight_grad_s.item() for one in stages],
            virtual_pipeline_stages=chunks,
        ),
    )
    near = {"gpipe": 1e-9, "1f1b": 1e-9, "interleaved": 0.15, "zb-h1": 0.10}[schedule]
    assert float(line.makespan_s[0]) == pytest.approx(played.makespan_s, rel=near)


def _played(asked: Inputs) -> tuple[float, float, float, float]:
    """(slowest stage, makespan) of the step and of its stages played out, each stage as memory counts it."""
    one = Layouts.of(asked.layout)
    repeated, numbers = stage_numbers(one)
    held = stage_layers(asked.model, repeated, numbers)
    resolved = work_of(asked.model, asked.cluster, asked.training, one, load_constants())
    cost = costs(resolved)
    line = pipeline(resolved, cost)
    p, chunks = asked.layout.pipeline_parallel, int(one.model_chunks[0])
    seconds = [
        stage_seconds(
            Stage(
                early=held.early[i],
                late=held.late[i] + held.has_head[i] * asked.model.num_mtp_layers,
                embedding=held.has_embedding[i],
                head=held.has_head[i],
                sends=1 - 0.5 / chunks if i in (0, p - 1) else 1.0,
            ),
            cost,
        )
        for i in range(p)
    ]
    times = [
        [float(np.ravel(getattr(s, name))[0]) for s in seconds]
        for name in ("forward_s", "backward_s", "weight_grad_s")
    ]
    played = simulate(
        asked.layout.schedule,
        int(resolved.micro_batches[0]),
        work_of_stages(times[0], times[1], times[2], virtual_pipeline_stages=chunks),
    )
    slowest = max(map(sum, zip(*times, strict=True)))
    return slowest, float(line.slowest_s[0]), played.makespan_s, float(line.makespan_s[0])


@settings(max_examples=60, deadline=None)
@given(
    shape=st.sampled_from([("t5-11b", 48), ("deepseek-v3", 61), ("llama3-8b", 32), ("deepseek-v2", 60)]),
    p=st.sampled_from([2, 4, 8]),
    schedule=st.sampled_from(["gpipe", "1f1b", "interleaved", "zb-h1"]),
    rounds=st.sampled_from([1, 2, 8]),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=4),
    stated=st.booleans(),
)
def test_unequal_stages_of_two_kinds_of_layers(  # noqa: PLR0917
    shape: tuple[str, int], p: int, schedule: str, rounds: int, moves: list[tuple[int, int]], stated: bool
) -> None:
    """Encoder and decoder, dense and experts, stated and equal stages, with chunks or without: the slowest
    stage is the slowest of all, and the makespan is that of all of them played out.
    """
    model, layers = shape
    split = [layers // p + (i < layers % p) for i in range(p)]
    for giver, taker in moves:
        if split[giver % p] > 1:
            split[giver % p] -= 1
            split[taker % p] += 1
    asked = parse_inputs(
        {
            "model": model,
            "gpu": "h100-80gb",
            "num_nodes": 8,
            "pipeline_parallel": p,
            "schedule": schedule,
            "virtual_pipeline_stages": 2 if schedule == "interleaved" else 1,
            "layers_per_stage": split if stated or layers % p else None,
            "global_batch_size": rounds * 64,
        },
        load_catalog(),
    )
    assert isinstance(asked, Inputs)
    slowest, ours, played, makespan = _played(asked)
    assert ours == pytest.approx(slowest, rel=1e-12)
    low, high = {"gpipe": (0, 0), "1f1b": (0.03, 0), "interleaved": (0, 0.12), "zb-h1": (0.02, 0.22)}[
        schedule
    ]
    assert (1 - low - 1e-9) * played <= makespan <= (1 + high + 1e-9) * played
