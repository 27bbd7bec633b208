"""The calibration on a few runs: stacked equals one by one, constants are found again, folds hold."""

from dataclasses import replace

import numpy as np
import pytest

from app.calibration.ablations import ABLATIONS, Ablation
from app.calibration.fit import Parameter, at_bound, fit
from app.calibration.folds import fold_of, folds, held_out
from app.calibration.parameters import parameters_for
from app.calibration.sample import Sample, group_errors, mean_of_groups, predict_s, sample_of
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.catalog.published import published_rows, vtrain_rows
from app.services.validation import result_of

CORE = [row for row in published_rows() if row["core"]]
ROWS = [
    *CORE[::4],
    *(row for row in CORE if row["tp"] > 1 and row["software"]["overlap_tensor_parallel"]),
    *vtrain_rows()[::40],
]


@pytest.fixture(scope="module")
def sample() -> Sample:
    return sample_of(ROWS, load_catalog(), load_constants())


def test_stacked_runs_are_predicted_as_the_product_predicts_each(sample: Sample) -> None:
    together = predict_s(sample, {}, load_constants())
    for row, seconds in zip(sample.rows, together, strict=True):
        assert seconds == pytest.approx(result_of(row).predicted_step_s, rel=1e-12), row["id"]


def test_a_changed_constant_changes_the_runs_that_use_it_and_no_others(sample: Sample) -> None:
    before = predict_s(sample, {}, load_constants())
    after = predict_s(sample, {("gemm_fraction", "h100"): 0.4}, load_constants())
    uses = np.array([key == "h100" for key in sample.keys["gemm_fraction"]])
    assert uses.any()
    assert (after[uses] > before[uses]).all()
    assert np.array_equal(after[~uses], before[~uses])


def test_constants_are_found_again_from_steps_made_with_them(sample: Sample) -> None:
    truth = {("gemm_fraction", "a100"): 0.70, ("memory_fraction", "all"): 0.65}
    made = replace(sample, reported_s=predict_s(sample, truth, load_constants()))
    parameters = [
        Parameter(key=("gemm_fraction", "a100"), start=0.85, lower=0.3, upper=0.95),
        Parameter(key=("memory_fraction", "all"), start=0.50, lower=0.3, upper=0.95),
    ]
    found = fit(made, parameters, load_constants())
    for key, value in truth.items():
        assert found[key] == pytest.approx(value, rel=0.02)


def test_held_out_runs_do_not_fit_their_own_constants(sample: Sample) -> None:
    """A source that only its own constants explain is predicted worse when left out."""
    loud = np.array(["vTrain" in source for source in sample.sources])
    made = replace(sample, reported_s=np.where(loud, 3.0, 1.0) * predict_s(sample, {}, load_constants()))
    parameters = [Parameter(key=("cpu_floor_s", "all"), start=1e-3, lower=1e-4, upper=2e-2)]
    predicted, fits = held_out(made, parameters, load_constants(), made.sources)
    inside = predict_s(made, fit(made, parameters, load_constants()), load_constants())
    worse = np.abs(predicted / made.reported_s - 1)[loud].mean()
    assert worse > np.abs(inside / made.reported_s - 1)[loud].mean()
    assert len(fits) == len(set(made.sources))


def test_folds_keep_a_source_and_shape_together(sample: Sample) -> None:
    seen = {}
    for shape, fold in zip(sample.shapes, folds(sample), strict=True):
        assert seen.setdefault(shape, fold) == fold
    assert fold_of("a") == fold_of("a")
    assert len(set(seen.values())) == 5


def test_every_parameter_is_used_and_inside_its_bounds(sample: Sample) -> None:
    parameters = parameters_for(sample, load_constants())
    assert len(parameters) > 10
    for parameter in parameters:
        assert parameter.lower < parameter.start < parameter.upper
        value = load_constants().find(*parameter.key).value
        assert parameter.lower <= value <= parameter.upper
        assert not at_bound(parameter, value), parameter.key
    edge = parameters[0]
    assert at_bound(edge, edge.upper)


@pytest.mark.parametrize("ablation", ABLATIONS, ids=lambda one: one.name)
def test_every_ablation_takes_something_out(ablation: Ablation) -> None:
    whole = sample_of(ROWS, load_catalog(), load_constants())
    without = replace(
        sample_of(ROWS, load_catalog(), load_constants(), change=ablation.change), without=ablation.part
    )
    base = predict_s(whole, {}, load_constants())
    changed = predict_s(without, {}, load_constants(), ablation.transform)
    assert np.isfinite(changed).all()
    assert not np.array_equal(base, changed)


def test_groups_count_once(sample: Sample) -> None:
    errors = group_errors(sample, 1.1 * sample.reported_s)
    assert mean_of_groups(errors) == pytest.approx(0.1)
