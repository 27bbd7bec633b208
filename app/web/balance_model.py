"""The balance page for a calculation: its pieces with the engine's seconds, as somebody would type them."""

from collections.abc import Sequence

from app.catalog import load_catalog
from app.services.balance_model import from_model, lines_of, pieces_of
from app.services.inputs import InputProblems, parse_inputs
from app.web.balance_form import address
from app.web.questions import read_question


def of_a_model(pairs: Sequence[tuple[str, str]]) -> str:
    """The page's address with the pieces of the model that the query names; empty where it names none."""
    names = {name for name, _ in pairs}
    if "pieces" in names or not any(name.partition(".")[0] == "model" for name in names):
        return ""
    raw = read_question(pairs, load_catalog()).raw
    inputs = parse_inputs(raw, load_catalog())
    asked = from_model(raw)
    if isinstance(inputs, InputProblems) or isinstance(asked, InputProblems):
        return ""
    stated = asked["layers_per_stage"] or []
    return address(
        {
            "pieces": lines_of(pieces_of(inputs)),
            "num_stages": str(asked["num_stages"]),
            "virtual_pipeline_stages": str(asked["virtual_pipeline_stages"]),
            "num_micro_batches": str(asked["num_micro_batches"]),
            "layers_per_stage": ",".join(str(count) for count in stated),
        }
    )
