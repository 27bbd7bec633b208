"""Lessons as people write them: each variant of the format, what was understood and what is said about it."""

import pytest

from app.curriculum.html_page import lesson_html
from tests.unit.curriculum.helpers import codes, fold, item_of, lesson_of

OPTIONS = "    - a) one\n    - b) two\n    - c) three\n    - d) four\n\n"


def choice(check: str) -> str:
    return f"1. ▢ Which?\n\n{OPTIONS}" + fold("Check", check)


@pytest.mark.parametrize(
    ("check", "correct"),
    [
        ("**b)** because. (a) is wrong.", "b"),
        ("**b) two.** It is so.", "b"),
        ("**b) and d)** Both cut.", "bd"),
        ("**b) and d) are right.** The rest is not.", "bd"),
        ("**Both b) and d)**", "bd"),
        ("**b)**, **d)**", "bd"),
        ("**a), b) and c)**, not d", "abc"),
        ("**b) two**, **c) three**", "bc"),
        ("**b, d**", "bd"),
        ("**b** is right, **c** is wrong", "b"),
        ("**b)** Not **c)**", "b"),
        ("b and d are correct, as both cut.", "bd"),
        ("The answer is **(c)**.", "c"),
        ("**Answer: (b)** because", "b"),
        ("Answer: b", "b"),
        ("Answer: B, because of the width.", "b"),
        ("The correct answers are b) and d).", "bd"),
        ("✅ **c)** yes", "c"),
        ("***b)*** because", "b"),
        ("__b)__ because", "b"),
        ("<b>b)</b> because", "b"),
        ("<strong>b)</strong> because", "b"),
        ("> **b)** quoted", "b"),
        ("**b)**\nwith the reason on the next line", "b"),
    ],
)
def test_a_clear_key_is_read(check: str, correct: str) -> None:
    item = item_of(choice(check))
    assert item.correct == tuple(correct)
    assert item.graded
    assert item.multiple == (len(correct) > 1)


@pytest.mark.parametrize(
    "check",
    [
        "The second one, because of the width.",
        "**a)** or **b)**, it depends.",
        "**a) or b)**",
        "Answer: a or b",
        "Answer: b) or c) by taste",
        "Not **a)**, but **b)**.",
        "Neither a) nor c): **b)**",
        "The answer is a matter of taste.",
        "See **Lesson 3**. **b)** is nice.",
        "**e)** of all",
        "All of them.",
        "",
    ],
)
def test_an_unclear_key_is_never_guessed(check: str) -> None:
    lesson = lesson_of("## Practice\n\n" + choice(check))
    (item,) = lesson.items
    assert item.correct == ()
    assert not item.graded
    assert [code for _, code in codes(lesson)] == ["MC002"]


def test_a_key_of_all_options_in_another_order_is_no_choice() -> None:
    lesson = lesson_of("## Practice\n\n" + choice("**d, b, c, a**: the width comes last."))
    assert not lesson.items[0].graded
    (problem,) = lesson.problems
    assert "order: [d, b, c, a]" in problem.message


@pytest.mark.parametrize(
    ("check", "reasons"),
    [
        ("**b)** One. **(a)** is wrong. **(c)** is not.", {"a": "(a) is wrong.", "c": "(c) is not."}),
        ("**b)** See e.g. (a) and i.e. (c).", {}),
        ("**b)** So.\n(a) first.\n(c) second.", {"a": "(a) first.", "c": "(c) second."}),
        ("**b)** Of the others, (a) is wrong.", {}),
        (
            "**b)**\n\n- **(a)** no\n- **(c), (d)** neither",
            {"a": "no", "c": "(c), (d) neither", "d": "(c), (d) neither"},
        ),
        ('**b)** "Two." (a) "One" fails.', {"a": '(a) "One" fails.'}),
    ],
)
def test_reasons_begin_with_their_letters(check: str, reasons: dict[str, str]) -> None:
    item = item_of(choice(check))
    assert {option.letter: option.feedback_text for option in item.options if option.feedback_text} == reasons


