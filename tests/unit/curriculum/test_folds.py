"""Hints and checks in every shape that people write them in."""

import pytest

from tests.unit.curriculum.helpers import codes, fold, lesson_of


def texts(text: str) -> list[tuple[list[str], list[str]]]:
    """(hint texts, check texts) of each item."""
    return [([h.text for h in i.hints], [c.text for c in i.checks]) for i in lesson_of(text).items]


def test_unclosed_fold_ends_before_the_next_fold_item_or_heading() -> None:
    text = (
        '## Practice\n\n1. ▢ A?\n\n<details markdown="1"><summary>Hint</summary>\n\nhint\n\n'
        + fold("Check", "answer")
        + '2. ▢ B?\n\n<details markdown="1"><summary>Check</summary>\n\nb\n\n'
        + '3. ▢ C?\n\n<details markdown="1"><summary>Check</summary>\n\nc\n\n## Going further\n\nprose\n'
    )
    assert texts(text) == [(["hint"], ["answer"]), ([], ["b"]), ([], ["c"])]
    assert [code for _, code in codes(lesson_of(text)) if code == "DT004"] == ["DT004"] * 3
    assert lesson_of(text).blocks[-1].text == "prose"


def test_check_inside_a_hint_belongs_to_the_item() -> None:
    text = (
        f"## Practice\n\n1. ▢ A?\n\n"
        f"{fold('Hint', 'hint' + chr(10) * 2 + fold('Check', 'answer'))}2. ▢ B?\n\n{fold('Check', 'b')}"
    )
    assert texts(text) == [(["hint"], ["answer"]), ([], ["b"])]
    assert (9, "DT006") in codes(lesson_of(text))


@pytest.mark.parametrize(
    "written",
    [
        '<details markdown="1"><summary>Check</summary>\nThe **answer**.\n</details>',
        '<details markdown="1"><summary>Check</summary>The **answer**.</details>',
        '<details markdown="1">\n<summary>Check</summary>\nThe **answer**.\n\n</details>',
        '<details markdown="1"><summary>\nCheck\n</summary>\nThe **answer**.</details>',
        '<DETAILS markdown="1"><SUMMARY>Check</SUMMARY>\nThe **answer**.\n</DETAILS>',
    ],
)
def test_missing_blank_lines(written: str) -> None:
    lesson = lesson_of(f"## Practice\n\n1. ▢ A?\n\n{written}\n\n2. ▢ B?\n\n{fold('Check', 'b')}")
    first, second = lesson.items
    assert first.checks[0].html == "<p>The <strong>answer</strong>.</p>"
    assert second.checks[0].text == "b"
    assert [code for _, code in codes(lesson)] == ["DT003"]


def test_well_formed_folds_are_not_reported() -> None:
    assert codes(lesson_of(f"## Practice\n\n1. ▢ A?\n\n{fold('Hint', 'h')}{fold('Check', 'c')}")) == []


def test_indented_fold_keeps_its_text_out_of_code_blocks() -> None:
    text = (
        "## Practice\n\n1. ▢ A?\n\n"
        '        <details markdown="1"><summary>Check</summary>\n\n        The *answer*.\n\n'
        "        ```\n        code\n        ```\n\n        </details>\n\n2. ▢ B?\n\n" + fold("Check", "b")
    )
    lesson = lesson_of(text)
    assert lesson.items[0].checks[0].blocks == ("paragraph", "code")
    assert "<em>answer</em>" in lesson.items[0].checks[0].html
    assert (5, "DT002") in codes(lesson)


def test_tags_and_headings_in_code_are_code() -> None:
    check = "```bash\n# comment\n## heading\n<details>\n</details>\n```\n\nend"
    lesson = lesson_of(
        f"## Practice\n\n1. ▢ A `<details>` b?\n\n{fold('Check', check)}2. ▢ B?\n\n{fold('Check', 'b')}"
    )
    assert codes(lesson) == []
    assert len(lesson.items) == 2
    assert lesson.items[0].checks[0].text.endswith("</details> end")
    assert (
        lesson.items[0].prompt_html == "<p>A <code>&lt;details&gt;</code> b?</p>"
        or "<code>&lt;details&gt;</code>" in lesson.items[0].prompt_html
    )


def test_other_summaries_are_plain_folds() -> None:
    text = f"## Practice\n\n1. ▢ A?\n\n{fold('Why ask', 'because')}{fold('Check', 'c')}{fold('More', 'more')}"
    lesson = lesson_of(text)
    assert "<summary>Why ask</summary>" in lesson.items[0].prompt_html
    assert "<summary>More</summary>" in lesson.blocks[-1].html
    assert [code for _, code in codes(lesson)] == ["DT005", "DT005"]


def test_a_fold_in_prose_is_a_plain_fold() -> None:
    lesson = lesson_of(f"## Know this\n\n{fold('Derivation', '**Long.**')}")
    assert codes(lesson) == []
    assert lesson.blocks[-1].html.startswith("<details><summary>Derivation</summary>")


def test_stray_closing_tag_is_reported_and_left_out() -> None:
    lesson = lesson_of("## Know this\n\nText.\n\n</details>\n\nMore.\n")
    assert codes(lesson) == [(5, "DT007")]
    assert "details" not in lesson.blocks[-1].html


def test_question_mark_instruction_in_a_fold() -> None:
    lesson = lesson_of(f"## Practice\n\n1. ▢ A?\n\n{fold('Check', 'x <?php echo 1 ?> y')}")
    assert "&lt;?php echo 1 ?&gt;" in lesson.items[0].checks[0].html
    assert (7, "PI001") in codes(lesson)
