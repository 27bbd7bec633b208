"""A played schedule at one moment: what every stage does, waits for and holds."""

from dataclasses import dataclass

from app.calculator.schedules_simulation import Event, Simulation


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMoment:
    """One stage at one moment. `next` is its first cell that has not begun; `held` is in micro-batches."""

    stage: int
    doing: Event | None
    next: Event | None
    held: float


def moments_s(simulation: Simulation) -> tuple[float, ...]:
    """Every time at which a cell begins, and the end."""
    return (*sorted({row[4] for row in simulation.rows}), simulation.makespan_s)


def stages_at(
    simulation: Simulation, at_s: float, *, virtual_pipeline_stages: int = 1
) -> tuple[StageMoment, ...]:
    """All stages at a time; a cell that begins then is being done, one that ends then is over."""
    events = simulation.events
    releases = "W" if any(event.kind == "W" for event in events) else "B"
    found = []
    for stage in range(len(simulation.busy_s)):
        own = [event for event in events if event.stage == stage]
        begun = sum(event.kind == "F" and event.start_s <= at_s for event in own)
        over = sum(event.kind == releases and event.end_s <= at_s for event in own)
        found.append(
            StageMoment(
                stage=stage,
                doing=next((event for event in own if event.start_s <= at_s < event.end_s), None),
                next=next((event for event in own if event.start_s > at_s), None),
                held=(begun - over) / virtual_pipeline_stages,
            )
        )
    return tuple(found)
