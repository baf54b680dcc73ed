"""Unary encoding (UE) as functions: optimized (OUE) or, with ``optimal=False``, symmetric (SUE).

>>> reports = [UE_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> UE_Aggregator(reports, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..paper.choices import choose_unary
from ..paper.naming import publish
from ..paper.shared import Vector
from ..paper.values import OneBudgetChoice

_functions = OneBudgetChoice[Vector](choose_unary)
UE_Client = _functions.answer
UE_Aggregator_MI = UE_Aggregator = _functions.aggregate_vectors
UE_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
