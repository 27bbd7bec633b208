from dataclasses import replace

import numpy as np
import pytest

from app.calculator import compute
from app.calculator.layout import Recompute
from app.calculator.parameters import total_parameters
from app.calculator.work import Linear
from app.catalog import load_catalog
from app.services.inputs import Inputs, parse_inputs
from tests.unit.calculator.steps import MODEL, TRAINING, work


def one(value: object) -> float:
    return float(np.asarray(value).reshape(-1)[0])


def test_a_matrix_product_is_bound_by_flop_or_by_memory() -> None:
    assert compute.gemm_s(1000, 1000, 1000, (1e12, 1e15)) == 2e9 / 1e12
    assert compute.gemm_s(1, 1000, 1000, (1e15, 1e9)) == 2 * (1000 + 1e6 + 1000) / 1e9


def test_tensor_parallel_divides_a_linear_layer() -> None:
    whole, half = work(), work(tensor_parallel=2)
    wide = Linear(inputs=8192.0, outputs=8192.0)
    ratio = one(compute.linear_s(whole, wide, 4096.0)) / one(compute.linear_s(half, wide, 4096.0))
    assert ratio == pytest.approx(2.0)


def test_a_layer_that_is_not_divided_costs_every_rank_the_same() -> None:
    router = Linear(inputs=1024.0, outputs=64.0, split=0.0)
    assert one(compute.linear_s(work(tensor_parallel=4), router, 4096.0)) == one(
        compute.linear_s(work(), router, 4096.0)
    )


def test_head_widths_off_the_tensor_cores_are_slow() -> None:
    plain = replace(TRAINING, flash_attention=False)
    aligned = work(model=replace(MODEL, num_attention_heads=16, head_dim=64), training=plain)
    crooked = work(model=replace(MODEL, num_attention_heads=16, head_dim=63), training=plain)
    seconds = [
        one(compute.attention_s(w, w.late.attentions[0], w.late.seq_length)[0]) for w in (aligned, crooked)
    ]
    assert seconds[1] > 2 * seconds[0]


def test_flash_attention_moves_no_scores() -> None:
    flash, plain = work(), work(training=replace(TRAINING, flash_attention=False))
    long_flash = work(training=replace(TRAINING, seq_length=8192))
    assert one(compute.layer_s(flash, flash.late).attention_forward_s) < one(
        compute.layer_s(plain, plain.late).attention_forward_s
    )
    assert one(compute.layer_s(long_flash, long_flash.late).attention_forward_s) == pytest.approx(
        64 * one(compute.layer_s(flash, flash.late).attention_forward_s)
    )


def test_full_recompute_repeats_the_forward_pass() -> None:
    again = compute.layer_s(work(recompute=Recompute.FULL), work().late)
    assert one(again.recompute_s) == one(again.forward_s)


def test_selective_recompute_repeats_the_attention_core_or_a_stated_share() -> None:
    resolved = work(recompute=Recompute.SELECTIVE)
    core = compute.layer_s(resolved, resolved.late)
    assert one(core.recompute_s) == one(core.attention_forward_s)
    half = work(recompute=Recompute.SELECTIVE, training=replace(TRAINING, recomputed_fraction=0.5))
    share = compute.layer_s(half, half.late)
    assert one(share.recompute_s) == pytest.approx(0.5 * one(share.forward_s))


def test_eager_code_multiplies_elementwise_traffic() -> None:
    fused, eager = (work(training=replace(TRAINING, kernels=name)) for name in ("compiled", "eager"))
    ratio = one(compute.elementwise_s(eager, eager.late, 1024.0)[0]) / one(
        compute.elementwise_s(fused, fused.late, 1024.0)[0]
    )
    assert ratio == pytest.approx(eager.rates.eager_factor)


def test_sequence_parallelism_divides_the_norms() -> None:
    without, with_it = work(tensor_parallel=4), work(tensor_parallel=4, sequence_parallel=True)
    assert one(compute.elementwise_s(with_it, with_it.late, 1024.0)[0]) < one(
        compute.elementwise_s(without, without.late, 1024.0)[0]
    )


def inputs(model: str, **more: object) -> Inputs:
    found = parse_inputs({"model": model, "num_nodes": 16, **more}, load_catalog())
    assert isinstance(found, Inputs)
    return found


@pytest.mark.parametrize("model", ["gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3", "t5-11b"])
def test_weights_of_the_layers_are_the_models(model: str) -> None:
    """All layers' matrices with the vocabulary are the parameter count but for biases and norms (0.1 %)."""
    asked = inputs(model)
    resolved = work(model=asked.model, training=asked.training)
    early, late = (
        one(sum(compute.layer_parameters(resolved, kind))) for kind in (resolved.early, resolved.late)
    )
    tables = 1 if asked.model.tied_embeddings else 2
    total = (
        resolved.early_layers * early
        + (resolved.num_layers - resolved.early_layers) * late
        + tables * asked.model.vocab_size * asked.model.hidden_size
    )
    assert total == pytest.approx(total_parameters(asked.model), rel=1.5e-3)


@pytest.mark.parametrize(("model", "slower"), [("gpt3-175b", 1), ("llama3-70b", 1), ("deepseek-v3", 2)])
def test_seconds_of_matrix_products_are_flop_over_rate(model: str, slower: float) -> None:
    """Wide linear layers take 2·weights·tokens over the rate; small experts wait for their weights."""
    asked = inputs(model)
    resolved = work(model=asked.model, training=asked.training)
    kind = resolved.late
    rate, _ = compute.gemm_rates(resolved)
    flop = sum(2 * 4096 * x.rows_per_token * x.inputs * x.outputs for x in kind.linears)
    seconds = sum(one(compute.linear_s(resolved, x, 4096.0)) for x in kind.linears)
    at_rate = one(flop) / one(rate)
    assert at_rate * (1 - 1e-9) <= seconds <= at_rate * slower * (1 + 1e-9)
