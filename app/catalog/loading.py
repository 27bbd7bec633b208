"""Reads the catalog's data files into immutable entries."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from app.calculator.cluster import Device, Link
from app.calculator.model import Model
from app.calculator.units import GB, GIB, MIB, TERA

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEntry:
    """A link with where its figures come from."""

    id: str
    link: Link
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEntry:
    """A device, the links of the servers it is usually built into, and where the figures come from."""

    device: Device
    intra_node: LinkEntry
    inter_node: LinkEntry
    gpus_per_node: int
    nics_per_node: int
    source: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A model's shape: what its source states (`values`) and the whole of it (`model`)."""

    id: str
    model: Model
    values: Mapping[str, Any]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that can be named by an id."""

    gpus: Mapping[str, GpuEntry]
    links: Mapping[str, LinkEntry]
    models: Mapping[str, ModelEntry]


@cache
def load_catalog() -> Catalog:
    """The catalog of this release, read once."""
    links = {key: _link(key, entry) for key, entry in _read("links.yaml").items()}
    gpus = {key: _gpu(key, entry, links) for key, entry in _read("gpus.yaml").items()}
    document = _read("models.yaml")
    models = {key: _model(key, entry, document["families"]) for key, entry in document["models"].items()}
    return Catalog(
        gpus=MappingProxyType(gpus), links=MappingProxyType(links), models=MappingProxyType(models)
    )


def _read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
    return document


def _link(key: str, entry: Mapping[str, Any]) -> LinkEntry:
    link = Link(
        name=entry["name"], bandwidth_bytes_per_s=entry["gb_per_s"] * GB, latency_s=entry["latency_s"]
    )
    return LinkEntry(id=key, link=link, source=entry["source"])


def _gpu(key: str, entry: Mapping[str, Any], links: Mapping[str, LinkEntry]) -> GpuEntry:
    memory_bytes = entry["memory_mib"] * MIB
    device = Device(
        id=key,
        name=entry["name"],
        memory_bytes=memory_bytes,
        reserved_bytes=memory_bytes - entry["usable_gib"] * GIB,
        peak_flops_bf16=entry["peak_tflops"]["bf16"] * TERA,
        peak_flops_fp8=entry["peak_tflops"]["fp8"] * TERA,
        memory_bandwidth_bytes_per_s=entry["memory_gb_per_s"] * GB,
        generation=entry["generation"],
    )
    return GpuEntry(
        device=device,
        intra_node=links[entry["intra_node"]],
        inter_node=links[entry["inter_node"]],
        gpus_per_node=entry.get("gpus_per_node", 8),
        nics_per_node=entry["nics_per_node"],
        source=entry["source"],
        note=entry.get("note", ""),
    )


def _model(key: str, entry: Mapping[str, Any], families: Mapping[str, Any]) -> ModelEntry:
    values = {**families[entry["family"]], **entry}
    source = values.pop("source")
    del values["family"]
    return ModelEntry(id=key, model=Model.of(values), values=MappingProxyType(values), source=source)
