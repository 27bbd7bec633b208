"""The schedule verb: a pipeline's order of work, played out."""

from dataclasses import dataclass
from typing import Any

from app.calculator.layout import Schedule
from app.calculator.schedules import bubble_fraction, bubble_over_ideal
from app.calculator.schedules_order import stage_orders
from app.calculator.schedules_simulation import Blocked, Event, Simulation, play, simulate
from app.services.inputs import InputProblems
from app.services.schedule_inputs import ScheduleInputs, parse_schedule
from app.services.schedule_orders import violations_of, violations_of_blocked, violations_of_limit

Violation = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A pipeline that was asked about: every broken rule, and what happened if there is none."""

    inputs: ScheduleInputs
    violations: tuple[Violation, ...]
    simulation: Simulation | None

    @property
    def legal(self) -> bool:
        """Whether the pipeline keeps all rules."""
        return not self.violations

    def equal_stages(self) -> dict[str, float]:
        """Both bubble fractions of the schedule itself: equal stages, free transfers."""
        given, work = self.inputs, self.inputs.work
        times = {
            "forward_s": sum(work.forward_s),
            "backward_s": sum(work.backward_s),
            "weight_grad_s": sum(work.weight_grad_s),
        }
        sizes = (given.schedule, given.num_stages, given.num_micro_batches, given.virtual_pipeline_stages)
        return {
            "bubble_fraction": float(bubble_fraction(*sizes, **times)),
            "bubble_over_ideal": float(bubble_over_ideal(*sizes, **times)),
        }


def schedule(raw: object) -> dict[str, Any] | InputProblems:
    """The answer of `POST /api/v1/schedule`, or everything that is wrong with the question.

    Illegal pipelines (rules, or an order that misses cells, never finishes or holds too much) are
    answered with `legal` false, every violation, and no numbers.
    """
    inputs = parse_schedule(raw)
    if isinstance(inputs, InputProblems):
        return inputs
    return to_json(play_schedule(inputs))


def play_schedule(inputs: ScheduleInputs) -> Played:
    """Check the rules, then play the schedule's order or the one that was given."""
    violations = _rules(inputs)
    p, m, v = inputs.num_stages, inputs.num_micro_batches, inputs.virtual_pipeline_stages
    if violations:
        return Played(inputs=inputs, violations=tuple(violations), simulation=None)
    if inputs.orders is None:
        played = simulate(inputs.schedule, m, inputs.work)
        orders = stage_orders(inputs.schedule, p, m, v) if inputs.in_flight_limit else ()
        violations = violations_of_limit(orders, v, inputs.in_flight_limit)
        return Played(inputs=inputs, violations=tuple(violations), simulation=None if violations else played)
    violations = violations_of(inputs.orders, m, v)
    violations += violations_of_limit(inputs.orders, v, inputs.in_flight_limit)
    if any(violation["code"] != "in_flight_limit" for violation in violations):
        return Played(inputs=inputs, violations=tuple(violations), simulation=None)
    outcome = play(inputs.orders, m, inputs.work)
    if isinstance(outcome, Blocked):
        violations += violations_of_blocked(outcome)
        return Played(inputs=inputs, violations=tuple(violations), simulation=None)
    return Played(inputs=inputs, violations=tuple(violations), simulation=None if violations else outcome)


def _rules(inputs: ScheduleInputs) -> list[Violation]:
    p, m, v = inputs.num_stages, inputs.num_micro_batches, inputs.virtual_pipeline_stages
    if v == 1:
        return []
    if inputs.schedule in (Schedule.GPIPE, Schedule.ZB_H1):
        message = (
            f"{inputs.schedule_name} runs one chunk per device, not {v}. Set virtual_pipeline_stages to 1, "
            "or schedule to interleaved."
        )
        return [{"code": "chunks_need_interleaving", "field": "virtual_pipeline_stages", "message": message}]
    if m % p and inputs.orders is None:
        nearest = [legal for legal in (m // p * p, -(-m // p) * p) if legal]
        message = (
            f"Interleaving passes micro-batches on in groups of {p}, one per stage: {m} ÷ {p} leaves "
            f"{m % p}. Use a multiple of {p}, such as {nearest[-1]}."
        )
        return [
            {
                "code": "micro_batches_not_divisible",
                "field": "num_micro_batches",
                "message": message,
                "dividend": m,
                "divisor": p,
                "remainder": m % p,
                "nearest_legal": nearest,
            }
        ]
    return []


def to_json(played: Played) -> dict[str, Any]:
    """In the words of the API. Stages, chunks and micro-batches count from 0."""
    given, run = played.inputs, played.simulation
    held = [int(x) if x.is_integer() else x for x in run.peak_in_flight] if run else None
    return {
        "legal": played.legal,
        "violations": list(played.violations),
        "schedule": given.schedule_name,
        "num_stages": given.num_stages,
        "num_micro_batches": given.num_micro_batches,
        "virtual_pipeline_stages": given.virtual_pipeline_stages,
        "makespan_s": run.makespan_s if run else None,
        "bubble_fraction": run.bubble_fraction if run else None,
        "bubble_over_ideal": run.bubble_over_ideal if run else None,
        "equal_stages": played.equal_stages(),
        "busy_s": list(run.busy_s) if run else None,
        "peak_in_flight": held,
        "max_in_flight": max(held) if held else None,
        "events": [dict(zip(Event._fields, row, strict=True)) for row in run.rows] if run else [],
    }
