"""/calculator/schedule: a pipeline played out; every state is an address."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.web.rendering import render, wants_fragment
from app.web.schedule_form import LABELS, read_question
from app.web.schedule_view import view_of

router = APIRouter()
PAGE = "pages/schedule.html"


@router.get("/calculator/schedule", response_model=None, include_in_schema=False)
def schedule_page(request: Request) -> Response:
    """The page. A ÷2 or ×2 pressed without JavaScript is answered with the address of the new state."""
    question = read_question(request.query_params.multi_items())
    view = view_of(question.raw, question.at)
    fragment = wants_fragment(request)
    if question.pressed and not fragment:
        return RedirectResponse(view.url, status_code=303)
    control = LABELS.get(request.headers.get("HX-Trigger-Name", ""))
    typing = fragment and control is not None and control[0] != "select"
    headers = {"HX-Replace-Url" if typing else "HX-Push-Url": view.url}
    return render(
        request,
        PAGE,
        {"view": view, "typing": typing},
        block="schedule",
        status_code=422 if view.malformed else 200,
        headers=headers if fragment and not view.malformed else None,
    )
