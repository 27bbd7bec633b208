"""FLOP of a step, in the two conventions that papers print."""

import pytest

from app.calculator.flop import forward_flop, hardware_flop, model_flop
from app.calculator.layout import Layout, Layouts, Recompute
from app.calculator.training import Training
from app.catalog import load_catalog

GPTS = [key for key in load_catalog().models if key.startswith("gpt-") and key != "gpt-neox-20b"]
FULL, NONE = Layouts.of(Layout(recompute=Recompute.FULL)), Layouts.of(Layout())
SELECTIVE = Layouts.of(Layout(recompute=Recompute.SELECTIVE))


def model_of(key):
    return load_catalog().models[key].model


@pytest.mark.parametrize("key", GPTS)
def test_narayanan_equation_3(key):
    """96BsLh²(1 + s/(6h) + V/(16Lh)) with full recompute."""
    m, batch, s = model_of(key), 512, 2048
    L, h = m.num_layers, m.hidden_size
    printed = 96 * batch * s * L * h**2 * (1 + s / (6 * h) + m.vocab_size / (16 * L * h))
    found = hardware_flop(m, Training(global_batch_size=batch, seq_length=s), FULL)[0]
    assert found == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("key", GPTS)
def test_korthikanti_equation_7(key):
    """72BLsh²(1 + s/(6h) + V/(12hL)) without recompute."""
    m, batch, s = model_of(key), 64, 2048
    L, h = m.num_layers, m.hidden_size
    printed = 72 * batch * L * s * h**2 * (1 + s / (6 * h) + m.vocab_size / (12 * h * L))
    training = Training(global_batch_size=batch, seq_length=s)
    assert model_flop(m, training) == pytest.approx(printed, rel=1e-12)
    assert hardware_flop(m, training, NONE)[0] == model_flop(m, training)


def test_selective_recompute_runs_the_attention_core_again():
    """Korthikanti et al. 2022, eq. 8: 12BLs²h more, where the scores are not kept by a flash kernel."""
    m, training = model_of("gpt-22b"), Training(global_batch_size=4, seq_length=2048, flash_attention=False)
    more = hardware_flop(m, training, SELECTIVE)[0] - model_flop(m, training)
    assert more == pytest.approx(4 * 4 * m.num_layers * 2048**2 * m.hidden_size)
    flash = Training(global_batch_size=4, seq_length=2048)
    assert hardware_flop(m, flash, SELECTIVE)[0] == model_flop(m, flash)


def test_a_stated_share_of_the_pass():
    m = model_of("llama3-8b")
    training = Training(global_batch_size=2, seq_length=8192, recomputed_fraction=0.5)
    more = hardware_flop(m, training, SELECTIVE)[0] - model_flop(m, training)
    assert more == pytest.approx(2 * 0.5 * forward_flop(m, training).layers)


def test_six_times_parameters_and_tokens():
    """The rule of thumb, for a model whose attention is short."""
    m, training = model_of("llama3-405b"), Training(global_batch_size=1, seq_length=1024)
    assert model_flop(m, training) == pytest.approx(6 * 405.85e9 * 1024, rel=0.02)


def test_experts_count_where_a_token_goes():
    m, training = model_of("mixtral-8x7b"), Training(global_batch_size=1, seq_length=1024)
    assert model_flop(m, training) == pytest.approx(6 * 12.9e9 * 1024, rel=0.03)


def test_a_window_shortens_attention():
    m = model_of("mistral-7b")
    near, far = (
        forward_flop(m, Training(global_batch_size=1, seq_length=s)).cores / s for s in (4096, 32768)
    )
    assert near == far


def test_encoder_tokens_count_apart():
    m = model_of("t5-11b")
    same = forward_flop(m, Training(global_batch_size=1, seq_length=512))
    longer = forward_flop(m, Training(global_batch_size=1, seq_length=512, encoder_seq_length=1024))
    assert longer.layers > 1.4 * same.layers
    assert longer.head == same.head
