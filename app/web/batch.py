"""/calculator/batch: B = b·m·d, any one of the four from the other three, with what is left over."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.catalog import Catalog, load_catalog
from app.services.batching import LARGEST, NAMES, Solved, solve
from app.services.input_values import number_of
from app.services.inputs import InputProblems, Inputs, parse_inputs
from app.web import numbers
from app.web.calculator_form import carried
from app.web.controls import Control
from app.web.questions import OF_MODEL, read_question
from app.web.rendering import render, wants_fragment
from app.web.schedule_view import Headline, Readout
from app.web.values import address, in_effect

router = APIRouter(include_in_schema=False)
PATH = "/calculator/batch"
PAGE = "pages/batch.html"
SOLVE = "solve"
COUNT = "num_micro_batches"
LABELS = {
    "global_batch_size": ("Global batch", "B", ""),
    "micro_batch_size": ("Micro-batch", "b", ""),
    COUNT: ("Micro-batches", "m", ""),
    "data_parallel": ("Replicas", "d", "D"),
}
PATHS = {
    "global_batch_size": "training.global_batch_size",
    "micro_batch_size": "layout.micro_batch_size",
    "data_parallel": "layout.data_parallel",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchView:
    """Everything on the page."""

    verdict: Headline
    why: str = ""
    url: str
    calculator_url: str
    controls: tuple[Control, ...]
    solve: str
    choices: tuple[tuple[str, str], ...]
    carried: tuple[tuple[str, str], ...]
    solved: Solved | None = None
    fixes: tuple[tuple[str, str], ...] = ()
    readouts: tuple[Readout, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether the numbers could be read."""
        return not self.problems


@router.get(PATH, response_model=None)
def batch_page(request: Request) -> Response:
    """The page. A form sent without JavaScript is answered with the short address of its state."""
    pairs = request.query_params.multi_items()
    view = view_of(pairs, load_catalog())
    fragment = wants_fragment(request)
    if view.usable and not fragment and any(name == OF_MODEL for name, _ in pairs):
        return RedirectResponse(view.url, status_code=303)
    headers = {"HX-Push-Url": view.url} if fragment and view.usable else None
    status = 200 if view.usable else 422
    return render(request, PAGE, {"view": view}, block="batch", status_code=status, headers=headers)


def view_of(pairs: Iterable[tuple[str, str]], catalog: Catalog) -> BatchView:
    """Read the three numbers, solve for the fourth."""
    given = [(name, value.strip()[:40]) for name, value in list(pairs)[:200]]
    own = {name: value for name, value in given if name in (SOLVE, COUNT)}
    question = read_question([(n, v) for n, v in given if n not in (SOLVE, COUNT)], catalog)
    unknown = own.get(SOLVE, COUNT)
    unknown = unknown if unknown in NAMES else COUNT
    typed = {name: question.typed.get(path, "") for name, path in PATHS.items()} | {COUNT: own.get(COUNT, "")}
    base = {path: value for path, value in question.raw.items() if path not in PATHS.values()}
    inputs = parse_inputs(question.raw, catalog)
    inputs = parse_inputs(base, catalog) if isinstance(inputs, InputProblems) else inputs
    usual = _usual(inputs, unknown)
    typed = {name: value or str(usual.get(name, 1)) for name, value in typed.items()}
    read, problems = _read(typed, unknown)
    values = {} if isinstance(inputs, InputProblems) else in_effect(inputs)
    if problems:
        lead = Headline(tone="bad", lead="Cannot be solved:", rest="some numbers cannot be used.")
        return _view(
            lead, "", values=values, typed=typed, unknown=unknown, catalog=catalog, problems=problems
        )
    solved = solve(read, unknown)
    lead, why = _words(solved)
    shown = {name: str(value) for name, value in solved.values.items()}
    return _view(
        lead,
        why,
        values=values,
        typed=shown,
        unknown=unknown,
        catalog=catalog,
        solved=solved,
        inputs=inputs,
    )


