"""Step through a pipeline: what every stage does at one moment, and the moments before and after."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.calculator.schedules_moments import StageMoment, moments_s, stages_at
from app.calculator.schedules_simulation import Event
from app.services.scheduling import Played
from app.web import numbers
from app.web.charts.figure import Cell, Table
from app.web.charts.seconds import told_s
from app.web.charts.timeline import KINDS
from app.web.charts.timeline_cut import CELLS_IN_FULL
from app.web.schedule_form import address


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """One moment of many. `at_s` is None as long as nobody has begun to step."""

    index: int
    count: int
    at_s: float | None
    sentence: str
    begin_url: str
    before_url: str = ""
    after_url: str = ""
    end_url: str = ""
    table: Table | None = None


def steps_of(raw: Mapping[str, str], played: Played, at: str) -> Steps | None:
    """The moment with this number, 0-based; nothing for pipelines that are not drawn whole."""
    run = played.simulation
    if run is None or len(run.rows) > CELLS_IN_FULL:
        return None
    times = moments_s(run)
    begin = address(raw, at=0)
    if not at.isdecimal():
        sentence = f"{len(times)} moments, from the first forward to the end."
        return Steps(index=0, count=len(times), at_s=None, sentence=sentence, begin_url=begin)
    index = min(int(at[:6]), len(times) - 1)
    chunks = played.inputs.virtual_pipeline_stages
    stages = stages_at(run, times[index], virtual_pipeline_stages=chunks)
    idle = sum(stage.doing is None for stage in stages)
    said = "every stage works" if not idle else f"{idle} of {len(stages)} stages idle"
    if index == len(times) - 1:
        said = "all is done"
    return Steps(
        index=index,
        count=len(times),
        at_s=times[index],
        sentence=f"Moment {index + 1} of {len(times)}, at {told_s(times[index])}: {said}.",
        begin_url=begin,
        before_url=address(raw, at=index - 1) if index else "",
        after_url=address(raw, at=index + 1) if index < len(times) - 1 else "",
        end_url=address(raw, at=""),
        table=_table(stages, chunks),
    )


def _table(stages: tuple[StageMoment, ...], chunks: int) -> Table:
    rows = []
    for stage in stages:
        waits = "finished" if stage.next is None else "waits"
        next_ = stage.next
        rows.append(
            (
                Cell(text=f"stage {stage.stage}"),
                Cell(
                    text=_words(stage.doing, chunks) if stage.doing else waits, strong=stage.doing is not None
                ),
                Cell(text=f"{_words(next_, chunks)}, at {told_s(next_.start_s)}" if next_ else "–"),
                Cell(text=numbers.count(round(stage.held, 2))),
            )
        )
    head = ("Stage", "Does", "Then", "Holds")
    return Table(label="Stages at this moment", head=head, rows=tuple(rows), left=(0, 1, 2))


def _words(event: Event, chunks: int) -> str:
    of_chunk = f", chunk {event.chunk + 1}" if chunks > 1 else ""
    return f"{KINDS[event.kind][3]} {event.micro_batch + 1}{of_chunk}"
