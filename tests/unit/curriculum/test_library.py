"""A folder of courses as a library, and what happens when files change."""

import os
from pathlib import Path

import pytest

from app.curriculum.blocks import ItemKind
from app.curriculum.library import LibraryStore, load_library
from tests.unit.curriculum.helpers import FakeEngine, fold

README = """---
title: "Cuts: all of them"
description: One clause
type: index
---
# Cuts: all of them

Welcome.

## Mission

Choose **well**.

## Success looks like

- You say `why`.
- You say how much.

## The arc

### Part I. First

What fits.

| # | Lesson | Minutes |
|---|---|---|
| 1 | [One](lessons/0001-one.md) | 15 |
| 2 | Two: the Second `0002-two` | 14 |

### Part II. Then

| # | Lesson | Minutes | Note |
|:-:|---|--:|---|
| 3 | [Three](lessons/0003-three.md) | 20 min | x |

| Other | Table |
|---|---|
| a | b |

<!-- course
skills: {fit: Say what fits}
misconceptions:
  weights-only: Counts the weights only
-->
"""
GLOSSARY = (
    "---\ntitle: Glossary\ntype: glossary\n---\n# Glossary\n\n## Words\n\n### Bubble\n\n"
    "Idle *time*.\n\n### Micro-batch\n\nA part.\n"
)


def lesson(number: int, title: str, body: str = "") -> str:
    return (
        f'---\ntitle: "{number}. {title}"\ndescription: d{number}\ntype: lesson\nminutes: '
        f"{10 + number}\n---\n# Lesson {number}. {title}\n\n"
        f"**Mission link:** m\n**Primary source:** s\n**Prerequisites:** none\n\n## Know this\n\n"
        f"Text.\n\n{body}"
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    course = tmp_path / "lessons" / "cuts"
    for folder in ("lessons", "reference", "images", "learning-records"):
        (course / folder).mkdir(parents=True)
    (course / "README.md").write_text(README, encoding="utf-8")
    (course / "GLOSSARY.md").write_text(GLOSSARY, encoding="utf-8")
    (course / "NOTES.md").write_text("private words", encoding="utf-8")
    (course / "learning-records" / "a.md").write_text("private words", encoding="utf-8")
    (course / "reference" / "letters.md").write_text("# Letters\n\na\n", encoding="utf-8")
    (course / "images" / "a.svg").write_text("<svg/>", encoding="utf-8")
    links = (
        "[two](0002-two.md) [b](../GLOSSARY.md#bubble) ![a](../images/a.svg)\n\n```mermaid\n"
        "flowchart TD\n A-->B\n```\n"
    )
    item = f"## Practice\n\n1. ▢ Q?\n\n<!-- item\nid: q\nanswer: 3\nskill: fit\n-->\n\n{fold('Check', 'c')}"
    (course / "lessons" / "0001-one.md").write_text(lesson(1, "One", links + "\n" + item), encoding="utf-8")
    (course / "lessons" / "0003-three.md").write_text(lesson(3, "Three"), encoding="utf-8")
    return tmp_path / "lessons"


def touch(path: Path, text: str, tick: int) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(tick * 10**9, tick * 10**9))


def test_course_page(root: Path) -> None:
    course = load_library(root).courses["cuts"]
    assert (course.title, course.description) == ("Cuts: all of them", "One clause")
    assert course.mission_html == "<p>Choose <strong>well</strong>.</p>"
    assert course.success == ("You say <code>why</code>.", "You say how much.")
    assert course.intro_html == "<p>Welcome.</p>"
    assert [(part.title, part.intro_html) for part in course.parts] == [
        ("Part I. First", "<p>What fits.</p>"),
        ("Part II. Then", ""),
    ]
    assert [(e.number, e.title, e.slug, e.minutes, e.status) for e in course.entries] == [
        (1, "One", "0001-one", 11, "published"),
        (2, "Two: the Second", "0002-two", 14, "planned"),
        (3, "Three", "0003-three", 13, "published"),
    ]
    assert course.skills == {"fit": "Say what fits"}
    assert course.misconceptions == {"weights-only": "Counts the weights only"}
    assert [(t.anchor, t.title, t.text) for t in course.terms] == [
        ("bubble", "Bubble", "Idle time."),
        ("micro-batch", "Micro-batch", "A part."),
    ]
    assert course.term("bubble") is not None
    assert list(course.references) == ["letters"]


def test_neighbours_skip_planned_lessons(root: Path) -> None:
    course = load_library(root).courses["cuts"]
    before, after = course.neighbours("0001-one")
    assert before is None
    assert after is not None
    assert after.slug == "0003-three"
    assert course.neighbours("0002-two") == (None, None)


def test_lookups(root: Path) -> None:
    library = load_library(root)
    one = library.lesson("cuts", "0001-one")
    assert one is not None
    assert library.item("cuts", "0001-one", "q") is not None
    assert library.lesson("cuts", "0002-two") is None
    assert library.lesson("none", "0001-one") is None
    assert [problem.code for problem in one.problems] == ["LN004"]
    svg = library.diagram(one.diagrams[0].hash)
    assert svg is not None
    assert svg.startswith(b"<svg")
    assert library.diagram("none") is None


