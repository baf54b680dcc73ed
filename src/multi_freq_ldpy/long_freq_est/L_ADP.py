"""The adaptive choice over time (L-ADP) as functions: L-GRR or L-OSUE, the one with less variance.

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_ADP_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_ADP_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from ..adaptive import best
from ..paper.naming import publish
from ..paper.values import TwoBudgets

_functions = TwoBudgets[Any](best)
L_ADP_Client = _functions.answer
L_ADP_Aggregator_MI = L_ADP_Aggregator = _functions.aggregate
L_ADP_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
