"""The inputs of the schedule verb, field by field: names, bounds, meaning."""

from app.calculator.fields import Field
from app.calculator.layout import SCHEDULE_NAMES
from app.calculator.schedules_simulation import MAX_CELLS

MIN_SECONDS, MAX_SECONDS = 1e-12, 1e6  # of one cell; 0 is taken too

FIELDS = (
    Field(
        path="schedule",
        kind="choice",
        choices=tuple(SCHEDULE_NAMES),
        default="1f1b",
        help="order of work in the pipeline",
    ),
    Field(path="num_stages", kind="integer", minimum=1, maximum=1024, required=True, help="pipeline stages"),
    Field(
        path="num_micro_batches",
        kind="integer",
        minimum=1,
        maximum=MAX_CELLS,
        required=True,
        help="micro-batches per step and pipeline",
    ),
    Field(
        path="virtual_pipeline_stages",
        kind="integer",
        minimum=1,
        maximum=256,
        default=1,
        help="model chunks per device; more than one is interleaving",
    ),
    Field(
        path="forward_s",
        kind="number",
        minimum=0,
        maximum=MAX_SECONDS,
        default=1.0,
        unit="s",
        help="forward of one micro-batch: one number, one per stage, or one per virtual stage",
    ),
    Field(
        path="backward_s",
        kind="number",
        minimum=0,
        maximum=MAX_SECONDS,
        unit="s",
        help="backward of one micro-batch without weight_grad_s; left out: 2, for zb-h1 1",
    ),
    Field(
        path="weight_grad_s",
        kind="number",
        minimum=0,
        maximum=MAX_SECONDS,
        unit="s",
        help="weight gradient of one micro-batch, which only zb-h1 runs apart; left out: 0, for zb-h1 1",
    ),
    Field(
        path="p2p_s",
        kind="number",
        minimum=0,
        maximum=MAX_SECONDS,
        default=0.0,
        unit="s",
        help="one transfer between stages; it delays and occupies no device",
    ),
    Field(
        path="in_flight_limit",
        kind="integer",
        minimum=1,
        maximum=MAX_CELLS,
        nullable=True,
        help="most micro-batches a stage may hold: one number, or one per stage",
    ),
    Field(
        path="order",
        kind="axes",
        nullable=True,
        help="an order of your own: per stage a text such as F1 F2 B1 B2 (counted from 1, as drawn; F1.2 is "
        "chunk 2), or a list of {kind, micro_batch, chunk} (from 0, as in events)",
    ),
)
BY_NAME = {spec.path: spec for spec in FIELDS}
