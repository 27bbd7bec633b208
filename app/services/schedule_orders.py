"""An order of cells that somebody wrote: read it, and say everything that is wrong with it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from app.calculator.schedules_order import Cell, Kind, Order
from app.calculator.schedules_simulation import Blocked, peak_in_flight
from app.services.input_values import InputProblem, number_of, shown

WORD = re.compile(r"([FBW])([1-9][0-9]{0,5})(?:\.([1-9][0-9]{0,2}))?", re.IGNORECASE)
KINDS: dict[str, Kind] = {"F": "F", "B": "B", "W": "W"}
SHOWN = 6  # cells named in one sentence
HOW = "Write F1 for the forward of the first micro-batch, B1 for its backward, F1.2 for its second chunk."


def read_orders(raw: object, p: int, m: int, v: int) -> tuple[tuple[Order, ...] | None, list[InputProblem]]:
    """One order per stage, from text (a line per stage) or a list; cells that do not exist are problems."""
    stages = re.split(r"[\n|]", raw.strip()) if isinstance(raw, str) else raw
    if not isinstance(stages, list | tuple) or len(stages) != p:
        told = (
            f"{len(stages):,} order{'' if len(stages) == 1 else 's'}"
            if isinstance(stages, list | tuple)
            else shown(raw)
        )
        message = f"{told} for {p} stages. Write one order per stage, the first stage first. {HOW}"
        return None, [InputProblem(field="order", message=message)]
    orders, problems = [], []
    for stage, written in enumerate(stages):
        cells = _cells(written)
        if cells is None or len(cells) > 6 * m * v:
            message = f"{shown(written)} cannot be used. {HOW}"
            problems.append(InputProblem(field=f"order.{stage}", message=message))
            continue
        read = [_cell(cell, m, v) for cell in cells]
        bad = [shown(cell) for cell, at in zip(cells, read, strict=True) if at is None]
        if bad:
            of_chunks = f" and {v} chunks" if v > 1 else ""
            message = f"No such cell: {_listed(bad)}. There are {m:,} micro-batches{of_chunks}. {HOW}"
            problems.append(InputProblem(field=f"order.{stage}", message=message))
        orders.append(tuple(cell for cell in read if cell is not None))
    return (None if problems else tuple(orders)), problems


def _cells(written: object) -> Sequence[object] | None:
    if isinstance(written, str):
        return [word for word in re.split(r"[\s,]+", written.strip()) if word]
    return written if isinstance(written, list | tuple) else None


def _cell(raw: object, m: int, v: int) -> Cell | None:
    if isinstance(raw, str):
        match = WORD.fullmatch(raw)
        if match is None:
            return None
        kind, micro_batch, chunk = match[1].upper(), int(match[2]) - 1, int(match[3] or 1) - 1
    elif isinstance(raw, Mapping):
        kind = str(raw.get("kind"))
        micro_batch, chunk = _index(raw.get("micro_batch")), _index(raw.get("chunk", 0))
    else:
        return None
    inside = kind in KINDS and 0 <= micro_batch < m and 0 <= chunk < v
    return Cell(KINDS[kind], chunk, micro_batch) if inside else None


def _index(raw: object) -> int:
    value = number_of(raw)
    return int(value) if value is not None and 0 <= value < 1e9 and value == int(value) else -1


def name_of(cell: Cell) -> str:
    """A cell as it is drawn, counted from 1."""
    return f"{cell.kind}{cell.micro_batch + 1}" + (f".{cell.chunk + 1}" if cell.chunk else "")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


def violations_of(orders: Sequence[Order], m: int, v: int) -> list[dict[str, Any]]:
    """Cells that are missing or stand twice. Weight gradients are all there, or none on any stage."""
    split = any(cell.kind == "W" for order in orders for cell in order)
    kinds: tuple[Kind, ...] = ("F", "B", "W") if split else ("F", "B")
    needed = [Cell(kind, chunk, k) for kind in kinds for chunk in range(v) for k in range(m)]
    found = []
    for stage, order in enumerate(orders):
        count = Counter(order)
        missing = [name_of(cell) for cell in needed if not count[cell]]
        twice = [name_of(cell) for cell, times in count.items() if times > 1]
        if missing:
            found.append(
                _violation(
                    "cells_missing",
                    f"order.{stage}",
                    f"Stage {stage} never runs {_listed(missing)}. Add them.",
                )
            )
        if twice:
            message = f"Stage {stage} runs {_listed(twice)} more than once. Keep one of each."
            found.append(_violation("cells_repeated", f"order.{stage}", message))
    return found


def violations_of_blocked(blocked: Blocked) -> list[dict[str, Any]]:
    """Who waits for whom, for ever."""
    found = []
    for stage, cell, other, needed in blocked.waiting:
        where = "later on the same stage" if other == stage else f"on stage {other}"
        message = (
            f"Stage {stage} stops at {name_of(cell)} for ever: it needs {name_of(needed)} {where}, which can "
            f"not run before it. Move {name_of(cell)} of stage {stage} later, or {name_of(needed)} of stage "
            f"{other} earlier."
        )
        found.append(_violation("dependency_never_met", f"order.{stage}", message))
    return found


def violations_of_limit(
    orders: Sequence[Order], v: int, limit: Sequence[float] | None
) -> list[dict[str, Any]]:
    """Stages that hold more micro-batches than they may."""
    found = []
    for stage, (order, most) in enumerate(zip(orders, limit or (), strict=False)):
        held = peak_in_flight(order, v)
        if held > most:
            message = (
                f"Stage {stage} holds {held:g} micro-batches at once; its limit is {most:g}. "
                "Run a backward before the next forward."
            )
            found.append(
                _violation("in_flight_limit", f"in_flight_limit.{stage}", message)
                | {"value": held, "limit": most}
            )
    return found


def _violation(code: str, field: str, message: str) -> dict[str, Any]:
    return {"code": code, "field": field, "message": message}
