"""Histogram encoding as functions: integer noise on the device.

The server thresholds it (``use_thresh``) or adds it up.

On integers the best threshold is 1, and the bits "entry ≥ 1" are those of symmetric unary encoding:
kept with e^s/(e^s + 1).

>>> reports = [HE_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> HE_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from math import exp
from typing import Any

import numpy as np

from ..core import validate
from ..core.channel import Affine
from ..core.randomness import Rng
from ..core.tally import Tally
from ..estimation.postprocess import norm
from ..paper.forms import Form, draw_ahead, draw_with_rng, turn_rows
from ..paper.shared import (
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    require_reports,
    tally_rows,
)
from ..protocols.histogram import SHE, UNIT


def _integers(block: Vector) -> Any:
    whole = np.rint(block)
    wrong = (whole != block) | ~(np.abs(block) < 2**31)
    if wrong.any():
        raise ValueError(
            "reports must be rows of integers, as HE_Client makes them, not with"
            f" {block[wrong][0]!r}"
        )
    return whole


def _sums(block: Vector) -> Any:
    return _integers(block).sum(axis=0).astype(np.int64)


def _passing(block: Vector) -> Any:
    return (_integers(block) >= 1).sum(axis=0)


_FORM = Form(
    unpack=lambda protocol, reports: list(reports.astype(np.float64)),
    turner=turn_rows,
    tally=lambda protocol, reports: tally_rows(protocol, reports, _sums),
)


def _tally(reports: Sent, k: int, epsilon: float, use_thresh: bool) -> tuple[Tally, Affine]:
    validate.flag("use_thresh", use_thresh)
    protocol = draw_ahead(SHE, _FORM, k, epsilon).mechanism
    assert isinstance(protocol, SHE)
    kept = 1 / (1 + exp(-protocol.weight / UNIT))
    channel = Affine(kept, 1 - kept) if use_thresh else protocol.channel
    return (
        tally_rows(protocol, require_reports(reports), _passing if use_thresh else _sums),
        channel,
    )


def HE_Client(input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> Vector:
    """Return the one-hot vector of one user plus noise, integers as floats."""
    drawn = draw_ahead(SHE, _FORM, k, epsilon)
    row: Vector = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, _FORM, input_data, rng)
    )
    return row


def HE_Aggregator_MI(reports: Sent, k: int, epsilon: float, use_thresh: bool = True) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    tally, channel = _tally(reports, k, epsilon, use_thresh)
    return (
        norm(channel.estimate(tally.counts, tally.n)) if use_thresh else estimate_normalised(tally)
    )


def HE_Aggregator_IBU(
    reports: Sent,
    k: int,
    epsilon: float,
    use_thresh: bool = True,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update, which needs thresholds."""
    if not use_thresh:
        raise ValueError(f"use_thresh must be true for the Bayesian update, not {use_thresh!r}")
    tally, channel = _tally(reports, k, epsilon, use_thresh)
    return estimate_by_update(tally, channel, nb_iter, tol, err_func)


HE_Aggregator = HE_Aggregator_MI
