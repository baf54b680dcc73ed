"""dBitFlipPM as functions: frequencies are of b buckets, and the bucket of v is ⌊v·b/k⌋.

>>> values = [0, 2, 3, 3, 5] * 2000
>>> reports = [dBitFlipPM_Client(value, k=6, b=3, d_bits=2, eps_perm=4.0) for value in values]
>>> dBitFlipPM_Aggregator(reports, b=3, d_bits=2, eps_perm=4.0).round(1)
array([0.2, 0.6, 0.2])
"""

from functools import partial

from ..core.randomness import Rng
from ..longitudinal.dbitflip import DBitFlipPM
from ..paper.forms import BUCKETS, draw_ahead, draw_with_rng
from ..paper.shared import Sent, Vector, estimate_normalised, remember_latest, require_reports

_drawn = remember_latest(partial(draw_ahead, DBitFlipPM, BUCKETS))


def dBitFlipPM_Client(
    input_data: int, k: int, b: int, d_bits: int, eps_perm: float, *, rng: Rng = None
) -> Vector:
    """Return the first report of a new user, b numbers: bits, and −1 for the buckets not held.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    drawn = _drawn(k, eps_perm, b, d_bits)
    row: Vector = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, BUCKETS, input_data, rng)
    )
    return row


def dBitFlipPM_Aggregator_MI(reports: Sent, b: int, d_bits: int, eps_perm: float) -> Vector:
    """Return the estimated frequencies of the buckets, clipped at 0 and normalised."""
    reports = require_reports(reports)
    return estimate_normalised(BUCKETS.tally(_drawn(b, eps_perm, b, d_bits).mechanism, reports))


dBitFlipPM_Aggregator = dBitFlipPM_Aggregator_MI
