"""Least squares on the logarithm of step times: one vote per source group, weak priors, soft-L1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from app.calculator.constants import Constants
from app.calculator.layout import Column
from app.calibration.sample import Key, Sample, Transform, predict_s

SOFT = 0.05  # errors beyond this count linearly: outliers with no cause in the layout must not bend the rest
PRIOR_SIGMA = 0.3  # a factor e^0.3 either way from the start is one standard deviation …
PRIOR_WEIGHT = 0.0015  # … and weighs little against the data


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A constant to be fitted: where it starts (its prior's centre) and what it may be."""

    key: Key
    start: float
    lower: float
    upper: float


def fit(
    sample: Sample,
    parameters: Sequence[Parameter],
    constants: Constants,
    *,
    chosen: npt.NDArray[np.bool_] | None = None,
    transform: Transform | None = None,
    begin: Mapping[Key, float] | None = None,
) -> dict[Key, float]:
    """Constants that fit the chosen runs best; one that no chosen run needs stays at its start."""
    mask = np.ones(len(sample), dtype=bool) if chosen is None else chosen
    weights = np.sqrt(_weights(sample, mask))
    start = np.array([p.start for p in parameters])
    first = np.array([(begin or {}).get(p.key, p.start) for p in parameters])
    lower = np.log(np.array([p.lower for p in parameters]) / start)
    upper = np.log(np.array([p.upper for p in parameters]) / start)
    keys = [p.key for p in parameters]
    reported = np.log(sample.reported_s)

    def residuals(x: Column) -> Column:
        values = dict(zip(keys, start * np.exp(x), strict=True))
        error = np.log(predict_s(sample, values, constants, transform)) - reported
        squared = 2 * SOFT * SOFT * (np.sqrt(1 + (error / SOFT) ** 2) - 1)
        data = np.sign(error) * np.sqrt(squared) * weights
        prior = x / PRIOR_SIGMA * np.sqrt(PRIOR_WEIGHT / len(keys)) * SOFT * 4
        return np.concatenate([data, prior])

    x0 = np.clip(np.log(first / start), lower + 1e-9, upper - 1e-9)
    found = least_squares(
        residuals, x0, bounds=(lower, upper), xtol=1e-5, ftol=1e-7, max_nfev=60, diff_step=1e-4
    )
    return dict(zip(keys, (start * np.exp(found.x)).tolist(), strict=True))


def _weights(sample: Sample, mask: npt.NDArray[np.bool_]) -> Column:
    """Every source group counts once; the runs outside the mask do not."""
    weights = np.zeros(len(sample))
    for group in dict.fromkeys(sample.groups):
        inside = np.array([name == group for name in sample.groups]) & mask
        if inside.any():
            weights[inside] = 1 / inside.sum()
    total: Column = weights / weights.sum()
    return total


def at_bound(parameter: Parameter, value: float) -> bool:
    """Whether a fitted value ended at a bound: then the data wanted more than the constant can mean."""
    return bool(min(abs(np.log(value / parameter.lower)), abs(np.log(value / parameter.upper))) < 1e-3)
