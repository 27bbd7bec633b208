"""Schedules: figures from the papers, orders written out by hand, timing of large pipelines."""

import numpy as np
import pytest

from app.calculator.layout import Schedule
from app.calculator.schedules import bubble_fraction, bubble_over_ideal, in_flight_micro_batches
from app.calculator.schedules_moments import moments_s, stages_at
from app.calculator.schedules_order import Cell, stage_orders
from app.calculator.schedules_simulation import (
    Blocked,
    Event,
    Simulation,
    play,
    simulate,
    work_of_stages,
)
from tests.pace import pace


def written(order):
    """An order as one reads it: F1 is micro-batch 0's forward; F1.2 on the second chunk."""
    return " ".join(f"{c.kind}{c.micro_batch + 1}" + (f".{c.chunk + 1}" if c.chunk else "") for c in order)


def cells(text):
    return tuple(Cell(word[0], 0, int(word[1:]) - 1) for word in text.split())


# Narayanan et al. 2021, figures 3 and 4 (p = 4, m = 8), written out by hand.
def test_1f1b_order_of_four_stages():
    first, *_, last = stage_orders(Schedule.ONE_F_ONE_B, 4, 8, 1)
    assert written(first) == "F1 F2 F3 F4 B1 F5 B2 F6 B3 F7 B4 F8 B5 B6 B7 B8"
    assert written(last) == "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 F8 B8"


def test_gpipe_order_is_all_forwards_then_all_backwards():
    assert {written(order) for order in stage_orders(Schedule.GPIPE, 3, 3, 1)} == {"F1 F2 F3 B1 B2 B3"}


def test_interleaved_order_of_two_stages_and_two_chunks():
    first, last = stage_orders(Schedule.INTERLEAVED, 2, 4, 2)
    assert written(first) == ("F1 F2 F1.2 F2.2 F3 B1.2 F4 B2.2 F3.2 B1 F4.2 B2 B3.2 B4.2 B3 B4")
    assert written(last) == ("F1 F2 F1.2 B1.2 F2.2 B2.2 F3 B1 F4 B2 F3.2 B3.2 F4.2 B4.2 B3 B4")


def test_zero_bubble_delays_weight_gradients_by_the_stage_number():
    first, second, third = stage_orders(Schedule.ZB_H1, 3, 4, 1)
    assert written(first) == "F1 F2 F3 B1 W1 F4 B2 W2 B3 W3 B4 W4"
    assert written(second) == "F1 F2 B1 F3 B2 W1 F4 B3 W2 B4 W3 W4"
    assert written(third) == "F1 B1 F2 B2 F3 B3 W1 F4 B4 W2 W3 W4"


def test_interleaved_with_one_chunk_is_plain_1f1b():
    assert stage_orders(Schedule.INTERLEAVED, 4, 6, 1) == stage_orders(Schedule.ONE_F_ONE_B, 4, 6, 1)


@pytest.mark.parametrize(
    ("schedule", "p", "m", "v", "fraction"),
    [
        (Schedule.GPIPE, 4, 1, 1, 3 / 4),
        (Schedule.GPIPE, 8, 32, 1, 7 / 39),
        (Schedule.ONE_F_ONE_B, 16, 192, 1, 15 / 207),
        (Schedule.INTERLEAVED, 8, 32, 2, 7 / 71),
        (Schedule.INTERLEAVED, 8, 32, 4, 7 / 135),
        (Schedule.INTERLEAVED, 8, 8, 2, 7 / 23),
        (Schedule.ZB_H1, 8, 32, 1, 7 / 103),
        (Schedule.ONE_F_ONE_B, 64, 512, 1, 63 / 575),  # the 1T model of Narayanan et al. 2021
        (Schedule.ONE_F_ONE_B, 1, 7, 1, 0.0),
    ],
)
def test_bubble_fraction_as_published(schedule, p, m, v, fraction):
    assert float(bubble_fraction(schedule, p, m, v)) == fraction


