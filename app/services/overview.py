"""Where a learner stands in every course: what is done, what is begun, what comes next."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy.orm import Session

from app.curriculum.blocks import Lesson
from app.curriculum.course import Course, LessonEntry, Library
from app.services.house import House
from app.services.item_matching import Wording, became
from app.storage import learners, progress, reports
from app.storage.progress import ItemSummary, MarkState


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonStanding:
    """One lesson of a course, written or planned, with this learner's progress."""

    course: str
    slug: str
    number: int
    title: str
    minutes: int = 0
    planned: bool = False
    items: int = 0
    answered: int = 0
    solved: int = 0
    reps: int = 0
    reps_done: int = 0
    done: bool = False
    last_at: datetime | None = None

    @property
    def status(self) -> str:
        """done | half | none | planned. A lesson is done when its learner says so."""
        if self.planned:
            return "planned"
        if self.done:
            return "done"
        return "half" if self.answered or self.reps_done else "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStanding:
    """A part of the arc."""

    title: str
    intro_html: str
    lessons: tuple[LessonStanding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseStanding:
    """A course with this learner's progress. `gone` counts answered items that have left the course."""

    course: Course
    parts: tuple[PartStanding, ...]
    gone: int = 0

    @property
    def lessons(self) -> tuple[LessonStanding, ...]:
        """All lessons in their order, written and planned."""
        return tuple(lesson for part in self.parts for lesson in part.lessons)

    @property
    def written(self) -> tuple[LessonStanding, ...]:
        """The lessons that can be opened."""
        return tuple(lesson for lesson in self.lessons if not lesson.planned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Everything at once."""

    courses: tuple[CourseStanding, ...]
    started: bool = False
    reports: int = 0
    last: LessonStanding | None = None  # the lesson of the last thing done

    @property
    def lessons(self) -> tuple[LessonStanding, ...]:
        """The written lessons of all courses."""
        return tuple(lesson for course in self.courses for lesson in course.written)

    @property
    def next(self) -> LessonStanding | None:
        """What to open now: the lesson that was left open last, else the first one that is not done."""
        if self.last is not None and not self.last.done:
            return self.last
        return next_after(self.last, self.lessons)


def next_after(last: LessonStanding | None, lessons: Sequence[LessonStanding]) -> LessonStanding | None:
    """The first lesson after `last` that is not done, else the first at all that is not done."""
    unfinished = [lesson for lesson in lessons if not lesson.done]
    if last is not None and last in lessons:
        after = lessons[lessons.index(last) + 1 :]
        unfinished = [lesson for lesson in after if not lesson.done] or unfinished
    return unfinished[0] if unfinished else None


def overview(house: House, token: str | None) -> Overview:
    """Where this learner stands in every course."""
    summaries: Sequence[ItemSummary] = ()
    marks: Sequence[MarkState] = ()
    sent = 0
    with house.database.reading() as session:
        learner_id = learners.find(session, token)
        if learner_id is not None:
            summaries = _as_of_now(session, house.library(), progress.summaries(session, learner_id))
            marks = progress.marks(session, learner_id)
            sent = reports.count(session, learner_id)
    touched = _Touched(summaries, marks)
    courses = tuple(_course(course, touched) for course in in_order(house.library().courses.values()))
    known = [lesson for course in courses for lesson in course.written if lesson.last_at is not None]
    return Overview(
        courses=courses,
        started=bool(summaries or marks or sent),
        reports=sent,
        last=max(known, key=lambda lesson: lesson.last_at or datetime.min, default=None),
    )


def _as_of_now(session: Session, library: Library, summaries: Sequence[ItemSummary]) -> Sequence[ItemSummary]:
    """The summaries under the ids that their items have now; items that became nothing keep theirs."""
    gone: dict[tuple[str, str], list[ItemSummary]] = {}
    for line in summaries:
        lesson = library.lesson(line.course, line.lesson)
        if lesson is not None and lesson.item(line.item) is None:
            gone.setdefault((line.course, line.lesson), []).append(line)
    asked = progress.wordings(session, {line.version_id for lines in gone.values() for line in lines})
    renamed: dict[tuple[str, str, str], str] = {}
    for (topic, slug), lines in gone.items():
        lesson = library.lesson(topic, slug)
        wordings = {line.item: Wording(*asked[line.version_id]) for line in lines}
        for old, new in became(lesson.items if lesson else (), wordings).items():
            renamed[topic, slug, old] = new
    return [
        replace(line, item=renamed.get((line.course, line.lesson, line.item), line.item))
        for line in summaries
    ]


def in_order(courses: Iterable[Course]) -> list[Course]:
    """By `order` in the front matter of a course's README; else the longer course first."""

    def place(course: Course) -> tuple[float, int, str]:
        order = course.readme.front_matter.get("order") if course.readme else None
        number = float(order) if isinstance(order, int | float) else float("inf")
        return number, -len(course.entries), course.topic

    return sorted(courses, key=place)


@dataclass(slots=True)
class _Touched:
    """What a learner did, by course and lesson."""

    summaries: Iterable[ItemSummary]
    marks: Iterable[MarkState]
    items: dict[tuple[str, str], dict[str, ItemSummary]] = field(default_factory=dict)
    done: dict[tuple[str, str], dict[tuple[str, str], MarkState]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in self.summaries:
            lines = self.items.setdefault((line.course, line.lesson), {})
            lines[line.item] = _merged(lines.get(line.item), line)
        for mark in self.marks:
            self.done.setdefault((mark.course, mark.lesson), {})[mark.kind, mark.ref] = mark


def _merged(one: ItemSummary | None, other: ItemSummary) -> ItemSummary:
    """Two wordings of one item as one line."""
    if one is None:
        return other
    return replace(
        other,
        answers=one.answers + other.answers,
        solved=one.solved or other.solved,
        last_at=max(one.last_at, other.last_at),
    )


def _course(course: Course, touched: _Touched) -> CourseStanding:
    parts = tuple(
        PartStanding(
            title=part.title,
            intro_html=part.intro_html,
            lessons=tuple(
                _lesson(course.topic, entry, course.lessons.get(entry.slug), touched)
                for entry in part.lessons
            ),
        )
        for part in course.parts
    )
    answered = {
        (slug, item)
        for (topic, slug), lines in touched.items.items()
        if topic == course.topic
        for item, line in lines.items()
        if line.answers
    }
    here = {(lesson.slug, item.id) for lesson in course.lessons.values() for item in lesson.items}
    return CourseStanding(course=course, parts=parts, gone=len(answered - here))


def _lesson(topic: str, entry: LessonEntry, lesson: Lesson | None, touched: _Touched) -> LessonStanding:
    if lesson is None:
        return LessonStanding(
            course=topic,
            slug=entry.slug,
            number=entry.number,
            title=entry.title,
            minutes=entry.minutes,
            planned=True,
        )
    lines: Mapping[str, ItemSummary] = touched.items.get((topic, lesson.slug), {})
    marks = touched.done.get((topic, lesson.slug), {})
    here = [lines[item.id] for item in lesson.items if item.id in lines]
    moments = [line.last_at for line in lines.values()] + [mark.at for mark in marks.values()]
    finished = marks.get(("lesson", ""))
    return LessonStanding(
        course=topic,
        slug=lesson.slug,
        number=lesson.number or entry.number,
        title=lesson.title,
        minutes=lesson.minutes or entry.minutes,
        items=len(lesson.items),
        answered=sum(line.answers > 0 for line in here),
        solved=sum(line.solved for line in here),
        reps=len(lesson.reps),
        reps_done=sum(marks[key].done for rep in lesson.reps if (key := ("rep", rep.id)) in marks),
        done=finished is not None and finished.done,
        last_at=max(moments, default=None),
    )
