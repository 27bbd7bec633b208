"""The calculator inside a lesson: a verdict, at most three controls, the chosen figures, the requirements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.catalog import Catalog, load_catalog
from app.web.charts.cluster_map import cluster_map_figure
from app.web.charts.cluster_places import AXES, ClusterMap
from app.web.charts.figure import Figure
from app.web.charts.memory import memory_figure
from app.web.charts.serving_memory import serving_memory_figure
from app.web.charts.step_time import step_time_figure
from app.web.charts.traffic import TrafficRow, traffic_rows
from app.web.controls import Control, control, path_of
from app.web.verdict import Verdict, verdict

MOST_CONTROLS = 3
WIDGET_ROWS = 4
# A word of `show` → the figure it asks for.
_SHOWN = {
    "memory": "memory", "stage": "memory", "stages": "memory",
    "time": "time", "step": "time", "breakdown": "time", "step-time": "time",
    "cluster": "cluster", "map": "cluster", "nodes": "cluster",
    "traffic": "traffic", "communication": "traffic", "links": "traffic",
    "batch": "batch",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing a puzzle asks for, whether it is met, and the value that decides."""

    text: str
    met: bool
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B = b · m · d, as numbers."""

    global_batch_size: int
    micro_batch_size: int
    num_micro_batches: int
    data_parallel: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WidgetView:
    """Everything the macro `widget` sets. `carried` are inputs that stand still, as hidden fields."""

    id: str
    action: str
    verdict: Verdict
    controls: tuple[Control, ...] = ()
    figures: tuple[Figure, ...] = ()
    traffic: tuple[TrafficRow, ...] = ()
    batch: Batch | None = None
    requirements: tuple[Requirement, ...] = ()
    carried: tuple[tuple[str, str], ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    caption: str = ""
    open_url: str = ""


def widget_view(
    answer: Mapping[str, Any],
    inputs: Mapping[str, Any],
    *,
    show: Iterable[str] = ("memory",),
    controls: Iterable[str] = (),
    locked: Iterable[str] = (),
    requirements: Iterable[Requirement] | None = None,
    id: str = "widget",
    action: str = "",
    carried: Iterable[tuple[str, str]] = (),
    typed: Mapping[str, str] | None = None,
    caption: str = "",
    open_url: str = "",
    catalog: Catalog | None = None,
) -> WidgetView:
    """The view of the answer of estimate or serve, or of the problems of its inputs (`{"problems": […]}`).

    `inputs` are values by path, as of `app.web.values.in_effect`, or by bare key. `action` answers a GET of
    the controls with the same widget. `typed` holds what stands in a control that could not be read.
    """
    values = by_path(inputs)
    problems = tuple((str(p["field"]), str(p["message"])) for p in answer.get("problems") or ())
    said = dict(problems)
    fixed = {path_of(name) for name in locked}
    wanted = [path for path in map(path_of, controls) if path and path not in fixed]
    return WidgetView(
        id=id,
        action=action,
        verdict=_problem_verdict(problems) if problems else verdict(answer, brief=True),
        controls=tuple(
            control(
                path,
                values,
                catalog or load_catalog(),
                prefix=id,
                typed=(typed or {}).get(path),
                problem=said.get(path, ""),
            )
            for path in wanted[: MOST_CONTROLS if requirements is None else 12]
        ),
        requirements=tuple(requirements or ()),
        carried=tuple(carried),
        problems=problems,
        caption=caption,
        open_url=open_url,
        **({} if problems or not answer.get("legal", True) else _parts(answer, values, show, id)),
    )


def by_path(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Values by path, from paths, bare keys or the nested objects of the API."""
    values: dict[str, Any] = {}
    for name, value in inputs.items():
        if name in ("model", "cluster", "layout", "training") and isinstance(value, Mapping):
            for key, inner in value.items():
                values[f"{name}.{key}"] = inner
            continue
        path = path_of(str(name))
        if path:
            values[path] = value
    return values


def batch_of(answer: Mapping[str, Any], values: Mapping[str, Any]) -> Batch | None:
    """The batch identity of an answer."""
    batch = answer.get("batch")
    if not batch or batch.get("num_micro_batches") is None:
        return None
    b, m = int(batch["micro_batch_size"]), int(batch["num_micro_batches"])
    total = int(batch["global_batch_size"])
    d = values.get("layout.data_parallel")
    replicas = int(d) if d is not None else max(1, total // (b * m))
    return Batch(global_batch_size=total, micro_batch_size=b, num_micro_batches=m, data_parallel=replicas)


def map_of(values: Mapping[str, Any]) -> ClusterMap | None:
    """The cluster map of inputs in effect; None where they do not say it all."""
    names = ("tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel")
    sizes = {name: values.get(f"layout.{name}", 1) for name in names}
    per_node = values.get("cluster.gpus_per_node", 8)
    if not all(isinstance(value, int) and value >= 1 for value in (*sizes.values(), per_node)):
        return None
    order = values.get("layout.rank_order") or AXES
    return ClusterMap(**sizes, gpus_per_node=per_node, rank_order=tuple(order))


def _problem_verdict(problems: Sequence[tuple[str, str]]) -> Verdict:
    field, message = problems[0]
    rest = f"{field}: {message}" if field else message
    return Verdict(state="unusable", lead="Cannot be calculated:", rest=rest)


def _parts(
    answer: Mapping[str, Any], values: Mapping[str, Any], show: Iterable[str], id: str
) -> dict[str, Any]:
    asked = [word.lower() for name in show for word in name.replace("_", " ").split()]
    wanted = list(dict.fromkeys(_SHOWN[word] for word in asked if word in _SHOWN))
    figures: list[Figure] = []
    parts: dict[str, Any] = {}
    for name in wanted:
        if name == "memory" and answer.get("memory"):
            drawn = serving_memory_figure if "limit_bytes" in answer["memory"] else memory_figure
            figures.append(drawn(answer["memory"], id=f"{id}-mem", rows=WIDGET_ROWS))
        elif name == "time" and (answer.get("time") or {}).get("step_s"):
            figures.append(step_time_figure(answer["time"], id=f"{id}-step"))
        elif name == "cluster" and (cluster := map_of(values)):
            figures.append(cluster_map_figure(cluster, id=f"{id}-map"))
        elif name == "traffic":
            parts["traffic"] = tuple(traffic_rows(answer.get("communication") or {}))
        elif name == "batch":
            parts["batch"] = batch_of(answer, values)
    return {"figures": tuple(figures), **parts}
