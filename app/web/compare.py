"""/calculator/compare: two to four layouts side by side; every state is an address."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.catalog import load_catalog
from app.services.saved_layouts import chosen
from app.web.compare_form import PATH, from_queries, read_compare
from app.web.compare_view import view_of
from app.web.dependencies import HouseDep, TokenDep
from app.web.rendering import render, wants_fragment

router = APIRouter(include_in_schema=False)
PAGE = "pages/compare.html"


@router.get(PATH, response_model=None)
def compare_page(request: Request) -> Response:
    """The page. A form sent without JavaScript is answered with the short address of its state."""
    catalog = load_catalog()
    question = read_compare(request.query_params.multi_items(), catalog)
    view = view_of(question, catalog)
    fragment = wants_fragment(request)
    if question.form and view.usable and not fragment:
        return RedirectResponse(view.url, status_code=303)
    headers = {"HX-Push-Url": view.url} if fragment and view.usable else None
    status = 200 if view.usable else 422
    return render(request, PAGE, {"view": view}, block="compare", status_code=status, headers=headers)


@router.get(f"{PATH}/saved", response_model=None)
def compare_saved(request: Request, house: HouseDep, token: TokenDep) -> Response:
    """Layouts of one's own, by their numbers → the address of their comparison."""
    numbers = [
        int(value)
        for name, value in request.query_params.multi_items()
        if name == "saved" and value.isascii() and value.isdecimal() and len(value) < 10
    ]
    found = chosen(house, token, numbers)
    if len(found) < 2:
        return RedirectResponse("/calculator/saved?few=1", status_code=303)
    return RedirectResponse(from_queries([one.query for one in found], load_catalog()), status_code=303)
