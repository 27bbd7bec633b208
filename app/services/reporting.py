"""Reports of unclear places: what would be sent, sending it, what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from app.curriculum.blocks import Heading, Item, Lesson
from app.services.house import House
from app.services.learning import MAX_TEXT, learner_for_writing, state_of
from app.storage import learners, reports
from app.storage.reports import NewReport, StoredReport

ITEM_PREFIX = "q-"
WHOLE_LESSON = "lesson"
REASONS: Mapping[str, str] = {
    "wording": "I do not understand the wording",
    "missing": "Something is missing that I would need",
    "wrong": "I think something is wrong",
    "feedback": "The feedback or the check does not help",
    "broken": "Something does not work",
    "other": "Something else",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a report is about, with what the learner had answered there."""

    lesson: Lesson
    anchor: str
    place: str
    item: Item | None = None
    content_hash: str = ""
    seed: int = 0
    answer: Mapping[str, Any] = field(default_factory=dict)
    hints_used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A stored report's number, and a token to remember; or why nothing was stored."""

    number: int = 0
    token: str | None = None
    problem: str = ""


def subject_of(house: House, token: str | None, course: str, slug: str, anchor: str) -> Subject:
    """What would be sent about this place. Raises UnknownPlaceError."""
    lesson = house.lesson(course, slug)
    with house.database.reading() as session:
        return _subject(session, learners.find(session, token), lesson, anchor)


def send(
    house: House, token: str | None, course: str, slug: str, *, anchor: str, reason: str, text: str
) -> Sent:
    """Store a report, with the learner's answer as it stands. Raises UnknownPlaceError."""
    lesson = house.lesson(course, slug)
    if problem := _refusal(reason, text):
        return Sent(problem=problem)
    now = datetime.now(UTC)
    with house.database.writing() as session:
        learner_id, new_token = learner_for_writing(session, token, now)
        subject = _subject(session, learner_id, lesson, anchor)
        report = NewReport(
            course=course,
            lesson=slug,
            lesson_hash=lesson.content_hash,
            item=subject.item.id if subject.item else "",
            anchor=subject.anchor,
            content_hash=subject.content_hash,
            place=subject.place,
            seed=subject.seed,
            answer=subject.answer,
            hints_used=subject.hints_used,
            reason=reason or "other",
            text=text.strip(),
        )
        number = reports.add(session, learner_id, report, now)
    return Sent(number=number, token=new_token)


def my_reports(house: House, token: str | None) -> list[StoredReport]:
    """This learner's reports, newest first."""
    with house.database.reading() as session:
        learner_id = learners.find(session, token)
        return [] if learner_id is None else reports.of_learner(session, learner_id)


def _refusal(reason: str, text: str) -> str:
    if reason and reason not in REASONS:
        return "Choose one of the reasons that are listed."
    if len(text) > MAX_TEXT:
        return f"Your text has {len(text):,} characters; at most {MAX_TEXT:,} can be sent. It is in the box."
    if not reason and not text.strip():
        return "Choose what is unclear, or say it in a few words."
    return ""


def _subject(session: Session, learner_id: int | None, lesson: Lesson, anchor: str) -> Subject:
    item = next((item for item in lesson.items if f"{ITEM_PREFIX}{item.id}" == anchor), None)
    if item is not None:
        return _about_item(session, learner_id, lesson, item, anchor)
    headings = {
        block.anchor: block.text for block in lesson.blocks if isinstance(block, Heading) and block.anchor
    }
    known = anchor in headings
    return Subject(
        lesson=lesson,
        anchor=anchor if known else WHOLE_LESSON,
        place=f"the section “{headings[anchor]}”" if known else "the whole lesson",
        content_hash=lesson.content_hash,
    )


def _about_item(session: Session, learner_id: int | None, lesson: Lesson, item: Item, anchor: str) -> Subject:
    state = state_of(session, learner_id, lesson, item)
    return Subject(
        lesson=lesson,
        anchor=anchor,
        place=f"{item.section} {item.number}",
        item=item,
        content_hash=item.content_hash,
        seed=state.seed,
        answer=state.typed,
        hints_used=state.hints_open,
    )
