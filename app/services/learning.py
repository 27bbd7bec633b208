"""What a learner does in a lesson: read it, act on an item, tick a task, call it done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from app.curriculum.blocks import Item, Lesson
from app.services.feedback import feedback_on
from app.services.house import House, UnknownPlaceError
from app.services.item_matching import Wording, became
from app.services.item_state import ItemState, fold
from app.storage import learners, progress, reports
from app.storage.progress import Event, ItemRef, MarkState, PastEvent

MAX_TEXT = 10_000  # characters of one answer
MAX_SEED = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A lesson as one learner finds it."""

    lesson: Lesson
    states: Mapping[str, ItemState] = field(default_factory=dict)
    marks: Mapping[tuple[str, str], MarkState] = field(default_factory=dict)  # by kind and ref
    reported: frozenset[str] = frozenset()  # anchors

    def state(self, item: Item) -> ItemState:
        """Where the learner stands with an item."""
        return self.states.get(item.id) or ItemState()

    def is_done(self, kind: str, ref: str = "") -> bool:
        """Whether a rep, or the lesson, is marked as done."""
        mark = self.marks.get((kind, ref))
        return mark is not None and mark.done


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What was sent for an item. `action` is answer | show | hint | numbers | score."""

    action: str
    answer: Mapping[str, Any] = field(default_factory=dict)
    score: str = ""
    points: tuple[int, ...] = ()
    confidence: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it. With a `problem`, nothing was stored; `typed` is to be shown again.

    `token` is what the browser should remember, or None when it already does.
    """

    item: Item
    state: ItemState
    action: str
    problem: str = ""
    typed: Mapping[str, Any] | None = None
    confidence: str = ""
    token: str | None = None


def open_lesson(house: House, token: str | None, course: str, slug: str) -> Visit:
    """The lesson with everything this learner did in it. Raises UnknownPlaceError."""
    lesson = house.lesson(course, slug)
    with house.database.reading() as session:
        learner_id = learners.find(session, token)
        if learner_id is None:
            return Visit(lesson=lesson)
        events = progress.events_of_lesson(session, learner_id, course, slug)
        marks = progress.marks(session, learner_id, course, slug)
        reported = reports.anchors(session, learner_id, course, slug)
    return Visit(
        lesson=lesson,
        states=_states(lesson, events),
        marks={(mark.kind, mark.ref): mark for mark in marks},
        reported=frozenset(reported),
    )


def act_on_item(
    house: House, token: str | None, course: str, slug: str, *, item_id: str, submission: Submission
) -> Outcome:
    """Grade, store and answer one thing that was done with an item. Raises UnknownPlaceError.

    What cannot be graded is refused with the reason, and comes back as it was typed. An answer that was
    sent but not understood is stored all the same, as typed.
    """
    lesson = house.lesson(course, slug)
    item = house.item(course, slug, item_id)
    now = datetime.now(UTC)
    if problem := _refusal(item, submission):
        with house.database.reading() as session:
            learner_id = learners.find(session, token)
            state = state_of(session, learner_id, lesson, item)
        return Outcome(
            item=item,
            state=state,
            action=submission.action,
            problem=problem,
            typed=submission.answer,
            confidence=submission.confidence,
        )
    verdict = ""
    if submission.action == "answer":
        verdict = feedback_on(item, submission.answer, submission.seed, house.engine).verdict
    with house.database.writing() as session:
        learner_id, new_token = learner_for_writing(session, token, now)
        before = state_of(session, learner_id, lesson, item)
        event = _event(item, submission, before, verdict=verdict, lesson=lesson, now=now)
        progress.add_event(session, learner_id, ref_of(lesson, item), event)
        state = state_of(session, learner_id, lesson, item)
    return Outcome(item=item, state=state, action=submission.action, token=new_token)


def tick_rep(
    house: House, token: str | None, course: str, slug: str, *, rep_id: str, done: bool
) -> str | None:
    """Tick or untick a task for real life; a token to remember. Raises UnknownPlaceError."""
    lesson = house.lesson(course, slug)
    if all(rep.id != rep_id for rep in lesson.reps):
        raise UnknownPlaceError(f"Lesson {lesson.number} has no task “{rep_id[:80]}”.")
    return _mark(house, token, lesson, kind="rep", ref=rep_id, done=done)


def finish_lesson(house: House, token: str | None, course: str, slug: str, *, done: bool) -> str | None:
    """Call a lesson done, or not after all; a token to remember. Raises UnknownPlaceError."""
    return _mark(house, token, house.lesson(course, slug), kind="lesson", ref="", done=done)


def ref_of(lesson: Lesson, item: Item) -> ItemRef:
    """The item as storage knows it."""
    return ItemRef(
        course=lesson.course,
        lesson=lesson.slug,
        item=item.id,
        content_hash=item.content_hash,
        section=item.section,
        kind=item.kind.value,
        prompt=item.prompt_text,
    )


