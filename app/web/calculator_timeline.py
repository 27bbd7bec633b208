"""The pipeline timeline of an estimate: the same schedule, played out with the slowest stage's times."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from app.services.schedule_inputs import ScheduleInputs, parse_schedule
from app.services.scheduling import play_schedule
from app.web.charts.figure import Figure
from app.web.charts.timeline import timeline_figure

DRAWN_CELLS = 1_200  # forward and backward passes; more are drawn on the schedule's own page
_WORK = ("compute_s", "tensor_parallel_s", "context_parallel_s", "expert_parallel_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The figure, or only the address of the page that draws it."""

    note: str
    url: str
    figure: Figure | None


def timeline_of(answer: Mapping[str, Any], values: Mapping[str, Any]) -> Timeline | None:
    """The timeline of a pipeline with more than one stage; None without one."""
    p, batch, time = values["layout.pipeline_parallel"], answer.get("batch"), answer.get("time")
    if p < 2 or not batch or not time or not time.get("step_s"):
        return None
    m, v = int(batch["num_micro_batches"]), values["layout.virtual_pipeline_stages"]
    question: dict[str, Any] = {
        "schedule": "interleaved" if v > 1 else values["layout.schedule"],
        "num_stages": p,
        "num_micro_batches": m,
        "virtual_pipeline_stages": v,
        **_times(time, m, str(values["layout.schedule"])),
    }
    url = f"/calculator/schedule?{urlencode({key: _short(value) for key, value in question.items()})}"
    chunks = f", {v} chunks" if v > 1 else ""
    note = f"{p} equal stages, {m:,} micro-batches{chunks}"
    inputs = parse_schedule(question) if 2 * p * m * v <= DRAWN_CELLS else None
    played = play_schedule(inputs) if isinstance(inputs, ScheduleInputs) else None
    drawn = played is not None and played.simulation is not None
    return Timeline(note=note, url=url, figure=timeline_figure(played) if played and drawn else None)


def _times(time: Mapping[str, Any], m: int, schedule: str) -> dict[str, float]:
    """Seconds of one micro-batch: a third forward, two thirds backward, which also recomputes."""
    work = sum(float(time.get(name) or 0.0) for name in _WORK) / m
    again = float(time.get("recompute_s") or 0.0) / m
    if schedule == "zb-h1":
        return {"forward_s": work / 3, "backward_s": work / 3 + again, "weight_grad_s": work / 3}
    return {"forward_s": work / 3, "backward_s": work * 2 / 3 + again}


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
