"""How fast the search is: layouts a second on one core, and a plain loop over layouts beside it."""

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from app.calculator.enumeration import Space, grids
from app.calculator.estimate import evaluate, legal_mask
from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.layout_rules import RULES
from app.calculator.legality import Case, legal
from app.calculator.search import Question, Search
from app.calculator.search_columns import every_number
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import Inputs, parse_inputs

TRILLION = {"model": "gpt-1t", "gpu": "a100-80gb", "num_nodes": 384, "global_batch_size": 3072}
# (layouts about, what is asked): larger searches try more global batches and both overlaps.
SIZES: tuple[tuple[int, Mapping[str, Any], int, bool], ...] = (
    (1_000, {"model": "llama2-7b", "gpu": "a100-80gb", "num_gpus": 4, "global_batch_size": 8}, 1, False),
    (10_000, {"model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": 1, "global_batch_size": 64}, 1, False),
    (100_000, TRILLION, 1, False),
    (1_000_000, TRILLION, 2, True),
    (10_000_000, TRILLION, 15, True),
)
NAIVE_LAYOUTS = 400


def measure(largest: int) -> dict[str, Any]:
    """Everything the benchmark tells; seconds are of this process's processor time."""
    rows = [_scaling(*size[1:]) for size in SIZES if size[0] <= largest]
    trillion = _question(TRILLION, 1, False)
    legal_layouts, taken_s = _every_number(trillion)
    naive = _naive_layouts_per_s(trillion)
    layouts_per_s = legal_layouts / taken_s
    one = next((row for row in rows if row["name"] == _name(TRILLION, 1)), None)
    return {
        "layouts_per_s": layouts_per_s,
        "naive_layouts_per_s": naive,
        "times_faster": layouts_per_s / naive,
        "trillion": one,
        "scaling": rows,
        "peak_memory_bytes": _peak_memory_bytes(),
    }


def _asked(raw: Mapping[str, Any]) -> Inputs:
    inputs = parse_inputs(raw, load_catalog())
    assert isinstance(inputs, Inputs), inputs
    return inputs


def _question(raw: Mapping[str, Any], batches: int, overlaps: bool) -> Question:
    inputs = _asked(raw)
    first = inputs.training.global_batch_size
    values = {"overlap_data_parallel": (1.0, 0.0), "overlap_tensor_parallel": (0.0, 1.0)} if overlaps else {}
    return Question(
        model=inputs.model,
        cluster=inputs.cluster,
        trainings=tuple(
            replace(inputs.training, global_batch_size=first * factor) for factor in range(1, batches + 1)
        ),
        spaces=(Space(values=values),),
    )


def _name(raw: Mapping[str, Any], batches: int) -> str:
    devices = _asked(raw).cluster.num_gpus
    many = f", {batches} batches" if batches > 1 else ""
    return f"{raw['model']} on {devices:,} devices{many}"


def _scaling(raw: Mapping[str, Any], batches: int, overlaps: bool) -> dict[str, Any]:
    """One whole search: enumerated, worked out, filtered, ranked."""
    question = _question(raw, batches, overlaps)
    start, cpu = time.perf_counter(), time.process_time()
    found = Search(question, load_constants()).run()
    taken, cpu_s = time.perf_counter() - start, time.process_time() - cpu
    return {
        "name": _name(raw, batches),
        "enumerated": found.enumerated,
        "legal": found.legal,
        "fitting": found.fitting,
        "elapsed_s": taken,
        "cpu_s": cpu_s,
        "layouts_per_s": found.legal / cpu_s,
    }


def _every_number(question: Question, times: int = 3) -> tuple[int, float]:
    """(legal layouts, processor seconds of the median run) with every number of the answer worked out."""
    training, space = question.trainings[0], question.spaces[0]
    taken = []
    count = 0
    for _ in range(times):
        start, count = time.process_time(), 0
        for grid in grids(question.model, question.cluster, training, space):
            case = Case(
                model=question.model, cluster=question.cluster, training=training, layouts=grid.layouts
            )
            count += int((legal(RULES, case) & grid.useful).sum())
            every_number(evaluate(question.model, question.cluster, training, grid.layouts, load_constants()))
        taken.append(time.process_time() - start)
    return count, sorted(taken)[times // 2]


def _naive_layouts_per_s(question: Question) -> float:
    """A plain loop: every combination, one layout at a time, the legal ones worked out alone."""
    training = question.trainings[0]
    start, worked_out = time.process_time(), 0
    for layout in _every_layout(question.cluster.num_gpus):
        one = Layouts.of(layout)
        if legal_mask(question.model, question.cluster, training, one)[0]:
            every_number(evaluate(question.model, question.cluster, training, one, load_constants()))
            worked_out += 1
        if worked_out >= NAIVE_LAYOUTS:
            break
    return worked_out / (time.process_time() - start)


def _every_layout(devices: int) -> Iterator[Layout]:
    for t, p, c, b, zero, recompute, split in product(
        (1, 2, 4, 8), (1, 2, 4, 8), (1, 2), (1, 2, 4), range(4), Recompute, (False, True)
    ):
        yield Layout(
            tensor_parallel=t,
            pipeline_parallel=p,
            context_parallel=c,
            data_parallel=max(1, devices // (t * p * c)),
            micro_batch_size=b,
            zero_stage=zero,
            recompute=recompute,
            sequence_parallel=split,
            schedule=Schedule.ONE_F_ONE_B,
        )


def _peak_memory_bytes() -> int:
    """The most memory this process has held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def table(found: Mapping[str, Any]) -> str:
    """The measurement as Markdown."""
    lines = [
        f"{found['layouts_per_s']:,.0f} legal layouts a second on one core, with every number of the answer.",
        f"A plain loop over layouts does {found['naive_layouts_per_s']:,.0f}.",
        f"Peak memory: {found['peak_memory_bytes'] / 1e6:,.0f} MB.",
        "",
        "| search | tried | legal | fit | seconds | processor seconds | legal layouts a second |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['name']} | {row['enumerated']:,} | {row['legal']:,} | {row['fitting']:,} "
        f"| {row['elapsed_s']:.3f} | {row['cpu_s']:.3f} | {row['layouts_per_s']:,.0f} |"
        for row in found["scaling"]
    ]
    return "\n".join(lines)
