"""Things that really happened to people: memory (A), legality (B) and estimators that were wrong (E), by id.

Each case is a public thread; the figures are the ones it prints or the arithmetic that explains them.
"""

import pytest

from app.services.engine import CalculatorEngine
from app.services.estimation import estimate
from app.services.serving import serve

GB, GIB, MIB = 1e9, 2**30, 2**20
LLAMA2_7B = "llama2-7b"


def named(name, **arguments):
    return CalculatorEngine().value(name, arguments).value


def answer_to(**inputs):
    found = estimate(inputs)
    assert isinstance(found, dict), found
    assert found["legal"], found["violations"]
    return found


def broken(verb=estimate, **inputs):
    """code → (dividend, divisor, remainder, nearest legal) of every broken rule."""
    found = verb(inputs)
    assert isinstance(found, dict), found
    return {
        v["code"]: (v["dividend"], v["divisor"], v["remainder"], v["nearest_legal"])
        for v in found["violations"]
    }


def states(stage):
    return stage["weights_bytes"] + stage["gradients_bytes"] + stage["optimizer_bytes"]


def shape(heads, kv, ffn, vocab, *, layers=32, head_dim=128, **more):
    return {
        "num_layers": layers,
        "hidden_size": heads * head_dim,
        "num_attention_heads": heads,
        "num_kv_heads": kv,
        "ffn_hidden_size": ffn,
        "vocab_size": vocab,
        "gated_mlp": True,
        **more,
    }


# ---------------------------------------------------------------- A: fitted, or ran out of memory


A01 = {
    "model": "llama3-70b",
    "num_nodes": 4,
    "pipeline_parallel": 8,
    "data_parallel": 4,
    "zero_stage": 3,
    "micro_batch_size": 4,
    "seq_length": 1024,
    "optimizer": "adam-bf16",
    "master_weights": False,
    "grad_bytes": 2,
    "global_batch_size": 256,
}


def test_a01_bf16_states_are_8_bytes():
    held = named(
        "memory.model_states_bytes",
        model="llama3-70b",
        data_parallel=4,
        pipeline_parallel=8,
        zero_stage=3,
        grad_bytes=2,
        optimizer="adam-bf16",
        master_weights=False,
    )
    assert held / GB == pytest.approx(17.6, rel=0.03)


def test_a01_does_not_fit_80_gb_and_fits_141():
    assert answer_to(**A01, gpu="h100-80gb")["memory"]["fits"] == "no"
    assert answer_to(**A01, gpu="h200")["memory"]["fits"] == "yes"


def test_a03_more_ranks_save_states_only():
    few, many = (
        answer_to(
            model="llama3-8b",
            gpu="h100-96gb",
            num_nodes=nodes,
            zero_stage=3,
            micro_batch_size=2,
            global_batch_size=16 * nodes,
            recompute="selective",
            kernels="eager",
            param_bytes=4,
        )["memory"]["stages"][0]
        for nodes in (1, 16)
    )
    assert (states(few) - states(many)) / GIB == pytest.approx(14.0, rel=0.15)
    assert few["activations_bytes"] == many["activations_bytes"]


def test_a05_stage_one_shards_optimizer_states():
    first, held = [], []
    for copies in (1, 2, 4):
        answer = answer_to(
            model=shape(
                96, 96, 57600, 250880, layers=80, head_dim=150, gated_mlp=False, position_embeddings="alibi"
            ),
            num_nodes=10 * copies,
            tensor_parallel=8,
            pipeline_parallel=10,
            zero_stage=1,
            recompute="full",
            flash_attention=False,
            global_batch_size=2048,
        )
        stage = answer["memory"]["stages"][0]
        first.append(stage["total_bytes"])
        held.append(states(stage) / GB)
    assert held == pytest.approx([52.9, 35.3, 26.5], rel=0.01)
    assert first[0] - first[1] >= 16 * GB
    assert first[0] > first[1] > first[2]


def test_a07_end_stages_are_heavier():
    answer = answer_to(
        model=shape(
            80, 80, 46400, 50257, layers=64, head_dim=145, gated_mlp=False, position_embeddings="none"
        ),
        gpu="v100-32gb",
        num_nodes=16,
        tensor_parallel=4,
        pipeline_parallel=32,
        recompute="full",
        flash_attention=False,
    )
    end, middle = (states(answer["memory"]["stages"][i]) / GB for i in (0, 5))
    assert end == pytest.approx(17.2, rel=0.02)
    assert middle == pytest.approx(14.5, rel=0.02)


