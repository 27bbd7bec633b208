"""What each axis sends in one step, over which link, how long it takes and how much of that is exposed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.calculator.collectives import (
    Number,
    Ring,
    collective_s,
    exchange_bandwidth,
    group_bandwidth,
    hidden_s,
    members_per_node,
)
from app.calculator.work import FULL, LayerKind, Work, tokens

GATHERS = 1.0  # passes over the ring of an all-gather, a reduce-scatter or an all-to-all
ALL_REDUCE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Traffic of one layer and micro-batch, or of one step: per device."""

    sent_bytes: Number
    operations: Number
    time_s: Number


NOTHING = Traffic(sent_bytes=0.0, operations=0.0, time_s=0.0)


def _never(condition: Any) -> bool:
    """Whether a term is zero everywhere, so that its columns need not be worked out."""
    return not np.any(condition)


def group(work: Work, size: Number, stride: Number, *, exchange: bool = False) -> Ring:
    """The group of `size` ranks that sit `stride` apart, and what its ring (or all-to-all) reaches."""
    rates = work.rates
    members = members_per_node(size, stride, work.gpus_per_node)
    reached = exchange_bandwidth if exchange else group_bandwidth
    intra = work.intra_bytes_per_s * rates.intra_node_fraction
    inter = work.inter_bytes_per_s * rates.inter_node_fraction
    return Ring(
        size=size,
        members=members,
        bandwidth_bytes_per_s=reached(size, members, intra, inter),
        start_s=rates.collective_latency_s,
        rank_s=rates.collective_rank_latency_s + work.intra_latency_s,
        hop_s=rates.collective_hop_latency_s + work.inter_latency_s,
    )


def collectives(ring: Ring, passes: Number, payload_bytes: Number, count: Number) -> Traffic:
    """`count` ring collectives of `payload_bytes` each: bytes one rank sends, operations, seconds."""
    sent = passes * (ring.size - 1) / ring.size * payload_bytes
    many = np.where(ring.size > 1, count, 0.0)
    return Traffic(
        sent_bytes=many * sent, operations=many, time_s=many * collective_s(ring, passes, payload_bytes)
    )


def plus(one: Traffic, other: Traffic) -> Traffic:
    """Both, one after the other."""
    return Traffic(
        sent_bytes=one.sent_bytes + other.sent_bytes,
        operations=one.operations + other.operations,
        time_s=one.time_s + other.time_s,
    )


def times(traffic: Traffic, count: Number) -> Traffic:
    """The same traffic `count` times."""
    return Traffic(
        sent_bytes=count * traffic.sent_bytes,
        operations=count * traffic.operations,
        time_s=count * traffic.time_s,
    )


def tensor_layer(work: Work, kind: LayerKind) -> tuple[Traffic, Traffic]:
    """(forward and backward, recomputed) tensor-parallel traffic of one layer and micro-batch.

    An all-reduce of 2Th bytes after each block, in both passes (two blocks; three with cross-attention), and
    the forward ones again with full recompute. With sequence parallelism each is a reduce-scatter and an
    all-gather, and the backward pass gathers the inputs once more, half of it behind the product beside it.
    Source: Shoeybi et al. 2019 §3; Korthikanti et al. 2022 §4.2.2.
    """
    payload = 2 * work.micro_batch * kind.seq_length / work.context * work.hidden_size
    blocks = float(len(kind.attentions) + 1)
    ranks = group(work, work.tensor, work.tensor_stride)
    split = work.sequence_parallel > 0
    reduce = collectives(
        ranks, np.where(split, GATHERS, ALL_REDUCE), payload, np.where(split, 4.0, 2.0) * blocks
    )
    gather = collectives(ranks, GATHERS, payload, np.where(split, blocks, 0.0))
    regather = Traffic(sent_bytes=gather.sent_bytes, operations=gather.operations, time_s=0.5 * gather.time_s)
    full = np.where(work.recompute == FULL, 0.5, 0.0)
    again = Traffic(
        sent_bytes=full * reduce.sent_bytes, operations=full * reduce.operations, time_s=full * reduce.time_s
    )
    return plus(reduce, regather), again


def _send_latency_s(work: Work, ranks: Ring) -> Number:
    wire_s = np.where(ranks.between_nodes > 0, work.inter_latency_s, work.intra_latency_s)
    return work.rates.p2p_latency_s + wire_s


def context_layer(work: Work, kind: LayerKind) -> Traffic:
    """Ring attention: each rank passes keys and values on c − 1 times, backward also their gradients.

    (c−1)·2·T·kv/t bytes forward, twice that backward. Source: Liu et al. 2023, ring attention.
    """
    if _never(work.context > 1):
        return NOTHING
    block = 2 * tokens(work, kind) * kind.attentions[0].kv_width / work.tensor
    ranks = group(work, work.context, work.context_stride)
    hops = 3 * (work.context - 1)
    return Traffic(
        sent_bytes=hops * block,
        operations=hops,
        time_s=hops * (_send_latency_s(work, ranks) + block / ranks.bandwidth_bytes_per_s),
    )


