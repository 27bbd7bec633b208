"""The catalog: what it must name, and that every entry says where it comes from."""

import pytest

from app.calculator.cluster import network_of
from app.catalog import load_catalog

CATALOG = load_catalog()
GPUS = [
    "v100-32gb",
    "a100-40gb",
    "a100-80gb",
    "h100-80gb",
    "h100-96gb",
    "h200",
    "b200",
    "gb200",
    "l40s",
    "a6000",
    "rtx-3090",
    "t4",
    "mi300x",
]
MODELS = [
    "gpt3-175b",
    "gpt-1.7b",
    "gpt-3.6b",
    "gpt-7.5b",
    "gpt-18.4b",
    "gpt-39.1b",
    "gpt-76.1b",
    "gpt-145.6b",
    "gpt-310.1b",
    "gpt-529.6b",
    "gpt-1008b",
    "gpt-22b",
    "gpt-530b",
    "gpt-1t",
    "llama2-7b",
    "llama2-13b",
    "llama2-70b",
    "llama3-8b",
    "llama3-70b",
    "llama3-405b",
    "bloom-176b",
    "opt-175b",
    "mt-nlg-530b",
    "gpt-neox-20b",
    "t5-11b",
    "mixtral-8x7b",
    "deepseek-v3",
]


def test_promised_ids_are_there():
    assert set(GPUS) <= set(CATALOG.gpus)
    assert set(MODELS) <= set(CATALOG.models)


@pytest.mark.parametrize("entry", CATALOG.gpus.values(), ids=CATALOG.gpus.keys())
def test_devices_are_plausible(entry):
    device = entry.device
    assert entry.source
    assert 10e9 < device.memory_bytes < 300e9
    assert 0 < device.reserved_bytes < 0.08 * device.memory_bytes
    assert 60e12 <= device.peak_flops_bf16 <= 3e15
    assert device.peak_flops_fp8 in (0, pytest.approx(2 * device.peak_flops_bf16, rel=0.02))
    assert 300e9 <= device.memory_bandwidth_bytes_per_s <= 9e12
    assert entry.intra_node.link.bandwidth_bytes_per_s >= entry.inter_node.link.bandwidth_bytes_per_s
    assert 1 <= entry.nics_per_node <= entry.gpus_per_node


@pytest.mark.parametrize("entry", CATALOG.links.values(), ids=CATALOG.links.keys())
def test_links_have_a_source(entry):
    assert entry.source
    assert 0 < entry.link.latency_s < 1e-3


@pytest.mark.parametrize("entry", CATALOG.models.values(), ids=CATALOG.models.keys())
def test_models_have_a_source_and_add_up(entry):
    model = entry.model
    assert entry.source
    assert model.num_attention_heads % model.num_kv_heads == 0
    assert model.head_dim > 0
    assert (model.num_experts > 0) == (model.experts_per_token > 0)


def test_loaded_once():
    assert load_catalog() is CATALOG


def test_what_a_node_of_a100_is():
    entry = CATALOG.gpus["a100-80gb"]
    assert entry.intra_node.link.bandwidth_bytes_per_s == 300e9
    assert entry.inter_node.link.bandwidth_bytes_per_s == 25e9
    assert entry.device.peak_flops_bf16 == 312e12


def test_every_device_has_a_kind_of_network() -> None:
    """Without one the form would show a network that was not calculated with."""
    assert all(network_of(entry.inter_node.link) for entry in load_catalog().gpus.values())