def _mark(house: House, token: str | None, lesson: Lesson, *, kind: str, ref: str, done: bool) -> str | None:
    now = datetime.now(UTC)
    with house.database.writing() as session:
        learner_id, new_token = learner_for_writing(session, token, now)
        progress.add_mark(
            session,
            learner_id,
            course=lesson.course,
            lesson=lesson.slug,
            kind=kind,
            ref=ref,
            done=done,
            now=now,
        )
    return new_token


def learner_for_writing(session: Session, token: str | None, now: datetime) -> tuple[int, str | None]:
    """The learner of this token, made at the first thing they do; and a token to remember if it is new."""
    known = learners.find(session, token)
    if known is not None:
        return known, None
    fresh = learners.new_token()
    return learners.create(session, fresh, now), fresh


def state_of(session: Session, learner_id: int | None, lesson: Lesson, item: Item) -> ItemState:
    """Where a learner stands with one item."""
    if learner_id is None:
        return ItemState()
    events = progress.events_of_lesson(session, learner_id, lesson.course, lesson.slug)
    return _states(lesson, events).get(item.id) or ItemState()


def _states(lesson: Lesson, events: list[PastEvent]) -> dict[str, ItemState]:
    """By the id of the item that each event's item is now; what became nothing is left out, never deleted."""
    here = {item.id for item in lesson.items}
    gone = {event.item: Wording(event.section, event.prompt) for event in events if event.item not in here}
    now = became(lesson.items, gone) if gone else {}
    by_item: dict[str, list[PastEvent]] = {}
    for event in events:
        by_item.setdefault(now.get(event.item, event.item), []).append(event)
    return {item.id: fold(by_item[item.id], item.content_hash) for item in lesson.items if item.id in by_item}


def _event(
    item: Item, submission: Submission, before: ItemState, *, verdict: str, lesson: Lesson, now: datetime
) -> Event:
    hints = before.hints_open if submission.seed == before.seed else 0
    seed, answer = submission.seed, submission.answer
    match submission.action:
        case "hint":
            hints = min(hints + 1, len(item.hints))
        case "numbers":
            seed, hints = (max(before.seed, submission.seed) + 1) % MAX_SEED, 0
        case "score":
            verdict, answer = _score(item, submission)
    return Event(
        action=submission.action,
        answer=answer,
        verdict=verdict,
        confidence=submission.confidence,
        hints_used=hints,
        seed=seed,
        lesson_hash=lesson.content_hash,
        at=now,
    )


def _score(item: Item, submission: Submission) -> tuple[str, Mapping[str, Any]]:
    if not item.rubric:
        return submission.score, {}
    got = sum(item.rubric[index].points for index in submission.points)
    return ("passed" if got >= item.pass_points else "not_passed"), {"points": list(submission.points)}


def _refusal(item: Item, submission: Submission) -> str:
    """Why this cannot be taken, or nothing."""
    length = sum(len(text) for text in _texts(submission.answer))
    if length > MAX_TEXT:
        return (
            f"Your text has {length:,} characters; at most {MAX_TEXT:,} can be kept. "
            "Shorten it and send it again; it is still in the box."
        )
    if submission.action == "answer":
        return _nothing_to_grade(item, submission.answer)
    if (
        submission.action == "score"
        and not item.rubric
        and submission.score not in ("had_it", "partly", "not_yet")
    ):
        return "Choose one of: had it, partly, not yet."
    if any(not 0 <= index < len(item.rubric) for index in submission.points):
        return "One of the ticked points is not in this item any more. Load the page again."
    return ""


def _texts(answer: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for value in answer.values():
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, Mapping):
            found += [f"{name}{inner}" for name, inner in value.items()]
    return found


def _nothing_to_grade(item: Item, answer: Mapping[str, Any]) -> str:
    if "places" in answer:
        places = sorted(str(place) for place in answer["places"].values())
        wanted = sorted(str(place) for place in range(1, len(item.options) + 1))
        return "" if places == wanted else f"Give every line its own place, 1 to {len(item.options)}."
    if "options" in answer:
        return _not_chosen(item, answer["options"])
    if "values" in answer:
        empty = [name for name, value in answer["values"].items() if not str(value).strip()]
        return f"Fill in {', '.join(name.replace('_', ' ') for name in empty)}." if empty else ""
    for key, problem in (
        ("text", "Write something first: a few words are enough."),
        ("value", "Type a number first."),
    ):
        if key in answer and not str(answer[key]).strip():
            return problem
    return ""


def _not_chosen(item: Item, letters: Sequence[str]) -> str:
    known = {option.letter for option in item.options}
    chosen = [letter for letter in letters if letter in known]
    if not chosen:
        return "Choose an option first."
    return "Choose one option only." if len(chosen) > 1 and not item.multiple else ""
