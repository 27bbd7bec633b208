"""/calculator/balance: pieces of a model over pipeline stages; every state is an address."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.web.balance_form import LABELS, read_question
from app.web.balance_model import of_a_model
from app.web.balance_view import view_of
from app.web.rendering import render, wants_fragment

router = APIRouter()
PAGE = "pages/balance.html"


@router.get("/calculator/balance", response_model=None, include_in_schema=False)
def balance_page(request: Request) -> Response:
    """The page. A ÷2 or ×2 pressed without JavaScript is answered with the address of the new state."""
    pairs = request.query_params.multi_items()
    if taken := of_a_model(pairs):
        return RedirectResponse(taken, status_code=303)
    question = read_question(pairs)
    view = view_of(question)
    fragment = wants_fragment(request)
    if question.pressed and not fragment:
        return RedirectResponse(view.url, status_code=303)
    name = request.headers.get("HX-Trigger-Name", "")
    typing = fragment and (name in LABELS or name == "pieces")
    headers = {"HX-Replace-Url" if typing else "HX-Push-Url": view.url}
    return render(
        request,
        PAGE,
        {"view": view, "typing": typing},
        block="balance",
        status_code=422 if view.malformed else 200,
        headers=headers if fragment and not view.malformed else None,
    )
