"""The calibrated constants, read once from their file."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from app.calculator.constants import Constant, Constants

CONSTANTS_FILE = Path(__file__).parent / "data" / "constants.json"


def constants_from(document: Mapping[str, Any]) -> Constants:
    """Constants from the file's JSON object; one that `borrows` has the value of the key it names.

    Raises KeyError where a part is missing.
    """
    entries = {
        name: {
            key: Constant(
                value=float(entry["values"][found.get("borrows", key)]["value"]),
                unit=str(entry["unit"]),
                kind=str(found["kind"]),
                source=str(found["source"]),
                low=found.get("low"),
                high=found.get("high"),
            )
            for key, found in entry["values"].items()
        }
        for name, entry in document["constants"].items()
    }
    return Constants(entries=entries, families=dict(document["families"]))


@cache
def load_constants() -> Constants:
    """The constants that the product predicts with."""
    return constants_from(json.loads(CONSTANTS_FILE.read_text(encoding="utf-8")))


def meanings() -> dict[str, str]:
    """What each constant means, for the page that lists them."""
    document = json.loads(CONSTANTS_FILE.read_text(encoding="utf-8"))
    return {name: str(entry["meaning"]) for name, entry in document["constants"].items()}
