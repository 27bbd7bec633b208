"""The shape of the API's questions as JSON Schema, made from the tables of fields."""

from collections.abc import Iterable
from typing import Any

from app.calculator.fields import BY_PATH, VERB_SECTIONS, Field
from app.catalog import load_catalog
from app.services.balance_fields import FIELDS as BALANCE_FIELDS
from app.services.balance_fields import MOST_PIECES
from app.services.schedule_fields import FIELDS as SCHEDULE_FIELDS

ESTIMATE_EXAMPLE: dict[str, Any] = {
    "model": "gpt3-175b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 128},
    "layout": {
        "tensor_parallel": 8,
        "pipeline_parallel": 16,
        "data_parallel": 8,
        "micro_batch_size": 1,
        "recompute": "full",
    },
    "training": {"global_batch_size": 1536, "seq_length": 2048},
}
SERVE_EXAMPLE: dict[str, Any] = {
    "model": "llama3-70b",
    "cluster": {"gpu": "h100-80gb", "num_nodes": 1},
    "layout": {"tensor_parallel": 8},
    "serving": {"max_model_len": 8192, "concurrency": 32},
}
SCHEDULE_EXAMPLE: dict[str, Any] = {
    "schedule": "1f1b",
    "num_stages": 4,
    "num_micro_batches": 8,
    "forward_s": 1.0,
    "backward_s": 2.0,
}
BALANCE_EXAMPLE: dict[str, Any] = {
    "pieces": [
        {"name": "embedding", "forward_s": 0.1},
        {"name": "block 1", "forward_s": 1.0},
        {"name": "block 2", "forward_s": 1.0},
        {"name": "block 3", "forward_s": 1.0},
        {"name": "block 4", "forward_s": 1.0},
        {"name": "head", "forward_s": 2.4},
    ],
    "num_stages": 2,
    "num_micro_batches": 32,
}
PROBLEMS: dict[str, Any] = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {
                    "field": {"type": "string", "description": "path of the field, empty for the whole body"},
                    "message": {"type": "string", "description": "what is wrong and what to write instead"},
                },
            },
        }
    },
}


def field_schema(field: Field) -> dict[str, Any]:
    """One input."""
    schema: dict[str, Any] = {"description": _described(field)}
    schema |= _TYPES[field.kind]
    if field.kind in ("integer", "number"):
        schema |= {
            key: int(value) if float(value).is_integer() else value
            for key, value in (("minimum", field.minimum), ("maximum", field.maximum))
            if value is not None
        }
    if field.kind == "choice" and field.choices:
        schema["enum"] = list(field.choices)
    if field.kind == "axes":
        schema["items"] = {"type": "string", "enum": list(field.choices)}
    if field.path == "cluster.gpu":
        schema["enum"] = list(load_catalog().gpus)
    if field.default is not None:
        schema["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    if field.nullable:
        schema = {"anyOf": [schema, {"type": "null"}], "description": schema["description"]}
    return schema


_TYPES: dict[str, dict[str, Any]] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "choice": {"type": "string"},
    "integers": {"type": "array", "items": {"type": "integer"}},
    "axes": {"type": "array"},
    "group": {"anyOf": [{"const": "global"}, {"type": "integer", "minimum": 1}]},
}


def _described(field: Field) -> str:
    return f"{field.help}, in {field.unit}" if field.unit else field.help


def _object(fields: Iterable[tuple[str, Field]]) -> dict[str, Any]:
    """An object of fields; a key with a dot is one level deeper."""
    properties: dict[str, Any] = {}
    for key, field in fields:
        outer, _, inner = key.partition(".")
        if inner:
            group = properties.setdefault(
                outer, {"type": "object", "additionalProperties": False, "properties": {}}
            )
            group["properties"][inner] = field_schema(field)
        else:
            properties[outer] = field_schema(field)
    return {"type": "object", "additionalProperties": False, "properties": properties}


def estimate_schema() -> dict[str, Any]:
    """The body of `POST /api/v1/estimate`."""
    schema = _question("estimate", ESTIMATE_EXAMPLE)
    micro = schema["properties"]["layout"]["properties"]["micro_batch_size"]
    schema["properties"]["training"]["properties"]["micro_batch_size"] = {
        **micro,
        "description": "as layout.micro_batch_size",
    }
    return schema


def serve_schema() -> dict[str, Any]:
    """The body of `POST /api/v1/serve`."""
    return _question("serve", SERVE_EXAMPLE)


