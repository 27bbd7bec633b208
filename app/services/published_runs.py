"""Every published run beside its prediction, for the page, the API and the command line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app.catalog.published import Row, load_rows, load_vtrain, published_rows, vtrain_rows
from app.services.published import RowError, request_of
from app.services.validation import RowResult, Validation, validate


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """One run: what it was, what was reported, what we predict, and the question that opens it."""

    result: RowResult
    source_url: str
    model: str
    gpu: str
    num_gpus: int
    layout: str
    precision: str
    flops_convention: str
    assumed_fields: tuple[str, ...]
    request: Mapping[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """In the words of `GET /api/v1/published`."""
        return {
            **self.result.to_json(),
            "source_url": self.source_url,
            "model": self.model,
            "gpu": self.gpu,
            "num_gpus": self.num_gpus,
            "layout": self.layout,
            "precision": self.precision,
            "flops_convention": self.flops_convention,
            "assumed_fields": list(self.assumed_fields),
            "reason": self.result.reason,
            "request": self.request,
        }


@cache
def published_validation() -> Validation:
    """The product's own runs and the measured tables, compared once."""
    return validate([*published_rows(), *vtrain_rows()], guard=True)


@cache
def published_runs() -> tuple[PublishedRun, ...]:
    """The published runs in the order of their file (without the measured tables: see `measured_runs`)."""
    return _runs(published_rows(), published_validation().rows)


@cache
def measured_runs() -> tuple[PublishedRun, ...]:
    """The measured vTrain tables."""
    return _runs(vtrain_rows(), published_validation().rows[len(published_rows()) :])


def _runs(rows: Sequence[Row], results: Sequence[RowResult]) -> tuple[PublishedRun, ...]:
    return tuple(_run(row, result) for row, result in zip(rows, results, strict=False))


def _run(row: Row, result: RowResult) -> PublishedRun:
    try:
        request: Mapping[str, Any] | None = request_of(row)
    except RowError:
        request = None
    hardware = row["hardware"]
    return PublishedRun(
        result=result,
        source_url=str(row.get("source_url") or ""),
        model=str(row["model"].get("name") or ""),
        gpu=str(hardware["gpu"]),
        num_gpus=int(row["n_gpus"]),
        layout=layout_words(row),
        precision=str(hardware.get("row_precision") or ""),
        flops_convention=str(row.get("flops_convention") or ""),
        assumed_fields=tuple(row.get("assumed_fields") or ()),
        request=request,
    )


def layout_words(row: Row) -> str:
    """The layout in short: t8 p12 d4 v2 b1, with ZeRO and recompute where they are used."""
    sizes = (("t", "tp"), ("c", "cp"), ("p", "pp"), ("v", "virtual_stages"), ("d", "dp"), ("e", "ep"))
    words = [f"{letter}{row[key]}" for letter, key in sizes if (row.get(key) or 1) > 1]
    words.append(f"b{row.get('micro_batch') or '?'}")
    if row.get("zero_stage"):
        words.append(f"ZeRO-{row['zero_stage']}")
    if row.get("recompute") not in (None, "none"):
        words.append(f"recompute {str(row['recompute']).split()[0]}")
    return " ".join(words)


def rows_to_check(rows: Path | None = None, vtrain: Path | None = None) -> tuple[list[Row], bool]:
    """(rows, whether the guard applies): the given files, or all of the product's own. Raises RowsError."""
    if rows is None and vtrain is None:
        return [*published_rows(), *vtrain_rows()], True
    found: list[Row] = []
    if rows is not None:
        found.extend(load_rows(rows))
    if vtrain is not None:
        found.extend(load_vtrain(vtrain))
    return found, False


def error_histogram(errors: Sequence[float], width: float = 0.05, most: float = 0.4) -> list[dict[str, Any]]:
    """How many signed errors fall in each bin of `width`; the outermost hold what is beyond `most`."""
    count = round(2 * most / width)
    bins = [0] * count
    for error in errors:
        bins[min(count - 1, max(0, math.floor((error + most) / width + 1e-9)))] += 1
    return [
        {
            "from": round(-most + place * width, 6),
            "to": round(-most + (place + 1) * width, 6),
            "count": number,
        }
        for place, number in enumerate(bins)
    ]
