"""Collectives counted and sized on a real distributed run of 2 and 4 ranks: ours are the same, exactly.

`tests/data/comm_ground_truth.json`: toy models with 4-byte elements; our formulas count two bytes.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.calculator import communication as comm
from app.calculator.collectives import wire_bytes
from app.calculator.layout import Layout, Layouts, Recompute
from app.calculator.model import Model
from app.calculator.stages import costs, pipeline
from app.calculator.training import Training
from app.calculator.work import Work
from app.calculator.work_build import work_of
from tests.unit.calculator.steps import cluster, constants

TRUTH: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "comm_ground_truth.json").read_text(encoding="utf-8")
)
ELEMENT = 4 / 2  # bytes of an element there over ours


def one(value: object) -> float:
    return float(np.asarray(value).reshape(-1)[0])


def toy(run: dict[str, Any], num_layers: int, batch: int = 1, **layout: Any) -> Work:
    model = Model(
        num_layers=num_layers,
        hidden_size=run["h"],
        num_attention_heads=4,
        num_kv_heads=4,
        head_dim=run["h"] // 4,
        ffn_hidden_size=4 * run["h"],
        vocab_size=128,
    )
    training = Training(global_batch_size=batch * run["b"], seq_length=run["s"])
    made = Layouts.of(Layout(micro_batch_size=run["b"], **layout))
    return work_of(model, cluster(), training, made, constants())


def tensor_runs() -> list[Any]:
    return [
        pytest.param(ranks, name, id=f"{ranks}-{name}")
        for ranks in (2, 4)
        for name in TRUTH[f"tp_{ranks}ranks"]
        if not name.startswith("sp|")  # without the re-gather: no framework of ours keeps the gathered input
    ]


@pytest.mark.parametrize(("ranks", "name"), tensor_runs())
def test_tensor_parallel_collectives(ranks: int, name: str) -> None:
    run = TRUTH[f"tp_{ranks}ranks"][name]
    kind, _, mode = name.partition("|recompute=")
    resolved = toy(
        run,
        run["layers"],
        tensor_parallel=ranks,
        sequence_parallel=kind != "tp",
        recompute=Recompute.NONE if mode == "None" else Recompute.FULL,
    )
    plain, again = comm.tensor_layer(resolved, resolved.late)
    ours = comm.times(comm.plus(plain, again), float(run["layers"]))
    count = sum(entry["count"] for entry in run["summary"])
    sent = sum(entry["ring_bytes_per_rank"] for entry in run["summary"])
    # Early stop spares the last collective of a layer's second forward pass: nobody needs its result.
    spared = run["layers"] if mode == "nonreentrant_early_stop" else 0
    passes = 2 if kind == "tp" else 1
    payload = run["bsh_elems"] * run["elem_bytes"]
    assert one(ours.operations) - spared == count
    assert one(ours.sent_bytes) * ELEMENT - spared * passes * (ranks - 1) / ranks * payload == sent


@pytest.mark.parametrize(("ranks", "chunks"), [(2, 1), (2, 2), (4, 1), (4, 2)])
def test_pipeline_sends(ranks: int, chunks: int) -> None:
    run = TRUTH[f"pp_{ranks}ranks"][f"p{ranks}_v{chunks}"]
    resolved = toy(
        run,
        ranks * chunks,
        batch=run["m"],
        pipeline_parallel=ranks,
        virtual_pipeline_stages=chunks,
        sequence_parallel=False,
    )
    middle = comm.pipeline_micro_batch(resolved)
    end_share = 1 - 0.5 / chunks
    for place, rank in enumerate(run["per_rank"]):
        share = end_share if place in (0, ranks - 1) else 1.0
        assert share * one(middle.operations) * run["m"] == rank["nf"] + rank["nb"]
        assert share * one(middle.sent_bytes) * ELEMENT * run["m"] == rank["fwd_send"] + rank["bwd_send"]
    slowest = pipeline(resolved, costs(resolved)).slowest
    assert one(slowest.sends) in (end_share, 1.0)


@pytest.mark.parametrize("ranks", [2, 4])
def test_data_parallel_bytes(ranks: int) -> None:
    """DDP, ZeRO-1, and the same model fully sharded, in elements per rank."""
    runs = TRUTH[f"dp_{ranks}ranks"]
    params = float(runs["ddp"]["params"])
    run = {"h": 64, "b": 1, "s": 32}

    def elements(stage: int) -> float:
        resolved = replace(toy(run, 1, data_parallel=ranks, zero_stage=stage), grad_bytes=2.0)
        if stage < 2:
            return one(comm.gradient_sync(resolved, params, 0.0).sent_bytes) / 2
        return one(comm.plus(*comm.fsdp_layer(resolved, params, 0.0)).sent_bytes) / 2

    assert elements(0) == runs["ddp"]["ring_elems_per_rank"]
    assert elements(1) == runs["zero1_manual"]["ring_elems_per_rank"]
    for stage in (2, 3):
        for accumulated in (1, 4):
            truth = runs[f"fsdp_zero{stage}|acc={accumulated}|sync=every_microbatch"]
            assert accumulated * elements(stage) == truth["ring_elems_per_rank"]


@pytest.mark.parametrize("ranks", [2, 4])
def test_bytes_on_the_wire(ranks: int) -> None:
    """What the network card counted, headers included: within 0.2 % of the ring's volume."""
    kinds = {
        "all_reduce": "all_reduce",
        "all_gather": "all_gather",
        "reduce_scatter_ring_p2p": "reduce_scatter",
    }
    for name, kind in kinds.items():
        seen = TRUTH[f"wire_{ranks}ranks"][name]
        assert ranks * wire_bytes(kind, ranks, seen["payload_bytes"]) == seen["expected_total"]
        assert seen["wire_total"] == pytest.approx(seen["expected_total"], rel=2e-3)
