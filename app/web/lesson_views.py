"""A lesson as the page shows it: contents, sections, items, tasks, what comes before and after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from app.curriculum.blocks import Item, Lesson, Widget
from app.curriculum.course import LessonEntry
from app.services.courses import Place
from app.services.learning import Visit
from app.web.item_parts import ItemView
from app.web.lesson_contents import Contents, contents_of
from app.web.lesson_sections import Section, lesson_url, report_url, sections_of
from app.web.words import day


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The lesson before or after; without an address it is not written yet."""

    number: int
    title: str
    minutes: int = 0
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonView:
    """Everything that pages/lesson.html shows."""

    url: str
    course_url: str
    course_title: str
    part_words: str
    title: str
    heading: str
    headnote: Sequence[tuple[str, str]]
    objectives: Sequence[str]
    contents: "Contents"
    sections: Sequence[Section]
    closing_html: str
    report_url: str
    previous: Neighbour | None
    next: Neighbour | None
    jump: Neighbour | None
    end: "End"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a lesson: done, or what is still open."""

    url: str
    done: bool
    words: str


def lesson_view(
    visit: Visit,
    place: Place,
    *,
    item: Callable[[Item], ItemView | None],
    widget: Callable[[Widget], Any],
    now: datetime,
) -> LessonView:
    """The view of a lesson; `item` and `widget` make the views of what is inside."""
    lesson = visit.lesson
    sections = sections_of(visit, item, widget)
    return LessonView(
        url=lesson_url(lesson),
        course_url=f"/courses/{lesson.course}",
        course_title=place.course.title,
        part_words=place.part.title.replace(". ", ", ") if place.part else "",
        title=f"{lesson.number}. {lesson.title}" if lesson.number else lesson.title,
        heading=lesson.title,
        headnote=[
            (term, html)
            for term, html in (
                ("Mission", lesson.mission_html),
                ("Primary source", lesson.source_html),
                ("Before this", lesson.prerequisites_html),
            )
            if html
        ],
        objectives=lesson.objectives,
        contents=contents_of(sections, visit),
        sections=sections,
        closing_html=lesson.closing_html,
        report_url=report_url(lesson, "lesson"),
        previous=_neighbour(lesson, place.previous),
        next=_neighbour(lesson, place.next),
        jump=_neighbour(lesson, place.jump),
        end=end_view(visit, now),
    )


def _neighbour(lesson: Lesson, entry: LessonEntry | None) -> Neighbour | None:
    if entry is None:
        return None
    url = f"/courses/{quote(lesson.course)}/lessons/{quote(entry.slug)}" if entry.published else ""
    return Neighbour(number=entry.number, title=entry.title, minutes=entry.minutes, url=url)


def end_view(visit: Visit, now: datetime) -> End:
    """The end of the lesson for this learner."""
    lesson = visit.lesson
    mark = visit.marks.get(("lesson", ""))
    url = f"{lesson_url(lesson)}/done"
    if mark is not None and mark.done:
        return End(url=url, done=True, words=f"You marked this lesson as done {day(mark.at, now)}.")
    still_open = sum(not visit.state(item).touched for item in lesson.items)
    if not still_open:
        return End(url=url, done=False, words="You have answered everything here.")
    items = "item" if len(lesson.items) == 1 else "items"
    words = f"{still_open} of {len(lesson.items)} {items} {'is' if still_open == 1 else 'are'} still open."
    return End(url=url, done=False, words=f"{words} Nothing is locked.")
