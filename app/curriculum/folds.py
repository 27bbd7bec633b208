"""Which <details> tag closes where: nesting, missing closing tags, and what is wrong with either."""

import re
from dataclasses import dataclass, field

from app.curriculum.report import Report

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_NUMBERED = re.compile(r"\d{1,9}[.)]\s")
DEEPEST = 8  # folds within folds


@dataclass(slots=True)
class FoldRange:
    """A <details> block: its tag's line and the line of its closing tag, as indexes into `Source.lines`."""

    start: int
    line: int  # of the file, 1-based
    indent: int
    close: int = -1
    summary: str = ""
    closed: bool = True
    tight: bool = False
    parent: "FoldRange | None" = None


@dataclass(slots=True)
class Source:
    """What the Markdown parser gets."""

    lines: list[str] = field(default_factory=list)
    origin: list[int] = field(default_factory=list)  # 1-based line of the file
    folds: dict[int, FoldRange] = field(default_factory=dict)

    def add(self, text: str, line: int) -> None:
        """Append a line that comes from that line of the file."""
        self.lines.append(text)
        self.origin.append(line)

    def line(self, index: int) -> int:
        """The line of the file that line `index` came from."""
        if not self.origin:
            return 1
        return self.origin[max(0, min(index, len(self.origin) - 1))]


class Folds:
    """The folds that are open at this line, and those that were closed."""

    def __init__(self, source: Source, report: Report, *, marked: bool) -> None:
        self.source, self.report = source, report
        self.marked = marked  # whether the file marks its items with ▢
        self.code: set[int] = set()  # lines of code, which look like headings at times
        self.stack: list[FoldRange] = []

    @property
    def indent(self) -> int:
        """How far the outermost open fold is indented; its text is moved back by as much."""
        return self.stack[0].indent if self.stack else 0

    def open(self, line: int, indent: int, attributes: str, text: str) -> FoldRange | None:
        """A <details> tag; None when folds are nested too deep."""
        if len(self.stack) >= DEEPEST:
            return None
        parent = self.stack[-1] if self.stack else None
        fold = FoldRange(start=len(self.source.lines), line=line, indent=indent, parent=parent)
        if "markdown" not in attributes.lower():
            message = '<details> needs markdown="1": without it MkDocs prints the answer as raw Markdown'
            self.report.add("DT001", line, message, fix=_with_markdown(text), recovered=True)
        if indent:
            message = "details tag is not at column zero"
            alone = text.lower().startswith("<details")
            fix = text if alone else "put the tag on a line of its own, after a blank line"
            self.report.add("DT002", line, message, fix=fix, recovered=True)
        self.source.add("<details>", line)
        self.source.folds[fold.start] = fold
        self.stack.append(fold)
        return fold

    def close(self, line: int, indent: int) -> bool:
        """A </details> tag; false when it closes nothing."""
        if not self.stack:
            message = "this </details> closes nothing; it was left out"
            self.report.add("DT007", line, message, fix="remove it")
            return False
        fold = self.stack.pop()
        if indent and not fold.indent:
            message = "details tag is not at column zero"
            self.report.add("DT002", line, message, fix="</details>", recovered=True)
        self._finish(fold, len(self.source.lines))
        self.source.add("</details>", line)
        self.source.add("", line)
        return True

    def abort(self) -> None:
        """Close what is still open, before the first item, heading or fold that follows it."""
        for position, fold in enumerate(self.stack):
            last = position + 1 == len(self.stack)
            limit = len(self.source.lines) if last else self.stack[position + 1].start
            close = next((i for i in range(fold.start + 1, limit) if self._stops(i)), limit)
            while close > fold.start + 1 and not self.source.lines[close - 1].strip():
                close -= 1  # blank lines at the end of the file are no lines for the Markdown parser
            fold.closed = False
            message = "the details block is not closed; it was closed before the next item or heading"
            fix = "add </details> on a line of its own"
            self.report.add("DT004", fold.line, message, fix=fix, recovered=True)
            self._finish(fold, close)
        self.stack.clear()

    def _finish(self, fold: FoldRange, close: int) -> None:
        fold.close = close
        if fold.tight:
            message = "a blank line is missing between the details tags and the text inside"
            self.report.add("DT003", fold.line, message, recovered=True)
        if not fold.closed:
            return
        for start in range(fold.start + 1, fold.close):
            other = self.source.folds.get(start)
            if other and other.parent is fold:
                message = "a details block stands inside another one; close the first before it"
                self.report.add("DT006", other.line, message, recovered=True)

    def _stops(self, index: int) -> bool:
        if index in self.code:
            return False
        text = self.source.lines[index]
        numbered = not self.marked and _NUMBERED.match(text)
        return bool(index in self.source.folds or _HEADING.match(text) or numbered)


def _with_markdown(text: str) -> str:
    return re.sub(r"<details\b", '<details markdown="1"', text, count=1, flags=re.IGNORECASE)
