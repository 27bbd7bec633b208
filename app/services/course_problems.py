"""The problems of a course that is read again and again: a page that did not change is not checked anew."""

from collections.abc import Iterable

from app.curriculum.blocks import Lesson, Problem
from app.curriculum.course import Course
from app.curriculum.engine import Engine
from app.curriculum.rules import check_lesson
from app.curriculum.rules_course import check_course
from app.curriculum.rules_engine import check_with_engine


class CourseProblems:
    """Remembers what was found on each page as long as the page stays the same object."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._pages: dict[str, tuple[Lesson, tuple[Problem, ...]]] = {}

    def of_page(self, page: Lesson) -> tuple[Problem, ...]:
        """What can be said of the page alone."""
        known = self._pages.get(page.path)
        if known is None or known[0] is not page:
            found = [*page.problems]
            found += check_lesson(page) if page.type == "lesson" else []
            found += check_with_engine(page, self.engine)
            known = self._pages[page.path] = (page, tuple(found))
        return known[1]

    def of_course(self, course: Course) -> tuple[Problem, ...]:
        """Everything there is to say about the course, each problem once, by path and line."""
        found = [*check_course(course), *(one for page in course.pages for one in self.of_page(page))]
        return tidy(found)


def tidy(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, by path, line and code."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda one: (one.path, one.line, one.code, one.message)))
