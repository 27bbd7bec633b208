"""Layouts as columns, and the rules that make one legal."""

import dataclasses

import numpy as np
import pytest

from app.calculator.cluster import Cluster
from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.layout_rules import RULES
from app.calculator.legality import Case, legal, modulo
from app.calculator.violations import violations
from app.catalog import load_catalog
from app.services.inputs import Inputs, parse_inputs

CATALOG = load_catalog()


def case_of(**inputs):
    found = parse_inputs(inputs, CATALOG)
    assert isinstance(found, Inputs), found
    return Case(
        model=found.model, cluster=found.cluster, training=found.training, layouts=Layouts.of(found.layout)
    )


def test_a_row_is_what_went_in():
    layouts = [
        Layout(tensor_parallel=8, schedule=Schedule.ZB_H1, recompute=Recompute.FULL),
        Layout(zero_stage=3, zero_group=8, sequence_parallel=True, overlap_data_parallel=False),
    ]
    block = Layouts.of(*layouts)
    assert len(block) == 2
    assert [block.row(i) for i in range(2)] == layouts
    assert type(block.row(0).tensor_parallel) is int
    assert type(block.row(1).sequence_parallel) is bool


def test_columns_are_float64():
    block = Layouts.of(Layout())
    for field in dataclasses.fields(block):
        value = getattr(block, field.name)
        if isinstance(value, np.ndarray):
            assert value.dtype == np.float64


def test_blocks_share_split_and_order():
    with pytest.raises(ValueError, match="layers_per_stage"):
        Layouts.of(Layout(), Layout(layers_per_stage=(1, 2)))


def test_take_by_mask_and_position():
    block = Layouts.of(*(Layout(tensor_parallel=t) for t in (1, 2, 4)))
    assert block.take(np.array([True, False, True])).tensor_parallel.tolist() == [1, 4]
    assert block.take(np.array([2, 0])).tensor_parallel.tolist() == [4, 1]


def test_sizes():
    block = Layouts.of(
        Layout(tensor_parallel=2, pipeline_parallel=3, data_parallel=4, context_parallel=5, zero_stage=1)
    )
    assert block.world_size[0] == 120
    assert block.replicas[0] == block.zero_ranks[0] == 20
    assert block.with_columns(zero_group=np.array([4.0])).zero_ranks[0] == 4
    assert block.num_micro_batches(64)[0] == 16
    assert block.num_micro_batches(1)[0] == 1


@pytest.mark.parametrize(
    ("schedule", "chunks", "used"),
    [
        (Schedule.GPIPE, 2, 1),
        (Schedule.ONE_F_ONE_B, 2, 2),
        (Schedule.INTERLEAVED, 3, 3),
        (Schedule.ZB_H1, 2, 1),
    ],
)
def test_chunks_that_the_schedule_uses(schedule, chunks, used):
    assert Layouts.of(Layout(schedule=schedule, virtual_pipeline_stages=chunks)).model_chunks[0] == used


def test_stages_of_a_split_in_chunks():
    block = Layouts.of(Layout(pipeline_parallel=2, virtual_pipeline_stages=2, layers_per_stage=(1, 2, 3, 4)))
    assert block.layers_by_stage == (4, 6)


@pytest.mark.parametrize(("a", "b"), [(7, 3), (2**52 - 1, 3), (49152, 7), (0, 5), (6, 3), (5, 7)])
def test_modulo_is_exact(a, b):
    assert modulo(float(a), float(b)) == a % b