def test_bubble_over_ideal_is_the_papers_other_fraction():
    assert float(bubble_over_ideal(Schedule.GPIPE, 8, 32, 1)) == 7 / 32
    assert float(bubble_over_ideal(Schedule.INTERLEAVED, 8, 32, 4)) == 7 / 128
    assert float(bubble_over_ideal(Schedule.ZB_H1, 8, 32)) == 7 / 96


def test_1f1b_with_several_chunks_is_interleaved_and_gpipe_ignores_them():
    assert bubble_fraction(Schedule.ONE_F_ONE_B, 4, 8, 2) == bubble_fraction(Schedule.INTERLEAVED, 4, 8, 2)
    assert bubble_fraction(Schedule.GPIPE, 4, 8, 2) == bubble_fraction(Schedule.GPIPE, 4, 8, 1)


def test_in_flight_per_stage():
    stages = np.arange(8)
    assert list(in_flight_micro_batches(Schedule.ONE_F_ONE_B, 8, 32, 1, stages)) == [8, 7, 6, 5, 4, 3, 2, 1]
    assert list(in_flight_micro_batches(Schedule.ONE_F_ONE_B, 8, 3, 1, stages)) == [3, 3, 3, 3, 3, 3, 2, 1]
    assert set(in_flight_micro_batches(Schedule.GPIPE, 8, 32, 1, stages)) == {32.0}
    assert set(in_flight_micro_batches(Schedule.ZB_H1, 8, 32, 1, stages)) == {8.0}


# Korthikanti et al. 2022, section 4.2.3: interleaving multiplies stage 0 by 1 + (p − 1)/(p·v).
@pytest.mark.parametrize("v", [2, 4, 12])
def test_interleaving_raises_the_first_stage_as_in_korthikanti(v):
    held = float(in_flight_micro_batches(Schedule.INTERLEAVED, 8, 64, v, 0))
    assert held == pytest.approx(8 * (1 + 7 / (8 * v)))


# Qi et al. 2023, Table 2, with F = B = W: 117 slots of 1F1B become 103.
def test_slots_of_1f1b_and_zero_bubble():
    equal = work_of_stages([1.0] * 8, [1.0] * 8, [1.0] * 8)
    assert simulate(Schedule.ONE_F_ONE_B, 32, equal).makespan_s == 117
    assert simulate(Schedule.GPIPE, 32, equal).makespan_s == 117
    assert simulate(Schedule.ZB_H1, 32, equal).makespan_s == 103


def test_events_of_a_pipeline_small_enough_to_draw():
    played = simulate(Schedule.ONE_F_ONE_B, 2, work_of_stages([1.0, 1.0], [2.0, 2.0], [0.0, 0.0]))
    assert played.events == (
        Event(0, "F", 0, 0, 0.0, 1.0),
        Event(0, "F", 1, 0, 1.0, 2.0),
        Event(0, "B", 0, 0, 4.0, 6.0),
        Event(0, "B", 1, 0, 7.0, 9.0),
        Event(1, "F", 0, 0, 1.0, 2.0),
        Event(1, "B", 0, 0, 2.0, 4.0),
        Event(1, "F", 1, 0, 4.0, 5.0),
        Event(1, "B", 1, 0, 5.0, 7.0),
    )
    assert played.makespan_s == 9.0
    assert played.bubble_fraction == pytest.approx(1 / 3)


def test_transfers_delay_but_do_not_occupy():
    played = simulate(Schedule.GPIPE, 1, work_of_stages([1.0] * 3, [1.0] * 3, [0.0] * 3, p2p_s=0.5))
    assert played.makespan_s == 6 + 4 * 0.5
    assert played.busy_s == (2.0, 2.0, 2.0)


