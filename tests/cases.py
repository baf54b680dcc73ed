"""Mechanisms that all checks run on: every protocol with several parameters, and every solution.

Classes come from the registry, so a new class is checked without a change of this file.
"""

from functools import partial
from typing import Any

from multi_freq_ldpy import (
    GRR,
    LGRR,
    LOLH,
    LOSUE,
    LOUE,
    OLH,
    OUE,
    RSFD,
    SMP,
    SPL,
    SS,
    SUE,
    Bloom,
    DBitFlipPM,
    best,
    registry,
)
from multi_freq_ldpy.longitudinal.memoized import Chain
from multi_freq_ldpy.mechanism import Mechanism
from multi_freq_ldpy.protocol import OneShot, budgets_of
from multi_freq_ldpy.protocols.unary import UnaryEncoding

PROTOCOLS: list[Any] = list(registry.BY_BUDGETS.values())
ONE_SHOT: list[type[OneShot]] = [cls for cls in PROTOCOLS if issubclass(cls, OneShot)]
UNARY: list[type[OneShot]] = [cls for cls in ONE_SHOT if issubclass(cls, UnaryEncoding)]
CHAINS: list[type[Chain]] = [cls for cls in PROTOCOLS if issubclass(cls, Chain)]
OTHERS: list[Any] = [cls for cls in PROTOCOLS if cls not in (*ONE_SHOT, *CHAINS)]


def hides(cls: Any) -> bool:
    """Return True if RS+FD has fakes for a protocol."""
    try:
        return bool(RSFD.of([cls(2, 1.0)]))
    except TypeError:
        return False


HIDDEN: list[type[OneShot]] = [cls for cls in ONE_SHOT if hides(cls)]
# Protocols that send noisy numbers, which take longer to draw
NOISY: list[type[OneShot]] = [cls for cls in ONE_SHOT if not cls(2, 1.0).channel.binary]
QUICK = [cls for cls in ONE_SHOT if cls not in NOISY]

SMALL: list[Any] = [
    *(cls(k, epsilon) for cls in ONE_SHOT for k, epsilon in ((2, 1.0), (3, 0.5), (5, 3.0))),
    *(cls(3, 2.0, 0.5) for cls in CHAINS),
    *(cls(4, 4.0, 2.0) for cls in (LGRR, LOSUE, LOUE, LOLH)),
    *(cls(4, *[1.0, 0.5][: len(budgets_of(cls))]) for cls in OTHERS),
    DBitFlipPM(7, 2.0, b=4, d_bits=1),
    DBitFlipPM(5, 3.0, b=5, d_bits=3),
]
LARGE: list[Any] = [
    *(cls(k, epsilon) for cls in QUICK for k, epsilon in ((64, 1.0), (100, 0.2), (260, 6.0))),
    *(cls(k, epsilon) for cls in NOISY for k, epsilon in ((24, 1.0), (20, 0.2), (16, 6.0))),
    *(cls(100, 3.0, 1.0) for cls in CHAINS),
    DBitFlipPM(1000, 2.0, b=60, d_bits=40),
    # There are more than 2⁶⁴ seeds, so reports cannot be listed
    *(Bloom(3, 0.5, 9), Bloom(3, 2.0, 3, 2), Bloom(17, 3.0, 16, 3)),
]
CASES = SMALL + LARGE


def over_every_protocol(solution: Any) -> list[Any]:
    """Return a solution over two attributes of every protocol that it takes."""
    sizes = [3, 2] if solution is SMP else [2, 3]
    found = []
    for cls in (*ONE_SHOT, *CHAINS):
        build = partial(solution, cls, sizes, *[1.0] if cls in ONE_SHOT else [3.0, 1.0])
        try:
            found.append(build())
        except TypeError:  # the solution does not take this protocol
            continue
    return found


SMALL_SOLUTIONS: list[Any] = [
    *(each for solution in registry.SOLUTIONS.values() for each in over_every_protocol(solution)),
    *(RSFD(cls, [3, 2], 1.0, fake="random") for cls in UNARY),
    RSFD(GRR, [2, 6], 1.0, balance=True),
    RSFD([SS, OLH], [4, 2], 0.5, balance=True),
    RSFD([GRR, OUE, SUE], [2, 3, 2], 2.0, amplify=False),
    SPL([OUE, GRR, SS], [2, 3, 4], 2.0),
    SMP([GRR, OUE, OLH], [2, 3, 4], 2.0),
    SMP(OUE, [5], 1.0),
    SPL(DBitFlipPM, [3, 4], 2.0, b=[3, 2], d_bits=[2, 1]),
    SMP(DBitFlipPM, [3, 4], 2.0, b=[3, 2], d_bits=2),
    SMP.of([LGRR(3, 2.0, 1.0), DBitFlipPM(3, 2.0, d_bits=2), GRR(2, 1.0)]),
    RSFD(OLH, [5], 1.0, balance=True),
]
NESTED: list[Any] = [
    SMP.of([SPL([GRR, OUE], [2, 3], 1.0), GRR(3, 1.0)]),
    SPL.of([SMP([GRR, OLH], [3, 2], 1.0), SS(3, 0.5)]),
    SMP.of([SMP(OUE, [2, 2], 1.0), RSFD(GRR, [2, 3], 1.0), SUE(2, 0.5)]),
    SPL.of([SMP.of([LGRR(2, 2.0, 1.0), DBitFlipPM(3, 2.0, d_bits=2)]), LOSUE(2, 3.0, 1.0)]),
    SMP.of(
        [SPL(LGRR, [2, 3], 4.0, 2.0), SMP.of([SPL(LOSUE, [2, 2], 4.0, 1.0), LOLH(3, 2.0, 1.0)])]
    ),
]
SMALL_SOLUTIONS += NESTED
LARGE_SOLUTIONS: list[Any] = [
    SPL(best, [3, 60, 5], 3.0),
    SMP(best, [3, 60, 5], 3.0, 1.0),
    SMP(best, [3, 60, 300], 2.0),
    RSFD(best, [3, 60, 9], 1.0),
    RSFD([OLH, SS], [150, 30], 2.0),
    SMP.of([SPL(best, [3, 60], 2.0), SMP(best, [5, 300], 2.0), OLH(40, 1.0)]),
    SMP(Bloom, [3, 2], 1.0, bits=8),
    SPL(Bloom, [2, 3], 2.0, bits=[8, 6], hashes=2),
    RSFD(Bloom, [2, 3], 1.0, bits=[8, 16], balance=True),
    RSFD(Bloom, [3, 2], 1.0, bits=[8, 3], hashes=2),
    RSFD.of([Bloom(3, 1.0, 8, 2), OUE(4, 1.0), Bloom(2, 1.0, 4)]),
]
SOLUTIONS = SMALL_SOLUTIONS + LARGE_SOLUTIONS
EVERY: list[Mechanism] = [*CASES, *SOLUTIONS]
