"""The parser on anything: it never raises, drops no word in silence, and nothing it makes can run."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.curriculum.blocks import Lesson
from app.curriculum.html_page import lesson_html
from app.curriculum.outline import outline
from app.curriculum.parser import parse
from tests.pace import pace

CASES = sorted((Path(__file__).parents[1] / "data" / "lesson_cases").glob("*.md"))
FRAGMENTS = [
    "## Practice", "## Know this", "## Warm-up", "### Sub", "# Lesson 2. T", "## Real-world reps",
    "---", "1. ▢ ", "2. ", "- ", "- a) ", "    - b) ", "- [ ] ", "> ", "    ", "\t",
    '<details markdown="1"><summary>Check</summary>', "<details><summary>Hint</summary>",
    "</details>", "</summary>", "<!-- item", "id: x", "kind: numeric", "answer: 3", "-->",
    "<!-- widget calculator", "<!-- calc: a of {b: 1} as GB -->", "**b)** ", "**", "*", "`", "```",
    "~~~py", "```mermaid", "| a | b |", "|---|---|", "[", "](", "![", ")", "<T>", "<script>",
    "</script>", "<div>", "<b", ">", "<?", "?>", "<!--", "&amp;", "\\", "$$", "\\(",
    "[x]: https://a.example", "title: 2. A: B", "math: true", "house: teach", "**Mission link:** ",
    "{n}", "\ue0000\ue001", "\x00", "\u202e", "🙂", "(a) and (b) ",
]  # fmt: skip


def parsed(text: str) -> Lesson:
    return parse(text, course="course", slug="0002-x", path="x.md")


def everything(lesson: Lesson) -> str:
    """All that a reader or author can see of a lesson."""
    said = " ".join(f"{p.message} {p.source}" for p in lesson.problems)
    data = json.dumps(outline(lesson), ensure_ascii=False, default=str)
    front = json.dumps(dict(lesson.front_matter), ensure_ascii=False, default=str)
    return f"{lesson_html(lesson)} {said} {data} {front} {lesson.title} {lesson.description}"


@st.composite
def hostile(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Fragments of the format in any order, with numbered words among them."""
    pieces, words = [], []
    for number in range(draw(st.integers(1, 30))):
        piece = draw(st.sampled_from(FRAGMENTS))
        if draw(st.booleans()):
            words.append(f"word{number}q")
            piece += words[-1]
        pieces.append(piece + draw(st.sampled_from(["", " ", "\n", "\n\n", "\n\n\n"])))
    return "".join(pieces), words


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile())
def test_never_raises_and_drops_no_word(case: tuple[str, list[str]]) -> None:
    text, words = case
    shown = everything(parsed(text))
    missing = [word for word in words if word not in shown]
    assert not missing, text


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_any_text_at_all(text: str) -> None:
    lesson = parsed(text)
    assert "TX002" not in [problem.code for problem in lesson.problems]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_mutated_lessons(path: Path, data: st.DataObject) -> None:
    """Lines of real cases moved, doubled, cut or indented; their words stay findable."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["drop", "double", "indent", "cut", "swap", "join"])):
            case "drop" if len(lines) > 2:
                del lines[at]
            case "double":
                lines.insert(at, lines[at])
            case "indent":
                lines[at] = "    " + lines[at]
            case "cut":
                lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
            case "swap":
                lines[at], lines[-1] = lines[-1], lines[at]
            case "join" if at + 1 < len(lines):
                lines[at : at + 2] = [lines[at] + lines[at + 1]]
    text = "\n".join(lines)
    lesson = parsed(text)
    assert "TX002" not in [problem.code for problem in lesson.problems], text
    assert list(lesson.problems) == sorted(lesson.problems, key=lambda p: (p.line, p.code, p.message))
    assert all(1 <= problem.line <= max(1, text.count("\n") + 1) for problem in lesson.problems)
    html = lesson_html(lesson)
    assert not re.search(r"<(?:script|style|iframe|form|input)\b", html, re.IGNORECASE)
    assert len({item.id for item in lesson.items}) == len(lesson.items)


HOSTILE = {
    "quotes": "> ",
    "brackets": "[",
    "images": "![",
    "links": "[a](b",
    "emphasis": "**a *b ",
    "code": "`a ``b ",
    "comments": "<!-- \n",
    "comments in a line": "<!-- ",
    "tags": "<a <b ",
    "raw": "<div>\n",
    "folds": '<details markdown="1"><summary>Check</summary>\n',
    "closing": "</details>\n",
    "fences": "```\n",
    "tables": "| a | b |\n|---|---|\n",
    "headings": "## a\n",
    "items": "1. ▢ a\n",
    "items with comments": "1. ▢ a\n\n<!-- item\nanswer: 1\n-->\n\n",
    "lists": "- - - - a\n",
    "words": "word ",
    "one word": "x",
    "reasons": "(a) is wrong. ",
    "definitions": "[a]: b\n",
    "entities": "&amp;&",
    "nothing": "\n",
    "tabs": "\t",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("size", [1_000_000, 150_000])
def test_a_megabyte_of_it_takes_no_more_than_two_seconds(name: str, size: int) -> None:
    unit = HOSTILE[name]
    text = "## Practice\n\n1. ▢ Q\n\n" + (unit * (size // len(unit) + 1))[:size]
    assert pace(lambda: parsed(text)) < 80


@pytest.mark.parametrize("unit", ["[", "![", "**a*", "<a ", "`a``", "[[a](b)", "_a__", "<b>"])
def test_long_paragraphs(unit: str) -> None:
    paragraph = unit * (9_000 // len(unit)) + "\n\n"
    assert pace(lambda: parsed(paragraph * 11)) < 80
