"""Every protocol on a grid, and every solution over every protocol: the subjects of all laws."""

from typing import Any

from multi_freq_ldpy import (
    BLH,
    GRR,
    LBLH,
    LGRR,
    LOLH,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    DBitFlipPM,
    best,
)
from multi_freq_ldpy.longitudinal.memoized import Chain
from multi_freq_ldpy.mechanism import Mechanism
from multi_freq_ldpy.protocol import OneShot

ONE_SHOT: list[type[OneShot]] = [GRR, BLH, OLH, SS, SUE, OUE, THE, SHE]
UNARY: list[type[OneShot]] = [SUE, OUE, THE]
# What RS+FD has fakes for
HIDDEN: list[type[OneShot]] = [cls for cls in ONE_SHOT if cls is not SHE]

CHAINS: list[type[Chain]] = [LGRR, LSUE, LSOUE, LOUE, LOSUE, LBLH, LOLH]

SMALL: list[Any] = [
    cls(k, epsilon) for cls in ONE_SHOT for k, epsilon in ((2, 1.0), (3, 0.5), (5, 3.0))
]
LARGE: list[Any] = [
    cls(k, epsilon)
    for cls in ONE_SHOT
    if cls is not SHE
    for k, epsilon in ((64, 1.0), (100, 0.2), (260, 6.0))
]
# Exact noise takes longer to draw
LARGE += [SHE(k, epsilon) for k, epsilon in ((24, 1.0), (20, 0.2), (16, 6.0))]
SMALL += [cls(3, 2.0, 0.5) for cls in CHAINS] + [
    cls(4, 4.0, 2.0) for cls in (LGRR, LOSUE, LOUE, LOLH)
]
SMALL += [DBitFlipPM(4, 1.0), DBitFlipPM(7, 2.0, b=4, d_bits=1), DBitFlipPM(5, 3.0, b=5, d_bits=3)]
LARGE += [cls(100, 3.0, 1.0) for cls in CHAINS]
LARGE += [DBitFlipPM(1000, 2.0, b=60, d_bits=40)]
CASES = SMALL + LARGE

SMALL_SOLUTIONS: list[Any] = [
    *(SPL(cls, [2, 3], 1.0) for cls in ONE_SHOT),
    *(SMP(cls, [3, 2], 1.0) for cls in ONE_SHOT),
    *(RSFD(cls, [2, 3], 1.0) for cls in HIDDEN),
    *(RSFD(cls, [3, 2], 1.0, fake="random") for cls in UNARY),
    RSFD(GRR, [2, 6], 1.0, balance=True),
    RSFD([SS, OLH], [4, 2], 0.5, balance=True),
    RSFD([GRR, OUE, SUE], [2, 3, 2], 2.0, amplify=False),
    SPL([OUE, GRR, SS], [2, 3, 4], 2.0),
    SMP([GRR, OUE, OLH], [2, 3, 4], 2.0),
    SMP(OUE, [5], 1.0),
    *(SPL(cls, [2, 3], 3.0, 1.0) for cls in CHAINS),
    *(SMP(cls, [3, 2], 3.0, 1.0) for cls in CHAINS),
    SPL(DBitFlipPM, [3, 4], 2.0, b=[3, 2], d_bits=[2, 1]),
    SMP(DBitFlipPM, [3, 4], 2.0, b=[3, 2], d_bits=2),
    SMP.of([LGRR(3, 2.0, 1.0), DBitFlipPM(3, 2.0, d_bits=2), GRR(2, 1.0)]),
    RSFD(OLH, [5], 1.0, balance=True),
]
LARGE_SOLUTIONS: list[Any] = [
    SPL(best, [3, 60, 5], 3.0),
    SMP(best, [3, 60, 5], 3.0, 1.0),
    SMP(best, [3, 60, 300], 2.0),
    RSFD(best, [3, 60, 9], 1.0),
    RSFD([OLH, SS], [150, 30], 2.0),
]
SOLUTIONS = SMALL_SOLUTIONS + LARGE_SOLUTIONS
EVERY: list[Mechanism] = [*CASES, *SOLUTIONS]
