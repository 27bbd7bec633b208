"""The `smallest-cluster` verb: the fewest nodes on which a model trains, and the fastest layout on them."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.calculator.cluster import Cluster
from app.catalog import Catalog, load_catalog
from app.services.input_values import InputProblem
from app.services.inputs import InputProblems
from app.services.search_inputs import SearchInputs, parse_search
from app.services.search_nearest import MOST_NODES, fewest, least_devices
from app.services.searching import answer_of

MOST_LAYOUTS = 8_000_000  # that are looked at before it gives up
_SIZES = ("num_nodes", "num_gpus", "cluster.num_nodes", "cluster.num_gpus")


def smallest_cluster(raw: object, catalog: Catalog | None = None) -> dict[str, Any] | InputProblems:
    """The smallest cluster for what somebody wrote, or everything that is wrong with it.

    Whole nodes; of one node also fewer devices. The number of nodes in the question says nothing.
    """
    asked = parse_search(_without_size(raw), catalog or load_catalog())
    if isinstance(asked, InputProblems):
        return asked
    if len(asked.question.trainings) > 1:
        message = "several batches. Write one: the smallest cluster depends on it."
        return InputProblems(problems=(InputProblem(field="training.global_batch_size", message=message),))
    start = time.perf_counter()
    cluster, found = fewest(replace(asked.question, top=1), MOST_LAYOUTS)
    elapsed_s = time.perf_counter() - start
    if found is None:
        because = _why_none(asked, cluster)
        return {"num_nodes": None, "num_gpus": None, "because": because, "elapsed_s": elapsed_s}
    here = replace(asked, inputs=replace(asked.inputs, cluster=cluster), question=found.question)
    answer = answer_of(here, found, elapsed_s)
    return {
        "num_nodes": cluster.num_nodes,
        "num_gpus": cluster.num_gpus,
        "gpus_per_node": cluster.gpus_per_node,
        "least_gpus_for_states": least_devices(asked.question),
        **{name: answer[name] for name in ("enumerated", "legal", "fitting", "elapsed_s")},
        **answer["best"][0],
    }


def _without_size(raw: object) -> object:
    """The question without a number of nodes or devices: what it asks for."""
    if not isinstance(raw, Mapping):
        return raw
    asked = {key: value for key, value in raw.items() if key not in _SIZES}
    if isinstance(raw.get("cluster"), Mapping):
        asked["cluster"] = {key: value for key, value in raw["cluster"].items() if key not in _SIZES}
    return asked


def _why_none(asked: SearchInputs, reached: Cluster) -> str:
    batch = asked.question.trainings[0].global_batch_size if asked.question.trainings else 0
    early = "" if reached.num_nodes >= MOST_NODES else " It stopped there: larger ones were not tried."
    return (
        f"No cluster of up to {reached.num_gpus:,} devices trains it as asked with a batch of {batch:,}."
        f"{early} A batch with more divisors, or wider limits, would give more layouts to choose from."
    )
