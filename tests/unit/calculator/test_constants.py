from dataclasses import replace

import pytest

from app.calculator.cluster import Link
from app.calculator.constants import Constant, Constants, notes, rates
from app.calculator.training import Training
from app.catalog import load_catalog
from app.catalog.constants import constants_from, load_constants, meanings
from app.services.inputs import Inputs, parse_inputs
from tests.unit.calculator.steps import TRAINING, cluster


def test_every_constant_says_where_it_comes_from() -> None:
    loaded = load_constants()
    for name, table in loaded.entries.items():
        assert name in meanings()
        for key, constant in table.items():
            assert constant.value > 0, (name, key)
            assert constant.source, (name, key)
            assert constant.kind in ("fitted", "measured", "counted", "assumed", "borrowed"), (name, key)
            if constant.kind == "fitted":
                assert constant.low is not None, (name, key)
                assert constant.high is not None, (name, key)
                assert constant.low <= constant.high, (name, key)


def test_no_fitted_constant_is_one_runs_or_models() -> None:
    """Keys are devices, links, software or nothing at all."""
    allowed = {"all", "unknown", *load_constants().families.values()}
    links = {"nvlink2", "nvlink3", "nvlink4", "nvlink5", "pcie", "infinityfabric"}
    links |= {"infiniband", "roce", "efa", "omni-path", "ethernet"}
    for table in load_constants().entries.values():
        for key in table:
            assert key.split("/")[0] in allowed | links, key


@pytest.mark.parametrize("gpu", sorted(load_catalog().gpus))
def test_every_device_of_the_catalog_has_constants_or_says_what_it_borrows(gpu: str) -> None:
    asked = parse_inputs({"model": "llama3-8b", "gpu": gpu, "num_nodes": 2}, load_catalog())
    assert isinstance(asked, Inputs)
    found = rates(load_constants(), asked.cluster, asked.training)
    assert 0 < found.gemm_fraction < 1
    said = notes(load_constants(), asked.cluster, asked.training)
    assert bool(said) == (
        gpu not in ("a100-40gb", "a100-80gb", "a800-80gb", "h100-80gb", "h800-80gb", "h200", "h100-96gb")
    )


def test_an_unknown_link_is_a_stated_assumption() -> None:
    odd = cluster(inter_node=Link(name="Carrier pigeon", bandwidth_bytes_per_s=1e3, latency_s=1.0))
    assert any("inter_node_fraction" in note for note in notes(load_constants(), odd, TRAINING))


def test_a_missing_constant_is_a_fault_and_not_a_default() -> None:
    table = {"gemm_fraction": {"a100": Constant(value=1, unit="", kind="assumed", source="x")}}
    with pytest.raises(KeyError):
        rates(Constants(entries=table, families={}), cluster(), TRAINING)
    with pytest.raises(KeyError):
        constants_from({"constants": {}})


def test_the_longest_key_that_starts_a_links_name_applies() -> None:
    loaded = load_constants()
    for name, key in (
        ("NVLink 3", "nvlink3"),
        ("NVLink 3 (A800)", "nvlink3"),
        ("InfiniBand HDR", "infiniband"),
        ("RoCE", "roce"),
    ):
        table = "intra_node_fraction" if key.startswith("nv") else "inter_node_fraction"
        link = Link(name=name, bandwidth_bytes_per_s=1.0, latency_s=0.0)
        assert loaded.link_key(table, link) == key


def test_software_classes_call_their_own_flash_kernels() -> None:
    asked = parse_inputs({"model": "llama3-8b", "gpu": "h100-80gb", "num_nodes": 2}, load_catalog())
    assert isinstance(asked, Inputs)

    def flash(kernels: str) -> object:
        training: Training = replace(asked.training, kernels=kernels)
        return rates(load_constants(), asked.cluster, training).flash_fraction

    assert flash("eager") < flash("compiled") < flash("transformer-engine")  # type: ignore[operator]
    assert flash("fused") == flash("compiled")
