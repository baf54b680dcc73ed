"""Local hashing (LH) as functions: optimal (OLH) or, with ``optimal=False``, binary (BLH).

>>> reports = [LH_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> LH_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..paper.choices import choose_hashing
from ..paper.naming import publish
from ..paper.values import OneBudgetChoice

_functions = OneBudgetChoice[tuple[int, int]](choose_hashing)
LH_Client = _functions.answer
LH_Aggregator_MI = LH_Aggregator = _functions.aggregate
LH_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
