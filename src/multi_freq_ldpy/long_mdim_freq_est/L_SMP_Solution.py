"""Sampling one attribute over time (SMP) as functions.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 8000
>>> reports = [SMP_L_GRR_Client(record, [2, 3], 2, 12.0, 10.0) for record in records]
>>> [frequencies.round(1) for frequencies in SMP_L_GRR_Aggregator(reports, [2, 3], 2, 12.0, 10.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from ..adaptive import best
from ..longitudinal.chains import LGRR, LOSUE, LOUE, LSOUE, LSUE
from ..paper.naming import publish
from ..paper.records import Pair, SampledBuckets, SampledTwoBudgets, TwoBudgets
from ..solutions.smp import SMP

_grr = TwoBudgets[Pair](SMP, LGRR)
_sue = SampledTwoBudgets(SMP, LSUE)
_soue = SampledTwoBudgets(SMP, LSOUE)
_oue = SampledTwoBudgets(SMP, LOUE)
_osue = SampledTwoBudgets(SMP, LOSUE)
_adp = SampledTwoBudgets(SMP, best)
_buckets = SampledBuckets(SMP)

SMP_L_GRR_Client = _grr.answer
SMP_L_GRR_Aggregator_MI = SMP_L_GRR_Aggregator = _grr.aggregate

SMP_L_SUE_Client = _sue.answer
SMP_L_SUE_Aggregator_MI = SMP_L_SUE_Aggregator = _sue.aggregate_vectors

SMP_L_SOUE_Client = _soue.answer
SMP_L_SOUE_Aggregator_MI = SMP_L_SOUE_Aggregator = _soue.aggregate_vectors

SMP_L_OUE_Client = _oue.answer
SMP_L_OUE_Aggregator_MI = SMP_L_OUE_Aggregator = _oue.aggregate_vectors

SMP_L_OSUE_Client = _osue.answer
SMP_L_OSUE_Aggregator_MI = SMP_L_OSUE_Aggregator = _osue.aggregate_vectors

SMP_L_ADP_Client = _adp.answer
SMP_L_ADP_Aggregator_MI = SMP_L_ADP_Aggregator = _adp.aggregate

SMP_dBitFlipPM_Client = _buckets.answer
SMP_dBitFlipPM_Aggregator_MI = SMP_dBitFlipPM_Aggregator = _buckets.aggregate

publish(globals())
