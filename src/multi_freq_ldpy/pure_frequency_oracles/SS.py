"""Subset selection (SS) as functions.

>>> reports = [SS_Client(value, k=4, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> SS_Aggregator(reports, k=4, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2, 0. ])
"""

import numpy as np
from numpy.typing import NDArray

from ..paper.naming import publish
from ..paper.values import OneBudget
from ..protocols.subset import SS

_functions = OneBudget[NDArray[np.int64]](SS)
SS_Client = _functions.answer
SS_Aggregator_MI = SS_Aggregator = _functions.aggregate
SS_Aggregator_IBU = _functions.aggregate_by_update
publish(globals())
