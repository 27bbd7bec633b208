"""What is stored about learning comes back as it was, and the last mark counts."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.exc import IntegrityError, StatementError
from sqlalchemy.orm import Session

from app.settings import Settings
from app.storage import learners, progress, reports
from app.storage.database import Database

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
REF = progress.ItemRef(
    course="training",
    lesson="0010-degrees-in-order",
    item="first-cut",
    content_hash="a" * 64,
    section="Practice",
    kind="open",
    prompt="What runs out first?",
)


def event(action: str = "answer", **changes: object) -> progress.Event:
    given = {"action": action, "lesson_hash": "l1", "at": NOW, **changes}
    return progress.Event(**given)  # type: ignore[arg-type]


@pytest.fixture
def session(settings: Settings) -> Iterator[Session]:
    database = Database(settings.database_url)
    with database.writing() as session:
        yield session
    database.close()


@pytest.fixture
def ada(session: Session) -> int:
    return learners.create(session, "token of ada", NOW)


def test_a_learner_is_found_by_the_token_alone(session: Session, ada: int) -> None:
    assert learners.find(session, "token of ada") == ada
    assert learners.find(session, "token of bob") is None
    assert learners.find(session, "") is None
    assert learners.find(session, None) is None


def test_the_token_itself_is_not_stored(session: Session, ada: int) -> None:
    rows = session.connection().exec_driver_sql("SELECT * FROM learners").all()
    assert len(rows) == 1
    assert "token of ada" not in str(rows)


def test_tokens_are_long_and_differ() -> None:
    tokens = {learners.new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert min(len(token) for token in tokens) >= 43  # 256 bits in base 64


def test_an_attempt_comes_back_with_what_was_typed(session: Session, ada: int) -> None:
    typed = {"text": "Memory – zuerst der Speicher 内存 \U0001f9e0\n\twith <b>marks</b> & 'quotes'"}
    progress.add_event(
        session, ada, REF, event(answer=typed, verdict="partly", confidence="sure", hints_used=2, seed=7)
    )
    (back,) = progress.events_of_lesson(session, ada, REF.course, REF.lesson)
    assert back.answer == typed
    assert (back.verdict, back.confidence, back.hints_used, back.seed) == ("partly", "sure", 2, 7)
    assert back.at == NOW
    assert (back.item, back.content_hash) == (REF.item, REF.content_hash)


def test_moments_are_utc_whatever_the_zone(session: Session, ada: int) -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    progress.add_event(session, ada, REF, event(at=elsewhere))
    (back,) = progress.events_of_lesson(session, ada, REF.course, REF.lesson)
    assert back.at == NOW
    assert back.at.utcoffset() == timedelta(0)


def test_a_moment_without_a_zone_is_refused(session: Session, ada: int) -> None:
    with pytest.raises(StatementError, match="time zone"):
        progress.add_event(session, ada, REF, event(at=datetime(2026, 3, 1)))


def test_an_edited_item_is_a_new_version_and_old_attempts_stay(session: Session, ada: int) -> None:
    edited = dataclasses.replace(REF, content_hash="b" * 64, prompt="What runs out first, and where?")
    for ref in (REF, edited, REF):
        progress.add_event(session, ada, ref, event())
    back = progress.events_of_lesson(session, ada, REF.course, REF.lesson)
    assert [past.content_hash[0] for past in back] == ["a", "b", "a"]
    versions = session.connection().exec_driver_sql("SELECT count(*) FROM item_versions").scalar()
    assert versions == 2


def test_learners_and_lessons_do_not_mix(session: Session, ada: int) -> None:
    bob = learners.create(session, "token of bob", NOW)
    other = dataclasses.replace(REF, lesson="0013-all-three")
    progress.add_event(session, ada, REF, event(answer={"text": "ada"}))
    progress.add_event(session, bob, REF, event(answer={"text": "bob"}))
    progress.add_event(session, ada, other, event(answer={"text": "ada, later"}))
    (back,) = progress.events_of_lesson(session, ada, REF.course, REF.lesson)
    assert back.answer == {"text": "ada"}
    assert (back.section, back.prompt) == (REF.section, REF.prompt)


def test_a_summary_counts_answers_and_remembers_the_best(session: Session, ada: int) -> None:
    later = NOW + timedelta(days=1)
    progress.add_event(session, ada, REF, event(verdict="wrong"))
    progress.add_event(session, ada, REF, event("hint"))
    progress.add_event(session, ada, REF, event(verdict="right"))
    progress.add_event(session, ada, REF, event(verdict="wrong", at=later))
    other = dataclasses.replace(REF, item="only-a-hint")
    progress.add_event(session, ada, other, event("hint"))
    lines = {line.item: line for line in progress.summaries(session, ada)}
    assert (lines["first-cut"].answers, lines["first-cut"].solved) == (3, True)
    assert lines["first-cut"].last_at == later
    assert (lines["only-a-hint"].answers, lines["only-a-hint"].solved) == (0, False)


def test_what_was_not_understood_is_no_answer(session: Session, ada: int) -> None:
    progress.add_event(session, ada, REF, event(verdict="not_understood"))
    (line,) = progress.summaries(session, ada)
    assert line.answers == 0
    progress.add_event(session, ada, REF, event("show", verdict=""))
    (line,) = progress.summaries(session, ada)
    assert line.answers == 1


def test_the_last_mark_counts(session: Session, ada: int) -> None:
    place = {"course": "training", "lesson": "0010-degrees-in-order", "kind": "rep"}
    for ref, done in (("read", True), ("sketch", True), ("read", False)):
        progress.add_mark(session, ada, **place, ref=ref, done=done, now=NOW)
    progress.add_mark(
        session, ada, course="serving", lesson="0006-x", kind="lesson", ref="", done=True, now=NOW
    )
    here = progress.marks(session, ada, "training", "0010-degrees-in-order")
    assert {mark.ref: mark.done for mark in here} == {"read": False, "sketch": True}
    assert len(progress.marks(session, ada)) == 3


def test_foreign_keys_are_on(session: Session) -> None:
    with pytest.raises(IntegrityError):
        progress.add_event(session, 4711, REF, event())
    session.rollback()


def test_reports_belong_to_their_learner(session: Session, ada: int) -> None:
    bob = learners.create(session, "token of bob", NOW)
    report = reports.NewReport(
        course="training",
        lesson="0010-degrees-in-order",
        lesson_hash="l1",
        item="first-cut",
        anchor="q-first-cut",
        content_hash="a" * 64,
        place="Practice 1",
        answer={"text": "weights"},
        reason="wording",
        text="What does “first” mean here?",
    )
    number = reports.add(session, ada, report, NOW)
    reports.add(session, ada, dataclasses.replace(report, text="second"), NOW)
    mine = reports.of_learner(session, ada)
    assert [one.text for one in mine] == ["second", "What does “first” mean here?"]
    assert mine[1].state == "open"
    assert mine[1].answer == {"text": "weights"}
    assert reports.of_learner(session, bob) == []
    assert reports.one_of_learner(session, bob, number) is None
    assert reports.one_of_learner(session, ada, number) == mine[1]


def test_writers_at_once_wait_for_each_other(settings: Settings) -> None:
    database = Database(settings.database_url)
    with database.writing() as session:
        owner = learners.create(session, "token", NOW)

    def write(number: int) -> None:
        with database.writing() as session:
            before = len(progress.events_of_lesson(session, owner, REF.course, REF.lesson))
            progress.add_event(session, owner, REF, event(answer={"text": str(number)}, seed=before))

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(write, range(40)))
    with database.reading() as session:
        events = progress.events_of_lesson(session, owner, REF.course, REF.lesson)
    database.close()
    assert sorted(int(past.answer["text"]) for past in events) == list(range(40))
    assert [past.seed for past in events] == list(range(40)), "each saw what the one before it wrote"
