"""Longitudinal unary encoding as functions: SUE in the first round, OUE in the second (L-SOUE).

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_SOUE_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_SOUE_Aggregator(reports, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..longitudinal.chains import LSOUE
from ..paper.naming import publish
from ..paper.shared import Vector
from ..paper.values import TwoBudgets

_functions = TwoBudgets[Vector](LSOUE)
L_SOUE_Client = _functions.answer
L_SOUE_Aggregator_MI = L_SOUE_Aggregator = _functions.aggregate_vectors
L_SOUE_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
