"""Problems stand beside the paragraph they concern, and nothing of the prose gets lost by cutting it."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from app.curriculum.blocks import Lesson, Problem, Prose, Severity
from app.curriculum.parser import parse
from app.services.previewing import Counts, Placed, counted, key_facts, placed
from app.services.prose_pieces import top_elements
from app.services.questions import question
from tests.unit.services.no_engine import NoEngine

TEXT = """# Lesson 1. A

**Mission link:** m
**Primary source:** s
**Prerequisites:** none

## Know this

First paragraph.
It has two lines.

Second, with a [dead link](0099-gone.md).

- a list
- of two

| a | b |
|---|---|
| 1 | 2 |

Last List<T> paragraph.

## Practice

1. ▢ A question?

<details><summary>Check</summary>

Yes.

</details>
"""


def read(text: str) -> Lesson:
    return parse(text, course="c", slug="0001-a", path="0001-a.md")


def rows(text: str, problems: list[Problem]) -> tuple[tuple[Problem, ...], tuple[Placed, ...]]:
    return placed(read(text), problems, text.split("\n"))


def problem(line: int, code: str = "XX001", severity: Severity = Severity.ERROR) -> Problem:
    return Problem(path="x", line=line, code=code, severity=severity, message="m")


def beside(text: str, line: int) -> str:
    """The text of the block that a problem of this line stands beside."""
    [row] = [row for row in rows(text, [problem(line)])[1] if row.problems]
    return re.sub(r"<[^>]*>", "", getattr(row.block, "html", "")) or getattr(row.block, "prompt_text", "")


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if words in line)


def test_each_problem_stands_beside_its_paragraph() -> None:
    for words in ("First paragraph", "Second, with", "a list", "| 1 | 2 |", "Last List"):
        assert (
            beside(TEXT, line_of(TEXT, words))
            .strip()
            .startswith(re.sub(r"\W.*", "", words.replace("| 1", "a")))
        )
    assert beside(TEXT, line_of(TEXT, "It has two lines")).startswith("First paragraph")
    assert beside(TEXT, line_of(TEXT, "A question?")) == "A question?"
    assert beside(TEXT, line_of(TEXT, "<details>")) == "A question?"


def test_problems_above_the_first_block_stand_at_the_head() -> None:
    head, blocks = rows(TEXT, [problem(1), problem(line_of(TEXT, "A question?"))])
    assert [one.line for one in head] == [1]
    assert sum(len(row.problems) for row in blocks) == 1


def test_every_problem_is_shown_once() -> None:
    problems = [problem(line) for line in range(1, TEXT.count("\n") + 3)]
    head, blocks = rows(TEXT, problems)
    shown = [*head, *(one for row in blocks for one in row.problems)]
    assert sorted(one.line for one in shown) == [one.line for one in problems]


def words_of(lesson_blocks: list[Prose]) -> list[str]:
    return " ".join(re.sub(r"<[^>]*>", " ", block.html) for block in lesson_blocks).split()


PIECES = """
word

- one
  - two
> q
```
| a |
|---|
<div>
</div>
text <b>x
1. n
    code
***
[x]: y
<details><summary>More</summary>
</details>
## H
a<br>b
""".strip("\n").split("\n")


@given(st.lists(st.sampled_from(PIECES), max_size=25))
@settings(deadline=None)
def test_cutting_loses_no_word(lines: list[str]) -> None:
    text = "\n".join(["## Know this", *lines])
    lesson = read(text)
    _, blocks = placed(lesson, [problem(line) for line in range(1, len(lines) + 2)], text.split("\n"))
    before = words_of([block for block in lesson.blocks if isinstance(block, Prose)])
    after = words_of([row.block for row in blocks if isinstance(row.block, Prose)])
    assert after == before


def test_top_elements() -> None:
    assert top_elements("<p>a<br>b</p>\n<ul><li><p>x</p></li></ul>\n<hr>") == [
        "<p>a<br>b</p>",
        "<ul><li><p>x</p></li></ul>",
        "<hr>",
    ]
    assert top_elements("bare <b>text</b> after") == ["bare <b>text</b> after"]
    assert top_elements("") == []


def test_counts_in_words() -> None:
    problems = [problem(1), problem(2), problem(3, severity=Severity.INFO)]
    assert counted(problems) == Counts(errors=2, infos=1)
    assert counted(problems).words == "2 errors, 1 note"
    assert (counted([]).words, counted([]).look) == ("Nothing to mend", "clean")


def test_key_facts_name_what_grades_the_item() -> None:
    text = """## Practice

1. ▢ How many GB?

<!-- item
id: gb
kind: numeric
answer: 16*p
unit: GB
tolerance: 2%
wrong: [{value: 14, say: "Weights only.", misconception: weights-only}]
vary: {p: [7, 13]}
-->
"""
    lesson = read(text)
    facts = {
        fact.term: fact.value for fact in key_facts(question(lesson, lesson.items[0], NoEngine(), seed=1))
    }
    assert facts["numbers now"] == "p = 13"
    assert facts["key now"] == "208 GB"
    assert facts["id"] == "gb"
    assert (facts["answer"], facts["unit"], facts["tolerance"]) == ("16*p", "GB", "2%")
    assert facts["wrong: 14"] == "Weights only. (weights-only)"
    assert facts["vary"] == "p: [7, 13]"
    assert "require" not in facts
