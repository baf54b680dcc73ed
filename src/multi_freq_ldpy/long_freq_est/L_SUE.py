"""Longitudinal unary encoding as functions: SUE in both rounds (L-SUE, basic RAPPOR).

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_SUE_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_SUE_Aggregator(reports, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..longitudinal.chains import LSUE
from ..paper.naming import publish
from ..paper.shared import Vector
from ..paper.values import TwoBudgets

_functions = TwoBudgets[Vector](LSUE)
L_SUE_Client = _functions.answer
L_SUE_Aggregator_MI = L_SUE_Aggregator = _functions.aggregate_vectors
L_SUE_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
