"""Items: options, keys, reasons, comments, kinds."""

import pytest

from app.curriculum.blocks import ItemKind
from app.curriculum.links import Context
from tests.unit.curriculum.helpers import FakeEngine, codes, fold, item_of, lesson_of

CHECK = fold("Check", "**b)** because")


@pytest.mark.parametrize(
    "options",
    [
        "    - a) x\n    - b) y\n",
        "- a) x\n- b) y\n",
        "  - A. x\n  - B. y\n",
        "   * (a) x\n   * (b) y\n",
        "    - **a)** x\n    - **b)** y\n",
        "    + *a)* x\n    + *b)* y\n",
        "   a) x\n   b) y\n",
    ],
)
def test_options_however_they_are_written(options: str) -> None:
    item = item_of(
        f"1. ▢ Which?\n\n{options}\n{CHECK}"
        if "-" in options or "*" in options or "+" in options
        else f"1. ▢ Which?\n{options}\n{CHECK}"
    )
    assert [(o.letter, o.text) for o in item.options] == [("a", "x"), ("b", "y")]
    assert item.kind is ItemKind.MCQ
    assert item.correct == ("b",)
    assert item.graded
    assert item.prompt_text == "Which?"


@pytest.mark.parametrize(
    ("check", "key"),
    [
        ("**b)** because", ("b",)),
        ("**(B)** because", ("b",)),
        ("**b.** because", ("b",)),
        ("**b**", ("b",)),
        ("**b) y** is it", ("b",)),
        ("**a) and c)** both", ("a", "c")),
        ("**a)** and **c)** both", ("a", "c")),
        ("**a, b, c**", ("a", "b", "c")),
        ("Answer: **b)**.", ("b",)),
        ("The correct answer is **b)**.", ("b",)),
        ("B is right: it is.", ("b",)),
        ("(a) and (c) are correct.", ("a", "c")),
        ("It is not **a)** at all.", ()),
        ("A **b**ig one.", ()),
        ("**Because** of b.", ()),
        ("b", ()),
    ],
)
def test_the_key_is_read_and_never_guessed(check: str, key: tuple[str, ...]) -> None:
    item = item_of(f"1. ▢ Which?\n\n    - a) x\n    - b) y\n    - c) z\n\n{fold('Check', check)}")
    assert item.correct == key
    assert item.graded == bool(key)
    assert item.multiple == (len(key) > 1)


def test_unclear_key_is_an_error_at_the_line_that_names_it() -> None:
    lesson = lesson_of(f"## Practice\n\n1. ▢ A?\n\n    - a) x\n    - b) y\n\n{fold('Check', '**d)** no')}")
    (problem,) = lesson.problems
    assert (problem.code, problem.line) == ("MC002", 10)
    assert problem.message == "the Check says d, but the options are a, b"
    assert not lesson.items[0].graded


def test_reasons_keep_their_markup_and_letters_they_begin_with() -> None:
    check = (
        "**b)** Yes. (a) is `wrong`, as *all* know. Option c too. What (a) says elsewhere "
        "is no reason.\n\n- c) and more"
    )
    item = item_of(f"1. ▢ Q?\n\n    - a) x\n    - b) y\n    - c) z\n\n{fold('Check', check)}")
    reasons = {option.letter: option.feedback_html for option in item.options}
    assert reasons["a"] == "(a) is <code>wrong</code>, as <em>all</em> know."
    assert reasons["c"] == "Option c too. and more"
    assert reasons["b"] == ""


def test_misconceptions_of_options() -> None:
    comment = "<!-- item\nid: q\nmisconceptions: {a: weights-only, z: none}\n-->\n\n"
    lesson = lesson_of(f"## Practice\n\n1. ▢ Q?\n\n    - a) x\n    - b) y\n\n{comment}{CHECK}")
    assert [o.misconception for o in lesson.items[0].options] == ["weights-only", ""]
    assert [code for _, code in codes(lesson)] == ["EX006"]


def test_lettered_prose_without_a_key_stays_prose() -> None:
    item = item_of(f"1. ▢ Explain:\na) the cut\nb) the link\n\n{fold('Check', 'Both are explained above.')}")
    assert item.kind is ItemKind.OPEN
    assert item.options == ()
    assert "a) the cut" in item.prompt_text


def test_twice_the_same_letter_is_open_and_keeps_its_words() -> None:
    item = item_of(f"1. ▢ Q?\n\n    - a) first\n    - a) second\n\n{fold('Check', '**a)**')}")
    assert item.kind is ItemKind.OPEN
    assert not item.graded
    assert "first" in item.prompt_html
    assert "second" in item.prompt_html


def test_prompt_goes_on_at_column_zero_until_the_first_fold() -> None:
    text = (
        f"1. ▢ Look:\n\n```python\nx\n```\n\n| a |\n|---|\n| 1 |\n\nThen say.\n\n{fold('Check', 'c')}After.\n"
    )
    lesson = lesson_of(f"## Practice\n\n{text}")
    assert lesson.items[0].prompt_text == "Look: x a 1 Then say."
    assert lesson.items[0].code_in_prompt == ("python",)
    assert lesson.blocks[-1].text == "After."


