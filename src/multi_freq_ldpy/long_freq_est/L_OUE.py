"""Longitudinal unary encoding as functions: OUE in both rounds (L-OUE).

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_OUE_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_OUE_Aggregator(reports, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..longitudinal.chains import LOUE
from ..paper.naming import publish
from ..paper.shared import Vector
from ..paper.values import TwoBudgets

_functions = TwoBudgets[Vector](LOUE)
L_OUE_Client = _functions.answer
L_OUE_Aggregator_MI = L_OUE_Aggregator = _functions.aggregate_vectors
L_OUE_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
