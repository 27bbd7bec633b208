"""Lessons: the page, its live figures, its tasks, its end."""

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.services.learning import finish_lesson, open_lesson, tick_rep
from app.services.number_working import number_working
from app.web.dependencies import FormDep, Here, HereDep, QueryDep
from app.web.learner import remember
from app.web.lesson_page import TEMPLATE, lesson_page, widget_fragment
from app.web.lesson_sections import rep_view
from app.web.lesson_views import end_view
from app.web.number_page import number_view
from app.web.rendering import render, wants_fragment

router = APIRouter(include_in_schema=False)


@router.get("/courses/{course}/lessons/{slug}")
def lesson(request: Request, here: HereDep) -> Response:
    """The lesson with everything this learner did in it."""
    return lesson_page(request, here)


@router.get("/courses/{course}/lessons/{slug}/widgets/{widget_id:path}")
def widget(request: Request, here: HereDep, widget_id: str, query: QueryDep) -> Response:
    """A live figure with other values in its controls; nothing is stored."""
    here.house.widget(here.course, here.slug, widget_id)
    if wants_fragment(request):
        return widget_fragment(request, here, widget_id, query)
    return lesson_page(request, here, tried={widget_id: query})


@router.get("/courses/{course}/lessons/{slug}/numbers/{key}")
def number(request: Request, here: HereDep, key: str) -> Response:
    """How a number of the text came about; htmx shows the same below the paragraph."""
    view = number_view(number_working(here.house, here.course, here.slug, key))
    close = "Close" if wants_fragment(request) else f"Back to {view.where}"
    return render(request, "pages/number.html", {"view": view, "close": close}, block="note")


@router.post("/courses/{course}/lessons/{slug}/reps/{rep_id:path}")
def rep(request: Request, here: HereDep, rep_id: str, form: FormDep) -> Response:
    """Tick or untick a task for real life."""
    done = form.one("done") == "1"
    token = tick_rep(here.house, here.token, here.course, here.slug, rep_id=rep_id, done=done)
    response = _rep(request, here.known_as(token), rep_id)
    remember(request, response, token)
    return response


@router.post("/courses/{course}/lessons/{slug}/done")
def done(request: Request, here: HereDep, form: FormDep) -> Response:
    """Call the lesson done, or not after all."""
    token = finish_lesson(here.house, here.token, here.course, here.slug, done=form.one("done", "1") == "1")
    response = _end(request, here.known_as(token))
    remember(request, response, token)
    return response


def _rep(request: Request, here: Here, rep_id: str) -> Response:
    if not wants_fragment(request):
        return RedirectResponse(f"{here.url}#rep-{rep_id}", 303)
    visit = open_lesson(here.house, here.token, here.course, here.slug)
    view = next(rep_view(visit.lesson, rep, visit) for rep in visit.lesson.reps if rep.id == rep_id)
    return render(request, TEMPLATE, {"rep": view}, block="rep")


def _end(request: Request, here: Here) -> Response:
    if not wants_fragment(request):
        return RedirectResponse(f"{here.url}#finish", 303)
    visit = open_lesson(here.house, here.token, here.course, here.slug)
    return render(request, TEMPLATE, {"end": end_view(visit, datetime.now(UTC))}, block="finish")
