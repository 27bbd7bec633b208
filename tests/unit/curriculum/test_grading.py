"""Verdicts: what is right, what is a known mistake, what was not understood."""

from typing import Any

import pytest

from app.curriculum.blocks import Item
from app.curriculum.generate import fill, say, variables_of, variant
from app.curriculum.grading import grade, puzzle_inputs
from tests.unit.curriculum.helpers import FakeEngine, fold, item_of

ENGINE = FakeEngine()


def numeric(fields: str, prompt: str = "How many?") -> Item:
    return item_of(f"1. ▢ {prompt}\n\n<!-- item\nid: n\n{fields}\n-->\n\n{fold('Check', 'c')}")


def verdict(fields: str, typed: str, seed: int = 0) -> Any:
    return grade(numeric(fields), {"value": typed}, seed, ENGINE)


GB112 = "answer: 112\nunit: GB\ntolerance: 2%"


@pytest.mark.parametrize(
    "typed", ["112", "112 GB", "1.12e11 B", "0.112 TB", "113.9", "104.3 GiB", "112,000 MB"]
)
def test_right_in_every_unit(typed: str) -> None:
    assert verdict(GB112, typed).word == "right"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("many", "Not understood: “many”. Write a number in GB, such as 3.5 GB."),
        ("", "Nothing is written yet. Write a number in GB, such as 3.5 GB."),
        ("3 s", "s is a time, but the answer is a number in GB, such as 3.5 GB."),
        ("112 or 113", "Not understood"),
    ],
)
def test_not_understood_is_not_wrong(typed: str, says: str) -> None:
    result = verdict(GB112, typed)
    assert result.word == "not_understood"
    assert result.correct is None
    assert result.message.startswith(says)


def test_binary_for_decimal_is_said() -> None:
    result = verdict(GB112, "104.3")
    assert result.word == "wrong"
    assert result.message == "That is the number of GiB: you may have used 2^30. Answer in GB."
    assert result.misconception == "gb-gib"
    assert verdict("answer: 104.31\nunit: GiB", "112").message.startswith(
        "That is the number of GB: divide by 2^30"
    )


def test_size_of_the_unit_is_said() -> None:
    assert "factor of a thousand" in verdict(GB112, "112 TB").message
    assert "factor of a billion" in verdict(GB112, "1.12e11").message
    assert "fraction of 1" in verdict("answer: 12.5\nunit: '%'", "0.125").message


def test_known_mistake_has_its_own_words() -> None:
    fields = (
        f"{GB112}\nwrong: "
        f"[{{value: 14, tolerance: 5%, say: Only the <weights>., misconception: weights-only}}]"
    )
    result = verdict(fields, "14.5 GB")
    assert result.misconception == "weights-only"
    assert result.feedback_html == "<p>Only the &lt;weights&gt;.</p>"
    assert verdict(fields, "20").misconception == ""


def test_no_wrong_answer_tells_the_key() -> None:
    for typed in ("1", "50", "9999", "-3", "0"):
        assert "112" not in verdict(GB112, typed).message


def test_ranges_and_exact_keys() -> None:
    assert [verdict("answer: [3, 5]", t).word for t in ("3", "4.2", "5", "5.1", "2.9")] == ["right"] * 3 + [
        "wrong"
    ] * 2
    assert [verdict("answer: 8\ntolerance: exact", t).word for t in ("8", "8.0", "8.01")] == [
        "right",
        "right",
        "wrong",
    ]


def test_engine_and_arithmetic_keys_follow_the_variant() -> None:
    fields = (
        "vary: {size: [7e9, 13e9], dp: [8, 16]}\nanswer: '2*size/1e9*(1+1/dp)'\nunit: GB\n"
        "wrong: [{value: '2*size/1e9', say: 'Not {dp}?'}]"
    )
    item = numeric(fields, "A model of {size} on {dp} GPUs, {other} and {2*dp}?")
    for seed in range(4):
        variables = variables_of(item, seed)
        right = 2 * variables["size"] / 1e9 * (1 + 1 / variables["dp"])
        assert grade(item, {"value": f"{right} GB"}, seed, ENGINE).word == "right"
        assert (
            grade(item, {"value": f"{2 * variables['size'] / 1e9}"}, seed, ENGINE).message
            == f"Not {variables['dp']}?"
        )
    by_engine = numeric(
        "vary: {size: [3, 5]}\nanswer: {calc: memory.total_bytes, with: {size: size}}\nunit: GB"
    )
    assert [
        grade(by_engine, {"value": v}, s, ENGINE).word
        for v, s in (("3", 0), ("5", 0), ("5 GB", 1), ("4.657 GiB", 1))
    ] == [
        "right",
        "wrong",
        "right",
        "right",
    ]