def test_images_stay_in_their_folder(root: Path) -> None:
    (root / "cuts" / "images" / "page.html").write_text("x")
    library = load_library(root)
    assert library.image("cuts", "a.svg") == (root / "cuts" / "images" / "a.svg").resolve()
    for name in (
        "../README.md",
        "../../cuts/images/../README.md",
        "none.svg",
        "page.html",
        "",
        "/etc/passwd",
        "a\0.svg",
    ):
        assert library.image("cuts", name) is None


def test_private_files_are_not_read(root: Path) -> None:
    course = load_library(root).courses["cuts"]
    assert not any(
        "private words" in block.html
        for page in course.pages
        for block in page.blocks
        if hasattr(block, "html")
    )


def test_unlisted_lessons_come_last(root: Path) -> None:
    (root / "cuts" / "lessons" / "0009-new.md").write_text(lesson(9, "New"), encoding="utf-8")
    course = load_library(root).courses["cuts"]
    assert (course.parts[-1].title, course.entries[-1].slug) == ("More lessons", "0009-new")


def test_changes_are_picked_up_and_nothing_is_parsed_twice(root: Path) -> None:
    now = [0.0]
    store = LibraryStore(root, engine=FakeEngine(), clock=lambda: now[0])
    first = store.current()
    path = root / "cuts" / "lessons" / "0003-three.md"
    touch(path, lesson(3, "Three again"), 5)
    assert store.current() is first  # not looked at again within a second
    now[0] = 2.0
    second = store.current()
    assert second.version != first.version
    assert second.courses["cuts"].lessons["0003-three"].title == "Three again"
    assert second.courses["cuts"].lessons["0001-one"] is first.courses["cuts"].lessons["0001-one"]
    now[0] = 4.0
    assert store.current() is second


def test_a_lesson_that_gets_written_is_no_longer_planned(root: Path) -> None:
    now = [0.0]
    store = LibraryStore(root, clock=lambda: now[0])
    store.current()
    (root / "cuts" / "lessons" / "0002-two.md").write_text(lesson(2, "Two: the Second"), encoding="utf-8")
    now[0] = 2.0
    one = store.current().courses["cuts"].lessons["0001-one"]
    assert one.problems == ()
    assert 'href="/courses/cuts/lessons/0002-two"' in "".join(
        getattr(block, "html", "") for block in one.blocks
    )


@pytest.mark.parametrize(
    "broken", ["", "\n\n", "## Know this\n\n```\nnever closed\n\n## Practice\n\n1. ▢ Q?\n", "x " * 800_000]
)
def test_a_broken_file_keeps_the_last_good_lesson(root: Path, broken: str) -> None:
    now = [0.0]
    store = LibraryStore(root, clock=lambda: now[0])
    good = store.current().courses["cuts"].lessons["0001-one"]
    path = root / "cuts" / "lessons" / "0001-one.md"
    touch(path, broken, 7)
    now[0] = 2.0
    kept = store.current().courses["cuts"].lessons["0001-one"]
    assert kept.blocks == good.blocks
    touch(path, lesson(1, "One mended"), 9)
    now[0] = 4.0
    assert store.current().courses["cuts"].lessons["0001-one"].title == "One mended"


def test_bytes_that_are_no_text_keep_the_last_good_lesson(root: Path) -> None:
    now = [0.0]
    store = LibraryStore(root, clock=lambda: now[0])
    good = store.current().courses["cuts"].lessons["0001-one"]
    path = root / "cuts" / "lessons" / "0001-one.md"
    path.write_bytes(b"\xff\xfe broken")
    now[0] = 2.0
    kept = store.current().courses["cuts"].lessons["0001-one"]
    assert kept.blocks == good.blocks
    assert [problem.code for problem in kept.problems] == ["TX003"]


def test_links_that_lead_out_of_the_folder_are_not_published(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Lesson 8. Secret\n", encoding="utf-8")
    lessons = root / "cuts" / "lessons"
    (lessons / "0008-secret.md").symlink_to(secret)
    (lessons / "0007-nowhere.md").symlink_to("nowhere.md")
    (lessons / "0006-circle.md").symlink_to("0006-circle.md")
    (lessons / "0005-again.md").symlink_to("0001-one.md")
    found = set(load_library(root).courses["cuts"].lessons)
    assert "0005-again" in found
    assert not found & {"0006-circle", "0007-nowhere", "0008-secret"}


def test_folder_without_readme_and_missing_folder(tmp_path: Path) -> None:
    assert load_library(tmp_path / "none").courses == {}
    (tmp_path / "bare" / "lessons").mkdir(parents=True)
    (tmp_path / "bare" / "lessons" / "0001-one.md").write_text(lesson(1, "One"), encoding="utf-8")
    course = load_library(tmp_path).courses["bare"]
    assert (course.title, [entry.slug for entry in course.entries]) == ("Bare", ["0001-one"])


def test_items_are_checked_with_the_engine(root: Path) -> None:
    item = f"## Practice\n\n1. ▢ Q?\n\n<!-- item\nanswer: {{calc: no.such}}\n-->\n\n{fold('Check', 'c')}"
    (root / "cuts" / "lessons" / "0003-three.md").write_text(lesson(3, "Three", item), encoding="utf-8")
    three = load_library(root, engine=FakeEngine()).courses["cuts"].lessons["0003-three"]
    assert three.items[0].kind is ItemKind.OPEN
    assert "CA001" in [problem.code for problem in three.problems]
