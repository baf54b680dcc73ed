"""dBitFlipPM as functions.

Frequencies are those of b buckets. The bucket of value v is ⌊v·b/k⌋.

>>> values = [0, 2, 3, 3, 5] * 2000
>>> reports = [dBitFlipPM_Client(value, k=6, b=3, d_bits=2, eps_perm=4.0) for value in values]
>>> dBitFlipPM_Aggregator(reports, b=3, d_bits=2, eps_perm=4.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..paper.naming import publish
from ..paper.values import Buckets

_functions = Buckets()
dBitFlipPM_Client = _functions.answer
dBitFlipPM_Aggregator_MI = dBitFlipPM_Aggregator = _functions.aggregate
publish(globals())