@pytest.mark.parametrize(
    ("options", "indent"),
    [
        ("- a) one\n- b) two\n", "at column zero"),
        ("  - a) one\n  - b) two\n", "2 spaces"),
        ("   * (A) one\n   * (B) two\n", "3 spaces"),
        ("        - a) one\n        - b) two\n", "8 spaces"),
        ("    a) one\n    b) two\n", "lines of text"),
        ("a. one\n\nb. two\n", "lines of text"),
        ("Text at column zero.\n\n    - a) one\n    - b) two\n", "other sites show them as code"),
        ("```python\nx = 1\n```\n\n\t- a) one\n\t- b) two\n", "other sites show them as code"),
    ],
)
def test_options_are_found_wherever_they_stand(options: str, indent: str) -> None:
    lesson = lesson_of(f"## Practice\n\n1. ▢ Which?\n\n{options}\n" + fold("Check", "**b)**"))
    (item,) = lesson.items
    assert [option.text for option in item.options] == ["one", "two"]
    assert item.correct == ("b",)
    (problem,) = lesson.problems
    assert problem.code == "MC004"
    assert indent in problem.message


def test_code_that_is_no_option_stays_code() -> None:
    lesson = lesson_of("## Know this\n\nText.\n\n    - a list in code\n    - b) too\n")
    assert '<pre tabindex="0"><code>- a list in code' in lesson_html(lesson)


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n", "\n   \n"])
def test_a_check_open_to_the_end_of_the_file_is_a_check(end: str) -> None:
    text = f'## Practice\n\n1. ▢ Why?\n\n<details markdown="1"><summary>Check</summary>\n\nBecause.{end}'
    lesson = lesson_of(text)
    assert [check.text for check in lesson.items[0].checks] == ["Because."]
    assert codes(lesson) == [(5, "DT004")]


def test_an_open_hint_ends_before_its_check_and_an_open_check_before_the_next_section() -> None:
    lesson = lesson_of(
        '## Practice\n\n1. ▢ Why?\n\n<details markdown="1"><summary>Hint</summary>\n\nThink.\n\n'
        '<details markdown="1"><summary>Check</summary>\n\nSo.\n\n</details>\n\n'
        '2. ▢ And?\n\n<details markdown="1"><summary>Check</summary>\n\nThus.\n\n'
        "## Real-world reps\n\n- [ ] a\n- [ ] b\n- [ ] Tomorrow: c\n"
    )
    assert [(len(i.hints), [c.text for c in i.checks]) for i in lesson.items] == [
        (1, ["So."]),
        (0, ["Thus."]),
    ]
    assert len(lesson.reps) == 3
    assert codes(lesson) == [(5, "DT004"), (17, "DT004")]


@pytest.mark.parametrize(
    "summary",
    ["Hint 2", "hint", "<b>Hint</b>", "**Hint**", "💡 Hint", "Hints", " Hint: ", "<strong>Hint</strong> one"],
)
def test_a_hint_is_known_by_its_word(summary: str) -> None:
    item = item_of("1. ▢ Why?\n\n" + fold(summary, "Think.") + fold("Check", "So."))
    assert (len(item.hints), len(item.checks)) == (1, 1)


def test_tags_and_boxes_in_code_are_code() -> None:
    lesson = lesson_of(
        "## Practice\n\n1. ▢ What is this?\n\n"
        "    ```html\n    <details><summary>Check</summary>\n    2. ▢ no\n    ```\n\n"
        + fold("Check", "```text\n## No heading\n3. ▢ no item\n</details>\n```")
        + "2. ▢ Next\n\n"
        + fold("Check", "Yes.")
    )
    assert [item.number for item in lesson.items] == [1, 2]
    assert "</details>" in lesson.items[0].checks[0].text
    assert codes(lesson) == []


