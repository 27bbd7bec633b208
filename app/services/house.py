"""What every use case works with: the database, the lessons, the engine."""

from collections.abc import Callable
from dataclasses import dataclass

from app.curriculum.blocks import Item, Lesson, Widget
from app.curriculum.course import Course, Library
from app.curriculum.engine import Engine
from app.storage.database import Database


class UnknownPlaceError(Exception):
    """There is no such course, lesson or item; the message says so in one sentence."""


@dataclass(frozen=True, slots=True)
class House:
    """Put together once, in `create_app`. `library` gives the lessons as they stand now."""

    database: Database
    library: Callable[[], Library]
    engine: Engine

    def course(self, topic: str) -> Course:
        """A course by its topic. Raises UnknownPlaceError."""
        library = self.library()
        course = library.course(topic)
        if course is None:
            known = ", ".join(f"“{one.title}”" for one in library.courses.values())
            raise UnknownPlaceError(f"There is no course “{topic[:80]}”. There is: {known or 'none yet'}.")
        return course

    def lesson(self, topic: str, slug: str) -> Lesson:
        """A written lesson. Raises UnknownPlaceError, which says so when the lesson is only planned."""
        course = self.course(topic)
        lesson = course.lessons.get(slug)
        if lesson is not None:
            return lesson
        entry = course.entry(slug)
        if entry is not None:
            raise UnknownPlaceError(f"Lesson {entry.number}, {entry.title}, is planned and not written yet.")
        raise UnknownPlaceError(f"The course “{course.title}” has no lesson “{slug[:80]}”.")

    def item(self, topic: str, slug: str, item_id: str) -> Item:
        """An item of a lesson. Raises UnknownPlaceError."""
        lesson = self.lesson(topic, slug)
        item = lesson.item(item_id)
        if item is None:
            raise UnknownPlaceError(
                f"Lesson {lesson.number} has no item “{item_id[:80]}”. It may have been reworded; "
                "open the lesson again."
            )
        return item

    def widget(self, topic: str, slug: str, widget_id: str) -> Widget:
        """A live figure of a lesson. Raises UnknownPlaceError."""
        lesson = self.lesson(topic, slug)
        for widget in lesson.widgets:
            if widget.id == widget_id:
                return widget
        raise UnknownPlaceError(f"Lesson {lesson.number} has no figure “{widget_id[:80]}”.")
