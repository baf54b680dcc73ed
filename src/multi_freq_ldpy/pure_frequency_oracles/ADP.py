"""The adaptive choice (ADP) as functions: GRR or unary encoding, the one with less variance.

>>> reports = [ADP_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> ADP_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from ..paper.choices import choose_adaptive
from ..paper.naming import publish
from ..paper.values import OneBudgetChoice

_functions = OneBudgetChoice[Any](choose_adaptive)
ADP_Client = _functions.answer
ADP_Aggregator_MI = ADP_Aggregator = _functions.aggregate
ADP_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
