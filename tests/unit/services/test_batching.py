"""B = b·m·d: solved for each of the four, with remainders named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.batching import NAMES, solve

WHOLE = {"global_batch_size": 1536, "micro_batch_size": 2, "num_micro_batches": 96, "data_parallel": 8}


@pytest.mark.parametrize("unknown", NAMES)
def test_any_one_from_the_others(unknown: str) -> None:
    solved = solve({name: value for name, value in WHOLE.items() if name != unknown}, unknown)
    assert solved.values == WHOLE
    assert solved.whole


def test_b21_256_over_seven_replicas_leaves_four() -> None:
    """256 sequences on 7 replicas with micro-batches of 2: 256 mod 14 = 4; 252 or 266 would do."""
    solved = solve({"global_batch_size": 256, "micro_batch_size": 2, "data_parallel": 7}, "num_micro_batches")
    assert not solved.whole
    assert (solved.remainder, solved.unit) == (4, 14)
    assert solved.batches == (252, 266)
    assert solved.replicas == (4, 8)


def test_too_few_sequences() -> None:
    solved = solve({"global_batch_size": 3, "micro_batch_size": 2, "data_parallel": 7}, "num_micro_batches")
    assert solved.values["num_micro_batches"] == 0
    assert solved.batches == (14,)


@given(st.integers(1, 10**6), st.integers(1, 500), st.integers(1, 500), st.sampled_from(NAMES[1:]))
def test_quotient_and_remainder_make_the_batch(batch: int, one: int, other: int, unknown: str) -> None:
    names = [name for name in NAMES[1:] if name != unknown]
    solved = solve({"global_batch_size": batch, names[0]: one, names[1]: other}, unknown)
    assert solved.values[unknown] * one * other + solved.remainder == batch
    assert 0 <= solved.remainder < one * other
    for near in solved.batches:
        assert near % (one * other) == 0
        assert abs(near - batch) < one * other
    for replicas in solved.replicas:
        rest = solved.unit // solved.values["data_parallel"] * replicas
        assert batch % rest == 0
