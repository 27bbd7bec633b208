"""Front matter, header lines, sections, links, images, formulas, checked numbers."""

import re

import pytest

from app.curriculum.html_page import lesson_html
from app.curriculum.links import Context, CourseIndex, LessonRef
from tests.unit.curriculum.helpers import FakeEngine, codes, fold, lesson_of

COURSE = CourseIndex(
    topic="course",
    lessons={
        "0001-a": LessonRef(slug="0001-a", number=1),
        "0003-b": LessonRef(slug="0003-b", number=3, planned=True),
    },
    glossary=frozenset({"bubble"}),
    references=frozenset({"letters"}),
    images=frozenset({"a.svg", "deep/b.png"}),
)
CONTEXT = Context(courses={"course": COURSE, "other": CourseIndex(topic="other")})


@pytest.mark.parametrize(
    ("front", "title", "description", "code"),
    [
        ('title: "2. A: B"\ndescription: x', "A: B", "x", ""),
        ("title: 2. A: B\ndescription: x", "A: B", "x", "FM002"),
        ("title: '2. A\ndescription: x", "A", "x", "FM002"),
        ("title: 2. A\ndescription: %x", "A", "%x", "FM002"),
        ("title: 2. A\ndescription: [x] y", "A", "[x] y", "FM002"),
        ("title: 2. A\ndescription: &x y", "A", "&x y", "FM002"),
        ("title: 2. A\ndescription: !x y", "A", "!x y", "FM002"),
        ("title: 2. A\ndescription: rank #0", "A", "rank #0", "FM008"),
        ('title: 2. A\ndescription: "rank #0" # said', "A", "rank #0", ""),
        ("title: 2. A\ndescription: '@x'", "A", "@x", ""),
        ("title: 2. A\n\tdescription: x", "A", "x", "FM002"),
    ],
)
def test_front_matter_is_recovered_line_by_line(front: str, title: str, description: str, code: str) -> None:
    lesson = lesson_of(f"---\n{front}\ntype: lesson\n---\n\nText.\n")
    assert (lesson.number, lesson.title) == (2, title.lstrip("'"))
    assert lesson.description == description
    assert [found for _, found in codes(lesson)] == ([code] if code else [])


def test_the_fix_of_front_matter_is_the_quoted_line() -> None:
    (problem,) = lesson_of('---\ntitle: 2. A: "B"\ntype: lesson\n---\n').problems
    assert problem.fix == 'title: "2. A: \\"B\\""'


@pytest.mark.parametrize(
    ("text", "number", "title", "expected"),
    [
        ("---\ntitle: 3. A\n---\n# Lesson 3. A\n", 3, "A", ["FM004"]),
        ("---\ntitle: 2. A\n---\n# Lesson 3. A\n", 2, "A", ["FM006"]),
        ("---\ntitle: 2. A\n---\n# Lesson 2. B\n", 2, "A", ["FM006"]),
        ("---\ntype: lesson\n---\n# Lesson 2 — B\n", 2, "B", ["FM003"]),
        ("---\ntitle: 2. A\ntype: leson\nminutes: soon\n---\n", 2, "A", ["FM005", "FM007"]),
        ("plain\n", 2, "Some slug", []),
        ("---\n\nA rule, no fields.\n", 2, "Some slug", []),
    ],
)
def test_number_and_title(text: str, number: int, title: str, expected: list[str]) -> None:
    lesson = lesson_of(text, slug="0002-some-slug")
    assert (lesson.number, lesson.title) == (number, title)
    assert sorted(code for _, code in codes(lesson)) == sorted(expected)


def test_objectives_and_other_fields() -> None:
    lesson = lesson_of("---\ntitle: 2. A\nminutes: 18\nobjectives:\n  - one\n  - two\n---\n")
    assert (lesson.minutes, lesson.objectives) == (18, ("one", "two"))


