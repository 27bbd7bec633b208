"""Small questions for tests of time and traffic, with constants that make the arithmetic plain."""

from dataclasses import replace
from typing import Any

from app.calculator.cluster import Cluster, Device, Link
from app.calculator.constants import Constants
from app.calculator.layout import Layout, Layouts
from app.calculator.model import Model
from app.calculator.step_time import TimeColumns, step_time
from app.calculator.training import Training
from app.calculator.work import Work
from app.calculator.work_build import work_of
from app.catalog.constants import load_constants

MODEL = Model(
    num_layers=8,
    hidden_size=1024,
    num_attention_heads=16,
    num_kv_heads=16,
    head_dim=64,
    ffn_hidden_size=4096,
    vocab_size=51200,
)
TRAINING = Training(global_batch_size=64, seq_length=1024, grad_bytes=2)


def cluster(num_gpus: int = 64, **more: Any) -> Cluster:
    """A100 nodes of eight, as in a DGX A100."""
    device = Device(
        id="a100-80gb",
        name="A100",
        memory_bytes=80e9,
        peak_flops_bf16=312e12,
        peak_flops_fp8=0.0,
        memory_bandwidth_bytes_per_s=2.039e12,
        generation="ampere",
    )
    made = Cluster(
        device=device,
        num_nodes=max(1, num_gpus // 8),
        num_gpus=num_gpus,
        intra_node=Link(name="NVLink 3", bandwidth_bytes_per_s=300e9, latency_s=3e-6),
        inter_node=Link(name="InfiniBand HDR", bandwidth_bytes_per_s=25e9, latency_s=5e-6),
    )
    return replace(made, **more)


def work(model: Model = MODEL, training: Training = TRAINING, **layout: Any) -> Work:
    """The resolved numbers of one layout."""
    return work_of(model, cluster(), training, Layouts.of(Layout(**layout)), constants())


def times(
    model: Model = MODEL, training: Training = TRAINING, where: Cluster | None = None, **layout: Any
) -> TimeColumns:
    """The step of one layout."""
    return step_time(model, where or cluster(), training, Layouts.of(Layout(**layout)), constants())


def constants() -> Constants:
    """The product's constants."""
    return load_constants()
