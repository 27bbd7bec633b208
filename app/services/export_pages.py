"""A course as a folder of plain HTML pages to read offline or to print: room to answer, checks at the end."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.curriculum.blocks import Heading, Item, Lesson, Prose, Rep, Widget
from app.curriculum.course import Course
from app.services.questions import Choice, Question, number_words, with_images

TEMPLATES = Path(__file__).resolve().parent.parent.parent / "templates" / "export"
_LINK = re.compile(r'<a\b([^>]*?)\bhref="([^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
_environment = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def html_bundle(course: Course, questions: Mapping[str, Sequence[Question]]) -> dict[str, str]:
    """File name → text of every page, all in one folder. questions: of each lesson, by its slug."""
    local = partial(localized, course=course)
    pages = {slug: f"{slug}.html" for slug in course.lessons}
    others = _others(course)
    files = {"style.css": (TEMPLATES / "style.css").read_text(encoding="utf-8")}
    files["index.html"] = _render(
        "index.html",
        title=course.title,
        course=course,
        intro_html=local(course.intro_html),
        mission_html=local(course.mission_html),
        success=[local(html) for html in course.success],
        pages=pages,
        others=[(page.title, address) for address, page in others.items()],
    )
    for slug, lesson in course.lessons.items():
        files[pages[slug]] = _lesson(course, lesson, questions.get(slug, ()), local)
    for address, page in others.items():
        html = local("\n".join(_plain_block(block) for block in page.blocks))
        files[address] = _render("page.html", title=page.title, up=course.title, html=html)
    return files


def _others(course: Course) -> dict[str, Lesson]:
    single = {"glossary.html": course.glossary, "resources.html": course.resources}
    found = {address: page for address, page in single.items() if page is not None}
    return found | {f"reference-{slug}.html": page for slug, page in course.references.items()}


def _lesson(
    course: Course, lesson: Lesson, questions: Sequence[Question], local: Callable[[str], str]
) -> str:
    by_id = {question.item.id: question for question in questions}
    header = (
        ("Mission", lesson.mission_html),
        ("Primary source", lesson.source_html),
        ("Before this", lesson.prerequisites_html),
    )
    return _render(
        "lesson.html",
        title=f"{lesson.number}. {lesson.title}" if lesson.number else lesson.title,
        course=course,
        lesson=lesson,
        headnote=[(term, html) for term, html in header if html],
        blocks=[_block(block, by_id) for block in lesson.blocks],
        hinted=[question for question in questions if question.hints_html],
        checked=[question for question in questions if question.checks_html or number_words(question)],
        local=local,
        answer=number_words,
        reasons=_reasons,
    )


def _block(block: Any, questions: Mapping[str, Question]) -> dict[str, Any]:
    match block:
        case Heading():
            return {"kind": "heading", "level": block.level, "anchor": block.anchor, "html": block.html}
        case Rep():
            return {"kind": "rep", "html": block.html}
        case Widget():
            return {"kind": "widget", "caption": block.caption, "preset": block.preset}
        case Item():
            return {"kind": "item", "question": questions[block.id]}
        case _:
            return {"kind": "prose", "html": block.html}


def _reasons(question: Question) -> list[Choice]:
    """The reasons for options that the check does not give itself."""
    said = " ".join(question.checks_html)
    return [
        choice for choice in question.choices if choice.feedback_html and choice.feedback_html not in said
    ]


def _plain_block(block: Any) -> str:
    """Pages to look things up in hold headings and prose only."""
    if isinstance(block, Heading):
        return f'<h{block.level} id="{block.anchor}">{block.html}</h{block.level}>'
    return block.html if isinstance(block, Prose | Rep) else ""


def _render(template: str, **values: Any) -> str:
    return _environment.get_template(template).render(**{"up": "", **values}) + "\n"


def localized(html: str, course: Course) -> str:
    """Links and images of the site as addresses within the bundle; what lies outside it becomes its words."""

    def link(match: re.Match[str]) -> str:
        before, href, after, words = match.groups()
        address = local_address(href, course)
        return f'<a{before}href="{address}"{after}>{words}</a>' if address else words

    return with_images(_LINK.sub(link, html), lambda source: image_address(source, course.topic))


def local_address(href: str, course: Course) -> str:
    """The address within the bundle; empty when the bundle does not hold what the link leads to."""
    if href.startswith("#") or re.match(r"(?:https?|mailto):", href):
        return href
    path, hash_sign, anchor = href.partition("#")
    if image := image_address(path, course.topic):
        return image
    base = f"/courses/{course.topic}"
    known = {base: "index.html"}
    known |= {f"{base}/lessons/{slug}": f"{slug}.html" for slug in course.lessons}
    known |= {f"{base}/reference/{slug}": f"reference-{slug}.html" for slug in course.references}
    known |= {f"{base}/glossary": "glossary.html"} if course.glossary else {}
    known |= {f"{base}/resources": "resources.html"} if course.resources else {}
    address = known.get(path.rstrip("/"), "")
    return f"{address}{hash_sign}{anchor}" if address else ""


def image_address(source: str, topic: str) -> str:
    """images/… or diagrams/… for a figure of this course; empty for any other address."""
    rest = source.removeprefix(f"/courses/{topic}/")
    return rest if rest != source and rest.startswith(("images/", "diagrams/")) else ""
