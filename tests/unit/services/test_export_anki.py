"""The CSV for Anki: directions first, then rows that any reader of CSV understands alike."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from app.curriculum.blocks import Fold, Item, ItemKind, Lesson, Option
from app.services.export_anki import anki_csv, guid_of
from app.services.questions import Number, Question, question_of

LESSON = Lesson(course="training", slug="0003-how-wide", path="x.md", number=3, title="How Wide?")


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


def rows(text: str) -> list[list[str]]:
    """As Anki reads it: the # lines at the top are directions, a record that begins with # is a comment."""
    body = [f"{line}\n" for line in text.rstrip("\n").split("\n") if not line.startswith("#")]
    return list(csv.reader(io.StringIO("".join(body)), strict=True))


def test_directions() -> None:
    head = [line for line in anki_csv([], "Training: fit it").splitlines() if line.startswith("#")]
    assert head[0] == "#separator:Comma"
    assert {
        "#html:true",
        "#notetype:Basic",
        "#guid column:1",
        "#tags column:4",
        "#deck:Training: fit it",
    } <= set(head)
    assert head[-1] == "#columns:GUID,Front,Back,Tags"


def test_a_deck_stays_one_deck() -> None:
    assert "#deck:A:B" in anki_csv([], "A::B").splitlines()


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0<"), max_size=60))
def test_any_text_survives(text: str) -> None:
    question = question_of(
        LESSON, item(prompt_html=f'# "{text}", {text}', checks=(Fold(html=f"<pre>{text}</pre>", text=""),))
    )
    [[guid, front, back, tags]] = rows(anki_csv([question], "Training"))
    words = text.replace("\r", "")
    assert front == f'# "{words}", {words}'.replace("\n", " ").strip()
    assert back == f"<pre>{words}</pre>".replace("\n", "&#10;")
    assert guid == guid_of("training/0003-how-wide/q")
    assert tags == "meshwright::training::0003-how-wide kind::open"


def test_choices_are_on_the_front_and_the_key_on_the_back() -> None:
    options = (Option(letter="a", html="all", text="all"), Option(letter="b", html="half", text="half"))
    question = question_of(LESSON, item(ItemKind.MCQ, options=options, correct=("b",), skill="tp count"))
    [[_, front, back, tags]] = rows(anki_csv([question], "Training"))
    assert "<b>a)</b> all" in front
    assert "half" in front
    assert back == "<p><b>b)</b> half</p>"
    assert tags.split() == ["meshwright::training::0003-how-wide", "kind::mcq", "skill::tp-count"]


def test_number_and_unit() -> None:
    question = Question(
        course="training", lesson=LESSON, item=item(ItemKind.NUMERIC),
        prompt_html="<p>How many?</p>", unit="GB",
        number=Number(value=112.04, low=109, high=114), checks_html=("<p>Because.</p>",),
    )  # fmt: skip
    [[_, front, back, _]] = rows(anki_csv([question], "Training"))
    assert front.endswith("<p><i>in GB</i></p>")
    assert back == "<p><b>112 GB</b></p><p>Because.</p>"


def test_a_card_stays_the_same_card_when_its_words_change() -> None:
    texts = [
        anki_csv([question_of(LESSON, item(prompt_html=html))], "Training")
        for html in ("<p>Old</p>", "<p>New</p>")
    ]
    assert rows(texts[0])[0][0] == rows(texts[1])[0][0]
    assert guid_of("a") != guid_of("b")
    assert len(guid_of("a")) == 10


def test_no_back_is_left_empty() -> None:
    [[_, _, back, _]] = rows(anki_csv([question_of(LESSON, item())], "Training"))
    assert "no check" in back