def test_numbered_steps_under_an_item_belong_to_its_prompt() -> None:
    lesson = lesson_of(
        "## Practice\n\n1. ▢ First\n\n"
        + fold("Check", "x")
        + "2. ▢ Do this:\n\n1. take\n2. turn\n\n"
        + fold("Check", "y")
        + "3. ▢ Last\n\n"
        + fold("Check", "z")
    )
    assert [(item.number, item.prompt_text) for item in lesson.items] == [
        (1, "First"),
        (2, "Do this: take turn"),
        (3, "Last"),
    ]
    assert codes(lesson) == []


def test_a_forgotten_box_is_still_an_item() -> None:
    lesson = lesson_of(
        "## Practice\n\n1. ▢ First\n\n" + fold("Check", "x") + "2. Second\n\n" + fold("Check", "y")
    )
    assert [item.prompt_text for item in lesson.items] == ["First", "Second"]
    assert codes(lesson) == [(11, "IT003")]


def test_a_box_without_a_space_before_it_is_an_item() -> None:
    lesson = lesson_of("## Practice\n\n1.▢ First\n\n" + fold("Check", "x"))
    assert [item.prompt_text for item in lesson.items] == ["First"]
    assert codes(lesson) == [(3, "IT003")]


def test_numbers_with_a_bracket_are_items() -> None:
    lesson = lesson_of(
        "## Practice\n\n1) ▢ First\n\n" + fold("Check", "x") + "2) ▢ Next\n\n" + fold("Check", "y")
    )
    assert [item.prompt_text for item in lesson.items] == ["First", "Next"]


def test_reps_with_any_bullet_and_box() -> None:
    lesson = lesson_of("## Real-world reps\n\n* [ ] a\n- [x] b\n- [] c\n\n1. [ ] d\n2. [ ] **Tomorrow:** e\n")
    assert [rep.text for rep in lesson.reps] == ["a", "b", "c", "d", "Tomorrow: e"]
    assert [rep.tomorrow for rep in lesson.reps] == [False, False, False, False, True]
    assert codes(lesson) == []


@pytest.mark.parametrize(
    ("head", "line", "said"),
    [
        ('---\ntitle: "2. A"\ntype: lesson\n\n', 1, "not closed"),
        ('---\ntitle: "2. A"\ntype: lesson\n', 1, "not closed"),
        ('\n\n---\ntitle: "2. A"\ntype: lesson\n---\n\n', 3, "blank line stands before"),
        ('---\ntitle: "2. A"\n\ttype: lesson\n---\n\n', 3, "white space stands before"),
        ('---\ntitle: "2. The "A" of it"\n---\n\n', 2, "quote"),
    ],
)
def test_broken_front_matter_is_read_and_no_text_is_taken_for_it(head: str, line: int, said: str) -> None:
    name = 'The "A" of it' if "quote" in said else "A"
    lesson = lesson_of(f"{head}# Lesson 2. {name}\n\n## Know this\n\nText.\n\n---\n\nNot landing? Reread.\n")
    assert (lesson.number, lesson.title, lesson.sections) == (2, name, ("Know this",))
    assert [(p.line, p.code) for p in lesson.problems] == [(line, "FM002")]
    assert said in lesson.problems[0].message
    assert "title:" not in lesson_html(lesson)
    assert "Not landing?" in lesson.closing_html


def test_a_file_that_begins_with_a_rule_has_no_front_matter() -> None:
    lesson = lesson_of("---\n\nSome text.\n\n---\n\n# Lesson 2. A\n")
    assert not lesson.has_front_matter
    assert "Some text." in lesson_html(lesson)


def test_words_that_look_like_tags_stay_words() -> None:
    lesson = lesson_of("## Know this\n\nif a<b and c>d, a List<T> and Map<String, Integer>\n")
    assert "if a&lt;b and c&gt;d, a List&lt;T&gt; and Map&lt;String, Integer&gt;" in lesson_html(lesson)
    assert {code for _, code in codes(lesson)} == {"HT001"}


def test_images_as_tags_need_words_too() -> None:
    lesson = lesson_of(
        '## Know this\n\n<img src="images/a.svg"> and <img src="images/b.svg" alt="Two bars">\n'
    )
    assert (3, "LN003") in codes(lesson)
    assert sum(code == "LN003" for _, code in codes(lesson)) == 1


