"""Courses as pages show them: the map of an arc, where a learner stands, what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.curriculum.course import Course
from app.services.overview import CourseStanding, LessonStanding, Overview, next_after
from app.web.lesson_contents import minutes_left, short
from app.web.words import counted, day


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonLine:
    """A lesson in a map, an arc or a table."""

    url: str
    number: int
    title: str
    short_title: str
    course_title: str
    status: str
    here: bool
    items: int
    answered: int
    solved: int
    reps: int
    reps_done: int
    progress_words: str
    status_words: str
    last_words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLine:
    """A part of the arc."""

    label: str
    title: str
    intro_html: str
    done: bool
    lessons: Sequence[LessonLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseLine:
    """A course: map, words, what to open next."""

    topic: str
    url: str
    title: str
    description: str
    count_words: str
    parts: Sequence[PartLine]
    lessons: Sequence[LessonLine]  # written and touched, for the table of progress
    next: LessonLine | None
    action: str
    gone_words: str  # of answered items that have left the course; empty when there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A readout."""

    words: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """The start page."""

    started: bool
    kicker: str
    action: str
    next: LessonLine | None
    courses: Sequence[CourseLine]
    standing: Sequence[Standing]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressView:
    """The page of one's own progress."""

    started: bool
    sentence: str
    standing: Sequence[Standing]
    courses: Sequence[CourseLine]


STATUS_WORDS = {"done": "done", "half": "in progress", "none": "not started", "planned": "planned"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLine:
    """A page beside the lessons."""

    url: str
    title: str
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideView:
    """What a course says about itself, and what stands beside its lessons."""

    intro_html: str
    mission_html: str
    success: Sequence[str]
    links: Sequence[LinkLine]


def beside_view(course: Course) -> BesideView:
    """The words of a course and the pages beside its lessons."""
    url = f"/courses/{course.topic}"
    links = []
    if course.glossary is not None:
        links.append(
            LinkLine(url=f"{url}/glossary", title="Glossary", words=counted(len(course.terms), "word"))
        )
    if course.resources is not None:
        words = course.resources.description.rstrip(".")
        links.append(LinkLine(url=f"{url}/resources", title="Resources", words=words))
    links += [
        LinkLine(url=f"{url}/reference/{slug}", title=page.title, words=page.description.rstrip("."))
        for slug, page in course.references.items()
    ]
    return BesideView(
        intro_html=course.intro_html, mission_html=course.mission_html, success=course.success, links=links
    )


def part_label(title: str) -> tuple[str, str]:
    """ "Part I. What must fit" as its two halves; another title as it is."""
    label, dot, rest = title.partition(". ")
    return (label, rest) if dot and label.lower().startswith("part ") else ("", title)


def home_view(standing: Overview, now: datetime) -> HomeView:
    """The start page for this learner."""
    courses = [course_line(course, standing.next, now) for course in standing.courses]
    following = standing.next
    line = _line(following, _title_of(standing, following), following, now) if following else None
    return HomeView(
        started=standing.started,
        kicker=_kicker(standing, now),
        action=_action(following) if following else "",
        next=line,
        courses=courses,
        standing=readouts(standing),
    )


def progress_view(standing: Overview, now: datetime) -> ProgressView:
    """Everything done, course by course."""
    done = sum(lesson.done for lesson in standing.lessons)
    answered = sum(lesson.answered for lesson in standing.lessons)
    return ProgressView(
        started=standing.started,
        sentence=f"You have finished {counted(done, 'lesson')} and answered {counted(answered, 'item')}. "
        "It is kept for this browser.",
        standing=readouts(standing),
        courses=[course_line(course, standing.next, now) for course in standing.courses],
    )


def readouts(standing: Overview) -> list[Standing]:
    """Lessons, items, tasks and reports, counted."""
    lessons = standing.lessons
    return [
        Standing(words="Lessons done", value=_of(sum(one.done for one in lessons), len(lessons))),
        Standing(
            words="Items answered",
            value=_of(sum(one.answered for one in lessons), sum(one.items for one in lessons)),
        ),
        Standing(words="Right or recalled", value=str(sum(one.solved for one in lessons))),
        Standing(
            words="Tasks done in real life",
            value=_of(sum(one.reps_done for one in lessons), sum(one.reps for one in lessons)),
        ),
        Standing(words="Reports sent", value=str(standing.reports)),
    ]


def course_line(standing: CourseStanding, here: LessonStanding | None, now: datetime) -> CourseLine:
    """One course for the maps, the course page and the table of progress."""
    course = standing.course
    written = standing.written
    done = sum(lesson.done for lesson in written)
    planned = len(standing.lessons) - len(written)
    words = f"{done} of {len(written)} {'lesson' if len(written) == 1 else 'lessons'} done"
    following = here if here in written else next_after(None, written)
    return CourseLine(
        topic=course.topic,
        url=f"/courses/{course.topic}",
        title=course.title,
        description=course.description.rstrip("."),
        count_words=f"{words}, {planned} planned" if planned else words,
        parts=[
            PartLine(
                label=part_label(part.title)[0],
                title=part_label(part.title)[1],
                intro_html=part.intro_html,
                done=bool(part.lessons) and all(lesson.done for lesson in part.lessons),
                lessons=[_line(lesson, course.title, here, now) for lesson in part.lessons],
            )
            for part in standing.parts
        ],
        lessons=[_line(lesson, course.title, here, now) for lesson in written],
        next=_line(following, course.title, here, now) if following else None,
        action=_action(following) if following else "",
        gone_words=f"{counted(standing.gone, 'item')} that {'has' if standing.gone == 1 else 'have'}"
        if standing.gone
        else "",
    )


def _line(
    lesson: LessonStanding, course_title: str, here: LessonStanding | None, now: datetime
) -> LessonLine:
    return LessonLine(
        url=f"/courses/{lesson.course}/lessons/{lesson.slug}",
        number=lesson.number,
        title=lesson.title,
        short_title=short(lesson.title),
        course_title=course_title,
        status=lesson.status,
        here=lesson == here,
        items=lesson.items,
        answered=lesson.answered,
        solved=lesson.solved,
        reps=lesson.reps,
        reps_done=lesson.reps_done,
        progress_words=_progress_words(lesson),
        status_words=STATUS_WORDS[lesson.status],
        last_words=day(lesson.last_at, now).removeprefix("on ") if lesson.last_at else "–",
    )


def _progress_words(lesson: LessonStanding) -> str:
    if lesson.done:
        return "done"
    if lesson.answered:
        return f"{lesson.answered} of {lesson.items} items"
    return f"{lesson.minutes} min" if lesson.minutes else ""


def _title_of(standing: Overview, lesson: LessonStanding | None) -> str:
    titles = {course.course.topic: course.course.title for course in standing.courses}
    return titles.get(lesson.course, "") if lesson else ""


def _kicker(standing: Overview, now: datetime) -> str:
    if standing.last is not None and standing.last == standing.next and standing.last.last_at is not None:
        return f"You stopped here {day(standing.last.last_at, now)}"
    return "Next for you"


def _action(lesson: LessonStanding) -> str:
    left = minutes_left(lesson.minutes, lesson.answered, lesson.items)
    if lesson.status == "none":
        return f"Start lesson {lesson.number}, about {lesson.minutes} minutes" if lesson.minutes else "Start"
    if not left:
        return "Finish this lesson" if not lesson.done else "Read it again"
    return f"Continue, about {left} minutes"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}"
