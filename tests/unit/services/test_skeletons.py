"""New courses and lessons: named well, listed in the table, never written over anything."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.curriculum.library import load_library
from app.services.authoring import check_library_course
from app.services.engine import CalculatorEngine
from app.services.skeletons import LONGEST_SLUG, new_course, new_lesson, slug_of


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    return tmp_path / "lessons"


@pytest.fixture
def course(lessons: Path) -> Path:
    assert new_course(lessons, "Storage").problems == ()
    return lessons / "storage"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Training", "training"),
        ("  How Wide?  The Price ", "how-wide-the-price"),
        ("Größe & Zahl", "grosse-zahl"),
        ("Crème brûlée", "creme-brulee"),
        ("分布式训练", "分布式训练"),
        ("snake_case_name", "snake-case-name"),
        ("C++ / Rust", "c-rust"),
        ("...", ""),
        ("Ⅳ ﬁne", "iv-fine"),
    ],
)
def test_slug(name: str, slug: str) -> None:
    assert slug_of(name) == slug


@given(st.text(max_size=400))
def test_slug_is_a_file_name_anywhere(text: str) -> None:
    slug = slug_of(text)
    assert len(slug) <= LONGEST_SLUG
    assert len(f"0001-{slug}.md".encode()) < 255
    assert not set(slug) & set('/\\:*?"<>|. \t\n\0')
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert slug_of(slug) == slug


def test_a_long_name_is_cut_between_words() -> None:
    slug = slug_of("pipeline " * 30)
    assert slug == "-".join(["pipeline"] * 6)


def test_new_course_writes_what_a_course_needs(lessons: Path) -> None:
    outcome = new_course(lessons, "Storage & Checkpoints")
    folder = lessons / "storage-checkpoints"
    assert set(outcome.written) == {folder / name for name in ("README.md", "GLOSSARY.md", "RESOURCES.md")}
    assert (folder / "lessons").is_dir()
    assert 'title: "Storage & Checkpoints"' in (folder / "README.md").read_text()


def test_new_course_touches_nothing_that_exists(lessons: Path, course: Path) -> None:
    (course / "README.md").write_text("mine")
    outcome = new_course(lessons, "STORAGE")
    assert outcome.written == ()
    assert "exists already" in outcome.problems[0]
    assert (course / "README.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("a/b", "holds no slash"),
        ("..\\up", "holds no slash"),
        ("../../etc", "holds no slash"),
        ("..", "no letters or digits"),
        ("???", "no letters or digits"),
        ("CON", "keep the name con"),
        ("x" * 121, "has 121 characters; 120 at most"),
        ("bell\a", "U+0007"),
        ("right-to-left \u202e", "U+202E"),
    ],
)
def test_names_that_cannot_be(lessons: Path, name: str, said: str) -> None:
    outcome = new_course(lessons, name)
    assert outcome.written == ()
    assert any(said in problem for problem in outcome.problems)
    assert not lessons.exists()


def test_all_problems_of_a_name_are_told_at_once(lessons: Path) -> None:
    problems = new_course(lessons, "a/b\a" + "x" * 200).problems
    assert len(problems) == 3


def test_first_lesson(lessons: Path, course: Path) -> None:
    outcome = new_lesson(lessons, "storage", "What a Checkpoint Holds", minutes=12)
    lesson = course / "lessons" / "0001-what-a-checkpoint-holds.md"
    assert outcome.written == (lesson, course / "README.md")
    text = lesson.read_text()
    assert 'title: "1. What a Checkpoint Holds"' in text
    assert "# Lesson 1. What a Checkpoint Holds" in text
    assert "**Prerequisites:** none" in text
    assert "## Warm-up" not in text
    row = "| 1 | [What a Checkpoint Holds](lessons/0001-what-a-checkpoint-holds.md) | 12 |"
    assert f"|---|---|---|\n{row}\n\n<!-- course" in (course / "README.md").read_text()


def test_second_lesson_follows_the_first(lessons: Path, course: Path) -> None:
    new_lesson(lessons, "storage", "One")
    new_lesson(lessons, "storage", "Two")
    text = (course / "lessons" / "0002-two.md").read_text()
    assert "**Prerequisites:** [Lesson 1](0001-one.md)" in text
    assert "## Warm-up" in text
    table = [line for line in (course / "README.md").read_text().splitlines() if line.startswith("| ")]
    assert table[-2:] == [
        "| 1 | [One](lessons/0001-one.md) | 15 |",
        "| 2 | [Two](lessons/0002-two.md) | 15 |",
    ]


def test_planned_lesson_keeps_its_number_and_file_name(lessons: Path, course: Path) -> None:
    readme = course / "README.md"
    planned = "| 1 | Early `0001-early` | 9 | soon |\n| 4 | How Wide? The Price `0004-how-wide` | 18 |\n"
    readme.write_text(readme.read_text().replace("|---|---|---|\n", f"|---|---|---|\n{planned}"))
    new_lesson(lessons, "storage", "how wide?  the price")
    text = readme.read_text()
    assert "| 4 | [how wide? the price](lessons/0004-how-wide.md) | 18 |" in text
    assert "| 1 | Early `0001-early` | 9 | soon |" in text
    assert (course / "lessons" / "0004-how-wide.md").is_file()
    new_lesson(lessons, "storage", "Another")
    assert (course / "lessons" / "0005-another.md").is_file()


def test_a_row_in_a_code_block_is_no_row(lessons: Path, course: Path) -> None:
    readme = course / "README.md"
    readme.write_text("```\n| 7 | [Example](lessons/0007-example.md) | 1 |\n```\n" + readme.read_text())
    new_lesson(lessons, "storage", "One")
    assert (course / "lessons" / "0001-one.md").is_file()
    assert readme.read_text().index("| 1 | [One]") > readme.read_text().index("## The arc")


@pytest.mark.parametrize("readme", ["# Storage\n", "# Storage\n\n## The arc\n\n## Notes\n", "## The arc"])
def test_a_table_is_begun_where_there_is_none(lessons: Path, course: Path, readme: str) -> None:
    (course / "README.md").write_text(readme)
    new_lesson(lessons, "storage", "One")
    text = (course / "README.md").read_text()
    row = "| # | Lesson | Minutes |\n|---|---|---|\n| 1 | [One](lessons/0001-one.md) | 15 |"
    assert f"\n\n{row}\n" in text
    assert text.index("## The arc") < text.index(row)
    assert "## Notes" not in readme or text.index(row) < text.index("## Notes")


def test_line_endings_stay(lessons: Path, course: Path) -> None:
    readme = course / "README.md"
    readme.write_bytes(readme.read_bytes().replace(b"\n", b"\r\n"))
    new_lesson(lessons, "storage", "One")
    data = readme.read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    assert b"| 1 | [One]" in data


def test_course_without_readme(lessons: Path, course: Path) -> None:
    (course / "README.md").unlink()
    outcome = new_lesson(lessons, "storage", "One")
    assert outcome.written == (course / "lessons" / "0001-one.md",)
    assert "listed nowhere" in outcome.notes[0]


def test_existing_lesson_is_not_overwritten(lessons: Path, course: Path) -> None:
    lesson = course / "lessons" / "0004-how-wide.md"
    lesson.write_text("mine")
    readme = course / "README.md"
    planned = "|---|---|---|\n| 4 | How Wide `0004-how-wide` | 18 |\n"
    readme.write_text(readme.read_text().replace("|---|---|---|\n", planned))
    before = readme.read_text()
    outcome = new_lesson(lessons, "storage", "How Wide")
    assert outcome.problems == ("lesson 4 exists already: 0004-how-wide.md; nothing was changed",)
    assert lesson.read_text() == "mine"
    assert readme.read_text() == before


@pytest.mark.parametrize(
    ("name", "title", "said"),
    [
        ("storrage", "One", "did you mean storage?"),
        ("nothing-alike", "One", "there are: storage"),
        ("", "One", "there is no course"),
        ("storage", "", "the title is empty"),
        ("storage", "3. Three", "without its number"),
        ("storage", "Lesson 3: Three", "without its number"),
        ("storage", "x" * 121, "120 at most"),
    ],
)
def test_refusals_say_what_to_do(lessons: Path, course: Path, name: str, title: str, said: str) -> None:
    outcome = new_lesson(lessons, name, title)
    assert outcome.written == ()
    assert any(said in problem for problem in outcome.problems)
    assert list((course / "lessons").iterdir()) == []


def test_course_may_be_named_by_its_path(lessons: Path, course: Path) -> None:
    assert new_lesson(Path("elsewhere"), str(course), "One").problems == ()


def test_titles_with_markup_stay_words(lessons: Path, course: Path) -> None:
    new_lesson(lessons, "storage", 'Why "List<T>" | *not* `[x](y)`: a_b')
    text = (course / "lessons" / "0001-why-list-t-not-x-y-a-b.md").read_text()
    assert r'title: "1. Why \"List<T>\" | *not* `[x](y)`: a_b"' in text
    assert r'# Lesson 1. Why "List\<T\>" \| \*not\* \`\[x\](y)\`: a\_b' in text


ODD_TITLES = [
    "Plain Words",
    'Why "List<T>" | *not* `[x](y)`: a_b & c',
    "分布式训练 入门",
    "Cost: 50 % of #1, \\ {x} $HOME ~tilde~ ^ <b>",
    "--- yes: no #",
    "'quoted' !tag @at %percent",
    "true",
    "x" * 120,
    "Å/Ω — “π” …",
    "1 GB is not 1 GiB",
    "<!-- comment -->",
    "](evil) ![img](x)",
    "& &amp; &#35;",
    "* star",
    "> quote",
    "http://example.org/x",
]


def test_what_is_written_lints_clean(lessons: Path) -> None:
    """Not one problem, not even a note: in the course and in all its lessons."""
    assert new_course(lessons, "storage", title=ODD_TITLES[1]).problems == ()
    for title in ODD_TITLES:
        assert new_lesson(lessons, "storage", title).problems == ()
    engine = CalculatorEngine()
    course = load_library(lessons, engine=engine).courses["storage"]
    problems = check_library_course(course, engine)
    assert [(one.path, one.line, one.code, one.message) for one in problems] == []
    assert course.title == ODD_TITLES[1]
    assert [(lesson.number, lesson.title) for lesson in course.lessons.values()] == list(
        enumerate(ODD_TITLES, 1)
    )
    for lesson in course.lessons.values():
        assert [item.kind for item in lesson.items if item.section == "Practice"] == [
            "mcq",
            "numeric",
            "calculator",
        ]
        assert all(item.graded for item in lesson.items if item.section == "Practice")


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Co", "Cn")), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_title_comes_back_as_it_was_given(title: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        new_course(root, "c")
        outcome = new_lesson(root, "c", title)
        if outcome.problems:
            return
        course = load_library(root).courses["c"]
        assert [one.message for one in course.problems if one.severity == "error"] == []
        [lesson] = course.lessons.values()
        assert (lesson.number, lesson.title) == (1, " ".join(title.split()))
