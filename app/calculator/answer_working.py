"""The working of the answer's other figures: parameters, batch, rates, and how the step adds up."""

from collections.abc import Mapping
from typing import Any

from app.calculator import parameters as par
from app.calculator.cluster import Cluster
from app.calculator.explain import Line, line
from app.calculator.flop import ForwardFlop, forward_flop
from app.calculator.layout import Layout, Recompute, Schedule
from app.calculator.model import Model
from app.calculator.step_time import PARTS
from app.calculator.training import Training
from app.calculator.units import TERA

NARAYANAN = "Narayanan et al. 2021, section 2.2"
FLOP_SOURCE = "Narayanan et al. 2021, appendix; Korthikanti et al. 2022, eq. 7"


def answer_working(
    answer: Mapping[str, Any], model: Model, training: Training, layout: Layout, cluster: Cluster
) -> list[Line]:
    """Lines for everything but memory and the seconds of each part."""
    forward = forward_flop(model, training)
    return [
        *_given_lines(answer, cluster),
        *_parameter_lines(answer, model),
        *_batch_lines(answer, training, layout),
        *_step_lines(answer, layout),
        *_flop_lines(answer, model, training, layout, forward),
        *_rate_lines(answer, training, cluster),
    ]


def _given_lines(answer: Mapping[str, Any], cluster: Cluster) -> list[Line]:
    """What the inputs and the catalog say, and what is left of a device's memory."""
    memory, batch = answer["memory"], answer["batch"]
    given = {
        "capacity": memory["capacity_bytes"],
        "reserved": cluster.device.reserved_bytes,
        "global_batch": batch["global_batch_size"],
        "micro_batch": batch["micro_batch_size"],
        "band": answer["expected_error_fraction"],
    }
    rules = (
        ("memory.capacity_bytes", "capacity", memory["capacity_bytes"], "bytes", "cluster: the device"),
        (
            "memory.usable_bytes",
            "capacity - reserved",
            memory["usable_bytes"],
            "bytes",
            "cluster: the device, less what driver and firmware keep",
        ),
        ("batch.global_batch_size", "global_batch", batch["global_batch_size"], "sequences", "training"),
        ("batch.micro_batch_size", "micro_batch", batch["micro_batch_size"], "sequences", "layout"),
        (
            "expected_error_fraction",
            "band",
            answer["expected_error_fraction"],
            "fraction",
            "validation against published runs, docs/accuracy.md",
        ),
    )
    return [
        line(key, formula, given, value, unit=unit, source=source)
        for key, formula, value, unit, source in rules
    ]


def _parameter_lines(answer: Mapping[str, Any], model: Model) -> list[Line]:
    found = answer["parameters"]
    moe = par.moe_layer(model)
    values = {
        "layers": model.num_layers - model.num_moe_layers,
        "layer": par.layer_of_decoder(model).total,
        "encoder_layers": model.encoder_layers,
        "encoder_layer": par.dense_layer(model).total,
        "expert_layers": model.num_moe_layers,
        "expert_layer": moe.total,
        "tables": 1 if model.tied_embeddings else 2,
        "vocabulary": model.vocab_size,
        "hidden": model.hidden_size,
        "positions": par.positions(model),
        "final_norm": par.final_norm(model),
        "vision": par.vision_parameters(model),
    }
    formula = "layers * layer"
    if model.encoder_layers:
        formula += " + encoder_layers * encoder_layer"
    if model.is_moe:
        formula += " + expert_layers * expert_layer"
    formula += " + tables * vocabulary * hidden + positions + final_norm"
    if model.vision:
        formula += " + vision"
    idle = {
        "total": found["total"],
        "expert_layers": model.num_moe_layers,
        "routed_experts": moe.experts,
        "visited": model.experts_per_token,
        "experts": max(model.num_experts, 1),
    }
    active = "total - expert_layers * routed_experts * (1 - visited / experts)" if model.is_moe else "total"
    most = found["per_device_max"]
    counted = "counted from the layers; Narayanan et al. 2021, eq. 2 for a GPT"
    return [
        line("parameters.total", formula, values, found["total"], unit="parameters", source=counted),
        line("parameters.active", active, idle, found["active"], unit="parameters", source=counted),
        line(
            "parameters.per_device_max",
            "parameters_of_fullest_stage",
            {"parameters_of_fullest_stage": most},
            most,
            unit="parameters",
            source="layers of the stage over the tensor group, and the tables at the ends",
        ),
    ]