def _usual(inputs: Inputs | InputProblems, unknown: str) -> dict[str, int]:
    """What a field that was left empty is: as the calculator has it."""
    if isinstance(inputs, InputProblems):
        return dict.fromkeys(NAMES, 1)
    b, d = inputs.layout.micro_batch_size, inputs.layout.data_parallel
    batch = inputs.training.global_batch_size
    m = max(1, batch // (b * d))
    usual = {"global_batch_size": batch, "micro_batch_size": b, COUNT: m, "data_parallel": d}
    return usual | {unknown: 1}


def _read(typed: Mapping[str, str], unknown: str) -> tuple[dict[str, int], dict[str, str]]:
    read: dict[str, int] = {}
    problems: dict[str, str] = {}
    for name in NAMES:
        value = number_of(typed[name])
        if name == unknown:
            continue
        if value is None or value != int(value) or not 1 <= value <= LARGEST:
            problems[name] = f"Write a whole number from 1 to {LARGEST:,}."
        else:
            read[name] = int(value)
    return read, problems


def _words(solved: Solved) -> tuple[Headline, str]:
    values = solved.values
    letter, value = LABELS[solved.solved][1], values[solved.solved]
    if solved.whole:
        product = " · ".join(f"{values[part]:,}" for part in NAMES[1:])
        rest = f"{values['global_batch_size']:,} = {product}."
        return Headline(tone="", lead=f"{letter} = {value:,}:", rest=rest), ""
    batch, unit = values["global_batch_size"], solved.unit
    if value:
        rest = f"{batch:,} divided by {unit:,} is {value:,} and leaves {solved.remainder:,}."
        lead = Headline(tone="bad", lead="It does not divide:", rest=rest)
    else:
        lead = Headline(tone="bad", lead="Too few sequences:", rest=f"{batch:,} is less than {unit:,}.")
    why = "The nearest batches that do: " + " or ".join(f"{one:,}" for one in solved.batches) + "."
    if solved.replicas:
        why += " Or " + " or ".join(f"{one:,}" for one in solved.replicas) + " replicas with this batch."
    return lead, why


def _view(
    lead: Headline,
    why: str,
    *,
    values: Mapping[str, object],
    typed: Mapping[str, str],
    unknown: str,
    catalog: Catalog,
    problems: Mapping[str, str] | None = None,
    solved: Solved | None = None,
    inputs: Inputs | InputProblems | None = None,
) -> BatchView:
    kept = {path: value for path, value in values.items() if path not in PATHS.values()}
    whole = solved.values if solved and solved.whole else {}
    changed = {PATHS[name]: value for name, value in whole.items() if name in PATHS}
    fixes: tuple[tuple[str, str], ...] = ()
    if solved and not solved.whole:
        fixes = tuple(
            (
                _url(kept, {**typed, "global_batch_size": str(one)}, unknown, catalog),
                f"a batch of {one:,}",
            )
            for one in solved.batches
        )
    return BatchView(
        verdict=lead,
        why=why,
        url=_url(kept, typed, unknown, catalog),
        calculator_url=address({**values, **changed}, catalog),
        controls=tuple(_control(name, typed, unknown, problems or {}) for name in NAMES),
        solve=unknown,
        choices=tuple((name, f"{LABELS[name][0]} {LABELS[name][1]}") for name in NAMES),
        carried=carried(kept, (), catalog),
        solved=solved,
        fixes=fixes,
        readouts=_readouts(solved, inputs) if solved else (),
        problems=problems or {},
    )


def _url(kept: Mapping[str, object], typed: Mapping[str, str], unknown: str, catalog: Catalog) -> str:
    wanted = {**kept, **{path: typed[name] for name, path in PATHS.items() if name != unknown}}
    url = address(wanted, catalog, at=PATH)
    more = f"{SOLVE}={unknown}" + (f"&{COUNT}={typed[COUNT]}" if unknown != COUNT else "")
    return f"{url}{'&' if '?' in url else '?'}{more}"


def _control(name: str, typed: Mapping[str, str], unknown: str, problems: Mapping[str, str]) -> Control:
    label, letter, axis = LABELS[name]
    return Control(
        path=name,
        name=name,
        id=f"in-{name}".replace("_", "-"),
        label=f"{label} {letter}",
        kind="number",
        value=typed[name],
        axis=axis,
        locked=name == unknown,
        problem=problems.get(name, ""),
    )


def _readouts(solved: Solved, inputs: Inputs | InputProblems | None) -> tuple[Readout, ...]:
    if not isinstance(inputs, Inputs) or not solved.whole:
        return ()
    batch, m = solved.values["global_batch_size"], solved.values[COUNT]
    tokens = batch * inputs.training.seq_length
    told = [Readout(label="Tokens a step", value=numbers.count(tokens))]
    if inputs.training.total_tokens:
        steps = math.ceil(inputs.training.total_tokens / tokens)
        told.append(Readout(label="Steps for all tokens", value=numbers.count(steps)))
    p = inputs.layout.pipeline_parallel
    if p > 1:
        told.append(Readout(label="Micro-batches a stage", value=numbers.significant(m / p)))
    return tuple(told)
