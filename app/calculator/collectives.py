"""Collectives: bytes on the wire and seconds, by ring algorithms over the link a group crosses."""

from dataclasses import dataclass

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


def exchange_bandwidth(
    group_size: Number, members: Number, intra_bytes_per_s: Number, inter_bytes_per_s: Number
) -> Number:
    """What one rank of an all-to-all reaches: its far shares cross its own adapter, near ones stay inside.

    Of n − 1 shares n − j leave the node: bw = 1/max(o/B_nic, (1 − o)/B_intra), o = (n − j)/(n − 1).
    """
    outside = (group_size - members) / np.maximum(group_size - 1, 1.0)
    slower = np.maximum(outside / inter_bytes_per_s, (1 - outside) / intra_bytes_per_s)
    return 1 / slower


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """The ranks of one collective: how many, how many of them in each node, and what their ring reaches."""

    size: Number
    members: Number
    bandwidth_bytes_per_s: Number
    start_s: Number  # start-up of an all-reduce, of which:
    rank_s: Number  # per rank in a node
    hop_s: Number  # per further node

    @property
    def between_nodes(self) -> Number:
        """1 where the group crosses nodes, else 0."""
        return np.where(self.size > self.members, 1.0, 0.0)


def collective_s(ring: Ring, passes: Number, payload_bytes: Number) -> Number:
    """Seconds of one ring collective; passes k = 2 for an all-reduce, 1 for a gather, scatter or all-to-all.

    k/2·(α₀ + α₁·min(n, 8)) + k·α₂·(nodes − 1) + k·(n−1)/n·S/bw, nodes = max(1, n/j); 0 for one rank.
    Source: α–β model, Thakur et al. 2005; α₀, α₁ from the NCCL tables of vTrain (2, 4 and 8 GPUs).
    """
    nodes = np.maximum(1.0, ring.size / ring.members)
    start_s = 0.5 * (ring.start_s + ring.rank_s * np.minimum(ring.size, 8.0)) + ring.hop_s * (nodes - 1)
    share = (ring.size - 1) / ring.size
    return np.where(
        ring.size > 1, passes * start_s + passes * share * (payload_bytes / ring.bandwidth_bytes_per_s), 0.0
    )


def hidden_s(longer_s: Number, shorter_s: Number, overlap_cost: Number) -> Number:
    """Seconds of two activities that run at once: max(a, b) + κ·min(a, b).

    κ: communication takes multiprocessors and memory bandwidth from the computation it hides behind.
    """
    return np.maximum(longer_s, shorter_s) + overlap_cost * np.minimum(longer_s, shorter_s)
