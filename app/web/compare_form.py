"""The comparison as an address: what all layouts share, and each one's own (`2.tensor_parallel=4`)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from app.calculator.fields import FIELDS
from app.catalog import Catalog
from app.services.comparing import BATCH, MOST, Side, counterpart
from app.services.inputs import InputProblems, parse_inputs
from app.web.controls import path_of, query_name, written
from app.web.questions import OF_MODEL, Question, read_question
from app.web.values import address, in_effect

PATH = "/calculator/compare"
COUNT, HOLD = "layouts", "hold"
LEAST = 2
_OWN = re.compile(r"([1-9])\.([a-z0-9_.]{1,60})")
_COLUMN = re.compile(r"[1-9]\.")
_ORDER = {path: place for place, path in enumerate(["model.id", *(field.path for field in FIELDS)])}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareQuestion:
    """`shared` is the first layout's question; `own`: what each has of its own; the first has nothing."""

    calculator: Question
    shared: dict[str, Any]
    own: tuple[dict[str, Any], ...]
    hold_batch: bool = True
    form: bool = False


def read_compare(pairs: Iterable[tuple[str, str]], catalog: Catalog) -> CompareQuestion:
    """The question of a query string; where one layout is given, another is set beside it."""
    rest: list[tuple[str, str]] = []
    own: dict[int, dict[str, Any]] = {}
    settings: dict[str, str] = {}
    for name, value in [(name, value.strip()[:2_000]) for name, value in list(pairs)[:400]]:
        match = _OWN.fullmatch(name)
        path = path_of(match[2]) if match else None
        if match and path:
            own.setdefault(int(match[1]), {})[path] = value
        elif name in (COUNT, HOLD):
            settings[name] = value
        elif not _COLUMN.match(name):
            rest.append((name, value))
    form = any(name == OF_MODEL for name, _ in rest) or 1 in own
    calculator = read_question(rest, catalog)
    shared = {**calculator.raw, **{path: value for path, value in own.pop(1, {}).items() if value}}
    count = settings.get(COUNT, "")
    most = max([LEAST, *(number for number in own if number <= MOST)])
    number = int(count) if count.isascii() and count.isdecimal() and len(count) < 3 else most
    number = min(MOST, max(LEAST, number))
    if not own and not count:
        own = {2: _beside(shared, catalog)}
    sides = [{}, *(_without_same(own.get(place, {}), shared) for place in range(2, number + 1))]
    return CompareQuestion(
        calculator=calculator,
        shared=shared,
        own=tuple(sides),
        hold_batch=settings.get(HOLD) != "false",
        form=form,
    )


def _beside(shared: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    inputs = parse_inputs(shared, catalog)
    return {} if isinstance(inputs, InputProblems) else counterpart(inputs)


def _without_same(own: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """What a layout has of its own; a field left empty is as in the first."""
    return {
        path: value
        for path, value in own.items()
        if value not in ("", None) and written(value) != written(shared.get(path))
    }


def shared_values(question: CompareQuestion, catalog: Catalog) -> dict[str, Any]:
    """The first layout's values in effect, or as they were written where they cannot be read."""
    inputs = parse_inputs(question.shared, catalog)
    if not isinstance(inputs, InputProblems):
        return in_effect(inputs)
    return {path: value for path, value in question.shared.items() if path in _ORDER}


def own_of(
    question: CompareQuestion, sides: Sequence[Side], values: Mapping[str, Any]
) -> tuple[dict[str, Any], ...]:
    """What each layout really has of its own, by its values in effect; derived replicas are left out."""
    found: list[dict[str, Any]] = [{}]
    for side, own in zip(sides[1:], question.own[1:], strict=True):
        if side.inputs is None:
            found.append(dict(own))
            continue
        theirs = in_effect(side.inputs)
        found.append(_differing(own, theirs, values))
    return tuple(found)


def _differing(own: Mapping[str, Any], theirs: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """Of `own`, what is in effect otherwise than in the first layout."""
    return {
        path: value for path, value in own.items() if written(theirs.get(path)) != written(first.get(path))
    }


def compare_url(
    values: Mapping[str, Any],
    own: Sequence[Mapping[str, Any]],
    catalog: Catalog,
    *,
    hold_batch: bool = True,
) -> str:
    """The address of a comparison: the first layout in full, the others by what they differ in."""
    url = address(values, catalog, at=PATH)
    pairs = [
        (f"{place}.{query_name(path)}", written(value))
        for place, changes in enumerate(own[1:], 2)
        for path, value in sorted(changes.items(), key=lambda item: _ORDER.get(item[0], 0))
        if not (hold_batch and path == BATCH)
    ]
    if not pairs or not own[-1]:
        pairs.append((COUNT, str(max(LEAST, len(own)))))
    if not hold_batch:
        pairs.append((HOLD, "false"))
    return f"{url}{'&' if '?' in url else '?'}{urlencode(pairs, safe=',')}"


def from_queries(queries: Sequence[str], catalog: Catalog) -> str:
    """The comparison of several calculations, each the query of an address of the calculator."""
    found: list[dict[str, Any]] = []
    for query in queries[:MOST]:
        inputs = parse_inputs(read_question(parse_qsl(query), catalog).raw, catalog)
        if not isinstance(inputs, InputProblems):
            found.append(in_effect(inputs))
    if not found:
        return PATH
    first = found[0]
    own: list[dict[str, Any]] = [{}]
    for values in found[1:]:
        own.append(_differing(values, values, first))
    same = all(BATCH not in changes for changes in own)
    return compare_url(first, own, catalog, hold_batch=same)
