"""The rules of a legal training layout.

Letters: t tensor, p pipeline, d data, c context, e expert parallel, v chunks, b micro-batch, m micro-batches.
Sources: Megatron-LM's argument checks and Narayanan et al. 2021; arithmetic is nobody's rule but the
numbers'.
"""

import numpy as np

from app.calculator.layout import Column, Layouts, Schedule
from app.calculator.legality import Case, Rule, modulo


def sequence_divisor(layouts: Layouts) -> Column:
    """What a sequence must divide by: t with sequence parallelism, 2c when c > 1, both: c·lcm(2, t)."""
    t, c = layouts.tensor_parallel, layouts.context_parallel
    split = layouts.sequence_parallel > 0
    even_t = np.where(modulo(t, 2.0) == 0, t, 2.0 * t)
    return np.where(c > 1, np.where(split, c * even_t, 2.0 * c), np.where(split, t, 1.0))


def _model_parallel(case: Case) -> Column:
    layouts = case.layouts
    return layouts.tensor_parallel * layouts.context_parallel * layouts.pipeline_parallel


def _tensor(case: Case) -> Column:
    return case.layouts.tensor_parallel


def _chunks(case: Case) -> Column:
    return case.layouts.pipeline_parallel * case.layouts.virtual_pipeline_stages


def _even_split(case: Case) -> bool:
    return case.layouts.layers_per_stage is None


def _least_divisible(case: Case) -> Column:
    """Of the stated stages, the layers of the first that its chunks do not divide; else of the first
    stage.
    """
    chunks, split = case.layouts.virtual_pipeline_stages, case.layouts.layers_per_stage or (0,)
    chosen = np.full_like(chunks, float(split[0]))
    if not np.any(case.layouts.pipeline_parallel == len(split)):
        return chosen  # a list for chunks, or of a wrong length: another rule's
    for count in reversed(dict.fromkeys(split)):
        chosen = np.where(modulo(float(count), chunks) != 0, float(count), chosen)
    return chosen


def _micro_batches(case: Case) -> Column:
    return case.layouts.num_micro_batches(case.training.global_batch_size)


DEVICE_RULES = (
    Rule(
        code="world_size_not_divisible",
        field="layout.tensor_parallel",
        message="{dividend} devices divided by tensor · context · pipeline = {divisor} leaves {remainder}",
        dividend=lambda case: case.cluster.num_gpus,
        divisor=_model_parallel,
        rule_of="arithmetic",
    ),
    Rule(
        code="world_size_not_met",
        field="layout.data_parallel",
        message="the cluster has {dividend} devices, the layout uses {divisor}",
        dividend=lambda case: case.cluster.num_gpus,
        divisor=lambda case: case.layouts.world_size,
        applies=lambda case: modulo(case.cluster.num_gpus, _model_parallel(case)) == 0,
        relation="equals",
        rule_of="arithmetic",
    ),
)

WIDTH_RULES = (
    Rule(
        code="heads_not_divisible",
        field="layout.tensor_parallel",
        message="{dividend} attention heads divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.model.num_attention_heads,
        divisor=_tensor,
    ),
    Rule(
        code="kv_heads_not_divisible",
        field="layout.tensor_parallel",
        message="{dividend} KV heads divided by {divisor} leaves {remainder}, and {divisor} is not a multiple"
        " of them either, so they can be neither divided nor copied evenly",
        dividend=lambda case: case.model.num_kv_heads,
        divisor=_tensor,
        applies=lambda case: (
            case.model.attention != "mla" and case.model.num_kv_heads < case.model.num_attention_heads
        ),
        relation="divides_either_way",
    ),
    Rule(
        code="ffn_not_divisible",
        field="layout.tensor_parallel",
        message="an MLP width of {dividend} divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.model.ffn_hidden_size,
        divisor=_tensor,
        applies=lambda case: case.model.num_moe_layers < case.model.total_layers,
    ),
    Rule(
        code="expert_ffn_not_divisible",
        field="layout.tensor_parallel",
        message="an expert width of {dividend} divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.model.moe_ffn_hidden_size,
        divisor=_tensor,
        applies=lambda case: case.model.is_moe,
    ),
    Rule(
        code="vocab_not_divisible",
        field="layout.tensor_parallel",
        message="a vocabulary of {dividend} tokens, not padded, divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.model.vocab_size,
        divisor=_tensor,
        applies=lambda case: case.training.vocab_pad_multiple == 0,
    ),
    Rule(
        code="vision_heads_not_divisible",
        field="layout.tensor_parallel",
        message="{dividend} heads of the vision tower divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.model.vision.num_attention_heads if case.model.vision else 0.0,
        divisor=_tensor,
        applies=lambda case: case.model.vision is not None,
    ),
)

