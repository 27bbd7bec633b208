"""The shape of the advisor's question as JSON Schema."""

from typing import Any

from app.calculator.fields import LAYOUT_FIELDS
from app.web.api_schema import estimate_schema, field_schema

ADVISE_EXAMPLE: dict[str, Any] = {
    "model": "gpt-76.1b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 8},
    "training": {"seq_length": 2048, "total_tokens": 3e11},
    "batch_range": [64, 256],
    "fixed": {"zero_stage": 0},
}


def advise_schema() -> dict[str, Any]:
    """The body of `POST /api/v1/advise`."""
    base = estimate_schema()
    kept = {key: base["properties"][key] for key in ("model", "cluster", "training", "layout")}
    fixed = {field.key: field_schema(field) for field in LAYOUT_FIELDS if field.key != "data_parallel"}
    kept["layout"] = {**kept["layout"], "description": "as fixed"}
    return {
        **base,
        "properties": {
            **kept,
            "batch_range": {
                "type": "array",
                "items": {"type": ["integer", "null"], "minimum": 1},
                "minItems": 2,
                "maxItems": 2,
                "description": "the least and the most sequences a step that the recipe accepts; null: open",
            },
            "fixed": {
                "type": "object",
                "additionalProperties": False,
                "properties": fixed,
                "description": "what is decided already; the procedure goes on from there",
            },
        },
        "examples": [ADVISE_EXAMPLE],
    }
