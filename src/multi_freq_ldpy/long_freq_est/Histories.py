"""Once, Steps, Tree and DDRM as functions, which protect whole histories of values.

>>> from multi_freq_ldpy import Stream
>>> stream, histories = Stream(1), [[0, 0, 1, 1], [0, 0, 0, 1]] * 1000
>>> reports = [Steps_Client(values, 2, epsilon=4.0, changes=1, rng=stream) for values in histories]
>>> Steps_Aggregator(reports, 2, epsilon=4.0, changes=1).round(1)
array([[1. , 0. ],
       [1. , 0. ],
       [0.5, 0.5],
       [0. , 1. ]])
"""

from ..longitudinal.trees import DDRM, Tree
from ..paper.histories import BooleanSteps, TimeSampling, ValuesAndSteps
from ..paper.naming import publish

_once = TimeSampling()
_steps = ValuesAndSteps()
_tree = BooleanSteps(Tree, "changes")
_ddrm = BooleanSteps(DDRM, "reports")

Once_Client = _once.answer
Once_Aggregator_MI = Once_Aggregator = _once.aggregate

Steps_Client = _steps.answer
Steps_Aggregator_MI = Steps_Aggregator = _steps.aggregate

Tree_Client = _tree.answer
Tree_Aggregator_MI = Tree_Aggregator = _tree.aggregate

DDRM_Client = _ddrm.answer
DDRM_Aggregator_MI = DDRM_Aggregator = _ddrm.aggregate

publish(globals())
