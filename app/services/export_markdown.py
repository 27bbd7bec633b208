"""A course as Markdown files that any viewer shows: the lessons' own text, hints and checks at the end."""

import re
from collections.abc import Sequence

from app.curriculum.blocks import Lesson
from app.curriculum.generate import fill, variables_of
from app.curriculum.report import Report
from app.curriculum.source import Source, prepare
from app.services.questions import Question, number_words

_COMMENT = re.compile(r"\s*<!--\s*(item|widget|course)\b")
_CAPTION = re.compile(r"\s*caption:\s*(.+?)\s*$")
_CALC = re.compile(r"<!--\s*calc:.*?-->")
_FOLD = re.compile(r"\s*(hint|check)\b", re.IGNORECASE)
_SECTION = re.compile(r" {0,3}#{1,2}\s")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")


def markdown_lesson(text: str, lesson: Lesson, questions: Sequence[Question]) -> str:
    """The lesson's text without its comments and folds, and what the folds held at its end."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    skip = _front_matter_lines(lines)
    walk = _Walk(prepare(lines, skip, Report("", lines)), lesson, questions)
    body = walk.body()
    parts = ["\n".join(lines[:skip]), _tidy(body)]
    for name, held in (("Hints", walk.hints), ("Checks", walk.checks)):
        entries = [f"### {title}\n\n{_tidy(words)}" for title, words in held.items() if words.strip()]
        if entries:
            parts.append(f"## {name}\n\n" + "\n\n".join(entries))
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _front_matter_lines(lines: Sequence[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((i + 1 for i in range(1, len(lines)) if lines[i].rstrip() in ("---", "...")), 0)


def _tidy(text: str) -> str:
    """At most one blank line in a row."""
    return re.sub(r"\n{3,}", "\n\n", _CALC.sub("", text)).strip("\n")


class _Walk:
    """Goes through the prepared lines once and puts each where it belongs."""

    def __init__(self, source: Source, lesson: Lesson, questions: Sequence[Question]) -> None:
        self.source = source
        self.by_line = {question.item.line: question for question in questions}
        self.starts = sorted(self.by_line)
        self.sections = [block.line for block in lesson.blocks if getattr(block, "level", 9) <= 2]
        self.hints: dict[str, str] = {}
        self.checks: dict[str, str] = {}
        for question in questions:  # in this order; what stays empty is left out
            self.hints[_title(question)] = ""
            self.checks[_title(question)] = f"**{words}**" if (words := number_words(question)) else ""

    def body(self) -> str:
        """The text that stays; folds of items are kept for the end."""
        kept: list[str] = []
        index, fence = 0, ""
        while index < len(self.source.lines):
            fold = self.source.folds.get(index)
            question = self._question_at(self.source.line(index))
            if fold is not None and fold.close >= index:
                inside = "\n".join(self.source.lines[index + 1 : fold.close])
                named = _FOLD.match(fold.summary)
                if named and question is not None:
                    self._keep(named.group(1).lower(), question, inside)
                else:
                    kept += [f"**{fold.summary}**" if fold.summary else "", "", *inside.split("\n"), ""]
                index = fold.close + 1
                continue
            line = self.source.lines[index]
            if mark := _FENCE.match(line):
                fence = "" if fence and mark.group(1).startswith(fence) else fence or mark.group(1)
            if not fence and _COMMENT.match(line):
                index, caption = self._comment(index)
                kept += [caption] if caption else []
                continue
            kept.append(fill(line, variables_of(question.item, 0)) if question else line)
            index += 1
        return "\n".join(kept)

    def _question_at(self, line: int) -> Question | None:
        """The item that a line of the file belongs to."""
        start = max((start for start in self.starts if start <= line), default=0)
        section = max((start for start in self.sections if start <= line), default=0)
        return self.by_line[start] if start and start > section else None

    def _keep(self, kind: str, question: Question, inside: str) -> None:
        held = self.hints if kind == "hint" else self.checks
        title = _title(question)
        words = fill(inside.strip("\n"), variables_of(question.item, 0))
        held[title] = f"{held[title]}\n\n{words}" if held[title] else words

    def _comment(self, index: int) -> tuple[int, str]:
        """Past the comment; a widget leaves its caption."""
        lines = self.source.lines
        end = next((i for i in range(index, len(lines)) if "-->" in lines[i]), len(lines) - 1)
        is_widget = "widget" in lines[index]
        captions = [m.group(1) for i in range(index, end + 1) if (m := _CAPTION.match(lines[i]))]
        words = f"*A live figure on the site: {captions[0].strip(chr(34))}*" if is_widget and captions else ""
        return end + 1, words


def _title(question: Question) -> str:
    return f"{question.item.section} {question.item.number}"
