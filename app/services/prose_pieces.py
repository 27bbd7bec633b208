"""Cuts a stretch of rendered prose before the paragraphs that problems concern."""

from collections.abc import Sequence
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from app.curriculum.blocks import Prose

_VOID = {"br", "hr", "img", "wbr", "col", "input", "meta", "link", "area", "base", "embed", "source", "track"}
_MARKDOWN = MarkdownIt("commonmark").enable("table")


def pieces(prose: Prose, source: Sequence[str], problem_lines: set[int]) -> list[tuple[int, str]]:
    """The prose as (line, HTML) from one concerned paragraph to the next; whole when it cannot be told apart.

    source: the lines of the file from the prose's first line on.
    """
    starts = [prose.line + start for start in _block_starts("\n".join(source))]
    elements = top_elements(prose.html)
    if len(starts) != len(elements) or not starts:
        return [(prose.line, prose.html)]
    concerned = {
        max((start for start in starts if start <= line), default=starts[0]) for line in problem_lines
    }
    cut: list[tuple[int, str]] = []
    for start, html in zip(starts, elements, strict=True):
        if not cut or start in concerned:
            cut.append((start, html))
        else:
            cut[-1] = (cut[-1][0], f"{cut[-1][1]}\n{html}")
    return cut


def _block_starts(markdown: str) -> list[int]:
    """The first line (0-based) of each top-level block; link definitions make none."""
    return [
        token.map[0]
        for token in _MARKDOWN.parse(markdown)
        if token.level == 0 and token.nesting >= 0 and token.map
    ]


def top_elements(html: str) -> list[str]:
    """The HTML of each outermost element; text between them belongs to the element before."""
    cutter = _Cutter(html)
    cutter.feed(html)
    cutter.close()
    if not cutter.starts:
        return [html] if html else []
    starts = [0, *cutter.starts[1:]]
    return [html[start:end].strip() for start, end in zip(starts, [*starts[1:], len(html)], strict=True)]


class _Cutter(HTMLParser):
    """Notes where the outermost elements of balanced HTML begin."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self.starts: list[int] = []
        self._depth = 0
        self._lines = [0]
        for position, character in enumerate(html):
            if character == "\n":
                self._lines.append(position + 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        if self._depth == 0:
            line, column = self.getpos()
            self.starts.append(self._lines[line - 1] + column)
        if tag not in _VOID:
            self._depth += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content."""
        if self._depth == 0:
            line, column = self.getpos()
            self.starts.append(self._lines[line - 1] + column)

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        if tag not in _VOID and self._depth:
            self._depth -= 1
