"""The closed forms of schedules against the simulation, and the simulation against its own rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.calculator.layout import Schedule
from app.calculator.schedules import (
    bubble_fraction,
    bubble_over_ideal,
    chunks_per_device,
    in_flight_micro_batches,
)
from app.calculator.schedules_makespan import StageTimes, makespan_s
from app.calculator.schedules_simulation import Simulation, simulate, work_of_stages

EVERY_SIZE = [
    (schedule, p, m, v)
    for schedule in Schedule
    for p in range(1, 9)
    for m in range(1, 33)
    for v in (range(1, 5) if schedule == Schedule.INTERLEAVED else (1,))
    if schedule != Schedule.INTERLEAVED or m % p == 0
]

times = st.floats(0.01, 100.0)


def equal_stages(schedule, p, m, v, f_b_w) -> Simulation:
    work = work_of_stages(*([seconds] * p for seconds in f_b_w), virtual_pipeline_stages=v)
    return simulate(schedule, m, work)


@pytest.mark.parametrize("f_b_w", [(1.0, 1.0, 1.0), (1.0, 2.0, 0.5)])
def test_bubble_and_in_flight_equal_the_simulation_for_every_small_pipeline(f_b_w):
    f, b, w = f_b_w
    for schedule, p, m, v in EVERY_SIZE:
        played = equal_stages(schedule, p, m, v, f_b_w)
        told = bubble_fraction(schedule, p, m, v, forward_s=f, backward_s=b, weight_grad_s=w)
        assert played.bubble_fraction == pytest.approx(float(told), abs=1e-12), (schedule, p, m, v)
        held = in_flight_micro_batches(schedule, p, m, v, np.arange(p))
        assert played.peak_in_flight == pytest.approx(tuple(held)), (schedule, p, m, v)


@given(p=st.integers(1, 12), m=st.integers(1, 40), f=times, b=times, w=times)
@settings(max_examples=150, deadline=None)
def test_zero_bubble_closed_form_holds_for_any_lengths(p, m, f, b, w):
    played = equal_stages(Schedule.ZB_H1, p, m, 1, (f, b, w))
    told = bubble_over_ideal(Schedule.ZB_H1, p, m, forward_s=f, backward_s=b, weight_grad_s=w)
    assert played.bubble_over_ideal == pytest.approx(float(told), rel=1e-9, abs=1e-9)


@given(
    schedule=st.sampled_from(Schedule),
    p=st.integers(1, 8),
    rounds=st.integers(1, 5),
    v=st.integers(1, 4),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_a_simulation_obeys_devices_and_dependencies(schedule, p, rounds, v, data):
    m, v = rounds * p, int(chunks_per_device(schedule, v))
    stage_times = st.lists(times, min_size=p, max_size=p)
    f, b, w = (data.draw(stage_times) for _ in "FBW")
    p2p_s = data.draw(st.sampled_from([0.0, 0.3]))
    played = simulate(schedule, m, work_of_stages(f, b, w, virtual_pipeline_stages=v, p2p_s=p2p_s))
    kinds = ("F", "B", "W") if schedule == Schedule.ZB_H1 else ("F", "B")
    begin = {(e.kind, e.chunk * p + e.stage, e.micro_batch): e.start_s for e in played.events}
    end = {(e.kind, e.chunk * p + e.stage, e.micro_batch): e.end_s for e in played.events}
    assert set(end) == {(kind, virtual, k) for kind in kinds for virtual in range(p * v) for k in range(m)}
    assert len(played.events) == len(end)
    hop_s = p2p_s if p > 1 else 0.0
    for (kind, virtual, k), start_s in begin.items():
        if kind == "F" and virtual:
            assert start_s >= end["F", virtual - 1, k] + hop_s
        elif kind == "B" and virtual < p * v - 1:
            assert start_s >= end["B", virtual + 1, k] + hop_s
        elif kind == "B":
            assert start_s >= end["F", virtual, k]
        elif kind == "W":
            assert start_s >= end["B", virtual, k]
    for before, after in zip(played.events, played.events[1:], strict=False):
        assert before.stage != after.stage or before.end_s <= after.start_s
    assert played.makespan_s == max(e.end_s for e in played.events)


@st.composite
def ends_and_middle(draw, low, high):
    """Stage times whose ends differ from the middle by a factor, per direction."""
    factor = st.floats(low, high)
    forward = [draw(factor), 1.0, draw(factor)]
    backward = [draw(factor), 1.0, draw(factor)]
    return forward, backward


def spread(p: int, ends: list[float]) -> list[float]:
    """The times of p stages from (first, middle, last); one stage alone is the last."""
    return [*ends[:1], *ends[1:2] * (p - 2), *ends[2:]][-p:] if p > 1 else ends[2:]


def told_and_played(schedule, sizes, forward, backward, weight):
    p, m, v = sizes
    told = makespan_s(
        schedule,
        p,
        m,
        v,
        first=StageTimes(forward_s=forward[0], backward_s=backward[0], weight_grad_s=weight[0]),
        middle=StageTimes(forward_s=forward[1], backward_s=backward[1], weight_grad_s=weight[1]),
        last=StageTimes(forward_s=forward[2], backward_s=backward[2], weight_grad_s=weight[2]),
    )
    columns = (spread(p, ends) for ends in (forward, backward, weight))
    played = simulate(schedule, m, work_of_stages(*columns, virtual_pipeline_stages=v))
    return float(told), played.makespan_s


@given(p=st.integers(1, 8), m=st.integers(1, 24), ends=ends_and_middle(0.05, 20.0))
@settings(max_examples=150, deadline=None)
def test_gpipe_makespan_is_exact(p, m, ends):
    told, played = told_and_played(Schedule.GPIPE, (p, m, 1), *ends, [0.3, 0.2, 0.1])
    assert told == pytest.approx(played)


@given(
    p=st.integers(1, 10),
    m=st.integers(1, 40),
    ratio=st.floats(0.75, 4 / 3),
    ends=ends_and_middle(1.0, 1.5) | ends_and_middle(1 / 1.5, 1.0),
)
@settings(max_examples=300, deadline=None)
def test_1f1b_makespan_is_exact_for_moderately_uneven_ends(p, m, ratio, ends):
    forward, backward = ends
    backward = [ratio * b for b in backward]
    told, played = told_and_played(Schedule.ONE_F_ONE_B, (p, m, 1), forward, backward, [0.0] * 3)
    assert told == pytest.approx(played, rel=1e-9)


@given(p=st.integers(1, 8), m=st.integers(1, 24), ends=ends_and_middle(0.05, 20.0))
@settings(max_examples=200, deadline=None)
def test_1f1b_makespan_is_never_above_the_simulation(p, m, ends):
    told, played = told_and_played(Schedule.ONE_F_ONE_B, (p, m, 1), *ends, [0.1] * 3)
    assert told <= played * (1 + 1e-9)


@given(
    schedule=st.sampled_from([Schedule.INTERLEAVED, Schedule.ZB_H1]),
    sizes=st.tuples(st.integers(2, 8), st.integers(1, 6), st.integers(2, 4)),
    f_b_w=st.tuples(st.just(1.0), st.floats(1.0, 3.0), st.floats(0.5, 1.0)),
    ends=st.tuples(st.floats(0.7, 1.5), st.floats(0.7, 1.5)),
)
@settings(max_examples=200, deadline=None)
def test_interleaved_and_zero_bubble_makespans_err_upwards_by_the_stated_share(schedule, sizes, f_b_w, ends):
    p, rounds, v = sizes
    v = int(chunks_per_device(schedule, v))
    factors = [ends[0], 1.0, ends[1]]
    forward, backward, weight = ([seconds * factor for factor in factors] for seconds in f_b_w)
    told, played = told_and_played(schedule, (p, rounds * p, v), forward, backward, weight)
    most = 1.20 if schedule == Schedule.INTERLEAVED else 1.25
    assert played * (1 - 1e-9) <= told <= played * most


def test_makespan_of_equal_stages_is_exact_for_every_schedule_and_size():
    same = StageTimes(forward_s=1.0, backward_s=1.25, weight_grad_s=0.75)
    for schedule, p, m, v in EVERY_SIZE:
        told = float(makespan_s(schedule, p, m, v, first=same, middle=same, last=same))
        assert told == pytest.approx(equal_stages(schedule, p, m, v, (1.0, 1.25, 0.75)).makespan_s)


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(list(Schedule)),
            st.integers(1, 64),
            st.integers(1, 4096),
            st.integers(1, 8),
            times,
            times,
            times,
        ),
        min_size=1,
        max_size=9,
    )
)
@settings(max_examples=50, deadline=None)
def test_columns_equal_one_by_one_bit_for_bit(rows):
    schedule, p, m, v, f, b, w = (np.array(values, dtype=float) for values in zip(*rows, strict=True))
    ends = [StageTimes(forward_s=f * k, backward_s=b, weight_grad_s=w * k) for k in (0.9, 1.0, 1.2)]
    batch = [
        bubble_fraction(schedule, p, m, v, forward_s=f, backward_s=b, weight_grad_s=w),
        bubble_over_ideal(schedule, p, m, v, forward_s=f, backward_s=b, weight_grad_s=w),
        in_flight_micro_batches(schedule, p, m, v, np.minimum(p - 1, 3)),
        makespan_s(schedule, p, m, v, first=ends[0], middle=ends[1], last=ends[2]),
    ]
    for k, (kind, *sizes, fk, bk, wk) in enumerate(rows):
        one = [StageTimes(forward_s=fk * x, backward_s=bk, weight_grad_s=wk * x) for x in (0.9, 1.0, 1.2)]
        alone = [
            bubble_fraction(kind, *sizes, forward_s=fk, backward_s=bk, weight_grad_s=wk),
            bubble_over_ideal(kind, *sizes, forward_s=fk, backward_s=bk, weight_grad_s=wk),
            in_flight_micro_batches(kind, *sizes, min(sizes[0] - 1, 3)),
            makespan_s(kind, *sizes, first=one[0], middle=one[1], last=one[2]),
        ]
        assert [float(column[k]) for column in batch] == [float(value) for value in alone]
