"""The shape of `GET /api/v1/published` as JSON Schema."""

from typing import Any

_NUMBER = {"type": ["number", "null"]}
_ERROR = {
    "type": "object",
    "properties": {
        "runs": {"type": "integer"},
        "mean_absolute_error": {"type": "number", "description": "fraction, constants fitted to all runs"},
        "held_out_by_shape": {"type": "number", "description": "the run's model shape was not fitted to"},
        "held_out_by_source": {"type": "number", "description": "no run of the source was fitted to"},
        "null_mean_absolute_error": {"type": "number", "description": "one utilization for every run"},
    },
}
_ROW: dict[str, Any] = {
    "id": {"type": "string"},
    "source": {"type": "string", "description": "who published it, and where in their text"},
    "source_url": {"type": "string"},
    "core": {"type": "boolean", "description": "a whole 16-bit layout and a step time or a rate are stated"},
    "kind": {"type": "string", "description": "what makes the run hard to predict"},
    "model": {"type": "string"},
    "gpu": {"type": "string", "description": "a catalog id"},
    "num_gpus": {"type": "integer"},
    "layout": {"type": "object"},
    "global_batch_size": {"type": "integer"},
    "seq_length": {"type": "integer"},
    "predicted_step_s": _NUMBER,
    "reported_step_s": _NUMBER,
    "signed_error": {**_NUMBER, "description": "predicted / reported − 1; above zero: predicted too slow"},
    "null_step_s": {**_NUMBER, "description": "the step if every run reached one utilization"},
    "null_signed_error": _NUMBER,
    "predicted_memory_bytes": _NUMBER,
    "reported_memory_bytes": _NUMBER,
    "memory_signed_error": _NUMBER,
    "fits": {"type": ["string", "null"], "description": "yes, borderline or no, by the predicted memory"},
    "ran": {"type": "boolean", "description": "it ran, and says what its memory depends on"},
    "ran_out_of_memory": {"type": ["boolean", "null"], "description": "what became of the run"},
    "expected_error_fraction": {**_NUMBER, "description": "the band that stands beside such a prediction"},
    "legal": {"type": "boolean", "description": "false where today's rules refuse what ran all the same"},
    "reason": {"type": "string", "description": "why the prediction is off, where that is known"},
    "assumed_fields": {"type": "array", "items": {"type": "string"}},
    "notes": {"type": "string"},
    "problem": {"type": "string", "description": "why the run cannot be predicted; empty where it can"},
    "calculator": {"type": "string", "description": "the run's address in the calculator"},
}


def published_responses() -> dict[str, Any]:
    """What OpenAPI says of the answer."""
    rows = {"type": "array", "items": {"type": "object", "required": list(_ROW), "properties": _ROW}}
    means = {
        "type": "object",
        "properties": {
            "groups": {"type": "object", "additionalProperties": _ERROR},
            "mean_of_groups": _ERROR,
            "null_utilization": {"type": "number", "description": "the null model's only constant"},
        },
    }
    schema = {
        "type": "object",
        "required": ["rows", "means"],
        "properties": {"rows": rows, "means": means},
    }
    return {
        "responses": {
            "200": {
                "description": "Every run, and the mean errors by source group.",
                "content": {"application/json": {"schema": schema}},
            }
        }
    }