def test_header_lines_in_one_paragraph_or_one_line() -> None:
    for gap in ("\n", "      "):
        lesson = lesson_of(
            f"# Lesson 2. A\n\n**Mission link:** do *it*{gap}**Primary source:** "
            f"[P](https://p.example){gap}**Prerequisites:** [L](0001-a.md), algebra\n"
        )
        assert lesson.mission_html == "do <em>it</em>"
        assert lesson.primary_sources == ("https://p.example",)
        assert lesson.prerequisites == ("0001-a.md",)
        assert lesson.prerequisites_text == "L, algebra"
        assert lesson.blocks == ()


def test_prose_before_the_first_section_is_kept() -> None:
    lesson = lesson_of(
        "# Lesson 2. A\n\n**Note:** read on.\n\n**Mission link:** x\n\nIntro.\n\n## Know this\n\nText.\n"
    )
    assert [getattr(block, "text", "") for block in lesson.blocks] == [
        "Note: read on. Intro.",
        "Know this",
        "Text.",
    ]


def test_closing_block_follows_the_last_rule() -> None:
    lesson = lesson_of("## Know this\n\na\n\n---\n\nb\n\n## Going further\n\nc\n\n---\n\nNot landing?\n")
    assert lesson.closing_html == "<p>Not landing?</p>"
    assert "<hr>" in lesson.blocks[1].html


def test_sections_are_known_however_they_are_spelled() -> None:
    lesson = lesson_of(
        "## Warm up\n\n1. A?\n\n## KNOW THIS\n\n## Practice!\n\n1. B?\n\n## Real world reps\n\n- [ ] x\n"
    )
    assert lesson.sections == ("Warm-up", "Know this", "Practice", "Real-world reps")
    assert [item.section for item in lesson.items] == ["Warm-up", "Practice"]


def test_reps() -> None:
    lesson = lesson_of("## Real-world reps\n\n- [ ] One `x`.\n- [x] Tomorrow: two.\n- plain\n- [ ] Three.\n")
    assert [(rep.text, rep.tomorrow) for rep in lesson.reps] == [
        ("One x.", False),
        ("Tomorrow: two.", True),
        ("Three.", False),
    ]
    assert lesson.reps[0].html == "One <code>x</code>."
    assert any("plain" in getattr(block, "html", "") for block in lesson.blocks)


@pytest.mark.parametrize(
    ("link", "html", "code"),
    [
        ("0001-a.md", '<a href="/courses/course/lessons/0001-a"', ""),
        ("0001-a.md#part", '<a href="/courses/course/lessons/0001-a#part"', ""),
        ("../lessons/0001-a.md", '<a href="/courses/course/lessons/0001-a"', ""),
        ("0003-b.md", '<span class="planned">x <small class="note">(planned)</small></span>', "LN004"),
        ("0009-z.md", '<span class="broken-link">x', "LN001"),
        ("../GLOSSARY.md#bubble", '<a href="/courses/course/glossary#bubble" class="term"', ""),
        ("../GLOSSARY.md#bubbles", '<span class="broken-link">x', "LN001"),
        ("../reference/letters.md", '<a href="/courses/course/reference/letters"', ""),
        ("../reference/none.md", '<span class="broken-link">x', "LN001"),
        ("../RESOURCES.md", '<a href="/courses/course/resources"', ""),
        ("../README.md#the-arc", '<a href="/courses/course#the-arc"', ""),
        ("../../other/README.md", '<a href="/courses/other"', ""),
        ("../../third/README.md", '<span class="broken-link">x', "LN001"),
        ("../../../etc/passwd.md", '<span class="broken-link">x', "LN001"),
        ("../NOTES.md", '<span class="broken-link">x', "LN001"),
        ("../learning-records/a.md", '<span class="broken-link">x', "LN001"),
        ("/calculator?model=x", '<a href="/calculator?model=x"', ""),
        ("https://p.example/a?b=1&c=2", '<a href="https://p.example/a?b=1&amp;c=2"', ""),
        ("mailto:a@b.example", '<a href="mailto:a@b.example"', ""),
        ("#here", '<a href="#here"', ""),
    ],
)
def test_links(link: str, html: str, code: str) -> None:
    lesson = lesson_of(f"## Know this\n\n[x]({link})\n", context=CONTEXT)
    assert html in lesson.blocks[-1].html
    assert [found for _, found in codes(lesson)] == ([code] if code else [])


