"""The held-out errors for `meshwright validate --cv`: constants fitted without the runs they predict."""

from collections.abc import Sequence
from typing import Any

from app.calibration.fit import fit
from app.calibration.folds import folds, held_out
from app.calibration.parameters import parameters_for
from app.calibration.sample import group_errors, mean_of_groups, sample_of
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.catalog.published import Row
from app.services.validation import GUARD_FOLDS, GUARD_SOURCE_LEFT_OUT


def cross_validate(rows: Sequence[Row], *, guard: bool = False) -> dict[str, Any]:
    """Errors by source group, held out by (source, model shape) and by whole source, and what fails."""
    constants = load_constants()
    sample = sample_of(rows, load_catalog(), constants)
    parameters = parameters_for(sample, constants)
    values = fit(sample, parameters, constants)
    by_fold, _ = held_out(sample, parameters, constants, folds(sample), begin=values)
    by_source, _ = held_out(sample, parameters, constants, sample.groups, begin=values)
    errors, left_out = group_errors(sample, by_fold), group_errors(sample, by_source)
    means = {"folds": mean_of_groups(errors), "source_left_out": mean_of_groups(left_out)}
    bounds = {"folds": GUARD_FOLDS, "source_left_out": GUARD_SOURCE_LEFT_OUT}
    return {
        "folds": errors,
        "folds_mean": means["folds"],
        "source_left_out": left_out,
        "source_left_out_mean": means["source_left_out"],
        "failures": [
            f"{name}: {100 * means[name]:.2f} %, beyond {100 * bound:.2f} %"
            for name, bound in bounds.items()
            if guard and means[name] > bound
        ],
    }
