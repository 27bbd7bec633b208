"""docs/accuracy.md: what the calibration found, written by the calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.calculator.constants import Constants
from app.calculator.layout import Column
from app.calibration.sample import Key, Sample, group_errors, mean_of_groups
from app.catalog.published import published_rows
from app.services.validation import APART, EXPLAINED, ROW_LIMIT, null_step_s, result_of

ACCURACY_FILE = Path(__file__).parents[2] / "docs" / "accuracy.md"
BEGIN = "<!-- written by `make calibrate`: do not edit below -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationLine:
    """What is lost without one ingredient."""

    name: str
    folds: float
    not_fitted_again: float
    hurt: Sequence[tuple[str, float, float]]  # group, error with, error without


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a calibration found."""

    sample: Sample
    predicted_s: Column
    by_fold_s: Column
    by_source_s: Column
    constants: Constants
    bounded: frozenset[Key]
    ablations: Sequence[AblationLine]


def write_report(report: Report, path: Path | None = None) -> None:
    """Replace the written part of the file; the words above it stay."""
    path = path or ACCURACY_FILE
    kept = path.read_text(encoding="utf-8").split(BEGIN)[0] if path.exists() else "# Accuracy\n\n"
    parts = [_groups(report), _outliers(report), _constants(report), _ablations(report)]
    path.write_text(kept + BEGIN + "\n\n" + "\n".join(parts), encoding="utf-8")


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _groups(report: Report) -> str:
    sample = report.sample
    null = np.array([null_step_s(row) for row in sample.rows])
    columns = [
        group_errors(sample, seconds)
        for seconds in (report.predicted_s, report.by_fold_s, report.by_source_s, null)
    ]
    lines = [
        "## Error by source",
        "",
        "Mean absolute error of the step time, in percent. Held out: by folds of (source, model shape), and "
        "by leaving the whole source out. Null: one utilization for every run.",
        "",
        "| source | runs | in-sample | folds | source left out | null |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for group in dict.fromkeys(sample.groups):
        figures = " | ".join(_percent(column[group]) for column in columns)
        lines.append(f"| {group} | {sample.groups.count(group)} | {figures} |")
    means = " | ".join(f"**{_percent(mean_of_groups(column))}**" for column in columns)
    lines += [f"| **mean of the groups** | {len(sample)} | {means} |", ""]
    return "\n".join(lines)


def _outliers(report: Report) -> str:
    errors = report.predicted_s / report.sample.reported_s - 1
    names = [str(row["id"]) for row in report.sample.rows]
    lines = [
        "## Runs that are far off",
        "",
        f"Core runs beyond {100 * ROW_LIMIT:.0f} %, each with its reason, or that none was found:",
        "",
        "| run | signed error | reason |",
        "|---|---:|---|",
    ]
    for row in published_rows():
        if row["source"] in APART and row.get("core"):
            error = result_of(row).signed_error or 0.0
            lines.append(f"| {row['id']} | {100 * error:+.0f} % | {reason_for(row['id'])} |")
    for place in np.argsort(-np.abs(errors)):
        if abs(errors[place]) > ROW_LIMIT:
            lines.append(f"| {names[place]} | {100 * errors[place]:+.0f} % | {reason_for(names[place])} |")
    lines += ["", "| source | runs | within 5 % | within 10 % | beyond 20 % |", "|---|---:|---:|---:|---:|"]
    for group in dict.fromkeys(report.sample.groups):
        inside = np.abs(errors[[name == group for name in report.sample.groups]])
        shares = (np.mean(inside <= 0.05), np.mean(inside <= 0.10), np.mean(inside > 0.20))
        lines.append(f"| {group} | {len(inside)} | " + " | ".join(f"{100 * x:.0f} %" for x in shares) + " |")
    return "\n".join([*lines, ""])


def reason_for(run_id: str) -> str:
    """The written reason for a run that no honest model hits, by the start of its id."""
    return next((why for start, why in EXPLAINED.items() if run_id.startswith(start)), "no cause found")


def _constants(report: Report) -> str:
    lines = [
        "## Constants",
        "",
        "Fitted constants with their range over the folds; the others with where they come from.",
        "",
        "| constant | for | value | range over folds | kind | source |",
        "|---|---|---:|---|---|---|",
    ]
    for name, table in report.constants.entries.items():
        for key, constant in table.items():
            low, high = constant.low, constant.high
            span = f"{low:.3g} to {high:.3g}" if low is not None and high is not None else ""
            cells = (name, key, f"{constant.value:.4g}", span, constant.kind, constant.source)
            lines.append("| " + " | ".join(cells) + " |")
    bounded = ", ".join(f"{name} ({key})" for name, key in sorted(report.bounded)) or "none"
    lines += ["", f"At a bound of what it can mean: {bounded}.", ""]
    return "\n".join(lines)


def _ablations(report: Report) -> str:
    whole = mean_of_groups(group_errors(report.sample, report.by_fold_s))
    loose = mean_of_groups(group_errors(report.sample, report.predicted_s))
    lines = [
        "## What each ingredient is worth",
        "",
        "Mean of the groups in percent without it: fitted again and held out by folds, and not fitted again.",
        "",
        "| without | folds | not fitted again | hurt most (with → without) |",
        "|---|---:|---:|---|",
        f"| nothing: the whole model | {_percent(whole)} | {_percent(loose)} | |",
    ]
    for line in report.ablations:
        hurt = "; ".join(f"{_short(g)} {_percent(a)} → {_percent(b)}" for g, a, b in line.hurt)
        lines.append(f"| {line.name} | {_percent(line.folds)} | {_percent(line.not_fitted_again)} | {hurt} |")
    return "\n".join([*lines, ""])


def _short(group: str) -> str:
    names: Mapping[str, str] = {
        "MosaicML llm-foundry benchmarks: H100 80GB BF16 (Large": "Mosaic H100 large",
        "MosaicML llm-foundry benchmarks: H100": "Mosaic H100",
        "MosaicML llm-foundry benchmarks: A100 80GB": "Mosaic A100-80",
        "MosaicML llm-foundry benchmarks: A100 40GB": "Mosaic A100-40",
        "BigScience tr11-176B chronicles": "BLOOM sweeps",
        "BigScience tr11-176B prequel": "BLOOM best",
        "NVIDIA dgxc": "dgxc",
        "IBM": "fms-fsdp",
        "Narayanan": "Narayanan T1",
        "vTrain measured, single": "vTrain single",
        "vTrain measured, multi": "vTrain multi",
        "sources of fewer": "pooled",
    }
    return next((short for start, short in names.items() if group.startswith(start)), group)
