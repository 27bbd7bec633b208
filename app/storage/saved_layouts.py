"""Layouts that learners keep under a name."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.storage.tables import SavedLayout

MOST_NUMBER = 2**63 - 1  # what the database can hold; no row has a larger one


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLayout:
    """A saved layout as it stands."""

    id: int
    name: str
    query: str
    created_at: datetime
    changed_at: datetime


def add(session: Session, learner_id: int, name: str, query: str, now: datetime) -> int:
    """Keep a layout; its number."""
    row = SavedLayout(learner_id=learner_id, name=name, query=query, created_at=now, changed_at=now)
    session.add(row)
    session.flush()
    return row.id


def of_learner(session: Session, learner_id: int) -> list[StoredLayout]:
    """This learner's layouts, the newest first."""
    query = select(SavedLayout).where(SavedLayout.learner_id == learner_id).order_by(SavedLayout.id.desc())
    return [_stored(row) for row in session.scalars(query)]


def count(session: Session, learner_id: int) -> int:
    """How many layouts this learner keeps."""
    return session.scalar(select(func.count()).where(SavedLayout.learner_id == learner_id)) or 0


def rename(session: Session, learner_id: int, layout_id: int, name: str, now: datetime) -> bool:
    """Give a layout of this learner another name; whether there is such a one."""
    if not 0 < layout_id <= MOST_NUMBER:
        return False
    row = session.scalar(
        select(SavedLayout).where(SavedLayout.id == layout_id, SavedLayout.learner_id == learner_id)
    )
    if row is None:
        return False
    row.name, row.changed_at = name, now
    session.flush()
    return True


def remove(session: Session, learner_id: int, layout_id: int) -> None:
    """Forget a layout of this learner; one that is gone already is no fault."""
    if not 0 < layout_id <= MOST_NUMBER:
        return
    session.execute(
        delete(SavedLayout).where(SavedLayout.id == layout_id, SavedLayout.learner_id == learner_id)
    )


def _stored(row: SavedLayout) -> StoredLayout:
    return StoredLayout(
        id=row.id, name=row.name, query=row.query, created_at=row.created_at, changed_at=row.changed_at
    )
