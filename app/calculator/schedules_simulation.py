"""Play a pipeline schedule out, cell by cell: events, makespan, idle share, micro-batches in flight.

A device works through its cells in the given order and starts each as soon as it is free and what the
cell needs has arrived. A transfer between devices takes `p2p_s` and occupies neither of them.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from app.calculator.layout import Schedule
from app.calculator.schedules_order import Cell, Kind, Order, stage_orders

MAX_CELLS = 2**17  # p·v·m; a pipeline of 16 stages, 8 chunks and 1,024 micro-batches


class Event(NamedTuple):
    """One cell as it was played. Stage, micro-batch and chunk are 0-based."""

    stage: int
    kind: Kind
    micro_batch: int
    chunk: int
    start_s: float
    end_s: float


Row = tuple[int, Kind, int, int, float, float]  # the values of an Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What happened.

    `peak_in_flight` counts per stage the micro-batches whose forward has begun and whose last backward
    cell (W where there is one) has not ended; a chunk counts for its share of the stage, 1/v.
    """

    rows: tuple[Row, ...]  # the events as plain tuples, sorted by stage, then by start
    makespan_s: float
    busy_s: tuple[float, ...]  # per stage
    peak_in_flight: tuple[float, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """Every cell as it was played, sorted by stage, then by start."""
        return tuple(map(Event._make, self.rows))

    @property
    def bubble_fraction(self) -> float:
        """Idle share of all devices' time until the last cell ends, 0..1."""
        total_s = self.makespan_s * len(self.busy_s)
        return max(0.0, 1.0 - sum(self.busy_s) / total_s) if total_s else 0.0

    @property
    def bubble_over_ideal(self) -> float:
        """Idle time of all devices over their work."""
        work_s = sum(self.busy_s)
        return max(0.0, self.makespan_s * len(self.busy_s) / work_s - 1.0) if work_s else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """An order that can never finish: on each of these stages, the cell that waits and what it waits for."""

    waiting: tuple[tuple[int, Cell, int, Cell], ...]  # stage, cell, stage of the needed cell, that cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Seconds of each cell of each virtual stage (index chunk·p + stage), and of one transfer."""

    num_stages: int
    virtual_pipeline_stages: int
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    weight_grad_s: tuple[float, ...]
    p2p_s: float = 0.0


def work_of_stages(
    forward_s: Sequence[float],
    backward_s: Sequence[float],
    weight_grad_s: Sequence[float],
    *,
    virtual_pipeline_stages: int = 1,
    p2p_s: float = 0.0,
) -> Work:
    """Work whose chunks are equal shares of their stage."""
    v = virtual_pipeline_stages

    def chunks(stage_s: Sequence[float]) -> tuple[float, ...]:
        return tuple(seconds / v for seconds in stage_s) * v

    return Work(
        num_stages=len(forward_s),
        virtual_pipeline_stages=v,
        forward_s=chunks(forward_s),
        backward_s=chunks(backward_s),
        weight_grad_s=chunks(weight_grad_s),
        p2p_s=p2p_s,
    )


def simulate(schedule: Schedule, num_micro_batches: int, work: Work) -> Simulation:
    """Play the schedule's own order.

    Several chunks per device are for 1F1B and interleaved, with num_micro_batches divisible by the stages.

    Every schedule but ZB-H1 runs the weight gradient inside the backward cell: B + W seconds.
    """
    orders = stage_orders(schedule, work.num_stages, num_micro_batches, work.virtual_pipeline_stages)
    played = play(orders, num_micro_batches, work)
    assert isinstance(played, Simulation), "a schedule's own order never blocks"
    return played


def play(orders: Sequence[Order], num_micro_batches: int, work: Work) -> Simulation | Blocked:
    """Play any order of whole cells per stage; without W cells the backward cell takes B + W seconds."""
    player = _Player(orders, num_micro_batches, work)
    ready = deque(range(work.num_stages))
    queued = set(ready)
    while ready:
        stage = ready.popleft()
        queued.discard(stage)
        if player.advance(stage):
            for neighbour in ((stage + 1) % work.num_stages, (stage - 1) % work.num_stages):
                if neighbour not in queued:
                    queued.add(neighbour)
                    ready.append(neighbour)
    return player.result()


class _Player:
    """The state of one run: what has ended when, and how far each stage has come."""

    def __init__(self, orders: Sequence[Order], num_micro_batches: int, work: Work) -> None:
        self.orders, self.m, self.p = orders, num_micro_batches, work.num_stages
        self.v = work.virtual_pipeline_stages
        self.last = self.p * self.v - 1  # the last virtual stage
        self.hop_s = work.p2p_s if work.num_stages > 1 else 0.0
        self.split = any(cell.kind == "W" for cell in orders[0])
        self.forward_s, self.backward_s, self.weight_grad_s = (
            work.forward_s,
            work.backward_s,
            work.weight_grad_s,
        )
        if not self.split:
            self.backward_s = tuple(map(sum, zip(work.backward_s, work.weight_grad_s, strict=True)))
        # By virtual stage, then micro-batch; −inf until the cell has ended. What the first virtual stage
        # waits for has always been there, so a row for it comes before all others.
        m, cells = num_micro_batches, (self.last + 1) * num_micro_batches
        self.forward_end_s = [-self.hop_s] * m + [-inf] * cells
        self.backward_end_s = [-inf] * cells
        self.position = [0] * self.p
        self.clock_s = [0.0] * self.p
        self.rows: list[list[Row]] = [[] for _ in orders]

    def advance(self, stage: int) -> bool:
        """Run the stage's next cells until one has to wait; True if any ran. The hot loop of `play`."""
        order, begin, now_s, m, hop_s = (
            self.orders[stage],
            self.position[stage],
            self.clock_s[stage],
            self.m,
            self.hop_s,
        )
        forward_end_s, backward_end_s, done = self.forward_end_s, self.backward_end_s, self.rows[stage].append
        position = begin
        for position in range(begin, len(order)):
            kind, chunk, micro_batch = order[position]
            virtual = chunk * self.p + stage
            at = virtual * m + micro_batch
            if kind == "F":
                ready_s, takes_s = forward_end_s[at] + hop_s, self.forward_s[virtual]
            elif kind == "W":
                ready_s, takes_s = backward_end_s[at], self.weight_grad_s[virtual]
            elif virtual == self.last:
                ready_s, takes_s = forward_end_s[at + m], self.backward_s[virtual]
            else:
                ready_s, takes_s = backward_end_s[at + m] + hop_s, self.backward_s[virtual]
            if ready_s < 0.0:
                break
            start_s = ready_s if ready_s > now_s else now_s
            now_s = start_s + takes_s
            if kind == "F":
                forward_end_s[at + m] = now_s
            elif kind == "B":
                backward_end_s[at] = now_s
            done((stage, kind, micro_batch, chunk, start_s, now_s))
        else:
            position = len(order)
        self.position[stage], self.clock_s[stage] = position, now_s
        return position > begin

    def needs(self, stage: int, cell: Cell) -> tuple[Kind, int]:
        """Kind and virtual stage of what a waiting cell needs, for the same micro-batch."""
        virtual = cell.chunk * self.p + stage
        if cell.kind == "F":
            return "F", virtual - 1
        if cell.kind == "W":
            return "B", virtual
        return ("B", virtual + 1) if virtual < self.last else ("F", virtual)

    def result(self) -> Simulation | Blocked:
        """The finished run, or who waits for what."""
        stuck = [i for i in range(self.p) if self.position[i] < len(self.orders[i])]
        if stuck:
            return Blocked(waiting=tuple(self._waiting(stage) for stage in stuck))
        return Simulation(
            rows=tuple(row for rows in self.rows for row in rows),
            makespan_s=max(self.clock_s),
            busy_s=tuple(self._busy_s(stage) for stage in range(self.p)),
            peak_in_flight=tuple(peak_in_flight(order, self.v) for order in self.orders),
        )

    def _busy_s(self, stage: int) -> float:
        """Every micro-batch passes every chunk once each way."""
        kinds = (self.forward_s, self.backward_s, self.weight_grad_s if self.split else ())
        return self.m * sum(sum(seconds[stage :: self.p]) for seconds in kinds)

    def _waiting(self, stage: int) -> tuple[int, Cell, int, Cell]:
        cell = self.orders[stage][self.position[stage]]
        kind, virtual = self.needs(stage, cell)
        return stage, cell, virtual % self.p, Cell(kind, virtual // self.p, cell.micro_batch)


def peak_in_flight(order: Order, virtual_pipeline_stages: int) -> float:
    """The most micro-batches one stage holds when it works in this order, in shares of 1/v."""
    releases = "W" if any(cell.kind == "W" for cell in order) else "B"
    held = peak = 0
    for cell in order:
        if cell.kind == "F":
            held += 1
            peak = max(peak, held)
        elif cell.kind == releases:
            held -= 1
    return peak / virtual_pipeline_stages
