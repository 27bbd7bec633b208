"""Enumeration, ranking and fronts of the search."""

import math
from itertools import product

import numpy as np
import pytest

from app.calculator.enumeration import Space, divisors, grids
from app.calculator.estimate import evaluate
from app.calculator.layout import Layouts, Schedule
from app.calculator.pareto import above_front, front
from app.calculator.search import Question, Search
from app.calculator.search_columns import COLUMNS, SHORT_NAMES, every_number
from app.calculator.search_rows import smallest
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import Inputs, parse_inputs


def inputs(**more: object) -> Inputs:
    found = parse_inputs(
        {"model": "gpt-1.7b", "num_gpus": 8, "global_batch_size": 32, **more}, load_catalog()
    )
    assert isinstance(found, Inputs), found
    return found


def question(asked: Inputs, **more: object) -> Question:
    spaces = more.pop("spaces", (Space(),))
    return Question(
        model=asked.model, cluster=asked.cluster, trainings=(asked.training,), spaces=spaces, **more
    )


def searched(asked: Inputs, **more: object) -> Search:
    return Search(question(asked, **more), load_constants()).run()


@pytest.mark.parametrize("number", [1, 2, 7, 12, 36, 97, 3072, 1_000_000])
def test_divisors_are_all_of_them_once_and_rising(number):
    found = divisors(number)
    assert list(found) == [d for d in range(1, number + 1) if number % d == 0]
    assert list(divisors(number, 10)) == [d for d in found if d <= 10]


def test_every_layout_is_enumerated_once():
    asked = inputs()
    seen = set()
    for grid in grids(asked.model, asked.cluster, asked.training, Space(), block=500):
        shape = grid.layouts.shape
        useful = np.flatnonzero(np.broadcast_to(grid.useful, shape))
        flat = grid.layouts.flat(useful)
        rows = [flat.row(index) for index in range(len(useful))]
        assert len(rows) == grid.count
        assert all(row.tensor_parallel * row.pipeline_parallel * row.data_parallel <= 8 for row in rows)
        before = len(seen)
        seen |= set(rows)
        assert len(seen) == before + len(rows)
    assert len(seen) > 1000
    assert {row.schedule for row in seen} == set(Schedule)
    assert not any(row.sequence_parallel for row in seen if row.tensor_parallel == 1)
    assert not any(row.zero_stage for row in seen if row.data_parallel * row.context_parallel == 1)


def test_the_size_of_blocks_changes_nothing():
    asked = inputs()
    by_size = []
    for block in (1, 700, 10**9):
        found = [
            (grid.count, grid.layouts.shape)
            for grid in grids(asked.model, asked.cluster, asked.training, Space(), block=block)
        ]
        by_size.append(sum(count for count, _ in found))
    assert len(set(by_size)) == 1


def test_a_grid_is_the_same_as_its_layouts_in_a_row():
    asked = inputs(model="llama3-8b", num_gpus=16, global_batch_size=64)
    constants = load_constants()
    for grid in grids(asked.model, asked.cluster, asked.training, Space()):
        told = evaluate(asked.model, asked.cluster, asked.training, grid.layouts, constants)
        shape = grid.layouts.shape
        places = np.arange(0, math.prod(shape), 97)
        flat = evaluate(asked.model, asked.cluster, asked.training, grid.layouts.flat(places), constants)
        for name, read in COLUMNS.items():
            many = np.broadcast_to(np.asarray(read(told)), shape).reshape(-1)[places]
            assert np.array_equal(many, np.broadcast_to(np.asarray(read(flat)), many.shape)), name


@pytest.mark.parametrize(
    ("values", "bounds", "holds"),
    [
        ({"tensor_parallel": (2.0,)}, {}, lambda row: row.tensor_parallel == 2),
        ({"data_parallel": (2.0, 4.0)}, {}, lambda row: row.data_parallel in (2, 4)),
        ({"schedule": (float(Schedule.GPIPE),)}, {}, lambda row: row.schedule == Schedule.GPIPE),
        ({"virtual_pipeline_stages": (1.0,)}, {}, lambda row: row.virtual_pipeline_stages == 1),
        ({"micro_batch_size": (3.0,)}, {}, lambda row: False),  # 32 sequences do not divide by 3
        ({}, {"pipeline_parallel": (2, 4)}, lambda row: 2 <= row.pipeline_parallel <= 4),
        ({}, {"zero_stage": (2, 2)}, lambda row: row.zero_stage == 2),
        ({"zero_group": (2.0,)}, {}, lambda row: row.zero_group == 2),
    ],
)
def test_what_is_fixed_stays(values, bounds, holds):
    rows = searched(inputs(), spaces=(Space(values=values, bounds=bounds),), top=1000).best
    assert all(holds(row.layout) for row in rows)
    assert rows or "micro_batch_size" in values


