from dataclasses import replace

import numpy as np
import pytest

from app.calculator import communication as comm
from app.calculator.layout import Recompute
from app.catalog import load_catalog
from app.services.inputs import Inputs, parse_inputs
from tests.unit.calculator.steps import MODEL, work

P = 7.0e8


def one(value: object) -> float:
    return float(np.asarray(value).reshape(-1)[0])


def test_tensor_parallel_all_reduces_two_and_two_a_layer() -> None:
    """8bsh(t−1)/t elements of two bytes. Source: Narayanan et al. 2021, section 3.2."""
    resolved = work(tensor_parallel=4)
    plain, again = comm.tensor_layer(resolved, resolved.late)
    assert one(plain.operations) == 4
    assert one(plain.sent_bytes) == 2 * 8 * 1 * 1024 * 1024 * 3 / 4
    assert one(again.operations) == 0


def test_full_recompute_repeats_the_forward_all_reduces() -> None:
    resolved = work(tensor_parallel=4, recompute=Recompute.FULL)
    plain, again = comm.tensor_layer(resolved, resolved.late)
    assert one(again.sent_bytes) == one(plain.sent_bytes) / 2


def test_sequence_parallelism_sends_as_much_and_gathers_again() -> None:
    reduce, split = work(tensor_parallel=4), work(tensor_parallel=4, sequence_parallel=True)
    whole = one(comm.tensor_layer(reduce, reduce.late)[0].sent_bytes)
    assert one(comm.tensor_layer(split, split.late)[0].sent_bytes) == pytest.approx(1.25 * whole)


def test_alone_there_is_no_tensor_traffic() -> None:
    resolved = work()
    plain, again = comm.tensor_layer(resolved, resolved.late)
    assert (one(plain.time_s), one(plain.sent_bytes), one(again.time_s)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (0, 2 * 2 * 7 / 8 * P),  # all-reduce of two-byte gradients
        (
            1,
            (2 + 2) * 7 / 8 * P,
        ),  # scatter of gradients, gather of weights: as much. Rajbhandari, section 7.1
        (2, 0.0),
        (3, 0.0),
    ],
)
def test_gradients_are_synchronized_once_below_zero_2(stage: int, expected: float) -> None:
    resolved = work(data_parallel=8, zero_stage=stage)
    assert one(comm.gradient_sync(resolved, P, 0.0).sent_bytes) == pytest.approx(expected)


@pytest.mark.parametrize(("stage", "times_ddp"), [(2, 1.0), (3, 1.5)])
def test_zero_3_sends_half_as_much_again(stage: int, times_ddp: float) -> None:
    """Rajbhandari et al. 2020, section 7.2: 3Ψ against 2Ψ, for one micro-batch and two-byte gradients."""
    resolved = work(data_parallel=8, zero_stage=stage)
    both = comm.plus(*comm.fsdp_layer(resolved, P, 0.0))
    assert one(both.sent_bytes) == pytest.approx(times_ddp * 2 * 2 * 7 / 8 * P)


def test_a_shard_group_inside_a_node_stays_off_the_network() -> None:
    """HSDP: gathers stay inside the node; only a shard of the gradients crosses."""
    everywhere = work(data_parallel=64, zero_stage=3)
    inside = work(data_parallel=64, zero_stage=3, zero_group=8)
    assert one(comm.fsdp_layer(inside, P, 0.0)[0].time_s) < one(comm.fsdp_layer(everywhere, P, 0.0)[0].time_s)
    part = comm.sharings(inside, P, 0.0)[0]
    assert one(part.shard.between_nodes) == 0
    assert one(part.replicas.between_nodes) == 1
    assert one(part.replicas.size) == 8


def test_rank_order_decides_which_link_a_group_crosses() -> None:
    near = work(tensor_parallel=8, data_parallel=8)
    far = work(tensor_parallel=8, data_parallel=8, rank_order=("data", "context", "tensor", "pipeline"))
    for resolved, crosses in ((near, 0), (far, 1)):
        ranks = comm.group(resolved, resolved.tensor, resolved.tensor_stride)
        assert one(ranks.between_nodes) == crosses
    assert one(comm.tensor_layer(far, far.late)[0].time_s) > 5 * one(
        comm.tensor_layer(near, near.late)[0].time_s
    )


def test_pipeline_sends_a_slice_and_gathers_it() -> None:
    narrow, wide = work(pipeline_parallel=4), work(pipeline_parallel=4, tensor_parallel=8)
    assert one(comm.pipeline_micro_batch(narrow).sent_bytes) == 2 * 2 * 1024 * 1024
    assert one(comm.pipeline_micro_batch(wide).sent_bytes) == 2 * 2 * 1024 * 1024 / 8
    assert one(comm.pipeline_micro_batch(work()).sent_bytes) == 0


def test_chunks_multiply_the_sends() -> None:
    once, twice = work(pipeline_parallel=4), work(pipeline_parallel=4, virtual_pipeline_stages=2)
    assert one(comm.pipeline_micro_batch(twice).operations) == 2 * one(
        comm.pipeline_micro_batch(once).operations
    )