def test_a09_tensor_parallel_needs_least():
    common = {
        "model": LLAMA2_7B,
        "num_nodes": 1,
        "data_parallel": 2,
        "seq_length": 32768,
        "global_batch_size": 16,
        "grad_bytes": 2,
    }
    tensor = answer_to(**common, tensor_parallel=4, sequence_parallel=True, zero_stage=1)["memory"][
        "peak_bytes"
    ]
    sequence = answer_to(**common, context_parallel=4, zero_stage=2)["memory"]["peak_bytes"]
    again = answer_to(**common, context_parallel=4, zero_stage=2, recompute="full")["memory"]["peak_bytes"]
    assert tensor < sequence
    assert 12 * GB <= sequence - again <= 60 * GB


@pytest.mark.parametrize(("gpus", "stage", "verdict"), [(1, 0, ("no",)), (2, 3, ("yes", "borderline"))])
def test_a10_seven_billion_on_one_card(gpus, stage, verdict):
    answer = answer_to(
        model="llama-7b", num_gpus=gpus, zero_stage=stage, recompute="full", grad_bytes=2, seq_length=512
    )
    assert 94 <= gpus * states(answer["memory"]["stages"][0]) / GB <= 122
    assert answer["memory"]["fits"] in verdict


def test_a11_one_flat_copy():
    weights = named(
        "memory.model_states_bytes", params=8.02e9, grad_bytes=0.0, optimizer="sgd", master_weights=False
    )
    assert (weights - 4 * 8.02e9) / GIB == pytest.approx(14.9, rel=0.01)


def test_a13_loaded_is_not_trained():
    parts = {"params": 41.8e9, "tensor_parallel": 8}
    after_step = named("memory.model_states_bytes", **parts)
    loaded = after_step - 8 * 41.8e9 / 8
    assert loaded / GB == pytest.approx(52, rel=0.08)
    assert after_step / GB == pytest.approx(94, rel=0.08)


def test_a14_more_chunks_hold_less():
    held = [
        named(
            "schedules.in_flight_micro_batches",
            schedule="interleaved",
            pipeline_parallel=4,
            num_micro_batches=32,
            virtual_pipeline_stages=v,
        )
        for v in (5, 10)
    ]
    assert held == pytest.approx([4 * 1.15, 4 * 1.075])


@pytest.mark.parametrize(
    ("gpus", "state_gb", "verdicts"), [(2, 60.7, ("no",)), (4, 40.4, ("yes", "borderline"))]
)
def test_a16_two_cards_fail_four_succeed(gpus, state_gb, verdicts):
    answer = answer_to(
        model=LLAMA2_7B,
        gpu="a800-80gb",
        num_gpus=gpus,
        tensor_parallel=2,
        micro_batch_size=4,
        zero_stage=1,
        global_batch_size=64,
        sequence_parallel=True,
        recompute="selective",
        flash_attention=True,
    )
    assert states(answer["memory"]["stages"][0]) / GB == pytest.approx(state_gb, rel=0.10)
    assert answer["memory"]["fits"] in verdicts


MPT = {
    "70b": {"num_layers": 80, "hidden_size": 8192, "num_attention_heads": 64},
    "30b": {"num_layers": 48, "hidden_size": 7168, "num_attention_heads": 56},
    "13b": {"num_layers": 40, "hidden_size": 5120, "num_attention_heads": 40},
}


@pytest.mark.parametrize(
    ("size", "gpus", "micro_batch", "recompute", "state_gb"),
    [
        ("70b", 64, 8, "full", 16.2),
        ("70b", 32, 2, "full", 32.4),
        ("30b", 8, 3, "full", 59.9),
        ("13b", 8, 2, "none", 25.7),
    ],
)
def test_a17_layouts_known_to_fit(size, gpus, micro_batch, recompute, state_gb):
    model = {**MPT[size], "vocab_size": 50368, "linear_bias": False, "position_embeddings": "alibi"}
    answer = answer_to(
        model=model,
        gpu="h100-80gb",
        num_gpus=gpus,
        zero_stage=3,
        micro_batch_size=micro_batch,
        recompute=recompute,
        kernels="eager",
        grad_bytes=2,
    )
    assert states(answer["memory"]["stages"][0]) / GB == pytest.approx(state_gb, rel=0.02)
    assert answer["memory"]["fits"] in ("yes", "borderline")


# ---------------------------------------------------------------- B: refused layouts


def legal_widths(model, **more):
    """Serving widths that break no rule but the number of devices."""
    return [
        t
        for t in range(1, 65)
        if not set(broken(serve, model=model, num_gpus=64, tensor_parallel=t, **more)) - {"too_many_devices"}
    ]