@pytest.mark.parametrize(
    ("image", "html", "code"),
    [
        ("../images/a.svg", '<img src="/courses/course/images/a.svg" alt="x" loading="lazy">', ""),
        ("../images/deep/b.png", '<img src="/courses/course/images/deep/b.png"', ""),
        ("../images/none.svg", '<span class="missing-image">x (image missing)</span>', "LN002"),
        (
            "https://elsewhere.example/i.png",
            '<a class="image-elsewhere" href="https://elsewhere.example/i.png"',
            "LN005",
        ),
    ],
)
def test_images(image: str, html: str, code: str) -> None:
    lesson = lesson_of(f"## Know this\n\n![x]({image})\n", context=CONTEXT)
    assert html in lesson.blocks[-1].html
    assert [found for _, found in codes(lesson)] == ([code] if code else [])


def test_a_problem_names_the_line_inside_its_paragraph() -> None:
    lesson = lesson_of(
        "## Know this\n\nfirst\nsecond [x](0009-z.md)\n\n| a |\n|---|\n| [y](0009-z.md) |\n", context=CONTEXT
    )
    assert [line for line, _ in codes(lesson)] == [4, 8]


def test_formulas_only_when_asked_for() -> None:
    text = "## Know this\n\nIt costs $5 or $$6$$ \\(x\\).\n"
    assert "<math" not in lesson_html(lesson_of(text))
    lesson = lesson_of(
        f"---\ntitle: 2. A\nmath: true\n---\n{text}\n$$\n\\frac{{a}}{{b}}\n$$\n\n$$\\nosuch$$\n"
    )
    html = lesson_html(lesson)
    assert html.count("<math") == 3
    assert "$5 or" in html
    assert [code for _, code in codes(lesson)] == ["MA001"]
    assert "<code>\\nosuch</code>" in html


@pytest.mark.parametrize(
    ("written", "shown", "code"),
    [
        ("<!-- calc: memory.total_bytes of {size: 41.52} as GB -->**41.5 GB**", "41.5 GB", ""),
        ("<!-- calc: memory.total_bytes of {size: 43.2} as GB -->**41.5 GB**", "43.2 GB", "CA002"),
        ("<!-- calc: memory.total_bytes of {size: 1.073741824} as GiB -->**1.00 GiB**", "1.00 GiB", ""),
        ("<!-- calc: memory.total_bytes of {size: 1234} as GB -->**1,234 GB**", "1,234 GB", ""),
        ("<!-- calc: memory.total_bytes of {size: 2} as s -->**2 s**", "2 s", "CA001"),
        ("<!-- calc: memory.total of {size: 2} as GB -->**2 GB**", "2 GB", "CA001"),
        ("<!-- calc: time.bubble_fraction of {size: 8} as % -->**12.5 %**", "12.5 %", ""),
        ("<!-- calc: fits of {size: 90} -->**no**", "no", ""),
        ("<!-- calc: fits of {size: 9} -->**no**", "yes", "CA002"),
        ("<!-- calc: 18*b of {b: 76.05} -->**1,369 GB**", "1,369 GB", ""),
        ("<!-- calc: 18*b of {b: 76.05} -->**1,368 GB**", "1,369 GB", "CA002"),
        ("<!-- calc: 18*b of {b: 2} as s -->**36 GB**", "36 GB", "CA001"),
        ("<!-- calc: 18*b of {b: 2 as GB -->**36 GB**", "36 GB", "EX003"),
        ("<!-- calc: 18*b of {a: 1} -->**7**", "7", "CA001"),
        ("<!-- calc: memory.total_bytes of {size: [} as GB -->**7 GB**", "7 GB", "EX003"),
        ("<!-- calc: memory.total_bytes of {size: 7} as gigs -->**7 GB**", "7 GB", "NU005"),
    ],
)
def test_checked_numbers(written: str, shown: str, code: str) -> None:
    lesson = lesson_of(
        f"## Know this\n\nIt needs {written} in all.\n\n{written} at the start.\n",
        context=Context(engine=FakeEngine()),
    )
    told = re.findall(r'<strong class="calc"(?: id="[^"]+")?>([^<]*)</strong>', lesson.blocks[-1].html)
    assert told == [shown, shown]
    assert {found for _, found in codes(lesson)} == ({code} if code else set())


