"""The calculator's form: which inputs stand where, each with its value, its problem and what mends it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.catalog import Catalog
from app.services.inputs import Inputs, parse_inputs
from app.web.controls import Control, control, query_name, written
from app.web.questions import EXAMPLE, Question
from app.web.values import address, in_effect, untouched

MODEL = ("model.id", "model.num_layers", "model.hidden_size", "model.num_attention_heads")
MODEL_MORE = (
    "model.num_kv_heads", "model.ffn_hidden_size", "model.gated_mlp", "model.vocab_size",
    "model.tied_embeddings", "model.num_experts", "model.experts_per_token", "model.moe_ffn_hidden_size",
)  # fmt: skip
CLUSTER = (
    "cluster.gpu", "cluster.num_nodes", "cluster.intra_node_bandwidth_bytes_per_s",
    "cluster.inter_node_bandwidth_bytes_per_s",
)  # fmt: skip
CLUSTER_MORE = (
    "cluster.gpus_per_node", "cluster.num_gpus", "cluster.memory_bytes", "cluster.inter_node_network",
    "cluster.nics_per_node", "cluster.intra_node_latency_s", "cluster.inter_node_latency_s",
)  # fmt: skip
LAYOUT = (
    "layout.tensor_parallel", "layout.pipeline_parallel", "layout.data_parallel", "layout.context_parallel",
    "layout.micro_batch_size", "layout.zero_stage", "layout.sequence_parallel", "layout.schedule",
    "layout.virtual_pipeline_stages", "layout.overlap_data_parallel",
)  # fmt: skip
LAYOUT_MORE = (
    "layout.layers_per_stage", "layout.rank_order", "layout.zero_group", "layout.overlap_tensor_parallel",
)  # fmt: skip
TRAINING = (
    "training.global_batch_size", "training.seq_length", "layout.recompute", "training.optimizer",
)  # fmt: skip
TRAINING_MORE = (
    "training.compute_dtype", "training.grad_bytes", "training.master_weights", "training.flash_attention",
    "training.kernels", "training.vocab_pad_multiple",
)  # fmt: skip
EXPERT = "layout.expert_parallel"
_INNER = ("layout.tensor_parallel", "layout.pipeline_parallel", "layout.context_parallel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fieldset:
    """A group of inputs; `more` stands in a fold, open where something in it is not as usual."""

    legend: str
    controls: tuple[Control, ...]
    more_title: str
    more: tuple[Control, ...]
    open: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing that is wrong: at which field, what, and the addresses that mend it."""

    path: str
    label: str
    message: str
    fixes: tuple[tuple[str, str], ...] = ()
    rule_of: str = ""


def values_for(question: Question, problems: Sequence[Complaint], catalog: Catalog) -> dict[str, Any]:
    """The values to show where some could not be read: of what could, else of the example."""
    wrong = {problem.path for problem in problems}
    kept = {name: value for name, value in question.raw.items() if name not in wrong}
    for raw in (kept, {"model.id": EXAMPLE["model"], **kept}, dict(EXAMPLE)):
        inputs = parse_inputs(raw, catalog)
        if isinstance(inputs, Inputs):
            return in_effect(inputs)
    raise AssertionError("the example can be read")


def fixes_of(
    violation: Mapping[str, Any], values: Mapping[str, Any], catalog: Catalog
) -> tuple[tuple[str, str], ...]:
    """Addresses that set the field of a broken rule to each of its nearest legal values."""
    path = str(violation.get("field") or "")
    if path not in values:
        return ()
    return tuple(
        (address(_with(values, path, value), catalog), _said(value))
        for value in violation.get("nearest_legal") or ()
    )


def fieldsets(
    values: Mapping[str, Any],
    complaints: Sequence[Complaint],
    catalog: Catalog,
    *,
    typed: Mapping[str, str] | None = None,
    touched: str = "",
    notes: Mapping[str, str] | None = None,
) -> tuple[Fieldset, ...]:
    """The form. `typed` are words to show instead of values; `touched` is the id of what was used last."""
    by_path: dict[str, list[Complaint]] = {}
    for complaint in complaints:
        by_path.setdefault(complaint.path, []).append(complaint)
    usual = untouched(values, catalog)

    def made(path: str) -> Control:
        found = by_path.get(path, [])
        words = (typed or {}).get(path) if found else None
        if words is None and path == "cluster.num_gpus" and usual.get(path) == values.get(path):
            words = ""
        return control(
            path,
            values,
            catalog,
            typed=words,
            problem=" ".join(complaint.message for complaint in found),
            fixes=_common(found),
        )

    def group(legend: str, paths: Sequence[str], title: str, more: Sequence[str]) -> Fieldset:
        folded = tuple(made(path) for path in more)
        changed = any(path in usual and usual[path] != values.get(path) for path in more)
        used = any(touched.startswith(c.id) for c in folded) if touched else False
        return Fieldset(
            legend=legend,
            controls=tuple(made(path) for path in paths),
            more_title=title,
            more=folded,
            open=changed or used or any(c.problem for c in folded),
            note=(notes or {}).get(legend, ""),
        )

    experts = (EXPERT,) if values.get("model.num_experts") or EXPERT in by_path else ()
    layout = (*LAYOUT[:4], *experts, *LAYOUT[4:])
    return (
        group("Model", MODEL, "Vocabulary, MLP, experts", MODEL_MORE),
        group("Cluster", CLUSTER, "Node, memory, latency", CLUSTER_MORE),
        group("Layout", layout, "Uneven stages, rank order", LAYOUT_MORE),
        group("Training", TRAINING, "Number types, kernels", TRAINING_MORE),
    )


def carried(
    values: Mapping[str, Any], sets: Sequence[Fieldset], catalog: Catalog
) -> tuple[tuple[str, str], ...]:
    """Inputs that are set and have no control: they travel as hidden fields."""
    shown = {c.path for fieldset in sets for c in (*fieldset.controls, *fieldset.more)}
    usual = untouched(values, catalog)
    return tuple(
        (query_name(path), written(value))
        for path, value in values.items()
        if path not in shown and value not in (None, "") and (path not in usual or usual[path] != value)
    )


def _common(complaints: Sequence[Complaint]) -> list[tuple[str, str]]:
    """The values that mend every rule broken at one field, else those that mend one."""
    every = list(dict.fromkeys(fix for complaint in complaints for fix in complaint.fixes))
    shared = [fix for fix in every if all(fix in complaint.fixes for complaint in complaints)]
    return shared or every


def _with(values: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The values with one changed; where it is a width or a depth, the replicas fill the cluster again."""
    changed = {**values, path: value}
    if path in _INNER:
        inner = 1
        for name in _INNER:
            inner *= int(changed[name])
        devices = int(changed["cluster.num_gpus"])
        if devices % inner == 0:
            changed["layout.data_parallel"] = devices // inner
    return changed


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