DEPTH_RULES = (
    Rule(
        code="layers_not_divisible",
        field="layout.pipeline_parallel",
        message="{dividend} layers divided by {divisor} stages leaves {remainder}",
        dividend=lambda case: case.model.total_layers,
        divisor=lambda case: case.layouts.pipeline_parallel,
        applies=_even_split,
    ),
    Rule(
        code="chunks_not_divisible",
        field="layout.virtual_pipeline_stages",
        message="{dividend} layers divided by stages · chunks = {divisor} leaves {remainder}",
        dividend=lambda case: case.model.total_layers,
        divisor=_chunks,
        applies=lambda case: _even_split(case) and case.layouts.virtual_pipeline_stages > 1,
    ),
    Rule(
        code="layers_per_stage_length",
        field="layout.layers_per_stage",
        message="{dividend} numbers of layers are given for {divisor} stages (or chunks):"
        " one is needed for each",
        dividend=lambda case: float(len(case.layouts.layers_per_stage or ())),
        divisor=_chunks,
        applies=lambda case: (
            not _even_split(case)
            and (case.layouts.pipeline_parallel != len(case.layouts.layers_per_stage or ()))
        ),
        relation="equals",
        rule_of="arithmetic",
    ),
    Rule(
        code="stage_not_divisible_by_chunks",
        field="layout.layers_per_stage",
        message="{dividend} layers of a stage divided by {divisor} chunks leaves {remainder}",
        dividend=_least_divisible,
        divisor=lambda case: case.layouts.virtual_pipeline_stages,
        applies=lambda case: (
            not _even_split(case)
            and (case.layouts.pipeline_parallel == len(case.layouts.layers_per_stage or ()))
        ),
    ),
    Rule(
        code="layers_per_stage_sum",
        field="layout.layers_per_stage",
        message="the stages hold {dividend} layers, the model has {divisor}",
        dividend=lambda case: float(sum(case.layouts.layers_per_stage or ())),
        divisor=lambda case: float(case.model.total_layers),
        applies=lambda case: not _even_split(case),
        relation="equals",
        rule_of="arithmetic",
    ),
    Rule(
        code="chunks_need_interleaving",
        field="layout.virtual_pipeline_stages",
        message="{dividend} chunks per device need the interleaved schedule; gpipe and zb-h1 run {divisor}",
        dividend=lambda case: case.layouts.virtual_pipeline_stages,
        divisor=lambda case: 1.0,
        applies=lambda case: (
            (case.layouts.schedule == Schedule.GPIPE) | (case.layouts.schedule == Schedule.ZB_H1)
        ),
        relation="at_most",
    ),
    Rule(
        code="interleaving_needs_stages",
        field="layout.virtual_pipeline_stages",
        message="{dividend} chunks per device on one stage: interleaving needs at least two stages",
        dividend=lambda case: case.layouts.virtual_pipeline_stages,
        divisor=lambda case: 1.0,
        applies=lambda case: (case.layouts.model_chunks > 1) & (case.layouts.pipeline_parallel == 1),
        relation="at_most",
    ),
)

