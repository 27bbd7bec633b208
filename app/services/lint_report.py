"""What a lint found, for people, for GitHub's checks, or as JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.curriculum.blocks import Problem, Severity
from app.curriculum.outline import problem_outline

Format = Literal["text", "github", "json"]
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult:
    """All problems of all files that were asked for."""

    problems: tuple[Problem, ...]
    num_files: int
    missing: tuple[str, ...] = ()  # paths that do not exist

    def count(self, severity: Severity) -> int:
        """How many problems of this severity."""
        return sum(1 for problem in self.problems if problem.severity is severity)

    @property
    def exit_code(self) -> int:
        """0 without errors, 1 with, 2 when a path does not exist."""
        if self.missing:
            return 2
        return 1 if self.count(Severity.ERROR) else 0


def report(result: LintResult, format: Format = "text") -> str:
    """The problems for people, for GitHub's checks, or as JSON."""
    return {"text": _as_text, "github": _as_github, "json": _as_json}[format](result)


def _as_text(result: LintResult) -> str:
    rows = []
    for problem in result.problems:
        rows.append(
            f"{problem.path}:{problem.line}: {problem.code} {problem.severity.value}: {problem.message}"
        )
        if problem.source.strip():
            rows.append(f"    {_cut(problem.source.strip())}")
        if problem.fix:
            rows.append(f"    fix: {problem.fix}")
    rows += [f"{path}: there is no such file or folder" for path in result.missing]
    rows.append(_summary(result))
    return "\n".join(rows)


def _cut(text: str, longest: int = 140) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _summary(result: LintResult) -> str:
    errors, warnings, notes = (result.count(one) for one in (Severity.ERROR, Severity.WARNING, Severity.INFO))
    files = f"{result.num_files} file{'s' if result.num_files != 1 else ''}"
    if not (errors or warnings or notes):
        return f"{files}: nothing to mend"

    def say(count: int, word: str) -> str:
        return f"{count} {word}{'s' if count != 1 else ''}"

    return f"{files}: {say(errors, 'error')}, {say(warnings, 'warning')}, {say(notes, 'note')}"


def _as_github(result: LintResult) -> str:
    rows = [
        f"::{_LEVELS[problem.severity]} file={_property(problem.path)},line={problem.line},"
        f"title={_property(problem.code)}::{_data(f'{problem.message} Fix: {problem.fix}')}"
        for problem in result.problems
    ]
    rows += [f"::error::{_data(path)}: there is no such file or folder" for path in result.missing]
    return "\n".join(rows)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _as_json(result: LintResult) -> str:
    data: Mapping[str, Any] = {
        "files": result.num_files,
        "errors": result.count(Severity.ERROR),
        "warnings": result.count(Severity.WARNING),
        "infos": result.count(Severity.INFO),
        "missing": list(result.missing),
        "problems": [problem_outline(problem) for problem in result.problems],
    }
    return json.dumps(data, ensure_ascii=False, indent=1, default=str)
