"""The contents column of a lesson: headings with their marks, and what is left to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.curriculum.blocks import Lesson
from app.services.learning import Visit
from app.web.lesson_sections import Section, sections_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TocEntry:
    """A line of the contents column."""

    anchor: str
    title: str
    status: str = ""  # done | half | ""
    deep: bool = False  # below another heading


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The contents column: headings with their marks, what is left. `swapped`: sent beside an item."""

    title: str
    entries: Sequence[TocEntry]
    time_words: str
    count_words: str
    note: str = ""
    swapped: bool = False


def contents_view(visit: Visit, *, swapped: bool = False) -> Contents:
    """The contents column alone."""
    return contents_of(sections_of(visit, lambda item: None, lambda widget: None), visit, swapped=swapped)


def contents_of(sections: Sequence[Section], visit: Visit, *, swapped: bool = False) -> Contents:
    lesson = visit.lesson
    answered = sum(visit.state(item).touched for item in lesson.items)
    return Contents(
        title=f"{lesson.number}. {short(lesson.title)}" if lesson.number else lesson.title,
        entries=_toc(sections, visit),
        time_words=_time_words(lesson, answered),
        count_words=f"{answered} of {len(lesson.items)} items answered" if lesson.items else "",
        note="Each dotted number leads to how it is worked out." if lesson.numbers else "",
        swapped=swapped,
    )


def short(title: str) -> str:
    """The title up to its colon."""
    return title.partition(":")[0].strip() or title


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
