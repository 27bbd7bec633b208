"""A published row as a question: which device it ran on."""

from typing import Any

import pytest

from app.catalog import load_catalog
from app.catalog.published import published_rows
from app.services.published import RowError, inputs_of, request_of


def test_the_memory_of_the_row_counts_where_it_is_another_than_the_catalogs() -> None:
    row = _row_on(gpu="V100-SXM2-16GB", memory_gb=16)
    cluster = request_of(row)["cluster"]
    assert cluster["gpu"] == "v100-32gb"
    assert cluster["memory_bytes"] == 16 * 2**30
    assert "memory_bytes" not in request_of(_row_on(gpu="A100-SXM4-80GB", memory_gb=80))["cluster"]


def test_an_unknown_device_is_told_by_its_peak_and_memory() -> None:
    row = _row_on(gpu="Accelerator 9", memory_gb=64, peak_tflops_bf16_dense=191.5)
    device = inputs_of(row, load_catalog()).cluster.device
    assert device.peak_flops_bf16 == 191.5e12
    assert device.memory_bytes == 64 * 2**30
    with pytest.raises(RowError, match="not in the catalog"):
        request_of(_row_on(gpu="Accelerator 9", memory_gb=64, peak_tflops_bf16_dense=None))


def _row_on(**hardware: object) -> dict[str, Any]:
    row = dict(published_rows()[0])
    row["hardware"] = {**row["hardware"], **hardware}
    return row
