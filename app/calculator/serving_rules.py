"""The rules of a legal serving layout: widths as in training, devices that may idle, quantization groups.

Source: vLLM's checks; a vocabulary is padded there, and stages may hold unequal numbers of layers.
"""

from app.calculator.layout_rules import WIDTH_RULES
from app.calculator.legality import Rule

SERVING_RULES = (
    Rule(
        code="too_many_devices",
        field="layout.data_parallel",
        message="the layout needs {dividend} devices, the cluster has {divisor}",
        dividend=lambda case: case.layouts.world_size,
        divisor=lambda case: float(case.cluster.num_gpus),
        relation="at_most",
        rule_of="arithmetic",
    ),
    *(rule for rule in WIDTH_RULES if rule.code not in ("vocab_not_divisible", "expert_ffn_not_divisible")),
    Rule(
        code="vocab_not_divisible",
        field="layout.tensor_parallel",
        message="a vocabulary of {dividend} rows (padded to a multiple of 64) divided by {divisor} leaves"
        " {remainder}",
        dividend=lambda case: float(-(-case.model.vocab_size // 64) * 64),
        divisor=lambda case: case.layouts.tensor_parallel,
        rule_of="vllm",
    ),
    Rule(
        code="expert_ffn_not_divisible",
        field="layout.tensor_parallel",
        message="an expert width of {dividend} divided by {divisor} leaves {remainder}",
        dividend=lambda case: case.model.moe_ffn_hidden_size,
        divisor=lambda case: case.layouts.tensor_parallel,
        applies=lambda case: case.model.is_moe and (case.layouts.expert_parallel == 1),
        rule_of="vllm",
    ),
    Rule(
        code="experts_not_divisible",
        field="layout.expert_parallel",
        message="{dividend} experts divided by {divisor} groups leaves {remainder}",
        dividend=lambda case: case.model.num_experts,
        divisor=lambda case: case.layouts.expert_parallel,
        applies=lambda case: case.model.is_moe,
        rule_of="vllm",
    ),
    Rule(
        code="more_stages_than_layers",
        field="layout.pipeline_parallel",
        message="{dividend} stages for {divisor} layers",
        dividend=lambda case: case.layouts.pipeline_parallel,
        divisor=lambda case: float(case.model.num_layers),
        relation="at_most",
        rule_of="arithmetic",
    ),
    Rule(
        code="layers_per_stage_length",
        field="layout.layers_per_stage",
        message="{dividend} numbers of layers are given for {divisor} stages: one is needed for each",
        dividend=lambda case: float(len(case.layouts.layers_per_stage or ())),
        divisor=lambda case: case.layouts.pipeline_parallel,
        applies=lambda case: case.layouts.layers_per_stage is not None,
        relation="equals",
        rule_of="arithmetic",
    ),
    Rule(
        code="layers_per_stage_sum",
        field="layout.layers_per_stage",
        message="the stages hold {dividend} layers, the model has {divisor}",
        dividend=lambda case: float(sum(case.layouts.layers_per_stage or ())),
        divisor=lambda case: float(case.model.num_layers),
        applies=lambda case: case.layouts.layers_per_stage is not None,
        relation="equals",
        rule_of="arithmetic",
    ),
    Rule(
        code="quant_groups_not_divisible",
        field="layout.tensor_parallel",
        message="an MLP width of {dividend} divided by group size · tensor parallel = {divisor} leaves"
        " {remainder}: a group of weights that share a scale cannot be cut",
        dividend=lambda case: case.model.ffn_hidden_size,
        divisor=lambda case: case.quant_group_size * case.layouts.tensor_parallel,
        applies=lambda case: (
            case.quant_group_size > 0 and case.model.num_moe_layers < case.model.total_layers
        ),
        rule_of="vllm",
    ),
    Rule(
        code="expert_quant_groups_not_divisible",
        field="layout.tensor_parallel",
        message="an expert width of {dividend} divided by group size · tensor parallel = {divisor} leaves"
        " {remainder}; with expert parallelism experts stay whole",
        dividend=lambda case: case.model.moe_ffn_hidden_size,
        divisor=lambda case: case.quant_group_size * case.layouts.tensor_parallel,
        applies=lambda case: (
            case.quant_group_size > 0 and case.model.is_moe and (case.layouts.expert_parallel == 1)
        ),
        rule_of="vllm",
    ),
)