LEGAL = {
    "model": "gpt-1.7b",
    "num_nodes": 2,
    "tensor_parallel": 2,
    "pipeline_parallel": 2,
    "data_parallel": 4,
}
MOE = {"model": "mixtral-8x7b", "num_nodes": 2}
BROKEN = {  # code → inputs that break that rule, and only it
    "world_size_not_divisible": LEGAL | {"pipeline_parallel": 3, "data_parallel": 2, "global_batch_size": 8},
    "world_size_not_met": LEGAL | {"data_parallel": 8},
    "heads_not_divisible": {"model": "gpt-1.7b", "num_gpus": 16, "tensor_parallel": 16},
    "kv_heads_not_divisible": {
        "model": {
            "id": "llama3-8b",
            "num_kv_heads": 16,
            "num_attention_heads": 48,
            "hidden_size": 6144,
            "ffn_hidden_size": 14400,
        },
        "num_gpus": 24,
        "tensor_parallel": 24,
    },
    "ffn_not_divisible": {
        "model": {"id": "gpt-1.7b", "ffn_hidden_size": 9001},
        "num_gpus": 2,
        "tensor_parallel": 2,
    },
    "expert_ffn_not_divisible": {
        "model": {"id": "mixtral-8x7b", "moe_ffn_hidden_size": 9001},
        "num_gpus": 2,
        "tensor_parallel": 2,
    },
    "vocab_not_divisible": {
        "model": {"id": "gpt-1.7b", "vocab_size": 50257},
        "num_gpus": 2,
        "tensor_parallel": 2,
        "vocab_pad_multiple": 0,
    },
    "vision_heads_not_divisible": {
        "model": {"id": "gpt-1.7b", "vision": {"num_layers": 1, "hidden_size": 9, "num_attention_heads": 9}},
        "num_gpus": 2,
        "tensor_parallel": 2,
    },
    "layers_not_divisible": {"model": "gpt-1.7b", "num_gpus": 5, "pipeline_parallel": 5},
    "chunks_not_divisible": LEGAL | {"virtual_pipeline_stages": 5},
    "layers_per_stage_length": LEGAL | {"layers_per_stage": [8, 8, 8]},
    "layers_per_stage_sum": LEGAL | {"layers_per_stage": [8, 8]},
    "stage_not_divisible_by_chunks": LEGAL | {"layers_per_stage": [11, 13], "virtual_pipeline_stages": 2},
    "chunks_need_interleaving": LEGAL | {"virtual_pipeline_stages": 2, "schedule": "zb-h1"},
    "interleaving_needs_stages": {"model": "gpt-1.7b", "num_gpus": 1, "virtual_pipeline_stages": 2},
    "batch_not_divisible": LEGAL | {"global_batch_size": 9},
    "interleaving_micro_batches": LEGAL | {"virtual_pipeline_stages": 2, "global_batch_size": 12},
    "sequence_not_divisible": LEGAL | {"sequence_parallel": True, "seq_length": 2047},
    "encoder_sequence_not_divisible": {
        "model": "t5-11b",
        "num_gpus": 2,
        "context_parallel": 2,
        "encoder_seq_length": 511,
    },
    "experts_not_divisible": MOE | {"expert_parallel": 16},
    "no_experts": LEGAL | {"expert_parallel": 2},
    "expert_group_not_divisible": {"model": "mixtral-8x7b", "num_gpus": 2, "expert_parallel": 4},
    "experts_need_sequence_parallel": MOE | {"tensor_parallel": 2, "expert_parallel": 2},
    "zero_group_not_divisible": LEGAL | {"zero_stage": 1, "zero_group": 3},
    "compute_dtype_not_supported": {**LEGAL, "compute_dtype": "fp8"},
}


def test_every_rule_has_a_case():
    assert set(BROKEN) == {rule.code for rule in RULES}


@pytest.mark.parametrize(("code", "inputs"), BROKEN.items(), ids=BROKEN.keys())
def test_each_rule_is_named_with_its_numbers(code, inputs):
    case = case_of(**inputs)
    (found,) = violations(case)
    assert found.code == code
    assert found.remainder != 0
    assert "{" not in found.message
    assert not legal(RULES, case)[0]


@pytest.mark.parametrize(("code", "inputs"), BROKEN.items(), ids=BROKEN.keys())
def test_the_nearest_values_keep_the_rule(code, inputs):
    (found,) = violations(case_of(**inputs))
    key = found.field.partition(".")[2]
    for value in found.nearest_legal:
        fixed = {violation.code for violation in violations(case_of(**{**inputs, key: value}))}
        assert code not in fixed


def test_rules_that_apply_to_nothing_are_silent():
    assert violations(case_of(**LEGAL)) == []
    assert legal(RULES, case_of(**LEGAL))[0]


def test_a_block_is_judged_row_by_row():
    case = case_of(**LEGAL)
    block = Layouts.of(
        *(Layout(tensor_parallel=t, pipeline_parallel=2, data_parallel=8 // t) for t in (1, 2, 4, 8))
    )
    expected = [not violations(dataclasses.replace(case, layouts=Layouts.of(block.row(i)))) for i in range(4)]
    assert legal(RULES, dataclasses.replace(case, layouts=block)).tolist() == expected


@pytest.mark.parametrize(
    ("inputs", "field", "nearest"),
    [
        ({"tensor_parallel": 7}, "layout.tensor_parallel", (4, 8)),
        ({"tensor_parallel": 8, "pipeline_parallel": 12}, "layout.pipeline_parallel", (8, 16)),
        ({"num_gpus": 1023, "tensor_parallel": 8, "pipeline_parallel": 16}, "cluster.num_gpus", (896, 1024)),
        ({"num_gpus": 3, "tensor_parallel": 2, "pipeline_parallel": 4}, "cluster.num_gpus", (8,)),
    ],
)
def test_the_axis_that_can_give_is_named(inputs, field, nearest):
    found = violations(case_of(model="gpt3-175b", num_nodes=128, **({"pipeline_parallel": 16} | inputs)))
    (world,) = [violation for violation in found if violation.code == "world_size_not_divisible"]
    assert (world.field, world.nearest_legal) == (field, nearest)


def test_usable_memory_is_what_the_driver_leaves():
    cluster = Cluster(
        device=CATALOG.gpus["a100-80gb"].device,
        num_nodes=1,
        num_gpus=8,
        intra_node=CATALOG.links["nvlink3"].link,
        inter_node=CATALOG.links["infiniband-hdr"].link,
    )
    assert cluster.usable_bytes / 2**30 == pytest.approx(79.2)
