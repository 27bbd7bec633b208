"""Glossaries, resources and reference pages: headings and prose."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.curriculum.blocks import Heading, Lesson, Prose
from app.web.lesson_contents import TocEntry


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
        toc=[TocEntry(anchor=one.anchor, title=one.title, deep=one.level == 3) for one in shown if one.title],
        sections=shown,
        closing_html=page.closing_html,
    )
