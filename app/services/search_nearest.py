"""What would do where a search finds nothing: another batch, another number of devices, a larger cluster."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.calculator.cluster import Cluster
from app.calculator.enumeration import grids
from app.calculator.parameters import total_parameters
from app.calculator.search import Question, Search
from app.calculator.states import optimizer_bytes_per_parameter
from app.catalog.constants import load_constants

MOST_NODES = 4_096
NEAR = 16  # devices more or fewer that are tried, one by one; beyond them powers of two
PATIENCE_S = 20.0  # after which the search for the smallest cluster gives up


def nearest(found: Search, most_layouts: int) -> dict[str, Any] | None:
    """What to change so that something is found; None where something is, or only limits are in the way.

    Nothing legal: the batches and the numbers of devices next to the ones asked for that have legal layouts.
    Nothing that fits: the smallest cluster on which it does, if that is found in so many layouts.
    """
    asked = found.question
    if found.best or found.fitting or not asked.trainings:
        return None
    if not found.legal:
        return {"global_batch_size": near_batches(asked), "num_gpus": near_devices(asked)}
    cluster, search = fewest(replace(asked, top=1, limits={}), most_layouts)
    if search is None:
        return {}
    return {"num_nodes": cluster.num_nodes, "num_gpus": cluster.num_gpus}


def near_batches(asked: Question) -> list[int]:
    """The next batch below and above with a legal layout on this cluster, others unchanged."""
    batch, found = asked.trainings[0].global_batch_size, set()
    whole = replace(asked.trainings[0], global_batch_size=asked.cluster.num_gpus * _least_micro_batch(asked))
    for space in asked.spaces:
        for grid in grids(asked.model, asked.cluster, whole, space):
            units = grid.layouts.data_parallel * grid.layouts.micro_batch_size
            for unit in {int(unit) for unit in units}:
                found |= {batch // unit * unit, (batch // unit + 1) * unit}
    legal = sorted(value for value in found if value > 0 and _is_legal(asked, batch=value))
    below, above = [v for v in legal if v < batch], [v for v in legal if v > batch]
    return [*below[-1:], *above[:1]]


def _least_micro_batch(asked: Question) -> int:
    """A batch of this many sequences for every device has legal layouts with all micro-batches asked for."""
    values = [v for space in asked.spaces for v in space.values.get("micro_batch_size", (1.0,))]
    return math.lcm(*(int(value) for value in values[:8])) if values else 1


def near_devices(asked: Question) -> list[int]:
    """The next numbers of devices below and above with a legal layout, others unchanged."""
    here = asked.cluster.num_gpus
    found = []
    for step in (-1, 1):
        for count in _counts_from(here, step):
            if _is_legal(asked, devices=count):
                found.append(count)
                break
    return found


def _counts_from(here: int, step: int) -> Iterator[int]:
    """Numbers of devices below (step −1) or above (+1): those close by, then the next power of two."""
    yield from range(here + step, max(0, here - NEAR - 1) if step < 0 else here + NEAR + 1, step)
    if step > 0:
        yield 2 ** here.bit_length()
    elif here > NEAR:
        yield 2 ** ((here - 1).bit_length() - 1)


def _is_legal(asked: Question, *, batch: int = 0, devices: int = 0) -> bool:
    training = asked.trainings[0]
    changed = replace(training, global_batch_size=batch) if batch else training
    cluster = _of_size(asked.cluster, devices) if devices else asked.cluster
    question = replace(asked, cluster=cluster, trainings=(changed,), top=1, must_fit=False)
    return any(_blocks(question))


def _blocks(question: Question) -> Iterator[bool]:
    """Whether a block has a legal layout, block after block."""
    search = Search(question, load_constants())
    for _ in search.steps():
        yield search.legal > 0


def _of_size(cluster: Cluster, devices: int) -> Cluster:
    return replace(cluster, num_gpus=devices, num_nodes=max(1, math.ceil(devices / cluster.gpus_per_node)))


def least_devices(asked: Question) -> int:
    """Devices below which not even the states fit: every one is held somewhere, once at least."""
    if not asked.trainings:
        return 1
    training = asked.trainings[0]
    each = training.param_bytes + training.grad_bytes
    each += optimizer_bytes_per_parameter(training.optimizer, training.master_weights, training.param_bytes)
    return max(1, math.ceil(each * total_parameters(asked.model) / asked.cluster.usable_bytes))


def fewest(asked: Question, most_layouts: int) -> tuple[Cluster, Search | None]:
    """The smallest cluster on which the question has an answer, and its search; else the last one tried.

    It ends after so many layouts or seconds: who asks next is waiting.
    """
    looked_at, cluster, start = 0, asked.cluster, time.monotonic()
    for cluster in _clusters(asked):
        found = Search(replace(asked, cluster=cluster), load_constants()).run()
        looked_at += found.enumerated
        if found.best:
            return cluster, found
        if looked_at > most_layouts or time.monotonic() - start > PATIENCE_S:
            break
    return cluster, None


def _clusters(asked: Question) -> Iterator[Cluster]:
    """Part of a node, one node, two, and so on, from the least that could do."""
    least, per_node = least_devices(asked), asked.cluster.gpus_per_node
    for devices in range(least, per_node):
        yield _of_size(asked.cluster, devices)
    for nodes in range(max(1, math.ceil(least / per_node)), MOST_NODES + 1):
        yield _of_size(asked.cluster, nodes * per_node)
