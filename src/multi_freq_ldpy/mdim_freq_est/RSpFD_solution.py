"""Random sampling plus fake data (RS+FD) as functions.

``RSFD`` documents the privacy that it guarantees.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 8000
>>> reports = [RSpFD_GRR_Client(record, [2, 3], 2, 4.0) for record in records]
>>> [frequencies.round(1) for frequencies in RSpFD_GRR_Aggregator(reports, [2, 3], 2, 4.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from ..paper.choices import choose_adaptive, choose_hashing, choose_unary
from ..paper.naming import publish
from ..paper.records import Entries, OneBudget, OneBudgetChoice
from ..protocols.grr import GRR
from ..protocols.subset import SS
from ..solutions.rsfd import RSFD

_grr = OneBudget[Entries](RSFD, GRR)
_ue_zero = OneBudgetChoice[Entries](RSFD, choose_unary, fake="zero")
_ue_rnd = OneBudgetChoice[Entries](RSFD, choose_unary, fake="random")
_lh = OneBudgetChoice[Entries](RSFD, choose_hashing)
_ss = OneBudget[Entries](RSFD, SS)
_adp = OneBudgetChoice[Entries](RSFD, choose_adaptive)

RSpFD_GRR_Client = _grr.answer
RSpFD_GRR_Aggregator_MI = RSpFD_GRR_Aggregator = _grr.aggregate

RSpFD_UE_zero_Client = _ue_zero.answer
RSpFD_UE_zero_Aggregator_MI = RSpFD_UE_zero_Aggregator = _ue_zero.aggregate

RSpFD_UE_rnd_Client = _ue_rnd.answer
RSpFD_UE_rnd_Aggregator_MI = RSpFD_UE_rnd_Aggregator = _ue_rnd.aggregate

RSpFD_LH_Client = _lh.answer
RSpFD_LH_Aggregator_MI = RSpFD_LH_Aggregator = _lh.aggregate

RSpFD_SS_Client = _ss.answer
RSpFD_SS_Aggregator_MI = RSpFD_SS_Aggregator = _ss.aggregate

RSpFD_ADP_Client = _adp.answer
RSpFD_ADP_Aggregator_MI = RSpFD_ADP_Aggregator = _adp.aggregate

publish(globals())
