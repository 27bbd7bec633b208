"""The inputs of the balance verb, field by field: names, bounds, meaning."""

from app.calculator.fields import Field

MOST_PIECES, MOST_CHUNKS, MOST_SECONDS, MOST_BYTES = 500, 512, 1e6, 1e18

FIELDS = (
    Field(
        path="pieces",
        kind="integers",
        required=True,
        help="in the model's order: a list of {name, forward_s, backward_s, memory_bytes}, or a line per "
        "piece as in: block 1, 0.010, 0.020, 1.5e9; only forward_s is needed; block ×24, 1.0 is 24 lines",
    ),
    Field(path="num_stages", kind="integer", minimum=1, maximum=128, required=True, help="pipeline stages"),
    Field(
        path="virtual_pipeline_stages",
        kind="integer",
        minimum=1,
        maximum=64,
        default=1,
        help="model chunks per device",
    ),
    Field(
        path="num_micro_batches",
        kind="integer",
        minimum=1,
        maximum=1_000_000,
        help="micro-batches per step, for the loss per step; left out: 4 · num_stages",
    ),
    Field(
        path="memory_limit_bytes",
        kind="number",
        minimum=0,
        maximum=MOST_BYTES,
        nullable=True,
        unit="bytes",
        help="what a stage may hold: one number, or one per stage",
    ),
    Field(
        path="pieces_per_stage",
        kind="integers",
        nullable=True,
        help="a split of your own, to be measured: pieces of each stage, or of each chunk",
    ),
    Field(
        path="layers_per_stage",
        kind="integers",
        nullable=True,
        help="the same, counting layers only: what stands before the layers stays on the first stage, what "
        "stands after them on the last",
    ),
)
BY_NAME = {spec.path: spec for spec in FIELDS}
