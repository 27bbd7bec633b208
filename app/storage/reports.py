"""Reports of unclear places, and what came of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.storage.tables import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReport:
    """What a learner sends. It holds nothing that says who they are."""

    course: str
    lesson: str
    lesson_hash: str
    item: str = ""
    anchor: str
    content_hash: str
    place: str
    seed: int = 0
    answer: Mapping[str, Any] = field(default_factory=dict)
    hints_used: int = 0
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport(NewReport):
    """A report as it stands: its number, its state, the answer to it."""

    id: int
    state: str
    reply: str
    created_at: datetime
    changed_at: datetime


def add(session: Session, learner_id: int, report: NewReport, now: datetime) -> int:
    """Store the report; its number."""
    row = Report(
        learner_id=learner_id,
        course=report.course,
        lesson=report.lesson,
        lesson_hash=report.lesson_hash,
        item=report.item,
        anchor=report.anchor,
        content_hash=report.content_hash,
        place=report.place,
        seed=report.seed,
        answer=dict(report.answer),
        hints_used=report.hints_used,
        reason=report.reason,
        text=report.text,
        state="open",
        reply="",
        created_at=now,
        changed_at=now,
    )
    session.add(row)
    session.flush()
    return row.id


def of_learner(session: Session, learner_id: int) -> list[StoredReport]:
    """This learner's reports, newest first."""
    query = select(Report).where(Report.learner_id == learner_id).order_by(Report.id.desc())
    return [_stored(row) for row in session.scalars(query)]


def anchors(session: Session, learner_id: int, course: str, lesson: str) -> list[str]:
    """The places of a lesson that this learner reported."""
    query = select(Report.anchor).where(
        Report.learner_id == learner_id, Report.course == course, Report.lesson == lesson
    )
    return list(session.scalars(query.distinct()))


def count(session: Session, learner_id: int) -> int:
    """How many reports this learner sent."""
    return session.scalar(select(func.count()).where(Report.learner_id == learner_id)) or 0


def one_of_learner(session: Session, learner_id: int, report_id: int) -> StoredReport | None:
    """One report, if it is this learner's."""
    row = session.scalar(select(Report).where(Report.id == report_id, Report.learner_id == learner_id))
    return None if row is None else _stored(row)


def _stored(row: Report) -> StoredReport:
    return StoredReport(
        id=row.id,
        course=row.course,
        lesson=row.lesson,
        lesson_hash=row.lesson_hash,
        item=row.item,
        anchor=row.anchor,
        content_hash=row.content_hash,
        place=row.place,
        seed=row.seed,
        answer=row.answer,
        hints_used=row.hints_used,
        reason=row.reason,
        text=row.text,
        state=row.state,
        reply=row.reply,
        created_at=row.created_at,
        changed_at=row.changed_at,
    )
