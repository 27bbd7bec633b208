"""A lesson that was pasted: read and linted on its own, without a course around it."""

import base64
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from app.curriculum.blocks import Lesson
from app.curriculum.engine import Engine
from app.curriculum.links import Context
from app.curriculum.parser import parse
from app.services.preview_files import Reading, problems_alone
from app.services.questions import with_images

LONGEST_NAME = 200
# What the calculator is asked to check while somebody waits. A lesson has a few dozen of each.
MOST_COMMENTS, MOST_WRONG_VALUES = 150, 300
NAMELESS = "pasted.md"
COURSE = "preview"
HERE = f"/courses/{COURSE}/"
_COURSE_LINK = re.compile(rf'<a\b[^>]*\bhref="{HERE}[^"]*"[^>]*>(.*?)</a>', re.DOTALL)


def read_pasted(text: str, name: str, engine: Engine) -> Reading:
    """The lesson and its problems. Links are not judged: what lies beside the file is not known."""
    path = name.replace("\\", "/").rpartition("/")[2].strip()[-LONGEST_NAME:] or NAMELESS
    slug = path.removesuffix(".md")
    lesson = parse(text, course=COURSE, slug=slug, path=path, context=Context(engine=engine))
    return Reading(lesson=_on_its_own(lesson), problems=problems_alone(lesson, engine), text=text)


def too_much(text: str) -> str:
    """Why a text is more than a lesson; empty when it may be one."""
    comments, values = text.count("<!--"), text.count("value:")
    if comments > MOST_COMMENTS:
        found, most = f"{comments:,} comments (items, figures, numbers)", MOST_COMMENTS
    elif values > MOST_WRONG_VALUES:
        found, most = f"{values:,} wrong values", MOST_WRONG_VALUES
    else:
        return ""
    return f"The text has {found}; at most {most} are taken at once. Split it into lessons."


def _on_its_own(lesson: Lesson) -> Lesson:
    """Drawings inside the page, since no address holds them; what leads into the course as its words."""
    drawings = {f"{HERE}diagrams/{one.hash}.svg": _data_url(one.svg) for one in lesson.diagrams if one.svg}

    def change(html: str) -> str:
        words = _COURSE_LINK.sub(r'<span class="planned">\1</span>', html)
        return with_images(words, lambda source: drawings.get(source, ""))

    found: Lesson = _mapped(lesson, change)
    return found


def _data_url(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """The same with every piece of HTML that leads into the course changed."""
    if isinstance(value, str):
        return change(value) if HERE in value or "<img" in value else value
    if isinstance(value, tuple):
        return tuple(_mapped(one, change) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        html = {
            field.name: getattr(value, field.name) for field in fields(value) if _may_hold_html(field.name)
        }
        return replace(value, **{name: _mapped(held, change) for name, held in html.items()})
    return value


def _may_hold_html(name: str) -> bool:
    return name.endswith("html") or name in ("blocks", "options", "hints", "checks", "rubric")
