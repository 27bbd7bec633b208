"""Model, cluster, recipe and layouts → the plain numbers of `Work`."""

from typing import Any

import numpy as np

from app.calculator.cluster import Cluster
from app.calculator.collectives import Number, members_per_node
from app.calculator.constants import Constants, rates
from app.calculator.layer_kinds import layer_kinds
from app.calculator.layout import Layouts
from app.calculator.model import Model
from app.calculator.stage_layers import stated_layers
from app.calculator.training import Training
from app.calculator.work import Work

# Bytes per token and unit of width, (forward, backward), two bytes an element. With dropout and bias, fused:
# two norms (4) and two bias-dropout-adds (2 + 2 + 2 and a mask byte) = 22; backward 38. Models trained with
# flash attention do without dropout: no masks, 20, 34. With the residual fused into the norm (compiled code,
# Transformer Engine): 14, 24.
NORM_BYTES_DROPOUT = (22.0, 38.0)
NORM_BYTES_FUSED = (20.0, 34.0)
NORM_BYTES = (14.0, 24.0)
GELU_BYTES = (4.0, 6.0)  # read and write; backward reads gradient and input, writes a gradient
SWIGLU_BYTES = (6.0, 10.0)  # two inputs, one output; backward three reads, two writes


def work_of(
    model: Model, cluster: Cluster, training: Training, layouts: Layouts, constants: Constants
) -> Work:
    """Resolve one model, cluster and recipe with columns of layouts into the numbers of the formulas."""
    encoder_seq = training.encoder_seq_length or training.seq_length
    early, late, early_layers, num_layers = layer_kinds(model, training, layouts.tensor_parallel)
    return Work(
        early=early,
        late=late,
        early_layers=early_layers,
        num_layers=num_layers,
        hidden_size=float(model.hidden_size),
        vocab_size=padded_vocab(
            float(model.vocab_size), float(training.vocab_pad_multiple), layouts.tensor_parallel
        ),
        tied_embeddings=float(model.tied_embeddings),
        num_mtp_layers=float(model.num_mtp_layers),
        head_seq_length=float(training.seq_length),
        boundary_seq_length=float(
            training.seq_length + encoder_seq if model.encoder_layers else training.seq_length
        ),
        global_batch_size=float(training.global_batch_size),
        grad_bytes=float(training.grad_bytes),
        rates=rates(constants, cluster, training),
        stated_layers=_stated_layers(layouts, early_layers),
        **_software(model, training),
        **_cluster(cluster, training),
        **_layout(layouts, float(training.global_batch_size), num_layers),
        **_places(layouts, float(cluster.gpus_per_node)),
    )


def padded_vocab(vocab_size: Number, multiple: Number, tensor: Number) -> Number:
    """Vocabulary rows after padding to a multiple of `multiple`·t. Source: Megatron-LM, tokenizer padding."""
    unit = np.maximum(1.0, multiple) * tensor
    return np.ceil(vocab_size / unit) * unit


def strides(rank_order: tuple[str, ...], sizes: dict[str, Number]) -> dict[str, Number]:
    """How far apart the ranks of each axis' groups sit: the product of the sizes inside it."""
    inner: Number = 1.0
    result: dict[str, Number] = {}
    for axis in rank_order:
        result[axis] = inner
        inner = inner * sizes[axis]
    return result


def _software(model: Model, training: Training) -> dict[str, Any]:
    flash = NORM_BYTES_FUSED if training.kernels == "fused" else NORM_BYTES
    norm = flash if training.flash_attention else NORM_BYTES_DROPOUT
    activation = SWIGLU_BYTES if model.gated_mlp else GELU_BYTES
    return {
        "norm_forward_bytes": norm[0],
        "norm_backward_bytes": norm[1],
        "activation_forward_bytes": activation[0],
        "activation_backward_bytes": activation[1],
        "flash": float(training.flash_attention),
        "eager": float(training.kernels == "eager"),
        "recomputed_fraction": float(training.recomputed_fraction),
    }


