"""Lint rules on a lesson, on a course, and with the engine."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.curriculum.blocks import Lesson, Severity
from app.curriculum.library import load_library
from app.curriculum.rules import check_course, check_lesson
from app.curriculum.rules_engine import check_with_engine
from tests.unit.curriculum.helpers import FakeEngine, fold, lesson_of

HEAD = (
    '---\ntitle: "2. X"\ndescription: d\ntype: lesson\n---\n# Lesson 2. X\n\n**Mission '
    "link:** m\n**Primary source:** s\n**Prerequisites:** none\n\n"
)
OPEN = "{}. ▢ Q{}?\n\n" + fold("Check", "c")
REPS = "## Real-world reps\n\n- [ ] a\n- [ ] b\n- [ ] Tomorrow: c\n"
WHOLE = (
    HEAD
    + "## Warm-up\n\n1. ▢ W?\n\n"
    + fold("Check", "c")
    + "## Know this\n\nText.\n\n## Practice\n\n"
    + "".join(OPEN.format(n, n) for n in (1, 2, 3))
    + REPS
)


def found(lesson: Lesson) -> list[str]:
    return sorted(problem.code for problem in check_lesson(lesson))


def test_a_whole_lesson_is_clean() -> None:
    lesson = lesson_of(WHOLE)
    assert lesson.problems == ()
    assert check_lesson(lesson) == []


@pytest.mark.parametrize(
    ("cut", "into", "code"),
    [
        ("**Mission link:** m\n", "", "HD002"),
        ("## Know this\n\nText.\n\n", "", "SE001"),
        (OPEN.format(3, 3), "", "SE003"),
        (REPS, "", "RP001"),
        ("Tomorrow: c", "later", "RP002"),
    ],
)
def test_what_a_lesson_lacks(cut: str, into: str, code: str) -> None:
    assert cut in WHOLE
    assert code in found(lesson_of(WHOLE.replace(cut, into)))


def test_lesson_without_front_matter_or_title() -> None:
    assert "FM001" in found(lesson_of("## Know this\n\nText.\n"))


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (
            "1. ▢ Q?\n\n    - a) short\n    - b) much longer than any of the others, so that it "
            "stands out at once\n\n" + fold("Check", "**b)**\n\n- a) no"),
            "MC001",
        ),
        ("1. ▢ Q?\n\n    - a) x\n    - b) y\n\n" + fold("Check", "**b)**"), "MC006"),
        (
            "1. ▢ Q?\n\n    - a) x\n    - b) (a) too\n\n<!-- item\nshuffle: true\n-->\n\n"
            + fold("Check", "**b)**\n\n- a) no"),
            "MC005",
        ),
        (
            "1. ▢ Q?\n\n    - a) x\n    - b) the right words\n\n"
            + fold("Hint", "Think of the right words.")
            + fold("Check", "**b)**\n\n- a) no"),
            "NU004",
        ),
        (
            "1. ▢ Use {tp} and {n}.\n\n<!-- item\nvary: {n: [1, 2]}\nanswer: n\n-->\n\n" + fold("Check", "c"),
            "EX008",
        ),
    ],
)
def test_items_that_give_themselves_away(item: str, code: str) -> None:
    assert code in found(lesson_of(f"## Practice\n\n{item}"))


def test_house_style_only_where_asked_for() -> None:
    dashed = WHOLE.replace("Text.", "Text — and more.")
    assert found(lesson_of(dashed)) == []
    assert set(found(lesson_of(dashed.replace("type: lesson", "type: lesson\nhouse: teach")))) == {"HS001"}


# -- engine ---------------------------------------------------------------------------------


def with_engine(comment: str, *, prompt: str = "Q?", folds: str = "") -> list[tuple[str, str]]:
    text = f"## Practice\n\n1. ▢ {prompt}\n\n<!-- item\n{comment}\n-->\n\n{folds}{fold('Check', 'c')}"
    return [(p.code, p.message) for p in check_with_engine(lesson_of(text), FakeEngine())]


def test_keys_hold_over_all_variants() -> None:
    assert with_engine("vary: {p: [2, 4]}\nanswer: 'p-1'") == []
    ((code, message),) = with_engine("vary: {p: [2, 4, 1]}\nanswer: '1/(p-1)'")
    assert code == "NU003"
    assert "(with p = 1)" in message


def test_wrong_value_within_the_tolerance_of_the_key() -> None:
    comment = "vary: {d: [2, 8, 64]}\nanswer: '2*(d-1)/d'\ntolerance: 5%\nwrong: [{value: 2, say: no}]"
    ((code, message),) = with_engine(comment)
    assert code == "NU002"
    assert "d = 64" in message
    assert with_engine(comment.replace(", 64", "")) == []


def test_hint_that_contains_the_answer() -> None:
    comment = "vary: {n: [7, 9]}\nanswer: '16*n'"
    assert with_engine(comment, folds=fold("Hint", "16 times {n}, so {16*n}."))[0][0] == "NU004"
    assert with_engine(comment, folds=fold("Hint", "16 times {n}.")) == []
    assert with_engine("answer: 112", prompt="Is it 112?", folds=fold("Hint", "Not only 112.")) == []


def puzzle(preset: str, example: str) -> list[str]:
    locked = "[other]" if "other" in preset else "[]"
    comment = f'kind: calculator\npreset: {{{preset}}}\nlocked: {locked}\nrequire: ["fits == yes"]\n{example}'
    return [code for code, _ in with_engine(comment)]


def test_what_a_puzzle_locks_must_be_an_input() -> None:
    fields = "preset: {size: 100}\nlocked: [modell, cluster, tensor_parallel]\nexample: {size: 60}"
    ((code, message),) = with_engine(f'kind: calculator\n{fields}\nrequire: ["fits == yes"]')
    assert code == "CA001"
    assert message == "locked names modell, which is no input; did you mean model?"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("preset: {size: 5}\nshow: [memory, stages]\ncontrols: [tensor_parallel]\nlocked: [model]", []),
        ("preset: {size: 5}\nshow: [memry]", ["show names memry, which is no figure; did you mean memory?"]),
        (
            "preset: {size: 5}\ncontrols: [tensor_paralel]",
            ["controls names tensor_paralel, which is no input; did you mean tensor_parallel?"],
        ),
        ("preset: {seize: 5}", ["the live figure cannot be drawn: size is missing"]),
    ],
)
def test_live_figures_are_tried(fields: str, said: list[str]) -> None:
    lesson = lesson_of(f"## Know this\n\n<!-- widget calculator\n{fields}\n-->\n")
    found = check_with_engine(lesson, FakeEngine())
    assert [(p.code, p.line, p.message) for p in found] == [("CA001", 3, message) for message in said]


def test_puzzles_are_proved() -> None:
    assert puzzle("size: 100, other: 1", "example: {size: 60}") == []
    assert puzzle("size: 70", "example: {size: 60}") == ["PZ001"]
    assert puzzle("size: 100", "example: {size: 90}") == ["PZ002"]
    assert puzzle("size: 100", "") == ["PZ003"]
    assert puzzle("size: 100, other: 1", "example: {size: 60, other: 2}") == ["PZ002"]
    assert puzzle("other: 1", "example: {size: 60}") == ["CA001"]


# -- course ----------------------------------------------------------------------------------


def course(tmp_path: Path, readme: str, **lessons: str) -> list[tuple[str, str, str]]:
    folder = tmp_path / "lessons" / "c"
    (folder / "lessons").mkdir(parents=True)
    (folder / "README.md").write_text(readme, encoding="utf-8")
    (folder / "GLOSSARY.md").write_text("# Glossary\n\n### Bubble\n\nIdle.\n", encoding="utf-8")
    for name, text in lessons.items():
        slug = name.replace("_", "-").removeprefix("l")
        (folder / "lessons" / f"{slug}.md").write_text(text, encoding="utf-8")
    read = load_library(tmp_path / "lessons").courses["c"]
    return [(p.path.rpartition("/")[2], p.code, p.message) for p in check_course(read)]


def readme(rows: str, more: str = "") -> str:
    table = f"| # | Lesson | Minutes |\n|---|---|---|\n{rows}\n"
    return (
        f"---\ntitle: C\ntype: index\n---\n# C\n\n## Mission\n\nM.\n\n## Success looks like\n"
        f"\n- s\n\n## The arc\n\n### Part I\n\n{table}\n{more}"
    )


def small(number: int, *, needs: str = "none", item: str = "", link: str = "") -> str:
    return (
        f'---\ntitle: "{number}. T{number}"\ntype: lesson\n---\n# Lesson {number}. T{number}\n'
        f"\n**Mission link:** m\n**Primary source:** s\n**Prerequisites:** {needs}\n\n## Know "
        f"this\n\n### Part one\n\n{link}\n\n## Practice\n\n{item}"
    )


ROWS = "| 1 | [T1](lessons/0001-a.md) | 5 |\n| 2 | [T2](lessons/0002-b.md) | 5 |"


def test_a_sound_course_is_clean(tmp_path: Path) -> None:
    assert (
        course(
            tmp_path,
            readme(ROWS),
            l0001_a=small(1),
            l0002_b=small(2, needs="[1](0001-a.md)", link="[x](0001-a.md#part-one)"),
        )
        == []
    )


def test_minutes_of_the_table_and_of_the_lesson_agree(tmp_path: Path) -> None:
    lesson = small(1).replace("type: lesson\n", "type: lesson\nminutes: 9\n")
    problems = course(tmp_path, readme(ROWS), l0001_a=lesson, l0002_b=small(2))
    assert problems == [("README.md", "CO001", "the table says 5 minutes, the lesson says 9")]


def test_table_and_files_agree(tmp_path: Path) -> None:
    rows = (
        "| 1 | T1 `0001-a` | 5 |\n| 3 | [Two](lessons/0002-b.md) | 5 |\n| 4 | "
        "[Gone](lessons/0004-d.md) | 5 |\n| 2 | Planned `0006-f` | 5 |"
    )
    problems = course(tmp_path, readme(rows), l0001_a=small(1), l0002_b=small(2), l0005_e=small(5))
    assert {code for _, code, _ in problems} == {"CO001"}
    messages = " / ".join(message for _, _, message in problems)
    for said in (
        "0001-a is written; make it a link",
        "the table says lesson 3, the file says 2",
        'the table says "Two"',
        "0004-d, which does not exist",
        "does not list this lesson",
        "lesson 2 stands after lesson 4",
    ):
        assert said in messages


def test_prerequisites_must_not_go_in_a_circle(tmp_path: Path) -> None:
    problems = course(
        tmp_path,
        readme(ROWS),
        l0001_a=small(1, needs="[2](0002-b.md)"),
        l0002_b=small(2, needs="[1](0001-a.md)"),
    )
    assert [(code, message) for _, code, message in problems] == [
        ("CO002", "prerequisites go round in a circle: 0001-a needs 0002-b needs 0001-a")
    ]


def test_ids_skills_misconceptions_and_origins(tmp_path: Path) -> None:
    item = (
        '1. ▢ Q?\n\n<!-- item\nid: q\nanswer: 1\nskill: {}\nfrom: "{}"\nwrong: '
        "[{{value: 2, misconception: {}}}]\n-->\n\n" + fold("Check", "c")
    )
    declared = "<!-- course\nskills: {fit: x, spare: y}\nmisconceptions: {w: x}\n-->\n"
    problems = course(
        tmp_path,
        readme(ROWS, declared),
        l0001_a=small(1, item=item.format("fit", "0002#q", "w")),
        l0002_b=small(2, item=item.format("fitt", "0001#none", "ww")),
    )
    assert sorted(code for _, code, _ in problems) == ["CO003", "CO003", "CO004", "CO005", "EX002"]


def test_links_to_headings_that_do_not_exist(tmp_path: Path) -> None:
    problems = course(
        tmp_path,
        readme(ROWS),
        l0001_a=small(1),
        l0002_b=small(2, link="[x](0001-a.md#gone) [y](#nowhere) [z](#part-one)"),
    )
    assert [code for _, code, _ in problems] == ["LN001", "LN001"]


def test_missing_parts_of_a_course(tmp_path: Path) -> None:
    problems = course(tmp_path, "# C\n", l0001_a=small(1))
    assert [code for _, code, _ in problems] == ["CO006", "CO006"]


def test_severities_come_from_the_one_table() -> None:
    lesson = replace(lesson_of(WHOLE.replace(REPS, "")))
    assert {p.severity for p in check_lesson(lesson)} == {Severity.WARNING}
