"""What a learner did: attempts on items, marks on reps and lessons. Added, never changed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from app.storage.tables import Attempt, ItemVersion, Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRef:
    """An item as it stands now, enough to know it again after the lesson was edited."""

    course: str
    lesson: str
    item: str
    content_hash: str
    section: str
    kind: str
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that a learner did with an item. Actions and verdicts: see tables.Attempt."""

    action: str
    answer: Mapping[str, Any] = field(default_factory=dict)
    verdict: str = ""
    confidence: str = ""
    hints_used: int = 0
    seed: int = 0
    lesson_hash: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEvent(Event):
    """An event read back, with the item it belongs to and that item's version."""

    item: str
    content_hash: str
    section: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSummary:
    """What one learner's events on one item come to, over all its versions."""

    course: str
    lesson: str
    item: str
    answers: int
    solved: bool
    last_at: datetime
    version_id: int  # the newest version that was answered


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkState:
    """Whether a rep or a lesson is done, by the last mark."""

    course: str
    lesson: str
    kind: str
    ref: str
    done: bool
    at: datetime


SETTLED_VERDICTS = ("right", "had_it", "passed")
NOT_UNDERSTOOD = "not_understood"  # stored as typed, but not an answer


def add_event(session: Session, learner_id: int, item: ItemRef, event: Event) -> None:
    """Store what was done, with the version of the item it was done on."""
    session.add(
        Attempt(
            learner_id=learner_id,
            item_version_id=_version_id(session, item, event.at),
            lesson_hash=event.lesson_hash,
            action=event.action,
            answer=dict(event.answer),
            verdict=event.verdict,
            confidence=event.confidence,
            hints_used=event.hints_used,
            seed=event.seed,
            created_at=event.at,
        )
    )
    session.flush()


def _version_id(session: Session, item: ItemRef, now: datetime) -> int:
    known = session.scalar(
        select(ItemVersion.id).where(
            ItemVersion.course == item.course,
            ItemVersion.lesson == item.lesson,
            ItemVersion.item == item.item,
            ItemVersion.content_hash == item.content_hash,
        )
    )
    if known is not None:
        return known
    version = ItemVersion(
        course=item.course,
        lesson=item.lesson,
        item=item.item,
        content_hash=item.content_hash,
        section=item.section,
        kind=item.kind,
        prompt=item.prompt,
        created_at=now,
    )
    session.add(version)
    session.flush()
    return version.id


def events_of_lesson(session: Session, learner_id: int, course: str, lesson: str) -> list[PastEvent]:
    """Everything this learner did with the items of a lesson, in any wording, oldest first."""
    query = (
        select(Attempt, ItemVersion)
        .join(ItemVersion, Attempt.item_version_id == ItemVersion.id)
        .where(Attempt.learner_id == learner_id, ItemVersion.course == course, ItemVersion.lesson == lesson)
        .order_by(Attempt.id)
    )
    return [
        PastEvent(
            action=attempt.action,
            answer=attempt.answer,
            verdict=attempt.verdict,
            confidence=attempt.confidence,
            hints_used=attempt.hints_used,
            seed=attempt.seed,
            lesson_hash=attempt.lesson_hash,
            at=attempt.created_at,
            item=version.item,
            content_hash=version.content_hash,
            section=version.section,
            prompt=version.prompt,
        )
        for attempt, version in session.execute(query)
    ]


def summaries(session: Session, learner_id: int) -> list[ItemSummary]:
    """One line per item this learner ever touched: how many answers, whether it is settled, when last."""
    settled = func.max(case((Attempt.verdict.in_(SETTLED_VERDICTS), 1), else_=0))
    counted = Attempt.action.in_(("answer", "show")) & (Attempt.verdict != NOT_UNDERSTOOD)
    answers = func.sum(case((counted, 1), else_=0))
    query = (
        select(
            ItemVersion.course,
            ItemVersion.lesson,
            ItemVersion.item,
            answers,
            settled,
            func.max(Attempt.created_at, type_=Attempt.created_at.type),
            func.max(ItemVersion.id),
        )
        .join(ItemVersion, Attempt.item_version_id == ItemVersion.id)
        .where(Attempt.learner_id == learner_id)
        .group_by(ItemVersion.course, ItemVersion.lesson, ItemVersion.item)
    )
    return [
        ItemSummary(
            course=course,
            lesson=lesson,
            item=item,
            answers=int(count),
            solved=bool(solved),
            last_at=last_at,
            version_id=version_id,
        )
        for course, lesson, item, count, solved, last_at, version_id in session.execute(query)
    ]


def wordings(session: Session, version_ids: Collection[int]) -> dict[int, tuple[str, str]]:
    """Section and prompt of these versions of items."""
    if not version_ids:
        return {}
    query = select(ItemVersion.id, ItemVersion.section, ItemVersion.prompt)
    rows = session.execute(query.where(ItemVersion.id.in_(sorted(version_ids))))
    return {version_id: (section, prompt) for version_id, section, prompt in rows}


def add_mark(
    session: Session,
    learner_id: int,
    *,
    course: str,
    lesson: str,
    kind: str,
    ref: str,
    done: bool,
    now: datetime,
) -> None:
    """Tick or untick a rep, or call a lesson done or not; the last mark counts."""
    session.add(
        Mark(
            learner_id=learner_id,
            course=course,
            lesson=lesson,
            kind=kind,
            ref=ref,
            done=done,
            created_at=now,
        )
    )
    session.flush()


def marks(
    session: Session, learner_id: int, course: str | None = None, lesson: str | None = None
) -> Sequence[MarkState]:
    """The last mark on every rep and lesson, of one lesson or of all."""
    newest = select(func.max(Mark.id)).where(Mark.learner_id == learner_id)
    if course is not None:
        newest = newest.where(Mark.course == course)
    if lesson is not None:
        newest = newest.where(Mark.lesson == lesson)
    newest = newest.group_by(Mark.course, Mark.lesson, Mark.kind, Mark.ref)
    query = select(Mark).where(Mark.id.in_(newest)).order_by(Mark.id)
    return [
        MarkState(
            course=mark.course,
            lesson=mark.lesson,
            kind=mark.kind,
            ref=mark.ref,
            done=mark.done,
            at=mark.created_at,
        )
        for mark in session.scalars(query)
    ]