def test_b01_52_heads_on_three():
    model = shape(52, 52, 17920, 32000, layers=60)
    found = broken(serve, model=model, num_gpus=3, tensor_parallel=3)
    assert found["heads_not_divisible"][:3] == (52, 3, 1)
    assert legal_widths(model) == [1, 2, 4]


def test_b03_heads_are_not_enough():
    assert legal_widths("qwen2.5-7b") == [1, 2, 4]
    found = broken(serve, model="qwen2.5-7b", num_gpus=8, tensor_parallel=7)
    assert found["kv_heads_not_divisible"][:3] == (4, 7, 4)
    assert found["ffn_not_divisible"][:3] == (18944, 7, 2)
    assert found["vocab_not_divisible"][:3] == (152064, 7, 3)
    assert "heads_not_divisible" not in found


def test_b04_28_heads_on_eight():
    model = shape(28, 4, 18944, 151936, num_experts=64, experts_per_token=8, moe_ffn_hidden_size=2560)
    assert broken(serve, model=model, num_gpus=8, tensor_parallel=8)["heads_not_divisible"][:3] == (28, 8, 4)


def test_b05_six_cards():
    model = shape(40, 8, 27392, 152064, layers=64)
    found = broken(serve, model=model, gpu="t4", num_gpus=6, tensor_parallel=6)
    assert found["heads_not_divisible"][:3] == (40, 6, 4)
    assert "kv_heads_not_divisible" in found
    split = serve({"model": model, "gpu": "t4", "num_gpus": 6, "tensor_parallel": 2, "pipeline_parallel": 3})
    assert split["legal"]
    assert [stage["num_layers"] for stage in split["memory"]["stages"]] == [21, 22, 21]


def test_b06_every_broken_rule_is_listed():
    found = broken(serve, model="mixtral-8x22b", num_gpus=3, tensor_parallel=3)
    assert found["vocab_not_divisible"][:3] == (32768, 3, 2)
    assert found["kv_heads_not_divisible"][:3] == (8, 3, 2)
    assert found["expert_ffn_not_divisible"][:3] == (16384, 3, 1)
    assert "heads_not_divisible" not in found


def test_b08_width_chosen_for_the_kv_heads():
    model = shape(40, 10, 17920, 32064, layers=40)
    assert broken(serve, model=model, num_gpus=5, tensor_parallel=5)["vocab_not_divisible"][:3] == (
        32064,
        5,
        4,
    )


def test_b10_padded_vocabulary():
    model = shape(32, 32, 16384, 250682)
    assert "vocab_not_divisible" not in broken(serve, model=model, num_gpus=8, tensor_parallel=8)


def test_b12_training_pads_the_vocabulary():
    model = shape(32, 8, 9728, 151669, layers=36)
    answer = answer_to(model=model, num_gpus=4, tensor_parallel=4, global_batch_size=4)
    plain = answer_to(
        model={**model, "vocab_size": 152064}, num_gpus=4, tensor_parallel=4, global_batch_size=4
    )
    assert answer["memory"] == plain["memory"]
    assert broken(model=model, num_gpus=4, tensor_parallel=4, vocab_pad_multiple=0)["vocab_not_divisible"][
        :3
    ] == (
        151669,
        4,
        1,
    )


def test_b13_chunks_that_lose_layers():
    model = shape(32, 32, 16384, 51200, layers=80)
    found = broken(model=model, num_nodes=2, pipeline_parallel=16, virtual_pipeline_stages=2)
    assert found["chunks_not_divisible"][:3] == (80, 32, 16)
    assert found["chunks_not_divisible"][3] == [1, 5]


def test_b15_thirty_layers_on_four():
    model = shape(32, 32, 16384, 51200, layers=30)
    common = {"model": model, "num_gpus": 4, "pipeline_parallel": 4}
    assert broken(**common)["layers_not_divisible"] == (30, 4, 2, [3, 5])
    uneven = answer_to(**common, layers_per_stage=[7, 8, 8, 7])
    assert [stage["num_layers"] for stage in uneven["memory"]["stages"]] == [7, 8, 8, 7]


def test_b17_uneven_stages_and_chunks():
    model = shape(32, 32, 16384, 51200, layers=60)
    common = {"model": model, "num_nodes": 1, "pipeline_parallel": 8}
    assert broken(**common)["layers_not_divisible"][:3] == (60, 8, 4)
    fixed = {**common, "layers_per_stage": [4, *[8] * 7]}
    assert not broken(**fixed, virtual_pipeline_stages=4)
    assert broken(**fixed, virtual_pipeline_stages=3)["stage_not_divisible_by_chunks"][:3] == (4, 3, 1)


