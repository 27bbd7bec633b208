import numpy as np
import pytest

from app.calculator.collectives import (
    Ring,
    collective_s,
    group_bandwidth,
    hidden_s,
    members_per_node,
    wire_bytes,
)


@pytest.mark.parametrize(
    ("kind", "ranks", "expected"),
    [
        ("all_reduce", 4, 1.5 * 16),
        ("all_reduce", 1, 0),
        ("all_gather", 4, 0.75 * 16),
        ("reduce_scatter", 2, 0.5 * 16),
        ("all_to_all", 8, 0.875 * 16),
        ("send", 2, 16),
    ],
)
def test_a_ring_sends_its_share(kind: str, ranks: int, expected: float) -> None:
    assert wire_bytes(kind, ranks, 16.0) == expected


def test_an_unknown_collective_is_refused() -> None:
    with pytest.raises(KeyError):
        wire_bytes("broadcast", 4, 1.0)


@pytest.mark.parametrize(
    ("size", "stride", "members"),
    [(8, 1, 8), (16, 1, 8), (4, 8, 1), (16, 8, 1), (8, 2, 4), (2, 4, 2), (64, 4, 2), (2, 16, 1)],
)
def test_members_of_a_group_in_one_node(size: int, stride: int, members: int) -> None:
    assert members_per_node(size, stride, 8) == members


def test_members_of_a_node_drive_their_adapters_together() -> None:
    """A group of eight a node has eight adapters; of one a node, one; never more than the fast link."""
    assert group_bandwidth(64, 8, 220e9, 25e9) == 200e9
    assert group_bandwidth(8, 1, 220e9, 25e9) == 25e9
    assert group_bandwidth(64, 8, 150e9, 25e9) == 150e9
    assert group_bandwidth(8, 8, 220e9, 25e9) == 220e9


def ring(size: float, members: float, bandwidth: float = 100e9) -> Ring:
    return Ring(
        size=size,
        members=members,
        bandwidth_bytes_per_s=bandwidth,
        start_s=32e-6,
        rank_s=5e-6,
        hop_s=15e-6,
    )


def test_one_rank_talks_to_nobody() -> None:
    assert collective_s(ring(1, 1), 2.0, 1e9) == 0.0


def test_an_all_reduce_is_a_scatter_and_a_gather() -> None:
    both = collective_s(ring(8, 8), 2.0, 1e9)
    assert both == pytest.approx(2 * collective_s(ring(8, 8), 1.0, 1e9), rel=1e-15)
    assert both == pytest.approx(32e-6 + 8 * 5e-6 + 2 * 7 / 8 * 1e9 / 100e9)


def test_further_nodes_cost_hops() -> None:
    near, far = collective_s(ring(8, 8), 1.0, 0.0), collective_s(ring(32, 8), 1.0, 0.0)
    assert far - near == pytest.approx(3 * 15e-6)


@pytest.mark.parametrize(("size", "measured_s"), [(2, 42e-6), (4, 49e-6), (8, 73e-6)])
def test_latency_is_what_the_tables_of_nccl_say(size: int, measured_s: float) -> None:
    """vTrain, A100 all-reduce tables: log-spaced fits at 2, 4 and 8 devices; within 10 %."""
    assert collective_s(ring(size, size), 2.0, 0.0) == pytest.approx(measured_s, rel=0.10)


def test_overlap_is_the_longer_and_a_share_of_the_shorter() -> None:
    assert hidden_s(3.0, 2.0, 0.25) == 3.5
    assert hidden_s(2.0, 3.0, 0.25) == 3.5
    assert hidden_s(2.0, 3.0, 1.0) == 5.0
    assert np.array_equal(hidden_s(np.array([1.0, 4.0]), np.array([2.0, 0.0]), 0.5), [2.5, 4.0])
