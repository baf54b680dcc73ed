"""Sampling one attribute (SMP) as functions.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 8000
>>> reports = [SMP_GRR_Client(record, [2, 3], 2, 4.0) for record in records]
>>> [frequencies.round(1) for frequencies in SMP_GRR_Aggregator(reports, [2, 3], 2, 4.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from ..paper.choices import choose_adaptive, choose_hashing, choose_unary
from ..paper.naming import publish
from ..paper.records import OneBudget, OneBudgetChoice, Pair
from ..protocols.grr import GRR
from ..protocols.subset import SS
from ..solutions.smp import SMP

_grr = OneBudget[Pair](SMP, GRR)
_ue = OneBudgetChoice[Pair](SMP, choose_unary)
_lh = OneBudgetChoice[Pair](SMP, choose_hashing)
_ss = OneBudget[Pair](SMP, SS)
_adp = OneBudgetChoice[Pair](SMP, choose_adaptive)

SMP_GRR_Client = _grr.answer
SMP_GRR_Aggregator_MI = SMP_GRR_Aggregator = _grr.aggregate

SMP_UE_Client = _ue.answer
SMP_UE_Aggregator_MI = SMP_UE_Aggregator = _ue.aggregate_vectors

SMP_LH_Client = _lh.answer
SMP_LH_Aggregator_MI = SMP_LH_Aggregator = _lh.aggregate

SMP_SS_Client = _ss.answer
SMP_SS_Aggregator_MI = SMP_SS_Aggregator = _ss.aggregate

SMP_ADP_Client = _adp.answer
SMP_ADP_Aggregator_MI = SMP_ADP_Aggregator = _adp.aggregate

publish(globals())
