"""Splitting both budgets over all attributes, over time (SPL), as functions.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 8000
>>> reports = [SPL_L_GRR_Client(record, [2, 3], 2, 12.0, 10.0) for record in records]
>>> [frequencies.round(1) for frequencies in SPL_L_GRR_Aggregator(reports, [2, 3], 2, 12.0, 10.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from ..adaptive import best
from ..longitudinal.chains import LGRR, LOSUE, LOUE, LSOUE, LSUE
from ..paper.naming import publish
from ..paper.records import Buckets, Entries, TwoBudgets
from ..solutions.spl import SPL

_grr = TwoBudgets[Entries](SPL, LGRR)
_sue = TwoBudgets[Entries](SPL, LSUE)
_soue = TwoBudgets[Entries](SPL, LSOUE)
_oue = TwoBudgets[Entries](SPL, LOUE)
_osue = TwoBudgets[Entries](SPL, LOSUE)
_adp = TwoBudgets[Entries](SPL, best)
_buckets = Buckets[Entries](SPL)

SPL_L_GRR_Client = _grr.answer
SPL_L_GRR_Aggregator_MI = SPL_L_GRR_Aggregator = _grr.aggregate

SPL_L_SUE_Client = _sue.answer
SPL_L_SUE_Aggregator_MI = SPL_L_SUE_Aggregator = _sue.aggregate_vectors

SPL_L_SOUE_Client = _soue.answer
SPL_L_SOUE_Aggregator_MI = SPL_L_SOUE_Aggregator = _soue.aggregate_vectors

SPL_L_OUE_Client = _oue.answer
SPL_L_OUE_Aggregator_MI = SPL_L_OUE_Aggregator = _oue.aggregate_vectors

SPL_L_OSUE_Client = _osue.answer
SPL_L_OSUE_Aggregator_MI = SPL_L_OSUE_Aggregator = _osue.aggregate_vectors

SPL_L_ADP_Client = _adp.answer
SPL_L_ADP_Aggregator_MI = SPL_L_ADP_Aggregator = _adp.aggregate

SPL_dBitFlipPM_Client = _buckets.answer
SPL_dBitFlipPM_Aggregator_MI = SPL_dBitFlipPM_Aggregator = _buckets.aggregate

publish(globals())
