"""The lesson tables of a course README: read their rows, turn a planned row into a link, add a row."""

import re
from dataclasses import dataclass

_ROW = re.compile(r"\|\s*(\d{1,4})\s*\|")
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*$")
_SLUG = re.compile(r"`(\d{4}-[^`]+)`\s*$")
_CELL = re.compile(r"(?<!\\)\|")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One lesson of the table."""

    index: int  # of its line, 0-based
    number: int
    title: str
    slug: str  # empty: the row is a link, or names no file


def rows(lines: list[str]) -> list[Row]:
    """The numbered rows of every table in the file."""
    return [row for index, line in _outside_fences(lines) if (row := _row(index, line))]


def _outside_fences(lines: list[str]) -> list[tuple[int, str]]:
    kept, inside = [], False
    for index, line in enumerate(lines):
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append((index, line))
    return kept


def _row(index: int, line: str) -> Row | None:
    match = _ROW.match(line)
    cells = [cell.strip() for cell in _CELL.split(line)]
    if match is None or len(cells) < 3:
        return None
    slug = _SLUG.search(cells[2])
    title = _SLUG.sub("", cells[2]).strip().replace("\\|", "|")
    return Row(index=index, number=int(match.group(1)), title=title, slug=slug.group(1) if slug else "")


def with_link(lines: list[str], row: Row, title_markdown: str, slug: str) -> list[str]:
    """The planned row as a link to the file that now exists; its other cells stay."""
    cells = _CELL.split(lines[row.index])
    cells[2] = f" {_link(title_markdown, slug)} "
    return [*lines[: row.index], "|".join(cells), *lines[row.index + 1 :]]


def with_new_row(lines: list[str], number: int, title_markdown: str, slug: str, minutes: int) -> list[str]:
    """The file with one more row at the end of the last lesson table; without one, a table is begun."""
    new = f"| {number} | {_link(title_markdown, slug)} | {minutes} |"
    last = max((row.index for row in rows(lines)), default=-1)
    if last < 0:
        last = max(
            (index for index, line in _outside_fences(lines) if _is_lesson_rule(lines, index, line)),
            default=-1,
        )
    if last >= 0:
        return [*lines[: last + 1], new, *lines[last + 1 :]]
    table = ["| # | Lesson | Minutes |", "|---|---|---|", new, ""]
    arc = next((i for i, line in _outside_fences(lines) if line.strip().casefold() == "## the arc"), None)
    if arc is None:
        end = next((i for i, line in enumerate(lines) if line.startswith("<!-- course")), len(lines))
        before = [*lines[:end], *([""] if end and lines[end - 1].strip() else [])]
        return [*before, "## The arc", "", *table, *lines[end:]]
    end = next(
        (i for i in range(arc + 1, len(lines)) if lines[i].startswith(("## ", "<!-- course"))), len(lines)
    )
    before = [*lines[:end], *([""] if lines[end - 1].strip() else [])]
    return [*before, *table, *lines[end:]]


def _is_lesson_rule(lines: list[str], index: int, line: str) -> bool:
    """Whether this is the |---| line under a head whose first cell is "#"."""
    return (
        index > 0
        and _RULE.match(line.strip()) is not None
        and lines[index - 1].replace(" ", "").startswith("|#|")
    )


def _link(title_markdown: str, slug: str) -> str:
    return f"[{title_markdown}](lessons/{slug}.md)"
