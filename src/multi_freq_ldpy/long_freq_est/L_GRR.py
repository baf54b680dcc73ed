"""Longitudinal GRR (L-GRR) as functions.

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_GRR_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_GRR_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..longitudinal.chains import LGRR
from ..paper.naming import publish
from ..paper.values import TwoBudgets

_functions = TwoBudgets[int](LGRR)
L_GRR_Client = _functions.answer
L_GRR_Aggregator_MI = L_GRR_Aggregator = _functions.aggregate
L_GRR_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
