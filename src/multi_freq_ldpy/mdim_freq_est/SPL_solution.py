"""Splitting the budget over all attributes (SPL) as functions.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 4000
>>> reports = [SPL_GRR_Client(record, [2, 3], 2, 6.0) for record in records]
>>> [frequencies.round(1) for frequencies in SPL_GRR_Aggregator(reports, [2, 3], 2, 6.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from ..paper.choices import choose_adaptive, choose_hashing, choose_unary
from ..paper.naming import publish
from ..paper.records import Entries, OneBudget, OneBudgetChoice
from ..protocols.grr import GRR
from ..protocols.subset import SS
from ..solutions.spl import SPL

_grr = OneBudget[Entries](SPL, GRR)
_ue = OneBudgetChoice[Entries](SPL, choose_unary)
_lh = OneBudgetChoice[Entries](SPL, choose_hashing)
_ss = OneBudget[Entries](SPL, SS)
_adp = OneBudgetChoice[Entries](SPL, choose_adaptive)

SPL_GRR_Client = _grr.answer
SPL_GRR_Aggregator_MI = SPL_GRR_Aggregator = _grr.aggregate

SPL_UE_Client = _ue.answer
SPL_UE_Aggregator_MI = SPL_UE_Aggregator = _ue.aggregate_vectors

SPL_LH_Client = _lh.answer
SPL_LH_Aggregator_MI = SPL_LH_Aggregator = _lh.aggregate

SPL_SS_Client = _ss.answer
SPL_SS_Aggregator_MI = SPL_SS_Aggregator = _ss.aggregate

SPL_ADP_Client = _adp.answer
SPL_ADP_Aggregator_MI = SPL_ADP_Aggregator = _adp.aggregate

publish(globals())
