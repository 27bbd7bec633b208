""" "Unclear?": a short form, what it would send, and the list of one's own reports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.services.house import House, UnknownPlaceError
from app.services.reporting import REASONS, Subject, my_reports, send, subject_of
from app.storage.reports import StoredReport
from app.web.dependencies import FormDep, HouseDep, TokenDep
from app.web.item_words import answer_words
from app.web.learner import PRIVATE, remember
from app.web.lesson_sections import lesson_url
from app.web.rendering import render, wants_fragment
from app.web.words import day

router = APIRouter(include_in_schema=False)

TEMPLATE = "pages/report.html"
STATES = {
    "open": ("plain", "waiting for an answer"),
    "answered": ("near", "answered"),
    "fixed": ("right", "mended"),
    "declined": ("near", "left as it is"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormView:
    """The form, with what would be sent."""

    lesson: str  # <course>/lessons/<slug>
    at: str
    back: str
    where: str
    place: str
    question: str
    lesson_title: str
    answer_words: str
    hints_used: int
    version: str
    reasons: Iterable[tuple[str, str]]
    reason: str = ""
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """A report in the list of one's own."""

    id: int
    when: str
    look: str
    state_words: str
    where: str
    url: str
    reason_words: str
    text: str
    answer_words: str
    reply: str


@router.get("/reports/new")
def new(request: Request, house: HouseDep, token: TokenDep, lesson: str = "", at: str = "lesson") -> Response:
    """The form for one place of a lesson."""
    subject = subject_of(house, token, *_split(lesson), at)
    return _form(request, form_view(subject))


@router.post("/reports")
def create(request: Request, form: FormDep, house: HouseDep, token: TokenDep) -> Response:
    """Send it; a plain browser is led to a page that confirms, htmx gets the confirmation in place."""
    course, slug = _split(form.one("lesson"))
    at, reason, text = form.one("at", "lesson"), form.one("reason"), form.one("text")
    sent = send(house, token, course, slug, anchor=at, reason=reason, text=text)
    subject = subject_of(house, sent.token or token, course, slug, at)
    if sent.problem:
        return _form(request, form_view(subject, reason=reason, text=text, problem=sent.problem), status=422)
    if wants_fragment(request):
        response: Response = render(
            request, TEMPLATE, {"form": form_view(subject), "sent": sent.number}, block="form"
        )
    else:
        response = RedirectResponse(f"/reports/sent?number={sent.number}", 303)
    remember(request, response, sent.token)
    return response


@router.get("/reports/sent")
def sent(request: Request, house: HouseDep, token: TokenDep, number: int = 0) -> Response:
    """The confirmation, for a browser without JavaScript; only for a report of one's own."""
    report = next((one for one in my_reports(house, token) if one.id == number), None)
    if report is None:
        return RedirectResponse("/reports", 303)
    subject = subject_of(house, token, report.course, report.lesson, report.anchor)
    return render(request, TEMPLATE, {"form": form_view(subject), "sent": number})


@router.get("/reports")
def mine(request: Request, house: HouseDep, token: TokenDep) -> Response:
    """What I reported and what came of it."""
    return render(
        request, "pages/reports.html", {"reports": _views(house, my_reports(house, token))}, headers=PRIVATE
    )


def form_view(subject: Subject, *, reason: str = "", text: str = "", problem: str = "") -> FormView:
    """The form for a subject, with what was chosen and typed."""
    lesson = subject.lesson
    anchor = "" if subject.anchor == "lesson" else f"#{subject.anchor}"
    title = f"{lesson.number}. {lesson.title}" if lesson.number else lesson.title
    return FormView(
        lesson=f"{lesson.course}/lessons/{lesson.slug}",
        at=subject.anchor,
        back=f"{lesson_url(lesson)}{anchor}",
        where=title,
        place=subject.place[:1].upper() + subject.place[1:],
        question=f"What is unclear about {subject.place}?",
        lesson_title=title,
        answer_words=answer_words(subject.answer),
        hints_used=subject.hints_used,
        version=subject.content_hash[:12],
        reasons=tuple(REASONS.items()),
        reason=reason,
        text=text,
        problem=problem,
    )


def _form(request: Request, form: FormView, *, status: int = 200) -> Response:
    return render(
        request, TEMPLATE, {"form": form, "sent": 0}, block="form", status_code=status, headers=PRIVATE
    )


def _split(lesson: str) -> tuple[str, str]:
    course, _, slug = lesson.partition("/lessons/")
    if not course or not slug:
        raise UnknownPlaceError("The report does not say which lesson it is about.")
    return course, slug


def _views(house: House, stored: Sequence[StoredReport]) -> list[ReportView]:
    now = datetime.now(UTC)
    return [_view(house, report, now) for report in stored]


def _view(house: House, report: StoredReport, now: datetime) -> ReportView:
    look, words = STATES.get(report.state, ("plain", report.state))
    try:
        lesson = house.lesson(report.course, report.lesson)
    except UnknownPlaceError:
        url, title = "", f"{report.course}, {report.lesson} (no longer there)"
    else:
        anchor = "" if report.anchor == "lesson" else f"#{report.anchor}"
        url, title = f"{lesson_url(lesson)}{anchor}", f"{lesson.number}. {lesson.title}"
    return ReportView(
        id=report.id,
        when=f"sent {day(report.created_at, now)}",
        look=look,
        state_words=words,
        where=f"{title}, {report.place}",
        url=url,
        reason_words=REASONS.get(report.reason, "") if report.reason != "other" else "",
        text=report.text,
        answer_words=answer_words(report.answer),
        reply=report.reply,
    )