def _cluster(cluster: Cluster, training: Training) -> dict[str, Any]:
    device = cluster.device
    fp8 = training.compute_dtype == "fp8" and device.peak_flops_fp8 > 0
    return {
        "peak_flop_per_s": float(device.peak_flops_fp8 if fp8 else device.peak_flops_bf16),
        "peak_16bit_flop_per_s": float(device.peak_flops_bf16),
        "memory_bytes_per_s": float(device.memory_bandwidth_bytes_per_s),
        "gpus_per_node": float(cluster.gpus_per_node),
        "intra_bytes_per_s": float(cluster.intra_node.bandwidth_bytes_per_s),
        "inter_bytes_per_s": float(cluster.inter_node.bandwidth_bytes_per_s),
        "intra_latency_s": float(cluster.intra_node.latency_s),
        "inter_latency_s": float(cluster.inter_node.latency_s),
    }


def _layout(layouts: Layouts, global_batch_size: float, num_layers: float) -> dict[str, Any]:
    return {
        "tensor": layouts.tensor_parallel,
        "pipeline": layouts.pipeline_parallel,
        "data": layouts.data_parallel,
        "context": layouts.context_parallel,
        "expert": layouts.expert_parallel,
        "chunks": layouts.model_chunks,
        "schedule": layouts.schedule,
        "micro_batch": layouts.micro_batch_size,
        "micro_batches": layouts.num_micro_batches(global_batch_size),
        "sequence_parallel": layouts.sequence_parallel,
        "zero_stage": layouts.zero_stage,
        "shard_group": layouts.zero_ranks,
        "recompute": layouts.recompute,
        "overlap_data": layouts.overlap_data_parallel,
        "overlap_tensor": layouts.overlap_tensor_parallel,
        **_stage_layers(layouts, num_layers),
    }


def _stage_layers(layouts: Layouts, num_layers: float) -> dict[str, Number]:
    p = layouts.pipeline_parallel
    even, stated = num_layers / p, layouts.layers_by_stage
    if stated is None:
        return {
            "layers_first": even,
            "layers_middle": even,
            "layers_last": even,
            "middle_index": 0 * p + 1,
            "middle_before": even,
            "last_middle_index": p - 2,
            "last_middle_before": num_layers - 2 * even,
        }
    inside = stated[1:-1]
    fullest = 1 + inside.index(max(inside)) if inside else 0
    numbers = {
        "layers_first": stated[0],
        "layers_middle": max(inside, default=0),
        "layers_last": stated[-1],
        "middle_index": fullest,
        "middle_before": sum(stated[:fullest]),
        "last_middle_index": fullest,
        "last_middle_before": sum(stated[:fullest]),
    }
    return {name: 0 * even + float(number) for name, number in numbers.items()}


def _stated_layers(layouts: Layouts, early_layers: float) -> tuple[tuple[float, float], ...]:
    """(early, late) layers of each stage where the split is stated; one split has one number of stages."""
    if layouts.layers_per_stage is None or not len(layouts):
        return ()
    stages, chunks = int(np.max(layouts.pipeline_parallel)), int(np.max(layouts.model_chunks))
    return stated_layers(layouts.layers_per_stage, early_layers, stages, chunks)


def _places(layouts: Layouts, gpus_per_node: float) -> dict[str, Any]:
    sizes: dict[str, Number] = {
        "tensor": layouts.tensor_parallel,
        "context": layouts.context_parallel,
        "data": layouts.data_parallel,
        "pipeline": layouts.pipeline_parallel,
    }
    stride = strides(layouts.rank_order, sizes)

    def _in_node(axis: str) -> Number:
        return members_per_node(sizes[axis], stride[axis], gpus_per_node)

    return {
        "tensor_stride": stride["tensor"],
        "context_stride": stride["context"],
        "data_stride": gpus_per_node / (_in_node("context") * _in_node("data")),
        "pipeline_stride": stride["pipeline"],
    }
