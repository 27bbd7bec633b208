"""Short ways to write lessons and a small engine for tests."""

from collections.abc import Mapping
from typing import Any

from app.curriculum.blocks import Item, Lesson
from app.curriculum.engine import EngineError, Quantity
from app.curriculum.links import Context
from app.curriculum.parser import parse


def fold(name: str, text: str) -> str:
    return f'<details markdown="1"><summary>{name}</summary>\n\n{text}\n\n</details>\n\n'


def lesson_of(
    text: str, *, slug: str = "0002-x", context: Context | None = None, folder: str = "lessons"
) -> Lesson:
    return parse(text, course="course", slug=slug, path="x.md", folder=folder, context=context)


def item_of(text: str, context: Context | None = None) -> Item:
    """The only item of a Practice section that consists of this text."""
    (item,) = lesson_of(f"## Practice\n\n{text}", context=context).items
    return item


def codes(lesson: Lesson) -> list[tuple[int, str]]:
    return [(problem.line, problem.code) for problem in lesson.problems]


class FakeEngine:
    """An engine of one formula: memory.total_bytes is 1e9 per unit of size; it fits up to 80 GB."""

    def answer(self, verb: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        if "size" not in inputs:
            raise EngineError("size is missing")
        if float(inputs["size"]) < 0:
            return {"legal": False, "violations": [{"message": "size must not be negative"}]}
        return {"legal": True}

    def value(self, name: str, arguments: Mapping[str, Any], verb: str = "estimate") -> Quantity:
        size = float(arguments.get("size", 1))
        known = {
            "memory.total_bytes": Quantity(value=1e9 * size, unit="bytes"),
            "fits": Quantity(value="yes" if size <= 80 else "borderline" if size <= 84 else "no"),
            "time.step_s": Quantity(value=size / 10, unit="s"),
            "time.bubble_fraction": Quantity(value=1 / size if size else 0.0, unit="fraction"),
            "legal": Quantity(value=True),
            "layout.size": Quantity(value=size),
        }
        if name not in known:
            raise EngineError(f"there is no {name}; did you mean memory.total_bytes?")
        return known[name]