def _question(verb: str, example: dict[str, Any]) -> dict[str, Any]:
    """A verb whose body is a model, a cluster, a layout and one section more."""
    fields = BY_PATH.values()
    sections = {
        name: _object((field.key, field) for field in fields if field.section == name)
        for name in VERB_SECTIONS[verb]
    }
    ids = {"type": "string", "enum": list(load_catalog().models), "description": "a catalog id"}
    shape = sections["model"]
    start = {**ids, "description": "start from this catalog model"}
    shape["properties"] = {"id": start, **shape["properties"]}
    return {
        "type": "object",
        "required": ["model"],
        "additionalProperties": False,
        "properties": {**sections, "model": {"anyOf": [ids, shape]}},
        "examples": [example],
    }


def schedule_schema() -> dict[str, Any]:
    """The body of `POST /api/v1/schedule`."""
    schema = _object((field.path, field) for field in SCHEDULE_FIELDS)
    for field in SCHEDULE_FIELDS:
        if field.path.endswith("_s") and field.path != "p2p_s" and field.kind == "number":
            one = {key: value for key, value in field_schema(field).items() if key != "description"}
            many = {"type": "array", "items": one}
            described = {"description": _described(field)}
            schema["properties"][field.path] = {"anyOf": [one, many], **described}
    properties, described = schema["properties"], {field.path: _described(field) for field in SCHEDULE_FIELDS}
    cell = {"anyOf": [{"type": "string"}, {"type": "object"}]}
    orders = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": cell}]}}
    for path, several in (("order", orders), ("in_flight_limit", _several(_TYPES["integer"]))):
        kinds = [{"type": "string"}, several] if path == "order" else [_TYPES["integer"], several]
        properties[path] = {"anyOf": [*kinds, {"type": "null"}], "description": described[path]}
    required = [field.path for field in SCHEDULE_FIELDS if field.required]
    return {**schema, "required": required, "examples": [SCHEDULE_EXAMPLE]}


def balance_schema() -> dict[str, Any]:
    """The body of `POST /api/v1/balance`."""
    schema = _object((field.path, field) for field in BALANCE_FIELDS)
    described = {field.path: _described(field) for field in BALANCE_FIELDS}
    numbers = {key: {"type": "number", "minimum": 0} for key in ("forward_s", "backward_s", "memory_bytes")}
    piece = {
        "type": "object",
        "required": ["forward_s"],
        "additionalProperties": False,
        "properties": {"name": {"type": "string"}, **numbers},
    }
    several = {**_several({"anyOf": [piece, {"type": "number"}]}), "minItems": 1, "maxItems": MOST_PIECES}
    limits = [{"type": "number"}, _several({"type": "number"}), {"type": "null"}]
    schema["properties"] |= {
        "pieces": {"anyOf": [several, {"type": "string"}], "description": described["pieces"]},
        "memory_limit_bytes": {"anyOf": limits, "description": described["memory_limit_bytes"]},
    }
    of_model = estimate_schema()["properties"]
    taken = {name: of_model[name] for name in ("model", "cluster", "layout", "training")}
    schema["properties"] |= taken  # in place of pieces
    alternatives = [{"required": ["pieces", "num_stages"]}, {"required": ["model"]}]
    return {**schema, "anyOf": alternatives, "examples": [BALANCE_EXAMPLE]}


def _several(one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": one}


def operation(schema: dict[str, Any], answer: str) -> dict[str, Any]:
    """What OpenAPI says of a verb: its body, and every way it may answer."""
    problems = {"application/json": {"schema": PROBLEMS}}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {"description": answer, "content": {"application/json": {"schema": {"type": "object"}}}},
            "400": {"description": "The body is not JSON.", "content": problems},
            "413": {"description": "The body is larger than 256 KiB.", "content": problems},
            "415": {"description": "The body is not application/json.", "content": problems},
            "422": {"description": "Inputs that cannot be used, each named.", "content": problems},
        },
    }


def published_fields() -> list[dict[str, Any]]:
    """Every input of an estimate or of serving with its bounds, as `GET /api/v1/fields` lists them."""
    return [
        {
            "path": field.path,
            "kind": field.kind,
            "help": field.help,
            "unit": field.unit,
            "default": list(field.default) if isinstance(field.default, tuple) else field.default,
            "minimum": field.minimum,
            "maximum": field.maximum,
            "choices": list(field.choices),
            "required": field.required,
        }
        for field in BY_PATH.values()
    ]
