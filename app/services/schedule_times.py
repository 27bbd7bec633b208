"""Seconds per stage, as somebody wrote them: one number, a list, a comma list."""

import re
from collections.abc import Mapping
from typing import Any

from app.calculator.layout import Schedule
from app.calculator.schedules_simulation import Work, work_of_stages
from app.services.input_values import InputProblem, expected, number_of, shown
from app.services.schedule_fields import BY_NAME, MAX_SECONDS, MIN_SECONDS

Times = dict[str, tuple[float, ...]]


def words_of(raw: object) -> list[object] | None:
    """A list of values: as it is, from a comma list, or of one number; None where nothing is written."""
    if isinstance(raw, str):
        return [word for word in re.split(r"[,;\s]+", raw.strip()) if word] or None
    if isinstance(raw, list | tuple):
        return list(raw)
    return None if raw is None else [raw]


def read_times(
    raw: Mapping[Any, Any], schedule: Schedule, p: int, v: int
) -> tuple[Times, list[InputProblem]]:
    """forward_s, backward_s and weight_grad_s for p stages, or for p·v virtual stages."""
    split = schedule == Schedule.ZB_H1
    with_backward, with_weight = (
        words_of(raw.get(name)) is not None for name in ("backward_s", "weight_grad_s")
    )
    problems = []
    if split and with_backward and not with_weight:
        message = (
            "zb-h1 runs the weight gradient apart from the backward. Write its seconds here, and take them "
            "out of backward_s."
        )
        problems.append(InputProblem(field="weight_grad_s", message=message))
    defaults = {
        "forward_s": 1.0,
        "backward_s": 1.0 if split or with_weight else 2.0,
        "weight_grad_s": 1.0 if split else 0.0,
    }
    times: Times = {}
    for name, default in defaults.items():
        words = words_of(raw.get(name))
        if words is None:
            times[name] = (default,) * p
            continue
        if len(words) == 1 and not isinstance(raw[name], list | tuple):
            words = words * p
        times[name], more = _per_stage(words, name, p, v)
        problems += more
    if not problems and not any(sum(seconds) for seconds in times.values()):
        problems.append(InputProblem(field="forward_s", message="All times are 0. Write some time above 0."))
    return times, problems


def _per_stage(
    words: list[object], name: str, p: int, v: int
) -> tuple[tuple[float, ...], list[InputProblem]]:
    if len(words) not in (p, p * v):
        each = f"{p} (one per stage)" if v == 1 else f"{p} (one per stage) or {p * v} (one per virtual stage)"
        message = f"{len(words):,} values for {p} stages. Write one number for all stages, or {each}."
        return (), [InputProblem(field=name, message=message)]
    bad = [refusal(f"{name}.{at}", word) for at, word in enumerate(words) if seconds_of(word) is None]
    return ((), bad) if bad else (tuple(seconds_of(word) or 0.0 for word in words), [])


def seconds_of(raw: object) -> float | None:
    """Seconds: 0, or from the shortest to the longest that is taken; None for anything else."""
    value = number_of(raw)
    usable = value is not None and (value == 0 or MIN_SECONDS <= value <= MAX_SECONDS)
    return float(value) if usable and value is not None else None


def refusal(field: str, raw: object) -> InputProblem:
    """What is wrong with a value of this field (`forward_s.3`: its fourth), and what to write."""
    spec = BY_NAME[field.partition(".")[0]]
    value = number_of(raw)
    if spec.unit == "s" and value is not None and 0 < value < MIN_SECONDS:
        message = f"{shown(raw)} is too short to be played. Write 0, or at least {MIN_SECONDS:g} s."
        return InputProblem(field=field, message=message)
    return InputProblem(field=field, message=f"{shown(raw)} cannot be used. {expected(spec)}")


def work_of(times: Times, p: int, v: int, p2p_s: float) -> Work:
    """Times per stage are shared equally by its chunks; times per virtual stage stand as written."""
    forward, backward, weight = times.values()
    shares = work_of_stages(
        *(seconds if len(seconds) == p else (0.0,) * p for seconds in times.values()),
        virtual_pipeline_stages=v,
        p2p_s=p2p_s,
    )
    return Work(
        num_stages=p,
        virtual_pipeline_stages=v,
        forward_s=shares.forward_s if len(forward) == p else forward,
        backward_s=shares.backward_s if len(backward) == p else backward,
        weight_grad_s=shares.weight_grad_s if len(weight) == p else weight,
        p2p_s=p2p_s,
    )