def test_a_link_without_an_address_is_said() -> None:
    lesson = lesson_of("## Know this\n\nSee [the paper]().\n")
    assert codes(lesson) == [(3, "LN001")]


@pytest.mark.parametrize(
    "comment",
    [
        "<!-- item: {id: a, answer: 5} -->",
        "<!-- item\nid: a\nanswer: 5\n-->",
        "    <!-- item\n    id: a\n    answer: 5\n    -->",
    ],
)
def test_an_item_comment_in_any_shape(comment: str) -> None:
    item = item_of(f"1. ▢ How many?\n\n{comment}\n\n" + fold("Check", "5"))
    assert (item.id, item.answer, item.graded) == ("a", 5, True)


def test_fields_on_one_line_are_told_apart_by_the_message() -> None:
    lesson = lesson_of(
        "## Practice\n\n1. ▢ How many?\n\n<!-- item id: a, answer: 5 -->\n\n" + fold("Check", "5")
    )
    assert [(p.line, p.code) for p in lesson.problems] == [(5, "EX003")]
    assert "a line of its own" in lesson.problems[0].message


@pytest.mark.parametrize(
    "around",
    [
        "- a point\n\n  <!-- widget calculator\n  show: [memory]\n  -->\n",
        "> <!-- item\n> id: x\n> -->\n",
        '<details markdown="1"><summary>More</summary>\n\n<!-- widget schedule -->\n\n</details>\n',
    ],
)
def test_a_comment_where_nothing_reads_it_is_said(around: str) -> None:
    lesson = lesson_of(f"## Know this\n\n{around}")
    assert [problem.code for problem in lesson.problems] == ["EX005"]
    assert "nothing reads this" in lesson.problems[0].message


def test_words_in_angle_brackets_are_the_same_everywhere() -> None:
    lesson = lesson_of(
        '---\ntitle: "2. What List<T> Holds"\n---\n\n# Lesson 2. What List<T> Holds\n\n## Practice\n\n'
        "1. ▢ What is <T> in List<T>, `Map<K, V>` and <b>bold</b>?\n\n"
        "    - a) a <topic>\n    - b) ch <- 1\n\n" + fold("Check", "**b)** It sends. (a) <topic> is a name.")
    )
    assert lesson.title == "What List<T> Holds"
    (item,) = lesson.items
    assert item.prompt_text == "What is <T> in List<T>, Map<K, V> and bold?"
    assert [option.text for option in item.options] == ["a <topic>", "ch <- 1"]
    assert item.options[0].feedback_text == "(a) <topic> is a name."
    assert "&lt;T&gt; in List&lt;T&gt;" in item.prompt_html
    assert {code for _, code in codes(lesson)} == {"HT001"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("1,200", "write answer: 1200"),
        ("112 GB", "write answer: 112 and unit: GB"),
        ("50%", "write answer: 50 and unit: %"),
        ("12,500.5 GB", "write answer: 12500.5 and unit: GB"),
        ("lots", "write a number"),
    ],
)
def test_a_key_that_is_no_bare_number_is_told_how_to_be_one(answer: str, said: str) -> None:
    lesson = lesson_of(
        f"## Practice\n\n1. ▢ How many?\n\n<!-- item\nid: a\nanswer: {answer}\n-->\n\n" + fold("Check", "x")
    )
    assert [problem.code for problem in lesson.problems] == ["NU001"]
    assert said in lesson.problems[0].message
    assert not lesson.items[0].graded


@pytest.mark.parametrize("order", ["[b, c, a]", "b, c, a", "b c a", "[B, (c), a.]", "b → c → a"])
def test_an_order_in_any_shape(order: str) -> None:
    item = item_of(
        "1. ▢ Order\n\n    - a) one\n    - b) two\n    - c) three\n\n"
        f"<!-- item\nid: o\nkind: ordering\norder: {order}\n-->\n\n" + fold("Check", "b, c, a")
    )
    assert (item.order, item.graded) == (("b", "c", "a"), True)
