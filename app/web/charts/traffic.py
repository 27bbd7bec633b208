"""Traffic per axis: who talks to whom, over which link, how much and what of it nothing hides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.web import numbers

AXES = (
    ("tensor_parallel", "T", "Tensor"),
    ("context_parallel", "C", "Context"),
    ("pipeline_parallel", "P", "Pipeline"),
    ("data_parallel", "D", "Data"),
    ("expert_parallel", "E", "Expert"),
)
LINKS = {"intra_node": "inside a node", "inter_node": "between nodes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficRow:
    """One axis as the table says it."""

    letter: str
    name: str
    group: str
    link: str
    operations: str
    sent: str
    sent_exact: str
    time: str
    exposed: str
    exposed_exact: str


def traffic_rows(
    communication: Mapping[str, Any], links: Mapping[str, str] | None = None
) -> list[TrafficRow]:
    """A row for every axis with more than one member; `links` names the cluster's two links."""
    rows = []
    for key, letter, name in AXES:
        axis = communication.get(key)
        if not axis or (axis.get("group_size") or 1) <= 1:
            continue
        size = numbers.count(axis["group_size"])
        link = str(axis.get("link") or "")
        where = LINKS.get(link, link or "none")
        named = (links or {}).get(link)
        rows.append(
            TrafficRow(
                letter=letter,
                name=name,
                group=f"{size} stages" if key == "pipeline_parallel" else f"{size} GPUs",
                link=f"{named}, {where}" if named else where,
                operations=numbers.count(axis.get("operations_per_step")),
                sent=numbers.decimal_bytes(axis.get("bytes_per_step")),
                sent_exact=numbers.exact(axis.get("bytes_per_step"), "bytes"),
                time=numbers.seconds(axis.get("time_s")),
                exposed=numbers.seconds(axis.get("exposed_s")),
                exposed_exact=numbers.exact(axis.get("exposed_s"), "s"),
            )
        )
    return rows
