"""The same pipeline under every schedule, where it can run."""

from dataclasses import dataclass

from app.calculator.layout import SCHEDULE_NAMES, Schedule
from app.calculator.schedules_simulation import Simulation
from app.services.inputs import InputProblems
from app.services.schedule_inputs import ScheduleInputs, parse_schedule
from app.services.scheduling import play_schedule

MOST_CELLS = 4_096  # p·v·m of one pipeline; larger ones are not compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One schedule for the pipeline; no simulation where it cannot run, and why in `note`."""

    schedule: Schedule
    chunks: int
    simulation: Simulation | None
    note: str = ""


def compare(inputs: ScheduleInputs) -> tuple[Compared, ...]:
    """GPipe, 1F1B, interleaved and ZB-H1 on these sizes and times; nothing for very large pipelines."""
    chunks = max(2, inputs.virtual_pipeline_stages)
    if inputs.num_stages * inputs.num_micro_batches * chunks > MOST_CELLS:
        return ()
    return tuple(_one(schedule, inputs, chunks) for schedule in Schedule)


def _one(schedule: Schedule, inputs: ScheduleInputs, chunks: int) -> Compared:
    v = chunks if schedule == Schedule.INTERLEAVED else 1
    forward_s, backward_s, weight_grad_s = inputs.stage_times()
    note = ""
    if schedule == Schedule.ZB_H1 and not any(weight_grad_s):
        backward_s = weight_grad_s = tuple(seconds / 2 for seconds in backward_s)
        note = "backward split in half"
    question = {
        "schedule": next(name for name, kind in SCHEDULE_NAMES.items() if kind == schedule),
        "num_stages": inputs.num_stages,
        "num_micro_batches": inputs.num_micro_batches,
        "virtual_pipeline_stages": v,
        "forward_s": list(forward_s),
        "backward_s": list(backward_s),
        "weight_grad_s": list(weight_grad_s),
        "p2p_s": inputs.work.p2p_s,
    }
    parsed = parse_schedule(question)
    if isinstance(parsed, InputProblems):
        return Compared(schedule=schedule, chunks=v, simulation=None, note=parsed.problems[0].message)
    played = play_schedule(parsed)
    if played.simulation is None:
        note = f"needs micro-batches in groups of {inputs.num_stages}"
    return Compared(schedule=schedule, chunks=v, simulation=played.simulation, note=note)
