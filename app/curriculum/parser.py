"""Markdown text to a Lesson. Never raises, never drops a word in silence, reports every problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.curriculum.annotate import annotate, plain_text, report_links
from app.curriculum.blocks import Lesson, Prose, Rep
from app.curriculum.choices import Render
from app.curriculum.front_matter import FrontMatter, read_front_matter
from app.curriculum.header import Header, addresses, check_header, identify, read_extras, take_header, words
from app.curriculum.links import Context, Place
from app.curriculum.markdown import make_markdown
from app.curriculum.page import Page
from app.curriculum.renderer import HOLD_CLOSE, HOLD_OPEN, finish
from app.curriculum.report import Report
from app.curriculum.section_order import check_sections
from app.curriculum.sections import SectionReader
from app.curriculum.source import Source, prepare
from app.curriculum.text import collapse, digest
from app.curriculum.tree import Node, blocks

LARGEST = 1_500_000  # characters; a lesson of 20 minutes has 40,000
MOST_LINES = 15_000  # a lesson has under 1,500
MOST_MARKS = 15_000  # of any one of the signs below; a lesson has some hundreds
MARKS = "[<|*_`>&"


@lru_cache(maxsize=2)
def _markdown(math: bool) -> MarkdownIt:
    return make_markdown(math=math)


def parse(
    text: str, *, course: str, slug: str, path: str, folder: str = "lessons", context: Context | None = None
) -> Lesson:
    """A lesson (or another page of a course) as it can be understood, with all its problems, sorted.

    course: the folder's name. slug: the file's name without .md. path: as problems shall name it.
    folder: where in the course the file lies ("lessons", "reference" or ""), for relative links.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    text = text.replace(HOLD_OPEN, "\ufffd").replace(HOLD_CLOSE, "\ufffd")
    lines = text.split("\n")
    report = Report(path, lines)
    place = Place(course=course, folder=folder)
    if why := _too_much(text, lines):
        report.add("TX002", 1, f"{why}; it is shown as plain text", source="")
        return _plain_lesson(text, place, slug, report)
    try:
        return _assemble(text, slug, open_page(lines, place, report, context or Context()))
    except (
        Exception
    ) as error:  # the promise is that a lesson is always shown; the problem names what went wrong
        report.add(
            "TX002",
            1,
            f"the file is too tangled to be read ({type(error).__name__}); it is shown as plain text",
            source="",
        )
        return _plain_lesson(text, place, slug, report)


