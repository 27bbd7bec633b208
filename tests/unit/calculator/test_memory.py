"""Memory item by item: who holds what, and how it divides."""

import pytest

from app.services.estimation import estimate

GIB = 2**30
GPT = {"model": "gpt-1.7b", "global_batch_size": 32}
V, H, S = 51200, 2304, 2048


def stages(**inputs):
    found = estimate(inputs)
    assert isinstance(found, dict), found
    assert found["legal"], found["violations"]
    return found["memory"]["stages"]


def layer_weights(model, **layout):
    """Weights of one layer on one device: the difference of two depths."""
    deep, flat = (
        stages(model={"id": model, "num_layers": n}, num_gpus=8, data_parallel=None, **layout)[0][
            "weights_bytes"
        ]
        for n in (8, 4)
    )
    return (deep - flat) / 4 / 2


def test_states_per_parameter():
    (stage,) = stages(**GPT, num_gpus=1)
    assert stage["gradients_bytes"] == 2 * stage["weights_bytes"]
    assert stage["optimizer_bytes"] == 6 * stage["weights_bytes"]


@pytest.mark.parametrize(
    ("optimizer", "master", "param_bytes", "each"),
    [
        ("adam", True, 2, 12),
        ("adam", False, 2, 8),
        ("adam", True, 4, 8),
        ("adam-bf16", True, 2, 8),
        ("adam-bf16", False, 2, 4),
        ("adam-8bit", True, 2, 6),
        ("sgd", True, 2, 8),
        ("sgd", False, 2, 4),
    ],
)
def test_optimizers(optimizer, master, param_bytes, each):
    (stage,) = stages(**GPT, num_gpus=1, optimizer=optimizer, master_weights=master, param_bytes=param_bytes)
    parameters = stage["weights_bytes"] / param_bytes
    assert stage["optimizer_bytes"] == pytest.approx(each * parameters, rel=1e-12)


def test_a_tied_embedding_is_held_on_both_ends():
    first, middle, last = (
        stages(**GPT, num_gpus=4, pipeline_parallel=4)[i]["weights_bytes"] / 2 for i in (0, 1, 3)
    )
    assert first - middle == V * H + S * H
    assert last - middle == V * H + 2 * H
    (alone,) = stages(**GPT, num_gpus=1)
    both = sum(stage["weights_bytes"] for stage in stages(**GPT, num_gpus=4, pipeline_parallel=4))
    assert both - alone["weights_bytes"] == 2 * V * H


def test_logits_are_on_the_last_stage_only():
    held = [stage["logits_bytes"] for stage in stages(**GPT, num_gpus=4, pipeline_parallel=4)]
    assert held == [0, 0, 0, 6 * S * V]


def test_the_vocabulary_is_padded_for_the_tensor_group():
    (stage,) = stages(
        model={"id": "gpt-1.7b", "vocab_size": 50257}, num_gpus=2, tensor_parallel=2, vocab_pad_multiple=128
    )
    assert stage["logits_bytes"] == 6 * S * 50432 / 2


@pytest.mark.parametrize(
    ("schedule", "held"),
    [("gpipe", [8, 8, 8, 8]), ("1f1b", [4, 3, 2, 1]), ("zb-h1", [4, 4, 4, 4])],
)
def test_micro_batches_in_flight(schedule, held):
    found = stages(**GPT | {"global_batch_size": 8}, num_gpus=4, pipeline_parallel=4, schedule=schedule)
    assert [stage["in_flight_micro_batches"] for stage in found] == held


def test_interleaving_holds_more_on_the_first_stage():
    plain = stages(**GPT, num_gpus=4, pipeline_parallel=4)[0]
    chunked = stages(**GPT, num_gpus=4, pipeline_parallel=4, virtual_pipeline_stages=2)[0]
    assert chunked["in_flight_micro_batches"] == 4 * (1 + 3 / 8)
    assert chunked["activations_bytes"] > plain["activations_bytes"]


def test_stage_zero_of_1f1b_keeps_as_much_whatever_the_depth():
    kept = [
        stages(**GPT, num_gpus=p, pipeline_parallel=p)[0]["activations_bytes"] - p * S * H for p in (2, 4, 8)
    ]
    assert kept[0] == pytest.approx(kept[1]) == pytest.approx(kept[2])


def test_kv_heads_divide_no_further_than_one_each():
    """Of 4096·128·2 weights per KV head and layer, a device holds at least one head's."""
    four, eight = (layer_weights("qwen3-30b-a3b", tensor_parallel=t, sequence_parallel=True) for t in (4, 8))
    kv_head = 2 * 2048 * 128
    whole = 4 * (four - kv_head)
    assert eight == pytest.approx(whole / 8 + kv_head, rel=0.02)


def test_experts_go_to_expert_groups():
    one, spread = (layer_weights("mixtral-8x7b", expert_parallel=e) for e in (1, 8))
    assert one - spread == pytest.approx(7 * 3 * 4096 * 14336)


