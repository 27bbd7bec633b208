"""The `search` verb: all legal layouts of a cluster, ranked, with the reason for each place."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.calculator.answer import TIME_PARTS
from app.calculator.estimate import Estimates, evaluate, fit_of
from app.calculator.fields import LAYOUT_FIELDS
from app.calculator.layout import Layouts
from app.calculator.search import Question, Search
from app.calculator.search_columns import COLUMNS
from app.calculator.search_rows import Row
from app.catalog import Catalog, load_catalog
from app.catalog.constants import load_constants
from app.services.input_values import InputProblem
from app.services.input_write import input_value, plain_values, query_of, values_of
from app.services.inputs import InputProblems, Inputs
from app.services.search_inputs import SearchInputs, parse_search
from app.services.search_nearest import nearest
from app.services.search_words import differences, why_behind, why_first

MOST_LAYOUTS = 100_000_000
LARGE = 2_000_000  # layouts from which on a search shows how far it is
NEAR_LAYOUTS = 1_000_000  # that may be looked at to say what would do where nothing is found
_SUMMARY = (
    "step_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "hardware_tflops_per_gpu",
    "mfu", "peak_bytes", "headroom_bytes", "bubble_fraction", "num_micro_batches", "tokens_per_step",
)  # fmt: skip
_PATHS = {path.rpartition(".")[2]: path for path in COLUMNS if not path.startswith("communication.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """One row of the result, worked out."""

    inputs: Inputs
    numbers: Mapping[str, Any]
    parts: Mapping[str, float]  # seconds of the step


def search(raw: object, catalog: Catalog | None = None) -> dict[str, Any] | InputProblems:
    """The answer to what somebody wrote, all of it at once, or everything that is wrong with it."""
    asked = prepare(raw, catalog)
    return asked if isinstance(asked, InputProblems) else run(asked)


def search_at_once(raw: object) -> dict[str, Any] | InputProblems:
    """As `search`, where nobody can wait for a large one."""
    asked = prepare(raw)
    if isinstance(asked, InputProblems) or asked.total <= LARGE:
        return asked if isinstance(asked, InputProblems) else run(asked)
    message = f"{asked.total:,} layouts: POST it to /api/v1/search, which answers with a job to ask again."
    return InputProblems(problems=(InputProblem(field="fixed", message=message),))


def prepare(raw: object, catalog: Catalog | None = None) -> SearchInputs | InputProblems:
    """The search that somebody wrote with its layouts counted, if there are not too many."""
    asked = parse_search(raw, catalog or load_catalog())
    if isinstance(asked, InputProblems):
        return asked
    total = Search(asked.question, load_constants()).total()
    if total > MOST_LAYOUTS:
        message = f"{total:,} layouts. At most {MOST_LAYOUTS:,} can be searched: fix or limit some fields."
        return InputProblems(problems=(InputProblem(field="fixed", message=message),))
    return replace(asked, total=total)


def run(asked: SearchInputs, on_block: Callable[[int], bool] | None = None) -> dict[str, Any]:
    """The whole answer. `on_block` hears how many layouts are done; where it says no, the search ends."""
    start = time.perf_counter()
    found = Search(asked.question, load_constants())
    for done in found.steps():
        if on_block is not None and not on_block(done):
            break
    answer = answer_of(asked, found, time.perf_counter() - start)
    if found.enumerated == asked.total:
        answer["nearest"] = nearest(found, NEAR_LAYOUTS)
    return answer


def answer_of(asked: SearchInputs, found: Search, elapsed_s: float) -> dict[str, Any]:
    """What the search found, in the words of the API."""
    best = worked_out(asked.inputs, found.best)
    fronts = {"memory": worked_out(asked.inputs, found.by_memory)}
    fronts["batch"] = worked_out(asked.inputs, found.by_batch)
    write = _Writer(asked.inputs)
    rows = [write.row(row) for row in best]
    for place, row in enumerate(rows):
        row["why"] = _why(best, rows, place, asked.question.objective)
    return {
        "enumerated": found.enumerated,
        "legal": found.legal,
        "fitting": found.fitting,
        "elapsed_s": elapsed_s,
        "objective": asked.question.objective,
        "best": rows,
        "pareto": [
            {"front": front, **write.row(row)} for front, several in fronts.items() for row in several
        ],
    }


def _why(best: Sequence[Worked], rows: Sequence[Mapping[str, Any]], place: int, objective: str) -> str:
    row = best[place]
    if not place:
        return why_first(row.numbers, row.parts)
    changed = differences(rows[place - 1]["layout"], rows[place]["layout"])
    before, now = best[place - 1].inputs.training, row.inputs.training
    if before.global_batch_size != now.global_batch_size:
        changed.append(f"global batch {before.global_batch_size} → {now.global_batch_size}")
    one = best[place - 1]
    return why_behind(changed, (one.numbers, one.parts), (row.numbers, row.parts), objective)


def worked_out(inputs: Inputs, rows: Iterable[Row]) -> list[Worked]:
    """The numbers of these layouts, by the same functions as everywhere."""
    several = [(row.layout, row.training) for row in rows]
    found: dict[int, Worked] = {}
    groups: dict[Any, list[int]] = {}
    for place, (layout, training) in enumerate(several):
        groups.setdefault((training, layout.layers_per_stage, layout.rank_order), []).append(place)
    for (training, _, _), places in groups.items():
        layouts = Layouts.of(*(several[place][0] for place in places))
        told = evaluate(inputs.model, inputs.cluster, training, layouts, load_constants())
        for index, place in enumerate(places):
            asked = replace(inputs, training=training, layout=several[place][0])
            found[place] = Worked(
                inputs=asked,
                numbers=_numbers(told, index, asked),
                parts={name: getattr(told.time, name)[index].item() for name in TIME_PARTS},
            )
    return [found[place] for place in range(len(several))]


def _numbers(told: Estimates, index: int, inputs: Inputs) -> dict[str, Any]:
    def one(name: str) -> float:
        value = COLUMNS[_PATHS[name]](told)
        return float(value) if isinstance(value, float) else value[index].item()

    numbers: dict[str, Any] = {name: one(name) for name in _SUMMARY}
    numbers["num_micro_batches"] = int(numbers["num_micro_batches"])
    numbers["tokens_per_step"] = int(numbers["tokens_per_step"])
    numbers["fits"] = fit_of(numbers["peak_bytes"], float(told.usable_bytes))
    gpu_hours = 1e9 / numbers["tokens_per_s"] / 3600 * inputs.cluster.num_gpus
    price, tokens = inputs.cluster.price_per_gpu_hour, inputs.training.total_tokens
    numbers["gpu_hours_per_billion_tokens"] = gpu_hours
    numbers["cost_per_billion_tokens"] = gpu_hours * price if price else None
    numbers["days"] = tokens / numbers["tokens_per_s"] / 86_400 if tokens else None
    return numbers


class _Writer:
    """Writes rows that share everything but layout and batch."""

    def __init__(self, inputs: Inputs) -> None:
        self._values = values_of(inputs)
        self._plain = plain_values(inputs, load_catalog())

    def row(self, row: Worked) -> dict[str, Any]:
        """One row as the API tells it."""
        layout = {field.key: input_value(row.inputs, field.path) for field in LAYOUT_FIELDS}
        values = {key: value for key, value in self._values.items() if not key.startswith("layout.")}
        values |= {f"layout.{key}": value for key, value in layout.items() if value is not None}
        values["training.global_batch_size"] = row.inputs.training.global_batch_size
        training = {
            path.partition(".")[2]: value for path, value in values.items() if path.startswith("training.")
        }
        return {
            "layout": {
                key: list(value) if isinstance(value, tuple) else value for key, value in layout.items()
            },
            "training": training,
            "summary": dict(row.numbers),
            "url": f"/calculator?{query_of(values, row.inputs, self._plain)}",
        }


def fastest(question: Question) -> Row | None:
    """The best layout of a question, or None where none is legal and fits."""
    best = Search(replace(question, top=1), load_constants()).run().best
    return best[0] if best else None
