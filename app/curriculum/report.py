"""Collects every problem of one file."""

from app.curriculum.blocks import Lesson, Problem, Severity
from app.curriculum.codes import CODES


class Report:
    """Problems of one file, in the order they were found; `sorted` gives them by line."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self.path = path
        self.lines = lines
        self._problems: dict[tuple[str, int, str], Problem] = {}

    def add(
        self,
        code: str,
        line: int,
        message: str,
        *,
        fix: str = "",
        source: str | None = None,
        recovered: bool = False,
        severity: Severity | None = None,
    ) -> None:
        """Note a problem at a 1-based line. The same problem of the same line is noted once."""
        line = max(1, min(line, len(self.lines) or 1))
        shown = source if source is not None else (self.lines[line - 1].rstrip() if self.lines else "")
        entry = CODES[code]
        self._problems.setdefault(
            (code, line, message),
            Problem(
                path=self.path,
                line=line,
                code=code,
                severity=severity or entry.severity,
                message=message,
                source=shown,
                fix=fix or entry.cure,
                recovered=recovered,
            ),
        )

    @property
    def sorted(self) -> tuple[Problem, ...]:
        """All problems by line, then code."""
        return tuple(sorted(self._problems.values(), key=lambda p: (p.line, p.code, p.message)))


def problem(code: str, lesson: Lesson, line: int, message: str, severity: Severity | None = None) -> Problem:
    """A problem of a lesson; its source line is filled in by whoever has the file."""
    entry = CODES[code]
    return Problem(
        path=lesson.path,
        line=max(1, line),
        code=code,
        severity=severity or entry.severity,
        message=message,
        fix=entry.cure,
    )
