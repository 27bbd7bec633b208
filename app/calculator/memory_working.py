"""The working of the memory figures: one line for every number of every stage, and the steps between them."""

from collections.abc import Mapping

import numpy as np

from app.calculator import activations as act
from app.calculator import buffers as buf
from app.calculator import states
from app.calculator.explain import Line, line
from app.calculator.layout import Layout, Layouts, Recompute, Schedule
from app.calculator.memory import PARTS, StageMemory
from app.calculator.model import Model
from app.calculator.training import Training

ZERO = "Rajbhandari et al. 2020 (ZeRO), sections 3.1 and 5"
KORTHIKANTI = "Korthikanti et al. 2022, eq. 1–6"
COUNTED = "counted from the tensors"
RUNTIME = "set to published runs that report their memory"
OfStage = Mapping[str, float]
_OF_STAGE = (
    *PARTS,
    "total_bytes",
    "tensors_bytes",
    "end_activations_bytes",
    "in_flight_micro_batches",
    "dense_parameters",
    "expert_parameters",
)
IN_FLIGHT_SOURCE = "Narayanan et al. 2021, section 2.2; Korthikanti et al. 2022, section 4.2.3"


def memory_working(
    model: Model, training: Training, layout: Layout, held: StageMemory, usable_bytes: float
) -> list[Line]:
    """Lines for a layout whose stages `held` has, in the order of the answer."""
    lines = _layer_lines(model, training, layout)
    groups = buf.groups_of(Layouts.of(layout))[0].item()
    columns = _columns(held)
    for stage in range(layout.pipeline_parallel):
        of_stage = {name: column[stage] for name, column in columns.items()}
        lines += _stage_lines(training, layout, of_stage, stage, groups)
    totals = held.total_bytes
    peak = float(np.max(totals))
    fullest = int(np.argmax(totals))
    lines.append(
        line(
            "memory.peak_bytes",
            "total_of_fullest_stage",
            {"total_of_fullest_stage": peak},
            peak,
            unit="bytes",
            source=f"the largest total: stage {fullest}",
        )
    )
    headroom = {"usable": usable_bytes, "peak": peak}
    value = usable_bytes - peak
    lines.append(
        line("memory.headroom_bytes", "usable - peak", headroom, value, unit="bytes", source="by definition")
    )
    return lines


def _columns(held: StageMemory) -> dict[str, list[float]]:
    """What every stage holds as plain numbers, turned once: a stage alone costs as much as all of them."""
    columns = {name: getattr(held, name).tolist() for name in _OF_STAGE}
    columns |= {"early_layers": held.layers.early.tolist(), "late_layers": held.layers.late.tolist()}
    return columns | {name: getattr(held.buffers, name).tolist() for name in buf.BUFFER_NAMES}


def _layer_lines(model: Model, training: Training, layout: Layout) -> list[Line]:
    """What one layer of each kind keeps of one micro-batch: the formula of the recompute that is in
    effect.
    """
    kinds = act.layer_kinds(model, training)
    both = [("late", kinds.late, kinds.late_seq_length)]
    if kinds.early is not kinds.late:
        both.append(("early", kinds.early, kinds.early_seq_length))
    lines = []
    for name, kept, seq_length in both:
        value = act.layer_bytes(model, kept, Layouts.of(layout), training, seq_length)[0].item()
        values = _layer_values(model, training, layout, kept) | {"tokens": seq_length}
        lines.append(
            line(
                f"memory.{name}_layer_activations_bytes",
                _layer_formula(training, layout),
                values,
                value,
                unit="bytes",
                source=f"{KORTHIKANTI}; {COUNTED}",
            )
        )
    return lines


def _layer_values(model: Model, training: Training, layout: Layout, kept: act.Kept) -> dict[str, float]:
    """The numbers of the formula: bytes per token by how they divide, and what divides them."""
    core_dropped = layout.recompute == Recompute.SELECTIVE and not training.recomputed_fraction
    return {
        "micro_batch": layout.micro_batch_size,
        "context": layout.context_parallel,
        "split": kept.split,
        "sharded": kept.sharded,
        "whole": kept.gathered,
        "kv": kept.kv,
        "scores": 0.0 if training.flash_attention or core_dropped else kept.scores,
        "tensor": layout.tensor_parallel,
        "sequence": layout.tensor_parallel if layout.sequence_parallel else 1,
        "kv_ranks": min(layout.tensor_parallel, model.num_kv_heads),
        "hidden": model.hidden_size,
        "again": training.recomputed_fraction,
    }


def _layer_formula(training: Training, layout: Layout) -> str:
    """The formula of the recompute in effect."""
    tokens = "micro_batch * tokens / context"
    everything = "(split / sequence + sharded / tensor + whole + kv / kv_ranks + scores / tensor)"
    if layout.recompute == Recompute.FULL:
        return f"{tokens} * 2 * hidden / sequence"
    if training.recomputed_fraction:
        return f"{tokens} * ({everything} * (1 - again) + 2 * hidden / sequence * again)"
    return f"{tokens} * {everything}"


