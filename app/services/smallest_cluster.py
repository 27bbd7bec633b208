"""The `smallest-cluster` verb: the fewest nodes on which a model trains, and the fastest layout on them."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.calculator.cluster import Cluster
from app.calculator.parameters import total_parameters
from app.calculator.search import Search
from app.calculator.states import optimizer_bytes_per_parameter
from app.catalog import Catalog, load_catalog
from app.catalog.constants import load_constants
from app.services.input_values import InputProblem
from app.services.inputs import InputProblems
from app.services.search_inputs import SearchInputs, parse_search
from app.services.searching import answer_of

MOST_NODES = 4_096
MOST_LAYOUTS = 8_000_000  # that are looked at before it gives up


def smallest_cluster(raw: object, catalog: Catalog | None = None) -> dict[str, Any] | InputProblems:
    """The smallest cluster for what somebody wrote, or everything that is wrong with it.

    Whole nodes; of one node also fewer devices. The number of nodes in the question says nothing.
    """
    asked = parse_search(_one_node(raw), catalog or load_catalog())
    if isinstance(asked, InputProblems):
        return asked
    if len(asked.question.trainings) > 1:
        message = "several batches. Write one: the smallest cluster depends on it."
        return InputProblems(problems=(InputProblem(field="training.global_batch_size", message=message),))
    start = time.perf_counter()
    looked_at, reached = 0, asked.inputs.cluster
    for cluster in _clusters(asked):
        question = replace(asked.question, cluster=cluster, top=1)
        found = Search(question, load_constants()).run()
        looked_at, reached = looked_at + found.enumerated, cluster
        if found.best:
            inputs = replace(asked, inputs=replace(asked.inputs, cluster=cluster), question=question)
            answer = answer_of(inputs, found, time.perf_counter() - start)
            return _told(cluster, asked) | {**_counts(answer), **answer["best"][0]}
        if looked_at > MOST_LAYOUTS:
            break
    return {
        "num_nodes": None,
        "num_gpus": None,
        "because": _why_none(asked, reached),
        "elapsed_s": time.perf_counter() - start,
    }


def _counts(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ("enumerated", "legal", "fitting", "elapsed_s")}


def _one_node(raw: object) -> object:
    """The question with one whole node, and the device where the verb has it beside the model."""
    if not isinstance(raw, Mapping):
        return raw
    asked = {key: value for key, value in raw.items() if key not in _COUNTS}
    if isinstance(raw.get("cluster"), Mapping):
        asked["cluster"] = {key: value for key, value in raw["cluster"].items() if key not in _COUNTS}
    return asked


_COUNTS = ("num_nodes", "num_gpus", "cluster.num_nodes", "cluster.num_gpus")


def least_devices(asked: SearchInputs) -> int:
    """Devices below which not even the states fit: every one is held somewhere, once at least."""
    training = asked.inputs.training
    each = training.param_bytes + training.grad_bytes
    each += optimizer_bytes_per_parameter(training.optimizer, training.master_weights, training.param_bytes)
    return max(1, math.ceil(each * total_parameters(asked.inputs.model) / asked.inputs.cluster.usable_bytes))


def _clusters(asked: SearchInputs) -> Iterator[Cluster]:
    """Part of a node, one node, two, and so on, from the least that could do."""
    cluster, least = asked.inputs.cluster, least_devices(asked)
    per_node = cluster.gpus_per_node
    for devices in range(least, per_node):
        yield replace(cluster, num_nodes=1, num_gpus=devices)
    for nodes in range(max(1, math.ceil(least / per_node)), MOST_NODES + 1):
        yield replace(cluster, num_nodes=nodes, num_gpus=nodes * per_node)


def _told(cluster: Cluster, asked: SearchInputs) -> dict[str, Any]:
    return {
        "num_nodes": cluster.num_nodes,
        "num_gpus": cluster.num_gpus,
        "gpus_per_node": cluster.gpus_per_node,
        "least_gpus_for_states": least_devices(asked),
    }


def _why_none(asked: SearchInputs, reached: Cluster) -> str:
    batch = asked.question.trainings[0].global_batch_size if asked.question.trainings else 0
    return (
        f"No cluster of up to {reached.num_nodes:,} nodes trains it as asked with a batch of {batch:,}."
        " A batch with more divisors, or wider limits, would give more layouts to choose from."
    )