def test_a_schedule_that_is_asked_for_is_tried_without_stages_too():
    space = Space(values={"schedule": (float(Schedule.GPIPE),), "pipeline_parallel": (1.0,)})
    rows = searched(inputs(), spaces=(space,)).best
    assert rows
    assert {row.layout.schedule for row in rows} == {Schedule.GPIPE}


@pytest.mark.parametrize("gpus", [1, 2, 3, 5, 6, 7, 9, 12, 20])
def test_odd_numbers_of_devices_have_layouts(gpus):
    found = searched(inputs(num_gpus=gpus, global_batch_size=gpus * 12), top=1000)
    assert found.legal > 0
    assert all(
        row.layout.tensor_parallel
        * row.layout.pipeline_parallel
        * row.layout.data_parallel
        * row.layout.context_parallel
        == gpus
        for row in found.best
    )


def test_limits_hold_for_every_row():
    limits = {"time.bubble_fraction": (0.0, 0.1), "memory.headroom_bytes": (40e9, math.inf)}
    asked = inputs()
    rows = searched(asked, limits=limits, top=500).best
    assert rows
    told = evaluate(
        asked.model,
        asked.cluster,
        asked.training,
        Layouts.of(*(row.layout for row in rows)),
        load_constants(),
    )
    assert (told.time.bubble_fraction <= 0.1).all()
    assert (told.headroom_bytes >= 40e9).all()


def test_several_batches_make_a_front_and_rank_by_tokens():
    first, second = inputs(), inputs(global_batch_size=64)
    both = Question(
        model=first.model,
        cluster=first.cluster,
        trainings=(first.training, second.training),
        spaces=(Space(),),
        objective="tokens_per_s",
    )
    found = Search(both, load_constants()).run()
    batches = [row.training.global_batch_size for row in found.by_batch]
    assert batches == sorted(set(batches))
    assert found.best[0].training.global_batch_size == batches[-1]


def test_nothing_legal_is_an_answer():
    found = searched(
        inputs(num_gpus=7, global_batch_size=256), spaces=(Space(values={"data_parallel": (7.0,)}),)
    )
    assert (found.legal, found.best, found.by_memory, found.by_batch) == (0, (), (), ())


@pytest.mark.parametrize("seed", range(20))
def test_a_front_is_what_nothing_beats(seed):
    random = np.random.default_rng(seed)
    cost, gain = random.integers(0, 12, 60).astype(float), random.integers(0, 12, 60).astype(float)
    found = front(cost, gain)

    def beaten(one):
        return any(
            cost[i] <= cost[one] and gain[i] >= gain[one] and (cost[i] < cost[one] or gain[i] > gain[one])
            for i in range(60)
        )

    naive = {(cost[i], gain[i]) for i in range(60) if not beaten(i)}
    assert [(cost[i], gain[i]) for i in found] == sorted(naive)
    more = random.integers(0, 12, 30).astype(float), random.integers(0, 12, 30).astype(float)
    new = above_front(cost[found], gain[found], *more)
    kept = {int(i) for i in new}
    for i, (c, g) in enumerate(zip(*more, strict=True)):
        worse = any(cost[f] <= c and gain[f] >= g for f in found)
        assert (i not in kept) == worse


def test_the_front_of_a_search_is_the_front_of_all_that_fits():
    asked = inputs(num_gpus=4)
    every = searched(asked, top=100_000)
    layouts = Layouts.of(*(row.layout for row in every.best))
    told = evaluate(asked.model, asked.cluster, asked.training, layouts, load_constants())
    assert len(every.best) == every.fitting
    expected = front(told.peak_bytes, told.tokens_per_s)
    kept = evaluate(
        asked.model,
        asked.cluster,
        asked.training,
        Layouts.of(*(row.layout for row in every.by_memory)),
        load_constants(),
    )
    assert kept.peak_bytes.tolist() == told.peak_bytes[expected].tolist()
    assert kept.tokens_per_s.tolist() == told.tokens_per_s[expected].tolist()


@pytest.mark.parametrize(("most", "seed"), list(product([1, 5, 50, 500], range(5))))
def test_the_smallest_with_ties(most, seed):
    random = np.random.default_rng(seed)
    score, spare = random.integers(0, 5, 300).astype(float), random.integers(0, 3, 300).astype(float)
    number = random.permutation(300).astype(float)
    expected = sorted(range(300), key=lambda i: (score[i], -spare[i], number[i]))[:most]
    assert smallest(score, spare, number, most).tolist() == expected


def test_names_of_limits_are_paths_of_the_answer_or_short_for_one():
    assert SHORT_NAMES["step_s"] == "time.step_s"
    assert SHORT_NAMES["tensor_parallel"] == "layout.tensor_parallel"
    assert "time_s" not in SHORT_NAMES  # every axis has one
    assert set(SHORT_NAMES.values()) <= set(COLUMNS)


def test_every_number_is_worked_out():
    asked = inputs()
    told = evaluate(asked.model, asked.cluster, asked.training, Layouts.of(asked.layout), load_constants())
    assert every_number(told) == len(COLUMNS) > 60
