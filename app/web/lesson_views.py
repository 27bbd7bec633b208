"""A lesson as the page shows it: contents, sections, items, tasks, what comes before and after."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from app.curriculum.blocks import Heading, Item, Lesson, Prose, Rep, Widget
from app.curriculum.course import LessonEntry
from app.services.courses import Place
from app.services.learning import Visit
from app.web.item_parts import ItemView
from app.web.words import day

WARM_UP = "Warm-up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A run of one thing inside a section."""

    kind: str  # prose | item | widget | reps
    html: str = ""
    place: str = ""
    report_url: str = ""
    reported: bool = False
    item: ItemView | None = None
    widget: Any = None
    reps: Sequence["RepView"] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepView:
    """A task for real life."""

    anchor: str
    url: str
    html: str
    done: bool


@dataclass(slots=True, kw_only=True)
class Section:
    """What stands under one heading."""

    anchor: str = ""
    level: int = 2
    title: str = ""
    title_html: str = ""
    kicker: str = ""
    small: bool = False  # a heading with nothing of its own before its first sub-heading
    groups: list[Group] = field(default_factory=list)
    item_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TocEntry:
    """A line of the contents column."""

    anchor: str
    title: str
    status: str = ""  # done | half | ""


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
class Contents:
    """The contents column: headings with their marks, what is left. `swapped`: sent beside an item."""

    title: str
    entries: Sequence[TocEntry]
    time_words: str
    count_words: str
    note: str = ""
    swapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a lesson: done, or what is still open."""

    url: str
    done: bool
    words: str


def lesson_url(lesson: Lesson) -> str:
    """The lesson's address."""
    return f"/courses/{quote(lesson.course)}/lessons/{quote(lesson.slug)}"


def report_url(lesson: Lesson, anchor: str) -> str:
    """Where the form for "unclear?" at this place is."""
    return f"/reports/new?lesson={quote(lesson.course)}/lessons/{quote(lesson.slug)}&at={quote(anchor)}"


def rep_view(lesson: Lesson, rep: Rep, visit: Visit) -> RepView:
    """A task with its tick."""
    return RepView(
        anchor=f"rep-{rep.id}",
        url=f"{lesson_url(lesson)}/reps/{quote(rep.id)}",
        html=rep.html,
        done=visit.is_done("rep", rep.id),
    )


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
    sections = _sections(visit, item, widget)
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
        contents=_contents(sections, visit),
        sections=sections,
        closing_html=lesson.closing_html,
        report_url=report_url(lesson, "lesson"),
        previous=_neighbour(lesson, place.previous),
        next=_neighbour(lesson, place.next),
        jump=_neighbour(lesson, place.jump),
        end=end_view(visit, now),
    )


def contents_view(visit: Visit, *, swapped: bool = False) -> Contents:
    """The contents column alone."""
    return _contents(_sections(visit, lambda item: None, lambda widget: None), visit, swapped=swapped)


