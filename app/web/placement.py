"""/calculator/placement: the order of ranks, which groups cross nodes, and what that costs."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from app.catalog import Catalog, load_catalog
from app.services.estimation import estimate_inputs
from app.services.inputs import InputProblems, parse_inputs
from app.services.placing import Placement, placements
from app.web import numbers
from app.web.charts.cluster_map import cluster_map_figure
from app.web.charts.cluster_places import ClusterMap
from app.web.charts.figure import Figure
from app.web.charts.traffic import AXES, LINKS
from app.web.questions import Question, read_question
from app.web.rendering import render, wants_fragment
from app.web.schedule_view import Headline
from app.web.values import address, in_effect
from app.web.widgets import map_of

router = APIRouter(include_in_schema=False)
PATH = "/calculator/placement"
PAGE = "pages/placement.html"
NAMES = {key: name for key, _, name in AXES}
LETTERS = {key: letter for key, letter, _ in AXES}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One axis: who is in a group, where they sit, over which link they talk, what the step waits for."""

    letter: str
    name: str
    size: str
    apart: str
    nodes: str
    link: str
    exposed: str
    crosses: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRow:
    """One order of ranks."""

    says: str
    letters: tuple[str, ...]
    crossing: tuple[str, ...]
    step: str
    against: str
    url: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementView:
    """Everything on the page."""

    verdict: Headline
    why: str = ""
    url: str
    calculator_url: str
    groups: tuple[GroupRow, ...] = ()
    orders: tuple[OrderRow, ...] = ()
    map: Figure | None = None
    usable: bool = True


@router.get(PATH, response_model=None)
def placement_page(request: Request) -> Response:
    """The page, for a state of the calculator."""
    view = view_of(read_question(request.query_params.multi_items(), load_catalog()), load_catalog())
    fragment = wants_fragment(request)
    headers = {"HX-Push-Url": view.url} if fragment and view.usable else None
    status = 200 if view.usable else 422
    return render(request, PAGE, {"view": view}, block="placement", status_code=status, headers=headers)


def view_of(question: Question, catalog: Catalog) -> PlacementView:
    """Work out every order."""
    inputs = parse_inputs(question.raw, catalog)
    if isinstance(inputs, InputProblems):
        said = " ".join(problem.message for problem in inputs.problems[:3])
        lead = Headline(tone="bad", lead="Cannot be placed:", rest=said)
        return PlacementView(verdict=lead, url=PATH, calculator_url="/calculator", usable=False)
    values = in_effect(inputs)
    placed = map_of(values)
    found = placements(inputs)
    shared: dict[str, Any] = {
        "url": address(values, catalog, at=PATH),
        "calculator_url": address(values, catalog),
    }
    if not found or placed is None:
        lead = Headline(tone="bad", lead="Not a legal layout:", rest="it has no place on this cluster yet.")
        return PlacementView(verdict=lead, **shared)
    own = next(one for one in found if one.rank_order == inputs.layout.rank_order)
    answer = estimate_inputs(inputs, working=False)
    return PlacementView(
        verdict=_verdict(found, own),
        why=_why(found, own),
        groups=tuple(_groups(placed, answer["communication"])),
        orders=tuple(
            OrderRow(
                says=", ".join(one.rank_order),
                letters=tuple(LETTERS[f"{name}_parallel"] for name in one.rank_order),
                crossing=tuple(LETTERS[name] for name in one.crossing),
                step=numbers.seconds(one.step_s),
                against="" if one is own else _against(one, own),
                url=address({**values, "layout.rank_order": one.rank_order}, catalog, at=PATH),
                here=one is own,
            )
            for one in found
        ),
        map=cluster_map_figure(placed),
        **shared,
    )


def _against(one: Placement, own: Placement) -> str:
    gap = one.step_s / own.step_s - 1
    if abs(gap) < 5e-5:
        return "the same"
    return f"{numbers.percent(abs(gap), 2)} {'slower' if gap > 0 else 'faster'}"


def _verdict(found: list[Placement], own: Placement) -> Headline:
    crossing = [NAMES[name].lower() for name in own.crossing]
    told = f"{' and '.join(crossing)} groups cross nodes" if crossing else "no group crosses a node"
    best = found[0]
    gap = 1 - best.step_s / own.step_s
    rest = f"{told}; a step takes {numbers.seconds(own.step_s)}."
    if gap < 5e-4:
        return Headline(tone="", lead="No order of ranks is faster:", rest=rest)
    return Headline(tone="", lead=f"Another order is {numbers.percent(gap, 2)} faster:", rest=rest)


def _why(found: list[Placement], own: Placement) -> str:
    worst = found[-1]
    if worst.step_s < own.step_s * 1.0005:
        return ""
    name, more = max(
        ((axis, worst.exposed_s[axis] - own.exposed_s[axis]) for axis in own.exposed_s),
        key=lambda item: item[1],
    )
    return (
        f"The worst order ({', '.join(worst.rank_order)}) takes {numbers.seconds(worst.step_s)}: its"
        f" {NAMES[name].lower()} groups make the step wait {numbers.seconds(max(0.0, more))} more."
    )


def _groups(placed: ClusterMap, communication: dict[str, dict[str, object]]) -> list[GroupRow]:
    rows = []
    for key, letter, name in AXES:
        axis = communication[key]
        size = int(str(axis["group_size"]))
        if size <= 1:
            continue
        inner = key.removesuffix("_parallel")
        known = inner in placed.sizes
        nodes = placed.nodes_of_group(inner) if known else 0
        stride = placed.stride(inner) if known else 0
        link = str(axis["link"])
        exposed_s = float(str(axis["exposed_s"]))
        rows.append(
            GroupRow(
                letter=letter,
                name=name,
                size=numbers.count(size),
                apart="neighbours" if stride == 1 else f"{numbers.count(stride)} apart" if known else "–",
                nodes=numbers.count(nodes) if known else "–",
                link=LINKS.get(link, link),
                exposed=numbers.seconds(exposed_s),
                crosses=link == "inter_node",
            )
        )
    return rows
