"""Saved layouts come back as they were, belong to one learner, and go with them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete
from sqlalchemy.orm import Session

from app.settings import Settings
from app.storage import learners, saved_layouts
from app.storage.database import Database
from app.storage.tables import Learner

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@pytest.fixture
def session(settings: Settings) -> Iterator[Session]:
    database = Database(settings.database_url)
    with database.writing() as session:
        yield session
    database.close()


def test_what_is_saved_comes_back_newest_first(session: Session) -> None:
    one = learners.create(session, "a", NOW)
    saved_layouts.add(session, one, "first", "model=gpt3-175b", NOW)
    saved_layouts.add(session, one, "second", "model=llama2-7b&num_nodes=2", NOW)
    found = saved_layouts.of_learner(session, one)
    assert [(layout.name, layout.query) for layout in found] == [
        ("second", "model=llama2-7b&num_nodes=2"), ("first", "model=gpt3-175b"),
    ]  # fmt: skip
    assert found[0].created_at == NOW
    assert saved_layouts.count(session, one) == 2


def test_nobody_elses_layout_is_renamed_or_deleted(session: Session) -> None:
    one, other = learners.create(session, "a", NOW), learners.create(session, "b", NOW)
    number = saved_layouts.add(session, one, "mine", "model=gpt3-175b", NOW)
    assert not saved_layouts.rename(session, other, number, "yours", NOW)
    saved_layouts.remove(session, other, number)
    assert [layout.name for layout in saved_layouts.of_learner(session, one)] == ["mine"]
    later = NOW + timedelta(hours=1)
    assert saved_layouts.rename(session, one, number, "new", later)
    (found,) = saved_layouts.of_learner(session, one)
    assert (found.name, found.created_at, found.changed_at) == ("new", NOW, later)
    saved_layouts.remove(session, one, number)
    assert saved_layouts.of_learner(session, one) == []


def test_a_learners_layouts_go_with_the_learner(session: Session) -> None:
    one = learners.create(session, "a", NOW)
    saved_layouts.add(session, one, "mine", "model=gpt3-175b", NOW)
    session.execute(delete(Learner).where(Learner.id == one))
    assert saved_layouts.count(session, one) == 0
