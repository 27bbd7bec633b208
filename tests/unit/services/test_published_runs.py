import json
from pathlib import Path

import pytest

from app.catalog import load_catalog
from app.catalog.published import published_rows
from app.services.inputs import Inputs, parse_inputs
from app.services.published_runs import (
    error_histogram,
    layout_words,
    measured_runs,
    published_runs,
    rows_to_check,
)


def test_every_row_of_the_file_is_a_run() -> None:
    runs = published_runs()
    assert [run.result.id for run in runs] == [row["id"] for row in published_rows()]
    assert len(measured_runs()) == 662
    assert json.loads(json.dumps([run.to_json() for run in runs[:40]]))


@pytest.mark.parametrize("place", range(0, 319, 29))
def test_a_run_opens_in_the_calculator(place: int) -> None:
    run = published_runs()[place]
    assert run.request is not None
    found = parse_inputs(run.request, load_catalog())
    assert isinstance(found, Inputs), found
    assert found.cluster.num_gpus == run.num_gpus


def test_layouts_are_told_in_short() -> None:
    row = next(r for r in published_rows() if r["id"] == "bloom_176b_production")
    assert layout_words(row) == "t4 p12 d8 b2 ZeRO-1 recompute full"


def test_the_histogram_counts_every_error_once() -> None:
    bins = error_histogram([-5.0, -0.4, -0.01, 0.0, 0.04, 0.05, 0.39, 7.0])
    assert sum(one["count"] for one in bins) == 8
    assert bins[0]["count"] == 2
    assert bins[-1]["count"] == 2
    assert next(one for one in bins if one["from"] == 0.0)["count"] == 2
    assert sum(one["count"] for one in error_histogram([])) == 0


def test_files_are_checked_without_the_products_guard(tmp_path: Path) -> None:
    rows, guard = rows_to_check()
    assert (len(rows), guard) == (319 + 662, True)
    path = tmp_path / "rows.json"
    path.write_text("[{}]", encoding="utf-8")
    assert rows_to_check(path) == ([{}], False)
