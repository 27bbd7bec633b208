"""How far off a prediction is likely to be, and what it assumes: said beside every number.

Bands from the validation against published runs (docs/accuracy.md): a new layout on devices and links that
were calibrated; and where a constant is borrowed or assumed, more than twice that, all in one direction.
"""

from app.calculator.cluster import NO_BF16, Cluster
from app.calculator.constants import Constants, notes
from app.calculator.model import Model
from app.calculator.training import Training

CALIBRATED_FRACTION = 0.08
FEW_RUNS_FRACTION = 0.15  # kinds of model or number type that few published runs cover
NOT_CALIBRATED_FRACTION = 0.20
EXPERTS_FRACTION = 0.50  # the one published run with experts is predicted 87 % too slow


def expected_error_fraction(
    model: Model, cluster: Cluster, training: Training, constants: Constants
) -> float:
    """The error to expect of the step time, as a fraction of it."""
    if model.is_moe:
        return EXPERTS_FRACTION
    if notes(constants, cluster, training):
        return NOT_CALIBRATED_FRACTION
    few = model.encoder_layers > 0 or model.attention == "mla" or training.compute_dtype == "fp8"
    return FEW_RUNS_FRACTION if few else CALIBRATED_FRACTION


def assumptions(cluster: Cluster, training: Training, constants: Constants) -> list[str]:
    """What this prediction takes for granted, one sentence each: constants that are not calibrated, and a
    number type that the device's tensor cores do not have.
    """
    told = notes(constants, cluster, training)
    if training.compute_dtype == "bf16" and cluster.device.generation in NO_BF16:
        told = [*told, f"{cluster.device.name} multiplies fp16, not bf16: counted at the rate of fp16"]
    return told
