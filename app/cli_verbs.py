"""The calculator's verbs on the command line: `meshwright estimate FILE|- [--json]`, and so on."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from app.calculator import units
from app.catalog.published import Row, RowsError, load_rows, load_vtrain, published_rows, vtrain_rows
from app.services import balance as balance_service
from app.services import scheduling
from app.services.advising import advise_on
from app.services.advising_search import smallest_words
from app.services.estimation import estimate as estimate_service
from app.services.inputs import InputProblems
from app.services.validation import validate as validate_rows
from app.services.validation_text import lines_of
from app.web.api_body import strict

MAXIMUM_BYTES = 1_000_000

Source = Annotated[str, typer.Argument(help="A JSON file with the request, or - for standard input.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")]
RowsFile = Annotated[Path | None, typer.Option("--rows", help="Published runs of your own, a JSON file.")]
VtrainFile = Annotated[Path | None, typer.Option("--vtrain", help="A measured vTrain table, a CSV file.")]
HeldOut = Annotated[bool, typer.Option("--cv", help="Also fit without the runs that are predicted: minutes.")]


def register(cli: typer.Typer) -> None:
    """Add the verbs to the command line."""

    @cli.command()
    def estimate(source: Source, as_json: AsJson = False) -> None:
        """Memory, traffic, time and batch of one layout; exit 1 when it is illegal."""
        answer = run(estimate_service, source)
        print(json.dumps(answer, allow_nan=False) if as_json else estimate_text(answer))
        raise typer.Exit(0 if answer["legal"] else 1)

    @cli.command()
    def advise(source: Source, as_json: AsJson = False) -> None:
        """The decision procedure, step by step; exit 1 when no layout will do."""
        answer = run(advise_on, source)
        print(json.dumps(answer, allow_nan=False) if as_json else advise_text(answer))
        raise typer.Exit(0 if answer["feasible"] else 1)

    @cli.command()
    def schedule(source: Source, as_json: AsJson = False) -> None:
        """The order of work of a pipeline: makespan, idle time, what is in flight."""
        answer = run(scheduling.schedule, source)
        print(json.dumps(answer, allow_nan=False) if as_json else schedule_text(answer))
        raise typer.Exit(0 if answer["legal"] else 1)

    @cli.command()
    def balance(source: Source, as_json: AsJson = False) -> None:
        """Pieces of a model over pipeline stages, so that the slowest is as fast as can be."""
        answer = run(balance_service.balance_pieces, source)
        print(json.dumps(answer, allow_nan=False) if as_json else balance_text(answer))
        raise typer.Exit(0 if answer["legal"] else 1)

    @cli.command()
    def validate(
        rows: RowsFile = None, vtrain: VtrainFile = None, as_json: AsJson = False, cv: HeldOut = False
    ) -> None:
        """Predictions beside what published runs report; exit 1 where they got worse than they were.

        Without a file: the runs that come with the product, held to what was reached.
        """
        own = rows is None and vtrain is None
        chosen = [*published_rows(), *vtrain_rows()] if own else rows_in(rows, vtrain)
        found = validate_rows(chosen, guard=own)
        held_out = cross_validation(chosen, guard=own) if cv else None
        if as_json:
            told = found.to_json() | ({"cross_validation": held_out} if held_out else {})
            print(json.dumps(strict(told), allow_nan=False))
        else:
            print("\n".join(lines_of(found, held_out)))
        raise typer.Exit(1 if found.failures or (held_out and held_out["failures"]) else 0)


def run(verb: Callable[[object], Mapping[str, Any] | InputProblems], source: str) -> Mapping[str, Any]:
    """The verb's answer to the request in `source`; problems go to standard error and end in exit 2."""
    answer = verb(read(source))
    if isinstance(answer, InputProblems):
        for problem in answer.problems:
            print(f"meshwright: {problem.field or source}: {problem.message}", file=sys.stderr)
        raise typer.Exit(2)
    return answer


def read(source: str) -> object:
    """The JSON in a file or on standard input."""
    try:
        data = sys.stdin.buffer.read(MAXIMUM_BYTES + 1) if source == "-" else Path(source).read_bytes()
        if len(data) > MAXIMUM_BYTES:
            raise ValueError(f"larger than {MAXIMUM_BYTES:,} bytes")
        return json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        print(f"meshwright: {source}: {reason}. Give a file with one JSON object.", file=sys.stderr)
        raise typer.Exit(2) from error