def test_expert_states_are_sharded_over_their_own_copies():
    """With e = c·d every expert has one copy: nothing to shard it over."""
    common = {"model": "mixtral-8x7b", "num_gpus": 8, "expert_parallel": 8}
    plain, sharded = (stages(**common, zero_stage=z)[0] for z in (0, 1))
    experts = 32 * 3 * 4096 * 14336
    dense = plain["weights_bytes"] / 2 - experts
    assert plain["optimizer_bytes"] - sharded["optimizer_bytes"] == pytest.approx(12 * dense * 7 / 8)


def test_latent_attention_keeps_small_latents_and_wide_heads():
    kept = stages(
        model={"id": "deepseek-v3", "num_layers": 3, "num_mtp_layers": 0},
        num_gpus=1,
        recompute="none",
        kernels="transformer-engine",
        micro_batch_size=1,
        seq_length=4096,
    )[0]["activations_bytes"]
    heads = 2 * 128 * (2 * 192 + 2 * 128)
    per_layer = 8 * 7168 + 4 * (1536 + 512) + 2 * 64 + heads + 6 * 18432
    assert kept == pytest.approx(4096 * (3 * per_layer + 4 * 7168))


def test_prediction_modules_are_on_the_last_stage():
    common = {"num_gpus": 2, "pipeline_parallel": 2}
    plain, more = (
        stages(model={"id": "deepseek-v3", "num_layers": 6, "num_mtp_layers": n}, **common) for n in (0, 1)
    )
    assert plain[0] == more[0]
    assert more[1]["weights_bytes"] > plain[1]["weights_bytes"]
    assert more[1]["logits_bytes"] == 2 * plain[1]["logits_bytes"]


def test_encoder_and_decoder_layers_differ():
    first, last = stages(model="t5-11b", num_gpus=2, pipeline_parallel=2)
    inner = 128 * 128
    assert last["weights_bytes"] - first["weights_bytes"] == pytest.approx(
        2 * (24 * (4 * 1024 * inner + 1024) + 2 * 1024)
    )


def test_context_parallelism_divides_tokens_not_weights():
    one, four = (stages(model="llama2-7b", num_gpus=4, context_parallel=c)[0] for c in (1, 4))
    assert one["activations_bytes"] == 4 * four["activations_bytes"]
    assert one["weights_bytes"] == four["weights_bytes"]


def test_context_ranks_share_sharded_states():
    held = [
        stages(model="llama2-7b", num_gpus=4, context_parallel=c, zero_stage=1)[0]["optimizer_bytes"]
        for c in (1, 4)
    ]
    assert held[0] == held[1]


def test_sharding_inside_a_node():
    whole = stages(model="llama2-7b", num_nodes=4, zero_stage=3)[0]
    node = stages(model="llama2-7b", num_nodes=4, zero_stage=3, zero_group=8)[0]
    assert node["optimizer_bytes"] == 4 * whole["optimizer_bytes"]


def test_gathered_weights_of_zero_3():
    two, three = (stages(model="llama2-7b", num_nodes=1, zero_stage=z)[0] for z in (2, 3))
    layer = 4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096
    buckets = 2e9
    assert three["buffers_bytes"] - (two["buffers_bytes"] - buckets) == pytest.approx(layer * (2 * 2 + 4))


def test_the_recomputed_layer_lives_once():
    (stage,) = stages(**GPT, num_gpus=1, recompute="full")
    assert stage["activations_bytes"] == pytest.approx(S * H * (2 * 24 + 4 + 1))
    assert stage["buffers_bytes"] == pytest.approx(34 * S * H)


def test_dropout_is_of_gpt_recipes():
    fused, compiled = (
        stages(**GPT, num_gpus=1, kernels=kernels)[0]["activations_bytes"]
        for kernels in ("fused", "transformer-engine")
    )
    assert fused - compiled == pytest.approx(S * H * (2 * 24 + 1))


def test_eight_bit_products_keep_smaller_inputs():
    sixteen, eight = (
        stages(model="llama2-7b", gpu="h100-80gb", num_gpus=1, compute_dtype=kind)[0]["activations_bytes"]
        for kind in ("bf16", "fp8")
    )
    assert sixteen - eight == 32 * 4096 * (3 * 4096 + 11008)


def test_overhead_grows_with_groups():
    alone = stages(**GPT, num_gpus=1)[0]["overhead_bytes"]
    several = stages(**GPT, num_gpus=8, tensor_parallel=2, pipeline_parallel=2)[0]["overhead_bytes"]
    assert alone > 2e9
    assert several > 2.3e9 + 3 * 0.6e9


def test_scratch_of_the_optimizer_step_fits_where_activations_were():
    small = stages(**GPT, num_gpus=1, grad_bytes=2, recompute="full", seq_length=128)[0]
    large = stages(**GPT, num_gpus=1, grad_bytes=2, micro_batch_size=4)[0]
    parameters = small["weights_bytes"] / 2
    assert small["buffers_bytes"] > 5 * parameters
    assert large["buffers_bytes"] < parameters