def expert_layer(work: Work, kind: LayerKind) -> tuple[Traffic, Traffic]:
    """(forward and backward, recomputed) all-to-alls of one layer: dispatch and combine in each pass.

    Each moves 2·T·h·k/t bytes, k experts a token. Source: Lepikhin et al. 2020 (GShard); Fedus et al. 2021.
    """
    if _never(kind.routed_per_token > 0):
        return NOTHING, NOTHING
    payload = 2 * tokens(work, kind) * work.hidden_size * kind.routed_per_token / work.tensor
    ranks = group(work, work.expert, work.data_stride, exchange=True)
    routed = np.where(kind.routed_per_token > 0, 1.0, 0.0)
    full = np.where(work.recompute == FULL, 2.0, 0.0)
    return (
        collectives(ranks, GATHERS, payload, 4.0 * routed),
        collectives(ranks, GATHERS, payload, full * routed),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Weights of one kind on one device, and the ranks that hold the same ones."""

    weights: Number
    whole: Ring  # all of them
    shard: Ring  # those that share one copy of sharded states
    replicas: Ring  # the copies


def sharings(work: Work, dense: Number, expert: Number) -> list[Sharing]:
    """The dense weights over c·d ranks; the experts' over c·d/e ranks, e apart, where there are any."""
    found = []
    copies = work.data * work.context
    for weights, size, stride in (
        (dense, copies, work.data_stride),
        (expert, copies / work.expert, work.data_stride * work.expert),
    ):
        if _never(weights > 0):
            continue
        shard = np.minimum(work.shard_group, size)
        found.append(
            Sharing(
                weights=weights,
                whole=group(work, size, stride),
                shard=group(work, shard, stride),
                replicas=group(work, size / shard, stride * shard),
            )
        )
    return found


def fsdp_layer(work: Work, dense: Number, expert: Number) -> tuple[Traffic, Traffic]:
    """(forward, backward) traffic of one fully sharded layer and micro-batch.

    Forward gathers 2P bytes of weights; backward gathers them again (ZeRO-3), scatters g·P of gradients and,
    where the states are copied (zero_group), all-reduces the shard over the copies.
    Source: Rajbhandari et al. 2020, section 7; Zhao et al. 2023 (FSDP).
    """
    forward = backward = NOTHING
    if _never(work.zero_stage >= 2):
        return forward, backward
    on = np.where(work.zero_stage >= 2, 1.0, 0.0)
    again = np.where(work.zero_stage >= 3, 1.0, 0.0)
    for part in sharings(work, dense, expert):
        gradient = work.grad_bytes * part.weights
        forward = plus(forward, collectives(part.shard, GATHERS, 2 * part.weights, on))
        backward = plus(backward, collectives(part.shard, GATHERS, 2 * part.weights, again))
        backward = plus(backward, collectives(part.shard, GATHERS, gradient, on))
        copies = collectives(part.replicas, ALL_REDUCE, gradient / part.shard.size, on)
        backward = plus(backward, copies)
    return forward, backward


def gradient_sync(work: Work, dense: Number, expert: Number) -> Traffic:
    """Once per step, below ZeRO-2: all-reduce of the gradients, or reduce-scatter and gather of the weights.

    ZeRO-0: all-reduce g·P. ZeRO-1: scatter g·P, gather 2P in the shard group; all-reduce over its copies.
    Source: Rajbhandari et al. 2020, section 7.
    """
    total = NOTHING
    if _never(work.zero_stage < 2):
        return total
    plain = np.where(work.zero_stage < 1, 1.0, 0.0)
    sharded = np.where(work.zero_stage == 1, 1.0, 0.0)
    for part in sharings(work, dense, expert):
        gradient = work.grad_bytes * part.weights
        total = plus(total, collectives(part.whole, ALL_REDUCE, gradient, plain))
        total = plus(total, collectives(part.shard, GATHERS, gradient, sharded))
        total = plus(total, collectives(part.replicas, ALL_REDUCE, gradient / part.shard.size, sharded))
        total = plus(total, collectives(part.shard, GATHERS, 2 * part.weights, sharded))
    return total


def tied_embedding_sync(work: Work) -> Traffic:
    """The tied embedding's gradient, summed between the first and the last stage: all-reduce of 2Vh/t bytes.

    Source: Narayanan et al. 2021, Megatron-LM embedding group.
    """
    inside = work.pipeline * work.pipeline_stride <= work.gpus_per_node
    apart = np.where(inside, 1.0, work.gpus_per_node)
    pair = group(work, np.where(work.pipeline > 1, 2.0, 1.0), apart)
    payload = 2 * work.vocab_size * work.hidden_size / work.tensor
    return collectives(pair, ALL_REDUCE, payload, work.tied_embeddings)


def pipeline_micro_batch(work: Work) -> Traffic:
    """Sends of a middle stage for one micro-batch: v times forward and v times backward.

    A rank sends its 1/t of the boundary's 2Th bytes and, without sequence parallelism, gathers the rest
    inside its node. Source: Narayanan et al. 2021, section 4.1; DeepSpeed (partitioned activations).
    """
    boundary = 2 * work.micro_batch * work.boundary_seq_length / work.context * work.hidden_size
    neighbours = group(work, 2.0, work.pipeline_stride)
    intra = work.intra_bytes_per_s * work.rates.intra_node_fraction
    regather = np.where(work.sequence_parallel > 0, 0.0, (1 - 1 / work.tensor) * boundary / intra)
    slice_s = boundary / work.tensor / neighbours.bandwidth_bytes_per_s
    sends = np.where(work.pipeline > 1, 2 * work.chunks, 0.0)
    return Traffic(
        sent_bytes=sends * boundary / work.tensor,
        operations=sends,
        time_s=sends * (_send_latency_s(work, neighbours) + slice_s + regather),
    )


def exposed_beside(busy_s: Number, comm_s: Number, overlap_cost: Number) -> Number:
    """Seconds that communication adds to the work it runs beside: max(a, b) + κ·min(a, b) − a."""
    return np.where(comm_s > 0, hidden_s(busy_s, comm_s, overlap_cost) - busy_s, 0.0)
