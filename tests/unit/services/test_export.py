"""A course as files: complete, without the site's addresses, checks at the end, nothing overwritten."""

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from app.curriculum.course import Library
from app.curriculum.library import load_library
from app.services.export import FORMATS, export
from app.services.questions import question
from app.services.skeletons import new_course, new_lesson
from tests.unit.services.gift_reader import read_gift
from tests.unit.services.no_engine import NoEngine

LESSON = """---
title: "2. Links & figures"
description: d
type: lesson
---
# Lesson 2. Links & figures

**Mission link:** [m](../README.md)
**Primary source:** [Paper](https://example.org/paper)
**Prerequisites:** [Lesson 1](0001-first.md)

## Know this

See [layout](../GLOSSARY.md#layout), [the next](0003-planned.md), the [calculator](/calculator).
See [one](../reference/one.md).

![A staircase](../images/stairs.svg)

<!-- widget calculator
preset: {model: llama2-7b, tensor_parallel: 8}
caption: Change the width.
-->

```
<!-- item
in code
-->
```

## Practice

1. ▢ How many GB has {n} billion parameters? ![A staircase](../images/stairs.svg)

<!-- item
id: gb
kind: numeric
answer: 16*n
unit: GB
vary: {n: [7, 13]}
wrong: [{value: 2*n, say: "Only weights of {n}."}]
-->

<details markdown="1"><summary>Hint</summary>

Sixteen times {n}.

</details>

<details markdown="1"><summary>Check</summary>

Secret-{n}: see [layout](../GLOSSARY.md#layout).

</details>

2. ▢ Which?

    - a) {x}
    - b) two

<details markdown="1"><summary>Check</summary>

**b)** Reason-b.

- a) Reason-a.

</details>

3. ▢ Several numbers.

<!-- item
id: two
kind: numeric
answer: {memory_gb: 80, time_ms: 5}
-->

<details><summary>Check</summary>Both.</details>

## Real-world reps

- [ ] One
- [ ] Two
- [ ] Tomorrow: three

## Going further

- more

---

Not landing? Read again.
"""


