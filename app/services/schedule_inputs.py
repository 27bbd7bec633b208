"""What somebody wrote about a pipeline → a schedule to play, or every problem with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.calculator.layout import SCHEDULE_NAMES, Schedule
from app.calculator.schedules_order import Order, stage_orders
from app.calculator.schedules_simulation import MAX_CELLS, Work
from app.services.input_values import InputProblem, did_you_mean, expected, number_of, shown
from app.services.inputs import InputProblems
from app.services.schedule_fields import BY_NAME
from app.services.schedule_orders import name_of, read_orders
from app.services.schedule_times import read_times, refusal, seconds_of, words_of, work_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleInputs:
    """A well-formed question about a pipeline; it can still be illegal."""

    schedule: Schedule
    num_stages: int
    num_micro_batches: int
    virtual_pipeline_stages: int
    work: Work
    orders: tuple[Order, ...] | None = None
    in_flight_limit: tuple[float, ...] | None = None  # per stage

    @property
    def schedule_name(self) -> str:
        """As the API writes it."""
        return next(name for name, kind in SCHEDULE_NAMES.items() if kind == self.schedule)

    def stage_times(self) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
        """F, B and W of each stage, all its chunks together."""
        p, work = self.num_stages, self.work
        forward, backward, weight = (
            tuple(sum(seconds[stage::p]) for stage in range(p))
            for seconds in (work.forward_s, work.backward_s, work.weight_grad_s)
        )
        return forward, backward, weight

    def written_order(self) -> str:
        """The schedule's own order as `order` takes it: a line per stage."""
        orders = stage_orders(
            self.schedule, self.num_stages, self.num_micro_batches, self.virtual_pipeline_stages
        )
        return "\n".join(" ".join(name_of(cell) for cell in order) for order in orders)


def parse_schedule(raw: object) -> ScheduleInputs | InputProblems:
    """Read the verb's object (numbers may be text, lists may be comma lists); report all problems.

    `layout.schedule` and `schedule` name the same field, as everywhere in lessons.
    """
    if not isinstance(raw, Mapping):
        message = "Expected an object with schedule, num_stages and num_micro_batches."
        return InputProblems(problems=(InputProblem(field="", message=message),))
    raw = {str(name).removeprefix("layout."): value for name, value in raw.items()}
    problems = [_unknown(name) for name in raw if name not in BY_NAME]
    schedule = _schedule(raw.get("schedule"), problems)
    p, m, v = (
        _size(raw, name, problems) for name in ("num_stages", "num_micro_batches", "virtual_pipeline_stages")
    )
    p2p_s = _transfer(raw.get("p2p_s"), problems)
    if p is None or m is None or v is None:
        return InputProblems(problems=tuple(problems))
    if p * m * v > MAX_CELLS:
        problems.append(_too_large(p, m, v))
    times, more = read_times(raw, schedule, p, v)
    problems += more
    limit = _limit(raw.get("in_flight_limit"), p, problems)
    orders = None
    if not problems and raw.get("order") not in (None, "", []):
        orders, more = read_orders(raw["order"], p, m, v)
        problems += more
    if problems:
        return InputProblems(problems=tuple(problems))
    return ScheduleInputs(
        schedule=schedule,
        num_stages=p,
        num_micro_batches=m,
        virtual_pipeline_stages=v,
        work=work_of(times, p, v, p2p_s),
        orders=orders,
        in_flight_limit=limit,
    )


def _unknown(name: str) -> InputProblem:
    hint = did_you_mean(name, list(BY_NAME))
    if name in ("pipeline_parallel", "stages"):
        hint = " Did you mean num_stages?"
    return InputProblem(field=name[:100], message=f"There is no such field in a schedule.{hint}")


def _schedule(raw: object, problems: list[InputProblem]) -> Schedule:
    if raw is None:
        return Schedule.ONE_F_ONE_B
    if isinstance(raw, str) and raw.strip().lower() in SCHEDULE_NAMES:
        return SCHEDULE_NAMES[raw.strip().lower()]
    hint = did_you_mean(raw, list(SCHEDULE_NAMES)) if isinstance(raw, str) else ""
    message = f"{shown(raw)} is not known.{hint} {expected(BY_NAME['schedule'])}"
    problems.append(InputProblem(field="schedule", message=message))
    return Schedule.ONE_F_ONE_B


def _size(raw: Mapping[Any, Any], name: str, problems: list[InputProblem]) -> int | None:
    spec, written = BY_NAME[name], raw.get(name)
    if written is None:
        if not spec.required:
            return int(spec.default)
        problems.append(InputProblem(field=name, message=f"Missing. {expected(spec)}"))
        return None
    value, low, high = number_of(written), spec.minimum or 0, spec.maximum or 0
    if value is None or not low <= value <= high or value != int(value):
        problems.append(refusal(name, written))
        return None
    return int(value)


def _too_large(p: int, m: int, v: int) -> InputProblem:
    message = (
        f"{p:,} stages × {m:,} micro-batches × {v:,} chunks are {p * m * v:,} cells; at most {MAX_CELLS:,} "
        "are played out. Write fewer micro-batches: once all stages are busy, the pattern only repeats."
    )
    return InputProblem(field="num_micro_batches", message=message)


def _transfer(raw: object, problems: list[InputProblem]) -> float:
    if raw is None or raw == "":
        return 0.0
    seconds = seconds_of(raw)
    if seconds is None:
        problems.append(refusal("p2p_s", raw))
    return seconds or 0.0


def _limit(raw: object, p: int, problems: list[InputProblem]) -> tuple[float, ...] | None:
    words = words_of(raw)
    if words is None:
        return None
    if len(words) == 1 and not isinstance(raw, list | tuple):
        words = words * p
    if len(words) != p:
        message = f"{len(words):,} limits for {p} stages. Write one number for all, or one per stage."
        problems.append(InputProblem(field="in_flight_limit", message=message))
        return None
    values = [number_of(word) for word in words]
    limits = tuple(float(value) for value in values if value is not None and 0 < value <= MAX_CELLS)
    if len(limits) != p:
        problems.append(refusal("in_flight_limit", raw))
        return None
    return limits
