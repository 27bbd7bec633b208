"""Measured NCCL all-reduces of 2, 4 and 8 A100 inside a node, by message size, against our α–β model.

Source: the tables of vTrain (app/catalog/data/vtrain, with their license).
"""

import csv

import numpy as np
import pytest

from app.calculator import communication as comm
from app.calculator.collectives import collective_s
from app.catalog.published import DATA
from tests.unit.calculator.steps import work


def table(ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """(message bytes, seconds) of the measured table."""
    with (DATA / "vtrain" / f"a100_allreduce_{ranks}gpu.csv").open(encoding="utf-8") as handle:
        rows = list(csv.reader(handle))[1:]
    sizes = np.array([float(row[0]) for row in rows])
    return sizes, np.array([float(row[3]) for row in rows]) * 1e-9


@pytest.mark.parametrize(("ranks", "typical", "worst"), [(2, 0.14, 0.30), (4, 0.12, 0.30), (8, 0.08, 0.30)])
def test_all_reduce_times(ranks: int, typical: float, worst: float) -> None:
    sizes, measured = table(ranks)
    resolved = work(tensor_parallel=ranks)
    ring = comm.group(resolved, float(ranks), resolved.tensor_stride)
    ours = np.array([float(np.asarray(collective_s(ring, 2.0, size)).reshape(-1)[0]) for size in sizes])
    errors = np.abs(ours / measured - 1)
    assert np.median(errors) < typical
    assert np.quantile(errors, 0.99) < worst
