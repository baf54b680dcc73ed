"""Tests of the parts of histories: blocks of noise, and least squares over rounds."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from multi_freq_ldpy.longitudinal.blocks import KINDS, Block, spread_ball, weigh_margins
from multi_freq_ldpy.longitudinal.ladder import Ladder

from .test_privacy import e_to

# (symbols, bits, threshold, e^ε): mean of an entry, its second moment, and that of two entries
BALLS = {
    (1, 1, 1, 3): (Fraction(1, 2), 1, None),
    (2, 1, 2, 3): (Fraction(1, 3), 1, Fraction(1, 3)),
    (3, 1, 1, 3): (Fraction(1, 4), 1, 0),
    (1, 2, 1, 5): (Fraction(1, 2), Fraction(3, 4), None),
    (2, 3, 1, 8): (Fraction(49, 155), Fraction(13, 31), Fraction(7, 155)),
    (2, 3, 2, 8): (Fraction(7, 71), None, None),
    (2, 4, 1, 50): (Fraction(245, 559), None, None),
}
# ε: for 1, 2, 3, 4, 6, 8, 16 symbols the bits, the threshold, the gap and the cost
CHOSEN = {
    0.5: "1,1,.244919,16.6708 2,1,.101133,48.8860 1,1,.122459,66.6832 2,1,.071777,97.0513"
    " 1,2,.082881,145.578 1,2,.071777,194.103 1,2,.050528,391.692",
    1.0: "1,1,.462117,4.6827 1,2,.300489,11.0750 2,1,.168786,17.5507 1,2,.209620,22.7581"
    " 1,2,.168786,35.1015 1,2,.144636,47.8018 4,1,.035495,99.2161",
    2.0: "3,1,.444022,1.2680 1,2,.614979,2.6441 4,1,.177242,3.9790 5,1,.107491,5.4093"
    " 5,1,.088100,8.0525 6,1,.053483,10.9251 7,1,.026677,21.9558",
    4.0: "6,1,.455774,.1504 7,1,.227321,.3024 7,1,.185110,.4560 8,1,.113520,.6062"
    " 8,1,.092495,.9132 9,1,.056725,1.2140 10,1,.028354,2.4294",
}


@pytest.mark.parametrize("ball", BALLS)
def test_moments_of_balls(ball: tuple[int, int, int, int]) -> None:
    symbols, bits, threshold, odds = ball
    ways, total = weigh_margins(symbols, bits), 2 ** (bits * symbols)
    assert sum(ways.values()) == total
    above = Fraction(sum(w for m, w in ways.items() if m >= threshold), total)
    block = object.__new__(Block)
    fields = {"symbols": symbols, "bits": bits, "threshold": threshold, "kind": "ball"}
    high = odds * above / (odds * above + 1 - above)
    densities = spread_ball(symbols, bits, threshold, high)
    for name, value in {**fields, "densities": densities}.items():
        object.__setattr__(block, name, value)
    law = block.law()
    assert sum(law.values()) == 1
    assert block.ratio == odds
    mean, second, pair = BALLS[ball]
    assert block.gap == sum(b[0] * p for b, p in law.items()) == mean
    assert second in (None, sum(b[0] ** 2 * p for b, p in law.items()))
    assert pair in (None, sum(b[0] * b[-1] * p for b, p in law.items()))


@pytest.mark.parametrize("epsilon", CHOSEN)
def test_chosen_balls(epsilon: float) -> None:
    for symbols, row in zip((1, 2, 3, 4, 6, 8, 16), CHOSEN[epsilon].split(), strict=True):
        bits, threshold, gap, cost = row.split(",")
        block = Block(symbols, epsilon)
        assert (block.bits, block.threshold) == (int(bits), int(threshold)), symbols
        assert float(block.gap) == pytest.approx(float(gap), abs=6e-7)
        assert float(block.cost) == pytest.approx(float(cost), rel=5e-4)
        least = min(float(other.cost) for kind in KINDS if (other := Block(symbols, epsilon, kind)))
        assert float(block.cost) == least


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_keep_their_budget(kind: str, epsilon: float) -> None:
    for symbols in (1, 2, 3, 5):
        block = Block(symbols, epsilon, kind)
        law = block.law()
        assert sum(law.values()) == 1
        assert block.gap == sum(b[-1] * p for b, p in law.items()) > 0
        # The densities are those of the enumerated blocks, so their ratio is the loss
        base = {b: p / block.densities[sum(b)] for b, p in law.items()}
        assert len(set(base.values())) == 1 or block.bits > 1
        found = [law[b] / base[b] for b in law]
        assert max(found) / min(found) == block.ratio
        assert block.ratio <= e_to(epsilon)
        total = sum(weight for *_, weight in block.outcomes)
        for plus, minus, weight in block.outcomes:
            likely = [p for b, p in law.items() if (b.count(1), b.count(-1)) == (plus, minus)]
            assert Fraction(weight, total) == sum(likely)


def test_bad_blocks_are_refused() -> None:
    for given, message in (
        ((0, 1.0), "symbols"),
        ((65, 1.0), "symbols"),
        ((2, 0.0), "epsilon"),
        ((2, 1e-25), "epsilon=1e-25 is too small"),
        ((2, 1.0, "cube"), "kind must be one of ball, linear, product, not 'cube'"),
    ):
        with pytest.raises(ValueError, match=message):
            Block(*given)
    for kind in ("linear", "product"):
        with pytest.raises(ValueError, match="too small"):
            Block(2, 1e-25, kind)


def network(
    rounds: int, seed: int, holes: float
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return conductances to the ground and between rounds, and their matrix."""
    rng = np.random.default_rng(seed)
    ground = rng.random(rounds) * (rng.random(rounds) >= holes)
    matrix, links = np.diag(ground), []
    stride = 1
    while 2 * stride <= rounds:
        link = rng.random(rounds // stride - 1)
        link *= rng.random(len(link)) >= holes
        for i, weight in enumerate(link):
            step = np.zeros(rounds)
            step[(i + 2) * stride - 1], step[(i + 1) * stride - 1] = 1, -1
            matrix += weight * np.outer(step, step)
        links.append(link)
        stride *= 2
    return ground, links, matrix


@pytest.mark.parametrize("holes", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 16, 37, 100])
def test_the_ladder_solves_the_network(rounds: int, holes: float) -> None:
    """Check against a dense solution, with rounds that no value reaches."""
    for seed in range(10):
        ground, links, matrix = network(rounds, seed, holes)
        reached = ground > 0
        for _ in range(rounds):
            reached = reached | ((matrix != 0) @ reached)
        inside = np.ix_(reached, reached)
        dense = np.full((rounds, rounds), np.nan)
        dense[inside] = np.linalg.inv(matrix[inside])
        sources = np.random.default_rng(seed).normal(size=(rounds, 2))
        ladder = Ladder(ground, links)
        wanted = np.full_like(sources, np.nan)
        wanted[reached] = dense[inside] @ sources[reached]
        np.testing.assert_allclose(ladder.solve(sources), wanted, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(ladder.solve(sources[:, 0]), wanted[:, 0], 1e-9, 1e-10)
        diagonal, beside = ladder.covariances()
        np.testing.assert_allclose(diagonal, np.diag(dense), rtol=1e-10)
        both = reached[1:] & reached[:-1]
        np.testing.assert_allclose(beside[both], np.diag(dense, 1)[both], rtol=1e-9, atol=1e-12)
