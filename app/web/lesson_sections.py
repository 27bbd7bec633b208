"""A lesson cut into sections, each with its prose, items, live figures and tasks."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from app.curriculum.blocks import Heading, Item, Lesson, Prose, Rep, Widget
from app.services.learning import Visit
from app.web.item_parts import ItemView

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
        html=rep.html.replace("Tomorrow:", "<b>Tomorrow:</b>", 1) if rep.tomorrow else rep.html,
        done=visit.is_done("rep", rep.id),
    )


def sections_of(
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


_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def css_id(text: str) -> str:
    """An id that a CSS selector can name as it is."""
    return _UNSAFE.sub("-", text).strip("-") or "x"
