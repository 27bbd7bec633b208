"""/calculator/advise: the decision procedure, one question at a time; every state is an address."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.catalog import load_catalog
from app.web.advise_form import DROP, OPEN, PATH, read_advise
from app.web.advise_view import view_of
from app.web.rendering import render, wants_fragment

router = APIRouter(include_in_schema=False)
PAGE = "pages/advise.html"


@router.get(PATH, response_model=None)
def advise_page(request: Request) -> Response:
    """The page. A form sent without JavaScript is answered with the short address of its state."""
    catalog = load_catalog()
    question = read_advise(request.query_params.multi_items(), catalog)
    view = view_of(question, catalog)
    fragment = wants_fragment(request)
    came_by_form = question.calculator.form or bool({DROP, OPEN} & set(request.query_params))
    if came_by_form and view.usable and not fragment:
        return RedirectResponse(view.url, status_code=303)
    headers = {"HX-Push-Url": view.url} if fragment and view.usable else None
    return render(
        request,
        PAGE,
        {"view": view},
        block="advise",
        status_code=200 if view.usable else 422,
        headers=headers,
    )