def test_ring_attention_passes_keys_and_values_around() -> None:
    resolved = work(context_parallel=4)
    traffic = comm.context_layer(resolved, resolved.late)
    block = 2 * (1024 / 4) * 2 * 1024  # two bytes, own tokens, keys and values of 16 heads of 64
    assert one(traffic.sent_bytes) == 3 * 3 * block
    grouped = work(model=replace(MODEL, num_kv_heads=4), context_parallel=4)
    assert one(comm.context_layer(grouped, grouped.late).sent_bytes) == 3 * 3 * block / 4


def test_experts_exchange_tokens_four_times_a_layer() -> None:
    asked = parse_inputs({"model": "mixtral-8x7b", "num_nodes": 8}, load_catalog())
    assert isinstance(asked, Inputs)
    resolved = work(model=asked.model, training=asked.training, data_parallel=8, expert_parallel=8)
    traffic, again = comm.expert_layer(resolved, resolved.late)
    tokens = asked.training.seq_length
    assert one(traffic.operations) == 4
    assert one(traffic.sent_bytes) == pytest.approx(4 * 7 / 8 * 2 * tokens * 4096 * 2)
    assert one(again.operations) == 0


def test_experts_are_copied_over_fewer_ranks() -> None:
    resolved = work(data_parallel=16, expert_parallel=8)
    dense, expert = comm.sharings(resolved, P, P)
    assert (one(dense.whole.size), one(expert.whole.size)) == (16, 2)
    assert (one(dense.whole.members), one(expert.whole.members)) == (8, 1)


def test_communication_beside_work_adds_only_what_sticks_out() -> None:
    assert comm.exposed_beside(10.0, 4.0, 0.25) == 1.0
    assert comm.exposed_beside(10.0, 14.0, 0.0) == 4.0
    assert comm.exposed_beside(10.0, 0.0, 0.25) == 0.0


def test_a_decoder_hands_on_what_the_encoder_said() -> None:
    """Both sequences cross a boundary between decoder stages. Source: Megatron-LM, T5 with pipelines."""
    t5 = parse_inputs({"model": "t5-11b", "num_nodes": 8}, load_catalog())
    assert isinstance(t5, Inputs)
    resolved = work(model=t5.model, training=t5.training, pipeline_parallel=4)
    assert one(comm.pipeline_micro_batch(resolved).sent_bytes) == 2 * 2 * (512 + 512) * 1024


def test_an_all_to_all_crosses_each_ranks_own_adapter() -> None:
    """Eight members of a node share eight adapters in a ring, but each sends its own tokens over one."""
    resolved = work(data_parallel=64, expert_parallel=64)
    ring = comm.group(resolved, resolved.expert, resolved.data_stride)
    exchange = comm.group(resolved, resolved.expert, resolved.data_stride, exchange=True)
    inter = resolved.inter_bytes_per_s * resolved.rates.inter_node_fraction
    assert one(exchange.bandwidth_bytes_per_s) == pytest.approx(inter * 63 / 56)
    assert one(ring.bandwidth_bytes_per_s) > 5 * one(exchange.bandwidth_bytes_per_s)
    inside = comm.group(resolved, 8.0, resolved.data_stride, exchange=True)
    assert (
        one(inside.bandwidth_bytes_per_s) == resolved.intra_bytes_per_s * resolved.rates.intra_node_fraction
    )


@pytest.mark.parametrize(
    ("order", "layout", "members"),
    [
        (("tensor", "context", "data", "pipeline"), {"tensor_parallel": 2, "data_parallel": 16}, 4),
        (("context", "tensor", "data", "pipeline"), {"tensor_parallel": 8, "data_parallel": 8}, 1),
        (("context", "tensor", "data", "pipeline"), {"tensor_parallel": 2, "context_parallel": 2}, 2),
        (("data", "context", "tensor", "pipeline"), {"tensor_parallel": 8, "data_parallel": 8}, 8),
        (("pipeline", "tensor", "context", "data"), {"pipeline_parallel": 8, "data_parallel": 8}, 1),
        (("tensor", "context", "data", "pipeline"), {"context_parallel": 4, "data_parallel": 16}, 8),
    ],
)
def test_gradients_reduce_over_ranks_wherever_the_order_puts_them(
    order: tuple[str, ...], layout: dict[str, int], members: int
) -> None:
    resolved = work(rank_order=order, **layout)
    assert one(comm.sharings(resolved, P, 0.0)[0].whole.members) == members


def test_a_tied_embedding_crosses_nodes_only_when_the_pipeline_does() -> None:
    inside, across = work(pipeline_parallel=8), work(pipeline_parallel=8, tensor_parallel=8)
    assert one(comm.tied_embedding_sync(work()).sent_bytes) == 0
    near, far = comm.tied_embedding_sync(inside), comm.tied_embedding_sync(across)
    assert one(near.sent_bytes) == 2 * 51200 * 1024
    per_byte = [one(t.time_s) / one(t.sent_bytes) for t in (near, far)]
    assert per_byte[1] > 4 * per_byte[0]