BATCH_RULES = (
    Rule(
        code="batch_not_divisible",
        field="training.global_batch_size",
        message="a global batch of {dividend} divided by micro-batch · data parallel = {divisor}"
        " leaves {remainder}",
        dividend=lambda case: case.training.global_batch_size,
        divisor=lambda case: case.layouts.micro_batch_size * case.layouts.data_parallel,
    ),
    Rule(
        code="interleaving_micro_batches",
        field="training.global_batch_size",
        message="interleaving takes micro-batches in rounds of {divisor}:"
        " {dividend} of them leave {remainder}",
        dividend=_micro_batches,
        divisor=lambda case: case.layouts.pipeline_parallel,
        applies=lambda case: case.layouts.model_chunks > 1,
    ),
    Rule(
        code="sequence_not_divisible",
        field="training.seq_length",
        message="a sequence of {dividend} tokens divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.training.seq_length,
        divisor=lambda case: sequence_divisor(case.layouts),
    ),
    Rule(
        code="encoder_sequence_not_divisible",
        field="training.encoder_seq_length",
        message="an encoder sequence of {dividend} tokens divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.training.encoder_seq_length or case.training.seq_length,
        divisor=lambda case: sequence_divisor(case.layouts),
        applies=lambda case: case.model.encoder_layers > 0,
    ),
)

EXPERT_RULES = (
    Rule(
        code="experts_not_divisible",
        field="layout.expert_parallel",
        message="{dividend} experts divided by {divisor} groups leaves {remainder}",
        dividend=lambda case: case.model.num_experts,
        divisor=lambda case: case.layouts.expert_parallel,
        applies=lambda case: case.model.is_moe,
    ),
    Rule(
        code="no_experts",
        field="layout.expert_parallel",
        message="{dividend} expert groups, but the model has no experts to spread",
        dividend=lambda case: case.layouts.expert_parallel,
        divisor=lambda case: 1.0,
        applies=lambda case: not case.model.is_moe,
        relation="at_most",
        rule_of="arithmetic",
    ),
    Rule(
        code="expert_group_not_divisible",
        field="layout.expert_parallel",
        message="context · data parallel = {dividend} divided by {divisor} expert groups leaves {remainder}",
        dividend=lambda case: case.layouts.replicas,
        divisor=lambda case: case.layouts.expert_parallel,
        applies=lambda case: case.model.is_moe,
    ),
    Rule(
        code="experts_need_sequence_parallel",
        field="layout.sequence_parallel",
        message="expert and tensor parallelism together need sequence parallelism",
        dividend=lambda case: case.layouts.sequence_parallel,
        divisor=lambda case: 1.0,
        applies=lambda case: (
            case.model.is_moe and (case.layouts.expert_parallel > 1) & (case.layouts.tensor_parallel > 1)
        ),
        relation="equals",
    ),
    Rule(
        code="zero_group_not_divisible",
        field="layout.zero_group",
        message="context · data parallel = {dividend} divided by a sharding group of {divisor}"
        " leaves {remainder}",
        dividend=lambda case: case.layouts.replicas,
        divisor=lambda case: np.maximum(case.layouts.zero_group, 1.0),
        applies=lambda case: case.layouts.zero_stage > 0,
        rule_of="torchtitan",
    ),
)

TYPE_RULES = (
    Rule(
        code="compute_dtype_not_supported",
        field="training.compute_dtype",
        message="{divisor}-bit products are asked for, the device multiplies {dividend}-bit numbers",
        dividend=lambda case: 16.0,
        divisor=lambda case: 8.0,
        applies=lambda case: case.training.compute_dtype == "fp8" and case.cluster.device.peak_flops_fp8 <= 0,
        relation="at_most",
        rule_of="arithmetic",
    ),
)

RULES = (*DEVICE_RULES, *WIDTH_RULES, *DEPTH_RULES, *BATCH_RULES, *EXPERT_RULES, *TYPE_RULES)
