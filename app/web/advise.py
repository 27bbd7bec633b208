"""/calculator/advise: the decision procedure, one question at a time; every state is an address."""

import asyncio

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from app.catalog import load_catalog
from app.services.search_jobs import BusyError
from app.web.advise_form import DROP, OPEN, PATH, RESULT, AdviseQuestion, read_advise
from app.web.advise_view import AdviseView, view_of
from app.web.rendering import render, wants_fragment
from app.web.search_api import BUSY, desk_of

router = APIRouter(include_in_schema=False)
PAGE = "pages/advise.html"


@router.get(PATH, response_model=None)
async def advise_page(request: Request) -> Response:
    """The page. A form sent without JavaScript is answered with the short address of its state."""
    question = read_advise(request.query_params.multi_items(), load_catalog())
    view = await _view(request, question)
    return await run_in_threadpool(_page, request, question, view)


async def _view(request: Request, question: AdviseQuestion) -> AdviseView:
    """The result searches on its way, and waits its turn among the searches."""
    if question.place != RESULT:
        return await run_in_threadpool(view_of, question, load_catalog())
    try:
        waiting = desk_of(request).ask_other(lambda _: view_of(question, load_catalog()), None)
        return await asyncio.wrap_future(waiting)
    except BusyError:
        raise HTTPException(503, BUSY) from None


def _page(request: Request, question: AdviseQuestion, view: AdviseView) -> Response:
    fragment = wants_fragment(request)
    came_by_form = question.calculator.form or bool({DROP, OPEN} & set(request.query_params))
    if came_by_form and view.usable and not fragment:
        return RedirectResponse(view.url, status_code=303)
    headers = {"HX-Push-Url": view.url} if fragment and view.usable else None
    status = 200 if view.usable else 422
    return render(request, PAGE, {"view": view}, block="advise", status_code=status, headers=headers)