def test_items_in_know_this_need_a_comment() -> None:
    comment = "<!-- item\nid: p\nkind: predict\n-->\n\n"
    text = (
        f"## Know this\n\n1. step\n2. step\n\nProse.\n\n1. ▢ Guess?\n\n    - a) x\n    - b) "
        f"y\n\n{comment}{CHECK}1. no item\n"
    )
    lesson = lesson_of(text)
    (item,) = lesson.items
    assert (item.section, item.number, item.kind, item.correct) == ("Know this", 1, ItemKind.PREDICT, ("b",))
    assert "no item" in lesson.blocks[-1].text


def test_numbers_are_places_not_what_is_written() -> None:
    items = lesson_of("## Practice\n\n3. ▢ A\n3. ▢ B\n\n### Harder\n\n1. ▢ C\n").items
    assert [(i.number, i.number_written) for i in items] == [(1, 3), (2, 3), (3, 1)]


def test_derived_ids_are_stable_and_apart() -> None:
    first = lesson_of("## Practice\n\n1. ▢ Same\n2. ▢ Same\n3. ▢ Other\n").items
    again = lesson_of("intro\n\n## Practice\n\n1. ▢ Other\n2. ▢ Same\n").items
    assert len({item.id for item in first}) == 3
    assert again[0].id == first[2].id
    assert again[1].id == first[0].id


def test_content_hash_follows_what_is_asked_and_graded() -> None:
    def hash_of(prompt: str, answer: str, identity: str) -> str:
        return item_of(
            f"1. ▢ {prompt}\n\n<!-- item\nid: {identity}\nanswer: {answer}\n-->\n\n{fold('Check', 'c')}"
        ).content_hash

    base = hash_of("Q?", "1", "x")
    assert hash_of("Q?", "1", "y") == base
    assert hash_of("Q!", "1", "x") != base
    assert hash_of("Q?", "2", "x") != base


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        ("kind: numerical", "EX001"),
        ("kind: numeric\nanswer: lots", "NU001"),
        ("kind: numeric", "NU001"),
        ("answer: [3, 1]", "NU001"),
        ("answer: true", "NU001"),
        ("answer: {calc: a, whith: {}}", "NU001"),
        ('answer: "2*b"', "NU001"),
        ("answer: 1\nunit: GBs", "NU005"),
        ("answer: 1\ntolerance: small", "NU005"),
        ("kind: calculator\npreset: {size: 1}", "EX007"),
        ('require: ["fits is yes"]', "EX006"),
        ("require: 3\nkind: calculator", "EX006"),
        ("vary: 3\nanswer: 1", "EX006"),
        ("order: [a, b]", "OR001"),
        ("kind: rubric\npass: 2", "RU001"),
        ("answer: {calc: [", "EX003"),
        ("just words", "EX003"),
        ("answer: 1\nanswer: 2", "EX003"),
        ("id: a b\nanswer: 1", "EX006"),
    ],
)
def test_wrong_comments_are_reported_and_ungraded(comment: str, code: str) -> None:
    lesson = lesson_of(f"## Practice\n\n1. ▢ Q?\n\n<!-- item\n{comment}\n-->\n\n{fold('Check', 'c')}")
    assert code in [problem.code for problem in lesson.problems]
    assert lesson.items[0].prompt_text == "Q?"
    if code != "EX006" or "id:" not in comment:
        assert not lesson.items[0].graded


def test_misspelt_field_is_named_with_its_line() -> None:
    lesson = lesson_of(
        f"## Practice\n\n1. ▢ Q?\n\n<!-- item\nanswer: 1\ntolerence: 2%\n-->\n\n{fold('Check', 'c')}"
    )
    (problem,) = lesson.problems
    assert (problem.code, problem.line) == ("EX004", 7)
    assert problem.message.endswith("did you mean tolerance?")


def test_id_used_twice_is_open_the_second_time() -> None:
    one = f"1. ▢ Q?\n\n<!-- item\nid: x\nanswer: 1\n-->\n\n{fold('Check', 'c')}"
    lesson = lesson_of(f"## Practice\n\n{one}{one.replace('1. ', '2. ', 1)}")
    assert [(i.id, i.kind, i.graded) for i in lesson.items] == [
        ("x", ItemKind.NUMERIC, True),
        ("x-2", ItemKind.OPEN, False),
    ]
    assert "EX002" in [problem.code for problem in lesson.problems]


def test_comment_that_is_never_closed_swallows_nothing() -> None:
    lesson = lesson_of(
        f"## Practice\n\n1. ▢ Q?\n\n<!-- item\nid: x\nanswer: 1\n\n{fold('Check', 'c')}2. ▢ R?\n"
        f"\n{fold('Check', 'd')}"
    )
    assert (lesson.items[0].id, len(lesson.items[0].checks)) == ("x", 1)
    assert len(lesson.items) == 2
    assert (5, "EX003") in codes(lesson)


def test_key_the_engine_does_not_know_is_an_open_item() -> None:
    comment = "<!-- item\nanswer: {calc: memory.total_byte, with: {size: 2}}\nunit: GB\n-->\n\n"
    text = f"## Practice\n\n1. ▢ Q?\n\n{comment}{fold('Check', 'c')}"
    lesson = lesson_of(text, context=Context(engine=FakeEngine()))
    assert lesson.items[0].kind is ItemKind.OPEN
    (problem,) = lesson.problems
    assert problem.code == "CA001"
    assert "did you mean memory.total_bytes" in problem.message
    good = lesson_of(text.replace("byte,", "bytes,"), context=Context(engine=FakeEngine()))
    assert good.items[0].graded
    assert good.problems == ()
