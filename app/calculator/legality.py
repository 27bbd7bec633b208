"""What a layout must satisfy to be legal: the machinery; `layout_rules` has the rules themselves.

A search keeps the layouts for which every rule holds; a page lists the broken ones with dividend, divisor,
remainder and the nearest values that would do. Illegal and slow are different things: a tensor group wider
than a node is legal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.calculator.cluster import Cluster
from app.calculator.layout import Column, Layouts
from app.calculator.model import Model
from app.calculator.training import Training

Mask = npt.NDArray[np.bool_]
Relation = Literal["divides", "divides_either_way", "equals", "at_most"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the rules look at."""

    model: Model
    cluster: Cluster
    training: Training
    layouts: Layouts
    quant_group_size: int = 0  # of the serve verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A relation between two numbers that a legal layout keeps, wherever the rule applies.

    "divides": dividend / divisor leaves nothing; "divides_either_way": or the divisor is a multiple of the
    dividend; "equals", "at_most": dividend against divisor. `message` has the places {dividend}, {divisor}
    and {remainder}. `field` is the input to change; `rule_of` whose rule it is.
    """

    code: str
    field: str
    message: str
    dividend: Callable[[Case], Column | float]
    divisor: Callable[[Case], Column | float]
    applies: Callable[[Case], Mask | bool] = lambda case: True
    relation: Relation = "divides"
    rule_of: str = "megatron"

    def remainder(self, case: Case) -> Column | float:
        """What is left over: 0 where the rule holds or does not apply."""
        applies = self.applies(case)
        if applies is False:
            return 0.0
        dividend, divisor = self.dividend(case), self.divisor(case)
        if self.relation == "equals":
            left = np.subtract(dividend, divisor)
        elif self.relation == "at_most":
            left = np.maximum(np.subtract(dividend, divisor), 0.0)
        else:
            left = modulo(dividend, divisor)
            if self.relation == "divides_either_way":
                left = np.where(modulo(divisor, dividend) == 0.0, 0.0, left)
        return np.where(applies, left, 0.0)


def modulo(dividend: Column | float, divisor: Column | float) -> Column:
    """Remainder of whole numbers below 2^52, exactly; faster than a float remainder on columns."""
    safe = np.maximum(divisor, 1.0)
    left: Column = np.subtract(dividend, np.floor(np.divide(dividend, safe)) * safe)
    return left


def legal(rules: tuple[Rule, ...], case: Case) -> Mask:
    """Where every rule holds."""
    result: Mask = np.ones(1, dtype=np.bool_)
    for rule in rules:
        result = result & (np.asarray(rule.remainder(case)) == 0.0)
    return np.array(np.broadcast_to(result, case.layouts.shape))
