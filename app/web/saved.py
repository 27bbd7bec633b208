"""/calculator/saved: layouts that a learner keeps: save, name, open again, compare, delete."""

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.catalog import Catalog, load_catalog
from app.services.estimation import estimate_inputs
from app.services.inputs import InputProblems, parse_inputs
from app.services.saved_layouts import MOST_NAME, Kept, forget, mine, rename, save
from app.storage.saved_layouts import StoredLayout
from app.web import numbers
from app.web.dependencies import FormDep, HouseDep, TokenDep
from app.web.learner import PRIVATE, remember
from app.web.questions import read_question
from app.web.rendering import render
from app.web.verdict import verdict
from app.web.words import day

router = APIRouter(include_in_schema=False)
PATH = "/calculator/saved"
PAGE = "pages/saved.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """One layout in the list."""

    id: int
    name: str
    when: str
    url: str
    about: str
    says: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewView:
    """The form for a layout that is about to be kept."""

    query: str
    name: str
    problem: str = ""


@router.get(PATH)
def saved_page(
    request: Request, house: HouseDep, token: TokenDep, few: str = "", query: str = ""
) -> Response:
    """The list; with `query` also the form that gives that calculation a name."""
    new = NewView(query=query[:4_000], name=_suggested(query, load_catalog())) if query else None
    return _page(request, mine(house, token), new=new, few=bool(few))


@router.post(PATH)
def save_layout(request: Request, form: FormDep, house: HouseDep, token: TokenDep) -> Response:
    """Keep a calculation under a name."""
    name, query = form.one("name"), form.one("query")
    kept = save(house, token, name, query)
    if kept.problem:
        new = NewView(query=query[:4_000], name=name, problem=kept.problem)
        return _page(request, mine(house, token), new=new, status=422)
    return _led(request, kept, f"{PATH}#s{kept.number}")


@router.post(f"{PATH}/{{number}}/rename")
def rename_layout(request: Request, number: int, form: FormDep, house: HouseDep, token: TokenDep) -> Response:
    """Another name."""
    kept = rename(house, token, number, form.one("name"))
    if kept.problem:
        return _page(
            request, mine(house, token), problem=(number, kept.problem, form.one("name")), status=422
        )
    return _led(request, kept, f"{PATH}#s{number}")


@router.post(f"{PATH}/{{number}}/delete")
def delete_layout(request: Request, number: int, house: HouseDep, token: TokenDep) -> Response:
    """Forget it."""
    forget(house, token, number)
    return RedirectResponse(PATH, status_code=303)


def _led(request: Request, kept: Kept, url: str) -> Response:
    response = RedirectResponse(url, status_code=303)
    remember(request, response, kept.token)
    return response


def _page(
    request: Request,
    stored: list[StoredLayout],
    *,
    new: NewView | None = None,
    few: bool = False,
    problem: tuple[int, str, str] = (0, "", ""),
    status: int = 200,
) -> Response:
    catalog, now = load_catalog(), datetime.now(UTC)
    views = [_view(one, catalog, now) for one in stored]
    context = {"layouts": views, "new": new, "few": few, "problem": problem, "most_name": MOST_NAME}
    return render(request, PAGE, context, status_code=status, headers=PRIVATE)


def _view(one: StoredLayout, catalog: Catalog, now: datetime) -> SavedView:
    inputs = parse_inputs(read_question(parse_qsl(one.query), catalog).raw, catalog)
    when = f"saved {day(one.created_at, now)}"
    url = f"/calculator?{one.query}"
    if isinstance(inputs, InputProblems):
        says = "This can no longer be read; open it to mend it."
        return SavedView(id=one.id, name=one.name, when=when, url=url, about="", says=says, tone="bad")
    layout = inputs.layout
    said = verdict(estimate_inputs(inputs, working=False), brief=True)
    model = inputs.model.name or "a model of one's own"
    sizes = (
        f"tensor {layout.tensor_parallel}, pipeline {layout.pipeline_parallel}, data {layout.data_parallel:,}"
    )
    gpus = f"{numbers.count(inputs.cluster.num_gpus)} × {inputs.cluster.device.name.removeprefix('NVIDIA ')}"
    return SavedView(
        id=one.id,
        name=one.name,
        when=when,
        url=url,
        about=f"{model} on {gpus}: {sizes}",
        says=said.sentence,
        tone=said.tone,
    )


def _suggested(query: str, catalog: Catalog) -> str:
    """A first name: the model and the degrees."""
    inputs = parse_inputs(read_question(parse_qsl(query[:4_000]), catalog).raw, catalog)
    if isinstance(inputs, InputProblems):
        return ""
    layout = inputs.layout
    sizes = f"t{layout.tensor_parallel} p{layout.pipeline_parallel} d{layout.data_parallel}"
    return f"{inputs.model.name} {sizes}"[:MOST_NAME].strip()