ENGINE = NoEngine()


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    root = tmp_path / "lessons"
    assert new_course(root, "Storage", title='Storage: <"I/O">').problems == ()
    assert new_lesson(root, "storage", "First").problems == ()
    course = root / "storage"
    (course / "lessons" / "0002-links.md").write_text(LESSON)
    (course / "reference" / "one.md").write_text(
        "---\ntitle: One\ntype: reference\n---\n# One\n\n[Second](../lessons/0002-links.md)\n"
    )
    (course / "images" / "stairs.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    readme = course / "README.md"
    row = "| 2 | [Links & figures](lessons/0002-links.md) | 9 |\n| 3 | Later `0003-planned` | 5 |\n"
    readme.write_text(
        readme.read_text().replace("\n<!-- course", f"{row}\n<!-- course").replace("15 |\n\n", "15 |\n")
    )
    return root


@pytest.fixture
def library(lessons: Path) -> Library:
    return load_library(lessons, engine=ENGINE)


def written(library: Library, to: Path, format: str) -> dict[str, str]:
    outcome = export(library, "storage", to, format, ENGINE)
    assert outcome.problems == ()
    return {name: (to / name).read_text() for name in outcome.files}


class Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found += [value for name in ("href", "src") if (value := values.get(name))]
        if values.get("id"):
            self.ids.add(values["id"] or "")


def addresses(html: str) -> Addresses:
    reader = Addresses()
    reader.feed(html)
    return reader


def test_every_address_of_the_pages_leads_somewhere(library: Library, tmp_path: Path) -> None:
    files = written(library, tmp_path / "out", "html")
    pages = {name: addresses(text) for name, text in files.items() if name.endswith(".html")}
    assert set(pages) == {
        "index.html",
        "0001-first.html",
        "0002-links.html",
        "glossary.html",
        "resources.html",
        "reference-one.html",
    }
    for name, page in pages.items():
        for address in page.found:
            if address.startswith("https:"):
                continue
            path, _, anchor = address.partition("#")
            assert not path.startswith("/"), f"{name} leads to the site: {address}"
            target = path or name
            assert target in files, f"{name} leads to {address}"
            assert not anchor or anchor in pages[target].ids, f"{name} leads to {address}"
    assert "glossary.html#layout" in pages["0002-links.html"].found
    assert "images/stairs.svg" in pages["0002-links.html"].found
    assert "calculator" in files["0002-links.html"]


def test_checks_stand_at_the_end_and_nowhere_else(library: Library, tmp_path: Path) -> None:
    page = written(library, tmp_path / "out", "html")["0002-links.html"]
    questions, checks = page.split('<h2 id="checks">')
    for secret in ("Secret-7", "Reason-b", "Reason-a", "112 GB", "memory gb: 80"):
        assert secret not in questions
        assert secret in checks
    assert page.count("Reason-a") == 1
    assert "How many GB has 7 billion" in questions
    assert '<h2 id="hints">' in questions.split("Going further")[1]
    assert "&lt;&#34;I/O&#34;&gt;" in page


def test_markdown_bundle(library: Library, tmp_path: Path) -> None:
    files = written(library, tmp_path / "out", "markdown")
    text = files["lessons/0002-links.md"]
    body, checks = text.split("\n## Checks\n")
    assert text.startswith('---\ntitle: "2. Links & figures"')
    assert "1. ▢ How many GB has 7 billion parameters?" in body
    assert "    - a) {x}" in body
    assert "*A live figure on the site: Change the width.*" in body
    assert "```\n<!-- item\nin code\n-->\n```" in body
    assert "Secret" not in body
    assert "Sixteen times 7." in body.split("## Hints")[1]
    assert [line for line in checks.splitlines() if line.startswith("### ")] == [
        "### Practice 1",
        "### Practice 2",
        "### Practice 3",
    ]
    assert "**112 GB**\n\nSecret-7" in checks
    assert "<details" not in text
    assert "kind: numeric" not in text
    assert set(files) >= {"README.md", "GLOSSARY.md", "RESOURCES.md", "reference/one.md", "images/stairs.svg"}
    assert "<!-- course" not in files["README.md"]


def test_markdown_bundle_is_a_course_again(library: Library, tmp_path: Path) -> None:
    written(library, tmp_path / "again" / "storage", "markdown")
    again = load_library(tmp_path / "again")
    assert list(again.courses["storage"].lessons) == list(library.courses["storage"].lessons)
    assert again.courses["storage"].title == library.courses["storage"].title


def test_gift_has_every_item(library: Library, tmp_path: Path) -> None:
    [text] = written(library, tmp_path / "out", "gift").values()
    read = read_gift(text)
    items = [item for lesson in library.courses["storage"].lessons.values() for item in lesson.items]
    assert len(read) == len(items)
    by_name = {one.name: one for one in read}
    number = by_name["2. Practice 1"]
    assert number.kind == "numerical"
    assert number.answers[0].text == "110.88..113.12"
    assert number.answers[1].feedback == "Only weights of 7."
    assert "data:image/svg+xml;base64," in number.text
    assert "/courses/" not in text
    assert by_name["2. Practice 2"].answers[1].fraction == 1
    assert by_name["2. Practice 3"].kind == "essay"


def test_anki_takes_images_along(library: Library, tmp_path: Path) -> None:
    files = written(library, tmp_path / "out", "anki")
    assert set(files) == {"storage.csv", "media/storage-stairs.svg"}
    rows = list(csv.reader(io.StringIO(re.sub(r"(?m)^#.*\n", "", files["storage.csv"]))))
    assert len({row[0] for row in rows}) == len(rows)
    assert any('src="storage-stairs.svg"' in row[1] for row in rows)
    assert all("href" not in row[2] or "https://" in row[2] for row in rows)


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_overwritten_unless_asked(library: Library, tmp_path: Path, format: str) -> None:
    to = tmp_path / "out"
    to.mkdir()
    (to / "mine.txt").write_text("mine")
    refused = export(library, "storage", to, format, ENGINE)
    assert "is not empty" in refused.problems[0]
    assert [path.name for path in to.iterdir()] == ["mine.txt"]
    assert export(library, "storage", to, format, ENGINE, replace_files=True).problems == ()
    assert (to / "mine.txt").read_text() == "mine"


def test_refusals_come_together(library: Library, lessons: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    problems = export(library, "storrage", tmp_path / "file", "pdf", ENGINE).problems
    assert len(problems) == 3
    assert "there is no course storrage; there are: storage" in problems[0]
    [problem] = export(
        library, "storage", lessons / "storage", "markdown", ENGINE, replace_files=True
    ).problems
    assert "among the lessons themselves" in problem


def test_numbers_follow_the_seed(library: Library) -> None:
    lesson = library.courses["storage"].lessons["0002-links"]
    item = lesson.items[0]
    values = {question(lesson, item, ENGINE, seed).number.value for seed in range(6)}  # type: ignore[union-attr]
    assert values == {112.0, 208.0}
