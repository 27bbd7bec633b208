"""A lesson that was pasted: read and linted on its own, without a course around it."""

from app.curriculum.engine import Engine
from app.curriculum.links import Context
from app.curriculum.parser import parse
from app.services.preview_files import Reading, problems_alone

LONGEST_NAME = 200
NAMELESS = "pasted.md"


def read_pasted(text: str, name: str, engine: Engine) -> Reading:
    """The lesson and its problems. Links are not judged: what lies beside the file is not known."""
    path = name.replace("\\", "/").rpartition("/")[2].strip()[-LONGEST_NAME:] or NAMELESS
    slug = path.removesuffix(".md")
    lesson = parse(text, course="preview", slug=slug, path=path, context=Context(engine=engine))
    return Reading(lesson=lesson, problems=problems_alone(lesson, engine), text=text)
