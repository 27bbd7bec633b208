"""Why one layout of a search stands before the next: what differs, and what that does to the step."""

from collections.abc import Mapping
from typing import Any

from app.calculator.units import format_gib, format_percent, format_seconds

NAMES = {
    "tensor_parallel": "tensor",
    "pipeline_parallel": "pipeline",
    "data_parallel": "data",
    "context_parallel": "context",
    "expert_parallel": "expert",
    "schedule": "schedule",
    "virtual_pipeline_stages": "chunks",
    "micro_batch_size": "micro-batch",
    "sequence_parallel": "sequence parallelism",
    "zero_stage": "ZeRO",
    "zero_group": "ZeRO group",
    "recompute": "recompute",
    "overlap_data_parallel": "gradient overlap",
    "overlap_tensor_parallel": "tensor overlap",
    "layers_per_stage": "split of layers",
    "rank_order": "rank order",
}
PARTS = {
    "compute_s": "the layers' own work",
    "recompute_s": "recompute",
    "tensor_parallel_s": "tensor traffic",
    "context_parallel_s": "context traffic",
    "expert_parallel_s": "expert traffic",
    "pipeline_p2p_s": "sends between stages",
    "bubble_s": "bubble",
    "data_parallel_s": "gradient and weight traffic",
    "optimizer_s": "optimizer step",
    "other_s": "launches and stragglers",
}
_SPELLED = {"1f1b": "1F1B", "zb-h1": "ZB-H1", "gpipe": "GPipe"}
_TELLING = 0.15  # share of the largest change from which a further one is told
_LEAST = 5e-4  # of the step: less is not told


def differences(better: Mapping[str, Any], worse: Mapping[str, Any]) -> list[str]:
    """The fields of the layout in which two rows differ: "tensor 8 → 4"."""
    return [
        f"{name} {_said(better[key])} → {_said(worse[key])}"
        for key, name in NAMES.items()
        if better.get(key) != worse.get(key)
    ]


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return "-".join(str(part) for part in value)
    return "even" if value is None else _SPELLED.get(value, str(value))


def why_first(numbers: Mapping[str, Any], parts: Mapping[str, float]) -> str:
    """What the best layout spends its step on."""
    step_s = numbers["step_s"]
    lost = {name: seconds for name, seconds in parts.items() if name != "compute_s"}
    worst = max(lost, key=lambda name: lost[name])
    own = format_percent(parts["compute_s"] / step_s, 0)
    if not lost[worst]:
        return f"{own} of the step is the layers' own work."
    return (
        f"{own} of the step is the layers' own work; "
        f"most of the rest, {format_percent(lost[worst] / step_s)}, goes to: {PARTS[worst]}."
    )


def why_behind(
    changed: list[str],
    better: tuple[Mapping[str, Any], Mapping[str, float]],
    worse: tuple[Mapping[str, Any], Mapping[str, float]],
    objective: str,
) -> str:
    """Why a row stands behind the one before it. Each: (its numbers, the parts of its step)."""
    said = ", ".join(changed) or "only the batch differs"
    numbers, before = worse[0], better[0]
    if objective == "headroom_bytes":
        less = before["headroom_bytes"] - numbers["headroom_bytes"]
        step = numbers["step_s"] / before["step_s"] - 1
        pace = f"the step is {format_percent(abs(step))} {'longer' if step > 0 else 'shorter'}"
        spare = f"{format_gib(less)} less to spare" if less else "as much to spare"
        return f"{said}: {spare}, {pace}."
    slower = before["tokens_per_s"] / numbers["tokens_per_s"] - 1
    if abs(slower) < 1e-9:
        more = numbers["peak_bytes"] - before["peak_bytes"]
        return f"{said}: as fast, {f'{format_gib(more)} more memory' if more else 'and as large'}."
    told = _changes(better, worse)
    pace = f"{format_percent(slower, 2)} slower" if slower >= 5e-5 else "hardly slower"
    return f"{said}: {pace}{'; ' + told if told else ''}."


def _changes(
    better: tuple[Mapping[str, Any], Mapping[str, float]],
    worse: tuple[Mapping[str, Any], Mapping[str, float]],
) -> str:
    """The parts of the step that changed most, per token where the batch differs: "bubble +0.31 s"."""
    scale = better[0]["tokens_per_step"] / worse[0]["tokens_per_step"]
    change = {name: worse[1][name] * scale - better[1][name] for name in PARTS}
    largest = max(abs(seconds) for seconds in change.values())
    if largest < _LEAST * better[0]["step_s"]:
        return ""
    by_size = sorted(change.items(), key=lambda item: -abs(item[1]))
    told = [(name, seconds) for name, seconds in by_size if abs(seconds) >= _TELLING * largest][:3]
    return ", ".join(f"{PARTS[name]} {_signed(seconds)}" for name, seconds in told)


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '−'}{format_seconds(abs(seconds))}"
