"""The shape of a search's question as JSON Schema."""

from typing import Any

from app.calculator.fields import LAYOUT_FIELDS
from app.calculator.search import OBJECTIVES
from app.services.search_inputs import MOST_ROWS, MOST_VALUES, USUAL_ROWS
from app.web.api_schema import estimate_schema, field_schema

SEARCH_EXAMPLE: dict[str, Any] = {
    "model": "gpt3-175b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 128},
    "training": {"global_batch_size": 1536, "seq_length": 2048},
    "fixed": {"zero_stage": [0, 1], "context_parallel": 1},
    "limits": {"tensor_parallel": [1, 8], "bubble_fraction": [None, 0.1]},
    "objective": "step_s",
    "top": 20,
}
SMALLEST_EXAMPLE: dict[str, Any] = {
    "model": "llama3-70b",
    "gpu": "h100-80gb",
    "training": {"global_batch_size": 1024},
    "limits": {"tensor_parallel": [1, 8]},
}
_LIMITS: dict[str, Any] = {
    "type": "object",
    "description": "name of a number of the estimate → [least, most]; null: open",
    "additionalProperties": {
        "anyOf": [
            {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2},
            {"type": "number"},
        ]
    },
}


def search_schema() -> dict[str, Any]:
    """The body of `POST /api/v1/search`."""
    base = estimate_schema()
    kept = {key: base["properties"][key] for key in ("model", "cluster", "training")}
    fixed = {
        field.key: {
            "anyOf": [
                field_schema(field),
                {"type": "array", "items": field_schema(field), "minItems": 1, "maxItems": MOST_VALUES},
            ],
            "description": f"{field.help}; one value or several",
        }
        for field in LAYOUT_FIELDS
    }
    return {
        **base,
        "properties": {
            **kept,
            "fixed": {"type": "object", "additionalProperties": False, "properties": fixed},
            "limits": _LIMITS,
            "batch_range": {
                "type": "array",
                "items": {"type": "integer", "minimum": 1},
                "minItems": 2,
                "maxItems": 2,
                "description": "global batches to try, instead of one: the ends, 2^i and 3·2^i between them",
            },
            "objective": {
                "type": "string",
                "enum": list(OBJECTIVES),
                "default": "step_s",
                "description": "what to rank by; with a batch range tokens_per_s, unless said",
            },
            "top": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": USUAL_ROWS},
        },
        "examples": [SEARCH_EXAMPLE],
    }


def smallest_schema() -> dict[str, Any]:
    """The body of `POST /api/v1/smallest-cluster`."""
    base = search_schema()
    kept = {key: base["properties"][key] for key in ("model", "cluster", "training", "fixed", "limits")}
    gpu = base["properties"]["cluster"]["properties"]["gpu"]
    return {**base, "properties": {**kept, "gpu": gpu}, "examples": [SMALLEST_EXAMPLE]}
