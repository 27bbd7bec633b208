"""/calculator/search: all legal layouts of a cluster, ranked; every state is an address."""

import asyncio

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from app.catalog import load_catalog
from app.services.search_inputs import parse_search
from app.services.search_jobs import Answer, BusyError
from app.web.dependencies import FormDep
from app.web.rendering import render, wants_fragment
from app.web.search_api import desk_of
from app.web.search_form import PATH, SearchQuestion, read_search
from app.web.search_view import SearchView, view_of

router = APIRouter(include_in_schema=False)
PAGE = "pages/search.html"


@router.get("/calculator/search", response_model=None)
async def search_page(request: Request) -> Response:
    """The page. A large search shows how far it is; then the page is asked for again.

    A form sent without JavaScript is answered with the short address of its state.
    """
    catalog = load_catalog()
    question = read_search(request.query_params.multi_items(), catalog)
    if question.calculator.form and not wants_fragment(request):
        view = view_of(question, parse_search(question.raw, catalog), catalog)
        if view.usable:
            return RedirectResponse(view.url, status_code=303)
    found = await _answer(request, question)
    return await run_in_threadpool(_page, request, question, found)


async def _answer(request: Request, question: SearchQuestion) -> Answer | None:
    desk = desk_of(request)
    job = desk.find(question.job) if question.job else None
    if job is not None:
        return job
    try:
        return await asyncio.wrap_future(desk.ask(question.raw))
    except BusyError:
        return None


def _page(request: Request, question: SearchQuestion, found: Answer | None) -> Response:
    view = view_of(question, found, load_catalog())
    fragment = wants_fragment(request)
    status = 503 if found is None and view.usable else 200 if view.usable else 422
    polled = fragment and bool(question.job)
    headers = _headers(view, polled=polled) if fragment else None
    return render(
        request, PAGE, {"view": view, "polled": polled}, block="search", status_code=status, headers=headers
    )


def _headers(view: SearchView, *, polled: bool) -> dict[str, str]:
    """While a search runs only its progress is put in place; when it has ended, the whole page is."""
    if not view.usable:
        return {}
    if not polled:
        return {"HX-Push-Url": view.url}
    if view.job is not None and not view.job.ended:
        return {}
    whole = {"HX-Retarget": "#search-page", "HX-Reselect": "#search-page", "HX-Reswap": "outerHTML"}
    return {**whole, "HX-Replace-Url": view.url}


@router.post("/calculator/search/stop", response_model=None)
def stop_search(request: Request, form: FormDep) -> Response:
    """Stop a large search and show what it has found."""
    job = desk_of(request).find(form.one("job"))
    if job is not None:
        job.stop()
        job.wait(3.0)
    query = form.one("query")[:8_000].replace("\n", "")
    kept = f"{query}&" if query else ""
    name = f"job={job.id}" if job is not None else ""
    return RedirectResponse(f"{PATH}?{kept}{name}", status_code=303)
