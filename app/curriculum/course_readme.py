"""README.md of a course: mission, success, and the arc with its lesson tables."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from markdown_it.token import Token

from app.curriculum.annotate import plain_text
from app.curriculum.choices import Render
from app.curriculum.header import split_title
from app.curriculum.links import Context, Place
from app.curriculum.parser import open_page
from app.curriculum.report import Report
from app.curriculum.text import collapse
from app.curriculum.tree import Node, blocks, children_of

_LESSON_LINK = re.compile(r"(?:\./)?(?:lessons/)?(\d{4}-[^/#?]+)\.md(?:[#?].*)?")
_SLUG = re.compile(r"\d{4}-[a-z0-9][a-z0-9-]*", re.IGNORECASE)
_MINUTES = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a lesson table."""

    number: int
    title: str
    slug: str
    minutes: int
    linked: bool
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the arc with its rows."""

    title: str
    intro_html: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readme:
    """What the README says about its course."""

    mission_html: str = ""
    success: tuple[str, ...] = ()  # HTML of each bullet
    intro_html: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows of all parts, in order."""
        return tuple(row for part in self.parts for row in part.rows)


def read_readme(text: str, *, course: str, context: Context) -> Readme:
    """Read the README of a course; problems are those of `parse`, which reads the same file."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    try:
        opened = open_page(lines, Place(course=course, folder=""), Report("README.md", lines), context)
    except Exception:  # `parse` reports it; a course without a readable README is listed by its files
        return Readme()
    return _Reader(opened.page.line, opened.render).read(opened.nodes)


class _Reader:
    def __init__(self, line: Callable[[int], int], render: Render) -> None:
        self.line, self.render = line, render
        self.intro: list[Token] = []
        self.mission: list[Token] = []
        self.success: list[str] = []
        self.parts: list[Part] = []

    def read(self, nodes: list[Node]) -> Readme:
        section, part = "", ""
        between: list[Token] = []
        for node in nodes:
            if node.kind == "heading_open":
                text = collapse(plain_text(node.tokens))
                level = node.tokens[0].tag
                if level == "h2":
                    section, part = text.lower(), ""
                elif level == "h3":
                    part = text
                between = []
            elif node.kind == "table_open" and (rows := self._rows(node)):
                title = part or ("Lessons" if section in ("", "the arc", "lessons") else section.capitalize())
                self.parts.append(Part(title=title, intro_html=self._html(between), rows=rows))
                between = []
            elif section == "mission":
                self.mission.extend(node.tokens)
            elif section.startswith("success"):
                self._success(node)
            elif section == "":
                self.intro.extend(node.tokens)
            elif node.kind != "extension":
                between.extend(node.tokens)
        return Readme(
            mission_html=self._html(self.mission),
            success=tuple(self.success),
            intro_html=self._html([token for token in self.intro if token.type != "extension"]),
            parts=tuple(self.parts),
        )

    def _html(self, tokens: list[Token]) -> str:
        return self.render(tokens) if tokens else ""

    def _success(self, node: Node) -> None:
        if node.kind not in ("bullet_list_open", "ordered_list_open"):
            return
        for item in children_of(node):
            html = self._html(item.tokens[1:-1])
            single = html.startswith("<p>") and html.endswith("</p>") and html.count("<p>") == 1
            self.success.append(html[3:-4] if single else html)

    def _rows(self, node: Node) -> tuple[Row, ...]:
        """The rows of a lesson table; none when it is another table."""
        rows = [row for part in children_of(node) for row in children_of(part)]
        table = [[cell.tokens[1] for cell in blocks(row.tokens[1:-1])] for row in rows]
        if not table:
            return ()
        names = [collapse(plain_text([cell])).lower() for cell in table[0]]
        column = next((i for i, name in enumerate(names) if name.startswith(("lesson", "title"))), None)
        if column is None:
            return ()
        minutes = next((i for i, name in enumerate(names) if name.startswith(("min", "time"))), None)
        number = next(
            (i for i, name in enumerate(names) if name in ("#", "no", "no.", "nr", "number", "n")), None
        )
        found = [
            row
            for cells, source in zip(table[1:], rows[1:], strict=True)
            if (row := self._row(cells, column, minutes, number, source)) is not None
        ]
        return tuple(found)

    def _row(
        self, cells: list[Token], column: int, minutes: int | None, number: int | None, source: Node
    ) -> Row | None:
        if column >= len(cells):
            return None
        pieces = cells[column].children or []
        linked = next(
            (
                m
                for p in pieces
                if p.type == "link_open" and (m := _LESSON_LINK.fullmatch(unquote(str(p.attrGet("href")))))
            ),
            None,
        )
        code = next((p for p in pieces if p.type == "code_inline" and _SLUG.fullmatch(p.content)), None)
        slug = linked.group(1) if linked else code.content if code else ""
        if not slug:
            return None
        written, title = split_title(plain_text([piece for piece in pieces if piece is not code]))
        return Row(
            number=self._number(cells, number) or written or int(slug[:4]),
            title=title.strip(" :·-"),
            slug=slug,
            minutes=self._number(cells, minutes),
            linked=linked is not None,
            line=self.line(source.start),
        )

    @staticmethod
    def _number(cells: list[Token], column: int | None) -> int:
        text = plain_text([cells[column]]) if column is not None and column < len(cells) else ""
        match = _MINUTES.search(text)
        return int(match.group(0)[:6]) if match else 0
