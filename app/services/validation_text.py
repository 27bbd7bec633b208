"""The report of `meshwright validate` as lines of text."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.services.validation import RowResult, Validation, utilization


def lines_of(validation: Validation, cross: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Rows, source groups beside the null model, held-out errors where given, memory, and what fails."""
    yield f"{'run':64} {'predicted':>12} {'band':>6} {'reported':>12} {'error':>8} {'null':>8}"
    for row in validation.rows:
        yield _row(row)
    yield ""
    yield f"{'source group (core rows)':64} {'rows':>6} {'ours':>8} {'null':>8}"
    for name, (count, ours, null) in validation.groups.items():
        yield f"{name[:64]:64} {count:6d} {_percent(ours)} {_percent(null)}"
    if validation.mean is not None and validation.null_mean is not None:
        yield (
            f"{'mean of the groups':64} {'':6} {_percent(validation.mean)} {_percent(validation.null_mean)}"
        )
        yield f"null: every run at the same utilization, {100 * utilization():.1f} % of peak"
    if cross is not None:
        yield from _cross(cross)
    yield from _memory(validation)
    yield ""
    failures = [*validation.failures, *((cross or {}).get("failures") or ())]
    for failure in failures:
        yield f"FAIL {failure}"
    yield "fails" if failures else "holds"


def _row(row: RowResult) -> str:
    if row.problem:
        return f"{row.id[:64]:64} cannot be asked: {row.problem}"
    predicted, reported = _seconds(row.predicted_step_s), _seconds(row.reported_step_s)
    error, null = _signed(row.signed_error), _signed(row.null_error)
    reason = f"  {row.reason}" if row.is_off and row.reason else ""
    band = f"±{100 * row.expected_error_fraction:3.0f}%" if row.expected_error_fraction else ""
    return f"{row.id[:64]:64} {predicted} {band:>6} {reported} {error} {null}{reason}"


def _cross(cross: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"{'held out':64} {'':6} {'folds':>8} {'source':>8}"
    for name in cross["folds"]:
        folds, left_out = cross["folds"][name], cross["source_left_out"][name]
        yield f"{name[:64]:64} {'':6} {_percent(folds)} {_percent(left_out)}"
    yield (
        f"{'mean of the groups':64} {'':6} {_percent(cross['folds_mean'])} "
        f"{_percent(cross['source_left_out_mean'])}"
    )


def _memory(validation: Validation) -> Iterator[str]:
    errors = [
        row.predicted_memory_bytes / row.reported_memory_bytes - 1
        for row in validation.rows
        if row.predicted_memory_bytes and row.reported_memory_bytes
    ]
    if errors:
        mean = sum(abs(error) for error in errors) / len(errors)
        yield ""
        yield f"memory: {len(errors)} rows report it, mean absolute error {100 * mean:.1f} %"
    yield from _confusion(validation)


def _confusion(validation: Validation) -> Iterator[str]:
    """The verdicts on runs that ran, on those that leave out what memory depends on, on those that failed."""
    yield ""
    yield f"{'does it fit?':20} {'yes':>6} {'borderline':>11} {'no':>6}"
    ran = [row.fits for row in validation.rows if row.fits and row.ran]
    failed = [row.fits for row in validation.rows if row.fits and row.ran_out_of_memory]
    rest = [row.fits for row in validation.rows if row.fits and not row.ran and not row.ran_out_of_memory]
    for name, told in (("ran", ran), ("causes not stated", rest), ("ran out of memory", failed)):
        yield f"{name:20} {told.count('yes'):>6} {told.count('borderline'):>11} {told.count('no'):>6}"


def _seconds(value: float | None) -> str:
    return f"{value:10.4g} s" if value is not None else f"{'-':>12}"


def _signed(value: float | None) -> str:
    return f"{100 * value:+7.1f}%" if value is not None else f"{'-':>8}"


def _percent(value: float) -> str:
    return f"{100 * value:7.2f}%"