def _contents(sections: Sequence[Section], visit: Visit, *, swapped: bool = False) -> Contents:
    lesson = visit.lesson
    answered = sum(visit.state(item).touched for item in lesson.items)
    return Contents(
        title=f"{lesson.number}. {short(lesson.title)}" if lesson.number else lesson.title,
        entries=_toc(sections, visit),
        time_words=_time_words(lesson, answered),
        count_words=f"{answered} of {len(lesson.items)} items answered" if lesson.items else "",
        note="Dotted numbers are worked out by the calculator each time." if lesson.numbers else "",
        swapped=swapped,
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


def short(title: str) -> str:
    """The title up to its colon."""
    return title.partition(":")[0].strip() or title


def _sections(
    visit: Visit, item: Callable[[Item], ItemView | None], widget: Callable[[Widget], Any]
) -> list[Section]:
    lesson = visit.lesson
    sections = [Section()]
    for block in lesson.blocks:
        if isinstance(block, Heading) and block.level <= 3:
            sections.append(
                Section(
                    anchor=block.anchor,
                    level=max(2, block.level),
                    title=block.text,
                    title_html=block.html,
                )
            )
            continue
        here = sections[-1]
        if isinstance(block, Prose):
            here.groups.append(_prose(lesson, block, here, visit))
        elif isinstance(block, Item):
            here.groups.append(Group(kind="item", item=item(block)))
            here.item_ids.append(block.id)
        elif isinstance(block, Widget):
            here.groups.append(Group(kind="widget", widget=widget(block)))
        elif isinstance(block, Rep):
            _add_rep(here, rep_view(lesson, block, visit))
    kept = [section for section in sections if section.groups or section.title]
    for section, following in pairwise(kept):
        if section.title == WARM_UP and section.groups and section.groups[0].kind == "item":
            section.kicker = "From memory. Nothing here is graded."
        section.small = not section.groups and section.level == 2 and following.level == 3
    return kept


def _prose(lesson: Lesson, block: Prose, here: Section, visit: Visit) -> Group:
    anchor = block.anchor or here.anchor
    return Group(
        kind="prose",
        html=block.html,
        place=here.title or lesson.title,
        report_url=report_url(lesson, anchor or "lesson"),
        reported=anchor in visit.reported,
    )


def _add_rep(here: Section, rep: RepView) -> None:
    if here.groups and here.groups[-1].kind == "reps":
        last = here.groups.pop()
        here.groups.append(Group(kind="reps", reps=(*last.reps, rep)))
    else:
        here.groups.append(Group(kind="reps", reps=(rep,)))


def _toc(sections: Sequence[Section], visit: Visit) -> list[TocEntry]:
    """Headings, or the sub-headings of an empty one. Text counts as read when a later item is answered."""
    entries: list[TocEntry] = []
    items = {item.id: item for item in visit.lesson.items}
    reached = _last_reached(sections, visit)
    inside_small = False
    for index, section in enumerate(sections):
        if not section.title:
            continue
        if section.level == 2:
            inside_small = section.small
        if section.small or (section.level == 3 and not inside_small):
            continue
        touched = [visit.state(items[item_id]).touched for item_id in section.item_ids]
        reps = [rep.done for group in section.groups for rep in group.reps]
        entries.append(
            TocEntry(
                anchor=section.anchor,
                title=short(section.title),
                status=_status(touched + reps, index < reached),
            )
        )
    return entries


def _last_reached(sections: Sequence[Section], visit: Visit) -> int:
    if visit.is_done("lesson"):
        return len(sections)
    items = {item.id: item for item in visit.lesson.items}
    reached = [
        index
        for index, section in enumerate(sections)
        if any(visit.state(items[item_id]).touched for item_id in section.item_ids)
    ]
    return max(reached, default=0)


def _status(parts: Iterable[bool], passed: bool) -> str:
    known = list(parts)
    if not known:
        return "done" if passed else ""
    if all(known):
        return "done"
    return "half" if any(known) else ""


def _time_words(lesson: Lesson, answered: int) -> str:
    if not lesson.minutes:
        return ""
    total = len(lesson.items)
    left = minutes_left(lesson.minutes, answered, total)
    if not answered:
        return f"About {lesson.minutes} minutes"
    return f"About {left} of {lesson.minutes} minutes left" if left else f"{lesson.minutes} minutes in all"


def minutes_left(minutes: int, answered: int, items: int) -> int:
    """A rough share of the reading time: answered items stand for the text before them."""
    if not items:
        return minutes
    return round(minutes * max(0, items - answered) / items)


_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def css_id(text: str) -> str:
    """An id that a CSS selector can name as it is."""
    return _UNSAFE.sub("-", text).strip("-") or "x"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSection:
    """A heading and the prose under it."""

    anchor: str = ""
    level: int = 2
    title: str = ""
    title_html: str = ""
    prose: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """A glossary, a list of resources, a reference page."""

    title: str
    description: str
    course_title: str
    course_url: str
    toc: Sequence[TocEntry]
    sections: Sequence[TextSection]
    closing_html: str


def text_view(page: Lesson, course_title: str) -> TextView:
    """The view of a page without items."""
    sections = [TextSection()]
    for block in page.blocks:
        if isinstance(block, Heading):
            level = 3 if block.level >= 3 else 2
            sections.append(
                TextSection(anchor=block.anchor, level=level, title=block.text, title_html=block.html)
            )
        elif isinstance(block, Prose):
            sections[-1].prose.append(block.html)
    shown = [section for section in sections if section.title or section.prose]
    return TextView(
        title=page.title,
        description=page.description.rstrip("."),
        course_title=course_title,
        course_url=f"/courses/{page.course}",
        toc=[TocEntry(anchor=one.anchor, title=one.title) for one in shown if one.title],
        sections=shown,
        closing_html=page.closing_html,
    )
