"""Lines made ready for the Markdown parser: folds and comments stand alone, at column zero, and are closed.

CommonMark knows nothing of <details>. This pass walks the lines once, skips code and comments, finds which
tag closes which, and puts every tag on a line of its own. `origin` leads back to the lines of the file.
"""

import re
from bisect import bisect_right

from app.curriculum.folds import FoldRange, Folds, Source
from app.curriculum.report import Report

__all__ = ["FoldRange", "Source", "prepare"]

_FENCE = re.compile(r"(`{3,}|~{3,})(.*)$")
_OPEN = re.compile(r"<details\b([^<>]*)>", re.IGNORECASE)
_CLOSE = re.compile(r"</details\s*>", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary\b[^<>]*>(.*?)</summary\s*>", re.IGNORECASE | re.DOTALL)
_SUMMARY_START = re.compile(r"<summary\b", re.IGNORECASE)
_INLINE_FOLD = re.compile(r"(?<=\S)\s*<details\b[^<>]*>\s*<summary\b", re.IGNORECASE)
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_EXTENSION = re.compile(r"<!--\s*(?:item|widget|course)\b")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_SECTION = re.compile(r" {0,3}#{1,2}(?:\s|$)")
_MARKED_ITEM = re.compile(r" {0,3}\d{1,9}[.)]\s*[▢□☐]")
_TIGHT_ITEM = re.compile(r"( {0,3}\d{1,9}[.)])([▢□☐])")


def prepare(lines: list[str], skip: int, report: Report) -> Source:
    """Separate the tags of folds from their text. The first `skip` lines (front matter) become blank."""
    walk = _Walk(lines, report)
    for index, text in enumerate(lines):
        walk.take(index, "" if index < skip else text)
    walk.abort()
    walk.close_comment_at_end()
    return walk.source


class _Walk:
    def __init__(self, lines: list[str], report: Report) -> None:
        self.source = Source()
        self.report = report
        self.all = lines
        self.folds = Folds(self.source, report, marked=any(_MARKED_ITEM.match(line) for line in lines))
        self.comment_ends = [i for i, line in enumerate(lines) if "-->" in line]
        self.comment_starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("<!--")]
        self.fence: tuple[str, int, int] | None = None  # character, length, indent
        self.comment = 0  # line of the comment that is open; 0: none
        self.extension = False
        self.closes = True  # whether the comment's end comes before another comment begins
        self.awaits_summary: FoldRange | None = None
        self.summary_until = -1
        self.index = 0

    # -- one line -------------------------------------------------------------

    def take(self, index: int, text: str) -> None:
        """Take in one line of the file."""
        self.index = index
        if index < self.summary_until:
            return
        if self.folds.stack and "<?" in text:
            self.report.add(
                "PI001", index + 1, '"<?" inside a collapsible block can break the MkDocs build; write &lt;?'
            )
        stripped = text.strip()
        if self.comment:
            self._in_comment(text, stripped)
        elif self.fence:
            self._in_fence(text, stripped)
        elif stripped.startswith("<!--"):
            self._comment_start(text, stripped)
        elif match := _FENCE.match(stripped):
            self._fence_start(text, match)
        else:
            self._plain(text, stripped)

    def _emit(self, text: str) -> None:
        self.source.add(_dedent(text, self.folds.indent), self.index + 1)

    def _blank(self) -> None:
        if self.source.lines and self.source.lines[-1].strip():
            self.source.add("", self.index + 1)

    # -- code and comments ----------------------------------------------------

    def _fence_start(self, text: str, match: re.Match[str]) -> None:
        marker, info = match.groups()
        indent = len(text) - len(text.lstrip())
        if not (marker[0] == "`" and "`" in info):
            self.fence = (marker[0], len(marker), indent)
            self.awaits_summary = None
        self._emit(text)

    def _in_fence(self, text: str, stripped: str) -> None:
        assert self.fence is not None
        char, length, indent = self.fence
        outdented = bool(stripped) and indent >= 2 and len(text) == len(text.lstrip())
        if outdented and not stripped.startswith(char * length):
            self.fence = None  # the list item that held the fence has ended
            self.take(self.index, text)
            return
        if stripped and set(stripped) == {char} and len(stripped) >= length:
            self.fence = None
        self.folds.code.add(len(self.source.lines))
        self._emit(text)

    def _comment_start(self, text: str, stripped: str) -> None:
        self.awaits_summary = None
        if "-->" in stripped:
            self._emit(text)
            return
        end, start = _after(self.comment_ends, self.index), _after(self.comment_starts, self.index)
        if end is None:
            self.extension = _EXTENSION.match(stripped) is not None
            if not self.extension:
                self.report.add(
                    "EX003", self.index + 1, "the comment is not closed, so it is shown as text; add -->"
                )
                self._emit(text)
                return
        self.extension = _EXTENSION.match(stripped) is not None
        self.closes = end is not None and (start is None or end < start)
        self.comment = self.index + 1
        self._emit(text)

    def _in_comment(self, text: str, stripped: str) -> None:
        stops = (
            stripped.startswith("<!--")
            or _OPEN.match(stripped)
            or _HEADING.match(text)
            or _MARKED_ITEM.match(text)
        )
        if self.extension and stops and not self.closes:
            self._end_comment()
            self.take(self.index, text)
            return
        self._emit(text)
        if "-->" in text:
            self.comment = 0

    def _end_comment(self) -> None:
        self.report.add(
            "EX003",
            self.comment,
            "the comment is not closed; it was closed before the next block",
            fix="add --> on a line of its own",
        )
        self.source.add("-->", max(self.index, 1))
        self.comment = 0

    def close_comment_at_end(self) -> None:
        """An item comment that runs to the end of the file is closed there."""
        if self.comment and self.extension:
            self._end_comment()

    # -- folds ----------------------------------------------------------------

    def _plain(self, text: str, stripped: str) -> None:
        if _SECTION.match(text) or _MARKED_ITEM.match(text):
            self.abort()
        if _TIGHT_ITEM.match(text):
            self.report.add("IT003", self.index + 1, "a space is missing between the number and the box")
            text = _TIGHT_ITEM.sub(r"\1 \2", text, count=1)
        if self.awaits_summary and stripped and not _SUMMARY_START.match(stripped):
            self.awaits_summary = None
        if "<" not in stripped:
            self._emit(text)
            return
        if match := _INLINE_FOLD.search(_mask(text)):
            self._emit(text[: match.start()])
            text = text[match.start() :]
            stripped = text.strip()
        if (
            _OPEN.match(stripped)
            or _CLOSE.search(_mask(stripped))
            or (self.awaits_summary and _SUMMARY_START.match(stripped))
        ):
            self._tags(text)
        else:
            self._emit(text)

    def _tags(self, text: str) -> None:
        """Take the tags of a line one by one; what is left over is text."""
        indent = len(text) - len(text.lstrip())
        rest = text.strip()
        while rest:
            if match := _OPEN.match(rest):
                self._open(match, indent)
            elif self.awaits_summary and _SUMMARY_START.match(rest):
                rest = self._summary(rest)
                continue
            elif match := _CLOSE.match(rest):
                self._close(indent)
            else:
                ahead = _CLOSE.search(_mask(rest))
                cut = ahead.start() if ahead else len(rest)
                if self.folds.stack:
                    self.folds.stack[-1].tight = True
                self._emit(" " * indent + rest[:cut] if not self.folds.stack else rest[:cut])
                rest = rest[cut:]
                continue
            rest = rest[match.end() :].strip()

    def _open(self, match: re.Match[str], indent: int) -> None:
        self._blank()
        fold = self.folds.open(self.index + 1, indent, match.group(1), self.all[self.index].strip())
        if fold is None:
            self._emit(match.group(0))
        else:
            self.awaits_summary = fold

    def _summary(self, rest: str) -> str:
        """Read the summary, over several lines if need be; give what follows it."""
        fold, last = self.awaits_summary, self.index
        while (
            not (match := _SUMMARY.match(rest))
            and last + 1 < min(len(self.all), self.index + 5)
            and self.all[last + 1].strip()
        ):
            last += 1
            rest = f"{rest}\n{self.all[last].strip()}"
        self.awaits_summary = None
        if fold is None or match is None:
            self._emit(rest)
            return ""
        fold.summary = " ".join(match.group(1).split())
        self.summary_until = last + 1
        left = rest[match.end() :].strip()
        following = self.all[last + 1].strip() if last + 1 < len(self.all) else ""
        fold.tight = bool(left and not _CLOSE.match(left)) or (
            not left and bool(following) and not _CLOSE.match(following)
        )
        return left

    def _close(self, indent: int) -> None:
        self.awaits_summary = None
        if not self.folds.close(self.index + 1, indent):
            self._blank()

    def abort(self) -> None:
        """Close the folds that are still open."""
        self.folds.abort()
        self.awaits_summary = None


def _after(places: list[int], index: int) -> int | None:
    """The first of the sorted places that lies after the index."""
    at = bisect_right(places, index)
    return places[at] if at < len(places) else None


def _mask(text: str) -> str:
    """The text with code spans and escaped brackets blanked, so that tags inside them are not seen."""
    if "`" in text:
        text = _CODE_SPAN.sub(lambda match: "`" * len(match.group(0)), text)
    return text.replace("\\<", "  ")


def _dedent(text: str, indent: int) -> str:
    kept = text.lstrip(" ")
    return text[min(indent, len(text) - len(kept)) :]
