"""The results column of the calculator: figures, tables and the working behind the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.services.inputs import Inputs
from app.web import numbers
from app.web.calculator_timeline import Timeline, timeline_of
from app.web.charts.cluster_map import cluster_map_figure
from app.web.charts.figure import Figure
from app.web.charts.memory import memory_figure
from app.web.charts.step_time import step_time_figure
from app.web.charts.traffic import TrafficRow, traffic_rows
from app.web.widgets import Batch, batch_of, map_of

STAGES = "memory.stages."  # how the keys of all stages begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """How one number came about."""

    key: str
    title: str
    result: str
    formula: str
    substituted: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a legal layout shows."""

    memory: Figure
    step: Figure | None
    step_title: str
    map: Figure | None
    map_note: str
    timeline: Timeline | None
    traffic: tuple[TrafficRow, ...]
    batch: Batch | None
    tokens: str
    stage: int
    stages: tuple[int, ...]
    stage_chosen: bool
    stage_working: tuple[Working, ...]
    step_working: tuple[Working, ...]
    traffic_working: tuple[Working, ...]
    other_working: tuple[Working, ...]


def results_of(
    answer: Mapping[str, Any], inputs: Inputs, values: Mapping[str, Any], *, stage: int | None = None
) -> Results:
    """The figures of an answer; the working shown is that of `stage`, else of the fullest one."""
    memory, time = answer["memory"], answer.get("time") or {}
    fullest = max(memory["stages"], key=lambda s: float(s["total_bytes"]))["stage"]
    known = tuple(int(s["stage"]) for s in memory["stages"])
    shown = stage if stage in known else int(fullest)
    at_stage = f"memory.stages.{shown}."
    working = [
        working_of(entry)
        for entry in answer.get("working") or ()
        if entry["key"].startswith(at_stage) or not entry["key"].startswith(STAGES)
    ]
    step = time.get("step_s")
    placed = map_of(values)
    cluster = inputs.cluster
    links = {"intra_node": cluster.intra_node.name, "inter_node": cluster.inter_node.name}
    nodes = numbers.count(placed.num_nodes) if placed else ""
    order = ", ".join(inputs.layout.rank_order)
    return Results(
        memory=memory_figure(memory),
        step=step_time_figure(time) if step else None,
        step_title=f"One step, {numbers.seconds(step)}" if step else "",
        map=cluster_map_figure(placed) if placed else None,
        map_note=f"{nodes} {'node' if nodes == '1' else 'nodes'}; rank order {order}",
        timeline=timeline_of(answer, values),
        traffic=tuple(traffic_rows(answer.get("communication") or {}, links)),
        batch=batch_of(answer, values),
        tokens=numbers.count((answer.get("batch") or {}).get("tokens_per_step")),
        stage=shown,
        stages=known if len(known) <= 16 else (*known[:8], *known[-8:]),
        stage_chosen=stage in known,
        stage_working=_of(working, at_stage),
        step_working=_of(working, "time."),
        traffic_working=_of(working, "communication."),
        other_working=tuple(
            entry for entry in working
            if not entry.key.startswith((STAGES, "time.", "communication."))
        ),
    )  # fmt: skip


def _of(working: Sequence[Working], prefix: str) -> tuple[Working, ...]:
    return tuple(entry for entry in working if entry.key.startswith(prefix))


def working_of(entry: Mapping[str, Any]) -> Working:
    """One entry of the answer's `working`, with its value in words."""
    value, unit = entry.get("value"), str(entry.get("unit") or "")
    return Working(
        key=str(entry["key"]),
        title=title_of(str(entry["key"])),
        result=_short(value, unit),
        formula=typeset(str(entry.get("formula") or "")),
        substituted=typeset(str(entry.get("substituted") or "")),
        value=_in_full(value, unit),
        source=str(entry.get("source") or ""),
    )


def typeset(formula: str) -> str:
    """Signs as in print; the working itself keeps the ones that a program reads."""
    return formula.replace(" * ", " · ").replace(" / ", " ÷ ").replace(" - ", f" {numbers.MINUS} ")


_TITLES = {
    "mfu": "MFU",
    "hfu": "HFU",
    "tokens_per_s": "Tokens per second",
    "tokens_per_s_per_gpu": "Tokens per second and GPU",
    "model_tflops_per_gpu": "Model TFLOP/s of a GPU",
    "hardware_tflops_per_gpu": "Hardware TFLOP/s of a GPU",
    "model_flop_per_step": "Model FLOP",
    "hardware_flop_per_step": "Hardware FLOP",
    "in_flight_micro_batches": "Micro-batches in flight",
    "num_micro_batches": "Micro-batches",
    "per_device_max": "Parameters of the fullest device",
    "mean_idle_fraction": "Mean idle share of a device",
}
_PARAMETERS = {"total": "Parameters", "active": "Parameters that a token meets"}


def title_of(key: str) -> str:
    """ "memory.stages.0.activations_bytes" → "Activations"; the heading above names the stage."""
    section, _, rest = key.partition(".")
    name = rest.rpartition(".")[2] or section
    if name in _TITLES:
        return _TITLES[name]
    if section == "parameters" and name in _PARAMETERS:
        return _PARAMETERS[name]
    for suffix in ("_bytes_per_step", "_bytes", "_s", "_fraction", "_per_step"):
        if name.endswith(suffix) and len(name) > len(suffix):
            name = name.removesuffix(suffix)
            break
    words = name.replace("_", " ")
    if section == "communication" and "." in rest:
        axis = rest.partition(".")[0].replace("_parallel", "")
        return f"{axis.capitalize()}: {words}"
    return words[:1].upper() + words[1:]


def _short(value: Any, unit: str) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    if unit == "bytes":
        return numbers.binary(value)
    if unit in ("s", "seconds"):
        return numbers.seconds(value)
    if unit == "fraction":
        return numbers.percent(value)
    if unit == "FLOP":
        return numbers.flop(value)
    told = numbers.parameters(value) if unit == "parameters" else numbers.significant(value)
    if float(value).is_integer() and abs(value) < 1e6:
        told = numbers.count(value)
    return f"{told} {unit}".strip()


def _in_full(value: Any, unit: str) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    full = numbers.exact(value, unit)
    return f"{full} = {_short(value, unit)}" if unit in ("bytes", "fraction", "FLOP") else full
