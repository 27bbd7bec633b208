"""/method: how every number comes about, with its source, and how far off predictions are."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import APIRouter, Request, Response

from app.calculator.accuracy import (
    CALIBRATED_FRACTION,
    EXPERTS_FRACTION,
    FEW_RUNS_FRACTION,
    NOT_CALIBRATED_FRACTION,
)
from app.calculator.constants import ALL, Constant
from app.calculator.names import NAMES
from app.catalog import load_catalog
from app.catalog.held_out import load_held_out
from app.services.method import ConstantTable, constant_tables, formulas, kind_errors, memory_error, worked
from app.services.runs import published_runs
from app.services.validation import utilization
from app.web import numbers
from app.web.calculator_results import typeset
from app.web.published_view import group_row, lead_of, percent
from app.web.rendering import render

router = APIRouter(include_in_schema=False)
_SECTIONS = {
    "parameters": "Parameters",
    "memory": "Memory of a stage",
    "batch": "Batch",
    "communication": "Traffic",
    "time": "Time of a step",
    "throughput": "Work and rates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedRow:
    """A number of the answer: its path, its formulas, its unit, their sources."""

    key: str
    formulas: tuple[str, ...]
    unit: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRow:
    """One value of a constant."""

    of: str
    value: str
    span: str
    kind: str
    source: str


@router.get("/method", response_model=None)
def method(request: Request) -> Response:
    """The page. All of it is gathered from the engine and its data."""
    return render(request, "pages/method.html", _context())


@cache
def _context() -> dict[str, Any]:
    held_out = load_held_out()
    rows, error = memory_error()
    return {
        "lead": lead_of(published_runs(), held_out),
        "bands": tuple(
            (f"{fraction * 100:.0f}{numbers.NBSP}%", says)
            for fraction, says in (
                (CALIBRATED_FRACTION, "devices, links and software that constants were fitted to"),
                (FEW_RUNS_FRACTION, "an encoder, latent attention or fp8: few runs were published"),
                (NOT_CALIBRATED_FRACTION, "a constant is borrowed from another device, or assumed"),
                (EXPERTS_FRACTION, "experts: the one run that was published is predicted 87 % too slow"),
            )
        ),
        "kinds": tuple(
            {
                "says": one.says,
                "runs": numbers.count(one.runs),
                "mean": percent(one.mean),
                "median": percent(one.median),
                "within": percent(one.within_10_percent),
                "way": "too slow" if one.signed_median > 0 else "too fast",
                "null": percent(one.null),
            }
            for one in kind_errors()
        ),
        "groups": tuple(group_row(name, error) for name, error in held_out.groups.items()),
        "group_mean": group_row("mean of the groups", held_out.mean),
        "memory": {"rows": rows, "error": percent(error)},
        "null": percent(utilization()),
        "worked": _worked_by_section(),
        "formulas": formulas(),
        "names": tuple(NAMES.values()),
        "constants": tuple((table, _constant_rows(table)) for table in constant_tables()),
        "gpus": tuple(load_catalog().gpus.values()),
        "links": tuple(load_catalog().links.values()),
        "numbers": numbers,
    }


def _worked_by_section() -> tuple[tuple[str, tuple[WorkedRow, ...]], ...]:
    rows: dict[str, list[WorkedRow]] = {section: [] for section in _SECTIONS}
    for one in worked():
        row = WorkedRow(
            key=one.key,
            formulas=tuple(typeset(formula) for formula in one.formulas),
            unit=one.unit,
            source=" · ".join(one.sources),
        )
        rows.setdefault(one.key.partition(".")[0], []).append(row)
    return tuple((_SECTIONS.get(name, name), tuple(found)) for name, found in rows.items() if found)


def _constant_rows(table: ConstantTable) -> tuple[ConstantRow, ...]:
    return tuple(
        ConstantRow(
            of="everything" if key == ALL else key,
            value=f"{constant.value:.4g}",
            span=_span(constant),
            kind=constant.kind,
            source=constant.source,
        )
        for key, constant in table.values
    )


def _span(constant: Constant) -> str:
    if constant.low is None or constant.high is None:
        return ""
    return f"{constant.low:.3g} to {constant.high:.3g}"