def rows_in(rows: Path | None, vtrain: Path | None) -> list[Row]:
    """The runs of the files that were named; one that cannot be read ends in exit 2."""
    try:
        return [*(load_rows(rows) if rows else ()), *(load_vtrain(vtrain) if vtrain else ())]
    except RowsError as error:
        print(f"meshwright: {error}", file=sys.stderr)
        raise typer.Exit(2) from error


def cross_validation(rows: Sequence[Row], *, guard: bool) -> dict[str, Any]:
    """Errors of runs that the constants have not seen; needs the calibration's libraries."""
    try:
        from app.calibration.cross_validation import cross_validate  # noqa: PLC0415 - a development extra
    except ImportError as error:
        print("meshwright: --cv needs SciPy. Run make setup-dev first.", file=sys.stderr)
        raise typer.Exit(2) from error
    return cross_validate(rows, guard=guard)


def broken_rules_text(answer: Mapping[str, Any]) -> str:
    """Every broken rule on a line of its own."""
    broken = [f"- {violation['field']}: {violation['message']}" for violation in answer["violations"]]
    return "\n".join(["This breaks a rule:", *broken])


def estimate_text(answer: Mapping[str, Any]) -> str:
    """The answer in a few lines, for a terminal."""
    if not answer["legal"]:
        return broken_rules_text(answer)
    memory, time, batch = answer["memory"], answer["time"], answer["batch"]
    lines = [
        f"Fits: {memory['fits']}; the fullest stage takes {units.format_gib(memory['peak_bytes'])} "
        f"of {units.format_gib(memory['usable_bytes'])}.",
        f"Step: {units.format_seconds(time['step_s'])} ± {answer['expected_error_fraction']:.0%}, "
        f"bubble {time['bubble_fraction']:.1%}, MFU {answer['throughput']['mfu']:.0%}.",
        f"Batch: {batch['global_batch_size']} = {batch['micro_batch_size']} × "
        f"{batch['num_micro_batches']} × replicas.",
        f"Binding: {answer['binding']['resource'].replace('_', ' ')}: {answer['binding']['because']}.",
    ]
    return "\n".join(lines)


def advise_text(answer: Mapping[str, Any]) -> str:
    """The procedure for a terminal: what binds, six questions, where they lead."""
    lines = [f"Binding: {answer['binding']['because']}."] if answer["binding"] else []
    for number, step in enumerate(answer["steps"], 1):
        lines += [f"{number}. {step['question']}", f"   {step['decision']}. {step['because']}"]
        if step["what_would_change_it"]:
            lines.append(f"   What would change it: {step['what_would_change_it']}")
        lines += [
            f"   - {way['says']}: {units.format_seconds(way['step_s'])} a step"
            for way in step["numbers"].get("what_gives", ())
        ]
    if answer["layout"] is None:
        smallest = smallest_words(answer["smallest_cluster"])
        return "\n".join([*lines, f"No layout will do. {smallest}".strip()])
    layout, compared = answer["layout"], answer["compared"]
    sizes = " · ".join(str(layout[f"{axis}_parallel"]) for axis in ("tensor", "pipeline", "data"))
    step_s = units.format_seconds(answer["summary"]["step_s"])
    lines.append(f"Layout: tensor · pipeline · data = {sizes}, {step_s} a step.")
    lines.append(compared.get("why") or compared["note"])
    lines += [f"{found['question']} {found['says']}" for found in answer["unaffordable"].values()]
    return "\n".join(lines)


def schedule_text(answer: Mapping[str, Any]) -> str:
    """The schedule in three lines, for a terminal."""
    if not answer["legal"]:
        return broken_rules_text(answer)
    return "\n".join(
        [
            f"Makespan: {units.format_seconds(answer['makespan_s'])}.",
            f"Idle: {answer['bubble_fraction']:.1%} of the step.",
            f"Most micro-batches in flight, by stage: {', '.join(map(str, answer['peak_in_flight']))}.",
        ]
    )


def balance_text(answer: Mapping[str, Any]) -> str:
    """The split in a few lines, for a terminal."""
    if not answer["legal"]:
        return broken_rules_text(answer)
    stages = [
        f"- stage {number}: {len(stage['pieces'])} pieces, {units.format_seconds(stage['time_s'])}"
        for number, stage in enumerate(answer["stages"])
    ]
    slowest, bound = (units.format_seconds(answer[key]) for key in ("slowest_s", "lower_bound_s"))
    return "\n".join([*stages, f"Slowest stage: {slowest}; none can be under {bound}."])
