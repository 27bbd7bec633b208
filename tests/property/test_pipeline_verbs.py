"""Whatever is sent, schedule and balance answer in JSON, or with problems that name a field."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from app.services.balance import balance_pieces
from app.services.balance_fields import FIELDS as BALANCE_FIELDS
from app.services.inputs import InputProblems
from app.services.schedule_fields import FIELDS as SCHEDULE_FIELDS
from app.services.scheduling import schedule
from app.web.balance_form import read_question as read_balance
from app.web.balance_view import view_of as balance_view
from app.web.schedule_form import read_question as read_schedule
from app.web.schedule_view import view_of as schedule_view

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(0, 6)
    | st.floats()
    | st.floats(0, 3)
    | st.text(max_size=8)
    | st.sampled_from(
        ["gpipe", "zb-h1", "interleaved", "F1 B1", "1, 2", "block ×3, 1", "-0", "1e999", "\x00"]
    )
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["kind", "micro_batch", "forward_s", "name"]) | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def questions(fields, **sensible):
    """Objects that are often nearly right: each field missing, sensible, or anything."""
    by_name = {field.path: anything for field in fields}
    return st.fixed_dictionaries(
        {},
        optional={
            name: sensible[name] | values if name in sensible else values for name, values in by_name.items()
        },
    )


small = st.integers(1, 5)
schedules = questions(
    SCHEDULE_FIELDS, num_stages=small, num_micro_batches=small, virtual_pipeline_stages=small
)
balances = questions(
    BALANCE_FIELDS, pieces=st.lists(st.floats(0, 9), min_size=1, max_size=6), num_stages=small
)


def is_an_answer(result) -> bool:
    if isinstance(result, InputProblems):
        told = result.problems
        return bool(told) and all(problem.message and isinstance(problem.field, str) for problem in told)
    json.dumps(result, allow_nan=False)
    return result["legal"] is (not result["violations"])


@given(raw=schedules | anything)
@settings(max_examples=150, deadline=None)
def test_schedule_never_raises(raw):
    assert is_an_answer(schedule(raw))


@given(raw=balances | anything)
@settings(max_examples=150, deadline=None)
def test_balance_never_raises(raw):
    assert is_an_answer(balance_pieces(raw))


words = st.text(max_size=12) | st.sampled_from(
    ["", "1", "2", "4", "1,2", "zb-h1", "gpipe", "interleaved", "0", "halve:num_stages",
     "double:num_micro_batches", "F1 B1|F1 B1", "a, 1\nb ×3, 2", "7,6", "1e-9", "-3", "nan"]
)  # fmt: skip


def queries(names):
    return st.lists(st.tuples(st.sampled_from(names), words), max_size=8)


@given(pairs=queries(["do", "at", *(field.path for field in SCHEDULE_FIELDS)]))
@settings(max_examples=60, deadline=None)
def test_the_schedule_page_never_raises_and_its_address_is_itself(pairs):
    question = read_schedule(pairs)
    view = schedule_view(question.raw, question.at)
    assert view.verdict.lead
    assert view.malformed == bool(view.complaints and view.verdict.lead == "Cannot be read:")
    assert view.url.startswith("/calculator/schedule?")


@given(pairs=queries(["do", "memory_limit_gib", *(field.path for field in BALANCE_FIELDS)]))
@settings(max_examples=60, deadline=None)
def test_the_balance_page_never_raises(pairs):
    view = balance_view(read_balance(pairs))
    assert view.verdict.lead
    assert view.url.startswith("/calculator/balance?")
