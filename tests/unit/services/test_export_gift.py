"""GIFT: what goes out comes back in, whatever characters it holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.curriculum.blocks import Fold, Item, ItemKind, Lesson, Option
from app.services.export_gift import escape_gift, gift
from app.services.questions import Number, Question, question_of
from tests.unit.services.gift_reader import read_gift

NASTY = r"a ~ = # { } : \ \n \: -> => [html] // :: #### %50% \\ {=x} $CATEGORY: &amp; é 中"
# The importer's own placeholders cannot be told from text; nobody writes them.
TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="&<>\u2028\u2029\x85"), max_size=40
).map(str.strip)


def lesson(number: int = 3, title: str = "How Wide?") -> Lesson:
    return Lesson(course="training", slug=f"{number:04d}-how-wide", path="x.md", number=number, title=title)


def item(kind: ItemKind = ItemKind.OPEN, **more: object) -> Item:
    values = {
        "id": "q",
        "section": "Practice",
        "number": 2,
        "prompt_html": "<p>Why?</p>",
        "prompt_text": "Why?",
        "line": 1,
    }
    return Item(kind=kind, **{**values, **more})  # type: ignore[arg-type]


def option(letter: str, html: str, say: str = "") -> Option:
    return Option(letter=letter, html=html, text=html, feedback_html=say)


def round_trip(question: Question) -> object:
    [read] = read_gift(gift([question], "Training"))
    return read


@given(TEXT)
def test_escape_round_trip(text: str) -> None:
    read = round_trip(question_of(lesson(), item(prompt_html=f"<p>{text}</p>")))
    assert read.text == f"<p>{text.replace('->', '-&gt;')}</p>"  # type: ignore[attr-defined]
    assert read.kind == "essay"  # type: ignore[attr-defined]


def test_every_special_character() -> None:
    assert escape_gift("~=#{}:\\") == "\\~\\=\\#\\{\\}\\:\\\\"
    read = round_trip(question_of(lesson(), item(prompt_html=NASTY, checks=(Fold(html=NASTY, text=""),))))
    expected = NASTY.replace("->", "-&gt;")
    assert read.text == expected  # type: ignore[attr-defined]
    assert read.general_feedback == expected  # type: ignore[attr-defined]


def test_code_keeps_its_lines_and_its_backslashes() -> None:
    code = "<pre><code>a = {1: 2}\n\nprint('\\n')\n</code></pre>"
    read = round_trip(question_of(lesson(), item(prompt_html=f"<p>Read\nthis</p>\n{code}")))
    assert read.text == "<p>Read this</p> " + code.replace("\n", "&#10;")  # type: ignore[attr-defined]


@given(st.lists(st.tuples(TEXT.filter(bool), TEXT), min_size=2, max_size=5), st.data())
def test_choices_round_trip(texts: list[tuple[str, str]], data: st.DataObject) -> None:
    letters = "abcde"[: len(texts)]
    right = data.draw(st.lists(st.sampled_from(letters), min_size=1, max_size=len(letters), unique=True))
    options = tuple(
        option(le, f"<p>{text}</p>", f"<p>{say}</p>") for le, (text, say) in zip(letters, texts, strict=True)
    )
    read = round_trip(question_of(lesson(), item(ItemKind.MCQ, options=options, correct=tuple(right))))
    assert read.kind == "multichoice"  # type: ignore[attr-defined]
    found = read.answers  # type: ignore[attr-defined]
    assert [answer.text for answer in found] == [o.html.replace("->", "-&gt;") for o in options]
    assert [answer.feedback for answer in found] == [o.feedback_html.replace("->", "-&gt;") for o in options]
    assert {le for le, answer in zip(letters, found, strict=True) if answer.fraction > 0} == set(right)
    assert sum(answer.fraction for answer in found if answer.fraction > 0) == pytest.approx(1, abs=1e-4)
    if len(right) > 1:
        assert all(answer.fraction < 0 for le, answer in zip(letters, found, strict=True) if le not in right)


def test_number_with_wrong_values() -> None:
    question = Question(
        course="training", lesson=lesson(), item=item(ItemKind.NUMERIC),
        prompt_html="<p>How many?</p>", unit="GB",
        number=Number(value=112, low=109.76, high=114.24, feedback_html="<p>Yes: 16 = 2 + 2 + 12.</p>"),
        wrong=(Number(value=-14, low=-14.7, high=-13.3, feedback_html="<p>Weights only.</p>"),),
    )  # fmt: skip
    read = round_trip(question)
    assert read.kind == "numerical"  # type: ignore[attr-defined]
    assert "GB" in read.text  # type: ignore[attr-defined]
    right, wrong = read.answers  # type: ignore[attr-defined]
    assert (right.fraction, wrong.fraction) == (1.0, 0.0)
    assert [float(end) for end in right.text.split("..")] == [109.76, 114.24]
    assert [float(end) for end in wrong.text.split("..")] == [-14.7, -13.3]
    assert (right.feedback, wrong.feedback) == ("<p>Yes: 16 = 2 + 2 + 12.</p>", "<p>Weights only.</p>")


def test_order_is_a_matching_question() -> None:
    options = tuple(option(letter, f"step {letter} -> next") for letter in "abc")
    read = round_trip(question_of(lesson(), item(ItemKind.ORDERING, options=options, order=("c", "a", "b"))))
    assert read.kind == "match"  # type: ignore[attr-defined]
    assert read.pairs == [("step c -&gt; next", "1"), ("step a -&gt; next", "2"), ("step b -&gt; next", "3")]  # type: ignore[attr-defined]


def test_ungraded_choices_ask_for_words_and_show_the_options() -> None:
    options = (option("a", "one"), option("b", "two"))
    read = round_trip(
        question_of(lesson(), item(ItemKind.MCQ, options=options, correct=("a",), graded=False))
    )
    assert read.kind == "essay"  # type: ignore[attr-defined]
    assert "<b>b)</b> two" in read.text  # type: ignore[attr-defined]


def test_each_lesson_is_a_category() -> None:
    questions = [
        question_of(lesson(1, "I/O \\ paths"), item()),
        question_of(lesson(2), item()),
        question_of(lesson(2), item(number=3)),
    ]
    first, second, third = read_gift(gift(questions, "Train/serve"))
    assert first.category == "$course$/top/Train//serve/1. I//O paths"
    assert second.category == third.category == "$course$/top/Train//serve/2. How Wide?"
    assert third.name == "2. Practice 3"


def test_nothing_to_export() -> None:
    assert gift([], "Training") == ""
