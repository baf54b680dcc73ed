"""Longitudinal local hashing (L-LH) as functions.

It is optimal (L-OLH) or, with ``optimal=False``, binary (L-BLH).

>>> reports = [L_LH_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> L_LH_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..paper.choices import choose_lasting_hashing
from ..paper.naming import publish
from ..paper.values import TwoBudgetsChoice

_functions = TwoBudgetsChoice[tuple[int, int]](choose_lasting_hashing)
L_LH_Client = _functions.answer
L_LH_Aggregator_MI = L_LH_Aggregator = _functions.aggregate
L_LH_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