def test_b18_interleaving_on_two_stages():
    assert not broken(model="gpt-1.7b", num_gpus=2, pipeline_parallel=2, virtual_pipeline_stages=2)


@pytest.mark.parametrize(("batch", "legal"), [(8, True), (12, True), (10, False)])
def test_b19_rounds_of_stages(batch, legal):
    """m % p, not m % (p·v)."""
    common = {"model": "gpt-1.7b", "num_gpus": 4, "pipeline_parallel": 4, "global_batch_size": batch}
    assert (not broken(**common, virtual_pipeline_stages=3)) is legal
    assert not broken(**common)


def test_b21_seven_copies():
    found = broken(model="gpt-1.7b", num_gpus=7, micro_batch_size=2, global_batch_size=256)
    assert found == {"batch_not_divisible": (256, 14, 4, [252, 266])}


def test_b23_experts_need_room_in_the_copies():
    model = shape(64, 8, 2880, 201088, num_experts=32, experts_per_token=4, layers=24)
    common = {"model": model, "pipeline_parallel": 2, "expert_parallel": 2}
    assert not broken(**common, num_gpus=4)
    found = broken(**common, num_gpus=2)
    assert found["expert_group_not_divisible"][:3] == (1, 2, 1)


def test_b25_kv_heads_fewer_than_ranks():
    model = {"model": shape(16, 2, 4096, 32000)}
    assert named("layout.legal_tensor_parallel", **model, limit=8) == [1, 2, 4, 8]
    assert named("layout.legal_tensor_parallel", **model, limit=8, rule_of="torchtitan") == [1, 2]


def test_b27_groups_of_7b():
    common = {"model": LLAMA2_7B, "num_gpus": 4, "weight_format": "int4", "quant_group_size": 128}
    found = broken(serve, **common, tensor_parallel=4)
    assert found["quant_groups_not_divisible"][:2] == (11008, 512)
    assert not broken(serve, **common, tensor_parallel=2)


def test_b28_groups_of_72b():
    quantized = {"weight_format": "int4", "quant_group_size": 128}
    assert legal_widths("qwen2.5-72b", **quantized) == [1]
    padded = {"id": "qwen2.5-72b", "ffn_hidden_size": 29696}
    assert legal_widths(padded, **quantized) == [1, 2, 4, 8]
    assert legal_widths("qwen2.5-72b", weight_format="int4", quant_group_size=64) == [1, 2]


def test_b30_expert_width_and_blocks():
    common = {"model": "qwen3-235b-a22b", "num_gpus": 8, "weight_format": "fp8", "quant_group_size": 128}
    found = broken(serve, **common, tensor_parallel=8)
    assert found == {"expert_quant_groups_not_divisible": (1536, 1024, 512, [6, 12])}
    assert not broken(serve, **common, tensor_parallel=4)
    assert not broken(serve, **common, tensor_parallel=8, expert_parallel=8)


def test_b33_two_rules_at_once():
    model = shape(64, 64, 12288, 129280, num_experts=256, experts_per_token=8, moe_ffn_hidden_size=1536)
    found = broken(serve, model=model, num_gpus=3, tensor_parallel=3, expert_parallel=3)
    assert found["experts_not_divisible"][:3] == (256, 3, 1)
    assert found["heads_not_divisible"][:3] == (64, 3, 1)