def test_transfers_between_chunks_of_one_device_cost_nothing():
    work = work_of_stages([1.0], [1.0], [0.0], virtual_pipeline_stages=2, p2p_s=5.0)
    assert simulate(Schedule.INTERLEAVED, 2, work).makespan_s == pytest.approx(4.0)


def test_one_slow_stage_sets_the_pace():
    slow = simulate(Schedule.ONE_F_ONE_B, 16, work_of_stages([6, 6, 12, 6], [0] * 4, [0] * 4))
    even = simulate(Schedule.ONE_F_ONE_B, 16, work_of_stages([8] * 4, [0] * 4, [0] * 4))
    assert even.makespan_s == 19 * 8
    assert slow.makespan_s == 16 * 12 + 3 * 6


def test_a_learners_order_that_can_never_finish_says_who_waits_for_whom():
    work = work_of_stages([1.0, 1.0], [1.0, 1.0], [0.0, 0.0])
    blocked = play([cells("F1 B1 F2 B2"), cells("F2 B2 F1 B1")], 2, work)
    assert blocked == Blocked(
        waiting=((0, Cell("B", 0, 0), 1, Cell("B", 0, 0)), (1, Cell("F", 0, 1), 0, Cell("F", 0, 1)))
    )


def test_a_backward_before_its_own_forward_is_blocked():
    blocked = play([cells("B1 F1")], 1, work_of_stages([1.0], [1.0], [0.0]))
    assert isinstance(blocked, Blocked)


def test_a_worse_order_is_played_as_written():
    work = work_of_stages([1.0, 1.0], [1.0, 1.0], [0.0, 0.0])
    serial = play([cells("F1 B1 F2 B2")] * 2, 2, work)
    assert isinstance(serial, Simulation)
    assert serial.makespan_s == 8
    assert serial.peak_in_flight == (1.0, 1.0)


@pytest.mark.parametrize(
    ("schedule", "v", "limit"), [(Schedule.ONE_F_ONE_B, 1, 8), (Schedule.INTERLEAVED, 8, 80)]
)
def test_sixteen_stages_and_512_micro_batches_play_in_time(schedule, v, limit):
    work = work_of_stages([1.0] * 16, [2.0] * 16, [0.0] * 16, virtual_pipeline_stages=v)
    assert pace(lambda: simulate(schedule, 512, work)) < limit
    played = simulate(schedule, 512, work)
    assert len(played.events) == 2 * 16 * 512 * v


def test_one_moment_of_a_small_pipeline():
    played = simulate(Schedule.ONE_F_ONE_B, 2, work_of_stages([1.0, 1.0], [2.0, 2.0], [0.0, 0.0]))
    assert moments_s(played) == (0.0, 1.0, 2.0, 4.0, 5.0, 7.0, 9.0)
    first, last = stages_at(played, 2.0)
    assert (first.doing, first.next, first.held) == (None, Event(0, "B", 0, 0, 4.0, 6.0), 2.0)
    assert (last.doing, last.held) == (Event(1, "B", 0, 0, 2.0, 4.0), 1.0)
    end = stages_at(played, 9.0)
    assert [(stage.doing, stage.next, stage.held) for stage in end] == [(None, None, 0.0)] * 2


@pytest.mark.parametrize(
    ("schedule", "v"),
    [(Schedule.GPIPE, 1), (Schedule.ONE_F_ONE_B, 1), (Schedule.INTERLEAVED, 2), (Schedule.ZB_H1, 1)],
)
def test_what_is_held_at_its_worst_moment_is_the_peak(schedule, v):
    work = work_of_stages([1.0] * 4, [1.0] * 4, [1.0] * 4, virtual_pipeline_stages=v)
    played = simulate(schedule, 8, work)
    held = [
        [stage.held for stage in stages_at(played, at_s, virtual_pipeline_stages=v)]
        for at_s in moments_s(played)
    ]
    assert tuple(map(max, zip(*held, strict=True))) == played.peak_in_flight