@pytest.mark.parametrize("link", ["[{}](https://example.org)", '<A href="https://example.org">{}</A>'])
def test_a_checked_number_has_a_place_of_its_own_but_in_a_link(link: str) -> None:
    number = "<!-- calc: 18*b of {b: 2} -->**36**"
    lesson = lesson_of(f"## Know this\n\n{link.format(number)}, {number} and {number}\n")
    places = re.findall(r'<strong class="calc"(?: id="([^"]*)")?>', lesson.blocks[-1].html)
    key = lesson.numbers[0].key
    assert places == ["", f"calc-{key}", f"calc-{key}-2"]


def test_checked_number_that_is_not_bold() -> None:
    lesson = lesson_of(
        "## Know this\n\nIt needs <!-- calc: fits of {size: 1} -->41 GB.\n",
        context=Context(engine=FakeEngine()),
    )
    assert [code for _, code in codes(lesson)] == ["CA001"]
    assert "41 GB" in lesson.blocks[-1].html


def test_without_an_engine_the_text_stands() -> None:
    lesson = lesson_of("## Know this\n\n<!-- calc: fits of {size: 1} -->**41 GB**\n")
    assert "41 GB" in lesson.blocks[-1].html
    assert lesson.numbers[0].name == "fits"


def test_widgets() -> None:
    lesson = lesson_of(
        "## Know this\n\n<!-- widget calculator\npreset: {model: m}\nshow: memory\ncontrols: "
        "[a, b]\ncaption: Look\n-->\n\n<!-- widget balance -->\n\n<!-- widget calculater -->\n"
    )
    first, second = lesson.widgets
    assert (first.kind, first.preset, first.show, first.controls, first.caption) == (
        "calculator",
        {"model": "m"},
        ("memory",),
        ("a", "b"),
        "Look",
    )
    assert (second.kind, second.id) == ("balance", "widget-2")
    assert [code for _, code in codes(lesson)] == ["WG001"]


def test_diagrams_are_drawn_once_and_described() -> None:
    lesson = lesson_of(
        '## Know this\n\n```mermaid\nflowchart TD\n A["fits<br>here?"] -->|"yes"| B["stay"]\n```\n'
    )
    (diagram,) = lesson.diagrams
    assert diagram.svg.startswith(b"<svg")
    html = lesson.blocks[-1].html
    assert f'src="/courses/course/diagrams/{diagram.hash}.svg"' in html
    size = re.search(r'<img [^>]*width="(\d+)" height="(\d+)"', html)
    assert size is not None
    assert f'width="{size.group(1)}" height="{size.group(2)}"'.encode() in diagram.svg
    assert b'width="100%"' not in diagram.svg.split(b">")[0]
    assert "fits here?" in html.split('alt="')[1].split('"')[0]
    assert "flowchart TD" in html


def test_nested_too_deep_is_shown_as_text_and_said() -> None:
    lesson = lesson_of("## Know this\n\n" + "> " * 60 + "deep words\n")
    assert "deep words" in lesson_html(lesson)
    assert [code for _, code in codes(lesson)] == ["TX001"]


def test_unused_definition_is_said() -> None:
    lesson = lesson_of(
        '## Know this\n\n[used]\n\n[used]: https://a.example\n[lost]: https://b.example "Title"\n'
    )
    (problem,) = lesson.problems
    assert problem.code == "LN006"
    assert "https://b.example Title" in problem.message


def test_too_large_is_plain_text() -> None:
    text = "## Practice\n\n" + "words " * 300_000
    lesson = lesson_of(text)
    assert [code for _, code in codes(lesson)] == ["TX002"]
    assert lesson.items == ()
    assert "words words" in lesson_html(lesson)


def test_code_fence_left_open() -> None:
    assert codes(lesson_of(f"## Know this\n\n```py\nx\n\n## Practice\n\n1. ▢ A\n\n{fold('Check', 'c')}")) == [
        (3, "CD001")
    ]
    assert codes(lesson_of("## Know this\n\n```py\nx\n```\n")) == []
