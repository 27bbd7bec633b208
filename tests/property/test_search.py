"""The search against a plain loop over every layout of a small cluster; one by one against many."""

import dataclasses
import math
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.calculator.answer import answer_of
from app.calculator.enumeration import Space
from app.calculator.estimate import stage_numbers
from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.memory import peak_bytes, stage_memory
from app.calculator.search import Question, Search
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.estimation import estimate
from app.services.inputs import InputProblems, Inputs, parse_inputs
from app.services.searching import search, search_at_once

DENSE = {"num_layers": 4, "hidden_size": 1024, "num_attention_heads": 4, "vocab_size": 1000}
GROUPED = {**DENSE, "num_layers": 6, "num_attention_heads": 8, "num_kv_heads": 2, "gated_mlp": True}
EXPERTS = {**DENSE, "num_experts": 4, "experts_per_token": 2, "num_dense_layers": 1}


def inputs_of(shape: dict[str, Any], gpus: int, batch: int, memory: float) -> Inputs:
    found = parse_inputs(
        {**shape, "num_gpus": gpus, "global_batch_size": batch, "seq_length": 512, "memory_bytes": memory},
        load_catalog(),
    )
    assert isinstance(found, Inputs), found
    return found


def oracle(inputs: Inputs, fixed: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Every legal layout worked out alone, found by counting through all of them.

    Only what repeats another layout is passed over: sequence parallelism without a tensor group, sharding
    without copies, and without stages every schedule but one.
    """
    model, gpus = inputs.model, inputs.cluster.num_gpus
    found = []
    sizes = [n for n in range(1, gpus + 1) if gpus % n == 0]
    experts = range(1, max(1, model.num_experts) + 1)
    for t, p, c in product(sizes, repeat=3):
        if gpus % (t * p * c) or c > 8:
            continue
        d = gpus // (t * p * c)
        orders = [(s, v) for s in Schedule for v in range(1, model.total_layers + 1)]
        for e, b, (schedule, v), zero, recompute, split in product(
            experts, range(1, 129), orders, fixed["zero_stage"], fixed["recompute"], (False, True)
        ):
            if inputs.training.global_batch_size % (b * d):
                continue
            if (split and t == 1) or (zero and c * d == 1):
                continue
            if (v > 1) != (schedule == Schedule.INTERLEAVED) or (p == 1 and schedule != Schedule.ONE_F_ONE_B):
                continue
            layout = Layout(
                tensor_parallel=t,
                pipeline_parallel=p,
                data_parallel=d,
                context_parallel=c,
                expert_parallel=e,
                virtual_pipeline_stages=v,
                schedule=schedule,
                micro_batch_size=b,
                sequence_parallel=split,
                zero_stage=zero,
                recompute=recompute,
            )
            told = answer_of(
                inputs.model, inputs.cluster, inputs.training, layout, load_constants(), working=False
            )
            if told["legal"]:
                found.append(told)
    return found


cases = st.fixed_dictionaries(
    {
        "shape": st.sampled_from([DENSE, GROUPED, EXPERTS]),
        "gpus": st.sampled_from([1, 2, 3, 4, 6]),
        "batch": st.sampled_from([4, 6, 8]),
        "memory": st.sampled_from([3.5e9, 4.5e9, 80e9]),
    }
)
SCORES = {
    "step_s": lambda told: told["time"]["step_s"],
    "tokens_per_s": lambda told: -told["throughput"]["tokens_per_s"],
    "headroom_bytes": lambda told: -told["memory"]["headroom_bytes"],
}


@settings(max_examples=14, deadline=None)
@given(
    case=cases,
    zero=st.sampled_from([(0,), (0, 1), (0, 2, 3)]),
    recompute=st.sampled_from([(Recompute.NONE,), (Recompute.SELECTIVE, Recompute.FULL)]),
    objective=st.sampled_from(sorted(SCORES)),
)
def test_the_best_is_the_best_of_all(case, zero, recompute, objective):
    inputs = inputs_of(**case)
    every = oracle(inputs, {"zero_stage": zero, "recompute": recompute})
    fitting = [one for one in every if one["memory"]["peak_bytes"] <= one["memory"]["usable_bytes"]]
    space = Space(values={"zero_stage": tuple(map(float, zero)), "recompute": tuple(map(float, recompute))})
    question = Question(
        model=inputs.model,
        cluster=inputs.cluster,
        trainings=(inputs.training,),
        spaces=(space,),
        objective=objective,
        top=10_000,
    )
    found = Search(question, load_constants()).run()
    assert (found.legal, found.fitting, len(found.best)) == (len(every), len(fitting), len(fitting))
    ranked = [
        answer_of(inputs.model, inputs.cluster, inputs.training, row.layout, load_constants(), working=False)
        for row in found.best
    ]
    score = SCORES[objective]
    assert [score(one) for one in ranked] == sorted(map(score, fitting))


@settings(max_examples=15, deadline=None)
@given(
    model=st.sampled_from(["gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3", "t5-11b", "llama2-7b"]),
    nodes=st.sampled_from([1, 2, 4, 16, 64]),
    objective=st.sampled_from(["step_s", "tokens_per_s", "headroom_bytes", "cost"]),
)
def test_every_row_is_what_the_estimate_says(model, nodes, objective):
    """Bit for bit, through JSON's own words."""
    question = {"model": model, "gpu": "h100-80gb", "num_nodes": nodes, "global_batch_size": 512}
    found = search({**question, "objective": objective, "top": 8})
    assert isinstance(found, dict)
    cluster = {"gpu": "h100-80gb", "num_nodes": nodes}
    for row in found["best"] + found["pareto"]:
        told = estimate(
            {"model": model, "cluster": cluster, "layout": row["layout"], "training": row["training"]}
        )
        assert isinstance(told, dict), told
        assert told["legal"], told["violations"]
        flat = {**told["time"], **told["throughput"], **told["memory"], **told["batch"]}
        same = {key: value for key, value in row["summary"].items() if key in flat}
        assert len(same) >= 11
        assert same == {key: flat[key] for key in same}


@settings(max_examples=20, deadline=None)
@given(
    gpus=st.integers(1, 40),
    batch=st.integers(1, 96),
    bounds=st.tuples(st.integers(1, 8), st.integers(1, 8)).map(sorted),
)
def test_limits_only_take_away(gpus, batch, bounds):
    question = {"model": "llama2-7b", "num_gpus": gpus, "global_batch_size": batch, "top": 1000}
    every, some = search(question), search({**question, "limits": {"tensor_parallel": bounds}})
    assert isinstance(every, dict)
    assert isinstance(some, dict)
    assert some["legal"] <= every["legal"]
    widths = {row["layout"]["tensor_parallel"] for row in some["best"]}
    assert all(bounds[0] <= width <= bounds[1] for width in widths)
    steps = [row["summary"]["step_s"] for row in some["best"]]
    assert steps == sorted(steps)
    if some["best"]:
        assert steps[0] >= every["best"][0]["summary"]["step_s"]
    assert all(math.prod(_degrees(row)) == gpus for row in every["best"])


def _degrees(row: dict[str, Any]) -> list[int]:
    names = ("tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel")
    return [row["layout"][name] for name in names]


@settings(max_examples=150, deadline=None)
@given(
    shape=st.sampled_from(["experts", "encoder"]),
    stages=st.sampled_from([1, 2, 3, 4, 6, 8, 12]),
    chunks=st.sampled_from([1, 2, 3, 4]),
    each=st.integers(1, 3),
    early=st.integers(0, 40),
    schedule=st.sampled_from(list(Schedule)),
    layout=st.builds(
        Layout,
        tensor_parallel=st.sampled_from([1, 2, 4]),
        data_parallel=st.sampled_from([1, 2, 8]),
        micro_batch_size=st.sampled_from([1, 4]),
        zero_stage=st.integers(0, 3),
        recompute=st.sampled_from(list(Recompute)),
    ),
)
def test_few_stages_hold_the_peak_of_two_kinds_of_layer(**case):
    """The closed form of where the fullest stage can be, against all stages: also with chunks."""
    chunked = case["schedule"] in (Schedule.ONE_F_ONE_B, Schedule.INTERLEAVED)
    chunks = case["chunks"] if chunked else 1
    layers = case["stages"] * chunks * case["each"]
    early = min(case["early"], layers)
    shape = {
        **DENSE,
        "num_layers": layers,
        "num_experts": 8,
        "experts_per_token": 2,
        "num_dense_layers": early,
    }
    if case["shape"] == "encoder":
        if not 0 < early < layers:
            return
        shape = {**DENSE, "num_layers": layers - early, "encoder_layers": early}
    inputs = inputs_of(shape, 8, 64, 80e9)
    layout = dataclasses.replace(
        case["layout"],
        pipeline_parallel=case["stages"],
        virtual_pipeline_stages=chunks,
        schedule=case["schedule"],
    )
    one = Layouts.of(layout)
    repeated, numbers = stage_numbers(one)
    totals = stage_memory(inputs.model, inputs.training, repeated, numbers).total_bytes
    assert peak_bytes(inputs.model, inputs.training, one)[0] == totals.max()


odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=12)
    | st.sampled_from(["1-8", "1,2", "global", "1f1b", "full"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
names = [
    "model",
    "cluster",
    "layout",
    "training",
    "fixed",
    "limits",
    "batch_range",
    "objective",
    "top",
    "num_gpus",
    "global_batch_size",
    "tensor_parallel",
    "layers_per_stage",
    "rank_order",
    "zero_group",
    "micro_batch_size",
    "schedule",
    "mfu",
    "x",
]
words, fields = st.sampled_from(names), st.dictionaries(st.sampled_from(names[-9:]), odd, max_size=3)
whole = st.fixed_dictionaries(
    {"model": st.just("gpt-1.7b"), "fixed": fields, "limits": fields, "layout": fields, "top": st.just(3)}
)


@settings(max_examples=200, deadline=None)
@given(raw=st.dictionaries(words, odd, max_size=5) | whole | odd)
def test_a_search_never_raises(raw):
    found = search_at_once(raw)
    if isinstance(found, InputProblems):
        assert found.problems
        assert all(problem.message for problem in found.problems)
    else:
        assert found["enumerated"] >= found["legal"] >= found["fitting"] >= len(found["best"])
