"""The marks of the cluster map: nodes, cells, outlines and one group of each axis."""

from collections.abc import Sequence

from markupsafe import Markup

from app.web.charts import svg
from app.web.charts.cluster_places import ClusterMap, Place, letter, node_title, stage_hue

LEFT, TOP, RIGHT = 64.0, 24.0, 858.0
CELL, GAP = 19.0, 1.0
LABEL = 14.0  # above a node
LABELLED = 400.0  # what the words under the bracket take
NARROW = 560.0  # below this a map keeps its size instead of filling its column


class Grid:
    """Where nodes stand on the drawing."""

    def __init__(
        self, cluster: ClusterMap, rows: Sequence[int | None], columns: Sequence[int | None]
    ) -> None:
        self.cluster, self.rows, self.columns = cluster, rows, columns
        self.per_row = 1 if cluster.tiles else _cells_per_row(cluster.gpus_per_node)
        cell_rows = 1 if cluster.tiles else -(-cluster.gpus_per_node // self.per_row)
        self.pitch = min((RIGHT - LEFT) / max(1, len(columns)), 100.0)
        self.inset = 7.0 if self.pitch > 60 else 3.0
        self.cell_width = (self.pitch - 2 * self.inset) / self.per_row
        self.cell_height = CELL + GAP
        self.label = 0.0 if cluster.tiles else LABEL
        self.node_height = cell_rows * self.cell_height
        self.row_height = self.node_height + self.label + (8.0 if cluster.tiles else 20.0)
        self.right = LEFT + self.pitch * len(columns)
        self.bottom = TOP + self.row_height * len(rows) - (4.0 if cluster.tiles else 2.0)

    def node_at(self, row: int, column: int) -> tuple[float, float]:
        """Top left corner of the cells of a node."""
        return LEFT + self.pitch * column + self.inset, TOP + 6 + self.label + self.row_height * row


def draw(
    cluster: ClusterMap, id: str, rows: Sequence[int | None], columns: Sequence[int | None], title: str
) -> Markup:
    """The drawing for the kept rows and columns of nodes."""
    grid = Grid(cluster, rows, columns)
    marks = _replicas(grid)
    for y, row in enumerate(rows):
        top = grid.node_at(y, 0)[1]
        if row is None:
            left_out = _left_out(cluster.pipeline_parallel if cluster.stages_are_rows else 0, rows)
            marks.append(svg.text(0.0, top + 14, left_out, "sm"))
            continue
        if cluster.stages_are_rows:
            marks.append(svg.text(0.0, top + grid.node_height / 2 + 4, f"stage {row}", "t1"))
        for x, column in enumerate(columns):
            index = None if column is None else row * cluster.columns + column
            if index is None:
                marks.append(svg.text(LEFT + grid.pitch * (x + 0.5), top + 14, "…", "mid"))
            elif index < cluster.num_nodes:
                marks.append(_node(grid, index, y, x))
    marks += _groups(grid)
    bracket = cluster.data_parallel > 1 and cluster.nodes_per_replica > 0
    height = grid.bottom + (38 if bracket else 10)
    width = max(grid.right, LEFT + LABELLED if bracket else 0.0) + 2
    drawn = svg.natural if width < NARROW else svg.scaled
    return drawn(id, width if width < NARROW else RIGHT + 2, height, title, marks)


def _cells_per_row(gpus: int) -> int:
    for width in (4, 3, 2):
        if gpus % width == 0 and gpus >= width:
            return width
    return min(gpus, 4)


def _left_out(stages: int, rows: Sequence[int | None]) -> str:
    shown = sum(1 for row in rows if row is not None)
    return f"… {stages - shown} stages" if stages else "…"


def _node(grid: Grid, index: int, y: int, x: int) -> Markup:
    places = grid.cluster.node(index)
    title = node_title(grid.cluster, index, places)
    left, top = grid.node_at(y, x)
    if grid.cluster.tiles:
        return svg.group(_tile(grid, places, left, top), title)
    marks = [svg.text(left, top - 6, f"node {index}", "sm")]
    marks += _cells(grid, places, left, top)
    if grid.cluster.nodes_per_replica == 0:
        marks += _inner_outlines(grid, places, left, top)
    return svg.group(marks, title)


def _cells(grid: Grid, places: Sequence[Place], left: float, top: float) -> list[Markup]:
    """The devices of a node: one outline of cells for each hue, one line of letters for each row of it."""
    width = grid.cell_width - GAP
    boxes: dict[int, list[str]] = {}
    letters: dict[tuple[int, float], list[tuple[float, str]]] = {}
    for slot, place in enumerate(places):
        hue = stage_hue(place.pipeline, grid.cluster.pipeline_parallel)
        x = left + grid.cell_width * (slot % grid.per_row)
        y = top + grid.cell_height * (slot // grid.per_row)
        boxes.setdefault(hue, []).append(f"M{x:.1f} {y:.1f}h{width:.1f}v{CELL - 0.5}h-{width:.1f}z")
        letters.setdefault((hue, y + 13), []).append((x + width / 2, letter(place.tensor)))
    marks = [svg.path("".join(cells), f"st{hue}") for hue, cells in boxes.items()]
    for (hue, y), row in letters.items():
        marks.append(svg.spread_text(row, y, f"mid sm {'on3' if hue == 3 else 'on'}"))
    return marks


def _tile(grid: Grid, places: Sequence[Place], left: float, top: float) -> list[Markup]:
    marks: list[Markup] = []
    stages = sorted({place.pipeline for place in places})
    width = (grid.pitch - 2 * grid.inset) / len(stages[:8])
    for index, stage in enumerate(stages[:8]):
        hue = stage_hue(stage, grid.cluster.pipeline_parallel)
        marks.append(svg.rect(left + width * index, top, width - GAP, CELL - 0.5, f"st{hue}"))
    if len(stages) == 1 and grid.pitch >= 44:
        tensor = [place.tensor for place in places]
        told = (
            letter(min(tensor))
            if max(tensor) == min(tensor)
            else f"{letter(min(tensor))}–{letter(max(tensor))}"
        )
        hue = stage_hue(stages[0], grid.cluster.pipeline_parallel)
        marks.append(svg.text(left + width / 2, top + 13, told, f"mid sm {'on3' if hue == 3 else 'on'}"))
    return marks


def _inner_outlines(grid: Grid, places: Sequence[Place], left: float, top: float) -> list[Markup]:
    """Outlines of the replicas inside one node, as far as each fills a row of cells or part of one."""
    marks: list[Markup] = []
    start = 0
    for end in range(1, len(places) + 1):
        if end < len(places) and places[end].data == places[start].data:
            continue
        first_row, last_row = start // grid.per_row, (end - 1) // grid.per_row
        x = left + grid.cell_width * (start % grid.per_row) - 1
        whole_rows = first_row != last_row
        width = grid.cell_width * (grid.per_row if whole_rows else end - start) + 1
        y = top + grid.cell_height * first_row - 1
        height = grid.cell_height * (last_row - first_row + 1) + 0.5
        if grid.cluster.data_parallel > 1:
            start_x = left - 1 if whole_rows else x
            marks += [svg.rect(start_x, y, width, height, css) for css in ("rep under", "rep")]
        start = end
    return marks


def _replicas(grid: Grid) -> list[Markup]:
    """Full-height outlines where each replica owns whole columns of nodes."""
    width = grid.cluster.nodes_per_replica
    marks: list[Markup] = []
    if not width:
        return marks
    for replica in range(grid.cluster.data_parallel):
        held = [x for x, c in enumerate(grid.columns) if c is not None and c // width == replica]
        if not held:
            continue
        left, count = LEFT + grid.pitch * held[0], len(held)
        marks.append(
            svg.rect(left, TOP, grid.pitch * count - 6, grid.bottom - TOP, "rep", rounded=True)
            if grid.pitch > 20
            else svg.rect(left, TOP, grid.pitch * count - 2, grid.bottom - TOP, "rep")
        )
        middle = left + (grid.pitch * count - 6) / 2
        label = f"replica {replica}" if replica == 0 and grid.pitch * count > 56 else str(replica)
        marks.append(svg.text(middle, 16, label, "mid t1" if replica == 0 else "mid"))
    return marks


def _groups(grid: Grid) -> list[Markup]:
    """One group of each axis: tensor in a box, pipeline by arrows, data by a bracket."""
    marks: list[Markup] = []
    cluster = grid.cluster
    left, top = grid.node_at(0, 0)
    drawn = [row for row in grid.rows if row is not None]
    if cluster.stages_are_rows and cluster.pipeline_parallel > 1:
        x = left + grid.pitch - 2 * grid.inset - 9
        for y in range(len(drawn) - 1):
            start = grid.node_at(y, 0)[1] + grid.node_height + 2
            reach = grid.row_height - grid.node_height - (5 if cluster.tiles else 9)
            marks.append(svg.path(f"M{x:.1f} {start:.1f}v{reach:.1f}m-4 -5l4 5l4 -5", "ln-p"))
        if not cluster.tiles:
            marks.append(svg.text(x - 13, top + grid.node_height + 14, "P", "fp"))
    if cluster.tensor_parallel > 1 and not cluster.tiles:
        marks += _tensor_box(grid, left, top)
    if cluster.nodes_per_replica and cluster.data_parallel > 1:
        marks += _data_bracket(grid)
    return marks


def _tensor_box(grid: Grid, left: float, top: float) -> list[Markup]:
    width = min(grid.cluster.tensor_parallel, grid.cluster.gpus_per_node)
    if grid.cluster.rank_order[0] != "tensor":
        return []
    across = min(width, grid.per_row)
    rows = -(-width // grid.per_row)
    nodes = min(-(-grid.cluster.tensor_parallel // grid.cluster.gpus_per_node), len(grid.columns))
    span = grid.cell_width * across if nodes == 1 else grid.pitch * nodes - 2 * grid.inset
    return [
        svg.rect(left - 2.5, top - 2.5, span + 4, grid.cell_height * rows + 3.5, "ln-t"),
        svg.text(left + grid.pitch - 2 * grid.inset - 6, top - 6, "T", "ft mid"),
    ]


def _data_bracket(grid: Grid) -> list[Markup]:
    width, y = grid.cluster.nodes_per_replica, grid.bottom + 10
    middles = []
    for replica in range(grid.cluster.data_parallel):
        held = [x for x, c in enumerate(grid.columns) if c is not None and c // width == replica]
        if held:
            middles.append(LEFT + grid.pitch * held[0] + (grid.pitch * len(held) - 6) / 2)
    ends = f"M{middles[0]:.1f} {y:.1f}v6H{middles[-1]:.1f}v-6"
    marks = [svg.path(ends, "ln-d")]
    marks += [svg.path(f"M{x:.1f} {y:.1f}v6", "ln-d") for x in middles[1:-1]]
    said = f"D: the same letter in all {grid.cluster.data_parallel} replicas, over the network"
    anchor = "mid fd" if middles[-1] - middles[0] > 300 else "fd"
    at = (middles[0] + middles[-1]) / 2 if anchor == "mid fd" else middles[0]
    return [*marks, svg.text(at, y + 21, said, anchor)]
