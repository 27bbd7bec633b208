"""The held-out errors as a data file, so that the product can say them without SciPy."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from app.calculator.layout import Column
from app.calibration.sample import Sample, group_errors
from app.catalog.held_out import HELD_OUT_FILE
from app.services.validation import null_step_s


def write_held_out(
    sample: Sample,
    *,
    predicted_s: Column,
    by_fold_s: Column,
    by_source_s: Column,
    path: Path = HELD_OUT_FILE,
) -> None:
    """Mean absolute errors of every source group, in-sample and held out, beside the null model's."""
    errors = {
        "in_sample": group_errors(sample, predicted_s),
        "folds": group_errors(sample, by_fold_s),
        "source_left_out": group_errors(sample, by_source_s),
        "null": group_errors(sample, np.array([null_step_s(row) for row in sample.rows])),
    }
    groups = {
        group: {"runs": sample.groups.count(group)} | _rounded({k: e[group] for k, e in errors.items()})
        for group in dict.fromkeys(sample.groups)
    }
    means = {key: float(np.mean(list(by_group.values()))) for key, by_group in errors.items()}
    document = {"groups": groups, "mean": {"runs": len(sample)} | _rounded(means)}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {key: round(value, 5) for key, value in values.items()}
