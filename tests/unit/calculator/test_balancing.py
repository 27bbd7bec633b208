"""Stage balance: worked examples, bounds, memory limits, several chunks, speed."""

import random

import pytest

from app.calculator.balancing import (
    balance,
    even_split,
    lower_bound_s,
    measure,
    smallest_memory_bytes,
    stage_sums,
)
from tests.pace import pace

TOY = [0.1, *[1.0] * 24, 2.4]  # embedding, 24 blocks, head


def test_blocks_leave_the_stage_with_the_head():
    best = balance(TOY, 4)
    assert best.split == (7, 7, 7, 5)
    assert best.stage_s == pytest.approx((6.1, 7.0, 7.0, 6.4))
    assert best.slowest_s == pytest.approx(7.0)
    assert best.lower_bound_s == pytest.approx(26.5 / 4)
    assert best.gap_fraction == pytest.approx(7 / 6.625 - 1)
    assert best.exact


def test_encoder_and_decoder():
    best = balance([2.0] * 12 + [1.0] * 12, 4)
    assert best.slowest_s == 10
    assert best.lower_bound_s == 9


def test_among_equally_fast_splits_the_most_even_one():
    assert balance([4, 1, 1, 1, 1], 3).split == (1, 2, 2)


def test_one_piece_per_stage_and_one_stage():
    assert balance([3.0, 1.0, 2.0], 3).split == (1, 1, 1)
    assert balance([3.0, 1.0, 2.0], 1).stage_s == (6.0,)


def test_more_stages_than_pieces_is_no_split():
    assert balance([1.0, 1.0], 3) is None
    assert balance([1.0] * 5, 2, virtual_pipeline_stages=3) is None


def test_memory_limits_shape_the_split():
    free = balance([1, 1, 1, 1], 2, piece_memory_bytes=[9, 1, 1, 1], memory_limit_bytes=[20, 20])
    tight = balance([1, 1, 1, 1], 2, piece_memory_bytes=[9, 1, 1, 1], memory_limit_bytes=[9, 9])
    assert free.split == (2, 2)
    assert tight.split == (1, 3)
    assert tight.stage_memory_bytes == (9, 3)


def test_limits_may_differ_by_stage():
    one = balance([1] * 4, 2, piece_memory_bytes=[1] * 4, memory_limit_bytes=[1, 3])
    assert one.split == (1, 3)


def test_nothing_fits_and_what_would():
    memory = [5.0, 5.0, 1.0]
    assert balance([1] * 3, 2, piece_memory_bytes=memory, memory_limit_bytes=[5.5, 5.5]) is None
    assert smallest_memory_bytes(memory, 2) == 6.0


def test_several_chunks_share_out_a_long_piece():
    plain = balance([1, 1, 1, 1, 1, 1, 1, 3], 2)
    chunked = balance([1, 1, 1, 1, 1, 1, 1, 3], 2, virtual_pipeline_stages=2)
    assert plain.slowest_s == chunked.slowest_s == 5
    assert chunked.exact
    assert len(chunked.split) == 4


def test_a_long_model_in_many_chunks_comes_close_to_its_bound():
    best = balance([0.1, *[1.0] * 126, 2.4], 16, virtual_pipeline_stages=7)
    assert not best.exact
    assert sum(best.split) == 128
    assert best.gap_fraction < 0.06


def test_stage_sums_take_chunks_in_turn():
    assert stage_sums([1, 2, 4, 8, 16], (2, 1, 1, 1), 2) == (1 + 2 + 8, 4 + 16)


def test_even_split_gives_the_first_chunks_one_more():
    assert even_split(26, 4) == (7, 7, 6, 6)
    assert even_split(3, 4) == (1, 1, 1, 0)


def test_measure_tells_any_split():
    told = measure(TOY, (7, 6, 6, 7), 4)
    assert told.slowest_s == pytest.approx(8.4)
    assert not told.exact


def test_the_longest_piece_is_a_bound_too():
    assert lower_bound_s([1, 1, 10], 3) == 10


def test_zero_times_are_split_all_the_same():
    assert sum(balance([0.0] * 6, 3).split) == 6


@pytest.mark.parametrize("limited", [False, True])
def test_two_hundred_pieces_to_64_stages_in_50_ms(limited):
    draw = random.Random(7)
    pieces = [draw.random() for _ in range(200)]
    limits = {"piece_memory_bytes": [1.0] * 200, "memory_limit_bytes": [6.0] * 64} if limited else {}
    assert pace(lambda: balance(pieces, 64, **limits)) < 2