def test_engine_failure_is_no_verdict() -> None:
    item = numeric("answer: {calc: no.such, with: {}}")
    result = grade(item, {"value": "3"}, 0, ENGINE)
    assert result.correct is None
    assert result.understood
    assert "cannot be graded" in result.message


def test_named_answers() -> None:
    item = numeric("answer: {weights: 14, time_ms: 3.5}\nunit: GB")
    good = grade(item, {"values": {"weights": "14 GB", "time_ms": "0.0035 s"}})
    assert good.word == "right"
    half = grade(item, {"values": {"weights": "14 GB", "time_ms": "4"}})
    assert (half.word, half.score, half.message) == ("partly", 0.5, "1 of 2 right.")
    missing = grade(item, {"values": {"weights": "14"}})
    assert missing.word == "not_understood"
    assert "time ms: Nothing is written yet" in missing.message


# -- choices ---------------------------------------------------------------------------

CHOICE = "1. ▢ Q?\n\n    - a) x\n    - b) y\n    - c) z\n    - d) w\n\n"


def test_single_choice() -> None:
    item = item_of(
        CHOICE + "<!-- item\nmisconceptions: {a: mis}\n-->\n\n" + fold("Check", "**b)** Yes.\n\n- a) no `x`")
    )
    assert grade(item, {"options": ["b"]}).word == "right"
    wrong = grade(item, {"options": ["a"]})
    assert (wrong.word, wrong.misconception, wrong.options) == ("wrong", "mis", {"a": "no <code>x</code>"})
    assert grade(item, {"options": []}).word == "not_understood"
    assert grade(item, {"options": ["q"]}).word == "not_understood"
    assert grade(item, {"options": ["a", "b"]}).word == "not_understood"


def test_several_right_options_need_the_exact_set() -> None:
    item = item_of(CHOICE + fold("Check", "**b) and d)**\n\n- a) no"))
    assert grade(item, {"options": ["d", "b"]}).word == "right"
    some = grade(item, {"options": ["b"]})
    assert (some.word, some.score) == ("partly", 0.5)
    assert "missing" in some.message
    mixed = grade(item, {"options": ["a", "b", "d"]})
    assert mixed.word == "partly"
    assert mixed.options == {"a": "no"}
    assert grade(item, {"options": ["a", "c"]}).word == "wrong"


def test_ungraded_and_open_items_have_no_verdict() -> None:
    for item in (item_of(CHOICE + fold("Check", "who knows")), item_of("1. ▢ Why?\n\n" + fold("Check", "c"))):
        assert grade(item, {"options": ["a"], "text": "x"}).word == ""


def test_ordering() -> None:
    item = item_of(CHOICE + "<!-- item\norder: [b, c, d, a]\n-->\n\n" + fold("Check", "c"))
    assert grade(item, {"order": ["b", "c", "d", "a"]}).word == "right"
    near = grade(item, {"order": ["b", "c", "a", "d"]})
    assert (near.word, near.message) == ("partly", "Not yet. The first 2 stand right.")
    assert near.score == pytest.approx(5 / 6)
    assert grade(item, {"order": ["a", "d", "c", "b"]}).word == "wrong"
    assert grade(item, {"order": ["b"]}).word == "not_understood"


def test_rubric_is_the_learners_own_score() -> None:
    check = "A strong answer:\n\n- (2) Names `x`.\n- (1) Says y.\n\nA weak answer lists z.\n"
    item = item_of("1. ▢ Why?\n\n<!-- item\nkind: rubric\npass: 2\n-->\n\n" + fold("Check", check))
    assert [(p.points, p.html) for p in item.rubric] == [(2, "Names <code>x</code>."), (1, "Says y.")]
    assert item.weak_html == "<p>A weak answer lists z.</p>"
    result = grade(item, {"points": [0]})
    assert (result.word, result.score) == ("", pytest.approx(2 / 3))
    assert result.message == "2 of 3 points by your own count: passed, 2 are enough."
    assert "2 are needed" in grade(item, {"points": [1]}).message


# -- puzzles ------------------------------------------------------------------------------

PUZZLE = (
    "1. ▢ Fit it.\n\n<!-- item\nid: fit\nkind: calculator\npreset: {size: 100, other: 1}\nlocked: [other]\n"
    'require: ["fits == yes", "memory.total_bytes >= 40 GB", "time.bubble_fraction <= 0.05"]\n'
    "example: {size: 60}\n-->\n\n"
) + fold("Check", "60")


