"""Repairs what is mechanical in a lesson: quotes, blank lines, numbering, markdown="1", indented folds.

A repair is kept only when the file still means the same: same title, same items, same words.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.curriculum.blocks import Lesson, Problem
from app.curriculum.outline import item_outline

Parse = Callable[[str], Lesson]
MOST_ROUNDS = 8  # one repair can lay open another
_OPEN = re.compile(r"<details\b(?![^<>]*\bmarkdown\b)", re.IGNORECASE)
_SUMMARY_END = re.compile(r"</summary\s*>", re.IGNORECASE)
_CLOSE = re.compile(r"</details\s*>", re.IGNORECASE)
_NUMBER = re.compile(r"(\s*)\d{1,9}([.)]\s)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_NOT_MEANING = {"line", "number_written", "content_hash"}


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `start` to `stop` (0-based, exclusive) become `lines`."""

    start: int
    stop: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """The text after repair and what was mended."""

    text: str
    codes: tuple[str, ...] = ()


def fix(text: str, parse: Parse) -> Fixed:
    """The text with every mechanical problem mended that can be mended without changing what it means."""
    ending = "\r\n" if "\r\n" in text else "\n"
    current = text.replace("\r\n", "\n")
    if "\r" in current or (ending == "\r\n" and text.count("\n") != text.count("\r\n")):
        return Fixed(text=text)  # mixed line ends: what is shown as a line is not one in the file
    mended: list[str] = []
    for _ in range(MOST_ROUNDS):
        lesson = parse(current)
        edits = _edits(lesson, current.split("\n"))
        new, codes = _harmless(current, edits, lesson, parse)
        if new == current:
            break
        current = new
        mended += codes
    return Fixed(text=current.replace("\n", ending) if ending != "\n" else current, codes=tuple(mended))


def diff(before: str, after: str, path: str) -> str:
    """What changed, as a unified diff."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def meaning(lesson: Lesson) -> dict[str, Any]:
    """Everything a reader or the grading could notice, without line numbers."""
    return {
        "title": (lesson.number, lesson.title, lesson.description, lesson.type, lesson.minutes, lesson.math),
        "header": (lesson.mission_html, lesson.source_html, lesson.prerequisites_html, lesson.closing_html),
        "blocks": [
            (type(block).__name__, getattr(block, "html", ""), getattr(block, "text", ""))
            for block in lesson.blocks
        ],
        "items": [_without(item_outline(item)) for item in lesson.items],
        "htmls": [
            (
                item.prompt_html,
                *(fold.html for fold in (*item.hints, *item.checks)),
                *(o.html for o in item.options),
            )
            for item in lesson.items
        ],
    }


def _without(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _NOT_MEANING}


def _harmless(
    text: str, edits: Sequence[tuple[str, Edit]], lesson: Lesson, parse: Parse
) -> tuple[str, list[str]]:
    """All edits at once if the meaning stays, else one after the other, from the end of the file."""
    if not edits:
        return text, []
    wanted = meaning(lesson)
    together = _apply(text, [edit for _, edit in edits])
    if meaning(parse(together)) == wanted:
        return together, [code for code, _ in edits]
    kept: list[str] = []
    for code, edit in edits:
        tried = _apply(text, [edit])
        if meaning(parse(tried)) == wanted:
            text = tried
            kept.append(code)
    return text, kept


def _apply(text: str, edits: Sequence[Edit]) -> str:
    lines = text.split("\n")
    for edit in edits:  # from the end, so that earlier line numbers stay true
        lines[edit.start : edit.stop] = edit.lines
    return "\n".join(lines)


def _edits(lesson: Lesson, lines: list[str]) -> list[tuple[str, Edit]]:
    """One edit for each problem that has a mechanical cure, none overlapping, last line first."""
    numbers = {item.line: item.number for item in lesson.items}
    found: list[tuple[str, Edit]] = []
    for problem in lesson.problems:
        for edit in _edits_for(problem, lines, numbers):
            if tuple(lines[edit.start : edit.stop]) != edit.lines:
                found.append((problem.code, edit))
    found.sort(key=lambda one: (one[1].start, one[1].stop), reverse=True)
    apart: list[tuple[str, Edit]] = []
    for code, edit in found:
        if not apart or edit.stop <= apart[-1][1].start:
            apart.append((code, edit))
    return apart


def _edits_for(problem: Problem, lines: list[str], numbers: Mapping[int, int]) -> list[Edit]:
    at = problem.line - 1
    line = lines[at] if at < len(lines) else ""
    match problem.code:
        case "FM002" | "FM008" if re.match(r'[\w-]+: "', problem.fix) and "\n" not in problem.fix:
            return [Edit(at, at + 1, (problem.fix,))]
        case "DT001":
            return [Edit(at, at + 1, (_OPEN.sub('<details markdown="1"', line),))]
        case "DT002":
            return _outdented(at, lines)
        case "DT003":
            return _with_blank_lines(at, lines)
        case "IT002" if problem.line in numbers:
            return [Edit(at, at + 1, (_NUMBER.sub(rf"\g<1>{numbers[problem.line]}\2", line, count=1),))]
    return []


def _outdented(at: int, lines: list[str]) -> list[Edit]:
    """The fold from its tag to its end, moved to column zero; a closing tag alone, too."""
    indent = len(lines[at]) - len(lines[at].lstrip(" "))
    close = _closing_line(at, lines) if not _CLOSE.match(lines[at].strip()) else at
    if not indent or close is None:
        return []
    moved = tuple(text[min(indent, len(text) - len(text.lstrip(" "))) :] for text in lines[at : close + 1])
    return [Edit(at, close + 1, moved)]


def _with_blank_lines(at: int, lines: list[str]) -> list[Edit]:
    """A blank line after the summary and one before the closing tag, and each tag on a line of its own."""
    edits = []
    head = next((i for i in range(at, min(at + 6, len(lines))) if _SUMMARY_END.search(lines[i])), None)
    close = _closing_line(at, lines)
    if head is None:
        return []
    end = _SUMMARY_END.search(lines[head])
    rest = lines[head][end.end() :].strip() if end else ""
    closed_here = close == head
    if rest and not _CLOSE.match(rest):
        tag = lines[head][: end.end()] if end else lines[head]
        body, last = (rest, None) if not closed_here else _split_close(rest)
        return [Edit(head, head + 1, (tag, "", body, *([] if last is None else ["", last])))]
    if head + 1 < len(lines) and lines[head + 1].strip() and not _CLOSE.match(lines[head + 1].strip()):
        edits.append(Edit(head + 1, head + 1, ("",)))
    if close is not None and close > head:
        before, last = _split_close(lines[close])
        if before.strip():
            edits.append(Edit(close, close + 1, (before.rstrip(), "", last)))
        elif lines[close - 1].strip() and close - 1 > head:
            edits.append(Edit(close, close, ("",)))
    return edits


def _split_close(line: str) -> tuple[str, str]:
    found = _CLOSE.search(line)
    return (line[: found.start()].rstrip(), line[found.start() :]) if found else (line, "")


def _closing_line(at: int, lines: list[str]) -> int | None:
    """The line of the </details> that closes the fold begun at `at`, unless another fold begins before it."""
    fence = ""
    for index in range(at, len(lines)):
        if match := _FENCE.match(lines[index]):
            fence = "" if fence and match.group(1).startswith(fence) else fence or match.group(1)
            continue
        if fence:
            continue
        if index > at and re.match(r"\s*<details\b", lines[index], re.IGNORECASE):
            return None
        if _CLOSE.search(lines[index]):
            return index
    return None
