"""Devices, links and the cluster they make."""

from dataclasses import dataclass

# Kinds of network between nodes, as written and as links are named: each reaches another share of its rate.
NETWORKS = {
    "infiniband": "InfiniBand",
    "roce": "RoCE",
    "efa": "EFA",
    "omni-path": "Omni-Path",
    "ethernet": "Ethernet",
}


NO_BF16 = ("volta", "turing")  # generations whose tensor cores take fp16 only


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator, by its data sheet: dense peaks, no sparsity."""

    id: str
    name: str
    memory_bytes: float
    peak_flops_bf16: float  # FLOP/s, also fp16
    peak_flops_fp8: float  # FLOP/s; 0 where the device has no fp8
    memory_bandwidth_bytes_per_s: float
    reserved_bytes: float = 0.0  # what driver and firmware keep for themselves
    generation: str  # volta | ampere | hopper | blackwell | cdna3 | …: selects fitted constants


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link as one device sees it, one direction."""

    name: str  # "NVLink3", "InfiniBand HDR"
    bandwidth_bytes_per_s: float
    latency_s: float


def network_of(link: Link) -> str | None:
    """The kind of network a link belongs to, a key of `NETWORKS`; None for a link of another name."""
    return next((kind for kind in NETWORKS if link.name.lower().startswith(kind)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes of equal devices: a fast link inside a node, a slower one between nodes."""

    device: Device
    num_nodes: int
    gpus_per_node: int = 8
    num_gpus: int  # at most num_nodes · gpus_per_node: a node may be partly used
    intra_node: Link
    inter_node: Link
    nics_per_node: int = 8
    price_per_gpu_hour: float = 0.0

    @property
    def inter_node_network(self) -> str | None:
        """The kind of network between nodes."""
        return network_of(self.inter_node)

    @property
    def usable_bytes(self) -> float:
        """Memory that a framework can have on one device."""
        return self.device.memory_bytes - self.device.reserved_bytes