@pytest.mark.parametrize(("context", "tensor", "multiple"), [(2, 3, 12), (4, 8, 32), (2, 1, 4), (1, 8, 8)])
def test_b35_sequence_multiples(context, tensor, multiple):
    model = shape(24, 24, 9216, 51200, layers=2)
    common = {
        "model": model,
        "num_gpus": context * tensor,
        "tensor_parallel": tensor,
        "context_parallel": context,
        "sequence_parallel": tensor > 1,
    }
    assert not broken(**common, seq_length=3 * multiple)
    found = broken(**common, seq_length=3 * multiple + multiple // 2)
    assert found["sequence_not_divisible"][:3] == (3 * multiple + multiple // 2, multiple, multiple // 2)


def test_b36_the_vision_tower_has_heads_too():
    vision = {"num_layers": 27, "hidden_size": 1152, "num_attention_heads": 16}
    model = shape(24, 6, 9216, 49152 * 3, vision=vision)
    found = broken(serve, model=model, num_gpus=6, tensor_parallel=6)
    assert found == {"vision_heads_not_divisible": (16, 6, 4, [4, 8])}


# ---------------------------------------------------------------- E: estimators that were wrong


def test_e01_logits_of_a_small_model():
    found = named("memory.logits_bytes", micro_batch_size=4, seq_length=1024, vocab_size=50304)
    assert found == 786 * MIB
    answer = answer_to(
        model="gpt2-large",
        gpu="v100-32gb",
        num_gpus=1,
        micro_batch_size=4,
        flash_attention=False,
        grad_bytes=2,
    )
    assert answer["memory"]["fits"] in ("no", "borderline")


def test_e02_the_helper_counts_states_only():
    held = named("memory.model_states_bytes", params=6805e6, zero_stage=3, data_parallel=4)
    assert (held + 4 * 131e6) / GIB == pytest.approx(29.01, rel=0.001)
    real = answer_to(model=LLAMA2_7B, num_gpus=4, zero_stage=3, grad_bytes=4, micro_batch_size=4)
    assert real["memory"]["peak_bytes"] > held + 10 * GB


@pytest.mark.parametrize(("grad_bytes", "gb"), [(2, 25.3), (6, 28.8)])
def test_e04_the_32_bit_copy_is_a_choice(grad_bytes, gb):
    found = named(
        "memory.model_states_bytes", params=6.74e9, zero_stage=2, data_parallel=8, grad_bytes=grad_bytes
    )
    assert found / GB == pytest.approx(gb, rel=0.01)


def test_e05_the_heaviest_stage_is_not_the_mean():
    answer = answer_to(
        model=shape(4, 4, 64, 128, layers=8, head_dim=8),
        num_gpus=4,
        pipeline_parallel=4,
        layers_per_stage=[1, 2, 2, 3],
    )
    held = [stage["weights_bytes"] for stage in answer["memory"]["stages"]]
    assert answer["parameters"]["per_device_max"] * 2 == max(held)
    assert sum(held) / 4 < 0.9 * max(held)


def test_e06_experts_divide_by_expert_and_tensor_parallel():
    def weights(**layout):
        answer = answer_to(model="mixtral-8x7b", num_nodes=2, sequence_parallel=True, **layout)
        return answer["memory"]["stages"][0]["weights_bytes"] / 2

    one, experts, tensor = weights(), weights(expert_parallel=8), weights(tensor_parallel=8)
    routed = 32 * 8 * 3 * 4096 * 14336
    replicated = 32 * (8 * 4096 + 2 * 4096) + 4096
    assert one - experts == pytest.approx(routed * 7 / 8)
    assert one - tensor == pytest.approx((one - replicated) * 7 / 8, rel=1e-3)


@pytest.mark.parametrize(
    ("layout", "gb"),
    [
        ({"pipeline_parallel": 2, "data_parallel": 4, "micro_batch_size": 2}, 49.8),
        ({"tensor_parallel": 8, "micro_batch_size": 4, "sequence_parallel": True}, 28.8),
    ],
)
def test_e08_llama_2_7b_in_megatron(layout, gb):
    answer = answer_to(
        model=LLAMA2_7B,
        gpu="h800-80gb",
        num_gpus=8,
        zero_stage=1,
        kernels="transformer-engine",
        seq_length=2048,
        **layout,
    )
    assert answer["memory"]["peak_bytes"] / GB == pytest.approx(gb, rel=0.20)


def test_e11_two_bytes_of_gradient():
    two, four = (
        named("memory.model_states_bytes", params=70.55e9, zero_stage=3, data_parallel=32, grad_bytes=width)
        for width in (2, 4)
    )
    assert (four - two) / GB == pytest.approx(4.4, abs=0.05)


@pytest.mark.parametrize(("model", "per_token"), [(LLAMA2_7B, 524288), ("llama3-8b", 131072)])
def test_e13_cache_of_a_token(model, per_token):
    assert named("serving.kv_bytes_per_token", model=model) == per_token


@pytest.mark.parametrize(("width", "mb"), [(4, 310.6), (2, 155.3)])
def test_e15_logits_of_a_tiny_model(width, mb):
    found = named(
        "memory.logits_bytes", micro_batch_size=2, seq_length=256, vocab_size=151665, bytes_per_logit=width
    )
    assert found / 1e6 == pytest.approx(mb, rel=0.005)


def test_e17_cross_entropy_at_32k():
    logits = named(
        "memory.logits_bytes", micro_batch_size=1, seq_length=32768, vocab_size=152064, bytes_per_logit=2
    )
    assert logits / GIB == pytest.approx(9.28, rel=0.02)
    answer = answer_to(
        model="qwen2.5-32b",
        gpu="h200",
        num_gpus=8,
        zero_stage=3,
        seq_length=32768,
        recompute="full",
        kernels="compiled",
        grad_bytes=2,
    )
    assert answer["memory"]["fits"] in ("no", "borderline")
