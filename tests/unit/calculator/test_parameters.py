"""Parameter counts against what the models' authors print."""

import pytest

from app.calculator import parameters as par
from app.calculator.model import Model
from app.catalog import load_catalog

PRINTED = {  # billions, as printed by the authors or counted from the released weights
    "gpt-1.7b": 1.7,
    "gpt-3.6b": 3.6,
    "gpt-7.5b": 7.5,
    "gpt-18.4b": 18.4,
    "gpt-39.1b": 39.1,
    "gpt-76.1b": 76.1,
    "gpt-145.6b": 145.6,
    "gpt-310.1b": 310.1,
    "gpt-529.6b": 529.6,
    "gpt-1008b": 1008.0,
    "gpt-22b": 22,
    "gpt3-175b": 174.6,
    "bloom-176b": 176.247,
    "gpt-neox-20b": 20.55,
    "llama2-7b": 6.738,
    "llama2-13b": 13.016,
    "llama2-70b": 68.977,
    "llama3-8b": 8.030,
    "llama3-70b": 70.554,
    "llama3-405b": 405.853,
    "mistral-7b": 7.242,
    "mixtral-8x7b": 46.703,
    "mixtral-8x22b": 140.63,
    "deepseek-v2": 235.74,
    "deepseek-v3": 671.03,
    "qwen2.5-7b": 7.615,
    "qwen2.5-32b": 32.763,
    "qwen2.5-72b": 72.705,
    "qwen3-30b-a3b": 30.53,
    "qwen3-235b-a22b": 235.09,
    "t5-11b": 11.3,
    "gpt2-xl": 1.558,
    "nemotron-4-340b": 341.0,
}
ACTIVE = {"mixtral-8x7b": 12.88, "deepseek-v3": 37.5, "qwen3-235b-a22b": 22.2, "qwen3-30b-a3b": 3.35}


@pytest.mark.parametrize(("key", "billions"), PRINTED.items())
def test_total_as_printed(key, billions):
    decimals = len(str(billions).partition(".")[2])
    found = par.total_parameters(load_catalog().models[key].model) / 1e9
    assert found == pytest.approx(billions, abs=0.6 * 10**-decimals)


@pytest.mark.parametrize(("key", "billions"), ACTIVE.items())
def test_active_as_printed(key, billions):
    found = par.active_parameters(load_catalog().models[key].model) / 1e9
    assert found == pytest.approx(billions, abs=0.06)


@pytest.mark.parametrize("key", [key for key in PRINTED if key.startswith("gpt-") and "neox" not in key])
def test_narayanan_equation_2(key):
    """P = 12Lh²(1 + 13/(12h) + (V + s)/(12Lh)), and a final normalization of 2h that it leaves out."""
    m = load_catalog().models[key].model
    L, h = m.num_layers, m.hidden_size
    printed = 12 * L * h**2 * (1 + 13 / (12 * h) + (m.vocab_size + m.seq_length) / (12 * L * h))
    assert par.total_parameters(m) == pytest.approx(printed + 2 * h, rel=1e-12)


def test_dense_models_are_wholly_active():
    m = load_catalog().models["llama3-8b"].model
    assert par.active_parameters(m) == par.total_parameters(m)


def test_a_tied_head_is_counted_once():
    tied = Model.of({"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 1000})
    apart = Model.of(
        {
            "num_layers": 2,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "vocab_size": 1000,
            "tied_embeddings": False,
        }
    )
    assert par.total_parameters(apart) - par.total_parameters(tied) == 1000 * 64


def test_vision_tower_is_added():
    shape = {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 1000}
    plain, seeing = (
        Model.of(shape),
        Model.of({**shape, "vision": {"num_layers": 3, "hidden_size": 32, "num_attention_heads": 4}}),
    )
    assert par.total_parameters(seeing) - par.total_parameters(plain) == 3 * (12 * 32**2 + 13 * 32)
