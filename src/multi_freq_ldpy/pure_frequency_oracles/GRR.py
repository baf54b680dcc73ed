"""Generalized randomized response (GRR) as functions.

>>> reports = [GRR_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> GRR_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..paper.naming import publish
from ..paper.values import OneBudget
from ..protocols.grr import GRR

_functions = OneBudget[int](GRR)
GRR_Client = _functions.answer
GRR_Aggregator_MI = GRR_Aggregator = _functions.aggregate
GRR_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
