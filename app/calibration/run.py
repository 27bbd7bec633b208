"""The whole calibration: constants with fold ranges into the catalog, the report into docs/accuracy.md."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.calculator.constants import Constants
from app.calculator.layout import Column
from app.calibration.ablations import ABLATIONS
from app.calibration.fit import Parameter, at_bound, fit
from app.calibration.folds import folds, held_out
from app.calibration.held_out_file import write_held_out
from app.calibration.parameters import eight_bit_parameters, parameters_for
from app.calibration.report import AblationLine, Report, write_report
from app.calibration.sample import Key, Sample, group_errors, mean_of_groups, predict_s, sample_of
from app.catalog import load_catalog
from app.catalog.constants import CONSTANTS_FILE, constants_from
from app.catalog.published import Row, published_rows, vtrain_rows

FITTED = "fitted to published runs; docs/accuracy.md"
FITTED_8BIT = "fitted to published fp8 runs, all else held; docs/accuracy.md"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Constants with what the folds said of each."""

    values: dict[Key, float]
    low: dict[Key, float]
    high: dict[Key, float]
    bounded: frozenset[Key]


def calibrate(say: Say, constants_file: Path = CONSTANTS_FILE, report_file: Path | None = None) -> Report:
    """Fit, validate, write. The document keeps everything that is not fitted as it stands."""
    document = json.loads(constants_file.read_text(encoding="utf-8"))
    constants, catalog = constants_from(document), load_catalog()
    rows = [*published_rows(), *vtrain_rows()]
    sample = sample_of(rows, catalog, constants)
    parameters = parameters_for(sample, constants)
    say(f"{len(sample)} runs, {len(parameters)} constants")
    values = fit(sample, parameters, constants)
    predicted = predict_s(sample, values, constants)
    by_fold, fold_fits = held_out(sample, parameters, constants, folds(sample), begin=values)
    by_source, _ = held_out(sample, parameters, constants, sample.groups, begin=values)
    say(
        f"in-sample {_mean(sample, predicted):.4f}, folds {_mean(sample, by_fold):.4f}, "
        f"source left out {_mean(sample, by_source):.4f}"
    )
    fitted = _ranges(values, fold_fits, parameters)
    _write(document, fitted, FITTED)
    eight_bit = _eight_bit(rows, constants_from(document))
    _write(document, eight_bit, FITTED_8BIT)
    constants_file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    report = Report(
        sample=sample,
        predicted_s=predicted,
        by_fold_s=by_fold,
        by_source_s=by_source,
        constants=constants_from(document),
        bounded=fitted.bounded,
        ablations=_ablate(
            rows,
            group_errors(sample, by_fold),
            parameters=parameters,
            constants=constants,
            values=values,
            say=say,
        ),
    )
    write_report(report, report_file)
    if report_file is None:
        write_held_out(sample, predicted_s=predicted, by_fold_s=by_fold, by_source_s=by_source)
    return report


def _mean(sample: Sample, predicted_s: Column) -> float:
    return mean_of_groups(group_errors(sample, predicted_s))


def _ranges(
    values: dict[Key, float], fits: Sequence[dict[Key, float]], parameters: Sequence[Parameter]
) -> Fitted:
    return Fitted(
        values=values,
        low={key: min(one[key] for one in fits) for key in values},
        high={key: max(one[key] for one in fits) for key in values},
        bounded=frozenset(p.key for p in parameters if at_bound(p, values[p.key])),
    )


def _eight_bit(rows: Sequence[Row], constants: Constants) -> Fitted:
    """fp8 products, fitted beside the 16-bit constants: these runs are not part of the bounds."""
    sample = sample_of(
        rows,
        load_catalog(),
        constants,
        wanted=lambda row: (
            row["hardware"].get("row_precision") == "fp8"
            and bool(row.get("layout_complete"))
            and not row["model"].get("moe")
        ),
    )
    parameters = eight_bit_parameters(sample, constants)
    values = fit(sample, parameters, constants)
    _, fits = held_out(sample, parameters, constants, folds(sample), begin=values)
    return _ranges(values, fits, parameters)


def _write(document: dict[str, Any], fitted: Fitted, source: str) -> None:
    for (table, key), value in fitted.values.items():
        note = "; at a bound of what it can mean" if (table, key) in fitted.bounded else ""
        document["constants"][table]["values"][key] = {
            "value": _round(value),
            "kind": "fitted",
            "source": source + note,
            "low": _round(fitted.low[table, key]),
            "high": _round(fitted.high[table, key]),
        }


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def _ablate(
    rows: Sequence[Row],
    base: dict[str, float],
    *,
    parameters: Sequence[Parameter],
    constants: Constants,
    values: dict[Key, float],
    say: Say,
) -> list[AblationLine]:
    lines = []
    for ablation in ABLATIONS:
        changed = sample_of(rows, load_catalog(), constants, change=ablation.change)
        without = replace(changed, without=ablation.part)
        loose = mean_of_groups(
            group_errors(without, predict_s(without, values, constants, ablation.transform))
        )
        predicted, _ = held_out(
            without, parameters, constants, folds(without), transform=ablation.transform, begin=values
        )
        errors = group_errors(without, predicted)
        hurt = sorted(errors, key=lambda group: base[group] - errors[group])[:3]
        lines.append(
            AblationLine(
                name=ablation.name,
                folds=mean_of_groups(errors),
                not_fitted_again=loose,
                hurt=[
                    (group, base[group], errors[group])
                    for group in hurt
                    if errors[group] > base[group] + 0.005
                ],
            )
        )
        say(f"without {ablation.name}: {lines[-1].folds:.4f} (not fitted again {loose:.4f})")
    return sorted(lines, key=lambda line: -line.folds)