def _stage_lines(
    training: Training, layout: Layout, of_stage: OfStage, stage: int, groups: float
) -> list[Line]:
    prefix = f"memory.stages.{stage}"
    kinds = {"early_layers": of_stage["early_layers"], "late_layers": of_stage["late_layers"]}
    lines = [
        line(
            f"{prefix}.num_layers",
            "early_layers + late_layers",
            kinds,
            of_stage["early_layers"] + of_stage["late_layers"],
            unit="layers",
            source="the split of the layers over the stages; early: of the encoder, or dense before experts",
        )
    ]
    lines += _state_lines(prefix, training, layout, of_stage, stage)
    lines += _activation_lines(prefix, training, layout, of_stage, stage)
    lines += _buffer_lines(prefix, of_stage, groups)
    parts = {name.removesuffix("_bytes"): of_stage[name] for name in PARTS}
    total = of_stage["total_bytes"]
    formula = "weights + gradients + optimizer + activations + logits + buffers + overhead"
    lines.append(
        line(f"{prefix}.total_bytes", formula, parts, total, unit="bytes", source="sum of the parts")
    )
    return lines


def _state_lines(
    prefix: str, training: Training, layout: Layout, of_stage: OfStage, stage: int
) -> list[Line]:
    copies = layout.context_parallel * layout.data_parallel
    ranks = min(layout.zero_group, copies) if layout.zero_group else copies
    expert_ranks = min(ranks, max(copies / layout.expert_parallel, 1))
    k = states.optimizer_bytes_per_parameter(
        training.optimizer, training.master_weights, training.param_bytes
    )
    experts = of_stage["expert_parameters"]
    lines = []
    for name, each, from_stage in (
        ("weights_bytes", float(training.param_bytes), 3),
        ("gradients_bytes", float(training.grad_bytes), 2),
        ("optimizer_bytes", k, 1),
    ):
        sharded = layout.zero_stage >= from_stage
        values = {
            "bytes_each": each,
            "parameters": of_stage["dense_parameters"],
            "ranks": ranks if sharded else 1,
            "expert_parameters": experts,
            "expert_ranks": expert_ranks if sharded else 1,
        }
        formula = "bytes_each * parameters / ranks"
        if experts:
            formula = "bytes_each * (parameters / ranks + expert_parameters / expert_ranks)"
        value = of_stage[name]
        lines.append(line(f"{prefix}.{name}", formula, values, value, unit="bytes", source=ZERO))
    return lines


def _activation_lines(
    prefix: str, training: Training, layout: Layout, of_stage: OfStage, stage: int
) -> list[Line]:
    flight = of_stage["in_flight_micro_batches"]
    ends = of_stage["end_activations_bytes"]
    kept = of_stage["activations_bytes"]
    values = {"in_flight": flight, "layers_keep": (kept - ends) / flight, "ends": ends}
    logits = of_stage["logits_bytes"]
    return [
        _in_flight_line(prefix, training, layout, flight, stage),
        line(
            f"{prefix}.activations_bytes",
            "in_flight * layers_keep + ends",
            values,
            kept,
            unit="bytes",
            source=f"{KORTHIKANTI}; layers_keep: num_layers times what one layer keeps",
        ),
        line(
            f"{prefix}.logits_bytes",
            "bytes_per_logit * logits",
            {
                "bytes_per_logit": buf.LOGITS_BYTES[training.kernels],
                "logits": logits / buf.LOGITS_BYTES[training.kernels],
            },
            logits,
            unit="bytes",
            source=f"{COUNTED}: micro-batch · tokens · padded vocabulary / tensor, on the last stage",
        ),
    ]


def _in_flight_line(prefix: str, training: Training, layout: Layout, flight: float, stage: int) -> Line:
    """The formula of the schedule in effect."""
    m = training.global_batch_size // (layout.micro_batch_size * layout.data_parallel)
    v = layout.virtual_pipeline_stages
    values = {"micro_batches": m, "stages": layout.pipeline_parallel, "stage": stage, "chunks": v}
    if layout.schedule == Schedule.GPIPE:
        formula = "micro_batches"
    elif layout.schedule == Schedule.ZB_H1:
        formula = "min(micro_batches, stages)"
    elif v > 1:
        formula = "min(micro_batches, (stages * (chunks - 1) + 2 * (stages - stage - 1) + 1) / chunks)"
    else:
        formula = "min(micro_batches, stages - stage)"
    return line(
        f"{prefix}.in_flight_micro_batches",
        formula,
        values,
        flight,
        unit="micro-batches",
        source=IN_FLIGHT_SOURCE,
    )


def _buffer_lines(prefix: str, of_stage: OfStage, groups: float) -> list[Line]:
    parts = {name: of_stage[name] for name in buf.BUFFER_NAMES}
    overhead = {
        "context": buf.CONTEXT_BYTES,
        "per_group": buf.GROUP_BYTES,
        "groups": groups,
        "wasted_share": buf.FRAGMENTATION,
        "tensors": of_stage["tensors_bytes"],
    }
    return [
        line(
            f"{prefix}.buffers_bytes",
            " + ".join(parts),
            parts,
            of_stage["buffers_bytes"],
            unit="bytes",
            source=f"{COUNTED}; Zhao et al. 2023 (FSDP), section 3.3",
        ),
        line(
            f"{prefix}.overhead_bytes",
            "context + per_group * groups + wasted_share * tensors",
            overhead,
            of_stage["overhead_bytes"],
            unit="bytes",
            source=RUNTIME,
        ),
    ]
