"""Held-out predictions: five folds by (source, model shape), and each source group left out."""

import zlib
from collections.abc import Sequence

import numpy as np

from app.calculator.constants import Constants
from app.calculator.layout import Column
from app.calibration.fit import Parameter, fit
from app.calibration.sample import Key, Sample, Transform, predict_s

FOLDS = 5


def fold_of(shape: str) -> int:
    """The fold of a (source, model shape), the same on every machine."""
    return zlib.crc32(shape.encode()) % FOLDS


def held_out(
    sample: Sample,
    parameters: Sequence[Parameter],
    constants: Constants,
    labels: Sequence[object],
    *,
    transform: Transform | None = None,
    begin: dict[Key, float] | None = None,
) -> tuple[Column, list[dict[Key, float]]]:
    """Predictions of every run by constants fitted without the runs of its label; and those constants."""
    predicted = np.zeros(len(sample))
    fits = []
    for label in dict.fromkeys(labels):
        inside = np.array([one == label for one in labels])
        values = fit(sample, parameters, constants, chosen=~inside, transform=transform, begin=begin)
        predicted[inside] = predict_s(sample, values, constants, transform)[inside]
        fits.append(values)
    return predicted, fits


def folds(sample: Sample) -> list[int]:
    """The fold of every run."""
    return [fold_of(shape) for shape in sample.shapes]
