"""The tables. Events are only ever added; what a person sees is folded from them."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.database import Base


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC: aware in Python, without a zone in the database, the same on every database."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Into the database; a moment without a zone is refused."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs a time zone")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Out of the database."""
        return None if value is None else value.replace(tzinfo=UTC)


class Learner(Base):
    """Someone whose browser holds a token. Only the token's hash is kept; no name, no address."""

    __tablename__ = "learners"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ItemVersion(Base):
    """An item as it stood when someone met it: after an edit, attempts on the old wording stay with it."""

    __tablename__ = "item_versions"
    __table_args__ = (UniqueConstraint("course", "lesson", "item", "content_hash"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    course: Mapped[str] = mapped_column(String(100))
    lesson: Mapped[str] = mapped_column(String(200))
    item: Mapped[str] = mapped_column(String(200))
    content_hash: Mapped[str] = mapped_column(String(64))
    section: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(20))
    prompt: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Attempt(Base):
    """One thing a learner did with an item, with everything that was typed. Never changed, never deleted.

    `action` is answer | show | hint | numbers | score. `verdict` is right | wrong | partly | not_understood
    for an answer that is graded, had_it | partly | not_yet | passed | not_passed for a score the learner
    gave, else empty.
    """

    __tablename__ = "attempts"
    __table_args__ = (
        CheckConstraint("hints_used >= 0", name="hints_not_negative"),
        Index("ix_attempts_learner_item", "learner_id", "item_version_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    learner_id: Mapped[int] = mapped_column(ForeignKey("learners.id", ondelete="CASCADE"))
    item_version_id: Mapped[int] = mapped_column(ForeignKey("item_versions.id"), index=True)
    lesson_hash: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(20))
    answer: Mapped[dict[str, Any]] = mapped_column(JSON)
    verdict: Mapped[str] = mapped_column(String(20))
    confidence: Mapped[str] = mapped_column(String(20))
    hints_used: Mapped[int]
    seed: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Mark(Base):
    """A task for real life ticked or unticked, a lesson called done or not; the last one counts."""

    __tablename__ = "marks"
    __table_args__ = (Index("ix_marks_learner_lesson", "learner_id", "course", "lesson"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    learner_id: Mapped[int] = mapped_column(ForeignKey("learners.id", ondelete="CASCADE"))
    course: Mapped[str] = mapped_column(String(100))
    lesson: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(20))  # rep | lesson
    ref: Mapped[str] = mapped_column(String(200))  # the rep's id; empty for a lesson
    done: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Report(Base):
    """Something a learner found unclear, with what they had answered, and what came of it."""

    __tablename__ = "reports"

    id: Mapped[int] = mapped_column(primary_key=True)
    learner_id: Mapped[int] = mapped_column(ForeignKey("learners.id", ondelete="CASCADE"), index=True)
    course: Mapped[str] = mapped_column(String(100))
    lesson: Mapped[str] = mapped_column(String(200))
    lesson_hash: Mapped[str] = mapped_column(String(64))
    item: Mapped[str] = mapped_column(String(200))  # empty: about a section
    anchor: Mapped[str] = mapped_column(String(200))  # where on the page
    content_hash: Mapped[str] = mapped_column(String(64))  # of the item; of the lesson for a section
    place: Mapped[str] = mapped_column(Text)  # in words, as the learner saw it
    seed: Mapped[int]
    answer: Mapped[dict[str, Any]] = mapped_column(JSON)
    hints_used: Mapped[int]
    reason: Mapped[str] = mapped_column(String(40))
    text: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20))  # open | answered | fixed | declined
    reply: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SavedLayout(Base):
    """A layout that a learner gave a name. `query` is the calculator's address without its path."""

    __tablename__ = "saved_layouts"

    id: Mapped[int] = mapped_column(primary_key=True)
    learner_id: Mapped[int] = mapped_column(ForeignKey("learners.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    query: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
