"""Where everything sits: nodes and GPUs, coloured by stage, lettered by tensor rank, outlined by replica."""

from functools import lru_cache

from markupsafe import Markup

from app.web import numbers
from app.web.charts import cluster_marks
from app.web.charts.cluster_places import STAGE_HUES, ClusterMap, letter, node_title, spans, stage_hue
from app.web.charts.figure import Figure, KeyEntry

ROWS_SHOWN, COLUMNS_SHOWN = 24, 16


@lru_cache(maxsize=256)
def cluster_map_figure(cluster: ClusterMap, *, id: str = "cluster") -> Figure:
    """The figure; above 64 nodes one tile per node, and long rows and columns keep their ends.

    Kept for layouts seen before: most changes of a calculation move no device.
    """
    rows = kept(-(-cluster.num_nodes // cluster.columns), ROWS_SHOWN)
    columns = kept(cluster.columns, COLUMNS_SHOWN)
    svg = cluster_marks.draw(cluster, id, rows, columns, title(cluster))
    return Figure(
        id=id,
        svg=svg,
        key=_key(cluster),
        finding="Colour is the stage, the letter is the tensor rank, the outline is a replica.",
        caption=_caption(cluster),
        scrolls="Cluster map, scrolls sideways",
    )


def kept(total: int, most: int) -> list[int | None]:
    """Which of `total` rows or columns are drawn; None stands for those left out."""
    if total <= most:
        return list(range(total))
    half = most // 2
    return [*range(half), None, *range(total - half, total)]


def title(cluster: ClusterMap) -> str:
    """The whole map in words."""
    first = node_title(cluster, 0, cluster.node(0))
    return (
        f"{numbers.count(cluster.num_nodes)} nodes of {cluster.gpus_per_node} GPUs: "
        f"{cluster.pipeline_parallel} stages, {cluster.data_parallel} replicas, tensor width "
        f"{cluster.tensor_parallel}. {first}."
    )


def _key(cluster: ClusterMap) -> tuple[KeyEntry, ...]:
    p = cluster.pipeline_parallel
    entries = []
    for hue in range(min(p, STAGE_HUES)):
        held = [stage for stage in range(p) if stage_hue(stage, p) == hue]
        entries.append(KeyEntry(label=spans(held, "stage", "stages"), css=f"st{hue}"))
    return tuple(entries)


def _axis(name: str) -> Markup:
    return Markup('<span class="ax {}">{}</span> ').format(name[0].lower(), name[0])


def _caption(cluster: ClusterMap) -> Markup:
    sentences: list[Markup] = []
    t, p, d, c = (cluster.sizes[axis] for axis in ("tensor", "pipeline", "data", "context"))
    if t > 1:
        names = f"a to {letter(t - 1)}"
        nodes = cluster.nodes_of_group("tensor")
        said = "stay inside a node" if nodes == 1 else f"cross {nodes} nodes, over the network"
        sentences.append(_axis("T") + f"Tensor groups {names} {said}.")
    if c > 1:
        nodes = cluster.nodes_of_group("context")
        said = "stay inside a node" if nodes == 1 else f"reach over {nodes} nodes"
        sentences.append(_axis("C") + f"Context groups of {c} {said}.")
    if p > 1:
        nodes = cluster.nodes_of_group("pipeline")
        said = f"{nodes} nodes deep" if nodes > 1 else "inside one node"
        sentences.append(_axis("P") + f"Stages hand over down a column, {said}.")
    if d > 1:
        nodes = cluster.nodes_of_group("data")
        said = f"over {nodes} nodes" if nodes > 1 else "inside a node"
        sentences.append(_axis("D") + f"Gradients meet between equal letters of {d} replicas, {said}.")
    return Markup(" ").join(sentences) if sentences else Markup("One device holds everything.")