def _too_much(text: str, lines: list[str]) -> str:
    """Why a file is not even tried: no lesson comes near these numbers, and hostile input must not
    cost seconds.
    """
    if len(text) > LARGEST:
        return f"the file has {len(text):,} characters, more than {LARGEST:,}"
    if len(lines) > MOST_LINES:
        return f"the file has {len(lines):,} lines, more than {MOST_LINES:,}"
    heavy = next((mark for mark in MARKS if text.count(mark) > MOST_MARKS), "")
    return f"the file has more than {MOST_MARKS:,} times the sign {heavy}" if heavy else ""


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A file after the Markdown parser: its blocks, and how to render them."""

    page: Page
    nodes: list[Node]
    matter: FrontMatter
    extras: Mapping[str, Any]
    render: Render


def open_page(lines: list[str], place: Place, report: Report, context: Context) -> OpenPage:
    """Front matter, tokens, links: everything short of sections and items. May raise on tangled input."""
    matter = read_front_matter(lines, report)
    source = prepare(lines, matter.num_lines, report)
    page = Page(report=report, source=source, place=place, context=context)
    extras = read_extras(matter, page)
    md = _markdown(bool(extras["math"]))
    env: dict[str, Any] = {"folds": source.folds}
    tokens = md.parse("\n".join(source.lines), env)
    annotate(tokens, page)
    _unused_definitions(env, tokens, page)

    def render(some: Sequence[Token]) -> str:
        return finish(md.renderer.render(some, md.options, env), page.trusted)

    return OpenPage(page, blocks(tokens), matter, extras, render)


def _assemble(text: str, slug: str, opened: OpenPage) -> Lesson:
    page, matter, extras, render = opened.page, opened.matter, opened.extras, opened.render
    heading, rest, header, before = _top(opened.nodes, page)
    title = collapse(plain_text(heading.tokens)) if heading else ""
    identity = identify(matter, title, page.line(heading.start) if heading else 0, slug, page)
    body, closing = _closing(rest)
    report_links([token for node in [*before, *rest] for token in node.tokens], page)
    if page.context.courses:  # the header's links can be judged only where the course is known
        report_links([Token("inline", "", 0, children=part) for part in header.parts.values()], page)
    check_header(header, page)
    reader = SectionReader(page, render, with_items=identity.type in ("lesson", "topic"))
    reader.read([*before, *body])
    _unread_comments(opened.nodes, page)
    whole = bool(matter.num_lines or heading)
    if identity.type == "lesson":
        reps = sum(1 for block in reader.blocks if isinstance(block, Rep))
        check_sections(
            reader.section_lines, whole=whole, number=identity.number, reps=reps, report=page.report
        )
    parts = header.parts
    return Lesson(
        course=page.place.course,
        slug=slug,
        path=page.report.path,
        number=identity.number,
        title=identity.title,
        description=identity.description,
        type=identity.type,
        mission_html=render(parts.get("mission", [])),
        source_html=render(parts.get("source", [])),
        prerequisites_html=render(parts.get("prerequisites", [])),
        minutes=extras["minutes"],
        math=extras["math"],
        objectives=extras["objectives"],
        blocks=tuple(reader.blocks),
        closing_html=render([token for node in closing for token in node.tokens]),
        content_hash=digest(text),
        has_front_matter=matter.num_lines > 0,
        front_matter=matter.values,
        sections=tuple(reader.sections),
        primary_sources=addresses(parts.get("source", [])),
        prerequisites=addresses(parts.get("prerequisites", [])),
        prerequisites_text=words(parts.get("prerequisites", [])),
        links=tuple(page.links),
        images=tuple(page.images),
        tables=page.tables,
        anchors=tuple(page.anchors),
        numbers=tuple(page.numbers),
        diagrams=tuple(page.diagrams),
        declarations=reader.declarations,
        problems=page.report.sorted,
    )


def _top(nodes: list[Node], page: Page) -> tuple[Node | None, list[Node], Header, list[Node]]:
    """The H1, what follows it, the header lines, and blocks before or beside them that stay prose."""
    header = Header()
    heading = next(
        (node for node in nodes if node.kind == "heading_open" and node.tokens[0].tag == "h1"), None
    )
    before: list[Node] = []
    rest: list[Node] = []
    open_top = True
    for node in nodes:
        if node is heading:
            continue
        if node.kind == "heading_open" and node.tokens[0].tag == "h2":
            open_top = False
        if open_top and node.kind == "paragraph_open" and take_header(node.tokens[1], page, header):
            continue
        (before if open_top else rest).append(node)
    return heading, rest, header, before


def _closing(nodes: list[Node]) -> tuple[list[Node], list[Node]]:
    """What follows the last thematic break after the last ## heading closes the lesson."""
    last = -1
    for position, node in enumerate(nodes):
        if node.kind == "heading_open" and node.tokens[0].tag in ("h1", "h2"):
            last = -1
        elif node.kind == "hr":
            last = position
    if last < 0 or any(
        node.kind in ("ordered_list_open", "fold_open", "extension") for node in nodes[last + 1 :]
    ):
        return nodes, []
    return nodes[:last], nodes[last + 1 :]


def _unused_definitions(env: Mapping[str, Any], tokens: Sequence[Token], page: Page) -> None:
    """[label]: address lines that no link uses are nowhere on the page; say so."""
    used = {
        str(child.attrGet("href") or child.attrGet("src"))
        for token in tokens
        for child in token.children or []
    }
    twice = env.get("duplicate_refs", [])
    defined = [*env.get("references", {}).items(), *((one["label"], one) for one in twice)]
    for label, reference in defined:
        if str(reference.get("href")) in used and reference not in twice:
            continue
        line = page.line(reference["map"][0]) if reference.get("map") else 1
        said = f"{reference.get('href')} {reference.get('title', '')}".rstrip()
        page.report.add("LN006", line, f"the link definition [{label}] is not used: {said}")


def _unread_comments(nodes: Sequence[Node], page: Page) -> None:
    """Comments inside a list, a quote or a plain fold, where nothing looks for them."""
    for token in (token for node in nodes for token in node.tokens):
        if token.type == "extension" and not token.meta.get("read"):
            line = page.line(token.map[0]) if token.map else 1
            message = (
                f"nothing reads this {token.meta['name']} comment; move it out of the list, quote or fold"
            )
            page.report.add("EX005", line, message, source=token.meta["text"].strip())


def _plain_lesson(text: str, place: Place, slug: str, report: Report) -> Lesson:
    """The whole file as it stands, for want of anything better."""
    prose = Prose(html=f'<pre class="raw" tabindex="0">{escape(text, quote=False)}</pre>', text=text, line=1)
    page = Page(report=report, source=Source(), place=place, context=Context())
    identity = identify(FrontMatter(), "", 0, slug, page)
    return Lesson(
        course=place.course,
        slug=slug,
        path=report.path,
        number=identity.number,
        title=identity.title,
        blocks=(prose,),
        has_front_matter=False,
        content_hash=digest(text),
        problems=report.sorted,
    )