def test_puzzle_names_every_failed_requirement_with_its_value() -> None:
    item = item_of(PUZZLE)
    result = grade(item, {"layout": {"size": "100"}}, 0, ENGINE)
    assert [(one.text, one.met, one.value) for one in result.requirements] == [
        ("fits == yes", False, "no"),
        ("memory.total_bytes >= 40 GB", True, "100 GB"),
        ("time.bubble_fraction <= 0.05", True, "0.01 (1.0 %)"),
    ]
    assert (result.word, result.message) == ("partly", "Not met: fits == yes (here no).")
    low = grade(item, {"layout": {"size": "10"}}, 0, ENGINE)
    assert (
        low.message == "Not met: memory.total_bytes >= 40 GB (here 10 GB); time.bubble_fraction <= 0.05 "
        "(here 0.1 (10.0 %))."
    )
    assert grade(item, {"layout": {"size": "70"}}, 0, ENGINE).word == "right"
    assert grade(item, {"layout": {}}, 0, ENGINE).word == "partly"


def test_puzzle_refuses_what_is_locked_illegal_or_unusable() -> None:
    item = item_of(PUZZLE)
    assert puzzle_inputs(item, {"size": "60", "other": "5", "num_nodes": ""}) == {"size": "60", "other": 1}
    illegal = grade(item, {"layout": {"size": "-1"}}, 0, ENGINE)
    assert illegal.word == "wrong"
    assert illegal.message == "Not a legal layout: size must not be negative"


def test_locked_sections_cover_their_fields() -> None:
    text = PUZZLE.replace("locked: [other]", "locked: [model, cluster, tensor_parallel]")
    kept = puzzle_inputs(
        item_of(text),
        {
            "model.num_layers": 1,
            "num_nodes": 9,
            "layout": {"tensor_parallel": 4, "pipeline_parallel": 2},
            "model": "x",
        },
    )
    assert kept == {"size": 100, "other": 1, "layout.pipeline_parallel": 2}


# -- variants ------------------------------------------------------------------------------


def test_variants_are_stable_complete_and_begin_with_the_first_values() -> None:
    item = numeric("vary: {a: [1, 2, 3], b: [10, 20, 30, 40]}\nanswer: a*b")
    seen = [tuple(variables_of(item, seed).values()) for seed in range(12)]
    assert seen[0] == (1, 10)
    assert len(set(seen)) == 12
    assert seen == [tuple(variables_of(item, seed).values()) for seed in range(12)]
    assert variables_of(item, 12) == variables_of(item, 0)
    assert variables_of(item, 10**12)


def test_variant_writes_numbers_everywhere() -> None:
    item = item_of(
        "1. ▢ {n} of {m*2}, not {z} nor `{{ x }}`.\n\n    - a) {n}\n    - b) y\n\n<!-- item\n"
        "vary: {n: [51200], m: [7e9]}\n-->\n\n" + fold("Hint", "{n} times") + fold("Check", "**a)** {m}.")
    )
    shown = variant(item, 0)
    assert shown.prompt_text == "51,200 of 14 billion, not {z} nor {{ x }}."
    assert shown.options[0].html == "51,200"
    assert shown.hints[0].text == "51,200 times"
    assert "7 billion" in shown.checks[0].html
    assert shown.content_hash == item.content_hash


def test_filled_words_cannot_be_markup() -> None:
    assert fill("<p>{x}</p>", {"x": "<b>"}, is_html=True) == "<p>&lt;b&gt;</p>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7e9, "7 billion"),
        (1.5e6, "1.5 million"),
        (2048, "2048"),
        (51200, "51,200"),
        (0.05, "0.05"),
        (7.5, "7.5"),
        ("a100", "a100"),
    ],
)
def test_numbers_in_a_sentence(value: float | str, text: str) -> None:
    assert say(value) == text


def test_shuffle_depends_on_the_seed_only() -> None:
    item = item_of(CHOICE + "<!-- item\nid: s\nshuffle: true\n-->\n\n" + fold("Check", "**b)**"))
    orders = {seed: "".join(o.letter for o in variant(item, seed).options) for seed in range(8)}
    assert len(set(orders.values())) > 1
    assert orders == {seed: "".join(o.letter for o in variant(item, seed).options) for seed in range(8)}
    assert all(sorted(order) == ["a", "b", "c", "d"] for order in orders.values())
