"""The manual is true: its commands run, its examples lint clean, its tables name every field and kind."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from typer.testing import CliRunner

from app.cli import cli
from app.curriculum.blocks import ItemKind
from app.curriculum.extensions import ITEM_FIELDS
from app.curriculum.links import Context
from app.curriculum.parser import parse
from app.services.engine import CalculatorEngine
from app.services.preview_files import problems_alone
from app.services.skeletons import new_course, new_lesson

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "authoring.md").read_text()
SCHEMA = json.loads((ROOT / "docs" / "editor" / "item.schema.json").read_text())
SNIPPETS = json.loads((ROOT / "docs" / "editor" / "meshwright.code-snippets").read_text())
runner = CliRunner()


def section(title: str) -> str:
    """What stands under a ## heading."""
    return re.split(r"\n## ", MANUAL.split(f"\n## {title}\n")[1])[0]


def fences(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


WALK = section("Your first lesson, in ten minutes")
KINDS = re.findall(
    r"^### ([A-Z][a-z]+).*?\n(.*?)(?=^### |\Z)", section("Every kind of item"), re.MULTILINE | re.DOTALL
)
EXAMPLES = [(name, example) for name, text in KINDS for example in fences(text, "markdown")]


def lint(*paths: str, exit_code: int = 0) -> str:
    result = runner.invoke(cli, ["lint", *paths])
    assert result.exit_code == exit_code, result.output
    return result.stdout


def commands(text: str) -> list[list[str]]:
    lines = "".join(fences(text, "sh")).splitlines()
    return [[part.strip('"') for part in re.findall(r'"[^"]*"|\S+', line)][1:] for line in lines]


def test_the_walk_through_from_nothing_to_a_clean_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lessons").mkdir()
    monkeypatch.chdir(tmp_path)
    new, lesson, _preview, last = commands(WALK)
    for arguments in (new, lesson):
        assert runner.invoke(cli, arguments).exit_code == 0
    [path] = [Path(name) for name in re.findall(r"`(lessons/\S+?\.md)`", WALK)]
    number, puzzle = fences(WALK, "markdown")
    text = path.read_text()
    text = re.sub(
        r"(### One idea\n\n).*?\n(?=\n## Practice)", lambda m: m.group(1) + number, text, flags=re.DOTALL
    )
    text = re.sub(r"3\. ▢ Puzzle.*?(?=## Real-world)", lambda _: puzzle + "\n", text, flags=re.DOTALL)
    path.write_text(text)
    assert runner.invoke(cli, last).stdout == "4 files: nothing to mend\n"
    # The mistakes that it asks to make are told as it says.
    path.write_text(text.replace("**13.5 GB**", "**12.5 GB**"))
    assert "CA002 error: the text says 12.5 GB, the engine says 13.5 GB" in lint(*last[1:], exit_code=1)
    path.write_text(text.replace("example: {zero_stage: 3}", "example: {zero_stage: 0}"))
    assert "PZ002 error" in lint(*last[1:], exit_code=1)
    path.write_text(text.replace("**b)** Say", "**d)** Say"))
    [said] = fences(WALK, "text")
    assert re.sub(r":\d+:", ":", said.strip()) in re.sub(r":\d+:", ":", lint(*last[1:], exit_code=1))


def test_every_command_of_the_manual_exists() -> None:
    for name in set(re.findall(r"`?meshwright (new course|new lesson|[a-z-]+)", MANUAL)):
        if name == "new":
            continue
        assert runner.invoke(cli, [*name.split(), "--help"]).exit_code == 0, name
    for option in set(re.findall(r"meshwright lint [^`\n]*?(--[a-z]+)", MANUAL)):
        assert option in runner.invoke(cli, ["lint", "--help"], env={"COLUMNS": "200"}).stdout


FRAME = """---
title: "1. A"
type: lesson
---
# Lesson 1. A

**Mission link:** m
**Primary source:** s
**Prerequisites:** none

## Know this

{before}

## Practice

{items}
## Real-world reps

- [ ] a
- [ ] b
- [ ] Tomorrow: c
"""
PLAIN = """{n}. ▢ Q{n}

<details markdown="1"><summary>Check</summary>

A

</details>

"""


def problems(example: str) -> list[str]:
    """What lint says about an item, a widget or a sentence in a lesson that is right otherwise."""
    is_item = "kind: predict" not in example and example.lstrip().startswith("1. ▢")
    items = [PLAIN.format(n=n) for n in (2, 3, 4)] if is_item else [PLAIN.format(n=n) for n in (1, 2, 3)]
    practice = "".join([f"{example}\n\n", *items] if is_item else items)
    text = FRAME.replace("{before}", "" if is_item else example).replace("{items}", practice)
    engine = CalculatorEngine()
    lesson = parse(text, course="c", slug="0001-a", path="0001-a.md", context=Context(engine=engine))
    return [f"{one.code} {one.message}" for one in problems_alone(lesson, engine)]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_examples_of_items_are_right_and_of_their_kind(name: str, example: str) -> None:
    assert problems(example) == []
    kinds = {
        "Open": "open",
        "Choices": "mcq",
        "Number": "numeric",
        "Ordering": "ordering",
        "Predict": "predict",
        "Rubric": "rubric",
    }
    [item] = parse(f"## Practice\n\n{example}", course="c", slug="0001-a", path="a").items
    assert (item.kind, item.graded) == (kinds.get(name, name.lower()), name not in ("Open", "Rubric"))


@pytest.mark.parametrize("title", ["Numbers that cannot be wrong", "Live figures"])
def test_examples_of_numbers_and_figures(title: str) -> None:
    found = fences(section(title), "markdown")
    assert found
    for example in found:
        assert problems(example) == []


def test_every_kind_and_every_field_is_explained() -> None:
    table = section("Every kind of item")
    assert {kind for kind in ItemKind if f"`{kind}`" not in table} == set()
    assert {field for field in ITEM_FIELDS if f"`{field}`" not in table} == set()


def comments(text: str) -> list[object]:
    return [yaml.safe_load(body) for body in re.findall(r"<!-- item\n(.*?)\n-->", text, re.DOTALL)]


def test_the_schema_names_exactly_the_fields_and_kinds() -> None:
    assert set(SCHEMA["properties"]) == set(ITEM_FIELDS)
    assert set(SCHEMA["properties"]["kind"]["enum"]) == set(ItemKind)


def test_the_schema_takes_what_lint_takes() -> None:
    validator = jsonschema_rs.validator_for(SCHEMA)
    lessons = [path.read_text() for path in sorted((ROOT / "lessons").glob("*/lessons/*.md"))]
    found = [comment for text in [MANUAL, *lessons] for comment in comments(text)]
    assert len(found) > 20
    for comment in found:
        assert list(validator.iter_errors(comment)) == [], comment
    for wrong in (
        {"kind": "numerical"},
        {"tolerence": "2%"},
        {"require": "fits == yes"},
        {"answer": [1, 2, 3]},
        {"id": "a b"},
    ):
        assert not validator.is_valid(wrong), wrong


def expanded(body: list[str]) -> str:
    """A snippet as an editor leaves it when nothing is typed."""
    text = "\n".join(body).replace("\\}", "\0")
    text = re.sub(r"\$\{\d+\|([^,|]*)[^}]*\}", r"\1", text)
    return re.sub(r"\$\{\d+:([^}]*)\}|\$0", lambda m: m.group(1) or "", text).replace("\0", "}")


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_are_right_as_they_come(name: str) -> None:
    text = expanded(SNIPPETS[name]["body"])
    assert "${" not in text
    if SNIPPETS[name]["prefix"] == "lesson":
        lesson = parse(text, course="c", slug="0001-title", path="a.md")
        assert [one.code for one in lesson.problems] == []
    else:
        assert problems(text) == []


def test_what_new_writes_is_what_the_manual_says(tmp_path: Path) -> None:
    """The walk-through speaks of a choice, a number and a puzzle, in this order."""
    new_course(tmp_path, "c")
    path = new_lesson(tmp_path, "c", "A").written[0]
    kinds = [item.kind.value for item in parse(path.read_text(), course="c", slug="0001-a", path="a").items]
    assert kinds == ["mcq", "numeric", "calculator"]
