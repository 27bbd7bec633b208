"""What is said about a played pipeline: its name, the formula under its timeline, its table."""

from markupsafe import Markup

from app.calculator.layout import Schedule
from app.calculator.schedules_simulation import Simulation
from app.services.scheduling import Played
from app.web import numbers
from app.web.charts.figure import Cell, Table

NAMES = {
    Schedule.GPIPE: "GPipe",
    Schedule.ONE_F_ONE_B: "1F1B",
    Schedule.INTERLEAVED: "Interleaved 1F1B",
    Schedule.ZB_H1: "ZB-H1",
}


def name(played: Played) -> str:
    """What the order of work is called."""
    if played.inputs.orders is not None:
        return "Your order"
    chunked = played.inputs.virtual_pipeline_stages > 1
    return NAMES[Schedule.INTERLEAVED if chunked else played.inputs.schedule]


def caption(played: Played) -> Markup:
    """The schedule's own fraction, by its formula, and how the played one differs from it."""
    given, own = played.inputs, played.equal_stages()
    if given.orders is not None:
        return Markup("The order is the one you wrote.")
    p, m, v = given.num_stages, given.num_micro_batches, given.virtual_pipeline_stages
    told = numbers.percent(own["bubble_fraction"])
    if given.schedule == Schedule.ZB_H1:
        said = Markup("ZB-H1 fills the drain with weight gradients; of equal stages {} stays idle").format(
            told
        )
    else:
        many = Markup("<var>v</var>·<var>m</var>") if v > 1 else Markup("<var>m</var>")
        said = Markup(
            '(<var class="px">p</var> − 1) ÷ ({} + <var class="px">p</var> − 1) = {} ÷ {} = {}'
        ).format(many, p - 1, v * m + p - 1, told)
    run = played.simulation
    if run is None or abs(run.bubble_fraction - own["bubble_fraction"]) < 5e-4:
        said += "."
    elif given.schedule == Schedule.ZB_H1:
        said += "; uneven stages or transfers make the difference."
    else:
        said += " would be idle with equal stages and free transfers."
    return said + (" A line along the top marks every second chunk." if v > 1 else "")


def stage_table(run: Simulation) -> Table:
    """Per stage: what it holds, works and waits, and when its first backward begins."""
    first_backward = {stage: start_s for stage, kind, *_, start_s, _ in reversed(run.rows) if kind == "B"}
    rows = []
    for stage, busy_s in enumerate(run.busy_s):
        idle_s = max(0.0, run.makespan_s - busy_s)
        rows.append(
            (
                Cell(text=f"stage {stage}"),
                Cell(text=numbers.count(round(run.peak_in_flight[stage], 2))),
                Cell(text=numbers.seconds(busy_s), exact=numbers.exact(busy_s, "s")),
                Cell(text=numbers.seconds(idle_s), exact=numbers.exact(idle_s, "s")),
                Cell(text=numbers.percent(idle_s / run.makespan_s)),
                Cell(
                    text=numbers.seconds(first_backward[stage]),
                    exact=numbers.exact(first_backward[stage], "s"),
                ),
            )
        )
    head = ("Stage", "Holds at most", "Works", "Idle", "Idle share", "First backward at")
    return Table(label="Pipeline, stage by stage", head=head, rows=tuple(rows), wide=True)
