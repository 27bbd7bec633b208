"""Collectives: bytes on the wire and seconds, by ring algorithms over the link a group crosses."""

import numpy as np

from app.calculator.layout import Column

Number = float | Column


def wire_bytes(kind: str, group_size: Number, payload_bytes: Number) -> Number:
    """Bytes that one rank sends for one collective.

    all_reduce: 2(n−1)/n·S · all_gather, reduce_scatter, all_to_all: (n−1)/n·S · send: S.
    S is the whole (gathered) tensor for a gather or scatter, and one rank's whole buffer for all_to_all.
    Source: Patarasuk & Yuan 2009 (ring all-reduce is bandwidth optimal); NCCL performance notes.
    Raises: KeyError for another kind.
    """
    passes = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}
    if kind == "send":
        return payload_bytes
    return passes[kind] * (group_size - 1) / group_size * payload_bytes


def members_per_node(group_size: Number, stride: Number, gpus_per_node: Number) -> Number:
    """How many ranks of a group sit in one node: min(n, max(1, g/stride)), ranks `stride` apart.

    A node's members each drive their own NIC, so a group's rate between nodes is this many NICs.
    """
    return np.minimum(group_size, np.maximum(1.0, np.floor(gpus_per_node / stride)))


def group_bandwidth(
    group_size: Number, members: Number, intra_bytes_per_s: Number, inter_bytes_per_s: Number
) -> Number:
    """Ring bandwidth of a group: the fast link inside a node, else the NICs its members drive, never more.

    bw = B_intra if n ≤ j else min(B_intra, j·B_nic), j members in a node, B in bytes/s per device.
    """
    between = np.minimum(intra_bytes_per_s, members * inter_bytes_per_s)
    return np.where(group_size > members, between, intra_bytes_per_s)


def collective_s(
    passes: Number,
    group_size: Number,
    members: Number,
    payload_bytes: Number,
    bandwidth_bytes_per_s: Number,
    latency_s: tuple[Number, Number, Number],
) -> Number:
    """Seconds of one ring collective; passes = 2 for all-reduce, 1 for gather or scatter; 0 for a group of one.

    k/2·(α₀ + α₁·min(n, 8)) + k·α₂·(nodes − 1) + k·(n−1)/n·S/bw, nodes = max(1, n/j).
    Source: α–β model (Thakur et al. 2005); α₀, α₁ fitted to the measured NCCL tables of vTrain (2, 4 and 8 GPUs).
    """
    start_s, rank_s, hop_s = latency_s
    nodes = np.maximum(1.0, group_size / members)
    alpha_s = passes * (0.5 * (start_s + rank_s * np.minimum(group_size, 8.0)) + hop_s * (nodes - 1))
    beta_s = passes * ((group_size - 1) / group_size) * (payload_bytes / bandwidth_bytes_per_s)
    return np.where(group_size > 1, alpha_s + beta_s, 0.0)


def hidden_s(longer_s: Number, shorter_s: Number, overlap_cost: Number) -> Number:
    """Seconds of two activities that run at once: max(a, b) + κ·min(a, b).

    κ: communication takes multiprocessors and memory bandwidth from the computation it hides behind.
    """
    return np.maximum(longer_s, shorter_s) + overlap_cost * np.minimum(longer_s, shorter_s)
