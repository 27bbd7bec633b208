"""Every case of tests/data/lesson_cases: what the parser must understand and report."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.curriculum.html_page import lesson_html
from app.curriculum.links import Context
from app.curriculum.outline import outline
from app.curriculum.parser import parse

CASES = Path(__file__).parents[2] / "data" / "lesson_cases"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.expected.json"))
BESIDE_THE_LESSON = {"images/bubble.svg"}  # the one file that the cases say exists


def read(name: str) -> tuple[dict[str, Any], Any]:
    expected = json.loads((CASES / f"{name}.expected.json").read_text(encoding="utf-8"))
    text = (CASES / f"{name}.md").read_text(encoding="utf-8")
    # Lesson links in header lines are for the course's lint; a single file is judged by what lies beside it.
    context = Context(exists=lambda path: path in BESIDE_THE_LESSON)
    lesson = parse(
        text,
        course="course",
        slug=expected["file"].removesuffix(".md"),
        path=expected["file"],
        context=context,
    )
    return expected, lesson


def test_all_cases_are_here() -> None:
    assert len(NAMES) == 22


@pytest.mark.parametrize("name", NAMES)
def test_lesson_fields(name: str) -> None:
    expected, lesson = read(name)
    got = outline(lesson)["lesson"]
    for key, value in expected["lesson"].items():
        if key == "widgets":
            assert [
                {field: widget[field] for field in want} for widget, want in zip(got[key], value, strict=True)
            ] == value
        else:
            assert got[key] == value, key


@pytest.mark.parametrize("name", NAMES)
def test_items_and_reps(name: str) -> None:
    expected, lesson = read(name)
    got = outline(lesson)
    assert got["reps"] == expected["reps"]
    assert len(got["items"]) == len(expected["items"])
    for item, want in zip(got["items"], expected["items"], strict=True):
        assert item["prompt"].startswith(want["prompt_start"])
        for key, value in want.items():
            if key not in ("prompt_start", "feedback_note"):
                assert item.get(key) == value, (want["number"], key)


@pytest.mark.parametrize("name", NAMES)
def test_diagnostics(name: str) -> None:
    expected, lesson = read(name)
    got = [(d["line"], d["code"], d["severity"]) for d in outline(lesson)["diagnostics"]]
    assert sorted(got) == sorted((d["line"], d["code"], d["severity"]) for d in expected["diagnostics"])
    recovered = {(d["line"], d["code"]) for d in outline(lesson)["diagnostics"] if d.get("recovered")}
    assert {(d["line"], d["code"]) for d in expected["diagnostics"] if d.get("recovered")} <= recovered


@pytest.mark.parametrize("name", NAMES)
def test_page(name: str) -> None:
    expected, lesson = read(name)
    html = lesson_html(lesson)
    for text in expected["render"].get("must_contain", []):
        assert text in html
    for text in expected["render"].get("must_not_contain", []):
        assert text not in html