def _batch_lines(answer: Mapping[str, Any], training: Training, layout: Layout) -> list[Line]:
    values = {
        "global_batch": training.global_batch_size,
        "micro_batch": layout.micro_batch_size,
        "copies": layout.data_parallel,
        "tokens": training.seq_length,
    }
    batch = answer["batch"]
    rule = "B = b · m · d"
    return [
        line(
            "batch.num_micro_batches",
            "global_batch / (micro_batch * copies)",
            values,
            batch["num_micro_batches"],
            unit="micro-batches",
            source=rule,
        ),
        line(
            "batch.tokens_per_step",
            "global_batch * tokens",
            values,
            batch["tokens_per_step"],
            unit="tokens",
            source=rule,
        ),
    ]


def _step_lines(answer: Mapping[str, Any], layout: Layout) -> list[Line]:
    """The step is the sum of its parts, and the bubble of equal stages."""
    time = answer["time"]
    parts = {name.removesuffix("_s"): time[name] for name in PARTS}
    lines = [
        line("time.step_s", " + ".join(parts), parts, time["step_s"], unit="s", source="sum of the parts")
    ]
    values = {
        "stages": layout.pipeline_parallel,
        "chunks": layout.virtual_pipeline_stages,
        "micro_batches": answer["batch"]["num_micro_batches"],
        "over_ideal": time["bubble_over_ideal"],
    }
    if layout.schedule != Schedule.ZB_H1:
        lines.append(
            line(
                "time.bubble_over_ideal",
                "(stages - 1) / (chunks * micro_batches)",
                values,
                time["bubble_over_ideal"],
                unit="fraction",
                source=NARAYANAN,
            )
        )
    fraction = "over_ideal / (1 + over_ideal)"
    lines.append(
        line(
            "time.bubble_fraction",
            fraction,
            values,
            time["bubble_fraction"],
            unit="fraction",
            source=f"{NARAYANAN}: (p − 1)/(vm + p − 1)",
        )
    )
    return lines


def _flop_lines(
    answer: Mapping[str, Any], model: Model, training: Training, layout: Layout, forward: ForwardFlop
) -> list[Line]:
    found = answer["throughput"]
    again = _recomputed_share(training, layout, forward)
    values = {
        "sequences": training.global_batch_size,
        "layers": forward.layers,
        "head": forward.head,
        "model_flop": found["model_flop_per_step"],
        "again": again,
        "tokens": training.seq_length,
        "hidden": model.hidden_size,
        "vocabulary": model.vocab_size,
    }
    return [
        line(
            "throughput.forward_head_flop",
            "2 * tokens * hidden * vocabulary",
            values,
            forward.head,
            unit="FLOP",
            source=FLOP_SOURCE,
        ),
        line(
            "throughput.model_flop_per_step",
            "3 * sequences * (layers + head)",
            values,
            found["model_flop_per_step"],
            unit="FLOP",
            source=f"{FLOP_SOURCE}; one forward pass, twice as much backward",
        ),
        line(
            "throughput.hardware_flop_per_step",
            "model_flop + sequences * again",
            values,
            found["hardware_flop_per_step"],
            unit="FLOP",
            source="Narayanan et al. 2021, eq. 3: what is recomputed is counted again",
        ),
    ]


def _recomputed_share(training: Training, layout: Layout, forward: ForwardFlop) -> float:
    """FLOP of one sequence that are run again."""
    if layout.recompute == Recompute.FULL:
        return forward.layers
    if training.recomputed_fraction:
        return training.recomputed_fraction * forward.layers
    core = layout.recompute == Recompute.SELECTIVE and not training.flash_attention
    return forward.cores if core else 0.0


def _rate_lines(answer: Mapping[str, Any], training: Training, cluster: Cluster) -> list[Line]:
    found, device = answer["throughput"], cluster.device
    fp8 = training.compute_dtype == "fp8" and device.peak_flops_fp8 > 0
    values = {
        "model_flop": found["model_flop_per_step"],
        "hardware_flop": found["hardware_flop_per_step"],
        "step": answer["time"]["step_s"],
        "devices": cluster.num_gpus,
        "peak": device.peak_flops_fp8 if fp8 else device.peak_flops_bf16,
        "tera": TERA,
        "tokens": answer["batch"]["tokens_per_step"],
    }
    rules = (
        ("model_tflops_per_gpu", "model_flop / (step * devices * tera)", "TFLOP/s"),
        ("hardware_tflops_per_gpu", "hardware_flop / (step * devices * tera)", "TFLOP/s"),
        ("mfu", "model_flop / (step * devices * peak)", "fraction"),
        ("hfu", "hardware_flop / (step * devices * peak)", "fraction"),
        ("tokens_per_s", "tokens / step", "tokens/s"),
        ("tokens_per_s_per_gpu", "tokens / (step * devices)", "tokens/s"),
    )
    source = "by definition; MFU and HFU: Chowdhery et al. 2022, appendix B"
    return [
        line(f"throughput.{name}", formula, values, found[name], unit=unit, source=source)
        for name, formula, unit in rules
    ]
