"""Vectors of weights and losses: specs over the whole range of budgets and domains."""

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from multi_freq_ldpy import (
    BLH,
    GRR,
    HR,
    LGRR,
    LOLH,
    LOSUE,
    LOUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    DBitFlipPM,
    registry,
)

from .derived import derive, losses

MANY = 300
"""The number of entries."""

LAST = 2**32 - 5
ONE_SHOT = ("GRR", "BLH", "OLH", "SS", "SUE", "OUE", "THE", "SHE", "HR")
CHAINS = ("LGRR", "LSUE", "LSOUE", "LOUE", "LOSUE", "LBLH", "LOLH")
BUDGETS = [
    *(1e-5, 1e-07, 0.0001, 0.1, 1, 1e16, 10**22, 123456789.125, 0.3, 2.5),
    *(3e-05, 0.001, 0.02, 0.7, 1.25, 4, 9.5, 30.0, 44.3, 200.0, 1000, 1000.0000000000001),
    *(9007199254740993, 9999999999999998.0, 1e21, 1.7976931348623157e308),
]
SIZES = [2, 3, 5, 8, 9, 60, 256, 257, 1000, 4096, 4097, 65536, 65537, 10**6, 2**24 + 1, 2**31, LAST]
PAIRS = [
    *((2.0, 1.0), (1, 0.5), (6.0, 3.0), (0.1, 0.05), (1e-3, 1e-4), (20.0, 1e-05), (1e16, 2.0)),
    *((10**22, 0.25), (1e-2, 1e-07), (3.5, 0.3), (0.25, 0.1), (123456789.125, 7), (12.0, 9.0)),
]
FAR = [
    *((78, 2.3), (610, 4.6), (35, 1.2), (6, 0.76), (122, 3.6), (13, 1.126), (840, 5.279)),
    *((888, 3.1), (469, 4.608), (106, 1.974), (102, 3.02), (183914, 9.0), (197665, 10.5)),
    *((1293903035, 18.6), (2627334145, 12.0), (3908689213, 14.8)),
]
"""Pairs of k and ε whose best g is outside the first block that the search reads."""

ALL = [(4, 3.0), (12, 20.0), (90, 100), (4096, 1e16), (10**6, 14.5)]
"""Pairs of k and ε whose best g is the prime above k."""

AS_NUMBER = {**registry.to_spec(RSFD(GRR, [3, 4], 1.0)), "balance": 0}
"""A spec with a number for a truth value. Its label has the truth value."""


def solutions() -> Iterator[Any]:
    """Yield solutions of protocols for devices."""
    for budget in (1, 0.1, 3.7, 1e-05, 1e22):
        yield SPL([GRR, OLH, SS], [3, 60, 9], budget)
        yield SMP([OUE, THE, HR], [3, 60, 9], budget)
        for balance in (False, True):
            yield RSFD([GRR, OUE, BLH, SS], [7, 60, 9, 2], budget, balance=balance)
        yield RSFD(SUE, [2, 30], budget, fake="random")
    yield RSFD(HR, [4, 4], 0.5, amplify=False)
    yield RSFD(GRR, [5], 1.5, balance=True)
    yield RSFD([GRR, GRR, OLH], [2, 200, 1000], 2.0, balance=True)
    yield SPL([LGRR, LOSUE, LOLH], [5, 40, 7], 6.0, 2.0)
    yield SMP.of([LSUE(5, 2.0, 1.0), DBitFlipPM(40, 2.0)])
    yield SMP.of([SPL([GRR, SUE], [5, 2], 2.0), RSFD(OUE, [3, 4], 0.7)])
    yield SPL.of([SMP.of([LOUE(5, 2.0, 1.0), DBitFlipPM(9, 2.0, 4, 2)])])
    # Attributes with different losses, and fakes whose ratios have a range
    yield RSFD.of([OUE(3, 1.0), GRR(5, 3.0), SUE(9, 0.5)], fake="random")
    yield RSFD.of([OUE(9, 3.0), OUE(4, 0.1), SS(7, 1.0)], fake="random")
    yield RSFD.of([HR(9, 3.0), OLH(4, 0.1), GRR(7, 1.0)], balance=True)


def specs() -> Iterator[dict[str, Any]]:
    """Yield specs in the order of the file. Some of the last ones have no probabilities."""
    for k, budget in (*FAR, *ALL):
        yield {"protocol": "OLH", "k": k, "epsilon": budget}
    for k, budget in FAR:
        yield {"protocol": "LOLH", "k": k, "eps_perm": 2 * budget, "eps_1": budget}
    for k, budget, b, d in ((2, 1, 2, 1), (300, 1e-05, 300, 300), (LAST, 1e16, 4096, 7)):
        yield {"protocol": "DBitFlipPM", "k": k, "eps_perm": budget, "b": b, "d_bits": d}
    for each in solutions():
        yield {name: field for name, field in registry.to_spec(each).items() if name != "version"}
    for i in count():
        name, k = ONE_SHOT[i % len(ONE_SHOT)], SIZES[i % len(SIZES)]
        yield {"protocol": name, "k": k, "epsilon": BUDGETS[i % len(BUDGETS)]}
        if i % 2:
            name, (first, one) = CHAINS[i // 2 % len(CHAINS)], PAIRS[i // 2 % len(PAIRS)]
            if "UE" in name:
                k = min(k, 2**27)  # clients refuse domains whose addresses exceed 2⁵³
            yield {"protocol": name, "k": k, "eps_perm": first, "eps_1": one}


def realised() -> Iterator[dict[str, Any]]:
    """Yield the specs whose budgets can be realised, with their version."""
    for each in specs():
        spec = {"version": registry.VERSION, **each}
        try:
            registry.from_spec(spec)
        except ValueError:
            continue
        yield spec


def again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry, computed anew from its spec."""
    mechanism = registry.from_spec(entry["spec"])
    return {"spec": entry["spec"], **derive(mechanism), "losses": losses(mechanism)}


def make() -> list[dict[str, Any]]:
    """Return all entries."""
    return [again({"spec": spec}) for spec in (*islice(realised(), MANY), AS_NUMBER)]
