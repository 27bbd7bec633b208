"""`meshwright search`, `smallest-cluster` and `bench search`: many layouts on the command line."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from app import search_bench
from app.calculator import units
from app.cli_verbs import AsJson, Source, run
from app.services import searching
from app.services.inputs import InputProblems
from app.services.smallest_cluster import smallest_cluster

bench = typer.Typer(no_args_is_help=True, add_completion=False, help="Measure how fast this machine is.")


def register(cli: typer.Typer) -> None:
    """Add the verbs to the command line."""

    @cli.command()
    def search(source: Source, as_json: AsJson = False) -> None:
        """All legal layouts of a cluster, ranked, with reasons; exit 1 when none fits."""
        answer = run(_with_progress, source)
        print(json.dumps(answer, allow_nan=False) if as_json else search_text(answer))
        raise typer.Exit(0 if answer["best"] else 1)

    @cli.command("smallest-cluster")
    def smallest(source: Source, as_json: AsJson = False) -> None:
        """The fewest nodes on which a model trains, and the fastest layout on them; exit 1 for none."""
        answer = run(smallest_cluster, source)
        print(json.dumps(answer, allow_nan=False) if as_json else smallest_text(answer))
        raise typer.Exit(0 if answer["num_nodes"] else 1)

    cli.add_typer(bench, name="bench")


@bench.command("search")
def bench_search(
    as_json: AsJson = False,
    largest: Annotated[int, typer.Option(help="Layouts of the largest search, about.")] = 10_000_000,
) -> None:
    """Layouts a second on one core, from a thousand to ten million, beside a plain loop over layouts."""
    found = search_bench.measure(largest)
    print(json.dumps(found, allow_nan=False) if as_json else search_bench.table(found))


@bench.callback()
def _bench() -> None:
    """Measure how fast this machine is."""


def _with_progress(raw: object) -> Mapping[str, Any] | InputProblems:
    """The search's answer; a large one tells a waiting person how far it is."""
    asked = searching.prepare(raw)
    if isinstance(asked, InputProblems):
        return asked
    if asked.total <= searching.LARGE or not sys.stderr.isatty():
        return searching.run(asked)
    return searching.run(asked, _teller(asked.total))


def _teller(total: int) -> Callable[[int], bool]:
    def tell(done: int) -> bool:
        print(f"\r{done / total:4.0%} of {total:,} layouts", end="", file=sys.stderr, flush=True)
        if done == total:
            print(file=sys.stderr)
        return True

    return tell


def search_text(answer: Mapping[str, Any]) -> str:
    """The ranked layouts, two lines each, for a terminal."""
    lines = [
        f"{answer['enumerated']:,} layouts tried, {answer['legal']:,} legal, {answer['fitting']:,} fit "
        f"({units.format_seconds(answer['elapsed_s'])})."
    ]
    for place, row in enumerate(answer["best"], start=1):
        summary = row["summary"]
        lines.append(
            f"{place:3}. {units.format_seconds(summary['step_s'])} a step, "
            f"{summary['tokens_per_s']:,.0f} tokens/s, "
            f"{units.format_gib(summary['headroom_bytes'])} to spare: {layout_text(row)}"
        )
        lines.append(f"     {row['why']}")
    if not answer["best"]:
        lines.append(_none_text(answer))
    return "\n".join(lines)


def _none_text(answer: Mapping[str, Any]) -> str:
    """What would do where nothing was found."""
    near = answer.get("nearest") or {}
    if near.get("num_nodes"):
        gpus, nodes = near["num_gpus"], near["num_nodes"]
        return f"It fits from {gpus:,} devices on {nodes:,} {'node' if nodes == 1 else 'nodes'} on."
    told = []
    if near.get("global_batch_size"):
        told.append("a global batch of " + " or ".join(f"{one:,}" for one in near["global_batch_size"]))
    if near.get("num_gpus"):
        told.append(" or ".join(f"{one:,}" for one in near["num_gpus"]) + " devices")
    if told:
        return f"Legal layouts exist with {', or with '.join(told)}."
    if answer["fitting"]:
        return "The limits leave none of those that fit. Widen one."
    return "Change the batch, the cluster or what is fixed."


def layout_text(row: Mapping[str, Any]) -> str:
    """A layout on one line."""
    layout = row["layout"]
    degrees = " ".join(
        f"{letter}{layout[name]}"
        for letter, name in (
            ("t", "tensor_parallel"),
            ("p", "pipeline_parallel"),
            ("d", "data_parallel"),
            ("c", "context_parallel"),
            ("e", "expert_parallel"),
            ("v", "virtual_pipeline_stages"),
            ("b", "micro_batch_size"),
        )
    )
    rest = [layout["schedule"], f"ZeRO {layout['zero_stage']}", f"recompute {layout['recompute']}"]
    rest += ["sequence parallelism"] if layout["sequence_parallel"] else []
    return f"{degrees}, {', '.join(rest)}"


def smallest_text(answer: Mapping[str, Any]) -> str:
    """The smallest cluster in two lines."""
    if not answer["num_nodes"]:
        return str(answer["because"])
    nodes, gpus = answer["num_nodes"], answer["num_gpus"]
    return (
        f"{gpus:,} devices on {nodes:,} {'node' if nodes == 1 else 'nodes'}: "
        f"{units.format_seconds(answer['summary']['step_s'])} a step with {layout_text(answer)}.\n"
        f"The states alone need {answer['least_gpus_for_states']:,}."
    )
