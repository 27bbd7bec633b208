"""`make bench`: every bound in milliseconds, what was measured, and its ratio to a baseline of the same run.

The baseline is a fixed piece of plain Python, so that a slow machine is told from slow code.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from app import search_bench
from app.main import create_app
from app.services import balance, estimation, scheduling, searching
from app.settings import ROOT, Settings
from app.storage import migrate
from tests.load import search as load_search
from tests.load.authoring import authoring_rows
from tests.load.pages import page_visit_rows
from tests.load.rows import Row

GPT3 = {
    "model": "gpt3-175b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 128},
    "layout": {"tensor_parallel": 8, "pipeline_parallel": 16, "micro_batch_size": 1, "recompute": "full"},
    "training": {"global_batch_size": 1536, "seq_length": 2048},
}
REPORT = ROOT / "docs" / "performance.md"


def seconds(call: Callable[[], Any], times: int = 5, quantile: float = 0.5) -> float:
    """How long `call` takes: the median (or another quantile) of several runs, after one to warm up."""
    call()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return (
        sorted(taken)[min(times - 1, round(quantile * times))] if quantile > 0.5 else statistics.median(taken)
    )


def baseline() -> None:
    """A million additions of plain Python."""
    total = 0
    for number in range(1_000_000):
        total += number


def calculator_rows() -> list[Row]:
    """The verbs without a server."""

    def pipeline(chunks: int) -> dict[str, Any]:
        return {
            "schedule": "interleaved" if chunks > 1 else "1f1b",
            "num_stages": 16,
            "num_micro_batches": 512,
            "virtual_pipeline_stages": chunks,
            "forward_s": [1.0] * 16,
            "backward_s": [2.0] * 16,
        }

    pieces = [{"name": f"layer {i}", "forward_s": 1 + (i * 37 % 11) / 10} for i in range(200)]
    many = {"pieces": pieces, "num_stages": 64}
    hostile = {
        **GPT3,
        "layout": {"pipeline_parallel": 10**6},
        "model": {"id": "gpt3-175b", "num_layers": 10**9},
    }
    return [
        Row(
            "estimate, one layout with working (p50)", 5, 1e3 * seconds(lambda: estimation.estimate(GPT3), 51)
        ),
        Row(
            "schedule, 16 stages, 512 micro-batches, v = 1",
            200,
            1e3 * seconds(lambda: scheduling.schedule(pipeline(1))),
        ),
        Row(
            "schedule, 16 stages, 512 micro-batches, v = 8",
            2000,
            1e3 * seconds(lambda: scheduling.schedule(pipeline(8)), 3),
        ),
        Row("hostile sizes refused", 50, 1e3 * seconds(lambda: estimation.estimate(hostile))),
        Row("balance, 200 pieces over 64 stages", 50, 1e3 * seconds(lambda: balance.balance_pieces(many))),
    ]


def search_rows() -> list[Row]:
    """Searches without a server, by the processor's clock: they run beside whatever else there is."""
    found = search_bench.measure(1_000_000)
    thousand = {"model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": 128, "global_batch_size": 1536}
    reached = f"{found['layouts_per_s']:,.0f} legal layouts a second, every number of the answer"
    beside = f"a plain loop: {found['naive_layouts_per_s']:,.0f} a second"
    return [
        Row("search, 1,024 devices", 300, 1e3 * seconds(lambda: searching.search(thousand), 3)),
        Row("search, 1T model on 3,072 devices (processor)", 1000, 1e3 * found["trillion"]["cpu_s"]),
        Row("a layout, every number, in µs", 2, 1e6 / found["layouts_per_s"], f"{reached}; {beside}"),
        Row("search, peak memory in MB", 300, found["peak_memory_bytes"] / 1e6),
        *beside_searches(),
    ]


def beside_searches() -> list[Row]:
    """A lesson page while others search, through a real server."""
    beside = load_search.measure()
    pages = f"{beside.idle_ms:.0f} ms alone, {beside.small_ms:.0f} and {beside.large_ms:.0f} beside them"
    return [
        Row("POST /api/v1/search, 1,024 devices", 300, beside.search_ms, "through a real server"),
        Row("lesson page (p95) beside four searches, times as long", 3, beside.ratio, pages),
    ]


def page_rows() -> list[Row]:
    """Pages and fragments, through the whole application."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
        migrate.upgrade(url)
        start = time.perf_counter()
        app = create_app(Settings(database_url=url))
        started = time.perf_counter() - start
        with TestClient(app) as client:
            fragment = {"HX-Request": "true"}
            lesson = "/courses/training/lessons/0013-all-three"
            return [
                Row("application start, with all lessons", 3000, 1e3 * started),
                Row(
                    "calculator fragment (p95)",
                    25,
                    1e3 * seconds(lambda: client.get("/calculator", headers=fragment), 41, 0.95),
                ),
                Row("lesson page (p95)", 100, 1e3 * seconds(lambda: client.get(lesson), 21, 0.95)),
                Row(
                    "POST /api/v1/estimate (p50)",
                    5,
                    1e3 * seconds(lambda: client.post("/api/v1/estimate", json=GPT3), 51),
                    "through the test client",
                ),
            ]


def table(rows: list[Row], unit_ms: float) -> str:
    """The rows as Markdown."""
    lines = ["| what | bound, ms | measured, ms | ratio to baseline | |", "|---|--:|--:|--:|---|"]
    for row in rows:
        verdict = (
            "" if row.measured_ms <= row.bound_ms else f"**over by {row.measured_ms / row.bound_ms - 1:.0%}**"
        )
        note = " · ".join(filter(None, (verdict, row.note)))
        lines.append(
            f"| {row.name} | {row.bound_ms:,.0f} | {row.measured_ms:,.2f} "
            f"| {row.measured_ms / unit_ms:.3f} | {note} |"
        )
    lines.append(f"| baseline: a million additions in plain Python | – | {unit_ms:,.2f} | 1 | |")
    return "\n".join(lines)


def main() -> None:
    """Print the table; with --write also keep it in docs/performance.md; with --json as JSON."""
    unit_ms = 1e3 * seconds(baseline)
    rows = [*calculator_rows(), *search_rows(), *page_rows(), *authoring_rows(), *page_visit_rows()]
    if "--json" in sys.argv:
        print(json.dumps({"baseline_ms": unit_ms, "rows": [row._asdict() for row in rows]}))
        return
    text = table(rows, unit_ms)
    print(text)
    if "--write" in sys.argv:
        head = REPORT.read_text().split("<!-- measured -->")[0]
        REPORT.write_text(f"{head}<!-- measured -->\n\n{text}\n")


if __name__ == "__main__":
    main()
