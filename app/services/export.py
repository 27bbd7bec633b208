"""A course leaves the site: pages to print, Markdown, questions as GIFT, cards for Anki."""

import base64
import mimetypes
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from app.curriculum.course import Course, Library
from app.curriculum.engine import Engine
from app.services.export_anki import anki_csv
from app.services.export_gift import gift
from app.services.export_markdown import markdown_lesson
from app.services.export_pages import html_bundle, image_address
from app.services.questions import Choice, Question, question, with_images, without_inner_links

FORMATS = ("html", "markdown", "gift", "anki")
LARGEST_INLINE_BYTES = 300_000  # a figure written into the text of a question


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written below the folder, or why nothing was."""

    files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def export(
    library: Library, topic: str, to: Path, format: str, engine: Engine, *, replace_files: bool = False
) -> Exported:
    """Write the course to a folder. Nothing that exists is touched unless `replace_files`."""
    course = library.course(topic)
    problems = []
    if course is None:
        problems.append(f"there is no course {topic}; there are: {', '.join(library.courses) or 'none'}")
    if format not in FORMATS:
        problems.append(f"there is no format {format}; choose {', '.join(FORMATS)}")
    if course is not None and to.resolve().is_relative_to(course.folder.resolve().parent):
        problems.append(
            f"{to} lies among the lessons themselves; choose a folder outside {course.folder.parent}"
        )
    if to.exists() and not to.is_dir():
        problems.append(f"{to} is a file; choose a folder")
    elif to.is_dir() and any(to.iterdir()) and not replace_files:
        problems.append(
            f"{to} is not empty; choose another folder, or add --replace to write over what is there"
        )
    if course is None or problems:
        return Exported(problems=tuple(problems))
    files, notes = bundle(course, library.diagrams, format, engine)
    try:
        for name, data in files.items():
            path = to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as error:
        return Exported(problems=(f"cannot write {error.filename}: {error.strerror}",))
    return Exported(files=tuple(files), notes=notes)


def bundle(
    course: Course, diagrams: Mapping[str, bytes], format: str, engine: Engine
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """File name → content in that format, and what a person should know about it."""
    questions = {
        slug: tuple(question(lesson, item, engine) for item in lesson.items)
        for slug, lesson in course.lessons.items()
    }
    everything = [one for some in questions.values() for one in some]
    figures = _figures(course, diagrams)
    if format == "html":
        return {**_encoded(html_bundle(course, questions)), **figures}, ()
    if format == "markdown":
        return {**_markdown(course, questions), **figures}, ()
    if format == "gift":
        inlined = [
            _prepared(one, lambda source: _data_url(source, course.topic, figures)) for one in everything
        ]
        named = sum(bool(one.named) for one in everything)
        notes = (
            [f"{named} items ask for several numbers; GIFT has none of that kind, so they are essays"]
            if named
            else []
        )
        return {f"{course.topic}.gift.txt": gift(inlined, course.title).encode()}, tuple(notes)
    media: dict[str, bytes] = {}
    cards = [
        _prepared(one, lambda source: _media(source, course.topic, figures, media)) for one in everything
    ]
    files = {f"{course.topic}.csv": anki_csv(cards, course.title).encode()}
    notes = ["copy the files of media/ into Anki's collection.media folder first"] if media else []
    return {**files, **{f"media/{name}": data for name, data in media.items()}}, tuple(notes)


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


def _markdown(course: Course, questions: Mapping[str, Iterable[Question]]) -> dict[str, bytes]:
    """The course's files under the names they have, so that their links lead where they did."""
    files: dict[str, bytes] = {}
    for slug, lesson in course.lessons.items():
        path = course.folder / "lessons" / f"{slug}.md"
        text = path.read_text(encoding="utf-8", errors="replace")
        files[f"lessons/{slug}.md"] = markdown_lesson(text, lesson, tuple(questions[slug])).encode()
    single = {"README.md": course.readme, "GLOSSARY.md": course.glossary, "RESOURCES.md": course.resources}
    pages = {name: page for name, page in single.items() if page is not None}
    pages |= {f"reference/{slug}.md": page for slug, page in course.references.items()}
    for name, page in pages.items():
        text = (course.folder / name).read_text(encoding="utf-8", errors="replace")
        files[name] = markdown_lesson(text, page, ()).encode()
    return files


def _figures(course: Course, diagrams: Mapping[str, bytes]) -> dict[str, bytes]:
    """The images and diagrams that the course's pages show, by their address in the bundle."""
    shown: dict[str, bytes] = {}
    library = Library(courses={course.topic: course})
    for page in course.pages:
        for diagram in page.diagrams:
            if data := diagram.svg or diagrams.get(diagram.hash, b""):
                shown[f"diagrams/{diagram.hash}.svg"] = data
        for source in re.findall(r'<img\b[^>]*?\bsrc="([^"]*)"', _all_html(page)):
            address = image_address(source, course.topic)
            path = (
                library.image(course.topic, address.removeprefix("images/"))
                if address.startswith("images/")
                else None
            )
            if path is not None:
                shown[address] = path.read_bytes()
    return shown


def _all_html(page: object) -> str:
    """Every piece of HTML of a page, one after the other."""
    pieces: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            if "<img" in value:
                pieces.append(value)
        elif isinstance(value, tuple):
            for one in value:
                walk(one)
        elif hasattr(value, "__dataclass_fields__"):
            for name in value.__dataclass_fields__:
                walk(getattr(value, name))

    walk(page)
    return "".join(pieces)


def _prepared(one: Question, address: Callable[[str], str]) -> Question:
    """The question without links into the site, its images where `address` puts them."""

    def html(text: str) -> str:
        return with_images(without_inner_links(text), address)

    def choices(some: tuple[Choice, ...]) -> tuple[Choice, ...]:
        return tuple(replace(c, html=html(c.html), feedback_html=html(c.feedback_html)) for c in some)

    return replace(
        one,
        prompt_html=html(one.prompt_html),
        choices=choices(one.choices),
        order=choices(one.order),
        item=replace(one.item, options=tuple(replace(o, html=html(o.html)) for o in one.item.options)),
        hints_html=tuple(map(html, one.hints_html)),
        checks_html=tuple(map(html, one.checks_html)),
    )


def _data_url(source: str, topic: str, figures: Mapping[str, bytes]) -> str:
    address = image_address(source, topic)
    data = figures.get(address, b"")
    if not data or len(data) > LARGEST_INLINE_BYTES:
        return ""
    kind = mimetypes.guess_type(address)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _media(source: str, topic: str, figures: Mapping[str, bytes], media: dict[str, bytes]) -> str:
    """A name that no other course's file has, as all of Anki's media lie in one folder."""
    address = image_address(source, topic)
    if address not in figures:
        return ""
    name = re.sub(r"[^\w.-]+", "-", f"{topic}-{address.partition('/')[2]}")
    media[name] = figures[address]
    return name
