"""The advisor's page as an address: model, cluster and batch range, what was decided, and which question."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from app.calculator.fields import BY_PATH
from app.catalog import Catalog
from app.services.input_values import number_of
from app.services.inputs import Inputs
from app.web.controls import LABELS, Control, path_of, query_name, written
from app.web.questions import Question, read_question
from app.web.values import address, in_effect

PATH = "/calculator/advise"
START, RESULT = "start", "result"
PLACES = (
    START, "sharding_first", "tensor_width", "pipeline_depth", "micro_batches", "global_batch", "balance",
    RESULT,
)  # fmt: skip
# Fields of the layout that a reader may decide, and the question where each is asked.
DECISIONS: Mapping[str, str] = {
    "layout.zero_stage": "sharding_first",
    "layout.recompute": "sharding_first",
    "layout.tensor_parallel": "tensor_width",
    "layout.sequence_parallel": "tensor_width",
    "layout.context_parallel": "tensor_width",
    "layout.expert_parallel": "tensor_width",
    "layout.pipeline_parallel": "pipeline_depth",
    "layout.micro_batch_size": "micro_batches",
    "layout.virtual_pipeline_stages": "micro_batches",
    "layout.schedule": "micro_batches",
    "layout.layers_per_stage": "balance",
}
# The one that is typed at each question.
TYPED: Mapping[str, str] = {
    "sharding_first": "layout.zero_stage",
    "tensor_width": "layout.tensor_parallel",
    "pipeline_depth": "layout.pipeline_parallel",
    "micro_batches": "layout.micro_batch_size",
    "balance": "layout.layers_per_stage",
}
BATCH = "training.global_batch_size"
FROM, TO, STEP, DROP, OPEN = "batch_from", "batch_to", "step", "drop", "open"
MOST_LETTERS = 40
_NAMES = (FROM, TO, STEP, DROP, OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseQuestion:
    """`calculator`: all but the layout; `decided`: the layout's fields as typed; `raw`: the verb's."""

    calculator: Question
    decided: dict[str, str]
    batch: tuple[str, str]
    place: str
    raw: dict[str, Any]


def read_advise(pairs: Iterable[tuple[str, str]], catalog: Catalog) -> AdviseQuestion:
    """The question of a query string. `drop` takes one decision back, `open` all of them."""
    given = [(name, value.strip()) for name, value in list(pairs)[:300]]
    own = {name: value[:MOST_LETTERS] for name, value in given if name in _NAMES}
    rest = [(name, value) for name, value in given if name not in _NAMES]
    stated = {path_of(name): value for name, value in rest if value and OPEN not in own}
    question = read_question(rest, catalog)
    decided = {
        path: stated[path] for path in DECISIONS if path in stated and path != f"layout.{own.get(DROP, '')}"
    }
    settings = {path for path in stated if path and path.startswith("layout.") and path not in DECISIONS}
    shared = {
        path: value
        for path, value in question.raw.items()
        if not path.startswith("layout.") or (path in settings and path != "layout.data_parallel")
    }
    batch = (own.get(FROM, ""), own.get(TO, ""))
    one = str(shared.pop(BATCH, "") or "")
    if FROM not in own and TO not in own and one:
        batch = (one, one)
    raw = {**shared, **decided}
    if any(batch):
        raw["batch_range"] = [batch[0] or None, batch[1] or None]
    place = own.get(STEP, START)
    return AdviseQuestion(
        calculator=question,
        decided=decided,
        batch=batch,
        place=place if place in PLACES else START,
        raw=raw,
    )


def shared_values(inputs: Inputs) -> dict[str, Any]:
    """The values in effect of everything but layout and batch, and of what the layout only sets."""
    values = in_effect(inputs)
    return {
        path: value
        for path, value in values.items()
        if path not in (BATCH, "layout.data_parallel") and path not in DECISIONS
    }


def advise_url(
    question: AdviseQuestion,
    values: Mapping[str, Any],
    catalog: Catalog,
    *,
    place: str = "",
    batch: tuple[str, str] | None = None,
    **changes: Any,
) -> str:
    """This page's address with some decisions changed (`layout__…`, `cluster__…`); None takes one back."""
    changed = {key.replace("__", "."): value for key, value in changes.items()}
    decided = {**question.decided, **{path: value for path, value in changed.items() if path in DECISIONS}}
    shared = {**values, **{path: value for path, value in changed.items() if path not in DECISIONS}}
    least, most = question.batch if batch is None else batch
    step = place or question.place
    own = {FROM: least, TO: most, STEP: "" if step == START else step}
    # A decision stays in the address also where it is what the calculator takes for granted.
    pairs = [(query_name(path), written(decided[path])) for path in DECISIONS if path in decided]
    query = urlencode([(name, value) for name, value in (*pairs, *own.items()) if value], safe=",")
    url = address(shared, catalog, at=PATH)
    return f"{url}{'&' if '?' in url else '?'}{query}" if query else url


def decided_values(question: AdviseQuestion) -> dict[str, Any]:
    """The decisions by path; what cannot be read is left out."""
    found = {path: _typed(path, text) for path, text in question.decided.items()}
    return {path: value for path, value in found.items() if value is not None}


def _typed(path: str, text: str) -> Any:
    """A decision as a number, where it is one."""
    number = number_of(text) if BY_PATH[path].kind == "integer" else text
    return int(number) if isinstance(number, int | float) and number == int(number) else number


def batch_controls(question: AdviseQuestion, problem: str) -> tuple[Control, ...]:
    """The two ends of the range of batches."""
    return tuple(
        Control(
            path=name,
            name=name,
            id=f"in-{name}".replace("_", "-"),
            label=label,
            kind="number",
            value=value,
            help="sequences a step that the recipe accepts",
            problem=problem if name == TO else "",
        )
        for name, label, value in (
            (FROM, "Batch from", question.batch[0]),
            (TO, "Batch to", question.batch[1]),
        )
    )


def typed_control(question: AdviseQuestion, value: str) -> Control | None:
    """The field in which another decision can be typed at this question."""
    path = TYPED.get(question.place)
    if path is None:
        return None
    field = BY_PATH[path]
    return Control(
        path=path,
        name=field.key,
        id=f"decide-{field.key}".replace("_", "-"),
        label=LABELS[path],
        kind="text" if field.kind == "integers" else "number",
        value=question.decided.get(path, value),
        help=field.help,
    )
