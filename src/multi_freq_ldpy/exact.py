"""Exact probabilities for your own protocols: the public names of ``core.exact``."""

from .core.exact import (
    WORD,
    amplify,
    below,
    bit_weights,
    budget,
    decimal,
    exp,
    largest_below,
    ln,
    log,
    symbol_weights,
    too_small,
)

amplified = amplify
"""The name of ``amplify`` before version 1.0."""

__all__ = [
    "WORD",
    "amplified",
    "amplify",
    "below",
    "bit_weights",
    "budget",
    "decimal",
    "exp",
    "largest_below",
    "ln",
    "log",
    "symbol_weights",
    "too_small",
]
