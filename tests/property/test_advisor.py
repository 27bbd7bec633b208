"""Whatever is asked, the advisor answers: legal, fitting, inside the range, never better than the search."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from app.services.advising import advise_on
from app.services.estimation import estimate
from app.services.inputs import InputProblems
from app.services.search_words import NAMES

MODELS = ("gpt-1.7b", "gpt-18.4b", "llama2-7b", "llama3-70b", "mixtral-8x7b", "t5-11b")
some = st.none() | st.integers(-1, 70) | st.text(max_size=4) | st.booleans()
fixed = st.dictionaries(
    st.sampled_from(sorted(NAMES)) | st.text(max_size=5), some | st.sampled_from(["full", "1f1b"]), max_size=3
)
sensible = st.fixed_dictionaries(
    {},
    optional={
        "tensor_parallel": st.sampled_from([1, 2, 4, 8]),
        "pipeline_parallel": st.sampled_from([1, 2, 3, 4, 8]),
        "micro_batch_size": st.sampled_from([1, 2, 3]),
        "zero_stage": st.integers(0, 3),
        "recompute": st.sampled_from(["none", "selective", "full"]),
    },
)
batches = st.none() | st.tuples(st.integers(1, 600), st.integers(0, 600)).map(
    lambda pair: [pair[0], pair[0] + pair[1]]
)


@settings(max_examples=40)
@given(
    st.sampled_from(MODELS), st.integers(1, 48), st.sampled_from(["a100-80gb", "h100-80gb", "v100-32gb"]),
    batches, sensible,
)  # fmt: skip
def test_the_layout_holds_what_it_says(model, gpus, gpu, batch, decided):
    asked = {
        "model": model,
        "cluster": {"gpu": gpu, "num_gpus": gpus},
        "fixed": decided,
        "batch_range": batch,
    }
    found = advise_on(asked)
    if isinstance(found, InputProblems):
        return
    json.dumps(found, allow_nan=False)
    assert len(found["steps"]) == 6
    if found["layout"] is None:
        assert not found["feasible"]
        return
    answer = estimate(
        {
            "model": model,
            "cluster": asked["cluster"],
            "layout": found["layout"],
            "training": found["training"],
        }
    )
    assert answer["legal"], answer["violations"]
    assert answer["memory"]["peak_bytes"] <= answer["memory"]["usable_bytes"]
    assert answer["time"]["step_s"] == found["summary"]["step_s"]
    least, most = found["batch_range"]
    assert least <= answer["batch"]["global_batch_size"]
    assert most is None or answer["batch"]["global_batch_size"] <= most
    for name, value in decided.items():
        assert found["layout"][name] == value, name
    if found["compared"]["searched"] and "slower_fraction" in found["compared"]:
        assert found["compared"]["slower_fraction"] >= 0


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["model", "cluster", "training", "layout", "fixed", "batch_range", "num_nodes", "x"]),
        some | fixed | st.lists(some, max_size=3) | st.sampled_from(MODELS),
        max_size=6,
    )
)
def test_nothing_that_is_written_raises(raw):
    found = advise_on(raw)
    if isinstance(found, InputProblems):
        assert found.problems
    else:
        json.dumps(found, allow_nan=False)
