"""/calculator: a question in the address, the answer as a page; htmx swaps a part of that page."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.catalog import load_catalog
from app.web.calculator_view import CalculatorView, view_of
from app.web.controls import path_of
from app.web.questions import read_question
from app.web.rendering import render, wants_fragment
from app.web.values import address

router = APIRouter(include_in_schema=False)
PAGE = "pages/calculator.html"


@router.get("/calculator", response_model=None)
def calculator(request: Request) -> Response:
    """The calculator. A form sent without JavaScript is answered with the short address of its state.

    What cannot be read is 422, except while somebody is still typing it.
    """
    catalog = load_catalog()
    trigger = request.headers.get("HX-Trigger", "")
    question = read_question(request.query_params.multi_items(), catalog)
    view = view_of(question, catalog, touched=trigger)
    fragment = wants_fragment(request)
    if question.form and view.usable and not fragment:
        return RedirectResponse(view.url, status_code=303)
    typing = fragment and _is_typed(request.headers.get("HX-Trigger-Name", ""), view)
    context: dict[str, Any] = {"view": view, "typing": typing, "fragment": fragment}
    context |= {"undo": _before(request, view.url), "address": address}
    return render(
        request,
        PAGE,
        context,
        block="calculator",
        status_code=200 if view.usable or typing else 422,
        headers=_history(request, view, typing) if fragment else None,
    )


def _history(request: Request, view: CalculatorView, typing: bool) -> dict[str, str]:
    """Typing replaces the address, a decision adds one to go back from; the unreadable changes none."""
    if not view.usable:
        return {}
    here = urlsplit(request.headers.get("HX-Current-URL") or "")
    same = f"{here.path}?{here.query}" == view.url
    return {"HX-Replace-Url" if typing or same else "HX-Push-Url": view.url}


def _is_typed(name: str, view: CalculatorView) -> bool:
    path = path_of(name) if name else None
    return any(
        control.path == path and control.kind in ("stepper", "number", "text")
        for fieldset in view.sets
        for control in (*fieldset.controls, *fieldset.more)
    )


def _before(request: Request, url: str) -> str:
    """The address of the calculation one comes from, if it was another one of this calculator."""
    last = urlsplit(request.headers.get("HX-Current-URL") or "")
    if last.path != "/calculator" or last.netloc not in ("", request.headers.get("host", "")):
        return ""
    back = f"/calculator?{last.query}" if last.query else "/calculator"
    return "" if back == url else back
